//! Stateful actions that take many cycles: when they are safe without locks, and what locks cost.
//!
//! A switch whose pipeline takes a packet in every cycle can read, change and write state in one cycle only, or two
//! packets may work on the same value at once: a *hazard*. But a packet of 1500 bytes takes many cycles to arrive,
//! and in these nothing else comes. The models here run traffic through such a switch and count.
//!
//! - [`Alpha`]: how much of the lengths of packets is left;
//! - [`Timeline`]: when packets have arrived at a store-and-forward switch;
//! - [`Hazards`]: without locks, how often a packet enters while another one's read-modify-write is under way;
//! - [`Lock`]: one packet at a time; [`Scheduler`]: queues and locks by hashes of keys;
//! - [`Simulation`]: any of these, fed with batches of packets;
//! - [`traffic`]: packets of profiles, of distributions, of captures; keys;
//! - [`program`]: from a P4 program to its actions: what they lock, and for how many cycles;
//! - [`reference`]: the same models cycle by cycle, for comparison.
//!
//! Invariants: every model takes packets one after the other in the order of their arrival and keeps a bounded
//! amount of memory (the scheduler: its queues). The same input gives the same output, and every event of a model
//! is an event of its reference.
//!
//! Non-goals: packet contents beyond the fields of keys; the wire delays of a real chip; files, clocks and threads:
//! the caller reads captures and divides the work.
//!
//! Start reading at [`Timeline`], then [`Scheduler`].

mod alpha;
pub mod config;
mod hazards;
mod histogram;
mod lock;
pub mod program;
mod queues;
pub mod reference;
mod simulation;
mod timeline;
pub mod traffic;

pub use alpha::{Alpha, AlphaModel, LEN_BYTES_MIN, Shrink};
pub use config::{Action, Actions, ConfigError, Queues, Switch};
pub use hazards::{HazardResult, Hazards, Met};
pub use histogram::{Histogram, Wait};
pub use lock::{Lock, LockResult, Passed};
pub use queues::{Arrival, Event, QueueResult, Scheduler};
pub use simulation::{Finished, Outcome, Policy, Setup, Simulation};
pub use timeline::{Pace, Timeline, check_utilisation};
