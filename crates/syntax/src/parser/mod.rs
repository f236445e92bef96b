//! Parser of tokens to the syntax tree: recursive descent, with precedence climbing for expressions.
//!
//! Key types: [`Parser`] holds the cursor, the scopes of declared names and the nesting depth.
//!
//! P4's grammar is context-sensitive: whether `(x)(y)` is a cast or a call depends on whether `x` is a type
//! (specification, "P4 grammar"). [`names`] records the declared names; undeclared names (after a missing
//! include, for example) are judged by the tokens around them, so that the tree remains useful.
//!
//! Invariants: every loop consumes a token or ends; one fault is reported once, at the place where parsing
//! stopped; depth is bounded by [`ast::DEPTH_MAX`].
//!
//! Start reading at [`parse_tokens`], then `decl.rs`, `stmt.rs` and `expr.rs`.

mod annotation;
mod block;
mod decl;
mod expr;
mod hints;
mod literal;
mod names;
mod stmt;
mod table;
mod types;

use crate::ast::{self, Ident, SmolStr};
use crate::codes;
use crate::limits::SYNTAX_ERRORS_MAX;
use crate::token::{Token, TokenKind};
use diagnostics::{Code, Diagnostic, Diagnostics, SourceMap, Span};
pub(crate) use expr::precedence;
use names::{NameKind, Names};

/// Parsing failed here and the reason is reported; a caller must resynchronise.
struct Stop;

type Parse<T> = Result<T, Stop>;

/// Rule for a comma at the end of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrailingComma {
    Allowed,
    Forbidden,
}

/// Kind of a block, which determines the keywords that show a missing `}`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Items {
    /// Block of a parser or control, with states, tables and actions.
    Declarations,
    /// Block of a key, list of actions or list of entries.
    InTable,
    /// Block of a struct or extern.
    Fields,
    Other,
}

struct Parser<'a> {
    tokens: &'a [Token],
    sources: &'a SourceMap,
    diags: &'a mut Diagnostics,
    /// Index of the current token.
    pos: usize,
    eof: Token,
    names: Names,
    /// Nesting depth of the present node.
    depth: usize,
    /// Deepest level of the present subtree: left-associative chains push their operands down.
    deepest: usize,
    /// True inside `bit<...>`, where `>` closes.
    gt_closes: bool,
    n_errors: usize,
    /// Position of the latest error, to report only one error per token.
    error_pos: Option<usize>,
    /// End of the latest run of misplaced statements.
    misplaced_until: Option<usize>,
    /// True after a limit was hit: the rest of the input is skipped without messages.
    stopped: bool,
}

/// Parses a whole program. The tokens end with `Eof`.
pub fn parse_tokens(tokens: &[Token], sources: &SourceMap, diags: &mut Diagnostics) -> ast::Program {
    let end = tokens.last().map_or(Span::NONE, |t| t.span.shrink_to_hi());
    let eof = Token { kind: TokenKind::Eof, span: end, text: SmolStr::default(), joined: false };
    let mut parser = Parser {
        tokens,
        sources,
        diags,
        pos: 0,
        eof,
        names: Names::default(),
        depth: 0,
        deepest: 0,
        gt_closes: false,
        n_errors: 0,
        error_pos: None,
        misplaced_until: None,
        stopped: false,
    };
    parser.program()
}

// The cursor.
impl Parser<'_> {
    fn tok(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> &Token {
        self.tokens.get(self.pos + n).unwrap_or(&self.eof)
    }

    fn kind(&self) -> TokenKind {
        self.ahead(0).kind
    }

    fn kind_at(&self, n: usize) -> TokenKind {
        self.ahead(n).kind
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn span(&self) -> Span {
        self.tok().span
    }

    /// Returns the span of the token before the current one.
    fn prev_span(&self) -> Span {
        self.pos.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(Span::NONE, |t| t.span)
    }

    /// Returns the span from `start` to the end of the token before the current one.
    fn since(&self, start: Span) -> Span {
        start.to(self.prev_span())
    }

    /// Consumes the current token and returns its span. The end of the file is never consumed.
    fn bump(&mut self) -> Span {
        let span = self.span();
        if !self.at(TokenKind::Eof) {
            self.pos += 1;
        }
        span
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Returns whether the current token is the first of its line.
    fn at_line_start(&self) -> bool {
        !self.sources.ends_on_line_of(self.prev_span(), self.span())
    }

    /// Runs `f` in a scope of its own.
    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.names.push();
        let result = f(self);
        self.names.pop();
        result
    }

    /// Runs `f` one level deeper, and grows the stack if necessary.
    fn nest<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= ast::DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let result = stacker::maybe_grow(64 * 1024, 1024 * 1024, || f(self));
        self.depth -= 1;
        result
    }

    /// Runs `f`, which builds a chain that nests to the left by calling [`Parser::wrap`].
    fn chain<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.deepest, self.depth);
        let result = f(self);
        self.deepest = self.deepest.max(outer);
        result
    }

    /// Within [`Parser::chain`]: moves the operands read so far one level down while `f` reads the next one.
    fn wrap<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let pushed = self.deepest + 1;
        if pushed > ast::DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.deepest = self.depth;
        let result = f(self);
        self.deepest = self.deepest.max(pushed);
        result
    }

    /// Runs `f` with `>` closing type arguments (within `<...>`) or being an operator (within other brackets).
    fn with_gt<T>(&mut self, closes: bool, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.gt_closes, closes);
        let result = f(self);
        self.gt_closes = outer;
        result
    }
}

// Errors.
impl Parser<'_> {
    /// Reports an error unless one was already reported for this token (here or by the lexer).
    fn report(&mut self, d: Diagnostic) {
        if self.stopped || self.error_pos == Some(self.pos) {
            return;
        }
        self.error_pos = Some(self.pos);
        if self.at(TokenKind::Unknown) {
            return;
        }
        self.n_errors += 1;
        if self.n_errors < SYNTAX_ERRORS_MAX {
            self.diags.push(d);
        } else {
            let n = SYNTAX_ERRORS_MAX - 1;
            let d = Diagnostic::new(&codes::TOO_MANY_ERRORS, self.span(), "too many syntax errors")
                .label("reading stopped here")
                .note(format!("after {n} syntax errors the rest of the program is not read"));
            self.diags.push(d);
            self.abandon();
        }
    }

    /// Reports that the construct at the cursor is misplaced. In a run of such constructs, which a surplus or
    /// missing brace causes, only the first is reported; [`Parser::end_misplaced`] must follow each.
    fn report_misplaced(&mut self, d: Diagnostic) {
        if self.misplaced_until != Some(self.pos) {
            self.report(d);
        }
    }

    /// Ends a misplaced construct; one that begins at the same position continues the run.
    fn end_misplaced(&mut self) {
        self.misplaced_until = Some(self.pos);
    }

    fn fail<T>(&mut self, d: Diagnostic) -> Parse<T> {
        self.report(d);
        Err(Stop)
    }

    /// Creates an error at the current token.
    fn here(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.span(), message)
    }

    /// Skips the rest of the input.
    fn abandon(&mut self) {
        self.stopped = true;
        self.pos = self.tokens.len().saturating_sub(1);
        if self.tokens.last().is_some_and(|t| t.kind != TokenKind::Eof) {
            self.pos = self.tokens.len();
        }
    }

    fn too_deep(&mut self) -> Stop {
        let d = Diagnostic::new(&codes::TOO_DEEP, self.span(), "the program is nested too deeply")
            .label("the limit is reached here")
            .note(format!(
                "brackets, blocks, `else if` chains and operator chains may nest to {} levels",
                ast::DEPTH_MAX
            ))
            .help("split the expression with variables or constants, or move blocks to actions or functions");
        if !self.stopped {
            self.diags.push(d);
            self.abandon();
        }
        Stop
    }

    /// Describes the current token for messages.
    fn found(&self) -> String {
        describe(self.tok())
    }

    fn expected<T>(&mut self, what: &str) -> Parse<T> {
        let d = self
            .here(&codes::UNEXPECTED_TOKEN, format!("expected {what}, found {}", self.found()))
            .label(if self.at(TokenKind::Eof) {
                "the file ends here".into()
            } else {
                format!("expected {what}")
            });
        self.fail(d)
    }

    fn expect(&mut self, kind: TokenKind, after: &str) -> Parse<Span> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        let what = kind.as_str();
        let d = self
            .here(&codes::UNEXPECTED_TOKEN, format!("expected `{what}` {after}, found {}", self.found()))
            .label(format!("expected `{what}`"));
        self.fail(d)
    }

    /// Parses the token that closes `open`.
    fn close(&mut self, kind: TokenKind, open: Span) -> Parse<Span> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        if let Some(d) = self.foreign_syntax() {
            return self.fail(d.also(open, "inside this"));
        }
        let what = kind.as_str();
        let ended = matches!(
            self.kind(),
            TokenKind::Eof | TokenKind::Semicolon | TokenKind::RBrace | TokenKind::LBrace | TokenKind::RParen
        ) || starts_declaration(self.kind());
        if ended {
            let opener = self.sources.text(open);
            let opener = if opener.is_empty() { "bracket" } else { opener };
            let d = self
                .here(&codes::UNCLOSED, format!("expected `{what}`, found {}", self.found()))
                .label(format!("expected `{what}` before this"))
                .also(open, format!("this `{opener}` is not closed"))
                .fix(format!("add `{what}`"), self.prev_span().shrink_to_hi(), what);
            return self.fail(d);
        }
        let d = self
            .here(&codes::UNEXPECTED_TOKEN, format!("expected `{what}`, found {}", self.found()))
            .label(format!("expected `{what}` or an operator"))
            .also(open, "to close this");
        self.fail(d)
    }

    /// Parses a terminating `;`. A missing one before a new line is reported without failing.
    fn semicolon(&mut self, after: &str) -> Parse<()> {
        if self.eat(TokenKind::Semicolon) {
            return Ok(());
        }
        if self.at(TokenKind::Unknown) {
            return Err(Stop);
        }
        if let Some(d) = self.foreign_syntax() {
            return self.fail(d);
        }
        let missing = matches!(self.kind(), TokenKind::RBrace | TokenKind::Eof)
            || starts_declaration(self.kind())
            || starts_statement(self.kind())
            || self.at_line_start();
        let at = self.prev_span().shrink_to_hi();
        if missing {
            let d = Diagnostic::new(&codes::MISSING_SEMICOLON, at, format!("expected `;` {after}"))
                .label("expected `;`")
                .fix("add `;`", at, ";");
            self.report(d);
            return Ok(());
        }
        let d = self
            .here(&codes::UNEXPECTED_TOKEN, format!("expected `;` {after}, found {}", self.found()))
            .label("expected `;` or an operator");
        self.fail(d)
    }

    /// Parses a name: an identifier or a keyword that is reserved only in its own context.
    fn name(&mut self, what: &str) -> Parse<Ident> {
        if self.at_name() {
            return Ok(self.take_word());
        }
        let kind = self.kind();
        if kind == TokenKind::Underscore || kind.is_keyword() && self.name_ends(1) {
            let message = match kind {
                TokenKind::Underscore => format!("`_` cannot be the name of {what}"),
                _ => format!("the keyword `{}` cannot be the name of {what}", kind.as_str()),
            };
            let d = self
                .here(&codes::NOT_A_NAME, message)
                .label(if kind == TokenKind::Underscore { "not a name" } else { "a reserved word" })
                .help("choose another name");
            self.report(d);
            // The intent is clear, so parsing continues as if the word were a name.
            return Ok(self.take_word());
        }
        self.expected(&format!("the name of {what}"))
    }

    /// Returns whether a name is plausible just before the token `n` tokens ahead.
    fn name_ends(&self, n: usize) -> bool {
        use TokenKind::*;
        matches!(
            self.kind_at(n),
            LParen | RParen | Semicolon | Comma | Assign | LBrace | LBracket | Lt | Gt | Colon | Dot | RBrace
        )
    }

    fn at_name(&self) -> bool {
        is_name(self.kind())
    }

    /// Consumes the current token, of any kind, as a name.
    fn take_word(&mut self) -> Ident {
        let t = self.tok();
        let name = if t.text.is_empty() { SmolStr::new_static(t.kind.as_str()) } else { t.text.clone() };
        Ident { name, span: self.bump() }
    }
}

// Lists and recovery.
impl Parser<'_> {
    /// Parses `item, item, ...` up to but without `close`. A bad item is skipped.
    fn comma_list<T>(
        &mut self,
        close: TokenKind,
        trailing: TrailingComma,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut items = Vec::new();
        if self.at(close) {
            return Ok(items);
        }
        loop {
            match item(self) {
                Ok(i) => items.push(i),
                Err(Stop) => {
                    self.skip_to(&[TokenKind::Comma, TokenKind::Semicolon, close]);
                    if !self.at(TokenKind::Comma) && !self.at(close) {
                        return Err(Stop);
                    }
                }
            }
            if !self.at(TokenKind::Comma) {
                return Ok(items);
            }
            let comma = self.bump();
            if self.at(close) {
                if trailing == TrailingComma::Forbidden {
                    let d = self
                        .here(
                            &codes::TRAILING_COMMA,
                            format!("expected another element before `{}`", close.as_str()),
                        )
                        .label("expected an element")
                        .also(comma, "after this comma")
                        .fix("remove the comma", comma, "");
                    self.report(d);
                }
                return Ok(items);
            }
        }
    }

    /// Skips to one of `stops` at this level of nesting, or to a bracket that closes an outer level.
    fn skip_to(&mut self, stops: &[TokenKind]) {
        loop {
            let kind = self.kind();
            if stops.contains(&kind) {
                return;
            }
            match kind {
                TokenKind::Eof | TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket => return,
                TokenKind::LBrace | TokenKind::LParen | TokenKind::LBracket => self.skip_group(),
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Skips a bracketed group. One that is not closed ends before the first `;`, declaration, or closing
    /// brace that is indented less than the line of the opening one.
    fn skip_group(&mut self) {
        let indentation = self.indentation(self.span());
        let mut open: Vec<TokenKind> = Vec::new();
        loop {
            let kind = self.kind();
            match kind {
                TokenKind::Eof => return,
                TokenKind::LBrace => open.push(TokenKind::RBrace),
                TokenKind::LParen => open.push(TokenKind::RParen),
                TokenKind::LBracket => open.push(TokenKind::RBracket),
                TokenKind::RBrace if self.at_line_start() && self.indentation(self.span()) < indentation => {
                    return;
                }
                // A stray brace within parentheses.
                TokenKind::RBrace if !open.contains(&kind) && !self.at_line_start() => {}
                TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket => {
                    while open.last().is_some_and(|k| *k != kind && *k != TokenKind::RBrace) {
                        open.pop();
                    }
                    if open.last() == Some(&kind) {
                        open.pop();
                    } else if open.is_empty() {
                        return;
                    }
                    if open.is_empty() {
                        self.bump();
                        return;
                    }
                }
                TokenKind::Semicolon => {
                    while open.last().is_some_and(|k| *k != TokenKind::RBrace) {
                        open.pop();
                    }
                    if open.is_empty() {
                        return;
                    }
                }
                _ => {
                    if starts_toplevel(kind) {
                        return;
                    }
                }
            }
            self.bump();
        }
    }

    /// Skips after an error in a statement or declaration that began at token `start`: to just after its `;`
    /// or `{...}`, or to the clear beginning of another one.
    fn resynchronise(&mut self, start: usize) {
        if self.stopped {
            return;
        }
        // Scans again from the start, to see the brackets that the broken construct left open.
        let fault = self.pos.max(start + 1);
        self.pos = start;
        loop {
            let past = self.pos >= fault;
            match self.kind() {
                TokenKind::Eof => return,
                TokenKind::RBrace if past => return,
                TokenKind::Semicolon => {
                    self.bump();
                    if self.pos >= fault {
                        return;
                    }
                }
                TokenKind::LBrace => {
                    self.skip_group();
                    if self.pos >= fault && !self.at(TokenKind::Else) {
                        self.eat(TokenKind::Semicolon);
                        return;
                    }
                }
                TokenKind::LParen | TokenKind::LBracket => self.skip_group(),
                k if past && (starts_declaration(k) || starts_statement(k)) && self.at_line_start() => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// `{ item item ... }`, each item with its own recovery.
    fn braced<T>(
        &mut self,
        items: Items,
        after: &str,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let open = self.open_block(after)?;
        let mut found = Vec::new();
        while !self.at_block_end(items, open) {
            let start = self.pos;
            match item(self) {
                Ok(i) => found.push(i),
                Err(Stop) => self.resynchronise(start),
            }
        }
        self.close_block(open);
        Ok(found)
    }

    /// Parses `{`. If it is missing but its contents seem to follow, the error is reported without failing.
    fn open_block(&mut self, after: &str) -> Parse<Span> {
        use TokenKind::*;
        if self.at(LBrace) {
            return Ok(self.bump());
        }
        let at = self.prev_span().shrink_to_hi();
        let contents_follow = match self.kind() {
            Semicolon | Comma | Colon | Assign | Dot | Eof => false,
            LParen | RParen | LBracket | RBracket | Lt | Gt => false,
            k if starts_toplevel(k) => false,
            k => self.at_line_start() || is_name(k) || starts_statement(k) || k == Bit,
        };
        if !contents_follow || self.at(Unknown) {
            return self.expect(LBrace, after);
        }
        let d = Diagnostic::new(&codes::UNEXPECTED_TOKEN, at, format!("expected `{{` {after}"))
            .label("expected `{`")
            .fix("add `{`", at, " {");
        self.report(d);
        Ok(self.prev_span())
    }

    /// Returns whether the block ends: at `}`, at the end of the file, or at a declaration that is invalid in
    /// this block and not indented more than the line of `open`, which shows a missing brace.
    fn at_block_end(&self, items: Items, open: Span) -> bool {
        use TokenKind::*;
        let alien = match self.kind() {
            RBrace | Eof => return true,
            k if starts_toplevel(k) => true,
            _ if items == Items::Declarations => false,
            State | Table => is_name(self.kind_at(1)) && self.kind_at(2) == LBrace,
            Action => true,
            Apply => self.kind_at(1) == LBrace,
            Const | ValueSet if items == Items::Fields => true,
            Const | Key | Actions | Entries | Ident if items == Items::InTable => {
                self.kind_at(1 + usize::from(self.at(Const))) == Assign
            }
            _ => false,
        };
        alien
            && match (self.indentation(self.span()), self.indentation(open)) {
                (Some(here), Some(outer)) => here <= outer,
                _ => false,
            }
    }

    /// Returns the number of white-space characters before the first token of the line.
    fn indentation(&self, span: Span) -> Option<usize> {
        let r = self.sources.resolve(span)?;
        let file = self.sources.file(r.file);
        let text = file.line_text(file.line_index(r.lo));
        Some(text.chars().take_while(|c| c.is_whitespace()).count())
    }

    /// Parses `}`. A missing one is reported without failing.
    fn close_block(&mut self, open: Span) {
        if self.eat(TokenKind::RBrace) {
            return;
        }
        if self.stopped || self.error_pos == Some(self.pos) {
            return;
        }
        // The search is slow, and useless after many errors.
        let likely = if self.n_errors < 10 { self.likely_unclosed(open) } else { None };
        let (open, close) = match likely {
            Some((open, close)) => (open, Some(close)),
            None => (open, None),
        };
        let mut d = Diagnostic::new(&codes::UNCLOSED, open, "this `{` is never closed").label("opened here");
        if let Some(close) = close {
            d = d.also(close, "this `}` is indented like the end of something further out");
        }
        d = d.also(
            self.span(),
            match self.kind() {
                TokenKind::Eof => "the file ends here".to_string(),
                k => format!("`{}` cannot stand within", k.as_str()),
            },
        );
        self.report(d.help("add the missing `}`"));
    }

    /// Returns the first brace since the unclosed `open` whose `}` is indented less than the brace itself.
    fn likely_unclosed(&self, open: Span) -> Option<(Span, Span)> {
        let start = self.tokens.get(..self.pos)?.iter().rposition(|t| t.span == open)?;
        let mut opened: Vec<Span> = Vec::new();
        for pair in self.tokens.get(start..self.pos)?.windows(2) {
            let [before, t] = pair else { continue };
            match t.kind {
                TokenKind::LBrace => opened.push(t.span),
                TokenKind::RBrace => {
                    let inner = opened.pop()?;
                    let line = |span| self.sources.locate(span).map(|l| l.end_line);
                    let first_of_line = line(before.span) != line(t.span);
                    if first_of_line && self.indentation(t.span) < self.indentation(inner) {
                        return Some((inner, t.span));
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn declare_object(&mut self, name: &Ident) {
        self.names.declare(&name.name, NameKind::Object);
    }

    fn declare_type(&mut self, name: &Ident) {
        self.names.declare(&name.name, NameKind::Type);
    }
}

fn describe(t: &Token) -> String {
    match t.kind {
        TokenKind::Ident | TokenKind::Int | TokenKind::Unknown => format!("`{}`", t.text),
        TokenKind::Str => "a string".to_string(),
        TokenKind::Eof => "the end of the file".to_string(),
        TokenKind::EndPragma => "the end of the `@pragma` line".to_string(),
        k if k.is_keyword() => format!("keyword `{}`", k.as_str()),
        k => format!("`{}`", k.as_str()),
    }
}

/// Returns whether the grammar's `name` accepts the token: identifiers and some keywords.
fn is_name(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(kind, Ident | Actions | Apply | Entries | Key | Priority | State | Type | List)
}

/// Returns whether the word begins a declaration that only the top level allows.
fn starts_toplevel(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(kind, Control | Parser | Header | HeaderUnion | Struct | Enum | Extern | Package | Typedef)
}

/// Returns whether the word begins a declaration at any level.
fn starts_declaration(kind: TokenKind) -> bool {
    use TokenKind::*;
    starts_toplevel(kind) || matches!(kind, Action | Table | Const | ValueSet | State | Apply)
}

fn starts_statement(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(kind, If | Return | Exit | Switch | For | Break | Continue | Transition)
}
