//! Events of traced native code, made of the places that it passes.

use crate::{HitEntry, Observer, Slot, Variables};
use ir::{Bits, BlockId, ProcedureId};
use std::sync::Arc;
use target::BlockEnd;

/// The variables of the executor that is followed, as they are now.
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

/// What has been done at a place of the program (`rt/worker/sd_trace.h` says the same of compiled code).
#[derive(Clone, Debug)]
pub enum Did {
    /// A node begins.
    Begin,
    /// A statement is done.
    Statement(StatementEnd),
    /// A terminator has chosen: a condition, the number of a case (`u64::MAX`: none), the value that a switch is on
    /// (of more than 64 bits the number of its case), an error code or 0.
    Choose(u64),
    /// A procedure begins; without a place of its own the action of the last lookup.
    Call(ProcedureId),
}

/// How the block goes on after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementEnd {
    Next,
    Stop,
    /// An extern that nobody supplies.
    NotSupplied,
}

/// What a table has found.
#[derive(Clone, Debug)]
pub struct LookedUp<'a> {
    /// Of the keys that are matched; selector keys are left out.
    pub keys: &'a [Bits],
    pub hit: Option<HitEntry<'a>>,
    /// Index in the table's actions; `None` when nothing runs.
    pub action: Option<u32>,
    pub member: Option<u32>,
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
