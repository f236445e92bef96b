//! Blocks of pcapng files.

use crate::limits::{BLOCK_BYTES_MAX, INTERFACES_MAX, NAME_BYTES_MAX, PACKET_BYTES_MAX};
use crate::pcap::PacketSpan;
use crate::time::Clock;
use crate::{Damage, Interface};
use pcap_parser::pcapng::{
    Block, InterfaceDescriptionBlock, OptionCode, PcapNGOption, parse_block_be, parse_block_le,
};

/// Size of an empty block: type, length, length again.
pub(crate) const BLOCK_BYTES_MIN: usize = 12;

pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// First byte of a packet in its block.
const SIMPLE_PACKET_DATA: usize = 12;
const ENHANCED_PACKET_DATA: usize = 28;

/// State of the sections read so far.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    big_endian: bool,
    /// Number of interfaces of earlier sections.
    n_interfaces_before: usize,
    /// Clocks and snapshot lengths of the interfaces of this section.
    interfaces: Vec<(Clock, u32)>,
}

/// Header of the block at the present offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    kind: u32,
    pub(crate) len_bytes: u32,
    /// True if the block is skipped without parsing its contents.
    pub(crate) is_skipped: bool,
}

/// Contents of a parsed block.
#[derive(Debug)]
pub(crate) enum Content {
    Packet(PacketSpan),
    Interface(Interface),
    Nothing,
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let mut word = [0; 4];
    match bytes.get(at..at + 4) {
        Some(found) => word.copy_from_slice(found),
        None => return 0,
    }
    if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

impl Sections {
    /// Parses the first [`BLOCK_BYTES_MIN`] bytes of a block; a new section sets the byte order.
    pub(crate) fn block_header(&mut self, bytes: &[u8]) -> Result<BlockHeader, Damage> {
        // The type of a section header reads the same in both orders.
        let kind = word(bytes, 0, self.big_endian);
        if kind == SECTION_HEADER {
            self.big_endian = match bytes.get(8..12) {
                Some([0x1a, 0x2b, 0x3c, 0x4d]) => true,
                Some([0x4d, 0x3c, 0x2b, 0x1a]) => false,
                found => {
                    let mut magic = [0; 4];
                    if let Some(found) = found {
                        magic.copy_from_slice(found);
                    }
                    return Err(Damage::ByteOrderMagic { found: magic });
                }
            };
        }
        let len_bytes = word(bytes, 4, self.big_endian);
        let (block, min_bytes, max_bytes) = match kind {
            SECTION_HEADER => ("a section header", 28, BLOCK_BYTES_MAX),
            INTERFACE_DESCRIPTION => ("an interface description", 20, BLOCK_BYTES_MAX),
            SIMPLE_PACKET => ("a simple packet block", 16, BLOCK_BYTES_MAX),
            ENHANCED_PACKET => ("an enhanced packet block", 32, BLOCK_BYTES_MAX),
            _ => ("a block", BLOCK_BYTES_MIN as u32, u32::MAX - 3),
        };
        if !(min_bytes..=max_bytes).contains(&len_bytes) || !len_bytes.is_multiple_of(4) {
            return Err(Damage::BlockLength { block, claimed_bytes: len_bytes, min_bytes, max_bytes });
        }
        let is_skipped =
            !matches!(kind, SECTION_HEADER | INTERFACE_DESCRIPTION | SIMPLE_PACKET | ENHANCED_PACKET);
        Ok(BlockHeader { kind, len_bytes, is_skipped })
    }

    /// Checks the length at the end of a block against its header.
    pub(crate) fn check_trailer(&self, header: &BlockHeader, trailer: &[u8]) -> Result<(), Damage> {
        let trailing = word(trailer, 0, self.big_endian);
        if trailing == header.len_bytes {
            Ok(())
        } else {
            Err(Damage::BlockLengthMismatch { leading: header.len_bytes, trailing })
        }
    }

    /// Parses a complete block whose header and trailer agree.
    pub(crate) fn block(&mut self, header: &BlockHeader, bytes: &[u8]) -> Result<Content, Damage> {
        if header.kind == ENHANCED_PACKET {
            return self.enhanced_packet(header, bytes);
        }
        let parsed = if self.big_endian { parse_block_be(bytes) } else { parse_block_le(bytes) };
        let Ok((_, block)) = parsed else {
            return Err(Damage::Malformed { block: "a block" });
        };
        match block {
            Block::SectionHeader(section) => {
                if section.major_version != 1 {
                    return Err(Damage::UnknownVersion {
                        major: section.major_version,
                        minor: section.minor_version,
                    });
                }
                self.n_interfaces_before += self.interfaces.len();
                self.interfaces.clear();
                Ok(Content::Nothing)
            }
            Block::InterfaceDescription(interface) => self.interface(&interface),
            Block::SimplePacket(packet) => {
                let Some((_, snap_len_bytes)) = self.interfaces.first().copied() else {
                    return Err(self.unknown_interface(0));
                };
                // The captured length is the lesser of the original length and the interface's limit; the
                // rest is padding.
                let limit = if snap_len_bytes == 0 { u32::MAX } else { snap_len_bytes };
                let captured_bytes = packet.origlen.min(limit);
                if captured_bytes > PACKET_BYTES_MAX {
                    return Err(Damage::PacketTooLong { claimed_bytes: captured_bytes });
                }
                let room_bytes = header.len_bytes - 16;
                if captured_bytes > room_bytes {
                    return Err(Damage::PacketBeyondBlock { captured_bytes, room_bytes });
                }
                Ok(Content::Packet(PacketSpan {
                    record_bytes: header.len_bytes as usize,
                    data: (SIMPLE_PACKET_DATA, SIMPLE_PACKET_DATA + captured_bytes as usize),
                    // Simple packet blocks have no timestamp.
                    timestamp_ns: 0,
                    original_len_bytes: packet.origlen,
                    interface: self.n_interfaces_before as u32,
                }))
            }
            _ => Ok(Content::Nothing),
        }
    }

    /// Needs nothing of the options.
    fn enhanced_packet(&self, header: &BlockHeader, bytes: &[u8]) -> Result<Content, Damage> {
        let word = |at: usize| word(bytes, at, self.big_endian);
        let (interface, captured_bytes, original_bytes) = (word(8), word(20), word(24));
        let room_bytes = header.len_bytes - 32;
        if captured_bytes > PACKET_BYTES_MAX {
            return Err(Damage::PacketTooLong { claimed_bytes: captured_bytes });
        }
        if captured_bytes > room_bytes {
            return Err(Damage::PacketBeyondBlock { captured_bytes, room_bytes });
        }
        if captured_bytes > original_bytes {
            return Err(Damage::CapturedMoreThanOriginal { captured_bytes, original_bytes });
        }
        let Some((clock, _)) = self.interfaces.get(interface as usize) else {
            return Err(self.unknown_interface(interface));
        };
        let ticks = u64::from(word(12)) << 32 | u64::from(word(16));
        Ok(Content::Packet(PacketSpan {
            record_bytes: header.len_bytes as usize,
            data: (ENHANCED_PACKET_DATA, ENHANCED_PACKET_DATA + captured_bytes as usize),
            timestamp_ns: clock.ns(ticks),
            original_len_bytes: original_bytes,
            interface: (self.n_interfaces_before + interface as usize) as u32,
        }))
    }

    fn unknown_interface(&self, interface: u32) -> Damage {
        Damage::UnknownInterface { interface, n_interfaces: self.interfaces.len() as u32 }
    }

    fn interface(&mut self, block: &InterfaceDescriptionBlock<'_>) -> Result<Content, Damage> {
        if self.n_interfaces_before + self.interfaces.len() >= INTERFACES_MAX {
            return Err(Damage::TooManyInterfaces);
        }
        let option = |code| option_bytes(&block.options, code);
        let mut clock = Clock::default();
        if let Some([resolution]) = option(OptionCode::IfTsresol) {
            clock.resolution = *resolution;
        }
        if let Some(Ok(offset)) = option(OptionCode::IfTsoffset).map(<[u8; 8]>::try_from) {
            clock.offset_s =
                if self.big_endian { i64::from_be_bytes(offset) } else { i64::from_le_bytes(offset) };
        }
        self.interfaces.push((clock, block.snaplen));
        Ok(Content::Interface(Interface {
            name: option(OptionCode::IfName)
                .map(|name| String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]).into_owned()),
            link_type: (block.linktype.0 & 0xffff) as u16,
        }))
    }
}

/// Returns the value of an option without its padding. An option of code 0 ends the list.
fn option_bytes<'a>(options: &'a [PcapNGOption<'_>], code: OptionCode) -> Option<&'a [u8]> {
    options
        .iter()
        .take_while(|option| option.code != OptionCode::EndOfOpt)
        .find(|option| option.code == code)
        .and_then(|option| option.as_bytes().ok())
}
