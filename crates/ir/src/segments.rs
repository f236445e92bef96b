//! Cuts a program where packets may have to wait, and says what has to survive each wait.
//!
//! A [`Point`] is a place where a packet waits: for a table's memory, for an extern that runs elsewhere, in a
//! queue, or until it comes back. Code between points is a [`Segment`]. Procedures that contain points are put
//! where they are called, actions too; so points are in blocks only.
//!
//! Start reading at [`segments`].

mod cut;
mod report;

use crate::layout::Layout;
use crate::leaf_set::LeafSet;
use crate::liveness::{Liveness, TooLarge, preserved_list};
use crate::lookup::{get, index};
use crate::text::Printer;
use crate::{
    Arg, BlockId, ExprKind, NodeId, ObjectId, Program, Stmt, StmtKind, TableId, TerminatorKind, Type,
};
use arch::{BlockRole, ExternOp};
use diagnostics::Span;
use smol_str::SmolStr;

/// An operation within a block that a packet might wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait<'a> {
    Table(TableId),
    Extern { op: ExternOp, name: &'a str, object: Option<ObjectId> },
}

/// A program that has been cut.
#[derive(Clone, Debug)]
pub struct Segments {
    /// The program in which the points are: nodes end after externs that wait.
    pub program: Program,
    pub layout: Layout,
    /// Block by block; the first of each is where it starts.
    pub segments: Vec<Segment>,
    pub points: Vec<Point>,
}

/// Code that never waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub block: BlockId,
    pub entry: SegmentEntry,
    /// The nodes that may run from their beginnings, in order; one that ends in a point runs up to it. Segments
    /// overlap where ways join.
    pub nodes: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentEntry {
    /// The beginning of the block.
    Start,
    /// Finishes what the packet waited for at the point with this index, then goes on after its node.
    Resume(usize),
}

/// A suspension point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub kind: PointKind,
    pub block: BlockId,
    /// The node at whose end a point within a block stands. The packet waits for the node's terminator or its last
    /// statement.
    pub node: Option<NodeId>,
    pub span: Span,
    /// The leaves that are read again after the wait.
    pub live: LeafSet,
    /// The request: the key of the table, or the arguments of the extern.
    pub request: Vec<(String, Type)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointKind {
    Table(TableId),
    Extern {
        name: SmolStr,
        object: Option<ObjectId>,
    },
    /// Between ingress and egress.
    Queue,
    /// Resubmit, recirculate or clone with a field list: the copy takes along what it preserves.
    Copy {
        name: SmolStr,
        /// `None` when it is computed.
        field_list: Option<u32>,
    },
}

/// Cuts a valid program where `waits` says so, and between blocks where its architecture lets packets wait.
pub fn segments(program: &Program, waits: &dyn Fn(&Program, &Wait) -> bool) -> Result<Segments, TooLarge> {
    segments_for(program, waits, &|_, layout| LeafSet::none(layout.n_leaves()))
}

/// Like [`segments`], for a backend that emits the leaves of `in_packet` from the packet's bytes: see
/// [`Liveness::of_backend`].
pub fn segments_for(
    program: &Program,
    waits: &dyn Fn(&Program, &Wait) -> bool,
    in_packet: &dyn Fn(&Program, &Layout) -> LeafSet,
) -> Result<Segments, TooLarge> {
    let program = cut::cut(program, waits)?;
    let mut points = Vec::new();
    let mut segments = Vec::new();
    let layout = Layout::new(&program);
    let in_packet = in_packet(&program, &layout);
    let liveness = Liveness::of_backend(&program, layout, in_packet)?;
    let printer = Printer::new(&program);
    for (_, block) in &program.pipeline {
        let first = points.len();
        points_of_block(&program, &liveness, &printer, *block, waits, &mut points);
        segments_of_block(&program, *block, &points[first..], first, &mut segments);
    }
    points_between_blocks(&program, &liveness, &mut points);
    let layout = liveness.layout.clone();
    Ok(Segments { program, layout, segments, points })
}

/// The operation that a packet could wait for at a statement.
fn wait_of(stmt: &Stmt) -> Option<Wait<'_>> {
    match &stmt.kind {
        StmtKind::Extern { op, name, object, .. } => Some(Wait::Extern { op: *op, name, object: *object }),
        StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => None,
    }
}

fn points_of_block(
    program: &Program,
    liveness: &Liveness,
    printer: &Printer,
    block: BlockId,
    waits: &dyn Fn(&Program, &Wait) -> bool,
    points: &mut Vec<Point>,
) {
    let Some(graph) = get(&program.blocks, block).map(|b| &b.graph) else { return };
    for (id, node) in graph.nodes.iter() {
        let terminator = &node.terminator;
        if let TerminatorKind::Apply { table, keys, .. } = &terminator.kind
            && waits(program, &Wait::Table(*table))
        {
            let names = get(&program.tables, *table).map(|t| t.keys.as_slice()).unwrap_or_default();
            let request = keys.iter().zip(names).map(|(key, named)| (named.name.to_string(), key.ty.clone()));
            points.push(Point {
                kind: PointKind::Table(*table),
                block,
                node: Some(id),
                span: terminator.span,
                live: liveness.while_looked_up(&terminator.kind, |id| liveness.before_node(block, id)),
                request: request.collect(),
            });
        }
        let Some(stmt) = node.stmts.last() else { continue };
        let StmtKind::Extern { name, object, args, .. } = &stmt.kind else { continue };
        let (Some(wait), TerminatorKind::Goto(next)) = (wait_of(stmt), &terminator.kind) else { continue };
        if waits(program, &wait) {
            let mut live = liveness.before_node(block, *next);
            liveness.while_extern_runs(stmt, &mut live);
            points.push(Point {
                kind: PointKind::Extern { name: name.clone(), object: *object },
                block,
                node: Some(id),
                span: stmt.span,
                live,
                request: args.iter().flat_map(|arg| requested(program, printer, arg)).collect(),
            });
        }
    }
}

/// The values that an argument contributes to the request.
fn requested(program: &Program, printer: &Printer, arg: &Arg) -> Vec<(String, Type)> {
    let values = match arg {
        Arg::In(e) => std::slice::from_ref(e),
        Arg::Fields(fields) => fields,
        Arg::Ref(place) => {
            return program.place_type(place).map(|ty| (printer.place(place), ty)).into_iter().collect();
        }
        Arg::Str(_) | Arg::Table { .. } | Arg::Absent => return Vec::new(),
    };
    let computed = values.iter().filter(|e| !matches!(e.kind, ExprKind::Const(_)));
    computed.map(|e| (printer.expr(e), e.ty.clone())).collect()
}

/// `points` are those of the block, and `first` is the index of the first of them.
fn segments_of_block(
    program: &Program,
    block: BlockId,
    points: &[Point],
    first: usize,
    out: &mut Vec<Segment>,
) {
    let Some(graph) = get(&program.blocks, block).map(|b| &b.graph) else { return };
    let ends: Vec<bool> =
        graph.nodes.iter().map(|(id, _)| points.iter().any(|point| point.node == Some(id))).collect();
    let reach = |from: Vec<NodeId>| {
        let mut seen = vec![false; graph.nodes.len()];
        let mut stack = from;
        while let Some(id) = stack.pop() {
            let Some(node) = get(&graph.nodes, id) else { continue };
            if !std::mem::replace(&mut seen[index(id)], true) && !ends[index(id)] {
                stack.extend(node.terminator.kind.successors());
            }
        }
        graph.nodes.iter().map(|(id, _)| id).filter(|id| seen[index(*id)]).collect()
    };
    out.push(Segment { block, entry: SegmentEntry::Start, nodes: reach(vec![graph.entry]) });
    for (i, point) in points.iter().enumerate() {
        let Some(node) = point.node.and_then(|id| get(&graph.nodes, id)) else { continue };
        let nodes = reach(node.terminator.kind.successors());
        out.push(Segment { block, entry: SegmentEntry::Resume(first + i), nodes });
    }
}

fn points_between_blocks(program: &Program, liveness: &Liveness, points: &mut Vec<Point>) {
    if let (Some(block), Some(live)) = (program.block(BlockRole::Egress), liveness.in_queue()) {
        let kind = PointKind::Queue;
        points.push(Point { kind, block, node: None, span: Span::NONE, live, request: Vec::new() });
    }
    let reachable = program.reachable_procedures();
    let of_procedures =
        program.procedures.iter().filter(|(id, _)| reachable[index(*id)]).map(|(_, p)| (p.block, &p.graph));
    let of_blocks = program.blocks.iter().map(|(id, b)| (id, &b.graph));
    for (block, graph) in of_blocks.chain(of_procedures) {
        for stmt in graph.nodes.iter().flat_map(|(_, node)| &node.stmts) {
            let StmtKind::Extern { name, .. } = &stmt.kind else { continue };
            let Some(field_list) = preserved_list(stmt) else { continue };
            let mut live = liveness.field_list(field_list);
            live.intersect(&liveness.live_on_return());
            let kind = PointKind::Copy { name: name.clone(), field_list };
            points.push(Point { kind, block, node: None, span: stmt.span, live, request: Vec::new() });
        }
    }
}
