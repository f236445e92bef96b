//! Comments in programs that name what is reported for their line.

use crate::Block;
use diagnostics::{Diagnostic, Severity};

/// A diagnostic that a comment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    pub severity: Severity,
    pub code: String,
    /// Part of the text; empty where any text will do.
    pub part: String,
    /// Line of the page, from 1.
    pub line: usize,
}

/// The expectations of a block that no diagnostic has met so far.
#[derive(Clone, Debug, Default)]
pub struct Expectations(pub Vec<Expectation>);

impl Expectations {
    /// Reads the comments of a block. Panics where one is not complete.
    pub fn of(block: &Block) -> Expectations {
        let mut all = Vec::new();
        for (i, text) in block.text.lines().enumerate() {
            let line = block.line + i;
            let mut rest = text.split_once("//").map_or("", |(_, comment)| comment);
            while let Some(at) = rest.find("error: [").into_iter().chain(rest.find("warn: [")).min() {
                let severity =
                    if rest[at..].starts_with("error") { Severity::Error } else { Severity::Warning };
                let (_, named) = rest[at..].split_once('[').unwrap_or_default();
                let (code, after) =
                    named.split_once(']').unwrap_or_else(|| panic!("line {line}: no `]` in {text}"));
                let mut part = "";
                rest = after;
                if let Some(quoted) = after.trim_start().strip_prefix('"') {
                    (part, rest) = quoted
                        .split_once('"')
                        .unwrap_or_else(|| panic!("line {line}: no closing quote in {text}"));
                }
                all.push(Expectation { severity, code: code.to_string(), part: part.to_string(), line });
            }
        }
        Expectations(all)
    }

    /// Removes the first expectation that a diagnostic on a line of the page meets; false if there is none.
    pub fn meet(&mut self, diagnostic: &Diagnostic, line: usize) -> bool {
        let met = self.0.iter().position(|e| {
            e.severity == diagnostic.severity
                && e.code == diagnostic.code.id
                && e.line == line
                && says(diagnostic, &e.part)
        });
        met.map(|i| self.0.remove(i)).is_some()
    }

    /// One line for each expectation that is left.
    pub fn missing(&self, file: &str) -> impl Iterator<Item = String> {
        let line = |e: &Expectation| {
            format!("{file}:{}: missing: {:?} [{}] \"{}\"", e.line, e.severity, e.code, e.part)
        };
        self.0.iter().map(line).collect::<Vec<_>>().into_iter()
    }
}

/// True if a part of a text stands in the message of a diagnostic, its labels, notes, helps or fixes.
pub fn says(d: &Diagnostic, part: &str) -> bool {
    let labels = d.labels.iter().map(|l| &l.text);
    let fixes = d.fixes.iter().map(|f| &f.message);
    let mut texts =
        [&d.message, &d.primary.text].into_iter().chain(labels).chain(&d.notes).chain(&d.helps).chain(fixes);
    texts.any(|text| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read() {
        let text = "a; // error: [P1] \"x: y\" warn: [P2] and error: [P3] \"\"\nerror: [P4]\n// warn: [P5]\n";
        let block = Block { kind: "p4".into(), words: Vec::new(), line: 7, text: text.into() };
        let found: Vec<_> =
            Expectations::of(&block).0.into_iter().map(|e| (e.severity, e.code, e.part, e.line)).collect();
        let of =
            |severity, code: &str, part: &str, line| (severity, code.to_string(), part.to_string(), line);
        let expected = [
            of(Severity::Error, "P1", "x: y", 7),
            of(Severity::Warning, "P2", "", 7),
            of(Severity::Error, "P3", "", 7),
            of(Severity::Warning, "P5", "", 9),
        ];
        assert_eq!(found, expected);
    }
}
