//! The house rules.

mod crates;
mod text;

use crate::{File, Tree};

/// A rule that is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: String,
    /// One-based; 0 for the whole file.
    pub line: usize,
    pub message: String,
}

impl Problem {
    fn new(file: &File, line: usize, message: impl Into<String>) -> Problem {
        Problem { path: file.path.clone(), line, message: message.into() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

type Rule = fn(&Tree, &mut Vec<Problem>);

/// Each looks at the whole tree and adds what it finds.
pub const RULES: &[Rule] = &[
    crates::arrows_point_upwards,
    crates::libraries_say_what_they_are,
    crates::tests_are_run,
    crates::licences,
    text::purity,
    text::no_unsafe,
    text::short_files,
    text::no_paths_of_one_machine,
    text::expect_not_allow,
    text::no_module_util,
];

/// Runs all rules.
pub fn tidy(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for rule in RULES {
        rule(tree, &mut problems);
    }
    problems
}
