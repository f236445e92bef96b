//! Expressions: names, literals, members, indices, slices, casts.
//!
//! Checking goes bottom-up: an expression gets the type it has by itself (literals: `int`, list and struct
//! literals: their shape), then [`Checker::coerce`] fits it to where it stands.

use crate::checker::Checker;
use crate::codes;
use crate::fold::{self, IntShape};
use crate::program::*;
use crate::scope::{Place, Res, TypeRes};
use crate::type_expr::{Generic, short};
use crate::types::{Ty, TyKind, Types};
use crate::value::Value;
use diagnostics::{Diagnostic, Span, suggest};
use num_bigint::BigInt;
use num_traits::Signed;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::rc::Rc;
use syntax::ast;

impl Expr {
    pub(crate) fn new(kind: ExprKind, ty: Ty, span: Span) -> Expr {
        Expr { kind, ty, span, value: None, is_compile_time: false, is_lvalue: false }
    }

    pub(crate) fn error(span: Span) -> Expr {
        Expr {
            kind: ExprKind::Error,
            ty: Types::ERROR,
            span,
            value: None,
            is_compile_time: true,
            is_lvalue: true,
        }
    }

    pub(crate) fn constant(value: Value, ty: Ty, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Const,
            ty,
            span,
            value: Some(Rc::new(value)),
            is_compile_time: true,
            is_lvalue: false,
        }
    }

    pub(crate) fn with_value(mut self, value: Value) -> Expr {
        self.value = Some(Rc::new(value));
        self.is_compile_time = true;
        self
    }

    pub(crate) fn compile_time(mut self, yes: bool) -> Expr {
        self.is_compile_time = yes;
        self
    }

    pub(crate) fn lvalue(mut self, yes: bool) -> Expr {
        self.is_lvalue = yes;
        self
    }

    /// The value as an integer.
    pub fn int_value(&self) -> Option<&BigInt> {
        self.value.as_deref().and_then(Value::as_int)
    }
}

impl Checker<'_> {
    /// Checks an expression that must be a value (not a type, not a function name).
    pub fn expr(&mut self, e: &ast::Expr) -> Expr {
        let typed = self.expr_or_name(e);
        match self.kind(typed.ty) {
            TyKind::TypeName(_) => {
                let text = self.sources.text(typed.span).to_string();
                self.report(
                    Diagnostic::new(
                        &codes::NOT_A_VALUE,
                        typed.span,
                        format!("`{text}` is a type, not a value"),
                    )
                    .label("an expression is expected here"),
                );
                Expr::error(typed.span)
            }
            TyKind::Callable => {
                let text = self.sources.text(typed.span).to_string();
                self.report(
                    Diagnostic::new(&codes::NOT_CALLABLE, typed.span, format!("`{text}` can only be called"))
                        .label("not a value by itself")
                        .help(format!("call it: `{text}(...)`")),
                );
                Expr::error(typed.span)
            }
            _ => typed,
        }
    }

    /// Checks an expression that may also name a type.
    pub fn expr_or_name(&mut self, e: &ast::Expr) -> Expr {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.expr_inner(e))
    }

    fn expr_inner(&mut self, e: &ast::Expr) -> Expr {
        let span = e.span;
        match &e.kind {
            ast::ExprKind::Int(lit) => self.int_literal(lit, span),
            ast::ExprKind::Bool(b) => Expr::constant(Value::Bool(*b), Types::BOOL, span),
            ast::ExprKind::Str(s) => Expr::constant(Value::Str(s.clone()), Types::STR, span),
            ast::ExprKind::This => self.this(span),
            ast::ExprKind::Dots => Expr::new(ExprKind::Dots, Types::DOTS, span).compile_time(true),
            ast::ExprKind::InvalidHeader => {
                Expr::new(ExprKind::InvalidHeader, Types::INVALID_HEADER, span).compile_time(true)
            }
            ast::ExprKind::Default => Expr::new(ExprKind::Default, Types::DONT_CARE, span).compile_time(true),
            ast::ExprKind::DontCare => {
                Expr::new(ExprKind::DontCare, Types::DONT_CARE, span).compile_time(true).lvalue(true)
            }
            ast::ExprKind::Name(path) => self.name(path, span),
            ast::ExprKind::Type(t) => {
                let ty = self.ty_with(t, Generic::Infer);
                if self.is_error(ty) {
                    return Expr::error(span);
                }
                let tt = self.intern(TyKind::TypeName(ty));
                Expr::new(ExprKind::TypeName, tt, span).compile_time(true)
            }
            ast::ExprKind::Member { base, member } => self.member(base, member, span),
            ast::ExprKind::Index { base, index } => self.index(base, index, span),
            ast::ExprKind::Slice { base, hi, lo } => self.slice(base, hi, lo, span),
            ast::ExprKind::PlusSlice { base, lo, width } => self.plus_slice(base, lo, width, span),
            ast::ExprKind::List(items) => self.list_literal(items, span),
            ast::ExprKind::Struct { fields, dots } => self.struct_literal(fields, *dots, span),
            ast::ExprKind::Unary { op, operand } => self.unary(*op, operand, span),
            ast::ExprKind::Binary { op, op_span, lhs, rhs } => self.binary(*op, *op_span, lhs, rhs, span),
            ast::ExprKind::Conditional { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise, span)
            }
            ast::ExprKind::Cast { ty, operand } => self.cast(ty, operand, span),
            ast::ExprKind::Call { callee, type_args, args } => self.call(callee, type_args, args, span),
            ast::ExprKind::Error => Expr::error(span),
        }
    }

    fn int_literal(&mut self, lit: &ast::IntLiteral, span: Span) -> Expr {
        let (ty, shape) = match lit.width {
            None => return Expr::constant(Value::Int(lit.value.clone()), Types::INT, span),
            Some((w, _)) if w > crate::type_expr::WIDTH_MAX => {
                self.report(
                    Diagnostic::new(&codes::TOO_WIDE, span, "this literal is wider than Siding supports")
                        .note(format!("the widest supported type has {} bits", crate::type_expr::WIDTH_MAX)),
                );
                return Expr::error(span);
            }
            Some((0, ast::Signedness::Signed)) => {
                self.error(&codes::INVALID_WIDTH, span, "a signed literal needs a width of at least 1");
                return Expr::error(span);
            }
            Some((w, ast::Signedness::Unsigned)) => (self.p.types.bit(w), IntShape::Unsigned(w)),
            Some((w, ast::Signedness::Signed)) => (self.p.types.signed(w), IntShape::Signed(w)),
        };
        let value = self.truncate(&lit.value, shape, ty, span);
        Expr::constant(Value::Int(value), ty, span)
    }

    /// Wraps a literal to its type and warns when that changes it.
    pub fn truncate(&mut self, value: &BigInt, shape: IntShape, ty: Ty, span: Span) -> BigInt {
        let wrapped = fold::wrap(value, shape);
        if wrapped != *value {
            // `-1` for `bit<W>` and `0xFF` for `int<8>` say what they mean by their bits.
            let w = match shape {
                IntShape::Unbounded => 0,
                IntShape::Unsigned(w) | IntShape::Signed(w) => w,
            };
            let is_bit_pattern = match shape {
                IntShape::Signed(_) => fold::fits(value, IntShape::Unsigned(w)),
                IntShape::Unsigned(_) => value.is_negative() && fold::fits(value, IntShape::Signed(w)),
                IntShape::Unbounded => true,
            };
            if !is_bit_pattern || matches!(shape, IntShape::Signed(_)) {
                let shown = self.quote(ty);
                let bits = value.bits() + u64::from(matches!(shape, IntShape::Signed(_)));
                self.report(
                    Diagnostic::new(&codes::OVERFLOW, span, format!("{} does not fit {shown}", short(value)))
                        .label(format!("becomes {}", short(&wrapped)))
                        .note("the upper bits are cut off")
                        .help(format!(
                            "use a type of at least {bits} bits, or write {} if that is meant",
                            short(&wrapped)
                        )),
                );
            }
        }
        wrapped
    }

    fn this(&mut self, span: Span) -> Expr {
        match self.ctx.this {
            Some(ty) if self.ctx.place == Place::Method => {
                Expr::new(ExprKind::This, ty, span).compile_time(true)
            }
            _ => {
                self.report(
                    Diagnostic::new(&codes::INVALID_THIS, span, "`this` is not defined here")
                        .label("no object to refer to")
                        .note("`this` stands for the object in implementations of abstract methods"),
                );
                Expr::error(span)
            }
        }
    }

    fn name(&mut self, path: &ast::Path, span: Span) -> Expr {
        if let Some(e) = self.match_kind_name(path, span) {
            return e;
        }
        let Some(binding) = self.lookup(path) else { return Expr::error(span) };
        match binding.res {
            Res::Error => Expr::error(span),
            Res::EnumMember(id, i) => {
                let ty = self.intern(TyKind::Enum(id));
                match self.p.enums[id].members.get(i as usize).and_then(|m| m.value.clone()) {
                    Some(v) => Expr::constant(v, ty, span),
                    None => Expr::error(span),
                }
            }
            Res::Var(id) => {
                let var = &self.p.vars[id];
                let (ty, kind) = (var.ty, var.kind);
                let e = Expr::new(ExprKind::Var(id), ty, span);
                match kind {
                    VarKind::Param(Direction::In) => e,
                    VarKind::Param(Direction::Out | Direction::InOut) => e.lvalue(true),
                    // Action data and constructor parameters are fixed before packets arrive.
                    VarKind::Param(Direction::None) if var.is_updatable() => e.lvalue(true),
                    VarKind::Param(Direction::None) if self.may_become_updatable(id) => {
                        e.compile_time(true).lvalue(true)
                    }
                    VarKind::Param(Direction::None) | VarKind::CtorParam => e.compile_time(true),
                    VarKind::Local | VarKind::ForIn => e.lvalue(true),
                }
            }
            Res::Const(id) => {
                let c = &self.p.constants[id];
                let mut e = Expr::new(ExprKind::ConstRef(id), c.ty, span).compile_time(true);
                e.value = c.init.value.clone();
                e
            }
            Res::Instance(id) => {
                Expr::new(ExprKind::Instance(id), self.p.instances[id].ty, span).compile_time(true)
            }
            Res::ValueSet(id) => {
                let element = self.p.value_sets[id].element;
                let ty = self.intern(TyKind::Set(element));
                Expr::new(ExprKind::ValueSet(id), ty, span).compile_time(true)
            }
            Res::Table(id) => {
                if self.ctx.table.as_ref() == Some(&path.name.name)
                    || self.key_of.as_ref() == Some(&path.name.name)
                {
                    self.report(
                        Diagnostic::new(&codes::SELF_REFERENCE, span, "a table cannot refer to itself")
                            .label("inside its own declaration"),
                    );
                    return Expr::error(span);
                }
                let ty = self.intern(TyKind::Table(id));
                Expr::new(ExprKind::Table(id), ty, span)
            }
            Res::Action(id) => {
                let ty = self.intern(TyKind::Action(id));
                Expr::new(ExprKind::Action(id), ty, span)
            }
            Res::Function(_) => Expr::new(ExprKind::Error, Types::CALLABLE, span),
            Res::Type(res) => {
                let ty = match res {
                    TypeRes::Block(ids) if ids.len() > 1 => match ids.last() {
                        Some(&id) => {
                            let params = self.p.block_types[id].type_params.clone();
                            let args = self.fresh_args(&params);
                            self.intern(TyKind::Block(id, args))
                        }
                        None => Types::ERROR,
                    },
                    _ => {
                        let t = ast::Type { kind: ast::TypeKind::Name(path.clone()), span };
                        self.ty_with(&t, Generic::Infer)
                    }
                };
                if self.is_error(ty) {
                    return Expr::error(span);
                }
                let tt = self.intern(TyKind::TypeName(ty));
                Expr::new(ExprKind::TypeName, tt, span).compile_time(true)
            }
        }
    }

    /// Members of `match_kind` are reached by their plain names when nothing else has the name.
    fn match_kind_name(&mut self, path: &ast::Path, span: Span) -> Option<Expr> {
        let i = self.p.match_kinds.position(&path.name.name)?;
        if self.scopes.peek(&path.name.name).is_some() {
            return None;
        }
        Some(Expr::constant(Value::MatchKind(i), Types::MATCH_KIND, span))
    }

    // -- members ----------------------------------------------------------------------------

    fn member(&mut self, base: &ast::Expr, member: &ast::Ident, span: Span) -> Expr {
        let base = self.expr_or_name(base);
        self.member_of(base, member, span)
    }

    /// `base.member` where it is not called.
    pub fn member_of(&mut self, base: Expr, member: &ast::Ident, span: Span) -> Expr {
        let ty = base.ty;
        match self.kind(ty).clone() {
            TyKind::Error => Expr::error(span),
            TyKind::TypeName(inner) => self.member_of_type(inner, member, span),
            TyKind::ApplyResult(table) => {
                let (which, ty) = match member.name.as_str() {
                    "hit" => (ApplyMember::Hit, Types::BOOL),
                    "miss" => (ApplyMember::Miss, Types::BOOL),
                    "action_run" => (ApplyMember::ActionRun, self.intern(TyKind::ActionRun(table))),
                    _ => {
                        self.report(
                            Diagnostic::new(
                                &codes::UNKNOWN_MEMBER,
                                member.span,
                                format!("the result of applying a table has no member `{}`", member.name),
                            )
                            .label("unknown member")
                            .help("it has `hit`, `miss` and `action_run`"),
                        );
                        return Expr::error(span);
                    }
                };
                Expr::new(ExprKind::ApplyResult { apply: Box::new(base), member: which }, ty, span)
            }
            TyKind::Struct(id, _) => match self.field(ty, &member.name) {
                Some((field, field_ty)) => {
                    let value = base.value.as_deref().and_then(|v| field_value(v, field));
                    let (ct, lv) = (base.is_compile_time, base.is_lvalue);
                    let mut e = Expr::new(ExprKind::Field { base: Box::new(base), field }, field_ty, span);
                    e.is_compile_time = ct;
                    e.is_lvalue = lv;
                    e.value = value.map(Rc::new);
                    e
                }
                None => self.unknown_field(id, ty, member, span),
            },
            TyKind::Array(element, size) => self.stack_member(base, element, size, member, span),
            TyKind::Extern(id, _) => {
                let ty = self.quote(base.ty);
                let exists = self.positions.methods.contains_key(&(id, member.name.clone()));
                let d = if exists {
                    Diagnostic::new(
                        &codes::NOT_CALLABLE,
                        span,
                        format!("method `{}` of {ty} can only be called", member.name),
                    )
                    .help(format!("write `{}(...)`", self.sources.text(span)))
                } else {
                    Diagnostic::new(
                        &codes::UNKNOWN_MEMBER,
                        member.span,
                        format!("{ty} has no member `{}`", member.name),
                    )
                };
                self.report(d);
                Expr::error(span)
            }
            _ => {
                self.no_member(ty, member);
                Expr::error(span)
            }
        }
    }

    pub fn no_member(&mut self, ty: Ty, member: &ast::Ident) {
        let shown = self.quote(ty);
        let mut d = Diagnostic::new(
            &codes::UNKNOWN_MEMBER,
            member.span,
            format!("a value of type {shown} has no member `{}`", member.name),
        )
        .label("no such member");
        let known: &[&str] = match self.kind(ty) {
            TyKind::Table(_) | TyKind::Parser(..) | TyKind::Control(..) => &["apply"],
            TyKind::Array(..) => &["next", "last", "lastIndex", "size", "push_front", "pop_front"],
            _ => &[],
        };
        if let Some(s) = suggest::closest(&member.name, known.iter().copied()) {
            d = d.fix(format!("did you mean `{s}`?"), member.span, s);
        } else if self.is_fixed_int(ty) && member.name.starts_with("is") {
            d = d.note("only headers have a validity");
        }
        self.report(d);
    }

    fn unknown_field(&mut self, id: StructId, ty: Ty, member: &ast::Ident, span: Span) -> Expr {
        let def = &self.p.structs[id];
        let is_method = matches!(member.name.as_str(), "isValid" | "setValid" | "setInvalid");
        let (decl, kind) = (def.span, def.kind);
        let names =
            self.names_to_suggest(|p| p.structs[id].fields.iter().map(|f| f.name.to_string()).collect());
        let shown = self.quote(ty);
        let mut d = Diagnostic::new(
            &codes::UNKNOWN_MEMBER,
            member.span,
            format!("{shown} has no field `{}`", member.name),
        )
        .label("no such field")
        .also(decl, format!("{shown} is declared here"));
        if is_method && kind != StructKind::Struct {
            d = d.help(format!("`{}` is a method: write `{}()`", member.name, member.name));
        } else if let Some(s) = suggest::closest(&member.name, names.iter().map(String::as_str)) {
            d = d.fix(format!("did you mean `{s}`?"), member.span, s);
        } else if !names.is_empty() && names.len() <= 12 {
            d = d.note(format!("its fields are {}", list_names(&names)));
        }
        self.report(d);
        Expr::error(span)
    }

    fn member_of_type(&mut self, ty: Ty, member: &ast::Ident, span: Span) -> Expr {
        match self.kind(ty).clone() {
            TyKind::Enum(id) => {
                let def = &self.p.enums[id];
                let Some(&i) = self.positions.enum_members.get(&(id, member.name.clone())) else {
                    let (name, decl) = (def.name.clone(), def.span);
                    let names = self.names_to_suggest(|p| {
                        p.enums[id].members.iter().map(|m| m.name.to_string()).collect()
                    });
                    let mut d = Diagnostic::new(
                        &codes::UNKNOWN_MEMBER,
                        member.span,
                        format!("enum `{name}` has no member `{}`", member.name),
                    )
                    .label("no such member")
                    .also(decl, "declared here");
                    if let Some(s) = suggest::closest(&member.name, names.iter().map(String::as_str)) {
                        d = d.fix(format!("did you mean `{s}`?"), member.span, s);
                    }
                    self.report(d);
                    return Expr::error(span);
                };
                let value = match (&def.members[i as usize].value, def.underlying) {
                    (Some(v), Some(_)) => v.clone(),
                    (None, Some(_)) => return Expr::error(span),
                    (_, None) => Value::EnumMember(id, i),
                };
                Expr::constant(value, ty, span)
            }
            TyKind::ErrorCode => match self.p.errors.position(&member.name) {
                Some(i) => Expr::constant(Value::Error(i), Types::ERROR_CODE, span),
                None => {
                    let names =
                        self.names_to_suggest(|p| p.errors.iter().map(|m| m.name.to_string()).collect());
                    let mut d = Diagnostic::new(
                        &codes::UNKNOWN_MEMBER,
                        member.span,
                        format!("there is no error `{}`", member.name),
                    )
                    .label("not declared");
                    d = match suggest::closest(&member.name, names.iter().map(String::as_str)) {
                        Some(s) => d.fix(format!("did you mean `{s}`?"), member.span, s),
                        None => d.help(format!("declare it: `error {{ {} }}`", member.name)),
                    };
                    self.report(d);
                    Expr::error(span)
                }
            },
            TyKind::Error => Expr::error(span),
            _ => {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::UNKNOWN_MEMBER,
                        member.span,
                        format!("type {shown} has no member `{}`", member.name),
                    )
                    .label("no such member")
                    .note("only enums and `error` have members that are reached through the type's name"),
                );
                Expr::error(span)
            }
        }
    }

    fn stack_member(&mut self, base: Expr, element: Ty, size: u32, member: &ast::Ident, span: Span) -> Expr {
        let which = match member.name.as_str() {
            "next" => StackMember::Next,
            "last" => StackMember::Last,
            "lastIndex" => StackMember::LastIndex,
            "size" => StackMember::Size,
            _ => {
                self.no_member(base.ty, member);
                return Expr::error(span);
            }
        };
        if !(self.is_header(element) || self.is_header_union(element)) {
            let shown = self.quote(base.ty);
            self.report(
                Diagnostic::new(
                    &codes::STACK_MEMBER,
                    member.span,
                    format!("`{}` is defined only for header stacks, not for {shown}", member.name),
                )
                .label("not a header stack"),
            );
            return Expr::error(span);
        }
        let in_parser = self.in_parser();
        if which != StackMember::Size && !in_parser {
            self.report(
                Diagnostic::new(
                    &codes::STACK_MEMBER,
                    member.span,
                    format!("`{}` can be used only in a parser", member.name),
                )
                .label("not in a parser")
                .help("use an index: `stack[i]`"),
            );
            return Expr::error(span);
        }
        let u32_ty = self.p.types.bit(32);
        let is_lvalue = base.is_lvalue && which == StackMember::Next;
        let ty = match which {
            StackMember::Next | StackMember::Last => element,
            StackMember::LastIndex | StackMember::Size => u32_ty,
        };
        let e =
            Expr::new(ExprKind::Stack { base: Box::new(base), member: which }, ty, span).lvalue(is_lvalue);
        if which == StackMember::Size { e.with_value(Value::Int(BigInt::from(size))) } else { e }
    }

    pub fn in_parser(&self) -> bool {
        matches!(self.ctx.place, Place::ParserState | Place::ParserLocals)
    }

    // -- aggregates ---------------------------------------------------------------------------

    fn list_literal(&mut self, items: &[ast::Expr], span: Span) -> Expr {
        let mut list = Vec::with_capacity(items.len());
        let mut failed = false;
        for (i, item) in items.iter().enumerate() {
            let e = self.expr(item);
            failed |= self.is_error(e.ty);
            if e.ty == Types::DOTS && i + 1 != items.len() {
                self.report(
                    Diagnostic::new(&codes::INITIALIZER, e.span, "`...` must be the last element")
                        .label("elements follow")
                        .note("`...` stands for the default values of all remaining elements"),
                );
                failed = true;
            }
            list.push(e);
        }
        if failed {
            return Expr::error(span);
        }
        let ty = self.intern(TyKind::ListLiteral(list.iter().map(|e| e.ty).collect()));
        let ct = list.iter().all(|e| e.is_compile_time);
        let value = collect_values(list.iter());
        let mut e = Expr::new(ExprKind::List(list), ty, span).compile_time(ct);
        e.value = value.map(|v| Rc::new(Value::Aggregate(v)));
        e
    }

    fn struct_literal(&mut self, fields: &[ast::NamedExpr], dots: Option<Span>, span: Span) -> Expr {
        let mut list: Vec<(SmolStr, Expr)> = Vec::with_capacity(fields.len());
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        let mut failed = false;
        for f in fields {
            let e = self.expr(&f.value);
            failed |= self.is_error(e.ty);
            if let Some(earlier) = seen.insert(&f.name.name, f.name.span) {
                self.report_duplicate(&f.name.name, f.name.span, earlier);
                failed = true;
                continue;
            }
            list.push((f.name.name.clone(), e));
        }
        if failed {
            return Expr::error(span);
        }
        let mut shape: Vec<(SmolStr, Ty)> = list.iter().map(|(n, e)| (n.clone(), e.ty)).collect();
        if dots.is_some() {
            shape.push(("...".into(), Types::DOTS));
        }
        let ty = self.intern(TyKind::StructLiteral(shape));
        let ct = list.iter().all(|(_, e)| e.is_compile_time);
        Expr::new(ExprKind::StructLiteral { fields: list, has_dots: dots.is_some() }, ty, span)
            .compile_time(ct)
    }
}

/// Field of a struct, header, tuple or array value.
pub(crate) fn field_value(v: &Value, i: u32) -> Option<Value> {
    match v {
        Value::Aggregate(items) => items.get(i as usize).cloned(),
        Value::Header { valid: true, fields } => fields.get(i as usize).cloned(),
        _ => None,
    }
}

/// The values of all expressions when all are known.
pub(crate) fn collect_values<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Option<Vec<Value>> {
    exprs.map(|e| e.value.as_deref().cloned()).collect()
}

/// Names that a message lists; the others are counted.
const NAMES_LISTED_MAX: usize = 12;

pub(crate) fn list_names(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES_LISTED_MAX).map(|n| format!("`{n}`")).collect();
    match names.len().saturating_sub(NAMES_LISTED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
