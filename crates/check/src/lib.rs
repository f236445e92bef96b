//! The meaning of names and types: from syntax tree to typed program.
//!
//! Key types: [`program::Program`] (the result), [`types::Ty`], [`value::Value`], [`Options`].
//!
//! Invariants: checking never panics and is pure. The program that comes back is complete only when no
//! error was reported; after errors it holds what could be understood, with `Error` nodes for the rest.
//! An error that only follows from another is not reported.
//!
//! Non-goals: the meaning of an architecture's externs and metadata (crate `arch`), execution.
//!
//! Start reading at [`check`]; then `checker.rs` (state), `decl.rs` (declarations), `expr.rs`.

pub mod codes;
pub mod evaluate;
pub mod program;
pub mod types;
pub mod value;

mod arena;
mod bind;
mod blocks;
mod call;
mod cast;
mod checker;
mod coerce;
mod construct;
mod decl;
pub mod display;
mod expr;
pub mod fold;
mod function_call;
mod functions;
mod index;
mod instance;
mod key_names;
mod members;
mod method_call;
mod operators;
mod params;
mod scope;
mod size;
mod stmt;
mod subst;
mod table;
mod type_decl;
mod type_expr;
mod unify;
mod unused;
mod warnings;

pub use size::LEAVES_MAX;
pub use type_expr::{ARRAY_MAX, WIDTH_MAX};

use diagnostics::{Diagnostics, SourceMap};
use program::Program;

/// Names of table properties by the name of a package.
pub type TableProperties = fn(&str) -> Option<&'static [String]>;

/// How strictly the specification is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Refuse what the reference compiler accepts against the letter of the specification.
    pub strict: bool,
    /// Let an action change its parameters without direction, as if those that it assigns were declared `rmw`.
    pub assignable_action_data: bool,
    /// Take `type T N` as `typedef T N`: for programs that another compiler wrote out after it had
    /// removed the distinction.
    pub transparent_newtypes: bool,
    /// Which include file declares a name, for messages about names that are not declared.
    pub include_of: Option<fn(&str) -> Option<&'static str>>,
    /// The table properties that an architecture adds to those of the language, by the name of the package of
    /// `main`; `None` where they are not known. Others are warned of.
    pub table_properties: Option<TableProperties>,
}

/// A checked program with its sources and everything there is to say about it. After syntax errors the program
/// is empty.
#[derive(Debug)]
pub struct Checked {
    pub program: Program,
    pub sources: SourceMap,
    pub diagnostics: Diagnostics,
}

/// Checks a parsed program.
pub fn check(parsed: syntax::Parsed, options: &Options) -> Checked {
    let syntax::Parsed { program: ast, sources, mut diagnostics } = parsed;
    let mut p = Program::default();
    // After a syntax error names may be missing; errors that follow from that would only distract.
    if !diagnostics.has_errors() {
        let mut checker = checker::Checker::new(&sources, options);
        checker.program(&ast);
        checker.finish();
        p = checker.p;
        diagnostics.extend(checker.diags.into_vec());
    }
    if !diagnostics.has_errors() {
        diagnostics.extend(evaluate::evaluate(&mut p));
    }
    warnings::run(&p, &ast, &sources, options, &mut diagnostics);
    Checked { program: p, sources, diagnostics }
}
