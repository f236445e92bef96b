//! One message and the collection of all messages of a run.

use crate::Span;
use rustc_hash::FxHashSet;

/// Severity of a diagnostic, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// A stable code. Shown as `P1308`; `name` is what `--Wdisable=name` and its kin take.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    pub id: &'static str,
    /// Kebab-case name; for warnings the one that p4c users type.
    pub name: &'static str,
    pub default_severity: Severity,
    /// One line for lists of codes.
    pub summary: &'static str,
}

/// A reference to a declared code; compared by id.
pub type Code = &'static CodeInfo;

/// A labelled place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// An edit that would mend the fault: replace each span by its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    pub message: String,
    pub edits: Vec<(Span, String)>,
}

/// One message: what is wrong, where, why, and how to correct it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// The message: one line without a final full stop.
    pub message: String,
    /// The place of the error.
    pub primary: Label,
    /// Other places that explain the error.
    pub labels: Vec<Label>,
    /// Reasons: facts and rules, each a sentence.
    pub notes: Vec<String>,
    /// Advice: text that the user can type.
    pub helps: Vec<String>,
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.default_severity,
            message: message.into(),
            primary: Label { span, text: String::new() },
            labels: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// Text beside the primary place.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// A further place. Places without a position are left out.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        if !span.is_none() {
            self.labels.push(Label { span, text: text.into() });
        }
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(text.into());
        self
    }

    /// A mend by replacing one span.
    pub fn fix(mut self, message: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        self.fixes.push(Fix { message: message.into(), edits: vec![(span, replacement.into())] });
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The messages of a run, in order of discovery, without repetitions.
#[derive(Debug, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    seen: FxHashSet<(&'static str, Span, String)>,
    n_errors: usize,
}

impl Diagnostics {
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds a message unless the same code stands at the same place with the same words already.
    pub fn push(&mut self, d: Diagnostic) {
        if self.seen.insert((d.code.id, d.primary.span, d.message.clone())) {
            self.n_errors += usize::from(d.is_error());
            self.items.push(d);
        }
    }

    pub fn extend(&mut self, other: impl IntoIterator<Item = Diagnostic>) {
        other.into_iter().for_each(|d| self.push(d));
    }

    pub fn n_errors(&self) -> usize {
        self.n_errors
    }

    pub fn has_errors(&self) -> bool {
        self.n_errors > 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.items.iter()
    }

    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.items
    }

    /// Changes severities after the fact (`--Werror`, `--Wdisable`): `f` gives the new severity, or `None` to drop it.
    pub fn reclassify(&mut self, mut f: impl FnMut(&Diagnostic) -> Option<Severity>) {
        self.items.retain_mut(|d| match f(d) {
            Some(s) => {
                d.severity = s;
                true
            }
            None => false,
        });
        self.n_errors = self.items.iter().filter(|d| d.is_error()).count();
    }
}
