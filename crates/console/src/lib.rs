//! Shared by the commands of `siding`: options, messages, exit codes, and a program on its way to native code.
//!
//! - [`output`]: what people and programs see of a run, and how it ended ([`output::Exit`]);
//! - [`CcArgs`], [`ExternArgs`]: options that several commands have;
//! - [`Loaded`]: a program ready to run; [`compiling`]: from there to a pipeline, or to a message that says why not;
//! - [`externs`]: libraries that the command line names; [`tools`]: programs of the system.
//!
//! Invariants: whatever fails has been told on standard error when an [`output::Exit`] comes back.
//!
//! Non-goals: what single commands do (crates `siding` and `bench`); deciding anything without a user in front of it.
//!
//! Start reading at [`output::Exit`], then [`compiling`].

mod args;
pub mod compiling;
pub mod externs;
mod loaded;
pub mod output;
pub mod tools;

pub use args::{CcArgs, ExternArgs, svg_file};
pub use loaded::Loaded;
