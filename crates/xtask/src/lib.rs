//! Automation of this repository: the house rules, subjects of commits, the inner loop, and the run of all tests.
//!
//! Key items: [`tidy()`] runs all rules of [`tidy::RULES`] over a [`Tree`] and gives the [`Problem`]s. [`commits`]
//! judges subjects, [`check`] runs the fast tests, [`suite`] all of them.
//!
//! Invariants: a rule only reads. What a rule exempts is in `crates/xtask/rules/*.toml`, with the reason; these lists
//! shrink and never grow by themselves.
//!
//! Non-goals: what rustfmt, clippy and the compiler check.
//!
//! Start reading at [`tidy::RULES`].

pub mod check;
mod comments;
pub mod commits;
mod house;
pub mod rules;
mod source;
pub mod suite;
pub mod tidy;
mod tree;

pub use tidy::{Hits, Problem, bless, tidy};
pub use tree::{File, Tree};
