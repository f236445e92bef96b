//! From a control-flow graph to statements of C.
//!
//! A node with one predecessor stands where it is branched to; one where paths meet stands after the branch that
//! dominates it, so that most paths fall through to it. What does not fall through jumps to a label.

use crate::facts::control_flow::{is_everything, post_order, successors};
use crate::facts::ends::Ends;
use crate::facts::storage::Owner;
use crate::function::func::Func;
use crate::function::scalar::{Class, Scalar, constant, container, is_simple};
use crate::function::tables::{Lookup, StagedSite};
use crate::suspend::offload::number;
use crate::text::code::strip;
use crate::text::types::width_of;
use arch::ExternOp;
use diagnostics::Span;
use indexmap::IndexMap;
use ir::lookup::index;
use ir::{
    Expr, ExprKind, Graph, Keyset, NodeId, Pattern, ProcedureId, SelectCase, Stmt, StmtKind, SwitchCase,
    TableId, TerminatorKind, UnaryOp,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// The order and the dominators of the nodes of a graph that can be reached.
pub(crate) struct Shape {
    /// Position in reverse post-order.
    order: FxHashMap<NodeId, usize>,
    /// Where paths meet after each node, in order.
    meetings: FxHashMap<NodeId, Vec<NodeId>>,
    /// Nodes that stand where they are branched to.
    inline: FxHashMap<NodeId, NodeId>,
}

impl Shape {
    fn new(graph: &Graph, entry: NodeId, edges: &dyn Fn(NodeId) -> Vec<NodeId>) -> Shape {
        let nodes: Vec<NodeId> = post_order(graph, entry, edges).into_iter().rev().collect();
        let order: FxHashMap<NodeId, usize> = nodes.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (i, node) in nodes.iter().enumerate() {
            for to in edges(*node) {
                before[order[&to]].push(i);
            }
        }
        // Dominators by iteration (Cooper, Harvey, Kennedy: "A simple, fast dominance algorithm").
        let mut dominator = vec![usize::MAX; nodes.len()];
        dominator[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for i in 1..nodes.len() {
                let mut found = usize::MAX;
                for from in before[i].iter().copied().filter(|from| dominator[*from] != usize::MAX) {
                    found = if found == usize::MAX { from } else { meet(&dominator, found, from) };
                }
                if found != dominator[i] {
                    dominator[i] = found;
                    changed = true;
                }
            }
        }
        let mut meetings: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        let mut inline = FxHashMap::default();
        for i in 1..nodes.len() {
            let forward = before[i].iter().filter(|from| **from < i).count();
            let parent = nodes[dominator[i]];
            if forward == 1 && before[i].iter().any(|from| *from == dominator[i]) {
                inline.insert(nodes[i], parent);
            } else {
                meetings.entry(parent).or_default().push(nodes[i]);
            }
        }
        Shape { order, meetings, inline }
    }
}

fn meet(dominator: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = dominator[a];
        }
        while b > a {
            b = dominator[b];
        }
    }
    a
}

/// A graph that is being written.
struct Writing<'g> {
    graph: &'g Graph,
    shape: Shape,
    /// Nodes whose terminators are suspension points, with their numbers; empty unless a segment is written.
    points: FxHashMap<NodeId, usize>,
    /// The node behind whose point the segment begins.
    resumed: Option<NodeId>,
}

impl<'p> Func<'_, 'p> {
    /// A block with suspension points. In small programs it is the whole block, which begins where `stage` says; in
    /// large ones a segment: the nodes from the beginning, or from a suspension point, up to the next points.
    pub(crate) fn segment(
        &mut self,
        graph: &'p Graph,
        points: FxHashMap<NodeId, usize>,
        from: Option<NodeId>,
    ) {
        self.write(graph, points, from);
    }

    /// The graph from a node on: to its end, or to the end of the asynchronous block.
    pub(crate) fn graph_from(&mut self, graph: &'p Graph, entry: NodeId) {
        self.write_from(graph, FxHashMap::default(), None, entry);
    }

    fn write(&mut self, graph: &'p Graph, points: FxHashMap<NodeId, usize>, resumed: Option<NodeId>) {
        self.write_from(graph, points, resumed, resumed.unwrap_or(graph.entry));
    }

    fn ends_body(&self, graph: &Graph, node: NodeId) -> bool {
        if self.is_batched_at(node) {
            return true;
        }
        let last = graph.node(node).stmts.last().map(|stmt| &stmt.kind);
        matches!(last, Some(StmtKind::Extern { op: ExternOp::AsyncEnd, args, .. })
            if self.kind.offload_block().is_some() && number(args) == self.kind.offload_block())
    }

    /// The node only ends a parser: that is written where a path comes to it.
    fn is_short_end(&self, graph: &Graph, node: NodeId) -> bool {
        let content = graph.node(node);
        let ends = matches!(content.terminator.kind, TerminatorKind::Accept | TerminatorKind::Reject);
        ends && content.stmts.is_empty() && content.state.is_none() && !self.cx.options.trace
    }

    fn write_from(
        &mut self,
        graph: &'p Graph,
        points: FxHashMap<NodeId, usize>,
        resumed: Option<NodeId>,
        entry: NodeId,
    ) {
        let cx = self.cx;
        let edges = |node: NodeId| -> Vec<NodeId> {
            let kind = &graph.node(node).terminator.kind;
            match kind {
                _ if self.ends_body(graph, node) => Vec::new(),
                _ if !cx.has_small_stages && points.contains_key(&node) && resumed != Some(node) => {
                    Vec::new()
                }
                // A procedure that never exits has no such successor.
                TerminatorKind::Call { procedure, then, .. } if !cx.ends(*procedure).exits => vec![*then],
                TerminatorKind::Apply { table, then, .. } if !cx.table_ends(*table).exits => vec![*then],
                _ => successors(kind).into_iter().filter(|to| !self.is_short_end(graph, *to)).collect(),
            }
        };
        let shape = Shape::new(graph, entry, &edges);
        self.node(&Writing { graph, shape, points, resumed }, entry, None);
    }

    fn label(&self, node: NodeId, graph: &Graph) -> String {
        match &graph.node(node).state {
            Some(state) => format!("state_{}_{}", crate::text::names::path(state), index(node)),
            None => {
                let kind = |id: NodeId| match &graph.node(id).terminator.kind {
                    TerminatorKind::Accept => Some("accept"),
                    TerminatorKind::Reject => Some("reject"),
                    _ => None,
                };
                let is_only = || graph.nodes.iter().filter(|(id, _)| kind(*id) == kind(node)).count() == 1;
                match kind(node) {
                    Some(name) if is_only() => name.to_string(),
                    _ => format!("n{}", index(node)),
                }
            }
        }
    }

    /// A node and all that stands after it; then control is at `follow`.
    fn node(&mut self, writing: &Writing<'p>, node: NodeId, follow: Option<NodeId>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.node_and_meetings(writing, node, follow));
    }

    fn node_and_meetings(&mut self, writing: &Writing<'p>, node: NodeId, follow: Option<NodeId>) {
        self.code.label(self.label(node, writing.graph));
        let content = writing.graph.node(node);
        let trace = self.cx.options.trace.then(|| self.cx.facts.trace_points.first(self.owner, node));
        if let Some(state) = &content.state {
            self.code.at(content.stmts.first().map_or(content.terminator.span, |stmt| stmt.span));
            self.code.line(format!("/* state {} */", crate::text::code::comment(state)));
        }
        if let Some(point) = trace {
            self.trace("SD_TRACE_NODE", point, "0");
        }
        let done_before = if writing.resumed == Some(node) { content.stmts.len() } else { 0 };
        for (i, stmt) in content.stmts.iter().enumerate().skip(done_before) {
            self.stmt_point = trace.map(|point| point + 1 + i as u32);
            if self.is_batched_at(node) && i + 1 == content.stmts.len() {
                self.begin_batched(stmt);
                continue;
            }
            self.stmt(stmt);
            self.trace_stmt("SD_END_DONE");
        }
        self.stmt_point = None;
        let meetings = writing.shape.meetings.get(&node).cloned().unwrap_or_default();
        let next = meetings.first().copied().or(follow);
        // The end of a block stands where the package names it: that is not where a debugger should go.
        let block = &self.cx.program.blocks[self.cx.block_of(self.owner)];
        let is_named = content.terminator.span != block.span;
        self.code.at(if is_named { content.terminator.span } else { Span::NONE });
        let n_stmts = content.stmts.len() as u32;
        if !self.ends_body(writing.graph, node) {
            self.terminator(writing, node, next, trace.map(|p| p + 1 + n_stmts));
        }
        for (i, meeting) in meetings.iter().enumerate() {
            let next = meetings.get(i + 1).copied().or(follow);
            self.node(writing, *meeting, next);
        }
    }

    pub(crate) fn trace(&mut self, kind: &str, point: u32, value: &str) {
        let locals = self.cx.locals(self.cx.block_of(self.owner));
        self.code.line(format!("SD_TRACE_POINT(w, p, s, {locals}, {kind}, {point}, {value});"));
    }

    /// The statement that is written is done, or ends the block.
    pub(crate) fn trace_stmt(&mut self, end: &str) {
        if let Some(point) = self.stmt_point {
            self.trace("SD_TRACE_STATEMENT", point, end);
        }
    }

    /// From one node to another.
    fn edge(&mut self, writing: &Writing<'p>, from: NodeId, to: NodeId, follow: Option<NodeId>) {
        let shape = &writing.shape;
        if shape.order.get(&to).is_some_and(|to| Some(to) <= shape.order.get(&from)) {
            // Back to where it was: a packet does that a limited number of times.
            self.take_steps(1);
            self.jump(writing, to);
        } else if self.is_short_end(writing.graph, to) {
            self.code.at(Span::NONE);
            self.terminator(writing, to, None, None);
        } else if Some(to) == follow {
        } else if shape.inline.get(&to) == Some(&from) {
            self.node(writing, to, follow);
        } else {
            self.jump(writing, to);
        }
    }

    /// Ends the packet if its budget has fewer steps.
    pub(crate) fn take_steps(&mut self, n: u32) {
        let is_over = match n {
            1 => "w->steps_left-- == 0".to_owned(),
            n => format!("w->steps_left < {n}"),
        };
        self.code.line(format!("if (SD_UNLIKELY({is_over})) {{"));
        self.code.indent();
        self.code.line("w->steps_left = 0;");
        self.code.line("return SD_END_STEP_BUDGET;");
        self.code.dedent();
        self.code.line("}");
        if n > 1 {
            self.code.line(format!("w->steps_left -= {n};"));
        }
    }

    fn jump(&mut self, writing: &Writing<'p>, to: NodeId) {
        let label = self.label(to, writing.graph);
        self.jumps.insert(label.clone());
        self.code.line(format!("goto {label};"));
    }

    fn stmt(&mut self, stmt: &'p Stmt) {
        self.code.at(stmt.span);
        match &stmt.kind {
            StmtKind::Assign { place, value } => self.assign(place, value),
            StmtKind::Emit(place) => self.emit(place),
            StmtKind::ZeroIfInvalid(place) => self.zero_if_invalid(place),
            StmtKind::Extern { op, name, object, args, result } => {
                self.extern_call(*op, name, *object, args, result.as_ref());
            }
        }
    }

    /// `if (condition) ... else ...`
    fn branch(
        &mut self,
        condition: &Scalar,
        then: crate::text::code::Code,
        otherwise: crate::text::code::Code,
    ) {
        let text = strip(&condition.text);
        match (then.is_empty(), otherwise.is_empty()) {
            (true, true) => {}
            (false, true) => {
                self.code.open(format!("if ({text})"));
                self.code.append(then);
                self.code.close("");
            }
            (true, false) => {
                self.code.open(format!("if (!{})", condition.operand()));
                self.code.append(otherwise);
                self.code.close("");
            }
            (false, false) if ends_elsewhere(&then) => {
                self.code.under(text, then);
                self.code.append(otherwise.shallower());
            }
            (false, false) => {
                self.code.open(format!("if ({text})"));
                self.code.append(then);
                self.code.close(" else {");
                self.code.indent();
                self.code.append(otherwise);
                self.code.close("");
            }
        }
    }

    fn two_ways(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        condition: &Scalar,
        ways: [NodeId; 2],
        follow: Option<NodeId>,
    ) {
        let then = self.nested(|f| f.edge(writing, from, ways[0], follow));
        let otherwise = self.nested(|f| f.edge(writing, from, ways[1], follow));
        self.branch(condition, then, otherwise);
    }

    fn terminator(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        follow: Option<NodeId>,
        point: Option<u32>,
    ) {
        let terminator = &writing.graph.node(from).terminator;
        match &terminator.kind {
            TerminatorKind::Goto(to) => self.edge(writing, from, *to, follow),
            TerminatorKind::Branch { condition, then, otherwise } => {
                // Not twice the other way round.
                let (condition, ways) = match &condition.kind {
                    ExprKind::Unary(UnaryOp::Not, inner) => (&**inner, [*otherwise, *then]),
                    _ => (condition, [*then, *otherwise]),
                };
                let flipped = ways[0] != *then;
                let mut value = self.scalar(condition);
                if let Some(point) = point {
                    let bound = self.bind("bool", &value.text);
                    let shown = if flipped { format!("!{bound}") } else { bound.clone() };
                    self.trace("SD_TRACE_TERMINATOR", point, &shown);
                    value = Scalar::atom(bound, Class::Int);
                }
                self.two_ways(writing, from, &value, ways, follow);
            }
            TerminatorKind::Switch { subject, cases, otherwise } => {
                self.switch(writing, from, subject, cases, *otherwise, follow, point);
            }
            TerminatorKind::Select { keys, cases, otherwise } => {
                self.select(writing, from, keys, cases, *otherwise, follow, point);
            }
            TerminatorKind::Extract { place, to_next, size_bits, then, fail } => {
                let ok = self.extract(place, *to_next, size_bits.as_ref());
                self.succeeds(writing, from, ok, [*then, *fail], follow, point);
            }
            TerminatorKind::Advance { bits, then, fail } => {
                let ok = self.advance(bits);
                self.succeeds(writing, from, ok, [*then, *fail], follow, point);
            }
            TerminatorKind::Lookahead { place, then, fail } => {
                let ok = self.lookahead(place);
                self.succeeds(writing, from, ok, [*then, *fail], follow, point);
            }
            TerminatorKind::Apply { table, keys, hit, action, then, exit }
                if self.staged_site(writing, from, *table).is_some() =>
            {
                let ends = self.cx.table_ends(*table);
                let Some(site) = self.staged_site(writing, from, *table) else { return };
                let end = self.apply_in_stages(*table, keys, hit.as_ref(), action.as_ref(), site);
                self.after_call(writing, from, ends, end, [*then, *exit], follow);
            }
            TerminatorKind::Apply { table, keys, .. }
                if writing.resumed != Some(from) && writing.points.contains_key(&from) =>
            {
                self.suspend_at(*table, keys, writing.points[&from]);
            }
            TerminatorKind::Apply { table, hit, action, then, exit, .. } if writing.resumed == Some(from) => {
                let ends = self.cx.table_ends(*table);
                let end = self.resume_lookup(*table, hit.as_ref(), action.as_ref(), writing.points[&from]);
                self.after_call(writing, from, ends, end, [*then, *exit], follow);
            }
            TerminatorKind::Apply { table, keys, hit, action, then, exit } => {
                let ends = self.cx.table_ends(*table);
                let applied = self
                    .prefetched(writing, *table)
                    .map_or(Lookup::AtOnce { point }, |is_counted| Lookup::Asked { is_counted });
                let end = self.apply(*table, keys, hit.as_ref(), action.as_ref(), applied);
                self.after_call(writing, from, ends, end, [*then, *exit], follow);
            }
            TerminatorKind::Call { procedure, then, exit } => {
                let ends = self.cx.ends(*procedure);
                let end = self.call(*procedure, point);
                self.after_call(writing, from, ends, end, [*then, *exit], follow);
            }
            TerminatorKind::Return => self.end("SD_END_DONE", point),
            TerminatorKind::Exit => self.end("SD_EXIT", point),
            TerminatorKind::Accept => self.end("SD_END_DONE", point),
            TerminatorKind::Reject => {
                let block = self.cx.block_of(self.owner);
                let error = self.cx.program.blocks[block].error.map(|var| self.cx.facts.storage.path(var));
                let end = error.map_or("SD_END_REJECTED".to_string(), |e| format!("SD_END_REJECTED + {e}"));
                self.end(&end, point);
            }
        }
    }

    /// Says if the point of another table prefetches this one, and then if it counts the lookup.
    fn prefetched(&self, writing: &Writing<'p>, table: TableId) -> Option<bool> {
        let plan = self.cx.plan.filter(|_| !writing.points.is_empty())?;
        plan.prefetched.iter().find(|member| member.table == table).map(|member| member.is_certain)
    }

    /// Says how a table of a small program is applied in a block that runs in stages.
    fn staged_site(&self, writing: &Writing<'p>, from: NodeId, table: TableId) -> Option<StagedSite> {
        if !self.cx.has_small_stages {
            return None;
        }
        match writing.points.get(&from) {
            Some(point) => Some(StagedSite::Point(*point)),
            None => {
                let is_counted = self.prefetched(writing, table)?;
                Some(StagedSite::Prefetched { is_counted })
            }
        }
    }

    /// Ends the function.
    fn end(&mut self, value: &str, point: Option<u32>) {
        if let Some(point) = point {
            self.trace("SD_TRACE_TERMINATOR", point, "0");
        }
        let is_void = match self.owner {
            Owner::Procedure(id) => self.cx.ends(id).is_plain(),
            Owner::Block(_) => false,
        };
        self.code.line(if is_void { "return;".to_string() } else { format!("return {value};") });
    }

    /// After an operation of a parser.
    fn succeeds(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        ok: String,
        ways: [NodeId; 2],
        follow: Option<NodeId>,
        point: Option<u32>,
    ) {
        let block = self.cx.block_of(self.owner);
        let error = self.cx.program.blocks[block].error.map(|var| self.cx.facts.storage.path(var));
        let is_kept = ok.strip_prefix('t').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let bound = if is_kept { ok } else { self.bind("uint32_t", &ok) };
        if let Some(point) = point {
            self.trace("SD_TRACE_TERMINATOR", point, &bound);
        }
        let fail = self.nested(|f| {
            let fails = &writing.graph.node(ways[1]).terminator.kind;
            if f.is_short_end(writing.graph, ways[1]) && matches!(fails, TerminatorKind::Reject) {
                f.code.line(format!("return SD_END_REJECTED + {bound};"));
                return;
            }
            if let Some(error) = error {
                f.code.line(format!("{error} = {bound};"));
            }
            f.edge(writing, from, ways[1], follow);
        });
        // Success continues with the rest of the parser, which is not indented further.
        let then = self.nested(|f| f.edge(writing, from, ways[0], follow));
        if then.is_empty() || ends_elsewhere(&fail) {
            self.code.under(&format!("SD_UNLIKELY({bound})"), fail);
            self.code.append(then.shallower());
        } else {
            self.code.open(format!("if (SD_UNLIKELY({bound}))"));
            self.code.append(fail);
            self.code.close(" else {");
            self.code.indent();
            self.code.append(then);
            self.code.close("");
        }
    }

    /// Runs a procedure; gives how it ended where that is not known.
    fn call(&mut self, procedure: ProcedureId, point: Option<u32>) -> Option<String> {
        let cx = self.cx;
        let callee = &cx.program.procedures[procedure];
        if let Some(point) = point {
            self.trace("SD_TRACE_CALL", point, &index(procedure).to_string());
        }
        // Parameters of actions that nobody else calls are arguments in C; here they are in the locals.
        let text = format!("{}({})", cx.procedure_name(procedure), cx.arguments(callee.block));
        if cx.ends(procedure).is_plain() {
            self.code.line(format!("{text};"));
            return None;
        }
        Some(self.bind("uint32_t", &text))
    }

    fn after_call(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        ends: Ends,
        end: Option<String>,
        [then, exit]: [NodeId; 2],
        follow: Option<NodeId>,
    ) {
        let Some(end) = end else { return self.edge(writing, from, then, follow) };
        if ends.stops {
            let condition = if ends.exits { format!("{end} && {end} != SD_EXIT") } else { end.clone() };
            self.code.line(format!("if (SD_UNLIKELY({condition}))"));
            self.code.indent();
            self.code.line(format!("return {end};"));
            self.code.dedent();
        }
        if !ends.exits || then == exit {
            if !ends.stops {
                self.code.line(format!("(void){end};"));
            }
            return self.edge(writing, from, then, follow);
        }
        let condition = Scalar::compound(format!("{end} == SD_EXIT"), Class::Int);
        let exited = self.nested(|f| f.edge(writing, from, exit, follow));
        let returned = self.nested(|f| f.edge(writing, from, then, follow));
        if returned.is_empty() || ends_elsewhere(&exited) {
            self.branch(&condition, exited, self.code.nested());
            self.code.append(returned.shallower());
        } else {
            self.branch(&condition, exited, returned);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn switch(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        subject: &Expr,
        cases: &[SwitchCase],
        otherwise: NodeId,
        follow: Option<NodeId>,
        point: Option<u32>,
    ) {
        let width = width_of(&subject.ty);
        if width > 64 {
            // C has no switch on these: compared one after the other.
            let as_cases: Vec<(Expr, NodeId)> = cases
                .iter()
                .map(|case| {
                    (Expr { kind: ExprKind::Const(case.value.clone()), ty: subject.ty.clone() }, case.target)
                })
                .collect();
            return self.chain(writing, from, subject, &as_cases, otherwise, follow, point);
        }
        let mut value = self.scalar(subject);
        if let Some(point) = point {
            let bound = self.bind("uint64_t", &value.text);
            self.trace("SD_TRACE_TERMINATOR", point, &bound);
            value = Scalar::atom(bound, Class::U64);
        }
        let actions = actions_of(writing.graph, subject).map(|table| self.cx.names.actions(table));
        let mut ways: Vec<(Vec<String>, NodeId)> = Vec::new();
        for case in cases {
            let number = case.value.to_u128().unwrap_or(0);
            let action = actions.and_then(|names| names.get(usize::try_from(number).ok()?));
            let label = action.cloned().unwrap_or_else(|| constant(number).text);
            let label = format!("case {label}:");
            match ways.iter_mut().find(|(_, target)| *target == case.target) {
                Some((labels, _)) => labels.push(label),
                None => ways.push((vec![label], case.target)),
            }
        }
        self.c_switch(writing, from, &value, ways, otherwise, follow);
    }

    fn c_switch(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        value: &Scalar,
        mut ways: Vec<(Vec<String>, NodeId)>,
        otherwise: NodeId,
        follow: Option<NodeId>,
    ) {
        ways.retain(|(_, target)| *target != otherwise);
        if ways.is_empty() {
            return self.edge(writing, from, otherwise, follow);
        }
        self.code.line(format!("switch ({}) {{", strip(&value.text)));
        ways.push((vec!["default:".to_string()], otherwise));
        for (labels, target) in ways {
            for label in labels {
                self.code.line(label);
            }
            let body = self.nested(|f| f.edge(writing, from, target, follow));
            let leaves = ends_elsewhere(&body);
            if body.is_empty() && self.code.last_line() == Some("default:") {
                self.code.drop_last("default:");
                continue;
            }
            if body.is_empty() {
                self.code.indent();
                self.code.line("break;");
                self.code.dedent();
                continue;
            }
            // Declarations of a case have their own scope.
            self.code.extend_last(" {");
            self.code.append(body);
            if !leaves {
                self.code.indent();
                self.code.line("break;");
                self.code.dedent();
            }
            self.code.line("}");
        }
        self.code.line("}");
    }

    /// `if (subject == a) ... else if ...` for values that C cannot switch on.
    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn chain(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        subject: &Expr,
        cases: &[(Expr, NodeId)],
        otherwise: NodeId,
        follow: Option<NodeId>,
        point: Option<u32>,
    ) {
        let conditions: Vec<(Scalar, NodeId)> = cases
            .iter()
            .map(|(value, target)| (self.scalar(&subject.clone().equals(value.clone())), *target))
            .collect();
        self.conditions(writing, from, conditions, (otherwise, "UINT64_MAX"), follow, point);
    }

    /// The first condition that holds.
    fn conditions(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        conditions: Vec<(Scalar, NodeId)>,
        (otherwise, number): (NodeId, &str),
        follow: Option<NodeId>,
        point: Option<u32>,
    ) {
        let mut bodies = Vec::new();
        for (i, (_, target)) in conditions.iter().enumerate() {
            bodies.push(self.nested(|f| {
                if let Some(point) = point {
                    f.trace("SD_TRACE_TERMINATOR", point, &i.to_string());
                }
                f.edge(writing, from, *target, follow);
            }));
        }
        let last = self.nested(|f| {
            if let Some(point) = point {
                f.trace("SD_TRACE_TERMINATOR", point, number);
            }
            f.edge(writing, from, otherwise, follow);
        });
        if !conditions.is_empty() && bodies.iter().all(crate::text::code::Code::is_empty) {
            if !last.is_empty() {
                let none = conditions.iter().map(|(condition, _)| format!("!({})", strip(&condition.text)));
                self.code.under(&none.collect::<Vec<_>>().join(" && "), last);
            }
            return;
        }
        let mut is_first = true;
        for ((condition, _), body) in conditions.iter().zip(bodies) {
            let text = strip(&condition.text);
            let head = if is_first { format!("if ({text})") } else { format!("}} else if ({text})") };
            is_first = false;
            self.code.line(format!("{head} {{"));
            self.code.append(body);
        }
        if is_first {
            self.code.append(last.shallower());
        } else if last.is_empty() {
            self.code.line("}");
        } else {
            self.code.line("} else {");
            self.code.append(last);
            self.code.line("}");
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn select(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        keys: &[Expr],
        cases: &[SelectCase],
        otherwise: NodeId,
        follow: Option<NodeId>,
        point: Option<u32>,
    ) {
        // Nothing after a case for everything is asked.
        let (cases, otherwise, number) = match cases.iter().position(|case| is_everything(&case.pattern)) {
            Some(i) => (&cases[..i], cases[i].target, i.to_string()),
            None => (cases, otherwise, "UINT64_MAX".to_string()),
        };
        if let ([key], None) = (keys, point)
            && width_of(&key.ty) <= 64
            && let Some(ways) = constant_cases(cases)
        {
            let value = self.scalar(key);
            if cases.len() > 1 {
                return self.c_switch(writing, from, &value, ways, otherwise, follow);
            }
        }
        if cases.len() >= SELECT_ROWS_MIN
            && let Some(rows) = select_rows(keys, cases)
        {
            return self.select_in_rows(
                writing,
                from,
                keys,
                cases,
                &rows,
                (otherwise, &number),
                follow,
                point,
            );
        }
        let bound: Vec<SelectKey> = keys.iter().map(|key| self.select_key(key)).collect();
        let conditions: Vec<(Scalar, NodeId)> = cases
            .iter()
            .map(|case| {
                let parts: Vec<String> = match &case.pattern {
                    Pattern::ValueSet(set) => vec![self.in_value_set(index(*set), keys)],
                    Pattern::Keys(sets) => {
                        bound.iter().zip(sets).filter_map(|(key, set)| self.in_keyset(key, set)).collect()
                    }
                };
                let text = if parts.is_empty() { "true".to_string() } else { parts.join(" && ") };
                (Scalar::atom(text, Class::Int), case.target)
            })
            .collect();
        self.conditions(writing, from, conditions, (otherwise, &number), follow, point);
    }

    /// The cases as constant data, see `rt/object/sd_select.h`.
    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn select_in_rows(
        &mut self,
        writing: &Writing<'p>,
        from: NodeId,
        keys: &[Expr],
        cases: &[SelectCase],
        rows: &[Vec<[u64; 4]>],
        (otherwise, number): (NodeId, &str),
        follow: Option<NodeId>,
        point: Option<u32>,
    ) {
        if point.is_none() && cases.iter().all(|case| case.target == otherwise) {
            return self.edge(writing, from, otherwise, follow);
        }
        let values: Vec<String> = keys
            .iter()
            .map(|key| {
                let value = self.scalar(key);
                let (ones, top) = (ones(width_of(&key.ty)), sign_bit(key));
                format!("((uint64_t){} ^ UINT64_C({top:#x})) & UINT64_C({ones:#x})", value.operand())
            })
            .collect();
        let [key, chosen, target] = [self.temp(), self.temp(), self.temp()];
        let mut targets: Vec<NodeId> = Vec::new();
        let numbers: Vec<usize> = cases
            .iter()
            .map(|case| {
                targets.iter().position(|known| *known == case.target).unwrap_or_else(|| {
                    targets.push(case.target);
                    targets.len() - 1
                })
            })
            .collect();
        let n = cases.len();
        self.code.line(format!("const uint64_t {key}[] = {{{}}};", values.join(", ")));
        self.code.line(format!("static const struct sd_select_key {chosen}_rows[][{}] = {{", keys.len()));
        for row in rows {
            let row = row.iter().map(|[mask, value, low, high]| {
                format!(
                    "{{UINT64_C({mask:#x}), UINT64_C({value:#x}), UINT64_C({low:#x}), UINT64_C({high:#x})}}"
                )
            });
            self.code.line(format!("    {{{}}},", row.collect::<Vec<_>>().join(", ")));
        }
        self.code.line("};");
        let list = numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        self.code.line(format!("static const uint32_t {chosen}_targets[] = {{{list}}};"));
        self.code.line(format!(
            "const uint32_t {chosen} = sd_select({chosen}_rows[0], {n}, {key}, {});",
            keys.len()
        ));
        self.code.line(format!(
            "const uint32_t {target} = {chosen} < {n} ? {chosen}_targets[{chosen}] : UINT32_MAX;"
        ));
        if let Some(point) = point {
            self.trace("SD_TRACE_TERMINATOR", point, &format!("({chosen} < {n} ? {chosen} : {number})"));
        }
        let ways =
            targets.iter().enumerate().map(|(i, target)| (vec![format!("case {i}:")], *target)).collect();
        self.c_switch(writing, from, &Scalar::atom(target, Class::U32), ways, otherwise, follow);
    }

    /// A key that is compared several times.
    fn select_key<'e>(&mut self, key: &'e Expr) -> SelectKey<'e> {
        let width = width_of(&key.ty);
        if width > 128 {
            let limbs = self.limbs(key);
            return SelectKey { text: limbs, key, is_wide: true };
        }
        let value = self.scalar(key);
        let text = if is_simple(&value) { value.text } else { self.bind(container(width), &value.text) };
        SelectKey { text, key, is_wide: false }
    }

    /// The condition that a key is in a set; `None` when it always is.
    fn in_keyset(&mut self, bound: &SelectKey<'_>, set: &Keyset) -> Option<String> {
        let (key, text) = (bound.key, &bound.text);
        let width = width_of(&key.ty);
        if width == 0 && !matches!(set, Keyset::Range { .. }) {
            return None;
        }
        Some(match set {
            Keyset::Any => return None,
            Keyset::ValueSet(set) => self.in_value_set(index(*set), std::slice::from_ref(key)),
            Keyset::Value(value) if bound.is_wide => {
                let value = self.limbs(value);
                format!("sd_wide_eq({text}.limb, {value}.limb, {width})")
            }
            Keyset::Value(value) => format!("{text} == {}", self.scalar(value).operand()),
            Keyset::Mask { value, mask } if bound.is_wide => {
                let (value, mask) = (self.limbs(value), self.limbs(mask));
                let c = self.cx.types.limbs(crate::text::types::n_limbs(width));
                let (a, b) = (self.temp(), self.temp());
                self.code.line(format!("{c} {a}, {b};"));
                self.code.line(format!("sd_wide_and({a}.limb, {text}.limb, {mask}.limb, {width});"));
                self.code.line(format!("sd_wide_and({b}.limb, {value}.limb, {mask}.limb, {width});"));
                format!("sd_wide_eq({a}.limb, {b}.limb, {width})")
            }
            Keyset::Mask { value, mask } => {
                let (value, mask) = (self.scalar(value), self.scalar(mask));
                match (value.constant, mask.constant) {
                    (Some(v), Some(m)) => {
                        format!("({text} & {}) == {}", mask.text, constant(v & m).text)
                    }
                    _ => {
                        format!("({text} & {}) == ({} & {})", mask.operand(), value.operand(), mask.operand())
                    }
                }
            }
            Keyset::Range { lo, hi } => {
                let key_again = key.clone();
                let bool_ty = ir::Type::Bool;
                let above = Expr::binary(ir::BinaryOp::Ge, key_again.clone(), lo.clone(), bool_ty.clone());
                let below = Expr::binary(ir::BinaryOp::Le, key_again, hi.clone(), bool_ty);
                let (above, below) = (self.scalar(&above), self.scalar(&below));
                format!("{} && {}", above.operand(), below.operand())
            }
        })
    }
}

/// The table whose action a value is: that of the one application that sets it.
fn actions_of(graph: &Graph, subject: &Expr) -> Option<TableId> {
    let ExprKind::Read(place) = &subject.kind else { return None };
    let mut tables = graph.nodes.iter().filter_map(|(_, node)| match &node.terminator.kind {
        TerminatorKind::Apply { table, action: Some(set), .. } if set == place => Some(*table),
        _ => None,
    });
    let table = tables.next()?;
    tables.next().is_none().then_some(table)
}

struct SelectKey<'e> {
    /// An expression; for wide values, a variable with a member `limb`.
    text: String,
    key: &'e Expr,
    is_wide: bool,
}

/// A `select` with this many cases that C cannot switch on is searched as constant data: compilers take long for so many `if`s.
const SELECT_ROWS_MIN: usize = 64;

fn ones(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width.min(64)) }
}

/// Inverting this bit of a signed value gives an unsigned one in the same order.
fn sign_bit(key: &Expr) -> u64 {
    let width = width_of(&key.ty);
    if key.ty.is_signed() && width > 0 { 1 << (width - 1) } else { 0 }
}

/// Mask, value, low and high end of each key of each case, when all are constants of at most 64 bits.
fn select_rows(keys: &[Expr], cases: &[SelectCase]) -> Option<Vec<Vec<[u64; 4]>>> {
    if keys.iter().any(|key| width_of(&key.ty) > 64) {
        return None;
    }
    let row = |case: &SelectCase| {
        let Pattern::Keys(sets) = &case.pattern else { return None };
        keys.iter().zip(sets).map(|(key, set)| select_key_row(key, set)).collect()
    };
    cases.iter().map(row).collect()
}

fn select_key_row(key: &Expr, set: &Keyset) -> Option<[u64; 4]> {
    let ones = ones(width_of(&key.ty));
    let of = |e: &Expr| {
        let value = u64::try_from(e.as_const()?.to_u128()?).ok()?;
        Some((value & ones) ^ sign_bit(key))
    };
    Some(match set {
        Keyset::Any => [0, 0, 0, ones],
        Keyset::Value(value) => [ones, of(value)?, 0, ones],
        Keyset::Mask { value, mask } => {
            // The mask is no value of the key.
            let mask = of(mask)? ^ sign_bit(key);
            [mask, of(value)? & mask, 0, ones]
        }
        Keyset::Range { lo, hi } => [0, 0, of(lo)?, of(hi)?],
        Keyset::ValueSet(_) => return None,
    })
}

/// The cases of a C switch, when all of them are constants of one key. The first of equal ones counts.
fn constant_cases(cases: &[SelectCase]) -> Option<Vec<(Vec<String>, NodeId)>> {
    let mut seen = FxHashSet::default();
    let mut ways: IndexMap<NodeId, Vec<String>> = IndexMap::new();
    for case in cases {
        let Pattern::Keys(sets) = &case.pattern else { return None };
        let [Keyset::Value(value)] = sets.as_slice() else { return None };
        let value = value.as_const()?.to_u128()?;
        if seen.insert(value) {
            let label = format!("case {}:", constant(value).text);
            ways.entry(case.target).or_default().push(label);
        }
    }
    Some(ways.into_iter().map(|(target, labels)| (labels, target)).collect())
}

/// Control never reaches the end of a piece of code.
fn ends_elsewhere(code: &crate::text::code::Code) -> bool {
    code.last_line().is_some_and(|line| line.starts_with("return") || line.starts_with("goto "))
}
