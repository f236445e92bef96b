//! Constants, variables and instances with their initializers.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::decl::ParamsOf;
use crate::expr::list_names;
use crate::program::*;
use crate::scope::{Context, FrameKind, Place, Res};
use crate::type_expr::Generic;
use crate::types::{Ty, TyKind, Types};
use crate::unify::Conversions;
use diagnostics::{Diagnostic, Span};
use syntax::ast;

impl Checker<'_> {
    pub fn const_decl(&mut self, c: &ast::ConstDecl, annotations: Annotations) -> Option<ConstId> {
        let ty = self.ty(&c.ty);
        let init = self.expr(&c.init);
        let name = c.name.clone();
        let fail = |s: &mut Self| {
            s.declare(&name, Res::Error);
            None
        };
        if self.is_error(ty) || self.is_error(init.ty) {
            return fail(self);
        }
        let bad = match self.kind(ty) {
            TyKind::Extern(..) => Some("extern objects"),
            TyKind::Block(..) | TyKind::Parser(..) | TyKind::Control(..) => Some("parsers and controls"),
            TyKind::Void => Some("type `void`"),
            _ if self.p.types.any(ty, &|k| *k == TyKind::DontCare) => Some("an incomplete type"),
            _ => None,
        };
        if let Some(what) = bad {
            self.report(
                Diagnostic::new(
                    &codes::VARIABLE_TYPE,
                    c.ty.span,
                    format!("there are no constants of {what}"),
                )
                .label("not a type of constants")
                .help("instantiate it instead: `T(...) name;`"),
            );
            return fail(self);
        }
        if !init.is_compile_time {
            self.report(
                Diagnostic::new(
                    &codes::NOT_CONSTANT,
                    init.span,
                    format!("the value of constant `{}` must be known at compile time", c.name.name),
                )
                .label("not a constant"),
            );
            return fail(self);
        }
        let init = self.coerce(init, ty, &Role::Initializer { name: c.name.name.clone(), span: c.ty.span });
        if self.is_error(init.ty) {
            return fail(self);
        }
        // Constructor parameters are known only when the program is instantiated.
        if self.options.strict && mentions_ctor_param(&self.p, &init) {
            let d = Diagnostic::new(
                &codes::NOT_CONSTANT,
                init.span,
                format!("the value of constant `{}` depends on a constructor parameter", c.name.name),
            )
            .label("known only at instantiation");
            self.report(d);
            return fail(self);
        }
        let id = self.p.constants.push(ConstDef {
            name: c.name.name.clone(),
            span: c.name.span,
            annotations,
            ty,
            init,
        });
        self.declare(&c.name, Res::Const(id));
        Some(id)
    }

    pub fn new_var(&mut self, name: &ast::Ident, ty: Ty, kind: VarKind, annotations: Annotations) -> VarId {
        let id = self.p.vars.push(VarDef {
            name: name.name.clone(),
            span: name.span,
            ty,
            kind,
            default: None,
            is_optional: false,
            annotations,
        });
        self.declare(name, Res::Var(id));
        id
    }

    /// False (reported) when variables cannot be of this type.
    pub fn check_variable_type(&mut self, ty: Ty, name: &str, span: Span) -> bool {
        let what = match self.kind(ty) {
            TyKind::Extern(..) | TyKind::Block(..) | TyKind::Parser(..) | TyKind::Control(..) => {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::VARIABLE_TYPE,
                        span,
                        format!("`{name}` cannot be a variable of type {shown}"),
                    )
                    .label("objects are not values")
                    .help(format!("instantiate it: `{}(...) {name};`", self.show(ty))),
                );
                return false;
            }
            TyKind::Int => "`int`",
            TyKind::Str => "`string`",
            TyKind::Void => "`void`",
            TyKind::MatchKind if self.options.strict => "`match_kind`",
            TyKind::List(_) if self.options.strict => "a list type",
            _ => return true,
        };
        let mut d = Diagnostic::new(
            &codes::VARIABLE_TYPE,
            span,
            format!("`{name}` cannot be a variable of type {what}"),
        )
        .label("exists only at compile time");
        if ty == Types::INT {
            d = d.help("give it a width: `bit<W>` or `int<W>`");
        }
        self.report(d);
        false
    }

    /// A local variable; the initializer is checked before the name is visible.
    pub fn variable(&mut self, v: &ast::VariableDecl, annotations: Annotations) -> (VarId, Option<Expr>) {
        let mut ty = self.ty(&v.ty);
        let init = v.init.as_ref().map(|e| self.expr(e));
        if !self.is_error(ty) && !self.check_variable_type(ty, &v.name.name, v.ty.span) {
            ty = Types::ERROR;
        }
        let init = init
            .map(|e| self.coerce(e, ty, &Role::Initializer { name: v.name.name.clone(), span: v.ty.span }));
        let var = self.new_var(&v.name, ty, VarKind::Local, annotations);
        (var, init)
    }

    pub fn instantiation(
        &mut self,
        i: &ast::Instantiation,
        annotations: Annotations,
        span: Span,
    ) -> Option<InstanceId> {
        // Inner type of `T[n](...) name`.
        let mut inner = &i.ty;
        while let ast::TypeKind::Array(e, _) = &inner.kind {
            inner = e;
        }
        let is_array = !std::ptr::eq(inner, &i.ty);
        let ty = self.ty_with(inner, Generic::Infer);
        let shape = if is_array { self.ty_with(&i.ty, Generic::Infer) } else { ty };
        let args = self.typed_args(&i.args);
        let fail = |s: &mut Self| {
            s.declare(&i.name, Res::Error);
            None
        };
        if self.is_error(ty) || self.is_error(shape) {
            return fail(self);
        }
        let Some(args) = args else { return fail(self) };
        let is_package = matches!(self.kind(ty), TyKind::Block(id, _) if self.p.block_types[*id].kind == BlockKind::Package);
        let is_block = matches!(self.kind(ty), TyKind::Parser(..) | TyKind::Control(..));
        if self.ctx.place == Place::Program && is_block {
            let shown = self.quote(ty);
            self.report(
                Diagnostic::new(
                    &codes::INVALID_INSTANTIATION,
                    span,
                    format!("{shown} cannot be instantiated at the top level"),
                )
                .label("outside of any parser or control")
                .help("pass it to the package: `Main(P(), C()) main;`"),
            );
            return fail(self);
        }
        let in_parser = self.ctx.place == Place::ParserLocals;
        let in_control = self.ctx.place == Place::ControlLocals;
        let mixed = match self.kind(ty) {
            TyKind::Parser(..) if in_control => Some("a parser cannot be instantiated in a control"),
            TyKind::Control(..) if in_parser => Some("a control cannot be instantiated in a parser"),
            TyKind::Block(..) if is_package && (in_control || in_parser) => {
                Some("a package cannot be instantiated in a parser or control")
            }
            _ => None,
        };
        if let Some(m) = mixed {
            self.report(Diagnostic::new(&codes::INVALID_INSTANTIATION, span, m).label("not here"));
            return fail(self);
        }
        if i.name.name == "main" && self.ctx.place == Place::Program && !is_package {
            let shown = self.quote(ty);
            self.report(
                Diagnostic::new(&codes::MAIN_NOT_PACKAGE, i.name.span, "`main` must be a package")
                    .label(format!("of type {shown}")),
            );
            return fail(self);
        }
        let made = self.construct(ty, args, i.ty.span, span);
        if self.is_error(made.ty) {
            return fail(self);
        }
        let (args, constructor) = match made.kind {
            ExprKind::Call(call) => match call.callee {
                Callee::Constructor { constructor, .. } => (call.args, constructor),
                _ => (call.args, None),
            },
            _ => (Vec::new(), None),
        };
        let object_ty = made.ty;
        if self.has_infer(object_ty) {
            let shown = self.quote(object_ty);
            self.report(
                Diagnostic::new(
                    &codes::CANNOT_INFER,
                    i.name.span,
                    format!("the type arguments of `{}` cannot be inferred", i.name.name),
                )
                .label(format!("of type {shown}"))
                .also(i.ty.span, "nothing determines `_`")
                .help("write the type arguments out: `T<...>(...)`"),
            );
            return fail(self);
        }
        let mut args = args;
        args.iter_mut().flatten().for_each(|a| self.zonk_expr(a));
        let ty = if is_array { self.rebuild_array(shape, object_ty) } else { object_ty };
        if is_array && !matches!(self.kind(object_ty), TyKind::Extern(..)) {
            let shown = self.quote(object_ty);
            self.error(&codes::INVALID_INSTANTIATION, span, format!("arrays of {shown} cannot be made"));
            return fail(self);
        }
        let initializer = self.initializer(i, object_ty, span)?;
        let id = self.p.instances.push(InstanceDef {
            name: i.name.name.clone(),
            span: i.name.span,
            annotations,
            ty,
            constructor,
            args,
            initializer,
        });
        self.declare(&i.name, Res::Instance(id));
        Some(id)
    }

    /// The array type `shape` with another innermost element.
    pub fn rebuild_array(&mut self, shape: Ty, element: Ty) -> Ty {
        match *self.kind(shape) {
            TyKind::Array(inner, n) => {
                let inner = self.rebuild_array(inner, element);
                self.intern(TyKind::Array(inner, n))
            }
            _ => element,
        }
    }

    /// The object initialiser `= { ... }` and the abstract methods it must implement.
    #[allow(clippy::option_option, reason = "outer: checked without error; inner: present")]
    pub fn initializer(&mut self, i: &ast::Instantiation, ty: Ty, span: Span) -> Option<Option<Initializer>> {
        let TyKind::Extern(id, targs) = self.kind(ty).clone() else {
            if i.initializer.is_some() {
                self.report(
                    Diagnostic::new(
                        &codes::ABSTRACT_METHODS,
                        span,
                        "only instances of externs take an initializer",
                    )
                    .label("not an extern"),
                );
                self.declare(&i.name, Res::Error);
                return None;
            }
            return Some(None);
        };
        let abstracts: Vec<u32> = self.p.externs[id]
            .methods
            .iter()
            .enumerate()
            .filter(|(_, m)| m.is_abstract)
            .map(|(i, _)| i as u32)
            .collect();
        let decl = self.p.externs[id].span;
        let Some(body) = &i.initializer else {
            let needed: Vec<String> = abstracts
                .iter()
                .map(|m| &self.p.externs[id].methods[*m as usize])
                .filter(|m| annotation(&m.annotations, "optional").is_none())
                .map(|m| m.name.to_string())
                .collect();
            if !abstracts.is_empty() && (!needed.is_empty()) {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::ABSTRACT_METHODS,
                        i.name.span,
                        format!("`{}` does not implement the abstract methods of {shown}", i.name.name),
                    )
                    .label("needs an initializer")
                    .also(decl, format!("abstract: {}", list_names(&needed)))
                    .help(format!("write `{} = {{ ... }};` with an implementation of each", i.name.name)),
                );
                self.declare(&i.name, Res::Error);
                return None;
            }
            return Some(None);
        };
        if abstracts.is_empty() {
            let shown = self.quote(ty);
            self.report(
                Diagnostic::new(
                    &codes::ABSTRACT_METHODS,
                    span,
                    format!("{shown} has no abstract methods to implement"),
                )
                .label("initializer not expected")
                .also(decl, "declared here"),
            );
            self.declare(&i.name, Res::Error);
            return None;
        }
        let saved = self.ctx.clone();
        let mut out = Initializer::default();
        let mut done: Vec<(u32, Span)> = Vec::new();
        self.scopes.push(FrameKind::Block);
        for d in body {
            let annotations = self.annotations(&d.annotations);
            match &d.kind {
                ast::DeclKind::Instantiation(inner) => {
                    self.ctx.place = Place::Initializer;
                    if let Some(n) = self.instantiation(inner, annotations, d.span) {
                        out.instances.push(n);
                    }
                }
                ast::DeclKind::Function(f) => {
                    self.ctx = Context { place: Place::Method, this: Some(ty), ..saved.clone() };
                    let found = abstracts
                        .iter()
                        .copied()
                        .find(|m| self.p.externs[id].methods[*m as usize].name == f.proto.name.name);
                    let Some(m) = found else {
                        let names: Vec<String> = abstracts
                            .iter()
                            .map(|m| self.p.externs[id].methods[*m as usize].name.to_string())
                            .collect();
                        let shown = self.quote(ty);
                        self.report(
                            Diagnostic::new(
                                &codes::ABSTRACT_METHODS,
                                f.proto.name.span,
                                format!("{shown} has no abstract method `{}`", f.proto.name.name),
                            )
                            .label("implements nothing")
                            .also(decl, format!("abstract: {}", list_names(&names))),
                        );
                        continue;
                    };
                    if let Some((_, earlier)) = done.iter().find(|(d, _)| *d == m) {
                        let earlier = *earlier;
                        self.report_duplicate(&f.proto.name.name, f.proto.name.span, earlier);
                        continue;
                    }
                    done.push((m, f.proto.name.span));
                    if let Some(function) = self.method_implementation(f, annotations, id, &targs, m) {
                        out.functions.push(function);
                    }
                }
                _ => self.error(
                    &codes::STATEMENT_NOT_ALLOWED,
                    d.span,
                    "an initializer holds only functions and instantiations",
                ),
            }
            self.ctx = saved.clone();
        }
        self.scopes.pop();
        let missing: Vec<(String, Span)> = abstracts
            .iter()
            .filter(|m| !done.iter().any(|(d, _)| d == *m))
            .map(|m| &self.p.externs[id].methods[*m as usize])
            .filter(|m| annotation(&m.annotations, "optional").is_none())
            .map(|m| (m.name.to_string(), m.span))
            .collect();
        for (name, mspan) in missing {
            self.report(
                Diagnostic::new(
                    &codes::ABSTRACT_METHODS,
                    i.name.span,
                    format!("`{}` does not implement the abstract method `{name}`", i.name.name),
                )
                .label("method missing")
                .also(mspan, "declared here"),
            );
        }
        Some(Some(out))
    }

    pub fn method_implementation(
        &mut self,
        f: &ast::FunctionDecl,
        annotations: Annotations,
        id: ExternId,
        targs: &[Ty],
        method: u32,
    ) -> Option<FunctionId> {
        if !f.proto.type_params.is_empty() {
            self.error(
                &codes::ABSTRACT_METHODS,
                f.proto.name.span,
                "the implementation of an abstract method cannot be generic",
            );
            return None;
        }
        self.scopes.push(FrameKind::Params);
        let params = self.params(&f.proto.params, ParamsOf::Function, None);
        let return_type = self.ty(&f.proto.return_type);
        let m = &self.p.externs[id].methods[method as usize];
        let (want, mspan, mname) = (m.signature.clone(), m.span, m.name.clone());
        let subst = crate::subst::Subst::new(&self.p.externs[id].type_params.clone(), targs);
        let mut why: Option<String> = None;
        let n_required =
            want.params.iter().rposition(|p| !self.p.vars[*p].is_optional).map_or(0, |last| last + 1);
        if params.len() > want.params.len() || params.len() < n_required {
            why = Some(format!("it takes {} parameters, not {}", want.params.len(), params.len()));
        }
        for (w, g) in want.params.iter().zip(&params) {
            let wt = self.p.vars[*w].ty;
            let wt = self.subst(wt, &subst);
            let gt = self.p.vars[*g].ty;
            if self.p.direction(*w) != self.p.direction(*g) {
                why = Some(format!(
                    "parameter `{}` must be `{}`",
                    self.p.vars[*g].name,
                    crate::unify::direction_name(self.p.direction(*w))
                ));
            } else if wt != gt && self.unify(wt, gt, Conversions::Literals).is_err() {
                why = Some(format!(
                    "parameter `{}` must be of type `{}`, not `{}`",
                    self.p.vars[*g].name,
                    self.show(wt),
                    self.show(gt)
                ));
            }
        }
        let wr = self.subst(want.return_type, &subst);
        if why.is_none() && wr != return_type && self.unify(wr, return_type, Conversions::Literals).is_err() {
            why = Some(format!("it must return `{}`, not `{}`", self.show(wr), self.show(return_type)));
        }
        if let Some(why) = why {
            self.report(
                Diagnostic::new(
                    &codes::ABSTRACT_METHODS,
                    f.proto.name.span,
                    format!("the implementation of `{mname}` does not fit its declaration"),
                )
                .label("differs")
                .also(mspan, "declared here")
                .note(why),
            );
            self.scopes.pop();
            return None;
        }
        self.ctx.return_type = Some(return_type);
        let hidden = if self.options.strict { self.scopes.hide_blocks() } else { Vec::new() };
        let body = self.block(&f.body, &f.proto.return_type);
        self.scopes.unhide(hidden);
        self.check_returns(&f.proto, &body, return_type);
        self.scopes.pop();
        Some(self.p.functions.push(FunctionDef {
            name: f.proto.name.name.clone(),
            span: f.proto.name.span,
            annotations,
            signature: Signature { type_params: Vec::new(), params, return_type },
            body: Some(body),
        }))
    }
}

/// True if a value depends on a constructor parameter.
fn mentions_ctor_param(p: &Program, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= matches!(e.kind, ExprKind::Var(v) if p.vars[v].kind == VarKind::CtorParam);
    });
    found
}
