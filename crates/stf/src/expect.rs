//! What packets have to look like.

use crate::script::Port;
use diagnostics::Span;

/// A packet that has to leave a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    pub port: Port,
    /// `None`: a packet of any content.
    pub pattern: Option<Pattern>,
    pub span: Span,
}

/// The beginning of a packet, or all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// `None` is a `*`.
    pub nibbles: Vec<Option<u8>>,
    /// Nothing may follow (`$`).
    pub is_exact: bool,
}
