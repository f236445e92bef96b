//! Programs that the command line names: read, checked, elaborated, and in a switch with their entries.

mod front_end;
mod load;
mod simulation;

pub use front_end::FrontEnd;
pub use load::{Analysable, load, load_for_analysis};
pub use simulation::{Simulation, check_port, write_entries};
