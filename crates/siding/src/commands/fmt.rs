//! `siding fmt`.

use crate::cli::FmtArgs;
use crate::output::{self, ErrorFormat, Exit, Printer};
use diagnostics::SourceMap;
use std::io::IsTerminal;
use std::path::Path;
use syntax::fmt::{FormatOptions, format};

/// Lines around a change in `--diff`.
const CONTEXT: usize = 3;

pub fn run(args: &FmtArgs) -> Exit {
    let mut exit = Exit::Ok;
    for path in &args.programs {
        exit = exit.max(run_file(args, path));
    }
    exit
}

fn run_file(args: &FmtArgs, path: &Path) -> Exit {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "<stdin>".to_string() } else { path.display().to_string() };
    // Not through the driver: text that is not UTF-8 must not be written back mended.
    let read = || -> Result<String, String> {
        let bytes = output::read_file(path).map_err(|error| error.to_string())?;
        String::from_utf8(bytes)
            .map_err(|error| format!("byte {}: not UTF-8", error.utf8_error().valid_up_to()))
    };
    let text = match read() {
        Ok(text) => text,
        Err(error) => {
            output::error_line(&format!("cannot read {name}: {error}"));
            return Exit::Environment;
        }
    };
    if let Some(what) = driver::recognise_foreign(&text, &name) {
        output::error_line(&format!("{name}: {what}"));
        return Exit::CompileError;
    }
    let formatted = match format(&text, &FormatOptions::default()) {
        Ok(formatted) => formatted,
        Err(diagnostics) => {
            let mut sources = SourceMap::new();
            sources.add_file(name, text, None, false);
            let mut printer = Printer::new(ErrorFormat::Human, output::ColorChoice::Auto.for_stderr(), None);
            printer.show(diagnostics, sources);
            printer.finish();
            return Exit::CompileError;
        }
    };
    if args.check {
        if formatted == text {
            return Exit::Ok;
        }
        output::out(&format!("{name} is not formatted\n"));
        return Exit::Failed;
    }
    if args.diff {
        output::out(&diff(&name, &text, &formatted, std::io::stdout().is_terminal()));
        return Exit::Ok;
    }
    if !args.write || is_stdin {
        output::out(&formatted);
        return Exit::Ok;
    }
    if formatted == text {
        return Exit::Ok;
    }
    match output::replace_file(path, formatted.as_bytes()) {
        Ok(()) => Exit::Ok,
        Err(error) => {
            output::error_line(&format!("cannot write {name}: {error}"));
            Exit::Environment
        }
    }
}

/// A unified diff, as `patch` takes it; coloured for terminals that want it.
fn diff(name: &str, old: &str, new: &str, is_terminal: bool) -> String {
    let diff = similar::TextDiff::from_lines(old, new);
    let text = diff.unified_diff().context_radius(CONTEXT).header(name, name).to_string();
    let color = is_terminal && output::ColorChoice::Auto.for_stderr();
    if !color {
        return text;
    }
    text.split_inclusive('\n')
        .map(|line| match line.bytes().next() {
            Some(b'+') => format!("\x1b[32m{line}\x1b[0m"),
            Some(b'-') => format!("\x1b[31m{line}\x1b[0m"),
            _ => line.to_string(),
        })
        .collect()
}
