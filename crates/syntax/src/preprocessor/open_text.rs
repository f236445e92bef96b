//! Strings that extend over several lines.
//!
//! p4c runs the C preprocessor before its own lexer. To the C preprocessor a string ends with its line at the latest,
//! so the lines inside a longer string are ordinary lines to it: directives are obeyed, macros are expanded, and blanks
//! between tokens shrink to one. Programs rely on this; in SONiC's, `#if` selects lines of a constraint that is written
//! as one string. P4's lexer reads the text that comes out, and there the string ends at the next quote.
//!
//! The module does both steps for such strings. [`OpenText`] collects the text that the C preprocessor would write and
//! ends at the quote that ends the string for P4. That quote is often in the middle of a token of the C preprocessor:
//! to it, `") @id(NAME)` is one more unterminated string, in which `NAME` is not expanded. The rest of such a token is
//! cut into P4 tokens as it stands.
//!
//! One thing is different on purpose: the C preprocessor writes a line marker (`# 12 "file"`) where more than eight lines
//! are missing, also inside a string, which it thereby ends. Here the line breaks are written, however many.

use super::{Preprocessor, Source, Tok};
use crate::lexer::{self, Lexer, RawKind};
use crate::token::{Token, TokenKind};
use diagnostics::Span;
use smol_str::SmolStr;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Comment,
}

/// A string, or a comment that began on the line where such a string ended, as far as it was read.
pub(super) struct OpenText {
    kind: Kind,
    /// Span of its first token.
    span: Span,
    /// True if no white space precedes it.
    joined: bool,
    /// Text read so far, from the opening quote on, without backslash-newlines.
    text: String,
    /// Length of the part of `text` that was searched for the end.
    n_searched: usize,
    /// The last token on this line, if there is one.
    last: Option<Tok>,
}

impl OpenText {
    pub(super) fn begins_at(&self) -> Span {
        self.span
    }

    /// Returns the length of `text` up to and including the end of the string or comment.
    fn end(&mut self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.n_searched;
        while at < bytes.len() {
            at += match (self.kind, bytes[at], bytes.get(at + 1)) {
                (Kind::String, b'"', _) => return Some(at + 1),
                (Kind::Comment, b'*', Some(b'/')) => return Some(at + 2),
                // The next token decides.
                (Kind::String, b'\\', None) | (Kind::Comment, b'*', None) => break,
                (Kind::String, b'\\', Some(b'"' | b'\\')) => 2,
                _ => 1,
            };
        }
        self.n_searched = at;
        None
    }
}

impl Preprocessor<'_> {
    /// Begins a string with a token in which it does not end.
    pub(super) fn open_string(&mut self, tok: &Tok, joined: bool) {
        self.open_text(Kind::String, tok.span, joined, lexer::remove_splices(tok.spelling()));
        if let Some(open) = &mut self.open {
            open.last = Some(tok.clone());
        }
    }

    fn open_text(&mut self, kind: Kind, span: Span, joined: bool, text: String) {
        // Behind the quote, or behind `/*`.
        let n_searched = if kind == Kind::String { 1 } else { 2 };
        self.open = Some(OpenText { kind, span, joined, text, n_searched, last: None });
    }

    /// Writes the line breaks and the indentation before `tok`, the first token of a line of `src`.
    pub(super) fn begin_line_of_open_text(&mut self, src: &Source, tok: &mut Tok) {
        let Some(open) = &mut self.open else { return };
        let text = src.lexer.text();
        let (gap, n_written) = &src.line_gap;
        let before = text.get(..gap.end as usize).unwrap_or("");
        let n_breaks = before
            .bytes()
            .skip(gap.start as usize)
            .filter(|b| *b == b'\n')
            .count()
            .saturating_sub(*n_written);
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        open.text.extend(std::iter::repeat_n('\n', n_breaks));
        // The last blank is the white space before the token; a macro that expands to nothing passes it on.
        open.text.extend(std::iter::repeat_n(' ', column.saturating_sub(1)));
        tok.space = column > 0;
        open.last = None;
    }

    /// Adds a token to the open text; if the text ends in it, continues with the rest of the token.
    pub(super) fn emit_open_text(&mut self, tok: &Tok) {
        let Some(open) = &mut self.open else { return };
        let merges = || match &open.last {
            Some(last) => would_merge(last, tok),
            None => tok.kind == RawKind::Hash,
        };
        if tok.space || tok.fresh && merges() {
            open.text.push(' ');
        }
        let begin = open.text.len();
        let spelling = lexer::remove_splices(tok.spelling());
        open.text.push_str(&spelling);
        let Some(end) = open.end() else {
            open.last = Some(tok.clone());
            return;
        };
        let Some(open) = self.open.take() else { return };
        // Number of bytes of the token in the text. The end of the text may follow a backslash that is a
        // token of its own.
        let taken = end.saturating_sub(begin);
        let exact = self.sources.text(tok.span) == spelling;
        if open.kind == Kind::String {
            let hi = if exact { tok.span.lo + taken as u32 } else { tok.span.hi };
            let literal = &open.text[..end];
            let text = lexer::unescape(literal);
            let span = open.span.to(Span::new(tok.span.lo, hi));
            if self.sources.text(span) != literal {
                self.sources.add_literal(span, literal);
            }
            self.annotation = self.annotation.after(TokenKind::Str);
            self.out.push(Token { kind: TokenKind::Str, span, text, joined: open.joined });
        }
        self.lex_rest(tok.span, exact, &spelling, taken, open.kind == Kind::Comment);
    }

    /// Emits the text behind byte `taken` of a token as tokens of P4. No macros are expanded.
    fn lex_rest(&mut self, span: Span, exact: bool, text: &str, taken: usize, mut space: bool) {
        let mut lexer = Lexer::new(text);
        lexer.seek(taken as u32);
        for raw in lexer {
            let at = if exact { Span::new(span.lo + raw.lo, span.lo + raw.hi) } else { span };
            match raw.kind {
                RawKind::Space
                | RawKind::Newline
                | RawKind::Splice
                | RawKind::LineComment
                | RawKind::BlockComment => space = true,
                // Both run to the end of the text, so nothing follows.
                RawKind::UnterminatedComment => {
                    self.open_text(Kind::Comment, at, false, raw.text(text).to_string());
                }
                RawKind::UnterminatedString => {
                    self.open_text(Kind::String, at, !space, raw.text(text).to_string());
                }
                RawKind::Token(_) | RawKind::Number | RawKind::Hash | RawKind::HashHash => {
                    self.emit(Tok { space: std::mem::take(&mut space), ..Tok::from_raw(&raw, text, at) });
                }
            }
        }
    }

    /// Reports a string or comment that is open at the end of its file, which is at `end`.
    pub(super) fn close_open_text(&mut self, end: Span) {
        let Some(open) = self.open.take() else { return };
        match open.kind {
            Kind::String => {
                self.report_lexical(RawKind::UnterminatedString, "", open.span);
                let (kind, text) = (TokenKind::Unknown, SmolStr::new(&open.text));
                self.out.push(Token { kind, span: open.span.to(end), text, joined: open.joined });
            }
            Kind::Comment => self.report_lexical(RawKind::UnterminatedComment, "", open.span),
        }
    }
}

/// Returns whether the text is `'x'`, rather than a quote whose end is missing.
fn is_character_constant(text: &str) -> bool {
    text.len() > 1 && text.starts_with('\'') && text.ends_with('\'')
}

/// Returns whether the C preprocessor writes a blank between two tokens that an expansion has made adjacent,
/// because it would otherwise lex them as one.
fn would_merge(left: &Tok, right: &Tok) -> bool {
    #[derive(PartialEq)]
    enum Class {
        Name,
        Number,
        String,
        Character,
        Other,
    }
    let class = |t: &Tok| match t.kind {
        _ if t.word().is_some() => Class::Name,
        RawKind::Token(TokenKind::Int) | RawKind::Number => Class::Number,
        RawKind::Token(TokenKind::Str) => Class::String,
        RawKind::Token(TokenKind::Unknown) if is_character_constant(t.spelling()) => Class::Character,
        _ => Class::Other,
    };
    let right_class = class(right);
    // The first character of an operator.
    let next = match (right.kind, right_class == Class::Other) {
        (RawKind::LineComment | RawKind::BlockComment, _) | (_, false) => '\0',
        _ => right.spelling().chars().next().unwrap_or('\0'),
    };
    match class(left) {
        Class::Name => matches!(right_class, Class::Name | Class::String | Class::Character),
        Class::Number => {
            matches!(right_class, Class::Name | Class::Number | Class::Character)
                || matches!(next, '.' | '+' | '-')
        }
        Class::String | Class::Character => false,
        Class::Other => match left.spelling() {
            "=" | "!" | "^" | "*" => next == '=',
            ">" => matches!(next, '=' | '>'),
            "<" => matches!(next, '=' | '<' | '%' | ':'),
            "+" => matches!(next, '=' | '+'),
            "-" => matches!(next, '=' | '-' | '>'),
            "/" => matches!(next, '=' | '/' | '*'),
            "%" => matches!(next, '=' | ':' | '%'),
            "&" | "&&&" => matches!(next, '=' | '&'),
            "|" | "|+|" | "|-|" => matches!(next, '=' | '|'),
            "<<" => next == '=',
            ":" | "+:" => matches!(next, ':' | '>'),
            "." | ".." => matches!(next, '.' | '%') || right_class == Class::Number,
            "#" => matches!(next, '#' | '%'),
            _ => false,
        },
    }
}
