//! Programs of the system: where they are, which versions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The file that a name means: of one on the search path, or the path itself.
pub fn find(name: &OsStr) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    // The default of `execvp`.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// The C compiler that builds use: the one that is named, or that the variable CC names, or the first of the usual.
pub fn compiler(wanted: Option<&Path>) -> Option<PathBuf> {
    let named = wanted.map(|path| path.as_os_str().to_owned());
    match named.or_else(|| std::env::var_os("CC").filter(|cc| !cc.is_empty())) {
        Some(name) => find(&name),
        None => ["cc", "gcc", "clang"].iter().find_map(|name| find(OsStr::new(name))),
    }
}

/// The first line of what `--version` prints.
pub fn version(tool: &Path) -> Option<String> {
    let output = Command::new(tool)
        .arg("--version")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_string)
}

/// Resources that the child processes which this process has waited for have taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildrenUsage {
    /// Largest resident set of one of them.
    pub peak_bytes: u64,
    /// Processor time of all of them together, on any core.
    pub processor: Duration,
}

pub fn children_usage() -> Option<ChildrenUsage> {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).ok()?;
    // Kilobytes on Linux, getrusage(2).
    let peak_bytes = u64::try_from(usage.max_rss()).ok()?.checked_mul(1024)?;
    let micros = |time: nix::sys::time::TimeVal| {
        let micros = time.tv_sec().saturating_mul(1_000_000).saturating_add(time.tv_usec());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    Some(ChildrenUsage { peak_bytes, processor: micros(usage.user_time()) + micros(usage.system_time()) })
}
