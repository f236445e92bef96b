//! The state of an elaboration.

use crate::codes;
use crate::names::Names;
use check::program::{self as checked, NodeId, Program};
use check::types::{Ty, Types};
use check::value::Value;
use diagnostics::{Diagnostic, Span};
use ir::{BlockId, ObjectId, ProcedureId, Sync, TableId, ValueSetId};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::rc::Rc;

/// The growing IR, with the maps from the checked program to its parts.
pub struct Elaborator<'p> {
    pub p: &'p Program,
    /// The program's types, and those that substitution adds.
    pub types: Types,
    pub out: ir::Program,
    pub faults: Vec<Diagnostic>,
    /// Types that have been translated (after substitution).
    pub structs: FxHashMap<Ty, ir::StructId>,
    pub enums: FxHashMap<checked::EnumId, ir::EnumId>,
    /// The number of structs with each name.
    pub struct_names: FxHashMap<SmolStr, u32>,
    /// Position in [`ir::Program::errors`] of each member of `error`.
    pub errors: Vec<u32>,
    /// The block that is being elaborated.
    pub block: BlockId,
    /// The name that the architecture's description gives it.
    pub block_name: Option<String>,
    /// Places of the calls of actions for groups without members.
    pub empty_group_calls: FxHashSet<Span>,
    /// Controls and parsers: names in force in their bodies, and their procedures once elaborated. Objects belong
    /// to one block.
    pub objects: FxHashMap<NodeId, Rc<Names>>,
    pub procedures: FxHashMap<ProcedureKey, ProcedureId>,
    /// Tables by the control object that declares them.
    pub tables: FxHashMap<(NodeId, checked::TableId), TableId>,
    pub value_sets: FxHashMap<(NodeId, checked::ValueSetId), ValueSetId>,
    /// Extern objects.
    pub externs: FxHashMap<NodeId, ObjectId>,
    /// The variables with the state of checksum objects.
    pub checksums: FxHashMap<NodeId, ir::VarId>,
    /// Parameters of procedures in the order of their declarations; `None` for those that are no variables.
    pub params: FxHashMap<ProcedureId, Rc<[Option<ir::VarId>]>>,
    /// The variables with the results of functions.
    pub results: FxHashMap<ProcedureId, ir::VarId>,
    /// Leaves and headers of each struct of the IR.
    pub sizes: Vec<Size>,
    /// The number of statements and values written so far; see [`WRITTEN_MAX`].
    pub n_written: u64,
    /// Procedures that can end in [`Exit`](ir::TerminatorKind::Exit).
    pub exits: FxHashSet<ProcedureId>,
    /// The number of asynchronous blocks without a name of their own.
    pub n_asynchronous: u32,
    /// The number of atomic blocks without a name of their own.
    pub n_atomic: u32,
    pub purpose: Purpose,
    /// The table whose actions are being elaborated.
    pub(crate) table_in_force: Option<TableInForce>,
    /// By table and action: how workers keep changes of entries apart, where an action makes some.
    pub(crate) syncs: FxHashMap<(TableId, u32), Sync>,
    /// The registers of which entries of a table have a cell, in the order of the property.
    pub(crate) table_registers: FxHashMap<TableId, Vec<TableRegister>>,
    /// The variable that holds the value of a register while a procedure runs.
    pub(crate) register_vars: FxHashMap<(ProcedureId, NodeId), ir::VarId>,
    /// The length of the packet is counted while headers come and go.
    pub counts_length: bool,
    /// Egress may clone the packet; known when `counts_length` is set.
    pub clones_from_egress: bool,
}

/// The table whose actions are being elaborated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableInForce {
    pub scope: NodeId,
    pub checked: checked::TableId,
    pub id: TableId,
    /// Packets may write its entries: its actions have procedures of their own.
    pub has_state: bool,
    /// The element of the list of actions that is being elaborated.
    pub element: u32,
}

/// A register (`DirectRegister`) of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableRegister {
    pub node: NodeId,
    pub ty: ir::Type,
}

/// The use that the IR is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Running the program.
    Execution,
    /// Analysing the program: the IR has markers that do not matter to backends, and the architecture may be one that has
    /// no backend.
    Analysis,
}

impl Elaborator<'_> {
    /// Names in force in the body of a control or parser; none before it is elaborated.
    pub fn names_of(&self, object: NodeId) -> Rc<Names> {
        self.objects.get(&object).map_or_else(Rc::default, Rc::clone)
    }
}

/// The size of a value of a struct. Numbers that do not fit saturate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub n_leaves: u64,
    /// Headers, and stacks with their elements.
    pub n_headers: u64,
}

/// Most statements, and values in them, of an elaborated program. Functions that call two of their predecessors
/// with other type arguments each would double it with every line.
pub const WRITTEN_MAX: u64 = 1 << 21;

impl Elaborator<'_> {
    /// Adds `n` to the size of the program. Gives true when it has become too large, and reports that once.
    pub fn is_full(&mut self, n: u64, span: Span) -> bool {
        let before = self.n_written;
        self.n_written = before.saturating_add(n);
        if self.n_written <= WRITTEN_MAX {
            return false;
        }
        if before <= WRITTEN_MAX {
            let d = Diagnostic::new(&codes::PROGRAM_TOO_LARGE, span, "the program becomes too large")
                .label("what is written out here is too much")
                .note(format!("at most {WRITTEN_MAX} statements are made of a program"))
                .note("functions and controls are written out for each use with other arguments");
            self.faults.push(d);
        }
        true
    }
}

/// Compile-time arguments by parameter. The list may be shorter than that of the parameters.
pub type Values = Vec<Option<Value>>;

/// The origin of a procedure: equal origins share one procedure.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ProcedureKey {
    /// A control or parser object.
    Object(BlockId, NodeId, Values),
    /// An action as seen from a control object; `None` for actions of the top level, which belong to the block. Actions of a
    /// table with state are its own; where the table has registers, so is an action as an element of its list.
    Action(BlockId, Option<NodeId>, checked::ActionId, Values, Option<(TableId, Option<u32>)>),
    /// An element of a table's list of actions that binds arguments.
    Bound(TableId, u32),
    /// A function with its type arguments and the values of its compile-time parameters.
    Function(BlockId, checked::FunctionId, Vec<Ty>, Values),
    /// The implementation of an abstract method in an extern object.
    Method(BlockId, NodeId, checked::FunctionId, Values),
    /// A parser (true) or deparser, by its number, that an asynchronous block names.
    Representation(BlockId, bool, usize),
}
