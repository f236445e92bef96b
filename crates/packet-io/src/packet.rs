//! Packets in capture files and tests.

/// The link type of Ethernet in capture files.
pub const LINK_TYPE_ETHERNET: u16 = 1;

/// Returns the name of a common link type (https://www.tcpdump.org/linktypes.html).
pub(crate) fn link_type_name(link_type: u16) -> Option<&'static str> {
    Some(match link_type {
        0 => "BSD loopback",
        LINK_TYPE_ETHERNET => "Ethernet",
        9 => "PPP",
        101 => "raw IP",
        105 => "IEEE 802.11",
        108 => "OpenBSD loopback",
        113 => "Linux cooked capture",
        127 => "IEEE 802.11 with radiotap",
        228 => "raw IPv4",
        229 => "raw IPv6",
        249 => "USB",
        276 => "Linux cooked capture, version 2",
        _ => return None,
    })
}

/// A packet as it was captured or is to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Bytes from the first byte of the link layer's header on, without frame check sequence.
    pub data: Vec<u8>,
    /// Nanoseconds since 1970 in files, since the start of the test in memory. Times out of range are
    /// clamped.
    pub timestamp_ns: u64,
    /// Length on the wire; greater than that of `data` if the capture cut the packet.
    pub original_len_bytes: u32,
    /// Index into [`PacketReader::interfaces`](crate::PacketReader::interfaces); 0 in pcap files.
    pub interface: u32,
}

/// A packet of a capture whose bytes are still in the reader's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRef<'a> {
    /// The fields are those of [`Packet`].
    pub data: &'a [u8],
    pub timestamp_ns: u64,
    pub original_len_bytes: u32,
    pub interface: u32,
    /// Link type of the interface; 1 is Ethernet.
    pub link_type: u16,
}

impl PacketRef<'_> {
    pub fn to_packet(self) -> Packet {
        Packet {
            data: self.data.to_vec(),
            timestamp_ns: self.timestamp_ns,
            original_len_bytes: self.original_len_bytes,
            interface: self.interface,
        }
    }
}

impl Packet {
    /// Creates a complete packet at time 0.
    pub fn new(data: impl Into<Vec<u8>>) -> Packet {
        let data = data.into();
        let original_len_bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
        Packet { data, timestamp_ns: 0, original_len_bytes, interface: 0 }
    }

    /// Returns the packet with another timestamp.
    pub fn at(mut self, timestamp_ns: u64) -> Packet {
        self.timestamp_ns = timestamp_ns;
        self
    }

    /// Returns whether the capture cut the packet.
    pub fn is_cut(&self) -> bool {
        (self.data.len() as u64) < u64::from(self.original_len_bytes)
    }
}
