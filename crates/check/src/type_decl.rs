//! Structs, headers, unions, enums, typedefs and new types.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::fold::{self};
use crate::program::*;
use crate::scope::{FrameKind, Res, TypeRes};
use crate::type_expr::short;
use crate::types::{Ty, TyKind, Types};
use crate::value::Value;
use diagnostics::{Diagnostic, Span};
use syntax::ast;

impl Checker<'_> {
    pub fn struct_decl(&mut self, s: &ast::StructDecl, annotations: Annotations) -> Option<StructId> {
        self.scopes.push(FrameKind::Params);
        let type_params = self.type_params(&s.type_params);
        let id = self.p.structs.push(StructDef {
            kind: s.kind,
            name: s.name.name.clone(),
            span: s.name.span,
            annotations,
            type_params,
            fields: Vec::new(),
        });
        let mut fields: Vec<FieldDef> = Vec::with_capacity(s.fields.len());
        let mut varbit: Option<Span> = None;
        for f in &s.fields {
            let annotations = self.annotations(&f.annotations);
            if let ast::TypeKind::Name(path) = &innermost(&f.ty).kind
                && path.name.name == s.name.name
                && self.scopes.peek(&path.name.name).is_none()
            {
                self.report(
                    Diagnostic::new(
                        &codes::SELF_REFERENCE,
                        f.ty.span,
                        format!("`{}` cannot contain itself", s.name.name),
                    )
                    .label("a type inside itself")
                    .also(s.name.span, "declared here"),
                );
                continue;
            }
            let ty = self.ty(&f.ty);
            self.check_match_annotation(&annotations);
            self.check_length_annotation(&annotations, id);
            if let Some(earlier) = self.positions.fields.get(&(id, f.name.name.clone())) {
                let earlier = fields[*earlier as usize].span;
                self.report_duplicate(&f.name.name, f.name.span, earlier);
                continue;
            }
            let mut field_ty = ty;
            if !self.is_error(ty) && !self.field_type_ok(ty, s.kind) {
                let shown = self.quote(ty);
                let (what, allowed) = match s.kind {
                    StructKind::Header => (
                        "header",
                        "a header holds bit<W>, int<W>, varbit<W>, bool, serializable enums and structs of these",
                    ),
                    StructKind::Struct => (
                        "struct",
                        "a struct holds values: no int, string, void, externs, parsers or controls",
                    ),
                    StructKind::HeaderUnion => ("header union", "a header union holds headers"),
                };
                self.report(
                    Diagnostic::new(
                        &codes::FIELD_TYPE,
                        f.span,
                        format!("field `{}` of a {what} cannot be of type {shown}", f.name.name),
                    )
                    .label(format!("of type {shown}"))
                    .also(s.name.span, format!("in this {what}"))
                    .note(allowed),
                );
                field_ty = Types::ERROR;
            }
            if s.kind == StructKind::Header && matches!(self.kind(ty), TyKind::Varbit(_)) {
                if let Some(first) = varbit.filter(|_| self.options.strict) {
                    self.report(
                        Diagnostic::new(
                            &codes::MULTIPLE_VARBITS,
                            f.span,
                            "a header can have only one varbit field",
                        )
                        .label("another one")
                        .also(first, "the first one"),
                    );
                } else {
                    varbit = Some(f.span);
                }
            }
            self.positions.fields.insert((id, f.name.name.clone()), fields.len() as u32);
            fields.push(FieldDef { name: f.name.name.clone(), ty: field_ty, span: f.name.span, annotations });
        }
        self.scopes.pop();
        self.p.structs[id].fields = fields;
        let own = self.p.structs[id].type_params.clone();
        let args: Vec<Ty> = own.iter().map(|v| self.intern(TyKind::Var(*v))).collect();
        let ty = self.intern(TyKind::Struct(id, args));
        if !self.check_type_size(ty, s.name.span) {
            self.p.structs[id].fields.clear();
            self.leaves.remove(&ty);
            self.declare(&s.name, Res::Error);
            return Some(id);
        }
        self.declare(&s.name, Res::Type(TypeRes::Struct(id)));
        Some(id)
    }

    /// `@length(field)`: only fields before it can give the length of a varbit field.
    pub fn check_length_annotation(&mut self, annotations: &Annotations, id: StructId) {
        let Some(a) = annotation(annotations, "length") else { return };
        let unknown = a
            .tokens()
            .iter()
            .enumerate()
            .find(|(i, t)| {
                let after_dot = *i > 0 && a.tokens()[i - 1].text == ".";
                t.kind == ast::AnnotationTokenKind::Word
                    && !after_dot
                    && syntax::token::TokenKind::keyword(&t.text).is_none()
                    && !self.positions.fields.contains_key(&(id, t.text.clone()))
                    && self.scopes.peek(&t.text).is_none()
            })
            .map(|(_, t)| (t.span, t.text.clone()));
        if let Some((span, text)) = unknown {
            self.report(
                Diagnostic::new(
                    &codes::UNKNOWN_NAME,
                    span,
                    format!("`{text}` is not declared before this field"),
                )
                .label("not an earlier field")
                .note("the length of a field can depend only on what is extracted before it"),
            );
        }
    }

    /// `@match(kind)` on the fields of a value set's struct (P4-16, "Value sets").
    pub fn check_match_annotation(&mut self, annotations: &Annotations) {
        let Some(a) = annotation(annotations, "match") else { return };
        let ok = matches!(a.tokens(), [t] if self.p.match_kinds.position(&t.text).is_some());
        if !ok {
            let span = a.span;
            self.report(
                Diagnostic::new(&codes::ANNOTATION, span, "annotation `@match` takes a match kind")
                    .label("not a match kind")
                    .help("write for instance `@match(ternary)`"),
            );
        }
    }

    /// True if a generic struct, with its type arguments put in, has only fields that it can hold.
    pub fn check_specialized(&mut self, ty: Ty, span: Span) -> bool {
        let TyKind::Struct(id, args) = self.kind(ty).clone() else { return true };
        if args.iter().any(|a| {
            self.p.types.any(*a, &|k| matches!(k, TyKind::DontCare | TyKind::Infer(_) | TyKind::Error))
        }) {
            return true;
        }
        let kind = self.p.structs[id].kind;
        let fields = self.fields(ty).unwrap_or_default();
        for (i, (name, ft)) in fields.into_iter().enumerate() {
            if self.is_error(ft) || self.field_type_ok(ft, kind) {
                continue;
            }
            let (ft, shown) = (self.quote(ft), self.quote(ty));
            let fspan = self.p.structs[id].fields[i].span;
            self.report(
                Diagnostic::new(
                    &codes::FIELD_TYPE,
                    span,
                    format!("field `{name}` of {shown} cannot be of type {ft}"),
                )
                .label("these type arguments do not fit")
                .also(fspan, format!("would be of type {ft}")),
            );
            return false;
        }
        true
    }

    pub fn field_type_ok(&mut self, ty: Ty, kind: StructKind) -> bool {
        let plain = self.strip_newtype(ty);
        match kind {
            StructKind::HeaderUnion => self.is_header(ty) || matches!(self.kind(ty), TyKind::Var(_)),
            StructKind::Header => {
                matches!(self.kind(plain), TyKind::Varbit(_) | TyKind::Var(_)) || self.is_bit_like(plain)
            }
            StructKind::Struct => !matches!(
                self.kind(plain),
                TyKind::Int
                    | TyKind::Str
                    | TyKind::Void
                    | TyKind::DontCare
                    | TyKind::Extern(..)
                    | TyKind::Block(..)
                    | TyKind::Parser(..)
                    | TyKind::Control(..)
                    | TyKind::List(_)
                    | TyKind::Set(_)
            ),
        }
    }

    /// True if a header can hold the type: bits, bools, serializable enums, and structs and arrays of these.
    pub fn is_bit_like(&mut self, ty: Ty) -> bool {
        let plain = self.strip_newtype(ty);
        match self.kind(plain).clone() {
            TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Bool | TyKind::Error => true,
            TyKind::Enum(id) => self.p.enums[id].underlying.is_some(),
            TyKind::Array(e, _) => self.is_bit_like(e),
            TyKind::Struct(id, args) => {
                if self.p.structs[id].kind != StructKind::Struct {
                    return false;
                }
                let has_vars = args.iter().any(|a| self.p.types.any(*a, &|k| matches!(k, TyKind::Var(_))));
                let fields = self.fields(plain).unwrap_or_default();
                fields
                    .iter()
                    .all(|(_, t)| self.is_bit_like(*t) || has_vars && matches!(self.kind(*t), TyKind::Var(_)))
            }
            _ => false,
        }
    }

    pub fn enum_decl(&mut self, e: &ast::EnumDecl, annotations: Annotations) -> Option<EnumId> {
        let underlying = e.underlying.as_ref().map(|t| {
            let ty = self.ty(t);
            if self.is_error(ty) || self.is_fixed_int(ty) {
                return ty;
            }
            let shown = self.quote(ty);
            let mut d =
                Diagnostic::new(&codes::ENUM_UNDERLYING, t.span, format!("an enum cannot be over {shown}"))
                    .label("expected bit<W> or int<W>");
            if let TyKind::Newtype(_) = self.kind(ty) {
                d = d.note(
                    "a `type` declaration makes a new type, which is not bit<W> even when it is over it",
                );
            }
            self.report(d);
            Types::ERROR
        });
        let id = self.p.enums.push(EnumDef {
            name: e.name.name.clone(),
            span: e.name.span,
            annotations,
            underlying,
            members: Vec::new(),
        });
        // Members may refer to earlier members.
        self.declare(&e.name, Res::Type(TypeRes::Enum(id)));
        self.scopes.push(FrameKind::Params);
        for m in &e.members {
            let annotations = self.annotations(&m.annotations);
            if let Some(earlier) = self.positions.enum_members.get(&(id, m.name.name.clone())) {
                let earlier = self.p.enums[id].members[*earlier as usize].span;
                self.report_duplicate(&m.name.name, m.name.span, earlier);
                continue;
            }
            let value = match (&m.value, underlying) {
                (Some(v), Some(ty)) => self.enum_value(&m.name, v, ty, e),
                _ => None,
            };
            let member = EnumMember { name: m.name.name.clone(), span: m.name.span, value, annotations };
            let position = self.p.enums[id].members.len() as u32;
            self.positions.enum_members.insert((id, m.name.name.clone()), position);
            if member.value.is_some() {
                self.declare(&m.name, Res::EnumMember(id, position));
            }
            self.p.enums[id].members.push(member);
        }
        self.scopes.pop();
        Some(id)
    }

    pub fn enum_value(
        &mut self,
        name: &ast::Ident,
        v: &ast::Expr,
        ty: Ty,
        e: &ast::EnumDecl,
    ) -> Option<Value> {
        let typed = self.expr(v);
        if self.is_error(typed.ty) || self.is_error(ty) {
            return None;
        }
        if let (Some(value), Some(shape)) = (typed.int_value(), self.shape(ty))
            && typed.ty == Types::INT
            && !fold::fits(value, shape)
        {
            let shown = self.quote(ty);
            let value = short(value);
            let under = e.underlying.as_ref().map_or(Span::NONE, |t| t.span);
            self.report(
                Diagnostic::new(
                    &codes::ENUM_VALUE,
                    typed.span,
                    format!("the value of `{}` does not fit {shown}", name.name),
                )
                .label(format!("{value} is out of range"))
                .also(under, "the type of all members"),
            );
            return None;
        }
        let typed = self.coerce(typed, ty, &Role::EnumValue);
        if self.is_error(typed.ty) {
            return None;
        }
        match typed.value {
            Some(v) => Some((*v).clone()),
            None => {
                self.report(
                    Diagnostic::new(
                        &codes::NOT_CONSTANT,
                        typed.span,
                        format!("the value of `{}` must be known at compile time", name.name),
                    )
                    .label("not a constant"),
                );
                None
            }
        }
    }

    pub fn typedef_decl(&mut self, t: &ast::TypedefDecl, annotations: Annotations) -> Option<TypedefId> {
        let target = match &t.target {
            ast::TypedefTarget::Type(ty) => {
                let target = self.ty(ty);
                let bad = matches!(self.kind(target), TyKind::Void | TyKind::Str | TyKind::MatchKind);
                if bad && self.options.strict {
                    let shown = self.quote(target);
                    self.report(
                        Diagnostic::new(
                            &codes::NEWTYPE_BASE,
                            ty.span,
                            format!("`typedef` cannot name {shown}"),
                        )
                        .label("not a type that can be renamed"),
                    );
                }
                target
            }
            ast::TypedefTarget::Decl(d) => {
                let inner = self.annotations(&d.annotations);
                let kind = match &d.kind {
                    ast::DeclKind::Struct(s) => {
                        self.struct_decl(s, inner).map(|id| TyKind::Struct(id, Vec::new()))
                    }
                    ast::DeclKind::Enum(e) => self.enum_decl(e, inner).map(TyKind::Enum),
                    _ => None,
                };
                match kind {
                    Some(k) => self.intern(k),
                    None => Types::ERROR,
                }
            }
        };
        let id = self.p.typedefs.push(TypedefDef {
            name: t.name.name.clone(),
            span: t.name.span,
            target,
            annotations,
        });
        self.declare(&t.name, Res::Type(TypeRes::Typedef(id)));
        Some(id)
    }

    pub fn newtype_decl(&mut self, t: &ast::TypedefDecl, annotations: Annotations) -> Option<NewtypeId> {
        let ast::TypedefTarget::Type(target) = &t.target else { return None };
        let mut underlying = self.ty(target);
        let ok = matches!(
            self.kind(underlying),
            TyKind::Error | TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Bool | TyKind::Newtype(_)
        );
        if !ok {
            let shown = self.quote(underlying);
            self.report(
                Diagnostic::new(
                    &codes::NEWTYPE_BASE,
                    target.span,
                    format!("`type` cannot make a new type over {shown}"),
                )
                .label("expected bit<W>, int<W>, bool or another `type`")
                .also(t.name.span, format!("for `{}`", t.name.name))
                .help("use `typedef` for another name of the same type"),
            );
            underlying = Types::ERROR;
        }
        if self.options.transparent_newtypes {
            let id = self.p.typedefs.push(TypedefDef {
                name: t.name.name.clone(),
                span: t.name.span,
                target: underlying,
                annotations,
            });
            self.declare(&t.name, Res::Type(TypeRes::Typedef(id)));
            return None;
        }
        let id = self.p.newtypes.push(NewtypeDef {
            name: t.name.name.clone(),
            span: t.name.span,
            underlying,
            annotations,
        });
        self.declare(&t.name, Res::Type(TypeRes::Newtype(id)));
        Some(id)
    }
}

fn innermost(t: &ast::Type) -> &ast::Type {
    match &t.kind {
        ast::TypeKind::Array(e, _) => innermost(e),
        _ => t,
    }
}
