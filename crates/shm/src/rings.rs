//! The switch's ends of the rings. Everything that a client writes is looked at with distrust.

use crate::link::{Link, Segments};
use shm_client::wire::{self, Completion, ENTRY_BYTES, N_REQUESTS, Piece, Request, Sizes, answer};

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The client has closed the connection.
    Closed,
    /// The switch ends.
    Asked,
    /// The service has ended the stream of the controller.
    Stream,
    /// A cursor of the client makes no sense.
    Cursor(&'static str),
}

/// A piece is a quarter of the ring at most, so that a client can take one while the next is written.
const PIECE_BYTES_MAX: usize = wire::ANSWER_BYTES / 4 - answer::HEAD_BYTES;

#[derive(Debug)]
pub(crate) struct Rings {
    pub(crate) link: Link,
    pub(crate) sizes: Sizes,
    request_head: u64,
    /// The value that was seen last: it may not go back.
    request_tail: u64,
    completion_tail: u64,
    completion_head: u64,
    answer_tail: u64,
    answer_head: u64,
}

/// A cursor of the client, if it can be: it does not go back, nor beyond `last`.
fn cursor(segments: &Segments, at: usize, seen: u64, last: u64) -> Option<u64> {
    let now = segments.c.load_acquire(at);
    (now >= seen && now <= last).then_some(now)
}

impl Rings {
    pub(crate) fn new(link: Link, sizes: Sizes) -> Rings {
        Rings {
            link,
            sizes,
            request_head: 0,
            request_tail: 0,
            completion_tail: 0,
            completion_head: 0,
            answer_tail: 0,
            answer_head: 0,
        }
    }

    /// The next request, copied. A client that is gone has published its last ones.
    pub(crate) fn next_request(&mut self) -> Result<Option<Request>, End> {
        let last = self.request_head + N_REQUESTS as u64;
        let tail = cursor(&self.link.segments, wire::REQUEST_TAIL, self.request_tail, last);
        self.request_tail = tail.ok_or(End::Cursor("requests"))?;
        if self.request_tail == self.request_head {
            return Ok(None);
        }
        let at = self.sizes.requests_at() + self.request_head as usize % N_REQUESTS * ENTRY_BYTES;
        let words = std::array::from_fn(|i| self.link.segments.c.load(at + 8 * i));
        self.request_head += 1;
        self.link.segments.s.store_release(wire::REQUEST_HEAD, self.request_head);
        Ok(Some(Request::of_words(words)))
    }

    /// Waits for a request, for the bell, or with `for_room` until the client has taken an answer.
    pub(crate) fn wait_for_request(&mut self, for_room: bool) {
        let (tail, head) = (self.request_tail, self.answer_head);
        self.link.sleep(|segments| {
            segments.c.load_acquire(wire::REQUEST_TAIL) != tail
                || for_room && segments.c.load_acquire(wire::ANSWER_HEAD) != head
        });
    }

    /// Publishes a completion; waits for room. Without effect when the client is gone.
    pub(crate) fn complete(&mut self, completion: Completion) -> Result<(), End> {
        loop {
            if self.link.is_closed {
                return Ok(());
            }
            let seen = self.completion_head;
            let head = cursor(&self.link.segments, wire::COMPLETION_HEAD, seen, self.completion_tail);
            self.completion_head = head.ok_or(End::Cursor("completions"))?;
            if self.completion_tail - self.completion_head < N_REQUESTS as u64 {
                break;
            }
            self.wait_for_client(wire::COMPLETION_HEAD, self.completion_head)?;
        }
        let at = self.sizes.completions_at() + self.completion_tail as usize % N_REQUESTS * ENTRY_BYTES;
        let s = &self.link.segments.s;
        for (i, word) in completion.to_words().into_iter().enumerate() {
            s.store(at + 8 * i, word);
        }
        self.completion_tail += 1;
        s.store_release(wire::COMPLETION_TAIL, self.completion_tail);
        self.link.wake_client();
        Ok(())
    }

    fn wait_for_client(&mut self, at: usize, seen: u64) -> Result<(), End> {
        if self.link.bell.must_end() {
            return Err(End::Asked);
        }
        self.link.sleep(|segments| segments.c.load_acquire(at) != seen);
        // A bell that rings for messages must not keep this awake.
        self.link.bell_rang |= self.link.bell.take();
        Ok(())
    }

    /// True if a message of this length has room at once.
    pub(crate) fn has_room(&mut self, n_bytes: usize) -> Result<bool, End> {
        let head = cursor(&self.link.segments, wire::ANSWER_HEAD, self.answer_head, self.answer_tail);
        self.answer_head = head.ok_or(End::Cursor("answers"))?;
        let n_pieces = n_bytes.div_ceil(PIECE_BYTES_MAX).max(1);
        let needed = n_bytes.next_multiple_of(8) + n_pieces * answer::HEAD_BYTES;
        Ok((self.answer_tail - self.answer_head) as usize + needed <= wire::ANSWER_BYTES)
    }

    /// Writes a message in pieces; waits for room. Without effect when the client is gone.
    pub(crate) fn answer(&mut self, kind: u16, number: u64, message: &[u8]) -> Result<(), End> {
        let mut rest = message;
        loop {
            let (now, later) = rest.split_at(rest.len().min(PIECE_BYTES_MAX));
            while !self.has_room(now.len())? {
                if self.link.is_closed {
                    return Ok(());
                }
                self.wait_for_client(wire::ANSWER_HEAD, self.answer_head)?;
            }
            if self.link.is_closed {
                return Ok(());
            }
            let flags = if later.is_empty() { 0 } else { answer::MORE };
            let piece = Piece { n_bytes: now.len() as u32, kind, flags, number };
            let mut head = [0; answer::HEAD_BYTES];
            for (to, word) in head.as_chunks_mut::<8>().0.iter_mut().zip(piece.to_words()) {
                *to = word.to_le_bytes();
            }
            let (at, ring) = (self.sizes.answers_at(), wire::ANSWER_BYTES);
            let s = &self.link.segments.s;
            s.write_ring(at, ring, self.answer_tail, &head);
            s.write_ring(at, ring, self.answer_tail + answer::HEAD_BYTES as u64, now);
            self.answer_tail += piece.ring_bytes() as u64;
            s.store_release(wire::ANSWER_TAIL, self.answer_tail);
            self.link.wake_client();
            if later.is_empty() {
                return Ok(());
            }
            rest = later;
        }
    }

    /// Copies a part of what a client has put into its slots.
    pub(crate) fn read_slots(&self, at: usize, to: &mut [u8]) {
        self.link.segments.c.read(self.sizes.slots_at() + at, to);
    }

    /// Writes codes of entries, beginning at a multiple of 8.
    pub(crate) fn write_codes(&self, at: usize, codes: &[u8]) {
        self.link.segments.s.write(self.sizes.codes_at() + at, codes);
    }

    /// Says why the session ends.
    pub(crate) fn set_ended(&self, code: u32) {
        self.link.segments.s.store_release(wire::ENDED, u64::from(code) + 1);
        self.link.wake_client();
    }
}
