//! Parsers with their states, and controls.

use super::decl::Place;
use super::*;
use crate::ast::*;

impl Parser<'_> {
    /// `name<T>(params)` of a parser or control; the caller has opened a scope and declared the name.
    fn head(&mut self, name: Ident) -> Parse<BlockType> {
        let type_params = self.type_params()?;
        let params = self.params()?;
        Ok(BlockType { name, type_params, params })
    }

    fn ctor_params(&mut self) -> Parse<Option<Vec<Param>>> {
        if self.at(TokenKind::LParen) { self.params().map(Some) } else { Ok(None) }
    }

    /// Parses the rest of a parser, after `parser`.
    pub(super) fn parser(&mut self) -> Parse<DeclKind> {
        let name = self.name("a parser")?;
        self.declare_type(&name);
        self.scoped(|p| {
            let head = p.head(name)?;
            if p.eat(TokenKind::Semicolon) {
                return Ok(DeclKind::ParserType(head));
            }
            let ctor_params = p.ctor_params()?;
            let (mut locals, mut states) = (Vec::new(), Vec::new());
            let open = p.span();
            let n_errors = p.n_errors;
            let mut complained = false;
            p.braced(Items::Declarations, "to begin the parser, or `;` after a parser type", |p| {
                if p.at_state() {
                    states.push(p.state()?);
                    return Ok(());
                }
                if !states.is_empty() && !complained && !p.at(TokenKind::Semicolon) {
                    complained = true;
                    let d = p
                        .here(&codes::ORDER, format!("expected `state` or `}}`, found {}", p.found()))
                        .label("declarations come before the first state");
                    p.report(d);
                }
                locals.extend(p.declaration(Place::Parser)?);
                Ok(())
            })?;
            if states.is_empty() && p.n_errors == n_errors {
                let d =
                    Diagnostic::new(&codes::MISSING_PART, p.prev_span(), "a parser needs at least one state")
                        .label("expected a state before this")
                        .also(open, "the parser begins here")
                        .help("add `state start { transition accept; }`");
                p.report(d);
            }
            Ok(DeclKind::Parser(ParserDecl { head, ctor_params, locals, states }))
        })
    }

    /// Returns whether annotations and then `state` follow.
    fn at_state(&mut self) -> bool {
        let mut n = 0;
        while self.kind_at(n) == TokenKind::At {
            n += 2;
            let close = match self.kind_at(n) {
                TokenKind::LParen => TokenKind::RParen,
                TokenKind::LBracket => TokenKind::RBracket,
                _ => continue,
            };
            let (open, mut level) = (self.kind_at(n), 0usize);
            loop {
                match self.kind_at(n) {
                    TokenKind::Eof => return false,
                    k if k == open => level += 1,
                    k if k == close => level -= 1,
                    _ => {}
                }
                n += 1;
                if level == 0 {
                    break;
                }
            }
        }
        if self.kind_at(n) == TokenKind::Pragma {
            while !matches!(self.kind_at(n), TokenKind::EndPragma | TokenKind::Eof) {
                n += 1;
            }
            while matches!(self.kind_at(n), TokenKind::EndPragma) {
                n += 1;
            }
        }
        self.kind_at(n) == TokenKind::State
            || n == 0
                && is_name(self.kind_at(1))
                && self.kind_at(2) == TokenKind::LBrace
                && self.misspelt(&[TokenKind::State]).is_some()
    }

    pub(super) fn state(&mut self) -> Parse<ParserState> {
        let start = self.span();
        let annotations = self.annotations()?;
        if !self.at(TokenKind::State) {
            let d = self.did_you_mean(TokenKind::State);
            self.report(d);
        }
        self.bump();
        let name = self.name("a state")?;
        let (stmts, transition) = self.scoped(|p| {
            let open = p.open_block("to begin the state")?;
            let (mut stmts, mut transition) = (Vec::new(), None);
            while !p.at_block_end(Items::Other, open) {
                let start = p.pos;
                let item = if p.at_transition() {
                    p.transition().map(|t| {
                        transition.get_or_insert(t);
                    })
                } else {
                    if transition.is_some() {
                        let d = p
                            .here(&codes::ORDER, format!("expected `}}`, found {}", p.found()))
                            .label("a state ends with its transition");
                        p.report(d);
                    }
                    p.state_statement().map(|s| stmts.push(s))
                };
                if item.is_err() {
                    p.resynchronise(start);
                }
            }
            p.close_block(open);
            Ok((stmts, transition))
        })?;
        Ok(ParserState { annotations, name, stmts, transition, span: self.since(start) })
    }

    /// Returns whether `transition` follows, or a similar word before a name and `;` or before `select`.
    fn at_transition(&self) -> bool {
        self.at(TokenKind::Transition)
            || (self.kind_at(1) == TokenKind::Select
                || is_name(self.kind_at(1)) && self.kind_at(2) == TokenKind::Semicolon)
                && self.misspelt(&[TokenKind::Transition]).is_some()
    }

    fn transition(&mut self) -> Parse<Transition> {
        let start = self.span();
        if !self.at(TokenKind::Transition) {
            let d = self.did_you_mean(TokenKind::Transition);
            self.report(d);
        }
        self.bump();
        if self.at(TokenKind::Select) {
            let kind = self.select()?;
            if self.at(TokenKind::Semicolon) {
                let d = self
                    .here(&codes::UNEXPECTED_TOKEN, "no `;` follows `select (...) { ... }`")
                    .label("unexpected `;`")
                    .fix("remove the `;`", self.span(), "");
                self.report(d);
                self.bump();
            }
            return Ok(Transition { kind, span: self.since(start) });
        }
        let state = self.name("a state")?;
        self.semicolon("after the next state")?;
        Ok(Transition { kind: TransitionKind::Direct(state), span: self.since(start) })
    }

    fn select(&mut self) -> Parse<TransitionKind> {
        self.bump();
        let open = self.expect(TokenKind::LParen, "after `select`")?;
        let exprs = self.comma_list(TokenKind::RParen, TrailingComma::Forbidden, Self::expr)?;
        self.close(TokenKind::RParen, open)?;
        let cases = self.braced(Items::Other, "and the cases of `select`", |p| {
            let start = p.span();
            let keyset = p.keyset()?;
            p.expect(TokenKind::Colon, "and the next state")?;
            let state = p.name("a state")?;
            p.semicolon("after the next state")?;
            Ok(SelectCase { keyset, state, span: p.since(start) })
        })?;
        Ok(TransitionKind::Select { exprs, cases })
    }

    /// A keyset of a `select` case or of a table entry.
    pub(super) fn keyset(&mut self) -> Parse<Keyset> {
        self.chain(Self::unguarded_keyset)
    }

    fn unguarded_keyset(&mut self) -> Parse<Keyset> {
        use super::types::Typeness;
        let start = self.span();
        if !self.at(TokenKind::LParen) {
            let element = self.keyset_element()?;
            return Ok(Keyset { elements: vec![element], is_tuple: false, span: self.since(start) });
        }
        let is_cast = match self.typeness(1) {
            Typeness::Type => self.scan_type(1).is_some_and(|end| self.kind_at(end) == TokenKind::RParen),
            Typeness::NotType => false,
            Typeness::Unknown => self.looks_like_cast(1),
        };
        if is_cast {
            let element = self.keyset_element()?;
            return Ok(Keyset { elements: vec![element], is_tuple: false, span: self.since(start) });
        }
        let open = self.bump();
        let first = self.with_gt(false, Self::keyset_element)?;
        self.keyset_rest(open, first)
    }

    /// Parses the rest of a keyset after `(first`: a tuple, or a parenthesised expression that continues.
    fn keyset_rest(&mut self, open: Span, first: Expr) -> Parse<Keyset> {
        let is_element = matches!(
            first.kind,
            ExprKind::Default
                | ExprKind::DontCare
                | ExprKind::Binary { op: BinaryOp::Mask | BinaryOp::Range, .. }
        );
        if !self.at(TokenKind::Comma) && !is_element {
            let first = self.close_paren(open, first)?;
            let whole = self.operators(0, first)?;
            let operand = self.mask_or_range(whole)?;
            return Ok(Keyset { elements: vec![operand], is_tuple: false, span: self.since(open) });
        }
        let mut elements = vec![first];
        if self.eat(TokenKind::Comma) {
            if self.at(TokenKind::RParen) {
                self.expected::<()>("another element of the keyset").ok();
            }
            elements.extend(self.with_gt(false, |p| {
                p.comma_list(TokenKind::RParen, TrailingComma::Forbidden, Self::keyset_element)
            })?);
        }
        self.close(TokenKind::RParen, open)?;
        Ok(Keyset { elements, is_tuple: true, span: self.since(open) })
    }

    pub(super) fn value_set(&mut self) -> Parse<DeclKind> {
        let open = self.expect(TokenKind::Lt, "and the type of the elements")?;
        let ty = self.with_gt(true, Self::ty)?;
        self.close_angle(open)?;
        let open = self.expect(TokenKind::LParen, "and the size of the value set")?;
        let size = self.with_gt(false, Self::expr)?;
        self.close(TokenKind::RParen, open)?;
        let name = self.name("a value set")?;
        self.declare_object(&name);
        self.semicolon("after the value set")?;
        Ok(DeclKind::ValueSet(ValueSetDecl { ty, size, name }))
    }

    /// Parses the rest of a control, after `control`.
    pub(super) fn control(&mut self) -> Parse<DeclKind> {
        let name = self.name("a control")?;
        self.declare_type(&name);
        self.scoped(|p| {
            let head = p.head(name)?;
            if p.eat(TokenKind::Semicolon) {
                return Ok(DeclKind::ControlType(head));
            }
            let ctor_params = p.ctor_params()?;
            let (mut locals, mut apply) = (Vec::new(), None);
            let open = p.span();
            let n_errors = p.n_errors;
            let mut complained = false;
            p.braced(Items::Declarations, "to begin the control, or `;` after a control type", |p| {
                if p.at_apply() {
                    if apply.is_some() && !complained {
                        complained = true;
                        let d = p.here(&codes::ORDER, "a control has one `apply`").label("second `apply`");
                        p.report(d);
                    }
                    p.bump();
                    // Parsed before it is stored, so that declarations after a broken block are still named.
                    let block = p.block();
                    let empty = || Block { annotations: Vec::new(), stmts: Vec::new(), span: open };
                    apply.get_or_insert_with(empty);
                    apply = Some(block?);
                    return Ok(());
                }
                if apply.is_some() && !complained {
                    complained = true;
                    let d = p
                        .here(&codes::ORDER, format!("expected `}}` after `apply`, found {}", p.found()))
                        .label("declarations come before `apply`");
                    p.report(d);
                }
                locals.extend(p.declaration(Place::Control)?);
                Ok(())
            })?;
            if apply.is_none() && p.n_errors == n_errors {
                let d =
                    Diagnostic::new(&codes::MISSING_PART, p.prev_span(), "a control needs an `apply` block")
                        .label("expected `apply { ... }` before this")
                        .also(open, "the control begins here")
                        .fix("add `apply { }`", p.prev_span().shrink_to_lo(), "apply { } ");
                p.report(d);
            }
            let apply = apply.unwrap_or(Block { annotations: Vec::new(), stmts: Vec::new(), span: open });
            Ok(DeclKind::Control(ControlDecl { head, ctor_params, locals, apply }))
        })
    }

    /// Returns whether `apply` follows, or a similar word before `{`.
    fn at_apply(&mut self) -> bool {
        if self.at(TokenKind::Apply) {
            return true;
        }
        let misspelt = self.kind_at(1) == TokenKind::LBrace
            && self.misspelt(&[TokenKind::Apply]).is_some_and(|_| self.at(TokenKind::Ident));
        if misspelt {
            let d = self.did_you_mean(TokenKind::Apply);
            self.report(d);
        }
        misspelt
    }
}
