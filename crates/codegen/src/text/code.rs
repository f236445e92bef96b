//! Lines of C, indented, with the places in the P4 program that they come from.

use diagnostics::{SourceMap, Span};
use std::collections::HashSet;
use std::fmt::Write;

/// Where a line comes from, for `#line`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Continues the place of the line before.
    Same,
    P4(Span),
    /// Nothing in the P4 program: the generated file itself.
    Own,
}

#[derive(Clone, Debug)]
enum Line {
    Text {
        indent: usize,
        text: String,
        origin: Origin,
    },
    /// Dropped when nothing jumps to it.
    Label(String),
}

/// A piece of C.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    lines: Vec<Line>,
    indent: usize,
    span: Option<Span>,
}

impl Code {
    pub(crate) fn new() -> Code {
        Code::default()
    }

    /// Empty, to be put into `self` later.
    pub(crate) fn nested(&self) -> Code {
        Code { lines: Vec::new(), indent: self.indent + 1, span: self.span }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Lines from now on come from this place.
    pub(crate) fn at(&mut self, span: Span) {
        self.span = (!span.is_none()).then_some(span);
    }

    pub(crate) fn line(&mut self, text: impl Into<String>) {
        let origin = self.span.map_or(Origin::Same, Origin::P4);
        self.lines.push(Line::Text { indent: self.indent, text: text.into(), origin });
    }

    /// A line that begins a part of the file that is not the P4 program's.
    pub(crate) fn own(&mut self, text: impl Into<String>) {
        self.span = None;
        self.lines.push(Line::Text { indent: self.indent, text: text.into(), origin: Origin::Own });
    }

    pub(crate) fn blank(&mut self) {
        self.lines.push(Line::Text { indent: 0, text: String::new(), origin: Origin::Same });
    }

    /// `text {`
    pub(crate) fn open(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.line(if text.is_empty() { "{".to_string() } else { format!("{text} {{") });
        self.indent += 1;
    }

    /// The head of a function and its brace.
    pub(crate) fn function(&mut self, head: impl Into<String>) {
        self.line(head);
        self.line("{");
        self.indent += 1;
    }

    pub(crate) fn close(&mut self, text: &str) {
        self.indent = self.indent.saturating_sub(1);
        self.line(format!("}}{text}"));
    }

    pub(crate) fn indent(&mut self) {
        self.indent += 1;
    }

    pub(crate) fn dedent(&mut self) {
        self.indent = self.indent.saturating_sub(1);
    }

    pub(crate) fn label(&mut self, name: String) {
        self.lines.push(Line::Label(name));
    }

    /// The code, one level further out.
    pub(crate) fn shallower(mut self) -> Code {
        for line in &mut self.lines {
            if let Line::Text { indent, .. } = line {
                *indent = indent.saturating_sub(1);
            }
        }
        self
    }

    /// Writes on at the end of the last line.
    pub(crate) fn extend_last(&mut self, more: &str) {
        if let Some(Line::Text { text, .. }) = self.lines.last_mut() {
            text.push_str(more);
        }
    }

    /// Removes the last line if it is this one.
    pub(crate) fn drop_last(&mut self, unwanted: &str) {
        if self.last_line() == Some(unwanted) {
            self.lines.pop();
        }
    }

    /// The text of the last line, if it stands at the level of this piece.
    pub(crate) fn last_line(&self) -> Option<&str> {
        match self.lines.last()? {
            Line::Text { indent, text, .. } if *indent == self.indent => Some(text),
            Line::Text { .. } | Line::Label(_) => None,
        }
    }

    pub(crate) fn append(&mut self, other: Code) {
        self.lines.extend(other.lines);
    }

    /// Code under a condition, with braces if it is more than a line.
    pub(crate) fn under(&mut self, condition: &str, body: Code) {
        let is_statement = matches!(body.lines.as_slice(), [Line::Text { text, .. }] if text.ends_with(';'));
        let has_braces = !is_statement;
        self.line(format!("if ({condition}){}", if has_braces { " {" } else { "" }));
        self.append(body);
        if has_braces {
            self.line("}");
        }
    }

    /// Removes labels that are not among `used`.
    pub(crate) fn keep_labels(&mut self, used: &HashSet<String>) {
        self.lines.retain(|line| match line {
            Line::Label(name) => used.contains(name),
            Line::Text { .. } => true,
        });
    }

    /// Writes `else if` where an `else` has nothing but an `if`.
    pub(crate) fn join_else_if(&mut self) {
        for i in (0..self.lines.len()).rev() {
            let Some(end) = self.only_if_of_else(i) else { continue };
            let Some(Line::Text { text: condition, origin, .. }) = self.lines.get(i + 1).cloned() else {
                continue;
            };
            if let Some(Line::Text { text, origin: place, .. }) = self.lines.get_mut(i) {
                *text = format!("}} else {condition}");
                *place = origin;
            }
            for line in &mut self.lines[i + 2..end] {
                if let Line::Text { indent, .. } = line {
                    *indent = indent.saturating_sub(1);
                }
            }
            self.lines.remove(end);
            self.lines.remove(i + 1);
        }
    }

    /// The line of the brace that closes the `else` of line `i`, if this has nothing but an `if`.
    fn only_if_of_else(&self, i: usize) -> Option<usize> {
        let Line::Text { indent: outer, text, .. } = &self.lines[i] else { return None };
        let is_at = |line: &Line, level: usize| matches!(line, Line::Text { indent, .. } if *indent == level);
        let starts_if = matches!(self.lines.get(i + 1)?, Line::Text { indent, text, .. }
            if *indent == outer + 1 && text.starts_with("if (") && text.ends_with(" {"));
        if text != "} else {" || !starts_if {
            return None;
        }
        for (at, line) in self.lines.iter().enumerate().skip(i + 2) {
            let Line::Text { text, .. } = line else { continue };
            let continues = text.starts_with("} else") && text.ends_with(" {");
            if is_at(line, *outer) && !text.is_empty() {
                return None;
            }
            if is_at(line, outer + 1) && !continues {
                let closes = matches!(self.lines.get(at + 1)?, Line::Text { indent, text, .. } if indent == outer && text == "}");
                return (text == "}" && closes).then_some(at + 1);
            }
        }
        None
    }

    /// The text. `file` is the name of the generated file in `#line`; without `sources` there are none.
    ///
    /// A `#line` stands where lines begin that come from another place than those before; what a statement of P4 becomes
    /// counts on from its own line.
    pub(crate) fn render(&self, sources: Option<&SourceMap>, file: &str) -> String {
        let mut out = String::new();
        // Where the last lines come from; `None` is the generated file.
        let mut place: Option<(String, u32)> = None;
        // The P4 line to which the C compiler attributes the next line.
        let mut taken: Option<(String, u32)> = None;
        let mut n_lines = 1u32;
        // A comment of the generated file precedes this line.
        let mut is_own = false;
        for line in &self.lines {
            let (indent, text, origin) = match line {
                Line::Label(name) => (0, format!("{name}:;"), Origin::Same),
                Line::Text { indent, text, origin } => (*indent, text.clone(), *origin),
            };
            // Nothing in a comment is compiled: what follows decides.
            let is_comment = text.starts_with("/*") && text.ends_with("*/");
            let origin = if is_own && origin == Origin::Same { Origin::Own } else { origin };
            is_own = origin == Origin::Own && (is_comment || text.is_empty());
            match (sources, origin) {
                (_, Origin::Own) if is_own => place = None,
                (Some(sources), Origin::P4(span)) if !is_bracket(&text) => {
                    let wanted = sources.locate(span).map(|at| (at.file, at.line));
                    if let Some((name, number)) = wanted.clone().filter(|_| wanted != place) {
                        if wanted != taken {
                            let _ = writeln!(out, "#line {number} \"{}\"", escape(&name));
                            n_lines += 1;
                            taken.clone_from(&wanted);
                        }
                        place = wanted;
                    }
                }
                (Some(_), Origin::Own) if taken.is_some() => {
                    n_lines += 1;
                    let _ = writeln!(out, "#line {n_lines} \"{}\"", escape(file));
                    place = None;
                    taken = None;
                }
                _ => {}
            }
            if !text.is_empty() {
                for _ in 0..indent {
                    out.push_str("    ");
                }
                out.push_str(&text);
            }
            out.push('\n');
            n_lines += 1;
            if let Some((_, line)) = &mut taken {
                *line += 1;
            }
        }
        out
    }
}

/// Nothing that a compiler would complain of.
fn is_bracket(text: &str) -> bool {
    matches!(text, "" | "{" | "}" | "} else {" | "break;" | "default:")
}

/// Text inside a C string literal.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte as char);
            }
            // A question mark could begin a trigraph.
            0x20..=0x7e if byte != b'?' => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out
}

/// Text inside a C comment.
pub(crate) fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace(['\n', '\r'], " ")
}

/// Without parentheses around all of it.
pub(crate) fn strip(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) else { return text };
    let mut depth = 0i32;
    for c in inner.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return text;
        }
    }
    inner
}
