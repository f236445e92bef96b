//! Expressions and places.

use super::{Code, Validator};
use crate::lookup::get;
use crate::{BinaryOp, Expr, ExprKind, Place, Step, Type, UnaryOp};

/// A number: `bit<W>` or `int<W>`.
pub(super) fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Bit(_) | Type::Int(_))
}

/// A single value: a bit string of fixed width or a `varbit`.
pub(super) fn is_single(ty: &Type) -> bool {
    ty.width_bits().is_some() || matches!(ty, Type::Varbit(_))
}

impl<'p> Validator<'p> {
    /// Reports what is wrong in a place; its type if it has one.
    pub(super) fn place(&mut self, place: &Place, code: Code<'p>) -> Option<Type> {
        let Some(variable) = get(&self.program.variables, place.var) else {
            self.report("the variable does not exist");
            return None;
        };
        if !self.program.is_visible(place.var, code.block()) {
            self.report(format!("`{}` belongs to another block", self.printer.variable(place.var)));
        }
        let mut ty = variable.ty.clone();
        for (i, step) in place.path.iter().enumerate() {
            let is_last = i + 1 == place.path.len();
            match step {
                Step::Index(e) => {
                    self.expr(e, code);
                    self.require(is_number(&e.ty), "an index is no number");
                }
                Step::SliceAt { lo, .. } => {
                    self.expr(lo, code);
                    self.require(is_number(&lo.ty), "the place of a slice is no number");
                }
                Step::Field(_) | Step::Element(_) | Step::Valid | Step::NextIndex | Step::Slice { .. } => {}
            }
            let ends = match step {
                Step::Valid | Step::NextIndex | Step::Slice { .. } | Step::SliceAt { .. } => true,
                Step::Field(_) | Step::Element(_) | Step::Index(_) => false,
            };
            let inner = self.program.step_type(&ty, step);
            match inner {
                Some(inner) if is_last || !ends => ty = inner,
                Some(_) | None => {
                    let text = self.printer.place(place);
                    self.report(format!("there is no `{text}`: step {} does not fit", i + 1));
                    return None;
                }
            }
        }
        Some(ty)
    }

    /// Requires that the expression has the type that it states, and that this is the wanted type.
    pub(super) fn expr_of(&mut self, expr: &Expr, ty: &Type, what: &str, code: Code<'p>) {
        self.expr(expr, code);
        if expr.ty != *ty {
            let (found, wanted) = (self.printer.ty(&expr.ty), self.printer.ty(ty));
            self.report(format!("{what} is `{found}`, not `{wanted}`"));
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr, code: Code<'p>) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_here(expr, code));
    }

    fn expr_here(&mut self, expr: &Expr, code: Code<'p>) {
        let fits = match &expr.kind {
            ExprKind::Const(value) => {
                expr.ty.width_bits() == Some(value.width())
                    && match &expr.ty {
                        Type::Error => value.to_u64().is_some_and(|i| i < self.program.errors.len() as u64),
                        Type::Enum(id) => get(&self.program.enums, *id)
                            .is_some_and(|e| value.to_u64().is_some_and(|i| i < e.members.len() as u64)),
                        _ => true,
                    }
            }
            ExprKind::Read(place) => match self.place(place, code) {
                Some(ty) => ty == expr.ty,
                None => true,
            },
            ExprKind::Unary(op, operand) => {
                self.expr(operand, code);
                operand.ty == expr.ty
                    && match op {
                        UnaryOp::Not => operand.ty == Type::Bool,
                        UnaryOp::Complement | UnaryOp::Negate => is_number(&operand.ty),
                    }
            }
            ExprKind::Binary(op, lhs, rhs) => {
                self.expr(lhs, code);
                self.expr(rhs, code);
                self.program.natural_type(expr).as_ref() == Some(&expr.ty)
                    && operands_fit(*op, &lhs.ty, &rhs.ty)
            }
            ExprKind::Mux(condition, then, otherwise) => {
                self.expr(condition, code);
                self.expr(then, code);
                self.expr(otherwise, code);
                condition.ty == Type::Bool && then.ty == expr.ty && otherwise.ty == expr.ty
            }
            ExprKind::Cast(operand) => {
                self.expr(operand, code);
                match (&operand.ty, &expr.ty) {
                    (Type::Bool, Type::Bit(1)) | (Type::Bit(1), Type::Bool) => true,
                    (a, b) => a == b && is_single(a) || is_number(a) && is_number(b),
                }
            }
            ExprKind::Slice { value, lo } => {
                self.expr(value, code);
                match (&value.ty, &expr.ty) {
                    (Type::Bit(w) | Type::Int(w), Type::Bit(n)) => {
                        lo.checked_add(*n).is_some_and(|end| end <= *w)
                    }
                    _ => false,
                }
            }
            ExprKind::SliceAt { value, lo } => {
                self.expr(value, code);
                self.expr(lo, code);
                is_number(&value.ty) && is_number(&lo.ty) && matches!(expr.ty, Type::Bit(_))
            }
            ExprKind::PacketLength => expr.ty == Type::Bit(32),
        };
        if !fits {
            let (text, ty) = (self.printer.expr(expr), self.printer.ty(&expr.ty));
            self.report(format!("`{text}` cannot be `{ty}`"));
        }
    }
}

fn operands_fit(op: BinaryOp, lhs: &Type, rhs: &Type) -> bool {
    match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::SatAdd
        | BinaryOp::SatSub
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge => lhs == rhs && is_number(lhs),
        BinaryOp::Div | BinaryOp::Mod => lhs == rhs && matches!(lhs, Type::Bit(_)),
        BinaryOp::Shl | BinaryOp::Shr => is_number(lhs) && matches!(rhs, Type::Bit(_)),
        BinaryOp::Eq | BinaryOp::Ne => lhs == rhs && is_single(lhs),
        BinaryOp::And | BinaryOp::Or => *lhs == Type::Bool && *rhs == Type::Bool,
        BinaryOp::Concat => is_number(lhs) && is_number(rhs),
    }
}
