//! Writes the graph of one block or procedure.

use crate::elaborator::Elaborator;
use crate::names::Names;
use diagnostics::Span;
use ir::{
    Expr, Graph, Node, NodeId, Place, Scope, Stmt, StmtKind, Terminator, TerminatorKind, Type, VarId,
    Variable,
};
use la_arena::Arena;

/// How what runs off the end of a body, or leaves it, ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// A block that is no parser: `return` and `exit` both end it.
    Block,
    /// A block that is a parser.
    Parser,
    /// A procedure of any kind: `return` returns, `exit` (and `reject`) exits.
    Procedure,
}

/// A graph under construction and the names in force where it grows.
pub struct Body<'e, 'p> {
    pub e: &'e mut Elaborator<'p>,
    pub names: Names,
    pub kind: BodyKind,
    /// Where new variables belong.
    pub scope: Scope,
    nodes: Arena<Node>,
    entry: NodeId,
    /// Where statements go. After a jump this is a node that nothing leads to.
    pub at: NodeId,
    /// Targets of `break` and `continue`, innermost last.
    pub loops: Vec<Loop>,
    /// Where the value of `return` goes.
    pub result: Option<Place>,
    n_temporaries: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Loop {
    pub on_break: NodeId,
    pub on_continue: NodeId,
}

fn empty_node() -> Node {
    Node {
        state: None,
        stmts: Vec::new(),
        terminator: Terminator { kind: TerminatorKind::Return, span: Span::NONE },
    }
}

impl<'e, 'p> Body<'e, 'p> {
    pub fn new(e: &'e mut Elaborator<'p>, names: Names, kind: BodyKind, scope: Scope) -> Body<'e, 'p> {
        let mut nodes = Arena::new();
        let entry = nodes.alloc(empty_node());
        Body {
            e,
            names,
            kind,
            scope,
            nodes,
            entry,
            at: entry,
            loops: Vec::new(),
            result: None,
            n_temporaries: 0,
        }
    }

    /// The finished graph. The current node ends as the end of the body does.
    pub fn finish(mut self, span: Span) -> Graph {
        let end = match self.kind {
            BodyKind::Block | BodyKind::Procedure => TerminatorKind::Return,
            BodyKind::Parser => TerminatorKind::Reject,
        };
        self.terminate(end, span);
        Graph { nodes: self.nodes, entry: self.entry }
    }

    /// A node that nothing leads to yet.
    pub fn new_node(&mut self) -> NodeId {
        self.nodes.alloc(empty_node())
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id]
    }

    /// Appends a statement to the current node.
    pub fn stmt(&mut self, kind: StmtKind, span: Span) {
        let at = self.at;
        self.nodes[at].stmts.push(Stmt { kind, span });
    }

    pub fn assign(&mut self, place: Place, value: Expr, span: Span) {
        self.stmt(StmtKind::Assign { place, value }, span);
    }

    /// Ends the current node. What follows goes to a node that nothing leads to, until [`Body::continue_at`].
    pub fn terminate(&mut self, kind: TerminatorKind, span: Span) {
        let at = self.at;
        self.nodes[at].terminator = Terminator { kind, span };
        self.at = self.new_node();
    }

    pub fn goto(&mut self, target: NodeId, span: Span) {
        self.terminate(TerminatorKind::Goto(target), span);
    }

    pub fn continue_at(&mut self, node: NodeId) {
        self.at = node;
    }

    /// `if (condition)`: gives the nodes of the two branches.
    pub fn branch(&mut self, condition: Expr, span: Span) -> (NodeId, NodeId) {
        let (then, otherwise) = (self.new_node(), self.new_node());
        self.terminate(TerminatorKind::Branch { condition, then, otherwise }, span);
        (then, otherwise)
    }

    /// A new variable in this body's scope.
    pub fn variable(&mut self, name: &str, ty: Type, span: Span) -> VarId {
        self.e.out.variables.alloc(Variable { name: name.into(), ty, scope: self.scope, span })
    }

    pub fn temporary(&mut self, ty: Type, span: Span) -> Place {
        let name = format!("${}", self.n_temporaries);
        self.n_temporaries += 1;
        Place::var(self.variable(&name, ty, span))
    }

    /// Stores a value in a new temporary and gives the expression that reads it.
    pub fn save(&mut self, value: Expr, span: Span) -> Expr {
        let ty = value.ty.clone();
        let place = self.temporary(ty.clone(), span);
        self.assign(place.clone(), value, span);
        Expr::read(place, ty)
    }
}
