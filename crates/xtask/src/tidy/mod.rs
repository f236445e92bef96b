//! The house rules.

mod circles;
mod crates;
mod lines;
mod rooms;
mod text;
mod words;

pub use words::{Hit, Hits, bless};

use crate::house::House;
use crate::{File, Tree};

/// A rule that is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: String,
    /// One-based; 0 for the whole file.
    pub line: usize,
    pub message: String,
    /// A list of exceptions is longer than it has to be.
    pub is_shrunk: bool,
}

impl Problem {
    fn new(file: &File, line: usize, message: impl Into<String>) -> Problem {
        Problem { path: file.path.clone(), line, message: message.into(), is_shrunk: false }
    }

    fn shrunk(list: &str, message: String) -> Problem {
        Problem { path: list.to_string(), line: 0, message, is_shrunk: true }
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

type Rule = fn(&House, &mut Vec<Problem>);

/// Each looks at the whole tree and adds what it finds.
pub const RULES: &[Rule] = &[
    rooms::rooms,
    circles::circles,
    words::words,
    lines::lines_have_tests,
    crates::libraries_say_what_they_are,
    crates::tests_are_run,
    crates::lock_files_follow_manifests,
    crates::licences,
    text::no_unsafe,
    text::short_files,
    text::no_paths_of_one_machine,
    text::expect_not_allow,
    text::no_module_util,
];

/// Runs all rules.
pub fn tidy(tree: &Tree) -> Vec<Problem> {
    let house = House::new(tree);
    let mut problems = Vec::new();
    for (file, error) in &house.unreadable {
        problems.push(Problem::new(file, 0, format!("cannot be parsed: {error}")));
    }
    for (path, message) in &house.faults {
        problems.push(Problem { path: path.clone(), line: 0, message: message.clone(), is_shrunk: false });
    }
    for rule in RULES {
        rule(&house, &mut problems);
    }
    problems
}
