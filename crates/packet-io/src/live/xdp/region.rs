//! The memory that all AF_XDP sockets of the process share.

use crate::{FrameSource, PacketBuf};
use std::collections::VecDeque;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a frame, of which the kernel leaves [`HEADROOM_BYTES`] before each packet. Larger frames than pages are no UMEM.
pub(super) const FRAME_BYTES: usize = 4096;
/// `XDP_PACKET_HEADROOM` of linux/bpf.h.
pub(super) const HEADROOM_BYTES: usize = 256;
/// 64 MiB, which the kernel pins.
pub(super) const N_FRAMES: usize = 16_384;
/// Frames that sockets have to receive into, together: half of them.
const N_FILLED_MAX: u32 = N_FRAMES as u32 / 2;
pub(super) const REGION_BYTES: usize = N_FRAMES * FRAME_BYTES;

/// Frames of 4 KiB. Each socket registers the whole region as its UMEM, so a frame that one socket has received another one can
/// send.
#[derive(Debug)]
pub(super) struct Region {
    first: NonNull<u8>,
    n_sockets: AtomicU32,
    free: Mutex<Free>,
}

#[derive(Debug)]
struct Free {
    frames: Vec<u32>,
    /// Frames that drivers had when their sockets were closed, with the time of closing, oldest first.
    retired: VecDeque<(Instant, Vec<u32>)>,
}

/// After this time drivers have let go of the frames of a closed socket. They tell nobody when they have.
const RETIRED: Duration = Duration::from_secs(1);

// SAFETY: the memory is only reached through frames, each of which has one owner.
unsafe impl Send for Region {}
// SAFETY: as above; the list of free frames has a lock.
unsafe impl Sync for Region {}

impl Region {
    /// Returns the region of the process, which is made on the first call and stays until the process ends.
    pub(super) fn of_process() -> io::Result<&'static Region> {
        static REGION: Mutex<Option<&'static Region>> = Mutex::new(None);
        let mut region = REGION.lock().unwrap_or_else(PoisonError::into_inner);
        match *region {
            Some(region) => Ok(region),
            None => Ok(region.insert(Box::leak(Box::new(Region::map()?)))),
        }
    }

    fn map() -> io::Result<Region> {
        const PROTECTION: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;
        const FLAGS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory at an address that the kernel chooses.
        let first = unsafe { libc::mmap(std::ptr::null_mut(), REGION_BYTES, PROTECTION, FLAGS, -1, 0) };
        if first == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A failure costs speed only.
        // SAFETY: the range was just mapped.
        let _ = unsafe { libc::madvise(first, REGION_BYTES, libc::MADV_HUGEPAGE) };
        let first = NonNull::new(first.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let free = Free { frames: (0..N_FRAMES as u32).rev().collect(), retired: VecDeque::new() };
        Ok(Region { first, n_sockets: AtomicU32::new(0), free: Mutex::new(free) })
    }

    pub(super) fn address(&self) -> u64 {
        self.first.addr().get() as u64
    }

    /// Counts sockets that open, which get fewer frames each the more there are.
    pub(super) fn socket_opened(&self) {
        self.n_sockets.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn socket_closed(&self) {
        self.n_sockets.fetch_sub(1, Ordering::Relaxed);
    }

    /// Frames that each socket may have to receive into.
    pub(super) fn n_filled_max(&self) -> u32 {
        N_FILLED_MAX / self.n_sockets.load(Ordering::Relaxed).max(1)
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up to `n_max` free frames and gives their numbers.
    pub(super) fn take(&self, n_max: usize, give: impl FnMut(u32)) {
        let mut free = self.free();
        while free.retired.front().is_some_and(|(closed, _)| closed.elapsed() >= RETIRED)
            && let Some((_, frames)) = free.retired.pop_front()
        {
            free.frames.extend(frames);
        }
        let n_left = free.frames.len().saturating_sub(n_max);
        free.frames.drain(n_left..).rev().for_each(give);
    }

    pub(super) fn give_back(&self, frames: impl IntoIterator<Item = u32>) {
        self.free().frames.extend(frames);
    }

    /// Takes back frames of a closed socket that the driver may still be using.
    pub(super) fn retire(&self, frames: impl IntoIterator<Item = u32>) {
        self.free().retired.push_back((Instant::now(), frames.into_iter().collect()));
    }

    /// Returns the frame's address.
    fn first_of(&self, frame: u32) -> NonNull<u8> {
        debug_assert!((frame as usize) < N_FRAMES);
        // SAFETY: frames are inside of the region.
        unsafe { self.first.add(frame as usize * FRAME_BYTES) }
    }

    pub(super) fn number_of(&self, first: NonNull<u8>) -> u32 {
        ((first.addr().get() - self.first.addr().get()) / FRAME_BYTES) as u32
    }

    /// Makes an empty packet from a frame.
    ///
    /// # Safety
    ///
    /// The frame belongs to the caller, and neither to a packet nor to the kernel.
    pub(super) unsafe fn packet(&'static self, frame: u32, headroom_bytes: usize) -> PacketBuf {
        // SAFETY: frames are aligned to pages, their memory is zero at first, and the caller says whose it is.
        unsafe { PacketBuf::from_frame(self, self.first_of(frame), FRAME_BYTES as u32, headroom_bytes) }
    }
}

// SAFETY: only the list of free frames changes, and the region is never unmapped.
unsafe impl FrameSource for Region {
    fn release(&self, frames: &[NonNull<u8>]) {
        self.give_back(frames.iter().map(|first| self.number_of(*first)));
    }

    fn is_pooled(&self) -> bool {
        true
    }
}
