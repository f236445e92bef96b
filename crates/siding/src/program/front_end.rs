//! Options of the front end as the command line has them.

use crate::cli::FrontEndArgs;
use crate::output::{self, ErrorFormat, Printer};
use clap::ArgMatches;
use diagnostics::suggest::nearest_word;
use siding::{Action, FileLoader, Options, WarningPolicy, codes};
use syntax::MacroOption;

/// Errors shown to people unless they ask for more, as in p4c.
const ERRORS_SHOWN: usize = 20;

/// The options of [`FrontEndArgs`], understood.
pub struct FrontEnd<'a> {
    args: &'a FrontEndArgs,
    pub loader: FileLoader,
    pub options: Options,
    pub policy: WarningPolicy,
}

impl<'a> FrontEnd<'a> {
    pub fn new(args: &'a FrontEndArgs, matches: &ArgMatches) -> FrontEnd<'a> {
        let mut options = Options::default();
        options.syntax.macros = macros(args, matches);
        options.check.strict = args.strict;
        let policy = policy(matches);
        warn_of_unknown_names(&policy);
        let loader = FileLoader { include_dirs: args.include_dirs.clone() };
        FrontEnd { args, loader, options, policy }
    }

    pub fn printer(&self) -> Printer {
        let for_people = matches!(self.args.error_format, ErrorFormat::Human | ErrorFormat::Short);
        let n_errors_max = self.args.max_error_count.or(for_people.then_some(ERRORS_SHOWN));
        Printer::new(self.args.error_format, self.args.color.for_stderr(), n_errors_max)
    }
}

/// The values of options in the order in which they were typed.
fn in_order<'m>(matches: &'m ArgMatches, ids: &[&'static str]) -> Vec<(&'static str, &'m str)> {
    let mut found = Vec::new();
    for id in ids {
        let values = matches.get_many::<String>(id).into_iter().flatten();
        found.extend(
            matches.indices_of(id).into_iter().flatten().zip(values).map(|(i, v)| (i, *id, v.as_str())),
        );
    }
    found.sort_by_key(|(i, ..)| *i);
    found.into_iter().map(|(_, id, value)| (id, value)).collect()
}

/// `-D` and `-U` in the order of the command line: the last word on a macro wins.
fn macros(_args: &FrontEndArgs, matches: &ArgMatches) -> Vec<MacroOption> {
    in_order(matches, &["defines", "undefines"])
        .into_iter()
        .map(|(id, value)| match (id, value.split_once('=')) {
            ("undefines", _) => MacroOption::Undefine(value.to_string()),
            (_, Some((name, value))) => MacroOption::Define(name.to_string(), value.to_string()),
            (_, None) => MacroOption::Define(value.to_string(), "1".to_string()),
        })
        .collect()
}

fn policy(matches: &ArgMatches) -> WarningPolicy {
    let mut policy = WarningPolicy::default();
    for (id, name) in in_order(matches, &["w_error", "w_warn", "w_info", "w_disable"]) {
        let action = match id {
            "w_error" => Action::Error,
            "w_warn" => Action::Warn,
            "w_info" => Action::Info,
            _ => Action::Disable,
        };
        policy.push((!name.is_empty()).then_some(name), action);
    }
    policy
}

/// p4c has names that we have not, so an unknown one is no error.
fn warn_of_unknown_names(policy: &WarningPolicy) {
    let codes = codes::all();
    for name in policy.names().filter(|name| codes::find(name).is_none()) {
        let known = codes.iter().map(|c| c.name);
        let nearest = nearest_word(name, known).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
        output::warning_line(&format!("no diagnostic is named `{name}`{nearest}"));
    }
}
