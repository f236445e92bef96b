//! Constructor calls.

use crate::call::{CallKind, TypedArg};
use crate::checker::Checker;
use crate::codes;
use crate::program::*;
use crate::scope::Place;
use crate::subst::Subst;
use crate::type_expr::Generic;
use crate::types::{Ty, TyKind, Types};
use diagnostics::{Diagnostic, Span};
use smol_str::SmolStr;
use syntax::ast;

impl Checker<'_> {
    pub fn constructor_call(&mut self, t: &ast::Type, args: &[ast::Arg], span: Span) -> Expr {
        let ty = self.ty_with(t, Generic::Infer);
        let args = self.typed_args(args);
        if self.is_error(ty) {
            return Expr::error(span);
        }
        let Some(args) = args else { return Expr::error(span) };
        if matches!(self.ctx.place, Place::Action | Place::Function | Place::Method) {
            self.report(
                Diagnostic::new(&codes::CALL_NOT_ALLOWED, span, "an object cannot be constructed here")
                    .label("constructor call")
                    .help("instantiate it in the enclosing control"),
            );
            return Expr::error(span);
        }
        if let TyKind::Extern(id, _) = self.kind(ty) {
            let id = *id;
            if let Some(m) = self.p.externs[id].methods.iter().find(|m| m.is_abstract) {
                let (mname, mspan) = (m.name.clone(), m.span);
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::ABSTRACT_METHODS,
                        span,
                        format!("{shown} has abstract methods and must be instantiated by a declaration"),
                    )
                    .label("nothing implements its methods")
                    .also(mspan, format!("`{mname}` is abstract"))
                    .help(format!("declare it: `{}(...) name = {{ ... }};`", self.show(ty))),
                );
                return Expr::error(span);
            }
        }
        self.construct(ty, args, t.span, span)
    }

    /// Constructs an object of `ty` (with inference variables for type arguments not given).
    pub fn construct(&mut self, ty: Ty, args: Vec<TypedArg>, ty_span: Span, span: Span) -> Expr {
        let kind = self.kind(ty).clone();
        let (name, params, type_params, targs, decl, constructor) = match &kind {
            TyKind::Extern(id, a) => {
                let def = &self.p.externs[*id];
                let (name, type_params, decl) = (def.name.clone(), def.type_params.clone(), def.span);
                let candidates: Vec<(u32, Vec<VarId>, Span)> = def
                    .methods
                    .iter()
                    .enumerate()
                    .filter(|(_, m)| m.is_constructor)
                    .map(|(i, m)| (i as u32, m.signature.params.clone(), m.span))
                    .collect();
                if candidates.is_empty() {
                    self.report(
                        Diagnostic::new(
                            &codes::INVALID_INSTANTIATION,
                            span,
                            format!("`{name}` has no constructor"),
                        )
                        .label("cannot be instantiated")
                        .also(decl, "declared here"),
                    );
                    return Expr::error(span);
                }
                let Some(m) = self.choose(&name, &candidates, &args, span) else { return Expr::error(span) };
                let params = self.p.externs[*id].methods[m as usize].signature.params.clone();
                let annotations = self.p.externs[*id].methods[m as usize].annotations.clone();
                let extern_annotations = self.p.externs[*id].annotations.clone();
                self.warn_deprecated(&annotations, &name, ty_span);
                self.warn_deprecated(&extern_annotations, &name, ty_span);
                (name, params, type_params, a.clone(), decl, Some(m))
            }
            TyKind::Parser(..) | TyKind::Control(..) => {
                let ty = self.choose_block(ty, &args);
                let parts = match self.kind(ty) {
                    TyKind::Parser(id, a) => {
                        let d = &self.p.parsers[*id];
                        (
                            d.name.clone(),
                            d.ctor_params.clone(),
                            d.type_params.clone(),
                            a.clone(),
                            d.span,
                            None,
                        )
                    }
                    TyKind::Control(id, a) => {
                        let d = &self.p.controls[*id];
                        (
                            d.name.clone(),
                            d.ctor_params.clone(),
                            d.type_params.clone(),
                            a.clone(),
                            d.span,
                            None,
                        )
                    }
                    _ => return Expr::error(span),
                };
                return self.finish_construct(ty, parts, args, span);
            }
            TyKind::Block(id, a) => {
                let mut id = *id;
                let mut a = a.clone();
                if self.p.block_types[id].kind != BlockKind::Package {
                    let what = crate::unify::block_kind_name(self.p.block_types[id].kind);
                    let (n, d) = (self.p.block_types[id].name.clone(), self.p.block_types[id].span);
                    self.report(
                        Diagnostic::new(
                            &codes::INVALID_INSTANTIATION,
                            ty_span,
                            format!("`{n}` is only the type of a {what}"),
                        )
                        .label("cannot be instantiated")
                        .also(d, "declared without a body here"),
                    );
                    return Expr::error(span);
                }
                // Packages of one name differ in their parameters.
                let name = self.p.block_types[id].name.clone();
                let overloads: Vec<BlockTypeId> = self
                    .p
                    .block_types
                    .iter()
                    .filter(|(_, b)| b.kind == BlockKind::Package && b.name == name)
                    .map(|(i, _)| i)
                    .collect();
                if overloads.len() > 1 {
                    let fitting = overloads
                        .iter()
                        .copied()
                        .find(|o| self.matches(&self.p.block_types[*o].params.clone(), &args));
                    if let Some(better) = fitting
                        && better != id
                        && a.iter().all(|t| matches!(self.kind(*t), TyKind::Infer(_)))
                    {
                        id = better;
                        let params = self.p.block_types[id].type_params.clone();
                        a = self.fresh_args(&params);
                    }
                }
                let d = &self.p.block_types[id];
                let out = (d.name.clone(), d.params.clone(), d.type_params.clone(), a.clone(), d.span, None);
                let ty = self.intern(TyKind::Block(id, a));
                return self.finish_construct(ty, out, args, span);
            }
            _ => {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_INSTANTIATION,
                        ty_span,
                        format!("objects of type {shown} cannot be made"),
                    )
                    .label("not an extern, parser, control or package"),
                );
                return Expr::error(span);
            }
        };
        self.finish_construct(ty, (name, params, type_params, targs, decl, constructor), args, span)
    }

    /// Among parsers or controls of one name the one whose constructor takes these arguments.
    pub fn choose_block(&mut self, ty: Ty, args: &[TypedArg]) -> Ty {
        let (name, is_parser) = match self.kind(ty) {
            TyKind::Parser(id, _) => (self.p.parsers[*id].name.clone(), true),
            TyKind::Control(id, _) => (self.p.controls[*id].name.clone(), false),
            _ => return ty,
        };
        let Some(list) = self.overloads.get(&name).cloned() else { return ty };
        let ctor_params = |c: &Self, t: Ty| match c.kind(t) {
            TyKind::Parser(id, _) => c.p.parsers[*id].ctor_params.clone(),
            TyKind::Control(id, _) => c.p.controls[*id].ctor_params.clone(),
            _ => Vec::new(),
        };
        let fits = |c: &Self, t: Ty| {
            matches!(c.kind(t), TyKind::Parser(..)) == is_parser && c.matches(&ctor_params(c, t), args)
        };
        if fits(self, ty) {
            return ty;
        }
        list.into_iter().find(|t| fits(self, *t)).unwrap_or(ty)
    }

    #[allow(clippy::type_complexity, reason = "the parts of a constructor, taken apart at once")]
    pub fn finish_construct(
        &mut self,
        ty: Ty,
        parts: (SmolStr, Vec<VarId>, Vec<TypeVarId>, Vec<Ty>, Span, Option<u32>),
        args: Vec<TypedArg>,
        span: Span,
    ) -> Expr {
        let (name, params, type_params, targs, decl, constructor) = parts;
        let subst = Subst::new(&type_params, &targs);
        let Some(bound) = self.bind_args(&name, &params, &subst, args, CallKind::Constructor, decl, span)
        else {
            return Expr::error(span);
        };
        // Type parameters that only absent optional parameters mention stay open.
        for (param, arg) in type_params.iter().zip(&targs) {
            let bound_ty = self.zonk(*arg);
            if self.has_infer(bound_ty) {
                let absent = params.iter().zip(&bound.args).any(|(p, a)| {
                    a.is_none()
                        && self
                            .p
                            .types
                            .any(self.p.vars[*p].ty, &|k| matches!(k, TyKind::Var(v) if v == param))
                });
                if absent {
                    let _ = self.unify_open(*arg);
                }
            }
        }
        let ty = self.zonk(ty);
        let ty = self.p.types.map(ty, &mut |_, _| None);
        let call = Call {
            callee: Callee::Constructor { ty, constructor },
            type_args: Vec::new(),
            args: bound.args,
            order: bound.order,
        };
        Expr::new(ExprKind::Call(Box::new(call)), ty, span).compile_time(true)
    }

    pub fn unify_open(&mut self, ty: Ty) -> Option<()> {
        let root = self.shallow(ty);
        if let TyKind::Infer(n) = self.kind(root) {
            let n = *n as usize;
            self.infer[n] = Some(Types::DONT_CARE);
        }
        Some(())
    }
}
