//! Expressions as operations.

use super::build::Builder;
use super::operations::{Kind, OperationId};
use diagnostics::Span;
use ir::{BinaryOp, Bits, Expr, ExprKind, UnaryOp};

impl Builder<'_> {
    /// Returns the operations that an expression's value depends on; none for constants.
    pub(super) fn value(&mut self, expr: &Expr, span: Span) -> Vec<OperationId> {
        match &expr.kind {
            ExprKind::Const(_) => Vec::new(),
            ExprKind::PacketLength => vec![self.field_named("packet length", span)],
            ExprKind::Read(place) => self.read_place(place, span),
            ExprKind::Cast(e) | ExprKind::Slice { value: e, .. } => self.value(e, span),
            ExprKind::Unary(UnaryOp::Not | UnaryOp::Complement, e) => self.value(e, span),
            ExprKind::Unary(UnaryOp::Negate, e) => {
                let operands = self.value(e, span);
                self.operation(Kind::Add, width(expr), operands, span)
            }
            ExprKind::SliceAt { value, lo } => {
                let operands = self.values(&[value, lo], span);
                self.operation(Kind::Shift, width(value), operands, span)
            }
            ExprKind::Mux(condition, then, otherwise) => {
                let operands = self.values(&[condition, then, otherwise], span);
                self.operation(Kind::Select, width(expr), operands, span)
            }
            ExprKind::Binary(op, lhs, rhs) => {
                let operands = self.values(&[lhs, rhs], span);
                match kind_of(*op, lhs, rhs) {
                    Kind::Wire => operands,
                    kind => self.operation(kind, width(lhs).max(width(expr)), operands, span),
                }
            }
        }
    }

    pub(super) fn values(&mut self, exprs: &[&Expr], span: Span) -> Vec<OperationId> {
        let mut all: Vec<_> = exprs.iter().flat_map(|expr| self.value(expr, span)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Adds an operation, unless all operands are constant.
    fn operation(
        &mut self,
        kind: Kind,
        width_bits: u32,
        operands: Vec<OperationId>,
        span: Span,
    ) -> Vec<OperationId> {
        if operands.is_empty() {
            return operands;
        }
        let cycles = self.costs.of_width(self.cycles_of(kind), width_bits);
        vec![self.add(kind, cycles, operands, span)]
    }

    pub(super) fn cycles_of(&self, kind: Kind) -> u32 {
        let costs = &self.costs;
        match kind {
            Kind::Field | Kind::Wire => 0,
            Kind::Add => costs.add,
            Kind::Compare => costs.compare,
            Kind::Logic => costs.logic,
            Kind::Select => costs.select,
            Kind::Shift => costs.shift,
            Kind::Multiply => costs.multiply,
            Kind::Divide => costs.divide,
            Kind::Hash => costs.hash,
            Kind::Random => costs.random,
            Kind::Table(_) => costs.table,
            Kind::Call => costs.call,
            Kind::Read(_) => costs.memory_read,
            Kind::Write(_) => costs.memory_write,
            Kind::Update(_) => costs.counter,
        }
    }
}

fn width(expr: &Expr) -> u32 {
    expr.ty.width_bits().unwrap_or(1)
}

fn kind_of(op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Kind {
    let is_constant = |expr: &Expr| expr.as_const().is_some();
    let is_power = |expr: &Expr| expr.as_const().is_some_and(is_power_of_two);
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::SatAdd | BinaryOp::SatSub => Kind::Add,
        BinaryOp::Mul if is_power(lhs) || is_power(rhs) => Kind::Wire,
        BinaryOp::Mul => Kind::Multiply,
        BinaryOp::Div | BinaryOp::Mod if is_power(rhs) => Kind::Wire,
        BinaryOp::Div | BinaryOp::Mod => Kind::Divide,
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::And | BinaryOp::Or
            if is_constant(lhs) || is_constant(rhs) =>
        {
            Kind::Wire
        }
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::And | BinaryOp::Or => Kind::Logic,
        BinaryOp::Shl | BinaryOp::Shr if is_constant(rhs) => Kind::Wire,
        BinaryOp::Shl | BinaryOp::Shr => Kind::Shift,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            Kind::Compare
        }
        BinaryOp::Concat => Kind::Wire,
    }
}

fn is_power_of_two(bits: &Bits) -> bool {
    (0..bits.width()).filter(|at| bits.bit(*at)).count() == 1
}
