//! Definite assignment and header validity.
//!
//! An abstract interpretation forwards over the typed program. Every scalar part of a variable is known to
//! be (or perhaps be) written or not; every header to be valid or not. Actions are interpreted where they
//! are called and tables as a choice of their actions, because both work on the variables of the control
//! around them; functions, controls, parsers and externs are closed: they read what they take in and write
//! what they give out. Loops and parser graphs run to a fixed point, without messages until it is reached.
//!
//! A header that is invalid has no fields that could lack a value; they do when `setValid()` makes it valid.
//! So a read of a field of an invalid header is reported once, as such.
//!
//! Headers that come in as parameters are taken for valid, else every access to them would be doubtful.
//! Where the program asks `isValid()`, the branches know the answer; after them it is forgotten again.

use super::layout::{Layout, Layouts};
use super::state::{Fact, State, join};
use crate::program::*;
use diagnostics::{Diagnostics, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Work spent on one control, parser or function before it is left alone, in visited nodes and copied words.
const STEPS_MAX: usize = 4_000_000;
/// Work spent on a whole program.
const STEPS_TOTAL_MAX: usize = 40_000_000;
/// Deepest nesting of calls of actions that is followed.
const CALLS_MAX: u32 = 32;

/// States of the paths that leave a construct early, by the statement with which they leave.
#[derive(Default)]
pub(super) struct Jumps {
    pub returned: Option<State>,
    pub exited: Option<State>,
    pub loops: Vec<Loop>,
}

#[derive(Default)]
pub(super) struct Loop {
    broken: Option<State>,
    continued: Option<State>,
}

pub(super) struct Flow<'a> {
    pub p: &'a Program,
    pub out: &'a mut Diagnostics,
    pub layouts: Layouts,
    /// First cell and layout of the variables of the block at hand.
    pub cells: FxHashMap<VarId, (u32, Rc<Layout>)>,
    n_cells: u32,
    /// The state at this point; `None` where control never arrives.
    pub at: Option<State>,
    pub jumps: Jumps,
    /// Validity cells that conditions tested.
    pub asked: Vec<u32>,
    /// Not 0: no messages, a fixed point is being sought.
    pub n_quiet: u32,
    pub n_calls: u32,
    n_steps: usize,
    /// Work spent on earlier bodies.
    n_steps_before: usize,
    /// Where headers were made invalid last, by validity cell.
    pub made_invalid: FxHashMap<u32, Span>,
    /// Messages reported so far: an action is interpreted at each of its calls, but reported once.
    pub said: FxHashSet<(&'static str, Span)>,
}

/// Looks through all bodies of a program.
pub(super) fn run(p: &Program, is_system: &dyn Fn(Span) -> bool, out: &mut Diagnostics) {
    let mut flow = Flow {
        p,
        out,
        layouts: Layouts::new(),
        cells: FxHashMap::default(),
        n_cells: 0,
        at: None,
        jumps: Jumps::default(),
        asked: Vec::new(),
        n_quiet: 0,
        n_calls: 0,
        n_steps: 0,
        n_steps_before: 0,
        made_invalid: FxHashMap::default(),
        said: FxHashSet::default(),
    };
    for (_, f) in p.functions.iter() {
        if let Some(body) = &f.body
            && !is_system(f.span)
        {
            flow.begin(&f.signature.params);
            flow.block(body);
            let end = flow.end();
            flow.check_out_params(&f.signature.params, &f.name, end.as_ref());
        }
    }
    for (_, parser) in p.parsers.iter().filter(|(_, d)| !is_system(d.span)) {
        flow.begin(&parser.params);
        flow.locals(&parser.locals);
        let end = flow.states(parser);
        flow.check_out_params(&parser.params, &parser.name, end.as_ref());
    }
    for (_, control) in p.controls.iter().filter(|(_, d)| !is_system(d.span)) {
        flow.begin(&control.params);
        flow.locals(&control.locals);
        flow.block(&control.apply);
        let end = flow.end();
        flow.check_out_params(&control.params, &control.name, end.as_ref());
    }
}

impl Flow<'_> {
    /// Starts on a closed body.
    fn begin(&mut self, params: &[VarId]) {
        self.cells.clear();
        self.n_cells = 0;
        self.made_invalid.clear();
        self.n_steps_before = self.n_steps_before.saturating_add(self.n_steps);
        self.n_steps = 0;
        self.n_calls = 0;
        self.n_quiet = 0;
        self.asked.clear();
        self.jumps = Jumps::default();
        self.at = Some(State::default());
        for &v in params {
            let fact = match self.p.vars[v].kind {
                VarKind::Param(Direction::Out) => Fact::BAD,
                VarKind::Param(_) | VarKind::CtorParam | VarKind::Local | VarKind::ForIn => Fact::GOOD,
            };
            self.set_var(v, fact);
        }
    }

    /// The state where a closed body ends.
    fn end(&mut self) -> Option<State> {
        let jumps = std::mem::take(&mut self.jumps);
        join(self.at.take(), join(jumps.returned, jumps.exited))
    }

    /// Counts work; returns false if the limit is exceeded and the body is abandoned.
    pub fn step(&mut self, cost: usize) -> bool {
        self.n_steps = self.n_steps.saturating_add(cost);
        if self.is_abandoned() {
            self.at = None;
            self.jumps = Jumps::default();
            return false;
        }
        true
    }

    /// Returns whether a limit on the work is exceeded, for this body or in total.
    pub fn is_abandoned(&self) -> bool {
        self.n_steps > STEPS_MAX || self.n_steps.saturating_add(self.n_steps_before) > STEPS_TOTAL_MAX
    }

    /// Copies the current state and counts the copy as work.
    pub fn snapshot(&mut self) -> Option<State> {
        let cost = self.at.as_ref().map_or(0, State::n_words);
        if !self.step(cost) {
            return None;
        }
        self.at.clone()
    }

    // -- variables ------------------------------------------------------------------------------

    pub fn var(&mut self, v: VarId) -> (u32, Rc<Layout>) {
        if let Some((start, layout)) = self.cells.get(&v) {
            return (*start, Rc::clone(layout));
        }
        let mut layout = self.layouts.of(self.p, self.p.vars[v].ty);
        if self.n_cells.checked_add(layout.n_cells).is_none_or(|n| n > 1 << 20) {
            layout = self.layouts.opaque();
        }
        let start = self.n_cells;
        self.n_cells += layout.n_cells;
        self.cells.insert(v, (start, Rc::clone(&layout)));
        (start, layout)
    }

    /// Sets all cells of a variable.
    pub fn set_var(&mut self, v: VarId, fact: Fact) {
        let (start, layout) = self.var(v);
        if !self.step(layout.n_cells as usize / 8 + 1) {
            return;
        }
        if let Some(state) = &mut self.at {
            (start..start + layout.n_cells).for_each(|c| state.set(c, fact));
            // The fields of a header lack a value only once it is valid: see `places.rs`.
            for (h, n) in layout.headers.iter().zip(&layout.header_cells) {
                (start + h + 1..start + h + n).for_each(|c| state.set(c, Fact::GOOD));
            }
        }
    }

    fn locals(&mut self, locals: &[Local]) {
        for local in locals {
            match local {
                Local::Var { var, init } => self.declare(*var, init.as_ref()),
                Local::Const(_)
                | Local::Instance(_)
                | Local::Action(_)
                | Local::Table(_)
                | Local::ValueSet(_) => {}
            }
        }
    }

    fn declare(&mut self, v: VarId, init: Option<&Expr>) {
        match init {
            None => self.set_var(v, Fact::BAD),
            Some(init) => {
                self.read(init);
                let (start, layout) = self.var(v);
                let facts = self.validity(init, &layout);
                self.set_var(v, Fact::GOOD);
                if let Some(state) = &mut self.at {
                    for (h, fact) in layout.headers.iter().zip(facts) {
                        state.set(start + h, fact);
                    }
                }
            }
        }
    }

    // -- statements -----------------------------------------------------------------------------

    pub fn block(&mut self, b: &Block) {
        self.stmts(&b.stmts);
    }

    pub fn stmts(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, s: &Stmt) {
        if self.at.is_none() || !self.step(1) {
            return;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt_kind(&s.kind));
    }

    fn stmt_kind(&mut self, s: &StmtKind) {
        match s {
            StmtKind::Empty | StmtKind::Const(_) | StmtKind::Instance(_) | StmtKind::Error => {}
            StmtKind::Var { var, init } => self.declare(*var, init.as_ref()),
            StmtKind::Assign { lhs, rhs } => self.assign(lhs, rhs),
            StmtKind::OpAssign { lhs, op: _, rhs } => {
                self.read(lhs);
                self.read(rhs);
                self.write(lhs, None);
            }
            StmtKind::Call(e) => self.read(e),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { condition, then, otherwise, annotations: _ } => {
                self.if_stmt(condition, then, otherwise.as_deref());
            }
            StmtKind::Return(value) => {
                if let Some(e) = value {
                    self.read(e);
                }
                let here = self.at.take();
                self.jumps.returned = join(self.jumps.returned.take(), here);
            }
            StmtKind::Exit => {
                let here = self.at.take();
                self.jumps.exited = join(self.jumps.exited.take(), here);
            }
            StmtKind::Break => {
                let here = self.at.take();
                if let Some(l) = self.jumps.loops.last_mut() {
                    l.broken = join(l.broken.take(), here);
                }
            }
            StmtKind::Continue => {
                let here = self.at.take();
                if let Some(l) = self.jumps.loops.last_mut() {
                    l.continued = join(l.continued.take(), here);
                }
            }
            StmtKind::SwitchAction { table, apply, cases } => self.switch_action(*table, apply, cases),
            StmtKind::SwitchValue { subject, cases } => self.switch_value(subject, cases),
            StmtKind::For { init, condition, update, body, annotations: _ } => {
                self.stmts(init);
                self.repeat(|flow| {
                    let (yes, no) = flow.condition(condition);
                    flow.at = yes;
                    flow.stmt(body);
                    flow.next_round();
                    flow.stmts(update);
                    no
                });
            }
            StmtKind::ForIn { var, collection, body, annotations: _ } => {
                match collection {
                    ForInCollection::Range(lo, hi) => {
                        self.read(lo);
                        self.read(hi);
                    }
                    ForInCollection::Elements(e) => self.read(e),
                }
                self.repeat(|flow| {
                    let end = flow.snapshot();
                    flow.set_var(*var, Fact::GOOD);
                    flow.stmt(body);
                    flow.next_round();
                    end
                });
            }
        }
    }

    fn if_stmt(&mut self, condition: &Expr, then: &Stmt, otherwise: Option<&Stmt>) {
        let Some(before) = self.snapshot() else { return };
        let n_asked = self.asked.len();
        let (yes, no) = self.condition(condition);
        let asked = self.asked.split_off(n_asked);
        let facts_at = |s: &Option<State>| -> Vec<Fact> {
            s.as_ref().map_or(Vec::new(), |s| asked.iter().map(|c| s.get(*c)).collect())
        };
        let (yes_facts, no_facts) = (facts_at(&yes), facts_at(&no));
        self.at = yes;
        self.stmt(then);
        let mut then_end = self.at.take();
        self.at = no;
        if let Some(s) = otherwise {
            self.stmt(s);
        }
        if otherwise.is_none() && self.asks_architecture(condition) {
            self.write_where_asked(then_end.as_ref());
        }
        if let (Some(a), Some(b)) = (&mut then_end, &mut self.at) {
            // Forget the facts that came only from the condition; keep the changes that a branch made.
            for (i, &cell) in asked.iter().enumerate() {
                let kept = |end: Fact, start: Option<&Fact>| start == Some(&end);
                let (a_kept, b_kept) =
                    (kept(a.get(cell), yes_facts.get(i)), kept(b.get(cell), no_facts.get(i)));
                let was = before.get(cell);
                let told = |f: Fact| !f.is_certainly_bad();
                if a_kept && (b_kept || told(a.get(cell))) {
                    a.set(cell, was);
                }
                if b_kept && (a_kept || told(b.get(cell))) {
                    b.set(cell, was);
                }
            }
            a.join(b);
            a.forget_questions_since(&before);
            self.at = then_end;
        } else if then_end.is_some() {
            self.at = then_end;
        }
    }

    /// True for a call of an extern function: only the architecture knows the answer.
    fn asks_architecture(&self, condition: &Expr) -> bool {
        let ExprKind::Call(call) = &condition.kind else { return false };
        matches!(call.callee, Callee::Function(id) if self.p.functions[id].body.is_none())
    }

    /// The architecture reads an `out` parameter only where its own condition held: one that is written there is written.
    fn write_where_asked(&mut self, then_end: Option<&State>) {
        let is_out = |v: &VarId| self.p.vars[*v].kind == VarKind::Param(Direction::Out);
        let cells = self.cells.iter().filter(|(v, _)| is_out(v));
        let ranges: Vec<(u32, u32)> = cells.map(|(_, (start, layout))| (*start, layout.n_cells)).collect();
        let (Some(then_end), Some(otherwise)) = (then_end, &mut self.at) else { return };
        for cell in ranges.into_iter().flat_map(|(start, n)| start..start.saturating_add(n)) {
            otherwise.set(cell, then_end.get(cell));
        }
    }

    /// Both outcomes of a condition.
    pub fn condition(&mut self, e: &Expr) -> (Option<State>, Option<State>) {
        if self.at.is_none() || !self.step(1) {
            return (None, None);
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.condition_kind(e))
    }

    fn condition_kind(&mut self, e: &Expr) -> (Option<State>, Option<State>) {
        if let Some(known) = e.value.as_ref().and_then(|v| v.as_bool()) {
            let here = self.at.take();
            return if known { (here, None) } else { (None, here) };
        }
        match &e.kind {
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                let (yes, no) = self.condition(operand);
                (no, yes)
            }
            ExprKind::Binary { op: BinaryOp::And, lhs, rhs } => {
                let (yes, no) = self.condition(lhs);
                self.at = yes;
                let (yes, no_too) = self.condition(rhs);
                (yes, join(no, no_too))
            }
            ExprKind::Binary { op: BinaryOp::Or, lhs, rhs } => {
                let (yes, no) = self.condition(lhs);
                self.at = no;
                let (yes_too, no) = self.condition(rhs);
                (join(yes, yes_too), no)
            }
            ExprKind::Call(call) => {
                if let Callee::Builtin { object, method: Builtin::IsValid } = &call.callee {
                    return self.is_valid(object);
                }
                self.read(e);
                (self.snapshot(), self.at.take())
            }
            _ => {
                self.read(e);
                (self.snapshot(), self.at.take())
            }
        }
    }

    fn switch_action(&mut self, table: TableId, apply: &Expr, cases: &[SwitchActionCase]) {
        let Some(before) = self.snapshot() else { return };
        let by_action = match &apply.kind {
            ExprKind::Call(_) => self.apply_table(table),
            _ => {
                self.read(apply);
                vec![self.snapshot()]
            }
        };
        let mut open: Vec<bool> = vec![true; by_action.len()];
        let mut ends: Option<State> = None;
        let mut entering: Option<State> = None;
        for case in cases {
            match case.label {
                Some(i) => {
                    if let (Some(state), Some(open)) = (by_action.get(i as usize), open.get_mut(i as usize))
                        && std::mem::take(open)
                    {
                        entering = join(entering, state.clone());
                    }
                }
                None => {
                    for (state, open) in by_action.iter().zip(&mut open) {
                        if std::mem::take(open) {
                            entering = join(entering, state.clone());
                        }
                    }
                }
            }
            if let Some(body) = &case.body {
                self.at = entering.take();
                self.block(body);
                ends = join(ends, self.at.take());
            }
        }
        ends = join(ends, entering);
        for (state, open) in by_action.into_iter().zip(open) {
            if open {
                ends = join(ends, state);
            }
        }
        if let Some(state) = &mut ends {
            state.forget_questions_since(&before);
        }
        self.at = ends;
    }

    fn switch_value(&mut self, subject: &Expr, cases: &[SwitchValueCase]) {
        let Some(before) = self.snapshot() else { return };
        self.read(subject);
        let Some(start) = self.snapshot() else { return };
        let mut ends: Option<State> = None;
        let has_default = cases.iter().any(|c| c.label.is_none());
        let mut last_is_open = false;
        for case in cases {
            last_is_open = case.body.is_none();
            if let Some(body) = &case.body {
                if !self.step(start.n_words()) {
                    return;
                }
                self.at = Some(start.clone());
                self.block(body);
                ends = join(ends, self.at.take());
            }
        }
        if !has_default || last_is_open {
            ends = join(ends, Some(start));
        }
        if let Some(state) = &mut ends {
            state.forget_questions_since(&before);
        }
        self.at = ends;
    }

    /// Joins the states of `continue` into the next iteration.
    fn next_round(&mut self) {
        let continued = self.jumps.loops.last_mut().and_then(|l| l.continued.take());
        self.at = join(self.at.take(), continued);
    }

    /// Runs a loop until nothing new is learnt, then once more with messages. `round` returns the state in
    /// which the loop ends by itself.
    fn repeat(&mut self, mut round: impl FnMut(&mut Self) -> Option<State>) {
        let Some(mut head) = self.snapshot() else { return };
        self.n_quiet += 1;
        loop {
            self.jumps.loops.push(Loop::default());
            round(self);
            self.jumps.loops.pop();
            let cost = head.n_words();
            let changed = self.at.take().is_some_and(|back| head.join(&back));
            if !changed || !self.step(cost) {
                break;
            }
            self.at = Some(head.clone());
        }
        self.n_quiet -= 1;
        if self.is_abandoned() {
            return;
        }
        self.at = Some(head);
        self.jumps.loops.push(Loop::default());
        let ended = round(self);
        let broken = self.jumps.loops.pop().and_then(|l| l.broken);
        self.at = join(ended, broken);
    }

    // -- parsers --------------------------------------------------------------------------------

    /// Runs the state machine; returns the knowledge in `accept`.
    fn states(&mut self, parser: &ParserDef) -> Option<State> {
        let start = parser.states.iter().position(|s| s.name == "start")?;
        let mut inputs: Vec<Option<State>> = vec![None; parser.states.len()];
        inputs[start] = self.at.take();
        let mut waiting = vec![false; parser.states.len()];
        let mut work = std::collections::VecDeque::from([start]);
        waiting[start] = true;
        self.n_quiet += 1;
        while let Some(i) = work.pop_front() {
            waiting[i] = false;
            self.at = inputs[i].clone();
            for (to, state) in self.state(&parser.states[i]) {
                let StateRef::State(to) = to else { continue };
                let to = to as usize;
                if !self.step(state.n_words()) {
                    break;
                }
                let Some(input) = inputs.get_mut(to) else { continue };
                let changed = match input {
                    Some(known) => known.join(&state),
                    None => {
                        *input = Some(state);
                        true
                    }
                };
                if changed && !std::mem::replace(&mut waiting[to], true) {
                    work.push_back(to);
                }
            }
            if self.is_abandoned() {
                break;
            }
        }
        self.n_quiet -= 1;
        if self.is_abandoned() {
            return None;
        }
        let mut end = None;
        for (input, def) in inputs.into_iter().zip(&parser.states) {
            self.at = input;
            for (to, state) in self.state(def) {
                // Only `accept` counts: nothing reads the outputs of a parser that rejects. p4c checks those, too.
                if to == StateRef::Accept {
                    end = join(end, Some(state));
                }
            }
        }
        end
    }

    /// Runs one parser state; returns its successors with the state of knowledge on each edge.
    fn state(&mut self, def: &StateDef) -> Vec<(StateRef, State)> {
        if self.at.is_none() {
            return Vec::new();
        }
        self.stmts(&def.body);
        match &def.transition {
            Transition::Direct(to, _) => self.at.take().map(|s| (*to, s)).into_iter().collect(),
            Transition::Select { exprs, cases, span: _ } => {
                // A select over one isValid() knows the answer in its cases.
                let answers = match exprs.as_slice() {
                    [e] => match &e.kind {
                        ExprKind::Call(call)
                            if matches!(call.callee, Callee::Builtin { method: Builtin::IsValid, .. }) =>
                        {
                            Some(self.condition(e))
                        }
                        _ => None,
                    },
                    _ => None,
                };
                if let Some((yes, no)) = answers {
                    let mut targets = Vec::new();
                    for c in cases {
                        let value = match c.keyset.as_slice() {
                            [k] => k.value.as_ref().and_then(|v| v.as_bool()),
                            _ => None,
                        };
                        let state = match value {
                            Some(true) => yes.clone(),
                            Some(false) => no.clone(),
                            None => join(yes.clone(), no.clone()),
                        };
                        targets.extend(state.map(|s| (c.state, s)));
                    }
                    return targets;
                }
                exprs.iter().for_each(|e| self.read(e));
                let mut targets: Vec<(StateRef, State)> = Vec::new();
                let mut reached: Vec<StateRef> = Vec::new();
                for c in cases {
                    c.keyset.iter().for_each(|k| self.read(k));
                    if !reached.contains(&c.state) {
                        reached.push(c.state);
                        targets.extend(self.snapshot().map(|s| (c.state, s)));
                    }
                }
                targets
            }
        }
    }

    // -- calls of actions and tables ------------------------------------------------------------

    /// Interprets an action. Arguments that are missing come from the control plane.
    pub fn call_action(&mut self, id: ActionId, args: &[Option<Expr>]) {
        let p = self.p;
        let def = &p.actions[id];
        if self.n_calls >= CALLS_MAX {
            for (v, arg) in def.params.iter().zip(args) {
                self.argument(self.p.direction(*v), arg.as_ref());
            }
            return;
        }
        for (i, &v) in def.params.iter().enumerate() {
            let direction = self.p.direction(v);
            let arg = args.get(i).and_then(|a| a.as_ref());
            if direction == Direction::Out {
                self.set_var(v, Fact::BAD);
                continue;
            }
            match arg {
                None => self.set_var(v, Fact::GOOD),
                Some(arg) => {
                    self.read(arg);
                    let (start, layout) = self.var(v);
                    let facts = self.validity(arg, &layout);
                    self.set_var(v, Fact::GOOD);
                    if let Some(state) = &mut self.at {
                        for (h, fact) in layout.headers.iter().zip(facts) {
                            state.set(start + h, fact);
                        }
                    }
                }
            }
        }
        let outer = std::mem::take(&mut self.jumps);
        self.n_calls += 1;
        self.block(&def.body);
        self.n_calls -= 1;
        let inner = std::mem::replace(&mut self.jumps, outer);
        self.at = join(self.at.take(), inner.returned);
        self.jumps.exited = join(self.jumps.exited.take(), inner.exited);
        let end = self.at.take();
        self.check_out_params(&def.params, &def.name, end.as_ref());
        self.at = end;
        for (i, &v) in def.params.iter().enumerate() {
            if let Some(arg) = args.get(i).and_then(|a| a.as_ref())
                && matches!(self.p.direction(v), Direction::Out | Direction::InOut)
            {
                let (start, layout) = self.var(v);
                let facts = self.facts_at(start, &layout);
                self.write(arg, Some(facts));
            }
        }
    }

    /// Interprets `t.apply()`; the states after each of its actions. The present state becomes their join.
    pub fn apply_table(&mut self, id: TableId) -> Vec<Option<State>> {
        let p = self.p;
        let def = &p.tables[id];
        let Some(before) = self.snapshot() else { return Vec::new() };
        for key in def.key.iter().flatten() {
            self.read(&key.expr);
        }
        let Some(start) = self.snapshot() else { return Vec::new() };
        let mut ends = Vec::with_capacity(def.actions.len());
        for element in &def.actions {
            if !self.step(start.n_words()) {
                return ends;
            }
            self.at = Some(start.clone());
            self.call_action(element.action, &element.args);
            let mut end = self.at.take();
            if let Some(state) = &mut end {
                state.forget_questions_since(&before);
            }
            ends.push(end);
        }
        if ends.is_empty() {
            ends.push(Some(start));
        }
        self.at = None;
        for end in ends.iter().flatten() {
            if !self.step(end.n_words()) {
                return ends;
            }
            match &mut self.at {
                Some(state) => drop(state.join(end)),
                None => self.at = Some(end.clone()),
            }
        }
        ends
    }
}
