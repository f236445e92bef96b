//! Completion of a command line: which words may stand where the cursor is.
//!
//! [`complete`] follows the words before the cursor through the commands and options that clap knows. Names that clap does
//! not know, as of tables of a running switch, come from a function of the caller.

use clap::{Arg, ArgAction, Command};

/// A word that may stand at the cursor, and a description for shells that show one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub word: String,
    pub what: String,
}

impl Candidate {
    pub fn new(word: impl Into<String>, what: impl Into<String>) -> Candidate {
        Candidate { word: word.into(), what: what.into() }
    }
}

/// A value that stands at the cursor.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The words of the command, without `siding`.
    pub command: &'a str,
    /// Identifier of the argument in clap.
    pub arg: &'a str,
    /// Positional arguments of the command before the cursor.
    pub before: &'a [String],
    /// Values of options before the cursor, by the options' identifiers.
    pub options: &'a [(String, String)],
}

impl Wanted<'_> {
    /// The last value of an option.
    pub fn option(&self, id: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| option == id).map(|(_, value)| value.as_str())
    }
}

/// The candidates for the last of `words`, which may be empty; `siding` itself is not among the words. `names` tells
/// the values that clap does not know.
pub fn complete(
    mut root: Command,
    words: &[String],
    names: &dyn Fn(&Wanted<'_>) -> Vec<Candidate>,
) -> Vec<Candidate> {
    root.build();
    let Some((cursor, before)) = words.split_last() else { return Vec::new() };
    let mut line = Line { command: &root, path: Vec::new(), positionals: Vec::new(), options: Vec::new() };
    let mut option: Option<&Arg> = None;
    for word in before {
        option = match (option, word.as_str()) {
            // Bash gives `--option=value` as three words.
            (Some(option), "=") => Some(option),
            (Some(option), _) => {
                line.options.push((option.get_id().to_string(), word.clone()));
                None
            }
            (None, _) => line.take(word),
        };
    }
    let (option, prefix, cursor) = match (option, cursor.split_once('=')) {
        (Some(option), _) => (Some(option), String::new(), cursor.trim_start_matches('=')),
        (None, Some((name, value))) if name.starts_with("--") => {
            (line.option(name), format!("{name}="), value)
        }
        (None, _) => (None, String::new(), cursor.as_str()),
    };
    let mut found = match option {
        Some(option) => line.values(option, names),
        None if cursor.starts_with('-') => line.option_names(),
        None => line.words(names),
    };
    found.retain(|candidate| candidate.word.starts_with(cursor));
    for candidate in &mut found {
        candidate.word.insert_str(0, &prefix);
    }
    found
}

/// The part of a command line before the cursor.
struct Line<'c> {
    command: &'c Command,
    path: Vec<&'c str>,
    positionals: Vec<String>,
    options: Vec<(String, String)>,
}

impl<'c> Line<'c> {
    /// Goes on by a word. Returns an option if its value is the next word.
    fn take(&mut self, word: &str) -> Option<&'c Arg> {
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| name.starts_with("--")) {
            let id = self.option(name).map(|option| option.get_id().to_string());
            self.options.extend(id.map(|id| (id, value.to_owned())));
        } else if word.starts_with("--") {
            return self.option(word).filter(|option| takes_next(option));
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let letter = letters.chars().next();
            let option = self.command.get_arguments().find(|arg| arg.get_short() == letter);
            // `-Idir` has its value.
            return option.filter(|option| takes_next(option) && letters.chars().count() == 1);
        } else if let Some(sub) = self.command.find_subcommand(word).filter(|_| self.positionals.is_empty()) {
            self.command = sub;
            self.path.push(sub.get_name());
        } else {
            self.positionals.push(word.to_owned());
        }
        None
    }

    /// The option with a long name, which begins with `--`.
    fn option(&self, name: &str) -> Option<&'c Arg> {
        let name = name.trim_start_matches('-');
        let is_named = |arg: &&Arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        };
        self.command.get_arguments().find(is_named)
    }

    /// The values that an argument takes.
    fn values(&self, arg: &Arg, names: &dyn Fn(&Wanted<'_>) -> Vec<Candidate>) -> Vec<Candidate> {
        let known = arg.get_possible_values();
        if !known.is_empty() {
            let visible = known.iter().filter(|value| !value.is_hide_set());
            let what = |help: Option<&clap::builder::StyledStr>| help.map(ToString::to_string);
            return visible
                .map(|value| Candidate::new(value.get_name(), what(value.get_help()).unwrap_or_default()))
                .collect();
        }
        names(&Wanted {
            command: &self.path.join(" "),
            arg: arg.get_id().as_str(),
            before: &self.positionals,
            options: &self.options,
        })
    }

    fn option_names(&self) -> Vec<Candidate> {
        let options = self.command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional());
        let named = options.filter_map(|arg| {
            let name = match (arg.get_long(), arg.get_short()) {
                (Some(long), _) => format!("--{long}"),
                (None, short) => format!("-{}", short?),
            };
            Some(Candidate::new(name, first_line(arg.get_help())))
        });
        named.collect()
    }

    /// Commands below this one, and the values of the next positional argument.
    fn words(&self, names: &dyn Fn(&Wanted<'_>) -> Vec<Candidate>) -> Vec<Candidate> {
        let subs = self.command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut found: Vec<Candidate> = match self.positionals.is_empty() {
            true => subs.map(|sub| Candidate::new(sub.get_name(), first_line(sub.get_about()))).collect(),
            false => Vec::new(),
        };
        let arguments: Vec<&Arg> = self.command.get_positionals().collect();
        let last = arguments.last().filter(|arg| arg.get_num_args().is_some_and(|n| n.max_values() > 1));
        let next = arguments.get(self.positionals.len()).or(last);
        found.extend(next.into_iter().flat_map(|arg| self.values(arg, names)));
        found
    }
}

/// True if the value of an option is the next word.
fn takes_next(option: &Arg) -> bool {
    let takes_value = matches!(option.get_action(), ArgAction::Set | ArgAction::Append);
    takes_value && option.get_num_args().is_none_or(|n| n.min_values() > 0)
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words found at the end of a line, in order.
    fn found(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let names = |wanted: &Wanted<'_>| {
            let device = wanted.option("device_id").unwrap_or("0");
            let before = wanted.before.join(",");
            vec![Candidate::new(format!("{}/{}/{before}/{device}", wanted.command, wanted.arg), "")]
        };
        let found = complete(super::super::command(), &words, &names);
        found.into_iter().map(|candidate| candidate.word).collect()
    }

    #[test]
    fn commands_and_options_are_found() {
        assert_eq!(found("che"), ["check"]);
        assert_eq!(found("ctl sh"), ["show", "shutdown"]);
        assert_eq!(found("ctl port "), ["add", "remove", "up", "down"]);
        assert!(
            found("").contains(&"switch".to_owned()) && !found("").contains(&"complete-words".to_owned())
        );
        assert_eq!(found("check --error"), ["--error-format"]);
        assert_eq!(found("nonsense --"), ["--help", "--help-all", "--version"]);
    }

    #[test]
    fn values_are_found() {
        assert_eq!(found("check --error-format s"), ["short", "sarif"]);
        assert_eq!(found("check --error-format = s"), ["short", "sarif"]);
        assert_eq!(found("check --error-format=s"), ["--error-format=short", "--error-format=sarif"]);
        assert_eq!(found("check -D X --color n a.p4"), Vec::<String>::new());
        assert_eq!(found("check -I dir --color n"), ["never"]);
        assert_eq!(found("check --warnings "), ["count", "show", "all"]);
        assert_eq!(found("ctl --json show en"), ["entries"]);
    }

    #[test]
    fn other_names_are_asked_for() {
        assert_eq!(found("ctl --device-id 3 add "), ["ctl add/words//3"]);
        assert_eq!(found("ctl add --device-id=4 t 10.0.0.1 "), ["ctl add/words/t,10.0.0.1/4"]);
        assert_eq!(found("graph r.p4 --block "), ["graph/block/r.p4/0"]);
        assert_eq!(found("check --Wdisable="), ["--Wdisable=check/w_disable//0"]);
    }
}
