//! Records of pcap files.

use crate::limits::PACKET_BYTES_MAX;
use crate::{Damage, Packet};
use pcap_parser::pcap::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};

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
    /// Returns the number of data bytes of a record, given its [`RECORD_HEADER_BYTES`].
    pub(crate) fn captured_bytes(&self, header: &[u8]) -> Result<u32, Damage> {
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
        Ok(captured_bytes)
    }

    /// Converts a complete record to a packet.
    pub(crate) fn packet(&self, record: &[u8]) -> Result<Packet, Damage> {
        let parsed = if self.big_endian { parse_pcap_frame_be(record) } else { parse_pcap_frame(record) };
        let Ok((_, record)) = parsed else {
            return Err(Damage::Malformed { block: "a packet record" });
        };
        let fraction_ns = u64::from(record.ts_usec) * if self.nanoseconds { 1 } else { 1000 };
        Ok(Packet {
            data: record.data.to_vec(),
            timestamp_ns: u64::from(record.ts_sec) * 1_000_000_000 + fraction_ns,
            original_len_bytes: record.origlen,
            interface: 0,
        })
    }
}
