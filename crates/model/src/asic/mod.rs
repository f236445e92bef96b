//! Switch chips: the memory that tables take.
//!
//! - [`chip`]: a chip's description; [`resource`]: the resources of a stage;
//! - [`demand`]: tables as far as their memory is concerned; [`packing`]: their blocks of memory;
//! - [`formula`]: the bits of an entry as a line over the bits of its key.

pub mod chip;
pub mod demand;
pub mod formula;
pub mod packing;
pub mod resource;

pub use chip::{Chip, ChipError};
pub use demand::TableDemand;
pub use packing::{Blocks, PackOptions, Packed, pack};
pub use resource::{Amounts, N_RESOURCES, Resource};
