//! From text to syntax tree.
//!
//! Key types: [`ast::Program`], [`Loader`], [`Options`], [`Parsed`].
//!
//! Invariants: nothing here fails, panics or touches files, clock or environment; whatever the input,
//! [`parse`] returns a tree and diagnostics. Memory and time are bounded by the constants in [`limits`].
//!
//! Non-goals: types and names' meaning (crate `check`).
//!
//! Start reading at [`parse`].

pub mod ast;
pub mod codes;
pub mod fmt;
pub mod lexer;
pub mod limits;
pub mod parser;
pub mod preprocessor;
pub mod pretty;
pub mod same_tree;
pub mod token;

pub use preprocessor::{preprocess, print_preprocessed};

use diagnostics::{Diagnostics, SourceMap};
use std::sync::Arc;

/// Form of an `#include`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeKind {
    /// `#include <name>`
    System,
    /// `#include "name"`
    Local,
}

/// A file that a [`Loader`] found.
#[derive(Clone, Debug)]
pub struct LoadedFile {
    /// Name for messages and for resolving further local includes.
    pub name: String,
    pub text: Arc<str>,
    /// True for a file of the compiler or a system include path: warnings inside are not shown.
    pub is_system: bool,
}

/// Finds included files; the only input besides the text.
pub trait Loader {
    /// Loads a file for the including file `from`. Returns `None` if there is no such file, or none that can
    /// be read.
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile>;

    /// Reason why a file that [`Loader::load`] did not return cannot be read: a clause such as "it is a named
    /// pipe". `None` if there is no such file.
    fn refusal(&self, _name: &str, _kind: IncludeKind, _from: &str) -> Option<String> {
        None
    }

    /// Advice about a file that does not exist.
    fn advice(&self, _name: &str, _kind: IncludeKind, _from: &str) -> Advice {
        Advice::None
    }
}

/// Advice to somebody who included a file that does not exist.
pub enum Advice {
    None,
    /// An existing file has nearly this name.
    Nearest(String),
    /// Where the file comes from: a sentence without a full stop.
    Origin(String),
}

/// A loader without any files.
pub struct NoIncludes;

impl Loader for NoIncludes {
    fn load(&self, _name: &str, _kind: IncludeKind, _from: &str) -> Option<LoadedFile> {
        None
    }
}

/// Macro definitions from the command line, in order.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub macros: Vec<MacroOption>,
}

#[derive(Clone, Debug)]
pub enum MacroOption {
    /// `-DNAME=VALUE` and `-DNAME` (value 1); `NAME(a,b)` defines a function-like macro.
    Define(String, String),
    /// `-UNAME`
    Undefine(String),
}

/// Result of parsing.
#[derive(Debug)]
pub struct Parsed {
    pub program: ast::Program,
    pub sources: SourceMap,
    pub diagnostics: Diagnostics,
}

/// Preprocesses and parses a program. `name` appears in messages, and local includes are relative to it.
pub fn parse(name: &str, text: impl Into<Arc<str>>, loader: &dyn Loader, options: &Options) -> Parsed {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let tokens = preprocess(name, text, loader, options, &mut sources, &mut diagnostics);
    let program = parser::parse_tokens(&tokens, &sources, &mut diagnostics);
    Parsed { program, sources, diagnostics }
}
