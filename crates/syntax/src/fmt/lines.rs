//! Cuts a file into logical lines and indents them.

use super::FormatOptions;
use super::doc::{columns, shifted};
use super::items::{Conditional, Item, ItemKind, conditional};
use super::layout::{column, flat_width, line_text};
use crate::token::TokenKind;

/// Kind of the lines of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    /// Declarations, statements, entries: they end with `;` or a block.
    Statements,
    /// Names that end with `,`.
    Names,
    /// Labels and their blocks.
    Cases,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    /// Columns of the lines inside.
    indent: usize,
    /// Columns of the line that opened it.
    outer: usize,
    content: Content,
}

/// A pair of braces.
#[derive(Clone, Copy, Default)]
struct Brace {
    /// Index of the closing brace; 0 if there is none.
    close: usize,
    /// True if the braces contain a `;` at any depth, which excludes a list of values.
    has_semicolon: bool,
}

/// Depth up to which blocks are indented: with hostile nesting, indentation would make the text quadratic.
const LEVELS_MAX: usize = 40;

/// Number of items at the start of a line that determine its kind.
const HEAD_MAX: usize = 500;
/// Number of blocks and brackets saved at an `#if` at most.
const REMEMBERED_MAX: usize = 500;

struct Lines<'a, 'i, 'o> {
    file: &'a str,
    items: &'i [Item<'a>],
    options: &'o FormatOptions,
    braces: Vec<Brace>,
    out: String,
    blocks: Vec<Block>,
    /// Index of the first item of the present logical line.
    start: usize,
    /// Open brackets in the present line.
    open: Vec<TokenKind>,
    /// Columns added for the one statement after `if (...)` without braces.
    extra: usize,
    /// True after a line that opened a block: no blank line follows it.
    after_open: bool,
    /// Blocks and brackets at each open `#if`.
    conditionals: Vec<Option<(Vec<Block>, Vec<TokenKind>)>>,
}

pub(super) fn format_items(file: &str, items: &[Item], options: &FormatOptions) -> String {
    let mut l = Lines {
        file,
        items,
        options,
        braces: match_braces(items),
        out: String::with_capacity(file.len() + file.len() / 8),
        blocks: vec![Block { indent: 0, outer: 0, content: Content::Statements }],
        start: 0,
        open: Vec::new(),
        extra: 0,
        after_open: true,
        conditionals: Vec::new(),
    };
    let mut i = 0;
    while i < items.len() {
        i = l.step(i);
    }
    l.flush(items.len());
    l.out
}

fn match_braces(items: &[Item]) -> Vec<Brace> {
    let mut all = vec![Brace::default(); items.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut conditionals: Vec<Option<Vec<usize>>> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        match item.kind {
            ItemKind::Token(TokenKind::LBrace) => open.push(i),
            ItemKind::Token(TokenKind::RBrace) => {
                if let Some(o) = open.pop() {
                    all[o].close = i;
                    if let Some(outer) = open.last() {
                        all[*outer].has_semicolon |= all[o].has_semicolon;
                    }
                }
            }
            ItemKind::Token(TokenKind::Semicolon) => {
                if let Some(o) = open.last() {
                    all[*o].has_semicolon = true;
                }
            }
            ItemKind::Directive => match conditional(item.text) {
                Conditional::If => {
                    conditionals.push((open.len() <= REMEMBERED_MAX).then(|| open.clone()));
                }
                Conditional::Else => {
                    if let Some(Some(saved)) = conditionals.last() {
                        open.clone_from(saved);
                    }
                }
                Conditional::Endif => drop(conditionals.pop()),
                Conditional::Other => {}
            },
            _ => {}
        }
    }
    all
}

impl Lines<'_, '_, '_> {
    fn block(&self) -> Block {
        // The outermost block is never removed.
        self.blocks.last().copied().unwrap_or(Block { indent: 0, outer: 0, content: Content::Statements })
    }

    fn next_significant(&self, i: usize) -> Option<&Item<'_>> {
        self.items.get(i + 1..)?.iter().find(|t| !t.is_comment())
    }

    /// Processes item `i` and returns the index of the next item.
    fn step(&mut self, i: usize) -> usize {
        let item = &self.items[i];
        let in_line = self.start < i;
        match item.kind {
            ItemKind::LineComment | ItemKind::BlockComment => {
                if in_line {
                    return i + 1;
                }
                // `/* x */ foo();` stays a line.
                let alone = self.items.get(i + 1).is_none_or(|n| n.newlines > 0)
                    || item.kind == ItemKind::LineComment
                    || item.text.contains('\n');
                if !alone && !self.items[i + 1].is(TokenKind::RBrace) {
                    return i + 1;
                }
                self.comment(i)
            }
            ItemKind::Directive => {
                if self.open.is_empty() {
                    self.flush(i);
                    self.write_line(i, 0, item.text.replace("\r\n", "\n"));
                    self.start = i + 1;
                    let end = self.trailing_comments(i + 1);
                    self.conditional(item.text);
                    return end;
                }
                self.conditional(item.text);
                i + 1
            }
            ItemKind::Pragma => {
                if self.open.is_empty() {
                    self.flush(i);
                    let indent = self.block().indent + self.extra;
                    self.write_line(i, indent, item.text.to_string());
                    self.start = i + 1;
                    return self.trailing_comments(i + 1);
                }
                i + 1
            }
            ItemKind::AnnotationBody => self.after_token(i),
            ItemKind::Token(kind) => self.token(i, kind),
        }
    }

    fn conditional(&mut self, directive: &str) {
        match conditional(directive) {
            Conditional::If => {
                let few = self.blocks.len() + self.open.len() <= REMEMBERED_MAX;
                self.conditionals.push(few.then(|| (self.blocks.clone(), self.open.clone())));
            }
            Conditional::Else => {
                if let Some(Some((blocks, open))) = self.conditionals.last() {
                    self.blocks.clone_from(blocks);
                    self.open.clone_from(open);
                }
            }
            Conditional::Endif => drop(self.conditionals.pop()),
            Conditional::Other => {}
        }
    }

    fn token(&mut self, i: usize, kind: TokenKind) -> usize {
        match kind {
            TokenKind::LParen | TokenKind::LBracket => self.open.push(kind),
            TokenKind::LBrace if !self.open.is_empty() || !self.opens_block(i) => self.open.push(kind),
            TokenKind::LBrace => return self.open_block(i),
            TokenKind::RParen if self.open.last() == Some(&TokenKind::LParen) => drop(self.open.pop()),
            TokenKind::RBracket if self.open.last() == Some(&TokenKind::LBracket) => drop(self.open.pop()),
            TokenKind::RBrace if self.open.last() == Some(&TokenKind::LBrace) => drop(self.open.pop()),
            TokenKind::RBrace => return self.close_block(i),
            TokenKind::Semicolon if self.open.is_empty() => return self.flush(i + 1),
            // Only `for (a; b; c)` has semicolons inside parentheses.
            TokenKind::Semicolon if !self.in_for() => return self.flush(i + 1),
            TokenKind::Comma if self.open.is_empty() && self.block().content == Content::Names => {
                return self.flush(i + 1);
            }
            TokenKind::Colon
                if self.open.is_empty()
                    && self.block().content == Content::Cases
                    && self.next_significant(i).is_some_and(|n| !n.is(TokenKind::LBrace))
                    && !self.items[self.start..i].iter().any(|t| t.is(TokenKind::Question)) =>
            {
                return self.flush(i + 1);
            }
            _ => {}
        }
        self.after_token(i)
    }

    fn in_for(&self) -> bool {
        self.items[self.start..].iter().take(3).any(|t| t.is(TokenKind::For))
            || self.items[self.start..].first().is_some_and(|t| t.is(TokenKind::RBrace))
    }

    /// Ends lines also after annotations, `if (...)`, `else` and macro uses, if the author broke the line
    /// there.
    fn after_token(&mut self, i: usize) -> usize {
        let Some(next) = self.items.get(i + 1) else { return i + 1 };
        let begins = next.is_word()
            || next.is_comment()
            || [TokenKind::At, TokenKind::LParen, TokenKind::Dot].iter().any(|k| next.is(*k));
        if !self.open.is_empty() || next.newlines == 0 || !begins {
            return i + 1;
        }
        let line = &self.items[self.start..=i];
        if annotations_end(line) == line.len() {
            return self.flush(i + 1);
        }
        if self.is_statement_head(line) && !(self.items[i].is(TokenKind::Else) && next.is(TokenKind::If)) {
            let step = (self.extra + self.options.indent).min(LEVELS_MAX * self.options.indent);
            let next = self.flush(i + 1);
            self.extra = step;
            return next;
        }
        if (next.is_word() || next.is(TokenKind::At)) && is_macro_use(line) {
            return self.flush(i + 1);
        }
        i + 1
    }

    /// Returns whether the line is `if (...)`, `else`, `} else` or `for (...)`, with a statement without
    /// braces to follow.
    fn is_statement_head(&self, line: &[Item]) -> bool {
        let mut rest = line;
        while let [first, tail @ ..] = rest
            && (first.is_comment() || first.is(TokenKind::RBrace) || first.is(TokenKind::Else))
        {
            rest = tail;
        }
        match rest {
            [] => line.iter().any(|t| t.is(TokenKind::Else)),
            [word, open, .., last] => {
                (word.is(TokenKind::If) || word.is(TokenKind::For))
                    && open.is(TokenKind::LParen)
                    && last.is(TokenKind::RParen)
                    && is_one_group(&rest[1..])
            }
            _ => false,
        }
    }

    /// Returns whether the brace at `i` opens a block of lines rather than a list of values.
    fn opens_block(&self, i: usize) -> bool {
        let brace = self.braces[i];
        let line = &self.items[self.start..i];
        let last = line.last().map(|t| t.kind);
        // The beginning determines the kind of the line, for any number of braces.
        let line = &line[..line.len().min(HEAD_MAX)];
        let line = &line[annotations_end(line)..];
        let mut depth = 0usize;
        let mut words = Vec::new();
        for t in line {
            let ItemKind::Token(kind) = t.kind else { continue };
            if matches!(kind, TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace) {
                depth = depth.saturating_sub(1);
            }
            if depth == 0 {
                words.push(kind);
            }
            if matches!(kind, TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace) {
                depth += 1;
            }
        }
        match words.as_slice() {
            [] => {
                // `{a, b}: state;` begins with a list.
                let next = self.items.get(brace.close + 1..).and_then(|r| r.first());
                brace.close == 0 || !next.is_some_and(|n| n.is(TokenKind::Colon))
            }
            [
                TokenKind::Const,
                TokenKind::Key | TokenKind::Actions | TokenKind::Entries,
                TokenKind::Assign,
            ]
            | [TokenKind::Key | TokenKind::Actions | TokenKind::Entries, TokenKind::Assign] => true,
            _ if last == Some(ItemKind::Token(TokenKind::Colon)) => true,
            words => {
                let is_value = words.contains(&TokenKind::Return)
                    || matches!(last, Some(ItemKind::Token(k)) if is_operator(k))
                    || words.contains(&TokenKind::Assign);
                !is_value || brace.has_semicolon
            }
        }
    }

    fn open_block(&mut self, i: usize) -> usize {
        let line = &self.items[self.start..i];
        let line = &line[annotations_end(line)..];
        let has = |kind| line.iter().any(|t: &Item| t.is(kind));
        let content = if has(TokenKind::Switch) {
            Content::Cases
        } else if !self.braces[i].has_semicolon
            && line.first().is_some_and(|t| {
                t.is(TokenKind::Enum) || t.is(TokenKind::Error) || t.is(TokenKind::MatchKind)
            })
        {
            Content::Names
        } else {
            Content::Statements
        };
        let outer = self.block().indent + self.extra;
        // An empty block stays on its line.
        if self.items.get(i + 1).is_some_and(|n| n.is(TokenKind::RBrace)) {
            let mut end = i + 2;
            if self.items.get(end).is_some_and(|n| n.is(TokenKind::Semicolon)) {
                end += 1;
            }
            if self.items.get(end).is_some_and(|n| n.is(TokenKind::Else)) {
                return end;
            }
            return self.flush(end);
        }
        let next = self.flush(i + 1);
        self.after_open = true;
        let indent = (outer + self.options.indent).min(LEVELS_MAX * self.options.indent);
        self.blocks.push(Block { indent, outer, content });
        next
    }

    fn close_block(&mut self, i: usize) -> usize {
        self.flush(i);
        self.extra = 0;
        if self.blocks.len() > 1
            && let Some(closed) = self.blocks.pop()
        {
            self.extra = closed.outer.saturating_sub(self.block().indent);
        }
        self.after_open = true;
        match self.items.get(i + 1) {
            Some(n) if n.is(TokenKind::Semicolon) => self.flush(i + 2),
            Some(n) if n.is(TokenKind::Else) => i + 1,
            _ => self.flush(i + 1),
        }
    }

    /// Ends the logical line before item `end`, writes it, and returns the index of the next item.
    fn flush(&mut self, end: usize) -> usize {
        let line = &self.items[self.start..end];
        self.open.clear();
        if line.is_empty() {
            return end;
        }
        let indent = self.block().indent + self.extra;
        let annotations = annotations_end(line);
        let head = if annotations > 0
            && annotations < line.len()
            && indent + flat_width(line) > self.options.width
        {
            annotations
        } else {
            0
        };
        for (lo, hi) in [(0, head), (head, line.len())] {
            if lo < hi {
                let text = line_text(self.file, &line[lo..hi], indent, self.options);
                self.write_line(self.start + lo, indent, text);
            }
        }
        self.extra = 0;
        self.start = end;
        self.trailing_comments(end)
    }

    /// Appends the comments behind the line just written to it, and returns the index of the next item.
    fn trailing_comments(&mut self, mut i: usize) -> usize {
        while let Some(c) = self.items.get(i)
            && c.is_comment()
            && c.newlines == 0
        {
            let last = self.items.get(i + 1).is_none_or(|n| n.newlines > 0);
            if c.kind == ItemKind::BlockComment && !last && !self.items[i + 1].is_comment() {
                break;
            }
            if self.out.ends_with('\n') {
                self.out.pop();
                self.out.push(' ');
            }
            let to = if c.text.contains('\n') {
                columns(&self.out[self.out.rfind('\n').map_or(0, |n| n + 1)..])
            } else {
                0
            };
            let text = shifted(c.text, column(self.file, c), to);
            self.out.push_str(&text);
            self.out.push('\n');
            i += 1;
        }
        self.start = i;
        i
    }

    /// Writes comment `i`, which is alone on its line.
    fn comment(&mut self, i: usize) -> usize {
        let indent = self.block().indent + self.extra;
        let c = &self.items[i];
        let text = shifted(c.text, column(self.file, c), indent);
        self.write_line(i, indent, text);
        self.start = i + 1;
        i + 1
    }

    /// Writes lines that begin with item `first`; at most one blank line before it is kept.
    fn write_line(&mut self, first: usize, indent: usize, text: String) {
        if self.items[first].newlines >= 2 && !self.after_open {
            self.out.push('\n');
        }
        self.after_open = false;
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.out.push_str(&text);
        self.out.push('\n');
    }
}

fn is_operator(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        PlusPlus | Plus | Minus | Star | Slash | Percent | Pipe | Amp | Caret | EqEq | Ne | Question | Mask
    )
}

/// Number of items at the start of the line that are annotations (and comments between them).
fn annotations_end(line: &[Item]) -> usize {
    let mut end = 0;
    loop {
        let mut k = end;
        while line.get(k).is_some_and(Item::is_comment) {
            k += 1;
        }
        if !line.get(k).is_some_and(|t| t.is(TokenKind::At)) || !line.get(k + 1).is_some_and(Item::is_word) {
            return end;
        }
        k += 2;
        match line.get(k).map(|t| t.kind) {
            Some(ItemKind::AnnotationBody) => k += 1,
            Some(ItemKind::Token(TokenKind::LParen | TokenKind::LBracket)) => {
                let mut depth = 0usize;
                loop {
                    match line.get(k).map(|t| t.kind) {
                        None => return end,
                        Some(ItemKind::Token(TokenKind::LParen | TokenKind::LBracket)) => depth += 1,
                        Some(ItemKind::Token(TokenKind::RParen | TokenKind::RBracket)) => depth -= 1,
                        Some(_) => {}
                    }
                    k += 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
            _ => {}
        }
        end = k;
    }
}

/// Returns whether the items are exactly one pair of parentheses with its contents.
fn is_one_group(items: &[Item]) -> bool {
    let mut depth = 0usize;
    for (i, t) in items.iter().enumerate() {
        match t.kind {
            ItemKind::Token(TokenKind::LParen) => depth += 1,
            ItemKind::Token(TokenKind::RParen) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i + 1 == items.len();
        }
    }
    false
}

/// Returns whether the line is `NAME` or `NAME(...)`, possibly a macro for a whole statement.
fn is_macro_use(line: &[Item]) -> bool {
    match line {
        [name] => name.is(TokenKind::Ident),
        [name, rest @ ..] => name.is(TokenKind::Ident) && rest[0].is(TokenKind::LParen) && is_one_group(rest),
        [] => false,
    }
}
