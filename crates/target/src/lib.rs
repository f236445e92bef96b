//! A switch and its control plane around any backend: everything that does not depend on how blocks are run.
//!
//! - [`BlockRunner`]: runs the blocks of a program on packets; the rest is here;
//! - [`Switch`]: packets go in and come out here; [`traffic`] says how they go through the blocks;
//! - [`Device`]: a switch with its control plane, the [`Target`](control::Target) of every transport;
//! - [`Entities`]: the control plane's view of the program;
//! - [`Store`]: what a program keeps between packets, written and read by the control plane;
//! - [`ExternArgs`]: what an extern function that a user supplies sees of its call.
//!
//! Invariants: nothing here knows how blocks are run or tables are laid out; two backends that agree on those give
//! the same packets, totals and answers. Time is given. Nothing panics, whatever program, packets and entities.
//!
//! Non-goals: files, clocks, threads; the meaning of instructions.
//!
//! Start reading at [`BlockRunner`], then [`Store`].

pub mod block_runner;
mod device;
pub mod entities;
pub mod extern_args;
mod message;
pub mod requests;
mod stop_reason;
pub mod store;
pub mod traffic;

pub use arch::PassKind;
pub use block_runner::{BlockEnd, BlockRunner, PortState, TrafficEvent};
pub use device::Device;
pub use entities::Entities;
pub use extern_args::{ExternArgs, ExternEnd, PacketParts, UserExtern};
pub use message::format_message;
pub use requests::{CloneKind, CloneRequest, DigestMessage, Preserve, Requests};
pub use stop_reason::StopReason;
pub use store::{EntryHandle, EntryRef, Store, TableError};
pub use traffic::{Config, Switch};
