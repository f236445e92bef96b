//! Fitting an expression to the type that its place demands: implicit casts, literals that take the
//! shape of their target, and the message when nothing fits.

use crate::checker::Checker;
use crate::codes;
use crate::expr::collect_values;
use crate::program::*;
use crate::types::{Ty, TyKind, Types};
use crate::unify::{Conversions, Mismatch};
use crate::value::Value;
use diagnostics::{Diagnostic, Span, suggest};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::rc::Rc;

/// The context of an expression, to which a mismatch message points.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    Assignment { lhs: Span, decl: Option<(Span, String)> },
    Initializer { name: SmolStr, span: Span },
    Argument { param: VarId },
    Return { declared: Span },
    Field { name: SmolStr },
    Element,
    Cast { span: Span },
    Operand,
    Key,
    Label,
    Default { name: SmolStr },
    EnumValue,
}

impl Role {
    fn what(&self) -> &'static str {
        match self {
            Role::Assignment { .. } => "assignment",
            Role::Initializer { .. } => "initializer",
            Role::Argument { .. } => "argument",
            Role::Return { .. } => "return value",
            Role::Field { .. } => "field initializer",
            Role::Element => "list element",
            Role::Cast { .. } => "cast",
            Role::Operand => "operand",
            Role::Key => "key",
            Role::Label => "label",
            Role::Default { .. } => "default value",
            Role::EnumValue => "enum value",
        }
    }
}

impl Checker<'_> {
    /// Fits `e` to `target`; an error expression when it does not fit (reported).
    pub fn coerce(&mut self, e: Expr, target: Ty, role: &Role) -> Expr {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.coerce_inner(e, target, role))
    }

    fn coerce_inner(&mut self, e: Expr, target: Ty, role: &Role) -> Expr {
        let target = self.zonk(target);
        let ty = self.zonk(e.ty);
        if ty == target || target == Types::DONT_CARE {
            return e;
        }
        if ty == Types::ERROR || target == Types::ERROR {
            return Expr::error(e.span);
        }
        let (tk, ek) = (self.kind(target).clone(), self.kind(ty).clone());
        let span = e.span;
        match (tk, ek) {
            // Aggregates element by element, so that messages point at the element.
            (TyKind::Struct(id, _), TyKind::ListLiteral(_)) if matches!(e.kind, ExprKind::List(_)) => {
                self.list_to_struct(e, id, target, role)
            }
            (TyKind::Struct(..), TyKind::StructLiteral(_))
                if matches!(e.kind, ExprKind::StructLiteral { .. }) =>
            {
                self.literal_to_struct(e, target, role)
            }
            (TyKind::Tuple(items), TyKind::ListLiteral(_)) if matches!(e.kind, ExprKind::List(_)) => {
                let n = items.len();
                self.list_to_elements(e, &items, n, target, role)
            }
            (TyKind::Array(element, n), TyKind::ListLiteral(_)) if matches!(e.kind, ExprKind::List(_)) => {
                let given = match &e.kind {
                    ExprKind::List(l) => l.len(),
                    _ => 0,
                };
                let items = vec![element; given.min(n as usize)];
                self.list_to_elements(e, &items, n as usize, target, role)
            }
            (_, TyKind::ListLiteral(_) | TyKind::StructLiteral(_))
                if matches!(e.kind, ExprKind::Conditional { .. }) =>
            {
                self.coerce_branches(e, target, role)
            }
            (_, TyKind::Dots) => {
                let mut out = Expr::new(ExprKind::DefaultValue, target, span).compile_time(true);
                match self.default_value(target) {
                    Some(v) => out.value = Some(Rc::new(v)),
                    None if self.has_default(target) => {}
                    None => {
                        let shown = self.quote(target);
                        self.report(
                            Diagnostic::new(
                                &codes::INITIALIZER,
                                span,
                                format!("type {shown} has no default value"),
                            )
                            .label("`...` cannot be used here"),
                        );
                        return Expr::error(span);
                    }
                }
                out
            }
            (TyKind::Struct(id, _), TyKind::InvalidHeader)
                if self.p.structs[id].kind != StructKind::Struct =>
            {
                let mut out = Expr::new(ExprKind::InvalidHeader, target, span).compile_time(true);
                out.value = self.default_value(target).map(Rc::new);
                out
            }
            // Never from a plain integer to an enum.
            (TyKind::Enum(id), _) if self.p.enums[id].underlying.is_some() => {
                self.report_mismatch(&e, target, role, None, true);
                Expr::error(span)
            }
            (
                TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Newtype(_) | TyKind::Int,
                TyKind::Int | TyKind::Bit(_) | TyKind::Signed(_),
            ) if self.unify(target, ty, Conversions::Implicit).is_ok() => self.convert(e, target, true, span),
            (TyKind::Bit(_) | TyKind::Signed(_), TyKind::Enum(_))
                if self.unify(target, ty, Conversions::Implicit).is_ok() =>
            {
                self.convert(e, target, true, span)
            }
            _ => match self.unify(target, ty, Conversions::Implicit) {
                Ok(()) => {
                    let target = self.zonk(target);
                    if self.kind(target) == self.kind(ty) {
                        e
                    } else {
                        let mut e = e;
                        let keeps = matches!(
                            self.kind(target),
                            TyKind::Block(..)
                                | TyKind::Extern(..)
                                | TyKind::ListLiteral(_)
                                | TyKind::Infer(_)
                                | TyKind::Var(_)
                        );
                        if keeps {
                            return e;
                        }
                        let (ct, value) = (e.is_compile_time, e.value.take());
                        let mut out = Expr::new(
                            ExprKind::Cast { operand: Box::new(e), is_implicit: true },
                            target,
                            span,
                        )
                        .compile_time(ct);
                        out.value = value;
                        out
                    }
                }
                Err(m) => {
                    self.report_mismatch(&e, target, role, Some(m), false);
                    Expr::error(span)
                }
            },
        }
    }

    fn coerce_branches(&mut self, e: Expr, target: Ty, role: &Role) -> Expr {
        let ExprKind::Conditional { condition, then, otherwise } = e.kind else { return e };
        let then = self.coerce(*then, target, role);
        let otherwise = self.coerce(*otherwise, target, role);
        if self.is_error(then.ty) || self.is_error(otherwise.ty) {
            return Expr::error(e.span);
        }
        Expr {
            kind: ExprKind::Conditional { condition, then: Box::new(then), otherwise: Box::new(otherwise) },
            ty: target,
            ..e_shell(e.span, e.is_compile_time)
        }
    }

    fn list_to_struct(&mut self, e: Expr, id: StructId, target: Ty, role: &Role) -> Expr {
        if self.p.structs[id].kind == StructKind::HeaderUnion {
            let reason = "a header union cannot be initialised from a list".to_string();
            self.report_mismatch(&e, target, role, Some(Mismatch { reason: Some(reason) }), false);
            return Expr::error(e.span);
        }
        let fields = self.fields(target).unwrap_or_default();
        let ExprKind::List(mut items) = e.kind else { return e };
        let has_dots = items.last().is_some_and(|i| i.ty == Types::DOTS);
        if has_dots {
            items.pop();
        }
        if items.len() > fields.len() || (items.len() < fields.len() && !has_dots) {
            self.report_count(e.span, target, items.len(), fields.len(), "field");
            return Expr::error(e.span);
        }
        let given = items.len();
        let mut out = Vec::with_capacity(fields.len());
        for (item, (name, ft)) in items.into_iter().zip(fields.iter()) {
            let item = self.coerce(item, *ft, &Role::Field { name: name.clone() });
            if self.is_error(item.ty) {
                return Expr::error(e.span);
            }
            out.push(item);
        }
        for (_, ft) in fields.iter().skip(given) {
            let mut d = Expr::new(ExprKind::DefaultValue, *ft, e.span).compile_time(true);
            d.value = self.default_value(*ft).map(Rc::new);
            out.push(d);
        }
        self.struct_value(out, target, e.span)
    }

    fn literal_to_struct(&mut self, e: Expr, target: Ty, role: &Role) -> Expr {
        let TyKind::Struct(id, _) = self.kind(target).clone() else { return e };
        if self.p.structs[id].kind == StructKind::HeaderUnion {
            let reason = "a header union cannot be initialised field by field".to_string();
            self.report_mismatch(&e, target, role, Some(Mismatch { reason: Some(reason) }), false);
            return Expr::error(e.span);
        }
        let decl = self.p.structs[id].span;
        let span = e.span;
        let ExprKind::StructLiteral { fields: given, has_dots } = e.kind else { return e };
        for (name, value) in &given {
            if !self.positions.fields.contains_key(&(id, name.clone())) {
                let shown = self.quote(target);
                let mut d = Diagnostic::new(
                    &codes::INITIALIZER,
                    value.span,
                    format!("{shown} has no field `{name}`"),
                )
                .label(format!("given for `{name}`"))
                .also(decl, format!("{shown} is declared here"));
                let names = self
                    .names_to_suggest(|p| p.structs[id].fields.iter().map(|f| f.name.to_string()).collect());
                if let Some(s) = suggest::closest(name, names.iter().map(String::as_str)) {
                    d = d.help(format!("did you mean `{s}`?"));
                }
                self.report(d);
                return Expr::error(span);
            }
        }
        let fields = self.fields(target).unwrap_or_default();
        let mut given: FxHashMap<SmolStr, Expr> = given.into_iter().collect();
        let mut out = Vec::with_capacity(fields.len());
        for (name, ft) in &fields {
            match given.remove(name) {
                Some(value) => {
                    let value = self.coerce(value, *ft, &Role::Field { name: name.clone() });
                    if self.is_error(value.ty) {
                        return Expr::error(span);
                    }
                    out.push(value);
                }
                None if has_dots => {
                    let mut d = Expr::new(ExprKind::DefaultValue, *ft, span).compile_time(true);
                    d.value = self.default_value(*ft).map(Rc::new);
                    out.push(d);
                }
                None => {
                    let shown = self.quote(target);
                    self.report(
                        Diagnostic::new(
                            &codes::INITIALIZER,
                            span,
                            format!("field `{name}` of {shown} is not given"),
                        )
                        .label("a field is missing")
                        .also(decl, format!("{shown} is declared here"))
                        .help(format!("add `{name} = ...`, or `...` at the end for default values")),
                    );
                    return Expr::error(span);
                }
            }
        }
        self.struct_value(out, target, span)
    }

    fn struct_value(&mut self, fields: Vec<Expr>, target: Ty, span: Span) -> Expr {
        let ct = fields.iter().all(|f| f.is_compile_time);
        let value = collect_values(fields.iter()).map(|fields| {
            if self.is_header(target) {
                Value::Header { valid: true, fields }
            } else {
                Value::Aggregate(fields)
            }
        });
        let mut out = Expr::new(ExprKind::Struct(fields), target, span).compile_time(ct);
        out.value = value.map(Rc::new);
        out
    }

    fn list_to_elements(&mut self, e: Expr, types: &[Ty], want: usize, target: Ty, _role: &Role) -> Expr {
        let span = e.span;
        let ExprKind::List(mut items) = e.kind else { return e };
        let has_dots = items.last().is_some_and(|i| i.ty == Types::DOTS);
        let dots = if has_dots { items.pop() } else { None };
        if items.len() > want || (items.len() < want && !has_dots) {
            self.report_count(span, target, items.len(), want, "element");
            return Expr::error(span);
        }
        let mut out = Vec::with_capacity(items.len());
        for (item, ty) in items.into_iter().zip(types) {
            let item = self.coerce(item, *ty, &Role::Element);
            if self.is_error(item.ty) {
                return Expr::error(span);
            }
            out.push(item);
        }
        let ct = out.iter().all(|f| f.is_compile_time);
        let mut values = collect_values(out.iter());
        if let Some(d) = dots {
            if let Some(v) = &mut values {
                let rest: Option<Vec<Value>> = match self.kind(target).clone() {
                    TyKind::Tuple(items) => items[v.len()..].iter().map(|t| self.default_value(*t)).collect(),
                    TyKind::Array(element, n) if u64::from(n) <= 4096 => {
                        (v.len()..n as usize).map(|_| self.default_value(element)).collect()
                    }
                    _ => None,
                };
                match rest {
                    Some(rest) => v.extend(rest),
                    None => values = None,
                }
            }
            out.push(d);
        }
        let mut result = Expr::new(ExprKind::List(out), target, span).compile_time(ct);
        result.value = values.map(|v| Rc::new(Value::Aggregate(v)));
        result
    }

    fn report_count(&mut self, span: Span, target: Ty, given: usize, want: usize, what: &str) {
        let shown = self.quote(target);
        let mut d = Diagnostic::new(
            &codes::INITIALIZER,
            span,
            format!("{shown} has {want} {what}{}, {given} given", crate::unify::plural(want)),
        )
        .label(format!("{given} {what}{}", crate::unify::plural(given)));
        if let TyKind::Struct(id, _) = self.kind(target) {
            d = d.also(self.p.structs[*id].span, format!("{shown} is declared here"));
        }
        if given < want {
            d = d.help("end the list with `...` to give the rest default values");
        }
        self.report(d);
    }

    /// The message for a value that does not fit.
    fn report_mismatch(&mut self, e: &Expr, target: Ty, role: &Role, why: Option<Mismatch>, is_enum: bool) {
        let target = self.zonk(target);
        let from = self.zonk(e.ty);
        let (want, found) = (self.quote(target), self.quote(from));
        let mut d =
            Diagnostic::new(&codes::TYPE_MISMATCH, e.span, format!("mismatched types in {}", role.what()))
                .label(format!("expected {want}, found {found}"));
        match role {
            Role::Assignment { lhs, decl } => {
                d = d.also(*lhs, format!("this is of type {want}"));
                if let Some((span, name)) = decl {
                    d = d.also(*span, format!("`{name}` is declared here"));
                }
            }
            Role::Initializer { name, span } => {
                d = d.also(*span, format!("`{name}` is declared as {want}"));
            }
            Role::Argument { param } => {
                let var = &self.p.vars[*param];
                d = d.also(var.span, format!("parameter `{}` is declared here", var.name));
            }
            Role::Return { declared } => {
                d = d.also(*declared, format!("the function returns {want}"));
            }
            Role::Field { name } | Role::Default { name } => {
                d = d.note(format!("the value is for `{name}`"));
            }
            Role::Cast { span } => {
                d = d.also(*span, "the type to cast to");
            }
            Role::Element | Role::Operand | Role::Key | Role::Label | Role::EnumValue => {}
        }
        // The declaration of a variable explains its type.
        if let ExprKind::Var(v) = &e.kind {
            let var = &self.p.vars[*v];
            let text = format!("`{}` is declared {}", var.name, self.quote(var.ty));
            d = d.also(var.span, text);
        }
        if let Some(reason) = why.and_then(|w| w.reason) {
            d = d.note(reason);
        }
        let source = self.sources.text(e.span).to_string();
        let operand = if is_simple(&e.kind) { source.clone() } else { format!("({source})") };
        match (self.kind(target).clone(), self.kind(from).clone()) {
            (TyKind::Bit(a), TyKind::Bit(b)) | (TyKind::Signed(a), TyKind::Signed(b)) => {
                d = d.note(format!("P4-16 never changes a width by itself ({b} to {a} bits)"));
                d = d.help(format!("cast explicitly: `({}){operand}`", self.show(target)));
            }
            (TyKind::Bit(a), TyKind::Signed(b)) | (TyKind::Signed(a), TyKind::Bit(b)) => {
                d = d.note("P4-16 has no implicit conversion between `bit` and `int`");
                d = d.help(if a == b {
                    format!("cast explicitly: `({}){operand}`", self.show(target))
                } else {
                    let same = match self.kind(target) {
                        TyKind::Bit(_) => format!("(bit<{a}>)(int<{a}>)"),
                        _ => format!("(int<{a}>)(bit<{a}>)"),
                    };
                    format!("cast in two steps, first the width, then the sign: `{same}{operand}`")
                });
            }
            (TyKind::Bool, TyKind::Bit(1)) | (TyKind::Bit(1), TyKind::Bool) => {
                d = d.help(format!("cast explicitly: `({}){operand}`", self.show(target)));
            }
            (TyKind::Bool, TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Int) => {
                d = d.help(format!("compare with 0: `{operand} != 0`"));
            }
            (TyKind::Newtype(_), _) | (_, TyKind::Newtype(_)) => {
                d = d.note("a `type` declaration makes a new type that converts only by a cast");
                d = d.help(format!("cast explicitly: `({}){operand}`", self.show(target)));
            }
            _ if is_enum => {
                d = d.note("an integer becomes an enum value only by a cast");
                d = d.help(format!("cast explicitly: `({}){operand}`", self.show(target)));
            }
            _ => {}
        }
        if let TyKind::ListLiteral(_) | TyKind::StructLiteral(_) = self.kind(from)
            && matches!(self.kind(target), TyKind::List(_))
        {
            d = d.help(format!("cast explicitly: `({}){source}`", self.show(target)));
        }
        self.report(d);
    }

    // -- default values -------------------------------------------------------------------------

    /// P4-16, "Default values": false, 0, invalid headers, first members of enums, NoError.
    pub fn default_value(&mut self, ty: Ty) -> Option<Value> {
        use num_bigint::BigInt;
        if self.leaves(ty, true) > crate::size::LEAVES_MAX {
            return None;
        }
        Some(match self.kind(ty).clone() {
            TyKind::Bool => Value::Bool(false),
            TyKind::Int | TyKind::Bit(_) | TyKind::Signed(_) => Value::Int(BigInt::from(0)),
            TyKind::Str => Value::Str(SmolStr::default()),
            TyKind::ErrorCode => Value::Error(self.p.errors.position("NoError")?),
            TyKind::Newtype(id) => {
                let under = self.p.newtypes[id].underlying;
                self.default_value(under)?
            }
            TyKind::Enum(id) => match self.p.enums[id].underlying {
                Some(_) => Value::Int(BigInt::from(0)),
                None => Value::EnumMember(id, 0),
            },
            TyKind::Struct(id, _) => {
                let kind = self.p.structs[id].kind;
                let fields = self.fields(ty)?;
                let values: Option<Vec<Value>> =
                    fields.into_iter().map(|(_, t)| self.default_value(t)).collect();
                match kind {
                    StructKind::Struct => Value::Aggregate(values?),
                    StructKind::Header => Value::Header { valid: false, fields: values? },
                    StructKind::HeaderUnion => Value::Aggregate(values?),
                }
            }
            TyKind::Tuple(items) => {
                let values: Option<Vec<Value>> = items.iter().map(|t| self.default_value(*t)).collect();
                Value::Aggregate(values?)
            }
            TyKind::Array(element, n) if n <= 4096 => {
                let v = self.default_value(element)?;
                Value::Aggregate(vec![v; n as usize])
            }
            _ => return None,
        })
    }

    /// Types whose default exists though it is no [`Value`] here.
    fn has_default(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Varbit(_) | TyKind::Array(..) | TyKind::Var(_) | TyKind::Struct(..))
    }
}

fn is_simple(kind: &ExprKind) -> bool {
    !matches!(kind, ExprKind::Binary { .. } | ExprKind::Conditional { .. } | ExprKind::Unary { .. })
}

fn e_shell(span: Span, is_compile_time: bool) -> Expr {
    Expr::new(ExprKind::Error, Types::ERROR, span).compile_time(is_compile_time)
}
