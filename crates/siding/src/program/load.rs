//! From a path on the command line to a program that can run.

use super::envelope;
use super::front_end::FrontEnd;
use super::warnings::Counted;
use crate::cli::FrontEndArgs;
use crate::commands::read_exit;
use crate::output::{self, Exit};
use clap::ArgMatches;
use console::Loaded;
use diagnostics::SourceMap;
use driver::archive::Include;
use driver::archive::Texts;
use driver::{Architecture, Checked};
use externs::ExternSet;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use syntax::{Advice, IncludeKind, LoadedFile, Loader, MacroOption};

/// Reads, checks and elaborates a program, and prints its diagnostics. An archive made by `siding build` is read as the
/// program texts in it.
pub fn load(path: &Path, args: &FrontEndArgs, matches: &ArgMatches) -> Result<Loaded, Exit> {
    let mut counted = Counted::default();
    let loaded = load_counting(path, args, matches, &mut counted);
    counted.tell();
    loaded
}

/// Loads one of several programs, see [`load`]; warnings that are not shown are added to `counted`.
pub fn load_counting(
    path: &Path,
    args: &FrontEndArgs,
    matches: &ArgMatches,
    counted: &mut Counted,
) -> Result<Loaded, Exit> {
    let read = read(path, args, matches, counted, |checked| driver::runnable(checked, args.arch))?;
    Ok(Loaded {
        runnable: read.made,
        sources: read.sources,
        includes: read.includes,
        macros: read.macros,
        externs: ExternSet::new(),
    })
}

/// A program for analyses, and its sources for messages.
pub struct Analysable {
    pub program: ir::Program,
    pub sources: Arc<SourceMap>,
}

/// Loads a program for analyses, see [`load`]; it need not be runnable.
pub fn load_for_analysis(path: &Path, args: &FrontEndArgs, matches: &ArgMatches) -> Result<Analysable, Exit> {
    let mut counted = Counted::default();
    let read = read(path, args, matches, &mut counted, driver::analysable);
    counted.tell();
    let read = read?;
    Ok(Analysable { program: read.made, sources: read.sources })
}

/// Loads a program to be shown, see [`load`]. A program that cannot run is shown as analyses see it.
pub fn load_to_show(path: &Path, args: &FrontEndArgs, matches: &ArgMatches) -> Result<Analysable, Exit> {
    let mut counted = Counted::default();
    let read = read(path, args, matches, &mut counted, driver::presentable);
    counted.tell();
    let read = read?;
    Ok(Analysable { program: read.made, sources: read.sources })
}

/// Loads what controllers know of a program, which need not be runnable.
pub fn load_for_control(
    path: &Path,
    args: &FrontEndArgs,
    matches: &ArgMatches,
) -> Result<driver::ControlPlane, Exit> {
    let mut counted = Counted::default();
    let read = read(path, args, matches, &mut counted, |checked| driver::control_plane(checked, args.arch));
    counted.tell();
    read.map(|read| read.made)
}

/// The result for a program, and the sources it was made from.
struct Read<T> {
    made: T,
    sources: Arc<SourceMap>,
    includes: Vec<Include>,
    macros: Vec<MacroOption>,
}

fn read<T>(
    path: &Path,
    args: &FrontEndArgs,
    matches: &ArgMatches,
    counted: &mut Counted,
    make: impl FnOnce(&mut Checked) -> Option<T>,
) -> Result<Read<T>, Exit> {
    let mut front_end = FrontEnd::new(args, matches);
    let environment = |error: String| {
        output::error_line(&error);
        Exit::Environment
    };
    let has_suffix = |wanted: &str| path.extension().is_some_and(|suffix| suffix == wanted);
    let is_json = has_suffix("json") && is_envelope(path);
    let is_archive = has_suffix("sdp") || is_json;
    let (source, loader): (siding::Source, Box<dyn Loader>) = if is_archive {
        let texts = if is_json { read_json(path) } else { Texts::read(path) };
        let texts = texts.map_err(environment)?;
        if let Some(description) = texts.description() {
            Architecture::add(description)
                .map_err(|fault| environment(format!("the architecture in {}: {fault}", path.display())))?;
        }
        front_end.options.syntax.macros = texts.macros();
        let main = texts.main().map_err(environment)?;
        (main, Box::new(texts))
    } else {
        let source = siding::read_source(path).map_err(|error| {
            output::error_line(&error.to_string());
            read_exit(&error)
        })?;
        (source, Box::new(front_end.loader.clone()))
    };
    let loader = Recording { loader, includes: RefCell::default() };
    let mut checked = driver::check(&source, &loader, &front_end.options);
    let n_checked = checked.diagnostics.iter().count();
    let made = make(&mut checked);
    let is_found_by_check = checked.diagnostics.iter().count() == n_checked;
    front_end.policy.apply(&mut checked.diagnostics, &checked.sources);
    let has_errors = checked.diagnostics.has_errors();
    output::note_input(path);
    output::note_sources(&checked.sources);
    let sources = Arc::new(checked.sources);
    // Warnings were shown when the archive was made.
    if !is_archive || has_errors {
        let mut printer = front_end.printer();
        let diagnostics = checked.diagnostics.into_vec();
        printer.show_shared(front_end.select(diagnostics, is_found_by_check, path, counted), &sources);
        printer.finish();
    }
    match made.filter(|_| !has_errors) {
        Some(made) => Ok(Read {
            made,
            sources,
            includes: loader.includes.into_inner(),
            macros: front_end.options.syntax.macros,
        }),
        None => Err(Exit::CompileError),
    }
}

/// True for JSON that says that it holds an archive. Other JSON is told apart where programs are read.
fn is_envelope(path: &Path) -> bool {
    output::read_file(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("\"siding\""))
}

/// The texts of a program as JSON, see [`envelope`].
fn read_json(path: &Path) -> Result<Texts, String> {
    let shown = path.display().to_string();
    let bytes = output::read_file(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not text in UTF-8"))?;
    let archive = envelope::read(&text).map_err(|fault| format!("{shown} {fault}"))?;
    Texts::from_bytes(&archive, &shown)
}

/// Remembers what was found.
struct Recording {
    loader: Box<dyn Loader>,
    includes: RefCell<Vec<Include>>,
}

impl Loader for Recording {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        let found = self.loader.load(name, kind, from)?;
        self.includes.borrow_mut().push(Include {
            from: from.to_string(),
            kind,
            name: name.to_string(),
            found: found.name.clone(),
        });
        Some(found)
    }

    fn refusal(&self, name: &str, kind: IncludeKind, from: &str) -> Option<String> {
        self.loader.refusal(name, kind, from)
    }

    fn advice(&self, name: &str, kind: IncludeKind, from: &str) -> Advice {
        self.loader.advice(name, kind, from)
    }
}
