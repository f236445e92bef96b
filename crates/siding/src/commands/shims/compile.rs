//! `p4c-bm2-ss` and `p4c`: P4Info, and the program as JSON that `simple_switch_grpc` of Siding takes.

use super::Shim;
use crate::cli::{P4RuntimeFormatArg, P4cArgs};
use crate::commands::build::archive_of_texts;
use crate::commands::check::{write_file, write_p4runtime_files};
use crate::commands::compiling::{Compiling, Prepared, stem};
use crate::output::{self, Exit};
use crate::program::{FrontEnd, envelope, load};
use clap::{CommandFactory, FromArgMatches};
use console::{CcArgs, Loaded};
use p4info::Format;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Exit code of p4c for all failures.
const FAILED: Exit = Exit::Failed;

/// Options that p4c has with one dash.
const SINGLE_DASH: &[&str] = &["-std", "-p4v", "-Werror", "-Wwarn", "-Winfo", "-Wdisable"];

pub fn run(shim: Shim, args: &[OsString]) -> Exit {
    let args: Vec<OsString> = args.iter().map(doubled).collect();
    let command = P4cArgs::command().name(shim.name());
    let matches = match command.try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            let text = error.render();
            if error.use_stderr() {
                output::err(&text.to_string());
                return FAILED;
            }
            output::out(&if std::io::stdout().is_terminal() {
                text.ansi().to_string()
            } else {
                text.to_string()
            });
            return Exit::Ok;
        }
    };
    let args = match P4cArgs::from_arg_matches(&matches) {
        Ok(args) => args,
        Err(error) => {
            output::error_line(&error.to_string());
            return FAILED;
        }
    };
    match compile(shim, &args, &matches) {
        Ok(()) => Exit::Ok,
        // A fault of ours stays one.
        Err(Exit::Bug) => Exit::Bug,
        Err(_) => FAILED,
    }
}

fn doubled(arg: &OsString) -> OsString {
    let name = arg.to_str().map(|text| text.split('=').next().unwrap_or(text));
    if !name.is_some_and(|name| SINGLE_DASH.contains(&name)) {
        return arg.clone();
    }
    let mut doubled = OsString::from("-");
    doubled.push(arg);
    doubled
}

fn compile(shim: Shim, args: &P4cArgs, matches: &clap::ArgMatches) -> Result<(), Exit> {
    let usage = |message: String| {
        output::error_line(&message);
        Exit::Usage
    };
    if let Some(target) = args.front_end.target.as_deref().filter(|target| !target.starts_with("bmv2")) {
        return Err(usage(format!(
            "there is no backend for {target} here; --target bmv2 makes a program for Siding"
        )));
    }
    let files = [&args.p4runtime_files, &args.p4runtime_entries_files].into_iter().flatten();
    if let Some(error) = files.into_iter().find_map(|file| Format::from_path(file).err()) {
        return Err(usage(error.to_string()));
    }
    if args.preprocess_only || args.pp.is_some() {
        before_checking(args, matches)?;
        if args.preprocess_only {
            return Ok(());
        }
    }
    let loaded = load(&args.program, &args.front_end, matches)?;
    let made = &loaded.runnable.control_plane;
    match write_p4runtime_files(&args.p4runtime_files, &args.p4runtime_entries_files, made) {
        Exit::Ok => {}
        exit => return Err(exit),
    }
    if let Some(path) = &args.p4runtime_file {
        let format = match args.p4runtime_format {
            P4RuntimeFormatArg::Text => Format::Text,
            P4RuntimeFormatArg::Json => Format::Json,
            P4RuntimeFormatArg::Binary => Format::Binary,
        };
        write(path, &p4info::encode_p4info(&made.p4info, format))?;
    }
    let Some(path) = output_path(shim, args)? else { return Ok(()) };
    let name = args.program.file_name().unwrap_or_default().to_string_lossy();
    let archive = archive_of_texts(&loaded, &name).map_err(|error| {
        output::error_line(&format!("cannot make the archive: {error}"));
        Exit::Environment
    })?;
    let architecture = &loaded.runnable.program.architecture.name;
    write(&path, envelope::write(&archive, &name, architecture).as_bytes())?;
    warm_cache(&loaded, &stem(&args.program));
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Exit> {
    write_file(path, bytes).map_err(|error| {
        output::error_line(&error);
        Exit::Environment
    })
}

/// Makes the products that need no checked program.
fn before_checking(args: &P4cArgs, matches: &clap::ArgMatches) -> Result<(), Exit> {
    let front_end = FrontEnd::new(&args.front_end, matches);
    let source = siding::read_source(&args.program).map_err(|error| {
        output::error_line(&error.to_string());
        Exit::Environment
    })?;
    if args.preprocess_only {
        let (text, sources, diagnostics) = driver::preprocess(&source, &front_end.loader, &front_end.options);
        output::out(&text);
        let has_errors = diagnostics.has_errors();
        let mut printer = front_end.printer();
        printer.show(diagnostics.into_vec(), sources);
        printer.finish();
        return if has_errors { Err(Exit::CompileError) } else { Ok(()) };
    }
    match &args.pp {
        Some(to) => {
            let parsed = driver::parse(&source, &front_end.loader, &front_end.options);
            write(to, syntax::pretty::program(&parsed.program).as_bytes())
        }
        None => Ok(()),
    }
}

/// p4c-bm2-ss names a file, p4c a directory, which is made.
fn output_path(shim: Shim, args: &P4cArgs) -> Result<Option<PathBuf>, Exit> {
    let given = args.output.clone();
    if shim == Shim::P4cBm2Ss {
        return Ok(given);
    }
    let dir = given.unwrap_or_else(|| PathBuf::from("."));
    std::fs::create_dir_all(&dir).map_err(|error| {
        output::error_line(&format!("cannot make {}: {error}", dir.display()));
        Exit::Environment
    })?;
    let mut name = args.program.file_stem().map_or_else(|| OsString::from("program"), OsStr::to_os_string);
    name.push(".json");
    Ok(Some(dir.join(name)))
}

/// Compiles to native code, which the switches that are started next find in the cache. Without a C compiler they say so.
fn warm_cache(loaded: &Loaded, name: &str) {
    let Ok(compiling) = Compiling::new(&CcArgs::usual()) else { return };
    if let Ok(prepared) = Prepared::new(loaded, name) {
        let text = prepared.c_text(codegen::Options::default());
        let _ = native::compile(&text, &compiling.options);
    }
}
