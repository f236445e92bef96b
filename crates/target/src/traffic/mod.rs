//! How packets go through the blocks of an architecture, from arrival to the one end of every copy.
//!
//! - [`Switch`]: takes packets, gives what leaves; [`Config`] says with what;
//! - `steps`: what happens to a packet between blocks, as the architecture's description says; `copies`: how it comes from
//!   one section of that description to another;
//! - [`Pre`]: multicast groups and clone sessions; [`SharedPre`]: those that the switches of several workers read;
//! - [`port_table`]: facts about ports that compiled code reads;
//! - [`Queues`]: packets that wait for egress;
//! - [`Totals`]: counts of packets by their end.
//!
//! The behaviour of an architecture follows from its description (crate `arch`), not from its name.
//!
//! Invariants: every packet and every copy has exactly one end: sent, to the controller, dropped for a reason
//! that has a name, or it waits; [`Totals::is_balanced`] says so. Time is given. Rounds and copies are bounded.
//!
//! Start reading at [`Switch`].

mod config;
mod copies;
mod copy;
pub mod port_table;
mod pre;
mod queue;
mod shared_pre;
mod sides;
mod steps;
mod switch;
mod totals;
mod waiting;

pub use config::{Config, LoadConfig, Ports};
pub use pre::{BackupReplica, CloneSession, MulticastGroup, Pre, PreError, Replica};
pub use queue::{Pacer, QueueConfig, Queues};
pub(crate) use shared_pre::PreReader;
pub use shared_pre::SharedPre;
pub use switch::{Destination, EgressPorts, Output, PuntedAt, Switch, Unrunnable};
pub use totals::{Totals, ignored, reason};
