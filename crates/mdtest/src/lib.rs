//! Test cases written as Markdown: pages that people read and tests run.
//!
//! A case is a heading of the second level (`## ...`) and the fenced blocks below it. The first word on a fence is the
//! kind of the block, further words are options for the test. Other text is for readers. A case has at least one block,
//! and no two blocks with equal fences.
//!
//! In programs a comment names what is reported for its line: `// error: [P1308] "part of the text"` or
//! `// warn: [P1902]`, several in a row if need be. The part is looked for in the message, its labels, notes, helps and
//! fixes.
//!
//! - [`read`] reads the cases of a text, [`read_dir`] those of a folder;
//! - [`run`] runs the cases of a folder and collects their faults;
//! - [`Expectations`] are the comments of one block, met one by one by diagnostics.
//!
//! Invariants: no slip of a page loses a case. A page that cannot be read panics with its place.
//!
//! Non-goals: what blocks mean; writing pages anew.
//!
//! Start reading at [`Case`].

mod expectations;
mod page;

pub use expectations::{Expectation, Expectations, says};
pub use page::{Block, Case, read, read_dir, run};
