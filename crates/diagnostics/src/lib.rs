//! Source positions, and diagnostics about them.
//!
//! Key types: [`SourceMap`] gives every byte of every file (and every token that a macro produced) a
//! global position; [`Span`] is a half-open range of such positions; [`Diagnostic`] is one message with
//! a stable [`Code`], labels, notes, helps and fix-its. [`Diagnostics`] collects them.
//!
//! Invariants: a `Span` is only meaningful together with the `SourceMap` that issued it. Rendering never
//! fails, for any span.
//!
//! Non-goals: this crate knows nothing about P4; codes and their explanations are owned by the crates
//! that report them.
//!
//! Start reading at [`SourceMap::resolve`] and [`Diagnostic`]; [`render`] turns diagnostics into text.

mod diagnostic;
pub mod render;
mod source_map;
pub mod suggest;

pub use diagnostic::{Code, CodeInfo, Diagnostic, Diagnostics, Fix, Label, Severity};
pub use source_map::{FileId, Location, Resolved, SourceFile, SourceMap, Span};
