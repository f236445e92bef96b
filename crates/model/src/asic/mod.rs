//! Switch chips: the memory that tables take, and the stages that they need.
//!
//! - [`chip`]: a chip's description; [`resource`]: the resources of a stage;
//! - [`demand`]: tables as far as their memory is concerned; [`packing`]: their blocks of memory;
//! - [`formula`]: the bits of an entry as a line over the bits of its key;
//! - [`placement`]: tables, their dependencies, and stages; [`bound`], [`greedy`], [`exact`]: fewest stages from below, from above,
//!   and between; [`solve`]: all of them;
//! - [`program`]: from a P4 program to tables and dependencies;
//! - [`largest`]: the largest table that fits; [`report`], [`svg`]: placements as facts and as pictures.
//!
//! Invariants: no arithmetic overflows, whatever the sizes; a placement that is returned passes [`Problem::faults`].
//!
//! Start reading at [`pack`], then [`solve()`].

pub mod bound;
pub mod chip;
pub mod demand;
pub mod exact;
pub mod formula;
pub mod greedy;
pub mod largest;
pub mod packing;
pub mod placement;
pub mod program;
pub mod report;
pub mod resource;
pub mod solve;
pub mod svg;

pub use chip::{Chip, ChipError};
pub use demand::TableDemand;
pub use packing::{Blocks, PackOptions, Packed, pack};
pub use placement::{Edge, EdgeKind, Node, Part, Placement, Problem};
pub use resource::{Amounts, N_RESOURCES, Resource};
pub use solve::{Reason, Refusal, Solution, Verdict, solve};
