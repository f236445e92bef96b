//! Indices and bit slices.

use crate::checker::Checker;
use crate::codes;
use crate::expr::field_value;
use crate::fold::{self, IntShape};
use crate::program::*;
use crate::type_expr::short;
use crate::types::{TyKind, Types};
use crate::value::Value;
use diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use std::rc::Rc;
use syntax::ast;

impl Checker<'_> {
    pub fn index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
        let base = self.expr(base);
        let index = self.expr(index);
        if self.is_error(base.ty) || self.is_error(index.ty) {
            return Expr::error(span);
        }
        let plain = self.strip_enum(index.ty);
        if !(self.is_fixed_int(plain) || plain == Types::INT) {
            let shown = self.quote(index.ty);
            self.report(
                Diagnostic::new(
                    &codes::INVALID_INDEX,
                    index.span,
                    format!("an index must be an integer, not {shown}"),
                )
                .label("expected an integer"),
            );
            return Expr::error(span);
        }
        match self.kind(base.ty).clone() {
            TyKind::Array(element, size) => {
                if let Some(v) = index.int_value() {
                    // An array without elements is accepted by the reference compiler, and so is its first element.
                    let lax = size == 0 && !self.options.strict && !v.is_negative();
                    if !lax && (v.is_negative() || *v >= BigInt::from(size)) {
                        let v = short(v);
                        self.report(
                            Diagnostic::new(
                                &codes::INVALID_INDEX,
                                index.span,
                                format!("index {v} is outside the array"),
                            )
                            .label(format!("index is {v}"))
                            .also(base.span, format!("has {size} elements"))
                            .help(match size {
                                0 => "the array has no elements".to_string(),
                                n => format!("use an index from 0 to {}", n - 1),
                            }),
                        );
                        return Expr::error(span);
                    }
                } else if plain == Types::INT && !index.is_compile_time {
                    self.error(&codes::INVALID_INDEX, index.span, "an index must have a fixed width");
                    return Expr::error(span);
                }
                let (ct, lv) = (base.is_compile_time && index.is_compile_time, base.is_lvalue);
                let value = match (base.value.as_deref(), index.int_value().and_then(|v| v.to_usize())) {
                    (Some(Value::Aggregate(items)), Some(i)) => items.get(i).cloned(),
                    _ => None,
                };
                let mut e = Expr::new(
                    ExprKind::Index { base: Box::new(base), index: Box::new(index) },
                    element,
                    span,
                );
                e.is_compile_time = ct;
                e.is_lvalue = lv;
                e.value = value.map(Rc::new);
                e
            }
            TyKind::Tuple(items) | TyKind::ListLiteral(items) => {
                let Some(v) = index.int_value() else {
                    self.report(
                        Diagnostic::new(
                            &codes::INVALID_INDEX,
                            index.span,
                            "the index of a tuple must be known at compile time",
                        )
                        .label("not a constant")
                        .note("elements of a tuple may differ in type"),
                    );
                    return Expr::error(span);
                };
                match v.to_usize().filter(|i| *i < items.len()) {
                    Some(i) => {
                        // Elements of tuples are no l-values (P4-16, "Operations on tuple expressions").
                        let (ct, lv) = (base.is_compile_time, base.is_lvalue && !self.options.strict);
                        let value = base.value.as_deref().and_then(|v| field_value(v, i as u32));
                        let mut e = Expr::new(
                            ExprKind::TupleElement { base: Box::new(base), index: i as u32 },
                            items[i],
                            span,
                        );
                        e.is_compile_time = ct;
                        e.is_lvalue = lv;
                        e.value = value.map(Rc::new);
                        e
                    }
                    None => {
                        let v = short(v);
                        self.report(
                            Diagnostic::new(
                                &codes::INVALID_INDEX,
                                index.span,
                                format!("index {v} is outside the tuple"),
                            )
                            .label(format!("index is {v}"))
                            .also(base.span, format!("has {} elements", items.len())),
                        );
                        Expr::error(span)
                    }
                }
            }
            _ => {
                let shown = self.quote(base.ty);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_INDEX,
                        span,
                        format!("a value of type {shown} cannot be indexed"),
                    )
                    .label("neither array nor tuple")
                    .also(base.span, format!("this is of type {shown}"))
                    .help("for bits of an integer write a slice: `x[hi:lo]`"),
                );
                Expr::error(span)
            }
        }
    }

    /// The width of a value whose bits can be selected.
    pub fn sliceable(&mut self, base: &Expr) -> Option<u32> {
        match self.kind(self.strip_enum(base.ty)) {
            TyKind::Bit(w) | TyKind::Signed(w) => Some(*w),
            TyKind::Error => None,
            // Constants without width are as wide as the slice needs (working draft, "Operations on
            // arbitrary-precision integers").
            TyKind::Int if base.value.is_some() => Some(crate::type_expr::WIDTH_MAX),
            _ => {
                let shown = self.quote(base.ty);
                let mut d = Diagnostic::new(
                    &codes::INVALID_SLICE,
                    base.span,
                    format!("bits cannot be selected from a value of type {shown}"),
                )
                .label("only bit<W> and int<W> have bit slices");
                if base.ty == Types::INT {
                    d = d.help("give the literal a width, as in `8w5`");
                }
                self.report(d);
                None
            }
        }
    }

    pub fn bit_index(&mut self, e: &ast::Expr, width: u32) -> Option<u32> {
        let value = self.const_int(e, &codes::INVALID_SLICE, "a bit index")?;
        match value.to_u32().filter(|v| *v < width) {
            Some(v) => Some(v),
            None => {
                let v = short(&value);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_SLICE,
                        e.span,
                        format!("bit {v} does not exist in a value of {width} bits"),
                    )
                    .label(format!("index is {v}"))
                    .note(match width {
                        0 => "the value has no bits".to_string(),
                        w => format!("bits are numbered from {} (leftmost) to 0", w - 1),
                    }),
                );
                None
            }
        }
    }

    pub fn slice(&mut self, base: &ast::Expr, hi: &ast::Expr, lo: &ast::Expr, span: Span) -> Expr {
        let base = self.expr(base);
        let Some(width) = self.sliceable(&base) else { return Expr::error(span) };
        let Some(h) = self.bit_index(hi, width) else { return Expr::error(span) };
        let Some(l) = self.bit_index(lo, width) else { return Expr::error(span) };
        if l > h {
            self.report(
                Diagnostic::new(
                    &codes::INVALID_SLICE,
                    span,
                    format!("slice [{h}:{l}] has its bounds in the wrong order"),
                )
                .label("the upper bit comes first")
                .fix("exchange them", hi.span.to(lo.span), format!("{l}:{h}")),
            );
            return Expr::error(span);
        }
        let ty = self.p.types.bit(h - l + 1);
        let (ct, lv) = (base.is_compile_time, base.is_lvalue);
        let value = base.int_value().map(|v| fold::slice(v, width, h, l));
        let mut e = Expr::new(ExprKind::Slice { base: Box::new(base), hi: h, lo: l }, ty, span);
        e.is_compile_time = ct;
        e.is_lvalue = lv;
        e.value = value.map(|v| Rc::new(Value::Int(v)));
        e
    }

    pub fn plus_slice(&mut self, base: &ast::Expr, lo: &ast::Expr, width: &ast::Expr, span: Span) -> Expr {
        let base = self.expr(base);
        let Some(base_width) = self.sliceable(&base) else { return Expr::error(span) };
        let lo_e = self.expr(lo);
        let w = self.const_int(width, &codes::INVALID_SLICE, "the width of a slice");
        let lo_plain = self.strip_enum(lo_e.ty);
        if self.is_error(lo_e.ty) {
            return Expr::error(span);
        }
        let is_unsigned = matches!(self.kind(lo_plain), TyKind::Bit(_)) || lo_plain == Types::INT;
        let is_signed_const = matches!(self.kind(lo_plain), TyKind::Signed(_)) && lo_e.value.is_some();
        if !is_unsigned && !is_signed_const {
            let shown = self.quote(lo_e.ty);
            self.report(
                Diagnostic::new(
                    &codes::INVALID_SLICE,
                    lo_e.span,
                    format!("the start of a slice must be an unsigned integer, not {shown}"),
                )
                .label("expected bit<W>"),
            );
            return Expr::error(span);
        }
        if let Some(v) = lo_e.int_value()
            && (v.is_negative() || *v >= BigInt::from(base_width))
        {
            let v = short(v);
            self.report(
                Diagnostic::new(
                    &codes::INVALID_SLICE,
                    lo_e.span,
                    format!("bit {v} does not exist in a value of {base_width} bits"),
                )
                .label(format!("index is {v}")),
            );
            return Expr::error(span);
        }
        let Some(w) = w else { return Expr::error(span) };
        let Some(w) = w.to_u32().filter(|w| *w <= crate::type_expr::WIDTH_MAX) else {
            self.report(
                Diagnostic::new(
                    &codes::INVALID_SLICE,
                    width.span,
                    "the width of a slice must be a positive number",
                )
                .label(format!("width is {}", short(&w))),
            );
            return Expr::error(span);
        };
        let ty = self.p.types.bit(w);
        let (ct, lv) = (base.is_compile_time && lo_e.is_compile_time, base.is_lvalue);
        let value = match (base.int_value(), lo_e.int_value().and_then(|l| l.to_u32())) {
            (Some(v), Some(l)) => {
                Some(fold::wrap(&(fold::to_bits(v, base_width) >> l), IntShape::Unsigned(w)))
            }
            _ => None,
        };
        let mut e =
            Expr::new(ExprKind::PlusSlice { base: Box::new(base), lo: Box::new(lo_e), width: w }, ty, span);
        e.is_compile_time = ct;
        e.is_lvalue = lv;
        e.value = value.map(|v| Rc::new(Value::Int(v)));
        e
    }
}
