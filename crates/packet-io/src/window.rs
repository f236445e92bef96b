//! Buffered look-ahead over a file.

use std::io::{self, ErrorKind, Read};

/// Bytes that the buffer grows by: room of a read, beside what is left of the one before.
const CHUNK_BYTES: usize = 32 * 1024;

/// A reader with look-ahead that knows its offset.
#[derive(Debug)]
pub(crate) struct Window<R> {
    inner: R,
    /// Bytes from `start` to `end` have been read and not consumed; the others mean nothing.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the file of `buffer[start]`.
    offset: u64,
    at_end: bool,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(inner: R) -> Window<R> {
        Window { inner, buffer: Vec::new(), start: 0, end: 0, offset: 0, at_end: false }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next `n` bytes, fewer only at the end of the file. The buffer grows only when it is full of bytes
    /// that were really read.
    #[inline]
    pub(crate) fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        if self.end - self.start < n {
            self.fill(n)?;
        }
        let end = self.end.min(self.start.saturating_add(n));
        Ok(&self.buffer[self.start..end])
    }

    /// Reads until there are `n` bytes, or the file has ended.
    #[cold]
    fn fill(&mut self, n: usize) -> io::Result<()> {
        while self.end - self.start < n && !self.at_end {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end == self.buffer.len() {
                self.buffer.resize(self.end + CHUNK_BYTES, 0);
            }
            let room = self.buffer.len() - self.end;
            let n_read = loop {
                match self.inner.read(&mut self.buffer[self.end..]) {
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    other => break other?,
                }
            };
            // A wrong reader can claim more than it was given room for.
            self.end += n_read.min(room);
            self.at_end = n_read == 0;
        }
        Ok(())
    }

    /// Returns what has been read and not consumed.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Consumes up to `n` bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }

    /// Consumes the next `n` bytes, which have been peeked, and returns them.
    pub(crate) fn take(&mut self, n: usize) -> &[u8] {
        let first = self.start;
        self.consume(n);
        &self.buffer[first..self.start]
    }

    /// Skips `n` bytes without storing them. Returns the number of bytes skipped.
    pub(crate) fn skip(&mut self, n: u64) -> io::Result<u64> {
        let mut left = n;
        while left > 0 {
            let there = self.peek(left.min(CHUNK_BYTES as u64) as usize)?.len();
            if there == 0 {
                break;
            }
            self.consume(there);
            left -= there as u64;
        }
        Ok(n - left)
    }
}
