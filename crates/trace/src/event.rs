//! Events: single typed steps of a packet, reported while it runs.

use crate::{ExternCall, Slot, Variables};
use diagnostics::Span;
use ir::{Bits, BlockId, ProcedureId, TableId};
use target::{StopReason, TrafficEvent};

/// Hears of every step of every packet.
pub trait Observer {
    /// Returns false if events are not wanted; then none are made.
    fn listens(&self) -> bool {
        true
    }

    /// `span` is the place in the program; none where it has none.
    fn event(&mut self, variables: &Variables, span: Span, event: Event<'_>);
}

/// Ignores all events, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    #[inline(always)]
    fn listens(&self) -> bool {
        false
    }

    #[inline(always)]
    fn event(&mut self, _: &Variables, _: Span, _: Event<'_>) {}
}

/// One step. Values are borrowed: they change with the next step.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    BlockEntered {
        block: BlockId,
    },
    BlockLeft {
        block: BlockId,
    },
    ParserState {
        name: &'a str,
    },
    /// A header was read. Its fields lie in the slots from `first` on, the validity bit before them.
    Extracted {
        header: Slot,
        n_slots: u32,
        n_bits: u64,
        frame: &'a [Bits],
    },
    /// `extract`, `advance` or `lookahead` failed; `error` is an error code.
    ParserFailed {
        what: ParserOp,
        error: u32,
        wanted_bits: u64,
        left_bits: u64,
    },
    Advanced {
        n_bits: u64,
    },
    LookedAhead {
        n_bits: u64,
    },
    /// A `select` chose a case, counted from 0; `None` when none matches. The values of the keys lie in `slots`.
    Selected {
        keys: &'a [Bits],
        slots: &'a [Slot],
        case: Option<u32>,
    },
    Accepted,
    Rejected {
        error: u32,
    },
    Branch {
        condition: bool,
    },
    /// A `switch` on a value chose a case, counted from 0; `None` is the default.
    Switched {
        value: &'a Bits,
        case: Option<u32>,
    },
    Lookup {
        table: TableId,
        keys: &'a [Bits],
        outcome: LookupOutcome<'a>,
    },
    /// An action, function, sub-control or sub-parser begins. `data` are the values of its parameters, which lie in `slots`.
    Called {
        procedure: ProcedureId,
        data: &'a [Bits],
        slots: &'a [Slot],
    },
    Returned {
        procedure: ProcedureId,
        by_exit: bool,
    },
    /// One slot of a variable was assigned something else.
    Changed {
        slot: Slot,
        old: &'a Bits,
        new: &'a Bits,
    },
    /// `args` are the values of each argument, `result` that of the result.
    Extern {
        call: &'a ExternCall,
        args: &'a [Vec<Bits>],
        result: Option<&'a Bits>,
    },
    /// `emit` wrote a valid header, or skipped an invalid one.
    Emitted {
        header: Slot,
        n_slots: u32,
        n_bits: u64,
        is_valid: bool,
        frame: &'a [Bits],
    },
    /// Remark of an extern about its call: a message of the program, an index out of range.
    Note {
        text: &'a str,
    },
    Exit,
    Stopped {
        reason: &'a StopReason,
    },
    /// The architecture did something with the packet.
    Traffic(TrafficEvent<'a>),
}

#[derive(Clone, Debug)]
pub enum LookupOutcome<'a> {
    Hit {
        entry: HitEntry<'a>,
        /// Index in the table's actions; `None` when a group is empty.
        action: Option<u32>,
        /// The member that a selector chose.
        member: Option<u32>,
    },
    /// The default action runs. `n_entries` are those of the table.
    Miss {
        action: Option<u32>,
        n_entries: u64,
        /// The key had an entry, whose time is over.
        has_expired: bool,
    },
}

/// The entry of a table that was hit.
#[derive(Clone, Debug)]
pub struct HitEntry<'a> {
    /// Serial number in the entry's handle.
    pub serial: u64,
    pub matches: &'a [Option<ir::Match>],
    pub priority: i32,
    pub is_const: bool,
    /// This one counts.
    pub n_hits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParserOp {
    Extract,
    Advance,
    Lookahead,
}
