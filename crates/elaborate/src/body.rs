//! Writes the graph of one block or procedure.

use crate::atomic::AtomicBlock;
use crate::elaborator::Elaborator;
use crate::names::Names;
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{
    Bits, Expr, ExprKind, Graph, Node, NodeId, Place, Scope, Stmt, StmtKind, Terminator, TerminatorKind,
    Type, VarId, Variable,
};
use la_arena::Arena;
use rustc_hash::FxHashMap;

/// The terminator that ends a body: where control runs off its end, and where `return` and `exit` leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// A block other than a parser. `return` and `exit` both end it.
    Block,
    /// A block that is a parser.
    Parser,
    /// A procedure of any kind. `return` returns to the caller; `exit` and `reject` exit.
    Procedure,
}

/// A graph under construction and the names in force where it grows.
pub struct Body<'e, 'p> {
    pub e: &'e mut Elaborator<'p>,
    pub names: Names,
    pub kind: BodyKind,
    /// The scope of new variables.
    pub scope: Scope,
    nodes: Arena<Node>,
    entry: NodeId,
    /// The current node, to which statements are appended. After a jump no edge leads to it.
    pub at: NodeId,
    /// Targets of `break` and `continue`, innermost last.
    pub loops: Vec<Loop>,
    /// The number of loops around the current asynchronous block; `None` outside of such a block.
    pub asynchronous: Option<usize>,
    /// The current block marked `@atomic`.
    pub atomic: Option<AtomicBlock>,
    /// The place that receives the value of `return`.
    pub result: Option<Place>,
    /// Variables that are never written, by type.
    pub zeros: FxHashMap<Type, VarId>,
    /// The node that leaves the body. It is created on first use.
    leave: Option<NodeId>,
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
            asynchronous: None,
            atomic: None,
            result: None,
            zeros: FxHashMap::default(),
            leave: None,
            n_temporaries: 0,
        }
    }

    /// Gives the finished graph. The current node gets the terminator for the end of the body.
    pub fn finish(mut self, span: Span) -> Graph {
        let end = match self.kind {
            BodyKind::Block | BodyKind::Procedure => TerminatorKind::Return,
            BodyKind::Parser => TerminatorKind::Reject,
        };
        self.terminate(end, span);
        reachable(self.nodes, self.entry)
    }

    /// Ends the body as `exit` does. In a parser, and in procedures of a parser, that is a rejection.
    pub fn exit(&mut self, span: Span) {
        let end = match self.kind {
            BodyKind::Block => TerminatorKind::Return,
            BodyKind::Parser => TerminatorKind::Reject,
            BodyKind::Procedure => TerminatorKind::Exit,
        };
        self.terminate(end, span);
    }

    /// A node that ends the body as `exit` does.
    pub fn exit_node(&mut self, span: Span) -> NodeId {
        if let Some(node) = self.leave {
            return node;
        }
        let node = self.new_node();
        self.leave = Some(node);
        let at = self.at;
        self.continue_at(node);
        self.exit(span);
        self.continue_at(at);
        node
    }

    /// Ends a parser, or a sub-parser, in `accept`.
    pub fn accept(&mut self, span: Span) {
        let end = match self.kind {
            BodyKind::Block | BodyKind::Procedure => TerminatorKind::Return,
            BodyKind::Parser => TerminatorKind::Accept,
        };
        self.terminate(end, span);
    }

    /// Ends a parser, or a sub-parser, in `reject`; the error is set.
    pub fn reject(&mut self, span: Span) {
        self.exit(span);
    }

    /// The variable with the error of the parser that is being elaborated.
    pub fn error_place(&self) -> Option<Place> {
        self.e.out.blocks[self.e.block].error.map(Place::var)
    }

    /// Rejects with an error.
    pub fn fail(&mut self, error: Expr, span: Span) {
        if let Some(place) = self.error_place() {
            self.assign(place, error, span);
        }
        self.reject(span);
    }

    /// Rejects with an error of core.p4.
    pub fn fail_with(&mut self, error: &str, span: Span) {
        let index = self.e.out.errors.iter().position(|e| e == error).unwrap_or(0);
        let error = Bits::new(INDEX_BITS, index as u128);
        self.fail(Expr::new(ExprKind::Const(error), Type::Error), span);
    }

    /// Adds a node. No edge leads to it yet.
    pub fn new_node(&mut self) -> NodeId {
        self.nodes.alloc(empty_node())
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id]
    }

    /// Appends a statement to the current node.
    pub fn stmt(&mut self, kind: StmtKind, span: Span) {
        if !self.e.is_full(1, span) {
            let at = self.at;
            self.nodes[at].stmts.push(Stmt { kind, span });
        }
    }

    pub fn assign(&mut self, place: Place, value: Expr, span: Span) {
        self.stmt(StmtKind::Assign { place, value }, span);
    }

    /// Ends the current node. Later statements go to a new node without predecessors, until [`Body::continue_at`].
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

    /// Branches on a condition. Gives the nodes of the two branches: the one for true first.
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

/// Keeps the nodes that can be reached from the entry, in the order of a depth-first walk.
fn reachable(mut nodes: Arena<Node>, entry: NodeId) -> Graph {
    let mut order = Vec::new();
    let mut seen: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut todo = vec![entry];
    while let Some(id) = todo.pop() {
        if seen.contains_key(&id) {
            continue;
        }
        seen.insert(id, order.len());
        order.push(id);
        todo.extend(nodes[id].terminator.kind.successors().into_iter().rev());
    }
    let mut out: Arena<Node> = Arena::with_capacity(order.len());
    let ids: Vec<NodeId> =
        order.iter().map(|id| out.alloc(std::mem::replace(&mut nodes[*id], empty_node()))).collect();
    for (_, node) in out.iter_mut() {
        node.terminator.kind.map_successors(&mut |n| seen.get(&n).map_or(n, |i| ids[*i]));
    }
    Graph { nodes: out, entry: ids[0] }
}
