//! Words, numbers and signs of one line.

use crate::codes;
use crate::script::Form;
use diagnostics::{Diagnostic, Span};

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// Without the quotes.
    Quoted(&'a str),
    /// Begins with a digit or `*`; whether it is a number is not decided yet.
    Number(&'a str),
    Sign(&'static str),
    /// A character that means nothing here.
    Other(char),
    /// End of the line, or its comment.
    End,
}

impl Token<'_> {
    /// For messages.
    pub(super) fn describe(self) -> String {
        match self {
            Token::Word(text) | Token::Number(text) => format!("`{}`", shorten(text)),
            Token::Quoted(text) => format!("`\"{}\"`", shorten(text)),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Other(c) => format!("`{}`", c.escape_debug()),
            Token::End => "the end of the line".to_string(),
        }
    }
}

/// Messages are for reading.
pub(super) fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// The text before its comment. A `#` in quotes begins none.
fn without_comment(text: &str) -> &str {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            '#' if !is_quoted => return &text[..at],
            '"' if !is_escaped => is_quoted = !is_quoted,
            _ => {}
        }
        is_escaped = c == '\\' && is_quoted && !is_escaped;
    }
    text
}

/// Longer ones first.
const SIGNS: &[&str] =
    &["&&&", "==", "!=", "<=", ">=", "..", "<", ">", ":", ",", ".", "[", "]", "(", ")", "=", "/"];

/// A place in a line.
#[derive(Clone)]
pub(super) struct Line<'a> {
    /// Without the line break.
    text: &'a str,
    /// Global position of the first byte.
    base: u32,
    form: Form,
    pos: usize,
    /// End of the last token that was taken.
    last_end: usize,
}

pub(super) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

pub(super) fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

fn is_word_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

impl<'a> Line<'a> {
    pub(super) fn new(text: &'a str, base: u32, form: Form) -> Line<'a> {
        Line { text, base, form, pos: 0, last_end: 0 }
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    pub(super) fn span(&self, lo: usize, hi: usize) -> Span {
        Span::new(self.base + lo as u32, self.base + hi as u32)
    }

    /// From a place that [`Line::start`] gave to the end of the last token.
    pub(super) fn span_from(&self, lo: usize) -> Span {
        self.span(lo, self.last_end.max(lo))
    }

    /// Just behind the last token that was taken.
    pub(super) fn end_of_last(&self) -> Span {
        self.span(self.last_end, self.last_end)
    }

    /// Start of the next token; blanks before it are skipped.
    pub(super) fn start(&mut self) -> usize {
        let rest = &self.text[self.pos..];
        self.pos += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\u{feff}']).len();
        self.pos
    }

    /// The rest of the line without its comment, for data that is no tokens, and where it begins.
    pub(super) fn rest(&mut self) -> (&'a str, usize) {
        let lo = self.start();
        let rest = &self.text[lo..];
        (without_comment(rest).trim_end(), lo)
    }

    /// Takes what [`Line::rest`] gave.
    pub(super) fn take_rest(&mut self) {
        let (rest, lo) = self.rest();
        self.last_end = lo + rest.len();
        self.pos = self.text.len();
    }

    /// Takes the next `len` bytes, whatever tokens they are.
    pub(super) fn take(&mut self, len: usize) -> Span {
        let lo = self.start();
        self.pos = lo + len;
        self.last_end = self.pos;
        self.span(lo, self.pos)
    }

    /// The next token and where it stands; an error for an open quote.
    fn scan(&mut self) -> Result<(Token<'a>, usize, usize)> {
        let lo = self.start();
        let rest = &self.text[lo..];
        let until = |wanted: fn(char) -> bool| rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        let (token, len) = match rest.chars().next() {
            None | Some('#') => (Token::End, 0),
            Some('"') => match rest[1..].find('"') {
                Some(len) => (Token::Quoted(&rest[1..1 + len]), len + 2),
                None => {
                    let span = self.span(lo, lo + rest.trim_end().len());
                    let diagnostic =
                        Diagnostic::new(&codes::UNTERMINATED_NAME, span, "a quoted name does not end")
                            .label("begins here")
                            .help("close it with `\"` on the same line");
                    return Err(Box::new(diagnostic));
                }
            },
            Some(c) if is_word_start(c) => {
                let len = until(is_word_part);
                (Token::Word(&rest[..len]), len)
            }
            Some(c) if c.is_ascii_digit() || c == '*' => {
                let len = until(|c| is_word_part(c) || c == '*');
                (Token::Number(&rest[..len]), len)
            }
            Some(c) => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => (Token::Other(c), c.len_utf8()),
            },
        };
        Ok((token, lo, lo + len))
    }

    /// The next token without taking it.
    pub(super) fn peek(&mut self) -> Result<Token<'a>> {
        Ok(self.scan()?.0)
    }

    /// The token after the next one.
    pub(super) fn peek_second(&self) -> Result<Token<'a>> {
        let mut ahead = self.clone();
        ahead.next()?;
        ahead.peek()
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, Span)> {
        let (token, lo, hi) = self.scan()?;
        self.pos = hi;
        self.last_end = if token == Token::End { self.last_end } else { hi };
        Ok((token, self.span(lo, hi)))
    }

    /// Takes the sign if it is next.
    pub(super) fn eat(&mut self, sign: &'static str) -> Result<bool> {
        let found = self.peek()? == Token::Sign(sign);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// The message that something else should stand here.
    pub(super) fn unexpected<T>(&mut self, expected: &str) -> Result<T> {
        let (token, mut span) = self.next()?;
        if token == Token::End {
            // Point just behind what is there, not at a comment.
            span = self.end_of_last();
        }
        let message = format!("expected {expected}, found {}", token.describe());
        Err(Box::new(
            Diagnostic::new(&codes::UNEXPECTED, span, message).label(format!("expected {expected}")),
        ))
    }

    pub(super) fn expect_sign(&mut self, sign: &'static str) -> Result<()> {
        if self.eat(sign)? { Ok(()) } else { self.unexpected(&format!("`{sign}`")) }
    }

    /// Nothing more may stand in the line.
    pub(super) fn expect_end(&mut self) -> Result<()> {
        match self.peek()? {
            Token::End => Ok(()),
            _ => self.unexpected("the end of the line"),
        }
    }
}
