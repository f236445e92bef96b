//! Errors of packets written as text.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// Something that is wrong with the text of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In bytes of the text, on boundaries of characters. Empty at the end of the text.
    pub at: Range<usize>,
    pub message: String,
    /// The text to write instead, or the names there are.
    pub help: Option<String>,
}

impl Fault {
    pub(crate) fn new(at: Range<usize>, message: impl Into<String>) -> Fault {
        Fault { at, message: message.into(), help: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Fault {
        Fault { help: Some(help.into()), ..self }
    }

    /// The text with the place of the fault marked below it, and the help: for a terminal.
    pub fn render(&self, text: &str) -> String {
        /// Characters shown before and after the place, so that a line fits a terminal.
        const CONTEXT_CHARS: usize = 50;
        let before: Vec<char> = text.get(..self.at.start).unwrap_or_default().chars().collect();
        let marked: Vec<char> = text.get(self.at.clone()).unwrap_or_default().chars().collect();
        let after = text.get(self.at.end..).unwrap_or_default().chars();
        let skipped = before.len().saturating_sub(CONTEXT_CHARS);
        let n_marks = marked.len().clamp(1, CONTEXT_CHARS);
        let dots = if skipped > 0 { "..." } else { "" };
        // A line break or a tab would move the mark away from its place.
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let line: String = before[skipped..]
            .iter()
            .copied()
            .chain(marked.iter().copied().take(CONTEXT_CHARS))
            .chain(after.take(CONTEXT_CHARS))
            .map(plain)
            .collect();
        let indent = " ".repeat(dots.len() + before.len() - skipped);
        let mut shown = format!("{self}\n  {dots}{line}\n  {indent}{}", "^".repeat(n_marks));
        if let Some(help) = &self.help {
            shown.push_str(&format!("\n  help: {help}"));
        }
        shown
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
