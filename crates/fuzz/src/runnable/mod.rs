//! Random programs that run.

pub mod coverage;

use crate::Choices;

/// Writes one program.
pub fn program(_choices: &mut Choices) -> String {
    String::new()
}
