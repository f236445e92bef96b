//! Errors of capture files.

use crate::packet::{LINK_TYPE_ETHERNET, link_type_name};
use std::fmt;
use std::io;

/// Error in a capture file, which cannot be read beyond this place.
#[derive(Debug)]
pub struct ReadError {
    /// The name under which the file was opened.
    pub file: String,
    /// Offset of the faulty part in the file.
    pub offset_bytes: u64,
    pub damage: Damage,
}

/// Kinds of damage in a capture file.
#[derive(Debug)]
pub enum Damage {
    /// The operating system returned an error.
    Io(io::Error),
    /// The file does not begin like a capture.
    NotACapture {
        found: Vec<u8>,
    },
    /// The file ends inside `part`.
    Truncated {
        part: &'static str,
        expected_bytes: u64,
        found_bytes: u64,
    },
    /// An undefined version of the format.
    UnknownVersion {
        major: u16,
        minor: u16,
    },
    /// A packet longer than [`crate::limits::PACKET_BYTES_MAX`].
    PacketTooLong {
        claimed_bytes: u32,
    },
    /// A packet whose captured length exceeds its original length.
    CapturedMoreThanOriginal {
        captured_bytes: u32,
        original_bytes: u32,
    },
    /// The two lengths of a pcapng block differ.
    BlockLengthMismatch {
        leading: u32,
        trailing: u32,
    },
    /// A length of a pcapng block that is impossible for its kind.
    BlockLength {
        block: &'static str,
        claimed_bytes: u32,
        min_bytes: u32,
        max_bytes: u32,
    },
    /// An invalid byte order mark of a section.
    ByteOrderMagic {
        found: [u8; 4],
    },
    /// A packet whose length exceeds its block.
    PacketBeyondBlock {
        captured_bytes: u32,
        room_bytes: u32,
    },
    /// A packet of an interface that the section has not described.
    UnknownInterface {
        interface: u32,
        n_interfaces: u32,
    },
    TooManyInterfaces,
    /// A packet of another link type than Ethernet, where only Ethernet is accepted.
    NotEthernet {
        link_type: u16,
    },
    /// The contents of a block could not be parsed.
    Malformed {
        block: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.damage {
            // A file that could not be opened has no faulty byte.
            Damage::Io(error) if self.offset_bytes == 0 => write!(f, "{}: {error}", self.file),
            damage => write!(f, "{}: byte {}: {damage}", self.file, self.offset_bytes),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Io(e) => write!(f, "{e}"),
            Damage::NotACapture { found } if found.is_empty() => {
                write!(f, "the file is empty; expected the header of a pcap or pcapng file")
            }
            Damage::NotACapture { found } if found.starts_with(&[0x1f, 0x8b]) => {
                write!(f, "the file is compressed; gunzip it first")
            }
            Damage::NotACapture { found } => {
                write!(f, "not a capture: found{}, expected ", Hex(found))?;
                write!(f, "the magic number of pcap (a1 b2 c3 d4, a1 b2 3c 4d or either reversed) ")?;
                write!(f, "or pcapng (0a 0d 0d 0a)")
            }
            Damage::Truncated { part, expected_bytes, found_bytes } => {
                write!(f, "the file ends inside {part}: expected {expected_bytes} bytes, found {found_bytes}")
            }
            Damage::UnknownVersion { major, minor } => {
                write!(
                    f,
                    "version {major}.{minor} of the format is unknown; expected 2.x (pcap) or 1.x (pcapng)"
                )
            }
            Damage::PacketTooLong { claimed_bytes } => write!(
                f,
                "a packet claims {claimed_bytes} bytes; expected at most {}",
                crate::limits::PACKET_BYTES_MAX
            ),
            Damage::CapturedMoreThanOriginal { captured_bytes, original_bytes } => write!(
                f,
                "a packet has {captured_bytes} captured bytes but an original length of {original_bytes}; \
                 expected no more than that"
            ),
            Damage::BlockLengthMismatch { leading, trailing } => write!(
                f,
                "a block begins with length {leading} and ends with length {trailing}; expected the same twice"
            ),
            Damage::BlockLength { block, claimed_bytes, min_bytes, max_bytes } => write!(
                f,
                "{block} claims {claimed_bytes} bytes; expected a multiple of 4 from {min_bytes} to {max_bytes}"
            ),
            Damage::ByteOrderMagic { found } => write!(
                f,
                "a section has the byte-order magic{}; expected 1a 2b 3c 4d in either order",
                Hex(found)
            ),
            Damage::PacketBeyondBlock { captured_bytes, room_bytes } => write!(
                f,
                "a packet claims {captured_bytes} captured bytes in a block with room for {room_bytes}"
            ),
            Damage::UnknownInterface { interface, n_interfaces: 0 } => write!(
                f,
                "a packet came from interface {interface}, but the section describes no interface before it"
            ),
            Damage::UnknownInterface { interface, n_interfaces } => write!(
                f,
                "a packet came from interface {interface}; expected one of the {n_interfaces} described, from 0"
            ),
            Damage::NotEthernet { link_type } => {
                write!(f, "the packets are of link type {link_type}")?;
                if let Some(name) = link_type_name(*link_type) {
                    write!(f, " ({name})")?;
                }
                write!(f, "; expected {LINK_TYPE_ETHERNET} (Ethernet)")
            }
            Damage::TooManyInterfaces => {
                write!(f, "more interfaces than the {} that are allowed", crate::limits::INTERFACES_MAX)
            }
            Damage::Malformed { block } => write!(f, "{block} is malformed"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.damage {
            Damage::Io(e) => Some(e),
            _ => None,
        }
    }
}

/// Prints bytes as ` 0a 0d`.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, " {b:02x}"))
    }
}

/// Error of a packet that cannot be written.
#[derive(Debug)]
pub enum WriteError {
    Io {
        file: String,
        error: io::Error,
    },
    /// Longer than [`crate::limits::PACKET_BYTES_MAX`].
    PacketTooLong {
        file: String,
        n_bytes: usize,
    },
    /// pcap counts seconds in 32 bits.
    TimeTooLate {
        file: String,
        timestamp_ns: u64,
    },
    UnknownInterface {
        file: String,
        interface: u32,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io { file, error } => write!(f, "{file}: {error}"),
            WriteError::PacketTooLong { file, n_bytes } => write!(
                f,
                "{file}: a packet of {n_bytes} bytes; at most {} can be written",
                crate::limits::PACKET_BYTES_MAX
            ),
            WriteError::TimeTooLate { file, timestamp_ns } => {
                write!(f, "{file}: the time {timestamp_ns} ns is too late for pcap; write pcapng")
            }
            WriteError::UnknownInterface { file, interface } => {
                write!(f, "{file}: a packet of interface {interface}, which was not added to the file")
            }
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WriteError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
