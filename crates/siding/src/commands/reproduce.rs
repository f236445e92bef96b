//! `siding reproduce`: see crate `reproduce`.

use crate::cli;
use crate::output::Exit;
use reproduce::{Caller, ReproduceArgs};

pub fn run(args: &ReproduceArgs) -> Exit {
    reproduce::run(args, &Caller { accepts: &accepts })
}

/// True for the command line of a command that this build has.
fn accepts(words: &[String]) -> bool {
    let line = std::iter::once("siding").chain(words.iter().map(String::as_str));
    cli::command().try_get_matches_from(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands that another version may have.
    const UNKNOWN: [&str; 1] = ["model latency"];

    #[test]
    fn commands_of_parts_are_commands_of_siding() {
        for words in reproduce::command_lines() {
            let line = words.join(" ");
            let is_unknown = UNKNOWN.iter().any(|command| line.starts_with(command));
            assert!(is_unknown || accepts(&words), "siding {line}");
        }
        assert!(!accepts(&["sim".to_owned(), "--no-such-option".to_owned()]));
    }
}
