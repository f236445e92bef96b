//! Automation of this repository: `cargo xtask tidy` checks the house rules.
//!
//! Key items: [`tidy`] runs all rules of [`tidy::RULES`] over a [`Tree`] and gives the [`Problem`]s.
//!
//! Invariants: a rule only reads. What a rule exempts stands beside it as a constant, with the reason.
//!
//! Non-goals: what rustfmt, clippy and the compiler check.
//!
//! Start reading at [`tidy::RULES`].

pub mod tidy;
mod tree;

pub use tidy::{Problem, tidy};
pub use tree::{File, Tree};
