//! Reading the packet, and writing it again.

use super::{PacketState, read_bits};
use crate::load::{Executable, ExtractCode, FieldWidth, HeaderCode, LookaheadCode, LookaheadLeaf, Slot};
use ir::Bits;

/// Error codes of core.p4, in the order of its declaration.
pub(super) mod error {
    pub const PACKET_TOO_SHORT: u32 = 1;
    pub const STACK_OUT_OF_BOUNDS: u32 = 3;
    pub const HEADER_TOO_SHORT: u32 = 4;
    pub const PARSER_INVALID_ARGUMENT: u32 = 6;
}

/// The result of an `extract`.
pub(super) struct Extracted {
    /// `None` when the place does not exist: the bits are skipped.
    pub(super) header: Option<Slot>,
    pub(super) n_bits: u64,
}

/// Why reading failed.
pub(super) struct Failure {
    pub(super) error: u32,
    pub(super) wanted_bits: u64,
}

impl PacketState {
    pub(super) fn bits_left(&self) -> u64 {
        (self.bytes.len() as u64 * 8).saturating_sub(self.cursor_bits)
    }

    fn want(&self, wanted_bits: u64) -> Result<(), Failure> {
        if wanted_bits > self.bits_left() {
            return Err(Failure { error: error::PACKET_TOO_SHORT, wanted_bits });
        }
        Ok(())
    }

    /// The checks come in the order that the IR says.
    pub(super) fn extract(&mut self, exe: &Executable, code: &ExtractCode) -> Result<Extracted, Failure> {
        let varbit_bits = code.size_bits.map_or(0, |s| self.frame.get(s).low_u64());
        let n_bits = code.fixed_bits.saturating_add(varbit_bits);
        self.want(n_bits)?;
        let fail = |error| Failure { error, wanted_bits: n_bits };
        if !varbit_bits.is_multiple_of(8) {
            return Err(fail(error::PARSER_INVALID_ARGUMENT));
        }
        if varbit_bits > u64::from(code.varbit_max.unwrap_or(0)) {
            return Err(fail(error::HEADER_TOO_SHORT));
        }
        let mut base = self.frame.find(exe, code.place);
        if let (Some(size), Some(stack)) = (code.stack_size, base) {
            let next = self.frame.get(stack).low_u64();
            if next >= u64::from(size) {
                return Err(fail(error::STACK_OUT_OF_BOUNDS));
            }
            self.frame.set(stack, Bits::new(32, u128::from(next) + 1));
            base = Some(stack + 1 + next as u32 * code.n_slots());
        }
        if let Some(header) = base {
            self.frame.set(header, Bits::TRUE);
            let mut at = self.cursor_bits;
            for (slot, field) in (header + 1..).zip(&code.fields) {
                let width = match field {
                    FieldWidth::Fixed(width) => *width,
                    FieldWidth::Varbit { max } => varbit_bits.min(u64::from(*max)) as u32,
                };
                self.frame.set(slot, read_bits(&self.bytes, at, width));
                at += u64::from(width);
            }
        }
        self.cursor_bits += n_bits;
        Ok(Extracted { header: base, n_bits })
    }

    pub(super) fn advance(&mut self, bits: Slot) -> Result<u64, Failure> {
        let n = self.frame.get(bits).low_u64();
        self.want(n)?;
        if !n.is_multiple_of(8) {
            return Err(Failure { error: error::PARSER_INVALID_ARGUMENT, wanted_bits: n });
        }
        self.cursor_bits += n;
        Ok(n)
    }

    pub(super) fn lookahead(&mut self, exe: &Executable, code: &LookaheadCode) -> Result<(), Failure> {
        self.want(code.n_bits)?;
        let Some(base) = self.frame.find(exe, code.place) else { return Ok(()) };
        let mut at = self.cursor_bits;
        for (slot, leaf) in (base..).zip(&code.leaves) {
            let value = match leaf {
                LookaheadLeaf::Valid => Bits::TRUE,
                LookaheadLeaf::NextIndex => continue,
                LookaheadLeaf::Bits(width) => {
                    let value = read_bits(&self.bytes, at, *width);
                    at += u64::from(*width);
                    value
                }
            };
            self.frame.set(slot, value);
        }
        Ok(())
    }

    /// Emits a header. Gives its first slot and the number of bits written, which is 0 when it is invalid.
    pub(super) fn emit(&mut self, exe: &Executable, code: &HeaderCode) -> Option<(Slot, u64)> {
        let header = self.frame.find(exe, code.place)?;
        if !self.frame.get(header).is_true() {
            return Some((header, 0));
        }
        let before = self.emitted.n_bits();
        for slot in header + 1..header + code.n_slots {
            self.emitted.push(self.frame.get(slot));
        }
        Some((header, self.emitted.n_bits() - before))
    }
}
