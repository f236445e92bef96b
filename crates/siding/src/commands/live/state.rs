//! Entries that outlive the switch: `--state FILE`.

use crate::cli::LiveArgs;
use crate::output::{self, Exit};
use dataplane::Switch;
use std::path::{Path, PathBuf};

/// Refuses a file that could not be written later.
pub fn check(args: &LiveArgs) -> Result<(), Exit> {
    let Some(path) = &args.state else { return Ok(()) };
    let usage = |message: String| {
        output::error_line(&message);
        Err(Exit::Usage)
    };
    if args.program.is_none() {
        return usage("--state needs a program".to_owned());
    }
    if entries::Format::from_name(&path.to_string_lossy()) != Some(entries::Format::P4RuntimeText) {
        return usage(format!("--state {}: its name must end with .txtpb", path.display()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return usage(format!("--state {}: there is no directory {}", path.display(), folder.display()));
    }
    Ok(())
}

/// The files of entries with which the switch begins: what was kept, or else those of `--entries`.
pub fn initial_entries(args: &LiveArgs) -> Vec<PathBuf> {
    match &args.state {
        Some(state) if state.exists() => vec![state.clone()],
        _ => args.entries.clone(),
    }
}

/// Keeps what the switch has. The file is replaced as a whole, or stays as it is.
pub fn keep(args: &LiveArgs, switch: &Switch) -> Result<(), Exit> {
    let Some(path) = &args.state else { return Ok(()) };
    // Without a program there is nothing that could be kept, and what the file has may be wanted again.
    let Some((schema, updates)) = switch.configuration() else { return Ok(()) };
    let written = entries::write(entries::Format::P4RuntimeText, &updates, &schema, true);
    for what in &written.left_out {
        output::warning_line(&format!("not kept in {}: {what}", path.display()));
    }
    output::replace_file(path, &written.bytes).map_err(|error| {
        output::error_line(&format!("cannot write {}: {error}", path.display()));
        Exit::Environment
    })
}
