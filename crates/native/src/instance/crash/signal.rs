//! The handler of signals that faulty code brings about.
//!
//! It runs on the alternate stack that Rust's library gives to the main thread and to every thread that it starts. All
//! it calls is safe in signal handlers: atomics, `process_vm_readv`, `writev`, `sigaction` and `raise`.

use super::{Watched, code_around, library_at};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{mem, ptr};

const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// Limit on the words of the stack that are searched for return addresses.
const N_WORDS_MAX: usize = 4096;

/// Words that are read at once. The alternate stack has little room.
const CHUNK_WORDS: usize = 32;

/// Chunks in which addresses of this program may be left over from earlier calls, in the frames of the C library's
/// functions that the extern has called.
const N_STALE_CHUNKS: usize = 4;

/// `si_code` of a segmentation fault whose address the processor does not tell.
const SI_KERNEL: c_int = 0x80;

/// Facts for the handler; they are written before it is installed.
struct Before {
    /// Actions of [`SIGNALS`] before this handler.
    actions: [libc::sigaction; SIGNALS.len()],
    /// Addresses of this program's own code.
    own: Range<usize>,
}

static BEFORE: OnceLock<Before> = OnceLock::new();

/// Set by the thread that has told of a crash: several may crash at the same time.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Installs the handler, once. A signal that is ignored stays so.
#[expect(unsafe_code, reason = "system calls that Rust's library lacks")]
pub(super) fn install() {
    let Some(own) = code_around(on_signal as *const () as usize) else { return };
    // SAFETY: all zeros are an action: the default one.
    let mut actions: [libc::sigaction; SIGNALS.len()] = unsafe { mem::zeroed() };
    for (signal, action) in SIGNALS.into_iter().zip(&mut actions) {
        // SAFETY: the action is only read from the system.
        unsafe { libc::sigaction(signal, ptr::null(), action) };
    }
    if BEFORE.set(Before { actions, own }).is_err() {
        return;
    }
    for (signal, before) in SIGNALS.into_iter().zip(&actions) {
        if before.sa_sigaction == libc::SIG_IGN {
            continue;
        }
        // SAFETY: as above; the handler has the type that SA_SIGINFO demands.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

/// Tells of a crash in a library, then lets the signal take its course: the process dies of it, with a core dump if the
/// system makes them. Signals that have nothing to do with a library go where they went before.
///
/// # Safety
///
/// The arguments are those of a signal handler with SA_SIGINFO.
#[expect(unsafe_code, reason = "called by the system")]
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the caller's promise.
    let (info, (pc, stack)) = unsafe { (&*info, registers(context)) };
    // A fault comes again when the handler returns; a signal that was sent must be sent again.
    let is_sent = info.si_code <= 0;
    // SAFETY: signals that were sent have the sender's number.
    let is_own = !is_sent || signal == libc::SIGABRT && unsafe { info.si_pid() == libc::getpid() };
    let culprit = if is_own { culprit(pc, stack) } else { None };
    let mut action = None;
    match culprit {
        Some((library, name)) => {
            if !IS_TOLD.swap(true, Ordering::Relaxed) {
                tell(signal, info, library, name);
            }
        }
        None => {
            let place = SIGNALS.iter().position(|other| *other == signal);
            action = BEFORE.get().and_then(|before| before.actions.get(place?));
        }
    }
    // SAFETY: the action is the one before, or all zeros, which is the default.
    unsafe {
        let default: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, action.unwrap_or(&default), ptr::null_mut());
        if is_sent {
            libc::raise(signal);
        }
    }
}

/// The library in which the code at `pc` is, or which has called it, and the name of its extern.
///
/// The outermost address in the library is that of the extern's own function: what is between it and `pc` are functions
/// that it calls. Externs are called by this program's code, so the search ends there.
fn culprit(pc: usize, stack: usize) -> Option<(&'static Watched, Option<&'static str>)> {
    let own = &BEFORE.get()?.own;
    if own.contains(&pc) {
        return None;
    }
    let innermost = library_at(pc).map(|library| (library, pc));
    let mut outermost = innermost;
    let mut at = stack.next_multiple_of(size_of::<usize>());
    for chunk in 0..N_WORDS_MAX / CHUNK_WORDS {
        let Some(words) = read_words(at) else { break };
        for word in words {
            if own.contains(&word) && (outermost.is_some() || chunk >= N_STALE_CHUNKS) {
                return outermost.map(|(library, address)| (library, library.extern_at(address)));
            }
            if let Some(library) = library_at(word)
                && outermost.is_none_or(|(known, _)| ptr::eq(known, library))
            {
                // A return address is behind the call, perhaps already in the next function.
                outermost = Some((library, word - 1));
            }
        }
        at += size_of_val(&words);
    }
    // The end was not found: `outermost` may be left over from an earlier call.
    innermost.or(outermost).map(|(library, address)| (library, library.extern_at(address)))
}

/// Reads words of this process's memory; `None` where there is none.
fn read_words(address: usize) -> Option<[usize; CHUNK_WORDS]> {
    let mut words = [0; CHUNK_WORDS];
    let here = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: size_of_val(&words) };
    let there = libc::iovec { iov_base: address as *mut c_void, iov_len: size_of_val(&words) };
    // SAFETY: the system writes to `words`, and fails where there is nothing to read.
    #[expect(unsafe_code, reason = "a system call that Rust's library lacks")]
    let n = unsafe { libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) };
    (usize::try_from(n) == Ok(size_of_val(&words))).then_some(words)
}

/// Writes the message, in one piece.
fn tell(signal: c_int, info: &libc::siginfo_t, library: &Watched, name: Option<&str>) {
    let (what, has_address) = match signal {
        libc::SIGSEGV => ("segmentation fault", info.si_code != SI_KERNEL),
        libc::SIGBUS => ("bus error", true),
        libc::SIGFPE => ("arithmetic fault: a division by zero, or an overflow", false),
        libc::SIGILL => ("illegal instruction", false),
        _ => ("abort", false),
    };
    // SAFETY: faults of memory have an address.
    #[expect(unsafe_code, reason = "a union of C")]
    let address = if has_address { unsafe { info.si_addr() }.addr() } else { 0 };
    let mut digits = [0; 16];
    let hex = hex(address, &mut digits);
    let (begin, end) = match name {
        Some(_) => ("error: the extern `", "` of "),
        None => ("error: an extern of ", ""),
    };
    let (at, hex) = if has_address { (" at address 0x", hex) } else { ("", &[][..]) };
    let parts: [&[u8]; 9] = [
        begin.as_bytes(),
        name.unwrap_or("").as_bytes(),
        end.as_bytes(),
        library.path.as_bytes(),
        b" crashed (",
        what.as_bytes(),
        at.as_bytes(),
        hex,
        b")",
    ];
    let none = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
    let mut pieces = [none; 10];
    for (piece, part) in pieces.iter_mut().zip(parts.into_iter().chain([library.advice.as_bytes()])) {
        *piece = libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
    }
    // SAFETY: the system reads the parts, which are alive.
    #[expect(unsafe_code, reason = "a system call that Rust's library has not for signal handlers")]
    unsafe {
        libc::writev(libc::STDERR_FILENO, pieces.as_ptr(), pieces.len() as c_int);
    }
}

/// A number as hexadecimal digits without leading zeros.
fn hex(mut number: usize, digits: &mut [u8; 16]) -> &[u8] {
    let mut first = digits.len();
    for (i, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b"0123456789abcdef"[number & 15];
        first = i;
        number >>= 4;
        if number == 0 {
            break;
        }
    }
    &digits[first..]
}

/// Program counter and stack pointer at the signal.
///
/// # Safety
///
/// `context` is the third argument of a signal handler with SA_SIGINFO.
#[expect(unsafe_code, reason = "memory of the system")]
unsafe fn registers(context: *mut c_void) -> (usize, usize) {
    // SAFETY: the caller's promise.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return (machine.gregs[libc::REG_RIP as usize] as usize, machine.gregs[libc::REG_RSP as usize] as usize);
    #[cfg(target_arch = "aarch64")]
    return (machine.pc as usize, machine.sp as usize);
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_WORDS, hex, read_words};

    #[test]
    fn numbers_are_written_as_hexadecimal_digits() {
        let text = |number| String::from_utf8(hex(number, &mut [0; 16]).to_vec()).unwrap();
        assert_eq!(
            [0, 0xf, 0x10, 0x7fff_0120, usize::MAX].map(text),
            ["0", "f", "10", "7fff0120", "ffffffffffffffff"]
        );
    }

    #[test]
    fn memory_that_is_not_there_is_not_read() {
        let words = [7; CHUNK_WORDS];
        assert_eq!(read_words(words.as_ptr() as usize), Some(words));
        assert_eq!(read_words(0), None);
    }
}
