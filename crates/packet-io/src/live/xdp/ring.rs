//! Rings that a socket shares with the kernel: one side produces entries, the other one consumes them.

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A ring in memory that is shared with the kernel.
#[derive(Debug)]
struct Shared<T> {
    map: NonNull<u8>,
    map_bytes: usize,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    n_entries: u32,
}

// SAFETY: the memory belongs to the value, and the kernel shares it by atomic numbers only.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// Maps the ring of `n_entries` (a power of two) at `page_offset`.
    fn map(
        fd: RawFd,
        page_offset: libc::off_t,
        offsets: &libc::xdp_ring_offset,
        n_entries: u32,
    ) -> io::Result<Shared<T>> {
        let map_bytes = offsets.desc as usize + n_entries as usize * size_of::<T>();
        // SAFETY: new memory at an address that the kernel chooses.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd,
                page_offset,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map: NonNull<u8> = NonNull::new(map.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let at = |offset: u64| {
            // SAFETY: the kernel's offsets are inside of the ring that it has mapped.
            unsafe { map.add(offset as usize) }
        };
        Ok(Shared {
            map,
            map_bytes,
            producer: at(offsets.producer).cast(),
            consumer: at(offsets.consumer).cast(),
            flags: at(offsets.flags).cast(),
            entries: at(offsets.desc).cast(),
            n_entries,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: inside of the mapping, which lives as long as the value, and aligned by the kernel.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as in `producer`.
        unsafe { self.consumer.as_ref() }
    }

    fn needs_wakeup(&self) -> bool {
        // SAFETY: as in `producer`.
        let flags = unsafe { self.flags.as_ref() };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn slot(&self, at: u32) -> NonNull<T> {
        // SAFETY: the number of entries is a power of two, so the index is inside of the ring.
        unsafe { self.entries.add((at & (self.n_entries - 1)) as usize) }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; nothing refers to it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_bytes) };
    }
}

/// A ring whose entries the kernel consumes.
#[derive(Debug)]
pub(super) struct ToKernel<T> {
    ring: Shared<T>,
    /// Entries up to here are written; the kernel sees them after [`publish`](Self::publish).
    head: u32,
    /// The kernel has consumed at least the entries up to here.
    tail: u32,
}

impl<T: Copy> ToKernel<T> {
    pub(super) fn map(
        fd: RawFd,
        page_offset: libc::off_t,
        offsets: &libc::xdp_ring_offset,
        n_entries: u32,
    ) -> io::Result<ToKernel<T>> {
        let ring = Shared::map(fd, page_offset, offsets, n_entries)?;
        let (head, tail) = (ring.producer().load(Ordering::Relaxed), ring.consumer().load(Ordering::Acquire));
        Ok(ToKernel { ring, head, tail })
    }

    /// Entries that can be written now; looks at the kernel's number only if fewer than `n_wanted` are known.
    pub(super) fn n_free(&mut self, n_wanted: u32) -> u32 {
        let mut n_free = self.ring.n_entries - self.head.wrapping_sub(self.tail);
        if n_free < n_wanted {
            self.tail = self.ring.consumer().load(Ordering::Acquire);
            n_free = self.ring.n_entries.saturating_sub(self.head.wrapping_sub(self.tail));
        }
        n_free
    }

    /// Entries that the kernel has not consumed yet.
    pub(super) fn n_pending(&mut self) -> u32 {
        self.tail = self.ring.consumer().load(Ordering::Acquire);
        self.head.wrapping_sub(self.tail)
    }

    /// Returns the entry that the kernel consumed `back` (1 is the last one) entries ago, if it is not overwritten yet.
    pub(super) fn consumed(&self, back: u32) -> T {
        // SAFETY: the slot is inside of the ring, and only this side writes it.
        unsafe { self.ring.slot(self.tail.wrapping_sub(back)).read() }
    }

    /// Calls the function with all entries that the kernel has not consumed.
    pub(super) fn for_each_pending(&mut self, mut look: impl FnMut(T)) {
        let n = self.n_pending();
        for i in 0..n {
            // SAFETY: the slot is inside of the ring, and only this side writes it.
            look(unsafe { self.ring.slot(self.tail.wrapping_add(i)).read() });
        }
    }

    /// Writes an entry, for which [`n_free`](Self::n_free) has found room.
    pub(super) fn push(&mut self, entry: T) {
        debug_assert!(self.head.wrapping_sub(self.tail) < self.ring.n_entries);
        // SAFETY: the slot is inside of the ring, and the kernel does not read it before it is published.
        unsafe { self.ring.slot(self.head).write(entry) };
        self.head = self.head.wrapping_add(1);
    }

    /// Shows all written entries to the kernel.
    pub(super) fn publish(&mut self) {
        self.ring.producer().store(self.head, Ordering::Release);
    }

    /// Returns whether the kernel works on the ring only after a system call.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }
}

/// A ring whose entries the kernel produces.
#[derive(Debug)]
pub(super) struct FromKernel<T> {
    ring: Shared<T>,
    /// Entries up to here exist.
    head: u32,
    /// Entries up to here are read; the kernel gets their slots after [`release`](Self::release).
    tail: u32,
}

impl<T: Copy> FromKernel<T> {
    pub(super) fn map(
        fd: RawFd,
        page_offset: libc::off_t,
        offsets: &libc::xdp_ring_offset,
        n_entries: u32,
    ) -> io::Result<FromKernel<T>> {
        let ring = Shared::map(fd, page_offset, offsets, n_entries)?;
        let tail = ring.consumer().load(Ordering::Relaxed);
        Ok(FromKernel { ring, head: tail, tail })
    }

    /// Reads the next entry.
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.tail == self.head {
            self.head = self.ring.producer().load(Ordering::Acquire);
            if self.tail == self.head {
                return None;
            }
        }
        // SAFETY: the kernel has written this slot, and does not write it again before it is released.
        let entry = unsafe { self.ring.slot(self.tail).read() };
        self.tail = self.tail.wrapping_add(1);
        Some(entry)
    }

    /// Gives the slots of all read entries back to the kernel.
    pub(super) fn release(&mut self) {
        self.ring.consumer().store(self.tail, Ordering::Release);
    }
}
