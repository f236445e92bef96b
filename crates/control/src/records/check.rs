//! Validation of records: the rules of [`validate()`](crate::validate()), without messages.

use super::layout::{RecordField, RecordKey, RecordLayout, RecordMatch, set_word, word};
use super::{RecordOp, RecordPlan};
use crate::fault::Code;
use crate::schema::MeterType;
use crate::validate::meter_config_fault;
use ir::Bits;

impl RecordPlan {
    /// Checks one record, and completes what clients need not fill: masks of exact elements, and the type of the meter. Fails
    /// with the code of the fault that [`fault`](RecordPlan::fault) describes. The record is as long as the layout says.
    #[inline]
    pub fn check(&self, op: RecordOp, record: &mut [u8]) -> Result<(), Code> {
        if self.is_exact && self.is_good(op, record) { Ok(()) } else { self.check_parts(op, record) }
    }

    /// Checks records as [`check`](Self::check) does, and calls `failed` with each one that fails.
    pub fn check_all(&self, op: RecordOp, records: &mut [u8], mut failed: impl FnMut(usize, Code)) {
        // Most sets have no fault, which one pass without branches finds out.
        let are_good = self.is_exact
            && match self.layout.record_bytes {
                8 => self.are_good::<1>(op, records),
                16 => self.are_good::<2>(op, records),
                24 => self.are_good::<3>(op, records),
                32 => self.are_good::<4>(op, records),
                40 => self.are_good::<5>(op, records),
                48 => self.are_good::<6>(op, records),
                _ => false,
            };
        if are_good {
            return;
        }
        for (i, record) in records.chunks_exact_mut(self.layout.record_bytes).enumerate() {
            if let Err(code) = self.check(op, record) {
                failed(i, code);
            }
        }
    }

    /// Returns whether all records of `N` words pass, in tables whose records have key, action and data only.
    fn are_good<const N: usize>(&self, op: RecordOp, records: &[u8]) -> bool {
        let mut forbidden = words::<N>(&self.forbidden_key);
        let mut last = None;
        let mut any = 0;
        for record in records.chunks_exact(8 * N) {
            if op != RecordOp::Delete {
                let index = self.layout.action(record);
                if last != Some(index) {
                    let action = self.actions.get(index as usize).and_then(Option::as_ref);
                    let Some(action) = action.filter(|action| action.is_for_entries()) else { return false };
                    forbidden = words(&action.forbidden_all);
                    last = Some(index);
                }
            }
            let pairs = words::<N>(record).into_iter().zip(forbidden);
            any = pairs.fold(any, |any, (word, bits)| any | word & bits);
        }
        any == 0
    }

    /// Returns whether a record passes, in tables whose records have key, action and data only.
    #[inline]
    fn is_good(&self, op: RecordOp, record: &[u8]) -> bool {
        if op == RecordOp::Delete {
            return !has_any(record, &self.forbidden_key);
        }
        let action = self.actions.get(self.layout.action(record) as usize).and_then(Option::as_ref);
        action.is_some_and(|action| action.is_for_entries() && !has_any(record, &action.forbidden_all))
    }

    fn check_parts(&self, op: RecordOp, record: &mut [u8]) -> Result<(), Code> {
        let layout = &self.layout;
        if has_any(record, &self.forbidden_key) {
            return Err(Code::OutOfRange);
        }
        if !self.exact_masks.is_empty() {
            record.iter_mut().zip(&self.exact_masks).for_each(|(byte, mask)| *byte |= mask);
        }
        for i in &self.special {
            self.check_key(&layout.keys[*i], record)?;
        }
        if layout.priority_at.is_some() && layout.priority(record) <= 0 {
            return Err(Code::InvalidArgument);
        }
        if op == RecordOp::Delete {
            return Ok(());
        }
        let action = match layout.kind_at.map(|at| record[at]) {
            Some(RecordLayout::MEMBER) if layout.action(record) != 0 => None,
            Some(RecordLayout::GROUP) if layout.action(record) != 0 && self.has_groups => None,
            Some(_) => return Err(Code::InvalidArgument),
            None => {
                let action = self.actions.get(layout.action(record) as usize).and_then(Option::as_ref);
                Some(action.ok_or(Code::InvalidArgument)?)
            }
        };
        if let Some(action) = action {
            if !action.is_for_entries() {
                return Err(Code::PermissionDenied);
            }
            if has_any(record, &action.forbidden) {
                return Err(Code::OutOfRange);
            }
        }
        if let Some(at) = layout.idle_timeout_at
            && word(record, at) > i64::MAX as u64
        {
            return Err(Code::InvalidArgument);
        }
        if let Some(at) = layout.count_at {
            let (n_packets, n_bytes) = (word(record, at), word(record, at + 8));
            let is_used = n_packets != 0 || n_bytes != 0;
            if n_packets.max(n_bytes) > i64::MAX as u64 || is_used && action.is_some_and(|of| !of.may_count) {
                return Err(Code::InvalidArgument);
            }
        }
        match layout.rates_at {
            Some(at) => self.check_rates(record, at, action.is_none_or(|of| of.may_meter)),
            None => Ok(()),
        }
    }

    fn check_key(&self, key: &RecordKey, record: &[u8]) -> Result<(), Code> {
        let Some(mask) = self.layout.mask(key) else { return Ok(()) };
        let is_good = if key.value.size <= 8 {
            let (value, mask) = (small(record, &key.value), small(record, &mask));
            let ones = u64::MAX >> (64 - key.value.width_bits.clamp(1, 64));
            is_match(key.kind, value.into(), mask.into(), ones.into())
        } else if key.value.size <= 16 {
            let (value, mask) = (large(record, &key.value), large(record, &mask));
            is_match(key.kind, value, mask, u128::MAX >> (128 - key.value.width_bits.clamp(1, 128)))
        } else {
            let read = |field: &RecordField| {
                Bits::from_bytes_le(key.value.width_bits, &record[field.offset..field.end()])
            };
            is_wide_match(key.kind, &read(&key.value), &read(&mask))
        };
        if is_good { Ok(()) } else { Err(Code::InvalidArgument) }
    }

    fn check_rates(&self, record: &mut [u8], at: usize, may_meter: bool) -> Result<(), Code> {
        let set = at + RecordLayout::RATES_SET;
        let is_set = word(record, set) as u32 != 0;
        let meter_type = match self.meter_type {
            MeterType::TwoRateThreeColor => 0u64,
            MeterType::SingleRateThreeColor => 1,
            MeterType::SingleRateTwoColor => 2,
        };
        if !is_set {
            // Rates without a configuration have no meaning.
            (0..5).for_each(|i| set_word(record, at + 8 * i, 0));
            set_word(record, set, meter_type << 32);
            return Ok(());
        }
        let config = self.meter_config(record);
        if !may_meter || config.is_none_or(|config| meter_config_fault(self.meter_type, &config).is_some()) {
            return Err(Code::InvalidArgument);
        }
        set_word(record, set, 1 | meter_type << 32);
        Ok(())
    }
}

/// The first words of a record.
#[inline]
fn words<const N: usize>(record: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    words.iter_mut().zip(record.as_chunks().0).for_each(|(to, from)| *to = u64::from_ne_bytes(*from));
    words
}

#[inline]
fn has_any(record: &[u8], bits: &[u8]) -> bool {
    let words = record.as_chunks::<8>().0.iter().zip(bits.as_chunks::<8>().0);
    words.fold(0, |any, (word, bits)| any | u64::from_ne_bytes(*word) & u64::from_ne_bytes(*bits)) != 0
}

fn small(record: &[u8], field: &RecordField) -> u64 {
    let bytes = &record[field.offset..field.end()];
    bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn large(record: &[u8], field: &RecordField) -> u128 {
    let bytes = &record[field.offset..field.end()];
    bytes.iter().rev().fold(0, |n, byte| n << 8 | u128::from(*byte))
}

/// Returns whether value and mask are those of a match of this kind; `ones` has all bits of the value's width.
fn is_match(kind: RecordMatch, value: u128, mask: u128, ones: u128) -> bool {
    let is_within = value & !mask == 0;
    match kind {
        RecordMatch::Exact => true,
        RecordMatch::Lpm => {
            let rest = ones & !mask;
            is_within && rest & rest.wrapping_add(1) == 0
        }
        RecordMatch::Ternary => is_within,
        RecordMatch::Range => value <= mask,
        RecordMatch::Optional => is_within && (mask == 0 || mask == ones),
    }
}

fn is_wide_match(kind: RecordMatch, value: &Bits, mask: &Bits) -> bool {
    let is_within = value.and(&mask.not()).is_zero();
    match kind {
        RecordMatch::Exact => true,
        RecordMatch::Lpm => is_within && Bits::prefix_mask(mask.width(), mask.leading_ones()) == *mask,
        RecordMatch::Ternary => is_within,
        RecordMatch::Range => value.cmp_unsigned(mask).is_le(),
        RecordMatch::Optional => is_within && (mask.is_zero() || *mask == Bits::ones(mask.width())),
    }
}
