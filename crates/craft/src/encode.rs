//! From parts to bytes.
//!
//! Layers are encoded from the last to the first, so that lengths and checksums find what follows complete.

use crate::layers::{ETHER_TYPE_EXPERIMENTAL, IP_PROTOCOL_EXPERIMENTAL, UDP_PORT_DISCARD};
use crate::parse::{Header, Part};
use crate::{Fault, Fill, Form, Layer};

/// The bytes of all parts.
pub(crate) fn encode(parts: &[Part]) -> Result<Vec<u8>, Fault> {
    let mut rest: Vec<u8> = Vec::new();
    for (i, part) in parts.iter().enumerate().rev() {
        let mut bytes = match part {
            Part::Layer(header) => header_bytes(header, &parts[..i], parts.get(i + 1), &rest)?,
            Part::Payload { bytes, .. } => bytes.clone(),
        };
        bytes.append(&mut rest);
        rest = bytes;
    }
    Ok(rest)
}

fn header_bytes(
    header: &Header,
    before: &[Part],
    next: Option<&Part>,
    rest: &[u8],
) -> Result<Vec<u8>, Fault> {
    let n_bytes = header.layer.n_bytes();
    let mut bits = BitWriter::default();
    // The place of the checksum, which is computed once all other fields are there.
    let mut checksum = None;
    for (field, given) in header.layer.fields.iter().zip(&header.given) {
        let value = match (given, field.fill) {
            (Some(value), _) => *value,
            (None, Fill::Value(value)) => value,
            (None, Fill::EtherType) => {
                let number = |layer: &Layer| layer.ether_type.map(u128::from);
                next_protocol(header, field.name, next, number, ETHER_TYPE_EXPERIMENTAL.into())?
            }
            (None, Fill::IpProtocol) => {
                let number = |layer: &Layer| layer.ip_protocol.map(u128::from);
                next_protocol(header, field.name, next, number, IP_PROTOCOL_EXPERIMENTAL.into())?
            }
            (None, Fill::UdpPort) => {
                let port = following(next).and_then(|layer| layer.udp_port);
                port.unwrap_or(UDP_PORT_DISCARD).into()
            }
            (None, Fill::BottomOfStack) => {
                (!following(next).is_some_and(|layer| std::ptr::eq(layer, header.layer))).into()
            }
            // A packet has at most `BYTES_MAX` bytes, which 16 bits can say.
            (None, Fill::LengthOfAll) => (n_bytes + rest.len()) as u128,
            (None, Fill::LengthOfRest) => rest.len() as u128,
            (None, Fill::ChecksumOfHeader | Fill::ChecksumOfAll | Fill::ChecksumWithPseudoHeader { .. }) => {
                checksum = Some((bits.n_bits / 8, field.fill));
                0
            }
        };
        bits.put(value, field.n_bits);
    }
    let mut bytes = bits.bytes;
    if let Some((at, fill)) = checksum {
        let sum = match fill {
            Fill::ChecksumOfHeader => !fold(sum_of(&bytes)),
            Fill::ChecksumWithPseudoHeader { protocol, is_optional } => {
                let n_bytes = (bytes.len() + rest.len()) as u64;
                let pseudo = addresses(before).map(|sum| sum + u64::from(protocol) + n_bytes);
                let sum = !fold(sum_of(&bytes) + sum_of(rest) + pseudo.unwrap_or(0));
                match (is_optional, pseudo, sum) {
                    (true, None, _) => 0,
                    (true, Some(_), 0) => 0xffff,
                    (true | false, _, sum) => sum,
                }
            }
            // Other fills are no checksums, and never get here.
            Fill::ChecksumOfAll
            | Fill::Value(_)
            | Fill::EtherType
            | Fill::IpProtocol
            | Fill::UdpPort
            | Fill::BottomOfStack
            | Fill::LengthOfAll
            | Fill::LengthOfRest => !fold(sum_of(&bytes) + sum_of(rest)),
        };
        bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    Ok(bytes)
}

fn following(next: Option<&Part>) -> Option<&'static Layer> {
    match next {
        Some(Part::Layer(header)) => Some(header.layer),
        Some(Part::Payload { .. }) | None => None,
    }
}

/// The number of the next layer in a field of this one.
fn next_protocol(
    header: &Header,
    field: &str,
    next: Option<&Part>,
    number: impl Fn(&Layer) -> Option<u128>,
    experimental: u128,
) -> Result<u128, Fault> {
    let Some(Part::Layer(next)) = next else { return Ok(experimental) };
    number(next.layer).ok_or_else(|| {
        let (name, next_name) = (header.layer.name, next.layer.name);
        let message = format!("`{name}` has no number for `{next_name}` in `{field}`");
        let help = format!("put the layer between that is missing, or write `{name}({field}=NUMBER)`");
        Fault::new(next.at.clone(), message).help(help)
    })
}

/// The sum of the addresses of the IP layer before; only payload may stand between.
fn addresses(before: &[Part]) -> Option<u64> {
    let header = before.iter().rev().find_map(|part| match part {
        Part::Layer(header) => Some(header),
        Part::Payload { .. } => None,
    })?;
    if !header.layer.is_ip() {
        return None;
    }
    let mut bits = BitWriter::default();
    for (field, given) in header.layer.fields.iter().zip(&header.given) {
        match (field.form, given, field.fill) {
            (Form::Ipv4 | Form::Ipv6, Some(value), _) => bits.put(*value, field.n_bits),
            (Form::Ipv4 | Form::Ipv6, None, Fill::Value(value)) => bits.put(value, field.n_bits),
            (Form::Ipv4 | Form::Ipv6 | Form::Number | Form::Flags | Form::Mac, _, _) => {}
        }
    }
    Some(sum_of(&bits.bytes))
}

/// The sum of the 16-bit words of RFC 1071, not folded; an odd byte is the upper half of a word.
fn sum_of(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Bits, the most significant first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    n_bits: usize,
}

impl BitWriter {
    fn put(&mut self, value: u128, n_bits: u32) {
        for i in (0..n_bits).rev() {
            if self.n_bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = (value >> i & 1) as u8;
            self.bytes[self.n_bits / 8] |= bit << (7 - self.n_bits % 8);
            self.n_bits += 1;
        }
    }
}
