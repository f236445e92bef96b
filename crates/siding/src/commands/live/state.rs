//! Entries that outlive the switch: `--state FILE`.

use crate::cli::LiveArgs;
use crate::output::{self, Exit};
use dataplane::Switch;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Least time between two times of writing.
const PAUSE: Duration = Duration::from_secs(5);
/// Least time between them, in times that writing takes: nobody else changes entries meanwhile.
const PAUSE_PER_WRITE: u32 = 50;

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

/// The file, locked for this switch; made if it is not there. Another switch that keeps its state there is an error.
pub fn lock(args: &LiveArgs) -> Result<Option<File>, Exit> {
    let Some(path) = &args.state else { return Ok(None) };
    let open = || File::options().create(true).read(true).write(true).truncate(false).mode(0o600).open(path);
    let environment = |message: String| {
        output::error_line(&message);
        Err(Exit::Environment)
    };
    let file = match open() {
        Ok(file) => file,
        Err(error) => return environment(format!("cannot write {}: {error}", path.display())),
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            environment(format!("another switch keeps its state in {}; name another file", path.display()))
        }
        // Some file systems have no locks.
        Ok(()) | Err(_) => Ok(Some(file)),
    }
}

/// The files of entries with which the switch begins: what was kept, or else those of `--entries`. A file that is there and
/// cannot be read is an error when it is read.
pub fn initial_entries(args: &LiveArgs) -> Vec<PathBuf> {
    match &args.state {
        Some(state) if is_there(state) => vec![state.clone()],
        _ => args.entries.clone(),
    }
}

/// True for a file that is not empty, and for one that cannot be read, which is an error later.
fn is_there(path: &Path) -> bool {
    match path.metadata() {
        Ok(found) => found.len() > 0 || !found.is_file(),
        Err(error) => error.kind() != ErrorKind::NotFound || path.is_symlink(),
    }
}

/// Keeps what the switch has, while it runs and at its end.
pub struct State<'a> {
    path: Option<&'a Path>,
    /// The file, locked.
    file: Option<File>,
    /// The program with which the switch began.
    program: Option<String>,
    /// The switch's number of changes when the file was written last, and when that was.
    written: (u64, Instant),
    /// Time that writing took.
    took: Duration,
    /// Contents of the file, if this switch has written it.
    bytes: Vec<u8>,
}

impl<'a> State<'a> {
    pub fn new(args: &'a LiveArgs, file: Option<File>, switch: &Switch) -> State<'a> {
        State {
            file,
            path: args.state.as_deref(),
            program: switch.program().map(|program| program.name),
            written: (switch.n_changes(), Instant::now()),
            took: Duration::ZERO,
            bytes: Vec::new(),
        }
    }

    /// Writes the file if something may have changed and it is not too early. A problem is a warning: the next attempt may
    /// succeed.
    pub fn keep_sometimes(&mut self, switch: &Switch) {
        let (n_before, at) = self.written;
        let pause = PAUSE.max(self.took * PAUSE_PER_WRITE);
        let n_changes = switch.n_changes();
        if self.path.is_none() || n_changes == n_before || at.elapsed() < pause {
            return;
        }
        if let Err(message) = self.keep(switch, false) {
            output::warning_line(&message);
        }
        // Another program, or a fault: not again until something changes.
        self.written = (n_changes, Instant::now());
    }

    /// Writes the file at the end.
    pub fn keep_last(&mut self, switch: &Switch) -> Result<(), Exit> {
        self.keep(switch, true).map_err(|message| {
            output::error_line(&message);
            Exit::Environment
        })
    }

    /// The file is replaced as a whole, or stays as it is: when the switch runs another program than at the start, too.
    /// Only its owner can read it, since entries may have keys.
    fn keep(&mut self, switch: &Switch, is_last: bool) -> Result<(), String> {
        let Some(path) = self.path else { return Ok(()) };
        let begin = Instant::now();
        let running = switch.program();
        if running.as_ref().map(|running| &running.name) != self.program.as_ref() {
            if is_last {
                let shown = path.display();
                output::warning_line(&format!(
                    "another program runs than at the start: {shown} stays as it is"
                ));
            }
            return Ok(());
        }
        let failed = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
        let Some(schema) = switch.schema() else { return Ok(()) };
        let updates =
            switch.configuration().map_err(|error| failed(&error))?.map_err(|fault| failed(&fault))?;
        let written = entries::write(entries::Format::P4RuntimeText, &updates, &schema, true);
        if is_last {
            for what in &written.left_out {
                output::warning_line(&format!("not kept in {}: {what}", path.display()));
            }
        }
        if is_last || written.bytes != self.bytes {
            self.file = Some(replace_file(path, &written.bytes).map_err(|error| failed(&error))?);
        }
        self.bytes = written.bytes;
        self.took = begin.elapsed();
        Ok(())
    }
}

/// Returns the new file, locked.
fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<File> {
    // A symbolic link stays one.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut file = tempfile::NamedTempFile::new_in(folder(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    // Nobody else knows the file yet.
    let _ = flock(file.as_file(), FlockOperation::NonBlockingLockExclusive);
    Ok(file.persist(path)?)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
