//! Entries in the formats that people and other tools write.
//!
//! [`read()`] understands a file in any [`Format`] and gives [`Entries`]: updates of [`control`], each with its place in the
//! file. [`apply`] makes them in a target; [`refusals`] tells what another one refuses. [`write()`] is the way back, and says what a format has no words for.
//! [`detect`] finds the format by the name and the contents of a file.
//!
//! Invariants: tables, keys, actions and parameters may be named in every format, by their full name or by an end of it
//! that is unambiguous; numbers may be written as addresses. Every update has been validated. Bad input is reported with
//! its place, all faults at once; nothing here panics.
//!
//! Not here: files, transports.
//!
//! Start reading at [`read()`].

mod detect;
mod file;
mod named;
mod read;
mod runtime_json;
mod script;
pub mod words;
mod write;

pub use detect::{Format, UnknownFormat, detect};
pub use file::{Entries, Messages, Place, Written};
pub use read::{Refusal, apply, read, read_with, refusals};
pub use stf::ExactKeys;
pub use write::write;
