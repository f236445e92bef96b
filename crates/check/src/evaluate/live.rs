//! Liveness: calls in code that constant conditions do not exclude.

use crate::evaluate::Scope;
use crate::program::*;
use rustc_hash::FxHashSet;

impl Program {
    /// Calls that a block can make inside an object, in source order, outer before inner. Functions
    /// with a body are followed (each once), actions, tables and blocks are not.
    pub fn live_calls<'p>(&'p self, block: &'p Block, scope: Scope) -> Vec<(&'p Expr, &'p Call)> {
        let mut walk =
            Walk { p: self, scope, calls: Vec::new(), sets: Vec::new(), seen: FxHashSet::default() };
        walk.block(block);
        walk.calls
    }

    /// Returns the live tables, actions, value sets and blocks of a parser or control.
    pub(super) fn live(&self, id: NodeId) -> Live {
        let mut live = Live::default();
        let mut walk = Walk {
            p: self,
            scope: Some(id),
            calls: Vec::new(),
            sets: Vec::new(),
            seen: FxHashSet::default(),
        };
        match self.nodes[id].kind {
            NodeKind::Control(c) => {
                walk.locals(&self.controls[c].locals);
                walk.block(&self.controls[c].apply);
            }
            NodeKind::Parser(p) => {
                walk.locals(&self.parsers[p].locals);
                walk.states(&self.parsers[p].states);
            }
            NodeKind::Package(_) | NodeKind::Extern(_) => {}
        }
        // Keys and bound arguments of tables can apply further tables.
        let mut n_seen = 0;
        while let Some((_, call)) = walk.calls.get(n_seen) {
            n_seen += 1;
            if let Callee::TableApply(t) = call.callee
                && !live.tables.contains(&t)
            {
                live.tables.push(t);
                let table = &self.tables[t];
                table.key.iter().flatten().for_each(|k| walk.expr(&k.expr));
                table.actions.iter().flat_map(|a| a.args.iter().flatten()).for_each(|a| walk.expr(a));
            }
        }
        for (_, call) in &walk.calls {
            match &call.callee {
                Callee::Action(a) => push(&mut live.called_actions, *a),
                Callee::BlockApply { object } => {
                    if let Some(node) = self.object(object, Some(id)) {
                        push(&mut live.applied, node);
                    }
                }
                Callee::Function(_)
                | Callee::Method { .. }
                | Callee::TableApply(_)
                | Callee::Builtin { .. }
                | Callee::Constructor { .. } => {}
            }
        }
        for set in walk.sets {
            push(&mut live.value_sets, set);
        }
        for t in &live.tables {
            self.tables[*t].actions.iter().for_each(|e| push(&mut live.actions, e.action));
        }
        live.called_actions.iter().for_each(|a| push(&mut live.actions, *a));
        let mut n_seen = 0;
        while let Some(action) = live.actions.get(n_seen) {
            n_seen += 1;
            for (_, call) in self.live_calls(&self.actions[*action].body, Some(id)) {
                if let Callee::Action(inner) = call.callee {
                    push(&mut live.actions, inner);
                }
            }
        }
        live
    }

    /// Parsers and controls that can run, in order: what packages take, and what these apply. An instance may
    /// be handed on as a constructor argument.
    pub fn live_blocks(&self) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut todo: Vec<NodeId> = self.top_level.iter().rev().copied().collect();
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = &self.nodes[id];
            match node.kind {
                NodeKind::Package(_) => todo.extend(node.children.iter().rev()),
                NodeKind::Parser(_) | NodeKind::Control(_) => {
                    found.push(id);
                    todo.extend(node.live.applied.iter().rev());
                }
                NodeKind::Extern(_) => {}
            }
        }
        found
    }
}

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

struct Walk<'p> {
    p: &'p Program,
    scope: Scope,
    calls: Vec<(&'p Expr, &'p Call)>,
    sets: Vec<ValueSetId>,
    /// Functions that were followed already.
    seen: FxHashSet<FunctionId>,
}

impl<'p> Walk<'p> {
    fn locals(&mut self, locals: &'p [Local]) {
        for local in locals {
            if let Local::Var { init: Some(init), .. } = local {
                self.expr(init);
            }
        }
    }

    /// The states that can be reached from `start`.
    fn states(&mut self, states: &'p [StateDef]) {
        let Some(start) = states.iter().position(|s| s.name == "start") else { return };
        let (mut todo, mut seen) = (vec![start], vec![false; states.len()]);
        seen[start] = true;
        while let Some(i) = todo.pop() {
            let state = &states[i];
            state.body.iter().for_each(|s| self.stmt(s));
            let mut reach = |to: StateRef| {
                if let StateRef::State(n) = to
                    && let Some(seen) = seen.get_mut(n as usize)
                    && !std::mem::replace(seen, true)
                {
                    todo.push(n as usize);
                }
            };
            match &state.transition {
                Transition::Direct(to, _) => reach(*to),
                Transition::Select { exprs, cases, .. } => {
                    exprs.iter().for_each(|e| self.expr(e));
                    for case in cases {
                        case.keyset.iter().for_each(|e| self.expr(e));
                        reach(case.state);
                    }
                }
            }
        }
    }

    fn block(&mut self, block: &'p Block) {
        block.stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &'p Stmt) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt_inner(stmt));
    }

    fn known(&self, condition: &Expr) -> Option<bool> {
        self.p.eval(condition, self.scope)?.as_bool()
    }

    fn stmt_inner(&mut self, stmt: &'p Stmt) {
        match &stmt.kind {
            StmtKind::Empty
            | StmtKind::Const(_)
            | StmtKind::Instance(_)
            | StmtKind::Return(None)
            | StmtKind::Exit
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Error => {}
            StmtKind::Var { init, .. } => init.iter().for_each(|e| self.expr(e)),
            StmtKind::Assign { lhs, rhs } | StmtKind::OpAssign { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            StmtKind::Call(e) | StmtKind::Return(Some(e)) => self.expr(e),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { condition, then, otherwise, .. } => match self.known(condition) {
                Some(true) => self.stmt(then),
                Some(false) => otherwise.iter().for_each(|s| self.stmt(s)),
                None => {
                    self.expr(condition);
                    self.stmt(then);
                    otherwise.iter().for_each(|s| self.stmt(s));
                }
            },
            StmtKind::SwitchAction { apply, cases, .. } => {
                self.expr(apply);
                cases.iter().filter_map(|c| c.body.as_ref()).for_each(|b| self.block(b));
            }
            StmtKind::SwitchValue { subject, cases } => {
                self.expr(subject);
                cases.iter().filter_map(|c| c.body.as_ref()).for_each(|b| self.block(b));
            }
            StmtKind::For { init, condition, update, body, .. } => {
                init.iter().for_each(|s| self.stmt(s));
                self.expr(condition);
                self.stmt(body);
                update.iter().for_each(|s| self.stmt(s));
            }
            StmtKind::ForIn { collection, body, .. } => {
                match collection {
                    ForInCollection::Range(lo, hi) => {
                        self.expr(lo);
                        self.expr(hi);
                    }
                    ForInCollection::Elements(e) => self.expr(e),
                }
                self.stmt(body);
            }
        }
    }

    fn expr(&mut self, e: &'p Expr) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_inner(e));
    }

    fn expr_inner(&mut self, e: &'p Expr) {
        // Known while compiling: nothing is called.
        if e.value.is_some() {
            return;
        }
        match &e.kind {
            ExprKind::Const
            | ExprKind::Var(_)
            | ExprKind::ConstRef(_)
            | ExprKind::Instance(_)
            | ExprKind::Table(_)
            | ExprKind::Action(_)
            | ExprKind::This
            | ExprKind::TypeName
            | ExprKind::DefaultValue
            | ExprKind::InvalidHeader
            | ExprKind::Dots
            | ExprKind::Default
            | ExprKind::DontCare
            | ExprKind::Error => {}
            ExprKind::ValueSet(id) => self.sets.push(*id),
            ExprKind::Field { base, .. }
            | ExprKind::TupleElement { base, .. }
            | ExprKind::Stack { base, .. }
            | ExprKind::Slice { base, .. } => self.expr(base),
            ExprKind::Index { base: a, index: b }
            | ExprKind::PlusSlice { base: a, lo: b, .. }
            | ExprKind::Mask { value: a, mask: b }
            | ExprKind::Range { lo: a, hi: b } => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), lhs, rhs } => {
                self.expr(lhs);
                // The right operand of `false &&` and `true ||` is never evaluated.
                if self.known(lhs) != Some(*op == BinaryOp::Or) {
                    self.expr(rhs);
                }
            }
            ExprKind::Binary { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => self.expr(operand),
            ExprKind::Conditional { condition, then, otherwise } => match self.known(condition) {
                Some(true) => self.expr(then),
                Some(false) => self.expr(otherwise),
                None => [condition, then, otherwise].into_iter().for_each(|e| self.expr(e)),
            },
            ExprKind::List(items) | ExprKind::Struct(items) => items.iter().for_each(|i| self.expr(i)),
            ExprKind::StructLiteral { fields, .. } => fields.iter().for_each(|(_, i)| self.expr(i)),
            ExprKind::ApplyResult { apply, .. } => self.expr(apply),
            ExprKind::Call(call) => {
                self.calls.push((e, call));
                match &call.callee {
                    Callee::Method { object, .. }
                    | Callee::BlockApply { object }
                    | Callee::Builtin { object, .. } => self.expr(object),
                    Callee::Function(id) => {
                        if self.seen.insert(*id)
                            && let Some(body) = &self.p.functions[*id].body
                        {
                            self.block(body);
                        }
                    }
                    Callee::Action(_) | Callee::TableApply(_) | Callee::Constructor { .. } => {}
                }
                call.args.iter().flatten().for_each(|a| self.expr(a));
            }
        }
    }
}
