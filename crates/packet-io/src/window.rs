//! Buffered look-ahead over a file.

use std::io::{self, ErrorKind, Read};

/// Number of bytes per read.
const CHUNK_BYTES: usize = 64 * 1024;

/// A reader with look-ahead that knows its offset.
#[derive(Debug)]
pub(crate) struct Window<R> {
    inner: R,
    buffer: Vec<u8>,
    /// Index of the first unconsumed byte in `buffer`.
    start: usize,
    /// Offset in the file of `buffer[start]`.
    offset: u64,
    at_end: bool,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(inner: R) -> Window<R> {
        Window { inner, buffer: Vec::new(), start: 0, offset: 0, at_end: false }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next `n` bytes, fewer only at the end of the file. The buffer grows only with bytes that
    /// were really read.
    #[inline]
    pub(crate) fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.start < n && !self.at_end {
            self.fill()?;
        }
        let end = self.buffer.len().min(self.start.saturating_add(n));
        Ok(&self.buffer[self.start..end])
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let filled = self.buffer.len();
        self.buffer.resize(filled + CHUNK_BYTES, 0);
        let result = loop {
            match self.inner.read(&mut self.buffer[filled..]) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        // A wrong reader can claim more than it was given room for.
        let n = result.as_ref().map_or(0, |n| *n).min(CHUNK_BYTES);
        self.buffer.truncate(filled + n);
        self.at_end = n == 0;
        result.map(|_| ())
    }

    /// Consumes up to `n` bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        let n = n.min(self.buffer.len() - self.start);
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
