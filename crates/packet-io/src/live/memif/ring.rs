//! Regions of shared memory, and rings in them.
//!
//! The peer can write to all of this at any time. So each value is read once, into a local one that is checked before it is used;
//! places of buffers in own memory are computed and not read; and memory that the peer made must be sealed against shrinking,
//! because touching what is gone would end the process.
//!
//! A ring has a line with `cookie`, `flags` and `head`, a line with `tail`, and descriptors of 16 bytes. The client moves `head`
//! in both directions, and the server `tail`.

use super::protocol::RingMessage;
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

const COOKIE: u32 = 0x3e3_1f20;
const FLAGS_OFFSET: usize = 4;
const HEAD_OFFSET: usize = 6;
const TAIL_OFFSET: usize = 64;
const SLOTS_OFFSET: usize = 128;
const SLOT_BYTES: usize = 16;
/// The receiver does not want events.
const NO_EVENTS: u16 = 1;
/// The packet goes on in the next slot.
pub(super) const NEXT: u16 = 1;
/// Between buffers, so that those of a ring are not all in the same sets of a cache.
const BETWEEN_BYTES: usize = 64;
/// Before the first ring: DPDK's driver takes what is at the beginning for the ring of each queue that it has more than its peer. It finds
/// zeros, a ring without packets and without room.
const UNUSED_BYTES: usize = 192;
/// The file system of memfds without huge pages (linux/magic.h).
const TMPFS: i64 = 0x0102_1994;
/// The largest region that is mapped.
const REGION_BYTES_MAX: u64 = 1 << 40;

/// Memory of both sides.
#[derive(Debug)]
pub(super) struct Region {
    first: NonNull<u8>,
    n_bytes: usize,
    /// Descriptor of own memory, for the peer; those of a peer's would be up to 256 of the process's descriptors.
    file: Option<OwnedFd>,
}

// SAFETY: it is memory, which no thread owns; who uses which part is up to the rings.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    fn map(file: &OwnedFd, n_bytes: usize) -> Result<Region, Errno> {
        let (access, sharing) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let first = unsafe { mmap(std::ptr::null_mut(), n_bytes, access, sharing, file, 0)? };
        let first = NonNull::new(first.cast()).ok_or(Errno::NOMEM)?;
        Ok(Region { first, n_bytes, file: None })
    }

    /// New memory, sealed.
    fn create(n_bytes: usize) -> Result<Region, Errno> {
        let file = memfd_create("siding-memif", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, n_bytes as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK)?;
        let mut region = Region::map(&file, n_bytes)?;
        region.file = Some(file);
        Ok(region)
    }

    /// Memory of the peer; the error says what is wrong with it.
    pub(super) fn open(file: OwnedFd, n_bytes: u64) -> Result<Region, String> {
        // Before its length, which the peer can change until then.
        if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err("a region that is not sealed against shrinking (with DPDK: leave out zero-copy=yes)"
                .to_owned());
        }
        // Pages of other file systems can be taken away after the seal, and touching them would end the process.
        if !fstatfs(&file).is_ok_and(|found| found.f_type == TMPFS) {
            return Err("a region that is not ordinary memory (memfd_create)".to_owned());
        }
        let there = fstat(&file).map_or(0, |found| u64::try_from(found.st_size).unwrap_or(0));
        if n_bytes == 0 || n_bytes > there || n_bytes > REGION_BYTES_MAX {
            return Err(format!("a region of {n_bytes} bytes in a file of {there}"));
        }
        Region::map(&file, n_bytes as usize).map_err(|error| format!("mapping a region: {error}"))
    }

    /// The descriptor that the peer can map, if the memory is this end's.
    pub(super) fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// The address of so many bytes, if all of them are inside.
    fn place(&self, offset: usize, n_bytes: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(n_bytes)?;
        // SAFETY: inside of the mapping.
        (end <= self.n_bytes).then(|| unsafe { self.first.add(offset) })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is whole, and rings keep the region alive as long as they use it.
        let _ = unsafe { munmap(self.first.as_ptr().cast(), self.n_bytes) };
    }
}

/// A slot: a buffer in a region, and whether the packet goes on behind it. In memory the members follow each other in this order,
/// little end first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub flags: u16,
    pub region: u16,
    pub length: u32,
    pub offset: u32,
    pub metadata: u32,
}

/// Buffers of one size in own memory, one for each slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnBuffers {
    first: usize,
    buffer_bytes: u32,
}

impl OwnBuffers {
    fn stride(self) -> usize {
        self.buffer_bytes as usize + BETWEEN_BYTES
    }
}

/// A ring in shared memory, without the state of either end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    first: NonNull<u8>,
    log2_size: u8,
    /// This end is the client: the buffers are its own.
    own: Option<OwnBuffers>,
}

// SAFETY: as for regions.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// A ring that the client has described; `None` if it is not inside of its region, or is none.
    pub(super) fn open(regions: &[Region], message: &RingMessage) -> Option<Ring> {
        let n_bytes = SLOTS_OFFSET + (SLOT_BYTES << message.log2_size);
        let first = regions.get(usize::from(message.region))?.place(message.offset as usize, n_bytes)?;
        let is_aligned = first.addr().get().is_multiple_of(SLOT_BYTES);
        // SAFETY: inside of the region, and aligned.
        (is_aligned && unsafe { first.cast::<u32>().read_volatile() } == COOKIE).then_some(Ring {
            first,
            log2_size: message.log2_size,
            own: None,
        })
    }

    pub(super) fn size(self) -> u16 {
        1 << self.log2_size
    }

    pub(super) fn is_own(self) -> bool {
        self.own.is_some()
    }

    fn index(&self, offset: usize) -> &AtomicU16 {
        // SAFETY: inside of the ring's lines, aligned; atomic, since the peer may write to it.
        unsafe { self.first.add(offset).cast::<AtomicU16>().as_ref() }
    }

    /// Moved by the client.
    pub(super) fn head(&self) -> &AtomicU16 {
        self.index(HEAD_OFFSET)
    }

    /// Moved by the server.
    pub(super) fn tail(&self) -> &AtomicU16 {
        self.index(TAIL_OFFSET)
    }

    pub(super) fn set_events(&self, are_wanted: bool) {
        self.index(FLAGS_OFFSET).store(if are_wanted { 0 } else { NO_EVENTS }, Ordering::Relaxed);
    }

    pub(super) fn wants_events(&self) -> bool {
        self.index(FLAGS_OFFSET).load(Ordering::Relaxed) & NO_EVENTS == 0
    }

    fn slot(&self, n: u16) -> NonNull<[u64; 2]> {
        let n = usize::from(n & (self.size() - 1));
        // SAFETY: inside of the ring, as `open` and `Layout` see to.
        unsafe { self.first.add(SLOTS_OFFSET + n * SLOT_BYTES).cast() }
    }

    #[inline]
    pub(super) fn read(&self, n: u16) -> Slot {
        // SAFETY: inside of the ring, and aligned, as rings and regions are.
        let [low, high] = unsafe { self.slot(n).read_volatile() };
        Slot {
            flags: low as u16,
            region: (low >> 16) as u16,
            length: (low >> 32) as u32,
            offset: high as u32,
            metadata: (high >> 32) as u32,
        }
    }

    #[inline]
    pub(super) fn write(&self, n: u16, slot: Slot) {
        let Slot { flags, region, length, offset, metadata } = slot;
        let low = u64::from(flags) | u64::from(region) << 16 | u64::from(length) << 32;
        // SAFETY: as above.
        unsafe { self.slot(n).write_volatile([low, u64::from(offset) | u64::from(metadata) << 32]) }
    }

    /// The buffer of a slot and its length; `None` if it is not inside of a region. In own memory the place does not depend on what is
    /// in the slot, and `length` is cut to that of a buffer.
    #[inline]
    pub(super) fn buffer(&self, regions: &[Region], n: u16, slot: &Slot) -> Option<(NonNull<u8>, u32)> {
        match self.own {
            Some(own) => {
                let offset = own.first + usize::from(n & (self.size() - 1)) * own.stride();
                let length = slot.length.min(own.buffer_bytes);
                Some((regions.first()?.place(offset, own.buffer_bytes as usize)?, length))
            }
            None => {
                let region = regions.get(usize::from(slot.region))?;
                Some((region.place(slot.offset as usize, slot.length as usize)?, slot.length))
            }
        }
    }

    /// Fetches the beginning of a slot's buffer into the cache.
    #[inline]
    pub(super) fn prefetch(&self, regions: &[Region], n: u16) {
        let offset = match self.own {
            Some(own) => own.first + usize::from(n & (self.size() - 1)) * own.stride(),
            None => self.read(n).offset as usize,
        };
        if let Some(region) = regions.first() {
            prefetch(region.first.as_ptr().wrapping_add(offset));
        }
    }

    /// The slot with its whole buffer, as the client hands it out.
    pub(super) fn whole(&self, n: u16) -> Option<Slot> {
        let own = self.own?;
        let offset = own.first + usize::from(n & (self.size() - 1)) * own.stride();
        Some(Slot { flags: 0, region: 0, length: own.buffer_bytes, offset: offset as u32, metadata: 0 })
    }
}

/// An address that is none does no harm.
#[inline]
fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint to the processor, which changes nothing.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The client's memory: one region with `n_to_server` and `n_to_client` rings, then their buffers.
#[derive(Debug)]
pub(super) struct Layout {
    pub region: Region,
    pub to_server: Vec<(RingMessage, Ring)>,
    pub to_client: Vec<(RingMessage, Ring)>,
}

impl Layout {
    pub(super) fn create(
        [n_to_server, n_to_client]: [u16; 2],
        log2_size: u8,
        buffer_bytes: u32,
    ) -> Result<Layout, Errno> {
        let n_rings = usize::from(n_to_server) + usize::from(n_to_client);
        let ring_bytes = SLOTS_OFFSET + (SLOT_BYTES << log2_size);
        let buffers = OwnBuffers { first: 0, buffer_bytes };
        let buffers_bytes = buffers.stride() << log2_size;
        // Offsets have 32 bits.
        let n_bytes =
            n_rings.checked_mul(ring_bytes + buffers_bytes).and_then(|n| n.checked_add(UNUSED_BYTES));
        let n_bytes = n_bytes.filter(|n| u32::try_from(*n).is_ok());
        let region = Region::create(n_bytes.ok_or(Errno::NOMEM)?)?;
        let ring = |i: usize, to_server: bool, index: u16| {
            let offset = UNUSED_BYTES + i * ring_bytes;
            let first = UNUSED_BYTES + n_rings * ring_bytes + i * buffers_bytes;
            let own = OwnBuffers { first, buffer_bytes };
            let first = region.place(offset, ring_bytes).ok_or(Errno::NOMEM)?;
            // SAFETY: inside of the region, and aligned since rings are whole lines.
            unsafe { first.cast::<u32>().write_volatile(COOKIE) };
            let ring = Ring { first, log2_size, own: Some(own) };
            for n in 0..ring.size() {
                ring.whole(n).into_iter().for_each(|slot| ring.write(n, slot));
            }
            Ok((RingMessage { to_server, index, region: 0, offset: offset as u32, log2_size }, ring))
        };
        let to_server = (0..n_to_server)
            .map(|index| ring(usize::from(index), true, index))
            .collect::<Result<_, Errno>>()?;
        let to_client = (0..n_to_client)
            .map(|index| ring(usize::from(n_to_server + index), false, index))
            .collect::<Result<_, Errno>>()?;
        Ok(Layout { region, to_server, to_client })
    }
}
