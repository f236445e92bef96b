//! From a P4 program to its stateful actions: what they lock, and for how many cycles.
//!
//! The code of each block becomes a graph of operations ([`Operations`]) with branches turned into selections, as in
//! a pipeline without jumps. A [`Codelet`] is a set of operations that depend on each other in a cycle through the
//! state: they must run between the read of a value and its write, before the next packet reads it (Sivaraman et
//! al., "Packet Transactions", 2016). All other operations can run in stages before or after.

mod atom;
mod build;
mod codelet;
mod costs;
mod expr;
mod fields;
mod operations;
mod paths;
mod values;

pub use atom::{Atom, NoAtom};
pub use build::{Analysis, AtomicBlock, TooLarge, analyse};
pub use codelet::{Codelet, CodeletKind, Part, Step};
pub use costs::{CostError, Costs};
pub use fields::{KeySource, known_field};
pub use operations::{Kind, Operation, OperationId, Operations, State};
pub use paths::{ActionPath, Branch, BranchId, BranchKind, Way, Ways, paths};
