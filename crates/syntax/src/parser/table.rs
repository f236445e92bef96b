//! Tables: keys, actions, entries and other properties.

use super::*;
use crate::ast::*;

impl Parser<'_> {
    /// Parses the rest of a table, after `table`.
    pub(super) fn table(&mut self) -> Parse<DeclKind> {
        let name = self.name("a table")?;
        self.declare_object(&name);
        let open = self.span();
        let n_errors = self.n_errors;
        let properties = self.braced(Items::Other, "to begin the table", Self::table_property)?;
        if properties.is_empty() && self.n_errors == n_errors {
            let d =
                Diagnostic::new(&codes::EMPTY_LIST, self.prev_span(), "a table needs at least one property")
                    .label("expected a property before this")
                    .also(open, "the table begins here");
            self.report(d);
        }
        Ok(DeclKind::Table(TableDecl { name, properties }))
    }

    fn table_property(&mut self) -> Parse<TableProperty> {
        use TokenKind::*;
        let start = self.span();
        let annotations = self.annotations()?;
        let const_span = self.span();
        let is_const = self.eat(Const);
        let is_action = self.at(Action) && self.kind_at(1) == Assign;
        if is_action {
            let d = self.did_you_mean(Actions);
            self.report(d);
        }
        if !self.at_name() && !is_action {
            return self.expected("a table property (`key`, `actions`, `entries`, `default_action`, ...)");
        }
        let keyword = match self.kind() {
            Ident if self.kind_at(1) == Assign && self.kind_at(2) == LBrace => {
                match self.misspelt(&[Key, Actions, Entries]) {
                    Some(word) => {
                        let d = self.did_you_mean(word);
                        self.report(d);
                        word
                    }
                    None => Ident,
                }
            }
            Action => Actions,
            kind => kind,
        };
        if matches!(keyword, Key | Actions) && (is_const || !annotations.is_empty()) {
            let what = if is_const { "`const`" } else { "an annotation" };
            let d = self
                .here(&codes::MISPLACED, format!("{what} cannot stand before `{}`", keyword.as_str()))
                .label("expected a property that takes it")
                .also(if is_const { const_span } else { start }, "remove this");
            self.report(d);
        }
        let mut name = self.take_word();
        if matches!(keyword, Key | Actions | Entries) {
            name.name = SmolStr::new_static(keyword.as_str());
        }
        self.expect(Assign, "after the name of the property")?;
        let kind = match keyword {
            Key => self.braced(Items::InTable, "and keys", Self::key_element).map(TablePropertyKind::Key)?,
            Actions => self
                .braced(Items::InTable, "and actions", Self::action_of_table)
                .map(TablePropertyKind::Actions)?,
            Entries => {
                self.braced(Items::InTable, "and entries", Self::entry).map(TablePropertyKind::Entries)?
            }
            _ => {
                let value = self.expr()?;
                self.semicolon("after the property")?;
                TablePropertyKind::Other(value)
            }
        };
        Ok(TableProperty { annotations, is_const, name, kind, span: self.since(start) })
    }

    fn key_element(&mut self) -> Parse<KeyElement> {
        let start = self.span();
        let expr = self.expr()?;
        self.expect(TokenKind::Colon, "and a match kind")?;
        let match_kind = self.name("a match kind")?;
        let annotations = self.annotations()?;
        self.semicolon("after the key")?;
        Ok(KeyElement { expr, match_kind, annotations, span: self.since(start) })
    }

    fn action_of_table(&mut self) -> Parse<ActionRef> {
        let start = self.span();
        let annotations = self.annotations()?;
        let mut action = self.action_ref()?;
        if self.at(TokenKind::Comma) {
            let d = self.here(&codes::FOREIGN_SYNTAX, "each action ends with `;`").label("expected `;`").fix(
                "write `;`",
                self.span(),
                ";",
            );
            self.report(d);
            self.bump();
        } else {
            self.semicolon("after the action")?;
        }
        action.annotations = annotations;
        action.span = self.since(start);
        Ok(action)
    }

    /// `name` or `name(args)`
    fn action_ref(&mut self) -> Parse<ActionRef> {
        let start = self.span();
        let path = self.path("an action")?;
        let args = if self.at(TokenKind::LParen) { Some(self.args()?) } else { None };
        Ok(ActionRef { annotations: Vec::new(), path, args, span: self.since(start) })
    }

    fn entry(&mut self) -> Parse<Entry> {
        use TokenKind::*;
        let start = self.span();
        let is_const = self.eat(Const);
        let mut priority = None;
        if self.at(Priority) && self.kind_at(1) == Assign {
            self.bump();
            self.bump();
            // The grammar takes a number or an expression in parentheses, lest `:` belong to `? :`.
            priority = Some(match self.kind() {
                Int => {
                    let span = self.span();
                    Expr { kind: ExprKind::Int(self.int_literal()), span }
                }
                LParen => {
                    let open = self.bump();
                    let e = self.with_gt(false, Self::expr)?;
                    self.close(RParen, open)?;
                    e
                }
                _ => return self.expected("a number or an expression in parentheses as priority"),
            });
            self.expect(Colon, "after the priority")?;
        }
        let keyset = self.keyset()?;
        self.expect(Colon, "and the action of the entry")?;
        let action = self.action_ref()?;
        let annotations = self.annotations()?;
        self.semicolon("after the entry")?;
        Ok(Entry { is_const, priority, keyset, action, annotations, span: self.since(start) })
    }
}
