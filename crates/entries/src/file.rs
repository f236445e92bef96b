//! A file of entries, read or to be written.

use control::{Batch, Fault};
use diagnostics::render::{self, Style};
use diagnostics::{Diagnostic, SourceMap, Span};
use std::sync::Arc;

/// The messages about a file: diagnostics that point into it, and plain texts.
#[derive(Debug, Default)]
pub struct Messages {
    pub diagnostics: Vec<Diagnostic>,
    /// The text that `diagnostics` point into.
    pub sources: Arc<SourceMap>,
    /// Errors with the path of what they are about: `s1-runtime.json: table_entries[3].match: ...`.
    pub errors: Vec<String>,
    /// Warnings, written as errors are.
    pub warnings: Vec<String>,
}

impl Messages {
    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty() || self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// One message after the other, as text for people.
    pub fn render(&self, style: Style) -> String {
        let diagnosed = self.diagnostics.iter().map(|d| render::human(d, &self.sources, style));
        let errors = self.errors.iter().map(|error| format!("error: {error}\n"));
        let warnings = self.warnings.iter().map(|warning| format!("warning: {warning}\n"));
        diagnosed.map(|text| format!("{text}\n")).chain(warnings).chain(errors).collect()
    }
}

/// The place of an update in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Text(Span),
    /// An element of a list: `table_entries[3]`.
    Item {
        list: &'static str,
        index: usize,
        /// Its line, counted from 1, where the format is read line by line.
        line: Option<usize>,
    },
}

/// The updates of a file, in order.
#[derive(Debug, Default)]
pub struct Entries {
    /// Name of the file, for messages.
    pub name: String,
    pub batch: Batch,
    /// One for each update.
    pub places: Vec<Place>,
    /// Warnings, and the text that the places point into. There is no error among them.
    pub messages: Messages,
}

/// A file of entries, and the parts that its format has no words for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub bytes: Vec<u8>,
    /// Parts that are not in the file, one line each.
    pub left_out: Vec<String>,
}

/// An error about an element of a list.
pub(crate) fn at(name: &str, list: &str, index: usize, line: Option<usize>, fault: &Fault) -> String {
    format!("{}: {}", place(name, line), fault.clone().inside(format_args!("{list}[{index}]")))
}

/// A file, with the line if it is known.
pub(crate) fn place(name: &str, line: Option<usize>) -> String {
    line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"))
}

pub(crate) fn refusal(error: String) -> Messages {
    Messages { errors: vec![error], ..Messages::default() }
}
