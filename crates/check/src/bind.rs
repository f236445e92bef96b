//! Binding of arguments to parameters, by position or name, with inference of type arguments.

use crate::call::{BoundArgs, CallKind, TypedArg};
use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::expr::list_names;
use crate::program::*;
use crate::subst::Subst;
use crate::types::{Ty, TyKind, Types};
use crate::unify::{Conversions, plural};
use diagnostics::{Diagnostic, Span, suggest};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use syntax::ast;

impl Checker<'_> {
    pub fn is_omittable(&self, v: VarId) -> bool {
        self.p.vars[v].is_optional || self.p.vars[v].default.is_some()
    }

    /// True if a call with these arguments could mean a declaration with these parameters.
    pub fn matches(&self, params: &[VarId], args: &[TypedArg]) -> bool {
        if args.len() > params.len() {
            return false;
        }
        if args.iter().any(|a| a.name.is_some()) {
            let names: FxHashSet<&SmolStr> = params.iter().map(|p| &self.p.vars[*p].name).collect();
            let given: FxHashSet<&SmolStr> =
                args.iter().filter_map(|a| a.name.as_ref()).map(|n| &n.name).collect();
            args.iter().all(|a| a.name.as_ref().is_some_and(|n| names.contains(&n.name)))
                && params.iter().all(|p| self.is_omittable(*p) || given.contains(&self.p.vars[*p].name))
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
        let named = params.iter().enumerate().rev().filter(|_| n_named > 0);
        let by_name: FxHashMap<SmolStr, usize> =
            named.map(|(i, p)| (self.p.vars[*p].name.clone(), i)).collect();
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
                Some(name) => match by_name.get(&name.name) {
                    Some(j) => *j,
                    None => {
                        let names = self.names_to_suggest(|p| {
                            params.iter().map(|v| p.vars[*v].name.to_string()).collect()
                        });
                        let mut d = Diagnostic::new(
                            &codes::NAMED_ARGUMENTS,
                            name.span,
                            format!("`{callee}` has no parameter `{}`", name.name),
                        )
                        .label("no such parameter")
                        .also(decl, "declared here");
                        d = match suggest::closest(&name.name, names.iter().map(String::as_str)) {
                            Some(s) => d.fix(format!("did you mean `{s}`?"), name.span, s),
                            None if names.is_empty() => d,
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

    pub fn check_missing(
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
    pub fn fit_arg(&mut self, e: Expr, param: VarId, subst: &Subst, kind: CallKind) -> Option<Expr> {
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
                            "this argument is written to, but it cannot be",
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
                self.mark_assigned(&e);
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
    pub fn check_object_argument(&mut self, e: &Expr, pt: Ty, param: VarId) -> Option<()> {
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
    pub fn choose<T: Copy>(
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
    pub fn call_type_args(
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
    #[allow(clippy::too_many_arguments, reason = "what a call knows of itself")]
    pub fn solved(
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
    pub fn check_inferred(
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
    pub fn settle(&mut self, ty: Ty) -> Ty {
        match self.kind(ty).clone() {
            TyKind::ListLiteral(items) => {
                let items = items.iter().map(|t| self.settle(*t)).collect();
                self.intern(TyKind::Tuple(items))
            }
            _ => ty,
        }
    }
}
