//! The state of an elaboration.

use crate::names::Names;
use check::program::{self as checked, NodeId, Program};
use check::types::{Ty, Types};
use diagnostics::Diagnostic;
use ir::{BlockId, ObjectId, ProcedureId, TableId, ValueSetId};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::rc::Rc;

/// The IR as it grows, and which part of it stands for what.
pub struct Elaborator<'p> {
    pub p: &'p Program,
    /// The program's types, and those that substitution adds.
    pub types: Types,
    pub out: ir::Program,
    pub faults: Vec<Diagnostic>,
    /// Types that have been translated (after substitution).
    pub structs: FxHashMap<Ty, ir::StructId>,
    pub enums: FxHashMap<checked::EnumId, ir::EnumId>,
    /// How often the name of a struct was given.
    pub struct_names: FxHashMap<SmolStr, u32>,
    /// Position in [`ir::Program::errors`] of each member of `error`.
    pub errors: Vec<u32>,
    /// The block that is being elaborated.
    pub block: BlockId,
    /// Controls and parsers: names in force in their bodies, and their procedures once elaborated. Objects belong
    /// to one block.
    pub objects: FxHashMap<NodeId, Rc<Names>>,
    pub procedures: FxHashMap<ProcedureKey, ProcedureId>,
    /// Tables by the control object that declares them.
    pub tables: FxHashMap<(NodeId, checked::TableId), TableId>,
    pub value_sets: FxHashMap<(NodeId, checked::ValueSetId), ValueSetId>,
    /// Extern objects.
    pub externs: FxHashMap<NodeId, ObjectId>,
    /// Parameters of procedures in the order of their declarations; `None` for those that are no variables.
    pub params: FxHashMap<ProcedureId, Rc<[Option<ir::VarId>]>>,
    /// Where functions leave their results.
    pub results: FxHashMap<ProcedureId, ir::VarId>,
    /// Procedures that can end in [`Exit`](ir::TerminatorKind::Exit).
    pub exits: FxHashSet<ProcedureId>,
}

impl Elaborator<'_> {
    /// Names in force in the body of a control or parser; none before it is elaborated.
    pub fn names_of(&self, object: NodeId) -> Rc<Names> {
        self.objects.get(&object).map_or_else(Rc::default, Rc::clone)
    }
}

/// What a procedure is made from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ProcedureKey {
    /// A control or parser object.
    Object(BlockId, NodeId),
    /// An action as seen from a control object; `None` for actions of the top level, which belong to the block.
    Action(BlockId, Option<NodeId>, checked::ActionId),
    /// An element of a table's list of actions that binds arguments.
    Bound(TableId, u32),
    /// A function with its type arguments and the values of its compile-time parameters.
    Function(BlockId, checked::FunctionId, Vec<Ty>, Vec<Option<check::value::Value>>),
    /// The implementation of an abstract method in an extern object.
    Method(BlockId, NodeId, checked::FunctionId),
}
