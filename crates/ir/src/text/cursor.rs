//! Reads a text from left to right.

use super::TextError;
use super::names::is_word_char;
use super::words::{Word, from_word};
use crate::Bits;
use arch::Architecture;
use num_bigint::BigUint;

pub(super) type Result<T> = std::result::Result<T, Error>;

/// A syntax error, with its position in bytes.
#[derive(Debug)]
pub(super) struct Error {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Error {
    pub(super) fn locate(self, text: &str) -> TextError {
        let before = &text[..self.at.min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        TextError {
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
            message: self.message,
        }
    }
}

/// The widest constant that a text may contain; wider ones are mistakes that would fill the memory.
const WIDTH_BITS_MAX: u32 = 1 << 20;

/// A name and which of its bearers is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Label {
    pub(super) name: String,
    pub(super) occurrence: u32,
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.occurrence {
            0 => f.write_str(&self.name),
            n => write!(f, "{}#{n}", self.name),
        }
    }
}

#[derive(Clone)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, at: usize) -> Cursor<'t> {
        Cursor { text, at }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn peek_char(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error { at: self.at, message: message.into() })
    }

    /// The text at the cursor, for messages.
    pub(super) fn found(&self) -> String {
        let word: String = self.rest().chars().take_while(|c| is_word_char(*c)).take(40).collect();
        match self.peek_char() {
            None => "the end of the text".to_string(),
            Some('\n') => "the end of the line".to_string(),
            Some(_) if !word.is_empty() => format!("`{word}`"),
            Some(c) => format!("`{c}`"),
        }
    }

    /// Moves over blanks and comments, and over ends of lines, too: the text is free-form.
    pub(super) fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            self.at += blanks;
            if !self.rest().starts_with("//") {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Takes punctuation if it is next.
    pub(super) fn eat(&mut self, punctuation: &str) -> bool {
        self.skip_space();
        let there = self.rest().starts_with(punctuation);
        if there {
            self.at += punctuation.len();
        }
        there
    }

    pub(super) fn expect(&mut self, punctuation: &str) -> Result<()> {
        if self.eat(punctuation) {
            return Ok(());
        }
        self.error(format!("expected `{punctuation}`, found {}", self.found()))
    }

    pub(super) fn peek_word(&mut self) -> &'t str {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let there = self.peek_word() == word;
        if there {
            self.at += word.len();
        }
        there
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        self.error(format!("expected `{word}`, found {}", self.found()))
    }

    pub(super) fn word<T: Word>(&mut self) -> Result<T> {
        let word = self.peek_word();
        match from_word(word) {
            Some(value) => {
                self.at += word.len();
                Ok(value)
            }
            None => {
                let known: Vec<&str> = T::ALL.iter().map(|(_, w)| *w).collect();
                self.error(format!("expected {} ({}), found {}", T::WHAT, known.join(", "), self.found()))
            }
        }
    }

    pub(super) fn architecture(&mut self) -> Result<Architecture> {
        let word = self.peek_word();
        match Architecture::of_name(word) {
            Some(architecture) => {
                self.at += word.len();
                Ok(architecture)
            }
            None => {
                let known: Vec<&str> = Architecture::names().collect();
                self.error(format!("expected an architecture ({}), found {}", known.join(", "), self.found()))
            }
        }
    }

    /// A plain name, with dots inside if they are allowed, or one between backticks.
    pub(super) fn name(&mut self, dots: bool, what: &str) -> Result<String> {
        self.skip_space();
        if self.peek_char() == Some('`') {
            return self.quoted('`');
        }
        let rest = self.rest();
        let end = rest.find(|c| !(is_word_char(c) || dots && c == '.')).unwrap_or(rest.len());
        if end == 0 {
            return self.error(format!("expected {what}, found {}", self.found()));
        }
        self.at += end;
        Ok(rest[..end].to_string())
    }

    pub(super) fn label(&mut self, dots: bool, what: &str) -> Result<Label> {
        let name = self.name(dots, what)?;
        let occurrence = if self.rest().starts_with('#') {
            self.at += 1;
            self.number("the number of an occurrence")?
        } else {
            0
        };
        Ok(Label { name, occurrence })
    }

    /// Between two of the quote.
    pub(super) fn quoted(&mut self, quote: char) -> Result<String> {
        let start = self.at;
        let unended = |at| Err(Error { at, message: format!("no closing {quote}") });
        let mut out = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        loop {
            let Some((i, c)) = chars.next() else { return unended(start) };
            match c {
                c if c == quote => {
                    self.at = start + i + c.len_utf8();
                    return Ok(out);
                }
                '\n' => return unended(start),
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 'u')) => {
                        let digits: String = chars
                            .by_ref()
                            .map(|(_, c)| c)
                            .skip(1)
                            .take_while(|c| *c != '}')
                            .take(6)
                            .collect();
                        match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                            Some(c) => out.push(c),
                            None => {
                                return Err(Error {
                                    at: start + i,
                                    message: "no such character".to_string(),
                                });
                            }
                        }
                    }
                    Some((_, c)) => out.push(c),
                    None => return unended(start),
                },
                c => out.push(c),
            }
        }
    }

    /// A decimal number.
    pub(super) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        self.skip_space();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let end = sign + rest[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - sign);
        match rest[..end].parse() {
            Ok(value) => {
                self.at += end;
                Ok(value)
            }
            Err(_) => self.error(format!("expected {what}, found {}", self.found())),
        }
    }

    /// `16w0x800` or `16s0x800`; whether it is signed.
    pub(super) fn bits(&mut self) -> Result<(Bits, bool)> {
        self.skip_space();
        let start = self.at;
        let width: u32 = self.number("a constant such as `8w0x1`")?;
        let signed = match self.peek_char() {
            Some('w') => false,
            Some('s') => true,
            _ => return self.error("expected `w` or `s` after the width of a constant"),
        };
        self.at += 1;
        let word = self.peek_word();
        let digits = word.strip_prefix("0x");
        let value = match digits {
            Some(hex) => BigUint::parse_bytes(hex.as_bytes(), 16),
            None => BigUint::parse_bytes(word.as_bytes(), 10),
        };
        let Some(value) = value else {
            return self.error("expected the value of a constant, in decimal or after `0x`");
        };
        self.at += word.len();
        if width > WIDTH_BITS_MAX {
            return Err(Error {
                at: start,
                message: format!("constants have at most {WIDTH_BITS_MAX} bits"),
            });
        }
        if value.bits() > u64::from(width) {
            return Err(Error { at: start, message: format!("the value does not fit {width} bits") });
        }
        Ok((Bits::from_biguint(width, value), signed))
    }

    /// Unsigned or of unknown sign.
    pub(super) fn plain_bits(&mut self) -> Result<Bits> {
        self.bits().map(|(bits, _)| bits)
    }

    /// A list with commas up to the closing punctuation, which is taken.
    pub(super) fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Cursor<'t>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.eat(",") {
                self.expect(close)?;
                return Ok(items);
            }
        }
    }
}
