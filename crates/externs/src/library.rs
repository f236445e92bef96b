//! Tables of externs: built-in ones, and those of loaded libraries.

use crate::abi::{self, packet_use};
use crate::declaration::Declaration;
use crate::{aes, dummy, esp, lz4, tree};
use smol_str::SmolStr;
use std::any::Any;
use std::ffi::{CStr, c_char};
use std::sync::{Arc, LazyLock};

/// Limit on the number of externs; a larger one is a corrupt table.
const N_EXTERNS_MAX: u32 = 4096;

/// Externs from one source.
pub struct Library {
    /// Path for messages; empty for built-in externs.
    origin: String,
    externs: Vec<Extern>,
    /// Owner of the loaded code; it must outlive the functions.
    _keep: Option<Arc<dyn Any + Send + Sync>>,
}

/// An implementation of an extern, with its properties.
#[derive(Clone, Debug)]
pub struct Extern {
    pub name: SmolStr,
    /// Declaration as text and parsed; `None` accepts any call.
    pub declaration: Option<(String, Declaration)>,
    pub(crate) packet: PacketUse,
    pub(crate) open: Option<abi::Open>,
    pub(crate) close: Option<abi::Close>,
    pub(crate) run: abi::Run,
    pub(crate) run_batch: Option<abi::RunBatch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PacketUse {
    Unused,
    Read,
    Changed,
}

/// Errors in a library's table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    #[error("it is built for version {found} of `siding_extern.h`, and this is version {}", abi::VERSION)]
    OtherAbi { found: u32 },
    #[error("its table is damaged: {0}")]
    Malformed(&'static str),
    #[error("its extern number {number} (from 0) has no name")]
    NoName { number: usize },
    #[error("its extern `{name}` has no function: `run` is NULL")]
    NoFunction { name: SmolStr },
    #[error("its extern `{name}` says {packet} of `packet`, which is none of `enum siding_packet_use`")]
    PacketUse { name: SmolStr, packet: u32 },
    #[error("its extern `{name}` has a declaration that cannot be read, `{text}`: {message}")]
    Declaration { name: SmolStr, text: String, message: String },
    #[error("it has the extern `{name}` twice")]
    Twice { name: SmolStr },
}

impl Library {
    /// Returns the built-in externs.
    pub fn built_in() -> &'static Arc<Library> {
        static BUILT_IN: LazyLock<Arc<Library>> = LazyLock::new(|| {
            let externs = [dummy::EXTERNS, aes::EXTERNS, esp::EXTERNS, lz4::EXTERNS, tree::EXTERNS]
                .concat()
                .into_iter()
                .map(BuiltIn::described)
                .collect();
            Arc::new(Library { origin: String::new(), externs, _keep: None })
        });
        &BUILT_IN
    }

    /// Reads the table that a library exports; `keep` keeps the library loaded.
    ///
    /// # Safety
    ///
    /// `raw` is the address of an object that begins with the version of its ABI. If the version is
    /// [`abi::VERSION`], it is a `struct siding_extern_library` whose functions keep the contract of the
    /// header, and all of it stays unchanged while `keep` lives.
    #[expect(unsafe_code, reason = "memory and functions of C")]
    pub unsafe fn from_raw(
        origin: String,
        raw: *const abi::ExternLibrary,
        keep: Arc<dyn Any + Send + Sync>,
    ) -> Result<Library, LibraryError> {
        if raw.is_null() || !raw.is_aligned() {
            return Err(LibraryError::Malformed("it has no address"));
        }
        // SAFETY: the caller's promise: the first field can be read.
        let found = unsafe { (&raw const (*raw).abi_version).read() };
        if found != abi::VERSION {
            return Err(LibraryError::OtherAbi { found });
        }
        // SAFETY: the version is ours, so the struct is, too.
        let raw = unsafe { &*raw };
        if raw.n_externs > N_EXTERNS_MAX {
            return Err(LibraryError::Malformed("it says that it has more than 4096 externs"));
        }
        if raw.n_externs > 0 && (raw.externs.is_null() || !raw.externs.is_aligned()) {
            return Err(LibraryError::Malformed("its externs have no address"));
        }
        let mut externs: Vec<Extern> = Vec::new();
        for number in 0..raw.n_externs as usize {
            // SAFETY: the caller's promise: the table has `n_externs` entries.
            let raw = unsafe { &*raw.externs.add(number) };
            // SAFETY: the caller's promise: names and declarations are strings, or NULL.
            let (name, declaration) = unsafe { (text(raw.name), text(raw.declaration)) };
            let name: SmolStr =
                name.filter(|name| !name.is_empty()).ok_or(LibraryError::NoName { number })?.into();
            let declaration = match declaration {
                None => None,
                Some(text) => match Declaration::parse(&text) {
                    Ok(declaration) => Some((text, declaration)),
                    Err(message) => return Err(LibraryError::Declaration { name, text, message }),
                },
            };
            let packet = match raw.packet {
                packet_use::UNUSED => PacketUse::Unused,
                packet_use::READ => PacketUse::Read,
                packet_use::CHANGED => PacketUse::Changed,
                packet => return Err(LibraryError::PacketUse { name, packet }),
            };
            let run = raw.run.ok_or_else(|| LibraryError::NoFunction { name: name.clone() })?;
            if externs.iter().any(|e| e.name == name) {
                return Err(LibraryError::Twice { name });
            }
            let (open, close, run_batch) = (raw.open, raw.close, raw.run_batch);
            externs.push(Extern { name, declaration, packet, open, close, run, run_batch });
        }
        Ok(Library { origin, externs, _keep: Some(keep) })
    }

    /// Path of the library; empty for built-in externs.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub fn externs(&self) -> &[Extern] {
        &self.externs
    }

    pub fn get(&self, name: &str) -> Option<&Extern> {
        self.externs.iter().find(|e| e.name == name)
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("origin", &self.origin).field("externs", &self.externs).finish()
    }
}

impl Extern {
    /// Returns whether the extern accepts several calls at once.
    pub fn has_batch(&self) -> bool {
        self.run_batch.is_some()
    }

    /// Addresses of the functions that are called for the extern.
    pub fn entry_points(&self) -> impl Iterator<Item = usize> {
        let Extern { name: _, declaration: _, packet: _, open, close, run, run_batch } = self;
        let run = Some(*run as usize);
        let others = [open.map(|f| f as usize), close.map(|f| f as usize), run_batch.map(|f| f as usize)];
        run.into_iter().chain(others.into_iter().flatten())
    }
}

/// One extern of a table in Rust.
#[derive(Clone, Copy)]
pub(crate) struct BuiltIn {
    /// Declaration in P4, which contains the name.
    pub(crate) declaration: &'static str,
    pub(crate) name: &'static str,
    pub(crate) packet: PacketUse,
    pub(crate) open: Option<abi::Open>,
    pub(crate) close: Option<abi::Close>,
    pub(crate) run: abi::Run,
    pub(crate) run_batch: Option<abi::RunBatch>,
}

impl BuiltIn {
    fn described(self) -> Extern {
        let BuiltIn { declaration: text, name, packet, open, close, run, run_batch } = self;
        let declaration = Declaration::parse(text);
        debug_assert!(declaration.is_ok(), "{text}: {declaration:?}");
        let declaration = declaration.ok().map(|declaration| (text.to_owned(), declaration));
        Extern { name: name.into(), declaration, packet, open, close, run, run_batch }
    }
}

/// # Safety
///
/// `first` is the address of a NUL-terminated string, or null.
#[expect(unsafe_code, reason = "memory of C")]
unsafe fn text(first: *const c_char) -> Option<String> {
    if first.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(first) }.to_string_lossy().into_owned())
}
