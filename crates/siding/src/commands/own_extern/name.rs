//! Names that an extern can have.

use diagnostics::Severity;
use siding::{FileLoader, Source};

/// Says why an extern cannot have this name. `program` is the program that would be made for it.
pub(super) fn check(name: &str, program: &str) -> Result<(), String> {
    let is_identifier = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_identifier {
        return Err(format!(
            "an extern cannot be called `{name}`: a name in P4 and C has letters, digits and underscores (_) only, and \
             does not begin with a digit"
        ));
    }
    // Keywords, and names that the include files have: the compiler knows them all.
    let source = Source { name: format!("{name}.p4"), text: program.into() };
    let checked = siding::check(&source, &FileLoader::default());
    match checked.diagnostics.iter().find(|d| d.severity == Severity::Error) {
        None => Ok(()),
        Some(error) => Err(format!(
            "an extern cannot be called `{name}` in a program for v1model: {}; choose another name",
            error.message
        )),
    }
}
