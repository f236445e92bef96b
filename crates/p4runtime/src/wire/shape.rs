//! Messages that are alike, values apart.

use control::UpdateKind;

const WORD: usize = 8;

/// A value in a message, big-endian, and its place in the record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) from: usize,
    pub(super) n: usize,
    pub(super) to: usize,
}

/// An update that was decoded. One with the same bytes, values apart, is decoded in one step.
#[derive(Debug)]
pub(super) struct Shape {
    kind: UpdateKind,
    n_bytes: usize,
    message: Words,
    /// Ones for the bits that are not those of values.
    fixed: Words,
    record: Vec<RecordWord>,
    /// The parts of values, by words.
    parts: Vec<Part>,
}

/// The words of a message, and the one at its end, which may overlap the one before.
#[derive(Debug)]
struct Words {
    words: Vec<u64>,
    last: u64,
}

/// A word of the record without the values, and the end of its parts of values.
#[derive(Clone, Copy, Debug)]
struct RecordWord {
    fixed: u64,
    parts_end: usize,
}

/// A part of a value that does not cross a word of the record.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its end in the message: its digits are the last ones of the word that ends there.
    end: usize,
    digits: u64,
    /// Bits below it in the word of the record.
    shift: u32,
}

impl Shape {
    /// The shape of an update with this record. `None` if words do not do for it.
    pub(super) fn of(kind: UpdateKind, update: &[u8], record: &[u8], copies: &[Copy]) -> Option<Shape> {
        if !record.len().is_multiple_of(WORD) {
            return None;
        }
        let mut fixed = vec![0xff; update.len()];
        let mut record = record.to_vec();
        let mut of_words = vec![Vec::new(); record.len() / WORD];
        for copy in copies {
            fixed[copy.from..copy.from + copy.n].fill(0);
            record[copy.to..copy.to + copy.n].fill(0);
            // From the last digit on, which is the first byte in the record.
            let (mut n_left, mut to) = (copy.n, copy.to);
            while n_left > 0 {
                let n = n_left.min(WORD - to % WORD);
                let end = copy.from + n_left;
                if end < WORD {
                    return None;
                }
                let digits = u64::MAX >> (8 * (WORD - n));
                of_words[to / WORD].push(Part { end, digits, shift: 8 * (to % WORD) as u32 });
                (n_left, to) = (n_left - n, to + n);
            }
        }
        let mut parts = Vec::new();
        let record = record.as_chunks().0.iter().zip(of_words).map(|(word, of_word)| {
            parts.extend(of_word);
            RecordWord { fixed: u64::from_le_bytes(*word), parts_end: parts.len() }
        });
        let record = record.collect();
        let (message, fixed) = (Words::of(update)?, Words::of(&fixed)?);
        Some(Shape { kind, n_bytes: update.len(), message, fixed, record, parts })
    }

    /// Appends the record of an update that is like this one. Returns false for any other.
    #[inline]
    pub(super) fn decode(&self, kind: UpdateKind, update: &[u8], records: &mut Vec<u8>) -> bool {
        if self.kind != kind || self.n_bytes != update.len() || !self.is_like(update) {
            return false;
        }
        let mut parts = self.parts.iter();
        let mut n = 0;
        for of in &self.record {
            let mut word = of.fixed;
            for part in parts.by_ref().take(of.parts_end - n) {
                if let Some(digits) = update[..part.end].last_chunk() {
                    word |= (u64::from_be_bytes(*digits) & part.digits) << part.shift;
                }
            }
            n = of.parts_end;
            records.extend_from_slice(&word.to_le_bytes());
        }
        true
    }

    /// Returns whether an update of this length has the same bytes, values apart.
    #[inline]
    fn is_like(&self, update: &[u8]) -> bool {
        let (Shape { message, fixed, .. }, Some(last)) = (self, update.last_chunk()) else { return false };
        let mut differs = (word(last) ^ message.last) & fixed.last;
        let words = update.as_chunks().0.iter().map(word);
        for ((word, of), fixed) in words.zip(&message.words).zip(&fixed.words) {
            differs |= (word ^ of) & fixed;
        }
        differs == 0
    }
}

impl Words {
    /// `None` if the message is shorter than a word.
    fn of(message: &[u8]) -> Option<Words> {
        let last = word(message.last_chunk()?);
        Some(Words { words: message.as_chunks().0.iter().map(word).collect(), last })
    }
}

#[inline]
fn word(bytes: &[u8; WORD]) -> u64 {
    u64::from_ne_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of all sizes up to three words, one after the other, with a byte between them.
    const N_VALUE_BYTES_MAX: usize = 24;
    const N_HEAD_BYTES: usize = 9;

    struct Example {
        update: Vec<u8>,
        copies: Vec<Copy>,
        record: Vec<u8>,
    }

    /// An update with values of `digits`, and its record, in which values begin at any byte of a word.
    fn example(digits: impl Fn(usize) -> u8) -> Example {
        let mut update = vec![0x11; N_HEAD_BYTES];
        let (mut copies, mut record) = (Vec::new(), vec![0x22; 3]);
        for n in 1..=N_VALUE_BYTES_MAX {
            let value: Vec<u8> = (0..n).map(|i| digits(n + i)).collect();
            copies.push(Copy { from: update.len(), n, to: record.len() });
            update.extend(&value);
            update.push(0x33);
            record.extend(value.iter().rev());
        }
        record.resize(record.len().next_multiple_of(WORD), 0);
        Example { update, copies, record }
    }

    fn shape_of(Example { update, copies, record }: &Example) -> Shape {
        Shape::of(UpdateKind::Insert, update, record, copies).unwrap()
    }

    #[test]
    fn values_of_all_sizes_get_to_their_places() {
        let shape = shape_of(&example(|i| i as u8));
        let mut records = vec![1, 2, 3];
        let other = example(|i| 255 - 3 * i as u8);
        assert!(shape.decode(UpdateKind::Insert, &other.update, &mut records));
        assert_eq!(records[..3], [1, 2, 3]);
        assert_eq!(records[3..], other.record);
    }

    #[test]
    fn every_bit_outside_of_values_counts() {
        let example = example(|i| i as u8);
        let shape = shape_of(&example);
        for bit in 0..8 * example.update.len() {
            let mut update = example.update.clone();
            update[bit / 8] ^= 1 << (bit % 8);
            let is_value =
                example.copies.iter().any(|copy| (copy.from..copy.from + copy.n).contains(&(bit / 8)));
            assert_eq!(shape.decode(UpdateKind::Insert, &update, &mut Vec::new()), is_value, "bit {bit}");
        }
    }

    #[test]
    fn other_kinds_and_lengths_are_not_alike() {
        let example = example(|i| i as u8);
        let (shape, mut records) = (shape_of(&example), Vec::new());
        let Example { update, .. } = &example;
        assert!(!shape.decode(UpdateKind::Delete, update, &mut records));
        assert!(!shape.decode(UpdateKind::Insert, &update[..update.len() - 1], &mut records));
        assert!(!shape.decode(UpdateKind::Insert, &[], &mut records));
        assert!(records.is_empty());
    }

    #[test]
    fn messages_without_room_for_words_have_no_shape() {
        let value = |from| [Copy { from, n: 1, to: 0 }];
        assert!(Shape::of(UpdateKind::Insert, &[0; 7], &[0; 8], &value(6)).is_none());
        assert!(Shape::of(UpdateKind::Insert, &[0; 9], &[0; 8], &value(6)).is_none());
        assert!(Shape::of(UpdateKind::Insert, &[0; 9], &[0; 7], &value(8)).is_none());
        assert!(Shape::of(UpdateKind::Insert, &[0; 9], &[0; 8], &value(8)).is_some());
    }
}
