//! Calls: what is called, which overload, how arguments meet parameters, and where calls are allowed.

use crate::checker::Checker;
use crate::codes;
use crate::program::*;
use crate::scope::Res;
use diagnostics::{Diagnostic, Span};
use syntax::ast;

/// An argument before it meets its parameter.
#[derive(Clone, Debug)]
pub(crate) struct TypedArg {
    pub name: Option<ast::Ident>,
    pub expr: Expr,
}

/// Arguments in parameter order, and the order in which they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundArgs {
    pub args: Vec<Option<Expr>>,
    pub order: Vec<u32>,
}

/// How strict binding is about what is not given and what may be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallKind {
    /// Function, method, apply.
    Ordinary,
    /// Constructor: all arguments known at compile time.
    Constructor,
    /// Action called from code: directionless parameters are as `in`.
    ActionCall,
    /// Element of a table's action list: only directed parameters are given.
    ActionList,
    /// Default action or entry: action data known at compile time.
    ActionInstance,
}

impl Checker<'_> {
    pub fn typed_args(&mut self, args: &[ast::Arg]) -> Option<Vec<TypedArg>> {
        let mut out = Vec::with_capacity(args.len());
        let mut failed = false;
        for a in args {
            let expr = self.expr(&a.value);
            failed |= self.is_error(expr.ty);
            out.push(TypedArg { name: a.name.clone(), expr });
        }
        if failed { None } else { Some(out) }
    }

    pub fn call(
        &mut self,
        callee: &ast::Expr,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        match &callee.kind {
            ast::ExprKind::Name(path) => {
                let Some(binding) = self.lookup(path) else {
                    self.typed_args(args);
                    return Expr::error(span);
                };
                match binding.res {
                    Res::Function(ids) => self.function_call(&ids, path, type_args, args, span),
                    Res::Action(id) => self.action_call(id, type_args, args, span),
                    Res::Type(_) => {
                        let t = ast::Type {
                            kind: if type_args.is_empty() {
                                ast::TypeKind::Name(path.clone())
                            } else {
                                ast::TypeKind::Specialized(path.clone(), type_args.to_vec())
                            },
                            span: callee.span,
                        };
                        self.constructor_call(&t, args, span)
                    }
                    Res::Error => {
                        self.typed_args(args);
                        Expr::error(span)
                    }
                    Res::Var(_)
                    | Res::Const(_)
                    | Res::Instance(_)
                    | Res::Table(_)
                    | Res::EnumMember(..)
                    | Res::ValueSet(_) => {
                        let name = &path.name.name;
                        let is_object = matches!(binding.res, Res::Instance(_) | Res::Table(_));
                        let mut d = Diagnostic::new(
                            &codes::NOT_CALLABLE,
                            callee.span,
                            format!("`{name}` cannot be called"),
                        )
                        .label("neither function, method nor action")
                        .also(binding.span, "declared here");
                        if is_object {
                            d = d.help(format!("write `{name}.apply(...)`"));
                        }
                        self.report(d);
                        Expr::error(span)
                    }
                }
            }
            ast::ExprKind::Type(t) => {
                if !type_args.is_empty() {
                    self.error(&codes::NOT_GENERIC, span, "type arguments are given twice");
                    return Expr::error(span);
                }
                self.constructor_call(t, args, span)
            }
            ast::ExprKind::Member { base, member } => self.method_call(base, member, type_args, args, span),
            _ => {
                let callee = self.expr(callee);
                self.typed_args(args);
                if !self.is_error(callee.ty) {
                    let shown = self.quote(callee.ty);
                    self.report(
                        Diagnostic::new(
                            &codes::NOT_CALLABLE,
                            callee.span,
                            format!("a value of type {shown} cannot be called"),
                        )
                        .label("neither function, method nor action"),
                    );
                }
                Expr::error(span)
            }
        }
    }
}
