//! Diagnostic codes of elaboration.

use diagnostics::{Code, CodeInfo};

/// All codes of this crate.
pub static ALL: &[Code] = &[
    &NO_PIPELINE,
    &MATCH_KIND,
    &ENTRY_KEY,
    &NOT_CONSTANT,
    &CHECKSUM_WORDS,
    &EXTERN_ARGUMENT,
    &ASYNC,
    &TABLE_STATE,
    &EXTERN_PLACE,
    &VALUE_TOO_LARGE,
    &PROGRAM_TOO_LARGE,
];

/// The package of `main` belongs to no architecture that programs can be run on.
pub static NO_PIPELINE: CodeInfo = CodeInfo {
    id: "P2300",
    name: "no-pipeline",
    summary: "the program belongs to no architecture that can run it",
    default_severity: diagnostics::Severity::Error,
};

/// A match kind that nothing here knows how to match.
pub static MATCH_KIND: CodeInfo = CodeInfo {
    id: "P2310",
    name: "unknown-match-kind",
    summary: "a match kind that cannot be executed",
    default_severity: diagnostics::Severity::Error,
};

/// An entry whose key does not fit its match kind.
pub static ENTRY_KEY: CodeInfo = CodeInfo {
    id: "P2311",
    name: "entry-key",
    summary: "an entry's key does not fit the match kind",
    default_severity: diagnostics::Severity::Error,
};

/// Action data or a key of an entry without a value at compile time.
pub static NOT_CONSTANT: CodeInfo = CodeInfo {
    id: "P2312",
    name: "entry-not-constant",
    summary: "a part of an entry or default action is not known at compile time",
    default_severity: diagnostics::Severity::Error,
};

/// Data of an internet checksum that are no whole words.
pub static CHECKSUM_WORDS: CodeInfo = CodeInfo {
    id: "P2321",
    name: "checksum-words",
    summary: "data of an internet checksum are no multiple of 16 bits",
    default_severity: diagnostics::Severity::Error,
};

/// An argument of an extern that it cannot do anything with.
pub static EXTERN_ARGUMENT: CodeInfo = CodeInfo {
    id: "P2322",
    name: "extern-argument",
    summary: "an extern gets an argument with which it cannot work",
    default_severity: diagnostics::Severity::Error,
};

/// A table that packets write in a way that it does not allow.
pub static TABLE_STATE: CodeInfo = CodeInfo {
    id: "P2323",
    name: "table-state",
    summary: "packets cannot write the entries of a table in this way",
    default_severity: diagnostics::Severity::Error,
};

/// An extern that is used where the architecture does not allow it.
pub static EXTERN_PLACE: CodeInfo = CodeInfo {
    id: "P2324",
    name: "extern-place",
    summary: "an extern is used where it has no meaning",
    default_severity: diagnostics::Severity::Error,
};

/// A block marked `@async` that cannot run on another core.
pub static ASYNC: CodeInfo = CodeInfo {
    id: "P2320",
    name: "async-block",
    summary: "a block marked `@async` cannot run asynchronously",
    default_severity: diagnostics::Severity::Error,
};

/// Something is done with a value of an enormous type.
pub static VALUE_TOO_LARGE: CodeInfo = CodeInfo {
    id: "P3200",
    name: "value-too-large",
    summary: "a value has too many fields for what is done with it",
    default_severity: diagnostics::Severity::Error,
};

/// Generic functions, controls or actions are used in too many ways.
pub static PROGRAM_TOO_LARGE: CodeInfo = CodeInfo {
    id: "P3201",
    name: "program-too-large",
    summary: "a program becomes too large when everything is written out",
    default_severity: diagnostics::Severity::Error,
};
