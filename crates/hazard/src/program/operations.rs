//! The computation of a packet as a graph of operations.

use super::paths::Way;
use diagnostics::Span;
use ir::{ObjectId, TableId};
use smol_str::SmolStr;
use std::rc::Rc;

pub type OperationId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that comes with the packet: a header field, metadata.
    Field,
    /// Bits of a value in another order: slices, casts, shifts by constants. Costs nothing.
    Wire,
    Add,
    Compare,
    Logic,
    Select,
    Shift,
    Multiply,
    Divide,
    Hash,
    Random,
    /// The result of a lookup.
    Table(TableId),
    /// The result of an unknown extern.
    Call,
    Read(State),
    Write(State),
    /// Reads, changes and writes at once: counters and meters.
    Update(State),
}

/// State that packets leave for later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Object(ObjectId),
    /// A table that packets add entries to.
    Table(TableId),
}

impl Kind {
    /// Returns the state that the operation uses; `None` if it uses none.
    pub fn state(self) -> Option<State> {
        match self {
            Kind::Read(state) | Kind::Write(state) | Kind::Update(state) => Some(state),
            Kind::Field
            | Kind::Wire
            | Kind::Add
            | Kind::Compare
            | Kind::Logic
            | Kind::Select
            | Kind::Shift
            | Kind::Multiply
            | Kind::Divide
            | Kind::Hash
            | Kind::Random
            | Kind::Table(_)
            | Kind::Call => None,
        }
    }

    /// Returns the name for output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Field => "field",
            Kind::Wire => "wires",
            Kind::Add => "add",
            Kind::Compare => "compare",
            Kind::Logic => "logic",
            Kind::Select => "select",
            Kind::Shift => "shift",
            Kind::Multiply => "multiply",
            Kind::Divide => "divide",
            Kind::Hash => "hash",
            Kind::Random => "random",
            Kind::Table(_) => "table",
            Kind::Call => "extern",
            Kind::Read(State::Table(_)) => "look up",
            Kind::Write(State::Table(_)) => "add an entry",
            Kind::Read(State::Object(_)) => "read",
            Kind::Write(State::Object(_)) => "write",
            Kind::Update(_) => "update",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Operation {
    pub kind: Kind,
    pub cycles: u32,
    /// Operations whose values it uses.
    pub operands: Vec<OperationId>,
    /// Conditions of the branches around a write, which decide if it happens.
    pub conditions: Vec<OperationId>,
    /// Operations that compute the index of a read, write or update.
    pub index: Vec<OperationId>,
    /// Name of a field, as the program spells it.
    pub name: SmolStr,
    /// The outermost block marked `@atomic` around it: an index into [`Analysis::atomic_blocks`].
    ///
    /// [`Analysis::atomic_blocks`]: super::Analysis::atomic_blocks
    pub atomic: Option<usize>,
    /// The ways that a packet must take to reach it.
    pub ways: Rc<[Way]>,
    pub span: Span,
}

/// The operations of a program in its order: operands precede their uses.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    pub all: Vec<Operation>,
}

impl Operations {
    pub fn get(&self, id: OperationId) -> Option<&Operation> {
        self.all.get(id)
    }

    /// Returns the operations that must precede an operation.
    pub fn needs(&self, id: OperationId) -> impl Iterator<Item = OperationId> {
        let operation = self.all.get(id);
        operation.into_iter().flat_map(|o| o.operands.iter().chain(&o.conditions).chain(&o.index)).copied()
    }
}
