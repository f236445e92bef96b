//! Warnings about programs without errors.
//!
//! Everything here looks at the finished [`Program`] (and at the syntax tree) and only adds diagnostics.
//! Names of warnings are those of p4c, so that options like `--Wdisable=unused` and annotations like
//! `@noWarn("unused")` mean the same.
//!
//! Invariants: work is bounded for every program (see the `_MAX` constants); code beyond the limits gets no
//! warnings. System include files get none either.
//!
//! `flow.rs` finds values and headers used before they are there (`layout.rs`, `state.rs`, `places.rs` and
//! `findings.rs` are its parts); `selects.rs` and `tables.rs` find what can never match (`sets.rs`);
//! `atomic.rs` finds blocks that change several entries; `uses.rs` finds unused parameters and overlapping arguments; `tree.rs` works on the syntax tree and, last
//! of all, drops what `@noWarn` switches off.

mod atomic;
mod findings;
mod flow;
mod layout;
mod places;
mod selects;
mod sets;
mod state;
mod tables;
mod tree;
mod uses;

use crate::Options;
use crate::program::Program;
use diagnostics::{Diagnostics, SourceMap};
use syntax::ast;

/// Adds all warnings of this module and applies `@noWarn` to all warnings.
pub(crate) fn run(
    program: &Program,
    ast: &ast::Program,
    sources: &SourceMap,
    options: &Options,
    out: &mut Diagnostics,
) {
    if !out.has_errors() {
        let is_system = |span| sources.is_system(span);
        flow::run(program, &is_system, out);
        selects::run(program, &is_system, out);
        tables::run(program, &is_system, options, out);
        uses::run(program, sources, out);
        atomic::run(program, &is_system, out);
    }
    tree::run(ast, sources, out);
}
