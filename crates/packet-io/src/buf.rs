//! Buffers in which packets travel, and where a worker gets them from.

use crate::PortId;

/// Storage begins at a cache line, so that what C code keeps in the headroom can be aligned.
const LINE_BYTES: usize = 64;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

const _: () = assert!(size_of::<Line>() == LINE_BYTES && align_of::<Line>() == LINE_BYTES);

/// A packet with room before and after it: headroom, data, tailroom.
///
/// Headers grow and shrink by moving where the data begins; the bytes behind them stay where they are.
/// Invariant: `start + len <= capacity`, and the capacity fits into 32 bits.
#[derive(Debug, Default)]
pub struct PacketBuf {
    storage: Box<[Line]>,
    start: u32,
    len: u32,
    /// Where the packet came from.
    pub port: PortId,
    /// When it came: nanoseconds since 1970, or what the file says.
    pub timestamp_ns: u64,
}

/// A buffer as C sees it. Valid while the [`PacketBuf`] is neither dropped nor used otherwise.
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

impl PacketBuf {
    /// An empty packet with at least `capacity_bytes` of storage, of which `headroom_bytes` come before it.
    /// What does not fit into 32 bits is cut.
    pub fn new(capacity_bytes: usize, headroom_bytes: usize) -> PacketBuf {
        let n_lines = capacity_bytes.min(u32::MAX as usize - LINE_BYTES).div_ceil(LINE_BYTES);
        let storage = vec![Line([0; LINE_BYTES]); n_lines].into_boxed_slice();
        let mut buf = PacketBuf { storage, start: 0, len: 0, port: PortId(0), timestamp_ns: 0 };
        buf.reset(headroom_bytes);
        buf
    }

    pub(crate) fn all_bytes(&self) -> &[u8] {
        // SAFETY: `Line` is 64 bytes without padding (asserted above), so the lines are as many initialised
        // bytes in a row; the borrow of `self` keeps them alive and unchanged.
        unsafe { std::slice::from_raw_parts(self.storage.as_ptr().cast(), self.capacity()) }
    }

    /// Makes no reference to the bytes, since generated C may be using them on another thread.
    pub(crate) fn raw_bytes(&mut self) -> *mut [u8] {
        let first: *mut Line = (&raw mut *self.storage).cast();
        std::ptr::slice_from_raw_parts_mut(first.cast(), self.capacity())
    }

    fn storage_mut(&mut self) -> &mut [u8] {
        let capacity = self.capacity();
        // SAFETY: as in `all_bytes`; the borrow is exclusive, and any byte is valid in a `Line`.
        unsafe { std::slice::from_raw_parts_mut(self.storage.as_mut_ptr().cast(), capacity) }
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
        self.storage.len() * LINE_BYTES
    }

    /// Bytes before the data.
    pub fn headroom(&self) -> usize {
        self.start as usize
    }

    /// Bytes behind the data.
    pub fn tailroom(&self) -> usize {
        self.capacity() - self.start as usize - self.len as usize
    }

    /// Makes the packet empty, with that much headroom or all there is.
    pub fn reset(&mut self, headroom_bytes: usize) {
        self.start = headroom_bytes.min(self.capacity()) as u32;
        self.len = 0;
    }

    /// Puts `n` bytes before the data and gives them to be filled; `None` where the headroom is too small.
    pub fn prepend(&mut self, n: usize) -> Option<&mut [u8]> {
        let start = self.headroom().checked_sub(n)?;
        self.start = start as u32;
        self.len += n as u32;
        Some(&mut self.storage_mut()[start..][..n])
    }

    /// Puts `n` bytes behind the data and gives them to be filled; `None` where the tailroom is too small.
    pub fn append(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.tailroom() {
            return None;
        }
        let end = self.headroom() + self.len();
        self.len += n as u32;
        Some(&mut self.storage_mut()[end..][..n])
    }

    /// Removes the first `n` bytes; false, and nothing changed, where there are fewer.
    #[must_use]
    pub fn advance(&mut self, n: usize) -> bool {
        if n > self.len() {
            return false;
        }
        self.start += n as u32;
        self.len -= n as u32;
        true
    }

    /// Keeps the first `n` bytes, or all where there are fewer.
    pub fn truncate(&mut self, n: usize) {
        self.len = self.len.min(u32::try_from(n).unwrap_or(u32::MAX));
    }

    /// Replaces the data, keeping where it begins; false, and nothing changed, where it does not fit.
    #[must_use]
    pub fn set_data(&mut self, data: &[u8]) -> bool {
        if data.len() > self.capacity() - self.headroom() {
            return false;
        }
        self.len = data.len() as u32;
        self.data_mut().copy_from_slice(data);
        true
    }

    /// Where C code finds the packet. What it changes there comes back by [`PacketBuf::set_bounds`].
    pub fn raw(&mut self) -> RawPacketBuf {
        RawPacketBuf {
            storage: self.storage.as_mut_ptr().cast(),
            start: self.start,
            len: self.len,
            capacity: self.capacity() as u32,
        }
    }

    /// Moves where the data begins and how long it is; false, and nothing changed, where that is outside.
    #[must_use]
    pub fn set_bounds(&mut self, start: u32, len: u32) -> bool {
        let is_inside = (start as usize).checked_add(len as usize).is_some_and(|end| end <= self.capacity());
        if is_inside {
            (self.start, self.len) = (start, len);
        }
        is_inside
    }
}

/// How the buffers of a pool are cut, and how many there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufPoolOptions {
    /// Before each received packet.
    pub headroom_bytes: usize,
    /// The longest packet that fits behind the headroom.
    pub packet_bytes_max: usize,
    /// Buffers that may exist at a time.
    pub n_max: usize,
}

impl BufPoolOptions {
    /// Enough for jumbo packets, some headers more, and what a packet keeps while it waits for another core: about 9.7 KiB
    /// a buffer, 41 MB when all are in use.
    pub const JUMBO: BufPoolOptions =
        BufPoolOptions { headroom_bytes: 256, packet_bytes_max: crate::limits::JUMBO_BYTES_MAX, n_max: 4096 };
}

/// The buffers of one worker. Grows on demand up to its limit; what comes back is given out first, while it is
/// still in the cache.
///
/// A buffer goes back to the pool it came from, or is dropped and reported by [`BufPool::forget`].
#[derive(Debug)]
pub struct BufPool {
    free: Vec<PacketBuf>,
    options: BufPoolOptions,
    n_made: usize,
    n_exhausted: u64,
}

impl BufPool {
    pub fn new(options: BufPoolOptions) -> BufPool {
        BufPool { free: Vec::new(), options, n_made: 0, n_exhausted: 0 }
    }

    pub fn options(&self) -> &BufPoolOptions {
        &self.options
    }

    /// An empty packet, or `None` (counted) when all buffers are in use.
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

    /// Takes a buffer back. More than the limit, which other pools' buffers can make, are dropped.
    pub fn give_back(&mut self, buf: PacketBuf) {
        if self.free.len() < self.options.n_max {
            self.free.push(buf);
        }
    }

    /// Counts a buffer that will not come back, so that another may be made for it.
    pub fn forget(&mut self) {
        self.n_made = self.n_made.saturating_sub(1);
    }

    /// Buffers that exist, in use or not.
    pub fn n_made(&self) -> usize {
        self.n_made
    }

    /// Buffers that wait to be taken.
    pub fn n_free(&self) -> usize {
        self.free.len()
    }

    /// How often no buffer was left.
    pub fn n_exhausted(&self) -> u64 {
        self.n_exhausted
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
