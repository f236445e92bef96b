//! Layout of a logical line: a document with its possible line breaks.

use super::FormatOptions;
use super::doc::{Comment, Doc, columns, group, print, push_line};
use super::items::{Item, ItemKind};
use super::spacing::{Role, Shape, shape};
use crate::token::TokenKind;

/// Indentation of the parts of an operator chain after the first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    Indented,
    /// No indentation, because the enclosing bracket is indented.
    Flush,
}

struct Layout<'a, 'i> {
    file: &'a str,
    items: &'i [Item<'a>],
    shape: Shape,
}

/// Returns the text of a logical line at `indent` columns; further lines include their own indentation.
pub(super) fn line_text(file: &str, items: &[Item], indent: usize, options: &FormatOptions) -> String {
    let Some(shape) = shape(items) else { return verbatim(file, items) };
    let l = Layout { file, items, shape };
    let mut docs = Vec::new();
    l.range(0, items.len(), Chain::Indented, &mut docs);
    print(&docs, indent, options.indent, options.width)
}

/// Returns the width of the unbroken line in columns.
pub(super) fn flat_width(items: &[Item]) -> usize {
    let Some(shape) = shape(items) else { return 0 };
    // Only the first line of a text over several lines counts.
    let text = |t: &Item| t.text.lines().next().unwrap_or("").trim_end().chars().count();
    items.iter().zip(&shape.space).map(|(t, s)| text(t) + usize::from(*s)).sum()
}

/// Returns the source text unchanged, for lines whose brackets do not match.
fn verbatim(file: &str, items: &[Item]) -> String {
    let (Some(first), Some(last)) = (items.first(), items.last()) else { return String::new() };
    let text = file.get(first.lo..last.hi()).unwrap_or("");
    // Line breaks in strings are significant; elsewhere trailing white space can be removed.
    if items.iter().any(|i| i.is(TokenKind::Str) && i.text.contains('\n')) {
        return text.to_string();
    }
    let mut out = String::with_capacity(text.len());
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        push_line(&mut out, line);
    }
    out
}

/// Returns the column of an item in its source line.
pub(super) fn column(file: &str, item: &Item) -> usize {
    // Only comments over several lines need the column, so the search is limited to them.
    if !item.text.contains('\n') {
        return 0;
    }
    let before = file.get(..item.lo).unwrap_or("");
    let line = &before[before.rfind('\n').map_or(0, |n| n + 1)..];
    columns(line)
}

impl<'a> Layout<'a, '_> {
    fn item(&self, k: usize, out: &mut Vec<Doc<'a>>) {
        let item = &self.items[k];
        out.push(match item.kind {
            ItemKind::LineComment | ItemKind::BlockComment => {
                let own_line = item.newlines > 0;
                let next_breaks = self.items.get(k + 1).is_none_or(|n| n.newlines > 0);
                Doc::Comment(Comment {
                    text: item.text,
                    column: column(self.file, item),
                    own_line: own_line && (next_breaks || item.kind == ItemKind::LineComment),
                    ends_line: item.kind == ItemKind::LineComment || (own_line && next_breaks),
                })
            }
            ItemKind::Directive | ItemKind::Pragma => Doc::Directive(item.text),
            ItemKind::Token(_) | ItemKind::AnnotationBody => Doc::Text(item.text),
        });
    }

    fn blank(&self, k: usize, out: &mut Vec<Doc<'a>>) {
        // Comments and directives place their own blanks.
        if self.shape.space[k] && !matches!(self.shape.role[k], Role::Comment | Role::Directive) {
            out.push(Doc::Text(" "));
        }
    }

    /// Calls `f` for each item of `lo..hi` outside nested brackets.
    fn each(&self, lo: usize, hi: usize, mut f: impl FnMut(usize)) {
        let mut k = lo;
        while k < hi {
            f(k);
            k = if self.shape.close[k] < hi { self.shape.close[k] } else { k };
            k += 1;
        }
    }

    /// Returns the precedence level of an operator, weakest lowest; `None` for other items.
    fn level(&self, k: usize) -> Option<u8> {
        match self.shape.role[k] {
            Role::Label => Some(0),
            Role::Assign => Some(1),
            Role::Ternary => Some(2),
            Role::Binary(level) => Some(level),
            _ => None,
        }
    }

    fn weakest(&self, lo: usize, hi: usize) -> Option<u8> {
        let mut weakest: Option<u8> = None;
        self.each(lo, hi, |k| {
            if let Some(l) = self.level(k) {
                weakest = Some(weakest.map_or(l, |w| w.min(l)));
            }
        });
        weakest
    }

    /// Lays out the items `lo..hi`: an element of a list, an operand, or the whole line.
    fn range(&self, mut lo: usize, mut hi: usize, chain: Chain, out: &mut Vec<Doc<'a>>) {
        // Items that end or begin the line do not belong to its operators.
        let end = hi;
        while hi > lo && matches!(self.shape.role[hi - 1], Role::Semicolon | Role::Comment)
            || hi > lo && hi == self.items.len() && self.unmatched_brace(hi - 1)
        {
            hi -= 1;
        }
        let start = lo;
        while lo < hi && self.shape.role[lo] == Role::Comment {
            lo += 1;
        }
        self.plain(start, lo, out);
        if lo > start && lo < hi {
            self.blank(lo, out);
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match self.weakest(lo, hi) {
            None => self.plain(lo, hi, out),
            Some(0) => self.split_label(lo, hi, out),
            Some(1) => self.split_assignment(lo, hi, chain, out),
            Some(level) => self.split_chain(lo, hi, level, chain, out),
        });
        for k in hi..end {
            if k > start {
                self.blank(k, out);
            }
            self.item(k, out);
        }
    }

    fn unmatched_brace(&self, k: usize) -> bool {
        self.items[k].is(TokenKind::LBrace) && self.shape.close[k] == usize::MAX
    }

    /// Lays out items without operators among them.
    fn plain(&self, lo: usize, hi: usize, out: &mut Vec<Doc<'a>>) {
        self.each(lo, hi, |k| {
            if k > lo {
                self.blank(k, out);
            }
            match self.shape.close[k] {
                close if close < hi => self.bracket(k, close, out),
                _ => self.item(k, out),
            }
        });
    }

    /// Returns the indexes of the items of that level.
    fn all(&self, lo: usize, hi: usize, level: u8) -> Vec<usize> {
        let mut all = Vec::new();
        self.each(lo, hi, |k| {
            if self.level(k) == Some(level) {
                all.push(k);
            }
        });
        all
    }

    /// `label: rest`
    fn split_label(&self, mut lo: usize, hi: usize, out: &mut Vec<Doc<'a>>) {
        for at in self.all(lo, hi, 0).into_iter().chain([hi]) {
            if lo < at {
                self.range(lo, at, Chain::Indented, out);
            }
            if at < hi {
                if at > lo {
                    self.blank(at, out);
                }
                self.item(at, out);
                if at + 1 < hi {
                    self.blank(at + 1, out);
                }
            }
            lo = at + 1;
        }
    }

    /// `left = right`
    fn split_assignment(&self, mut lo: usize, hi: usize, chain: Chain, out: &mut Vec<Doc<'a>>) {
        for at in self.all(lo, hi, 1) {
            self.range(lo, at, chain, out);
            if at > lo {
                self.blank(at, out);
            }
            self.item(at, out);
            lo = at + 1;
            while lo < hi && self.shape.role[lo] == Role::Joined {
                self.item(lo, out);
                lo += 1;
            }
            if lo < hi {
                self.blank(lo, out);
            }
        }
        if lo >= hi {
            return;
        }
        if self.weakest(lo, hi).is_some() {
            // The line may be broken behind the `=` then.
            if matches!(out.last(), Some(Doc::Text(" "))) {
                out.pop();
            }
            let mut right = vec![Doc::Line(" ")];
            self.range(lo, hi, Chain::Flush, &mut right);
            out.push(group(vec![Doc::Indent(right)]));
        } else {
            self.range(lo, hi, Chain::Indented, out);
        }
    }

    /// `a op b op c` with operators of one strength: broken before the operators, all or none.
    fn split_chain(&self, lo: usize, hi: usize, level: u8, chain: Chain, out: &mut Vec<Doc<'a>>) {
        let ops = self.all(lo, hi, level);
        let mut first = Vec::new();
        self.range(lo, ops[0], chain, &mut first);
        let mut rest = Vec::new();
        for (n, at) in ops.iter().enumerate() {
            let end = ops.get(n + 1).copied().unwrap_or(hi);
            // `>` behind `>` is not torn off.
            if *at > lo && self.shape.space[*at] {
                rest.push(Doc::Line(" "));
            }
            self.item(*at, &mut rest);
            let mut from = at + 1;
            while from < end && self.shape.role[from] == Role::Joined {
                self.item(from, &mut rest);
                from += 1;
            }
            if from < end {
                self.blank(from, &mut rest);
                self.range(from, end, Chain::Indented, &mut rest);
            }
        }
        match chain {
            Chain::Indented => first.push(Doc::Indent(rest)),
            Chain::Flush => first.append(&mut rest),
        }
        out.push(group(first));
    }

    /// A bracket with all that is in it: on one line, or one element per line.
    fn bracket(&self, open: usize, close: usize, out: &mut Vec<Doc<'a>>) {
        if open + 1 == close {
            self.item(open, out);
            return self.item(close, out);
        }
        let mut ends = Vec::new();
        self.each(open + 1, close, |k| {
            if matches!(self.shape.role[k], Role::Comma | Role::Semicolon) {
                ends.push(k);
            }
        });
        let flat = if self.shape.space[open + 1] && !self.items[open + 1].is_comment() { " " } else { "" };
        let fill = self.is_table(open, close, &ends);
        let mut inner = vec![Doc::Line(flat)];
        let mut lo = open + 1;
        let chain = if ends.is_empty() { Chain::Flush } else { Chain::Indented };
        for (n, end) in ends.iter().enumerate() {
            self.range(lo, *end, chain, &mut inner);
            self.item(*end, &mut inner);
            lo = end + 1;
            // A comment behind the comma belongs to the element before.
            while lo < close && self.items[lo].is_comment() && self.items[lo].newlines == 0 {
                let more = self.items.get(lo + 1).is_some_and(|i| i.newlines == 0) && lo + 1 < close;
                if more && self.items[lo].kind == ItemKind::BlockComment {
                    break;
                }
                self.item(lo, &mut inner);
                lo += 1;
            }
            if lo < close {
                inner.push(if fill {
                    let next = ends.get(n + 1).copied().unwrap_or(close);
                    Doc::Fill(flat_width(&self.items[lo..next]) + 1)
                } else {
                    Doc::Line(if self.items[lo].is(TokenKind::Semicolon) { "" } else { " " })
                });
            }
        }
        if lo < close {
            self.range(lo, close, chain, &mut inner);
        }
        let mut docs = Vec::new();
        self.item(open, &mut docs);
        docs.push(Doc::Indent(inner));
        // After `a,` at the end of a list the author wants one element per line.
        let trailing_comma =
            ends.last().is_some_and(|e| e + 1 == close && self.items[*e].is(TokenKind::Comma));
        // `>>` is not torn apart.
        if self.shape.role[close] != Role::AngleClose || self.shape.role[close - 1] != Role::AngleClose {
            docs.push(Doc::Line(if self.shape.space[close] { " " } else { "" }));
        } else {
            self.blank(close, &mut docs);
        }
        self.item(close, &mut docs);
        out.push(match group(docs) {
            Doc::Group(docs, _) if trailing_comma && !fill && ends.len() > 1 => {
                Doc::Group(docs, super::doc::Forced::Yes)
            }
            d => d,
        });
    }

    /// A list of many short values is filled line by line.
    fn is_table(&self, open: usize, close: usize, ends: &[usize]) -> bool {
        ends.len() >= 8
            && self.items[open + 1..close].iter().all(|i| {
                i.text.len() <= 12
                    && (i.is(TokenKind::Int) || i.is(TokenKind::Comma) || i.is(TokenKind::Ident))
            })
            && close - open == 2 * (ends.len() + 1) - usize::from(ends.last() == Some(&(close - 1)))
    }
}
