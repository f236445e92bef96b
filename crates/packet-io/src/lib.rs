//! Ports: packets from and to interfaces, capture files and memory.
//!
//! Key types: [`Port`] is where a switch receives and sends bursts of [`PacketBuf`], which come from a worker's
//! [`BufPool`]. An [`AfPacketPort`] is an interface of the system, an [`XdpPort`] too, past the system's own network stack, a [`TapPort`] leads into the system's own
//! network stack, a [`FilePort`] reads and writes captures, a [`MemoryPort`] is for tests; a [`PcapMirror`] around
//! any of them copies what passes. [`Packet`] is bytes with a time and the length it once had; [`PacketReader`]
//! iterates over a pcap or pcapng file of either byte order; [`PcapWriter`] and [`PcapngWriter`] write with
//! nanoseconds.
//!
//! Invariants: nothing here panics or allocates more than [`limits::PACKET_BYTES_MAX`] ahead of the bytes that
//! are really there, for any file. All packets before a damaged place are delivered, then the error,
//! then nothing more. Errors say the file, the byte offset and what was expected there.
//!
//! Non-goals: the meaning of packets (headers are decoded only as far as offloads
//! have to be undone); P4.
//!
//! Every packet handed to a port to be sent is counted, as sent or by why it was not; live ports allocate nothing
//! per packet once a worker's pool has grown. An interface that goes down or vanishes is a state of its port, no
//! error.
//!
//! Files are streamed, so a capture may be larger than memory.
//!
//! Start reading at [`PacketReader`] and [`Port`].

#![expect(unsafe_code, reason = "buffers shared with C, and system calls that Rust's library lacks")]

mod buf;
mod capture_writer;
#[cfg(target_os = "linux")]
mod cores;
mod error;
mod file_port;
mod frame;
mod interface_error;
pub mod limits;
#[cfg(target_os = "linux")]
mod live;
mod memory_port;
mod mirror;
mod packet;
mod pcap;
mod pcapng;
mod port;
mod reader;
mod stats;
mod storage;
mod time;
mod window;

pub use buf::{BufPool, BufPoolOptions, PacketBuf, RawPacketBuf};
pub use capture_writer::{CaptureWriter, PcapWriter, PcapngWriter};
#[cfg(target_os = "linux")]
pub use cores::{CoreError, allowed_cores, check_cores, pin};
pub use error::{Damage, ReadError, WriteError};
pub use file_port::FilePort;
pub use frame::FrameSource;
pub use interface_error::{InterfaceCause, InterfaceError};
#[cfg(target_os = "linux")]
pub use live::{
    AfPacketOptions, AfPacketPort, MemifError, MemifOptions, MemifPort, TapOptions, TapPort, Waiter, XdpCopy,
    XdpForwarder, XdpOptions, XdpPort, interface_names, n_rx_queues, wait_for_input,
};
pub use memory_port::MemoryPort;
pub use mirror::PcapMirror;
pub use packet::{LINK_TYPE_ETHERNET, Packet, PacketRef};
pub use port::{LinkState, Port, PortError, PortId};
pub use reader::{Interface, PacketReader};
pub use stats::PortStats;
pub use storage::PacketStorage;
