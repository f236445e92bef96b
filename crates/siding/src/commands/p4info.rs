//! `siding p4info`.

use super::check::write_file;
use crate::cli::{FormatArg, P4InfoArgs};
use crate::output::{self, Exit};
use crate::program::{Counted, FrontEnd};
use clap::ArgMatches;
use p4info::Format;
use std::path::Path;

pub fn run(args: &P4InfoArgs, matches: &ArgMatches) -> Exit {
    let front_end = FrontEnd::new(&args.front_end, matches);
    let source = match siding::read_source(&args.program) {
        Ok(source) => source,
        Err(error) => {
            output::error_line(&error.to_string());
            return super::check::read_exit(&error);
        }
    };
    let mut checked = driver::check(&source, &front_end.loader, &front_end.options);
    let n_checked = checked.diagnostics.iter().count();
    let made = driver::control_plane(&mut checked, args.front_end.arch);
    let is_found_by_check = checked.diagnostics.iter().count() == n_checked;
    front_end.policy.apply(&mut checked.diagnostics, &checked.sources);
    output::note_sources(&checked.sources);
    let has_errors = checked.diagnostics.has_errors();
    let mut printer = front_end.printer();
    let mut counted = Counted::default();
    let diagnostics = checked.diagnostics.into_vec();
    printer
        .show(front_end.select(diagnostics, is_found_by_check, &args.program, &mut counted), checked.sources);
    printer.finish();
    counted.tell();
    let Some(made) = made.filter(|_| !has_errors) else { return Exit::CompileError };

    let stdout = Path::new("-");
    let entries_to_stdout = args.entries.as_deref() == Some(stdout);
    let output = match &args.output {
        Some(path) => Some(path.as_path()),
        None if entries_to_stdout => None,
        None => Some(stdout),
    };
    if let Some(path) = output {
        let bytes = p4info::encode_p4info(&made.p4info, format(args, path));
        if let Err(error) = write_file(path, &bytes) {
            output::error_line(&error);
            return Exit::Environment;
        }
    }
    if let Some(path) = args.entries.as_deref() {
        let bytes = p4info::encode_write_request(&made.entries, format(args, path));
        if let Err(error) = write_file(path, &bytes) {
            output::error_line(&error);
            return Exit::Environment;
        }
    }
    Exit::Ok
}

fn format(args: &P4InfoArgs, path: &Path) -> Format {
    match args.format {
        Some(FormatArg::Text) => Format::Text,
        Some(FormatArg::Json) => Format::Json,
        Some(FormatArg::Binary) => Format::Binary,
        None => Format::from_path(path).unwrap_or(Format::Text),
    }
}
