//! Siding as a library: check a P4-16 program in one call.
//!
//! ```
//! let source = siding::Source { name: "empty.p4".into(), text: "const bit<8> x = 1;".into() };
//! let checked = siding::check(&source, &siding::FileLoader::default());
//! assert!(!checked.diagnostics.has_errors());
//! ```
//!
//! Key types: [`Source`], [`Checked`], [`FileLoader`]; editors and tests pass a [`Loader`] of their own.
//! [`explain`] holds the pages behind the codes of diagnostics.
//!
//! Non-goals: the command line lives in the binary of the same name.
//!
//! Start reading at [`check`].

pub mod codes;
pub mod explain;

pub use diagnostics::{Diagnostic, Diagnostics, SourceMap, render};
pub use driver::{Action, Checked, FileLoader, Options, ReadError, Source, WarningPolicy, read_source};
pub use syntax::{IncludeKind, LoadedFile, Loader, NoIncludes};

/// Parses and checks one program with the default options.
pub fn check(source: &Source, loader: &dyn Loader) -> Checked {
    driver::check(source, loader, &Options::default())
}
