//! Ports: packets from and to capture files and memory.
//!
//! Key types: [`Packet`] is bytes with a time and the length it once had; [`PacketReader`] iterates over a pcap
//! or pcapng file of either byte order; [`PcapWriter`] and [`PcapngWriter`] write with nanoseconds; [`Port`] is
//! where a switch receives and sends bursts.
//!
//! Invariants: nothing here panics or allocates more than [`limits::PACKET_BYTES_MAX`] ahead of the bytes that
//! are really there, whatever the file says. All packets before a damaged place are delivered, then the error,
//! then nothing more. Errors say the file, the byte offset and what was expected there.
//!
//! Non-goals: what packets mean (no header is decoded here); P4.
//!
//! Files are streamed, so a capture may be larger than memory.
//!
//! Start reading at [`PacketReader`] and [`Port`].

mod capture_writer;
mod error;
pub mod limits;
mod packet;
mod pcap;
mod pcapng;
mod port;
mod reader;
mod time;
mod window;

pub use capture_writer::{CaptureWriter, PcapWriter, PcapngWriter};
pub use error::{Damage, ReadError, WriteError};
pub use packet::{LINK_TYPE_ETHERNET, Packet};
pub use port::{FilePort, MemoryPort, Port, PortError, PortId};
pub use reader::{Interface, PacketReader};
