//! Runs blocks: the loop over instructions, and what single ones do.

mod compute;
mod host;
mod packet;
mod parse;
mod run;
mod select;
mod watch;

pub use host::{Access, ExternEnd, ExternHost, Hit, NoExterns};
pub use packet::{BitWriter, Frame, PacketState, read_bits};
pub use run::Machine;

use crate::load::Pc;
use crate::table::EntryRef;
use ir::{ProcedureId, TableId};
use smol_str::SmolStr;

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockEnd {
    /// Of blocks that are no parsers.
    Done,
    Accepted,
    /// With an error code, an index into [`ir::Program::errors`].
    Rejected(u32),
    /// The packet goes no further.
    Stopped(StopReason),
}

/// Why a packet ends in the middle of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// A parser or loop that does not end.
    StepBudget,
    AssertionFailed,
    /// What an extern says.
    Extern(SmolStr),
}

impl StopReason {
    /// The name of the reason in statistics.
    pub fn name(&self) -> &str {
        match self {
            StopReason::StepBudget => "step_budget",
            StopReason::AssertionFailed => "assertion_failed",
            StopReason::Extern(name) => name,
        }
    }
}

/// A procedure that has been called and not returned.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) procedure: ProcedureId,
    pub(crate) then: Pc,
    pub(crate) exit: Pc,
    /// Of the caller.
    pub(crate) entry: Option<(TableId, EntryRef)>,
}
