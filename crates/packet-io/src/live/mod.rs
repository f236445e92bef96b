//! Ports of the running system: interfaces through AF_PACKET or AF_XDP sockets, TAP devices, and memif.
//!
//! The program sees packets as they are on a wire, independent of the offloads of the other side: checksums
//! are complete, merged packets are cut into segments again, VLAN tags are in their place. A packet that
//! cannot be restored is dropped and counted, never changed silently.
//!
//! An interface that goes down or vanishes is not an error: see [`LinkState`](crate::LinkState).
//!
//! A port may have several queues, each a [`Port`](crate::Port) for one worker. The kernel puts all packets of a flow into one
//! queue: AF_PACKET by fan-out of sockets, TAP by the queues of its device.

mod af_packet;
mod fanout;
mod interface;
mod memif;
mod offload;
mod ring;
mod segment;
mod socket;
mod tap;
mod wait;
mod xdp;

pub use af_packet::{AfPacketOptions, AfPacketPort};
pub use interface::{interface_names, n_rx_queues};
pub use memif::{MemifError, MemifOptions, MemifPort};
pub use tap::{TapOptions, TapPort};
pub use wait::{Waiter, wait_for_input};
pub use xdp::{XdpCopy, XdpForwarder, XdpOptions, XdpPort};
