//! The system's C compiler: finding it, and running it within limits.

use super::child::{self, Ended, Limits, Output};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use std::{env, io};

/// Names under which a compiler is looked for unless one is configured.
const USUAL_NAMES: [&str; 3] = ["cc", "gcc", "clang"];

/// Messages of a compiler are cut after this many bytes.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;

/// `--version` prints its first line within this time.
const VERSION_TIME_MAX: Duration = Duration::from_secs(10);
const VERSION_BYTES_MAX: u64 = 4096;
const VERSION_MEMORY_BYTES_MAX: u64 = 4 << 30;

/// A compiler that has told its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    pub path: PathBuf,
    /// First line of what `--version` prints.
    pub version: String,
}

#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    #[error(
        "no C compiler was found (looked for {}): install gcc or clang, or name a compiler in the variable CC",
        tried.join(", ")
    )]
    NotFound { tried: Vec<String> },
    #[error("the C compiler `{}` cannot be run: {source}", path.display())]
    CannotRun { path: PathBuf, source: io::Error },
    #[error("the C compiler `{}` has not ended within {} s", path.display(), limit.as_secs())]
    TimedOut { path: PathBuf, limit: Duration },
    #[error(
        "the C compiler `{}` was ended by the system ({how}): the machine, or the compiler's limit of {} MiB, has too little \
         memory for this program; a lower -O needs less",
        path.display(), memory_bytes >> 20
    )]
    Killed { path: PathBuf, how: String, memory_bytes: u64 },
    #[error("the C compiler `{}` reports success but wrote no output file", path.display())]
    NoOutput { path: PathBuf },
}

/// How a run of a compiler ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    /// The compiler's standard error, cut at a megabyte.
    pub messages: String,
}

impl Compiler {
    /// The compiler that `wanted` names, or the variable CC, or the first of the usual ones that is there.
    /// It prints its version within `limit`, and within 10 s.
    pub fn find(wanted: Option<&Path>, limit: Duration) -> Result<Compiler, CompilerError> {
        let named = wanted.map(|path| path.as_os_str().to_owned());
        let named = named.or_else(|| env::var_os("CC").filter(|cc| !cc.is_empty()));
        let names = match named {
            Some(name) => vec![name],
            None => USUAL_NAMES.iter().map(OsString::from).collect(),
        };
        let paths = env::var_os("PATH").unwrap_or_default();
        for name in &names {
            if let Some(path) = on_path(name, &paths) {
                return Compiler::at(path, limit.min(VERSION_TIME_MAX));
            }
        }
        let tried = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        Err(CompilerError::NotFound { tried })
    }

    fn at(path: PathBuf, limit: Duration) -> Result<Compiler, CompilerError> {
        let limits =
            Limits { time: limit, memory_bytes: VERSION_MEMORY_BYTES_MAX, output_bytes: VERSION_BYTES_MAX };
        match child::run(&path, &["--version"], Path::new("."), Output::Stdout, limits) {
            Ok(Ended::Exited { output, .. }) => {
                let version = output.lines().next().unwrap_or("").to_owned();
                Ok(Compiler { path, version })
            }
            Ok(Ended::TimedOut) => Err(CompilerError::TimedOut { path, limit }),
            Err(source) => Err(CompilerError::CannotRun { path, source }),
        }
    }

    /// Runs it in `dir` with at most `memory_bytes` of address space for each of its processes. All that it has started is
    /// killed when `limit` has passed.
    pub fn run(
        &self,
        args: &[OsString],
        dir: &Path,
        limit: Duration,
        memory_bytes: u64,
    ) -> Result<Outcome, CompilerError> {
        let limits = Limits { time: limit, memory_bytes, output_bytes: MESSAGE_BYTES_MAX };
        let path = || self.path.clone();
        match child::run(&self.path, args, dir, Output::Stderr, limits) {
            Ok(Ended::Exited { status, output }) => match killed(status, &output) {
                Some(how) => Err(CompilerError::Killed { path: path(), how, memory_bytes }),
                None => Ok(Outcome { status, messages: output }),
            },
            Ok(Ended::TimedOut) => Err(CompilerError::TimedOut { path: path(), limit }),
            Err(source) => Err(CompilerError::CannotRun { path: path(), source }),
        }
    }
}

/// How a compiler, or a process that it started, was ended from outside or ran out of memory; `None` when it ended itself.
fn killed(status: ExitStatus, messages: &str) -> Option<String> {
    if status.success() {
        return None;
    }
    if let Some(signal) = Ended::signal(status) {
        return Some(format!("signal {signal}"));
    }
    // The drivers of gcc and clang report how their processes end, and end with 1 themselves.
    let signs = [
        "signal terminated program",
        "out of memory",
        "virtual memory exhausted",
        "due to signal",
        "cannot allocate memory",
        "Cannot allocate memory",
    ];
    messages
        .lines()
        .find(|line| signs.iter().any(|sign| line.contains(sign)))
        .map(|line| line.trim().to_owned())
}

/// An executable file: a path as it is, a name in the directories of PATH.
fn on_path(name: &OsStr, paths: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        // It runs in another directory.
        return is_executable(path).then(|| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    }
    env::split_paths(paths).map(|dir| dir.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
