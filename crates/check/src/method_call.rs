//! Methods: built-in ones, those of externs, and `apply`.

use crate::call::{BoundArgs, CallKind};
use crate::checker::Checker;
use crate::codes;
use crate::program::*;
use crate::scope::Place;
use crate::subst::Subst;
use crate::types::{Ty, TyKind, Types};
use crate::unify::plural;
use crate::value::Value;
use diagnostics::{Diagnostic, Span, suggest};
use num_bigint::BigInt;
use syntax::ast;

impl Checker<'_> {
    pub fn method_call(
        &mut self,
        base: &ast::Expr,
        member: &ast::Ident,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let object = self.expr_or_name(base);
        if self.is_error(object.ty) {
            self.typed_args(args);
            return Expr::error(span);
        }
        if object.ty == Types::CALLABLE {
            self.no_member(object.ty, member);
            return Expr::error(span);
        }
        if let Some(e) = self.size_call(&object, member, type_args, args, span) {
            return e;
        }
        match self.kind(object.ty).clone() {
            TyKind::TypeName(inner) => {
                // Direct invocation: `C.apply(...)` makes an anonymous instance of C.
                let is_block = matches!(self.kind(inner), TyKind::Parser(..) | TyKind::Control(..));
                if member.name != "apply" || !is_block {
                    self.member_of(object, member, span);
                    self.typed_args(args);
                    return Expr::error(span);
                }
                let object_span = object.span;
                let instance = self.construct(inner, Vec::new(), object_span, object_span);
                if self.is_error(instance.ty) {
                    return Expr::error(span);
                }
                self.apply_call(instance, type_args, args, span)
            }
            TyKind::Extern(id, targs) => self.extern_call(object, id, &targs, member, type_args, args, span),
            TyKind::Table(_) | TyKind::Parser(..) | TyKind::Control(..) | TyKind::Block(..)
                if member.name == "apply" =>
            {
                self.apply_call(object, type_args, args, span)
            }
            TyKind::Struct(..) | TyKind::Array(..) => {
                self.builtin_call(object, member, type_args, args, span)
            }
            _ => {
                self.member_of(object, member, span);
                self.typed_args(args);
                Expr::error(span)
            }
        }
    }

    /// `x.minSizeInBits()` and its kin, defined for every type that has a size.
    pub fn size_call(
        &mut self,
        object: &Expr,
        member: &ast::Ident,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Option<Expr> {
        let method = match member.name.as_str() {
            "minSizeInBits" => Builtin::MinSizeInBits,
            "minSizeInBytes" => Builtin::MinSizeInBytes,
            "maxSizeInBits" => Builtin::MaxSizeInBits,
            "maxSizeInBytes" => Builtin::MaxSizeInBytes,
            _ => return None,
        };
        let ty = match self.kind(object.ty) {
            TyKind::TypeName(inner) => *inner,
            TyKind::Extern(..) => return None,
            _ => object.ty,
        };
        if !args.is_empty() || !type_args.is_empty() {
            self.error(&codes::ARGUMENT_COUNT, span, format!("`{}` takes no arguments", member.name));
            return Some(Expr::error(span));
        }
        let is_generic = self.p.types.any(ty, &|k| matches!(k, TyKind::Var(_) | TyKind::Infer(_)));
        let max = matches!(method, Builtin::MaxSizeInBits | Builtin::MaxSizeInBytes);
        let call = Call {
            callee: Callee::Builtin { object: object.clone(), method },
            type_args: Vec::new(),
            args: Vec::new(),
            order: Vec::new(),
        };
        let e = Expr::new(ExprKind::Call(Box::new(call)), Types::INT, span).compile_time(true);
        if is_generic {
            return Some(e);
        }
        match self.size_bits(ty, max) {
            Some(bits) => {
                let v = match method {
                    Builtin::MinSizeInBytes | Builtin::MaxSizeInBytes => bits.div_ceil(8),
                    _ => bits,
                };
                Some(e.with_value(Value::Int(BigInt::from(v))))
            }
            None => {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(&codes::INVALID_OPERAND, span, format!("type {shown} has no size"))
                        .label(format!("`{}` is not defined for it", member.name)),
                );
                Some(Expr::error(span))
            }
        }
    }

    /// Size of a type in bits (P4-16, "minSizeInBits"); unions take the largest member either way.
    pub fn size_bits(&mut self, ty: Ty, max: bool) -> Option<u64> {
        Some(match self.kind(ty).clone() {
            TyKind::Bool => 1,
            TyKind::Bit(w) | TyKind::Signed(w) => u64::from(w),
            TyKind::Varbit(w) => {
                if max {
                    u64::from(w)
                } else {
                    0
                }
            }
            TyKind::Newtype(id) => {
                let under = self.p.newtypes[id].underlying;
                self.size_bits(under, max)?
            }
            TyKind::Enum(id) => {
                let under = self.p.enums[id].underlying?;
                self.size_bits(under, max)?
            }
            TyKind::Struct(id, _) => {
                let is_union = self.p.structs[id].kind == StructKind::HeaderUnion;
                let fields = self.fields(ty)?;
                let mut total = 0u64;
                for (_, t) in fields {
                    let n = self.size_bits(t, max)?;
                    total = if is_union { total.max(n) } else { total.saturating_add(n) };
                }
                total
            }
            TyKind::Array(element, n) => self.size_bits(element, max)?.saturating_mul(u64::from(n)),
            TyKind::Tuple(items) | TyKind::ListLiteral(items) => {
                let mut total = 0u64;
                for t in items {
                    total = total.saturating_add(self.size_bits(t, max)?);
                }
                total
            }
            TyKind::StructLiteral(fields) => {
                let mut total = 0u64;
                for (_, t) in fields {
                    total = total.saturating_add(self.size_bits(t, max)?);
                }
                total
            }
            _ => return None,
        })
    }

    pub fn builtin_call(
        &mut self,
        object: Expr,
        member: &ast::Ident,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let is_header = self.is_header(object.ty);
        let is_union = self.is_header_union(object.ty);
        let is_stack = match self.kind(object.ty) {
            TyKind::Array(e, _) => self.is_header(*e) || self.is_header_union(*e),
            _ => false,
        };
        let method = match member.name.as_str() {
            "isValid" if is_header || is_union => Builtin::IsValid,
            "setValid" if is_header => Builtin::SetValid,
            "setInvalid" if is_header => Builtin::SetInvalid,
            "push_front" if is_stack => Builtin::PushFront,
            "pop_front" if is_stack => Builtin::PopFront,
            _ => {
                let has_field = match self.kind(object.ty) {
                    TyKind::Struct(id, _) => {
                        let id = *id;
                        self.positions.fields.contains_key(&(id, member.name.clone()))
                    }
                    _ => matches!(member.name.as_str(), "next" | "last" | "lastIndex" | "size"),
                };
                self.typed_args(args);
                if has_field {
                    self.report(
                        Diagnostic::new(
                            &codes::NOT_CALLABLE,
                            span,
                            format!("`{}` is not a method", member.name),
                        )
                        .label("cannot be called"),
                    );
                } else {
                    self.unknown_method(&object, member);
                }
                return Expr::error(span);
            }
        };
        let Some(mut args) = self.typed_args(args) else { return Expr::error(span) };
        if !type_args.is_empty() {
            self.error(&codes::NOT_GENERIC, span, format!("`{}` takes no type arguments", member.name));
            return Expr::error(span);
        }
        let writes = method != Builtin::IsValid;
        if writes && !object.is_lvalue {
            self.report(
                Diagnostic::new(
                    &codes::NOT_ASSIGNABLE,
                    object.span,
                    format!("`{}` changes its object, which cannot be changed here", member.name),
                )
                .label("read-only"),
            );
            return Expr::error(span);
        }
        if writes {
            self.mark_assigned(&object);
        }
        if matches!(method, Builtin::PushFront | Builtin::PopFront) && self.in_parser() {
            self.report(
                Diagnostic::new(
                    &codes::STACK_MEMBER,
                    member.span,
                    format!("`{}` cannot be used in a parser", member.name),
                )
                .label("in a parser"),
            );
            return Expr::error(span);
        }
        if self.ctx.in_select_case && writes {
            self.check_call_place(&member.name, false, span);
            return Expr::error(span);
        }
        let wants = usize::from(matches!(method, Builtin::PushFront | Builtin::PopFront));
        if args.len() != wants {
            self.report(
                Diagnostic::new(
                    if args.len() > wants { &codes::ARGUMENT_COUNT } else { &codes::MISSING_ARGUMENT },
                    span,
                    format!(
                        "`{}` takes {wants} argument{}, {} given",
                        member.name,
                        plural(wants),
                        args.len()
                    ),
                )
                .label("wrong number of arguments"),
            );
            return Expr::error(span);
        }
        let bound: Vec<Option<Expr>> = match args.pop() {
            None => Vec::new(),
            Some(a) => {
                let plain = self.strip_enum(a.expr.ty);
                if !(a.expr.is_compile_time && (self.is_fixed_int(plain) || plain == Types::INT)) {
                    self.report(
                        Diagnostic::new(
                            &codes::ARGUMENT_NOT_CONSTANT,
                            a.expr.span,
                            format!(
                                "the count of `{}` must be an integer known at compile time",
                                member.name
                            ),
                        )
                        .label("not a constant"),
                    );
                    return Expr::error(span);
                }
                if a.expr.int_value().is_some_and(|v| v.sign() == num_bigint::Sign::Minus) {
                    self.error(&codes::INVALID_ARGUMENT, a.expr.span, "the count cannot be negative");
                    return Expr::error(span);
                }
                if self.options.strict
                    && a.expr.int_value().is_some_and(|v| v.sign() != num_bigint::Sign::Plus)
                {
                    self.error(&codes::INVALID_ARGUMENT, a.expr.span, "the count must be positive");
                    return Expr::error(span);
                }
                vec![Some(a.expr)]
            }
        };
        let ty = if method == Builtin::IsValid { Types::BOOL } else { Types::VOID };
        let known = match (&object.kind, method) {
            (ExprKind::InvalidHeader, Builtin::IsValid) => Some(false),
            (ExprKind::Struct(_), Builtin::IsValid) if is_header => Some(true),
            _ => None,
        };
        let n = bound.len() as u32;
        let call = Call {
            callee: Callee::Builtin { object, method },
            type_args: Vec::new(),
            args: bound,
            order: (0..n).collect(),
        };
        let e = Expr::new(ExprKind::Call(Box::new(call)), ty, span);
        match known {
            Some(b) => e.with_value(Value::Bool(b)),
            None => e,
        }
    }

    pub fn unknown_method(&mut self, object: &Expr, member: &ast::Ident) {
        let shown = self.quote(object.ty);
        let is_validity = matches!(member.name.as_str(), "isValid" | "setValid" | "setInvalid");
        let mut d = Diagnostic::new(
            &codes::UNKNOWN_MEMBER,
            member.span,
            format!("{shown} has no method `{}`", member.name),
        )
        .label("no such method")
        .also(object.span, format!("of type {shown}"));
        let candidates = ["isValid", "setValid", "setInvalid", "push_front", "pop_front", "apply"];
        if is_validity && self.is_header_union(object.ty) {
            d = d.note("of a header union only the members can be made valid or invalid");
        } else if is_validity {
            d = d.note("only headers have a validity");
        } else if let Some(s) = suggest::closest(&member.name, candidates) {
            d = d.fix(format!("did you mean `{s}`?"), member.span, s);
        }
        self.report(d);
    }

    pub fn apply_call(
        &mut self,
        object: Expr,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let place = match self.ctx.place {
            Place::Action => Some("an action"),
            Place::Function | Place::Method => Some("a function"),
            Place::Program | Place::Initializer => Some("a declaration"),
            _ => None,
        };
        let Some(args) = self.typed_args(args) else { return Expr::error(span) };
        if !type_args.is_empty() {
            self.error(&codes::NOT_GENERIC, span, "`apply` takes no type arguments");
            return Expr::error(span);
        }
        if let Some(place) = place {
            let what = self.quote(object.ty);
            self.report(
                Diagnostic::new(
                    &codes::CALL_NOT_ALLOWED,
                    span,
                    format!("`apply` cannot be called in {place}"),
                )
                .label(format!("application of {what}"))
                .help("apply it in the `apply` block of a control"),
            );
            return Expr::error(span);
        }
        if self.ctx.in_select_case {
            self.check_call_place("apply", false, span);
            return Expr::error(span);
        }
        match self.kind(object.ty).clone() {
            TyKind::Table(id) => {
                if !args.is_empty() {
                    self.report(
                        Diagnostic::new(
                            &codes::ARGUMENT_COUNT,
                            args[0].expr.span,
                            "the application of a table takes no arguments",
                        )
                        .label("not expected"),
                    );
                    return Expr::error(span);
                }
                if self.ctx.table.is_some() {
                    self.report(
                        Diagnostic::new(
                            &codes::CALL_NOT_ALLOWED,
                            span,
                            "a table cannot be applied inside the declaration of a table",
                        )
                        .label("application in a table property"),
                    );
                    return Expr::error(span);
                }
                let ty = self.intern(TyKind::ApplyResult(id));
                let call = Call {
                    callee: Callee::TableApply(id),
                    type_args: Vec::new(),
                    args: Vec::new(),
                    order: Vec::new(),
                };
                Expr::new(ExprKind::Call(Box::new(call)), ty, span)
            }
            kind => {
                let (name, params, type_params, targs, decl, is_parser) = match &kind {
                    TyKind::Parser(id, a) => {
                        let d = &self.p.parsers[*id];
                        (d.name.clone(), d.params.clone(), d.type_params.clone(), a.clone(), d.span, true)
                    }
                    TyKind::Control(id, a) => {
                        let d = &self.p.controls[*id];
                        (d.name.clone(), d.params.clone(), d.type_params.clone(), a.clone(), d.span, false)
                    }
                    TyKind::Block(id, a) if self.p.block_types[*id].kind != BlockKind::Package => {
                        let d = &self.p.block_types[*id];
                        let is_parser = d.kind == BlockKind::Parser;
                        (
                            d.name.clone(),
                            d.params.clone(),
                            d.type_params.clone(),
                            a.clone(),
                            d.span,
                            is_parser,
                        )
                    }
                    _ => {
                        let shown = self.quote(object.ty);
                        self.report(
                            Diagnostic::new(&codes::NOT_CALLABLE, span, format!("{shown} cannot be applied"))
                                .label("a package has no `apply`"),
                        );
                        return Expr::error(span);
                    }
                };
                if is_parser != self.in_parser() {
                    let (what, place) =
                        if is_parser { ("parser", "in a control") } else { ("control", "in a parser") };
                    self.report(
                        Diagnostic::new(
                            &codes::CALL_NOT_ALLOWED,
                            span,
                            format!("a {what} cannot be applied {place}"),
                        )
                        .label(format!("`{name}` is a {what}"))
                        .also(decl, "declared here"),
                    );
                    return Expr::error(span);
                }
                let subst = Subst::new(&type_params, &targs);
                let apply_name = format!("{name}.apply");
                let Some(bound) =
                    self.bind_args(&apply_name, &params, &subst, args, CallKind::Ordinary, decl, span)
                else {
                    return Expr::error(span);
                };
                let call = Call {
                    callee: Callee::BlockApply { object },
                    type_args: Vec::new(),
                    args: bound.args,
                    order: bound.order,
                };
                Expr::new(ExprKind::Call(Box::new(call)), Types::VOID, span)
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "mirrors the parts of a call expression")]
    pub fn extern_call(
        &mut self,
        object: Expr,
        id: ExternId,
        object_args: &[Ty],
        member: &ast::Ident,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let Some(args) = self.typed_args(args) else { return Expr::error(span) };
        let def = &self.p.externs[id];
        let of_name = self.positions.methods.get(&(id, member.name.clone()));
        let candidates: Vec<(u32, Vec<VarId>, Span)> = of_name
            .into_iter()
            .flatten()
            .map(|i| (*i, &def.methods[*i as usize]))
            .filter(|(_, m)| !m.is_constructor)
            .map(|(i, m)| (i, m.signature.params.clone(), m.span))
            .collect();
        if candidates.is_empty() {
            let (decl, shown) = (def.span, self.quote(object.ty));
            let names =
                self.names_to_suggest(|p| p.externs[id].methods.iter().map(|m| m.name.to_string()).collect());
            let mut d = Diagnostic::new(
                &codes::UNKNOWN_MEMBER,
                member.span,
                format!("{shown} has no method `{}`", member.name),
            )
            .label("no such method")
            .also(decl, "declared here");
            if let Some(s) = suggest::closest(&member.name, names.iter().map(String::as_str)) {
                d = d.fix(format!("did you mean `{s}`?"), member.span, s);
            }
            self.report(d);
            return Expr::error(span);
        }
        let extern_params = def.type_params.clone();
        let Some(method) = self.choose(&member.name, &candidates, &args, span) else {
            return Expr::error(span);
        };
        let m = &self.p.externs[id].methods[method as usize];
        let (signature, decl, annotations) = (m.signature.clone(), m.span, m.annotations.clone());
        self.warn_deprecated(&annotations, &member.name, member.span);
        let name = format!("{}.{}", self.p.externs[id].name, member.name);
        let Some(targs) = self.call_type_args(&name, &signature.type_params, type_args, span) else {
            return Expr::error(span);
        };
        let all_constant = args.iter().all(|a| a.expr.is_compile_time);
        let mut subst = Subst::new(&extern_params, object_args);
        subst.extend(&signature.type_params, &targs);
        let Some(bound) =
            self.bind_args(&name, &signature.params, &subst, args, CallKind::Ordinary, decl, span)
        else {
            return Expr::error(span);
        };
        if !self.check_call_place(&member.name, false, member.span) {
            return Expr::error(span);
        }
        let Some(type_args) = self.solved(
            &name,
            &signature.type_params,
            &targs,
            &signature.params,
            &bound,
            !type_args.is_empty(),
            span,
        ) else {
            return Expr::error(span);
        };
        let mut subst = Subst::new(&extern_params, object_args);
        subst.extend(&signature.type_params, &type_args);
        let ty = self.subst(signature.return_type, &subst);
        let ty = self.zonk(ty);
        if !self.check_result(ty, all_constant, span) {
            return Expr::error(span);
        }
        self.check_packet_call(id, &member.name, &bound, ty, span);
        let call = Call {
            callee: Callee::Method { object, extern_: id, method },
            type_args,
            args: bound.args,
            order: bound.order,
        };
        Expr::new(ExprKind::Call(Box::new(call)), ty, span)
    }

    /// Checks the rules for arguments of `packet_in` and `packet_out` that their declared types do not express
    /// (P4-16, "Data extraction", "Deparsing").
    pub fn check_packet_call(
        &mut self,
        id: ExternId,
        method: &str,
        bound: &BoundArgs,
        result: Ty,
        span: Span,
    ) {
        let name = self.p.externs[id].name.clone();
        let is_core = name == "packet_in" || name == "packet_out";
        if name == "packet_in" && method == "lookahead" {
            if self.has_varbit(result) || result == Types::VOID {
                let shown = self.quote(result);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_TYPE_ARGUMENT,
                        span,
                        format!("`lookahead` needs a type of fixed size, not {shown}"),
                    )
                    .label(if result == Types::VOID {
                        "no bits"
                    } else {
                        "has a varbit field"
                    }),
                );
            }
            return;
        }
        let Some(Some(arg)) = bound.args.first() else { return };
        if !is_core {
            return;
        }
        let (ty, arg_span) = (arg.ty, arg.span);
        let dropped = matches!(arg.kind, ExprKind::DontCare);
        match method {
            "extract" => {
                if matches!(self.kind(ty), TyKind::Error | TyKind::Var(_)) {
                    return;
                }
                if !self.is_header(ty) {
                    let shown = self.quote(ty);
                    self.report(
                        Diagnostic::new(
                            &codes::INVALID_ARGUMENT,
                            arg_span,
                            format!("only a header can be extracted, not {shown}"),
                        )
                        .label(format!("of type {shown}")),
                    );
                    return;
                }
                let n_varbits = self
                    .fields(ty)
                    .unwrap_or_default()
                    .iter()
                    .filter(|(_, t)| matches!(self.kind(*t), TyKind::Varbit(_)))
                    .count();
                let has_varbit = n_varbits > 0;
                if n_varbits > 1 {
                    let decl = match self.kind(ty) {
                        TyKind::Struct(s, _) => {
                            let fields = &self.p.structs[*s].fields;
                            let varbits = |f: &&FieldDef| matches!(self.kind(f.ty), TyKind::Varbit(_));
                            fields.iter().filter(varbits).nth(1).map_or(Span::NONE, |f| f.span)
                        }
                        _ => Span::NONE,
                    };
                    self.report(
                        Diagnostic::new(
                            &codes::MULTIPLE_VARBITS,
                            decl,
                            "a header that is extracted can have only one varbit field",
                        )
                        .label("another one")
                        .also(arg_span, "extracted here"),
                    );
                    return;
                }
                let two = bound.args.len() == 2;
                if two && !has_varbit && !dropped {
                    self.report(
                        Diagnostic::new(
                            &codes::INVALID_ARGUMENT,
                            arg_span,
                            "this header has no varbit field",
                        )
                        .label("extracted with a size")
                        .help("extract it without a size"),
                    );
                } else if !two && has_varbit {
                    self.report(
                        Diagnostic::new(
                            &codes::INVALID_ARGUMENT,
                            arg_span,
                            "a header with a varbit field must be extracted with the size of that field",
                        )
                        .label("has a varbit field")
                        .help("give the size in bits as second argument"),
                    );
                }
            }
            "emit" => self.check_emit(ty, arg_span),
            _ => {}
        }
    }

    pub fn has_varbit(&mut self, ty: Ty) -> bool {
        match self.kind(ty).clone() {
            TyKind::Varbit(_) => true,
            TyKind::Struct(..) => {
                let fields = self.fields(ty).unwrap_or_default();
                fields.into_iter().any(|(_, t)| self.has_varbit(t))
            }
            TyKind::Array(e, _) => self.has_varbit(e),
            TyKind::Tuple(items) => items.into_iter().any(|t| self.has_varbit(t)),
            _ => false,
        }
    }

    pub fn check_emit(&mut self, ty: Ty, span: Span) {
        if !self.is_emittable(ty) {
            let shown = self.quote(ty);
            self.report(
                Diagnostic::new(&codes::INVALID_ARGUMENT, span, format!("{shown} cannot be emitted"))
                    .label("neither a header nor made of headers")
                    .note("headers, header stacks, header unions and structs of these can be emitted"),
            );
        }
    }

    pub fn is_emittable(&mut self, ty: Ty) -> bool {
        match self.kind(ty).clone() {
            TyKind::Error | TyKind::Var(_) => true,
            TyKind::Array(e, _) => self.is_emittable(e),
            TyKind::Struct(id, _) => match self.p.structs[id].kind {
                StructKind::Header | StructKind::HeaderUnion => true,
                StructKind::Struct => {
                    let fields = self.fields(ty).unwrap_or_default();
                    fields.iter().all(|(_, t)| self.is_emittable(*t))
                }
            },
            TyKind::Tuple(items) | TyKind::ListLiteral(items) => items.iter().all(|t| self.is_emittable(*t)),
            _ => false,
        }
    }
}
