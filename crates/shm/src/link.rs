//! The connection of a session: its segments, its socket, and sleep.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{Errno, read, write};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use shm_client::wire::{self, Sizes};
use shm_client::{Access, Segment};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::task::Wake;
use std::time::Instant;

/// The two segments, and their descriptors for the client.
#[derive(Debug)]
pub(crate) struct Segments {
    pub(crate) s: Segment,
    pub(crate) c: Segment,
}

impl Segments {
    /// Makes both. The client cannot write to S, shrink or grow either, nor add seals.
    pub(crate) fn new(sizes: Sizes) -> io::Result<(Segments, [OwnedFd; 2])> {
        let file = |name: &str, n_bytes: usize| -> io::Result<OwnedFd> {
            let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
            ftruncate(&file, n_bytes as u64)?;
            Ok(file)
        };
        let size_seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        let s_file = file("siding-s", sizes.s_bytes())?;
        // The mapping comes first: it stays writable.
        let s = Segment::map(&s_file, sizes.s_bytes(), Access::ReadWrite)?;
        fcntl_add_seals(&s_file, size_seals | SealFlags::FUTURE_WRITE)?;
        let c_file = file("siding-c", sizes.c_bytes())?;
        fcntl_add_seals(&c_file, size_seals)?;
        let c = Segment::map(&c_file, sizes.c_bytes(), Access::Read)?;
        Ok((Segments { s, c }, [s_file, c_file]))
    }
}

/// Wakes the thread of a session from other threads of the switch. The client does not have its descriptor.
#[derive(Debug)]
pub(crate) struct Bell {
    file: OwnedFd,
    /// Since the last [`take`](Bell::take).
    has_rung: AtomicBool,
    must_end: AtomicBool,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        let file = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Bell { file, has_rung: AtomicBool::new(true), must_end: AtomicBool::new(false) })
    }

    pub(crate) fn ring(&self) {
        self.has_rung.store(true, Ordering::SeqCst);
        // Full means that it is awake anyway.
        let _ = write(&self.file, &1u64.to_ne_bytes());
    }

    /// True if it was rung.
    pub(crate) fn take(&self) -> bool {
        self.has_rung.load(Ordering::Relaxed) && self.has_rung.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Lets the descriptor be quiet until it rings again.
    pub(crate) fn silence(&self) {
        let _ = read(&self.file, &mut [0; 8]);
    }

    fn has_rung(&self) -> bool {
        self.has_rung.load(Ordering::SeqCst)
    }

    /// Asks the session to end.
    pub(crate) fn end(&self) {
        self.must_end.store(true, Ordering::SeqCst);
        self.ring();
    }

    pub(crate) fn must_end(&self) -> bool {
        self.must_end.load(Ordering::Relaxed)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.ring();
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    socket: UnixStream,
    pub(crate) segments: Segments,
    pub(crate) bell: Arc<Bell>,
    /// The client has closed its end.
    pub(crate) is_closed: bool,
    /// The bell has rung while the thread waited for the client.
    pub(crate) bell_rang: bool,
}

impl Link {
    pub(crate) fn new(socket: UnixStream, segments: Segments, bell: Arc<Bell>) -> Link {
        Link { socket, segments, bell, is_closed: false, bell_rang: false }
    }

    /// Waits until `has_news`, the bell rings, or the client is gone.
    pub(crate) fn sleep(&mut self, has_news: impl Fn(&Segments) -> bool) {
        let begin = Instant::now();
        loop {
            if has_news(&self.segments) || self.bell.has_rung() {
                return;
            }
            // Reading the clock takes longer than looking.
            (0..16).for_each(|_| std::hint::spin_loop());
            if begin.elapsed() >= wire::SPIN {
                break;
            }
        }
        self.segments.s.store(wire::SERVER_SLEEPS, 1);
        fence(Ordering::SeqCst);
        if !has_news(&self.segments) && !self.bell.has_rung() {
            let mut files =
                [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.bell.file, PollFlags::IN)];
            // An error is looked at like news.
            let _ = poll(&mut files, None);
        }
        self.segments.s.store(wire::SERVER_SLEEPS, 0);
        self.bell.silence();
        self.look();
    }

    /// Takes the bytes of the socket, and notices its end.
    pub(crate) fn look(&mut self) {
        let mut bytes = [0u8; 256];
        match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => self.is_closed = true,
            // Bytes that are left end the next sleep at once.
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.is_closed = true,
        }
    }

    /// Wakes the client if it sleeps, after something was published.
    pub(crate) fn wake_client(&self) {
        fence(Ordering::SeqCst);
        if self.segments.c.load(wire::CLIENT_SLEEPS) != 0 {
            // A socket that takes no more has bytes that wake the client.
            let _ = send(&self.socket, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::fcntl_get_seals;

    #[test]
    fn clients_cannot_write_to_s_nor_change_sizes() {
        let sizes = Sizes { n_slots: 1, slot_bytes: 4096 };
        let (segments, [s, c]) = Segments::new(sizes).unwrap();
        assert!(Segment::map(&s, sizes.s_bytes(), Access::ReadWrite).is_err());
        assert!(write(&s, &[1]).is_err());
        for file in [&s, &c] {
            assert!(ftruncate(file, 0).is_err());
            assert!(ftruncate(file, 1 << 30).is_err());
            assert!(fcntl_get_seals(file).unwrap().contains(SealFlags::SHRINK | SealFlags::SEAL));
            assert!(fcntl_add_seals(file, SealFlags::WRITE).is_err());
        }
        let (theirs, mine) = (Segment::map(&s, sizes.s_bytes(), Access::Read).unwrap(), segments.s);
        mine.store(64, 7);
        assert_eq!(theirs.load(64), 7);
        let theirs = Segment::map(&c, sizes.c_bytes(), Access::ReadWrite).unwrap();
        theirs.write(4096, b"some bytes");
        let mut bytes = [0; 10];
        segments.c.read(4096, &mut bytes);
        assert_eq!(&bytes, b"some bytes");
    }
}
