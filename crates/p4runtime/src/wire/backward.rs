//! Writing protobuf messages from their end: the length of a message is known when it is written.

use prost::bytes::Bytes;

/// Bytes that are reserved first.
const N_FIRST: usize = 64 << 10;

/// The end of a message.
#[derive(Debug, Default)]
pub(super) struct Backward {
    bytes: Vec<u8>,
    /// Bytes that are still free, at the beginning.
    n_free: usize,
}

impl Backward {
    /// Bytes that are written.
    #[inline]
    pub(super) fn n_bytes(&self) -> usize {
        self.bytes.len() - self.n_free
    }

    /// Makes room for so many bytes and returns it.
    #[inline]
    fn room(&mut self, n: usize) -> &mut [u8] {
        if self.n_free < n {
            self.grow(n);
        }
        self.n_free -= n;
        &mut self.bytes[self.n_free..self.n_free + n]
    }

    #[cold]
    fn grow(&mut self, n: usize) {
        let mut larger = vec![0; (2 * self.bytes.len() + n).max(N_FIRST)];
        let n_free = larger.len() - self.n_bytes();
        larger[n_free..].copy_from_slice(&self.bytes[self.n_free..]);
        (self.bytes, self.n_free) = (larger, n_free);
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.room(1)[0] = byte;
    }

    #[inline]
    pub(super) fn varint(&mut self, value: u64) {
        if value < 0x80 {
            return self.byte(value as u8);
        }
        let n = (64 - value.leading_zeros()).div_ceil(7) as usize;
        for (i, byte) in self.room(n).iter_mut().enumerate() {
            let is_last = i + 1 == n;
            *byte = (value >> (7 * i)) as u8 & 0x7f | if is_last { 0 } else { 0x80 };
        }
    }

    /// A number of little-endian order, in big-endian order and without leading zeros; one byte for 0.
    #[inline]
    pub(super) fn put_number_be(&mut self, number: &[u8]) {
        let n_zeros = number.iter().rev().take_while(|byte| **byte == 0).count();
        let digits = &number[..(number.len() - n_zeros).max(1).min(number.len())];
        let room = self.room(digits.len());
        room.iter_mut().zip(digits.iter().rev()).for_each(|(to, from)| *to = *from);
    }

    /// Makes a field of the bytes that were written since there were `end` of them.
    #[inline]
    pub(super) fn close(&mut self, tag: u8, end: usize) {
        self.varint((self.n_bytes() - end) as u64);
        self.byte(tag);
    }

    pub(super) fn into_bytes(self) -> Bytes {
        Bytes::from(self.bytes).split_off(self.n_free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_protobuf() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut expected = Vec::new();
            prost::encoding::encode_varint(value, &mut expected);
            let mut out = Backward::default();
            out.varint(value);
            assert_eq!(out.into_bytes(), expected, "{value}");
        }
    }

    #[test]
    fn fields_grow_towards_the_beginning() {
        let mut out = Backward::default();
        out.put_number_be(&[1, 2, 0, 0]);
        out.put_number_be(&[0, 0]);
        assert_eq!(out.n_bytes(), 3);
        out.close(0x0a, 0);
        assert_eq!(out.into_bytes(), vec![0x0a, 3, 0, 2, 1]);
        let mut out = Backward::default();
        (0..100_000).for_each(|i: u32| out.put(&i.to_be_bytes()));
        let bytes = out.into_bytes();
        assert_eq!((bytes.len(), &bytes[..4]), (400_000, &99_999_u32.to_be_bytes()[..]));
    }
}
