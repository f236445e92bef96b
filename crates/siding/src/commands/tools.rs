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
