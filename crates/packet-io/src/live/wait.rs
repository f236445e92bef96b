//! Sleeping until there is something to do.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// Waits until one of these has input, an error or vanished, or the time is over; true unless it is over. For
/// workers that found nothing to do anywhere: give what [`Port::fd`](crate::Port::fd) says, and no more than
/// about 100 ms, so that [`Port::idle`](crate::Port::idle) is called in time.
pub fn wait_for_input(fds: impl IntoIterator<Item = RawFd>, timeout: Duration) -> io::Result<bool> {
    let mut polled: Vec<libc::pollfd> =
        fds.into_iter().map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
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
