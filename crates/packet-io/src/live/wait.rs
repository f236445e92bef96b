//! Sleeping until there is something to do.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// Waits for file descriptors, time and again in the same memory.
#[derive(Debug, Default)]
pub struct Waiter {
    polled: Vec<libc::pollfd>,
}

impl Waiter {
    /// Until one of these has input, an error or vanished, or the time is over; true unless it is over. For workers that
    /// found nothing to do anywhere: give what [`Port::fd`](crate::Port::fd) says, and no more than about 100 ms, so
    /// that [`Port::idle`](crate::Port::idle) is called in time. Less than a millisecond is none.
    pub fn wait(&mut self, fds: impl IntoIterator<Item = RawFd>, timeout: Duration) -> io::Result<bool> {
        let polled = &mut self.polled;
        polled.clear();
        polled.extend(fds.into_iter().map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }));
        let timeout_ms = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the array is exclusive, and as long as is said; unknown file descriptors are an answer, no error.
        let result = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout_ms) };
        match result {
            0 => Ok(false),
            1.. => Ok(true),
            _ => match io::Error::last_os_error() {
                // A signal came: the caller may have to stop.
                e if e.kind() == io::ErrorKind::Interrupted => Ok(true),
                e => Err(e),
            },
        }
    }
}

/// [`Waiter::wait`], once.
pub fn wait_for_input(fds: impl IntoIterator<Item = RawFd>, timeout: Duration) -> io::Result<bool> {
    Waiter::default().wait(fds, timeout)
}
