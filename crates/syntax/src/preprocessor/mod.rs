//! The preprocessor: converts files to the tokens that the parser reads.
//!
//! It works on tokens throughout; there is no intermediate text. It accepts the language of `cpp -undef
//! -nostdinc -x assembler-with-cpp`, the usual preprocessor of P4 programs: more than the specification
//! requires (section 6.2), and lenient about stray `#` lines.
//!
//! Key types: [`Preprocessor`] holds the state of a run, [`Source`] that of one file, [`Tok`] is a token that
//! may still be expanded or pasted.
//!
//! Start reading at [`preprocess`] and `Preprocessor::run_file`; directives are in `directive.rs`, macro
//! definitions in `macros.rs`, expansion in `expand.rs`, `#if` expressions in `condition.rs`.

mod condition;
mod directive;
mod expand;
mod macros;
mod open_text;
mod print;

pub use print::print_preprocessed;

use crate::lexer::{self, Lexer, Quotes, RawKind, RawToken};
use crate::token::{Token, TokenKind};
use crate::{Loader, MacroOption, Options, codes, limits};
use diagnostics::{Diagnostic, Diagnostics, FileId, SourceMap, Span};
use macros::MacroTable;
use open_text::OpenText;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::sync::Arc;

/// Preprocesses the main file `name` and all that it includes. The last token is always `Eof`.
///
/// Files and expansions are registered in `sources`, messages are added to `diags`. [`limits`] bounds the
/// work for any input.
pub fn preprocess(
    name: &str,
    text: impl Into<Arc<str>>,
    loader: &dyn Loader,
    options: &Options,
    sources: &mut SourceMap,
    diags: &mut Diagnostics,
) -> Vec<Token> {
    let text: Arc<str> = text.into();
    let mut p = Preprocessor {
        loader,
        sources,
        diags,
        out: Vec::with_capacity((text.len() / 6).min(limits::TOKENS_MAX)),
        macros: MacroTable::new(),
        n_lexical_errors: 0,
        n_errors: 0,
        n_warnings: 0,
        n_includes: 0,
        expansion_budget: limits::EXPANSION_TOKENS_MAX,
        stopped: false,
        in_pragma: false,
        annotation: Annotation::None,
        collecting: None,
        open: None,
        once: FxHashSet::default(),
    };
    let main = p.add_file(name, text, None, false);
    if !options.macros.is_empty() {
        let text: String = options.macros.iter().map(command_line_directive).collect();
        if let Some(file) = p.add_file("<command line>", text.into(), None, false) {
            p.run_file(file, 0);
        }
    }
    if let Some(main) = main {
        p.run_file(main, 0);
        let end = p.sources.file(main).text.len() as u32;
        let span = p.sources.span(main, end, end);
        p.out.push(Token { kind: TokenKind::Eof, span, text: SmolStr::default(), joined: false });
    } else {
        p.out.push(Token { kind: TokenKind::Eof, span: Span::NONE, text: SmolStr::default(), joined: false });
    }
    p.out
}

fn command_line_directive(option: &MacroOption) -> String {
    let one_line = |s: &str| s.replace(['\n', '\r'], " ");
    match option {
        MacroOption::Define(name, value) => format!("#define {} {}\n", one_line(name), one_line(value)),
        MacroOption::Undefine(name) => format!("#undef {}\n", one_line(name)),
    }
}

/// A token inside the preprocessor.
#[derive(Clone, Debug)]
struct Tok {
    /// `Token`, `Number`, `Hash`, `HashHash`, `UnterminatedString`; `Space` for an empty operand of `##`; comments
    /// inside open text.
    kind: RawKind,
    span: Span,
    /// The spelling (strings with their quotes); empty for keywords and punctuation.
    text: SmolStr,
    /// True if white space precedes the token.
    space: bool,
    /// True at the beginning or behind the end of an expansion: never joined to the token before.
    fresh: bool,
    /// True if the token names a macro that was being expanded when it was produced: never expanded again.
    painted: bool,
}

impl Tok {
    fn new(kind: RawKind, span: Span, text: SmolStr) -> Tok {
        Tok { kind, span, text, space: false, fresh: false, painted: false }
    }

    fn from_raw(raw: &RawToken, text: &str, span: Span) -> Tok {
        let spelling = match raw.kind {
            RawKind::Token(TokenKind::Ident | TokenKind::Int | TokenKind::Str | TokenKind::Unknown)
            | RawKind::Number
            | RawKind::LineComment
            | RawKind::BlockComment
            | RawKind::UnterminatedString => SmolStr::new(raw.spelling(text)),
            RawKind::Token(_)
            | RawKind::Space
            | RawKind::Newline
            | RawKind::Splice
            | RawKind::Hash
            | RawKind::HashHash
            | RawKind::UnterminatedComment => SmolStr::default(),
        };
        Tok::new(raw.kind, span, spelling)
    }

    fn spelling(&self) -> &str {
        match self.kind {
            RawKind::Token(k) if self.text.is_empty() => k.as_str(),
            RawKind::Hash => "#",
            RawKind::HashHash => "##",
            _ => &self.text,
        }
    }

    /// Returns the name, if the token could name a macro.
    fn word(&self) -> Option<&str> {
        match self.kind {
            RawKind::Token(TokenKind::Ident) => Some(&self.text),
            RawKind::Token(k) if k.is_keyword() || k == TokenKind::Underscore => Some(k.as_str()),
            _ => None,
        }
    }

    fn is(&self, kind: TokenKind) -> bool {
        self.kind == RawKind::Token(kind)
    }
}

/// An open `#if` of a file.
struct Condition {
    span: Span,
    /// True if one of its groups was or is being read.
    taken: bool,
    seen_else: Option<Span>,
}

/// The state of one file that is being read.
struct Source<'a> {
    lexer: Lexer<'a>,
    file: FileId,
    /// Global position of the first byte.
    start: u32,
    depth: usize,
    /// True while the line has only white space and comments.
    at_line_start: bool,
    /// True if the latest token is the first of its line.
    begins_line: bool,
    /// Offset of the first token of the line, or of an earlier one if macro arguments reach over the line.
    line_begin: u32,
    /// Number of line breaks that comments behind `line_begin` have written.
    n_breaks_written: usize,
    /// If the token read last begins its line: the text from the beginning of the line before to this token, and how
    /// many of its line breaks are written.
    line_gap: (std::ops::Range<u32>, usize),
    conditions: Vec<Condition>,
    /// Name in `__FILE__`; `#line` changes it.
    presumed: Arc<str>,
}

impl Source<'_> {
    fn span(&self, lo: u32, hi: u32) -> Span {
        Span::new(self.start + lo, self.start + hi)
    }

    /// Records that a token was read. The first token of a line begins a line of the output, too, if it is
    /// outside of macro arguments.
    fn token_read(&mut self, raw: &RawToken, outside_arguments: bool) {
        self.begins_line = self.at_line_start && outside_arguments;
        self.at_line_start = false;
        if self.begins_line {
            self.line_gap = (self.line_begin..raw.lo, std::mem::take(&mut self.n_breaks_written));
            self.line_begin = raw.lo;
        }
    }

    /// Records the line breaks of a comment, except those that a backslash removes.
    fn comment_written(&mut self, raw: &RawToken) {
        let text = lexer::remove_splices(raw.text(self.lexer.text()));
        self.n_breaks_written += text.bytes().filter(|b| *b == b'\n').count();
    }

    fn raw_span(&self, raw: &RawToken) -> Span {
        self.span(raw.lo, raw.hi)
    }

    fn tok(&self, raw: &RawToken, space: bool) -> Tok {
        Tok { space, ..Tok::from_raw(raw, self.lexer.text(), self.raw_span(raw)) }
    }
}

/// Progress in an unstructured annotation: any character may occur in `@name(...)` (section 20.1), and the
/// parser takes it literally.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Annotation {
    None,
    At,
    Name,
    /// In the body, within that many parentheses.
    Body(u32),
}

impl Annotation {
    pub(crate) fn after(self, kind: TokenKind) -> Annotation {
        match (self, kind) {
            (Annotation::Body(n), TokenKind::LParen) => Annotation::Body(n.saturating_add(1)),
            (Annotation::Body(n), TokenKind::RParen) if n > 1 => Annotation::Body(n - 1),
            (Annotation::Body(_), TokenKind::RParen) => Annotation::None,
            (Annotation::Body(n), _) => Annotation::Body(n),
            (Annotation::Name, TokenKind::LParen) => Annotation::Body(1),
            (Annotation::At, k) if k == TokenKind::Ident || k.is_keyword() => Annotation::Name,
            (_, TokenKind::At) => Annotation::At,
            _ => Annotation::None,
        }
    }
}

struct Preprocessor<'a> {
    loader: &'a dyn Loader,
    sources: &'a mut SourceMap,
    diags: &'a mut Diagnostics,
    out: Vec<Token>,
    macros: MacroTable,
    n_lexical_errors: usize,
    n_errors: usize,
    n_warnings: usize,
    n_includes: usize,
    /// Number of tokens that expansion may still produce.
    expansion_budget: usize,
    /// True after a limit was hit: no more tokens are read.
    stopped: bool,
    in_pragma: bool,
    annotation: Annotation,
    /// The macro use whose arguments are being read.
    collecting: Option<Span>,
    /// A string or comment that began on an earlier line and has not ended yet.
    open: Option<OpenText>,
    /// Files with `#pragma once`.
    once: FxHashSet<String>,
}

impl Preprocessor<'_> {
    fn add_file(
        &mut self,
        name: &str,
        text: Arc<str>,
        included_from: Option<Span>,
        is_system: bool,
    ) -> Option<FileId> {
        let len = text.len();
        let file = if len > limits::FILE_BYTES_MAX {
            None
        } else {
            self.sources.add_file(name, text, included_from, is_system)
        };
        if file.is_none() {
            self.report(
                Diagnostic::new(
                    &codes::SOURCE_TOO_LARGE,
                    included_from.unwrap_or(Span::NONE),
                    format!("`{name}` ({len} bytes) is too large"),
                )
                .note(format!(
                    "One file may have {} bytes, all files together somewhat less than 4 GiB.",
                    limits::FILE_BYTES_MAX
                )),
            );
        }
        file
    }

    /// Reads one file to its end.
    fn run_file(&mut self, file: FileId, depth: usize) {
        let (text, start) = {
            let f = self.sources.file(file);
            (f.text.clone(), f.start)
        };
        let mut src = Source {
            lexer: Lexer::new(&text),
            file,
            start,
            depth,
            at_line_start: true,
            begins_line: false,
            line_begin: 0,
            n_breaks_written: 0,
            line_gap: (0..0, 0),
            conditions: Vec::new(),
            presumed: self.sources.file(file).name.as_str().into(),
        };
        let (mut fresh, mut space) = (true, false);
        let mut expanded = Vec::new();
        while let Some(mut tok) = self.next_from_source(&mut src) {
            tok.fresh |= std::mem::take(&mut fresh);
            tok.space |= std::mem::take(&mut space);
            if self.open.is_some() && src.begins_line {
                self.begin_line_of_open_text(&src, &mut tok);
            }
            match tok.word().and_then(|w| self.macros.get(w)) {
                None => self.emit(tok),
                Some(m) => {
                    let at = tok.span;
                    space = self.expand_in_source(tok, m, &mut src, &mut expanded);
                    for t in expanded.drain(..) {
                        if self.open.is_some() {
                            self.spend(t.spelling().len() / expand::BYTES_PER_TOKEN, at);
                        }
                        self.emit(t);
                    }
                    fresh = true;
                }
            }
            if self.out.len() > limits::TOKENS_MAX {
                self.too_many_tokens();
            }
        }
        let end = src.span(text.len() as u32, text.len() as u32);
        self.close_open_text(end);
        self.end_pragma(end);
        if !self.stopped {
            for c in &src.conditions {
                self.report(
                    Diagnostic::new(&codes::CONDITION_UNTERMINATED, c.span, "condition without `#endif`")
                        .label("begins here")
                        .help("close it with `#endif` in the same file"),
                );
            }
        }
    }

    fn too_many_tokens(&mut self) {
        if self.stopped {
            return;
        }
        self.stopped = true;
        let span = self.out.last().map_or(Span::NONE, |t| t.span);
        self.report(
            Diagnostic::new(&codes::TOO_MANY_TOKENS, span, "the program has too many tokens")
                .label("the limit is reached here")
                .note(format!("A program may have {} tokens after preprocessing.", limits::TOKENS_MAX)),
        );
    }

    /// Returns the next token of the file after executing the directives before it. `None` at the end of the
    /// file.
    fn next_from_source(&mut self, src: &mut Source) -> Option<Tok> {
        let mut space = false;
        while !self.stopped {
            src.lexer.quotes = match (&self.open, self.collecting) {
                (Some(_), _) => Quotes::Inside,
                (None, Some(_)) => Quotes::ManyLines,
                (None, None) => Quotes::OneLine,
            };
            let raw = src.lexer.next()?;
            match raw.kind {
                RawKind::LineComment | RawKind::BlockComment if self.open.is_some() => {
                    src.token_read(&raw, self.collecting.is_none());
                    src.comment_written(&raw);
                    let mut tok = src.tok(&raw, space);
                    if raw.kind == RawKind::LineComment && self.collecting.is_some() {
                        tok.text = format!("/*{}*/", &tok.text[2..]).into();
                    }
                    return Some(tok);
                }
                RawKind::Space | RawKind::LineComment => space = true,
                RawKind::Splice => {}
                RawKind::Newline => {
                    space = true;
                    src.at_line_start = true;
                    if self.ends_pragma() {
                        self.end_pragma(src.raw_span(&raw));
                    }
                }
                RawKind::BlockComment => {
                    space = true;
                    if self.collecting.is_none() && raw.text(src.lexer.text()).contains('\n') {
                        src.comment_written(&raw);
                        // A comment over several lines ends the line of a pragma, like in p4c.
                        if self.ends_pragma() {
                            self.end_pragma(src.raw_span(&raw));
                        }
                    }
                }
                RawKind::UnterminatedComment => self.report_lexical(raw.kind, "", src.raw_span(&raw)),
                RawKind::Hash | RawKind::HashHash if self.is_hash_line(src, &raw) => {
                    self.directive(src, &raw);
                    space = true;
                    src.at_line_start = true;
                }
                RawKind::Token(_)
                | RawKind::Number
                | RawKind::Hash
                | RawKind::HashHash
                | RawKind::UnterminatedString => {
                    src.token_read(&raw, self.collecting.is_none());
                    return Some(src.tok(&raw, space));
                }
            }
        }
        None
    }

    /// Returns whether the `#` or `##` just read begins a line that is executed or ignored. Inside a string,
    /// a line without a directive is text.
    fn is_hash_line(&self, src: &Source, raw: &RawToken) -> bool {
        let is_hash = raw.kind == RawKind::Hash;
        src.at_line_start
            && match (&self.open, self.collecting) {
                (Some(_), _) => is_hash && directive::is_directive(&src.lexer),
                (None, Some(_)) => is_hash,
                (None, None) => true,
            }
    }

    /// Passes a finished token to the parser.
    fn emit(&mut self, tok: Tok) {
        if self.open.is_some() {
            return self.emit_open_text(&tok);
        }
        let joined = !(tok.space || tok.fresh && self.would_merge(&tok));
        let kind = match tok.kind {
            RawKind::UnterminatedString => return self.open_string(&tok, joined),
            RawKind::Token(TokenKind::Unknown) | RawKind::Hash | RawKind::HashHash => {
                let free = matches!(self.annotation, Annotation::Body(_)) || self.in_pragma;
                if !free {
                    self.report_lexical(tok.kind, tok.spelling(), tok.span);
                }
                let text = SmolStr::new(tok.spelling());
                self.out.push(Token { kind: TokenKind::Unknown, span: tok.span, text, joined });
                return;
            }
            RawKind::Token(k) => k,
            RawKind::Number => return self.emit_number(tok, joined),
            RawKind::Space
            | RawKind::Newline
            | RawKind::Splice
            | RawKind::LineComment
            | RawKind::BlockComment
            | RawKind::UnterminatedComment => return,
        };
        self.in_pragma |= kind == TokenKind::Pragma;
        self.annotation = self.annotation.after(kind);
        let text = if kind == TokenKind::Str { lexer::unescape(&tok.text) } else { tok.text };
        self.out.push(Token { kind, span: tok.span, text, joined });
    }

    /// Returns whether the token, written right after the last one, might be lexed as one token with it.
    fn would_merge(&self, tok: &Tok) -> bool {
        let is_word = |k: TokenKind| {
            k.is_keyword() || matches!(k, TokenKind::Ident | TokenKind::Int | TokenKind::Underscore)
        };
        let brackets = |k: TokenKind| {
            use TokenKind::*;
            matches!(k, LParen | RParen | LBracket | RBracket | LBrace | RBrace | Semicolon | Comma | Str)
        };
        let (Some(last), RawKind::Token(kind)) = (self.out.last(), tok.kind) else { return true };
        !brackets(last.kind) && !brackets(kind) && is_word(last.kind) == is_word(kind)
    }

    /// Emits digits and letters that are not an integer: two tokens (`10ms`), or an error (`0xZ`).
    fn emit_number(&mut self, tok: Tok, joined: bool) {
        match lexer::split_number(&tok.text) {
            Err(_) => {
                self.report_lexical(tok.kind, &tok.text, tok.span);
                self.out.push(Token { kind: TokenKind::Unknown, span: tok.span, text: tok.text, joined });
            }
            Ok(n) => {
                let mut at = 0;
                let (int, rest) = tok.text.split_at(n);
                let mut push = |kind, text: &str, joined| {
                    let lo = tok.span.lo + at;
                    at += text.len() as u32;
                    let span = Span::new(lo, (lo + text.len() as u32).min(tok.span.hi));
                    self.out.push(Token { kind, span, text: SmolStr::new(text), joined });
                };
                push(TokenKind::Int, int, joined);
                if !rest.is_empty() {
                    push(TokenKind::Ident, rest, true);
                }
            }
        }
    }

    /// Returns whether the end of a line ends a pragma.
    fn ends_pragma(&self) -> bool {
        self.in_pragma && self.collecting.is_none() && self.open.is_none()
    }

    fn end_pragma(&mut self, at: Span) {
        if std::mem::take(&mut self.in_pragma) {
            let span = at.shrink_to_lo();
            self.out.push(Token {
                kind: TokenKind::EndPragma,
                span,
                text: SmolStr::default(),
                joined: false,
            });
        }
    }

    /// Adds a message, up to a limit on errors and on warnings.
    fn report(&mut self, d: Diagnostic) {
        let n = if d.is_error() { &mut self.n_errors } else { &mut self.n_warnings };
        *n += 1;
        if *n <= limits::PREPROCESSOR_MESSAGES_MAX {
            self.diags.push(d);
        }
    }

    /// Reports a broken token, up to a limit (in a binary file, for example).
    fn report_lexical(&mut self, kind: RawKind, spelling: &str, span: Span) {
        if self.n_lexical_errors < limits::SYNTAX_ERRORS_MAX
            && let Some(d) = lexer::lexical_error(kind, spelling, span)
        {
            self.n_lexical_errors += 1;
            self.report(d);
        }
    }
}
