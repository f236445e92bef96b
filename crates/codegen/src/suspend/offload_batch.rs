//! Asynchronous blocks whose extern calls are made for several packets at once.
//!
//! Where all packets of an asynchronous block come to one call, once, the block is cut there: an offload worker runs what
//! comes before the call for each packet of a batch, then makes all the calls, then runs what comes behind.

use crate::facts::effects::share_effects;
use crate::facts::in_packet_fields::InPacketFields;
use crate::suspend::saved_state::{SavedState, in_packet, saved_state};
use arch::ExternOp;
use ir::layout::Layout;
use ir::liveness::Liveness;
use ir::lookup::get;
use ir::segments::Segments;
use ir::{BlockId, Graph, Node, NodeId, ProcedureId, Program, Stmt, StmtKind, Terminator, TerminatorKind};
use rustc_hash::FxHashSet;

/// The cut of a block at its call.
pub(crate) struct Batched {
    /// The call is its last statement.
    pub(crate) node: NodeId,
    /// The node behind the call.
    pub(crate) after: NodeId,
    /// State that is read behind the call, without the results of the call.
    pub(crate) saved: SavedState,
}

/// The reason why the calls of a block are made one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotBatched {
    NoCall,
    SeveralCalls,
    /// In an action or a control of its own.
    Elsewhere,
    Conditional,
    InLoop,
    /// Another packet must not come in between.
    Ordered,
    TooMuch,
}

impl NotBatched {
    /// For readers of the C text.
    pub(crate) fn text(self) -> &'static str {
        match self {
            NotBatched::NoCall => "it calls no extern",
            NotBatched::SeveralCalls => "it has several calls",
            NotBatched::Elsewhere => "the call is in an action or a control of its own",
            NotBatched::Conditional => "not all packets come to the call",
            NotBatched::InLoop => "the call is in a loop",
            NotBatched::Ordered => {
                "what packets share (a register, a meter, random numbers, messages) is used before and behind the call"
            }
            NotBatched::TooMuch => "packets keep too much during the call",
        }
    }
}

/// The nodes of a block, from the first to the one that ends it.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    pub(crate) block: BlockId,
    pub(crate) first: NodeId,
    pub(crate) end: NodeId,
}

fn calls_host(stmt: &Stmt) -> bool {
    matches!(
        stmt.kind,
        StmtKind::Extern {
            op: ExternOp::User | ExternOp::SelectByDirection | ExternOp::IsNetPort | ExternOp::IsHostPort,
            ..
        }
    )
}

/// The nodes that are reached from some, without what comes behind `stops`.
fn reached(graph: &Graph, from: Vec<NodeId>, stops: [NodeId; 2]) -> Vec<NodeId> {
    let (mut seen, mut nodes, mut stack) = (FxHashSet::default(), Vec::new(), from);
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        nodes.push(id);
        if !stops.contains(&id) {
            stack.extend(graph.node(id).terminator.kind.successors());
        }
    }
    nodes
}

/// A procedure or table of these nodes makes a call.
fn calls_elsewhere(program: &Program, graph: &Graph, nodes: &[NodeId]) -> bool {
    let called = |graph: &Graph, id: NodeId| -> Vec<ProcedureId> {
        match &graph.node(id).terminator.kind {
            TerminatorKind::Call { procedure, .. } => vec![*procedure],
            TerminatorKind::Apply { table, .. } => {
                let actions = get(&program.tables, *table).map(|t| t.actions.as_slice()).unwrap_or_default();
                actions.iter().map(|action| action.procedure).collect()
            }
            _ => Vec::new(),
        }
    };
    let mut stack: Vec<ProcedureId> = nodes.iter().flat_map(|id| called(graph, *id)).collect();
    let mut seen = FxHashSet::default();
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        let graph = &program.procedures[id].graph;
        if graph.nodes.iter().any(|(_, node)| node.stmts.iter().any(calls_host)) {
            return true;
        }
        stack.extend(graph.nodes.iter().flat_map(|(id, _)| called(graph, id)));
    }
    false
}

/// A graph whose block is cut behind its call.
struct Split {
    graph: Graph,
    node: NodeId,
    after: NodeId,
    /// That ends the block.
    end: NodeId,
}

/// Cuts a block behind the one call that all its packets come to.
fn split(program: &Program, body: Body) -> Result<Split, NotBatched> {
    let graph = &program.blocks[body.block].graph;
    let nodes = reached(graph, vec![body.first], [body.end; 2]);
    let within: Vec<NodeId> = nodes.iter().copied().filter(|id| *id != body.end).collect();
    let sites: Vec<(NodeId, usize)> = nodes
        .iter()
        .flat_map(|id| graph.node(*id).stmts.iter().enumerate().map(|(i, stmt)| (*id, i, stmt)))
        .filter(|(.., stmt)| calls_host(stmt))
        .map(|(id, i, _)| (id, i))
        .collect();
    let elsewhere = calls_elsewhere(program, graph, &within);
    let (node, at) = match sites.as_slice() {
        [] if elsewhere => return Err(NotBatched::Elsewhere),
        [] => return Err(NotBatched::NoCall),
        [one] if !elsewhere => *one,
        _ => return Err(NotBatched::SeveralCalls),
    };
    let split = split_at(graph.clone(), node, at, body.end);
    let graph = &split.graph;
    let before = reached(graph, vec![body.first], [node, split.end]);
    if before.contains(&split.end) {
        return Err(NotBatched::Conditional);
    }
    let behind = reached(graph, vec![split.after], [split.end; 2]);
    if behind.contains(&node) {
        return Err(NotBatched::InLoop);
    }
    if share_effects(program, graph, [&before, &behind]) {
        return Err(NotBatched::Ordered);
    }
    Ok(split)
}

/// The call becomes the last statement of its node; what leads to the node still does.
fn split_at(mut graph: Graph, node: NodeId, at: usize, end: NodeId) -> Split {
    let first = &mut graph.nodes[node];
    let stmts = first.stmts.split_off(at + 1);
    let returns = Terminator { kind: TerminatorKind::Return, span: first.terminator.span };
    let terminator = std::mem::replace(&mut first.terminator, returns);
    let after = graph.nodes.alloc(Node { state: None, stmts, terminator });
    graph.nodes[node].terminator.kind = TerminatorKind::Goto(after);
    Split { graph, node, after, end: if node == end { after } else { end } }
}

/// Cuts the blocks that can be cut; returns each with its new end node.
pub(crate) fn cut(
    segments: &mut Segments,
    in_packet_fields: &InPacketFields,
    bodies: &[Body],
) -> (Vec<Result<Batched, NotBatched>>, Vec<NodeId>) {
    let mut ends: Vec<NodeId> = bodies.iter().map(|body| body.end).collect();
    let mut sites = Vec::new();
    for (body, end) in bodies.iter().zip(&mut ends) {
        sites.push(split(&segments.program, *body).map(|split| {
            segments.program.blocks[body.block].graph = split.graph;
            *end = split.end;
            (body.block, split.node, split.after)
        }));
    }
    let program = &segments.program;
    let layout = Layout::new(program);
    let emitted = in_packet(program, &layout);
    let liveness = Liveness::of_backend(program, layout, emitted);
    let batched = sites.into_iter().map(|site| {
        let (block, node, after) = site?;
        let liveness = liveness.as_ref().map_err(|_| NotBatched::TooMuch)?;
        let mut live = liveness.before_node(block, after);
        if let Some(call) = program.blocks[block].graph.node(node).stmts.last() {
            liveness.while_extern_runs(call, &mut live);
        }
        let saved = saved_state(segments, in_packet_fields, &live).ok_or(NotBatched::TooMuch)?;
        Ok(Batched { node, after, saved })
    });
    (batched.collect(), ends)
}
