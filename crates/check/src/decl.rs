//! Declarations of types, functions, externs, constants, variables and instances.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::expr::list_names;
use crate::fold;
use crate::program::*;
use crate::scope::{Context, FrameKind, Place, Res, TypeRes};
use crate::type_expr::{Generic, short};
use crate::types::{Ty, TyKind, Types};
use crate::unify::Conversions;
use crate::value::Value;
use diagnostics::{Diagnostic, Span};
use std::rc::Rc;
use syntax::ast;

/// What a parameter list belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParamsOf {
    /// Apply parameters of parsers, controls and their types.
    Block,
    /// Constructor parameters of parsers and controls.
    BlockConstructor,
    Package,
    Function,
    ExternFunction,
    Method,
    ExternConstructor,
    Action,
}

impl Checker<'_> {
    pub fn program(&mut self, program: &ast::Program) {
        for decl in &program.decls {
            if let Some(name) = decl_name(&decl.kind) {
                self.top_level.entry(name.name.clone()).or_insert(name.span);
            }
        }
        for decl in &program.decls {
            if let Some(r) = self.decl(decl) {
                self.p.decls.push(r);
            }
        }
    }

    /// A declaration at the top level.
    fn decl(&mut self, decl: &ast::Decl) -> Option<DeclRef> {
        let annotations = self.annotations(&decl.annotations);
        match &decl.kind {
            ast::DeclKind::Const(c) => self.const_decl(c, annotations).map(DeclRef::Const),
            ast::DeclKind::Variable(v) => {
                self.report(
                    Diagnostic::new(
                        &codes::STATEMENT_NOT_ALLOWED,
                        decl.span,
                        "variables cannot be declared at the top level",
                    )
                    .label("outside of any control, parser or function")
                    .help("declare a constant, or move it into a control or parser"),
                );
                let ty = self.ty(&v.ty);
                self.new_var(&v.name, ty, VarKind::Local, annotations);
                None
            }
            ast::DeclKind::Instantiation(i) => {
                self.instantiation(i, annotations, decl.span).map(DeclRef::Instance)
            }
            ast::DeclKind::Extern(e) => self.extern_decl(e, annotations).map(DeclRef::Extern),
            ast::DeclKind::ExternForward(name) => {
                if self.scopes.current().names.get(&name.name).is_none() {
                    self.declare(name, Res::Type(TypeRes::ExternForward));
                }
                None
            }
            ast::DeclKind::ExternFunction(proto) => {
                self.function(proto, None, annotations).map(DeclRef::Function)
            }
            ast::DeclKind::Function(f) => {
                self.function(&f.proto, Some(&f.body), annotations).map(DeclRef::Function)
            }
            ast::DeclKind::Action(a) => self.action_decl(a, annotations, true).map(DeclRef::Action),
            ast::DeclKind::Parser(p) => self.parser_decl(p, annotations).map(DeclRef::Parser),
            ast::DeclKind::Control(c) => self.control_decl(c, annotations).map(DeclRef::Control),
            ast::DeclKind::ParserType(b) => {
                self.block_type(b, BlockKind::Parser, annotations).map(DeclRef::BlockType)
            }
            ast::DeclKind::ControlType(b) => {
                self.block_type(b, BlockKind::Control, annotations).map(DeclRef::BlockType)
            }
            ast::DeclKind::Package(b) => {
                self.block_type(b, BlockKind::Package, annotations).map(DeclRef::BlockType)
            }
            ast::DeclKind::Struct(s) => self.struct_decl(s, annotations).map(DeclRef::Struct),
            ast::DeclKind::Enum(e) => self.enum_decl(e, annotations).map(DeclRef::Enum),
            ast::DeclKind::Typedef(t) => self.typedef_decl(t, annotations).map(DeclRef::Typedef),
            ast::DeclKind::Newtype(t) => self.newtype_decl(t, annotations).map(DeclRef::Newtype),
            ast::DeclKind::Error(members) => {
                for m in members {
                    if let Some(earlier) = self.p.errors.iter().find(|e| e.name == m.name) {
                        let earlier = earlier.span;
                        self.report_duplicate(&m.name, m.span, earlier);
                    } else {
                        self.p.errors.push(NamedMember { name: m.name.clone(), span: m.span });
                    }
                }
                None
            }
            ast::DeclKind::MatchKind(members) => {
                for m in members {
                    if let Some(earlier) = self.p.match_kinds.iter().find(|e| e.name == m.name) {
                        let earlier = earlier.span;
                        self.report_duplicate(&m.name, m.span, earlier);
                    } else {
                        self.p.match_kinds.push(NamedMember { name: m.name.clone(), span: m.span });
                    }
                }
                None
            }
            ast::DeclKind::Table(t) => {
                self.report(
                    Diagnostic::new(
                        &codes::STATEMENT_NOT_ALLOWED,
                        t.name.span,
                        "tables can be declared only in controls",
                    )
                    .label("not in a control"),
                );
                None
            }
            ast::DeclKind::ValueSet(v) => {
                self.report(
                    Diagnostic::new(
                        &codes::STATEMENT_NOT_ALLOWED,
                        v.name.span,
                        "value sets can be declared only in parsers",
                    )
                    .label("not in a parser"),
                );
                None
            }
        }
    }

    // -- constants, variables, instances --------------------------------------------------------

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
    fn rebuild_array(&mut self, shape: Ty, element: Ty) -> Ty {
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
    fn initializer(&mut self, i: &ast::Instantiation, ty: Ty, span: Span) -> Option<Option<Initializer>> {
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

    fn method_implementation(
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
        let body = self.block(&f.body, &f.proto.return_type);
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

    // -- parameters -----------------------------------------------------------------------------

    pub fn type_params(&mut self, names: &[ast::Ident]) -> Vec<TypeVarId> {
        let mut out = Vec::with_capacity(names.len());
        for n in names {
            let id = self.p.type_vars.push(TypeVarDef { name: n.name.clone(), span: n.span });
            self.declare(n, Res::Type(TypeRes::Var(id)));
            out.push(id);
        }
        out
    }

    /// Declares parameters in the innermost frame.
    pub fn params(&mut self, params: &[ast::Param], of: ParamsOf, _owner: Option<Span>) -> Vec<VarId> {
        let mut out = Vec::with_capacity(params.len());
        let mut undirected: Option<Span> = None;
        for p in params {
            let annotations = self.annotations(&p.annotations);
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
            if p.name.name != "_" {
                self.declare(&p.name, Res::Var(id));
            } else {
                self.error(&codes::INVALID_NAME, p.name.span, "`_` cannot be used as a parameter name");
            }
            out.push(id);
        }
        out
    }

    fn param_default(
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
        // Kept as written: a generic declaration fits it to its type arguments at each use.
        let loose = self.loosen(ty);
        let fitted = self.coerce(e.clone(), loose, &Role::Default { name: p.name.name.clone() });
        if self.is_error(fitted.ty) {
            return None;
        }
        Some(Rc::new(e))
    }

    fn check_param_type(&mut self, p: &ast::Param, ty: Ty, of: ParamsOf) -> bool {
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
                let allowed = match of {
                    ParamsOf::Package => true,
                    ParamsOf::BlockConstructor => !is_package,
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

    // -- functions and externs --------------------------------------------------------------------

    fn function(
        &mut self,
        proto: &ast::FunctionProto,
        body: Option<&ast::Block>,
        annotations: Annotations,
    ) -> Option<FunctionId> {
        let of = if body.is_none() { ParamsOf::ExternFunction } else { ParamsOf::Function };
        self.scopes.push(FrameKind::Params);
        let type_params = self.type_params(&proto.type_params);
        let params = self.params(&proto.params, of, None);
        let return_type = self.ty(&proto.return_type);
        self.check_return_type(return_type, &proto.return_type, body.is_some());
        let signature = Signature { type_params, params, return_type };
        let typed_body = body.map(|b| {
            let saved = std::mem::replace(
                &mut self.ctx,
                Context { place: Place::Function, return_type: Some(return_type), ..Context::new() },
            );
            let typed = self.block(b, &proto.return_type);
            self.ctx = saved;
            self.check_returns(proto, &typed, return_type);
            typed
        });
        self.scopes.pop();
        let id = self.p.functions.push(FunctionDef {
            name: proto.name.name.clone(),
            span: proto.name.span,
            annotations,
            signature,
            body: typed_body,
        });
        self.declare_function(&proto.name, id);
        Some(id)
    }

    fn declare_function(&mut self, name: &ast::Ident, id: FunctionId) {
        let existing = match self.scopes.current().names.get(&name.name) {
            Some(b) => match &b.res {
                Res::Function(ids) => ids.clone(),
                _ => {
                    self.declare(name, Res::Function(vec![id]));
                    return;
                }
            },
            None => {
                self.declare(name, Res::Function(vec![id]));
                return;
            }
        };
        let new = self.param_names(&self.p.functions[id].signature.params.clone());
        for other in existing.iter().filter(|_| self.options.strict) {
            let old = self.param_names(&self.p.functions[*other].signature.params.clone());
            if old == new {
                let earlier = self.p.functions[*other].span;
                self.report(
                    Diagnostic::new(
                        &codes::METHOD_REDEFINED,
                        name.span,
                        format!("function `{}` is declared twice with the same parameters", name.name),
                    )
                    .label("declared again here")
                    .also(earlier, "first declared here")
                    .note("functions of one name must differ in the number or names of their parameters"),
                );
                return;
            }
        }
        if let Some(b) = self.scopes.current().names.get_mut(&name.name)
            && let Res::Function(ids) = &mut b.res
        {
            ids.push(id);
        }
    }

    fn param_names(&self, params: &[VarId]) -> Vec<smol_str::SmolStr> {
        params.iter().map(|p| self.p.vars[*p].name.clone()).collect()
    }

    fn check_return_type(&mut self, ty: Ty, t: &ast::Type, has_body: bool) {
        let bad = match self.kind(ty) {
            TyKind::Block(..) | TyKind::Parser(..) | TyKind::Control(..) => true,
            TyKind::Extern(..) => has_body,
            TyKind::Int | TyKind::Str => has_body && self.options.strict,
            _ => false,
        };
        if bad {
            let shown = self.quote(ty);
            self.report(
                Diagnostic::new(&codes::RETURN_TYPE, t.span, format!("a function cannot return {shown}"))
                    .label("not a type of values"),
            );
        }
    }

    /// Reports a function that can end without returning its value.
    fn check_returns(&mut self, proto: &ast::FunctionProto, body: &Block, return_type: Ty) {
        if return_type == Types::VOID || self.is_error(return_type) || always_returns(&body.stmts) {
            return;
        }
        self.report(
            Diagnostic::new(
                &codes::MISSING_RETURN,
                proto.name.span,
                format!("function `{}` does not return a value on all paths", proto.name.name),
            )
            .label("a path ends without `return`")
            .also(proto.return_type.span, format!("must return {}", self.quote(return_type))),
        );
    }

    fn extern_decl(&mut self, e: &ast::ExternDecl, annotations: Annotations) -> Option<ExternId> {
        let id = self.p.externs.push(ExternDef {
            name: e.name.name.clone(),
            span: e.name.span,
            annotations,
            type_params: Vec::new(),
            methods: Vec::new(),
        });
        // The name is visible inside: methods may mention the extern.
        self.declare(&e.name, Res::Type(TypeRes::Extern(id)));
        self.scopes.push(FrameKind::Params);
        let type_params = self.type_params(&e.type_params);
        self.p.externs[id].type_params = type_params;
        for m in &e.methods {
            let annotations = self.annotations(&m.annotations);
            let proto = &m.proto;
            if !m.is_constructor && proto.name.name == e.name.name {
                self.report(
                    Diagnostic::new(
                        &codes::CONSTRUCTOR_DECLARATION,
                        proto.return_type.span.to(proto.name.span),
                        format!("the constructor of `{}` cannot have a return type", e.name.name),
                    )
                    .label("has a return type")
                    .help(format!("write `{}(...);`", e.name.name)),
                );
                continue;
            }
            if m.is_constructor && proto.name.name != e.name.name {
                self.report(
                    Diagnostic::new(
                        &codes::CONSTRUCTOR_DECLARATION,
                        proto.name.span,
                        format!("method `{}` has no return type", proto.name.name),
                    )
                    .label("neither a method nor the constructor")
                    .help(format!("write `void {}(...);`, or name it `{}`", proto.name.name, e.name.name)),
                );
                continue;
            }
            self.scopes.push(FrameKind::Params);
            let tp = self.type_params(&proto.type_params);
            let of = if m.is_constructor { ParamsOf::ExternConstructor } else { ParamsOf::Method };
            let params = self.params(&proto.params, of, None);
            let return_type = if m.is_constructor { Types::VOID } else { self.ty(&proto.return_type) };
            if matches!(self.kind(return_type), TyKind::Int | TyKind::Str) {
                let shown = self.quote(return_type);
                self.report(
                    Diagnostic::new(
                        &codes::RETURN_TYPE,
                        proto.return_type.span,
                        format!("a method cannot return {shown}"),
                    )
                    .label("exists only at compile time"),
                );
            }
            self.scopes.pop();
            let names = self.param_names(&params);
            let clash = self.p.externs[id]
                .methods
                .iter()
                .find(|o| {
                    o.name == proto.name.name
                        && (o.is_abstract && m.is_abstract
                            || o.signature.params.len() == params.len()
                                && self.param_names(&o.signature.params) == names)
                })
                .map(|o| o.span);
            if let Some(earlier) = clash {
                self.report(
                    Diagnostic::new(
                        &codes::METHOD_REDEFINED,
                        proto.name.span,
                        format!("method `{}` is declared twice with the same parameters", proto.name.name),
                    )
                    .label("declared again here")
                    .also(earlier, "first declared here")
                    .note("methods of one name must differ in the number or names of their parameters"),
                );
                continue;
            }
            self.p.externs[id].methods.push(MethodDef {
                name: proto.name.name.clone(),
                span: proto.name.span,
                is_constructor: m.is_constructor,
                is_abstract: m.is_abstract,
                signature: Signature { type_params: tp, params, return_type },
                annotations,
            });
        }
        self.scopes.pop();
        Some(id)
    }

    fn block_type(
        &mut self,
        b: &ast::BlockType,
        kind: BlockKind,
        annotations: Annotations,
    ) -> Option<BlockTypeId> {
        self.scopes.push(FrameKind::Params);
        let type_params = self.type_params(&b.type_params);
        let of = if kind == BlockKind::Package { ParamsOf::Package } else { ParamsOf::Block };
        let params = self.params(&b.params, of, None);
        if kind == BlockKind::Package {
            for p in &params {
                let (ty, span) = (self.p.vars[*p].ty, self.p.vars[*p].span);
                if matches!(self.kind(ty), TyKind::Parser(..) | TyKind::Control(..)) {
                    let shown = self.quote(ty);
                    self.error(
                        &codes::PARAMETER_TYPE,
                        span,
                        format!("a package cannot take {shown}: use a parser or control type"),
                    );
                }
            }
        }
        self.scopes.pop();
        let n = params.len();
        let id = self.p.block_types.push(BlockTypeDef {
            kind,
            name: b.name.name.clone(),
            span: b.name.span,
            annotations,
            type_params,
            params,
        });
        // Packages of one name may differ in the number of parameters.
        if kind == BlockKind::Package
            && let Some(binding) = self.scopes.current().names.get(&b.name.name).cloned()
            && let Res::Type(TypeRes::Block(ids)) = &binding.res
            && ids.iter().all(|i| {
                self.p.block_types[*i].kind == BlockKind::Package && self.p.block_types[*i].params.len() != n
            })
        {
            let mut ids = ids.clone();
            ids.push(id);
            let binding = crate::scope::Binding { res: Res::Type(TypeRes::Block(ids)), ..binding };
            self.scopes.current().names.insert(b.name.name.clone(), binding);
            return Some(id);
        }
        self.declare(&b.name, Res::Type(TypeRes::Block(vec![id])));
        Some(id)
    }

    // -- type declarations --------------------------------------------------------------------------

    fn struct_decl(&mut self, s: &ast::StructDecl, annotations: Annotations) -> Option<StructId> {
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
            self.check_length_annotation(&annotations, &fields);
            if f.name.name == "_" {
                self.error(&codes::INVALID_NAME, f.name.span, "`_` cannot be used as a field name");
                continue;
            }
            if let Some(earlier) = fields.iter().find(|o| o.name == f.name.name) {
                let earlier = earlier.span;
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
            fields.push(FieldDef { name: f.name.name.clone(), ty: field_ty, span: f.name.span, annotations });
        }
        self.scopes.pop();
        self.p.structs[id].fields = fields;
        self.declare(&s.name, Res::Type(TypeRes::Struct(id)));
        Some(id)
    }

    /// `@length(field)`: only fields before it can give the length of a varbit field.
    fn check_length_annotation(&mut self, annotations: &Annotations, fields: &[FieldDef]) {
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
                    && !fields.iter().any(|f| f.name == t.text)
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
    fn check_match_annotation(&mut self, annotations: &Annotations) {
        let Some(a) = annotation(annotations, "match") else { return };
        let ok = matches!(a.tokens(), [t] if self.p.match_kinds.iter().any(|m| m.name == t.text));
        if !ok {
            let span = a.span;
            self.report(
                Diagnostic::new(&codes::ANNOTATION, span, "annotation `@match` takes a match kind")
                    .label("not a match kind")
                    .help("write for instance `@match(ternary)`"),
            );
        }
    }

    /// Whether a generic struct, with its type arguments put in, has only fields that it can hold.
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

    fn field_type_ok(&mut self, ty: Ty, kind: StructKind) -> bool {
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

    /// What a header can hold: bits, bools, serializable enums, and structs and arrays of these.
    fn is_bit_like(&mut self, ty: Ty) -> bool {
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

    fn enum_decl(&mut self, e: &ast::EnumDecl, annotations: Annotations) -> Option<EnumId> {
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
        let mut members: Vec<EnumMember> = Vec::with_capacity(e.members.len());
        // Members may refer to earlier members.
        self.declare(&e.name, Res::Type(TypeRes::Enum(id)));
        self.scopes.push(FrameKind::Params);
        for m in &e.members {
            let annotations = self.annotations(&m.annotations);
            if let Some(earlier) = members.iter().find(|o| o.name == m.name.name) {
                let earlier = earlier.span;
                self.report_duplicate(&m.name.name, m.name.span, earlier);
                continue;
            }
            let value = match (&m.value, underlying) {
                (Some(v), Some(ty)) => self.enum_value(&m.name, v, ty, e),
                _ => None,
            };
            let member = EnumMember { name: m.name.name.clone(), span: m.name.span, value, annotations };
            members.push(member.clone());
            if member.value.is_some() {
                self.declare(&m.name, Res::EnumMember(id, members.len() as u32 - 1));
            }
            self.p.enums[id].members.push(member);
        }
        self.scopes.pop();
        Some(id)
    }

    fn enum_value(&mut self, name: &ast::Ident, v: &ast::Expr, ty: Ty, e: &ast::EnumDecl) -> Option<Value> {
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

    fn typedef_decl(&mut self, t: &ast::TypedefDecl, annotations: Annotations) -> Option<TypedefId> {
        let target = match &t.target {
            ast::TypedefTarget::Type(ty) => self.ty(ty),
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

    fn newtype_decl(&mut self, t: &ast::TypedefDecl, annotations: Annotations) -> Option<NewtypeId> {
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

/// Whether control never reaches the end of the statements.
pub(crate) fn always_returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|s| match &s.kind {
        StmtKind::Return(_) | StmtKind::Exit | StmtKind::Error => true,
        StmtKind::Block(b) => always_returns(&b.stmts),
        StmtKind::If { condition, then, otherwise, .. } => match condition.value.as_deref() {
            Some(Value::Bool(true)) => always_returns(std::slice::from_ref(then)),
            Some(Value::Bool(false)) => {
                otherwise.as_ref().is_some_and(|o| always_returns(std::slice::from_ref(o)))
            }
            _ => {
                otherwise.as_ref().is_some_and(|o| always_returns(std::slice::from_ref(o)))
                    && always_returns(std::slice::from_ref(then))
            }
        },
        StmtKind::SwitchValue { cases, .. } => {
            cases.iter().any(|c| c.label.is_none())
                && cases.iter().all(|c| c.body.as_ref().is_none_or(|b| always_returns(&b.stmts)))
                && cases.last().is_some_and(|c| c.body.is_some())
        }
        StmtKind::SwitchAction { cases, .. } => {
            cases.iter().any(|c| c.label.is_none())
                && cases.iter().all(|c| c.body.as_ref().is_none_or(|b| always_returns(&b.stmts)))
                && cases.last().is_some_and(|c| c.body.is_some())
        }
        _ => false,
    })
}

/// The name that a declaration introduces.
pub(crate) fn decl_name(kind: &ast::DeclKind) -> Option<&ast::Ident> {
    Some(match kind {
        ast::DeclKind::Const(c) => &c.name,
        ast::DeclKind::Variable(v) => &v.name,
        ast::DeclKind::Instantiation(i) => &i.name,
        ast::DeclKind::Extern(e) => &e.name,
        ast::DeclKind::ExternForward(n) => n,
        ast::DeclKind::ExternFunction(p) => &p.name,
        ast::DeclKind::Function(f) => &f.proto.name,
        ast::DeclKind::Action(a) => &a.name,
        ast::DeclKind::Parser(p) => &p.head.name,
        ast::DeclKind::Control(c) => &c.head.name,
        ast::DeclKind::ParserType(b) | ast::DeclKind::ControlType(b) | ast::DeclKind::Package(b) => &b.name,
        ast::DeclKind::Struct(s) => &s.name,
        ast::DeclKind::Enum(e) => &e.name,
        ast::DeclKind::Typedef(t) | ast::DeclKind::Newtype(t) => &t.name,
        ast::DeclKind::Error(_) | ast::DeclKind::MatchKind(_) => return None,
        ast::DeclKind::Table(t) => &t.name,
        ast::DeclKind::ValueSet(v) => &v.name,
    })
}
