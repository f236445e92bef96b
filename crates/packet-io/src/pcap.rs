//! Records of pcap files.

use crate::Damage;
use crate::limits::PACKET_BYTES_MAX;
use pcap_parser::pcap::parse_pcap_header;

pub(crate) const HEADER_BYTES: usize = 24;
pub(crate) const RECORD_HEADER_BYTES: usize = 16;

/// Byte order, time unit and link type from the header of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PcapFormat {
    big_endian: bool,
    nanoseconds: bool,
    pub(crate) link_type: u16,
}

/// Returns whether `found` is a magic number of pcap. The obsolete "modified" format is excluded: its records
/// cannot be distinguished from damaged ones.
pub(crate) fn is_magic(found: &[u8]) -> bool {
    matches!(
        found,
        [0xa1, 0xb2, 0xc3, 0xd4]
            | [0xd4, 0xc3, 0xb2, 0xa1]
            | [0xa1, 0xb2, 0x3c, 0x4d]
            | [0x4d, 0x3c, 0xb2, 0xa1]
    )
}

/// Parses the first [`HEADER_BYTES`] of a file.
pub(crate) fn header(bytes: &[u8]) -> Result<PcapFormat, Damage> {
    let Ok((_, header)) = parse_pcap_header(bytes) else {
        return Err(Damage::Malformed { block: "the header of the file" });
    };
    if header.version_major != 2 {
        return Err(Damage::UnknownVersion { major: header.version_major, minor: header.version_minor });
    }
    Ok(PcapFormat {
        big_endian: header.is_bigendian(),
        nanoseconds: header.is_nanosecond_precision(),
        // The upper half holds the length of the frame check sequence.
        link_type: (header.network.0 & 0xffff) as u16,
    })
}

impl PcapFormat {
    /// Locates the packet in a record, given its [`RECORD_HEADER_BYTES`].
    #[inline]
    pub(crate) fn record(&self, header: &[u8]) -> Result<PacketSpan, Damage> {
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&header[at..at + 4]);
            if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let (captured_bytes, original_bytes) = (word(8), word(12));
        if captured_bytes > PACKET_BYTES_MAX {
            return Err(Damage::PacketTooLong { claimed_bytes: captured_bytes });
        }
        if captured_bytes > original_bytes {
            return Err(Damage::CapturedMoreThanOriginal { captured_bytes, original_bytes });
        }
        let fraction_ns = u64::from(word(4)) * if self.nanoseconds { 1 } else { 1000 };
        let end = RECORD_HEADER_BYTES + captured_bytes as usize;
        Ok(PacketSpan {
            record_bytes: end,
            data: (RECORD_HEADER_BYTES, end),
            timestamp_ns: u64::from(word(0)) * 1_000_000_000 + fraction_ns,
            original_len_bytes: original_bytes,
            interface: 0,
        })
    }
}

/// A packet within its record or block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketSpan {
    /// Bytes of the whole record.
    pub(crate) record_bytes: usize,
    /// First byte of the data within the record, and the byte after the last.
    pub(crate) data: (usize, usize),
    pub(crate) timestamp_ns: u64,
    pub(crate) original_len_bytes: u32,
    pub(crate) interface: u32,
}
