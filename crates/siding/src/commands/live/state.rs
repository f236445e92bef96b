//! Entries that outlive the switch: `--state FILE`.

use crate::cli::LiveArgs;
use crate::output::{self, Exit};
use dataplane::Switch;
use std::io::{ErrorKind, Write};
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
    let folder = folder(path);
    if !folder.is_dir() {
        return usage(format!("--state {}: there is no directory {}", path.display(), folder.display()));
    }
    Ok(())
}

/// The files of entries with which the switch begins: what was kept, or else those of `--entries`. A file that is there and
/// cannot be read is an error when it is read.
pub fn initial_entries(args: &LiveArgs) -> Vec<PathBuf> {
    match &args.state {
        Some(state) if is_there(state) => vec![state.clone()],
        _ => args.entries.clone(),
    }
}

fn is_there(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound)
}

/// Keeps what the switch has, unless it runs another program than `program`, with which it began. The file is replaced as a
/// whole, or stays as it is. Only its owner can read it, since entries may have keys.
pub fn keep(args: &LiveArgs, switch: &Switch, program: Option<&str>) -> Result<(), Exit> {
    let Some(path) = &args.state else { return Ok(()) };
    let running = switch.program();
    if running.as_ref().map(|running| running.name.as_str()) != program {
        let shown = path.display();
        output::warning_line(&format!("another program runs than at the start: {shown} stays as it is"));
        return Ok(());
    }
    let failed = |error: &dyn std::fmt::Display| {
        output::error_line(&format!("cannot write {}: {error}", path.display()));
        Exit::Environment
    };
    let Some(schema) = switch.schema() else { return Ok(()) };
    let updates = switch.configuration().map_err(|error| failed(&error))?.map_err(|fault| failed(&fault))?;
    let written = entries::write(entries::Format::P4RuntimeText, &updates, &schema, true);
    for what in &written.left_out {
        output::warning_line(&format!("not kept in {}: {what}", path.display()));
    }
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder(path))?;
        file.write_all(&written.bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| failed(&error))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
