//! The suites, one file each.

mod accept;
mod entries;
mod externs;
mod fmt;
mod ir;
mod load;
mod models;
mod p4info;
mod pna_model;
mod psa_model;
mod reject;
mod reject_lines;
mod reject_twins;
mod stf;

use crate::corpus::{Corpus, Program};
use crate::front_end;
use crate::runner::Verdict;
use ::p4info::Difference;
use driver::ControlPlane;

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
    /// The intermediate representation is valid and survives printing and passes.
    Ir,
    /// Test scripts pass in the interpreter.
    Stf,
    /// They pass with what p4c's passes print of the programs.
    StfRewritten,
    /// Both, in native code.
    StfNative,
    StfNativeRewritten,
    /// Samples take random packets, with equal results in the interpreter before and after the passes.
    Load,
    /// Native code has the same results.
    LoadNative,
    /// Packets go through PSA as a model says, in both backends.
    PsaModel,
    /// Packets go through PNA as a model says, in both backends.
    PnaModel,
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
        Suite::Ir,
        Suite::Stf,
        Suite::StfRewritten,
        Suite::StfNative,
        Suite::StfNativeRewritten,
        Suite::Load,
        Suite::LoadNative,
        Suite::PsaModel,
        Suite::PnaModel,
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
            Suite::Ir => "ir",
            Suite::Stf => "stf",
            Suite::StfRewritten => "stf-rewritten",
            Suite::StfNative => "stf-native",
            Suite::StfNativeRewritten => "stf-native-rewritten",
            Suite::Load => "load",
            Suite::LoadNative => "load-native",
            Suite::PsaModel => "psa-model",
            Suite::PnaModel => "pna-model",
        }
    }

    /// The suites that judge programs of one's own.
    pub const OF_PROGRAMS: &[Suite] = &[
        Suite::Accept,
        Suite::P4Info,
        Suite::Entries,
        Suite::Fmt,
        Suite::Ir,
        Suite::Stf,
        Suite::StfNative,
        Suite::Load,
        Suite::LoadNative,
    ];

    /// True for suites that judge programs of a [`Corpus`]; the others bring their own.
    pub fn needs_corpus(self) -> bool {
        !matches!(self, Suite::PsaModel | Suite::PnaModel)
    }

    /// Returns the share of cases that must pass. It is below 1 only for the line of an error, on which compilers may
    /// differ.
    pub fn required_percent(self) -> usize {
        match self {
            Suite::RejectLines => 90,
            Suite::Accept
            | Suite::Reject
            | Suite::RejectTwins
            | Suite::P4Info
            | Suite::Entries
            | Suite::Rewritten
            | Suite::Fmt
            | Suite::Ir
            | Suite::Stf
            | Suite::StfRewritten
            | Suite::StfNative
            | Suite::StfNativeRewritten
            | Suite::Load
            | Suite::LoadNative
            | Suite::PsaModel
            | Suite::PnaModel => 100,
        }
    }

    pub(crate) fn cases(self, corpus: &Corpus) -> Vec<Program> {
        match self {
            Suite::Accept | Suite::Fmt | Suite::Ir => corpus.samples(),
            Suite::Reject | Suite::RejectLines => corpus.errors(),
            Suite::RejectTwins => reject_twins::cases(corpus),
            Suite::P4Info => corpus.sample_outputs(&format!(".p4{}", p4info::SUFFIX)),
            Suite::Entries => corpus.sample_outputs(&format!(".p4{}", entries::SUFFIX)),
            Suite::Rewritten => corpus.rewritten(),
            Suite::Stf | Suite::StfNative => stf::cases(corpus),
            Suite::StfRewritten | Suite::StfNativeRewritten => stf::rewritten_cases(corpus),
            Suite::Load | Suite::LoadNative => load::cases(corpus),
            Suite::PsaModel => psa_model::cases(),
            Suite::PnaModel => pna_model::cases(),
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
            Suite::Ir => ir::judge,
            Suite::Stf | Suite::StfRewritten => stf::judge,
            Suite::StfNative | Suite::StfNativeRewritten => stf::judge_native,
            Suite::Load => load::judge,
            Suite::LoadNative => load::judge_native,
            Suite::PsaModel => psa_model::judge,
            Suite::PnaModel => pna_model::judge,
        }
    }
}

/// A difference can quote whole messages; this much tells where to look.
const DIFFERENCE_CHARS_MAX: usize = 300;

/// Makes the control plane's view of the sample behind a golden file and compares.
fn golden_and_made(
    corpus: &Corpus,
    golden: &Program,
    suffix: &str,
    compare: impl FnOnce(&[u8], &ControlPlane) -> Result<Vec<Difference>, String>,
) -> Verdict {
    let judge = || {
        let bytes = std::fs::read(&golden.path).map_err(|e| e.to_string())?;
        let name = golden.name.strip_suffix(suffix).unwrap_or(&golden.name).to_string();
        let sample = Program { path: corpus.sample_path(&name), name };
        let (checked, made) = front_end::check_and_make_p4info(corpus, &sample)?;
        let Some(made) = made else {
            return Err(front_end::first_error(&checked).unwrap_or_default());
        };
        match compare(&bytes, &made)?.as_slice() {
            [] => Ok(()),
            [first, rest @ ..] => {
                let cut: String = first.to_string().chars().take(DIFFERENCE_CHARS_MAX).collect();
                let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                Err(format!("p4c versus ours: {cut}{more}"))
            }
        }
    };
    match judge() {
        Ok(()) => Verdict::Pass,
        Err(reason) => Verdict::Fail(reason.replace('\n', " ")),
    }
}
