//! The system's C compiler: finding it, and running it with a time limit.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{env, io, thread};

/// Names under which a compiler is looked for, when nobody names one.
const USUAL_NAMES: [&str; 3] = ["cc", "gcc", "clang"];

/// What is kept of a compiler's messages.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;

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
}

/// How a run of a compiler ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    /// What it wrote to its standard error, cut at a megabyte.
    pub messages: String,
}

impl Compiler {
    /// The compiler that `wanted` names, or the variable CC, or the first of the usual ones that is there.
    pub fn find(wanted: Option<&Path>) -> Result<Compiler, CompilerError> {
        let named = wanted.map(|path| path.as_os_str().to_owned());
        let named = named.or_else(|| env::var_os("CC").filter(|cc| !cc.is_empty()));
        let names = match named {
            Some(name) => vec![name],
            None => USUAL_NAMES.iter().map(OsString::from).collect(),
        };
        let paths = env::var_os("PATH").unwrap_or_default();
        for name in &names {
            if let Some(path) = on_path(name, &paths) {
                return Compiler::at(path);
            }
        }
        let tried = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        Err(CompilerError::NotFound { tried })
    }

    fn at(path: PathBuf) -> Result<Compiler, CompilerError> {
        let output = Command::new(&path).arg("--version").env("LC_ALL", "C").stdin(Stdio::null()).output();
        let output = match output {
            Ok(output) => output,
            Err(source) => return Err(CompilerError::CannotRun { path, source }),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or("").to_owned();
        Ok(Compiler { path, version })
    }

    /// Runs it in `dir`. All that it has started is killed when the limit has passed.
    pub fn run(&self, args: &[OsString], dir: &Path, limit: Duration) -> Result<Outcome, CompilerError> {
        let cannot = |source| CompilerError::CannotRun { path: self.path.clone(), source };
        let mut child = Command::new(&self.path)
            .args(args)
            .current_dir(dir)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(cannot)?;
        let (sender, receiver) = channel();
        if let Some(stderr) = child.stderr.take() {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let mut stderr = stderr;
                let read = stderr.by_ref().take(MESSAGE_BYTES_MAX).read_to_end(&mut bytes);
                // The rest is read and forgotten, so that the compiler can go on.
                let _ = read.and_then(|_| io::copy(&mut stderr, &mut io::sink()));
                // Nobody listens any more when the time is over.
                let _ = sender.send(bytes);
            });
        }
        // The pipe ends when the last process that could write to it has ended.
        match receiver.recv_timeout(limit) {
            Ok(bytes) => {
                let status = child.wait().map_err(cannot)?;
                Ok(Outcome { status, messages: String::from_utf8_lossy(&bytes).into_owned() })
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                kill_group(&mut child);
                Err(CompilerError::TimedOut { path: self.path.clone(), limit })
            }
        }
    }
}

/// Ends a child and all processes of its group, which it leads.
fn kill_group(child: &mut Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        // SAFETY: `kill` touches no memory. The child has not been waited for, so its id, which is also that of
        // its group (`process_group(0)`), cannot belong to anybody else.
        #[expect(unsafe_code, reason = "the standard library ends single processes only")]
        unsafe {
            libc::kill(-group, libc::SIGKILL);
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// An executable file: a path as it is, a name in the directories of PATH.
fn on_path(name: &OsStr, paths: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return is_executable(path).then(|| path.to_owned());
    }
    env::split_paths(paths).map(|dir| dir.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
