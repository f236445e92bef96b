//! The text form: what tests are written in and what people read when they ask for the IR.
//!
//! One construct per line; names as in the program, between backticks when they are no identifiers; the second
//! of two things with one name is `name#1`. Nodes of a graph are numbered. Expressions have one operator per pair
//! of parentheses. `//` begins a comment.
//!
//! ```text
//! architecture v1model
//! errors NoError, PacketTooShort
//! header ipv4_t {
//!     ttl: bit<8>
//! }
//! var hdr: ipv4_t in pipeline Headers
//! block MyIngress: Ingress(hdr = hdr) {
//!     n0:
//!         hdr.ttl = hdr.ttl - 8w0x1
//!         if hdr.$valid then n1 else n1
//!     n1:
//!         return
//! }
//! pipeline Ingress = MyIngress
//! ```
//!
//! Invariants: [`print`] never fails, for any program; [`parse`] of its output gives an equal program, apart from
//! spans.

mod cursor;
mod names;
mod parse;
mod parse_code;
mod print;
mod print_code;
mod words;

pub use print_code::Printer;

/// Error in the text of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// From 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    pub message: String,
}

impl std::fmt::Display for TextError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for TextError {}

/// The text of a program.
pub fn print(program: &crate::Program) -> String {
    print::program(program)
}

/// The program that a text stands for. It need not be valid; spans are empty.
pub fn parse(text: &str) -> Result<crate::Program, TextError> {
    parse::program(text)
}
