//! One packet in the pipeline: its variables, its bytes, and the output of its deparser.

use super::state::{Call, Run};
use crate::load::{Executable, Pc, Slot, SlotRange};
use ir::Bits;

/// The values of all variables, temporaries and constants, by slot.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub(crate) slots: Vec<Bits>,
}

impl Frame {
    pub fn get(&self, slot: Slot) -> &Bits {
        &self.slots[slot as usize]
    }

    pub fn set(&mut self, slot: Slot, value: Bits) {
        self.slots[slot as usize] = value;
    }

    pub fn range(&self, range: SlotRange) -> &[Bits] {
        &self.slots[range.indices()]
    }

    pub fn range_mut(&mut self, range: SlotRange) -> &mut [Bits] {
        &mut self.slots[range.indices()]
    }

    /// Sets ranges to their initial values, as when a packet arrives.
    pub(crate) fn clear(&mut self, exe: &Executable, ranges: &[SlotRange]) {
        for range in ranges {
            self.slots[range.indices()].clone_from_slice(&exe.initial()[range.indices()]);
        }
    }

    /// Takes the values of `range` from another packet of the same program.
    pub fn copy_from(&mut self, other: &Frame, range: SlotRange) {
        self.slots[range.indices()].clone_from_slice(&other.slots[range.indices()]);
    }
}

/// A packet between arrival and departure.
#[derive(Clone, Debug, Default)]
pub struct PacketState {
    pub frame: Frame,
    /// Bytes of the packet as received.
    pub bytes: Vec<u8>,
    /// The parser's position, in bits.
    pub cursor_bits: u64,
    /// The output of `emit`.
    pub emitted: BitWriter,
    /// Remaining steps of the budget. Each node of a graph takes one.
    pub steps_left: u32,
    /// Active procedure calls, outermost first.
    pub(crate) calls: Vec<Call>,
    /// True if the packet suspends where asynchronous blocks begin and end.
    pub(crate) may_wait: bool,
    /// Position at which a suspended packet resumes, with the state of the loop.
    pub(crate) waits_at: Option<(Pc, Run)>,
}

impl PacketState {
    pub fn new(exe: &Executable) -> PacketState {
        let mut packet = PacketState { frame: Frame { slots: exe.initial().to_vec() }, ..Default::default() };
        packet.steps_left = exe.step_budget;
        packet
    }

    /// Begins a packet: state that blocks share is zero and invalid, nothing is parsed or emitted.
    pub fn arrive(&mut self, exe: &Executable, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.reset(exe);
        self.steps_left = exe.step_budget;
    }

    /// Starts the packet again with its present bytes. Unlike [`arrive`](Self::arrive), it does not renew the budget of steps.
    pub fn reset(&mut self, exe: &Executable) {
        if self.frame.slots.len() == exe.initial().len() {
            self.frame.clear(exe, exe.shared_slots());
        } else {
            self.frame.slots = exe.initial().to_vec();
        }
        self.cursor_bits = 0;
        self.emitted.clear();
        self.calls.clear();
        self.waits_at = None;
    }

    /// Returns the bytes that the parser has not read, from the next whole byte on.
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(self.payload_at()..).unwrap_or(&[])
    }

    /// The offset of the payload in bytes.
    pub(crate) fn payload_at(&self) -> usize {
        usize::try_from(self.cursor_bits.div_ceil(8)).unwrap_or(usize::MAX).min(self.bytes.len())
    }

    /// Replaces the packet's bytes by the deparser's output, followed by the payload. The cursor stays at the payload.
    pub(crate) fn rebuild(&mut self) {
        self.bytes = self.deparsed_bytes();
        self.cursor_bits = self.emitted.bytes().len() as u64 * 8;
        self.emitted.clear();
    }

    /// Returns the bytes to send: the deparser's output, followed by the payload.
    pub fn deparsed_bytes(&self) -> Vec<u8> {
        let mut bytes = self.emitted.bytes().to_vec();
        bytes.extend_from_slice(self.payload());
        bytes
    }
}

/// Appends bit strings to bytes, the most significant bit first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits used of the last byte, 0 when it is full.
    n_tail_bits: u32,
}

impl BitWriter {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.n_tail_bits = 0;
    }

    pub fn push(&mut self, value: &Bits) {
        let width = value.width();
        if self.n_tail_bits == 0 && width.is_multiple_of(8) {
            match value.to_u128() {
                Some(word) if width <= 128 => {
                    self.bytes.extend_from_slice(&word.to_be_bytes()[16 - width as usize / 8..]);
                }
                Some(_) | None => self.bytes.extend_from_slice(&value.to_bytes_be()),
            }
            return;
        }
        let bytes = value.to_bytes_be();
        let mut n_left = width;
        for (i, byte) in bytes.iter().enumerate() {
            // The first byte may be partial.
            let n = if i == 0 && !width.is_multiple_of(8) { width % 8 } else { 8 };
            let n = n.min(n_left);
            n_left -= n;
            self.push_bits(*byte, n);
        }
    }

    /// The low `n` bits of a byte.
    fn push_bits(&mut self, byte: u8, n: u32) {
        if n == 0 {
            return;
        }
        let byte = (u16::from(byte) & ((1 << n) - 1)) as u8;
        if self.n_tail_bits == 0 {
            self.bytes.push(byte << (8 - n));
            self.n_tail_bits = n % 8;
            return;
        }
        let free = 8 - self.n_tail_bits;
        if let Some(last) = self.bytes.last_mut() {
            if n <= free {
                *last |= byte << (free - n);
            } else {
                *last |= byte >> (n - free);
            }
        }
        if n > free {
            self.bytes.push(byte << (8 - (n - free)));
            self.n_tail_bits = n - free;
        } else {
            self.n_tail_bits = (self.n_tail_bits + n) % 8;
        }
    }

    /// Whole bytes; the last is filled with zeros.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn n_bits(&self) -> u64 {
        let n = self.bytes.len() as u64 * 8;
        if self.n_tail_bits == 0 { n } else { n - u64::from(8 - self.n_tail_bits) }
    }
}

/// `width` bits from bit `at` of the bytes on; zeros beyond their end.
pub fn read_bits(bytes: &[u8], at: u64, width: u32) -> Bits {
    let first = usize::try_from(at / 8).unwrap_or(usize::MAX);
    let skip = (at % 8) as u32;
    let n_bytes = (u64::from(skip) + u64::from(width)).div_ceil(8) as usize;
    let rest = bytes.get(first..).unwrap_or(&[]);
    let present = &rest[..n_bytes.min(rest.len())];
    let excess = n_bytes as u32 * 8 - skip - width;
    if n_bytes <= 16 {
        let mut word = 0u128;
        for byte in present {
            word = word << 8 | u128::from(*byte);
        }
        let missing = (n_bytes - present.len()) as u32 * 8;
        return Bits::new(width, word.checked_shl(missing).unwrap_or(0) >> excess);
    }
    let all;
    let present = if present.len() == n_bytes {
        present
    } else {
        let mut padded = present.to_vec();
        padded.resize(n_bytes, 0);
        all = padded;
        &all
    };
    let wide = Bits::from_bytes_be(n_bytes as u32 * 8, present);
    wide.slice(excess, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_can_be_read(widths in proptest::collection::vec(0u32..200, 0..12), seed: u64) {
            let mut state = seed | 1;
            let values: Vec<Bits> = widths
                .iter()
                .map(|w| {
                    let bytes: Vec<u8> = (0..25)
                        .map(|_| {
                            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                            (state >> 56) as u8
                        })
                        .collect();
                    Bits::from_bytes_be(*w, &bytes)
                })
                .collect();
            let mut out = BitWriter::default();
            values.iter().for_each(|v| out.push(v));
            prop_assert_eq!(out.n_bits(), widths.iter().map(|w| u64::from(*w)).sum::<u64>());
            let mut at = 0;
            for v in &values {
                prop_assert_eq!(&read_bits(out.bytes(), at, v.width()), v);
                at += u64::from(v.width());
            }
        }
    }

    #[test]
    fn beyond_the_end_are_zeros() {
        assert_eq!(read_bits(&[0xff], 4, 8), Bits::new(8, 0xf0));
        assert_eq!(read_bits(&[], 100, 8), Bits::new(8, 0));
        assert_eq!(read_bits(&[0xff], 0, 136), Bits::new(136, 0xff).shl(128));
    }
}
