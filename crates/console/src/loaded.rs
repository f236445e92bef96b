//! A program as commands have it.

use diagnostics::SourceMap;
use driver::Runnable;
use driver::archive::Include;
use externs::ExternSet;
use std::sync::Arc;
use syntax::MacroOption;

/// A program ready to run, and its text for messages.
#[derive(Clone)]
pub struct Loaded {
    pub runnable: Runnable,
    pub sources: Arc<SourceMap>,
    /// The files that were included, with the files that include them.
    pub includes: Vec<Include>,
    /// Macros that the command line defines.
    pub macros: Vec<MacroOption>,
    /// The externs that it can call: the built-in ones unless others are set.
    pub externs: ExternSet,
}
