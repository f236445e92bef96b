//! Statements.

use crate::checker::Checker;
use crate::codes;
use crate::coerce::Role;
use crate::program::*;
use crate::scope::{FrameKind, Place};
use crate::types::{TyKind, Types};
use crate::unify::Conversions;
use diagnostics::{Diagnostic, Span, suggest};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ast;

impl Checker<'_> {
    /// A block with its own scope. `declared` is the return type as written, for messages.
    pub fn block(&mut self, b: &ast::Block, declared: &ast::Type) -> Block {
        let annotations = self.annotations(&b.annotations);
        // An asynchronous block names its parser and its deparser.
        if let Some(mark) = annotation(&annotations, "async") {
            for token in mark.tokens().iter().filter(|t| t.kind == ast::AnnotationTokenKind::Str) {
                self.scopes.lookup(&token.text, true);
            }
        }
        self.scopes.push(FrameKind::Block);
        let stmts = b.stmts.iter().map(|s| self.stmt(s, declared)).collect();
        self.pop_block();
        Block { stmts, annotations, span: b.span }
    }

    /// Leaves a block's scope; what was never used there is reported.
    pub fn pop_block(&mut self) {
        let frame = self.scopes.pop();
        self.report_unused(frame);
    }

    pub fn stmt(&mut self, s: &ast::Stmt, declared: &ast::Type) -> Stmt {
        let kind = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.stmt_kind(s, declared));
        Stmt { kind, span: s.span }
    }

    fn stmt_kind(&mut self, s: &ast::Stmt, declared: &ast::Type) -> StmtKind {
        match &s.kind {
            ast::StmtKind::Empty => StmtKind::Empty,
            ast::StmtKind::Decl(d) => self.local_decl(d),
            ast::StmtKind::Assign { lhs, op, rhs } => self.assign(lhs, *op, rhs, s.span),
            ast::StmtKind::Call(e) => {
                let typed = self.expr_or_name(e);
                if self.is_error(typed.ty) {
                    return StmtKind::Error;
                }
                if let ExprKind::Call(call) = &typed.kind
                    && matches!(call.callee, Callee::Constructor { .. })
                {
                    self.report(
                        Diagnostic::new(
                            &codes::STATEMENT_NOT_ALLOWED,
                            s.span,
                            "an object is constructed and not used",
                        )
                        .label("constructor call as a statement"),
                    );
                    return StmtKind::Error;
                }
                StmtKind::Call(typed)
            }
            ast::StmtKind::Block(b) => StmtKind::Block(self.block(b, declared)),
            ast::StmtKind::If { annotations, condition, then, otherwise } => {
                let annotations = self.annotations(annotations);
                let condition = self.condition(condition);
                let then = Box::new(self.scoped(then, declared));
                let otherwise = otherwise.as_ref().map(|o| Box::new(self.scoped(o, declared)));
                StmtKind::If { condition, then, otherwise, annotations }
            }
            ast::StmtKind::Return(e) => self.return_stmt(e.as_ref(), s.span, declared),
            ast::StmtKind::Exit => {
                let place = match self.ctx.place {
                    Place::Function | Place::Method => Some("a function"),
                    _ => None,
                };
                if let Some(place) = place {
                    self.report(
                        Diagnostic::new(
                            &codes::STATEMENT_NOT_ALLOWED,
                            s.span,
                            format!("`exit` cannot be used in {place}"),
                        )
                        .label("not here")
                        .note("`exit` ends the control that is being executed"),
                    );
                    return StmtKind::Error;
                }
                StmtKind::Exit
            }
            ast::StmtKind::Break | ast::StmtKind::Continue => {
                let is_break = matches!(s.kind, ast::StmtKind::Break);
                if self.ctx.loop_depth == 0 {
                    let word = if is_break { "break" } else { "continue" };
                    let mut d = Diagnostic::new(
                        &codes::STATEMENT_NOT_ALLOWED,
                        s.span,
                        format!("`{word}` outside of a loop"),
                    )
                    .label("no loop around it");
                    if is_break {
                        d = d.help("a switch case needs no `break`: it ends with its block");
                    }
                    self.report(d);
                    return StmtKind::Error;
                }
                if is_break { StmtKind::Break } else { StmtKind::Continue }
            }
            ast::StmtKind::Switch { subject, cases } => self.switch(subject, cases, s.span, declared),
            ast::StmtKind::For { annotations, init, condition, update, body } => {
                let annotations = self.annotations(annotations);
                self.scopes.push(FrameKind::Block);
                let init = init.iter().map(|i| self.stmt(i, declared)).collect();
                let condition = if matches!(condition.kind, ast::ExprKind::Error) {
                    Expr::error(condition.span)
                } else {
                    self.condition(condition)
                };
                self.ctx.loop_depth += 1;
                let body = Box::new(self.scoped(body, declared));
                self.ctx.loop_depth -= 1;
                let update = update.iter().map(|i| self.stmt(i, declared)).collect();
                self.pop_block();
                StmtKind::For { init, condition, update, body, annotations }
            }
            ast::StmtKind::ForIn { annotations, var_annotations, ty, name, collection, body } => {
                let annotations = self.annotations(annotations);
                let var_annotations = self.annotations(var_annotations);
                self.for_in(annotations, var_annotations, ty, name, collection, body, declared)
            }
        }
    }

    /// A statement that is not in braces still has its own scope.
    fn scoped(&mut self, s: &ast::Stmt, declared: &ast::Type) -> Stmt {
        self.scopes.push(FrameKind::Block);
        let out = self.stmt(s, declared);
        self.pop_block();
        out
    }

    fn condition(&mut self, e: &ast::Expr) -> Expr {
        let c = self.expr(e);
        if !self.is_error(c.ty) && c.ty != Types::BOOL {
            self.report_condition(&c);
            return Expr::error(c.span);
        }
        c
    }

    fn local_decl(&mut self, d: &ast::Decl) -> StmtKind {
        let annotations = self.annotations(&d.annotations);
        match &d.kind {
            ast::DeclKind::Variable(v) => {
                let (var, init) = self.variable(v, annotations);
                StmtKind::Var { var, init }
            }
            ast::DeclKind::Const(c) => match self.const_decl(c, annotations) {
                Some(id) => StmtKind::Const(id),
                None => StmtKind::Error,
            },
            ast::DeclKind::Instantiation(i) => {
                let place = match self.ctx.place {
                    Place::ControlApply => "the `apply` block of a control",
                    Place::ParserState => "a parser state",
                    Place::Action => "an action",
                    _ => "a function",
                };
                self.report(
                    Diagnostic::new(
                        &codes::INVALID_INSTANTIATION,
                        d.span,
                        format!("objects cannot be instantiated in {place}"),
                    )
                    .label("instantiation")
                    .help("move it to the declarations of the control or parser"),
                );
                self.typed_args(&i.args);
                self.declare(&i.name, crate::scope::Res::Error);
                StmtKind::Error
            }
            _ => {
                self.report(
                    Diagnostic::new(
                        &codes::STATEMENT_NOT_ALLOWED,
                        d.span,
                        "this cannot be declared inside a block",
                    )
                    .label("not here"),
                );
                StmtKind::Error
            }
        }
    }

    fn assign(&mut self, lhs: &ast::Expr, op: Option<BinaryOp>, rhs: &ast::Expr, span: Span) -> StmtKind {
        let l = self.expr(lhs);
        let r = self.expr(rhs);
        if self.is_error(l.ty) {
            return StmtKind::Error;
        }
        if !l.is_lvalue || matches!(l.kind, ExprKind::DontCare) {
            self.report_not_assignable(&l);
            return StmtKind::Error;
        }
        self.mark_assigned(&l);
        if self.is_error(r.ty) {
            return StmtKind::Error;
        }
        let Some(op) = op else {
            let decl = match &l.kind {
                ExprKind::Var(v) => {
                    let var = &self.p.vars[*v];
                    Some((var.span, var.name.to_string()))
                }
                _ => None,
            };
            let r = self.coerce(r, l.ty, &Role::Assignment { lhs: l.span, decl });
            if self.is_error(r.ty) {
                return StmtKind::Error;
            }
            return StmtKind::Assign { lhs: l, rhs: r };
        };
        if !self.is_fixed_int(self.strip_enum(l.ty)) {
            let shown = self.quote(l.ty);
            self.report(
                Diagnostic::new(
                    &codes::INVALID_OPERAND,
                    span,
                    format!("`{}=` is not defined for {shown}", op.as_str()),
                )
                .also(l.span, format!("of type {shown}")),
            );
            return StmtKind::Error;
        }
        // `a op= b` means what `a = a op b` means, with `a` evaluated once.
        let mut reading = l.clone();
        reading.value = None;
        let whole = self.binary_typed(op, span, reading, r, span);
        if self.is_error(whole.ty) {
            return StmtKind::Error;
        }
        if whole.ty != l.ty {
            let checked = self.coerce(whole, l.ty, &Role::Assignment { lhs: l.span, decl: None });
            if self.is_error(checked.ty) {
                return StmtKind::Error;
            }
            return StmtKind::Error;
        }
        let ExprKind::Binary { rhs, .. } = whole.kind else { return StmtKind::Error };
        StmtKind::OpAssign { lhs: l, op, rhs: *rhs }
    }

    pub fn report_not_assignable(&mut self, l: &Expr) {
        let text = self.sources.text(l.span).to_string();
        let what = if text.is_empty() || text.len() > 40 { "this".to_string() } else { format!("`{text}`") };
        let new = |why: &str| {
            Diagnostic::new(&codes::NOT_ASSIGNABLE, l.span, format!("{what} cannot be assigned to{why}"))
                .label("not something that can be changed")
        };
        let d = if let Some(root) = root_var(l) {
            let var = &self.p.vars[root];
            let (span, name) = (var.span, var.name.clone());
            match var.kind {
                VarKind::Param(Direction::In) => new(": an `in` parameter is read-only")
                    .also(span, format!("`{name}` is an `in` parameter"))
                    .help("make the parameter `inout`, or copy it to a local variable"),
                VarKind::Param(Direction::None) => {
                    let d = new(": a parameter without direction is read-only")
                        .also(span, format!("`{name}` has no direction"));
                    match self.action_data.contains(&root) {
                        true => d
                            .help("write `rmw` before its type, or mark it with `@__ref`: then entries keep what the action assigns")
                            .help("the option `--assignable-action-data` does so for all parameters that actions assign"),
                        false => d.help("give it a direction, or copy it to a local variable"),
                    }
                }
                VarKind::CtorParam => new(": a constructor parameter is fixed")
                    .also(span, format!("`{name}` is a constructor parameter")),
                VarKind::Param(Direction::Out | Direction::InOut) | VarKind::Local | VarKind::ForIn => {
                    new("").also(span, format!("`{name}` is declared here"))
                }
            }
        } else if let ExprKind::ConstRef(c) = &l.kind {
            let c = &self.p.constants[*c];
            new(": a constant is fixed").also(c.span, format!("`{}` is a constant", c.name))
        } else {
            new("")
        };
        self.report(d);
    }

    fn return_stmt(&mut self, e: Option<&ast::Expr>, span: Span, declared: &ast::Type) -> StmtKind {
        let value = e.map(|e| self.expr(e));
        let Some(return_type) = self.ctx.return_type else {
            if value.is_some() {
                self.report(
                    Diagnostic::new(&codes::RETURN_MISMATCH, span, "only functions return values")
                        .label("not in a function")
                        .help("write `return;`"),
                );
                return StmtKind::Error;
            }
            return StmtKind::Return(None);
        };
        match (value, return_type) {
            (None, Types::VOID) => StmtKind::Return(None),
            (Some(_), Types::VOID) => {
                self.report(
                    Diagnostic::new(
                        &codes::RETURN_MISMATCH,
                        span,
                        "a function that returns `void` cannot return a value",
                    )
                    .label("value not expected")
                    .also(declared.span, "declared `void`")
                    .help("write `return;`"),
                );
                StmtKind::Error
            }
            (None, ty) => {
                let shown = self.quote(ty);
                self.report(
                    Diagnostic::new(
                        &codes::RETURN_MISMATCH,
                        span,
                        format!("a value of type {shown} must be returned"),
                    )
                    .label("no value")
                    .also(declared.span, format!("returns {shown}")),
                );
                StmtKind::Error
            }
            (Some(v), ty) => {
                let v = self.coerce(v, ty, &Role::Return { declared: declared.span });
                if self.is_error(v.ty) { StmtKind::Error } else { StmtKind::Return(Some(v)) }
            }
        }
    }

    // -- switch -----------------------------------------------------------------------------------

    fn switch(
        &mut self,
        subject: &ast::Expr,
        cases: &[ast::SwitchCase],
        span: Span,
        declared: &ast::Type,
    ) -> StmtKind {
        let subject = self.expr(subject);
        self.check_default_last(cases);
        match self.kind(subject.ty).clone() {
            TyKind::Error => {
                for c in cases {
                    if let Some(b) = &c.body {
                        self.block(b, declared);
                    }
                }
                StmtKind::Error
            }
            TyKind::ActionRun(table) => self.switch_action(table, subject, cases, span, declared),
            TyKind::Bool if !self.options.strict => self.switch_value(subject, cases, declared),
            TyKind::Bit(_) | TyKind::Signed(_) | TyKind::Int | TyKind::Enum(_) | TyKind::ErrorCode => {
                self.switch_value(subject, cases, declared)
            }
            _ => {
                let shown = self.quote(subject.ty);
                let mut d = Diagnostic::new(
                    &codes::SWITCH_SUBJECT,
                    subject.span,
                    format!("a switch over {shown} is not possible"),
                )
                .label("expected an integer, an enum or `t.apply().action_run`");
                if matches!(self.kind(subject.ty), TyKind::ApplyResult(_)) {
                    d = d.help("write `.action_run` after the call of `apply`");
                }
                self.report(d);
                StmtKind::Error
            }
        }
    }

    fn check_default_last(&mut self, cases: &[ast::SwitchCase]) {
        let mut default: Option<Span> = None;
        for c in cases {
            let is_default = matches!(c.label.kind, ast::ExprKind::Default);
            if let Some(earlier) = default {
                let message = if is_default {
                    "a switch has only one `default` label"
                } else {
                    "the `default` label must be the last one"
                };
                self.report(
                    Diagnostic::new(&codes::SWITCH_LABEL, c.label.span, message)
                        .label("follows `default`")
                        .also(earlier, "`default` is here"),
                );
                return;
            }
            if is_default {
                default = Some(c.label.span);
            }
        }
    }

    fn switch_action(
        &mut self,
        table: TableId,
        subject: Expr,
        cases: &[ast::SwitchCase],
        _span: Span,
        declared: &ast::Type,
    ) -> StmtKind {
        let apply = match subject.kind {
            ExprKind::ApplyResult { apply, .. } => *apply,
            _ => Expr::error(subject.span),
        };
        let mut out = Vec::with_capacity(cases.len());
        let mut seen: FxHashMap<u32, Span> = FxHashMap::default();
        let names: Vec<SmolStr> =
            self.p.tables[table].actions.iter().map(|a| self.p.actions[a.action].name.clone()).collect();
        let index: FxHashMap<&SmolStr, usize> = names.iter().enumerate().map(|(i, n)| (n, i)).collect();
        for c in cases {
            let label = match &c.label.kind {
                ast::ExprKind::Default => None,
                ast::ExprKind::Name(path) => match index.get(&path.name.name).copied() {
                    Some(i) => {
                        if let Some(&earlier) = seen.get(&(i as u32)) {
                            self.report_duplicate_label(c.label.span, earlier);
                        }
                        seen.insert(i as u32, c.label.span);
                        Some(i as u32)
                    }
                    None => {
                        let tspan = self.p.tables[table].span;
                        let mut d = Diagnostic::new(
                            &codes::SWITCH_LABEL,
                            c.label.span,
                            format!(
                                "`{}` is not an action of table `{}`",
                                path.name.name, self.p.tables[table].name
                            ),
                        )
                        .label("not in its action list")
                        .also(tspan, "the table");
                        if self.may_suggest()
                            && let Some(s) =
                                suggest::closest(&path.name.name, names.iter().map(SmolStr::as_str))
                        {
                            d = d.fix(format!("did you mean `{s}`?"), c.label.span, s);
                        }
                        self.report(d);
                        None
                    }
                },
                _ => {
                    self.report(
                        Diagnostic::new(
                            &codes::SWITCH_LABEL,
                            c.label.span,
                            "a label of this switch must be the name of an action",
                        )
                        .label("not a name")
                        .also(subject.span, "the switch is over the action that was run"),
                    );
                    None
                }
            };
            let body = c.body.as_ref().map(|b| self.block(b, declared));
            out.push(SwitchActionCase { label, body, span: c.span });
        }
        StmtKind::SwitchAction { table, apply, cases: out }
    }

    fn report_duplicate_label(&mut self, span: Span, earlier: Span) {
        self.report(
            Diagnostic::new(&codes::SWITCH_LABEL, span, "a label stands twice in this switch")
                .label("never reached")
                .also(earlier, "first here"),
        );
    }

    fn switch_value(&mut self, subject: Expr, cases: &[ast::SwitchCase], declared: &ast::Type) -> StmtKind {
        let mut out = Vec::with_capacity(cases.len());
        let mut seen: FxHashMap<crate::value::Value, Span> = FxHashMap::default();
        for c in cases {
            let label = match &c.label.kind {
                ast::ExprKind::Default => None,
                _ => {
                    let e = self.expr(&c.label);
                    self.switch_value_label(e, &subject, &mut seen)
                }
            };
            let body = c.body.as_ref().map(|b| self.block(b, declared));
            let is_default = matches!(c.label.kind, ast::ExprKind::Default);
            if is_default || label.is_some() {
                out.push(SwitchValueCase { label, body, span: c.span });
            }
        }
        StmtKind::SwitchValue { subject, cases: out }
    }

    fn switch_value_label(
        &mut self,
        e: Expr,
        subject: &Expr,
        seen: &mut FxHashMap<crate::value::Value, Span>,
    ) -> Option<Expr> {
        if self.is_error(e.ty) {
            return None;
        }
        if !e.is_compile_time {
            self.report(
                Diagnostic::new(&codes::SWITCH_LABEL, e.span, "a switch label must be known at compile time")
                    .label("not a constant"),
            );
            return None;
        }
        let span = e.span;
        // Labels may be of an enum over the type of the subject, not the other way round.
        let e = if e.ty == subject.ty || self.strip_enum(e.ty) == subject.ty {
            e
        } else if e.ty == Types::INT
            && self.is_fixed_int(self.strip_enum(subject.ty))
            && !matches!(self.kind(subject.ty), TyKind::Enum(_))
        {
            self.coerce(e, subject.ty, &Role::Label)
        } else {
            let (st, lt) = (self.quote(subject.ty), self.quote(e.ty));
            self.report(
                Diagnostic::new(
                    &codes::SWITCH_LABEL,
                    e.span,
                    format!("a label of type {lt} in a switch over {st}"),
                )
                .label(format!("of type {lt}"))
                .also(subject.span, format!("of type {st}")),
            );
            return None;
        };
        if self.is_error(e.ty) {
            return None;
        }
        if let Some(v) = e.value.as_deref() {
            match seen.get(v) {
                Some(&earlier) => self.report_duplicate_label(span, earlier),
                None => {
                    seen.insert(v.clone(), span);
                }
            }
        }
        Some(e)
    }

    // -- for ----------------------------------------------------------------------------------------

    #[allow(clippy::too_many_arguments, reason = "mirrors the parts of the statement")]
    fn for_in(
        &mut self,
        annotations: Annotations,
        var_annotations: Annotations,
        ty: &ast::Type,
        name: &ast::Ident,
        collection: &ast::Expr,
        body: &ast::Stmt,
        declared: &ast::Type,
    ) -> StmtKind {
        let mut var_ty = self.ty(ty);
        if !self.is_error(var_ty) && !self.check_variable_type(var_ty, &name.name, ty.span) {
            var_ty = Types::ERROR;
        }
        let typed = match &collection.kind {
            ast::ExprKind::Binary { op: BinaryOp::Range, lhs, rhs, .. } => {
                let l = self.expr(lhs);
                let r = self.expr(rhs);
                let l = self.coerce(l, var_ty, &Role::Initializer { name: name.name.clone(), span: ty.span });
                let r = self.coerce(r, var_ty, &Role::Initializer { name: name.name.clone(), span: ty.span });
                Some(ForInCollection::Range(l, r))
            }
            _ => {
                let c = self.expr(collection);
                let element = match self.kind(c.ty).clone() {
                    TyKind::Array(e, _) | TyKind::List(e) => Some(e),
                    TyKind::Error => Some(Types::ERROR),
                    _ => None,
                };
                match element {
                    Some(e) => {
                        if self.unify(var_ty, e, Conversions::Implicit).is_err() {
                            let (vt, et) = (self.quote(var_ty), self.quote(e));
                            self.report(
                                Diagnostic::new(
                                    &codes::TYPE_MISMATCH,
                                    ty.span,
                                    format!("`{}` cannot take elements of type {et}", name.name),
                                )
                                .label(format!("of type {vt}"))
                                .also(c.span, format!("has elements of type {et}")),
                            );
                        }
                    }
                    None => {
                        let shown = self.quote(c.ty);
                        self.report(
                            Diagnostic::new(
                                &codes::FOR_IN_COLLECTION,
                                c.span,
                                format!("a `for` loop cannot go over {shown}"),
                            )
                            .label("expected a range, a list or an array")
                            .help("a range is written `a..b`"),
                        );
                    }
                }
                Some(ForInCollection::Elements(c))
            }
        };
        self.scopes.push(FrameKind::Block);
        let var = self.new_var(name, var_ty, VarKind::ForIn, var_annotations);
        self.ctx.loop_depth += 1;
        let body = Box::new(self.scoped(body, declared));
        self.ctx.loop_depth -= 1;
        self.pop_block();
        match typed {
            Some(collection) => StmtKind::ForIn { var, collection, body, annotations },
            None => StmtKind::Error,
        }
    }
}

/// The variable that an l-value is part of.
pub(crate) fn root_var(e: &Expr) -> Option<VarId> {
    match &e.kind {
        ExprKind::Var(v) => Some(*v),
        ExprKind::Field { base, .. }
        | ExprKind::TupleElement { base, .. }
        | ExprKind::Stack { base, .. }
        | ExprKind::Index { base, .. }
        | ExprKind::Slice { base, .. }
        | ExprKind::PlusSlice { base, .. } => root_var(base),
        _ => None,
    }
}
