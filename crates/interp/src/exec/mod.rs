//! Runs blocks: the loop over instructions, and what single ones do.

mod compute;
mod follow;
mod host;
mod packet;
mod parse;
mod run;
mod select;
mod state;
mod watch;

pub use follow::Follower;
pub use host::{Access, ExternHost, LookedUp, NoExterns};
pub use packet::{BitWriter, Frame, PacketState, read_bits};
pub use run::Machine;
pub use target::{BlockEnd, ExternEnd, StopReason};
