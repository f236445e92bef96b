//! From a path on the command line to a program that can run.

use super::check::FrontEnd;
use crate::cli::FrontEndArgs;
use crate::output::{self, Exit};
use clap::ArgMatches;
use diagnostics::SourceMap;
use driver::Runnable;
use std::path::Path;
use std::sync::Arc;

/// A program ready to run, and its text for messages.
#[derive(Clone)]
pub struct Loaded {
    pub runnable: Runnable,
    pub sources: Arc<SourceMap>,
}

/// Reads, checks and elaborates a program, and shows what there is to say about it.
pub fn load(path: &Path, args: &FrontEndArgs, matches: &ArgMatches) -> Result<Loaded, Exit> {
    let front_end = FrontEnd::new(args, matches);
    let source = siding::read_source(path).map_err(|error| {
        output::error_line(&error.to_string());
        Exit::Environment
    })?;
    let mut checked = driver::check(&source, &front_end.loader, &front_end.options);
    let runnable = driver::runnable(&mut checked, args.arch);
    front_end.policy.apply(&mut checked.diagnostics, &checked.sources);
    let has_errors = checked.diagnostics.has_errors();
    let mut printer = front_end.printer();
    let sources = Arc::new(checked.sources);
    printer.show_shared(checked.diagnostics.into_vec(), &sources);
    printer.finish();
    match runnable.filter(|_| !has_errors) {
        Some(runnable) => Ok(Loaded { runnable, sources }),
        None => Err(Exit::CompileError),
    }
}
