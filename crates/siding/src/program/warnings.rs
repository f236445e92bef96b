//! Warnings that a command does not show in full: their number, and the command that shows them.

use super::options::quoted;
use crate::output;
use diagnostics::{Diagnostic, render};
use std::path::{Path, PathBuf};

/// Warnings of one or several programs that were counted instead of shown.
#[derive(Debug, Default)]
pub struct Counted {
    /// Warnings and notes, for their number only.
    diagnostics: Vec<Diagnostic>,
    programs: Vec<PathBuf>,
    check_command: String,
    /// Some come from a step that `siding check` does not take.
    is_beyond_check: bool,
}

impl Counted {
    /// Adds the warnings of a program. `check_command` is `siding check` with the options of this run.
    pub fn add(
        &mut self,
        check_command: &str,
        program: &Path,
        is_found_by_check: bool,
        diagnostics: &[Diagnostic],
    ) {
        if diagnostics.is_empty() {
            return;
        }
        self.diagnostics.extend_from_slice(diagnostics);
        self.programs.push(program.to_owned());
        self.check_command = check_command.to_owned();
        self.is_beyond_check |= !is_found_by_check;
    }

    /// Prints one line, if there are any: how many, and what to type to see them.
    pub fn tell(&self) {
        if self.diagnostics.is_empty() {
            return;
        }
        let verb = if self.diagnostics.len() == 1 { "it" } else { "them" };
        let command = match self.is_beyond_check {
            false => {
                let programs = self.programs.iter().map(|program| quoted(&program.to_string_lossy()));
                std::iter::once(self.check_command.clone()).chain(programs).collect::<Vec<_>>().join(" ")
            }
            true => with_warnings(std::env::args()),
        };
        output::err(&format!("{}; {command} shows {verb}\n", render::summary(&self.diagnostics)));
    }
}

/// The command line that was typed, and `--warnings show`.
fn with_warnings(args: impl Iterator<Item = String>) -> String {
    let mut words: Vec<String> = args.map(|word| quoted(&word)).collect();
    if let Some(first) = words.first_mut() {
        "siding".clone_into(first);
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.insert(end, "--warnings=show".to_owned());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_among_the_options() {
        let typed = ["/usr/bin/siding", "p4info", "a b.p4"].map(str::to_owned);
        assert_eq!(with_warnings(typed.into_iter()), "siding p4info 'a b.p4' --warnings=show");
        let typed = ["siding", "ir", "--", "-"].map(str::to_owned);
        assert_eq!(with_warnings(typed.into_iter()), "siding ir --warnings=show -- -");
    }
}
