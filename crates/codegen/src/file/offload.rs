//! Asynchronous blocks: what packets keep while an executor runs a block of theirs, and the functions that do so.
//!
//! The markers that a block stands between cut the program as tables do in bursts: what liveness says is read again is
//! stored in the packet's buffer. The block itself becomes a function that an executor calls on packet and context;
//! what comes behind it one that the worker calls when the packet is back. Whether a packet goes is decided when it
//! comes to the block; one that stays runs the same code in its place. `rt/worker/sd_async.h` says how packets travel.

use crate::facts::in_packet_fields::InPacketFields;
use crate::facts::storage::Owner;
use crate::file::burst::{load, store};
use crate::file::descriptors;
use crate::file::fast_path;
use crate::file::offload_batch::{self, Batched, Body, NotBatched};
use crate::file::program;
use crate::function::cx::Cx;
use crate::function::func::Func;
use crate::suspend::plan::{SavedState, in_packet, saved_state};
use crate::text::code::{Code, comment};
use arch::{BlockRole, ExternOp};
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
    after: NodeId,
    /// What a packet takes along to the block, and what comes back.
    pub(crate) request: SavedState,
    completion: SavedState,
    /// Where an executor makes the calls of several packets together.
    pub(crate) batched: Result<Batched, NotBatched>,
}

pub(crate) struct OffloadPlan {
    /// The program with its points in blocks; markers of blocks that can wait have the block's number as last argument.
    pub(crate) program: Program,
    pub(crate) blocks: Vec<OffloadBlock>,
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

/// The number of the block that a marker belongs to, where packets can wait at it.
pub(crate) fn number(args: &[Arg]) -> Option<usize> {
    match args.last()? {
        Arg::In(e) => usize::try_from(e.as_const()?.to_u64()?).ok(),
        Arg::Fields(_) | Arg::Ref(_) | Arg::Str(_) | Arg::Absent => None,
    }
}

/// Where the packets of a program wait for executors; `None` where they never do.
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

/// Digests would be the executor's, and lie in a buffer of its own.
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

// -- C ------------------------------------------------------------------------------------------------

pub(crate) const HEAD: &str = "struct sd_worker *w, struct sd_packet *p";

/// What packets keep.
pub(crate) fn context_structs(cx: &Cx<'_>, out: &mut Code) {
    let Some(plan) = cx.offload else { return };
    let keeps = [
        (fast_path::has_loops(cx), "SD_SAVE_STEPS"),
        (fast_path::may_punt(cx.program), "SD_SAVE_REQUESTS"),
        (fast_path::uses_buffers(cx.program), "SD_SAVE_FAILED"),
    ];
    let names: Vec<&str> = keeps.into_iter().filter(|(is_kept, _)| *is_kept).map(|(_, name)| name).collect();
    out.own("/* What of the worker packets that wait take along. */");
    out.line(format!(
        "enum {{ P4_SAVE_FLAGS = {} }};",
        if names.is_empty() { "0".to_owned() } else { names.join(" | ") }
    ));
    out.blank();
    for (i, block) in plan.blocks.iter().enumerate() {
        out.line(format!("/* What a packet keeps before {} has run, and after it. */", comment(&block.name)));
        out.open(format!("struct p4_async_{i}"));
        out.open("union");
        for (name, saved) in [("there", &block.request), ("back", &block.completion)] {
            out.open("struct");
            crate::file::burst::members(cx, saved, true, out);
            out.close(&format!(" {name};"));
        }
        out.line("uint64_t nothing[1];");
        out.close(";");
        out.close(";");
        out.blank();
    }
}

impl Func<'_, '_> {
    /// Where an asynchronous block begins: the packet may go to an executor.
    pub(crate) fn async_begin(&mut self, args: &[Arg]) {
        let cx = self.cx;
        let (Some(plan), Some(i)) = (cx.offload, number(args)) else { return };
        if self.body_of.is_some() {
            return;
        }
        let Some(block) = plan.blocks.get(i) else { return };
        let context = format!("struct p4_async_{i}");
        self.code.line(format!("/* asynchronous block {} */", comment(&block.name)));
        self.code.open("");
        let how = self.temp();
        self.code.line(format!(
            "const uint32_t {how} = sd_async_where(w, p, {i}, sizeof({context}), P4_SAVE_FLAGS);"
        ));
        self.code.open(format!("if ({how} != SD_OFFLOAD_INLINE)"));
        self.code.line(format!("if (SD_UNLIKELY({how} == SD_OFFLOAD_DROP))"));
        self.code.line("    return SD_END_ASYNC_FULL;");
        self.code.line(format!("{context} *c = sd_async_suspend(w, p, {i}, P4_SAVE_FLAGS);"));
        store(cx, &block.request, "c->there", true, &mut self.code);
        self.code.line("return sd_async_suspended(w, p, sizeof *c, P4_SAVE_FLAGS);");
        self.code.close("");
        self.code.close("");
    }

    /// Where one ends: at an executor the packet goes back.
    pub(crate) fn async_end(&mut self, args: &[Arg]) {
        let cx = self.cx;
        let (Some(plan), Some(i)) = (cx.offload, number(args)) else { return };
        let Some(block) = plan.blocks.get(i) else { return };
        match self.body_of {
            Some(at) if at == i => {
                store(cx, &block.completion, "c->back", true, &mut self.code);
                self.code.line("return SD_END_DONE;");
            }
            Some(_) => {}
            None => self.code.line(format!("sd_async_sampled(w, {i});")),
        }
    }
}

/// The functions of the asynchronous blocks of a block: their bodies, and what comes behind them.
pub(crate) fn functions(cx: &Cx<'_>, id: BlockId, out: &mut Code) {
    let Some(plan) = cx.offload else { return };
    for (i, block) in plan.blocks.iter().enumerate().filter(|(_, block)| block.block == id) {
        let name = comment(&block.name);
        out.own(format!("/* {name}, at an executor. */"));
        out.function(format!("SD_INLINE uint32_t p4_async_{i}__body({HEAD}, void *context)"));
        out.line(format!("struct p4_async_{i} *c = context;"));
        out.line("struct p4_state state = {}, *s = &state;");
        piece(cx, block, (block.body, &block.request, "c->there"), Some(i), out);
        if let Some(call) = offload_batch::functions(cx, i, block, out) {
            cx.batched.borrow_mut().insert(i, call);
        }
        out.own(format!("/* {} behind {name} */", comment(&cx.program.blocks[id].name)));
        out.function(format!(
            "static uint32_t p4_async_{i}__after({HEAD}, struct p4_state *s, struct p4_async_{i} *c)"
        ));
        piece(cx, block, (block.after, &block.completion, "c->back"), None, out);
    }
}

fn piece(
    cx: &Cx<'_>,
    block: &OffloadBlock,
    (from, saved, part): (NodeId, &SavedState, &str),
    body_of: Option<usize>,
    out: &mut Code,
) {
    program::variables_of_block(cx, block.block, out);
    load(cx, saved, part, true, out);
    let mut func = Func::new(cx, Owner::Block(block.block));
    func.body_of = body_of;
    func.code.indent();
    func.graph_from(&cx.program.blocks[block.block].graph, from);
    let jumps = std::mem::take(&mut func.jumps);
    func.code.keep_labels(&jumps);
    out.append(func.code);
    out.close("");
    out.blank();
}

/// Whether a block may end because its packet waits.
pub(crate) fn check_suspended(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    let waits = cx
        .offload
        .is_some_and(|plan| plan.blocks.iter().any(|block| cx.program.blocks[block.block].role == role));
    if waits {
        out.line("if (SD_UNLIKELY(end >= SD_END_SUSPENDED))");
        out.line("    return SD_NEXT_SUSPENDED;");
    }
}

/// Which block it is. Of one block gcc makes a part of whoever asks.
fn dispatch(plan: &OffloadPlan, out: &mut Code) {
    let functions = [
        (
            "What comes behind a block.",
            "rest",
            "struct sd_suspended *suspended",
            "suspended->point",
            "suspended",
        ),
        ("A block.", "body", "uint32_t point, void *context", "point", "context"),
    ];
    for (what, name, more, point, last) in functions {
        out.own(format!("/* {what} */"));
        out.function(format!("SD_INLINE uint32_t p4_{name}({HEAD}, {more})"));
        out.open(format!("switch ({point})"));
        for i in 0..plan.blocks.len() {
            out.line(format!("case {i}:"));
            out.line(format!("    return p4_async_{i}__{name}(w, p, {last});"));
        }
        out.line("default:");
        out.line("    __builtin_unreachable();");
        out.close("");
        out.close("");
        out.blank();
    }
}

/// `p4_resume`, `p4_serve`: what goes on after `p4_packet`.
pub(crate) fn resume_functions(cx: &Cx<'_>, out: &mut Code) {
    let Some(plan) = cx.offload else { return };
    for (i, block) in plan.blocks.iter().enumerate() {
        out.own(format!("/* The way of a packet from behind {}. */", comment(&block.name)));
        out.function(format!(
            "SD_INLINE uint32_t p4_async_{i}__rest({HEAD}, struct sd_suspended *suspended)"
        ));
        out.line("void *c = sd_async_back(w, p, suspended, P4_SAVE_FLAGS);");
        fast_path::declare_state(cx, out);
        out.line("uint32_t end = suspended->end, next;");
        out.line("if (SD_LIKELY(end == SD_END_DONE))");
        out.line(format!("    end = p4_async_{i}__after(w, p, s, c);"));
        let role = cx.program.blocks[block.block].role;
        check_suspended(cx, role, out);
        fast_path::rest(cx, role, out);
        out.close("");
        out.blank();
    }
    dispatch(plan, out);
    out.own("/* One that the worker has waited for goes on, perhaps to a block where it waits again. */");
    out.function(format!(
        "static __attribute__((noinline)) uint32_t p4_waited({HEAD}, struct sd_suspended *suspended)"
    ));
    out.line("uint32_t next = p4_rest(w, p, suspended);");
    out.open("while (next == SD_NEXT_SUSPENDED)");
    out.line("suspended = w->suspended;");
    out.line("if (!sd_async_send(w))");
    out.line("    break;");
    out.line("next = p4_rest(w, p, suspended);");
    out.close("");
    out.line("return next;");
    out.close("");
    out.blank();
    out.own("/* Packets that wait are sent. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4_wait({HEAD})"));
    out.line("struct sd_suspended *suspended = w->suspended;");
    out.line("return sd_async_send(w) ? p4_waited(w, p, suspended) : SD_NEXT_SUSPENDED;");
    out.close("");
    out.blank();
    out.own("/* Packets that are back. */");
    out.function("static uint32_t p4_resume(struct sd_worker *w, struct sd_packet *packets, uint32_t n)");
    out.line("uint32_t n_ended = 0;");
    out.line("void *back[SD_ASYNC_BURST];");
    out.line("sd_async_enter(w);");
    out.open("while (n_ended < n)");
    // One at a time where the host may go on with each: it is the last one then.
    let wanted = if fast_path::may_punt(cx.program) {
        "1".to_string()
    } else {
        "n - n_ended < SD_ASYNC_BURST ? n - n_ended : SD_ASYNC_BURST".to_string()
    };
    out.line(format!("const uint32_t n_back = sd_async_receive(w, back, {wanted});"));
    out.line("if (n_back == 0)");
    out.line("    break;");
    out.open("for (uint32_t i = 0; i < n_back; i++)");
    out.line("struct sd_suspended *suspended = back[i];");
    out.line("struct sd_packet *p = &packets[n_ended];");
    out.line("uint32_t next = p4_rest(w, p, suspended);");
    out.line("if (SD_UNLIKELY(next == SD_NEXT_SUSPENDED))");
    out.line("    next = p4_wait(w, p);");
    out.line("n_ended += next != SD_NEXT_SUSPENDED;");
    out.open("if (SD_UNLIKELY(next == SD_NEXT_PUNT))");
    out.line("n = n_ended;");
    out.close("");
    out.close("");
    out.close("");
    out.line("sd_async_leave(w, 0);");
    out.line("return n_ended;");
    out.close("");
    out.blank();
    let together = offload_batch::dispatch(&cx.batched.borrow(), out);
    out.function(
        "static uint32_t p4_serve(struct sd_worker *executor, struct sd_channel *const *channels, uint32_t n_channels)",
    );
    out.line(format!(
        "return sd_async_serve(executor, p4_body, {together}, channels, n_channels, P4_SAVE_FLAGS);"
    ));
    out.close("");
    out.blank();
}

/// What the host has to know.
pub(crate) fn types(cx: &Cx<'_>, out: &mut Code) {
    let Some(plan) = cx.offload else { return };
    out.line("static const struct sd_async_type p4_asyncs[] = {");
    for (i, block) in plan.blocks.iter().enumerate() {
        let call = cx.batched.borrow().get(&i).map_or("UINT32_MAX".to_owned(), usize::to_string);
        out.line(format!(
            "    {{{}, {}, sizeof(struct p4_async_{i}), SD_ASYNC_HEAD_BYTES, {call}, 0}},",
            descriptors::string(&block.name),
            descriptors::string(&block.settings)
        ));
    }
    out.line("};");
}
