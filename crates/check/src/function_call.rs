//! Calls of functions and actions, and where they are allowed.

use crate::call::{BoundArgs, CallKind};
use crate::checker::Checker;
use crate::codes;
use crate::program::*;
use crate::scope::Place;
use crate::subst::Subst;
use crate::types::{Ty, TyKind, Types};
use crate::value::Value;
use diagnostics::{Diagnostic, Span};
use syntax::ast;

impl Checker<'_> {
    pub fn function_call(
        &mut self,
        ids: &[FunctionId],
        path: &ast::Path,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let Some(args) = self.typed_args(args) else { return Expr::error(span) };
        let name = path.name.name.clone();
        let candidates: Vec<(FunctionId, Vec<VarId>, Span)> = ids
            .iter()
            .map(|id| (*id, self.p.functions[*id].signature.params.clone(), self.p.functions[*id].span))
            .collect();
        let Some(id) = self.choose(&name, &candidates, &args, span) else { return Expr::error(span) };
        let def = &self.p.functions[id];
        let (decl, signature, annotations) = (def.span, def.signature.clone(), def.annotations.clone());
        let is_extern = def.body.is_none();
        self.warn_deprecated(&annotations, &name, path.span());
        let Some(targs) = self.call_type_args(&name, &signature.type_params, type_args, span) else {
            return Expr::error(span);
        };
        let all_constant = args.iter().all(|a| a.expr.is_compile_time);
        let subst = Subst::new(&signature.type_params, &targs);
        let Some(bound) =
            self.bind_args(&name, &signature.params, &subst, args, CallKind::Ordinary, decl, span)
        else {
            return Expr::error(span);
        };
        if !self.check_call_place(&name, is_extern, path.span()) {
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
        let subst = Subst::new(&signature.type_params, &type_args);
        let ty = self.subst(signature.return_type, &subst);
        if !self.check_result(ty, all_constant, span) {
            return Expr::error(span);
        }
        let is_factory = matches!(self.kind(ty), TyKind::Extern(..));
        let is_pure = annotation(&annotations, "pure").is_some() || name == "static_assert";
        if is_extern && name == "static_assert" && !self.static_assert(&bound, span) {
            return Expr::error(span);
        }
        let call = Call { callee: Callee::Function(id), type_args, args: bound.args, order: bound.order };
        let ct = is_extern && all_constant && (is_factory || is_pure);
        let mut e = Expr::new(ExprKind::Call(Box::new(call)), ty, span).compile_time(ct);
        if ct && name == "static_assert" {
            e.value = Some(std::rc::Rc::new(Value::Bool(true)));
        }
        e
    }

    /// False when the assertion is known to fail or cannot be evaluated (reported).
    pub fn static_assert(&mut self, bound: &BoundArgs, span: Span) -> bool {
        let Some(Some(condition)) = bound.args.first() else { return true };
        match condition.value.as_deref() {
            Some(Value::Bool(true)) => true,
            Some(Value::Bool(false)) => {
                let text =
                    bound.args.get(1).and_then(|a| a.as_ref()).and_then(|a| match a.value.as_deref() {
                        Some(Value::Str(s)) => Some(s.to_string()),
                        _ => None,
                    });
                let message = match text {
                    Some(t) => format!("static assertion failed: {t}"),
                    None => "static assertion failed".to_string(),
                };
                let d = Diagnostic::new(&codes::ASSERTION_FAILED, span, message)
                    .label("asserted here")
                    .also(condition.span, "this is false");
                self.report(d);
                false
            }
            _ => {
                if !condition.is_compile_time {
                    let d = Diagnostic::new(
                        &codes::ASSERTION_FAILED,
                        condition.span,
                        "the condition of static_assert is not known at compile time",
                    )
                    .label("not a constant");
                    self.report(d);
                    return false;
                }
                true
            }
        }
    }

    pub fn check_result(&mut self, ty: Ty, all_constant: bool, span: Span) -> bool {
        let bad = match self.kind(ty) {
            TyKind::Block(..) | TyKind::Parser(..) | TyKind::Control(..) => true,
            TyKind::Extern(..) => !all_constant,
            _ => false,
        };
        if bad {
            let shown = self.quote(ty);
            self.report(
                Diagnostic::new(&codes::RETURN_TYPE, span, format!("a call cannot give {shown}"))
                    .label("objects exist only by instantiation"),
            );
        }
        !bad
    }

    pub fn warn_deprecated(&mut self, annotations: &Annotations, name: &str, span: Span) {
        if let Some(a) = annotation(annotations, "deprecated") {
            let text = a
                .tokens()
                .iter()
                .filter(|t| t.kind == ast::AnnotationTokenKind::Str)
                .map(|t| t.text.as_str())
                .collect::<Vec<_>>()
                .concat();
            let mut d = Diagnostic::new(&codes::DEPRECATED, span, format!("`{name}` is deprecated"))
                .label("deprecated")
                .also(a.span, "marked here");
            if !text.is_empty() {
                d = d.note(text);
            }
            self.report(d);
        }
    }

    /// Where functions and methods may be called (P4-16, appendix "Restrictions on compile time and run time calls").
    pub fn check_call_place(&mut self, name: &str, is_extern: bool, span: Span) -> bool {
        if self.ctx.in_select_case {
            self.report(
                Diagnostic::new(
                    &codes::CALL_NOT_ALLOWED,
                    span,
                    format!("`{name}` cannot be called in a select case"),
                )
                .label("call in a keyset")
                .help("call it before the transition and store the result in a variable"),
            );
            return false;
        }
        if name == "verify" && is_extern && !self.in_parser() && self.ctx.place != Place::Program {
            self.report(
                Diagnostic::new(&codes::CALL_NOT_ALLOWED, span, "`verify` can be called only in a parser")
                    .label("not in a parser"),
            );
            return false;
        }
        true
    }

    // -- actions ----------------------------------------------------------------------------------

    pub fn action_call(
        &mut self,
        id: ActionId,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let (name, decl) = (self.p.actions[id].name.clone(), self.p.actions[id].span);
        if !type_args.is_empty() {
            self.error(&codes::NOT_GENERIC, span, "actions take no type arguments");
            return Expr::error(span);
        }
        let place = match self.ctx.place {
            Place::ParserState | Place::ParserLocals => Some("a parser"),
            Place::Function | Place::Method => Some("a function"),
            Place::Program | Place::Initializer => Some("a declaration"),
            Place::ControlApply | Place::Action | Place::ControlLocals => None,
        };
        if let Some(place) = place {
            self.typed_args(args);
            self.report(
                Diagnostic::new(
                    &codes::CALL_NOT_ALLOWED,
                    span,
                    format!("an action cannot be called in {place}"),
                )
                .label(format!("call of action `{name}`"))
                .also(decl, "declared here")
                .note("actions can be called from controls and from other actions"),
            );
            return Expr::error(span);
        }
        let Some(args) = self.typed_args(args) else { return Expr::error(span) };
        let params = self.p.actions[id].params.clone();
        let Some(bound) =
            self.bind_args(&name, &params, &Subst::default(), args, CallKind::ActionCall, decl, span)
        else {
            return Expr::error(span);
        };
        let call =
            Call { callee: Callee::Action(id), type_args: Vec::new(), args: bound.args, order: bound.order };
        Expr::new(ExprKind::Call(Box::new(call)), Types::VOID, span)
    }
}
