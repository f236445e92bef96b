//! Programs that the command line names: read, checked, elaborated, and in a switch with their entries.

mod entries;
pub mod envelope;
mod front_end;
mod load;
mod options;
mod packet;
mod simulation;
mod tint;
mod warnings;

pub use entries::{read_entries, read_entries_with, tell, write_entries};
pub use front_end::FrontEnd;
pub use load::{Analysable, load, load_counting, load_for_analysis, load_for_control, load_to_show};
pub use packet::read_packet;
pub use simulation::{Simulation, check_port};
pub use tint::tint;
pub use warnings::Counted;
