//! Diagnostics as text: for people ([`human`], [`short`]) and for programs ([`json`], [`sarif()`]).
//!
//! Every renderer is a pure function of a diagnostic and the [`SourceMap`] that issued its spans, and
//! none of them fails, for any spans. Colour is only used when the caller asks for it.

mod excerpt;
mod human;
mod json;
mod sarif;

pub use human::human;
pub use json::{SCHEMA_VERSION, json};
pub use sarif::{Tool, sarif};

use crate::{Diagnostic, Severity, SourceMap};

/// Options of [`human`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// ANSI escape sequences.
    pub color: bool,
    /// Columns of the terminal; longer source lines are trimmed.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style { color: false, width: 100 }
    }
}

impl Severity {
    /// The word that stands before a message.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One line: `file:line:column: error[P1308]: message`.
pub fn short(d: &Diagnostic, sources: &SourceMap) -> String {
    let message = one_line(&d.message);
    let (severity, id) = (d.severity.name(), d.code.id);
    match sources.locate(d.primary.span) {
        Some(at) => {
            format!("{}:{}:{}: {severity}[{id}]: {message}", one_line(&at.file), at.line, at.column)
        }
        None => format!("{severity}[{id}]: {message}"),
    }
}

/// The closing line, `2 errors, 1 warning`; empty when there is nothing to count.
pub fn summary<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let mut counts = [0usize; 3];
    for d in diagnostics {
        counts[match d.severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            Severity::Info => 2,
        }] += 1;
    }
    let parts: Vec<String> = ["error", "warning", "note"]
        .iter()
        .zip(counts)
        .filter(|(_, n)| *n > 0)
        .map(|(word, n)| format!("{n} {word}{}", if n == 1 { "" } else { "s" }))
        .collect();
    parts.join(", ")
}

/// Line breaks and control characters would break the one-line formats.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
