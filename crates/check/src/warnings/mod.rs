//! Warnings about programs without errors.
//!
//! Everything here looks at the finished [`Program`] and only adds diagnostics. Names of warnings are those
//! of p4c, so that options like `--Wdisable=unused` and annotations like `@noWarn("unused")` mean the same.
//!
//! `flow.rs` finds values and headers used before they are there (`layout.rs`, `state.rs`, `places.rs` and
//! `findings.rs` are its parts).

mod findings;
mod flow;
mod layout;
mod places;
mod state;

use crate::program::Program;
use diagnostics::{Diagnostics, SourceMap};

/// Adds all warnings of this module.
pub(crate) fn run(program: &Program, sources: &SourceMap, out: &mut Diagnostics) {
    let is_system = |span| sources.is_system(span);
    flow::run(program, &is_system, out);
}
