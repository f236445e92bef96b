//! From the IR to an executable form: places become slots, expressions and graphs become code.

mod code;
mod expr;
mod graph;
mod layout;

pub(crate) use code::*;
pub use code::{ExternArg, ExternCall};
pub(crate) use layout::index_of;
pub use layout::{Layout, Leaf, LeafInfo, SLOTS_MAX, Slot, SlotRange};
pub use target::traffic::LoadConfig as Config;

use arch::{FieldRole, ParamRole};
use diagnostics::Span;
use ir::lookup::get;
use ir::{Bits, BlockId, Place, ProcedureId, Program, Scope, Step, TableId, Type, VarId};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Why a program cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// `validate` would have said it better.
    #[error("the program is malformed: {0}")]
    Malformed(&'static str),
    #[error("the program's variables have more than {SLOTS_MAX} parts")]
    TooLarge,
    #[error("table `{table}`: the entries of the program do not fit its keys and actions")]
    Entries { table: smol_str::SmolStr },
    #[error(transparent)]
    Unrunnable(#[from] target::traffic::Unrunnable),
}

/// A program ready to run.
#[derive(Debug)]
pub struct Executable {
    pub program: Arc<Program>,
    pub layout: Layout,
    pub step_budget: u32,
    pub(crate) code: Vec<Instr>,
    /// Where each instruction comes from.
    pub(crate) spans: Vec<Span>,
    /// The instructions of each node, statement and terminator, numbered as in `rt/worker/sd_trace.h`: graph after graph,
    /// blocks first; of each node first itself, then its statements, then its terminator.
    pub(crate) points: Vec<Range<Pc>>,
    pub(crate) blocks: Vec<Pc>,
    pub(crate) procedures: Vec<ProcedureCode>,
    /// Of each table its actions.
    pub(crate) actions: Vec<Box<[ActionCode]>>,
    pub(crate) elements: Vec<Element>,
    pub(crate) emits: Vec<EmitCode>,
    pub(crate) externs: Vec<ExternCall>,
    pub(crate) states: Vec<smol_str::SmolStr>,
    pub(crate) switches: Vec<SwitchCode>,
    pub(crate) selects: Vec<SelectCode>,
    pub(crate) extracts: Vec<ExtractCode>,
    pub(crate) lookaheads: Vec<LookaheadCode>,
    pub(crate) lookups: Vec<LookupCode>,
    /// Where each variable begins; one more for the end.
    var_bases: Vec<Slot>,
    /// Of each block the slots of its variables and of those of its procedures.
    block_slots: Vec<Vec<SlotRange>>,
    /// The slots of what blocks share.
    shared_slots: Vec<SlotRange>,
    /// Of all slots the value when a packet arrives. Variables come first.
    initial: Vec<Bits>,
    fields: FxHashMap<FieldRole, Slot>,
}

impl Executable {
    /// Takes a program that `validate` accepts; of others it refuses those that could not be run.
    pub fn new(program: impl Into<Arc<Program>>, config: Config) -> Result<Executable, LoadError> {
        let program = program.into();
        let layout = Layout::new(&program)?;
        let mut var_bases = Vec::with_capacity(program.variables.len() + 1);
        let mut n = 0u32;
        for (_, variable) in program.variables.iter() {
            var_bases.push(n);
            let len = check_type(&program, &layout, &variable.ty)?;
            n = n.checked_add(len).filter(|n| *n <= SLOTS_MAX).ok_or(LoadError::TooLarge)?;
        }
        var_bases.push(n);
        let mut initial = Vec::with_capacity(n as usize);
        for (_, variable) in program.variables.iter() {
            layout.for_each_leaf(&program, &variable.ty, &mut |leaf| initial.push(zero_of(&leaf)));
        }
        let mut exe = Executable {
            layout,
            step_budget: config.step_budget,
            code: Vec::new(),
            spans: Vec::new(),
            points: Vec::new(),
            blocks: Vec::new(),
            procedures: Vec::new(),
            actions: Vec::new(),
            elements: Vec::new(),
            emits: Vec::new(),
            externs: Vec::new(),
            states: Vec::new(),
            switches: Vec::new(),
            selects: Vec::new(),
            extracts: Vec::new(),
            lookaheads: Vec::new(),
            lookups: Vec::new(),
            block_slots: vec![Vec::new(); program.blocks.len()],
            shared_slots: Vec::new(),
            var_bases,
            initial,
            fields: FxHashMap::default(),
            program,
        };
        let program = Arc::clone(&exe.program);
        for (role, place) in &program.fields {
            if let Some(range) = exe.place(place).filter(|r| r.len == 1) {
                exe.fields.insert(*role, range.first);
            }
        }
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

    /// What holds zeros again when a block begins.
    pub(crate) fn slots_of_block(&self, block: BlockId) -> &[SlotRange] {
        self.block_slots.get(index_of(block)).map(Vec::as_slice).unwrap_or_default()
    }

    /// What holds zeros again when a packet starts again.
    pub(crate) fn shared_slots(&self) -> &[SlotRange] {
        &self.shared_slots
    }

    /// Slots of variables are the first so many.
    pub fn n_variable_slots(&self) -> u32 {
        self.var_bases.last().copied().unwrap_or(0)
    }

    pub fn variable(&self, var: VarId) -> SlotRange {
        let first = self.var_bases[index_of(var)];
        SlotRange { first, len: self.var_bases[index_of(var) + 1] - first }
    }

    /// The slots of a place without computed indices; `None` of others, of parts of a value too.
    pub fn place(&self, place: &Place) -> Option<SlotRange> {
        let mut slot = self.variable(place.var).first;
        let mut ty = self.program.variables[place.var].ty.clone();
        for step in &place.path {
            slot += self.step_offset(&ty, step)?;
            ty = self.program.step_type(&ty, step)?;
        }
        Some(SlotRange { first: slot, len: self.layout.n_slots(&ty) })
    }

    /// How far a part is from the beginning of the whole.
    pub(crate) fn step_offset(&self, ty: &Type, step: &Step) -> Option<u32> {
        match (step, ty) {
            (Step::Field(i), Type::Struct(id)) => self.layout.field_offset(*id, *i),
            (Step::Element(i), Type::Stack { element, size }) if i < size => {
                Some(1 + i * self.layout.n_slots(&Type::Struct(*element)))
            }
            (Step::Element(i), Type::Array { element, size }) if i < size => {
                Some(i * self.layout.n_slots(element))
            }
            (Step::Valid, Type::Struct(_)) | (Step::NextIndex, Type::Stack { .. }) => Some(0),
            _ => None,
        }
    }

    /// The slot of a field of the architecture's metadata.
    pub fn field(&self, role: FieldRole) -> Option<Slot> {
        self.fields.get(&role).copied()
    }

    /// The slots of a variable that blocks share.
    pub fn shared(&self, role: ParamRole) -> Option<SlotRange> {
        self.program.shared_variable(role).map(|var| self.variable(var))
    }

    /// The slots of a field list; parts of values are left out.
    pub fn field_list(&self, index: u32) -> Option<Vec<SlotRange>> {
        let list = self.program.field_lists.iter().find(|l| l.index == index)?;
        Some(list.places.iter().filter_map(|p| self.place(p)).collect())
    }

    /// What a slot is called and holds; `None` of temporaries and constants of this form.
    pub fn slot_info(&self, slot: Slot) -> Option<LeafInfo<'_>> {
        if slot >= self.n_variable_slots() {
            return None;
        }
        // Of variables without slots the last one is meant that begins here.
        let i = self.var_bases[..self.var_bases.len() - 1].partition_point(|b| *b <= slot).checked_sub(1)?;
        let id = VarId::from_raw(la_arena::RawIdx::from_u32(u32::try_from(i).ok()?));
        let variable = &self.program.variables[id];
        Some(self.layout.leaf_at(&self.program, &variable.name, &variable.ty, slot - self.var_bases[i]))
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

/// The value of a leaf when a packet arrives.
pub(crate) fn zero_of(leaf: &Leaf<'_>) -> Bits {
    match leaf {
        Leaf::Valid => Bits::FALSE,
        Leaf::NextIndex => Bits::zero(32),
        // A `varbit` of no length.
        Leaf::Value(ty) => Bits::zero(ty.width_bits().unwrap_or(0)),
    }
}

/// Number of slots, for types that were not seen in a struct yet.
fn check_type(program: &Program, layout: &Layout, ty: &Type) -> Result<u32, LoadError> {
    match ty {
        Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Error | Type::Enum(_) => Ok(1),
        Type::Struct(id) if index_of(*id) < program.structs.len() => Ok(layout.n_slots(ty)),
        Type::Stack { element, size } if index_of(*element) < program.structs.len() => {
            let n = u64::from(layout.n_slots(&Type::Struct(*element))) * u64::from(*size) + 1;
            u32::try_from(n).map_err(|_| LoadError::TooLarge)
        }
        Type::Array { element, size } => stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let n = u64::from(check_type(program, layout, element)?) * u64::from(*size);
            u32::try_from(n).map_err(|_| LoadError::TooLarge)
        }),
        Type::Struct(_) | Type::Stack { .. } => Err(LoadError::Malformed("an unknown struct")),
    }
}
