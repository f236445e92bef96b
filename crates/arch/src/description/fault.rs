//! Errors in descriptions.

use std::ops::Range;

/// An error in a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub message: String,
    /// The bytes of the text that are wrong, where they are known.
    pub place: Option<Range<usize>>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
