//! Calls: what is called, which overload, how arguments meet parameters, and where calls are allowed.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::expr::list_names;
use crate::program::*;
use crate::scope::{Place, Res};
use crate::subst::Subst;
use crate::type_expr::Generic;
use crate::types::{Ty, TyKind, Types};
use crate::unify::{Conversions, plural};
use crate::value::Value;
use diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use smol_str::SmolStr;
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

    // -- binding ------------------------------------------------------------------------------

    fn is_omittable(&self, v: VarId) -> bool {
        self.p.vars[v].is_optional || self.p.vars[v].default.is_some()
    }

    /// Whether a call with these arguments could mean a declaration with these parameters.
    fn matches(&self, params: &[VarId], args: &[TypedArg]) -> bool {
        if args.len() > params.len() {
            return false;
        }
        let named = args.iter().any(|a| a.name.is_some());
        if named {
            let all_known = args.iter().all(|a| match &a.name {
                Some(n) => params.iter().any(|p| self.p.vars[*p].name == n.name),
                None => false,
            });
            all_known
                && params.iter().all(|p| {
                    self.is_omittable(*p)
                        || args
                            .iter()
                            .any(|a| a.name.as_ref().is_some_and(|n| n.name == self.p.vars[*p].name))
                })
        } else {
            params[args.len()..].iter().all(|p| self.is_omittable(*p))
        }
    }

    /// Assigns arguments to parameters by position or name and fits them.
    ///
    /// `subst` puts types in for the callee's type parameters (inference variables included).
    #[allow(
        clippy::too_many_arguments,
        reason = "one call site per kind of callee; a struct would only rename them"
    )]
    pub fn bind_args(
        &mut self,
        callee: &str,
        params: &[VarId],
        subst: &Subst,
        args: Vec<TypedArg>,
        kind: CallKind,
        decl: Span,
        span: Span,
    ) -> Option<BoundArgs> {
        let n_named = args.iter().filter(|a| a.name.is_some()).count();
        if n_named > 0 && n_named < args.len() {
            self.report(
                Diagnostic::new(
                    &codes::NAMED_ARGUMENTS,
                    span,
                    "either all arguments of a call are named or none",
                )
                .label("named and unnamed arguments are mixed"),
            );
            return None;
        }
        let mut slots: Vec<Option<Expr>> = params.iter().map(|_| None).collect();
        let mut order = Vec::with_capacity(args.len());
        let n_args = args.len();
        for (i, arg) in args.into_iter().enumerate() {
            let slot = match &arg.name {
                None if i >= params.len() => {
                    self.report(
                        Diagnostic::new(
                            &codes::ARGUMENT_COUNT,
                            arg.expr.span,
                            format!(
                                "`{callee}` takes {} argument{}, {n_args} given",
                                params.len(),
                                plural(params.len())
                            ),
                        )
                        .label("one argument too many")
                        .also(decl, "declared here"),
                    );
                    return None;
                }
                None => i,
                Some(name) => match params.iter().position(|p| self.p.vars[*p].name == name.name) {
                    Some(j) => j,
                    None => {
                        let names: Vec<String> =
                            params.iter().map(|p| self.p.vars[*p].name.to_string()).collect();
                        let mut d = Diagnostic::new(
                            &codes::NAMED_ARGUMENTS,
                            name.span,
                            format!("`{callee}` has no parameter `{}`", name.name),
                        )
                        .label("no such parameter")
                        .also(decl, "declared here");
                        d = match crate::suggest::closest(&name.name, names.iter().map(String::as_str)) {
                            Some(s) => d.fix(format!("did you mean `{s}`?"), name.span, s),
                            None => d.note(format!("its parameters are {}", list_names(&names))),
                        };
                        self.report(d);
                        return None;
                    }
                },
            };
            if let Some(earlier) = &slots[slot] {
                let earlier = earlier.span;
                self.report(
                    Diagnostic::new(
                        &codes::NAMED_ARGUMENTS,
                        arg.expr.span,
                        format!("parameter `{}` is given twice", self.p.vars[params[slot]].name),
                    )
                    .label("given again here")
                    .also(earlier, "first given here"),
                );
                return None;
            }
            order.push(slot as u32);
            slots[slot] = Some(arg.expr);
        }
        if !self.check_missing(callee, params, &slots, kind, decl, span) {
            return None;
        }
        // First let all arguments speak about the type parameters, then fit each.
        for (slot, param) in slots.iter().zip(params) {
            if let Some(e) = slot
                && e.ty != Types::DONT_CARE
            {
                let pt = self.p.vars[*param].ty;
                let pt = self.subst(pt, subst);
                // A mismatch is reported below, with the types as far as they are known.
                let _ = self.unify(pt, e.ty, Conversions::Implicit);
            }
        }
        let mut out = Vec::with_capacity(slots.len());
        let mut failed = false;
        for (slot, param) in slots.into_iter().zip(params) {
            let bound = match slot {
                Some(e) => {
                    let e = self.fit_arg(e, *param, subst, kind);
                    failed |= e.is_none();
                    e
                }
                None => {
                    let default = self.p.vars[*param].default.clone();
                    match default {
                        Some(d) => {
                            let pt = self.p.vars[*param].ty;
                            let pt = self.subst(pt, subst);
                            let mut d = (*d).clone();
                            self.subst_expr(&mut d, subst);
                            Some(self.coerce(
                                d,
                                pt,
                                &Role::Default { name: self.p.vars[*param].name.clone() },
                            ))
                        }
                        None => None,
                    }
                }
            };
            out.push(bound);
        }
        if failed { None } else { Some(BoundArgs { args: out, order }) }
    }

    fn check_missing(
        &mut self,
        callee: &str,
        params: &[VarId],
        slots: &[Option<Expr>],
        kind: CallKind,
        decl: Span,
        span: Span,
    ) -> bool {
        let missing: Vec<VarId> = params
            .iter()
            .zip(slots)
            .filter(|(p, s)| s.is_none() && !self.is_omittable(**p))
            .map(|(p, _)| *p)
            .filter(|p| !(kind == CallKind::ActionList && self.p.direction(*p) == Direction::None))
            .collect();
        if missing.is_empty() {
            return true;
        }
        let names: Vec<String> = missing.iter().map(|p| self.p.vars[*p].name.to_string()).collect();
        let types: Vec<String> = missing.iter().map(|p| self.show(self.p.vars[*p].ty)).collect();
        let mut d = Diagnostic::new(
            &codes::MISSING_ARGUMENT,
            span,
            format!(
                "the call of `{callee}` lacks {}",
                if names.len() == 1 {
                    format!("the argument {}", list_names(&names))
                } else {
                    format!("the arguments {}", list_names(&names))
                }
            ),
        )
        .label(format!("{} missing", if names.len() == 1 { "one argument is" } else { "arguments are" }));
        d = d.also(decl, format!("`{callee}` is declared here"));
        for (p, t) in missing.iter().zip(types) {
            d = d.also(self.p.vars[*p].span, format!("of type `{t}`"));
        }
        self.report(d);
        false
    }

    /// Checks one argument against its parameter.
    fn fit_arg(&mut self, e: Expr, param: VarId, subst: &Subst, kind: CallKind) -> Option<Expr> {
        let direction = self.p.direction(param);
        let (name, pspan) = (self.p.vars[param].name.clone(), self.p.vars[param].span);
        let pt = self.p.vars[param].ty;
        let pt = self.subst(pt, subst);
        if e.ty == Types::DONT_CARE && matches!(e.kind, ExprKind::DontCare) {
            if direction == Direction::Out {
                let ty = self.zonk(pt);
                return Some(Expr { ty, ..e });
            }
            if !self.p.vars[param].is_optional {
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_ARGUMENT,
                        e.span,
                        format!("`_` cannot be given for `{name}`"),
                    )
                    .label("no value")
                    .also(pspan, "not an `out` parameter")
                    .note("`_` drops the result of an `out` parameter"),
                );
                return None;
            }
            return Some(e);
        }
        match direction {
            Direction::Out | Direction::InOut => {
                if !e.is_lvalue {
                    self.report(
                        Diagnostic::new(
                            &codes::ARGUMENT_NOT_LVALUE,
                            e.span,
                            format!("this argument is written to, but it cannot be"),
                        )
                        .label("not something that can be assigned to")
                        .also(
                            pspan,
                            format!("`{name}` is an `{}` parameter", crate::unify::direction_name(direction)),
                        )
                        .help("pass a variable, a field or an element"),
                    );
                    return None;
                }
                self.check_object_argument(&e, pt, param)?;
                // Written through the argument: no conversion is possible.
                match self.unify(pt, e.ty, Conversions::Literals) {
                    Ok(()) => {
                        let target = self.zonk(pt);
                        let is_literal_type = e.ty == Types::INT && target != Types::INT;
                        if is_literal_type {
                            return Some(self.coerce(e, target, &Role::Argument { param }));
                        }
                        Some(e)
                    }
                    Err(_) => {
                        let out = self.coerce(e.clone(), pt, &Role::Argument { param });
                        if !self.is_error(out.ty) {
                            let target = self.zonk(pt);
                            let (want, found) = (self.quote(target), self.quote(e.ty));
                            self.report(
                                Diagnostic::new(
                                    &codes::TYPE_MISMATCH,
                                    e.span,
                                    "mismatched types in argument",
                                )
                                .label(format!("expected {want}, found {found}"))
                                .also(pspan, format!("`{name}` is declared here"))
                                .note("an argument that is written to is not converted"),
                            );
                        }
                        None
                    }
                }
            }
            Direction::In | Direction::None => {
                let must_be_constant = match kind {
                    CallKind::Ordinary | CallKind::ActionInstance => direction == Direction::None,
                    CallKind::Constructor => true,
                    CallKind::ActionCall | CallKind::ActionList => false,
                };
                if kind == CallKind::ActionList && direction == Direction::None {
                    self.report(
                        Diagnostic::new(
                            &codes::ACTION_ARGUMENTS,
                            e.span,
                            format!("`{name}` cannot be given here"),
                        )
                        .label("bound in the action list")
                        .also(pspan, "action data: the control plane gives it with each entry")
                        .help("leave it out of the action list"),
                    );
                    return None;
                }
                if must_be_constant && !e.is_compile_time {
                    self.report(
                        Diagnostic::new(
                            &codes::ARGUMENT_NOT_CONSTANT,
                            e.span,
                            format!("the argument for `{name}` must be known at compile time"),
                        )
                        .label("known only when a packet is processed")
                        .also(pspan, "a parameter without direction"),
                    );
                    return None;
                }
                self.check_object_argument(&e, pt, param)?;
                if self.shallow(pt) == Types::DONT_CARE && self.p.vars[param].ty != Types::DONT_CARE {
                    self.report(
                        Diagnostic::new(
                            &codes::CANNOT_INFER,
                            e.span,
                            format!("the type of parameter `{name}` is not known"),
                        )
                        .label("`_` was given for its type")
                        .also(pspan, "declared here"),
                    );
                    return None;
                }
                let e = self.coerce(e, pt, &Role::Argument { param });
                if self.is_error(e.ty) { None } else { Some(e) }
            }
        }
    }

    /// Tables, actions and blocks are no arguments of generic functions.
    fn check_object_argument(&mut self, e: &Expr, pt: Ty, param: VarId) -> Option<()> {
        let target = self.shallow(pt);
        let declared_generic = matches!(self.kind(self.p.vars[param].ty), TyKind::Var(_));
        let bad = match self.kind(e.ty) {
            TyKind::Table(_)
            | TyKind::Action(_)
            | TyKind::ActionRun(_)
            | TyKind::ApplyResult(_)
            | TyKind::State
            | TyKind::Void => true,
            TyKind::Block(..) | TyKind::Parser(..) | TyKind::Control(..) => declared_generic,
            TyKind::Set(_) => declared_generic,
            _ => false,
        };
        if bad || self.kind(target) == &TyKind::Void {
            let shown = self.quote(e.ty);
            self.report(
                Diagnostic::new(&codes::INVALID_ARGUMENT, e.span, format!("{shown} cannot be an argument"))
                    .label("not a value")
                    .also(self.p.vars[param].span, "for this parameter"),
            );
            return None;
        }
        Some(())
    }

    /// Finds the overload that the arguments mean.
    fn choose<T: Copy>(
        &mut self,
        name: &SmolStr,
        candidates: &[(T, Vec<VarId>, Span)],
        args: &[TypedArg],
        span: Span,
    ) -> Option<T> {
        let fitting: Vec<&(T, Vec<VarId>, Span)> =
            candidates.iter().filter(|(_, params, _)| self.matches(params, args)).collect();
        match fitting.as_slice() {
            [one] => Some(one.0),
            [] if candidates.len() == 1 => Some(candidates[0].0),
            [] => {
                let mut d = Diagnostic::new(
                    &codes::NO_MATCHING_OVERLOAD,
                    span,
                    format!(
                        "no declaration of `{name}` takes {}",
                        match args.len() {
                            0 => "no arguments".to_string(),
                            n => format!("{n} such argument{}", plural(n)),
                        }
                    ),
                )
                .label("matches none of them")
                .note("declarations of one name are told apart by the number and names of arguments, not by types");
                for (_, params, decl) in candidates {
                    d = d.also(*decl, format!("takes {} argument{}", params.len(), plural(params.len())));
                }
                self.report(d);
                None
            }
            several => {
                let mut d = Diagnostic::new(
                    &codes::AMBIGUOUS_CALL,
                    span,
                    format!("the call of `{name}` could mean several declarations"),
                )
                .label("ambiguous")
                .note("declarations of one name are told apart by the number and names of arguments, not by types");
                for (_, _, decl) in several {
                    d = d.also(*decl, "could be this one");
                }
                self.report(d);
                None
            }
        }
    }

    /// Type arguments of a call: given ones, or fresh variables.
    fn call_type_args(
        &mut self,
        callee: &str,
        params: &[TypeVarId],
        given: &[ast::Type],
        span: Span,
    ) -> Option<Vec<Ty>> {
        if given.is_empty() {
            return Some(self.fresh_args(params));
        }
        if given.len() != params.len() {
            let code = if params.is_empty() { &codes::NOT_GENERIC } else { &codes::TYPE_ARGUMENTS };
            self.report(
                Diagnostic::new(
                    code,
                    span,
                    format!(
                        "`{callee}` takes {} type argument{}, {} given",
                        params.len(),
                        plural(params.len()),
                        given.len()
                    ),
                )
                .label("wrong number of type arguments"),
            );
            return None;
        }
        let mut out = Vec::with_capacity(given.len());
        for g in given {
            let ty = self.ty(g);
            if self.is_error(ty) || !self.check_type_argument(ty, g.span) {
                return None;
            }
            out.push(if ty == Types::DONT_CARE { self.fresh() } else { ty });
        }
        Some(out)
    }

    /// The inferred type arguments; reports those that nothing determines.
    fn solved(
        &mut self,
        callee: &str,
        params: &[TypeVarId],
        args: &[Ty],
        value_params: &[VarId],
        bound: &BoundArgs,
        is_given: bool,
        span: Span,
    ) -> Option<Vec<Ty>> {
        let mut out = Vec::with_capacity(args.len());
        for (param, arg) in params.iter().zip(args) {
            let ty = self.zonk(*arg);
            if self.has_infer(ty) {
                // Mentioned only in parameters that are left out: any type will do.
                let only_absent = value_params.iter().zip(&bound.args).all(|(p, a)| {
                    let mentions =
                        self.p.types.any(self.p.vars[*p].ty, &|k| matches!(k, TyKind::Var(v) if v == param));
                    !mentions || (a.is_none() && self.p.vars[*p].is_optional)
                });
                let mentioned = value_params.iter().any(|p| {
                    self.p.types.any(self.p.vars[*p].ty, &|k| matches!(k, TyKind::Var(v) if v == param))
                });
                if only_absent && mentioned {
                    out.push(Types::DONT_CARE);
                    continue;
                }
                let var = self.p.type_vars[*param].name.clone();
                self.report(
                    Diagnostic::new(
                        &codes::CANNOT_INFER,
                        span,
                        format!("the type `{var}` of `{callee}` cannot be inferred"),
                    )
                    .label(format!("nothing determines `{var}`"))
                    .also(self.p.type_vars[*param].span, "declared here")
                    .help(format!("give it: `{callee}<...>(...)`")),
                );
                return None;
            }
            if !is_given && !self.check_inferred(ty, *param, value_params, bound, span) {
                return None;
            }
            out.push(self.settle(ty));
        }
        Some(out)
    }

    /// A type parameter cannot be inferred from an integer without width, a struct literal or a string
    /// that is passed with a direction.
    fn check_inferred(
        &mut self,
        ty: Ty,
        param: TypeVarId,
        value_params: &[VarId],
        bound: &BoundArgs,
        span: Span,
    ) -> bool {
        let var = self.intern(TyKind::Var(param));
        let at = |c: &Self| {
            let i = value_params.iter().position(|p| c.p.vars[*p].ty == var)?;
            Some((value_params[i], bound.args.get(i)?.as_ref()?.span))
        };
        let found = at(self);
        let place = found.map_or(span, |(_, s)| s);
        let name = self.p.type_vars[param].name.clone();
        let decl = self.p.type_vars[param].span;
        match self.kind(ty) {
            TyKind::Int => {
                self.report(
                    Diagnostic::new(
                        &codes::UNKNOWN_WIDTH,
                        place,
                        format!("the width of this argument, and so the type `{name}`, is not known"),
                    )
                    .label("an integer without width")
                    .also(decl, format!("`{name}` is declared here"))
                    .help("give the literal a width, as in `8w5`"),
                );
                false
            }
            TyKind::StructLiteral(_) => {
                self.report(
                    Diagnostic::new(
                        &codes::CANNOT_INFER,
                        place,
                        format!("the struct type of this argument, and so the type `{name}`, is not known"),
                    )
                    .label("which struct?")
                    .also(decl, format!("`{name}` is declared here"))
                    .help("cast the literal to its type: `(S) { ... }`"),
                );
                false
            }
            TyKind::Str if found.is_some_and(|(p, _)| self.p.direction(p) != Direction::None) => {
                let pspan = found.map_or(Span::NONE, |(p, _)| self.p.vars[p].span);
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_ARGUMENT,
                        place,
                        "a string cannot be passed to a parameter with a direction",
                    )
                    .label("a string")
                    .also(pspan, "has a direction"),
                );
                false
            }
            _ => true,
        }
    }

    /// List literals whose type was inferred are tuples.
    fn settle(&mut self, ty: Ty) -> Ty {
        match self.kind(ty).clone() {
            TyKind::ListLiteral(items) => {
                let items = items.iter().map(|t| self.settle(*t)).collect();
                self.intern(TyKind::Tuple(items))
            }
            _ => ty,
        }
    }

    // -- functions ------------------------------------------------------------------------------

    fn function_call(
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
    fn static_assert(&mut self, bound: &BoundArgs, span: Span) -> bool {
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

    fn check_result(&mut self, ty: Ty, all_constant: bool, span: Span) -> bool {
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
    fn check_call_place(&mut self, name: &str, is_extern: bool, span: Span) -> bool {
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

    fn action_call(&mut self, id: ActionId, type_args: &[ast::Type], args: &[ast::Arg], span: Span) -> Expr {
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

    // -- methods ----------------------------------------------------------------------------------

    fn method_call(
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
    fn size_call(
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

    fn builtin_call(
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
                        self.p.structs[id].fields.iter().any(|f| f.name == member.name)
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

    fn unknown_method(&mut self, object: &Expr, member: &ast::Ident) {
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
        } else if let Some(s) = crate::suggest::closest(&member.name, candidates.into_iter()) {
            d = d.fix(format!("did you mean `{s}`?"), member.span, s);
        }
        self.report(d);
    }

    fn apply_call(&mut self, object: Expr, type_args: &[ast::Type], args: &[ast::Arg], span: Span) -> Expr {
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
    fn extern_call(
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
        let candidates: Vec<(u32, Vec<VarId>, Span)> = def
            .methods
            .iter()
            .enumerate()
            .filter(|(_, m)| m.name == member.name && !m.is_constructor)
            .map(|(i, m)| (i as u32, m.signature.params.clone(), m.span))
            .collect();
        if candidates.is_empty() {
            let names: Vec<String> = def.methods.iter().map(|m| m.name.to_string()).collect();
            let (decl, shown) = (def.span, self.quote(object.ty));
            let mut d = Diagnostic::new(
                &codes::UNKNOWN_MEMBER,
                member.span,
                format!("{shown} has no method `{}`", member.name),
            )
            .label("no such method")
            .also(decl, "declared here");
            if let Some(s) = crate::suggest::closest(&member.name, names.iter().map(String::as_str)) {
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

    /// What `packet_in` and `packet_out` demand of their arguments beyond their declared types
    /// (P4-16, "Data extraction", "Deparsing").
    fn check_packet_call(&mut self, id: ExternId, method: &str, bound: &BoundArgs, result: Ty, span: Span) {
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

    fn has_varbit(&mut self, ty: Ty) -> bool {
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

    fn check_emit(&mut self, ty: Ty, span: Span) {
        if !self.is_emittable(ty) {
            let shown = self.quote(ty);
            self.report(
                Diagnostic::new(&codes::INVALID_ARGUMENT, span, format!("{shown} cannot be emitted"))
                    .label("neither a header nor made of headers")
                    .note("headers, header stacks, header unions and structs of these can be emitted"),
            );
        }
    }

    fn is_emittable(&mut self, ty: Ty) -> bool {
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

    // -- constructors -------------------------------------------------------------------------------

    fn constructor_call(&mut self, t: &ast::Type, args: &[ast::Arg], span: Span) -> Expr {
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
    fn choose_block(&mut self, ty: Ty, args: &[TypedArg]) -> Ty {
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
    fn finish_construct(
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
        // What optional parameters would have said is left open.
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

    fn unify_open(&mut self, ty: Ty) -> Option<()> {
        let root = self.shallow(ty);
        if let TyKind::Infer(n) = self.kind(root) {
            let n = *n as usize;
            self.infer[n] = Some(Types::DONT_CARE);
        }
        Some(())
    }
}
