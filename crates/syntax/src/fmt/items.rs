//! Items of formatting: tokens, comments, and lines that must stay whole.

use crate::codes;
use crate::lexer::{Lexer, Quotes, RawKind, RawToken, lexical_error};
use crate::limits::{SYNTAX_ERRORS_MAX, TOKENS_MAX};
use crate::preprocessor::Annotation;
use crate::token::TokenKind;
use diagnostics::{Diagnostic, Span};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ItemKind {
    /// A token; an invalid number has the kind `Int`.
    Token(TokenKind),
    LineComment,
    BlockComment,
    /// A directive with its continuation lines; for `#if 0`, with all skipped lines.
    Directive,
    /// `@pragma` to the end of its line.
    Pragma,
    /// `(...)` of an unstructured annotation, when it stands on one line or is no list of expressions: kept as
    /// written.
    AnnotationBody,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub kind: ItemKind,
    pub text: &'a str,
    /// Byte offset in the file.
    pub lo: usize,
    /// Number of line breaks between the previous item and this one.
    pub newlines: u32,
    /// True if white space or a comment precedes the item.
    pub space: bool,
}

impl Item<'_> {
    pub fn is(&self, kind: TokenKind) -> bool {
        self.kind == ItemKind::Token(kind)
    }

    pub fn is_comment(&self) -> bool {
        matches!(self.kind, ItemKind::LineComment | ItemKind::BlockComment)
    }

    /// An identifier or keyword.
    pub fn is_word(&self) -> bool {
        matches!(self.kind, ItemKind::Token(k)
            if k.is_keyword() || matches!(k, TokenKind::Ident | TokenKind::Underscore))
    }

    pub fn hi(&self) -> usize {
        self.lo + self.text.len()
    }
}

/// Representation of annotation bodies: one item, or their tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bodies {
    Whole,
    Tokens,
}

/// Number of items to allocate in advance at most, since text may be mostly white space.
const ITEMS_EXPECTED_MAX: usize = 1 << 20;

/// Cuts the text into items, or returns its lexical errors.
pub(super) fn items(text: &str, bodies: Bodies) -> Result<Vec<Item<'_>>, Vec<Diagnostic>> {
    let mut lexer = Lexer::new(text);
    let mut items: Vec<Item> = Vec::with_capacity((text.len() / 5).min(ITEMS_EXPECTED_MAX));
    let mut errors = Vec::new();
    let (mut newlines, mut space, mut at_line_start) = (0, false, true);
    let mut annotation = Annotation::None;
    // Index of the first item in the body of the present annotation.
    let mut body = 0;
    // Characters that are errors unless the body can be kept whole.
    let mut in_body = Vec::new();
    let mut n_items = 0;
    while let Some(raw) = lexer.next() {
        let mut hi = raw.hi as usize;
        let kind = match raw.kind {
            RawKind::Space | RawKind::Splice => {
                space = true;
                continue;
            }
            RawKind::Newline => {
                newlines += 1;
                (space, at_line_start) = (true, true);
                continue;
            }
            RawKind::LineComment => ItemKind::LineComment,
            RawKind::BlockComment => ItemKind::BlockComment,
            RawKind::Hash | RawKind::HashHash if at_line_start => {
                hi = directive_end(&mut lexer, &raw, &mut errors);
                ItemKind::Directive
            }
            RawKind::Token(TokenKind::Pragma) => {
                hi = pragma_end(&mut lexer, &raw, &mut errors);
                ItemKind::Pragma
            }
            RawKind::Number => {
                report(raw.kind, raw.text(text), raw.lo, raw.hi, &mut errors);
                ItemKind::Token(TokenKind::Int)
            }
            RawKind::Token(TokenKind::Unknown) | RawKind::Hash | RawKind::HashHash => {
                let list = if matches!(annotation, Annotation::Body(_)) { &mut in_body } else { &mut errors };
                report(raw.kind, raw.text(text), raw.lo, raw.hi, list);
                ItemKind::Token(TokenKind::Unknown)
            }
            RawKind::UnterminatedComment | RawKind::UnterminatedString => {
                report(raw.kind, raw.text(text), raw.lo, raw.hi, &mut errors);
                continue;
            }
            RawKind::Token(k) => ItemKind::Token(k),
        };
        if !matches!(kind, ItemKind::LineComment | ItemKind::BlockComment) {
            at_line_start = kind == ItemKind::Directive;
        }
        let lo = raw.lo as usize;
        n_items += 1;
        if n_items > TOKENS_MAX {
            let d = Diagnostic::new(
                &codes::TOO_MANY_TOKENS,
                Span::new(raw.lo + 1, raw.lo + 1),
                "the program has too many tokens",
            );
            return Err(vec![d.label("the limit is reached here")]);
        }
        items.push(Item { kind, text: text.get(lo..hi).unwrap_or(""), lo, newlines, space });
        (newlines, space) = (0, matches!(kind, ItemKind::LineComment | ItemKind::BlockComment));
        if let ItemKind::Token(k) = kind {
            let before = annotation;
            annotation = annotation.after(k);
            match (before, annotation) {
                (Annotation::Name, Annotation::Body(_)) => body = items.len() - 1,
                (Annotation::Body(_), Annotation::None) => {
                    if has_no_directive(&items[body..]) {
                        in_body.clear();
                    } else {
                        errors.append(&mut in_body);
                    }
                    if bodies == Bodies::Whole {
                        collapse_body(text, &mut items, body);
                    }
                }
                _ => {}
            }
        }
    }
    errors.append(&mut in_body);
    if errors.is_empty() { Ok(items) } else { Err(errors) }
}

fn has_no_directive(items: &[Item]) -> bool {
    !items.iter().any(|i| matches!(i.kind, ItemKind::Directive | ItemKind::Pragma))
}

/// Merges the items from `body` on into one, if they are on one line.
fn collapse_body<'a>(text: &'a str, items: &mut Vec<Item<'a>>, body: usize) {
    let (Some(first), Some(last)) = (items.get(body).copied(), items.last()) else { return };
    let whole = text.get(first.lo..last.hi()).unwrap_or("");
    let is_free_text = items[body..].iter().any(|i| i.is(TokenKind::Unknown));
    if (!whole.contains('\n') || is_free_text) && has_no_directive(&items[body..]) {
        items.truncate(body);
        items.push(Item { kind: ItemKind::AnnotationBody, text: whole, ..first });
    }
}

fn report(kind: RawKind, spelling: &str, lo: u32, hi: u32, errors: &mut Vec<Diagnostic>) {
    if errors.len() < SYNTAX_ERRORS_MAX {
        errors.extend(lexical_error(kind, spelling, Span::new(lo + 1, hi + 1)));
    }
}

/// Reads to the end of a directive and returns the offset behind its last character.
fn directive_end(lexer: &mut Lexer, hash: &RawToken, errors: &mut Vec<Diagnostic>) -> usize {
    let text = lexer.text();
    lexer.quotes = Quotes::OneLine;
    let mut words = Vec::new();
    let mut hi = hash.hi;
    loop {
        let before = lexer.pos();
        let Some(raw) = lexer.next() else { break };
        match raw.kind {
            RawKind::Newline => {
                lexer.seek(before);
                break;
            }
            RawKind::UnterminatedComment => report(raw.kind, "", raw.lo, raw.hi, errors),
            RawKind::Space | RawKind::Splice => continue,
            RawKind::LineComment | RawKind::BlockComment => {}
            _ => words.push(raw.text(text)),
        }
        hi = raw.hi;
    }
    let whole = text.get(..hi as usize).unwrap_or("");
    let trimmed = whole.trim_end();
    let mut hi = if trimmed.ends_with('\\') { whole.len() } else { trimmed.len() };
    if words == ["if", "0"] {
        let here = lexer.pos();
        match skipped_end(lexer) {
            Some(end) => hi = end,
            None => lexer.seek(here),
        }
    }
    lexer.quotes = Quotes::ManyLines;
    with_guard(text, hi.max(hash.hi as usize))
}

/// Skips the lines of a false `#if 0`; the lexer then is at the end of the last one. Returns `None` if there
/// is no `#endif`.
fn skipped_end(lexer: &mut Lexer) -> Option<usize> {
    let text = lexer.text();
    let mut nested = 0usize;
    lexer.skip_line();
    loop {
        let line = lexer.pos();
        let mut ahead = lexer.clone();
        let mut toks = ahead
            .by_ref()
            .filter(|r| !matches!(r.kind, RawKind::Space | RawKind::BlockComment | RawKind::Splice));
        let hash = toks.next().filter(|r| r.kind == RawKind::Hash);
        let is_directive = hash.is_some();
        let name = if is_directive { toks.next().map_or("", |r| r.text(text)) } else { "" };
        let ends = match conditional(name) {
            Conditional::If => {
                nested += 1;
                false
            }
            Conditional::Endif if nested > 0 => {
                nested -= 1;
                false
            }
            Conditional::Else | Conditional::Endif => nested == 0,
            Conditional::Other => false,
        };
        if line as usize >= text.len() {
            return None;
        }
        if ends {
            // A comment in front of the directive is skipped too.
            let prefix = text.get(line as usize..hash?.lo as usize)?.trim_end();
            if !prefix.is_empty() {
                let end = line as usize + prefix.len();
                lexer.seek(end as u32);
                return Some(end);
            }
            let before = text.get(..line as usize)?;
            let before = before.strip_suffix('\n').unwrap_or(before);
            let end = before.strip_suffix('\r').unwrap_or(before).len();
            lexer.seek(end as u32);
            return Some(end);
        }
        lexer.skip_line();
    }
}

/// Reads to the end of a pragma's line.
fn pragma_end(lexer: &mut Lexer, pragma: &RawToken, errors: &mut Vec<Diagnostic>) -> usize {
    let text = lexer.text();
    let mut hi = pragma.hi;
    loop {
        let before = lexer.pos();
        let Some(raw) = lexer.next() else { break };
        match raw.kind {
            RawKind::Newline => {
                lexer.seek(before);
                break;
            }
            RawKind::Space | RawKind::Splice => continue,
            // A comment over several lines ends the pragma and is not part of it.
            RawKind::BlockComment if raw.text(text).contains('\n') => {
                lexer.seek(before);
                break;
            }
            RawKind::UnterminatedComment | RawKind::UnterminatedString => {
                report(raw.kind, "", raw.lo, raw.hi, errors);
            }
            _ => {}
        }
        hi = raw.hi;
    }
    with_guard(text, hi as usize)
}

/// Includes a blank that guards a backslash from removing the line break in the line that ends at `hi`.
fn with_guard(text: &str, hi: usize) -> usize {
    let guarded = text.get(..hi).is_some_and(|t| t.ends_with('\\'))
        && text.get(hi..).is_some_and(|t| t.starts_with([' ', '\t']));
    hi + usize::from(guarded)
}

/// Effect of a `#` line on nesting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Conditional {
    If,
    Else,
    Endif,
    Other,
}

pub(super) fn conditional(directive: &str) -> Conditional {
    let name = directive.trim_start_matches('#').trim_start();
    let name = &name[..name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len())];
    match name {
        "if" | "ifdef" | "ifndef" => Conditional::If,
        "else" | "elif" | "elifdef" | "elifndef" => Conditional::Else,
        "endif" => Conditional::Endif,
        _ => Conditional::Other,
    }
}
