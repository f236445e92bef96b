//! Control-flow graphs: nodes of statements, each ending in a terminator.

use crate::{Bits, Expr, ObjectId, Place, ProcedureId, TableId, ValueSetId};
use arch::ExternOp;
use diagnostics::Span;
use la_arena::{Arena, Idx};
use smol_str::SmolStr;

pub type NodeId = Idx<Node>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub nodes: Arena<Node>,
    pub entry: NodeId,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The parser state that begins here, by its name in the program with the path of sub-parsers
    /// (`parse_ipv4`, `options.start`).
    pub state: Option<SmolStr>,
    pub stmts: Vec<Stmt>,
    pub terminator: Terminator,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

/// Spans say where something comes from, not what it is: they do not count.
impl PartialEq for Stmt {
    fn eq(&self, other: &Stmt) -> bool {
        self.kind == other.kind
    }
}
impl Eq for Stmt {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// Assigns a value to a place. Both have one type, which may be an aggregate: then all of it is copied, validity and
    /// indices included.
    /// The value is read before anything is written.
    Assign { place: Place, value: Expr },
    /// Appends a header to the packet if it is valid.
    Emit(Place),
    /// Sets all fields of a header to zeros unless the header is valid; a `varbit` becomes empty. Stands before a
    /// header is made valid, so that bytes of earlier headers do not show in it.
    ZeroIfInvalid(Place),
    /// Calls an extern function or method that never waits.
    Extern {
        op: ExternOp,
        /// Name of the function, or `type.method`.
        name: SmolStr,
        object: Option<ObjectId>,
        /// The arguments in the order of the declaration.
        args: Vec<Arg>,
        result: Option<Place>,
    },
}

/// An argument of an extern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A single value.
    In(Expr),
    /// The leaves of a struct, tuple, header, stack or list in order, without validity bits and indices.
    Fields(Vec<Expr>),
    /// `out` or `inout`: a place of any type.
    Ref(Place),
    Str(SmolStr),
    /// A table, or one of its actions: the index into [`Table::actions`](crate::Table::actions).
    Table {
        table: TableId,
        action: Option<u32>,
    },
    /// An optional argument that is absent.
    Absent,
}

#[derive(Clone, Debug)]
pub struct Terminator {
    pub kind: TerminatorKind,
    pub span: Span,
}

impl PartialEq for Terminator {
    fn eq(&self, other: &Terminator) -> bool {
        self.kind == other.kind
    }
}
impl Eq for Terminator {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminatorKind {
    Goto(NodeId),
    /// On a `bool`.
    Branch {
        condition: Expr,
        then: NodeId,
        otherwise: NodeId,
    },
    /// To the case of equal value; values are distinct.
    Switch {
        subject: Expr,
        cases: Vec<SwitchCase>,
        otherwise: NodeId,
    },
    /// To the first case that matches.
    Select {
        keys: Vec<Expr>,
        cases: Vec<SelectCase>,
        otherwise: NodeId,
    },
    /// Reads a header from the packet, makes it valid and moves on. `place` is a header, or with `to_next` a
    /// stack whose next element is meant, and whose index then moves on. `size_bits` is the length of its
    /// `varbit` field, a `bit<32>`. Checks in this order: `PacketTooShort` for the fixed part and the `varbit`,
    /// `ParserInvalidArgument` for a size that is not a multiple of 8, `HeaderTooShort`, `StackOutOfBounds`.
    Extract {
        place: Place,
        to_next: bool,
        size_bits: Option<Expr>,
        then: NodeId,
        fail: NodeId,
    },
    /// Skips bits, a `bit<32>`: `PacketTooShort`, or `ParserInvalidArgument` when not a multiple of 8.
    Advance {
        bits: Expr,
        then: NodeId,
        fail: NodeId,
    },
    /// Reads a value of the place's type, any type of fixed size, without moving on; makes headers in it valid.
    Lookahead {
        place: Place,
        then: NodeId,
        fail: NodeId,
    },
    /// Looks a table up and runs the action found. `hit` is a `bool`, `action` a `bit<32>`: the index in
    /// [`Table::actions`](crate::Table::actions); both are stored before the action runs.
    Apply {
        table: TableId,
        keys: Vec<Expr>,
        hit: Option<Place>,
        action: Option<Place>,
        then: NodeId,
        exit: NodeId,
    },
    Call {
        procedure: ProcedureId,
        then: NodeId,
        exit: NodeId,
    },
    /// Ends a procedure, or a block that is no parser.
    Return,
    /// Ends a procedure and what called it.
    Exit,
    /// Ends a parser.
    Accept,
    /// Ends a parser; the reason is in the block's error.
    Reject,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchCase {
    pub value: Bits,
    pub target: NodeId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectCase {
    pub pattern: Pattern,
    pub target: NodeId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One set for each key.
    Keys(Vec<Keyset>),
    /// All keys together are members of the set; its fields correspond to the keys.
    ValueSet(ValueSetId),
}

/// A set of values of one key. Expressions are of the key's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keyset {
    Any,
    Value(Expr),
    Mask {
        value: Expr,
        mask: Expr,
    },
    /// Inclusive; empty when `lo` is above `hi`. Signed when the type is.
    Range {
        lo: Expr,
        hi: Expr,
    },
    /// A set of single values.
    ValueSet(ValueSetId),
}

impl Graph {
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }
}

impl TerminatorKind {
    /// The nodes to which control may go from here.
    pub fn successors(&self) -> Vec<NodeId> {
        match self {
            TerminatorKind::Goto(n) => vec![*n],
            TerminatorKind::Branch { then, otherwise, .. } => vec![*then, *otherwise],
            TerminatorKind::Switch { cases, otherwise, .. } => {
                cases.iter().map(|c| c.target).chain([*otherwise]).collect()
            }
            TerminatorKind::Select { cases, otherwise, .. } => {
                cases.iter().map(|c| c.target).chain([*otherwise]).collect()
            }
            TerminatorKind::Extract { then, fail, .. }
            | TerminatorKind::Advance { then, fail, .. }
            | TerminatorKind::Lookahead { then, fail, .. } => vec![*then, *fail],
            TerminatorKind::Apply { then, exit, .. } | TerminatorKind::Call { then, exit, .. } => {
                vec![*then, *exit]
            }
            TerminatorKind::Return
            | TerminatorKind::Exit
            | TerminatorKind::Accept
            | TerminatorKind::Reject => Vec::new(),
        }
    }

    /// Changes every successor.
    pub fn map_successors(&mut self, f: &mut dyn FnMut(NodeId) -> NodeId) {
        let mut change = |n: &mut NodeId| *n = f(*n);
        match self {
            TerminatorKind::Goto(n) => change(n),
            TerminatorKind::Branch { then, otherwise, .. } => {
                change(then);
                change(otherwise);
            }
            TerminatorKind::Switch { cases, otherwise, .. } => {
                cases.iter_mut().for_each(|c| change(&mut c.target));
                change(otherwise);
            }
            TerminatorKind::Select { cases, otherwise, .. } => {
                cases.iter_mut().for_each(|c| change(&mut c.target));
                change(otherwise);
            }
            TerminatorKind::Extract { then, fail, .. }
            | TerminatorKind::Advance { then, fail, .. }
            | TerminatorKind::Lookahead { then, fail, .. } => {
                change(then);
                change(fail);
            }
            TerminatorKind::Apply { then, exit, .. } | TerminatorKind::Call { then, exit, .. } => {
                change(then);
                change(exit);
            }
            TerminatorKind::Return
            | TerminatorKind::Exit
            | TerminatorKind::Accept
            | TerminatorKind::Reject => {}
        }
    }
}
