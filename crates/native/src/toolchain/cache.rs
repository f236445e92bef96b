//! The cache of compiled programs, by the content that they were made from.
//!
//! A directory per program, named by its key: `pipeline.so`, its checksum, the C text, the compiler's messages, the
//! headers. It is written under another name and then renamed, so that a partial directory is never visible. A process that
//! finds the name taken uses the existing directory. A file whose checksum does not match is not used.

use super::private_dir::{Symlinks, open_private_dir, user_id};
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use std::{env, io, process};

pub(crate) const OBJECT: &str = "pipeline.so";
/// Code that the control planes of all programs share, compiled with one set of flags.
pub(crate) const CONTROL: &str = "control.o";
pub(crate) const SOURCE: &str = "pipeline.c";
pub(crate) const HEADERS: &str = "rt";
const CHECKSUM: &str = "sha256";
const MESSAGES: &str = "messages.txt";

/// Minimum age of a program before it is removed: another process may be about to load a younger one.
const AGE_MIN: Duration = Duration::from_secs(600);

/// Age at which unfinished directories are removed.
const LEFTOVER_AGE: Duration = Duration::from_secs(24 * 3600);

/// Location and size of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// `None`: `siding` in `$XDG_CACHE_HOME`, in `~/.cache`, or in the directory for temporary files.
    pub dir: Option<PathBuf>,
    /// The oldest programs are removed beyond this.
    pub size_bytes_max: u64,
}

impl Default for CacheOptions {
    fn default() -> CacheOptions {
        CacheOptions { dir: None, size_bytes_max: 1 << 30 }
    }
}

/// A program that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    pub object: PathBuf,
    pub source: PathBuf,
    /// Warnings of the compiler.
    pub messages: String,
}

/// The content that a program is made from.
#[derive(Default)]
pub(crate) struct Key(Sha256);

impl Key {
    pub(crate) fn add(&mut self, part: &[u8]) {
        // With lengths, no two lists of parts are the same bytes.
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub(crate) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .map(|d| char::from_digit(d.into(), 16).unwrap_or('0'))
        .collect()
}

/// The cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the cache of compiled programs `{}` cannot be used: {source}", path.display())]
pub struct CacheError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// A directory that only its user can write to.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
    /// A private directory that cannot be written, such as that of a container's image: programs in it are used.
    read_only: Option<PathBuf>,
    size_bytes_max: u64,
    /// Why another directory than the usual one is used.
    note: Option<String>,
}

/// One sentence for the user when compiled programs are kept in another directory than the usual one, and why.
pub fn cache_note(options: &CacheOptions) -> Option<String> {
    Cache::open(options).ok()?.note
}

impl Cache {
    /// The directory that `options` name, which must be private and writable; or the usual one, or, where that is not, one in
    /// the directory for temporary files, the same for all processes of a user.
    pub(crate) fn open(options: &CacheOptions) -> Result<Cache, CacheError> {
        let size_bytes_max = options.size_bytes_max;
        if let Some(dir) = &options.dir {
            let dir = private_and_writable(dir)?;
            return Ok(Cache { dir, read_only: None, size_bytes_max, note: None });
        }
        let usual = usual_dir();
        let error = match private_and_writable(&usual) {
            Ok(dir) => return Ok(Cache { dir, read_only: None, size_bytes_max, note: None }),
            Err(error) => error,
        };
        let dir = private_and_writable(&temporary_dir())?;
        let note = Some(format!("{error}; compiled programs are kept in {}", dir.display()));
        let read_only = make_private(&usual).is_ok().then_some(usual);
        Ok(Cache { dir, read_only, size_bytes_max, note })
    }

    fn entry(&self, key: &str) -> PathBuf {
        self.dir.join(key)
    }

    /// A whole program, as it was put there; `object` is the name of the file.
    pub(crate) fn get(&self, key: &str, object: &str) -> Option<Cached> {
        let dirs = self.read_only.iter().chain([&self.dir]);
        dirs.map(|dir| dir.join(key)).find_map(|entry| Cache::read(&entry, object))
    }

    fn read(entry: &Path, object: &str) -> Option<Cached> {
        let object = entry.join(object);
        let expected = read_regular(&entry.join(CHECKSUM))?;
        let bytes = read_regular(&object).filter(|bytes| !bytes.is_empty())?;
        if hex(&Sha256::digest(&bytes)).as_bytes() != expected {
            return None;
        }
        let messages = read_regular(&entry.join(MESSAGES)).unwrap_or_default();
        let messages = String::from_utf8_lossy(&messages).into_owned();
        // The oldest go first: this one has just been used.
        let touched = fs::File::open(entry).and_then(|dir| dir.set_modified(SystemTime::now()));
        drop(touched);
        Some(Cached { object, source: entry.join(SOURCE), messages })
    }

    /// A directory to make a program in: for [`publish`](Self::publish) or [`keep`](Self::keep).
    pub(crate) fn work_dir(&self) -> Result<WorkDir, CacheError> {
        WorkDir::new(&self.dir).map_err(|source| CacheError { path: self.dir.clone(), source })
    }

    /// Makes what was compiled in a directory known under its key.
    pub(crate) fn publish(
        &self,
        mut work: WorkDir,
        key: &str,
        object: &str,
        messages: &str,
    ) -> Result<Cached, CacheError> {
        let dir = self.dir.clone();
        self.try_publish(&mut work, key, object, messages).map_err(|source| CacheError { path: dir, source })
    }

    fn try_publish(&self, work: &mut WorkDir, key: &str, object: &str, messages: &str) -> io::Result<Cached> {
        let bytes = fs::read(work.path.join(object))?;
        fs::write(work.path.join(CHECKSUM), hex(&Sha256::digest(&bytes)))?;
        fs::write(work.path.join(MESSAGES), messages)?;
        let entry = self.entry(key);
        // While the name is taken, the existing directory is either good and used, or bad and moved away. The loop ends
        // without success only if the directory is damaged again and again.
        for _ in 0..8 {
            if fs::rename(&work.path, &entry).is_ok() {
                work.is_ours = false;
                self.shrink(&entry);
                let source = entry.join(SOURCE);
                return Ok(Cached { object: entry.join(object), source, messages: messages.to_owned() });
            }
            if let Some(cached) = self.get(key, object) {
                return Ok(cached);
            }
            let aside = WorkDir::new(&self.dir)?;
            let _ = fs::rename(&entry, aside.path.join("damaged"));
        }
        Err(io::Error::other("the cache entry is taken, and damaged again and again"))
    }

    /// Keeps a directory whose program could not be compiled, for inspection; gives where it is.
    pub(crate) fn keep(&self, mut work: WorkDir, key: &str) -> PathBuf {
        let kept = self.dir.join(format!("failed-{key}"));
        let _ = fs::remove_dir_all(&kept);
        work.is_ours = false;
        if fs::rename(&work.path, &kept).is_ok() { kept } else { work.path.clone() }
    }

    /// Removes the oldest programs beyond the size, and what others have left behind.
    fn shrink(&self, newest: &Path) {
        let Ok(listing) = fs::read_dir(&self.dir) else { return };
        let now = SystemTime::now();
        let mut entries = Vec::new();
        let mut total = 0;
        for entry in listing.flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else { continue };
            if !metadata.is_dir() || path == newest {
                continue;
            }
            let modified = metadata.modified().unwrap_or(now);
            let age = now.duration_since(modified).unwrap_or_default();
            let is_key = is_key(&entry.file_name());
            if !is_key && age > LEFTOVER_AGE {
                let _ = fs::remove_dir_all(&path);
            } else if is_key {
                let size = size_of_dir(&path);
                total += size;
                entries.push((modified, age, size, path));
            }
        }
        total += size_of_dir(newest);
        entries.sort();
        for (_, age, size, path) in entries {
            if total <= self.size_bytes_max {
                break;
            }
            if age >= AGE_MIN && fs::remove_dir_all(&path).is_ok() {
                total -= size;
            }
        }
    }
}

/// A directory that is removed unless it is kept.
pub(crate) struct WorkDir {
    pub(crate) path: PathBuf,
    is_ours: bool,
}

impl WorkDir {
    fn new(parent: &Path) -> io::Result<WorkDir> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("tmp-{}-{serial}", process::id()));
        let _ = fs::remove_dir_all(&path);
        make_private(&path)?;
        Ok(WorkDir { path, is_ours: true })
    }

    /// Writes a file of the directory.
    pub(crate) fn write(&self, name: &Path, text: &str) -> Result<(), CacheError> {
        let path = self.path.join(name);
        let write = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, text)
        };
        write().map_err(|source| CacheError { path: path.clone(), source })
    }
}

/// Removes a program that cannot be loaded, so that it is compiled again. Does nothing outside of a cache.
pub(crate) fn discard(cached: &Cached) {
    if let Some(entry) = cached.object.parent().filter(|dir| dir.file_name().is_some_and(is_key)) {
        // Where it cannot be removed, nothing better can be done.
        let _ = fs::remove_dir_all(entry);
    }
}

/// The contents of a file that is one: pipes and devices may never end.
fn read_regular(path: &Path) -> Option<Vec<u8>> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    if is_file { fs::read(path).ok() } else { None }
}

/// Names of programs are SHA-256 sums in hexadecimal.
fn is_key(name: &OsStr) -> bool {
    name.len() == 64 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit)
}

fn private_and_writable(dir: &Path) -> Result<PathBuf, CacheError> {
    let probe = || {
        make_private(dir)?;
        let dir = fs::canonicalize(dir)?;
        WorkDir::new(&dir).map(|_removed| dir)
    };
    probe().map_err(|source| CacheError { path: dir.to_owned(), source })
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn usual_dir() -> PathBuf {
    let absolute = |dir: &OsString| Path::new(dir).is_absolute();
    if let Some(dir) = env::var_os("XDG_CACHE_HOME").filter(absolute) {
        return Path::new(&dir).join("siding");
    }
    match env::var_os("HOME").filter(absolute) {
        Some(home) => Path::new(&home).join(".cache/siding"),
        None => temporary_dir(),
    }
}

/// One directory for all processes of a user.
fn temporary_dir() -> PathBuf {
    env::temp_dir().join(format!("siding-cache-{}", user_id().unwrap_or(0)))
}

/// Makes the directory writable by its user only, because its contents will be executed.
fn make_private(dir: &Path) -> io::Result<()> {
    open_private_dir(dir, Symlinks::Follow).map(drop)
}

/// Bytes of the files in and below a directory.
fn size_of_dir(dir: &Path) -> u64 {
    let Ok(listing) = fs::read_dir(dir) else { return 0 };
    let sizes = listing.flatten().map(|entry| match entry.metadata() {
        Ok(m) if m.is_dir() => size_of_dir(&entry.path()),
        Ok(m) => m.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_read() {
        let dir = std::env::temp_dir().join(format!("siding-cache-test-{}", process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (file, pipe, link) = (dir.join("file"), dir.join("pipe"), dir.join("link"));
        fs::write(&file, "x").unwrap();
        let made = process::Command::new("mkfifo").arg(&pipe).status();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert_eq!(read_regular(&file).as_deref(), Some(&b"x"[..]));
        assert!(made.is_err() || read_regular(&pipe).is_none());
        assert_eq!(read_regular(&link), None);
        assert_eq!(read_regular(&dir.join("none")), None);
        fs::remove_dir_all(&dir).unwrap();
    }
}
