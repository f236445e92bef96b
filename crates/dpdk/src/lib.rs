//! Ports on devices of DPDK: network cards without the kernel, memif and vhost sockets, and all other drivers.
//!
//! Key types: [`DpdkPort`] is a queue of a device, opened by [`open()`] or [`open_queues()`] from DPDK's own syntax for devices.
//! [`Installation`] says which DPDK the system has. `host` starts EAL inside of this process, once, for the first port.
//!
//! No build of this crate needs DPDK. The C side, `c/shim.c`, is compiled on first use by the system's compiler against the
//! installed DPDK and loaded from the cache of compiled programs.
//!
//! Invariants: EAL changes nothing of the process that others can see, neither affinities nor signal handlers nor standard
//! error. Mbufs are packet buffers: a packet from one DPDK port to another is not copied. Every packet handed to a port
//! is counted once.
//!
//! Non-goals: offloads of checksums, VLAN tags and flows; DPDK's own processes, services and worker threads.
//!
//! Start reading at [`open()`], then `c/shim.c`; `docs/internals/ports.md` tells how EAL is hosted.

#![expect(unsafe_code, reason = "calls of C, and packet buffers in memory that DPDK owns")]

mod device;
mod eal_args;
mod error;
mod host;
mod installation;
mod mbufs;
mod port;
mod shim;

pub use eal_args::ARGS_VARIABLE;
pub use error::{DpdkError, Failure};
pub use installation::{Installation, InstallationError, VERSION_MIN};
pub use port::{DpdkPort, open, open_queues};
