//! The raw lexer: cuts the text of one file into tokens, white space, comments and line breaks.
//!
//! It is lossless: the concatenated raw tokens are the text. It reports no errors; broken tokens are kinds of
//! their own, and [`lexical_error`] makes the message when a token is used. The preprocessor and the
//! formatter are built on it.

use crate::codes;
use crate::token::TokenKind;
use diagnostics::{Diagnostic, Span};
use smol_str::SmolStr;
use std::borrow::Cow;

/// Kind of a raw token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawKind {
    /// Blanks, tabs and similar characters, without line breaks.
    Space,
    /// One line break.
    Newline,
    /// A backslash and the line break that it removes.
    Splice,
    LineComment,
    BlockComment,
    /// A token of P4. `Token(Unknown)` is a character that begins no token.
    Token(TokenKind),
    /// Digits and letters that are not an integer of P4; see [`split_number`].
    Number,
    /// `#`: a directive at the start of a line, an operator in a macro body.
    Hash,
    /// `##`
    HashHash,
    /// A comment that runs to the end of the text.
    UnterminatedComment,
    /// A string that runs to the end of the text, or of the line, depending on [`Quotes`].
    UnterminatedString,
}

/// A piece of text, by byte offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawToken {
    pub kind: RawKind,
    pub lo: u32,
    pub hi: u32,
    /// True if a backslash-newline is inside an identifier or number: [`RawToken::spelling`] removes it.
    pub spliced: bool,
}

impl RawToken {
    pub fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.lo as usize..self.hi as usize).unwrap_or("")
    }

    /// Returns the text without backslash-newlines.
    pub fn spelling<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let t = self.text(text);
        if self.spliced { Cow::Owned(remove_splices(t)) } else { Cow::Borrowed(t) }
    }

    /// Returns whether the token is white space, a comment or a line break.
    pub fn is_trivia(&self) -> bool {
        use RawKind::*;
        match self.kind {
            Space | Newline | Splice | LineComment | BlockComment | UnterminatedComment => true,
            Token(_) | Number | Hash | HashHash | UnterminatedString => false,
        }
    }
}

/// Interpretation of quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quotes {
    /// A string may extend over several lines, as in P4 (section 6.4.3.3).
    ManyLines,
    /// A string that is still open at the end of its line ends there. The C preprocessor reads strings this way.
    OneLine,
    /// The text of a string that began on an earlier line, as the C preprocessor reads it: like `OneLine`, `'` is a
    /// quote, too, and letters and dots that follow a digit belong to the number.
    Inside,
}

/// The lexer: an iterator, cheap to copy for looking ahead.
#[derive(Clone)]
pub struct Lexer<'a> {
    text: &'a str,
    pos: usize,
    pub quotes: Quotes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Blank,
    Newline,
    Word,
    Digit,
}

const CLASS: [Class; 256] = {
    let mut t = [Class::Other; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        t[i] = match b {
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => Class::Blank,
            b'\n' => Class::Newline,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Word,
            b'0'..=b'9' => Class::Digit,
            _ => Class::Other,
        };
        i += 1;
    }
    t
};

fn is_word(b: u8) -> bool {
    matches!(CLASS[b as usize], Class::Word | Class::Digit)
}

impl<'a> Lexer<'a> {
    /// Creates a lexer for one file. It ignores text beyond [`crate::limits::FILE_BYTES_MAX`], which callers
    /// refuse first.
    pub fn new(text: &'a str) -> Lexer<'a> {
        let mut end = text.len().min(crate::limits::FILE_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Lexer { text: &text[..end], pos: 0, quotes: Quotes::ManyLines }
    }

    /// Byte offset of the next raw token.
    pub fn pos(&self) -> u32 {
        self.pos as u32
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Continues at `pos`, which must be a position between characters.
    pub fn seek(&mut self, pos: u32) {
        if self.text.is_char_boundary(pos as usize) {
            self.pos = pos as usize;
        }
    }

    fn at(&self, offset: usize) -> u8 {
        self.text.as_bytes().get(self.pos + offset).copied().unwrap_or(0)
    }

    /// Returns the length of a backslash-newline at `at`, 0 if there is none.
    fn splice_len(&self, at: usize) -> usize {
        match self.text.as_bytes().get(at..) {
            Some([b'\\', b'\n', ..]) => 2,
            Some([b'\\', b'\r', b'\n', ..]) => 3,
            _ => 0,
        }
    }

    /// Skips the rest of a line in a false conditional group, including the line break. Comments are
    /// recognised (an `#endif` inside one is ignored), strings only within the line.
    pub fn skip_line(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&b) = bytes.get(self.pos) {
            match b {
                b'\n' => {
                    self.pos += 1;
                    return;
                }
                b'\\' => self.pos += self.splice_len(self.pos).max(1),
                b'/' if self.at(1) == b'*' => {
                    self.next();
                }
                b'/' if self.at(1) == b'/' => {
                    self.next();
                }
                b'"' => {
                    let quotes = std::mem::replace(&mut self.quotes, Quotes::OneLine);
                    self.next();
                    self.quotes = quotes;
                }
                _ => self.pos += 1,
            }
        }
    }

    /// Returns the offset of the end of this logical line (of its line break), without moving.
    pub fn line_end(&self) -> u32 {
        let bytes = self.text.as_bytes();
        let mut at = self.pos;
        while at < bytes.len() && bytes[at] != b'\n' {
            at += self.splice_len(at).max(1);
        }
        at as u32
    }

    /// Consumes letters, digits and backslash-newlines between them. Returns whether there was a
    /// backslash-newline.
    fn take_word(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let mut spliced = false;
        loop {
            while self.pos < bytes.len() && is_word(bytes[self.pos]) {
                self.pos += 1;
            }
            let mut after = self.pos;
            while self.splice_len(after) > 0 {
                after += self.splice_len(after);
            }
            if after == self.pos || !bytes.get(after).is_some_and(|b| is_word(*b)) {
                return spliced;
            }
            spliced = true;
            self.pos = after;
        }
    }

    fn line_comment(&mut self) -> RawKind {
        self.pos = self.line_end() as usize;
        if self.text.as_bytes()[self.pos - 1] == b'\r' {
            self.pos -= 1;
        }
        RawKind::LineComment
    }

    fn block_comment(&mut self) -> RawKind {
        match self.text[self.pos + 2..].find("*/") {
            Some(n) => {
                self.pos += n + 4;
                RawKind::BlockComment
            }
            None => {
                self.pos = self.text.len();
                RawKind::UnterminatedComment
            }
        }
    }

    /// Reads a string. It ends at the first quote that an even number of backslashes precedes (section
    /// 6.4.3.3).
    fn string(&mut self) -> RawKind {
        let bytes = self.text.as_bytes();
        self.pos += 1;
        while let Some(&b) = bytes.get(self.pos) {
            match b {
                b'"' => {
                    self.pos += 1;
                    return RawKind::Token(TokenKind::Str);
                }
                b'\n' if self.quotes != Quotes::ManyLines => {
                    if bytes[self.pos - 1] == b'\r' {
                        self.pos -= 1;
                    }
                    return RawKind::UnterminatedString;
                }
                b'\\' => {
                    // The character after it may be longer than a byte, but none of its bytes is special.
                    self.pos += self.splice_len(self.pos).max(1);
                    if matches!(bytes.get(self.pos), Some(b'"' | b'\\')) && bytes[self.pos - 1] == b'\\' {
                        self.pos += 1;
                    }
                }
                _ => self.pos += 1,
            }
        }
        RawKind::UnterminatedString
    }

    /// A character constant of C, which ends with its line at the latest.
    fn character_constant(&mut self) -> RawKind {
        let bytes = self.text.as_bytes();
        self.pos += 1;
        while let Some(&b) = bytes.get(self.pos) {
            match b {
                b'\'' => {
                    self.pos += 1;
                    break;
                }
                b'\n' => break,
                b'\r' if bytes.get(self.pos + 1) == Some(&b'\n') => break,
                b'\\' => {
                    let splice = self.splice_len(self.pos);
                    self.pos += splice.max(1);
                    if splice == 0 && matches!(bytes.get(self.pos), Some(b'\'' | b'\\')) {
                        self.pos += 1;
                    }
                }
                _ => self.pos += 1,
            }
        }
        RawKind::Token(TokenKind::Unknown)
    }

    /// A preprocessing number of C: digits, letters, dots, and signs after an exponent's letter.
    fn preprocessing_number(&mut self) -> RawKind {
        let bytes = self.text.as_bytes();
        let lo = self.pos;
        while let Some(&b) = bytes.get(self.pos) {
            let sign = matches!(b, b'+' | b'-')
                && self.pos > lo
                && matches!(bytes[self.pos - 1], b'e' | b'E' | b'p' | b'P');
            if !(is_word(b) || b == b'.' || sign) {
                break;
            }
            self.pos += 1;
        }
        RawKind::Number
    }

    /// Reads characters that begin no token; a run of non-ASCII characters is one token.
    fn unknown(&mut self) -> RawKind {
        let mut chars = self.text[self.pos..].chars();
        let first = chars.next();
        self.pos += first.map_or(1, char::len_utf8);
        if first.is_some_and(char::is_alphanumeric) {
            self.pos +=
                chars.take_while(|c| !c.is_ascii() && c.is_alphanumeric()).map(char::len_utf8).sum::<usize>();
        }
        RawKind::Token(TokenKind::Unknown)
    }

    fn other(&mut self, first: u8) -> RawKind {
        match (first, self.at(1)) {
            (b'/', b'/') => return self.line_comment(),
            (b'/', b'*') => return self.block_comment(),
            (b'"', _) => return self.string(),
            (b'\'', _) if self.quotes == Quotes::Inside => return self.character_constant(),
            (b'.', b'0'..=b'9') if self.quotes == Quotes::Inside => return self.preprocessing_number(),
            (b'#', next) => {
                self.pos += if next == b'#' { 2 } else { 1 };
                return if next == b'#' { RawKind::HashHash } else { RawKind::Hash };
            }
            (b'\\', _) if self.splice_len(self.pos) > 0 => {
                self.pos += self.splice_len(self.pos);
                return RawKind::Splice;
            }
            // A byte order mark at the very start.
            (0xef, 0xbb) if self.pos == 0 && self.text.starts_with('\u{feff}') => {
                self.pos = 3;
                return RawKind::Space;
            }
            (b'@', b'p') => {
                let rest = &self.text.as_bytes()[self.pos..];
                if rest.starts_with(b"@pragma") && !rest.get(7).is_some_and(|b| is_word(*b)) {
                    self.pos += 7;
                    return RawKind::Token(TokenKind::Pragma);
                }
            }
            _ => {}
        }
        match punctuation(first, self.at(1), self.at(2), self.at(3)) {
            Some((kind, len)) => {
                self.pos += len;
                RawKind::Token(kind)
            }
            None => self.unknown(),
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = RawToken;

    fn next(&mut self) -> Option<RawToken> {
        let bytes = self.text.as_bytes();
        let lo = self.pos;
        let first = *bytes.get(lo)?;
        let mut spliced = false;
        let kind = match CLASS[first as usize] {
            Class::Word => {
                spliced = self.take_word();
                let raw = RawToken { kind: RawKind::Hash, lo: lo as u32, hi: self.pos as u32, spliced };
                RawKind::Token(word_kind(&raw.spelling(self.text)))
            }
            Class::Blank => {
                self.pos += 1;
                while self.pos < bytes.len() && CLASS[bytes[self.pos] as usize] == Class::Blank {
                    self.pos += 1;
                }
                // The carriage return of a line break belongs to the break.
                if bytes[self.pos - 1] == b'\r' && bytes.get(self.pos) == Some(&b'\n') {
                    if self.pos - 1 == lo {
                        self.pos += 1;
                        RawKind::Newline
                    } else {
                        self.pos -= 1;
                        RawKind::Space
                    }
                } else {
                    RawKind::Space
                }
            }
            Class::Newline => {
                self.pos += 1;
                RawKind::Newline
            }
            Class::Digit if self.quotes == Quotes::Inside => self.preprocessing_number(),
            Class::Digit => {
                spliced = self.take_word();
                let raw = RawToken { kind: RawKind::Number, lo: lo as u32, hi: self.pos as u32, spliced };
                number_kind(&raw.spelling(self.text))
            }
            Class::Other => self.other(first),
        };
        Some(RawToken { kind, lo: lo as u32, hi: self.pos as u32, spliced })
    }
}

/// Returns the kind of a word: keyword, `_` or identifier.
pub fn word_kind(word: &str) -> TokenKind {
    // All keywords are lower-case and short; most identifiers fail one of the two.
    match word.as_bytes() {
        [b'_'] => TokenKind::Underscore,
        [b'a'..=b'z', ..] if (2..=12).contains(&word.len()) => {
            TokenKind::keyword(word).unwrap_or(TokenKind::Ident)
        }
        _ => TokenKind::Ident,
    }
}

fn number_kind(text: &str) -> RawKind {
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'_') || integer_len(text) == Ok(text.len()) {
        RawKind::Token(TokenKind::Int)
    } else {
        RawKind::Number
    }
}

/// Returns the length of the leading digits of `base` and underscores, and whether there is a digit among
/// them.
fn digits(text: &str, base: u32) -> (usize, bool) {
    let n = text.bytes().take_while(|b| *b == b'_' || (*b as char).is_digit(base)).count();
    (n, text.bytes().take(n).any(|b| b != b'_'))
}

/// Returns the length of the leading integer literal (section 6.4.3.2), or the reason why it is invalid.
fn integer_len(text: &str) -> Result<usize, String> {
    let n_width = text.bytes().take_while(u8::is_ascii_digit).count();
    let (width, value) = match text.as_bytes().get(n_width) {
        Some(b'w' | b's') => (n_width + 1, &text[n_width + 1..]),
        _ => (0, text),
    };
    let (base, name) = match value.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, "hexadecimal"),
        [b'0', b'o' | b'O', ..] => (8, "octal"),
        [b'0', b'd' | b'D', ..] => (10, "decimal"),
        [b'0', b'b' | b'B', ..] => (2, "binary"),
        _ => {
            let (n, any) = digits(value, 10);
            return match (width, any) {
                // `10s`: the integer 10 and the word `s`.
                (1.., false) => Ok(n_width),
                _ => Ok(width + n),
            };
        }
    };
    let (n, any) = digits(&value[2..], base);
    match value[2 + n..].chars().next() {
        Some(c) => Err(format!("`{c}` is not a {name} digit")),
        None if !any => Err(format!("a {name} digit is missing after `{}`", &value[..2])),
        None => Ok(width + 2 + n),
    }
}

/// Splits a [`RawKind::Number`]: returns the length of the leading integer if the rest may be a token of its
/// own (`10ms` in an annotation), otherwise the error in the literal.
pub fn split_number(text: &str) -> Result<usize, String> {
    integer_len(text).map(|n| n.clamp(1, text.len().max(1)))
}

fn punctuation(b0: u8, b1: u8, b2: u8, b3: u8) -> Option<(TokenKind, usize)> {
    use TokenKind::*;
    Some(match (b0, b1, b2) {
        (b'(', ..) => (LParen, 1),
        (b')', ..) => (RParen, 1),
        (b'[', ..) => (LBracket, 1),
        (b']', ..) => (RBracket, 1),
        (b'{', b'#', b'}') => (Invalid, 3),
        (b'{', ..) => (LBrace, 1),
        (b'}', ..) => (RBrace, 1),
        (b';', ..) => (Semicolon, 1),
        (b':', ..) => (Colon, 1),
        (b',', ..) => (Comma, 1),
        (b'?', ..) => (Question, 1),
        (b'@', ..) => (At, 1),
        (b'~', ..) => (Tilde, 1),
        (b'.', b'.', b'.') => (Dots, 3),
        (b'.', b'.', _) => (DotDot, 2),
        (b'.', ..) => (Dot, 1),
        (b'=', b'=', _) => (EqEq, 2),
        (b'=', ..) => (Assign, 1),
        (b'!', b'=', _) => (Ne, 2),
        (b'!', ..) => (Not, 1),
        (b'>', b'=', _) => (Ge, 2),
        (b'>', ..) => (Gt, 1),
        (b'<', b'<', b'=') => (ShlAssign, 3),
        (b'<', b'<', _) => (Shl, 2),
        (b'<', b'=', _) => (Le, 2),
        (b'<', ..) => (Lt, 1),
        (b'&', b'&', b'&') => (Mask, 3),
        (b'&', b'&', _) => (AndAnd, 2),
        (b'&', b'=', _) => (AndAssign, 2),
        (b'&', ..) => (Amp, 1),
        (b'|', b'+', b'|') if b3 == b'=' => (AddSatAssign, 4),
        (b'|', b'-', b'|') if b3 == b'=' => (SubSatAssign, 4),
        (b'|', b'+', b'|') => (AddSat, 3),
        (b'|', b'-', b'|') => (SubSat, 3),
        (b'|', b'|', _) => (OrOr, 2),
        (b'|', b'=', _) => (OrAssign, 2),
        (b'|', ..) => (Pipe, 1),
        (b'+', b'+', _) => (PlusPlus, 2),
        (b'+', b':', _) => (PlusColon, 2),
        (b'+', b'=', _) => (AddAssign, 2),
        (b'+', ..) => (Plus, 1),
        (b'-', b'=', _) => (SubAssign, 2),
        (b'-', ..) => (Minus, 1),
        (b'*', b'=', _) => (MulAssign, 2),
        (b'*', ..) => (Star, 1),
        (b'/', b'=', _) => (DivAssign, 2),
        (b'/', ..) => (Slash, 1),
        (b'%', b'=', _) => (ModAssign, 2),
        (b'%', ..) => (Percent, 1),
        (b'^', b'=', _) => (XorAssign, 2),
        (b'^', ..) => (Caret, 1),
        _ => return None,
    })
}

pub(crate) fn remove_splices(text: &str) -> String {
    text.replace("\\\r\n", "").replace("\\\n", "")
}

/// The content of a string literal given with its quotes: `\"`, `\\`, `\n`, `\r` and `\t` are resolved,
/// backslash-newlines removed, other backslashes kept (section 6.4.3.3 leaves them to the back ends).
pub fn unescape(literal: &str) -> SmolStr {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return SmolStr::new(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (shown, n) = match after.as_bytes() {
            [b'"', ..] => ("\"", 1),
            [b'\\', ..] => ("\\", 1),
            [b'n', ..] => ("\n", 1),
            [b'r', ..] => ("\r", 1),
            [b't', ..] => ("\t", 1),
            [b'\n', ..] => ("", 1),
            [b'\r', b'\n', ..] => ("", 2),
            _ => ("\\", 0),
        };
        out.push_str(shown);
        rest = &after[n..];
    }
    out.push_str(rest);
    SmolStr::new(out)
}

/// Returns the literal, with quotes, whose content is `content`: the inverse of [`unescape`].
pub fn escape(content: &str) -> String {
    let mut out = String::with_capacity(content.len() + 2);
    out.push('"');
    for c in content.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the message for a broken raw token at `span`; `None` for valid ones.
pub fn lexical_error(raw: RawKind, spelling: &str, span: Span) -> Option<Diagnostic> {
    match raw {
        RawKind::Token(TokenKind::Unknown) => Some(unknown_character(spelling, span)),
        RawKind::Hash | RawKind::HashHash => Some(
            Diagnostic::new(&codes::UNKNOWN_CHARACTER, span, format!("`{spelling}` begins no token"))
                .label("not the start of a line")
                .note("`#` begins a preprocessor directive only as the first character of a line."),
        ),
        RawKind::UnterminatedComment => Some(
            Diagnostic::new(
                &codes::UNTERMINATED_COMMENT,
                Span::new(span.lo, span.lo + 2),
                "comment without end",
            )
            .label("the comment begins here")
            .help("close it with `*/`"),
        ),
        RawKind::UnterminatedString => Some(
            Diagnostic::new(
                &codes::UNTERMINATED_STRING,
                Span::new(span.lo, span.lo + 1),
                "string without closing quote",
            )
            .label("the string begins here")
            .help("close it with `\"`; a quote inside a string is written `\\\"`"),
        ),
        RawKind::Number => match split_number(spelling) {
            Ok(_) => None,
            Err(why) => Some(
                Diagnostic::new(
                    &codes::MALFORMED_INTEGER,
                    span,
                    format!("`{spelling}` is not an integer literal"),
                )
                .label(why),
            ),
        },
        RawKind::Token(_)
        | RawKind::Space
        | RawKind::Newline
        | RawKind::Splice
        | RawKind::LineComment
        | RawKind::BlockComment => None,
    }
}

fn unknown_character(spelling: &str, span: Span) -> Diagnostic {
    let c = spelling.chars().next().unwrap_or('\0');
    let code = format!("U+{:04X}", c as u32);
    let named = match c {
        '\0' => format!("NUL character ({code})"),
        '\u{a0}' => format!("no-break space ({code})"),
        '\u{feff}' => format!("byte order mark ({code})"),
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => {
            format!("invisible character ({code})")
        }
        '\u{fffd}' => format!("replacement character ({code})"),
        c if c.is_control() => format!("control character ({code})"),
        c if c.is_ascii() => format!("character `{c}`"),
        c if spelling.chars().count() == 1 => format!("character `{c}` ({code})"),
        _ => format!("characters `{spelling}`"),
    };
    let d = Diagnostic::new(&codes::UNKNOWN_CHARACTER, span, format!("unexpected {named}"));
    let meant = match c {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        '\u{d7}' => Some("*"),
        '\u{37e}' | '\u{ff1b}' => Some(";"),
        '\u{ff0c}' => Some(","),
        '\u{ff08}' => Some("("),
        '\u{ff09}' => Some(")"),
        '\u{a0}' => Some(" "),
        '\u{2260}' => Some("!="),
        '\u{2264}' => Some("<="),
        '\u{2265}' => Some(">="),
        _ => None,
    };
    let d = match meant {
        Some(t) => d.label("begins no token").fix(format!("write `{t}` instead"), span, t),
        None => d.label("begins no token"),
    };
    match c {
        '\'' => d.help("strings stand between double quotes in P4"),
        '$' | '`' | '\\' => d,
        c if c.is_control() || ('\u{200b}'..='\u{2069}').contains(&c) => d.help("delete it"),
        c if c.is_alphabetic() => {
            d.note("Identifiers consist of ASCII letters, digits and `_` (P4-16 section 6.4.1).")
        }
        _ => d,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(RawKind, &str)> {
        Lexer::new(text).filter(|r| !r.is_trivia()).map(|r| (r.kind, r.text(text))).collect()
    }

    #[test]
    fn punctuation_is_the_longest_match_of_the_token_table() {
        for (spelling, kind) in TokenKind::PUNCTUATION {
            let expected = match kind {
                TokenKind::Underscore | TokenKind::Pragma => *kind,
                k => {
                    let b = |i: usize| spelling.as_bytes().get(i).copied().unwrap_or(0);
                    assert_eq!(punctuation(b(0), b(1), b(2), b(3)), Some((*k, spelling.len())), "{spelling}");
                    *k
                }
            };
            assert_eq!(kinds(spelling), vec![(RawKind::Token(expected), *spelling)]);
        }
        let t = "a>>b>>=c{#}{ # }|+|=";
        let found: Vec<&str> = kinds(t).into_iter().map(|k| k.1).collect();
        assert_eq!(found, ["a", ">", ">", "b", ">", ">=", "c", "{#}", "{", "#", "}", "|+|="]);
    }

    #[test]
    fn every_keyword_is_a_keyword() {
        for w in ["bit", "header_union", "in", "value_set", "match_kind", "this"] {
            assert_eq!(word_kind(w).as_str(), w);
        }
        assert_eq!(word_kind("Bit"), TokenKind::Ident);
        assert_eq!(word_kind("__"), TokenKind::Ident);
    }

    #[test]
    fn integers_and_almost_integers() {
        for ok in ["0", "1_000", "8w0xFF", "4s0b10", "0o17", "0D19", "8w0b_1010_1010", "16w0377", "32w0d255"]
        {
            assert_eq!(kinds(ok), vec![(RawKind::Token(TokenKind::Int), ok)], "{ok}");
        }
        for bad in ["0xG", "0b12", "8w0x", "0o8", "0x_"] {
            assert_eq!(kinds(bad)[0].0, RawKind::Number, "{bad}");
            assert!(lexical_error(RawKind::Number, bad, Span::new(1, 3)).is_some(), "{bad}");
        }
        assert_eq!(split_number("10ms"), Ok(2));
        assert_eq!(split_number("10s"), Ok(2));
        assert_eq!(split_number("8w5x"), Ok(3));
        assert_eq!(kinds("1..5").len(), 3);
    }

    #[test]
    fn strings_and_escapes() {
        let s = r#""a \" b\\" x"#;
        assert_eq!(kinds(s)[0], (RawKind::Token(TokenKind::Str), r#""a \" b\\""#));
        assert_eq!(unescape(r#""a \" b\\""#), "a \" b\\");
        assert_eq!(unescape("\"a\\\nb\\q\""), "ab\\q");
        assert_eq!(unescape(&escape("x\n\"\\y\t")), "x\n\"\\y\t");
        assert_eq!(kinds("\"two\nlines\"").len(), 1);
        assert_eq!(kinds("\"open")[0].0, RawKind::UnterminatedString);
        assert_eq!(kinds("/* open").len(), 0);
    }

    #[test]
    fn backslash_newlines_vanish() {
        let t = "bi\\\nt a\\\r\nb // c \\\n d\nx";
        let words: Vec<String> =
            Lexer::new(t).filter(|r| !r.is_trivia()).map(|r| r.spelling(t).into_owned()).collect();
        assert_eq!(words, ["bit", "ab", "x"]);
        assert_eq!(Lexer::new(t).next().map(|r| r.kind), Some(RawKind::Token(TokenKind::Bit)));
    }

    #[test]
    fn raw_tokens_cover_the_text() {
        let t = "\u{feff}x\u{a0}\u{4e2d}\u{6587} \0 @pragma @pragmatic \r\n\\ 'q' $ /**/";
        let mut at = 0;
        for r in Lexer::new(t) {
            assert_eq!(r.lo, at);
            assert!(r.hi > r.lo);
            at = r.hi;
        }
        assert_eq!(at as usize, t.len());
        let unknown = Lexer::new(t).filter(|r| r.kind == RawKind::Token(TokenKind::Unknown)).count();
        assert_eq!(unknown, 7);
    }
}
