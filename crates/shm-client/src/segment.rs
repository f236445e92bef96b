//! Mapped memory that another process maps, too.

use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The accesses that a mapping allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    ReadWrite,
}

const WORD: usize = 8;

/// A mapping. Everything that both ends may touch at once is read and written as atomic words, so whatever the other end does, the
/// worst are wrong values.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    n_bytes: usize,
    access: Access,
}

// SAFETY: the mapping belongs to this value, and all shared access to it is atomic; see `bytes_mut` for the exception.
unsafe impl Send for Segment {}
// SAFETY: as above; `bytes_mut` needs `&mut`.
unsafe impl Sync for Segment {}

impl Segment {
    /// Maps `n_bytes` of a file that is at least as long and cannot shrink (`F_SEAL_SHRINK`).
    pub fn map(file: impl AsFd, n_bytes: usize, access: Access) -> io::Result<Segment> {
        assert!(n_bytes > 0 && n_bytes.is_multiple_of(WORD));
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: the kernel chooses an address at which nothing is.
        let base = unsafe { mmap(std::ptr::null_mut(), n_bytes, protection, MapFlags::SHARED, file, 0)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Segment { base, n_bytes, access })
    }

    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(WORD) && at < self.n_bytes, "{at} of {}", self.n_bytes);
        // SAFETY: a word of the mapping, which is aligned to pages and as long as `self`.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(at).cast()) }
    }

    pub fn load(&self, at: usize) -> u64 {
        u64::from_le(self.word(at).load(Ordering::Relaxed))
    }

    /// Loads a cursor: what was written before it was stored is seen.
    pub fn load_acquire(&self, at: usize) -> u64 {
        // Read-only memory allows relaxed loads everywhere.
        let value = self.load(at);
        fence(Ordering::Acquire);
        value
    }

    pub fn store(&self, at: usize, value: u64) {
        assert!(self.access == Access::ReadWrite);
        self.word(at).store(value.to_le(), Ordering::Relaxed);
    }

    /// Publishes what was written before.
    pub fn store_release(&self, at: usize, value: u64) {
        assert!(self.access == Access::ReadWrite);
        self.word(at).store(value.to_le(), Ordering::Release);
    }

    fn words(&self, at: usize, n_bytes: usize) -> &[AtomicU64] {
        let end = at.checked_add(n_bytes.next_multiple_of(WORD));
        assert!(at.is_multiple_of(WORD) && end.is_some_and(|end| end <= self.n_bytes));
        // SAFETY: words of the mapping, which is aligned to pages and as long as `self`; they are atomic, so others may
        // write to them.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(at).cast(), n_bytes.div_ceil(WORD)) }
    }

    /// Copies bytes from a multiple of 8.
    pub fn read(&self, at: usize, to: &mut [u8]) {
        let words = self.words(at, to.len());
        let (whole, rest) = to.as_chunks_mut::<WORD>();
        for (to, word) in whole.iter_mut().zip(words) {
            *to = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        if let (false, Some(last)) = (rest.is_empty(), words.last()) {
            rest.copy_from_slice(&last.load(Ordering::Relaxed).to_ne_bytes()[..rest.len()]);
        }
    }

    /// Copies bytes to a multiple of 8; the last word is filled with zeros.
    pub fn write(&self, at: usize, from: &[u8]) {
        assert!(self.access == Access::ReadWrite);
        let words = self.words(at, from.len());
        let (whole, rest) = from.as_chunks::<WORD>();
        for (from, word) in whole.iter().zip(words) {
            word.store(u64::from_ne_bytes(*from), Ordering::Relaxed);
        }
        if let (false, Some(last)) = (rest.is_empty(), words.last()) {
            let mut bytes = [0; WORD];
            bytes[..rest.len()].copy_from_slice(rest);
            last.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
    }

    /// Copies words from a ring of `ring_bytes` at `at`, beginning at `position`.
    pub fn read_ring(&self, at: usize, ring_bytes: usize, position: u64, to: &mut [u8]) {
        let begin = (position % ring_bytes as u64) as usize;
        let first = to.len().min(ring_bytes - begin);
        self.read(at + begin, &mut to[..first]);
        self.read(at, &mut to[first..]);
    }

    /// Copies words to a ring.
    pub fn write_ring(&self, at: usize, ring_bytes: usize, position: u64, from: &[u8]) {
        let begin = (position % ring_bytes as u64) as usize;
        let first = from.len().min(ring_bytes - begin);
        self.write(at + begin, &from[..first]);
        self.write(at, &from[first..]);
    }

    /// Bytes that no other thread of this process touches, because `self` is borrowed.
    pub fn bytes_mut(&mut self, at: usize, n_bytes: usize) -> &mut [u8] {
        assert!(self.access == Access::ReadWrite);
        assert!(at.checked_add(n_bytes).is_some_and(|end| end <= self.n_bytes));
        // SAFETY: within the mapping, of which nothing else in this process is borrowed. The other end maps it read-only.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(at), n_bytes) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`; nothing borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.n_bytes) };
    }
}
