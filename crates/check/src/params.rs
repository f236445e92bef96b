//! Parameters and type parameters.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::decl::ParamsOf;
use crate::program::*;
use crate::scope::{Res, TypeRes};
use crate::stmt::root_var;
use crate::type_expr::Generic;
use crate::types::{Ty, TyKind, Types};
use diagnostics::{Diagnostic, Span};
use std::rc::Rc;
use syntax::ast;

/// Sets the mark `@__ref`.
fn mark_updatable(annotations: &mut Annotations, span: Span) {
    if annotation(annotations, UPDATABLE).is_none() {
        let mark = Annotation { name: UPDATABLE.into(), body: AnnotationBody::Empty, span };
        Rc::make_mut(annotations).push(mark);
    }
}

impl Checker<'_> {
    pub fn type_params(&mut self, names: &[ast::Ident]) -> Vec<TypeVarId> {
        let mut out = Vec::with_capacity(names.len());
        for n in names {
            let id = self.p.type_vars.push(TypeVarDef { name: n.name.clone(), span: n.span });
            self.declare(n, Res::Type(TypeRes::Var(id)));
            out.push(id);
        }
        out
    }

    /// Returns whether the action of a parameter may change it without a mark.
    pub fn may_become_updatable(&self, param: VarId) -> bool {
        self.options.assignable_action_data && self.action_data.contains(&param)
    }

    /// Notes that something is assigned to: action data that need no mark for that get it.
    pub fn mark_assigned(&mut self, target: &Expr) {
        if let Some(var) = root_var(target)
            && self.may_become_updatable(var)
        {
            let VarDef { annotations, span, .. } = &mut self.p.vars[var];
            mark_updatable(annotations, *span);
        }
    }

    /// Gives a parameter declared `rmw` the mark that `@__ref` sets.
    fn mark_rmw(&mut self, p: &ast::Param, of: ParamsOf, annotations: &mut Annotations) {
        if of == ParamsOf::Action {
            mark_updatable(annotations, p.span);
            return;
        }
        self.report(
            Diagnostic::new(
                &codes::PARAMETER_DIRECTION,
                p.span,
                format!("parameter `{}` cannot be `rmw`", p.name.name),
            )
            .label("not a parameter of an action")
            .note("`rmw` marks a value in the entry of a table, which only actions have"),
        );
    }

    /// Declares parameters in the innermost frame.
    pub fn params(&mut self, params: &[ast::Param], of: ParamsOf, _owner: Option<Span>) -> Vec<VarId> {
        let mut out = Vec::with_capacity(params.len());
        let mut undirected: Option<Span> = None;
        for p in params {
            let mut annotations = self.annotations(&p.annotations);
            if p.is_rmw {
                self.mark_rmw(p, of, &mut annotations);
            }
            let generic = Generic::Refuse;
            let mut ty = self.ty_with(&p.ty, generic);
            if !self.is_error(ty) && !self.check_param_type(p, ty, of) {
                ty = Types::ERROR;
            }
            let is_constructor =
                matches!(of, ParamsOf::BlockConstructor | ParamsOf::Package | ParamsOf::ExternConstructor);
            if is_constructor && p.direction != Direction::None {
                self.report(
                    Diagnostic::new(
                        &codes::PARAMETER_DIRECTION,
                        p.span,
                        format!("constructor parameter `{}` cannot have a direction", p.name.name),
                    )
                    .label("remove the direction"),
                );
            }
            if of == ParamsOf::Action {
                if p.direction == Direction::None {
                    undirected = Some(p.span);
                } else if let Some(earlier) = undirected {
                    self.report(
                        Diagnostic::new(
                            &codes::PARAMETER_DIRECTION,
                            earlier,
                            "parameters without direction must come last in an action",
                        )
                        .label("has no direction")
                        .also(p.span, "has a direction")
                        .note("what has no direction is action data, given by the control plane"),
                    );
                    undirected = None;
                }
            }
            if of == ParamsOf::Function && p.direction == Direction::None && self.options.strict {
                self.report(
                    Diagnostic::new(
                        &codes::PARAMETER_DIRECTION,
                        p.span,
                        format!("parameter `{}` of a function needs a direction", p.name.name),
                    )
                    .label("no direction")
                    .help("write `in` before its type"),
                );
            }
            let is_optional = annotation(&annotations, "optional").is_some();
            if is_optional
                && !matches!(
                    of,
                    ParamsOf::Package
                        | ParamsOf::ExternFunction
                        | ParamsOf::Method
                        | ParamsOf::ExternConstructor
                        | ParamsOf::Block
                )
            {
                self.report(
                    Diagnostic::new(
                        &codes::DEFAULT_VALUE,
                        p.span,
                        format!("parameter `{}` cannot be @optional", p.name.name),
                    )
                    .label("its absence could not be handled here")
                    .note("only parameters of externs, packages and block types can be optional")
                    .help("give it a default value"),
                );
            }
            let default = p.default.as_ref().and_then(|d| self.param_default(p, d, ty, is_optional));
            let kind = if is_constructor { VarKind::CtorParam } else { VarKind::Param(p.direction) };
            let id = self.p.vars.push(VarDef {
                name: p.name.name.clone(),
                span: p.name.span,
                ty,
                kind,
                default,
                is_optional,
                annotations,
            });
            if of == ParamsOf::Action && p.direction == Direction::None {
                self.action_data.insert(id);
            }
            self.declare(&p.name, Res::Var(id));
            out.push(id);
        }
        out
    }

    pub fn param_default(
        &mut self,
        p: &ast::Param,
        d: &ast::Expr,
        ty: Ty,
        is_optional: bool,
    ) -> Option<Rc<Expr>> {
        if is_optional {
            self.report(
                Diagnostic::new(
                    &codes::DEFAULT_VALUE,
                    p.span,
                    format!("parameter `{}` is both @optional and has a default value", p.name.name),
                )
                .label("remove one of the two"),
            );
        }
        if matches!(p.direction, Direction::Out | Direction::InOut) {
            self.report(
                Diagnostic::new(
                    &codes::DEFAULT_VALUE,
                    d.span,
                    format!("`{}` is written to and cannot have a default value", p.name.name),
                )
                .label("default value of an out or inout parameter"),
            );
            return None;
        }
        let e = self.expr(d);
        if self.is_error(e.ty) {
            return None;
        }
        if !e.is_compile_time {
            self.report(
                Diagnostic::new(
                    &codes::NOT_CONSTANT,
                    e.span,
                    format!("the default value of `{}` must be known at compile time", p.name.name),
                )
                .label("not a constant"),
            );
            return None;
        }
        // The expression stays as written: a generic declaration fits it to its type arguments at each use.
        let loose = self.loosen(ty);
        let fitted = self.coerce(e.clone(), loose, &Role::Default { name: p.name.name.clone() });
        if self.is_error(fitted.ty) {
            return None;
        }
        Some(Rc::new(e))
    }

    pub fn check_param_type(&mut self, p: &ast::Param, ty: Ty, of: ParamsOf) -> bool {
        let name = &p.name.name;
        let has_direction = p.direction != Direction::None;
        let shown = self.quote(ty);
        let refuse = |s: &mut Self, code, message: String, label: &str| {
            s.report(Diagnostic::new(code, p.span, message).label(label));
            false
        };
        let is_constructor =
            matches!(of, ParamsOf::BlockConstructor | ParamsOf::Package | ParamsOf::ExternConstructor);
        match self.kind(ty).clone() {
            TyKind::Void => refuse(
                self,
                &codes::PARAMETER_TYPE,
                format!("`{name}` cannot be of type `void`"),
                "no values",
            ),
            TyKind::Block(id, _) => {
                let is_package = self.p.block_types[id].kind == BlockKind::Package;
                // A parser can use other parsers only, a control other controls.
                let is_mixed = self.options.strict
                    && (self.ctx.parser.is_some() && self.p.block_types[id].kind == BlockKind::Control
                        || self.ctx.control.is_some() && self.p.block_types[id].kind == BlockKind::Parser);
                let allowed = match of {
                    ParamsOf::Package => true,
                    ParamsOf::BlockConstructor => !is_package && !is_mixed,
                    _ => false,
                };
                if allowed && !has_direction {
                    return true;
                }
                refuse(
                    self,
                    &codes::PARAMETER_TYPE,
                    format!("parameter `{name}` cannot be of type {shown}"),
                    "parsers, controls and packages can be passed only to constructors",
                )
            }
            TyKind::Parser(..) | TyKind::Control(..) => refuse(
                self,
                &codes::PARAMETER_TYPE,
                format!("parameter `{name}` cannot be of type {shown}"),
                "use a parser or control type declared without body",
            ),
            TyKind::Extern(..) | TyKind::Str if has_direction => refuse(
                self,
                &codes::PARAMETER_DIRECTION,
                format!("a parameter of type {shown} cannot have a direction"),
                "remove the direction",
            ),
            TyKind::Extern(..) if of == ParamsOf::Action => refuse(
                self,
                &codes::PARAMETER_TYPE,
                format!("action parameter `{name}` cannot be of type {shown}"),
                "the control plane cannot give an object",
            ),
            TyKind::Int if has_direction => refuse(
                self,
                &codes::PARAMETER_DIRECTION,
                "a parameter of type `int` cannot have a direction".to_string(),
                "exists only at compile time",
            ),
            TyKind::Int if of == ParamsOf::Action => refuse(
                self,
                &codes::PARAMETER_TYPE,
                format!("action parameter `{name}` cannot be of type `int`"),
                "give it a width",
            ),
            _ => {
                let _ = is_constructor;
                true
            }
        }
    }
}
