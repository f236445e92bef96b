//! Declarations of the top level, and declarations common to all levels.

use super::types::Typeness;
use super::*;
use crate::ast::*;

/// Context of a declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    TopLevel,
    Parser,
    Control,
    /// In the initialiser of an instance.
    Object,
    /// Among statements.
    Block,
}

impl Place {
    fn describe(self) -> &'static str {
        match self {
            Place::TopLevel => "at the top level",
            Place::Parser => "among the declarations of a parser",
            Place::Control => "among the declarations of a control",
            Place::Object => "in the initialiser of an instance",
            Place::Block => "among statements",
        }
    }
}

impl Parser<'_> {
    pub(super) fn program(&mut self) -> Program {
        let mut decls = Vec::new();
        while !self.at(TokenKind::Eof) {
            if self.eat(TokenKind::Semicolon) {
                continue;
            }
            let start = self.pos;
            if self.at(TokenKind::RBrace) {
                if self.misplaced_until == Some(self.pos) {
                    self.bump();
                    continue;
                }
                let d = self
                    .here(&codes::UNMATCHED_BRACE, "this `}` closes nothing")
                    .label("no `{` is open here")
                    .help("remove it, or add the `{` that it is to close");
                self.report(d);
                self.bump();
                continue;
            }
            match self.declaration(Place::TopLevel) {
                Ok(d) => decls.extend(d),
                Err(Stop) => {
                    self.resynchronise(start);
                    // The rest of a broken declaration must not be reported as a stray brace.
                    if self.at(TokenKind::RBrace) {
                        self.bump();
                    }
                }
            }
        }
        Program { decls }
    }

    /// Parses one declaration. Returns `None` if something else was reported and skipped.
    pub(super) fn declaration(&mut self, place: Place) -> Parse<Option<Decl>> {
        let start = self.span();
        let annotations = self.annotations()?;
        if let Some(skipped) = self.misplaced_statement(place) {
            return skipped.map(|()| None);
        }
        if self.at(TokenKind::State) && is_name(self.kind_at(1)) || self.at(TokenKind::Apply) {
            return self.misplaced_part(place).map(|()| None);
        }
        let keyword = match self.misspelt_declaration() {
            Some(keyword) => {
                let d = self.did_you_mean(keyword);
                self.report(d);
                keyword
            }
            None => self.kind(),
        };
        let kind = match self.keyword_declaration(keyword, place) {
            Some(kind) => kind?,
            None => self.typed_declaration(place)?,
        };
        Ok(Some(Decl { annotations, kind, span: self.since(start) }))
    }

    /// Parses a declaration that begins with a keyword; the cursor is at it (or at its misspelling). Returns
    /// `None` for a declaration that begins with a type.
    fn keyword_declaration(&mut self, keyword: TokenKind, place: Place) -> Option<Parse<DeclKind>> {
        use TokenKind::*;
        let next = self.kind_at(1);
        let here = match keyword {
            Const => place != Place::Object,
            Action => matches!(place, Place::TopLevel | Place::Control),
            Table => place == Place::Control,
            ValueSet => place == Place::Parser,
            Error | MatchKind if next == LBrace => place == Place::TopLevel,
            Type if place != Place::TopLevel => return None,
            Extern | Header | Struct | HeaderUnion | Enum | Typedef | Type | Parser | Control | Package => {
                place == Place::TopLevel
            }
            _ => return None,
        };
        if !here {
            let d = self
                .here(
                    &codes::MISPLACED,
                    format!("`{}` cannot be declared {}", keyword.as_str(), place.describe()),
                )
                .label("not here")
                .help(match keyword {
                    Table => "tables are declared in a control, before its `apply`",
                    Action => "actions are declared at the top level or in a control, before its `apply`",
                    ValueSet => "value sets are declared in a parser, before its states",
                    _ => "move the declaration to the top level",
                });
            self.report_misplaced(d);
        }
        self.bump();
        let result = match keyword {
            Const => self.constant(),
            Action => self.action(),
            Table => self.table(),
            ValueSet => self.value_set(),
            Error => self.members("an error").map(DeclKind::Error),
            MatchKind => self.members("a match kind").map(DeclKind::MatchKind),
            Extern => self.external(),
            Header => self.structure(StructKind::Header),
            Struct => self.structure(StructKind::Struct),
            HeaderUnion => self.structure(StructKind::HeaderUnion),
            Enum => self.enumeration(),
            Typedef => self.typedef(),
            Type => self.newtype(),
            Parser => self.parser(),
            Control => self.control(),
            _ => self.package(),
        };
        if !here && place == Place::TopLevel {
            self.end_misplaced();
        }
        Some(result)
    }

    /// Returns the keyword that the identifier at the cursor resembles, if its context fits too.
    fn misspelt_declaration(&self) -> Option<TokenKind> {
        use TokenKind::*;
        if !self.at(Ident) {
            return None;
        }
        let (next, then) = (self.kind_at(1), self.kind_at(2));
        let words: &[TokenKind] = match (is_name(next), then) {
            (true, LBrace) => &[Table, Header, Struct, HeaderUnion, Enum, Extern, Control, Parser],
            (true, LParen) => &[Action, Parser, Control, Package],
            (true, Lt) => &[Header, Struct, HeaderUnion, Parser, Control, Package, Extern],
            (true, Ident) => &[Const, Typedef, Extern],
            _ if matches!(next, Bit | IntType | Bool | Varbit | Void | Header | Struct) => {
                &[Const, Typedef, Extern]
            }
            _ => return None,
        };
        self.misspelt(words)
    }

    /// Reports and skips a `state` outside of a parser or an `apply` outside of a control.
    fn misplaced_part(&mut self, place: Place) -> Parse<()> {
        let word = self.kind().as_str();
        let owner = if self.at(TokenKind::State) { "parser" } else { "control" };
        let d = self
            .here(&codes::MISPLACED, format!("`{word}` cannot stand {}", place.describe()))
            .label("not here")
            .help(format!("`{word}` stands within a {owner}; is there a `}}` too many before this?"));
        self.report_misplaced(d);
        if self.at(TokenKind::State) {
            self.state()?;
        } else {
            self.bump();
            self.block()?;
        }
        if place == Place::TopLevel {
            self.end_misplaced();
        }
        Ok(())
    }

    /// Reports and skips a statement in a context for declarations only. Only the first statement of a run is
    /// reported.
    fn misplaced_statement(&mut self, place: Place) -> Option<Parse<()>> {
        use TokenKind::*;
        if place == Place::Block {
            return None;
        }
        let is_statement = match self.kind() {
            If | For | Switch | Return | Exit | Break | Continue | Transition | This | LParen | LBrace => {
                true
            }
            k if is_name(k) && self.typeness(0) != Typeness::Type => match self.kind_at(1) {
                Assign | Dot | AddAssign | SubAssign | OrAssign | AndAssign => k != Apply,
                LParen => self.typeness(0) == Typeness::NotType && k == Ident,
                LBracket => self.typeness(0) == Typeness::NotType,
                _ => false,
            },
            _ => false,
        };
        if !is_statement {
            return None;
        }
        if self.misplaced_until != Some(self.pos) {
            let mut d = self
                .here(&codes::MISPLACED, format!("a statement cannot stand {}", place.describe()))
                .label("expected a declaration");
            d = match place {
                Place::Control => d.help("put it in the `apply { ... }` block of the control"),
                Place::Parser => d.help("put it in a `state` of the parser"),
                _ => {
                    d.help("put it in the `apply { ... }` block of a control, in an action or in a function")
                }
            };
            self.report(d);
        }
        let start = self.pos;
        if self.at(Transition) {
            self.bump();
            self.skip_to(&[Semicolon]);
            self.eat(Semicolon);
        } else if self.statement().is_err() {
            self.resynchronise(start);
        }
        self.end_misplaced();
        Some(Ok(()))
    }

    /// A declaration that begins with a type: variable, instance or function.
    pub(super) fn typed_declaration(&mut self, place: Place) -> Parse<DeclKind> {
        use TokenKind::*;
        if self.at(Ident) && self.kind_at(1) == LParen && matches!(self.kind_at(2), In | Out | InOut) {
            let d = self
                .here(
                    &codes::EXPECTED_DECLARATION,
                    format!("expected a keyword or type before {}", self.found()),
                )
                .label("what is declared here?")
                .help(match place {
                    Place::TopLevel => "write `control`, `parser`, `action` or the return type of a function",
                    Place::Control => "write `action`",
                    Place::Parser | Place::Object | Place::Block => "write the return type of the function",
                });
            return self.fail(d);
        }
        if self.typeness(0) == Typeness::NotType && !self.at(List) {
            return self.no_declaration(place);
        }
        let (start, ty_span) = (self.pos, self.span());
        let ty = if self.at(Void) { self.any_type()? } else { self.ty()? };
        if self.at(LParen) {
            let args = self.args()?;
            return self.instantiation(ty, args);
        }
        if matches!(self.kind(), Semicolon | Assign) || self.at(Dot) {
            let d = self
                .here(
                    &codes::UNEXPECTED_TOKEN,
                    format!("expected a name after the type, found {}", self.found()),
                )
                .label("expected a name")
                .also(ty_span, "read as a type");
            return self.fail(d);
        }
        let name = self.name("a variable")?;
        if matches!(self.kind(), LParen | Lt) {
            return self.function(ty, name, place);
        }
        if matches!(ty.kind, TypeKind::Void) {
            let d = Diagnostic::new(&codes::NOT_A_VALUE_TYPE, ty.span, "a variable cannot be of type `void`")
                .label("no value has this type");
            self.report(d);
        }
        self.variable(ty, name, place, start)
    }

    fn no_declaration(&mut self, place: Place) -> Parse<DeclKind> {
        use TokenKind::*;
        if let Some(d) = self.foreign_statement() {
            return self.fail(d);
        }
        let words: &[TokenKind] = match place {
            Place::TopLevel => {
                &[Action, Const, Control, Enum, Extern, Header, Package, Parser, Struct, Typedef, Type]
            }
            Place::Control => &[Action, Apply, Const, Table],
            Place::Parser => &[Const, State, ValueSet],
            Place::Object | Place::Block => &[Const],
        };
        if let Some(word) = self.misspelt(words) {
            let d = self.did_you_mean(word);
            return self.fail(d);
        }
        let d = self
            .here(&codes::EXPECTED_DECLARATION, format!("expected a declaration, found {}", self.found()))
            .label("no declaration begins like this");
        self.fail(d)
    }

    /// After `T(args)`: ` name;` or ` name = { ... };`
    pub(super) fn instantiation(&mut self, ty: Type, args: Vec<Arg>) -> Parse<DeclKind> {
        if !self.at_name() && !self.kind().is_keyword() && !self.at(TokenKind::Underscore) {
            let what = self.sources.text(ty.span).to_string();
            let d = self
                .here(
                    &codes::UNEXPECTED_TOKEN,
                    format!("expected the name of the instance, found {}", self.found()),
                )
                .label("expected a name")
                .also(ty.span, format!("an instance of `{what}` is made here"));
            return self.fail(d);
        }
        let name = self.name("an instance")?;
        let ty = self.declarator(ty, &name)?;
        let mut initializer = None;
        if self.at(TokenKind::Assign) {
            self.bump();
            let items = self.scoped(|p| {
                p.nest(|p| {
                    p.braced(Items::Other, "to begin the initialiser of the instance", |p| {
                        p.declaration(Place::Object)
                    })
                })
            })?;
            initializer = Some(items.into_iter().flatten().collect());
        }
        self.semicolon("after the instance")?;
        Ok(DeclKind::Instantiation(Instantiation { ty, args, name, initializer }))
    }

    /// After `T name`: `[n]`, `= init`, `;`. `start`: the token at which the declaration began.
    fn variable(&mut self, ty: Type, name: Ident, place: Place, start: usize) -> Parse<DeclKind> {
        let declared = self.declarator(ty, &name)?;
        let init = if self.eat(TokenKind::Assign) { Some(self.expr()?) } else { None };
        if self.at(TokenKind::Comma) && self.kind_at(1) == TokenKind::Ident {
            let d = self
                .here(&codes::FOREIGN_SYNTAX, "a declaration declares one variable")
                .label("expected `;`")
                .help("write one declaration for each variable");
            self.report(d);
            self.skip_to(&[TokenKind::Semicolon]);
        }
        let place_error = match place {
            Place::TopLevel => Some("a variable cannot be declared at the top level"),
            Place::Object => Some("a variable cannot be declared in the initialiser of an instance"),
            Place::Parser | Place::Control | Place::Block => None,
        };
        if let Some(message) = place_error {
            let d = Diagnostic::new(&codes::MISPLACED, self.since(name.span), message)
                .label("not here")
                .note("there are no global variables: what lasts beyond a packet lives in externs such as registers")
                .help("declare a `const`, or declare the variable in a control, parser, action or function");
            if self.misplaced_until != Some(start) {
                self.report(d);
            }
        }
        self.semicolon("after the variable")?;
        if place == Place::TopLevel {
            self.end_misplaced();
        }
        Ok(DeclKind::Variable(VariableDecl { ty: declared, name, init }))
    }

    /// `[n]` after a declared name; declares the name.
    pub(super) fn declarator(&mut self, ty: Type, name: &Ident) -> Parse<Type> {
        let ty = self.chain(|p| {
            let mut ty = ty;
            while p.at(TokenKind::LBracket) {
                ty = p.wrap(|p| p.array_suffix(ty))?;
            }
            Ok(ty)
        })?;
        self.declare_object(name);
        Ok(ty)
    }

    fn constant(&mut self) -> Parse<DeclKind> {
        let ty = self.ty()?;
        let name = self.name("a constant")?;
        let ty = self.declarator(ty, &name)?;
        self.expect(TokenKind::Assign, "and the value of the constant")?;
        let init = self.expr()?;
        self.semicolon("after the constant")?;
        Ok(DeclKind::Const(ConstDecl { ty, name, init }))
    }

    /// After `T name` of a function with a body.
    fn function(&mut self, return_type: Type, name: Ident, place: Place) -> Parse<DeclKind> {
        if !matches!(place, Place::TopLevel | Place::Object) {
            let d = Diagnostic::new(
                &codes::MISPLACED,
                name.span,
                format!("a function cannot be declared {}", place.describe()),
            )
            .label("not here")
            .help("move the function to the top level, or make it an action");
            self.report(d);
        }
        self.declare_object(&name);
        self.scoped(|p| {
            let proto = p.prototype(return_type, name)?;
            if p.at(TokenKind::Semicolon) {
                let d = p
                    .here(&codes::UNEXPECTED_TOKEN, "expected the body of the function, found `;`")
                    .label("expected `{`")
                    .help("only an `extern` function has no body");
                p.report(d);
                p.bump();
                let body = Block { annotations: Vec::new(), stmts: Vec::new(), span: Span::NONE };
                return Ok(DeclKind::Function(FunctionDecl { proto, body }));
            }
            let body = p.block()?;
            Ok(DeclKind::Function(FunctionDecl { proto, body }))
        })
    }

    /// `<T, ...>(params)` after a function's name; the caller has opened a scope.
    fn prototype(&mut self, return_type: Type, name: Ident) -> Parse<FunctionProto> {
        let type_params = self.type_params()?;
        let params = self.params()?;
        Ok(FunctionProto { return_type, name, type_params, params })
    }

    fn action(&mut self) -> Parse<DeclKind> {
        let name = self.name("an action")?;
        self.declare_object(&name);
        self.scoped(|p| {
            let params = p.params()?;
            let body = p.block()?;
            Ok(DeclKind::Action(ActionDecl { name, params, body }))
        })
    }

    /// `<T, ...>` if there, declared in the current scope.
    pub(super) fn type_params(&mut self) -> Parse<Vec<Ident>> {
        if !self.at(TokenKind::Lt) {
            return Ok(Vec::new());
        }
        let open = self.bump();
        let names =
            self.comma_list(TokenKind::Gt, TrailingComma::Forbidden, |p| p.name("a type parameter"))?;
        self.close_angle(open)?;
        names.iter().for_each(|n| self.declare_type(n));
        Ok(names)
    }

    /// `(param, param, ...)`, declared in the current scope.
    pub(super) fn params(&mut self) -> Parse<Vec<Param>> {
        let open = self.expect(TokenKind::LParen, "and parameters")?;
        let params = self.comma_list(TokenKind::RParen, TrailingComma::Forbidden, Self::param)?;
        self.close(TokenKind::RParen, open)?;
        Ok(params)
    }

    /// Returns whether `rmw` stands for a direction here: it is no keyword, and may name a type.
    fn at_rmw(&self) -> bool {
        use TokenKind::*;
        let ends_name = |kind| matches!(kind, Comma | RParen | Assign);
        let is_type = match self.kind_at(1) {
            Lt | Dot | LBracket => true,
            next => is_name(next) && ends_name(self.kind_at(2)),
        };
        self.tok().text == "rmw" && !is_type
    }

    fn param(&mut self) -> Parse<Param> {
        let start = self.span();
        let annotations = self.annotations()?;
        let direction = match self.kind() {
            TokenKind::In => Direction::In,
            TokenKind::Out => Direction::Out,
            TokenKind::InOut => Direction::InOut,
            _ => Direction::None,
        };
        let is_rmw = self.at_rmw();
        if is_rmw {
            self.bump();
        }
        if direction != Direction::None {
            self.bump();
            if matches!(self.kind(), TokenKind::In | TokenKind::Out | TokenKind::InOut) {
                let d = self
                    .here(&codes::UNEXPECTED_TOKEN, "a parameter has one direction")
                    .label("second direction")
                    .help("write `inout` for both directions");
                self.report(d);
                self.bump();
            }
        }
        let ty = self.ty()?;
        let name = self.name("a parameter")?;
        let ty = self.declarator(ty, &name)?;
        let default = if self.eat(TokenKind::Assign) { Some(self.expr()?) } else { None };
        Ok(Param { annotations, direction, is_rmw, ty, name, default, span: self.since(start) })
    }

    /// `{ name, name, ... }` of errors and match kinds.
    fn members(&mut self, what: &str) -> Parse<Vec<Ident>> {
        let open = self.expect(TokenKind::LBrace, "and a list of names")?;
        // The grammar takes a trailing comma for match kinds and not for errors.
        let trailing = if what == "an error" { TrailingComma::Forbidden } else { TrailingComma::Allowed };
        let names = self.comma_list(TokenKind::RBrace, trailing, |p| p.name(what))?;
        if names.is_empty() {
            self.empty_list(open, what)?;
        }
        self.close(TokenKind::RBrace, open)?;
        Ok(names)
    }

    /// The grammar wants at least one element between these braces.
    pub(super) fn empty_list(&mut self, open: Span, what: &str) -> Parse<()> {
        let d = self
            .here(&codes::EMPTY_LIST, format!("expected {what}, found {}", self.found()))
            .label(format!("expected {what}"))
            .also(open, "this list must not be empty");
        self.report(d);
        Ok(())
    }

    fn structure(&mut self, kind: StructKind) -> Parse<DeclKind> {
        let name = self.name(match kind {
            StructKind::Header => "a header",
            StructKind::Struct => "a struct",
            StructKind::HeaderUnion => "a header union",
        })?;
        self.declare_type(&name);
        self.scoped(|p| {
            let type_params = p.type_params()?;
            let fields = p.braced(Items::Fields, "and fields", |p| {
                let start = p.span();
                let annotations = p.annotations()?;
                let ty = p.ty()?;
                let field = p.name("a field")?;
                let ty = p.declarator(ty, &field)?;
                p.semicolon("after the field")?;
                Ok(StructField { annotations, ty, name: field, span: p.since(start) })
            })?;
            Ok(DeclKind::Struct(StructDecl { kind, name, type_params, fields }))
        })
    }

    fn enumeration(&mut self) -> Parse<DeclKind> {
        let plain = self.at_name() && self.kind_at(1) == TokenKind::LBrace;
        let underlying = if plain { None } else { Some(self.ty()?) };
        let name = self.name("an enum")?;
        self.declare_type(&name);
        let open = self.expect(TokenKind::LBrace, "and members")?;
        let valued = underlying.is_some();
        let members = self.comma_list(TokenKind::RBrace, TrailingComma::Allowed, |p| {
            let annotations = p.annotations()?;
            let name = p.name("a member")?;
            let mut value = None;
            if valued {
                p.expect(TokenKind::Assign, "and the value of the member")?;
                value = Some(p.expr()?);
            } else if p.at(TokenKind::Assign) {
                let d = p
                    .here(
                        &codes::UNEXPECTED_TOKEN,
                        "members of an enum without underlying type have no values",
                    )
                    .label("unexpected `=`")
                    .help("write `enum bit<8> Name { ... }` to choose the representation");
                p.report(d);
                p.bump();
                p.expr()?;
            }
            Ok(EnumMember { annotations, name, value })
        })?;
        if members.is_empty() {
            self.empty_list(open, "a member")?;
        }
        self.close(TokenKind::RBrace, open)?;
        Ok(DeclKind::Enum(EnumDecl { underlying, name, members }))
    }

    fn typedef(&mut self) -> Parse<DeclKind> {
        use TokenKind::*;
        let target = if matches!(self.kind(), Header | Struct | HeaderUnion | Enum | At | Pragma) {
            let start = self.span();
            let annotations = self.annotations()?;
            let keyword = self.kind();
            self.bump();
            let kind = match keyword {
                Header => self.structure(StructKind::Header)?,
                Struct => self.structure(StructKind::Struct)?,
                HeaderUnion => self.structure(StructKind::HeaderUnion)?,
                Enum => self.enumeration()?,
                _ => return self.expected("`header`, `struct`, `header_union` or `enum`"),
            };
            TypedefTarget::Decl(Box::new(Decl { annotations, kind, span: self.since(start) }))
        } else {
            TypedefTarget::Type(self.ty()?)
        };
        self.type_name(target, "a typedef").map(DeclKind::Typedef)
    }

    fn newtype(&mut self) -> Parse<DeclKind> {
        if matches!(
            self.kind(),
            TokenKind::Header | TokenKind::Struct | TokenKind::HeaderUnion | TokenKind::Enum
        ) {
            let word = self.kind().as_str();
            let d = self
                .here(&codes::MISPLACED, format!("`{word}` cannot be declared within `type`"))
                .label("expected the name of a type")
                .help(format!(
                    "declare the {word} first; `typedef` takes such a declaration, `type` does not"
                ));
            self.report(d);
            return self.typedef();
        }
        let target = TypedefTarget::Type(self.ty()?);
        self.type_name(target, "a type").map(DeclKind::Newtype)
    }

    /// ` name;` after `typedef T` and `type T`.
    fn type_name(&mut self, target: TypedefTarget, what: &str) -> Parse<TypedefDecl> {
        let name = self.name(what)?;
        let target = match target {
            TypedefTarget::Type(ty) => self.chain(|p| {
                let mut ty = ty;
                while p.at(TokenKind::LBracket) {
                    ty = p.wrap(|p| p.array_suffix(ty))?;
                }
                Ok(TypedefTarget::Type(ty))
            })?,
            target => target,
        };
        self.declare_type(&name);
        self.semicolon("after the name of the type")?;
        Ok(TypedefDecl { target, name })
    }

    fn package(&mut self) -> Parse<DeclKind> {
        let name = self.name("a package")?;
        self.declare_type(&name);
        self.scoped(|p| {
            let type_params = p.type_params()?;
            let params = p.params()?;
            p.semicolon("after the package")?;
            Ok(DeclKind::Package(BlockType { name, type_params, params }))
        })
    }

    /// `extern N<T> { methods }`, `extern N;` or `extern R f<T>(params);`
    fn external(&mut self) -> Parse<DeclKind> {
        use TokenKind::*;
        if self.at_name() {
            match self.kind_at(1) {
                Semicolon => {
                    let name = self.name("an extern")?;
                    self.declare_type(&name);
                    self.bump();
                    return Ok(DeclKind::ExternForward(name));
                }
                LBrace => return self.extern_object(),
                Lt if self.scan_type_args(1).is_some_and(|end| self.kind_at(end) == LBrace) => {
                    return self.extern_object();
                }
                _ => {}
            }
        }
        let return_type = self.any_type()?;
        let name = self.name("an extern function")?;
        self.declare_object(&name);
        let proto = self.scoped(|p| p.prototype(return_type, name))?;
        if self.at(LBrace) {
            let d = self
                .here(&codes::UNEXPECTED_TOKEN, "an `extern` function has no body")
                .label("expected `;`")
                .help("remove `extern`, or end the declaration with `;`");
            return self.fail(d);
        }
        self.semicolon("after the extern function")?;
        Ok(DeclKind::ExternFunction(proto))
    }

    fn extern_object(&mut self) -> Parse<DeclKind> {
        let name = self.name("an extern")?;
        self.declare_type(&name);
        self.scoped(|p| {
            let type_params = p.type_params()?;
            let methods = p.braced(Items::Fields, "and methods", |p| p.method(&name))?;
            Ok(DeclKind::Extern(ExternDecl { name: name.clone(), type_params, methods }))
        })
    }

    fn method(&mut self, extern_name: &Ident) -> Parse<MethodProto> {
        use TokenKind::*;
        let start = self.span();
        let annotations = self.annotations()?;
        let is_abstract = self.eat(Abstract);
        if self.at_name() && self.kind_at(1) == LParen {
            let name = self.name("a method")?;
            let is_constructor = name.name == extern_name.name;
            if !is_constructor || is_abstract {
                let message = match is_constructor {
                    true => "a constructor cannot be abstract".to_string(),
                    false => format!("method `{}` has no return type", name.name),
                };
                let d = Diagnostic::new(&codes::METHOD_HEAD, name.span, message)
                    .label("expected a return type before the name")
                    .also(extern_name.span, "only a constructor, which bears this name, has none")
                    .help("write `void` when nothing is returned");
                self.report(d);
            }
            let return_type = ast::Type { kind: TypeKind::Void, span: name.span };
            let proto = self.scoped(|p| p.prototype(return_type, name))?;
            self.semicolon("after the method")?;
            return Ok(MethodProto {
                annotations,
                is_abstract,
                is_constructor,
                proto,
                span: self.since(start),
            });
        }
        let return_type = self.any_type()?;
        if self.at(LParen) {
            let d = self
                .here(&codes::METHOD_HEAD, "expected the name of a method, found `(`")
                .label("expected a name")
                .note("a constructor has neither return type nor type parameters");
            return self.fail(d);
        }
        let name = self.name("a method")?;
        self.declare_object(&name);
        let proto = self.scoped(|p| p.prototype(return_type, name))?;
        self.semicolon("after the method")?;
        Ok(MethodProto { annotations, is_abstract, is_constructor: false, proto, span: self.since(start) })
    }
}
