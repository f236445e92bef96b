//! What is judged, one file per suite.

mod accept;
mod entries;
mod fmt;
mod p4info;
mod reject;
mod reject_lines;
mod reject_twins;

use crate::corpus::{Corpus, Program};
use crate::runner::Verdict;

/// Judges one case.
pub(crate) type Judge = fn(&Corpus, &Program) -> Verdict;

/// A set of programs and what is expected of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Every stand-alone sample is accepted.
    Accept,
    /// Every error program is rejected, at the latest while P4Info is made.
    Reject,
    /// The first error stands where p4c has one.
    RejectLines,
    /// Error programs that have been mended are accepted.
    RejectTwins,
    /// P4Info equals p4c's.
    P4Info,
    /// Initial entries equal p4c's.
    Entries,
    /// The programs that p4c's passes print are accepted.
    Rewritten,
    /// Formatting keeps the meaning, and formatting again changes nothing.
    Fmt,
}

impl Suite {
    pub const ALL: &[Suite] = &[
        Suite::Accept,
        Suite::Reject,
        Suite::RejectLines,
        Suite::RejectTwins,
        Suite::P4Info,
        Suite::Entries,
        Suite::Rewritten,
        Suite::Fmt,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Suite::Accept => "accept",
            Suite::Reject => "reject",
            Suite::RejectLines => "reject-lines",
            Suite::RejectTwins => "reject-twins",
            Suite::P4Info => "p4info",
            Suite::Entries => "entries",
            Suite::Rewritten => "rewritten",
            Suite::Fmt => "fmt",
        }
    }

    /// The share of cases that must pass. Which line is at fault is a matter of opinion, the rest is not.
    pub fn required_percent(self) -> usize {
        match self {
            Suite::RejectLines => 90,
            Suite::Accept
            | Suite::Reject
            | Suite::RejectTwins
            | Suite::P4Info
            | Suite::Entries
            | Suite::Rewritten
            | Suite::Fmt => 100,
        }
    }

    pub(crate) fn cases(self, corpus: &Corpus) -> Vec<Program> {
        match self {
            Suite::Accept | Suite::Fmt => corpus.samples(),
            Suite::Reject | Suite::RejectLines => corpus.errors(),
            Suite::RejectTwins => reject_twins::cases(corpus),
            Suite::P4Info => corpus.sample_outputs(".p4.p4info.txtpb"),
            Suite::Entries => corpus.sample_outputs(".p4.entries.txtpb"),
            Suite::Rewritten => corpus.rewritten(),
        }
    }

    pub(crate) fn judge(self) -> Judge {
        match self {
            Suite::Accept | Suite::Rewritten => accept::judge,
            Suite::Reject => reject::judge,
            Suite::RejectLines => reject_lines::judge,
            Suite::RejectTwins => reject_twins::judge,
            Suite::P4Info => p4info::judge,
            Suite::Entries => entries::judge,
            Suite::Fmt => fmt::judge,
        }
    }
}
