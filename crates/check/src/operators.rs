//! Unary, binary and conditional operators: where they are defined, and their values.
//!
//! P4-16, chapter "Expressions". Serializable enums stand for their underlying values in arithmetic.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::fold::{self, FoldError, IntShape};
use crate::program::*;
use crate::type_expr::short;
use crate::types::{Ty, TyKind, Types};
use crate::unify::Conversions;
use crate::value::{STRING_BYTES_MAX, STRINGS_BYTES_MAX, Value};
use diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use std::rc::Rc;
use syntax::ast;

impl Checker<'_> {
    pub fn unary(&mut self, op: UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        let operand = self.expr(operand);
        if self.is_error(operand.ty) {
            return Expr::error(span);
        }
        let operand = match op {
            UnaryOp::Not => operand,
            UnaryOp::Complement | UnaryOp::Neg | UnaryOp::Plus => self.enum_to_int(operand),
        };
        let ty = operand.ty;
        let defined = match op {
            UnaryOp::Not => ty == Types::BOOL,
            UnaryOp::Complement => self.is_fixed_int(ty),
            UnaryOp::Neg | UnaryOp::Plus => self.is_fixed_int(ty) || ty == Types::INT,
        };
        if !defined {
            let shown = self.quote(ty);
            let mut d = Diagnostic::new(
                &codes::INVALID_OPERAND,
                span,
                format!("`{}` is not defined for {shown}", op.as_str()),
            )
            .also(operand.span, format!("of type {shown}"));
            if ty == Types::INT {
                d = Diagnostic::new(
                    &codes::UNKNOWN_WIDTH,
                    span,
                    format!("`{}` needs to know the width of its operand", op.as_str()),
                )
                .also(operand.span, "an integer without width")
                .help("give the literal a width, as in `8w5`");
            } else if op == UnaryOp::Not && self.is_fixed_int(ty) {
                d = d.help("for bits write `~`; for a test write `x == 0`");
            } else if op == UnaryOp::Complement && ty == Types::BOOL {
                d = d.help("for truth values write `!`");
            }
            self.report(d);
            return Expr::error(span);
        }
        let value = match (op, operand.value.as_deref(), self.shape(ty)) {
            (UnaryOp::Not, Some(Value::Bool(b)), _) => Some(Value::Bool(!b)),
            (UnaryOp::Neg, Some(Value::Int(v)), Some(shape)) => Some(Value::Int(fold::wrap(&-v, shape))),
            (UnaryOp::Plus, Some(Value::Int(v)), _) => Some(Value::Int(v.clone())),
            (UnaryOp::Complement, Some(Value::Int(v)), Some(shape)) => {
                Some(Value::Int(fold::wrap(&!v.clone(), shape)))
            }
            _ => None,
        };
        let ct = operand.is_compile_time;
        let mut e = Expr::new(ExprKind::Unary { op, operand: Box::new(operand) }, ty, span).compile_time(ct);
        e.value = value.map(Rc::new);
        e
    }

    /// A serializable enum as a value of its underlying type.
    fn enum_to_int(&mut self, e: Expr) -> Expr {
        if self.is_serializable_enum(e.ty) {
            let under = self.strip_enum(e.ty);
            let span = e.span;
            return self.convert(e, under, true, span);
        }
        e
    }

    pub fn binary(
        &mut self,
        op: BinaryOp,
        op_span: Span,
        lhs: &ast::Expr,
        rhs: &ast::Expr,
        span: Span,
    ) -> Expr {
        let l = self.expr(lhs);
        let r = self.expr(rhs);
        if self.is_error(l.ty) || self.is_error(r.ty) {
            return Expr::error(span);
        }
        self.binary_typed(op, op_span, l, r, span)
    }

    pub fn binary_typed(&mut self, op: BinaryOp, op_span: Span, l: Expr, r: Expr, span: Span) -> Expr {
        match op {
            BinaryOp::And | BinaryOp::Or => self.logical(op, op_span, l, r, span),
            BinaryOp::Eq | BinaryOp::Ne => self.equality(op, op_span, l, r, span),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                self.relation(op, op_span, l, r, span)
            }
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, op_span, l, r, span),
            BinaryOp::Concat => self.concat(op_span, l, r, span),
            BinaryOp::Mask | BinaryOp::Range => self.set_operator(op, op_span, l, r, span),
            BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Mod
            | BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::AddSat
            | BinaryOp::SubSat
            | BinaryOp::BitAnd
            | BinaryOp::BitXor
            | BinaryOp::BitOr => self.arithmetic(op, op_span, l, r, span),
        }
    }

    fn node(&mut self, op: BinaryOp, l: Expr, r: Expr, ty: Ty, value: Option<Value>, span: Span) -> Expr {
        let ct = l.is_compile_time && r.is_compile_time;
        let mut e =
            Expr::new(ExprKind::Binary { op, lhs: Box::new(l), rhs: Box::new(r) }, ty, span).compile_time(ct);
        e.value = value.map(Rc::new);
        e
    }

    fn undefined(&mut self, op: BinaryOp, op_span: Span, l: &Expr, r: &Expr) -> Diagnostic {
        let (lt, rt) = (self.quote(l.ty), self.quote(r.ty));
        Diagnostic::new(
            &codes::INVALID_OPERAND,
            op_span,
            if lt == rt {
                format!("`{}` is not defined for {lt}", op.as_str())
            } else {
                format!("`{}` is not defined between {lt} and {rt}", op.as_str())
            },
        )
        .also(l.span, format!("of type {lt}"))
        .also(r.span, format!("of type {rt}"))
    }

    fn logical(&mut self, op: BinaryOp, op_span: Span, l: Expr, r: Expr, span: Span) -> Expr {
        if l.ty != Types::BOOL || r.ty != Types::BOOL {
            let mut d = self.undefined(op, op_span, &l, &r);
            if self.is_fixed_int(l.ty) || self.is_fixed_int(r.ty) {
                let bits = if op == BinaryOp::And { "&" } else { "|" };
                d = d.help(format!("for bits write `{bits}`; for a test compare with 0"));
            }
            self.report(d);
            return Expr::error(span);
        }
        let (lv, rv) =
            (l.value.as_deref().and_then(Value::as_bool), r.value.as_deref().and_then(Value::as_bool));
        // The right operand is not evaluated when the left one decides.
        let value = match (op, lv, rv) {
            (BinaryOp::And, Some(false), _) => Some(false),
            (BinaryOp::And, Some(true), r) => r,
            (BinaryOp::Or, Some(true), _) => Some(true),
            (BinaryOp::Or, Some(false), r) => r,
            _ => None,
        };
        let mut e = self.node(op, l, r, Types::BOOL, value.map(Value::Bool), span);
        if e.value.is_some() {
            e.is_compile_time = true;
        }
        e
    }

    /// Brings an integer without width to the type of the other operand.
    fn balance(&mut self, l: Expr, r: Expr) -> (Expr, Expr) {
        let (l, r) = (self.enum_to_int(l), self.enum_to_int(r));
        if l.ty == Types::INT && self.is_fixed_int(r.ty) {
            let (ty, span) = (r.ty, l.span);
            (self.convert(l, ty, true, span), r)
        } else if r.ty == Types::INT && self.is_fixed_int(l.ty) {
            let (ty, span) = (l.ty, r.span);
            let r = self.convert(r, ty, true, span);
            (l, r)
        } else {
            (l, r)
        }
    }

    fn report_widths(&mut self, op: BinaryOp, op_span: Span, l: &Expr, r: &Expr) {
        let (lt, rt) = (self.quote(l.ty), self.quote(r.ty));
        let (lk, rk) = (self.kind(l.ty).clone(), self.kind(r.ty).clone());
        let mut d = Diagnostic::new(
            &codes::WIDTH_MISMATCH,
            op_span,
            format!("`{}` needs operands of one type", op.as_str()),
        )
        .label("operands differ")
        .also(l.span, format!("of type {lt}"))
        .also(r.span, format!("of type {rt}"));
        d = match (lk, rk) {
            (TyKind::Bit(a), TyKind::Bit(b)) | (TyKind::Signed(a), TyKind::Signed(b)) => {
                let (narrow, wide) = if a < b { (l.span, &rt) } else { (r.span, &lt) };
                let text = self.sources.text(narrow).to_string();
                d.help(format!("cast the narrower one: `({}){}`", wide.trim_matches('`'), paren(&text)))
            }
            _ => d
                .note("P4-16 has no implicit conversion between `bit` and `int`")
                .help("cast one of them explicitly"),
        };
        self.report(d);
    }

    fn arithmetic(&mut self, op: BinaryOp, op_span: Span, l: Expr, r: Expr, span: Span) -> Expr {
        if matches!(op, BinaryOp::Div | BinaryOp::Mod) && !self.check_division_signs(op, &l, &r) {
            return Expr::error(span);
        }
        let (l, r) = self.balance(l, r);
        let numeric = |c: &Self, t: Ty| c.is_fixed_int(t) || t == Types::INT;
        if !numeric(self, l.ty) || !numeric(self, r.ty) {
            let mut d = self.undefined(op, op_span, &l, &r);
            if op == BinaryOp::Add && l.ty == Types::STR && r.ty == Types::STR {
                d = d.fix("strings are joined with `++`", op_span, "++");
            } else if l.ty == Types::BOOL && r.ty == Types::BOOL {
                d = match op {
                    BinaryOp::BitAnd => d.fix("for truth values write `&&`", op_span, "&&"),
                    BinaryOp::BitOr => d.fix("for truth values write `||`", op_span, "||"),
                    BinaryOp::BitXor => d.fix("for truth values write `!=`", op_span, "!="),
                    _ => d,
                };
            } else if matches!(self.kind(l.ty), TyKind::Newtype(_))
                || matches!(self.kind(r.ty), TyKind::Newtype(_))
            {
                d = d
                    .note("a `type` declaration makes a new type without arithmetic")
                    .help("cast the operand to the underlying type first");
            }
            self.report(d);
            return Expr::error(span);
        }
        if l.ty != r.ty {
            self.report_widths(op, op_span, &l, &r);
            return Expr::error(span);
        }
        let ty = l.ty;
        let is_division = matches!(op, BinaryOp::Div | BinaryOp::Mod);
        if is_division {
            if let TyKind::Signed(_) = self.kind(ty) {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_OPERAND,
                        op_span,
                        format!("`{}` is not defined for signed values", op.as_str()),
                    )
                    .also(l.span, format!("of type {shown}"))
                    .note("P4-16 defines division only for non-negative numbers"),
                );
                return Expr::error(span);
            }
            if self.options.strict && ty != Types::INT {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_OPERAND,
                        op_span,
                        format!("`{}` is not defined for {shown}", op.as_str()),
                    )
                    .note("P4-16 defines division only for `int`, at compile time"),
                );
                return Expr::error(span);
            }
            if r.int_value().is_some_and(|v| *v == BigInt::from(0)) {
                self.report(
                    Diagnostic::new(&codes::DIVISION_BY_ZERO, span, "division by zero")
                        .label("this has no value")
                        .also(r.span, "this is 0"),
                );
                return Expr::error(span);
            }
        }
        if ty == Types::INT
            && self.options.strict
            && matches!(
                op,
                BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::AddSat | BinaryOp::SubSat
            )
        {
            self.report(
                Diagnostic::new(
                    &codes::UNKNOWN_WIDTH,
                    op_span,
                    format!("`{}` needs operands with a width", op.as_str()),
                )
                .help("give one of the literals a width, as in `8w5`"),
            );
            return Expr::error(span);
        }
        let value = match (l.int_value(), r.int_value(), self.shape(ty)) {
            (Some(a), Some(b), Some(shape)) => match fold::binary(op, a, b, shape) {
                Ok(v) => Some(Value::Int(v)),
                Err(FoldError::TooLarge) => return self.too_large(span),
                Err(FoldError::DivisionByZero | FoldError::NegativeOperand) => None,
            },
            _ => None,
        };
        self.node(op, l, r, ty, value, span)
    }

    fn check_division_signs(&mut self, op: BinaryOp, l: &Expr, r: &Expr) -> bool {
        for side in [l, r] {
            if side.int_value().is_some_and(|v| v.is_negative()) {
                let text = format!("`{}` is not defined for negative numbers", op.as_str());
                let d = Diagnostic::new(&codes::NEGATIVE_OPERAND, side.span, text).label("negative");
                self.report(d);
                return false;
            }
        }
        true
    }

    fn too_large(&mut self, span: Span) -> Expr {
        self.report(
            Diagnostic::new(&codes::TOO_WIDE, span, "the value is too large")
                .note(format!("numbers of at most {} bits are supported", fold::INT_BITS_MAX)),
        );
        Expr::error(span)
    }

    fn shift(&mut self, op: BinaryOp, op_span: Span, l: Expr, r: Expr, span: Span) -> Expr {
        let (l, r) = (self.enum_to_int(l), self.enum_to_int(r));
        if !(self.is_fixed_int(l.ty) || l.ty == Types::INT) {
            let d = self.undefined(op, op_span, &l, &r);
            self.report(d);
            return Expr::error(span);
        }
        if let Some(v) = r.int_value() {
            if v.is_negative() {
                self.report(
                    Diagnostic::new(&codes::NEGATIVE_OPERAND, r.span, "a shift amount cannot be negative")
                        .label(format!("amount is {}", short(v)))
                        .help(if op == BinaryOp::Shl { "shift right instead" } else { "shift left instead" }),
                );
                return Expr::error(span);
            }
            if let Some(IntShape::Unsigned(w) | IntShape::Signed(w)) = self.shape(l.ty)
                && v.to_u64().is_none_or(|n| n >= u64::from(w))
            {
                let shown = short(v);
                let ty = self.quote(l.ty);
                self.report(
                    Diagnostic::new(&codes::OVERFLOW, span, format!("{ty} is shifted by {shown} bits"))
                        .label(match self.shape(l.ty) {
                            Some(IntShape::Signed(_)) if op == BinaryOp::Shr => "only the sign remains",
                            _ => "nothing of the value remains",
                        })
                        .note(format!("the value has {w} bits"))
                        .help("shift by less, or cast the value to a wider type first"),
                );
            }
        }
        let amount_ok = match self.kind(r.ty) {
            TyKind::Bit(_) => true,
            TyKind::Signed(_) => r.value.is_some(),
            TyKind::Int => r.is_compile_time,
            _ => false,
        };
        if !amount_ok {
            let shown = self.quote(r.ty);
            let mut d = Diagnostic::new(
                &codes::INVALID_SHIFT,
                r.span,
                format!("a value of type {shown} cannot be a shift amount"),
            )
            .label("must be bit<W> or a non-negative constant");
            if let TyKind::Signed(w) = self.kind(r.ty) {
                d = d.help(format!("cast it: `(bit<{w}>){}`", paren(self.sources.text(r.span))));
            }
            self.report(d);
            return Expr::error(span);
        }
        if l.ty == Types::INT && !r.is_compile_time {
            self.report(
                Diagnostic::new(&codes::UNKNOWN_WIDTH, l.span, "the shifted value needs a width")
                    .label("an integer without width")
                    .also(r.span, "the amount is not known at compile time")
                    .help("give the literal a width, as in `32w1`"),
            );
            return Expr::error(span);
        }
        let ty = l.ty;
        let value = match (l.int_value(), r.int_value(), self.shape(ty)) {
            (Some(a), Some(b), Some(shape)) => match fold::binary(op, a, b, shape) {
                Ok(v) => Some(Value::Int(v)),
                Err(_) => return self.too_large(span),
            },
            _ => None,
        };
        self.node(op, l, r, ty, value, span)
    }

    /// Reports a string of `n_bytes` that is too long, by itself or together with those made before it.
    pub(crate) fn string_fits(&mut self, n_bytes: usize, span: Span) -> bool {
        let told = self.n_string_bytes > STRINGS_BYTES_MAX;
        self.n_string_bytes = self.n_string_bytes.saturating_add(n_bytes);
        let d = Diagnostic::new(&codes::STRING_TOO_LONG, span, "the joined string is too long");
        if n_bytes > STRING_BYTES_MAX {
            self.report(
                d.label(format!("{n_bytes} bytes"))
                    .note(format!("`++` makes strings of at most {STRING_BYTES_MAX} bytes")),
            );
            return false;
        }
        let fits = self.n_string_bytes <= STRINGS_BYTES_MAX;
        if !(fits || told) {
            self.report(
                d.note(format!("all strings that `++` makes may have {STRINGS_BYTES_MAX} bytes together")),
            );
        }
        fits
    }

    fn concat(&mut self, op_span: Span, l: Expr, r: Expr, span: Span) -> Expr {
        let (l, r) = (self.enum_to_int(l), self.enum_to_int(r));
        if l.ty == Types::STR && r.ty == Types::STR {
            let value = match (l.value.as_deref(), r.value.as_deref()) {
                (Some(Value::Str(a)), Some(Value::Str(b))) => {
                    if !self.string_fits(a.len() + b.len(), span) {
                        return Expr::error(span);
                    }
                    Some(Value::Str(format!("{a}{b}").into()))
                }
                _ => None,
            };
            return self.node(BinaryOp::Concat, l, r, Types::STR, value, span);
        }
        let (Some(lw), Some(rw)) = (self.fixed_width(l.ty), self.fixed_width(r.ty)) else {
            let mut d = self.undefined(BinaryOp::Concat, op_span, &l, &r);
            for side in [&l, &r] {
                if side.ty == Types::INT {
                    d = Diagnostic::new(&codes::UNKNOWN_WIDTH, side.span, "an operand of `++` needs a width")
                        .label("an integer without width")
                        .help("give the literal a width, as in `8w5`");
                    break;
                }
            }
            self.report(d);
            return Expr::error(span);
        };
        let Some(width) = lw.checked_add(rw).filter(|w| *w <= crate::type_expr::WIDTH_MAX) else {
            return self.too_large(span);
        };
        let ty = match self.kind(l.ty) {
            TyKind::Signed(_) => self.p.types.signed(width),
            _ => self.p.types.bit(width),
        };
        let value = match (l.int_value(), r.int_value(), self.shape(l.ty)) {
            (Some(a), Some(b), Some(shape)) => Some(Value::Int(fold::concat(a, shape, b, rw))),
            _ => None,
        };
        self.node(BinaryOp::Concat, l, r, ty, value, span)
    }

    pub fn fixed_width(&self, ty: Ty) -> Option<u32> {
        match self.kind(ty) {
            TyKind::Bit(w) | TyKind::Signed(w) => Some(*w),
            _ => None,
        }
    }

    fn relation(&mut self, op: BinaryOp, op_span: Span, l: Expr, r: Expr, span: Span) -> Expr {
        let (l, r) = self.balance(l, r);
        let numeric = |c: &Self, t: Ty| c.is_fixed_int(t) || t == Types::INT;
        if !numeric(self, l.ty) || !numeric(self, r.ty) {
            let d = self.undefined(op, op_span, &l, &r);
            self.report(d);
            return Expr::error(span);
        }
        if l.ty != r.ty {
            self.report_widths(op, op_span, &l, &r);
            return Expr::error(span);
        }
        let value = match (l.int_value(), r.int_value()) {
            (Some(a), Some(b)) => Some(Value::Bool(match op {
                BinaryOp::Lt => a < b,
                BinaryOp::Le => a <= b,
                BinaryOp::Gt => a > b,
                _ => a >= b,
            })),
            _ => None,
        };
        self.node(op, l, r, Types::BOOL, value, span)
    }

    /// Fits two sides of a comparison to each other; `None` when that is impossible (reported).
    pub fn comparable(&mut self, op_span: Span, l: Expr, r: Expr) -> Option<(Expr, Expr)> {
        for side in [&l, &r] {
            let why = match self.kind(side.ty) {
                TyKind::Table(_) => Some("tables"),
                TyKind::Action(_) => Some("actions"),
                TyKind::Extern(..) => Some("extern objects"),
                TyKind::Var(_) => Some("values of a type parameter"),
                TyKind::ApplyResult(_) => Some("results of applying a table"),
                TyKind::Block(..) | TyKind::Parser(..) | TyKind::Control(..) => Some("parsers and controls"),
                TyKind::Void => Some("values of type `void`"),
                TyKind::Str if self.options.strict => Some("strings"),
                TyKind::Dots => Some("defaults (`...`)"),
                TyKind::Set(_) | TyKind::State | TyKind::ActionRun(_) | TyKind::DontCare => {
                    Some("such things")
                }
                _ => None,
            };
            if let Some(why) = why {
                let shown = self.quote(side.ty);
                self.report(
                    Diagnostic::new(&codes::NOT_COMPARABLE, op_span, format!("{why} cannot be compared"))
                        .also(side.span, format!("of type {shown}")),
                );
                return None;
            }
        }
        let is_enum_pair = l.ty == r.ty && matches!(self.kind(l.ty), TyKind::Enum(_));
        let (l, r) = if is_enum_pair { (l, r) } else { self.balance(l, r) };
        let literal = |c: &Self, t: Ty| {
            matches!(c.kind(t), TyKind::ListLiteral(_) | TyKind::StructLiteral(_) | TyKind::InvalidHeader)
        };
        let (ll, rl) = (literal(self, l.ty), literal(self, r.ty));
        if l.ty == r.ty && !ll && !matches!(self.kind(l.ty), TyKind::Varbit(_)) {
            return Some((l, r));
        }
        if matches!(self.kind(l.ty), TyKind::Varbit(_)) && l.ty == r.ty {
            return Some((l, r));
        }
        if rl && !ll {
            let (ty, role) = (l.ty, Role::Operand);
            let r = self.coerce(r, ty, &role);
            return (!self.is_error(r.ty)).then_some((l, r));
        }
        if ll && !rl {
            let (ty, role) = (r.ty, Role::Operand);
            let l = self.coerce(l, ty, &role);
            return (!self.is_error(l.ty)).then_some((l, r));
        }
        let both_lists =
            matches!((self.kind(l.ty), self.kind(r.ty)), (TyKind::ListLiteral(_), TyKind::ListLiteral(_)));
        if both_lists && let Some(pair) = self.common_list(&l, &r) {
            let (l, r) = (self.coerce(l, pair, &Role::Operand), self.coerce(r, pair, &Role::Operand));
            return (!self.is_error(l.ty) && !self.is_error(r.ty)).then_some((l, r));
        }
        let newtype_literal =
            |c: &Self, a: Ty, b: Ty| a == Types::INT && matches!(c.kind(b), TyKind::Newtype(_));
        if !self.options.strict && (newtype_literal(self, l.ty, r.ty) || newtype_literal(self, r.ty, l.ty)) {
            // Literals take the shape of the other side, as in an assignment.
            let (l, r) = if l.ty == Types::INT {
                let ty = r.ty;
                (self.coerce(l, ty, &Role::Operand), r)
            } else {
                let ty = l.ty;
                let r = self.coerce(r, ty, &Role::Operand);
                (l, r)
            };
            return (!self.is_error(l.ty) && !self.is_error(r.ty)).then_some((l, r));
        }
        let structs = matches!((self.kind(l.ty), self.kind(r.ty)), (TyKind::Struct(..), TyKind::Struct(..)));
        if structs && self.unify(l.ty, r.ty, Conversions::Literals).is_ok() {
            return Some((l, r));
        }
        if self.is_fixed_int(l.ty) && self.is_fixed_int(r.ty) {
            self.report_widths(BinaryOp::Eq, op_span, &l, &r);
            return None;
        }
        let (lt, rt) = (self.quote(l.ty), self.quote(r.ty));
        let mut d =
            Diagnostic::new(&codes::NOT_COMPARABLE, op_span, format!("{lt} and {rt} cannot be compared"))
                .also(l.span, format!("of type {lt}"))
                .also(r.span, format!("of type {rt}"));
        if matches!(self.kind(l.ty), TyKind::Newtype(_)) || matches!(self.kind(r.ty), TyKind::Newtype(_)) {
            d = d.help("cast one side to the type of the other");
        }
        self.report(d);
        None
    }

    /// The tuple type that two list literals have in common.
    fn common_list(&mut self, l: &Expr, r: &Expr) -> Option<Ty> {
        let (TyKind::ListLiteral(a), TyKind::ListLiteral(b)) =
            (self.kind(l.ty).clone(), self.kind(r.ty).clone())
        else {
            return None;
        };
        if a.len() != b.len() {
            return None;
        }
        let mut items = Vec::with_capacity(a.len());
        for (x, y) in a.into_iter().zip(b) {
            self.unify(x, y, Conversions::Literals).ok()?;
            items.push(if x == Types::INT { y } else { x });
        }
        Some(self.intern(TyKind::Tuple(items)))
    }

    fn equality(&mut self, op: BinaryOp, op_span: Span, l: Expr, r: Expr, span: Span) -> Expr {
        let Some((l, r)) = self.comparable(op_span, l, r) else { return Expr::error(span) };
        let value = match (l.value.as_deref(), r.value.as_deref()) {
            (Some(a), Some(b)) => {
                let equal = a == b;
                Some(Value::Bool(if op == BinaryOp::Eq { equal } else { !equal }))
            }
            _ => None,
        };
        self.node(op, l, r, Types::BOOL, value, span)
    }

    /// `a &&& b` and `a .. b`
    fn set_operator(&mut self, op: BinaryOp, op_span: Span, l: Expr, r: Expr, span: Span) -> Expr {
        let enum_ty = if self.is_serializable_enum(l.ty) { Some(l.ty) } else { None };
        let (l, r) = self.balance(l, r);
        let (l, r) = self.balance_newtype(l, r);
        let numeric = |c: &Self, t: Ty| {
            let t = c.strip_newtype(t);
            c.is_fixed_int(t) || t == Types::INT
        };
        if !numeric(self, l.ty) || !numeric(self, r.ty) {
            let d = self.undefined(op, op_span, &l, &r);
            self.report(d);
            return Expr::error(span);
        }
        if l.ty != r.ty {
            self.report_widths(op, op_span, &l, &r);
            return Expr::error(span);
        }
        let ty = self.intern(TyKind::Set(enum_ty.unwrap_or(l.ty)));
        let ct = l.is_compile_time && r.is_compile_time;
        let kind = if op == BinaryOp::Mask {
            ExprKind::Mask { value: Box::new(l), mask: Box::new(r) }
        } else {
            ExprKind::Range { lo: Box::new(l), hi: Box::new(r) }
        };
        Expr::new(kind, ty, span).compile_time(ct)
    }

    fn balance_newtype(&mut self, l: Expr, r: Expr) -> (Expr, Expr) {
        let is_new = |c: &Self, t: Ty| matches!(c.kind(t), TyKind::Newtype(_));
        if is_new(self, l.ty) && r.ty == Types::INT {
            let ty = l.ty;
            let r = self.coerce(r, ty, &Role::Operand);
            (l, r)
        } else if is_new(self, r.ty) && l.ty == Types::INT {
            let ty = r.ty;
            (self.coerce(l, ty, &Role::Operand), r)
        } else {
            (l, r)
        }
    }

    pub fn conditional(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Expr,
        otherwise: &ast::Expr,
        span: Span,
    ) -> Expr {
        let c = self.expr(condition);
        let a = self.expr(then);
        let b = self.expr(otherwise);
        if self.is_error(c.ty) || self.is_error(a.ty) || self.is_error(b.ty) {
            return Expr::error(span);
        }
        if c.ty != Types::BOOL {
            self.report_condition(&c);
            return Expr::error(span);
        }
        if a.ty == Types::INT && b.ty == Types::INT && c.value.is_none() {
            self.report(
                Diagnostic::new(&codes::UNKNOWN_WIDTH, span, "the result of `?:` needs a width")
                    .also(a.span, "an integer without width")
                    .also(b.span, "an integer without width")
                    .help("give one of the literals a width, as in `8w5`"),
            );
            return Expr::error(span);
        }
        let ty = if a.ty == b.ty {
            a.ty
        } else if self.unify(a.ty, b.ty, Conversions::Literals).is_ok() {
            match (self.kind(a.ty), self.kind(b.ty)) {
                (
                    TyKind::Int
                    | TyKind::ListLiteral(_)
                    | TyKind::StructLiteral(_)
                    | TyKind::InvalidHeader
                    | TyKind::Dots,
                    _,
                ) => b.ty,
                _ => a.ty,
            }
        } else if self.unify(b.ty, a.ty, Conversions::Literals).is_ok() {
            b.ty
        } else {
            let (at, bt) = (self.quote(a.ty), self.quote(b.ty));
            self.report(
                Diagnostic::new(&codes::TYPE_MISMATCH, span, "the two results of `?:` have different types")
                    .also(a.span, format!("of type {at}"))
                    .also(b.span, format!("of type {bt}"))
                    .help("cast one of them to the type of the other"),
            );
            return Expr::error(span);
        };
        let (a, b) = (self.coerce(a, ty, &Role::Operand), self.coerce(b, ty, &Role::Operand));
        if self.is_error(a.ty) || self.is_error(b.ty) {
            return Expr::error(span);
        }
        let value = match c.value.as_deref() {
            Some(Value::Bool(true)) => a.value.clone(),
            Some(Value::Bool(false)) => b.value.clone(),
            _ => None,
        };
        let ct = c.is_compile_time && a.is_compile_time && b.is_compile_time;
        let kind =
            ExprKind::Conditional { condition: Box::new(c), then: Box::new(a), otherwise: Box::new(b) };
        let mut e = Expr::new(kind, ty, span).compile_time(ct);
        e.value = value;
        e
    }

    pub fn report_condition(&mut self, c: &Expr) {
        let shown = self.quote(c.ty);
        let mut d = Diagnostic::new(
            &codes::CONDITION_TYPE,
            c.span,
            format!("a condition must be a `bool`, not {shown}"),
        )
        .label("expected `bool`");
        let text = paren(self.sources.text(c.span));
        d = match self.kind(c.ty) {
            TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Int => d
                .note("P4-16 does not read integers as truth values")
                .help(format!("compare it: `{text} != 0`")),
            TyKind::Struct(..) if self.is_header(c.ty) => d.help(format!("write `{text}.isValid()`")),
            TyKind::ApplyResult(_) => d.help(format!("write `{text}.hit`")),
            _ => d,
        };
        self.report(d);
    }
}

/// Parentheses around what is not a plain name, call or member.
pub(crate) fn paren(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_alphanumeric() || "_.[]()".contains(c));
    if plain { text.to_string() } else { format!("({text})") }
}
