//! Packet buffers, and the pools from which workers take them.

use crate::{FrameSource, PortId};
use std::alloc::{self, Layout};
use std::ptr::NonNull;

/// The storage begins at a cache line, so that C code can align its state in the headroom.
const LINE_BYTES: usize = 64;

/// Has the alignment of storage.
#[repr(align(64))]
struct Line;

/// A packet with room before and after it: headroom, data, tailroom.
///
/// Headers grow and shrink by moving the start of the data; the bytes behind them are not copied. The storage is on the heap, or
/// it is a [frame](FrameSource) that a kernel or a driver can reach too. Invariant: `start + len <= capacity`.
#[derive(Debug)]
pub struct PacketBuf {
    /// `capacity` initialised bytes, aligned to a line; dangling if there are none.
    first: NonNull<u8>,
    capacity: u32,
    start: u32,
    len: u32,
    /// Port on which the packet arrived.
    pub port: PortId,
    /// Time of arrival in nanoseconds since 1970, or the timestamp in the capture file.
    pub timestamp_ns: u64,
    /// The source that the storage returns to; `None`: it is on the heap.
    source: Option<&'static dyn FrameSource>,
}

// SAFETY: the storage belongs to the value alone, whether on the heap or in a frame, and sources may be used by any thread.
unsafe impl Send for PacketBuf {}
// SAFETY: methods that take `&self` only read.
unsafe impl Sync for PacketBuf {}

/// C view of a buffer. Valid until the [`PacketBuf`] is dropped or used in any other way.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawPacketBuf {
    /// The first byte of the storage, aligned to 64 bytes.
    pub storage: *mut u8,
    /// Offset of the data in the storage.
    pub start: u32,
    /// Length of the data.
    pub len: u32,
    /// Length of the storage.
    pub capacity: u32,
}

impl Default for PacketBuf {
    fn default() -> PacketBuf {
        let first = NonNull::<Line>::dangling().cast();
        PacketBuf { first, capacity: 0, start: 0, len: 0, port: PortId(0), timestamp_ns: 0, source: None }
    }
}

impl Drop for PacketBuf {
    fn drop(&mut self) {
        match self.source {
            Some(source) => source.release(&[self.first]),
            None if self.capacity == 0 => {}
            None => {
                // SAFETY: `new` has allocated it with this layout, and nobody else frees it.
                unsafe { alloc::dealloc(self.first.as_ptr(), heap_layout(self.capacity as usize)) }
            }
        }
    }
}

fn heap_layout(n_bytes: usize) -> Layout {
    Layout::from_size_align(n_bytes, LINE_BYTES).expect("32 bits of bytes are a layout")
}

impl PacketBuf {
    /// Creates an empty packet with at least `capacity_bytes` of storage, of which `headroom_bytes` precede
    /// the data. Sizes beyond 32 bits are clamped.
    pub fn new(capacity_bytes: usize, headroom_bytes: usize) -> PacketBuf {
        let n_lines = capacity_bytes.min(i32::MAX as usize - LINE_BYTES).div_ceil(LINE_BYTES);
        let mut buf = PacketBuf::default();
        if n_lines > 0 {
            let layout = heap_layout(n_lines * LINE_BYTES);
            // SAFETY: the layout has a size.
            let first = unsafe { alloc::alloc_zeroed(layout) };
            buf.first = NonNull::new(first).unwrap_or_else(|| alloc::handle_alloc_error(layout));
            buf.capacity = layout.size() as u32;
        }
        buf.reset(headroom_bytes);
        buf
    }

    /// Makes an empty packet from a frame, which returns to its source with the packet.
    ///
    /// # Safety
    ///
    /// `first` is aligned to 64 bytes, and the `n_bytes` initialised bytes from there on belong to the packet alone until
    /// `source` gets `first` back.
    #[inline]
    pub unsafe fn from_frame(
        source: &'static dyn FrameSource,
        first: NonNull<u8>,
        n_bytes: u32,
        headroom_bytes: usize,
    ) -> PacketBuf {
        debug_assert!(first.addr().get().is_multiple_of(LINE_BYTES));
        let start = headroom_bytes.min(n_bytes as usize) as u32;
        PacketBuf {
            first,
            capacity: n_bytes,
            start,
            len: 0,
            port: PortId(0),
            timestamp_ns: 0,
            source: Some(source),
        }
    }

    /// Gives up the storage, if it is a frame of `source`: the caller has to return the first byte's address to the source, which is
    /// the value. Returns the packet unchanged otherwise.
    pub fn into_frame(self, source: &'static dyn FrameSource) -> Result<NonNull<u8>, PacketBuf> {
        if self.is_frame_of(source) { Ok(std::mem::ManuallyDrop::new(self).first) } else { Err(self) }
    }

    /// Returns whether the storage is a frame of `source`.
    pub fn is_frame_of(&self, source: &'static dyn FrameSource) -> bool {
        self.source.is_some_and(|own| std::ptr::addr_eq(own, source))
    }

    /// Returns whether the storage is a frame, of any source.
    pub fn is_frame(&self) -> bool {
        self.source.is_some()
    }

    pub(crate) fn all_bytes(&self) -> &[u8] {
        // SAFETY: so many initialised bytes belong to the value; the borrow of `self` keeps them alive and unchanged.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.capacity()) }
    }

    /// Makes no reference to the bytes, since generated C may be using them on another thread.
    pub(crate) fn raw_bytes(&mut self) -> *mut [u8] {
        std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.capacity())
    }

    fn storage_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `all_bytes`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.capacity()) }
    }

    pub fn data(&self) -> &[u8] {
        &self.all_bytes()[self.start as usize..][..self.len as usize]
    }

    pub fn data_mut(&mut self) -> &mut [u8] {
        let (start, len) = (self.start as usize, self.len as usize);
        &mut self.storage_mut()[start..][..len]
    }

    /// Length of the data in bytes.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the whole storage.
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Bytes before the data.
    pub fn headroom(&self) -> usize {
        self.start as usize
    }

    /// Bytes behind the data.
    pub fn tailroom(&self) -> usize {
        self.capacity() - self.start as usize - self.len as usize
    }

    /// Makes the packet empty, with the given headroom, at most the capacity.
    pub fn reset(&mut self, headroom_bytes: usize) {
        self.start = headroom_bytes.min(self.capacity()) as u32;
        self.len = 0;
    }

    /// Adds `n` bytes before the data and returns them to be filled; `None` if the headroom is too small.
    pub fn prepend(&mut self, n: usize) -> Option<&mut [u8]> {
        let start = self.headroom().checked_sub(n)?;
        self.start = start as u32;
        self.len += n as u32;
        Some(&mut self.storage_mut()[start..][..n])
    }

    /// Adds `n` bytes behind the data and returns them to be filled; `None` if the tailroom is too small.
    pub fn append(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.tailroom() {
            return None;
        }
        let end = self.headroom() + self.len();
        self.len += n as u32;
        Some(&mut self.storage_mut()[end..][..n])
    }

    /// Removes the first `n` bytes. Returns false and changes nothing if there are fewer.
    #[must_use]
    pub fn advance(&mut self, n: usize) -> bool {
        if n > self.len() {
            return false;
        }
        self.start += n as u32;
        self.len -= n as u32;
        true
    }

    /// Keeps the first `n` bytes, or all bytes if there are fewer.
    pub fn truncate(&mut self, n: usize) {
        self.len = self.len.min(u32::try_from(n).unwrap_or(u32::MAX));
    }

    /// Replaces the data and keeps its start. Returns false and changes nothing if the data does not fit.
    #[must_use]
    pub fn set_data(&mut self, data: &[u8]) -> bool {
        if data.len() > self.capacity() - self.headroom() {
            return false;
        }
        self.len = data.len() as u32;
        self.data_mut().copy_from_slice(data);
        true
    }

    /// Copies `n` bytes to `at` in the storage. Returns false and copies nothing if they do not fit.
    ///
    /// # Safety
    ///
    /// `from` is the address of so many bytes, which another process may be changing.
    #[inline]
    #[must_use]
    pub(crate) unsafe fn copy_in(&mut self, at: usize, from: NonNull<u8>, n: usize) -> bool {
        let fits = at.checked_add(n).is_some_and(|end| end <= self.capacity());
        if fits {
            // SAFETY: `n` bytes from `at` on are within the storage, which is nobody else's.
            unsafe { copy_packet(from.as_ptr(), self.first.as_ptr().add(at), n) };
        }
        fits
    }

    /// Returns the packet for C code. [`PacketBuf::set_bounds`] applies the changes that C code makes to the
    /// bounds.
    pub fn raw(&mut self) -> RawPacketBuf {
        RawPacketBuf {
            storage: self.first.as_ptr(),
            start: self.start,
            len: self.len,
            capacity: self.capacity,
        }
    }

    /// Sets start and length of the data. Returns false and changes nothing if they exceed the storage.
    #[inline]
    #[must_use]
    pub fn set_bounds(&mut self, start: u32, len: u32) -> bool {
        let is_inside = (start as usize).checked_add(len as usize).is_some_and(|end| end <= self.capacity());
        if is_inside {
            (self.start, self.len) = (start, len);
        }
        is_inside
    }
}

/// Sizes and number of the buffers of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufPoolOptions {
    /// Headroom before each received packet.
    pub headroom_bytes: usize,
    /// The longest packet that fits behind the headroom.
    pub packet_bytes_max: usize,
    /// Number of buffers that exist at a time, at most.
    pub n_max: usize,
}

impl BufPoolOptions {
    /// Room for jumbo packets, additional headers, and the state saved with a suspended packet: about 9.7 KiB
    /// per buffer, 41 MB with all buffers in use.
    pub const JUMBO: BufPoolOptions =
        BufPoolOptions { headroom_bytes: 256, packet_bytes_max: crate::limits::JUMBO_BYTES_MAX, n_max: 4096 };
}

/// Free frames that a pool keeps: enough for bursts in both directions at several ports.
const N_FREE_FRAMES_MAX: usize = 1024;

/// Buffer pool of one worker. Grows on demand up to its limit. The buffer returned last is handed out first,
/// while it is still in the cache.
///
/// A buffer returns to its own pool, or is dropped and reported by [`BufPool::forget`]. Frames are not counted; those of a
/// [pooled](FrameSource::is_pooled) source wait here for the ports of the worker.
#[derive(Debug)]
pub struct BufPool {
    free: Vec<PacketBuf>,
    /// Free frames of the source that is pooled.
    frames: Vec<PacketBuf>,
    options: BufPoolOptions,
    n_made: usize,
    n_exhausted: u64,
}

impl BufPool {
    pub fn new(options: BufPoolOptions) -> BufPool {
        BufPool { free: Vec::new(), frames: Vec::new(), options, n_made: 0, n_exhausted: 0 }
    }

    pub fn options(&self) -> &BufPoolOptions {
        &self.options
    }

    /// Takes an empty packet. Returns `None` and counts it if all buffers are in use.
    pub fn take(&mut self) -> Option<PacketBuf> {
        if let Some(mut buf) = self.free.pop() {
            buf.reset(self.options.headroom_bytes);
            return Some(buf);
        }
        if self.n_made >= self.options.n_max {
            self.n_exhausted += 1;
            return None;
        }
        self.n_made += 1;
        let BufPoolOptions { headroom_bytes, packet_bytes_max, n_max: _ } = self.options;
        Some(PacketBuf::new(headroom_bytes.saturating_add(packet_bytes_max), headroom_bytes))
    }

    /// Appends up to `n` empty packets to `burst` and returns their number; those that are missing are counted as in
    /// [`take`](Self::take). The packets keep the bounds that they had.
    pub(crate) fn take_many(&mut self, n: usize, burst: &mut Vec<PacketBuf>) -> usize {
        let n_free = n.min(self.free.len());
        move_last(&mut self.free, burst, n_free);
        let n_more = (n_free..n).map_while(|_| self.take().map(|buf| burst.push(buf))).count();
        n_free + n_more
    }

    /// Takes the first `n` buffers of `burst` back.
    pub(crate) fn give_back_many(&mut self, burst: &mut Vec<PacketBuf>, n: usize) {
        let has_room = self.free.len() + n <= self.options.n_max;
        if has_room && n == burst.len() && burst.iter().all(|buf| buf.source.is_none()) {
            move_last(burst, &mut self.free, n);
        } else {
            burst.drain(..n).for_each(|buf| self.give_back(buf));
        }
    }

    /// Takes a buffer back. Buffers beyond the limit, which can come from other pools, are dropped.
    pub fn give_back(&mut self, buf: PacketBuf) {
        match buf.source {
            None if self.free.len() < self.options.n_max => self.free.push(buf),
            Some(source) if source.is_pooled() => {
                self.frames.push(buf);
                if self.frames.len() > N_FREE_FRAMES_MAX {
                    self.release_frames();
                }
            }
            // Drops it, which returns frames of other sources.
            _ => {}
        }
    }

    /// Returns half of the free frames to their source, so that other workers find them.
    #[cold]
    fn release_frames(&mut self) {
        let n_kept = self.frames.len() / 2;
        let Some(source) = self.frames.first().and_then(|buf| buf.source) else { return };
        let firsts: Vec<NonNull<u8>> =
            self.frames.drain(n_kept..).map(|buf| std::mem::ManuallyDrop::new(buf).first).collect();
        source.release(&firsts);
    }

    /// Takes a free frame of the source that is pooled, with the pool's headroom; `None` if none is here.
    pub fn take_frame(&mut self) -> Option<PacketBuf> {
        let mut buf = self.frames.pop()?;
        buf.reset(self.options.headroom_bytes);
        Some(buf)
    }

    /// Counts a buffer that will not return, so that a new one can replace it.
    pub fn forget(&mut self) {
        self.n_made = self.n_made.saturating_sub(1);
    }

    /// Number of buffers that exist, in use or free.
    pub fn n_made(&self) -> usize {
        self.n_made
    }

    /// Number of free buffers.
    pub fn n_free(&self) -> usize {
        self.free.len()
    }

    /// Number of calls of [`BufPool::take`] that found no free buffer.
    pub fn n_exhausted(&self) -> u64 {
        self.n_exhausted
    }
}

/// Copies `n` bytes, those of short packets without a call.
///
/// # Safety
///
/// `from` and `to` are addresses of so many bytes, in different memory.
#[inline]
pub(crate) unsafe fn copy_packet(from: *const u8, to: *mut u8, n: usize) {
    const PART: usize = 16;
    if (2 * PART..=4 * PART).contains(&n) {
        // Parts overlap where the packet is shorter.
        for at in [0, PART, n - 2 * PART, n - PART] {
            // SAFETY: the part is inside of the `n` bytes; alignment does not matter.
            unsafe {
                to.add(at)
                    .cast::<[u8; PART]>()
                    .write_unaligned(from.add(at).cast::<[u8; PART]>().read_unaligned())
            };
        }
    } else {
        // SAFETY: as promised.
        unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
    }
}

/// Moves the last `n` packets, of which there are so many, to the end of another list: as a whole, since moving one after the
/// other costs more than copying them.
fn move_last(from: &mut Vec<PacketBuf>, to: &mut Vec<PacketBuf>, n: usize) {
    assert!(n <= from.len());
    to.reserve(n);
    let n_left = from.len() - n;
    // SAFETY: `n` packets from `n_left` on are initialised, and there is room for them behind the others; after the lengths are set
    // they are in one list only.
    unsafe {
        from.set_len(n_left);
        std::ptr::copy_nonoverlapping(from.as_ptr().add(n_left), to.as_mut_ptr().add(to.len()), n);
        to.set_len(to.len() + n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_before_and_behind() {
        let mut buf = PacketBuf::new(100, 20);
        assert_eq!((buf.capacity(), buf.headroom(), buf.len(), buf.tailroom()), (128, 20, 0, 108));
        assert!(buf.set_data(&[7; 50]));
        buf.prepend(20).unwrap().copy_from_slice(&[1; 20]);
        assert!(buf.prepend(1).is_none());
        assert_eq!((buf.headroom(), buf.len(), buf.tailroom()), (0, 70, 58));
        buf.append(58).unwrap().fill(2);
        assert!(buf.append(1).is_none());
        assert!(buf.data() == [[1; 20].as_slice(), &[7; 50], &[2; 58]].concat());
        assert!(buf.advance(19) && !buf.advance(110));
        assert_eq!((buf.data()[0], buf.data()[1], buf.headroom()), (1, 7, 19));
        buf.truncate(200);
        assert_eq!(buf.len(), 109);
        buf.truncate(3);
        assert_eq!(buf.data(), [1, 7, 7]);
        assert!(!buf.set_data(&[0; 110]) && buf.data() == [1, 7, 7]);
        buf.reset(1000);
        assert_eq!((buf.headroom(), buf.tailroom()), (128, 0));
    }

    #[test]
    fn bounds_from_outside_are_checked() {
        let mut buf = PacketBuf::new(64, 8);
        let raw = buf.raw();
        assert_eq!((raw.start, raw.len, raw.capacity), (8, 0, 64));
        assert_eq!(raw.storage.align_offset(64), 0);
        assert!(buf.set_bounds(4, 60) && !buf.set_bounds(5, 60) && !buf.set_bounds(u32::MAX, u32::MAX));
        assert_eq!((buf.headroom(), buf.len(), buf.tailroom()), (4, 60, 0));
    }

    #[test]
    fn pools_have_a_limit_and_recycle() {
        let mut pool = BufPool::new(BufPoolOptions { headroom_bytes: 16, packet_bytes_max: 100, n_max: 2 });
        let (mut a, b) = (pool.take().unwrap(), pool.take().unwrap());
        assert!(pool.take().is_none());
        assert_eq!((pool.n_made(), pool.n_free(), pool.n_exhausted()), (2, 0, 1));
        assert!(a.set_data(&[1; 100]) && a.advance(50));
        let place = a.raw().storage;
        pool.give_back(a);
        let mut again = pool.take().unwrap();
        assert_eq!((again.raw().storage, again.headroom(), again.len()), (place, 16, 0));
        drop(b);
        pool.forget();
        let c = pool.take().unwrap();
        assert!(pool.take().is_none());
        for buf in [c, again, PacketBuf::new(116, 16)] {
            pool.give_back(buf);
        }
        assert_eq!((pool.n_made(), pool.n_free()), (2, 2));
    }
}
