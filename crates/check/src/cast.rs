//! Casts between base types and of literals.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::expr::collect_values;
use crate::fold::{self, IntShape};
use crate::program::*;
use crate::type_expr::short;
use crate::types::{Ty, TyKind, Types};
use crate::value::Value;
use diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use std::rc::Rc;
use syntax::ast;

impl Checker<'_> {
    pub fn cast(&mut self, t: &ast::Type, operand: &ast::Expr, span: Span) -> Expr {
        let ty = self.ty(t);
        let operand = self.expr(operand);
        if self.is_error(ty) || self.is_error(operand.ty) {
            return Expr::error(span);
        }
        let is_literal = matches!(
            self.kind(operand.ty),
            TyKind::ListLiteral(_) | TyKind::StructLiteral(_) | TyKind::InvalidHeader | TyKind::Dots
        );
        match self.kind(ty).clone() {
            TyKind::Struct(..) | TyKind::Array(..) if is_literal || operand.ty == ty => {
                self.coerce(operand, ty, &Role::Cast { span: t.span })
            }
            TyKind::List(element) if is_literal => {
                let ExprKind::List(items) = operand.kind else {
                    return self.illegal_cast(operand.ty, ty, operand.span, t.span);
                };
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    let item = self.coerce(item, element, &Role::Element);
                    if self.is_error(item.ty) {
                        return Expr::error(span);
                    }
                    list.push(item);
                }
                let ct = list.iter().all(|e| e.is_compile_time);
                let value = collect_values(list.iter());
                let mut e = Expr::new(ExprKind::List(list), ty, span).compile_time(ct);
                e.value = value.map(|v| Rc::new(Value::Aggregate(v)));
                e
            }
            TyKind::Bit(_)
            | TyKind::Signed(_)
            | TyKind::Bool
            | TyKind::Int
            | TyKind::Newtype(_)
            | TyKind::Enum(_)
                if self.can_cast(ty, operand.ty) =>
            {
                self.convert(operand, ty, false, span)
            }
            // The cast of a value to its own type changes nothing.
            TyKind::Error | TyKind::Var(_) | TyKind::Bool | TyKind::ErrorCode | TyKind::Tuple(_)
                if operand.ty == ty =>
            {
                self.convert(operand, ty, false, span)
            }
            _ => self.illegal_cast(operand.ty, ty, operand.span, t.span),
        }
    }

    pub fn illegal_cast(&mut self, from: Ty, to: Ty, span: Span, to_span: Span) -> Expr {
        let (f, t) = (self.quote(from), self.quote(to));
        let mut d =
            Diagnostic::new(&codes::INVALID_CAST, span, format!("a value of type {f} cannot be cast to {t}"))
                .label(format!("of type {f}"))
                .also(to_span, format!("to type {t}"));
        let widths = (self.kind(from).clone(), self.kind(to).clone());
        if let (TyKind::Bit(a), TyKind::Signed(b)) | (TyKind::Signed(a), TyKind::Bit(b)) = widths {
            let via = match widths.0 {
                TyKind::Bit(_) => format!("(int<{b}>)(bit<{b}>)"),
                _ => format!("(bit<{b}>)(int<{b}>)"),
            };
            d = d
                .note(format!("a cast changes either the width or the sign, not both ({a} to {b} bits)"))
                .help(format!("cast in two steps: `{via}`"));
        } else if let (_, TyKind::Bool) = (self.kind(from), self.kind(to)) {
            d = d.help("compare with 0 instead: `x != 0`");
        }
        self.report(d);
        Expr::error(span)
    }

    /// Explicit casts between base types (P4-16, "Explicit casts").
    pub fn can_cast(&self, to: Ty, from: Ty) -> bool {
        if to == from {
            return true;
        }
        match (self.kind(to), self.kind(from)) {
            (TyKind::Newtype(id), _) => {
                let under = self.p.newtypes[*id].underlying;
                under == from
                    || (from == Types::INT && self.is_fixed_int(self.strip_newtype(to)))
                    || (!self.options.strict && self.can_cast_through(under, from))
                    || matches!(self.kind(from), TyKind::Newtype(n) if self.p.newtypes[*n].underlying == to)
            }
            (_, TyKind::Newtype(id)) => self.can_cast_from_newtype(to, self.p.newtypes[*id].underlying),
            (TyKind::Bit(a), TyKind::Bit(b)) | (TyKind::Signed(a), TyKind::Signed(b)) => {
                let _ = (a, b);
                true
            }
            (TyKind::Bit(a), TyKind::Signed(b)) | (TyKind::Signed(a), TyKind::Bit(b)) => a == b,
            (TyKind::Bool, TyKind::Bit(1)) | (TyKind::Bit(1), TyKind::Bool) => true,
            (TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Bool | TyKind::Int, TyKind::Int) => true,
            (TyKind::Int, TyKind::Bit(_) | TyKind::Signed(_)) => true,
            (TyKind::Enum(d), TyKind::Enum(s)) => {
                let (d, s) = (self.p.enums[*d].underlying, self.p.enums[*s].underlying);
                d.is_some() && d == s
            }
            (TyKind::Enum(d), _) => match self.p.enums[*d].underlying {
                Some(under) => under == from || from == Types::INT,
                None => false,
            },
            (TyKind::Bit(_) | TyKind::Signed(_), TyKind::Enum(s)) => {
                self.p.enums[*s].underlying.is_some_and(|under| self.can_cast(to, under))
            }
            _ => false,
        }
    }

    /// A newtype over a newtype can be made from the innermost type's values.
    pub fn can_cast_through(&self, under: Ty, from: Ty) -> bool {
        matches!(self.kind(under), TyKind::Newtype(_)) && self.can_cast(under, from)
    }

    pub fn can_cast_from_newtype(&self, to: Ty, under: Ty) -> bool {
        to == under
            || (!self.options.strict
                && matches!(self.kind(under), TyKind::Newtype(id) if self.can_cast_from_newtype(to, self.p.newtypes[*id].underlying)))
    }

    /// Makes a cast node and converts the value.
    pub fn convert(&mut self, operand: Expr, to: Ty, is_implicit: bool, span: Span) -> Expr {
        let value = match operand.value.as_deref() {
            Some(v) => match self.cast_value(v, operand.ty, to, is_implicit, span) {
                Ok(v) => v,
                Err(()) => return Expr::error(span),
            },
            None => None,
        };
        let ct = operand.is_compile_time;
        let mut e =
            Expr::new(ExprKind::Cast { operand: Box::new(operand), is_implicit }, to, span).compile_time(ct);
        e.value = value.map(Rc::new);
        e
    }

    pub fn shape(&self, ty: Ty) -> Option<IntShape> {
        match self.kind(self.strip_enum(self.strip_newtype(ty))) {
            TyKind::Bit(w) => Some(IntShape::Unsigned(*w)),
            TyKind::Signed(w) => Some(IntShape::Signed(*w)),
            TyKind::Int => Some(IntShape::Unbounded),
            _ => None,
        }
    }

    pub fn cast_value(
        &mut self,
        v: &Value,
        from: Ty,
        to: Ty,
        is_implicit: bool,
        span: Span,
    ) -> Result<Option<Value>, ()> {
        let to_plain = self.strip_newtype(to);
        Ok(match v {
            Value::Int(i) if to_plain == Types::BOOL => {
                if *i == BigInt::from(0) || *i == BigInt::from(1) {
                    Some(Value::Bool(*i == BigInt::from(1)))
                } else {
                    let shown = short(i);
                    self.report(
                        Diagnostic::new(
                            &codes::INVALID_CAST,
                            span,
                            format!("{shown} cannot be cast to `bool`"),
                        )
                        .label("only 0 and 1 can")
                        .help("compare with 0 instead: `x != 0`"),
                    );
                    return Err(());
                }
            }
            Value::Int(i) => match self.shape(to) {
                Some(shape) => {
                    let is_literal = from == Types::INT;
                    let v = if is_literal && is_implicit {
                        let i = i.clone();
                        self.truncate(&i, shape, to, span)
                    } else {
                        fold::wrap(i, shape)
                    };
                    Some(Value::Int(v))
                }
                None => None,
            },
            Value::Bool(b) if matches!(self.kind(to_plain), TyKind::Bit(1)) => {
                Some(Value::Int(BigInt::from(u8::from(*b))))
            }
            other => Some(other.clone()),
        })
    }
}
