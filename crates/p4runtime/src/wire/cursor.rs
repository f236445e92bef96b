//! Reading the bytes of protobuf messages that are written in the one usual way.

/// Wire types of protobuf.
pub(super) const VARINT: u32 = 0;
pub(super) const BYTES: u32 = 2;

/// The rest of a message. Every reader returns `None` for what it does not expect, also if protobuf allows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
}

impl<'b> Cursor<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Cursor<'b> {
        Cursor { bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A number in as few bytes as it needs.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        let (first, rest) = self.bytes.split_first()?;
        if *first < 0x80 {
            self.bytes = rest;
            return Some(u64::from(*first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (i, byte) in self.bytes.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if *byte < 0x80 {
                let is_shortest = *byte != 0 && (i < 9 || *byte == 1);
                self.bytes = &self.bytes[i + 1..];
                return is_shortest.then_some(value);
            }
        }
        None
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    /// Takes a key of one byte if it is that of this field.
    #[inline]
    pub(super) fn has(&mut self, field: u32, wire_type: u32) -> bool {
        let key = (field << 3 | wire_type) as u8;
        match self.bytes.split_first() {
            Some((first, rest)) if *first == key => {
                self.bytes = rest;
                true
            }
            _ => false,
        }
    }

    /// The number and the wire type of the next field.
    pub(super) fn key(&mut self) -> Option<(u32, u32)> {
        let key = self.u32()?;
        Some((key >> 3, key & 7))
    }

    /// The contents of a message, a string or bytes.
    #[inline]
    pub(super) fn bytes(&mut self) -> Option<&'b [u8]> {
        let n = usize::try_from(self.varint()?).ok()?;
        let (bytes, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(bytes)
    }

    /// The contents of a field of this kind, which comes next.
    #[inline]
    pub(super) fn field(&mut self, field: u32) -> Option<&'b [u8]> {
        if self.has(field, BYTES) { self.bytes() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_as_few_bytes_as_they_need() {
        let read = |bytes: &[u8]| Cursor::new(bytes).varint();
        assert_eq!(read(&[0]), Some(0));
        assert_eq!(read(&[0xac, 0x02]), Some(300));
        assert_eq!(read(&[0xff; 9]), None);
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), Some(u64::MAX));
        // Too long, too large, or cut.
        assert_eq!(read(&[0x80, 0x00]), None);
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), None);
        assert_eq!(read(&[0x80]), None);
        assert_eq!(read(&[]), None);
    }
}
