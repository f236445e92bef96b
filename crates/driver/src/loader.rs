//! Finds main files and included files.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syntax::limits::FILE_BYTES_MAX;
use syntax::{IncludeKind, LoadedFile, Loader};

/// Prefix of the names under which the compiler's own include files appear in messages.
const BUILT_IN: &str = "<p4include>/";

/// A main file.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: Arc<str>,
}

/// Why a main file could not be read.
#[derive(Debug)]
pub struct ReadError {
    pub path: PathBuf,
    pub reason: String,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot read {}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for ReadError {}

/// Reads a main file; `-` is standard input.
pub fn read_source(path: &Path) -> Result<Source, ReadError> {
    let error = |reason: String| ReadError { path: path.to_path_buf(), reason };
    if path == Path::new("-") {
        let text = read_text(std::io::stdin().lock()).map_err(|e| error(e.to_string()))?;
        return Ok(Source { name: "<stdin>".to_string(), text });
    }
    let text = read_file(path).map_err(|e| error(e.to_string()))?;
    Ok(Source { name: path.to_string_lossy().into_owned(), text })
}

fn read_file(path: &Path) -> std::io::Result<Arc<str>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::Error::other("it is a directory"));
    }
    read_text(file)
}

/// Bytes that are not UTF-8 become replacement characters, which the lexer reports where they matter.
fn read_text(from: impl Read) -> std::io::Result<Arc<str>> {
    let mut bytes = Vec::new();
    from.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(e) => String::from_utf8_lossy(e.as_bytes()).into(),
    })
}

/// Finds included files: for `"name"` first beside the including file, then for both forms in the
/// directories of `-I`, then among the compiler's own include files.
#[derive(Clone, Debug, Default)]
pub struct FileLoader {
    /// Directories of `-I`, in order.
    pub include_dirs: Vec<PathBuf>,
}

impl FileLoader {
    fn beside(name: &str, from: &str) -> Option<LoadedFile> {
        if let Some(from) = from.strip_prefix(BUILT_IN) {
            let dir = from.rsplit_once('/').map_or("", |(dir, _)| dir);
            return built_in(&if dir.is_empty() { name.to_string() } else { format!("{dir}/{name}") });
        }
        load_path(&Path::new(from).parent().unwrap_or(Path::new("")).join(name), false)
    }
}

fn load_path(path: &Path, is_system: bool) -> Option<LoadedFile> {
    let text = read_file(path).ok()?;
    Some(LoadedFile { name: path.to_string_lossy().into_owned(), text, is_system })
}

fn built_in(name: &str) -> Option<LoadedFile> {
    let text = arch::include_file(name)?;
    Some(LoadedFile { name: format!("{BUILT_IN}{name}"), text: text.into(), is_system: true })
}

impl Loader for FileLoader {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        // An absolute name is itself; joining a directory with it would give the same path each time.
        if Path::new(name).is_absolute() {
            return load_path(Path::new(name), kind == IncludeKind::System);
        }
        let beside = match kind {
            IncludeKind::Local => FileLoader::beside(name, from),
            IncludeKind::System => None,
        };
        let is_system = kind == IncludeKind::System;
        beside
            .or_else(|| self.include_dirs.iter().find_map(|dir| load_path(&dir.join(name), is_system)))
            .or_else(|| built_in(name))
    }
}
