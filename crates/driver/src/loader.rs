//! Finds main files and included files.

use crate::foreign;
use diagnostics::suggest::nearest_word;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syntax::limits::FILE_BYTES_MAX;
use syntax::{Advice, IncludeKind, LoadedFile, Loader};

/// Prefix of the names under which the compiler's own include files appear in messages.
const BUILT_IN: &str = "<p4include>/";

/// Files of a directory that are looked at for a name that was probably meant.
const NAMES_MAX: usize = 10_000;

/// A main file.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: Arc<str>,
}

/// Error of reading a main file.
#[derive(Debug)]
pub struct ReadError {
    pub path: PathBuf,
    pub reason: String,
    /// The file was read, and is no P4-16 program.
    pub is_foreign: bool,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = if self.is_foreign { "compile" } else { "read" };
        write!(f, "cannot {verb} {}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for ReadError {}

/// Reads a main file; `-` is standard input.
pub fn read_source(path: &Path) -> Result<Source, ReadError> {
    let error = |reason: String, is_foreign| ReadError { path: path.to_path_buf(), reason, is_foreign };
    let (name, text) = match path == Path::new("-") {
        true => ("<stdin>".to_string(), read_text(std::io::stdin().lock())),
        false => (path.to_string_lossy().into_owned(), read_file(path)),
    };
    let text = text.map_err(|e| error(e.to_string(), false))?;
    match foreign::recognise(&text, &path.to_string_lossy()) {
        Some(what) => Err(error(what, true)),
        None => Ok(Source { name, text }),
    }
}

/// Reads a main file. It may be a pipe, such as a shell's `<(...)`.
fn read_file(path: &Path) -> std::io::Result<Arc<str>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::Error::other("it is a directory"));
    }
    read_text(file)
}

/// Reads an included file; `Ok(None)` if there is none. Opens only regular files, because opening a named
/// pipe waits for a writer and a device may have no end.
fn read_included(path: &Path) -> std::io::Result<Option<Arc<str>>> {
    use std::io::ErrorKind;
    let kind = match std::fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if kind.is_dir() {
        return Ok(None);
    }
    if !kind.is_file() {
        return Err(std::io::Error::other(format!("it is a {}, not a regular file", kind_of_file(kind))));
    }
    read_text(std::fs::File::open(path)?).map(Some)
}

#[cfg(unix)]
fn kind_of_file(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "named pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

#[cfg(not(unix))]
fn kind_of_file(_kind: std::fs::FileType) -> &'static str {
    "special file"
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

/// Finds the compiler's own include files, and no others: for programs that come from elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInLoader;

impl Loader for BuiltInLoader {
    fn load(&self, name: &str, _: IncludeKind, _: &str) -> Option<LoadedFile> {
        let text = arch::include_file(name)?;
        Some(LoadedFile { name: format!("{BUILT_IN}{name}"), text: text.into(), is_system: true })
    }
}

/// Finds included files: for `"name"` first in the directory of the including file, then for both forms in
/// the directories of `-I`, then among the compiler's own include files.
#[derive(Clone, Debug, Default)]
pub struct FileLoader {
    /// Directories of `-I`, in order.
    pub include_dirs: Vec<PathBuf>,
}

/// The result of looking for an included file.
enum Found {
    Nowhere,
    Unreadable(String),
    File(LoadedFile),
}

impl Found {
    /// Tries `next` unless a file was found, readable or not.
    fn or_else(self, next: impl FnOnce() -> Found) -> Found {
        match self {
            Found::Nowhere => next(),
            Found::Unreadable(_) | Found::File(_) => self,
        }
    }
}

impl FileLoader {
    fn find(&self, name: &str, kind: IncludeKind, from: &str) -> Found {
        let is_system = kind == IncludeKind::System;
        // Joining a directory with an absolute name would give the same path each time.
        if Path::new(name).is_absolute() {
            return load_path(Path::new(name), is_system);
        }
        let mut found = match kind {
            IncludeKind::Local => FileLoader::in_directory_of(name, from),
            IncludeKind::System => Found::Nowhere,
        };
        for dir in &self.include_dirs {
            found = found.or_else(|| load_path(&dir.join(name), is_system));
        }
        found.or_else(|| built_in(name))
    }

    /// Names that an include could have had instead of `name`: files in the directories that are searched, at
    /// most [`NAMES_MAX`] of each, then the compiler's own.
    fn candidates(&self, name: &str, kind: IncludeKind, from: &str) -> Vec<String> {
        let (folder, _) = name.rsplit_once('/').unwrap_or(("", name));
        let parent = Path::new(from).parent().unwrap_or(Path::new(""));
        let local = (kind == IncludeKind::Local && !from.starts_with(BUILT_IN)).then_some(parent);
        let mut names = Vec::new();
        for dir in local.into_iter().chain(self.include_dirs.iter().map(PathBuf::as_path)) {
            let dir = dir.join(folder);
            let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { &dir };
            let files = std::fs::read_dir(dir).into_iter().flatten().flatten().take(NAMES_MAX);
            names.extend(files.filter_map(|file| {
                let file = file.file_name().into_string().ok()?;
                let is_included = file.ends_with(".p4") || file.ends_with(".h");
                is_included.then(|| if folder.is_empty() { file } else { format!("{folder}/{file}") })
            }));
        }
        names.sort_unstable();
        names.extend(arch::INCLUDE_FILES.iter().map(|(name, _)| name.to_string()));
        names
    }

    fn in_directory_of(name: &str, from: &str) -> Found {
        if let Some(from) = from.strip_prefix(BUILT_IN) {
            let dir = from.rsplit_once('/').map_or("", |(dir, _)| dir);
            return built_in(&if dir.is_empty() { name.to_string() } else { format!("{dir}/{name}") });
        }
        load_path(&Path::new(from).parent().unwrap_or(Path::new("")).join(name), false)
    }
}

/// The name without its suffix, which would make short names similar.
fn stem(name: &str) -> &str {
    name.strip_suffix(".p4").or_else(|| name.strip_suffix(".h")).unwrap_or(name)
}

fn load_path(path: &Path, is_system: bool) -> Found {
    match read_included(path) {
        Ok(Some(text)) => {
            Found::File(LoadedFile { name: path.to_string_lossy().into_owned(), text, is_system })
        }
        Ok(None) => Found::Nowhere,
        Err(error) => Found::Unreadable(error.to_string()),
    }
}

fn built_in(name: &str) -> Found {
    match arch::include_file(name) {
        Some(text) => {
            Found::File(LoadedFile { name: format!("{BUILT_IN}{name}"), text: text.into(), is_system: true })
        }
        None => Found::Nowhere,
    }
}

impl Loader for FileLoader {
    fn load(&self, name: &str, kind: IncludeKind, from: &str) -> Option<LoadedFile> {
        match self.find(name, kind, from) {
            Found::File(file) => Some(file),
            Found::Nowhere | Found::Unreadable(_) => None,
        }
    }

    fn refusal(&self, name: &str, kind: IncludeKind, from: &str) -> Option<String> {
        match self.find(name, kind, from) {
            Found::Unreadable(why) => Some(why),
            Found::Nowhere | Found::File(_) => None,
        }
    }

    fn advice(&self, name: &str, kind: IncludeKind, from: &str) -> Advice {
        if let Some(origin) = foreign::origin_of_include(name) {
            return Advice::Origin(origin.to_string());
        }
        let names = self.candidates(name, kind, from);
        let nearest = nearest_word(stem(name), names.iter().map(|name| stem(name)));
        match names.iter().find(|name| Some(stem(name)) == nearest) {
            Some(name) => Advice::Nearest(name.clone()),
            None => Advice::None,
        }
    }
}
