//! Events of traced native code, made of the places that it passes.

use crate::{HitEntry, Observer, Slot, Variables};
use ir::{Bits, BlockId, ProcedureId};
use std::sync::Arc;
use target::BlockEnd;

/// Current values of the variables of the backend that is followed.
pub trait Values {
    /// `slot` is part of a variable that blocks share, or of one of the block that runs.
    fn value(&self, slot: Slot) -> Bits;
}

/// The packet under way.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub bytes: &'a [u8],
    /// How far the parser has read.
    pub cursor_bits: u64,
    pub values: &'a dyn Values,
}

/// Step completed at one place of the program. Traced native code reports the same steps (`rt/worker/sd_trace.h`).
#[derive(Clone, Debug)]
pub enum Did {
    /// Execution of a node begins.
    Begin,
    /// A statement has been executed.
    Statement(StatementEnd),
    /// A terminator has chosen its successor. The number is the condition, the index of the case (`u64::MAX`: none),
    /// the value of the switch (its case's index if the value has more than 64 bits), or an error code or 0.
    Choose(u64),
    /// A procedure begins. If the place names none, it is the action of the last lookup.
    Call(ProcedureId),
}

/// How the block goes on after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementEnd {
    Next,
    Stop,
    /// The statement calls an extern that is not supplied.
    NotSupplied,
}

/// Result of a table lookup.
#[derive(Clone, Debug)]
pub struct LookedUp<'a> {
    /// Values of the matched key elements; selector keys are left out.
    pub keys: &'a [Bits],
    pub hit: Option<HitEntry<'a>>,
    /// Index in the table's actions; `None` when nothing runs.
    pub action: Option<u32>,
    pub member: Option<u32>,
    /// Number of entries in the table.
    pub n_entries: u64,
    /// It missed: the time of the key's entry is over.
    pub has_expired: bool,
}

/// Makes [events](crate::Event) of what another backend does with the same program.
pub trait Follow: Send {
    fn variables(&self) -> &Arc<Variables>;

    /// The number of nodes, statements and terminators of the program, which are the places that `step` takes.
    fn n_points(&self) -> usize;

    /// A block begins; `values` has the variables that blocks share.
    fn begin_block(&mut self, block: BlockId, values: &dyn Values, observer: &mut (dyn Observer + '_));

    /// A block has ended.
    fn end_block(&mut self, block: BlockId, end: &BlockEnd, observer: &mut (dyn Observer + '_));

    /// Something was done at a place of the program.
    fn step(&mut self, point: u32, did: &Did, seen: Seen<'_>, observer: &mut (dyn Observer + '_));

    /// A table was looked up at a place of the program.
    fn lookup(
        &mut self,
        point: u32,
        found: &LookedUp<'_>,
        seen: Seen<'_>,
        observer: &mut (dyn Observer + '_),
    );
}
