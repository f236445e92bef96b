//! `siding check`.

use crate::cli::CheckArgs;
use crate::output::{self, Exit};
use crate::program::{Counted, FrontEnd};
use clap::ArgMatches;
use driver::ControlPlane;
use std::path::{Path, PathBuf};

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
    let front_end = FrontEnd::of_check(&args.front_end, matches);
    let mut printer = front_end.printer();
    let mut counted = Counted::default();
    let mut exit = Exit::Ok;
    for path in &args.programs {
        let source = match siding::read_source(path) {
            Ok(source) => source,
            Err(error) => {
                output::error_line(&error.to_string());
                exit = exit.max(read_exit(&error));
                continue;
            }
        };
        output::note_input(path);
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
        let shown = front_end.select(checked.diagnostics.into_vec(), true, path, &mut counted);
        printer.show(shown, checked.sources);
    }
    printer.finish();
    counted.tell();
    exit
}

/// The exit code for a program that could not be read.
pub fn read_exit(error: &siding::ReadError) -> Exit {
    if error.is_foreign { Exit::CompileError } else { Exit::Environment }
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
