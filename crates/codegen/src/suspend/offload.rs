//! Asynchronous blocks: where packets leave for offload workers, and the state they save.
//!
//! The markers that a block stands between cut the program as tables do in bursts: what liveness says is read again is
//! stored in the packet's buffer.

use crate::facts::in_packet_fields::InPacketFields;
use crate::suspend::offload_batch::{self, Batched, Body, NotBatched};
use crate::suspend::saved_state::{SavedState, in_packet, saved_state};
use arch::ExternOp;
use ir::segments::{PointKind, Segments, Wait, segments_for};
use ir::{Arg, Bits, BlockId, Expr, ExprKind, Graph, NodeId, Program, Stmt, StmtKind, TerminatorKind, Type};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

/// An asynchronous block.
pub(crate) struct OffloadBlock {
    pub(crate) name: SmolStr,
    pub(crate) settings: SmolStr,
    pub(crate) block: BlockId,
    /// The first node of the block, and the one after it.
    pub(crate) body: NodeId,
    pub(crate) after: NodeId,
    /// The state that goes to the offload worker, and the state that comes back.
    pub(crate) request: SavedState,
    pub(crate) completion: SavedState,
    /// The extern call that is batched.
    pub(crate) batched: Result<Batched, NotBatched>,
}

pub(crate) struct OffloadPlan {
    /// The program with its points in blocks; markers of blocks that can wait have the block's number as last argument.
    pub(crate) program: Program,
    pub(crate) blocks: Vec<OffloadBlock>,
}

/// The asynchronous blocks of a program at which packets may suspend; `None` without any.
pub(crate) fn plan(program: &Program) -> Option<OffloadPlan> {
    let has_markers = program
        .graphs()
        .flat_map(|graph| graph.nodes.iter())
        .flat_map(|(_, node)| &node.stmts)
        .any(|stmt| marker(stmt).is_some());
    // Colours of meters are the worker's.
    let has_colours = program.tables.iter().any(|(_, table)| table.direct_meter.is_some());
    if !has_markers || has_colours {
        return None;
    }
    let waits = |_: &Program, wait: &Wait<'_>| {
        matches!(wait, Wait::Extern { op: ExternOp::AsyncBegin | ExternOp::AsyncEnd, .. })
    };
    let mut cut = segments_for(program, &waits, &in_packet).ok()?;
    let in_packet_fields = InPacketFields::new(&cut.program, false);
    let mut blocks = Vec::new();
    let (mut begins, mut bodies): (Vec<NodeId>, Vec<Body>) = (Vec::new(), Vec::new());
    for point in &cut.points {
        let (PointKind::Extern { name, .. }, Some(node)) = (&point.kind, point.node) else { continue };
        let graph = &cut.program.blocks[point.block].graph;
        let Some((ExternOp::AsyncBegin, _, args)) = graph.node(node).stmts.last().and_then(marker) else {
            continue;
        };
        let TerminatorKind::Goto(body) = graph.node(node).terminator.kind else { continue };
        let Some(end) = only_end(graph, body) else { continue };
        let TerminatorKind::Goto(after) = graph.node(end).terminator.kind else { continue };
        let completion = cut.points.iter().find(|p| p.block == point.block && p.node == Some(end));
        let settings = match args.first() {
            Some(Arg::Str(text)) => text.clone(),
            _ => SmolStr::default(),
        };
        let (Some(request), Some(completion)) = (
            saved_state(&cut, &in_packet_fields, &point.live),
            completion.and_then(|p| saved_state(&cut, &in_packet_fields, &p.live)),
        ) else {
            continue;
        };
        if sends_digests(&cut, graph, body, end) {
            continue;
        }
        blocks.push(OffloadBlock {
            name: name.clone(),
            settings,
            block: point.block,
            body,
            after,
            request,
            completion,
            batched: Err(NotBatched::NoCall),
        });
        begins.push(node);
        bodies.push(Body { block: point.block, first: body, end });
    }
    if blocks.is_empty() {
        return None;
    }
    let (batched, ends) = offload_batch::cut(&mut cut, &in_packet_fields, &bodies);
    for (block, batched) in blocks.iter_mut().zip(batched) {
        block.batched = batched;
    }
    let mut program = cut.program;
    for (i, ((begin, end), body)) in begins.into_iter().zip(ends).zip(bodies).enumerate() {
        for node in [begin, end] {
            let stmts = &mut program.blocks[body.block].graph.nodes[node].stmts;
            if let Some(StmtKind::Extern { args, .. }) = stmts.last_mut().map(|stmt| &mut stmt.kind) {
                let number = Bits::new(32, i as u128);
                args.push(Arg::In(Expr::new(ExprKind::Const(number), Type::Bit(32))));
            }
        }
    }
    Some(OffloadPlan { program, blocks })
}

fn marker(stmt: &Stmt) -> Option<(ExternOp, &SmolStr, &[Arg])> {
    match &stmt.kind {
        StmtKind::Extern { op: op @ (ExternOp::AsyncBegin | ExternOp::AsyncEnd), name, args, .. } => {
            Some((*op, name, args))
        }
        StmtKind::Extern { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Emit(_)
        | StmtKind::ZeroIfInvalid(_) => None,
    }
}

/// The number of the block that a marker belongs to, if packets can suspend there.
pub(crate) fn number(args: &[Arg]) -> Option<usize> {
    match args.last()? {
        Arg::In(e) => usize::try_from(e.as_const()?.to_u64()?).ok(),
        Arg::Fields(_) | Arg::Ref(_) | Arg::Str(_) | Arg::Table { .. } | Arg::Absent => None,
    }
}

/// The nodes of a block from its first to its end, or to its ends.
fn nodes_of_body(graph: &Graph, body: NodeId) -> (Vec<NodeId>, Vec<NodeId>) {
    let (mut seen, mut nodes, mut ends) = (FxHashSet::default(), Vec::new(), Vec::new());
    let mut stack = vec![body];
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = graph.node(id);
        nodes.push(id);
        let is_end = |stmt: &Stmt| matches!(marker(stmt), Some((ExternOp::AsyncEnd, ..)));
        match node.stmts.last().is_some_and(is_end) {
            true => ends.push(id),
            false => stack.extend(node.terminator.kind.successors()),
        }
    }
    (nodes, ends)
}

/// The one end of a block, unless it has several or none.
fn only_end(graph: &Graph, body: NodeId) -> Option<NodeId> {
    match nodes_of_body(graph, body).1.as_slice() {
        [end] => Some(*end),
        _ => None,
    }
}

/// The block sends digests, which would lie in a buffer of the offload worker.
fn sends_digests(cut: &Segments, graph: &Graph, body: NodeId, end: NodeId) -> bool {
    let sends = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Extern { op: ExternOp::Digest, .. });
    let calls = |id: NodeId| {
        matches!(graph.node(id).terminator.kind, TerminatorKind::Call { .. } | TerminatorKind::Apply { .. })
    };
    let (nodes, _) = nodes_of_body(graph, body);
    let in_procedures = || {
        let stmts = cut.program.procedures.iter().flat_map(|(_, p)| p.graph.nodes.iter());
        stmts.flat_map(|(_, node)| &node.stmts).any(sends)
    };
    nodes.iter().any(|id| graph.node(*id).stmts.iter().any(sends))
        || (nodes.iter().any(|id| *id != end && calls(*id)) && in_procedures())
}
