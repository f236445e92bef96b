//! Expressions: from left to right, with what changes something written out as statements.

use crate::body::Body;
use crate::names::Binding;
use crate::place::Indices;
use check::program::{
    ApplyMember, BinaryOp, Builtin, Callee, Expr as Checked, ExprKind, StackMember, UnaryOp,
};
use check::types::Types;
use diagnostics::Span;
use ir::types::INDEX_BITS;
use ir::{Bits, Expr, Place, Type};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

impl Body<'_, '_> {
    /// The value of an expression. Statements that it needs go to the current node; what is given back is valid
    /// until something else is executed, see [`Body::save`]. Aggregates are reads of places.
    pub fn expr(&mut self, e: &Checked) -> Expr {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_inner(e))
    }

    fn expr_inner(&mut self, e: &Checked) -> Expr {
        let ty = self.ty(e.ty);
        if ty.width_bits().is_some()
            && let Some(value) = self.constant(e)
        {
            let known = self.e.const_expr(&value, &ty, e.ty == Types::INT);
            return known.unwrap_or_else(|| self.nothing(&ty, e.span));
        }
        match &e.kind {
            ExprKind::Var(var) => match self.names.lookup(*var) {
                Some(Binding::Place(place)) => {
                    let place = place.clone();
                    let ty = self.e.out.place_type(&place).unwrap_or(ty);
                    Expr::read(place, ty)
                }
                // A compile-time value that is not an aggregate is a constant: nothing has to be read.
                Some(Binding::Value(value)) => {
                    let value = value.clone();
                    let place = self.temporary(ty.clone(), e.span);
                    self.assign_value(&place, &ty, &value, e.span);
                    Expr::read(place, ty)
                }
                // Constructor parameters; objects.
                Some(Binding::Packet) | None => self.known_aggregate(e, ty),
            },
            ExprKind::ConstRef(id) => {
                let p = self.e.p;
                self.expr(&p.constants[*id].init)
            }
            ExprKind::Field { .. } | ExprKind::TupleElement { .. } | ExprKind::Index { .. } => {
                let place = self.place(e, Indices::AsTheyAre);
                self.read_place(place, ty)
            }
            ExprKind::Stack { base, member } => match member {
                StackMember::Next | StackMember::Last => {
                    let place = self.place(e, Indices::AsTheyAre);
                    self.read_place(place, ty)
                }
                StackMember::LastIndex => {
                    let stack = self.place(base, Indices::AsTheyAre);
                    let next = Expr::read(stack.next_index(), Type::Bit(INDEX_BITS));
                    let one = Expr::bit(INDEX_BITS, 1);
                    Expr::binary(ir::BinaryOp::Sub, next, one, Type::Bit(INDEX_BITS))
                }
                StackMember::Size => Expr::bit(INDEX_BITS, 0),
            },
            ExprKind::Slice { base, hi: _, lo } => {
                let base = self.expr(base);
                slice(base, *lo, &ty)
            }
            ExprKind::PlusSlice { base, lo, width: _ } => {
                let (base, lo) = self.operands(base, lo);
                slice_at(base, lo, &ty)
            }
            ExprKind::Unary { op, operand } => {
                let operand = self.expr(operand);
                match op {
                    UnaryOp::Not => operand.negated(),
                    UnaryOp::Complement => Expr::unary(ir::UnaryOp::Complement, operand),
                    UnaryOp::Neg => Expr::unary(ir::UnaryOp::Negate, operand),
                    UnaryOp::Plus => operand,
                }
            }
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs, &ty, e.span),
            ExprKind::Conditional { condition, then, otherwise } => {
                match self.constant(condition).and_then(|v| v.as_bool()) {
                    Some(true) => self.expr(then),
                    Some(false) => self.expr(otherwise),
                    None => self.conditional(condition, then, otherwise, ty, e.span),
                }
            }
            ExprKind::Cast { operand, .. } => {
                let value = self.expr(operand);
                self.fit(value, &ty, e.span)
            }
            ExprKind::List(_)
            | ExprKind::Struct(_)
            | ExprKind::StructLiteral { .. }
            | ExprKind::DefaultValue
            | ExprKind::InvalidHeader => self.literal(e, ty),
            ExprKind::Call(call) => {
                let result = self.call(e, call);
                result.unwrap_or_else(|| self.nothing(&ty, e.span))
            }
            ExprKind::ApplyResult { apply, member } => self.apply_result(apply, *member, e.span),
            ExprKind::Const
            | ExprKind::Instance(_)
            | ExprKind::ValueSet(_)
            | ExprKind::Table(_)
            | ExprKind::Action(_)
            | ExprKind::This
            | ExprKind::TypeName
            | ExprKind::Dots
            | ExprKind::Default
            | ExprKind::DontCare
            | ExprKind::Mask { .. }
            | ExprKind::Range { .. }
            | ExprKind::Error => self.known_aggregate(e, ty),
        }
    }

    fn read_place(&mut self, place: Place, ty: Type) -> Expr {
        let ty = self.e.out.place_type(&place).unwrap_or(ty);
        Expr::read(place, ty)
    }

    /// A value where the program has none to speak of (objects, `void`).
    fn nothing(&mut self, ty: &Type, span: Span) -> Expr {
        match ty.width_bits() {
            Some(width) => Expr::new(ir::ExprKind::Const(Bits::zero(width)), ty.clone()),
            None => self.zero(ty, span),
        }
    }

    /// An aggregate that has no place of its own.
    fn literal(&mut self, e: &Checked, ty: Type) -> Expr {
        if ty.width_bits().is_some() {
            return self.nothing(&ty, e.span);
        }
        let place = self.temporary(ty.clone(), e.span);
        self.assign_expr(&place, &ty, e);
        Expr::read(place, ty)
    }

    fn known_aggregate(&mut self, e: &Checked, ty: Type) -> Expr {
        match self.constant(e) {
            Some(value) if ty.width_bits().is_none() => {
                let place = self.temporary(ty.clone(), e.span);
                self.assign_value(&place, &ty, &value, e.span);
                Expr::read(place, ty)
            }
            _ => self.nothing(&ty, e.span),
        }
    }

    /// Both operands, the left one saved when the right one can change it (P4-16, "Expression evaluation order").
    pub fn operands(&mut self, lhs: &Checked, rhs: &Checked) -> (Expr, Expr) {
        let mut l = self.expr(lhs);
        if self.changes(rhs) && l.as_const().is_none() {
            l = self.save(l, lhs.span);
        }
        (l, self.expr(rhs))
    }

    fn binary(&mut self, op: BinaryOp, lhs: &Checked, rhs: &Checked, ty: &Type, span: Span) -> Expr {
        match op {
            BinaryOp::And | BinaryOp::Or => self.logical(op, lhs, rhs, span),
            BinaryOp::Eq | BinaryOp::Ne => {
                let (l, r) = self.operands(lhs, rhs);
                let equal = self.equality(l, r, span);
                if op == BinaryOp::Eq { equal } else { not(equal) }
            }
            BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Mod
            | BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::AddSat
            | BinaryOp::SubSat
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::BitAnd
            | BinaryOp::BitXor
            | BinaryOp::BitOr
            | BinaryOp::Concat
            | BinaryOp::Mask
            | BinaryOp::Range => {
                let (l, r) = self.operands(lhs, rhs);
                self.operation(op, l, r, ty, span)
            }
        }
    }

    /// Writes `&&` or `||`. The right operand is evaluated only where the left one does not decide.
    fn logical(&mut self, op: BinaryOp, lhs: &Checked, rhs: &Checked, span: Span) -> Expr {
        let is_or = op == BinaryOp::Or;
        if let Some(known) = self.constant(lhs).and_then(|v| v.as_bool()) {
            return if known == is_or { Expr::bool(known) } else { self.expr(rhs) };
        }
        let l = self.expr(lhs);
        if !self.needs_statements(rhs) {
            let r = self.expr(rhs);
            return if is_or { l.or(r) } else { l.and(r) };
        }
        let result = self.temporary(Type::Bool, span);
        self.assign(result.clone(), l, span);
        let (on_true, on_false) = self.branch(Expr::read(result.clone(), Type::Bool), span);
        let (evaluate, end) = if is_or { (on_false, on_true) } else { (on_true, on_false) };
        self.continue_at(evaluate);
        let r = self.expr(rhs);
        self.assign(result.clone(), r, span);
        self.goto(end, span);
        self.continue_at(end);
        Expr::read(result, Type::Bool)
    }

    fn conditional(
        &mut self,
        condition: &Checked,
        then: &Checked,
        otherwise: &Checked,
        ty: Type,
        span: Span,
    ) -> Expr {
        let c = self.expr(condition);
        let is_plain =
            ty.width_bits().is_some() && !self.needs_statements(then) && !self.needs_statements(otherwise);
        if is_plain {
            let (a, b) = (self.expr(then), self.expr(otherwise));
            let (a, b) = (self.fit(a, &ty, span), self.fit(b, &ty, span));
            return Expr::new(ir::ExprKind::Mux(Box::new(c), Box::new(a), Box::new(b)), ty);
        }
        let result = self.temporary(ty.clone(), span);
        let (on_true, on_false) = self.branch(c, span);
        let end = self.new_node();
        for (node, value) in [(on_true, then), (on_false, otherwise)] {
            self.continue_at(node);
            self.assign_expr(&result, &ty, value);
            self.goto(end, span);
        }
        self.continue_at(end);
        Expr::read(result, ty)
    }

    /// The value of `t.apply().hit` or `.miss`; `.action_run` occurs as the subject of a `switch` only.
    fn apply_result(&mut self, apply: &Checked, member: ApplyMember, span: Span) -> Expr {
        let ExprKind::Call(call) = &apply.kind else { return Expr::bool(false) };
        let Callee::TableApply(table) = call.callee else { return Expr::bool(false) };
        match member {
            ApplyMember::Hit | ApplyMember::Miss => {
                let hit = self.temporary(Type::Bool, span);
                self.apply_table(table, Some(hit.clone()), None, span);
                let hit = Expr::read(hit, Type::Bool);
                if member == ApplyMember::Hit { hit } else { hit.negated() }
            }
            ApplyMember::ActionRun => {
                let action = self.temporary(Type::Bit(INDEX_BITS), span);
                self.apply_table(table, None, Some(action.clone()), span);
                Expr::read(action, Type::Bit(INDEX_BITS))
            }
        }
    }

    /// True when evaluating the expression may change what other expressions read.
    pub fn changes(&self, e: &Checked) -> bool {
        self.any_call(e, &|body, callee| match callee {
            Callee::Builtin { method, .. } => !is_read_only(*method),
            Callee::Method { object, method, extern_ } => {
                let name = &body.e.p.externs[*extern_].methods[*method as usize].name;
                !(body.e.is_packet(object.ty) && matches!(name.as_str(), "lookahead" | "length")
                    || body.e.reads_register(*extern_, *method))
            }
            Callee::Function(_)
            | Callee::Action(_)
            | Callee::TableApply(_)
            | Callee::BlockApply { .. }
            | Callee::Constructor { .. } => true,
        })
    }

    /// True when the expression must not be evaluated where the program does not: it changes something, or can
    /// fail.
    fn needs_statements(&self, e: &Checked) -> bool {
        let mut found = false;
        e.walk(&mut |e| {
            found |= matches!(&e.kind, ExprKind::Stack { member: StackMember::Next | StackMember::Last, .. });
        });
        found
            || self.any_call(e, &|body, callee| match callee {
                Callee::Builtin { method, .. } => !is_read_only(*method),
                Callee::Method { extern_, method, .. } => !body.e.reads_register(*extern_, *method),
                Callee::Function(_)
                | Callee::Action(_)
                | Callee::TableApply(_)
                | Callee::BlockApply { .. }
                | Callee::Constructor { .. } => true,
            })
    }

    fn any_call(&self, e: &Checked, test: &dyn Fn(&Self, &Callee) -> bool) -> bool {
        let mut found = false;
        e.walk(&mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                found |= e.value.is_none() && test(self, &call.callee);
            }
        });
        found
    }

    /// The value of an argument that counts elements.
    pub fn known_count(&self, e: &Checked) -> u32 {
        self.constant(e).and_then(|v| v.as_int().and_then(BigInt::to_u32)).unwrap_or(u32::MAX)
    }
}

fn is_read_only(method: Builtin) -> bool {
    match method {
        Builtin::IsValid
        | Builtin::MinSizeInBits
        | Builtin::MinSizeInBytes
        | Builtin::MaxSizeInBits
        | Builtin::MaxSizeInBytes => true,
        Builtin::SetValid | Builtin::SetInvalid | Builtin::PushFront | Builtin::PopFront => false,
    }
}

/// The negation of a condition. A double negation cancels.
pub fn not(e: Expr) -> Expr {
    match e.kind {
        ir::ExprKind::Unary(ir::UnaryOp::Not, inner) => *inner,
        ir::ExprKind::Const(bits) => Expr::bool(!bits.is_true()),
        kind => Expr::new(kind, e.ty).negated(),
    }
}

fn slice(value: Expr, lo: u32, ty: &Type) -> Expr {
    let (value, lo) = match value.kind {
        ir::ExprKind::Slice { value, lo: inner } => (value, lo + inner),
        kind => (Box::new(Expr::new(kind, value.ty)), lo),
    };
    Expr::new(ir::ExprKind::Slice { value, lo }, ty.clone())
}

fn slice_at(value: Expr, lo: Expr, ty: &Type) -> Expr {
    let known = lo.as_const().and_then(|b| b.to_u64()).and_then(|v| u32::try_from(v).ok());
    let (Some(width), Some(have)) = (ty.width_bits(), value.ty.width_bits()) else { return value };
    match known {
        Some(known) if known.checked_add(width).is_some_and(|end| end <= have) => slice(value, known, ty),
        _ => Expr::new(ir::ExprKind::SliceAt { value: Box::new(value), lo: Box::new(lo) }, ty.clone()),
    }
}
