//! Expressions by precedence climbing.
//!
//! The order of precedence is P4's, not C's: `&`, `^` and `|` bind tighter than comparisons (specification,
//! "P4 grammar", and the table of the reference grammar). Binary operators group to the left, `? :` to the right.

use super::types::Typeness;
use super::*;
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, NamedExpr, Path, Type, TypeKind, UnaryOp};

/// Returns the precedence of a binary operator; larger binds tighter. `None` for operators that occur only in
/// keysets and `for`.
pub(crate) fn precedence(op: BinaryOp) -> Option<u8> {
    use BinaryOp::*;
    Some(match op {
        Or => 1,
        And => 2,
        Eq | Ne => 3,
        Lt | Le | Gt | Ge => 4,
        BitOr => 5,
        BitXor => 6,
        BitAnd => 7,
        Shl | Shr => 8,
        Add | Sub | AddSat | SubSat | Concat => 9,
        Mul | Div | Mod => 10,
        Mask | Range => return None,
    })
}

/// An element of `{ ... }` with names.
enum Field {
    Named(NamedExpr),
    Dots(Span),
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.climb(0, None)
    }

    /// Returns the binary operator at the cursor and its number of tokens.
    fn binary_op(&self) -> Option<(BinaryOp, usize)> {
        use BinaryOp as B;
        use TokenKind::*;
        let op = match self.kind() {
            OrOr => B::Or,
            AndAnd => B::And,
            EqEq => B::Eq,
            Ne => B::Ne,
            Lt => B::Lt,
            Le => B::Le,
            Gt if self.gt_closes => return None,
            Gt if self.ahead(1).joined && self.kind_at(1) == Gt => return Some((B::Shr, 2)),
            Gt if self.ahead(1).joined && self.kind_at(1) == Ge => return None,
            Gt => B::Gt,
            Ge => B::Ge,
            Pipe => B::BitOr,
            Caret => B::BitXor,
            Amp => B::BitAnd,
            Shl => B::Shl,
            Plus => B::Add,
            Minus => B::Sub,
            AddSat => B::AddSat,
            SubSat => B::SubSat,
            PlusPlus => B::Concat,
            Star => B::Mul,
            Slash => B::Div,
            Percent => B::Mod,
            _ => return None,
        };
        Some((op, 1))
    }

    /// Parses operators of at least precedence `min` (0 includes `? :`). `first` is an operand that was
    /// parsed already.
    pub(super) fn climb(&mut self, min: u8, first: Option<Expr>) -> Parse<Expr> {
        self.chain(|p| {
            let lhs = match first {
                Some(e) => p.postfix(e)?,
                None => p.unary()?,
            };
            p.operators(min, lhs)
        })
    }

    /// Parses the operators after `lhs`.
    pub(super) fn operators(&mut self, min: u8, mut lhs: Expr) -> Parse<Expr> {
        loop {
            if let Some((op, n_tokens)) = self.binary_op() {
                let level = precedence(op).unwrap_or(0);
                if level < min {
                    return Ok(lhs);
                }
                if op == BinaryOp::Concat && self.is_increment() {
                    return self.fail_increment();
                }
                lhs = self.wrap(|p| {
                    let mut op_span = p.bump();
                    if n_tokens == 2 {
                        op_span = op_span.to(p.bump());
                    }
                    let rhs = p.climb(level + 1, None)?;
                    let span = p.since(lhs.span);
                    let (lhs, rhs) = (Box::new(lhs), Box::new(rhs));
                    Ok(Expr { kind: ExprKind::Binary { op, op_span, lhs, rhs }, span })
                })?;
            } else if min == 0 && self.at(TokenKind::Question) {
                lhs = self.wrap(|p| p.conditional(lhs))?;
            } else {
                return Ok(lhs);
            }
        }
    }

    fn conditional(&mut self, condition: Expr) -> Parse<Expr> {
        let question = self.bump();
        let then = self.with_gt(false, Self::expr)?;
        if !self.at(TokenKind::Colon) {
            let d = self
                .here(
                    &codes::UNEXPECTED_TOKEN,
                    format!("expected `:` and the other value, found {}", self.found()),
                )
                .label("expected `:`")
                .also(question, "of this `?`");
            return self.fail(d);
        }
        self.bump();
        // `a ? b : c ? d : e` groups to the right, as in C, which the specification follows except for the
        // bitwise operators. The precedence table of the reference grammar groups it to the left.
        let otherwise = self.nest(|p| p.climb(0, None))?;
        let span = self.since(condition.span);
        let kind = ExprKind::Conditional {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        Ok(Expr { kind, span })
    }

    /// Parses prefix operators, casts, and operands with their postfix operators.
    pub(super) fn unary(&mut self) -> Parse<Expr> {
        self.nest(|p| p.chain(Self::unguarded_unary))
    }

    fn unguarded_unary(&mut self) -> Parse<Expr> {
        let op = match self.kind() {
            TokenKind::Not => UnaryOp::Not,
            TokenKind::Tilde => UnaryOp::Complement,
            TokenKind::Minus => UnaryOp::Neg,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::LParen => return self.parenthesised(),
            _ => {
                let first = self.primary()?;
                return self.postfix(first);
            }
        };
        let start = self.bump();
        let operand = Box::new(self.unary()?);
        Ok(Expr { kind: ExprKind::Unary { op, operand }, span: self.since(start) })
    }

    /// Parses `(e)` with its postfix operators, or `(T) operand`.
    fn parenthesised(&mut self) -> Parse<Expr> {
        let open = self.bump();
        let inner = match self.typeness(0) {
            Typeness::Type => {
                let ty = self.with_gt(false, Self::ty)?;
                if self.at(TokenKind::RParen) {
                    return self.cast(open, ty);
                }
                let first = self.type_as_operand(ty);
                self.with_gt(false, |p| p.climb(0, Some(first)))?
            }
            Typeness::Unknown if self.looks_like_cast(0) => {
                let ty = self.with_gt(false, Self::ty)?;
                return self.cast(open, ty);
            }
            _ => self.with_gt(false, Self::expr)?,
        };
        self.close_paren(open, inner)
    }

    /// Parses the end of `(e` and its postfix operators.
    pub(super) fn close_paren(&mut self, open: Span, mut inner: Expr) -> Parse<Expr> {
        self.close(TokenKind::RParen, open)?;
        inner.span = self.since(open);
        self.postfix(inner)
    }

    /// After `(T`, at `)`.
    fn cast(&mut self, open: Span, ty: Type) -> Parse<Expr> {
        self.close(TokenKind::RParen, open)?;
        let operand = Box::new(self.unary()?);
        let kind = ExprKind::Cast { ty: Box::new(ty), operand };
        Ok(Expr { kind, span: self.since(open) })
    }

    /// Returns whether `(`, with an undeclared name `n` tokens ahead, begins a cast `(T) operand`.
    pub(super) fn looks_like_cast(&self, n: usize) -> bool {
        use TokenKind::*;
        let Some(end) = self.scan_type(n).filter(|e| self.kind_at(*e) == RParen) else { return false };
        match self.kind_at(end + 1) {
            Int | Str | True | False | This | LBrace | Invalid | Tilde | Not | Dots => true,
            Error => self.kind_at(end + 2) == Dot,
            k if is_name(k) => true,
            // `(x[1])(y)` is neither a call nor a cast; `(x)(y)` is more likely a cast.
            LParen => self.kind_at(end - 1) != RBracket,
            _ => false,
        }
    }

    /// Handles a type where a value is expected: only `T.member` and `T(args)` continue from here.
    fn type_as_operand(&mut self, ty: Type) -> Expr {
        let span = ty.span;
        let named = matches!(ty.kind, TypeKind::Name(_) | TypeKind::Specialized(..));
        let good = match self.kind() {
            TokenKind::Dot => named || matches!(ty.kind, TypeKind::ErrorType),
            TokenKind::LParen => named,
            _ => false,
        };
        if !good {
            let text = self.sources.text(span).to_string();
            let mut d = Diagnostic::new(&codes::TYPE_AS_VALUE, span, "a type cannot be used as a value")
                .label("a type");
            d = if self.at(TokenKind::LParen) {
                d.help(format!("write a cast with the type in parentheses: `({text})(...)`"))
            } else {
                d.note(
                    "after a type in an expression comes `.` and a member, or `(` and constructor arguments",
                )
            };
            self.report(d);
            return Expr { kind: ExprKind::Error, span };
        }
        Expr { kind: ExprKind::Type(Box::new(ty)), span }
    }

    fn primary(&mut self) -> Parse<Expr> {
        use TokenKind::*;
        let start = self.span();
        let kind = match self.kind() {
            Int => ExprKind::Int(self.int_literal()),
            Str => {
                let text = self.tok().text.clone();
                self.bump();
                ExprKind::Str(text)
            }
            True | False => {
                let value = self.at(True);
                self.bump();
                ExprKind::Bool(value)
            }
            This => {
                self.bump();
                ExprKind::This
            }
            Dots => {
                self.bump();
                ExprKind::Dots
            }
            Invalid => {
                self.bump();
                ExprKind::InvalidHeader
            }
            LBrace => self.with_gt(false, Self::braces)?,
            Error if self.kind_at(1) == Dot => {
                self.bump();
                ExprKind::Type(Box::new(ast::Type { kind: TypeKind::ErrorType, span: start }))
            }
            Underscore | Default => {
                let d = self
                    .here(&codes::MISPLACED_WILDCARD, format!("`{}` is not a value", self.kind().as_str()))
                    .label("no value")
                    .note("`_` and `default` stand in keysets, and `_` as an argument; expressions take neither");
                self.report(d);
                self.bump();
                ExprKind::Error
            }
            _ => match self.typeness(0) {
                Typeness::Type => {
                    let ty = self.type_operand()?;
                    return Ok(self.type_as_operand(ty));
                }
                _ if self.at_name() || self.at(Dot) && is_name(self.kind_at(1)) => {
                    ExprKind::Name(self.path("a value")?)
                }
                _ => return self.no_expression(),
            },
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// Parses a type at the start of an operand. `T < 3` is a broken comparison, not a specialisation.
    fn type_operand(&mut self) -> Parse<Type> {
        let named = matches!(self.kind(), TokenKind::Ident | TokenKind::Dot);
        if !named {
            return self.ty();
        }
        let n_name = 1 + usize::from(self.at(TokenKind::Dot));
        if self.kind_at(n_name) == TokenKind::Lt && self.scan_type_args(n_name).is_some() {
            return self.ty();
        }
        let start = self.span();
        let path: Path = self.path("a type")?;
        Ok(ast::Type { kind: TypeKind::Name(path), span: self.since(start) })
    }

    fn no_expression(&mut self) -> Parse<Expr> {
        if let Some(d) = self.foreign_syntax() {
            return self.fail(d);
        }
        let d = self
            .here(&codes::EXPECTED_EXPRESSION, format!("expected an expression, found {}", self.found()))
            .label("expected an expression");
        self.fail(d)
    }

    /// Members, indices, slices and calls after an operand.
    pub(super) fn postfix(&mut self, first: Expr) -> Parse<Expr> {
        let mut e = first;
        loop {
            e = match self.kind() {
                TokenKind::Dot => self.wrap(|p| p.member(e))?,
                TokenKind::LBracket => self.wrap(|p| p.with_gt(false, |p| p.index(e)))?,
                TokenKind::LParen => self.wrap(|p| p.call(e, Vec::new()))?,
                TokenKind::Lt if self.at_type_args() => self.wrap(|p| {
                    let type_args = p.type_args()?;
                    p.call(e, type_args)
                })?,
                _ => return Ok(e),
            };
        }
    }

    fn member(&mut self, base: Expr) -> Parse<Expr> {
        self.bump();
        let member = if self.kind().is_keyword() && !self.at_name() {
            let d = self
                .here(
                    &codes::NOT_A_NAME,
                    format!("the keyword `{}` cannot be the name of a member", self.kind().as_str()),
                )
                .label("a reserved word");
            self.report(d);
            self.take_word()
        } else {
            self.name("a member")?
        };
        let span = self.since(base.span);
        Ok(Expr { kind: ExprKind::Member { base: Box::new(base), member }, span })
    }

    fn index(&mut self, base: Expr) -> Parse<Expr> {
        let open = self.bump();
        let start = base.span;
        let base = Box::new(base);
        let first = Box::new(self.expr()?);
        let kind = if self.eat(TokenKind::Colon) {
            ExprKind::Slice { base, hi: first, lo: Box::new(self.expr()?) }
        } else if self.eat(TokenKind::PlusColon) {
            ExprKind::PlusSlice { base, lo: first, width: Box::new(self.expr()?) }
        } else {
            ExprKind::Index { base, index: first }
        };
        self.close(TokenKind::RBracket, open)?;
        Ok(Expr { kind, span: self.since(start) })
    }

    fn call(&mut self, callee: Expr, type_args: Vec<Type>) -> Parse<Expr> {
        let args = self.args()?;
        let span = self.since(callee.span);
        Ok(Expr { kind: ExprKind::Call { callee: Box::new(callee), type_args, args }, span })
    }

    /// `(arg, arg, ...)`
    pub(super) fn args(&mut self) -> Parse<Vec<Arg>> {
        let open = self.expect(TokenKind::LParen, "and arguments")?;
        let args =
            self.with_gt(false, |p| p.comma_list(TokenKind::RParen, TrailingComma::Forbidden, Self::arg))?;
        self.close(TokenKind::RParen, open)?;
        Ok(args)
    }

    fn arg(&mut self) -> Parse<Arg> {
        let start = self.span();
        let name = if self.at_name() && self.kind_at(1) == TokenKind::Assign {
            let name = self.name("an argument")?;
            self.bump();
            Some(name)
        } else {
            None
        };
        let value = if self.at(TokenKind::Underscore) {
            Expr { kind: ExprKind::DontCare, span: self.bump() }
        } else {
            self.expr()?
        };
        Ok(Arg { name, value, span: self.since(start) })
    }

    /// `{...}`: a list, or fields with names.
    fn braces(&mut self) -> Parse<ExprKind> {
        let open = self.bump();
        if !(self.at_name() && self.kind_at(1) == TokenKind::Assign) {
            let mut mixed = false;
            let values = self.comma_list(TokenKind::RBrace, TrailingComma::Allowed, |p| {
                let value = p.expr()?;
                if p.at(TokenKind::Assign) {
                    if std::mem::replace(&mut mixed, true) {
                        return Err(Stop);
                    }
                    let d = p
                        .here(&codes::UNEXPECTED_TOKEN, "expected a plain value, found `field = value`")
                        .label("no `=` here")
                        .also(open, "the first value has no name, so none has one");
                    return p.fail(d);
                }
                Ok(value)
            })?;
            self.close(TokenKind::RBrace, open)?;
            return Ok(ExprKind::List(values));
        }
        let (mut dots, mut mixed) = (None, false);
        let items = self.comma_list(TokenKind::RBrace, TrailingComma::Allowed, |p| {
            if let Some(span) = dots {
                let d = p
                    .here(&codes::UNEXPECTED_TOKEN, "`...` must come last")
                    .label("expected `}`")
                    .also(span, "`...` stands for all other fields");
                return p.fail(d);
            }
            if p.at(TokenKind::Dots) {
                let span = p.bump();
                dots = Some(span);
                return Ok(Field::Dots(span));
            }
            if !(p.at_name() && p.kind_at(1) == TokenKind::Assign) {
                if std::mem::replace(&mut mixed, true) {
                    return Err(Stop);
                }
                let d = p
                    .here(&codes::UNEXPECTED_TOKEN, format!("expected `field = value`, found {}", p.found()))
                    .label("expected `field = value`")
                    .also(open, "the fields of this value are given by name");
                return p.fail(d);
            }
            Ok(Field::Named(p.named_expr()?))
        })?;
        self.close(TokenKind::RBrace, open)?;
        let (mut fields, mut dots) = (Vec::new(), None);
        for item in items {
            match item {
                Field::Named(f) => fields.push(f),
                Field::Dots(span) => dots = Some(span),
            }
        }
        Ok(ExprKind::Struct { fields, dots })
    }

    /// One element of a keyset: an expression, `a &&& b`, `a .. b`, `default` or `_`.
    pub(super) fn keyset_element(&mut self) -> Parse<Expr> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Default => ExprKind::Default,
            TokenKind::Underscore => ExprKind::DontCare,
            _ => {
                let first = self.expr()?;
                return self.mask_or_range(first);
            }
        };
        self.bump();
        Ok(Expr { kind, span: start })
    }

    /// Parses `&&& b` or `.. b` after `lhs`, if it follows.
    pub(super) fn mask_or_range(&mut self, lhs: Expr) -> Parse<Expr> {
        let op = match self.kind() {
            TokenKind::Mask => BinaryOp::Mask,
            TokenKind::DotDot => BinaryOp::Range,
            _ => return Ok(lhs),
        };
        let op_span = self.bump();
        let rhs = self.expr()?;
        let span = self.since(lhs.span);
        let (lhs, rhs) = (Box::new(lhs), Box::new(rhs));
        Ok(Expr { kind: ExprKind::Binary { op, op_span, lhs, rhs }, span })
    }
}
