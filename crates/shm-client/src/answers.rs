//! The client's ends of the rings.

use crate::error::Error;
use crate::hello::Connected;
use crate::wire::{self, Completion, ENTRY_BYTES, N_REQUESTS, Piece, Request, answer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

/// The longest message that a client puts together.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// A whole message of the switch.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) kind: u16,
    pub(crate) number: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Requests on their way, completions and answers.
#[derive(Debug)]
pub(crate) struct Rings {
    pub(crate) connected: Connected,
    request_tail: u64,
    completion_head: u64,
    answer_head: u64,
    /// Pieces of a message that is not complete.
    begun: Vec<u8>,
    /// The switch has closed the connection.
    pub(crate) is_over: bool,
}

impl Rings {
    pub(crate) fn new(connected: Connected) -> Rings {
        Rings {
            connected,
            request_tail: 0,
            completion_head: 0,
            answer_head: 0,
            begun: Vec::new(),
            is_over: false,
        }
    }

    /// Requests that have no completion yet.
    pub(crate) fn n_outstanding(&self) -> usize {
        (self.request_tail - self.completion_head) as usize
    }

    /// Publishes a request. There are fewer than [`N_REQUESTS`] outstanding.
    pub(crate) fn submit(&mut self, request: Request) {
        debug_assert!(self.n_outstanding() < N_REQUESTS);
        let Connected { c, sizes, .. } = &self.connected;
        let at = sizes.requests_at() + self.request_tail as usize % N_REQUESTS * ENTRY_BYTES;
        for (i, word) in request.to_words().into_iter().enumerate() {
            c.store(at + 8 * i, word);
        }
        self.request_tail += 1;
        c.store_release(wire::REQUEST_TAIL, self.request_tail);
        self.wake();
    }

    /// Wakes the switch if it sleeps; the crate's documentation has the argument.
    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.connected.s.load(wire::SERVER_SLEEPS) != 0 {
            // A socket that takes no more has bytes that wake the switch, and a closed one is noticed by whoever reads.
            let _ = send(&self.connected.socket, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }

    pub(crate) fn next_completion(&mut self) -> Option<Completion> {
        let Connected { s, c, sizes, .. } = &self.connected;
        if s.load_acquire(wire::COMPLETION_TAIL) == self.completion_head {
            return None;
        }
        let at = sizes.completions_at() + self.completion_head as usize % N_REQUESTS * ENTRY_BYTES;
        let words = std::array::from_fn(|i| s.load(at + 8 * i));
        self.completion_head += 1;
        c.store_release(wire::COMPLETION_HEAD, self.completion_head);
        self.wake();
        Some(Completion::of_words(words))
    }

    pub(crate) fn next_message(&mut self) -> Result<Option<Message>, Error> {
        loop {
            let Connected { s, c, sizes, .. } = &self.connected;
            let (at, ring) = (sizes.answers_at(), wire::ANSWER_BYTES);
            let n_bytes = s.load_acquire(wire::ANSWER_TAIL).wrapping_sub(self.answer_head) as usize;
            if n_bytes == 0 {
                return Ok(None);
            }
            let mut head = [0; answer::HEAD_BYTES];
            s.read_ring(at, ring, self.answer_head, &mut head);
            let (words, _) = head.as_chunks::<8>();
            let piece = Piece::of_words([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]);
            if n_bytes > ring || piece.ring_bytes() > n_bytes {
                return Err(Error::Protocol("an answer does not fit its ring"));
            }
            let begin = self.begun.len();
            if begin + piece.n_bytes as usize > MESSAGE_BYTES_MAX {
                return Err(Error::Protocol("an answer is too long"));
            }
            self.begun.resize(begin + piece.n_bytes as usize, 0);
            let position = self.answer_head + answer::HEAD_BYTES as u64;
            s.read_ring(at, ring, position, &mut self.begun[begin..]);
            self.answer_head += piece.ring_bytes() as u64;
            c.store_release(wire::ANSWER_HEAD, self.answer_head);
            self.wake();
            if piece.flags & answer::MORE == 0 {
                let bytes = std::mem::take(&mut self.begun);
                return Ok(Some(Message { kind: piece.kind, number: piece.number, bytes }));
            }
        }
    }

    fn has_news(&self) -> bool {
        let s = &self.connected.s;
        s.load_acquire(wire::COMPLETION_TAIL) != self.completion_head
            || s.load_acquire(wire::ANSWER_TAIL) != self.answer_head
    }

    /// Says that this end sleeps. False if there is something to do instead.
    pub(crate) fn arm(&self) -> bool {
        self.connected.c.store(wire::CLIENT_SLEEPS, 1);
        fence(Ordering::SeqCst);
        let may_sleep = !self.has_news();
        if !may_sleep {
            self.connected.c.store(wire::CLIENT_SLEEPS, 0);
        }
        may_sleep
    }

    /// Waits until something has happened, or the time is over.
    pub(crate) fn sleep(&mut self, timeout: Duration) -> Result<(), Error> {
        let begin = Instant::now();
        while begin.elapsed() < wire::SPIN.min(timeout) {
            if self.has_news() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        if !self.arm() {
            return Ok(());
        }
        let left = timeout.saturating_sub(begin.elapsed());
        let time = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i32::MAX.into(), tv_nsec: 0 });
        let mut files = [PollFd::new(&self.connected.socket, PollFlags::IN)];
        let polled = match poll(&mut files, Some(&time)) {
            Err(Errno::INTR) => Ok(0),
            other => other,
        };
        self.connected.c.store(wire::CLIENT_SLEEPS, 0);
        polled.map_err(std::io::Error::from)?;
        self.drain();
        Ok(())
    }

    /// Takes the bytes of the socket, and notices its end.
    pub(crate) fn drain(&mut self) {
        let mut bytes = [0u8; 64];
        loop {
            match recv(&self.connected.socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => self.is_over = true,
                Ok((_, n)) if n == bytes.len() => continue,
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => self.is_over = true,
            }
            return;
        }
    }
}
