//! All externs that a program can call, and which of them its calls mean.

use crate::abi;
use crate::library::{Extern, Library, PacketUse};
use crate::signature::{RawSignature, Signature};
use smol_str::SmolStr;
use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

/// Libraries and options; the built-in externs are always among them.
#[derive(Clone, Debug, Default)]
pub struct ExternSet {
    libraries: Vec<Arc<Library>>,
    options: Vec<(SmolStr, CString)>,
}

/// Why the externs that a program calls are not to be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    #[error(
        "the program and {origin} differ about the extern `{}`\n  {}{call}\n  {}{has}",
        call.name, column("", origin), column(origin, origin)
    )]
    Differs { call: Box<Signature>, origin: String, has: String },
    #[error("no library has the extern `{}`, which the program calls: {call}\n  {known}", call.name)]
    NotThere { call: Box<Signature>, known: String },
    #[error("`{first}` and `{second}` both have the extern `{name}`")]
    Twice { name: SmolStr, first: String, second: String },
}

/// The calls of a program, each with its function where there is one.
pub struct Bound {
    /// By the number of the call.
    pub(crate) calls: Vec<Option<BoundCall>>,
    /// States that a thread needs, each with the call that opens it.
    pub(crate) states: Vec<usize>,
}

pub(crate) struct BoundCall {
    pub(crate) function: Extern,
    pub(crate) signature: Signature,
    pub(crate) raw: RawSignature,
    pub(crate) option: Option<CString>,
    /// Index into [`Bound::states`]; `None` for an extern that has none.
    pub(crate) state: Option<usize>,
    /// Keeps the functions.
    _library: Arc<Library>,
}

// SAFETY: what the pointers in it lead to is its own, constant, and belongs to no thread; functions of externs may be
// called by any (rt/siding_extern.h).
#[expect(unsafe_code, reason = "raw pointers make it neither")]
unsafe impl Send for BoundCall {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "raw pointers make it neither")]
unsafe impl Sync for BoundCall {}

/// What stands in front of the program's call, or of what the library has where `text` is the library: equally wide.
fn column(text: &str, origin: &str) -> String {
    let library = format!("{origin} has:");
    let program = "the program calls:";
    let width = library.chars().count().max(program.chars().count()) + 1;
    format!("{:width$}", if text == origin { &library } else { program })
}

impl ExternSet {
    /// The built-in ones only.
    pub fn new() -> ExternSet {
        ExternSet::default()
    }

    /// One more library; its externs come before built-in ones of the same name.
    pub fn add(&mut self, library: Library) -> Result<(), BindError> {
        for new in library.externs() {
            if let Some((other, _)) = self.users().find(|(_, e)| e.name == new.name) {
                let (first, second) = (other.origin().to_owned(), library.origin().to_owned());
                return Err(BindError::Twice { name: new.name.clone(), first, second });
            }
        }
        self.libraries.push(Arc::new(library));
        Ok(())
    }

    /// What the extern with this name is opened with.
    pub fn set_option(&mut self, name: impl Into<SmolStr>, text: &str) {
        let text = CString::new(text.replace('\0', "")).unwrap_or_default();
        let name = name.into();
        self.options.retain(|(other, _)| *other != name);
        self.options.push((name, text));
    }

    fn users(&self) -> impl Iterator<Item = (&Arc<Library>, &Extern)> {
        self.libraries.iter().flat_map(|library| library.externs().iter().map(move |e| (library, e)))
    }

    pub fn find(&self, name: &str) -> Option<(&Arc<Library>, &Extern)> {
        self.users()
            .find(|(_, e)| e.name == name)
            .or_else(|| Library::built_in().get(name).map(|e| (Library::built_in(), e)))
    }

    /// Finds the functions for calls, which keep their numbers. A name that nobody has is left out: see
    /// [`check_complete`](Self::check_complete).
    pub fn bind(&self, calls: &[Signature]) -> Result<Bound, BindError> {
        let mut bound = Bound { calls: Vec::new(), states: Vec::new() };
        for (number, call) in calls.iter().enumerate() {
            let Some((library, function)) = self.find(&call.name) else {
                bound.calls.push(None);
                continue;
            };
            if let Some((text, declaration)) = &function.declaration
                && !declaration.accepts(call)
            {
                let origin = match library.origin() {
                    "" => "Siding".to_owned(),
                    path => format!("`{path}`"),
                };
                return Err(BindError::Differs { call: Box::new(call.clone()), origin, has: text.clone() });
            }
            let state = function.open.map(|open| bound.state_for(open, call, number));
            let options = self.options.iter().find(|(name, _)| *name == call.name);
            bound.calls.push(Some(BoundCall {
                function: function.clone(),
                raw: RawSignature::new(call),
                signature: call.clone(),
                option: options.map(|(_, text)| text.clone()),
                state,
                _library: Arc::clone(library),
            }));
        }
        Ok(bound)
    }

    /// Where there are libraries of the user, all calls have to be found. `calls` are those that are not the
    /// architecture's.
    pub fn check_complete<'c>(
        &self,
        calls: impl IntoIterator<Item = &'c Signature>,
    ) -> Result<(), BindError> {
        if self.libraries.is_empty() {
            return Ok(());
        }
        match calls.into_iter().find(|call| self.find(&call.name).is_none()) {
            None => Ok(()),
            Some(call) => {
                let of = |library: &Arc<Library>| {
                    let names: Vec<String> =
                        library.externs().iter().map(|e| format!("`{}`", e.name)).collect();
                    let names = if names.is_empty() { "no externs".to_owned() } else { names.join(", ") };
                    format!("{} has {names}", library.origin())
                };
                let known: Vec<String> = self.libraries.iter().map(of).collect();
                Err(BindError::NotThere { call: Box::new(call.clone()), known: known.join("\n  ") })
            }
        }
    }
}

impl Bound {
    /// Nothing is bound.
    pub fn none() -> Bound {
        Bound { calls: Vec::new(), states: Vec::new() }
    }

    /// One state for all functions with this way to open it; methods: one for each object.
    fn state_for(&mut self, open: abi::Open, call: &Signature, number: usize) -> usize {
        let same = |other: &BoundCall| {
            other.function.open.is_some_and(|other| std::ptr::fn_addr_eq(other, open))
                && other.signature.object == call.object
        };
        if let Some(state) = self.calls.iter().flatten().find(|c| same(c)).and_then(|c| c.state) {
            return state;
        }
        self.states.push(number);
        self.states.len() - 1
    }

    /// Whether the call with this number has a function.
    pub fn has(&self, call: usize) -> bool {
        self.calls.get(call).is_some_and(Option::is_some)
    }

    /// Whether any call looks at its packet's bytes.
    pub fn uses_packets(&self) -> bool {
        self.calls.iter().flatten().any(|call| call.function.packet != PacketUse::Unused)
    }

    /// Whether a packet may get longer.
    pub fn changes_packets(&self) -> bool {
        self.calls.iter().flatten().any(|call| call.function.packet == PacketUse::Changed)
    }

    /// Whether the function for this call takes several calls at once.
    pub fn has_batch(&self, call: usize) -> bool {
        self.calls.get(call).and_then(Option::as_ref).is_some_and(|call| call.function.has_batch())
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<Option<&SmolStr>> =
            self.calls.iter().map(|call| call.as_ref().map(|call| &call.signature.name)).collect();
        f.debug_struct("Bound").field("calls", &names).finish_non_exhaustive()
    }
}
