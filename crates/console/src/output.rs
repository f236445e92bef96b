//! Output of a run for people and for programs, and its exit code.

use diagnostics::render::{self, Style, Tool};
use diagnostics::{Diagnostic, Severity, SourceMap};
use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Ok,
    /// A test or assertion failed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// The program has errors.
    CompileError,
    /// Something outside is missing or forbidden.
    Environment,
    /// A bug in Siding.
    Bug,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::CompileError => 3,
            Exit::Environment => 4,
            Exit::Bug => 70,
        }
    }
}

/// Output was lost: see [`with_lost_output`].
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

/// Writes to standard output. A reader that went away (`siding ... | head`) is no error; any other failure is reported
/// once and decides the exit code in [`with_lost_output`].
pub fn out(text: &str) {
    out_bytes(text.as_bytes());
}

/// Writes bytes to standard output, like [`out`].
pub fn out_bytes(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush())
        && error.kind() != ErrorKind::BrokenPipe
        && !OUTPUT_LOST.swap(true, Ordering::Relaxed)
    {
        error_line(&format!("cannot write to standard output: {error}"));
    }
}

/// The result of a command that ended with `exit`: not success if some of its output was lost.
pub fn with_lost_output(exit: Exit) -> Exit {
    match OUTPUT_LOST.load(Ordering::Relaxed) {
        true => exit.max(Exit::Environment),
        false => exit,
    }
}

/// Largest file that commands read as a whole, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Reads a file, or standard input for `-`. Fails for more than 1 GiB: a device may have no end.
pub fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = |input: &mut dyn Read, bytes: &mut Vec<u8>| input.take(FILE_BYTES_MAX + 1).read_to_end(bytes);
    match path == Path::new("-") {
        true => read(&mut std::io::stdin().lock(), &mut bytes)?,
        false => read(&mut std::fs::File::open(path)?, &mut bytes)?,
    };
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(std::io::Error::new(ErrorKind::FileTooLarge, "it has more than 1 GiB")),
        false => Ok(bytes),
    }
}

/// Files that this command reads, by device and inode.
static INPUTS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// Remembers that this command reads a file, which [`replace_file`] does not replace then.
pub fn note_input(path: &Path) {
    if let (Ok(found), Ok(mut inputs)) = (std::fs::metadata(path), INPUTS.lock()) {
        inputs.push((found.dev(), found.ino()));
    }
}

/// Remembers the files of a program, as [`note_input`] does.
pub fn note_sources(sources: &SourceMap) {
    sources.files().for_each(|(_, file)| note_input(Path::new(&file.name)));
}

/// Fails if a file to be written is one that this command reads.
pub fn refuse_input(path: &Path) -> std::io::Result<()> {
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    let is_input = INPUTS.lock().is_ok_and(|inputs| inputs.contains(&(found.dev(), found.ino())));
    match is_input && found.is_file() {
        true => Err(std::io::Error::new(
            ErrorKind::InvalidInput,
            "this command reads that file; name another one to write to",
        )),
        false => Ok(()),
    }
}

/// Replaces the file at `path`, or makes it. The new text goes to a temporary file in the same directory, which is then
/// renamed, so that the old file stays as it is when the disk is full. Pipes, devices, files with several names and
/// files in directories where no file can be made are written in place.
pub fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // `/dev/stdout` may lead to a file that somebody else has open.
    if path.starts_with("/dev") || path.starts_with("/proc") {
        return std::fs::write(path, bytes);
    }
    refuse_input(path)?;
    // A symbolic link stays one: the file that it leads to is replaced, or made.
    let path = match std::fs::canonicalize(path) {
        Ok(target) => target,
        Err(_) if path.is_symlink() => return std::fs::write(path, bytes),
        Err(_) => path.to_path_buf(),
    };
    let old = match std::fs::metadata(&path) {
        Ok(old) if !old.is_file() || old.nlink() > 1 => return std::fs::write(&path, bytes),
        Ok(old) => Some(old),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !dir.is_dir() {
        let message = format!("there is no directory {}", dir.display());
        return Err(std::io::Error::new(ErrorKind::NotFound, message));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".siding-");
    // Like any new file's; the umask takes its share.
    builder.permissions(Permissions::from_mode(0o666));
    let mut temporary = match builder.tempfile_in(dir) {
        Ok(temporary) => temporary,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return std::fs::write(&path, bytes),
        // Without the name of the temporary file.
        Err(error) => {
            let cause = error.get_ref().and_then(std::error::Error::source).map(ToString::to_string);
            return Err(
                cause.map_or_else(|| error.kind().into(), |cause| std::io::Error::new(error.kind(), cause))
            );
        }
    };
    if let Some(old) = old {
        // Writing in place would fail, and so does this.
        OpenOptions::new().write(true).open(&path)?;
        let new = temporary.as_file().metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) && chown(temporary.path(), &old).is_err() {
            return std::fs::write(&path, bytes);
        }
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.write_all(bytes)?;
    // Some file systems notice only now that there is no room.
    temporary.as_file().sync_all()?;
    temporary.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

fn chown(path: &Path, like: &std::fs::Metadata) -> std::io::Result<()> {
    std::os::unix::fs::chown(path, Some(like.uid()), Some(like.gid()))
}

pub fn err(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// `error: ...` without a code: about the run, not about the program.
pub fn error_line(message: &str) {
    err(&format!("error: {}\n", in_plain_words(message)));
}

pub fn warning_line(message: &str) {
    err(&format!("warning: {}\n", in_plain_words(message)));
}

/// A message without what only Rust's errors say: numbers of the system's errors, and streams.
fn in_plain_words(message: &str) -> String {
    const NUMBER: &str = " (os error ";
    let mut parts = message.split(NUMBER);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => text.push_str(rest),
            _ => text.extend([NUMBER, part]),
        }
    }
    text.replace("stream did not contain valid UTF-8", "it is not text in UTF-8")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ErrorFormat {
    /// Excerpts with labels, notes and fixes
    Human,
    /// One line per message
    Short,
    /// One JSON object per line, on standard output
    Json,
    /// A SARIF 2.1.0 log, on standard output
    Sarif,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    /// Colour for people only: on a terminal, and neither `NO_COLOR` (https://no-color.org) nor a dumb terminal.
    pub fn for_stderr(self) -> bool {
        self.on(std::io::stderr().is_terminal())
    }

    /// Like [`for_stderr`](Self::for_stderr), for standard output.
    pub fn for_stdout(self) -> bool {
        self.on(std::io::stdout().is_terminal())
    }

    fn on(self, is_terminal: bool) -> bool {
        match self {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
                let is_dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
                is_terminal && !no_color && !is_dumb
            }
        }
    }
}

/// Prints the diagnostics of a run over several programs.
pub struct Printer {
    pub format: ErrorFormat,
    pub color: bool,
    /// Errors shown; `None` shows all.
    pub n_errors_max: Option<usize>,
    n_errors_shown: usize,
    n_errors_hidden: usize,
    counted: Vec<Diagnostic>,
    log: Vec<(Diagnostic, Arc<SourceMap>)>,
}

impl Printer {
    pub fn new(format: ErrorFormat, color: bool, n_errors_max: Option<usize>) -> Printer {
        Printer {
            format,
            color,
            n_errors_max,
            n_errors_shown: 0,
            n_errors_hidden: 0,
            counted: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Shows what one program gave.
    pub fn show(&mut self, diagnostics: Vec<Diagnostic>, sources: SourceMap) {
        self.show_shared(diagnostics, &Arc::new(sources));
    }

    /// Shows what one program gave, for sources that others need, too.
    pub fn show_shared(&mut self, diagnostics: Vec<Diagnostic>, sources: &Arc<SourceMap>) {
        for d in diagnostics {
            if d.severity == Severity::Error {
                if self.n_errors_max.is_some_and(|max| self.n_errors_shown >= max) {
                    self.n_errors_hidden += 1;
                    self.counted.push(d);
                    continue;
                }
                self.n_errors_shown += 1;
            }
            match self.format {
                ErrorFormat::Human => {
                    let style = Style { color: self.color, ..Style::default() };
                    err(&format!("{}\n", render::human(&d, sources, style)));
                }
                ErrorFormat::Short => err(&format!("{}\n", render::short(&d, sources))),
                ErrorFormat::Json => out(&format!("{}\n", render::json(&d, sources))),
                ErrorFormat::Sarif => self.log.push((d.clone(), Arc::clone(sources))),
            }
            self.counted.push(d);
        }
    }

    /// Ends the run: closing line or log.
    pub fn finish(self) {
        match self.format {
            ErrorFormat::Human | ErrorFormat::Short => {
                if self.n_errors_hidden > 0 {
                    let n = self.n_errors_hidden;
                    err(&format!("{n} more errors are not shown; --maxErrorCount raises the limit\n"));
                }
                let summary = render::summary(&self.counted);
                if !summary.is_empty() {
                    err(&format!("{summary}\n"));
                }
            }
            ErrorFormat::Json => {}
            ErrorFormat::Sarif => {
                let tool = Tool { name: "siding", version: env!("CARGO_PKG_VERSION") };
                out(&render::sarif(self.log.iter().map(|(d, s)| (d, &**s)), tool));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_in_plain_words() {
        let missing = std::io::Error::from_raw_os_error(2);
        assert_eq!(
            in_plain_words(&format!("a.p4: {missing}. Why?")),
            "a.p4: No such file or directory. Why?"
        );
        assert_eq!(in_plain_words("a (os error x) b"), "a (os error x) b");
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), [0xff]).unwrap();
        let error = std::fs::read_to_string(text.path()).unwrap_err();
        assert_eq!(in_plain_words(&format!("a: {error}")), "a: it is not text in UTF-8");
    }
}
