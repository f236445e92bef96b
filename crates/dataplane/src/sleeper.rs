//! A thread that sleeps until others have something for it.
//!
//! The thread that is about to sleep says so first and looks for work once more; whoever brings some looks afterwards whether it
//! sleeps. Either of them sees what the other has done, so no wake-up is lost.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};

#[derive(Debug)]
pub(crate) struct Sleeper {
    is_asleep: AtomicBool,
    event: File,
}

impl Sleeper {
    pub(crate) fn new() -> io::Result<Sleeper> {
        // SAFETY: takes two numbers; the result is checked before it is used.
        #[expect(unsafe_code, reason = "a system call")]
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, so nobody else has it.
        #[expect(unsafe_code, reason = "takes over a descriptor")]
        let event = unsafe { File::from_raw_fd(fd) };
        Ok(Sleeper { is_asleep: AtomicBool::new(false), event })
    }

    /// The file to wait for.
    pub(crate) fn fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    /// After something was put where the thread finds it.
    pub(crate) fn wake(&self) {
        // Pairs with the fence in `may_sleep`.
        fence(Ordering::SeqCst);
        if self.is_asleep.swap(false, Ordering::Relaxed) {
            // Fails only when the counter is full, and then the thread is awake.
            let _ = (&self.event).write(&1_u64.to_ne_bytes());
        }
    }

    /// True when there is nothing to do; the thread is then taken to be asleep until [`awake`](Self::awake).
    pub(crate) fn may_sleep(&self, has_nothing: impl FnOnce() -> bool) -> bool {
        self.is_asleep.store(true, Ordering::Relaxed);
        // Pairs with the fence in `wake`.
        fence(Ordering::SeqCst);
        let may = has_nothing();
        if !may {
            self.awake();
        }
        may
    }

    pub(crate) fn awake(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
        let _ = (&self.event).read(&mut [0; 8]);
    }
}
