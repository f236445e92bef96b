//! `@name`, `@name(tokens)`, `@name[expressions]` and `@pragma name tokens`.

use super::*;
use crate::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind, NamedExpr};

impl Parser<'_> {
    pub(super) fn annotations(&mut self) -> Parse<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while matches!(self.kind(), TokenKind::At | TokenKind::Pragma) {
            annotations.push(self.annotation()?);
        }
        Ok(annotations)
    }

    fn annotation(&mut self) -> Parse<Annotation> {
        let start = self.span();
        let is_pragma = self.at(TokenKind::Pragma);
        self.bump();
        let kind = self.kind();
        if !(kind == TokenKind::Ident || kind.is_keyword() || kind == TokenKind::Underscore) {
            return self.expected("the name of an annotation after `@`");
        }
        let name = self.take_word();
        let body = match self.kind() {
            _ if is_pragma => {
                let tokens = self.annotation_tokens(TokenKind::EndPragma)?;
                self.eat(TokenKind::EndPragma);
                AnnotationBody::Free(tokens)
            }
            TokenKind::LParen => {
                let open = self.bump();
                let tokens = self.annotation_tokens(TokenKind::RParen)?;
                self.close(TokenKind::RParen, open)?;
                AnnotationBody::Free(tokens)
            }
            TokenKind::LBracket => self.with_gt(false, Self::structured_annotation)?,
            _ => AnnotationBody::Empty,
        };
        Ok(Annotation { name, body, span: self.since(start) })
    }

    /// Tokens up to but without `end`; parentheses inside are balanced.
    fn annotation_tokens(&mut self, end: TokenKind) -> Parse<Vec<AnnotationToken>> {
        let mut tokens = Vec::new();
        let mut open: Vec<Span> = Vec::new();
        loop {
            match self.kind() {
                TokenKind::Eof => return Ok(tokens),
                TokenKind::EndPragma if end == TokenKind::EndPragma => {
                    if let Some(span) = open.pop() {
                        self.close(TokenKind::RParen, span)?;
                    }
                    return Ok(tokens);
                }
                // It would end with its line, but lines have no meaning here.
                TokenKind::Pragma | TokenKind::EndPragma => {
                    return self.expected("the rest of the annotation (`@pragma` cannot stand inside one)");
                }
                TokenKind::LParen => open.push(self.span()),
                TokenKind::RParen if open.pop().is_none() => {
                    if end == TokenKind::RParen {
                        return Ok(tokens);
                    }
                    return self.expected("the end of the line (parentheses must be balanced)");
                }
                _ => {}
            }
            tokens.push(self.annotation_token());
        }
    }

    fn annotation_token(&mut self) -> AnnotationToken {
        let span = self.span();
        let kind = self.kind();
        let text = match kind {
            TokenKind::Str => self.tok().text.clone(),
            _ if self.tok().text.is_empty() => SmolStr::new_static(kind.as_str()),
            _ => self.tok().text.clone(),
        };
        let kind = match kind {
            TokenKind::Str => AnnotationTokenKind::Str,
            TokenKind::Int => {
                return AnnotationToken { text, kind: AnnotationTokenKind::Int(self.int_literal()), span };
            }
            TokenKind::Ident => AnnotationTokenKind::Word,
            k if k.is_keyword() => AnnotationTokenKind::Word,
            _ => AnnotationTokenKind::Punct,
        };
        self.bump();
        AnnotationToken { text, kind, span }
    }

    fn structured_annotation(&mut self) -> Parse<AnnotationBody> {
        let open = self.bump();
        if is_name(self.kind()) && self.kind_at(1) == TokenKind::Assign {
            let pairs = self.comma_list(TokenKind::RBracket, TrailingComma::Allowed, |p| {
                if !is_name(p.kind()) || p.kind_at(1) != TokenKind::Assign {
                    let d = p
                        .here(&codes::MIXED_ANNOTATION, "expected `name = value` in this annotation")
                        .label("expected `name = value`")
                        .note("an annotation holds either values or `name = value` pairs, not both");
                    return p.fail(d);
                }
                p.named_expr()
            })?;
            self.close(TokenKind::RBracket, open)?;
            return Ok(AnnotationBody::KeyValue(pairs));
        }
        let values = self.comma_list(TokenKind::RBracket, TrailingComma::Allowed, |p| {
            let value = p.expr()?;
            if p.at(TokenKind::Assign) {
                let d = p
                    .here(
                        &codes::MIXED_ANNOTATION,
                        "expected a plain value in this annotation, found `name = value`",
                    )
                    .label("no `=` here")
                    .note("an annotation holds either values or `name = value` pairs, not both");
                return p.fail(d);
            }
            Ok(value)
        })?;
        self.close(TokenKind::RBracket, open)?;
        Ok(AnnotationBody::List(values))
    }

    /// `name = e`
    pub(super) fn named_expr(&mut self) -> Parse<NamedExpr> {
        let name = self.name("a field")?;
        self.expect(TokenKind::Assign, "after the name of the field")?;
        Ok(NamedExpr { name, value: self.expr()? })
    }
}
