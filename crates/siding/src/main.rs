//! The `siding` binary: parses the command line, runs one command and turns its result into an exit code.

mod cli;
mod commands;
mod program;

use clap::FromArgMatches;
use console::output::{self, Exit};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

/// Commands recurse over what people write; deep programs grow their own stack, dropping them does not.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        output::error_line(&format!(
            "internal bug: {info}\nPlease report it together with the program that brought it about."
        ));
    }));
    let run = || {
        let typed = match commands::shims::called(std::env::args_os().collect()) {
            commands::shims::Called::Siding(args) => args,
            commands::shims::Called::Done(exit) => return exit,
        };
        let first = typed.get(1).and_then(|word| word.to_str());
        if let Some(program) = first.filter(|word| word.ends_with(".p4")) {
            output::error_line(&format!("`{program}` is a program, not a command"));
            output::err(&format!("To check it: siding check {program}\n"));
            return Exit::Usage;
        }
        if let Some(answer) = first.and_then(cli::other_command) {
            output::error_line(&answer);
            return Exit::Usage;
        }
        let args = match cli::expand(cli::normalise_compat_flags(typed)) {
            Ok(args) => args,
            Err(message) => {
                output::error_line(&message);
                return Exit::Usage;
            }
        };
        let refused = |error: clap::Error, args: &[OsString]| {
            let is_coloured = output::ColorChoice::Auto.for_stderr();
            output::err(&cli::answer(error, &cli::command(), args, is_coloured));
            Exit::Usage
        };
        let matches = match cli::command().try_get_matches_from(&args) {
            Ok(matches) => matches,
            Err(error) if error.use_stderr() => return refused(error, &args),
            // Help and the version: what cannot be written is no success.
            Err(error) => {
                let text = error.render();
                let is_coloured = std::io::stdout().is_terminal();
                output::out(&if is_coloured { text.ansi().to_string() } else { text.to_string() });
                return Exit::Ok;
            }
        };
        match cli::Cli::from_arg_matches(&matches) {
            Ok(cli) => commands::run(cli, &matches),
            Err(error) => refused(error, &args),
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    let exit = match thread {
        Ok(thread) => match thread.join() {
            Ok(exit) => exit,
            Err(_panic) => Exit::Bug,
        },
        Err(error) => {
            output::error_line(&format!("cannot start a thread: {error}"));
            Exit::Environment
        }
    };
    ExitCode::from(output::with_lost_output(exit).code())
}
