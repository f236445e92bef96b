//! Deviations from p4c that the specification asks for.

use crate::Suite;
use serde::Deserialize;

/// A program that fails its suite on purpose.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    pub program: String,
    /// The difference, and why Siding is right.
    pub reason: String,
    /// Section of the specification, and the content of its sentence.
    pub specification: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    exception: Vec<Exception>,
}

/// The exceptions of a suite, from `exceptions/<suite>.toml`.
pub(crate) fn of(suite: Suite) -> Vec<Exception> {
    parse(text(suite)).unwrap_or_default()
}

fn parse(text: &str) -> Result<Vec<Exception>, toml::de::Error> {
    Ok(toml::from_str::<File>(text)?.exception)
}

fn text(suite: Suite) -> &'static str {
    match suite {
        Suite::Accept => include_str!("../exceptions/accept.toml"),
        Suite::Reject => include_str!("../exceptions/reject.toml"),
        Suite::RejectLines => include_str!("../exceptions/reject-lines.toml"),
        Suite::RejectTwins => include_str!("../exceptions/reject-twins.toml"),
        Suite::P4Info => include_str!("../exceptions/p4info.toml"),
        Suite::Entries => include_str!("../exceptions/entries.toml"),
        Suite::Rewritten => include_str!("../exceptions/rewritten.toml"),
        Suite::Fmt => include_str!("../exceptions/fmt.toml"),
        Suite::Ir => include_str!("../exceptions/ir.toml"),
        // The reasons hold for every backend.
        Suite::Stf | Suite::StfNative => include_str!("../exceptions/stf.toml"),
        Suite::StfRewritten | Suite::StfNativeRewritten => include_str!("../exceptions/stf-rewritten.toml"),
        Suite::Load | Suite::LoadNative => include_str!("../exceptions/load.toml"),
        // A model has no exceptions.
        Suite::PsaModel | Suite::PnaModel => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_files_are_well_formed() {
        for suite in Suite::ALL {
            let exceptions = parse(text(*suite)).unwrap_or_else(|e| panic!("{}: {e}", suite.name()));
            for (i, e) in exceptions.iter().enumerate() {
                let what = format!("{}: {}", suite.name(), e.program);
                assert!(e.reason.len() > 20, "{what}: say more than `{}`", e.reason);
                assert!(e.specification.contains(':'), "{what}: `specification` is `section: sentence`");
                assert!(exceptions[..i].iter().all(|o| o.program != e.program), "{what}: listed twice");
            }
        }
    }
}
