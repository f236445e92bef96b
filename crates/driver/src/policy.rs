//! Severities set by `--Werror`, `--Wwarn`, `--Winfo` and `--Wdisable`.

use diagnostics::{Diagnostic, Diagnostics, Severity, SourceMap};

/// Severity that an option gives to a kind of diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Error,
    Warn,
    Info,
    Disable,
}

/// The options in the order of the command line. Later ones win; one with a name wins over one for all. `_`
/// and `-` in names are equivalent, because p4c uses both.
#[derive(Clone, Debug, Default)]
pub struct WarningPolicy {
    all: Option<Action>,
    named: Vec<(String, Action)>,
    /// Keeps warnings about unused declarations in included files. A program rarely uses all of a file that several
    /// programs share.
    pub keeps_unused_in_includes: bool,
}

impl WarningPolicy {
    /// Adds an option; without a name it applies to all warnings.
    pub fn push(&mut self, name: Option<&str>, action: Action) {
        match name {
            None => self.all = Some(action),
            Some(name) => self.named.push((name.replace('_', "-"), action)),
        }
    }

    /// The names that options mentioned.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the severity of a diagnostic; `None` drops it. Errors stay errors, as in p4c.
    pub fn severity(&self, d: &Diagnostic) -> Option<Severity> {
        if d.severity == Severity::Error {
            return Some(Severity::Error);
        }
        let code_name = d.code.name.replace('_', "-");
        let named = |name: &str| name.eq_ignore_ascii_case(d.code.id) || name == code_name;
        let chosen = self.named.iter().rev().find(|(name, _)| named(name)).map(|(_, action)| *action);
        // Options without a name apply to warnings only, so that they do not raise infos.
        let chosen = chosen.or(self.all.filter(|_| d.severity == Severity::Warning));
        match chosen {
            None => Some(d.severity),
            Some(Action::Error) => Some(Severity::Error),
            Some(Action::Warn) => Some(Severity::Warning),
            Some(Action::Info) => Some(Severity::Info),
            Some(Action::Disable) => None,
        }
    }

    /// Applies the options, and drops warnings about files that are not the user's and about unused declarations in
    /// included files.
    pub fn apply(&self, diagnostics: &mut Diagnostics, sources: &SourceMap) {
        diagnostics.reclassify(|d| {
            let is_unused = d.code.id == check::codes::UNUSED.id && !self.keeps_unused_in_includes;
            let span = d.primary.span;
            let is_left_out = sources.is_system(span) || (is_unused && sources.is_included(span));
            match d.severity {
                Severity::Warning | Severity::Info if is_left_out => None,
                Severity::Warning | Severity::Info | Severity::Error => self.severity(d),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnostics::{CodeInfo, Span};

    static UNUSED: CodeInfo =
        CodeInfo { id: "P1901", name: "unused", default_severity: Severity::Warning, summary: "" };
    static NOTE: CodeInfo =
        CodeInfo { id: "P1902", name: "hint", default_severity: Severity::Info, summary: "" };
    static WRONG: CodeInfo =
        CodeInfo { id: "P1001", name: "wrong", default_severity: Severity::Error, summary: "" };

    fn severities(options: &[(Option<&str>, Action)]) -> [Option<Severity>; 3] {
        let mut policy = WarningPolicy::default();
        options.iter().for_each(|(name, action)| policy.push(*name, *action));
        [&UNUSED, &NOTE, &WRONG].map(|code| policy.severity(&Diagnostic::new(code, Span::NONE, "")))
    }

    #[test]
    fn options_change_severities() {
        use Severity::*;
        type Typed = &'static [(Option<&'static str>, Action)];
        let cases: &[(Typed, [Option<Severity>; 3])] = &[
            (&[], [Some(Warning), Some(Info), Some(Error)]),
            (&[(None, Action::Error)], [Some(Error), Some(Info), Some(Error)]),
            (&[(None, Action::Disable)], [None, Some(Info), Some(Error)]),
            (&[(Some("unused"), Action::Info)], [Some(Info), Some(Info), Some(Error)]),
            (&[(Some("P1902"), Action::Error)], [Some(Warning), Some(Error), Some(Error)]),
            (
                &[(Some("unused"), Action::Warn), (None, Action::Error)],
                [Some(Warning), Some(Info), Some(Error)],
            ),
            (
                &[(Some("unused"), Action::Error), (Some("unused"), Action::Disable)],
                [None, Some(Info), Some(Error)],
            ),
            (&[(Some("wrong"), Action::Disable)], [Some(Warning), Some(Info), Some(Error)]),
        ];
        for (options, expected) in cases {
            assert_eq!(severities(options), *expected, "{options:?}");
        }
    }
}
