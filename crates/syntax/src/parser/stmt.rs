//! Statements and blocks.

use super::decl::Place;
use super::types::Typeness;
use super::*;
use crate::ast::*;

/// Kind of a block, which determines its statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Body of an action, a function or `apply`.
    Any,
    /// Body of a parser state: no loops, `switch` or `return`.
    State,
}

impl Parser<'_> {
    /// `{ ... }` with annotations before it.
    pub(super) fn block(&mut self) -> Parse<Block> {
        let start = self.span();
        let annotations = self.annotations()?;
        self.block_after(start, annotations, Body::Any)
    }

    fn block_after(&mut self, start: Span, annotations: Vec<Annotation>, body: Body) -> Parse<Block> {
        self.nest(|p| {
            p.scoped(|p| {
                let stmts = p.braced(Items::Other, "to begin a block", |p| p.item(body))?;
                Ok(Block { annotations, stmts, span: p.since(start) })
            })
        })
    }

    pub(super) fn state_statement(&mut self) -> Parse<Stmt> {
        self.item(Body::State)
    }

    /// A statement or declaration in a block.
    fn item(&mut self, body: Body) -> Parse<Stmt> {
        use TokenKind::*;
        if body == Body::State && matches!(self.kind(), For | Switch | Return | Exit | Break | Continue) {
            let word = self.kind().as_str();
            let mut d = self
                .here(&codes::MISPLACED, format!("`{word}` cannot stand in a parser state"))
                .label("not here");
            d = match self.kind() {
                Return | Exit => d.help("leave the parser with `transition accept;` or `transition reject;`"),
                For => d.help("loop by a transition to the same state"),
                Switch => d.help("branch with `transition select (...) { ... }` or with `if`"),
                _ => d,
            };
            self.report(d);
        }
        let stmt = self.nest(|p| p.unguarded_item(body))?;
        if body == Body::State
            && let StmtKind::Decl(decl) = &stmt.kind
            && matches!(decl.kind, DeclKind::Instantiation(_))
        {
            let d =
                Diagnostic::new(&codes::MISPLACED, stmt.span, "an instance cannot be made in a parser state")
                    .label("not here")
                    .help("declare the instance before the states of the parser");
            self.report(d);
        }
        Ok(stmt)
    }

    /// A statement where a declaration cannot stand: a branch or the body of a loop.
    pub(super) fn statement(&mut self) -> Parse<Stmt> {
        let start = self.pos;
        let stmt = self.nest(|p| p.unguarded_item(Body::Any))?;
        if matches!(stmt.kind, StmtKind::Decl(_)) && start != self.pos {
            let d = Diagnostic::new(&codes::MISPLACED, stmt.span, "a declaration cannot stand alone here")
                .label("expected a statement")
                .help("put it in a block `{ ... }`");
            self.report(d);
        }
        Ok(stmt)
    }

    fn unguarded_item(&mut self, body: Body) -> Parse<Stmt> {
        use TokenKind::*;
        let start = self.span();
        let annotations = self.annotations()?;
        let kind = match self.kind() {
            LBrace if self.at_list_target() => return self.list_target(),
            LBrace => StmtKind::Block(self.block_after(start, annotations, body)?),
            For => self.for_loop(annotations)?,
            If => self.conditional_statement(annotations)?,
            Const => self.declaration_statement(start, annotations)?,
            _ if !annotations.is_empty() => self.declaration_statement(start, annotations)?,
            Semicolon => {
                self.bump();
                StmtKind::Empty
            }
            Return => {
                self.bump();
                let value = if self.at_statement_end() { None } else { Some(self.expr()?) };
                self.semicolon("after `return`")?;
                StmtKind::Return(value)
            }
            Exit => self.word(StmtKind::Exit)?,
            Break => self.word(StmtKind::Break)?,
            Continue => self.word(StmtKind::Continue)?,
            Switch => self.switch()?,
            Table | Action | ValueSet | Abstract => self.misplaced_declaration()?,
            State if is_name(self.kind_at(1)) => self.misplaced_declaration()?,
            Apply if self.kind_at(1) == LBrace => {
                let d = self
                    .here(&codes::MISPLACED, "`apply { ... }` cannot stand among statements")
                    .label("not here")
                    .help("is a `}` missing before this?");
                return self.fail(d);
            }
            k if starts_toplevel(k) => self.misplaced_declaration()?,
            _ => {
                let kind = self.simple_statement(true)?;
                if !matches!(kind, StmtKind::Decl(_)) {
                    self.semicolon("after the statement")?;
                }
                kind
            }
        };
        Ok(Stmt { kind, span: self.since(start) })
    }

    /// Returns whether `{ a, b } = ...` or `{ a } = ...` follows.
    fn at_list_target(&self) -> bool {
        is_name(self.kind_at(1))
            && match self.kind_at(2) {
                TokenKind::Comma => true,
                TokenKind::RBrace => self.kind_at(3) == TokenKind::Assign,
                _ => false,
            }
    }

    fn list_target(&mut self) -> Parse<Stmt> {
        let d = self
            .here(&codes::NOT_AN_LVALUE, "a list cannot be assigned to")
            .label("not a variable, member, index or slice")
            .help("assign the elements one by one");
        self.report(d);
        self.skip_to(&[TokenKind::Semicolon]);
        Err(Stop)
    }

    /// Returns whether the statement ends here, so that a `return` has no value.
    fn at_statement_end(&self) -> bool {
        let kind = self.kind();
        matches!(kind, TokenKind::Semicolon | TokenKind::RBrace | TokenKind::Eof)
            || starts_statement(kind)
            || starts_declaration(kind) && kind != TokenKind::Apply && kind != TokenKind::State
    }

    /// Parses `exit;` and similar statements.
    fn word(&mut self, kind: StmtKind) -> Parse<StmtKind> {
        let word = self.kind().as_str();
        self.bump();
        self.semicolon(&format!("after `{word}`"))?;
        Ok(kind)
    }

    fn misplaced_declaration(&mut self) -> Parse<StmtKind> {
        let word = self.kind().as_str();
        let d = self
            .here(&codes::MISPLACED, format!("`{word}` cannot be declared among statements"))
            .label("not here")
            .help("declare it outside of the block; or is a `}` missing before this?");
        self.report(d);
        if matches!(self.kind(), TokenKind::State | TokenKind::Abstract) {
            return Err(Stop);
        }
        self.declaration(Place::Block)?;
        Ok(StmtKind::Empty)
    }

    fn declaration_statement(&mut self, start: Span, annotations: Vec<Annotation>) -> Parse<StmtKind> {
        let decl = match self.declaration(Place::Block)? {
            Some(decl) => Decl { annotations, span: self.since(start), ..decl },
            None => return Ok(StmtKind::Empty),
        };
        Ok(StmtKind::Decl(Box::new(decl)))
    }

    fn conditional_statement(&mut self, annotations: Vec<Annotation>) -> Parse<StmtKind> {
        let word = self.bump();
        let condition = self.condition("if")?;
        let then = Box::new(self.branch(word)?);
        let otherwise = match self.at(TokenKind::Else) {
            true => {
                let word = self.bump();
                Some(Box::new(self.branch(word)?))
            }
            false => None,
        };
        Ok(StmtKind::If { annotations, condition, then, otherwise })
    }

    /// The statement after `if (...)` or `else`.
    fn branch(&mut self, word: Span) -> Parse<Stmt> {
        if matches!(self.kind(), TokenKind::RBrace | TokenKind::Else | TokenKind::Eof) {
            let d = self
                .here(&codes::UNEXPECTED_TOKEN, format!("expected a statement, found {}", self.found()))
                .label("expected a statement")
                .also(word, "for this");
            return self.fail(d);
        }
        self.statement()
    }

    /// `(e)` after `if` and `switch`. A broken one is skipped.
    fn condition(&mut self, word: &str) -> Parse<Expr> {
        let open = self.expect(TokenKind::LParen, &format!("after `{word}`"))?;
        let result = self.expr().and_then(|e| self.close(TokenKind::RParen, open).map(|_| e));
        match result {
            Ok(e) => Ok(e),
            Err(Stop) => {
                self.skip_to(&[TokenKind::RParen, TokenKind::LBrace, TokenKind::Semicolon]);
                self.eat(TokenKind::RParen);
                if !self.at(TokenKind::LBrace) {
                    return Err(Stop);
                }
                Ok(Expr { kind: ExprKind::Error, span: self.since(open) })
            }
        }
    }

    fn switch(&mut self) -> Parse<StmtKind> {
        self.bump();
        let subject = self.condition("switch")?;
        let cases = self.braced(Items::Other, "and the cases of `switch`", |p| {
            let start = p.span();
            if p.at(TokenKind::Ident) && p.tok().text == "case" && p.kind_at(1) != TokenKind::Colon {
                let d = p.here(&codes::FOREIGN_SYNTAX, "P4 has no `case`").label("expected a label").fix(
                    "remove `case`",
                    p.span(),
                    "",
                );
                p.report(d);
                p.bump();
            }
            let label = match p.at(TokenKind::Default) {
                true => Expr { kind: ExprKind::Default, span: p.bump() },
                false => p.expr()?,
            };
            p.expect(TokenKind::Colon, "after the label")?;
            let body = match p.kind() {
                TokenKind::LBrace | TokenKind::At | TokenKind::Pragma => Some(p.block()?),
                _ => None,
            };
            Ok(SwitchCase { label, body, span: p.since(start) })
        })?;
        Ok(StmtKind::Switch { subject, cases })
    }

    fn for_loop(&mut self, annotations: Vec<Annotation>) -> Parse<StmtKind> {
        let word = self.bump();
        let open = self.expect(TokenKind::LParen, "after `for`")?;
        self.scoped(|p| {
            let var_start = p.span();
            let var_annotations = p.annotations()?;
            if let Some(end) = p.for_in_head() {
                let (ty, name) = p.for_variable(end)?;
                p.bump();
                let first = p.expr()?;
                let collection = p.mask_or_range(first)?;
                p.close(TokenKind::RParen, open)?;
                p.declare_object(&name);
                let body = Box::new(p.branch(word)?);
                return Ok(StmtKind::ForIn { annotations, var_annotations, ty, name, collection, body });
            }
            let mut init = Vec::new();
            if !var_annotations.is_empty() {
                let mut decl = p.for_item(true)?;
                if let StmtKind::Decl(d) = &mut decl.kind {
                    d.annotations = var_annotations;
                    d.span = p.since(var_start);
                }
                init.push(decl);
                p.eat(TokenKind::Comma);
            }
            if !p.at(TokenKind::Semicolon) {
                init.extend(
                    p.comma_list(TokenKind::Semicolon, TrailingComma::Forbidden, |p| p.for_item(true))?,
                );
            }
            p.expect(TokenKind::Semicolon, "after the start of the loop")?;
            let condition = match p.at(TokenKind::Semicolon) {
                true => {
                    let d = p
                        .here(&codes::EXPECTED_EXPRESSION, "a `for` loop needs a condition")
                        .label("expected an expression")
                        .help("write `true` for a loop that only `break`, `return` or `exit` ends");
                    p.report(d);
                    Expr { kind: ExprKind::Error, span: p.span().shrink_to_lo() }
                }
                false => p.expr()?,
            };
            p.expect(TokenKind::Semicolon, "after the condition of the loop")?;
            let update = p.comma_list(TokenKind::RParen, TrailingComma::Forbidden, |p| p.for_item(false))?;
            p.close(TokenKind::RParen, open)?;
            let body = Box::new(p.branch(word)?);
            Ok(StmtKind::For { annotations, init, condition, update, body })
        })
    }

    /// At `T name in`: the offset of `in`. Also at `name in`, which lacks a type.
    fn for_in_head(&self) -> Option<usize> {
        let is_in = |n| self.kind_at(n) == TokenKind::In;
        if self.at_name() && is_in(1) {
            return Some(1);
        }
        let end = self.scan_type(0)?;
        (is_name(self.kind_at(end)) && is_in(end + 1)).then_some(end + 1)
    }

    /// `T name` up to `in`, which is `end` tokens ahead.
    fn for_variable(&mut self, end: usize) -> Parse<(Type, Ident)> {
        if end > 1 {
            let ty = self.ty()?;
            return Ok((ty, self.name("the loop variable")?));
        }
        let name = self.name("the loop variable")?;
        let d = self
            .here(&codes::EXPECTED_TYPE, "the variable of a `for` loop over a collection needs a type")
            .label("expected `type name in`")
            .also(name.span, "declared here without a type")
            .help("the loop always declares its variable, as in `for (bit<8> x in 1 .. 6)`");
        self.report(d);
        Ok((Type { kind: TypeKind::Error, span: name.span }, name))
    }

    /// An element of the first or last part of `for (...; ...; ...)`.
    fn for_item(&mut self, may_declare: bool) -> Parse<Stmt> {
        let start = self.span();
        let annotations = self.annotations()?;
        let kind = self.simple_statement(false)?;
        let kind = match kind {
            StmtKind::Decl(mut decl) => {
                decl.annotations = annotations;
                if !may_declare {
                    let d = Diagnostic::new(&codes::MISPLACED, decl.span, "a declaration cannot stand here")
                        .label("expected an assignment or a call");
                    self.report(d);
                }
                StmtKind::Decl(decl)
            }
            kind => kind,
        };
        Ok(Stmt { kind, span: self.since(start) })
    }

    /// Assignment, call, or declaration that begins with a type. `ends`: declarations take their `;`.
    fn simple_statement(&mut self, ends: bool) -> Parse<StmtKind> {
        self.chain(|p| p.unguarded_simple_statement(ends))
    }

    fn unguarded_simple_statement(&mut self, ends: bool) -> Parse<StmtKind> {
        use TokenKind::*;
        let start = self.span();
        if let Some(d) = self.foreign_statement() {
            return self.fail(d);
        }
        if let Some(word) = self.misspelt_statement() {
            let d = self.did_you_mean(word);
            return self.fail(d);
        }
        let foreign_declaration = self.foreign_type().is_some() && is_name(self.kind_at(1));
        let typed = match self.typeness(0) {
            Typeness::Type => !self.type_then_member(),
            Typeness::Unknown => self.scan_type(0).is_some_and(|end| is_name(self.kind_at(end))),
            Typeness::NotType => false,
        };
        if typed || foreign_declaration {
            return self.typed_statement(start, ends);
        }
        let target = match self.kind() {
            LParen => self.unary()?,
            This => self.unary()?,
            Dot => self.unary()?,
            Error if self.kind_at(1) == Dot => self.unary()?,
            k if is_name(k) => self.unary()?,
            _ if self.typeness(0) == Typeness::Type => self.unary()?,
            Int | Str | True | False | LBrace | Minus | Not | Tilde | Plus => {
                let e = self.expr()?;
                return self.no_effect(&e);
            }
            _ => {
                if let Some(d) = self.foreign_syntax().filter(|_| !self.at(Assign)) {
                    return self.fail(d);
                }
                return self.expected("a statement");
            }
        };
        if self.at_name()
            && !self.at_line_start_if_call(&target)
            && let Some(kind) = self.reread_as_declaration(&target, start, ends)
        {
            return kind;
        }
        let op = self.assignment_op();
        if let Some((op, n_tokens)) = op {
            self.check_lvalue(&target);
            for _ in 0..n_tokens {
                self.bump();
            }
            let rhs = self.expr()?;
            return Ok(StmtKind::Assign { lhs: target, op, rhs });
        }
        if self.at(EqEq) {
            let d = self
                .here(&codes::NO_EFFECT, "a comparison is not a statement")
                .label("`==` compares")
                .help("assign with `=`")
                .fix("write `=`", self.span(), "=");
            return self.fail(d);
        }
        if self.at(PlusPlus) && self.is_increment() {
            return self.fail_increment();
        }
        if self.at(Minus) && self.kind_at(1) == Minus && self.ahead(1).joined {
            let d = self
                .here(&codes::FOREIGN_SYNTAX, "P4 has no `--` that decrements")
                .label("not an operator")
                .help("write `x = x - 1;`");
            return self.fail(d);
        }
        if self.at(Colon) {
            let d = self
                .here(&codes::UNEXPECTED_TOKEN, "expected a statement, found a label")
                .label("unexpected `:`")
                .note("labels stand in `switch` and in `select` only");
            return self.fail(d);
        }
        let whole = self.operators(0, target)?;
        match &whole.kind {
            ExprKind::Call { callee, .. } => {
                self.check_lvalue(callee);
                Ok(StmtKind::Call(whole))
            }
            ExprKind::Error => Ok(StmtKind::Call(whole)),
            _ => self.no_effect(&whole),
        }
    }

    /// A call at the end of a line whose `;` is missing is not the head of an instance.
    fn at_line_start_if_call(&self, target: &Expr) -> bool {
        matches!(target.kind, ExprKind::Call { .. }) && self.at_line_start()
    }

    /// Returns whether an expression statement such as `T.apply();` begins at a known type.
    fn type_then_member(&self) -> bool {
        self.scan_type(0).is_some_and(|end| self.kind_at(end) == TokenKind::Dot)
    }

    fn typed_statement(&mut self, start: Span, ends: bool) -> Parse<StmtKind> {
        let kind = match ends {
            true => self.typed_declaration(Place::Block)?,
            false => {
                let ty = self.ty()?;
                let name = self.name("a variable")?;
                let ty = self.declarator(ty, &name)?;
                let init = if self.eat(TokenKind::Assign) { Some(self.expr()?) } else { None };
                DeclKind::Variable(VariableDecl { ty, name, init })
            }
        };
        let decl = Decl { annotations: Vec::new(), kind, span: self.since(start) };
        Ok(StmtKind::Decl(Box::new(decl)))
    }

    /// Reinterprets an expression as the type of a declaration, for `x[n] y` and `x(args) y`. Returns `None`
    /// if it is not a declaration.
    fn reread_as_declaration(&mut self, target: &Expr, start: Span, ends: bool) -> Option<Parse<StmtKind>> {
        if !ends {
            return None;
        }
        let (head, args) = match &target.kind {
            ExprKind::Call { callee, type_args, args } => {
                let ExprKind::Name(path) = &callee.kind else { return None };
                if self.names.lookup(&path.name.name).is_some() {
                    return None;
                }
                let kind = match type_args.is_empty() {
                    true => TypeKind::Name(path.clone()),
                    false => TypeKind::Specialized(path.clone(), type_args.clone()),
                };
                (Type { kind, span: callee.span }, args.clone())
            }
            _ => return None,
        };
        Some(self.instantiation(head, args).map(|kind| {
            let decl = Decl { annotations: Vec::new(), kind, span: self.since(start) };
            StmtKind::Decl(Box::new(decl))
        }))
    }

    /// Returns the operator of `=` or a compound assignment, and its number of tokens.
    fn assignment_op(&self) -> Option<(Option<BinaryOp>, usize)> {
        use BinaryOp as B;
        use TokenKind::*;
        let op = match self.kind() {
            Assign => return Some((None, 1)),
            Gt if self.kind_at(1) == Ge && self.ahead(1).joined => return Some((Some(B::Shr), 2)),
            AddAssign => B::Add,
            SubAssign => B::Sub,
            MulAssign => B::Mul,
            DivAssign => B::Div,
            ModAssign => B::Mod,
            AndAssign => B::BitAnd,
            OrAssign => B::BitOr,
            XorAssign => B::BitXor,
            ShlAssign => B::Shl,
            AddSatAssign => B::AddSat,
            SubSatAssign => B::SubSat,
            _ => return None,
        };
        Some((Some(op), 1))
    }

    /// Checks that the target is a name, member, index or slice, the only forms that can be assigned or
    /// called.
    fn check_lvalue(&mut self, target: &Expr) {
        let mut e = target;
        loop {
            match &e.kind {
                ExprKind::Name(_) | ExprKind::This | ExprKind::Type(_) | ExprKind::Error => return,
                ExprKind::Member { base, .. }
                | ExprKind::Index { base, .. }
                | ExprKind::Slice { base, .. }
                | ExprKind::PlusSlice { base, .. } => e = base,
                _ => break,
            }
        }
        let mut d = Diagnostic::new(&codes::NOT_AN_LVALUE, e.span, "this cannot be assigned to or called")
            .label("not a variable, member, index or slice");
        if matches!(e.kind, ExprKind::Call { .. }) {
            d = d.help("store the result of the call in a variable first");
        }
        self.report(d);
    }

    fn no_effect(&mut self, e: &Expr) -> Parse<StmtKind> {
        if self.at(TokenKind::Assign) {
            self.check_lvalue(e);
            return Err(Stop);
        }
        if !matches!(self.kind(), TokenKind::Semicolon | TokenKind::RBrace) && !self.at_line_start() {
            return self.expected("`;`, `=` or `(`");
        }
        let word = match &e.kind {
            ExprKind::Name(path) => Some(path.name.name.clone()),
            _ => None,
        };
        let mut d = Diagnostic::new(&codes::NO_EFFECT, e.span, "an expression is not a statement")
            .label("its value is not used");
        d = match word.as_deref() {
            Some("accept" | "reject") => d.help("write `transition` before the name of the next state"),
            Some("pass" | "nop") => d.help("an empty statement is `;`, an empty block `{ }`"),
            _ => d.note("a statement assigns, calls, declares or branches"),
        };
        self.fail(d)
    }
}
