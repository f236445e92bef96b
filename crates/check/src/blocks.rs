//! Parsers, controls and actions.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::decl::ParamsOf;
use crate::expr::list_names;
use crate::program::*;
use crate::scope::{Context, FrameKind, Place, Res, TypeRes};
use crate::types::{Ty, TyKind, Types};
use diagnostics::{Diagnostic, Span, suggest};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ast;

/// The return type of bodies that return nothing, for messages.
fn void_type(span: Span) -> ast::Type {
    ast::Type { kind: ast::TypeKind::Void, span }
}

impl Checker<'_> {
    // -- actions ------------------------------------------------------------------------------

    pub fn action_decl(
        &mut self,
        a: &ast::ActionDecl,
        annotations: Annotations,
        is_global: bool,
    ) -> Option<ActionId> {
        self.scopes.push(FrameKind::Params);
        let params = self.params(&a.params, ParamsOf::Action, None);
        let saved = self.ctx.clone();
        self.ctx.place = Place::Action;
        self.ctx.return_type = None;
        self.ctx.loop_depth = 0;
        self.declaring.push((a.name.name.clone(), a.name.span));
        let body = self.block(&a.body, &void_type(a.name.span));
        self.declaring.pop();
        self.ctx = saved;
        let frame = self.scopes.pop();
        self.report_unused(frame);
        let id = self.p.actions.push(ActionDef {
            name: a.name.name.clone(),
            span: a.name.span,
            annotations,
            params,
            body,
            is_global,
        });
        self.declare(&a.name, Res::Action(id));
        Some(id)
    }

    // -- parsers --------------------------------------------------------------------------------

    pub fn parser_decl(&mut self, p: &ast::ParserDecl, annotations: Annotations) -> Option<ParserId> {
        let name = p.head.name.name.clone();
        let id = self.p.parsers.push(ParserDef {
            name: name.clone(),
            span: p.head.name.span,
            annotations,
            type_params: Vec::new(),
            params: Vec::new(),
            ctor_params: Vec::new(),
            locals: Vec::new(),
            states: Vec::new(),
        });
        let ty = self.intern(TyKind::Parser(id, Vec::new()));
        if !self.declare_overload(&p.head, p.ctor_params.as_deref(), ty) {
            self.declare(&p.head.name, Res::Type(TypeRes::Parser(id)));
        }
        self.scopes.push(FrameKind::Params);
        self.check_not_generic("parser", &p.head);
        let type_params = self.type_params(&p.head.type_params);
        let params = self.params(&p.head.params, ParamsOf::Block, None);
        let ctor_params = match &p.ctor_params {
            Some(list) => {
                self.ctx.parser = Some(name.clone());
                let params = self.params(list, ParamsOf::BlockConstructor, None);
                self.ctx.parser = None;
                params
            }
            None => Vec::new(),
        };
        {
            let def = &mut self.p.parsers[id];
            def.type_params = type_params;
            def.params = params;
            def.ctor_params = ctor_params;
        }
        let saved = std::mem::replace(
            &mut self.ctx,
            Context { place: Place::ParserLocals, parser: Some(name), ..Context::new() },
        );
        self.scopes.push(FrameKind::Locals);
        let locals = self.locals(&p.locals, true);
        self.p.parsers[id].locals = locals;
        let states = self.states(p);
        self.p.parsers[id].states = states;
        let frame = self.scopes.pop();
        self.report_unused(frame);
        self.ctx = saved;
        let frame = self.scopes.pop();
        self.report_unused(frame);
        Some(id)
    }

    /// Only parser and control types can be generic (P4-16, "Parser declarations", "Control blocks").
    fn check_not_generic(&mut self, what: &str, head: &ast::BlockType) {
        if let (true, Some(first)) = (self.options.strict, head.type_params.first()) {
            self.report(
                Diagnostic::new(&codes::NOT_GENERIC, first.span, format!("a {what} cannot be generic"))
                    .label("type parameter")
                    .note(format!("only {what} types, declared without a body, take type parameters")),
            );
        }
    }

    /// A parser or control of a name that exists, when their constructors can be told apart.
    fn declare_overload(&mut self, head: &ast::BlockType, ctor: Option<&[ast::Param]>, ty: Ty) -> bool {
        let Some(existing) = self.scopes.current().names.get(&head.name.name).map(|b| b.res.clone()) else {
            return false;
        };
        let is_parser = matches!(self.kind(ty), TyKind::Parser(..));
        let params = match existing {
            Res::Type(TypeRes::Parser(other)) if is_parser => &self.p.parsers[other].ctor_params,
            Res::Type(TypeRes::Control(other)) if !is_parser => &self.p.controls[other].ctor_params,
            _ => return false,
        };
        let old: Vec<&str> = params.iter().map(|v| self.p.vars[*v].name.as_str()).collect();
        let new: Vec<&str> = ctor.unwrap_or(&[]).iter().map(|p| p.name.name.as_str()).collect();
        if old == new {
            return false;
        }
        self.overloads.entry(head.name.name.clone()).or_default().push(ty);
        true
    }

    /// Local declarations of a parser or control.
    fn locals(&mut self, decls: &[ast::Decl], in_parser: bool) -> Vec<Local> {
        let mut out = Vec::with_capacity(decls.len());
        for d in decls {
            let annotations = self.annotations(&d.annotations);
            let local = match &d.kind {
                ast::DeclKind::Const(c) => self.const_decl(c, annotations).map(Local::Const),
                ast::DeclKind::Variable(v) => {
                    let (var, init) = self.variable(v, annotations);
                    Some(Local::Var { var, init })
                }
                ast::DeclKind::Instantiation(i) => {
                    self.instantiation(i, annotations, d.span).map(Local::Instance)
                }
                ast::DeclKind::Action(a) if !in_parser => {
                    self.action_decl(a, annotations, false).map(Local::Action)
                }
                ast::DeclKind::Table(t) if !in_parser => self.table_decl(t, annotations).map(Local::Table),
                ast::DeclKind::ValueSet(v) if in_parser => {
                    self.value_set_decl(v, annotations).map(Local::ValueSet)
                }
                _ => {
                    let place = if in_parser { "a parser" } else { "a control" };
                    self.report(
                        Diagnostic::new(
                            &codes::STATEMENT_NOT_ALLOWED,
                            d.span,
                            format!("this cannot be declared in {place}"),
                        )
                        .label("not here"),
                    );
                    None
                }
            };
            out.extend(local);
        }
        out
    }

    fn value_set_decl(&mut self, v: &ast::ValueSetDecl, annotations: Annotations) -> Option<ValueSetId> {
        let mut element = self.ty(&v.ty);
        let size = self.expr(&v.size);
        let plain = self.strip_newtype(element);
        let ok = match self.kind(plain) {
            TyKind::Error
            | TyKind::Bit(_)
            | TyKind::Signed(_)
            | TyKind::Bool
            | TyKind::Enum(_)
            | TyKind::Tuple(_) => true,
            TyKind::Struct(id, _) => self.p.structs[*id].kind == StructKind::Struct,
            _ => false,
        };
        if !ok {
            let shown = self.quote(element);
            self.report(
                Diagnostic::new(
                    &codes::VALUE_SET_TYPE,
                    v.ty.span,
                    format!("a value set cannot hold values of type {shown}"),
                )
                .label("expected integers, bools, enums, or a tuple or struct of these"),
            );
            element = Types::ERROR;
        }
        let plain = self.strip_enum(size.ty);
        if !self.is_error(size.ty)
            && !(size.is_compile_time && (self.is_fixed_int(plain) || plain == Types::INT))
        {
            self.report(
                Diagnostic::new(
                    &codes::INVALID_WIDTH,
                    size.span,
                    "the size of a value set must be an integer known at compile time",
                )
                .label("not a constant integer"),
            );
        }
        let id = self.p.value_sets.push(ValueSetDef {
            name: v.name.name.clone(),
            span: v.name.span,
            annotations,
            element,
            size,
        });
        self.declare(&v.name, Res::ValueSet(id));
        Some(id)
    }

    fn states(&mut self, p: &ast::ParserDecl) -> Vec<StateDef> {
        let mut names: FxHashMap<SmolStr, (u32, Span)> = FxHashMap::default();
        for (i, s) in p.states.iter().enumerate() {
            let name = &s.name.name;
            if name == "accept" || name == "reject" {
                self.report(
                    Diagnostic::new(
                        &codes::RESERVED_STATE,
                        s.name.span,
                        format!("state `{name}` cannot be declared"),
                    )
                    .label("a built-in state")
                    .note("every parser has the states `accept` and `reject`"),
                );
                continue;
            }
            if let Some((_, earlier)) = names.get(name) {
                let earlier = *earlier;
                self.report_duplicate(name, s.name.span, earlier);
                continue;
            }
            // States share their names with the parser's other declarations.
            if let Some(b) = self.scopes.current().names.get(name) {
                let earlier = b.span;
                self.report_duplicate(name, s.name.span, earlier);
                continue;
            }
            names.insert(name.clone(), (i as u32, s.name.span));
        }
        if !names.contains_key("start") {
            let known: Vec<String> = p.states.iter().map(|s| s.name.name.to_string()).collect();
            let mut d = Diagnostic::new(
                &codes::NO_START_STATE,
                p.head.name.span,
                format!("parser `{}` has no state `start`", p.head.name.name),
            )
            .label("where would it begin?");
            if let Some(s) = suggest::closest("start", known.iter().map(String::as_str)) {
                d = d.help(format!("did you mean `start` instead of `{s}`?"));
            } else {
                d = d.help("declare `state start { ... }`");
            }
            self.report(d);
        }
        let mut out = Vec::with_capacity(p.states.len());
        self.ctx.place = Place::ParserState;
        for s in &p.states {
            let annotations = self.annotations(&s.annotations);
            self.scopes.push(FrameKind::Block);
            let void = void_type(s.name.span);
            let body: Vec<Stmt> = s.stmts.iter().map(|st| self.stmt(st, &void)).collect();
            let transition = match &s.transition {
                None => Transition::Direct(StateRef::Reject, s.span),
                Some(t) => self.transition(t, &names),
            };
            self.pop_block();
            out.push(StateDef {
                name: s.name.name.clone(),
                span: s.name.span,
                annotations,
                body,
                transition,
            });
        }
        self.ctx.place = Place::ParserLocals;
        self.check_reachability(p, &out, &names);
        out
    }

    fn state_ref(&mut self, name: &ast::Ident, names: &FxHashMap<SmolStr, (u32, Span)>) -> StateRef {
        match name.name.as_str() {
            "accept" => return StateRef::Accept,
            "reject" => return StateRef::Reject,
            _ => {}
        }
        if let Some((i, _)) = names.get(&name.name) {
            return StateRef::State(*i);
        }
        if name.name.is_empty() {
            return StateRef::Error;
        }
        let mut d = if let Some((b, _)) = self.scopes.peek(&name.name) {
            Diagnostic::new(
                &codes::NOT_A_STATE,
                name.span,
                format!("`{}` is not a state of this parser", name.name),
            )
            .label("not a state")
            .also(b.span, "declared here as something else")
        } else {
            Diagnostic::new(
                &codes::NOT_A_STATE,
                name.span,
                format!("there is no state `{}` in this parser", name.name),
            )
            .label("not declared")
        };
        let known = names.keys().map(SmolStr::as_str).chain(["accept", "reject"]);
        if self.may_suggest()
            && let Some(s) = suggest::closest(&name.name, known)
        {
            d = d.fix(format!("did you mean `{s}`?"), name.span, s);
        }
        self.report(d);
        StateRef::Error
    }

    fn transition(&mut self, t: &ast::Transition, names: &FxHashMap<SmolStr, (u32, Span)>) -> Transition {
        match &t.kind {
            ast::TransitionKind::Direct(name) => Transition::Direct(self.state_ref(name, names), t.span),
            ast::TransitionKind::Select { exprs, cases } => {
                let typed: Vec<Expr> = exprs.iter().map(|e| self.expr(e)).collect();
                let mut ok = true;
                for e in &typed {
                    ok &= self.check_select_type(e);
                }
                let mut out = Vec::with_capacity(cases.len());
                for c in cases {
                    let keyset = self.select_keyset(&c.keyset, &typed, ok);
                    let state = self.state_ref(&c.state, names);
                    out.push(SelectCase { keyset, state, span: c.span });
                }
                Transition::Select { exprs: typed, cases: out, span: t.span }
            }
        }
    }

    fn check_select_type(&mut self, e: &Expr) -> bool {
        let (ty, span) = (e.ty, e.span);
        let plain = self.strip_newtype(ty);
        let ok = match self.kind(plain).clone() {
            TyKind::Error => return false,
            TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Bool | TyKind::Enum(_) => true,
            TyKind::ErrorCode => true,
            TyKind::Tuple(items) | TyKind::ListLiteral(items) => items.iter().all(|t| {
                let t = self.strip_newtype(*t);
                matches!(self.kind(t), TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Bool | TyKind::Enum(_))
            }),
            _ => false,
        };
        if !ok {
            let shown = self.quote(ty);
            let mut d = Diagnostic::new(
                &codes::SELECT_TYPE,
                span,
                format!("a value of type {shown} cannot be selected on"),
            )
            .label("expected integers, bools or enums");
            if ty == Types::INT {
                d = d.help("give the literal a width, as in `8w5`");
            }
            self.report(d);
        }
        ok
    }

    fn select_keyset(&mut self, k: &ast::Keyset, exprs: &[Expr], exprs_ok: bool) -> Vec<Expr> {
        self.ctx.in_select_case = true;
        let elements: Vec<Expr> = k.elements.iter().map(|e| self.expr(e)).collect();
        self.ctx.in_select_case = false;
        if !exprs_ok || elements.iter().any(|e| self.is_error(e.ty)) {
            return elements;
        }
        // `select ({a, b})` and structs are matched element by element.
        let types: Vec<Ty> = match exprs {
            [one] => match self.kind(one.ty).clone() {
                TyKind::Tuple(items) | TyKind::ListLiteral(items) => items,
                _ => vec![one.ty],
            },
            several => several.iter().map(|e| e.ty).collect(),
        };
        if let [one] = elements.as_slice() {
            if one.ty == Types::DONT_CARE {
                return elements;
            }
            if let TyKind::Set(inner) = self.kind(one.ty).clone()
                && matches!(one.kind, ExprKind::ValueSet(_))
            {
                self.check_value_set(one, inner, &types, exprs);
                return elements;
            }
            // A tuple value or list literal stands for all elements.
            if types.len() > 1 || !k.is_tuple {
                let items = match self.kind(one.ty).clone() {
                    TyKind::ListLiteral(items) | TyKind::Tuple(items) => Some(items),
                    TyKind::Struct(..) => {
                        self.fields(one.ty).map(|f| f.into_iter().map(|(_, t)| t).collect())
                    }
                    _ => None,
                };
                if let Some(items) = items {
                    if items.len() != types.len() {
                        self.report_keyset_count(k.span, items.len(), types.len(), exprs);
                        return elements;
                    }
                    if matches!(one.kind, ExprKind::List(_)) {
                        let tuple = self.intern(TyKind::Tuple(types));
                        return elements.into_iter().map(|e| self.coerce(e, tuple, &Role::Key)).collect();
                    }
                    return elements;
                }
            }
        }
        if elements.len() != types.len() {
            self.report_keyset_count(k.span, elements.len(), types.len(), exprs);
            return elements;
        }
        elements.into_iter().zip(types).map(|(e, t)| self.key_element(e, t, &codes::SELECT_KEYSET)).collect()
    }

    fn report_keyset_count(&mut self, span: Span, given: usize, want: usize, exprs: &[Expr]) {
        let first = exprs.first().map_or(Span::NONE, |e| e.span);
        let last = exprs.last().map_or(Span::NONE, |e| e.span);
        self.report(
            Diagnostic::new(
                &codes::SELECT_KEYSET,
                span,
                format!("{want} key{} expected, {given} given", crate::unify::plural(want)),
            )
            .label(format!("{given} key{}", crate::unify::plural(given)))
            .also(first.to(last), format!("{want} selected value{}", crate::unify::plural(want))),
        );
    }

    /// The scalars of a struct or tuple, in order.
    fn flatten(&mut self, ty: Ty, out: &mut Vec<Ty>) {
        match self.kind(ty).clone() {
            TyKind::Tuple(items) => items.into_iter().for_each(|t| self.flatten(t, out)),
            TyKind::Struct(..) => {
                for (_, t) in self.fields(ty).unwrap_or_default() {
                    self.flatten(t, out);
                }
            }
            _ => out.push(ty),
        }
    }

    fn check_value_set(&mut self, set: &Expr, inner: Ty, types: &[Ty], exprs: &[Expr]) {
        let mut parts: Vec<Ty> = Vec::new();
        self.flatten(inner, &mut parts);
        let fits = parts.len() == types.len()
            && parts.iter().zip(types).all(|(a, b)| {
                let (a, b) = (self.strip_enum(*a), self.strip_enum(*b));
                a == b || (!self.options.strict && self.strip_newtype(a) == self.strip_newtype(b))
            });
        if !fits && !matches!(self.kind(inner), TyKind::Error) {
            let shown = self.quote(inner);
            let types: Vec<String> = types.iter().map(|t| self.show(*t)).collect();
            let first = exprs.first().map_or(Span::NONE, |e| e.span);
            self.report(
                Diagnostic::new(
                    &codes::SELECT_KEYSET,
                    set.span,
                    format!("a value set of {shown} does not fit what is selected on"),
                )
                .label(format!("values of type {shown}"))
                .also(first, format!("of type {}", list_names(&types))),
            );
        }
    }

    /// Fits one keyset element to the type it is compared with.
    pub fn key_element(&mut self, e: Expr, ty: Ty, code: diagnostics::Code) -> Expr {
        if self.is_error(e.ty) || self.is_error(ty) || e.ty == Types::DONT_CARE {
            return e;
        }
        // With a serializable enum, keys may be of the enum or of its underlying type.
        let target = if self.is_serializable_enum(ty) && e.ty != ty { self.strip_enum(ty) } else { ty };
        let span = e.span;
        match e.kind {
            ExprKind::Mask { value, mask } => {
                let (value, mask) = (self.key_part(*value, target, code), self.key_part(*mask, target, code));
                if self.is_error(value.ty) || self.is_error(mask.ty) {
                    return Expr::error(span);
                }
                Expr {
                    kind: ExprKind::Mask { value: Box::new(value), mask: Box::new(mask) },
                    ..e_clone(e.ty, span, e.is_compile_time)
                }
            }
            ExprKind::Range { lo, hi } => {
                let (lo, hi) = (self.key_part(*lo, target, code), self.key_part(*hi, target, code));
                if self.is_error(lo.ty) || self.is_error(hi.ty) {
                    return Expr::error(span);
                }
                Expr {
                    kind: ExprKind::Range { lo: Box::new(lo), hi: Box::new(hi) },
                    ..e_clone(e.ty, span, e.is_compile_time)
                }
            }
            _ => self.key_part(e, target, code),
        }
    }

    fn key_part(&mut self, e: Expr, target: Ty, _code: diagnostics::Code) -> Expr {
        let e = if self.is_serializable_enum(e.ty) && e.ty != target {
            let under = self.strip_enum(e.ty);
            let span = e.span;
            self.convert(e, under, true, span)
        } else {
            e
        };
        if !self.options.strict && e.ty != target {
            // A value and a newtype over its type are taken as equal here, as the reference compiler does.
            let (a, b) = (self.strip_newtype(e.ty), self.strip_newtype(target));
            let is_literal = e.ty == Types::INT;
            if a == b && !is_literal {
                let span = e.span;
                return self.convert(e, target, true, span);
            }
        }
        self.coerce(e, target, &Role::Key)
    }

    /// Every parser must be able to end, and every state should be reachable.
    fn check_reachability(
        &mut self,
        p: &ast::ParserDecl,
        states: &[StateDef],
        names: &FxHashMap<SmolStr, (u32, Span)>,
    ) {
        let Some((start, _)) = names.get("start") else { return };
        let mut seen = vec![false; states.len()];
        let mut work = vec![*start];
        let mut ends = false;
        let mut broken = false;
        while let Some(i) = work.pop() {
            if std::mem::replace(&mut seen[i as usize], true) {
                continue;
            }
            let mut go = |s: &StateRef, work: &mut Vec<u32>| match s {
                StateRef::Accept | StateRef::Reject => ends = true,
                StateRef::State(n) => work.push(*n),
                StateRef::Error => broken = true,
            };
            match &states[i as usize].transition {
                Transition::Direct(s, _) => go(s, &mut work),
                Transition::Select { cases, .. } => {
                    for c in cases {
                        go(&c.state, &mut work);
                    }
                    // A select without a match rejects; the reference compiler does not count that as an end.
                }
            }
        }
        if !ends && !broken && !states.is_empty() {
            self.report(
                Diagnostic::new(
                    &codes::PARSER_NEVER_ENDS,
                    p.head.name.span,
                    format!("parser `{}` reaches neither `accept` nor `reject`", p.head.name.name),
                )
                .label("runs in a circle")
                .help("end one of its states with `transition accept;`"),
            );
        }
        for (s, reached) in states.iter().zip(&seen) {
            if !reached && s.name != "accept" && s.name != "reject" && names.contains_key(&s.name) {
                self.report(
                    Diagnostic::new(
                        &codes::UNREACHABLE,
                        s.span,
                        format!("state `{}` is never reached", s.name),
                    )
                    .label("no transition leads here")
                    .note("a parser begins in `start` and goes where transitions lead")
                    .help("remove the state, or go to it from another one"),
                );
            }
        }
    }

    // -- controls ---------------------------------------------------------------------------------

    pub fn control_decl(&mut self, c: &ast::ControlDecl, annotations: Annotations) -> Option<ControlId> {
        let name = c.head.name.name.clone();
        let id = self.p.controls.push(ControlDef {
            name: name.clone(),
            span: c.head.name.span,
            annotations,
            type_params: Vec::new(),
            params: Vec::new(),
            ctor_params: Vec::new(),
            locals: Vec::new(),
            apply: Block { stmts: Vec::new(), annotations: self.no_annotations.clone(), span: c.apply.span },
        });
        let ty = self.intern(TyKind::Control(id, Vec::new()));
        if !self.declare_overload(&c.head, c.ctor_params.as_deref(), ty) {
            self.declare(&c.head.name, Res::Type(TypeRes::Control(id)));
        }
        self.scopes.push(FrameKind::Params);
        self.check_not_generic("control", &c.head);
        let type_params = self.type_params(&c.head.type_params);
        let params = self.params(&c.head.params, ParamsOf::Block, None);
        let ctor_params = match &c.ctor_params {
            Some(list) => {
                self.ctx.control = Some(name.clone());
                let params = self.params(list, ParamsOf::BlockConstructor, None);
                self.ctx.control = None;
                params
            }
            None => Vec::new(),
        };
        {
            let def = &mut self.p.controls[id];
            def.type_params = type_params;
            def.params = params;
            def.ctor_params = ctor_params;
        }
        let saved = std::mem::replace(
            &mut self.ctx,
            Context { place: Place::ControlLocals, control: Some(name), ..Context::new() },
        );
        self.scopes.push(FrameKind::Locals);
        let locals = self.locals(&c.locals, false);
        self.p.controls[id].locals = locals;
        self.ctx.place = Place::ControlApply;
        let apply = self.block(&c.apply, &void_type(c.apply.span));
        self.p.controls[id].apply = apply;
        let frame = self.scopes.pop();
        self.report_unused(frame);
        self.ctx = saved;
        let frame = self.scopes.pop();
        self.report_unused(frame);
        Some(id)
    }
}

fn e_clone(ty: Ty, span: Span, is_compile_time: bool) -> Expr {
    Expr::new(ExprKind::Error, ty, span).compile_time(is_compile_time)
}
