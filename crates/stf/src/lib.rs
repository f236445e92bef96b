//! The STF language.

pub mod codes;
pub mod expect;
pub mod keywords;
pub mod limits;
mod parse;
pub mod script;

pub use parse::{Parsed, parse, parse_file};
pub use script::Script;
