//! The STF language.

pub mod codes;
pub mod expect;
pub mod keywords;
pub mod limits;
mod parse;
pub mod resolve;
mod run;
pub mod script;

pub use parse::{Parsed, parse, parse_file};
pub use resolve::{Plan, Step, StepKind, resolve};
pub use run::{Device, Report, run};
pub use script::Script;
