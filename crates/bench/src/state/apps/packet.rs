//! Packets of the comparison: made with right checksums, and read again.

use crate::scenes::checksum;

pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;
pub const URG: u8 = 0x20;

/// An address with a port; for ICMP the port is the identifier.
pub type End = (u32, u16);

/// A TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// A multiple of four bytes.
    pub options: Vec<u8>,
    pub n_data: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Tcp(Segment),
    Udp {
        data: Vec<u8>,
        has_checksum: bool,
    },
    /// An echo request or reply; its identifier is the port of an end.
    Echo {
        is_reply: bool,
        sequence: u16,
    },
    /// Destination unreachable, with a packet that it is about.
    Unreachable {
        about: Vec<u8>,
    },
}

/// Oddities of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddity {
    pub has_wrong_checksum: bool,
    pub has_ip_options: bool,
    /// The first of two fragments.
    pub is_fragment: bool,
}

fn bytes_of(body: &Body, source: End, destination: End) -> (u8, Vec<u8>) {
    match body {
        Body::Tcp(segment) => {
            let words = 5 + segment.options.len() / 4;
            let mut bytes = [source.1, destination.1].map(u16::to_be_bytes).concat();
            bytes.extend([segment.seq, segment.ack].map(u32::to_be_bytes).concat());
            bytes.extend([(words << 4) as u8, segment.flags]);
            bytes.extend([segment.window, 0, 0].map(u16::to_be_bytes).concat());
            bytes.extend(&segment.options);
            bytes.extend((0..segment.n_data).map(|i| i as u8));
            (TCP, bytes)
        }
        Body::Udp { data, .. } => {
            let mut bytes =
                [source.1, destination.1, 8 + data.len() as u16, 0].map(u16::to_be_bytes).concat();
            bytes.extend(data);
            (UDP, bytes)
        }
        Body::Echo { is_reply, sequence } => {
            let identifier = if *is_reply { destination.1 } else { source.1 };
            let mut bytes = vec![if *is_reply { 0 } else { 8 }, 0, 0, 0];
            bytes.extend([identifier, *sequence].map(u16::to_be_bytes).concat());
            bytes.extend(b"ping");
            (ICMP, bytes)
        }
        Body::Unreachable { about } => {
            let mut bytes = vec![3, 3, 0, 0, 0, 0, 0, 0];
            bytes.extend(about);
            (ICMP, bytes)
        }
    }
}

/// Offset of the checksum in what IP carries.
fn checksum_at(protocol: u8) -> usize {
    match protocol {
        TCP => 16,
        UDP => 6,
        _ => 2,
    }
}

/// The sum over a segment, with the pseudo header where the protocol has one.
fn sum(protocol: u8, source: u32, destination: u32, bytes: &[u8]) -> u16 {
    let mut covered = Vec::new();
    if protocol != ICMP {
        covered.extend([source, destination].map(u32::to_be_bytes).concat());
        covered.extend([0, protocol]);
        covered.extend((bytes.len() as u16).to_be_bytes());
    }
    covered.extend(bytes);
    checksum(&covered)
}

/// An IPv4 packet.
pub fn ipv4(source: End, destination: End, body: &Body, oddity: Oddity) -> Vec<u8> {
    let (protocol, mut payload) = bytes_of(body, source, destination);
    let has_checksum = !matches!(body, Body::Udp { has_checksum: false, .. });
    if has_checksum {
        let sum = match sum(protocol, source.0, destination.0, &payload) {
            0 if protocol == UDP => 0xffff,
            sum => sum,
        };
        let sum = if oddity.has_wrong_checksum { sum ^ 0x1234 } else { sum };
        payload[checksum_at(protocol)..][..2].copy_from_slice(&sum.to_be_bytes());
    }
    let options: &[u8] = if oddity.has_ip_options { &[1, 1, 1, 1] } else { &[] };
    let n_header = 20 + options.len();
    let mut packet = vec![0x40 | (n_header / 4) as u8, 0];
    packet.extend(((n_header + payload.len()) as u16).to_be_bytes());
    packet.extend([0x12, 0x34, if oddity.is_fragment { 0x20 } else { 0 }, 0, 64, protocol, 0, 0]);
    packet.extend([source.0, destination.0].map(u32::to_be_bytes).concat());
    packet.extend(options);
    let header = checksum(&packet);
    packet[10..12].copy_from_slice(&header.to_be_bytes());
    packet.extend(payload);
    packet
}

/// An Ethernet frame.
pub fn frame(to: [u8; 6], from: [u8; 6], packet: &[u8]) -> Vec<u8> {
    let mut frame = [&to[..], &from, &[8, 0]].concat();
    frame.extend(packet);
    frame
}

/// A packet as it came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub station: [u8; 6],
    pub protocol: u8,
    pub source: End,
    pub destination: End,
    pub are_checksums_right: bool,
    /// Payload of IP, with zeros for ports, identifier and checksum.
    pub rest: Vec<u8>,
}

impl Seen {
    /// Reads a frame; `None` if it is no IPv4 packet.
    pub fn read(frame: &[u8]) -> Option<Seen> {
        let packet = frame.get(14..)?;
        if frame[12..14] != [8, 0] || packet.len() < 20 {
            return None;
        }
        let n_header = usize::from(packet[0] & 15) * 4;
        let n_total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        let (header, mut rest) = (packet.get(..n_header)?, packet.get(n_header..n_total)?.to_vec());
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (protocol, source, destination) = (header[9], word(12), word(16));
        if rest.len() < 8 {
            return None;
        }
        let has_checksum = protocol != UDP || rest[6..8] != [0, 0];
        let is_whole = header[6] & 0x3f == 0 && header[7] == 0;
        let are_checksums_right = checksum(header) == 0
            && (!has_checksum || !is_whole || sum(protocol, source, destination, &rest) == 0);
        let half = |at: usize| u16::from_be_bytes([rest[at], rest[at + 1]]);
        let (source_port, destination_port) = match (protocol, rest[0]) {
            (ICMP, 8) => (half(4), 0),
            (ICMP, 0) => (0, half(4)),
            (ICMP, _) => (0, 0),
            _ => (half(0), half(2)),
        };
        let masked = if protocol == ICMP {
            [2..4, 4..6]
        } else {
            [0..4, checksum_at(protocol)..checksum_at(protocol) + 2]
        };
        masked
            .into_iter()
            .flatten()
            .filter(|at| *at < rest.len())
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|at| rest[at] = 0);
        Some(Seen {
            station: frame[..6].try_into().ok()?,
            protocol,
            source: (source, source_port),
            destination: (destination, destination_port),
            are_checksums_right,
            rest,
        })
    }

    /// The type of an ICMP message, or the flags of a TCP segment, in words.
    pub fn what(&self) -> String {
        match self.protocol {
            ICMP => format!("ICMP {}/{}", self.rest[0], self.rest[1]),
            TCP => format!("TCP {}", flags(self.rest[13])),
            _ => "UDP".to_owned(),
        }
    }
}

/// Flags in words, as `syn+ack`.
pub fn flags(flags: u8) -> String {
    let names = [(SYN, "syn"), (FIN, "fin"), (RST, "rst"), (PSH, "psh"), (ACK, "ack"), (URG, "urg")];
    let set: Vec<&str> = names.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { "no flags".to_owned() } else { set.join("+") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_were_made() {
        let segment = Segment { flags: SYN, seq: 1, ack: 0, window: 100, options: vec![1; 4], n_data: 3 };
        let bodies = [
            Body::Tcp(segment),
            Body::Udp { data: vec![1, 2, 3], has_checksum: true },
            Body::Udp { data: vec![], has_checksum: false },
        ];
        for body in bodies {
            let (from, to) = ((0x0a00_0005, 40000), (0xc633_6407, 80));
            let right = ipv4(from, to, &body, Oddity::default());
            let seen = Seen::read(&frame([1; 6], [2; 6], &right)).unwrap();
            assert_eq!(
                (seen.source, seen.destination, seen.are_checksums_right),
                (from, to, true),
                "{body:?}"
            );
            let wrong = ipv4(from, to, &body, Oddity { has_wrong_checksum: true, ..Oddity::default() });
            let has_none = matches!(body, Body::Udp { has_checksum: false, .. });
            assert_eq!(Seen::read(&frame([1; 6], [2; 6], &wrong)).unwrap().are_checksums_right, has_none);
        }
        let echo = ipv4((1, 7), (2, 0), &Body::Echo { is_reply: false, sequence: 1 }, Oddity::default());
        let seen = Seen::read(&frame([1; 6], [2; 6], &echo)).unwrap();
        assert_eq!((seen.source, seen.destination, seen.what().as_str()), ((1, 7), (2, 0), "ICMP 8/0"));
    }
}
