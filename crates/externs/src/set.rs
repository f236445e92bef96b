//! The set of externs that a program can call, and the binding of its calls.

use crate::abi;
use crate::library::{Extern, Library, PacketUse};
use crate::signature::{RawSignature, Signature};
use smol_str::SmolStr;
use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

/// Libraries and options; the built-in externs are always included.
#[derive(Clone, Debug, Default)]
pub struct ExternSet {
    libraries: Vec<Arc<Library>>,
    options: Vec<(SmolStr, CString)>,
}

/// Errors of binding the externs of a program.
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

/// The calls of a program, each with its function if there is one.
pub struct Bound {
    /// Bound calls, indexed by the number of the call.
    pub(crate) calls: Vec<Option<BoundCall>>,
    /// Calls that open a state, one for each state that a thread needs.
    pub(crate) states: Vec<usize>,
}

pub(crate) struct BoundCall {
    pub(crate) function: Extern,
    pub(crate) signature: Signature,
    pub(crate) raw: RawSignature,
    pub(crate) option: Option<CString>,
    /// Index into [`Bound::states`]; `None` for an extern without state.
    pub(crate) state: Option<usize>,
    /// Keeps the function's library loaded.
    _library: Arc<Library>,
}

// SAFETY: everything behind its pointers is owned by it, constant, and not bound to a thread; any thread may
// call functions of externs (rt/siding_extern.h).
#[expect(unsafe_code, reason = "raw pointers make it neither")]
unsafe impl Send for BoundCall {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "raw pointers make it neither")]
unsafe impl Sync for BoundCall {}

/// Heading of a line of a message, padded to a common width: the library's declaration if `text` is `origin`,
/// otherwise the program's call.
fn column(text: &str, origin: &str) -> String {
    let library = format!("{origin} has:");
    let program = "the program calls:";
    let width = library.chars().count().max(program.chars().count()) + 1;
    format!("{:width$}", if text == origin { &library } else { program })
}

impl ExternSet {
    /// Creates a set of the built-in externs.
    pub fn new() -> ExternSet {
        ExternSet::default()
    }

    /// Adds a library; its externs take precedence over built-in ones with their names.
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

    /// Sets the option text with which the extern is opened.
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

    /// Binds calls to functions; calls keep their numbers. A call of an unknown name stays unbound: see
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

    /// True if the user has added libraries: then [`check_complete`](Self::check_complete) refuses calls of unknown names.
    pub fn has_libraries(&self) -> bool {
        !self.libraries.is_empty()
    }

    /// Checks that all calls are bound if the user has added libraries. `calls` must not include externs of
    /// the architecture.
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
    /// Creates an empty binding.
    pub fn none() -> Bound {
        Bound { calls: Vec::new(), states: Vec::new() }
    }

    /// Returns the state of a call: calls with the same open function and the same object share one.
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

    /// Returns whether the call with this number has a function.
    pub fn has(&self, call: usize) -> bool {
        self.calls.get(call).is_some_and(Option::is_some)
    }

    /// Returns whether any call reads the bytes of its packet.
    pub fn uses_packets(&self) -> bool {
        self.calls.iter().flatten().any(|call| call.function.packet != PacketUse::Unused)
    }

    /// Returns whether any call may change the length of its packet.
    pub fn changes_packets(&self) -> bool {
        self.calls.iter().flatten().any(|call| call.function.packet == PacketUse::Changed)
    }

    /// Returns whether the function for this call accepts several calls at once.
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
