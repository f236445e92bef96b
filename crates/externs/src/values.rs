//! Conversion between values in memory shared with C and values of the IR.

use crate::signature::Value;
use ir::Bits;
use std::ops::Range;

/// Position of a single value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueLayout {
    pub offset: usize,
    pub size: usize,
    /// Width in bits; `None` for a varbit.
    pub width: Option<u32>,
}

impl ValueLayout {
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.size
    }

    /// Returns whether the value lies within `n_bytes` and has room for its bits.
    pub fn fits(&self, n_bytes: usize) -> bool {
        let has_room = match self.width {
            Some(width) => (width as usize).div_ceil(8) <= self.size,
            None => self.size >= VARBIT_LENGTH_BYTES,
        };
        has_room && self.offset.checked_add(self.size).is_some_and(|end| end <= n_bytes)
    }
}

impl From<&Value> for ValueLayout {
    fn from(value: &Value) -> ValueLayout {
        ValueLayout {
            offset: value.offset as usize,
            size: value.size_bytes as usize,
            width: (!value.is_varbit).then_some(value.width_bits),
        }
    }
}

/// Size of the length in bits with which a varbit begins.
pub const VARBIT_LENGTH_BYTES: usize = 4;

/// Reads a value; offsets are relative to `bytes`.
pub fn decode(layout: &ValueLayout, bytes: &[u8]) -> Bits {
    let Some(bytes) = bytes.get(layout.range()) else { return Bits::zero(layout.width.unwrap_or(0)) };
    match layout.width {
        Some(width) => Bits::from_bytes_le(width, bytes),
        None => decode_varbit(bytes),
    }
}

/// Writes a value of any width, truncated or zero-extended; a varbit is cut to its room.
pub fn encode(layout: &ValueLayout, value: &Bits, bytes: &mut [u8]) {
    let Some(bytes) = bytes.get_mut(layout.range()) else { return };
    match layout.width {
        Some(width) => value.resize(width).write_bytes_le(bytes),
        None => encode_varbit(value, bytes),
    }
}

/// Reads the low 64 bits of a value.
pub fn decode_u64(layout: &ValueLayout, bytes: &[u8]) -> u64 {
    let bytes = bytes.get(layout.range()).unwrap_or_default();
    bytes.iter().take(8).rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// Writes a value of at most 64 bits, truncated to its width.
pub fn encode_u64(layout: &ValueLayout, value: u64, bytes: &mut [u8]) {
    let Some(bytes) = bytes.get_mut(layout.range()) else { return };
    let value = match layout.width {
        Some(width) if width < 64 => value & ((1 << width) - 1),
        Some(_) | None => value,
    };
    bytes.fill(0);
    for (to, from) in bytes.iter_mut().zip(value.to_le_bytes()) {
        *to = from;
    }
}

fn decode_varbit(bytes: &[u8]) -> Bits {
    let Some((length, content)) = bytes.split_first_chunk::<VARBIT_LENGTH_BYTES>() else {
        return Bits::zero(0);
    };
    let n_bits = u32::from_le_bytes(*length).min(u32::try_from(content.len() * 8).unwrap_or(u32::MAX));
    let n_bytes = (n_bits as usize).div_ceil(8);
    // The first bit is the most significant of the first byte.
    let excess = n_bytes as u32 * 8 - n_bits;
    Bits::from_bytes_be(n_bits + excess, &content[..n_bytes]).shr(excess).resize(n_bits)
}

fn encode_varbit(value: &Bits, bytes: &mut [u8]) {
    bytes.fill(0);
    let Some((length, content)) = bytes.split_first_chunk_mut::<VARBIT_LENGTH_BYTES>() else { return };
    let n_bits = value.width().min(u32::try_from(content.len() * 8).unwrap_or(u32::MAX));
    let excess = n_bits.div_ceil(8) * 8 - n_bits;
    *length = n_bits.to_le_bytes();
    let from = value.resize(n_bits).resize(n_bits + excess).shl(excess).to_bytes_be();
    content.iter_mut().zip(from).for_each(|(to, from)| *to = from);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, width: Option<u32>) -> ValueLayout {
        ValueLayout { offset: 1, size, width }
    }

    #[test]
    fn integers_are_little_endian() {
        let mut bytes = [0xee; 6];
        let four = layout(4, Some(20));
        encode(&four, &Bits::new(24, 0xf1_2345), &mut bytes);
        assert_eq!(bytes, [0xee, 0x45, 0x23, 0x01, 0x00, 0xee]);
        assert_eq!(decode(&four, &bytes), Bits::new(20, 0x1_2345));
        assert_eq!(decode_u64(&four, &bytes), 0x1_2345);
        encode_u64(&four, 0xfff0_0001, &mut bytes);
        assert_eq!(decode_u64(&four, &bytes), 1);
    }

    #[test]
    fn values_of_all_widths_come_back() {
        for width in [1u32, 7, 8, 9, 31, 33, 64, 65, 127, 128, 129, 191, 192, 193, 1000, 2048] {
            let size = match width {
                0..=8 => 1,
                9..=16 => 2,
                17..=32 => 4,
                33..=64 => 8,
                65..=128 => 16,
                _ => width.div_ceil(64) as usize * 8,
            };
            let layout = layout(size, Some(width));
            let mixed = Bits::ones(width).shr(width / 3).xor(&Bits::new(width, 0x5a));
            for value in [Bits::zero(width), Bits::ones(width), mixed] {
                let mut bytes = vec![0xee; size + 2];
                encode(&layout, &value, &mut bytes);
                assert_eq!(decode(&layout, &bytes), value);
                assert_eq!((bytes[0], bytes[size + 1]), (0xee, 0xee));
            }
        }
    }

    #[test]
    fn varbits_lie_as_in_packets() {
        let layout = layout(4 + 3, None);
        let mut bytes = [0xee; 9];
        encode(&layout, &Bits::new(12, 0xabc), &mut bytes);
        assert_eq!(bytes, [0xee, 12, 0, 0, 0, 0xab, 0xc0, 0, 0xee]);
        assert_eq!(decode(&layout, &bytes), Bits::new(12, 0xabc));
        for width in [0, 1, 8, 23, 24] {
            encode(&layout, &Bits::ones(width), &mut bytes);
            assert_eq!(decode(&layout, &bytes), Bits::ones(width));
        }
        // Invalid lengths from C must not cause reads beyond the value.
        bytes[1..5].fill(0xff);
        assert_eq!(decode(&layout, &bytes).width(), 24);
    }

    #[test]
    fn what_is_beyond_the_bytes_is_zero() {
        let mut short = [0xee; 3];
        let layout = layout(4, Some(32));
        encode(&layout, &Bits::ones(32), &mut short);
        assert_eq!(short, [0xee; 3]);
        assert_eq!(decode(&layout, &short), Bits::zero(32));
        assert_eq!(decode_u64(&layout, &short), 0);
    }
}
