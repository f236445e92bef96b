//! Entries of files that the command line names.

use crate::output::{self, Exit};
use control::{Schema, Target};
use diagnostics::render::Style;
use entries::{Entries, ExactKeys, Format, Messages};
use std::path::Path;

/// Reads the entries of a file, or of standard input; says what is wrong with them. Without a format, the contents tell.
pub fn read_entries(schema: &Schema, path: &Path, format: Option<Format>) -> Result<Entries, Exit> {
    read_entries_with(schema, path, format, ExactKeys::ZeroIfMissing)
}

/// Does what [`read_entries`] does, with the meaning of exact keys that a script leaves out.
pub fn read_entries_with(
    schema: &Schema,
    path: &Path,
    format: Option<Format>,
    exact_keys: ExactKeys,
) -> Result<Entries, Exit> {
    let shown = path.to_string_lossy();
    output::note_input(path);
    let bytes = output::read_file(path).map_err(|error| {
        output::error_line(&format!("cannot read {shown}: {error}"));
        Exit::Environment
    })?;
    let format = match format {
        Some(format) => format,
        None => entries::detect(&shown, &bytes).map_err(|error| {
            output::error_line(&error.to_string());
            Exit::Usage
        })?,
    };
    match entries::read_with(format, &shown, &bytes, schema, exact_keys) {
        Ok(entries) => {
            tell(&entries.messages);
            Ok(entries)
        }
        Err(messages) => {
            tell(&messages);
            Err(Exit::Usage)
        }
    }
}

/// Writes entries to a target; says which are refused.
pub fn write_entries(schema: &Schema, target: &mut dyn Target, entries: &Entries) -> Result<(), Exit> {
    entries::apply(entries, schema, target).map_err(|messages| {
        tell(&messages);
        Exit::Usage
    })
}

/// Prints messages about a file.
pub fn tell(messages: &Messages) {
    let style = Style { color: output::ColorChoice::Auto.for_stderr(), ..Style::default() };
    output::err(&messages.render(style));
}
