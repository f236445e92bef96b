//! The code of a loaded program. Its operands are slots: nothing has to be looked up by name or computed twice.

use super::{Slot, SlotRange};
use ir::{BinaryOp, Bits, ProcedureId, TableId, UnaryOp, ValueSetId};
use rustc_hash::FxHashMap;

/// Position in the code.
pub(crate) type Pc = u32;

/// One instruction. Operands are slots. Larger operands are in a list of [`Executable`](super::Executable), and the
/// instruction has the index.
#[derive(Clone, Debug)]
pub(crate) enum Instr {
    Copy {
        dst: Slot,
        src: Slot,
    },
    CopyRange {
        dst: Slot,
        src: Slot,
        len: u32,
    },
    Unary {
        op: UnaryOp,
        dst: Slot,
        a: Slot,
    },
    Binary {
        op: BinaryOp,
        signed: bool,
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    Mux {
        dst: Slot,
        condition: Slot,
        a: Slot,
        b: Slot,
        len: u32,
    },
    Cast {
        dst: Slot,
        a: Slot,
        width: u32,
        signed: bool,
    },
    Slice {
        dst: Slot,
        a: Slot,
        lo: u32,
        width: u32,
    },
    SliceAt {
        dst: Slot,
        a: Slot,
        lo: Slot,
        width: u32,
    },
    PacketLength {
        dst: Slot,
    },
    /// Copies out of an element; zeros when it does not exist.
    Load {
        dst: Slot,
        element: u32,
    },
    /// Copies into an element; without effect when it does not exist.
    Store {
        element: u32,
        src: Slot,
    },
    /// Assigns some of the bits of a slot.
    Insert {
        dst: Slot,
        lo: u32,
        src: Slot,
    },
    InsertAt {
        dst: Slot,
        lo: Slot,
        src: Slot,
    },
    Emit(u32),
    /// Sets the fields of a header to zeros unless it is valid.
    ZeroIfInvalid(u32),
    Extern(u32),
    /// A parser state begins.
    State(u32),

    Jump(Pc),
    Branch {
        condition: Slot,
        then: Pc,
        otherwise: Pc,
    },
    Switch(u32),
    Select(u32),
    Extract(u32),
    Advance {
        bits: Slot,
        error: Slot,
        then: Pc,
        fail: Pc,
    },
    Lookahead(u32),
    /// Finds the entry; the action's data goes to its parameters.
    Lookup(u32),
    /// Runs what `Lookup` found: the action of a group, then again for the action that was selected.
    RunAction {
        again: Pc,
        then: Pc,
        exit: Pc,
    },
    Call {
        procedure: ProcedureId,
        then: Pc,
        exit: Pc,
    },
    Return,
    Exit,
    Accept,
    Reject {
        error: Slot,
    },
}

impl Instr {
    /// Visits the positions to which control may go.
    pub(crate) fn targets(&mut self, f: &mut dyn FnMut(&mut Pc)) {
        match self {
            Instr::Jump(pc) => f(pc),
            Instr::Branch { then, otherwise, .. } => {
                f(then);
                f(otherwise);
            }
            Instr::Advance { then, fail, .. } => {
                f(then);
                f(fail);
            }
            // `again` is a position already.
            Instr::RunAction { then, exit, .. } | Instr::Call { then, exit, .. } => {
                f(then);
                f(exit);
            }
            // Theirs are in lists.
            Instr::Switch(_) | Instr::Select(_) | Instr::Extract(_) | Instr::Lookahead(_) => {}
            Instr::Copy { .. }
            | Instr::CopyRange { .. }
            | Instr::Unary { .. }
            | Instr::Binary { .. }
            | Instr::Mux { .. }
            | Instr::Cast { .. }
            | Instr::Slice { .. }
            | Instr::SliceAt { .. }
            | Instr::PacketLength { .. }
            | Instr::Load { .. }
            | Instr::Store { .. }
            | Instr::Insert { .. }
            | Instr::InsertAt { .. }
            | Instr::Emit(_)
            | Instr::ZeroIfInvalid(_)
            | Instr::Extern(_)
            | Instr::State(_)
            | Instr::Lookup(_)
            | Instr::Return
            | Instr::Exit
            | Instr::Accept
            | Instr::Reject { .. } => {}
        }
    }
}

/// The position of an aggregate or leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlaceRef {
    Static(Slot),
    /// Index of an [`Element`].
    Element(u32),
}

/// A place with computed indices.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    /// The first slot of the element whose indices are all 0.
    pub(crate) base: Slot,
    pub(crate) len: u32,
    pub(crate) indices: Box<[ElementIndex]>,
}

#[derive(Clone, Debug)]
pub(crate) struct ElementIndex {
    pub(crate) slot: Slot,
    pub(crate) signed: bool,
    pub(crate) size: u32,
    /// Slots of one element.
    pub(crate) stride: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderCode {
    pub(crate) place: PlaceRef,
    /// Length of the header, validity bit included.
    pub(crate) n_slots: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct SwitchCode {
    pub(crate) subject: Slot,
    /// Case number and target by value.
    pub(crate) cases: FxHashMap<Bits, (u32, Pc)>,
    pub(crate) otherwise: Pc,
}

#[derive(Clone, Debug)]
pub(crate) struct SelectCode {
    pub(crate) keys: Box<[SelectKey]>,
    pub(crate) cases: Box<[(PatternCode, Pc)]>,
    pub(crate) otherwise: Pc,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SelectKey {
    pub(crate) slot: Slot,
    pub(crate) signed: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum PatternCode {
    Keys(Box<[KeysetCode]>),
    ValueSet(ValueSetId),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum KeysetCode {
    Any,
    Value(Slot),
    Mask { value: Slot, mask: Slot },
    Range { lo: Slot, hi: Slot },
    ValueSet(ValueSetId),
}

/// Widths of the fields of a header.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldWidth {
    Fixed(u32),
    Varbit { max: u32 },
}

#[derive(Clone, Debug)]
pub(crate) struct ExtractCode {
    pub(crate) place: PlaceRef,
    pub(crate) fields: Box<[FieldWidth]>,
    /// The size of the fields without the `varbit`.
    pub(crate) fixed_bits: u64,
    pub(crate) varbit_max: Option<u32>,
    /// Size of the stack if the place is its next element.
    pub(crate) stack_size: Option<u32>,
    pub(crate) size_bits: Option<Slot>,
    pub(crate) error: Slot,
    pub(crate) then: Pc,
    pub(crate) fail: Pc,
}

impl ExtractCode {
    /// Slots of the header.
    pub(crate) fn n_slots(&self) -> u32 {
        self.fields.len() as u32 + 1
    }
}

#[derive(Clone, Debug)]
pub(crate) struct LookaheadCode {
    pub(crate) place: PlaceRef,
    pub(crate) leaves: Box<[LookaheadLeaf]>,
    pub(crate) n_bits: u64,
    pub(crate) error: Slot,
    pub(crate) then: Pc,
    pub(crate) fail: Pc,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum LookaheadLeaf {
    Valid,
    /// The next index of a stack, which stays as it is.
    NextIndex,
    Bits(u32),
}

#[derive(Clone, Debug)]
pub(crate) struct LookupCode {
    pub(crate) table: TableId,
    pub(crate) keys: SlotRange,
    pub(crate) hit: Slot,
    pub(crate) action: Slot,
    /// The table has a direct counter or meter.
    pub(crate) has_direct: bool,
}

/// An action of a table.
#[derive(Clone, Debug)]
pub(crate) struct ActionCode {
    pub(crate) procedure: ProcedureId,
    /// The slots that receive the action data.
    pub(crate) params: Box<[Slot]>,
}

#[derive(Clone, Debug)]
pub(crate) struct ProcedureCode {
    pub(crate) entry: Pc,
    /// The leaves of the parameters.
    pub(crate) params: Box<[Slot]>,
}
