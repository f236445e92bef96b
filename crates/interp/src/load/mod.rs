//! From the IR to an executable form: places become slots, expressions and graphs become code.

mod code;
mod expr;
mod graph;

pub(crate) use code::*;
pub(crate) use ir::lookup::index as index_of;
pub use target::traffic::LoadConfig as Config;
pub use trace::{ExternArg, ExternCall, Layout, Leaf, LeafInfo, SLOTS_MAX, Slot, SlotRange, Variables};

use diagnostics::Span;
use ir::lookup::get;
use ir::{Bits, BlockId, ProcedureId, Program, Scope, TableId, Type};
use std::ops::{Deref, Range};
use std::sync::Arc;
use trace::LayoutError;

/// Reasons why a program cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// `validate` would have said it better.
    #[error("the program is malformed: {0}")]
    Malformed(&'static str),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("table `{table}`: the entries of the program do not fit its keys and actions")]
    Entries { table: smol_str::SmolStr },
    #[error(transparent)]
    Unrunnable(#[from] target::traffic::Unrunnable),
}

/// A program ready to run.
#[derive(Debug)]
pub struct Executable {
    /// Slots of variables are the first ones of the frame; temporaries and constants follow.
    pub variables: Arc<Variables>,
    pub step_budget: u32,
    pub(crate) code: Vec<Instr>,
    /// The span of each instruction.
    pub(crate) spans: Vec<Span>,
    /// The instructions of each node, statement and terminator, numbered as in `rt/worker/sd_trace.h`: graph after graph,
    /// blocks first; of each node first itself, then its statements, then its terminator.
    pub(crate) points: Vec<Range<Pc>>,
    pub(crate) blocks: Vec<Pc>,
    pub(crate) procedures: Vec<ProcedureCode>,
    /// The actions of each table.
    pub(crate) actions: Vec<Box<[ActionCode]>>,
    pub(crate) elements: Vec<Element>,
    pub(crate) headers: Vec<HeaderCode>,
    pub(crate) externs: Vec<ExternCall>,
    pub(crate) states: Vec<smol_str::SmolStr>,
    pub(crate) switches: Vec<SwitchCode>,
    pub(crate) selects: Vec<SelectCode>,
    pub(crate) extracts: Vec<ExtractCode>,
    pub(crate) lookaheads: Vec<LookaheadCode>,
    pub(crate) lookups: Vec<LookupCode>,
    /// The slots of each block's variables, those of its procedures included.
    block_slots: Vec<Vec<SlotRange>>,
    /// The slots of what blocks share.
    shared_slots: Vec<SlotRange>,
    /// The value of each slot when a packet arrives. Variables come first.
    initial: Vec<Bits>,
}

impl Deref for Executable {
    type Target = Variables;

    fn deref(&self) -> &Variables {
        &self.variables
    }
}

impl Executable {
    /// Takes a program that `validate` accepts; of others it refuses those that could not be run.
    pub fn new(program: impl Into<Arc<Program>>, config: Config) -> Result<Executable, LoadError> {
        let variables = Variables::new(program.into())?;
        let initial = variables.zeros();
        let program = Arc::clone(&variables.program);
        let mut exe = Executable {
            variables: Arc::new(variables),
            step_budget: config.step_budget,
            code: Vec::new(),
            spans: Vec::new(),
            points: Vec::new(),
            blocks: Vec::new(),
            procedures: Vec::new(),
            actions: Vec::new(),
            elements: Vec::new(),
            headers: Vec::new(),
            externs: Vec::new(),
            states: Vec::new(),
            switches: Vec::new(),
            selects: Vec::new(),
            extracts: Vec::new(),
            lookaheads: Vec::new(),
            lookups: Vec::new(),
            block_slots: vec![Vec::new(); program.blocks.len()],
            shared_slots: Vec::new(),
            initial,
        };
        for (id, variable) in program.variables.iter() {
            let range = exe.variable(id);
            let owner = match variable.scope {
                Scope::Pipeline(_) => None,
                Scope::Block(block) => Some(block),
                Scope::Procedure(procedure) => Some(
                    get(&program.procedures, procedure)
                        .ok_or(LoadError::Malformed("an unknown procedure"))?
                        .block,
                ),
            };
            let ranges = match owner {
                None => &mut exe.shared_slots,
                Some(block) => (exe.block_slots.get_mut(index_of(block)))
                    .ok_or(LoadError::Malformed("an unknown block"))?,
            };
            push_range(ranges, range);
        }
        graph::compile(&mut exe)?;
        Ok(exe)
    }

    /// Values of all slots when a packet arrives.
    pub(crate) fn initial(&self) -> &[Bits] {
        &self.initial
    }

    /// The slots that are set to zeros when a block begins.
    pub(crate) fn slots_of_block(&self, block: BlockId) -> &[SlotRange] {
        self.block_slots.get(index_of(block)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The slots that are set to zeros when a packet starts again.
    pub(crate) fn shared_slots(&self) -> &[SlotRange] {
        &self.shared_slots
    }

    /// The width of what a slot holds; `None` of a `varbit`.
    pub fn width_of(&self, slot: Slot) -> Option<u32> {
        match self.slot_info(slot).map(|info| info.leaf) {
            Some(Leaf::Value(Type::Varbit(_))) => None,
            Some(_) | None => Some(self.initial.get(slot as usize)?.width()),
        }
    }

    /// The number of nodes, statements and terminators together.
    pub fn n_points(&self) -> usize {
        self.points.len()
    }

    pub(crate) fn block_entry(&self, block: BlockId) -> Option<Pc> {
        self.blocks.get(index_of(block)).copied()
    }

    pub(crate) fn procedure(&self, id: ProcedureId) -> &ProcedureCode {
        &self.procedures[index_of(id)]
    }

    pub(crate) fn action(&self, table: TableId, index: u32) -> Option<&ActionCode> {
        self.actions.get(index_of(table))?.get(index as usize)
    }
}

/// Neighbours become one range.
fn push_range(ranges: &mut Vec<SlotRange>, range: SlotRange) {
    match ranges.last_mut() {
        Some(last) if last.first + last.len == range.first => last.len += range.len,
        _ if range.len == 0 => {}
        _ => ranges.push(range),
    }
}
