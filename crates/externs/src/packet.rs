//! Packets of extern calls, before and after the call.

use crate::abi;

/// Longest packet that an extern can make, independent of the room: the limit is equal in every backend.
pub const PACKET_BYTES_MAX: usize = 9216;

/// A packet within its buffer.
#[derive(Debug)]
pub struct PacketView<'a> {
    pub storage: &'a mut [u8],
    /// Offset of the packet in the buffer.
    pub start: usize,
    pub length: usize,
    /// Number of bytes of headers that the program has parsed; the payload follows.
    pub payload_at: usize,
    pub ingress_port: u32,
}

/// Position of a packet in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketPlace {
    pub start: usize,
    pub length: usize,
    pub payload_at: usize,
}

/// Error: a function left bounds that are outside of the packet's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a function has put the packet outside of its buffer")]
pub struct PacketFault;

impl PacketView<'_> {
    pub fn place(&self) -> PacketPlace {
        PacketPlace { start: self.start, length: self.length, payload_at: self.payload_at }
    }

    pub(crate) fn again(&mut self) -> PacketView<'_> {
        let PacketView { storage, start, length, payload_at, ingress_port } = self;
        let (start, length, payload_at) = (*start, *length, *payload_at);
        PacketView { storage, start, length, payload_at, ingress_port: *ingress_port }
    }

    pub fn bytes(&self) -> &[u8] {
        self.storage.get(self.start..self.start.saturating_add(self.length)).unwrap_or_default()
    }

    /// Returns whether the packet lies in its buffer and its sizes fit the C struct.
    pub(crate) fn is_whole(&self) -> bool {
        let end = self.start.checked_add(self.length);
        self.payload_at <= self.length
            && end.is_some_and(|end| end <= self.storage.len())
            && u32::try_from(self.storage.len()).is_ok()
    }

    /// Returns the C struct of a packet that [is whole](Self::is_whole). The struct points into the buffer;
    /// the extern may use all of it.
    pub(crate) fn raw(&mut self) -> abi::Packet {
        let room = self.storage.len() - self.start - self.length;
        abi::Packet {
            data: self.storage.as_mut_ptr().wrapping_add(self.start),
            length_bytes: self.length as u32,
            headroom_bytes: self.start as u32,
            tailroom_bytes: room.min(PACKET_BYTES_MAX.saturating_sub(self.length)) as u32,
            payload_at: self.payload_at as u32,
            ingress_port: self.ingress_port,
            reserved: 0,
        }
    }

    /// Applies the bounds that a function has left, and restores the headers in front of the payload.
    pub(crate) fn take(&mut self, left: &abi::Packet, headers: &[u8]) -> Result<(), PacketFault> {
        let start = (left.data as usize).checked_sub(self.storage.as_ptr() as usize).ok_or(PacketFault)?;
        let (length, payload_at) = (left.length_bytes as usize, left.payload_at as usize);
        let end = start.checked_add(length).filter(|end| *end <= self.storage.len()).ok_or(PacketFault)?;
        if headers.is_empty() {
            (self.start, self.length) = (start, length);
            return Ok(());
        }
        if payload_at > length {
            return Err(PacketFault);
        }
        let payload = start + payload_at;
        let start = payload.checked_sub(headers.len()).ok_or(PacketFault)?;
        self.storage[start..payload].copy_from_slice(headers);
        (self.start, self.length, self.payload_at) = (start, end - start, headers.len());
        Ok(())
    }
}
