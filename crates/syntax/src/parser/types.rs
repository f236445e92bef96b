//! Types, and the look-ahead that distinguishes type arguments from comparisons.

use super::names::NameKind;
use super::*;
use crate::ast::{Expr, Path, Type, TypeKind};

/// Number of tokens that one look-ahead may pass at most.
const LOOKAHEAD_MAX: usize = 512;

/// Judgement of a token: whether it begins a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Typeness {
    /// A base type or a name declared as a type.
    Type,
    /// A name declared as something else, or another token.
    NotType,
    /// A name that was never declared.
    Unknown,
}

impl Parser<'_> {
    /// Judges the token `n` tokens ahead.
    pub(super) fn typeness(&self, n: usize) -> Typeness {
        use TokenKind::*;
        let of = |kind: Option<NameKind>| match kind {
            Some(NameKind::Type) => Typeness::Type,
            Some(NameKind::Object) => Typeness::NotType,
            None => Typeness::Unknown,
        };
        match self.kind_at(n) {
            Bit | IntType | Varbit | Bool | Tuple | MatchKind | StringType | Void => Typeness::Type,
            Error if self.kind_at(n + 1) != Dot => Typeness::Type,
            List if self.kind_at(n + 1) == Lt => Typeness::Type,
            Ident => of(self.names.lookup(&self.ahead(n).text)),
            Dot if self.kind_at(n + 1) == Ident => of(self.names.lookup_root(&self.ahead(n + 1).text)),
            _ => Typeness::NotType,
        }
    }

    /// A type of values: neither `void` nor `_`.
    pub(super) fn ty(&mut self) -> Parse<Type> {
        if matches!(self.kind(), TokenKind::Void | TokenKind::Underscore) {
            let d = self
                .here(&codes::NOT_A_VALUE_TYPE, format!("expected a type, found {}", self.found()))
                .label("no value has this type")
                .note("`void` is only a return type or a type argument, `_` only a type argument");
            self.report(d);
            let span = self.bump();
            return Ok(ast::Type { kind: TypeKind::Error, span });
        }
        self.any_type()
    }

    /// A type, `void` or `_`.
    pub(super) fn any_type(&mut self) -> Parse<Type> {
        self.nest(|p| p.chain(Self::array_type))
    }

    fn array_type(&mut self) -> Parse<Type> {
        let mut ty = self.simple_type()?;
        while self.at(TokenKind::LBracket) {
            ty = self.wrap(|p| p.array_suffix(ty))?;
        }
        Ok(ty)
    }

    /// `[n]` after a type or after a declared name.
    pub(super) fn array_suffix(&mut self, element: Type) -> Parse<Type> {
        let open = self.bump();
        let size = self.with_gt(false, Self::expr)?;
        self.close(TokenKind::RBracket, open)?;
        let span = self.since(element.span);
        Ok(ast::Type { kind: TypeKind::Array(Box::new(element), Box::new(size)), span })
    }

    /// `name` or `.name` in a place where only a type can stand.
    pub(super) fn path(&mut self, what: &str) -> Parse<Path> {
        let absolute = self.eat(TokenKind::Dot);
        Ok(Path { absolute, name: self.name(what)? })
    }

    fn simple_type(&mut self) -> Parse<Type> {
        use TokenKind::*;
        let start = self.span();
        let plain = |p: &mut Self, kind| {
            p.bump();
            Ok(kind)
        };
        let kind = match self.kind() {
            Void => plain(self, TypeKind::Void),
            Bool => plain(self, TypeKind::Bool),
            Error => plain(self, TypeKind::ErrorType),
            MatchKind => plain(self, TypeKind::MatchKind),
            StringType => plain(self, TypeKind::Str),
            Underscore => plain(self, TypeKind::DontCare),
            Bit => {
                self.bump();
                Ok(TypeKind::Bit(if self.at(Lt) { Some(Box::new(self.width()?)) } else { None }))
            }
            IntType => {
                self.bump();
                Ok(if self.at(Lt) { TypeKind::Signed(Box::new(self.width()?)) } else { TypeKind::Int })
            }
            Varbit => {
                self.bump();
                Ok(TypeKind::Varbit(Box::new(self.width()?)))
            }
            Tuple => {
                self.bump();
                Ok(TypeKind::Tuple(self.type_args()?))
            }
            List if self.kind_at(1) == Lt => {
                self.bump();
                let open = self.bump();
                let element = self.type_arg()?;
                self.close_angle(open)?;
                Ok(TypeKind::List(Box::new(element)))
            }
            Dot => self.named_type(),
            Ident => {
                if let Some(d) = self.foreign_type() {
                    self.report(d);
                    self.bump();
                    return Ok(ast::Type { kind: TypeKind::Error, span: start });
                }
                self.named_type()
            }
            _ => self.expected("a type"),
        }?;
        Ok(ast::Type { kind, span: self.since(start) })
    }

    fn named_type(&mut self) -> Parse<TypeKind> {
        let path = self.path("a type")?;
        Ok(match self.kind() {
            TokenKind::Lt => TypeKind::Specialized(path, self.type_args()?),
            _ => TypeKind::Name(path),
        })
    }

    /// `<width>` after `bit`, `int` and `varbit`.
    fn width(&mut self) -> Parse<Expr> {
        let open = self.expect(TokenKind::Lt, "and a width")?;
        let width = self.with_gt(true, Self::expr)?;
        self.close_angle(open)?;
        Ok(width)
    }

    /// `<T, T, ...>`; the `<` is at the cursor.
    pub(super) fn type_args(&mut self) -> Parse<Vec<Type>> {
        let open = self.expect(TokenKind::Lt, "and type arguments")?;
        let args =
            self.with_gt(true, |p| p.comma_list(TokenKind::Gt, TrailingComma::Forbidden, Self::type_arg))?;
        self.close_angle(open)?;
        Ok(args)
    }

    /// Parses a type argument; a contextual keyword may name a type parameter here.
    fn type_arg(&mut self) -> Parse<Type> {
        if self.at_name() && !matches!(self.kind(), TokenKind::Ident | TokenKind::List) {
            let start = self.span();
            let name = self.name("a type")?;
            return Ok(ast::Type { kind: TypeKind::Name(Path { absolute: false, name }), span: start });
        }
        self.any_type()
    }

    /// Consumes exactly one `>`, even of `>>`.
    pub(super) fn close_angle(&mut self, open: Span) -> Parse<Span> {
        self.close(TokenKind::Gt, open)
    }

    /// Returns whether `<` after an expression opens type arguments rather than a comparison.
    ///
    /// A known type decides, as in the reference grammar; an undeclared name is taken for a type if the
    /// tokens look like `<T, ...>(`.
    pub(super) fn at_type_args(&self) -> bool {
        use TokenKind::*;
        if self.kind_at(1) == Gt {
            return self.kind_at(2) == LParen;
        }
        if self.kind_at(1) == Underscore {
            return true;
        }
        match self.typeness(1) {
            Typeness::NotType => false,
            Typeness::Type => {
                let next = match self.kind_at(1) {
                    Dot => 3,
                    _ => 2,
                };
                !matches!(self.kind_at(next), Dot | LParen)
            }
            Typeness::Unknown => self.scan_type_args(0).is_some_and(|end| self.kind_at(end) == LParen),
        }
    }

    /// Skips `<T, ...>` that begins `at` tokens ahead; returns the offset behind it.
    pub(super) fn scan_type_args(&self, at: usize) -> Option<usize> {
        if self.kind_at(at) != TokenKind::Lt {
            return None;
        }
        let mut at = at + 1;
        if self.kind_at(at) == TokenKind::Gt {
            return Some(at + 1);
        }
        loop {
            at = self.scan_type(at)?;
            match self.kind_at(at) {
                TokenKind::Comma => at += 1,
                TokenKind::Gt => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Skips a possible type that begins `at` tokens ahead.
    pub(super) fn scan_type(&self, at: usize) -> Option<usize> {
        use TokenKind::*;
        if at > LOOKAHEAD_MAX {
            return None;
        }
        let mut end = match self.kind_at(at) {
            Bool | Error | MatchKind | StringType | Void | Underscore => at + 1,
            Bit | IntType | Varbit if self.kind_at(at + 1) == Lt => self.scan_to(at + 2, Gt)?,
            Bit | IntType => at + 1,
            Tuple | List if self.kind_at(at + 1) == Lt => self.scan_type_args(at + 1)?,
            Dot | Ident => {
                let name = at + usize::from(self.kind_at(at) == Dot);
                if self.kind_at(name) != Ident {
                    return None;
                }
                match self.kind_at(name + 1) {
                    Lt => self.scan_type_args(name + 1)?,
                    _ => name + 1,
                }
            }
            _ => return None,
        };
        while self.kind_at(end) == LBracket {
            end = self.scan_to(end + 1, RBracket)?;
        }
        Some(end)
    }

    /// Skips an expression that ends with `close`; returns the offset behind it.
    pub(super) fn scan_to(&self, at: usize, close: TokenKind) -> Option<usize> {
        use TokenKind::*;
        let mut open = 0usize;
        for i in at..LOOKAHEAD_MAX {
            match self.kind_at(i) {
                k if k == close && open == 0 => return Some(i + 1),
                LParen | LBracket => open += 1,
                RParen | RBracket => open = open.checked_sub(1)?,
                Semicolon | LBrace | RBrace | Eof => return None,
                _ => {}
            }
        }
        None
    }
}
