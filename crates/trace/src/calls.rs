//! Calls of externs, as events name them.

use crate::{Slot, SlotRange};
use arch::ExternOp;
use diagnostics::Span;
use ir::{ObjectId, TableId, Type};
use smol_str::SmolStr;

/// A call of an extern function or method, with its arguments in slots.
#[derive(Clone, Debug)]
pub struct ExternCall {
    pub op: ExternOp,
    /// Name of the function, or `type.method`.
    pub name: SmolStr,
    pub object: Option<ObjectId>,
    /// In the order of the declaration.
    pub args: Box<[ExternArg]>,
    pub result: Option<SlotRange>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExternArg {
    /// A single value.
    In(Slot),
    /// The leaves of an aggregate without validity bits and indices.
    Fields {
        range: SlotRange,
        /// For each value the slot that it was read from, if it is the value of one.
        read_from: Box<[Option<Slot>]>,
    },
    /// `out` or `inout`.
    Ref {
        /// Everything.
        range: SlotRange,
        /// Without validity bits and indices.
        values: Box<[Slot]>,
        ty: Type,
    },
    Str(SmolStr),
    /// A table, or one of its actions.
    Table {
        table: TableId,
        action: Option<u32>,
    },
    Absent,
}
