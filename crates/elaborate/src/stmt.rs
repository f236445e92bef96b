//! Statements.

use crate::body::{Body, BodyKind, Loop};
use crate::names::Binding;
use crate::place::Indices;
use check::program::{
    BinaryOp, Callee, Expr as Checked, ExprKind, ForInCollection, Stmt, StmtKind, SwitchActionCase,
    SwitchValueCase, VarId,
};
use check::value::Value;
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{Bits, Expr, NodeId, Place, Step, SwitchCase, TerminatorKind, Type};

impl<'p> Body<'_, 'p> {
    pub fn statements(&mut self, stmts: &'p [Stmt]) {
        stmts.iter().for_each(|s| self.statement(s));
    }

    pub fn statement(&mut self, s: &'p Stmt) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.statement_inner(s));
    }

    fn statement_inner(&mut self, s: &'p Stmt) {
        let span = s.span;
        if self.e.is_full(1, span) {
            return;
        }
        match &s.kind {
            StmtKind::Empty | StmtKind::Const(_) | StmtKind::Instance(_) | StmtKind::Error => {}
            StmtKind::Var { var, init } => {
                self.declare(*var);
                self.initialize(*var, init.as_ref());
            }
            StmtKind::Assign { lhs, rhs } => self.assignment(lhs, rhs, span),
            StmtKind::OpAssign { lhs, op, rhs } => self.compound_assignment(lhs, *op, rhs, span),
            StmtKind::Call(e) => match &e.kind {
                ExprKind::Call(call) => {
                    self.call(e, call);
                }
                _ => {
                    self.expr(e);
                }
            },
            StmtKind::Block(block) => {
                self.atomic(&block.annotations, |body| {
                    match check::program::annotation(&block.annotations, "async") {
                        Some(mark) => body.asynchronous(mark, block),
                        None => body.statements(&block.stmts),
                    }
                })
            }
            StmtKind::If { condition, then, otherwise, .. } => {
                self.if_statement(condition, then, otherwise.as_deref(), span);
            }
            StmtKind::Return(value) => {
                if self.refuse_to_leave("return", span) {
                    return;
                }
                if let (Some(value), Some(result)) = (value, self.result.clone()) {
                    let ty = self.e.out.place_type(&result).unwrap_or(Type::Bool);
                    self.assign_expr(&result, &ty, value);
                }
                self.leave_atomic(0, span);
                match self.kind {
                    BodyKind::Block | BodyKind::Procedure => self.terminate(TerminatorKind::Return, span),
                    BodyKind::Parser => self.reject(span),
                }
            }
            StmtKind::Exit => {
                if !self.refuse_to_leave("exit", span) {
                    self.leave_atomic(0, span);
                    self.exit(span);
                }
            }
            StmtKind::Break => {
                if self.is_last_loop_outside() && self.refuse_to_leave("break", span) {
                    return;
                }
                if let Some(innermost) = self.loops.last().copied() {
                    self.leave_atomic(self.loops.len(), span);
                    self.goto(innermost.on_break, span);
                }
            }
            StmtKind::Continue => {
                if self.is_last_loop_outside() && self.refuse_to_leave("continue", span) {
                    return;
                }
                if let Some(innermost) = self.loops.last().copied() {
                    self.leave_atomic(self.loops.len(), span);
                    self.goto(innermost.on_continue, span);
                }
            }
            StmtKind::SwitchAction { apply, cases, .. } => self.switch_action(apply, cases, span),
            StmtKind::SwitchValue { subject, cases } => self.switch_value(subject, cases, span),
            StmtKind::For { init, condition, update, body, .. } => {
                self.statements(init);
                let (head, next, end) = (self.new_node(), self.new_node(), self.new_node());
                self.goto(head, span);
                self.continue_at(head);
                let condition = self.expr(condition);
                let again = self.new_node();
                self.terminate(TerminatorKind::Branch { condition, then: again, otherwise: end }, span);
                self.continue_at(again);
                self.loop_body(body, Loop { on_break: end, on_continue: next }, span);
                self.continue_at(next);
                self.statements(update);
                self.goto(head, span);
                self.continue_at(end);
            }
            StmtKind::ForIn { var, collection, body, .. } => {
                self.declare(*var);
                match collection {
                    ForInCollection::Range(lo, hi) => self.for_in_range(*var, lo, hi, body, span),
                    ForInCollection::Elements(e) => self.for_in_elements(*var, e, body, span),
                }
            }
        }
    }

    /// `lhs op= rhs`: the place is found once, and read before the right side is evaluated.
    fn compound_assignment(&mut self, lhs: &Checked, op: BinaryOp, rhs: &Checked, span: Span) {
        let changes = self.changes(rhs);
        let indices = if changes { Indices::Fixed } else { Indices::AsTheyAre };
        let target = self.lvalue(lhs, indices);
        let mut old = self.read(&target);
        if changes {
            old = self.save(old, span);
        }
        let value = self.expr(rhs);
        let new = self.operation(op, old, value, &target.ty.clone(), span);
        self.store(&target, new, span);
    }

    fn if_statement(&mut self, condition: &Checked, then: &'p Stmt, otherwise: Option<&'p Stmt>, span: Span) {
        // A condition that constructor arguments decide leaves one branch only.
        match self.constant(condition).and_then(|v| v.as_bool()) {
            Some(true) => return self.statement(then),
            Some(false) => return otherwise.into_iter().for_each(|s| self.statement(s)),
            None => {}
        }
        let condition = self.expr(condition);
        let (on_true, on_false) = self.branch(condition, span);
        self.continue_at(on_true);
        self.statement(then);
        match otherwise {
            None => {
                self.goto(on_false, span);
                self.continue_at(on_false);
            }
            Some(otherwise) => {
                let end = self.new_node();
                self.goto(end, span);
                self.continue_at(on_false);
                self.statement(otherwise);
                self.goto(end, span);
                self.continue_at(end);
            }
        }
    }

    // -- switch ---------------------------------------------------------------------------------

    fn switch_action(&mut self, apply: &Checked, cases: &'p [SwitchActionCase], span: Span) {
        let ExprKind::Call(call) = &apply.kind else { return };
        let Callee::TableApply(table) = call.callee else { return };
        let action = self.temporary(Type::Bit(INDEX_BITS), span);
        self.apply_table(table, None, Some(action.clone()), span);
        let labels =
            cases.iter().map(|c| c.label.map(|i| Bits::new(INDEX_BITS, u128::from(i)))).collect::<Vec<_>>();
        let bodies = cases.iter().map(|c| c.body.as_ref()).collect::<Vec<_>>();
        self.switch(Expr::read(action, Type::Bit(INDEX_BITS)), &labels, &bodies, span);
    }

    fn switch_value(&mut self, subject: &Checked, cases: &'p [SwitchValueCase], span: Span) {
        let subject = self.expr(subject);
        let ty = subject.ty.clone();
        let mut labels = Vec::with_capacity(cases.len());
        let mut bodies = Vec::with_capacity(cases.len());
        for case in cases {
            let label = match &case.label {
                None => None,
                Some(label) => match self.constant(label).and_then(|v| self.e.scalar(&v, &ty)) {
                    Some(bits) => Some(bits),
                    None => continue,
                },
            };
            labels.push(label);
            bodies.push(case.body.as_ref());
        }
        if ty.width_bits().is_some() {
            self.switch(subject, &labels, &bodies, span);
        }
    }

    /// Writes a `switch`. A label without a body falls through to the next body. `None` labels the default.
    fn switch(
        &mut self,
        subject: Expr,
        labels: &[Option<Bits>],
        bodies: &[Option<&'p check::program::Block>],
        span: Span,
    ) {
        let end = self.new_node();
        let mut targets: Vec<NodeId> = vec![end; labels.len()];
        for i in (0..labels.len()).rev() {
            targets[i] = match bodies[i] {
                Some(_) => self.new_node(),
                None => targets.get(i + 1).copied().unwrap_or(end),
            };
        }
        let mut seen = rustc_hash::FxHashSet::default();
        let (mut cases, mut otherwise) = (Vec::new(), end);
        for (label, target) in labels.iter().zip(&targets) {
            match label {
                Some(value) if seen.insert(value.clone()) => {
                    cases.push(SwitchCase { value: value.clone(), target: *target });
                }
                Some(_) => {}
                None => otherwise = *target,
            }
        }
        self.terminate(TerminatorKind::Switch { subject, cases, otherwise }, span);
        for (body, target) in bodies.iter().zip(&targets) {
            if let Some(block) = body {
                self.continue_at(*target);
                self.atomic(&block.annotations, |body| body.statements(&block.stmts));
                self.goto(end, span);
            }
        }
        self.continue_at(end);
    }

    // -- loops ----------------------------------------------------------------------------------

    /// Leaves the current node at the end of the body, which goes on to `on_continue`.
    fn loop_body(&mut self, body: &'p Stmt, targets: Loop, span: Span) {
        self.loops.push(targets);
        self.statement(body);
        self.loops.pop();
        self.goto(targets.on_continue, span);
    }

    fn loop_variable(&mut self, var: VarId) -> Option<(Place, Type)> {
        let Some(Binding::Place(place)) = self.names.lookup(var).cloned() else { return None };
        let ty = self.e.out.place_type(&place)?;
        Some((place, ty))
    }

    /// `for (T x in lo..hi)`: both ends inclusive; the count does not run over at the last value of the type.
    fn for_in_range(&mut self, var: VarId, lo: &Checked, hi: &Checked, body: &'p Stmt, span: Span) {
        let Some((place, ty)) = self.loop_variable(var) else { return };
        let (lo, hi) = self.operands(lo, hi);
        let (lo, hi) = (self.fit(lo, &ty, span), self.fit(hi, &ty, span));
        let Some(width) = ty.width_bits() else { return };
        let count = self.temporary(ty.clone(), span);
        let read = Expr::read(count.clone(), ty.clone());
        let last = if hi.as_const().is_some() { hi } else { self.save(hi, span) };
        self.assign(count.clone(), lo, span);
        let (head, next, step, end) = (self.new_node(), self.new_node(), self.new_node(), self.new_node());
        let some = Expr::binary(ir::BinaryOp::Le, read.clone(), last.clone(), Type::Bool);
        self.terminate(TerminatorKind::Branch { condition: some, then: head, otherwise: end }, span);
        self.continue_at(head);
        self.assign(place, read.clone(), span);
        self.loop_body(body, Loop { on_break: end, on_continue: next }, span);
        self.continue_at(next);
        let done = read.clone().equals(last);
        self.terminate(TerminatorKind::Branch { condition: done, then: end, otherwise: step }, span);
        self.continue_at(step);
        let one = Expr::new(ir::ExprKind::Const(Bits::new(width, 1)), ty.clone());
        self.assign(count, Expr::binary(ir::BinaryOp::Add, read, one, ty), span);
        self.goto(head, span);
        self.continue_at(end);
    }

    /// `for (T x in elements)`: over the elements as they are when the loop begins.
    fn for_in_elements(&mut self, var: VarId, e: &Checked, body: &'p Stmt, span: Span) {
        let Some((place, ty)) = self.loop_variable(var) else { return };
        let Some((elements, element, size)) = self.elements(e, &ty) else { return };
        if size == 0 {
            return;
        }
        let index = self.temporary(Type::Bit(INDEX_BITS), span);
        let read = Expr::read(index.clone(), Type::Bit(INDEX_BITS));
        self.assign(index.clone(), Expr::bit(INDEX_BITS, 0), span);
        let (head, next, end) = (self.new_node(), self.new_node(), self.new_node());
        self.goto(head, span);
        self.continue_at(head);
        let value = Expr::read(elements.then(Step::Index(Box::new(read.clone()))), element);
        let value = self.fit(value, &ty, span);
        self.assign(place, value, span);
        self.loop_body(body, Loop { on_break: end, on_continue: next }, span);
        self.continue_at(next);
        let one = Expr::bit(INDEX_BITS, 1);
        self.assign(index, Expr::binary(ir::BinaryOp::Add, read.clone(), one, Type::Bit(INDEX_BITS)), span);
        let more = Expr::binary(ir::BinaryOp::Lt, read, Expr::bit(INDEX_BITS, u128::from(size)), Type::Bool);
        self.terminate(TerminatorKind::Branch { condition: more, then: head, otherwise: end }, span);
        self.continue_at(end);
    }

    /// A copy of what a loop goes over: where, elements of which type, how many.
    fn elements(&mut self, e: &Checked, element: &Type) -> Option<(Place, Type, u32)> {
        let array = |n: usize| {
            u32::try_from(n).ok().map(|size| Type::Array { element: Box::new(element.clone()), size })
        };
        let ty = match self.ty(e.ty) {
            // Lists have no length in their type.
            Type::Array { size: 0, .. } => match (self.constant(e), unwrapped(e)) {
                (Some(Value::Aggregate(items)), _) => array(items.len())?,
                (_, ExprKind::List(items)) => array(items.len())?,
                _ => return None,
            },
            ty => ty,
        };
        let (element, size) = match &ty {
            Type::Stack { element, size } => (Type::Struct(*element), *size),
            Type::Array { element, size } => ((**element).clone(), *size),
            _ => return None,
        };
        let copy = self.temporary(ty.clone(), e.span);
        self.assign_expr(&copy, &ty, e);
        Some((copy, element, size))
    }
}

/// The expression without casts around it.
fn unwrapped(e: &Checked) -> &ExprKind {
    let mut e = e;
    while let ExprKind::Cast { operand, .. } = &e.kind {
        e = operand;
    }
    &e.kind
}
