//! Extern functions that samples declare and their tests supply: what a user's own library would do.

use ir::Bits;
use std::collections::HashMap;
use target::{ExternArgs, ExternEnd, UserExtern};

/// Supplies all of them; programs call those that they declare.
pub(super) fn supply(to: &mut dyn FnMut(&str, UserExtern)) {
    to("extern_func", Box::new(copy));
    to("verify_ipv4_checksum", Box::new(verify_ipv4_checksum));
    to("incremental_checksum", Box::new(incremental_checksum));
    to("compute_hash", Box::new(compute_hash));
    to("ExternCounter.increment", Box::new(|_: &mut dyn ExternArgs| ExternEnd::Next));
    to("Checksum.update", Box::new(checksum));
    let mut connections = Connections::default();
    to("tcp_conntrack", Box::new(move |access: &mut dyn ExternArgs| connections.pass(access)));
}

/// `(out d, in s)`: gives `s`.
fn copy(access: &mut dyn ExternArgs) -> ExternEnd {
    let values = access.values(1);
    access.set(0, &values);
    ExternEnd::Next
}

/// Ones' complement sum of 16-bit words (RFC 1071).
fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The internet checksum of the data.
fn checksum(access: &mut dyn ExternArgs) -> ExternEnd {
    let data = access.values(0).iter().fold(Bits::zero(0), |all, field| all.concat(field));
    access.set_result(&Bits::new(16, u128::from(!ones_complement_sum(&data.to_bytes_be()))));
    ExternEnd::Next
}

/// True when the sum over the header with its checksum is all ones.
fn verify_ipv4_checksum(access: &mut dyn ExternArgs) -> ExternEnd {
    let fields = access.values(0);
    let header = fields.iter().fold(Bits::zero(0), |all, field| all.concat(field));
    access.set_result(&Bits::bool(ones_complement_sum(&header.to_bytes_be()) == 0xffff));
    ExternEnd::Next
}

/// `(checksum, old, new)`: the checksum after a 32-bit field has changed (RFC 1624, equation 3).
fn incremental_checksum(access: &mut dyn ExternArgs) -> ExternEnd {
    let number = |arg| access.number(arg).unwrap_or(0) as u32;
    let (checksum, old, new) = (number(0) as u16, number(1), number(2));
    let mut bytes = (!checksum).to_be_bytes().to_vec();
    bytes.extend((!old).to_be_bytes());
    bytes.extend(new.to_be_bytes());
    access.set_result(&Bits::new(16, u128::from(!ones_complement_sum(&bytes))));
    ExternEnd::Next
}

/// CRC-16/CCITT-FALSE of two addresses in the byte order of x86, without the last byte.
fn compute_hash(access: &mut dyn ExternArgs) -> ExternEnd {
    let bytes = [0, 1].map(|arg| (access.number(arg).unwrap_or(0) as u32).to_le_bytes()).concat();
    let mut crc = 0xffff_u16;
    for byte in &bytes[..bytes.len() - 1] {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
        }
    }
    access.set_result(&Bits::new(16, u128::from(crc)));
    ExternEnd::Next
}

/// A TCP handshake as a firewall follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    SynSent,
    SynAcked,
    Established,
}

/// Connections by both ends in order, with the address of the server.
#[derive(Debug, Default)]
struct Connections {
    states: HashMap<[u64; 4], (State, u64)>,
}

impl Connections {
    /// `(headers)`: Ethernet, IPv4 without options and TCP without options. Gives whether the packet may pass.
    fn pass(&mut self, access: &mut dyn ExternArgs) -> ExternEnd {
        let fields: Vec<u64> = access.values(0).iter().map(Bits::low_u64).collect();
        let passes = self.judge(&fields).unwrap_or(false);
        access.set_result(&Bits::bool(passes));
        ExternEnd::Next
    }

    fn judge(&mut self, fields: &[u64]) -> Option<bool> {
        // The last 16 fields are those of TCP, the two before them the addresses.
        let tcp = fields.len().checked_sub(16)?;
        let (source, destination) = (*fields.get(tcp - 2)?, *fields.get(tcp - 1)?);
        let (source_port, destination_port) = (fields[tcp], fields[tcp + 1]);
        let (ack, syn, fin) = (fields[tcp + 8] == 1, fields[tcp + 11] == 1, fields[tcp + 12] == 1);
        let connection = [
            source.min(destination),
            source.max(destination),
            source_port.min(destination_port),
            source_port.max(destination_port),
        ];
        let Some((state, server)) = self.states.get_mut(&connection) else {
            if syn && !ack {
                self.states.insert(connection, (State::SynSent, destination));
                return Some(true);
            }
            return Some(false);
        };
        let from_server = source == *server;
        Some(match (*state, from_server) {
            (State::SynSent, true) if syn && ack => {
                *state = State::SynAcked;
                true
            }
            (State::SynAcked, false) if !syn && ack => {
                *state = State::Established;
                true
            }
            (State::SynSent | State::SynAcked, _) => false,
            (State::Established, true) => true,
            (State::Established, false) if syn && !ack => false,
            (State::Established, false) => {
                if fin && ack {
                    self.states.remove(&connection);
                }
                true
            }
        })
    }
}
