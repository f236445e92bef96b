//! Packets of a capture, as its reader hands them over.

use super::headers::flow_fields;
use super::order::{OrderError, TimeOrder};
use super::{Batch, Key};
use std::fmt;

/// The length that a packet of a capture has in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// From the destination address of Ethernet on. Packets captured as raw IP get an Ethernet header.
    Frame,
    /// The IP packet alone, by its header. Other packets have their length without an Ethernet header.
    Ip,
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Captured bytes; the capture may have cut the packet.
    pub data: &'a [u8],
    /// Length on the wire.
    pub len_bytes: u32,
    pub time_ns: u64,
    /// 1 is Ethernet; 101, 228 and 229 are raw IP.
    pub link_type: u16,
}

/// A packet that cannot be simulated. Packets count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureError {
    Order(OrderError),
    NoLength { packet: u64 },
    LinkType { packet: u64, link_type: u16 },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Order(error) => error.fmt(f),
            CaptureError::NoLength { packet } => write!(f, "packet {packet} has a length of 0 bytes"),
            CaptureError::LinkType { packet, link_type } => write!(
                f,
                "packet {packet} is of link type {link_type}; expected Ethernet (1) or raw IP (101, 228, 229)"
            ),
        }
    }
}

impl std::error::Error for CaptureError {}

const ETHERNET: u16 = 1;
const ETHERNET_HEADER_BYTES: u32 = 14;

/// Checks the packets of a capture and puts them into batches.
#[derive(Clone, Debug)]
pub struct Capture {
    length: Length,
    keys: Vec<Key>,
    order: TimeOrder,
    n_packets: u64,
    n_not_ip: u64,
}

impl Capture {
    /// `keys` are those that the batches have columns for.
    pub fn new(length: Length, keys: &[Key]) -> Capture {
        Capture { length, keys: keys.to_vec(), order: TimeOrder::default(), n_packets: 0, n_not_ip: 0 }
    }

    /// Adds the next packet to a batch.
    pub fn push(&mut self, batch: &mut Batch, frame: Frame<'_>) -> Result<(), CaptureError> {
        self.n_packets += 1;
        let packet = self.n_packets;
        self.order.check(frame.time_ns).map_err(CaptureError::Order)?;
        let has_ethernet = match frame.link_type {
            ETHERNET => true,
            101 | 228 | 229 => false,
            link_type => return Err(CaptureError::LinkType { packet, link_type }),
        };
        if frame.len_bytes == 0 {
            return Err(CaptureError::NoLength { packet });
        }
        let fields = flow_fields(frame.data, frame.link_type);
        self.n_not_ip += u64::from(fields.address_bits == 0);
        let len_bytes = match self.length {
            Length::Frame if has_ethernet => frame.len_bytes,
            Length::Frame => frame.len_bytes.saturating_add(ETHERNET_HEADER_BYTES),
            Length::Ip if fields.ip_len_bytes > 0 => fields.ip_len_bytes,
            Length::Ip if has_ethernet => frame.len_bytes.saturating_sub(ETHERNET_HEADER_BYTES).max(1),
            Length::Ip => frame.len_bytes,
        };
        batch.push(len_bytes, frame.time_ns, &fields, &self.keys);
        Ok(())
    }

    /// From the first packet to the last.
    pub fn duration_ns(&self) -> u64 {
        self.order.duration_ns()
    }

    /// Packets that are neither IPv4 nor IPv6.
    pub fn n_not_ip(&self) -> u64 {
        self.n_not_ip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ethernet header, and an IPv4 header that says 40 bytes.
    const FRAME: [u8; 34] = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10,
        0, 0, 2,
    ];

    fn len(length: Length, data: &[u8], len_bytes: u32, link_type: u16) -> u32 {
        let mut batch = Batch::new(0);
        let frame = Frame { data, len_bytes, time_ns: 5, link_type };
        Capture::new(length, &[]).push(&mut batch, frame).unwrap();
        batch.len_bytes[0]
    }

    #[test]
    fn lengths_are_of_frames_or_of_ip_packets() {
        // A frame of 60 bytes has 6 bytes of padding.
        assert_eq!(len(Length::Frame, &FRAME, 60, 1), 60);
        assert_eq!(len(Length::Ip, &FRAME, 60, 1), 40);
        assert_eq!(len(Length::Frame, &FRAME[14..], 40, 101), 54);
        assert_eq!(len(Length::Ip, &FRAME[14..], 40, 101), 40);
        // Not IP.
        assert_eq!((len(Length::Frame, &[0; 20], 60, 1), len(Length::Ip, &[0; 20], 60, 1)), (60, 46));
    }

    #[test]
    fn packets_that_cannot_be_simulated_are_refused() {
        let error = |len_bytes, time_ns, link_type| {
            let mut capture = Capture::new(Length::Frame, &[]);
            let first = Frame { data: &FRAME, len_bytes: 60, time_ns: 5, link_type: 1 };
            capture.push(&mut Batch::new(0), first).unwrap();
            let second = Frame { data: &FRAME, len_bytes, time_ns, link_type };
            capture.push(&mut Batch::new(0), second).unwrap_err().to_string()
        };
        assert_eq!(error(0, 5, 1), "packet 2 has a length of 0 bytes");
        assert!(error(60, 4, 1).starts_with("packet 2 is 1 ns earlier"));
        assert!(error(60, 5, 113).starts_with("packet 2 is of link type 113; expected Ethernet"));
    }
}
