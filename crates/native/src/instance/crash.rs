//! Crashes in users' libraries of externs are told with the names of the extern and the library.
//!
//! [`watch`] records where the code of a library lies. When the process gets a signal such as SIGSEGV, the handler in
//! [`signal`] compares the program counter, and the return addresses on the stack, with what is recorded. Calls of externs
//! cost nothing more for that.

mod signal;

use externs::Library;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A library as the signal handler sees it. It is never freed, since a handler may read it at any time.
struct Watched {
    /// Addresses of the library's code.
    code: Range<usize>,
    /// Address and name of each function in `code` that Siding calls.
    entries: Vec<(usize, String)>,
    /// Path for messages.
    path: String,
    /// Advice for the message: how to run the same command under a debugger.
    advice: String,
    /// False after the library has been unloaded.
    is_loaded: AtomicBool,
    /// The library that was recorded before; null for the first one.
    next: AtomicPtr<Watched>,
}

/// The library that was recorded last.
static NEWEST: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

/// Forgets a library when it is dropped. It is dropped before the library is unloaded.
pub(super) struct Watch(&'static AtomicBool);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Records a library with an address in it, and installs the signal handler. `None` where the library's code cannot be
/// found: its crashes are then those of any program.
pub(super) fn watch(library: &Library, address: usize) -> Option<Watch> {
    let code = code_around(address)?;
    let mut entries = Vec::new();
    for function in library.externs() {
        let inside = function.entry_points().filter(|entry| code.contains(entry));
        entries.extend(inside.map(|entry| (entry, function.name.to_string())));
    }
    let watched: &'static Watched = Box::leak(Box::new(Watched {
        code,
        entries,
        path: library.origin().to_owned(),
        advice: format!("; to see where: gdb -ex run -ex bt --args {}\n", command_line()),
        is_loaded: AtomicBool::new(true),
        next: AtomicPtr::default(),
    }));
    push(watched);
    signal::install();
    Some(Watch(&watched.is_loaded))
}

/// Makes `watched` the first of the list.
fn push(watched: &'static Watched) {
    let mut next = NEWEST.load(Ordering::Acquire);
    loop {
        watched.next.store(next, Ordering::Relaxed);
        let newest = ptr::from_ref(watched).cast_mut();
        match NEWEST.compare_exchange_weak(next, newest, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return,
            Err(other) => next = other,
        }
    }
}

/// The library that has code at an address. Safe in signal handlers.
fn library_at(address: usize) -> Option<&'static Watched> {
    let mut next = NEWEST.load(Ordering::Acquire);
    // SAFETY: the list has only leaked elements, which do not change after they were pushed.
    #[expect(unsafe_code, reason = "a list that a signal handler can read")]
    while let Some(watched) = unsafe { next.as_ref() } {
        if watched.is_loaded.load(Ordering::Acquire) && watched.code.contains(&address) {
            return Some(watched);
        }
        next = watched.next.load(Ordering::Relaxed);
    }
    None
}

impl Watched {
    /// The name of the extern whose function begins nearest before an address.
    fn extern_at(&self, address: usize) -> Option<&str> {
        let before = self.entries.iter().filter(|(entry, _)| *entry <= address);
        before.max_by_key(|(entry, _)| *entry).map(|(_, name)| name.as_str())
    }
}

/// A search for the loaded object that has an address.
struct Search {
    address: usize,
    code: Option<Range<usize>>,
}

/// The addresses of the code of the loaded object that `address` lies in.
fn code_around(address: usize) -> Option<Range<usize>> {
    let mut search = Search { address, code: None };
    // SAFETY: the function gets the address of `search`, which nothing else uses meanwhile.
    #[expect(unsafe_code, reason = "a system call that Rust's library lacks")]
    unsafe {
        libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast());
    }
    search.code
}

/// Looks at one loaded object; ends the search by returning 1.
///
/// # Safety
///
/// `info` describes a loaded object, and `search` is the address of a [`Search`].
#[expect(unsafe_code, reason = "called by C")]
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the object has so many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let (mut is_here, mut code) = (false, None::<Range<usize>>);
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let begin = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        let segment = begin..begin.wrapping_add(header.p_memsz as usize);
        is_here |= segment.contains(&search.address);
        if header.p_flags & libc::PF_X != 0 {
            code = Some(match code {
                Some(code) => code.start.min(segment.start)..code.end.max(segment.end),
                None => segment,
            });
        }
    }
    if is_here {
        search.code = code;
    }
    c_int::from(is_here)
}

/// The command line of this process, as a shell reads it.
fn command_line() -> String {
    let quoted = |arg: String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@+%".contains(c);
        match !arg.is_empty() && arg.chars().all(is_plain) {
            true => arg,
            false => format!("'{}'", arg.replace('\'', "'\\''")),
        }
    };
    let args = std::env::args_os().map(|arg| quoted(arg.to_string_lossy().into_owned()));
    args.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Watched, code_around};
    use std::sync::atomic::{AtomicBool, AtomicPtr};

    #[test]
    fn the_nearest_function_before_an_address_names_the_extern() {
        let watched = Watched {
            code: 0x1000..0x2000,
            entries: vec![(0x1800, "late".to_owned()), (0x1100, "early".to_owned())],
            path: String::new(),
            advice: String::new(),
            is_loaded: AtomicBool::new(true),
            next: AtomicPtr::default(),
        };
        let names = [0x1000, 0x1100, 0x17ff, 0x1800, 0x1fff].map(|address| watched.extern_at(address));
        assert_eq!(names, [None, Some("early"), Some("early"), Some("late"), Some("late")]);
    }

    #[test]
    fn code_of_this_program_is_found() {
        let here = code_of_this_program_is_found as fn() as usize;
        assert!(code_around(here).is_some_and(|code| code.contains(&here)));
        assert_eq!(code_around(1), None);
    }
}
