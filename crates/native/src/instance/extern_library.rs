//! Users' libraries of externs: shared objects that export a table (`rt/siding_extern.h`).

use super::crash::{self, Watch};
use externs::{Library, LibraryError, abi};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fs, io};

/// Why a file is no library of externs.
#[derive(Debug, thiserror::Error)]
pub enum ExternLibraryError {
    #[error("cannot read the extern library {}: {source}", path.display())]
    CannotRead { path: PathBuf, source: io::Error },
    #[error("`{}` is no shared object that can be loaded here: {source}", path.display())]
    CannotLoad { path: PathBuf, source: libloading::Error },
    #[error(
        "`{}` is no library of externs: it does not export `siding_extern_library`; see docs/how-to/externs.md",
        path.display()
    )]
    NoTable { path: PathBuf },
    #[error("the extern library `{}` cannot be used: {source}", path.display())]
    Table { path: PathBuf, source: LibraryError },
}

/// A loaded library. Its fields are dropped in this order: a library that is unloaded is no longer watched.
struct Loaded {
    watch: OnceLock<Watch>,
    _library: libloading::Library,
}

/// Loads a library; it stays loaded as long as its externs can be called. Its initialisers run.
pub fn load_extern_library(path: &Path) -> Result<Library, ExternLibraryError> {
    let path = path.to_owned();
    // A name without a directory would be looked for elsewhere.
    let found = match fs::canonicalize(&path) {
        Ok(found) => found,
        Err(source) => return Err(ExternLibraryError::CannotRead { path, source }),
    };
    if let Err(source) = check_whole(&found) {
        return Err(ExternLibraryError::CannotRead { path, source });
    }
    // SAFETY: that the code in it may run is what the user says by naming it.
    #[expect(unsafe_code, reason = "loading is what this crate is for")]
    let library = unsafe { libloading::Library::new(&found) };
    let library = match library {
        Ok(library) => library,
        Err(source) => return Err(ExternLibraryError::CannotLoad { path, source }),
    };
    // SAFETY: the symbol is the address of a table, whose first field is the version of its type.
    #[expect(unsafe_code, reason = "the type of a symbol cannot be checked")]
    let raw = unsafe { library.get::<*const abi::ExternLibrary>(abi::SYMBOL) }.map(|symbol| *symbol);
    let Ok(raw) = raw else { return Err(ExternLibraryError::NoTable { path }) };
    // SAFETY: a constant of a library that stays loaded as long as the last argument lives.
    let loaded = Arc::new(Loaded { watch: OnceLock::new(), _library: library });
    let keep = Arc::clone(&loaded);
    #[expect(unsafe_code, reason = "memory of the shared object")]
    let table = unsafe { Library::from_raw(path.display().to_string(), raw, keep) };
    let table = table.map_err(|source| ExternLibraryError::Table { path, source })?;
    if let Some(watch) = crash::watch(&table, raw as usize) {
        let _ = loaded.watch.set(watch);
    }
    Ok(table)
}

/// Refuses what the dynamic loader would wait for or die of: pipes, devices, and 64-bit ELF files whose end is missing (ELF,
/// "Program Header").
fn check_whole(path: &Path) -> io::Result<()> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let bytes = fs::read(path)?;
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        // The loader says what is wrong with it.
        return Ok(());
    }
    let number = |at: usize, len: usize| {
        let field = bytes.get(at..at.checked_add(len)?)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let is_whole = || {
        let (table, entry_bytes, n) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
        for i in 0..n {
            let header = usize::try_from(table.checked_add(i.checked_mul(entry_bytes)?)?).ok()?;
            let (offset, len) = (number(header + 8, 8)?, number(header + 32, 8)?);
            if offset.checked_add(len)? > bytes.len() as u64 {
                return None;
            }
        }
        Some(())
    };
    is_whole().ok_or_else(|| io::Error::other("its end is missing"))
}
