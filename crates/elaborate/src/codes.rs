//! Diagnostic codes of elaboration.

use diagnostics::{Code, CodeInfo};

/// All codes of this crate.
pub static ALL: &[Code] = &[&NO_PIPELINE];

/// The package of `main` belongs to no architecture that programs can be run on.
pub static NO_PIPELINE: CodeInfo = CodeInfo {
    id: "P2300",
    name: "no-pipeline",
    summary: "the program belongs to no architecture that can run it",
    default_severity: diagnostics::Severity::Error,
};
