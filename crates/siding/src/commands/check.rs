//! `siding check`.

use crate::cli::{CheckArgs, FrontEndArgs};
use crate::output::{self, ErrorFormat, Exit, Printer};
use clap::ArgMatches;
use diagnostics::suggest::nearest_word;
use driver::ControlPlane;
use siding::{Action, FileLoader, Options, WarningPolicy, codes};
use std::path::{Path, PathBuf};
use syntax::MacroOption;

/// Errors shown to people unless they ask for more, as in p4c.
const ERRORS_SHOWN: usize = 20;

pub fn run(args: &CheckArgs, matches: &ArgMatches) -> Exit {
    let products =
        args.pp.is_some() || !args.p4runtime_files.is_empty() || !args.p4runtime_entries_files.is_empty();
    if args.programs.len() > 1 && products {
        output::error_line("options that write files go with one program");
        return Exit::Usage;
    }
    // Before any work: a wrong suffix is a fault of the command line.
    let files = [&args.p4runtime_files, &args.p4runtime_entries_files].into_iter().flatten();
    if let Some(error) = files.clone().find_map(|f| p4info::Format::from_path(f).err()) {
        output::error_line(&error.to_string());
        return Exit::Usage;
    }
    let wants_p4info = files.count() > 0;
    let front_end = FrontEnd::new(&args.front_end, matches);
    let mut printer = front_end.printer();
    let mut exit = Exit::Ok;
    for path in &args.programs {
        let source = match siding::read_source(path) {
            Ok(source) => source,
            Err(error) => {
                output::error_line(&error.to_string());
                exit = exit.max(Exit::Environment);
                continue;
            }
        };
        if args.preprocess_only {
            let (text, sources, diagnostics) =
                driver::preprocess(&source, &front_end.loader, &front_end.options);
            output::out(&text);
            exit = exit.max(if diagnostics.has_errors() { Exit::CompileError } else { Exit::Ok });
            printer.show(diagnostics.into_vec(), sources);
            continue;
        }
        if let Some(to) = &args.pp {
            let parsed = driver::parse(&source, &front_end.loader, &front_end.options);
            if let Err(error) = write_file(to, syntax::pretty::program(&parsed.program).as_bytes()) {
                output::error_line(&error);
                exit = exit.max(Exit::Environment);
            }
        }
        let start = std::time::Instant::now();
        let mut checked = driver::check(&source, &front_end.loader, &front_end.options);
        let control_plane = match wants_p4info {
            true => driver::control_plane(&mut checked, args.front_end.arch),
            false => None,
        };
        front_end.policy.apply(&mut checked.diagnostics, &checked.sources);
        if args.front_end.verbose > 0 {
            output::err(&format!("{}: {:.1} ms\n", source.name, start.elapsed().as_secs_f64() * 1e3));
        }
        if checked.diagnostics.has_errors() {
            exit = exit.max(Exit::CompileError);
        } else if let Some(made) = control_plane {
            exit =
                exit.max(write_p4runtime_files(&args.p4runtime_files, &args.p4runtime_entries_files, &made));
        }
        printer.show(checked.diagnostics.into_vec(), checked.sources);
    }
    printer.finish();
    exit
}

/// Writes P4Info and initial entries, each in the format that the suffix says.
pub fn write_p4runtime_files(p4info: &[PathBuf], entries: &[PathBuf], made: &ControlPlane) -> Exit {
    let p4info = p4info.iter().map(|path| (path, true));
    let entries = entries.iter().map(|path| (path, false));
    for (path, is_p4info) in p4info.chain(entries) {
        let format = p4info::Format::from_path(path).unwrap_or(p4info::Format::Text);
        let bytes = match is_p4info {
            true => p4info::encode_p4info(&made.p4info, format),
            false => p4info::encode_write_request(&made.entries, format),
        };
        if let Err(error) = write_file(path, &bytes) {
            output::error_line(&error);
            return Exit::Environment;
        }
    }
    Exit::Ok
}

/// Writes a product; `-` is standard output. A file is replaced whole or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if path == Path::new("-") {
        output::out_bytes(bytes);
        return Ok(());
    }
    output::replace_file(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

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
