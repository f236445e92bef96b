//! Cost of packets on a core: counts of work, tables in caches, fitted cycles.
//!
//! 1. [`Decisions`] says how packets go: observed in an interpreter, or equal shares.
//! 2. [`Work`] counts components per packet, from the executions of the program's nodes.
//! 3. [`tables::work`] adds lookups, and the cache lines that tables of that size fetch from far.
//! 4. [`fit`] finds the cycles of each component from measured programs, and [`Profile`] keeps them.

mod decisions;
mod executions;
pub mod fit;
pub mod formula;
pub mod prefixes;
mod profile;
pub mod tables;
mod work;

pub use decisions::{Decision, Decisions};
pub use profile::{Machine, Prediction, Profile, VERSION};
pub use work::{Component, Counts, Work};
