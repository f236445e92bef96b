//! Help: what `-h` and `--help-all` of each command show.
//!
//! `-h` and `--help` fit on a screen or two: examples stand at the end, and the compiler options that many commands share
//! are left to `siding help compiler-options`. `--help-all` shows every option and every value.

use super::{Cli, FrontEndArgs, examples};
use clap::{Arg, ArgAction, Args, Command, CommandFactory};
use diagnostics::suggest;

/// Heading of the options of [`FrontEndArgs`].
const COMPILER_OPTIONS: &str = "Compiler options";

/// The name of the page of compiler options, for `siding help`.
const COMPILER_OPTIONS_TOPIC: &str = "compiler-options";

/// Compiler options that `-h` of every command shows.
const SHOWN: &[&str] = &["include_dirs", "defines"];

/// Place of the help options: after all others but `--version`.
const HELP_ORDER: usize = 998;

/// The command whose business warnings and messages are; it shows all compiler options.
const CHECK: &str = "check";

/// The command line with its help.
pub fn command() -> Command {
    helpful(Cli::command(), "")
}

/// Adds examples and the option `--help-all` to a command and those below it, and folds compiler options.
fn helpful(command: Command, path: &str) -> Command {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
    let command = command.mut_subcommands(|sub| {
        let path = below(sub.get_name());
        helpful(sub, &path)
    });
    let compiler_options = compiler_options();
    let is_compiler_option =
        |arg: &Arg| compiler_options.get_arguments().any(|option| option.get_id() == arg.get_id());
    let is_folded = path != CHECK && command.get_arguments().any(is_compiler_option);
    let command = command.mut_args(|arg| {
        let is_shown = !is_folded || SHOWN.contains(&arg.get_id().as_str());
        // A negative number is a faulty value of the option before it, not another option.
        let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        let arg = if takes_value { arg.allow_negative_numbers(true) } else { arg };
        match is_compiler_option(&arg) {
            true => arg.hide_short_help(!is_shown).help_heading(COMPILER_OPTIONS),
            false => arg,
        }
    });
    let mut after = Vec::new();
    if is_folded {
        after.push(format!("More compiler options: siding help {COMPILER_OPTIONS_TOPIC}"));
    }
    after.extend(example_lines(path));
    after.extend(command.get_after_help().map(ToString::to_string));
    // Options of a flattened group have left its heading behind.
    let command = command.next_help_heading(None);
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::HelpShort)
        .display_order(HELP_ORDER)
        .help("Print help");
    let help_all = Arg::new("help-all")
        .long("help-all")
        .action(ArgAction::HelpLong)
        .display_order(HELP_ORDER)
        .help("Print help with all options and the meaning of their values");
    let command = command.disable_help_flag(true).disable_help_subcommand(true).arg(help).arg(help_all);
    command.after_help(after.join("\n\n"))
}

/// The examples of a command, with what they are for beside them if there is room.
fn example_lines(path: &str) -> Option<String> {
    const WIDTH: usize = 98;
    let examples = examples::of(path);
    let width = examples.iter().map(|(line, _)| line.len()).max()?;
    let line = |(line, what): &examples::Example| match what.is_empty() || width + what.len() + 6 > WIDTH {
        true => format!("  {line}"),
        false => format!("  {line:width$}  # {what}"),
    };
    let lines: Vec<String> = examples.iter().map(line).collect();
    Some(format!("Examples:\n{}", lines.join("\n")))
}

/// A command with the compiler options alone.
fn compiler_options() -> Command {
    FrontEndArgs::augment_args(Command::new("siding"))
}

/// The page that `siding help` prints: of a command, by its words, or of the compiler options.
pub fn page(words: &[String]) -> Result<clap::builder::StyledStr, String> {
    if words == [COMPILER_OPTIONS_TOPIC] {
        let template = "Options of all commands that read P4 programs:\n\n{options}\n";
        let mut options =
            compiler_options().disable_help_flag(true).help_template(template).max_term_width(100);
        return Ok(options.render_long_help());
    }
    let mut command = command();
    command.build();
    for (i, word) in words.iter().enumerate() {
        let found = command.find_subcommand(word).cloned();
        command = found.ok_or_else(|| unknown(&command, &words[..i], word))?;
    }
    Ok(command.render_help())
}

/// Says that there is no such command.
fn unknown(command: &Command, before: &[String], word: &str) -> String {
    let path: String = before.iter().map(|word| format!(" {word}")).collect();
    let names = command.get_subcommands().map(Command::get_name).chain([COMPILER_OPTIONS_TOPIC]);
    match suggest::closest(word, names) {
        Some(meant) => format!("there is no command `siding{path} {word}`; did you mean `{meant}`?"),
        None => format!("there is no command `siding{path} {word}`; siding{path} --help lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a page on a terminal of 100 columns.
    const LINES_MAX: usize = 80;

    /// Calls `judge` for each command that people see, with its path.
    fn for_each(command: &Command, path: &str, judge: &mut dyn FnMut(&Command, &str)) {
        judge(command, path);
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let below = if path.is_empty() { String::new() } else { format!("{path} ") };
            for_each(sub, &format!("{below}{}", sub.get_name()), judge);
        }
    }

    fn all(judge: &mut dyn FnMut(&Command, &str)) {
        let mut command = command().term_width(100);
        command.build();
        for_each(&command, "", judge);
    }

    /// The words of a command line of a shell: blanks separate, single quotes keep together; what goes to or comes from
    /// files and other commands is left out.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut is_quoted = false;
        for c in line.chars() {
            match c {
                '\'' => is_quoted = !is_quoted,
                '|' | '>' | '<' if !is_quoted => break,
                '&' | ';' | '(' | ')' | '$' | '"' | '#' if !is_quoted => {
                    panic!("{line}: the shell takes {c}")
                }
                ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
                c => word.push(c),
            }
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn examples_are_command_lines() {
        all(&mut |_, path| {
            let examples = examples::of(path);
            assert!((2..=4).contains(&examples.len()), "siding {path}: {} examples", examples.len());
            for (line, _) in examples {
                let parsed = command().try_get_matches_from(super::super::normalise_compat_flags(
                    words(line).into_iter().map(Into::into),
                ));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
            let own = format!("siding {path}");
            assert!(examples[0].0.starts_with(&own), "{own}: the first example is of another command");
        });
    }

    #[test]
    fn examples_are_of_commands() {
        let mut paths = Vec::new();
        all(&mut |_, path| paths.push(path.to_owned()));
        for (path, _) in examples::EXAMPLES {
            assert!(paths.iter().any(|p| p == path), "there is no command `{path}`");
        }
    }

    #[test]
    fn help_is_short() {
        all(&mut |command, path| {
            let text = command.clone().render_help().to_string();
            let n_lines = text.lines().count();
            assert!(n_lines <= LINES_MAX, "siding {path} --help has {n_lines} lines");
            assert!(text.contains("Examples:\n"), "{text}");
            let options = text.split_once("\nOptions:\n").map_or("", |(_, options)| options);
            let options = options.split("\n\n").next().unwrap_or_default();
            assert!(options.contains("-h, --help"), "{text}");
        });
    }

    #[test]
    fn everything_is_described() {
        all(&mut |command, path| {
            assert!(command.get_about().is_some(), "siding {path}");
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                assert!(
                    arg.get_help().is_some_and(|help| !help.to_string().is_empty()),
                    "siding {path} {arg}"
                );
                let values = arg.get_possible_values();
                let n_described = values.iter().filter(|value| value.get_help().is_some()).count();
                let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
                assert!(n_described == 0 || n_described == values.len(), "siding {path} {arg}: {names:?}");
            }
        });
    }

    #[test]
    fn compiler_options_have_a_page() {
        let mut switch = command();
        switch.build();
        let mut switch = switch.find_subcommand("switch").unwrap().clone();
        let (short, long) = (switch.render_help().to_string(), switch.render_long_help().to_string());
        assert!(short.contains("-I <DIR>") && !short.contains("--Wdisable"), "{short}");
        assert!(short.contains("siding help compiler-options") && long.contains("--Wdisable"), "{long}");
        let page = page(&[COMPILER_OPTIONS_TOPIC.to_owned()]).unwrap().to_string();
        assert!(page.contains("--Wdisable") && page.contains("--error-format"), "{page}");
    }

    #[test]
    fn help_finds_commands() {
        let page = |words: &[&str]| page(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert!(page(&["ctl", "show"]).unwrap().to_string().contains("siding ctl show [OPTIONS]"));
        assert!(page(&[]).unwrap().to_string().contains("Commands:"));
        assert!(page(&["chek"]).unwrap_err().contains("did you mean `check`?"));
        assert!(page(&["ctl", "nonsense"]).unwrap_err().contains("siding ctl --help"));
    }
}
