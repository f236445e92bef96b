//! Options of the front end as the command line has them.

use super::options::{check_command, in_order};
use super::warnings::Counted;
use crate::cli::{FrontEndArgs, WarningsArg};
use crate::output::{self, ErrorFormat, Printer};
use clap::ArgMatches;
use diagnostics::Diagnostic;
use diagnostics::suggest::nearest_word;
use siding::{Action, FileLoader, Options, WarningPolicy, codes};
use std::path::Path;
use syntax::MacroOption;

/// Errors shown to people unless they ask for more, as in p4c.
const ERRORS_SHOWN: usize = 20;

/// The options of [`FrontEndArgs`], understood.
pub struct FrontEnd<'a> {
    args: &'a FrontEndArgs,
    pub loader: FileLoader,
    pub options: Options,
    pub policy: WarningPolicy,
    warnings: WarningsArg,
    /// `siding check` and its options, without programs.
    check_command: String,
}

impl<'a> FrontEnd<'a> {
    pub fn new(args: &'a FrontEndArgs, matches: &ArgMatches) -> FrontEnd<'a> {
        let mut options = Options::default();
        options.syntax.macros = macros(args, matches);
        options.check.strict = args.strict;
        options.check.assignable_action_data = args.assignable_action_data;
        let mut policy = policy(matches);
        warn_of_unknown_names(&policy);
        let loader = FileLoader { include_dirs: args.include_dirs.clone() };
        let for_people = matches!(args.error_format, ErrorFormat::Human | ErrorFormat::Short);
        let usual = if for_people { WarningsArg::Count } else { WarningsArg::Show };
        let warnings = args.warnings.unwrap_or(usual);
        policy.keeps_unused_in_includes = warnings == WarningsArg::All;
        let check_command = check_command(args, matches);
        FrontEnd { args, loader, options, policy, warnings, check_command }
    }

    /// For `siding check`, which shows warnings unless it is told otherwise.
    pub fn of_check(args: &'a FrontEndArgs, matches: &ArgMatches) -> FrontEnd<'a> {
        let front_end = FrontEnd::new(args, matches);
        FrontEnd { warnings: args.warnings.unwrap_or(WarningsArg::Show), ..front_end }
    }

    /// Returns the diagnostics to show in full, and counts the others. `is_found_by_check` tells
    /// that `siding check` finds all of them.
    pub fn select(
        &self,
        diagnostics: Vec<Diagnostic>,
        is_found_by_check: bool,
        program: &Path,
        counted: &mut Counted,
    ) -> Vec<Diagnostic> {
        if self.warnings != WarningsArg::Count {
            return diagnostics;
        }
        let (errors, others): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(Diagnostic::is_error);
        counted.add(&self.check_command, program, is_found_by_check, &others);
        errors
    }

    pub fn printer(&self) -> Printer {
        let for_people = matches!(self.args.error_format, ErrorFormat::Human | ErrorFormat::Short);
        let n_errors_max = self.args.max_error_count.or(for_people.then_some(ERRORS_SHOWN));
        Printer::new(self.args.error_format, self.args.color.for_stderr(), n_errors_max)
    }
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
