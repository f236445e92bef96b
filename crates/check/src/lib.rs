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
pub mod program;
pub mod types;
pub mod value;
