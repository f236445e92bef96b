//! Calls of externs that an executor makes for several packets together.
//!
//! Where all packets of an asynchronous block come to one call, once, the block is cut there: an executor runs what comes
//! before the call for each packet of a burst, then makes all the calls, then runs what comes behind. What a packet keeps
//! meanwhile is on the executor's stack. `rt/worker/sd_async.h` says when it is done; everything else goes packet by packet.

use crate::facts::in_packet_fields::InPacketFields;
use crate::facts::storage::Owner;
use crate::file::burst::{load, members, store};
use crate::file::offload::{HEAD, OffloadBlock};
use crate::file::program;
use crate::function::cx::Cx;
use crate::function::func::Func;
use crate::suspend::plan::{self, SavedState, in_packet, saved_state};
use crate::text::code::{Code, comment};
use arch::ExternOp;
use ir::layout::Layout;
use ir::liveness::Liveness;
use ir::lookup::get;
use ir::segments::Segments;
use ir::{BlockId, Graph, Node, NodeId, ProcedureId, Program, Stmt, StmtKind, Terminator, TerminatorKind};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Where a block is cut.
pub(crate) struct Batched {
    /// The call is its last statement.
    pub(crate) node: NodeId,
    /// Where packets go on.
    after: NodeId,
    /// What is read again behind the call, but for what the call gives.
    saved: SavedState,
}

/// Why the calls of a block are made one by one.
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
        StmtKind::Extern { op: ExternOp::User | ExternOp::AddEntry | ExternOp::SelectByDirection, .. }
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

/// Whether what a node calls or applies makes a call.
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
    if plan::share_effects(program, graph, [&before, &behind]) {
        return Err(NotBatched::Ordered);
    }
    Ok(split)
}

/// The call becomes the last statement of its node; what leads to the node still does.
fn split_at(mut graph: Graph, node: NodeId, at: usize, end: NodeId) -> Split {
    let first = &mut graph.nodes[node];
    let stmts = first.stmts.split_off(at + 1);
    let goes_on = Terminator { kind: TerminatorKind::Return, span: first.terminator.span };
    let terminator = std::mem::replace(&mut first.terminator, goes_on);
    let after = graph.nodes.alloc(Node { state: None, stmts, terminator });
    graph.nodes[node].terminator.kind = TerminatorKind::Goto(after);
    Split { graph, node, after, end: if node == end { after } else { end } }
}

/// Cuts the blocks of a program that can be cut: gives what is known of each, and where the nodes that end them are now.
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
    let liveness = Liveness::of_executor(program, layout, emitted);
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

// -- C ------------------------------------------------------------------------------------------------

impl<'p> Func<'_, 'p> {
    /// Whether this function ends at this node, whose call is made for several packets together.
    pub(crate) fn is_batched_at(&self, node: NodeId) -> bool {
        let block = self.body_of.and_then(|i| self.cx.offload?.blocks.get(i));
        self.up_to_call && block.and_then(|b| b.batched.as_ref().ok()).is_some_and(|b| b.node == node)
    }

    /// In place of the call: what it needs is kept.
    pub(crate) fn begin_batched(&mut self, stmt: &'p Stmt) {
        let StmtKind::Extern { name, object, args, result, .. } = &stmt.kind else { return };
        let cx = self.cx;
        let block = self.body_of.and_then(|i| cx.offload?.blocks.get(i));
        let Some(Ok(batched)) = block.map(|block| &block.batched) else { return };
        self.code.at(stmt.span);
        let begun = self.begin_call(name, *object, args, result.as_ref());
        self.code.line(format!("call->args = {};", begun.values));
        self.code.line(format!("call->given = {};", begun.given));
        store(cx, &batched.saved, "call->kept", true, &mut self.code);
        self.code.line("return SD_END_DONE;");
        let given = begun.result.as_ref().map_or("uint8_t".to_owned(), |ty| cx.types.c_type(ty));
        self.batched_call = Some((begun.call, given));
    }

    /// What the call has given is taken over, or ends the block.
    fn finish_batched(&mut self, stmt: &'p Stmt) {
        let StmtKind::Extern { args, result, .. } = &stmt.kind else { return };
        self.code.at(stmt.span);
        let begun = result.as_ref().map(|place| self.field_types(place));
        let ty = begun.as_ref().and_then(|types| types.first());
        self.finish_call(args, result.as_ref(), ty, ["call->args", "call->given", "end"]);
    }
}

/// The functions of a block that is cut at its call; gives the number of the call.
pub(crate) fn functions(cx: &Cx<'_>, i: usize, block: &OffloadBlock, out: &mut Code) -> Option<usize> {
    let name = comment(&block.name);
    let batched = match &block.batched {
        Ok(batched) => batched,
        Err(NotBatched::NoCall) => return None,
        Err(why) => {
            out.own(format!("/* The calls of {name} are made one by one: {}. */", why.text()));
            return None;
        }
    };
    let graph = &cx.program.blocks[block.block].graph;
    let stmt = graph.node(batched.node).stmts.last()?;
    let context = format!("struct p4_async_{i} *c = context;");
    let head = format!("{HEAD}, void *context, struct p4_async_{i}__call *call");

    let mut before = Code::new();
    before.own(format!("/* {name} up to its call, at an executor. */"));
    before.function(format!("SD_INLINE uint32_t p4_async_{i}__before({head})"));
    before.line(&*context);
    before.line("struct p4_state state = {}, *s = &state;");
    program::variables_of_block(cx, block.block, &mut before);
    load(cx, &block.request, "c->there", true, &mut before);
    if is_empty(&block.request) {
        before.line("(void)c;");
    }
    let mut func = Func::new(cx, Owner::Block(block.block));
    (func.body_of, func.up_to_call) = (Some(i), true);
    func.code.indent();
    func.graph_from(graph, block.body);
    let (number, given) = func.batched_call.take()?;
    close(func, &mut before);

    out.own(format!("/* What a packet keeps of {name} during its call. */"));
    out.open(format!("struct p4_async_{i}__call"));
    out.line(format!("struct p4_call_{number} args;"));
    out.line(format!("{given} given;"));
    if !is_empty(&batched.saved) {
        out.open("struct");
        members(cx, &batched.saved, true, out);
        out.close(" kept;");
    }
    out.close(";");
    out.blank();
    out.append(before);

    out.own(format!("/* {name} behind its call, which has ended so. */"));
    out.function(format!("SD_INLINE uint32_t p4_async_{i}__behind({head}, uint32_t end)"));
    out.line(&*context);
    out.line("struct p4_state state = {}, *s = &state;");
    program::variables_of_block(cx, block.block, out);
    load(cx, &batched.saved, "call->kept", true, out);
    let mut func = Func::new(cx, Owner::Block(block.block));
    func.body_of = Some(i);
    func.code.indent();
    func.finish_batched(stmt);
    func.graph_from(graph, batched.after);
    close(func, out);
    together(i, &name, number, out);
    Some(number)
}

fn is_empty(saved: &SavedState) -> bool {
    saved.values.is_empty() && saved.origins.is_empty()
}

fn close(mut func: Func<'_, '_>, out: &mut Code) {
    let jumps = std::mem::take(&mut func.jumps);
    func.code.keep_labels(&jumps);
    out.append(func.code);
    out.close("");
    out.blank();
}

/// A burst of packets.
fn together(i: usize, name: &str, number: usize, out: &mut Code) {
    out.own(format!("/* {name} of several packets, which call together. */"));
    out.function(format!(
        "static void p4_async_{i}__together(struct sd_worker *w, void *const *burst, uint32_t n)"
    ));
    out.line(format!("struct p4_async_{i}__call kept[SD_ASYNC_BURST];"));
    out.line("struct sd_host_call calls[SD_ASYNC_BURST];");
    out.line("struct sd_suspended *of[SD_ASYNC_BURST];");
    out.line("uint32_t n_calls = 0;");
    out.open("for (uint32_t i = 0; i < n; i++)");
    out.line("struct sd_suspended *suspended = burst[i];");
    out.line(format!("struct p4_async_{i}__call *call = &kept[n_calls];"));
    out.line("sd_async_take(w, suspended, P4_SAVE_FLAGS);");
    out.line(format!(
        "const uint32_t end = p4_async_{i}__before(w, &suspended->packet, suspended + 1, call);"
    ));
    out.line("sd_async_put(w, suspended, end, P4_SAVE_FLAGS);");
    out.line("if (SD_UNLIKELY(end != SD_END_DONE))");
    out.line("    continue;");
    out.line("calls[n_calls].packet = &suspended->packet;");
    out.line("calls[n_calls].args = (uint8_t *)&call->args;");
    out.line("calls[n_calls].result = (uint8_t *)&call->given;");
    out.line("of[n_calls++] = suspended;");
    out.close("");
    out.line(format!("sd_async_call(w, {i}, {number}, calls, n_calls);"));
    out.open("for (uint32_t i = 0; i < n_calls; i++)");
    out.line("struct sd_suspended *suspended = of[i];");
    out.line("sd_async_take(w, suspended, P4_SAVE_FLAGS);");
    out.line("sd_async_put(w, suspended,");
    out.line(format!(
        "             p4_async_{i}__behind(w, &suspended->packet, suspended + 1, &kept[i], calls[i].end), P4_SAVE_FLAGS);"
    ));
    out.close("");
    out.close("");
    out.blank();
}

/// What serves bursts; gives its name.
pub(crate) fn dispatch(batched: &BTreeMap<usize, usize>, out: &mut Code) -> &'static str {
    if batched.is_empty() {
        return "NULL";
    }
    out.own("/* A block of several packets. */");
    out.function(
        "SD_INLINE void p4_together(struct sd_worker *w, uint32_t point, void *const *burst, uint32_t n)",
    );
    out.open("switch (point)");
    for i in batched.keys() {
        out.line(format!("case {i}:"));
        out.line(format!("    p4_async_{i}__together(w, burst, n);"));
        out.line("    break;");
    }
    out.line("default:");
    out.line("    __builtin_unreachable();");
    out.close("");
    out.close("");
    out.blank();
    "p4_together"
}
