//! Runs blocks: the loop over instructions, and what single ones do.

mod compute;
mod follow;
mod host;
mod packet;
mod parse;
mod run;
mod select;
mod watch;

pub use follow::Follower;
pub use host::{Access, ExternHost, Hit, NoExterns};
pub use packet::{BitWriter, Frame, PacketState, read_bits};
pub use run::Machine;
pub use target::{BlockEnd, ExternEnd, StopReason};

use crate::load::Pc;
use crate::table::EntryRef;
use ir::{ProcedureId, TableId};

/// A procedure that has been called and not returned.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) procedure: ProcedureId,
    pub(crate) then: Pc,
    pub(crate) exit: Pc,
    /// The entry whose action the caller runs.
    pub(crate) entry: Option<(TableId, EntryRef)>,
}
