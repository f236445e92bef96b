//! The state of the loop over instructions, which a packet keeps while it waits.

use crate::load::{Pc, Slot};
use crate::table::EntryRef;
use ir::{Bits, ProcedureId, TableId};

/// A procedure that has been called and not returned.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) procedure: ProcedureId,
    pub(crate) then: Pc,
    pub(crate) exit: Pc,
    /// The entry whose action the caller runs.
    pub(crate) entry: Option<(TableId, EntryRef)>,
}

/// The state of the loop beside the packet.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The table whose action runs, and its entry.
    pub(super) entry: Option<(TableId, EntryRef)>,
    pub(super) pending: Option<Pending>,
    /// The last miss of a table to which packets add entries.
    pub(super) missed: Option<Missed>,
}

/// A miss: the table, and the values of its keys at that time.
#[derive(Clone, Debug)]
pub struct Missed {
    pub table: TableId,
    pub keys: Vec<Bits>,
}

/// The result of a lookup, until its actions run.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// `None` when there is nothing to run.
    pub(super) procedure: Option<ProcedureId>,
    /// The action that a group runs first. It may call the same procedure with other data.
    pub(super) group_action: Option<ProcedureId>,
    /// Data of `procedure` that wait until the group action has run.
    pub(super) data: Vec<(Slot, Bits)>,
    pub(super) table: TableId,
    pub(super) entry: EntryRef,
}
