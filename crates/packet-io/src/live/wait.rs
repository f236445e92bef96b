//! Waiting for input.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// Waits for file descriptors; reuses its memory from call to call.
#[derive(Debug, Default)]
pub struct Waiter {
    polled: Vec<libc::pollfd>,
}

impl Waiter {
    /// Waits until one of the descriptors has input, an error or a hang-up, or until the timeout. Returns
    /// false after a timeout. Idle workers pass their ports' [`Port::fd`](crate::Port::fd) and at most about
    /// 100 ms, so that [`Port::idle`](crate::Port::idle) is called in time.
    pub fn wait(&mut self, fds: impl IntoIterator<Item = RawFd>, timeout: Duration) -> io::Result<bool> {
        let polled = &mut self.polled;
        polled.clear();
        polled.extend(fds.into_iter().map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }));
        let timeout = libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: timeout.subsec_nanos() as _,
        };
        let n_fds = polled.len() as libc::nfds_t;
        // SAFETY: the array is exclusive and has the length that is passed, and the time outlives the call; unknown
        // file descriptors are reported in the answer.
        let result = unsafe { libc::ppoll(polled.as_mut_ptr(), n_fds, &raw const timeout, std::ptr::null()) };
        match result {
            0 => Ok(false),
            1.. => Ok(true),
            _ => match io::Error::last_os_error() {
                // A signal arrived: the caller may have to stop.
                e if e.kind() == io::ErrorKind::Interrupted => Ok(true),
                e => Err(e),
            },
        }
    }
}

/// Calls [`Waiter::wait`] once.
pub fn wait_for_input(fds: impl IntoIterator<Item = RawFd>, timeout: Duration) -> io::Result<bool> {
    Waiter::default().wait(fds, timeout)
}
