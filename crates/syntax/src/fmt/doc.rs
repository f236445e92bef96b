//! Documents with optional line breaks, and their printing within a width.
//!
//! The model is Wadler's: a group is printed on one line if it fits, otherwise all its line breaks are taken.

/// A piece of a logical line.
#[derive(Debug)]
pub(super) enum Doc<'a> {
    Text(&'a str),
    /// A line break, or this text when the group stays on one line.
    Line(&'static str),
    /// A line break in a filled list: taken when the next element, that wide, does not fit.
    Fill(usize),
    Indent(Vec<Doc<'a>>),
    Group(Vec<Doc<'a>>, Forced),
    Comment(Comment<'a>),
    /// A directive: alone on its line, at the left edge.
    Directive(&'a str),
}

#[derive(Debug)]
pub(super) struct Comment<'a> {
    pub text: &'a str,
    /// Column of the comment in the source.
    pub column: usize,
    /// True if the comment is alone on its line.
    pub own_line: bool,
    /// True if nothing may follow on the line.
    pub ends_line: bool,
}

/// Line-break mode of a group: forced if an element cannot stay on one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forced {
    No,
    Yes,
}

pub(super) fn group<'a>(docs: Vec<Doc<'a>>) -> Doc<'a> {
    let forced = if docs.iter().any(must_break) { Forced::Yes } else { Forced::No };
    Doc::Group(docs, forced)
}

fn must_break(d: &Doc) -> bool {
    match d {
        Doc::Comment(c) => c.own_line || c.ends_line || c.text.contains('\n'),
        Doc::Directive(_) => true,
        Doc::Group(_, f) => *f == Forced::Yes,
        Doc::Indent(docs) => docs.iter().any(must_break),
        Doc::Text(_) | Doc::Line(_) | Doc::Fill(_) => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Break,
}

struct Printer {
    out: String,
    width: usize,
    column: usize,
    /// True while the line has only blanks.
    at_start: bool,
    /// True after a comment or directive: the next text begins a line.
    pending: bool,
}

/// Prints the documents, one after the other, at `indent` columns; `step` more columns per level.
/// The text begins without indentation and ends without line break.
pub(super) fn print(docs: &[Doc], indent: usize, step: usize, width: usize) -> String {
    let mut p = Printer { out: String::new(), width, column: indent, at_start: true, pending: false };
    let mut stack: Vec<(usize, Mode, &Doc)> = docs.iter().rev().map(|d| (indent, Mode::Break, d)).collect();
    while let Some((indent, mode, doc)) = stack.pop() {
        match doc {
            Doc::Text(t) => p.text(t, indent),
            Doc::Line(flat) => match mode {
                Mode::Flat => p.text(flat, indent),
                Mode::Break => p.newline(indent),
            },
            Doc::Fill(next) => {
                if mode == Mode::Flat || p.column + 1 + next <= p.width {
                    p.text(" ", indent);
                } else {
                    p.newline(indent);
                }
            }
            Doc::Indent(docs) => stack.extend(docs.iter().rev().map(|d| (indent + step, mode, d))),
            Doc::Group(docs, forced) => {
                let flat = mode == Mode::Flat
                    || (*forced == Forced::No && fits(docs, &stack, p.width.saturating_sub(p.column)));
                let mode = if flat { Mode::Flat } else { Mode::Break };
                stack.extend(docs.iter().rev().map(|d| (indent, mode, d)));
            }
            Doc::Comment(c) => p.comment(c, indent),
            Doc::Directive(t) => {
                if !p.at_start {
                    p.newline(0);
                } else {
                    p.out.truncate(p.out.trim_end_matches(' ').len());
                }
                p.out.push_str(t);
                (p.at_start, p.pending) = (false, true);
            }
        }
    }
    p.trim();
    p.out
}

impl Printer {
    /// Removes trailing blanks, except a blank that guards a backslash.
    fn trim(&mut self) {
        let end = self.out.trim_end_matches([' ', '\t']).len();
        let guard = self.out[..end].ends_with('\\') && end < self.out.len();
        self.out.truncate(end);
        if guard {
            self.out.push(' ');
        }
    }

    fn newline(&mut self, indent: usize) {
        self.trim();
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
        (self.at_start, self.pending) = (true, false);
    }

    fn text(&mut self, text: &str, indent: usize) {
        if text.trim().is_empty() {
            if !self.at_start && !self.pending {
                self.out.push_str(text);
                self.column += text.len();
            }
            return;
        }
        if self.pending {
            self.newline(indent);
        }
        self.out.push_str(text);
        self.column = match text.rfind('\n') {
            Some(at) => columns(&text[at + 1..]),
            None => self.column + text.chars().count(),
        };
        self.at_start = false;
    }

    fn comment(&mut self, c: &Comment, indent: usize) {
        if (c.own_line && !self.at_start) || self.pending {
            self.newline(indent);
        } else if !self.at_start && !self.out.ends_with([' ', '(', '[', '<']) {
            self.text(" ", indent);
        }
        let text = shifted(c.text, c.column, self.column);
        self.text(&text, indent);
        self.pending = c.ends_line;
    }
}

/// Returns whether the documents, and the text up to the next line break, take at most `room` columns.
fn fits(docs: &[Doc], rest: &[(usize, Mode, &Doc)], room: usize) -> bool {
    let mut room = room as isize;
    let mut stack: Vec<(Mode, &Doc)> = docs.iter().rev().map(|d| (Mode::Flat, d)).collect();
    let mut rest = rest.iter().rev();
    loop {
        if room < 0 {
            return false;
        }
        let (mode, doc) = match stack.pop() {
            Some(d) => d,
            None => match rest.next() {
                Some((_, mode, d)) => (*mode, *d),
                None => return true,
            },
        };
        match doc {
            Doc::Text(t) => match t.find('\n') {
                Some(at) => return room >= t[..at].chars().count() as isize,
                None => room -= t.chars().count() as isize,
            },
            Doc::Line(flat) if mode == Mode::Flat => room -= flat.len() as isize,
            Doc::Fill(_) if mode == Mode::Flat => room -= 1,
            Doc::Line(_) | Doc::Fill(_) | Doc::Directive(_) => return true,
            Doc::Indent(docs) | Doc::Group(docs, _) => stack.extend(docs.iter().rev().map(|d| (mode, d))),
            // Comments that end the line do not count against the width.
            Doc::Comment(c) if c.ends_line || c.own_line => return true,
            Doc::Comment(c) => match c.text.find('\n') {
                Some(at) => return room > c.text[..at].trim_end().chars().count() as isize,
                None => room -= c.text.chars().count() as isize + 1,
            },
        }
    }
}

/// Rightmost column to which a comment moves its further lines.
const COLUMN_MAX: usize = 120;

/// Returns a comment moved from column `from` to column `to`, with its further lines.
pub(super) fn shifted(text: &str, from: usize, to: usize) -> String {
    // Not `lines`, which drops an empty last line: a backslash may continue to it.
    let mut lines = text.split('\n');
    let mut out = String::new();
    push_line(&mut out, lines.next().unwrap_or(""));
    let starred = text.split('\n').skip(1).all(|l| l.trim_start().starts_with('*'));
    for line in lines {
        out.push('\n');
        let body = line.trim_start_matches([' ', '\t']);
        if body.trim().is_empty() {
            continue;
        }
        let old = width(&line[..line.len() - body.len()]);
        let new = match starred {
            true => to.min(COLUMN_MAX) + 1,
            false if to > COLUMN_MAX => old,
            false => (old + to).saturating_sub(from),
        };
        out.extend(std::iter::repeat_n(' ', new));
        push_line(&mut out, body);
    }
    out
}

/// Adds a line without blanks at its end, except where they keep a backslash from removing the line break.
pub(super) fn push_line(out: &mut String, line: &str) {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let trimmed = line.trim_end();
    out.push_str(trimmed);
    if trimmed.ends_with('\\') && trimmed.len() < line.len() {
        out.push(' ');
    }
}

/// Columns of a line, or the beginning of one: tabs count as such only at the start.
pub(super) fn columns(line: &str) -> usize {
    let rest = line.trim_start_matches([' ', '\t']);
    width(&line[..line.len() - rest.len()]) + rest.chars().count()
}

/// Columns of blanks and tabs.
fn width(blank: &str) -> usize {
    blank.chars().fold(0, |n, c| if c == '\t' { n / 4 * 4 + 4 } else { n + 1 })
}
