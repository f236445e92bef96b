//! The trait of packet buffers.

use crate::PacketBuf;

/// A buffer whose bytes have a stable address: moving the value does not move them. Generated C and other
/// threads may hold pointers into a buffer while its owner is moved.
///
/// The default value is an empty buffer, created without allocation; it replaces a buffer that is taken.
///
/// # Safety
///
/// [`storage`](Self::storage) and [`raw_storage`](Self::raw_storage) name the same initialised bytes, owned by the value. They
/// stay at their address, and have their length, until the value is dropped or changed by other methods than these.
pub unsafe trait PacketStorage: Default + Send + 'static {
    /// All bytes: headroom, packet, tailroom.
    fn storage(&self) -> &[u8];

    /// A pointer to these bytes, to be written through. Makes no reference to them, since another thread may be using them.
    fn raw_storage(&mut self) -> *mut [u8];
}

// SAFETY: the bytes are on the heap or in a frame, owned by the value, and no method replaces them.
unsafe impl PacketStorage for PacketBuf {
    fn storage(&self) -> &[u8] {
        self.all_bytes()
    }

    fn raw_storage(&mut self) -> *mut [u8] {
        self.raw_bytes()
    }
}

// SAFETY: the bytes are on the heap; they move only when the vector grows or shrinks.
unsafe impl PacketStorage for Vec<u8> {
    fn storage(&self) -> &[u8] {
        self
    }

    fn raw_storage(&mut self) -> *mut [u8] {
        std::ptr::slice_from_raw_parts_mut(self.as_mut_ptr(), self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stays<B: PacketStorage>(mut buffer: B, n_bytes: usize) {
        let before = buffer.raw_storage();
        assert_eq!((before.len(), buffer.storage().len()), (n_bytes, n_bytes));
        assert_eq!(buffer.storage().as_ptr(), before.cast_const().cast());
        let mut moved = Box::new(std::mem::take(&mut buffer));
        assert_eq!(moved.raw_storage(), before);
        assert!(buffer.storage().is_empty());
    }

    #[test]
    fn bytes_stay_where_they_are() {
        stays(PacketBuf::new(100, 20), 128);
        stays(vec![7u8; 100], 100);
    }
}
