//! Programs of the system: where they are, which versions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file that a name means: of one on the search path, or the path itself.
pub fn find(name: &OsStr) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
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

/// Largest resident set of the programs that this process has run, and waited for.
pub fn children_peak_bytes() -> Option<u64> {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).ok()?;
    // Kilobytes on Linux, getrusage(2).
    let kilobytes = u64::try_from(usage.max_rss()).ok()?;
    kilobytes.checked_mul(1024)
}
