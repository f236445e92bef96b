//! Judges Siding against p4lang/p4c: its checkout, or programs of one's own with p4c's output beside them.
//!
//! Key types: [`Suite`] names what is judged, [`Corpus`] lists the programs, [`run`] judges
//! them on several threads and gives a [`Report`] of [`Outcome`]s.
//!
//! Two suites, `psa-model` and `pna-model`, need no checkout: they compare the switch with models of packet paths.
//!
//! Invariants: the checkout is only read. A program that makes the front end panic or hang is a failure of
//! that program and of nothing else. Deviations are data: `exceptions/<suite>.toml` says for each which
//! sentence of the specification asks for it, and an exception that is no longer needed is a failure.
//!
//! Non-goals: printing (crate `siding`), execution of packets.
//!
//! Start reading at [`run`]; then `suites/`, one file per suite.

mod corpus;
mod exceptions;
mod front_end;
mod runner;
mod suites;

pub use corpus::{Corpus, NoCorpus, NotACheckout, Preprocessing};
pub use exceptions::Exception;
pub use runner::{Event, Outcome, Report, RunOptions, Verdict, run};
pub use suites::Suite;

pub mod timing;
