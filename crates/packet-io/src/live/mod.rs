//! Ports of the running system: interfaces by way of AF_PACKET sockets, and TAP devices.
//!
//! Whatever offloads the other side uses, the program sees packets as they would be on a wire: checksums are
//! complete, merged packets are cut into segments again, VLAN tags are in their place. A packet that cannot be
//! shown like that is dropped and counted, never changed silently.
//!
//! An interface that goes down or vanishes is no error: see [`LinkState`](crate::LinkState).

mod af_packet;
mod interface;
mod offload;
mod segment;
mod socket;
mod tap;
mod wait;

pub use af_packet::{AfPacketOptions, AfPacketPort};
pub use interface::interface_names;
pub use tap::{TapOptions, TapPort};
pub use wait::{Waiter, wait_for_input};
