//! An update of a table entry to its record.

use super::cursor::{BYTES, Cursor, VARINT};
use super::shape::{Copy, Shape};
use control::UpdateKind;
use control::records::{N_RECORDS_OF_STEP, RecordField, RecordKey, RecordMatch, RecordPlan};
use std::sync::Arc;

/// Key elements of a table whose updates are decoded here, at most.
const N_KEYS_MAX: usize = 64;
/// Updates after which the decoder pauses.
const N_BETWEEN_PAUSES: usize = 128;
/// Shapes of messages that are remembered.
const N_SHAPES: usize = 16;
/// Messages that were not alike and are remembered: the first ones, and one of so many.
const N_LEARNED: u32 = 64;

/// Decodes updates of entries of one table.
#[derive(Debug)]
pub(super) struct EntryDecoder {
    pub(super) plan: Arc<RecordPlan>,
    /// A record in which no key element is given.
    empty: Vec<u8>,
    /// Bits of the key elements that must be given.
    needed: u64,
    /// By the length of the message.
    shapes: [Option<Shape>; N_SHAPES],
    /// Values of the message that is being decoded.
    copies: Vec<Copy>,
    /// Others may be like it, values apart.
    is_shape: bool,
    n_decoded: u32,
}

/// Table and kind of an update, and the rest of the entry.
pub(super) struct Opened<'b> {
    pub(super) kind: UpdateKind,
    pub(super) table_id: u32,
    rest: Cursor<'b>,
}

/// Begins to decode an update; `None` if it is no update of a table entry in the usual form.
pub(super) fn open(update: &[u8]) -> Option<Opened<'_>> {
    let mut cursor = Cursor::new(update);
    let kind = match cursor.has(1, VARINT).then(|| cursor.varint())?? {
        1 => UpdateKind::Insert,
        2 => UpdateKind::Modify,
        3 => UpdateKind::Delete,
        _ => return None,
    };
    let mut entity = Cursor::new(cursor.field(2)?);
    let mut rest = Cursor::new(entity.field(2)?);
    let table_id = if rest.has(1, VARINT) { rest.u32()? } else { return None };
    (cursor.is_empty() && entity.is_empty()).then_some(Opened { kind, table_id, rest })
}

impl EntryDecoder {
    /// `None` if entries of the table are decoded in full.
    pub(super) fn new(plan: Arc<RecordPlan>) -> Option<EntryDecoder> {
        let layout = &plan.layout;
        if layout.keys.len() > N_KEYS_MAX || layout.kind_at.is_some() || layout.parts.count {
            return None;
        }
        let mut empty = vec![0; layout.record_bytes];
        for key in layout.keys.iter().filter(|key| key.kind == RecordMatch::Range) {
            let ones = ir::Bits::ones(key.value.width_bits);
            let field = layout.mask(key)?;
            ones.write_bytes_le(&mut empty[field.offset..field.end()]);
        }
        let is_exact = |(i, key): (usize, &RecordKey)| u64::from(key.kind == RecordMatch::Exact) << i;
        let needed = layout.keys.iter().enumerate().map(is_exact).fold(0, |all, bit| all | bit);
        let shapes = [const { None }; N_SHAPES];
        Some(EntryDecoder { plan, empty, needed, shapes, copies: Vec::new(), is_shape: false, n_decoded: 0 })
    }

    /// Decodes updates that follow each other, as long as they are of the kind and table of the first one, and appends their
    /// records. Calls `pause` now and then. Returns their number, which is 0 if the first one has to be decoded in full.
    pub(super) fn decode_many<'b>(
        &mut self,
        updates: &[&'b [u8]],
        mut first: Opened<'b>,
        records: &mut Vec<u8>,
        pause: &dyn Fn(),
    ) -> usize {
        let (kind, table_id, n_bytes) = (first.kind, first.table_id, self.plan.layout.record_bytes);
        let mut n = 0;
        for update in updates.iter().take(N_RECORDS_OF_STEP) {
            if n > 0 {
                if n % N_BETWEEN_PAUSES == 0 {
                    pause();
                    // For four times as many, in the place of twice as many.
                    if records.capacity() - records.len() < N_BETWEEN_PAUSES * n_bytes {
                        records.reserve((3 * n).min(updates.len() - n) * n_bytes);
                    }
                }
                if self.again(kind, update, records) {
                    n += 1;
                    continue;
                }
                match open(update) {
                    Some(opened) if opened.kind == kind && opened.table_id == table_id => first = opened,
                    _ => return n,
                }
            }
            if self.decode(update, &first, records).is_none() {
                records.truncate(n * n_bytes);
                return n;
            }
            n += 1;
        }
        n
    }

    /// Decodes an update of this kind that looks like an earlier one, and appends its record.
    #[inline]
    fn again(&self, kind: UpdateKind, update: &[u8], records: &mut Vec<u8>) -> bool {
        let shape = self.shapes[update.len() % N_SHAPES].as_ref();
        shape.is_some_and(|shape| shape.decode(kind, update, records))
    }

    fn decode(&mut self, update: &[u8], opened: &Opened<'_>, records: &mut Vec<u8>) -> Option<()> {
        let at = records.len();
        records.extend_from_slice(&self.empty);
        self.copies.clear();
        self.is_shape = true;
        self.fill(update, opened, &mut records[at..])?;
        // Messages that are never alike are not worth the effort.
        self.n_decoded = self.n_decoded.wrapping_add(1);
        if self.is_shape && (self.n_decoded <= N_LEARNED || self.n_decoded.is_multiple_of(N_LEARNED)) {
            self.remember(opened.kind, update, &records[at..]);
        }
        Some(())
    }

    fn fill(&mut self, update: &[u8], opened: &Opened<'_>, record: &mut [u8]) -> Option<()> {
        let Opened { kind, mut rest, .. } = *opened;
        let plan = Arc::clone(&self.plan);
        let (mut given, mut next) = (0u64, 0);
        while rest.has(2, BYTES) {
            let mut field = Cursor::new(rest.bytes()?);
            let id = if field.has(1, VARINT) { field.u32()? } else { return None };
            // Clients mostly keep to the order of P4Info.
            let i = match plan.fields.get(next).is_some_and(|of| of.0 == id) {
                true => next,
                false => plan.key_of(control::FieldId(id))?,
            };
            next = i + 1;
            if given & 1 << i != 0 {
                return None;
            }
            given |= 1 << i;
            self.field(update, &plan, &plan.layout.keys[i], field, record)?;
        }
        if given & self.needed != self.needed {
            return None;
        }
        let mut has_action = false;
        if rest.has(3, BYTES) {
            let mut action = Cursor::new(rest.bytes()?);
            let call = action.field(1).filter(|_| action.is_empty())?;
            self.action(update, &plan, Cursor::new(call), record)?;
            has_action = true;
        }
        if rest.has(4, VARINT) {
            let priority = i32::try_from(rest.varint()?).ok()?;
            plan.layout.priority_at?;
            plan.layout.set_priority(record, priority);
        }
        if rest.has(9, VARINT) {
            let at = plan.layout.idle_timeout_at?;
            record[at..at + 8].copy_from_slice(&rest.varint()?.to_le_bytes());
        }
        (rest.is_empty() && (has_action || kind == UpdateKind::Delete)).then_some(())
    }

    fn field(
        &mut self,
        update: &[u8],
        plan: &RecordPlan,
        key: &RecordKey,
        mut field: Cursor<'_>,
        record: &mut [u8],
    ) -> Option<()> {
        let number = match key.kind {
            RecordMatch::Exact => 2,
            RecordMatch::Ternary => 3,
            RecordMatch::Lpm => 4,
            RecordMatch::Range => 6,
            RecordMatch::Optional => 7,
        };
        let mut found = Cursor::new(field.field(number)?);
        let value = found.field(1)?;
        let mask = plan.layout.mask(key);
        match (key.kind, mask) {
            (RecordMatch::Exact, _) => {}
            (_, None) => return None,
            (RecordMatch::Optional, Some(mask)) => {
                let ones = ir::Bits::ones(mask.width_bits);
                ones.write_bytes_le(&mut record[mask.offset..mask.end()]);
            }
            (RecordMatch::Lpm, Some(mask)) => {
                let prefix_len = if found.has(2, VARINT) { found.u32()? } else { return None };
                if prefix_len == 0 || prefix_len > mask.width_bits {
                    return None;
                }
                let ones = ir::Bits::prefix_mask(mask.width_bits, prefix_len);
                ones.write_bytes_le(&mut record[mask.offset..mask.end()]);
            }
            (RecordMatch::Ternary | RecordMatch::Range, Some(mask)) => {
                let second = found.field(2)?;
                record[mask.offset..mask.end()].fill(0);
                put_value(second, &mask, record)?;
            }
        }
        self.value(update, value, &key.value, record)?;
        // Elements that match anything are left out: whoever writes them is told.
        let is_any = match (key.kind, mask) {
            (RecordMatch::Ternary, Some(mask)) => {
                record[mask.offset..mask.end()].iter().all(|byte| *byte == 0)
            }
            (RecordMatch::Range, Some(mask)) => {
                // The low end decides with the high end, so another low end is another shape.
                self.is_shape = false;
                let low = &record[key.value.offset..key.value.end()];
                low.iter().all(|byte| *byte == 0)
                    && record[mask.offset..mask.end()] == self.empty[mask.offset..mask.end()]
            }
            _ => false,
        };
        (!is_any && found.is_empty() && field.is_empty()).then_some(())
    }

    fn action(
        &mut self,
        update: &[u8],
        plan: &RecordPlan,
        mut call: Cursor<'_>,
        record: &mut [u8],
    ) -> Option<()> {
        let id = if call.has(1, VARINT) { call.u32()? } else { return None };
        let (index, action) = plan.action_of(control::ActionId(id))?;
        plan.layout.set_action(record, index);
        let (mut given, mut next) = (0u64, 0);
        while call.has(4, BYTES) {
            let mut param = Cursor::new(call.bytes()?);
            let id = if param.has(2, VARINT) { param.u32()? } else { return None };
            let value = param.field(3)?;
            let i = match action.params.get(next).is_some_and(|(of, _)| of.0 == id) {
                true => next,
                false => action.params.iter().position(|(of, _)| of.0 == id)?,
            };
            next = i + 1;
            if i >= N_KEYS_MAX || given & 1 << i != 0 || !param.is_empty() {
                return None;
            }
            given |= 1 << i;
            self.value(update, value, &action.params[i].1, record)?;
        }
        (call.is_empty() && given.count_ones() as usize == action.params.len()).then_some(())
    }

    /// Writes a value that another message of this shape may have another one for.
    fn value(&mut self, update: &[u8], value: &[u8], place: &RecordField, record: &mut [u8]) -> Option<()> {
        put_value(value, place, record)?;
        // Leading zeros that have no place: other digits might not fit.
        self.is_shape &= value.len() <= place.size;
        let from = value.as_ptr().addr() - update.as_ptr().addr();
        self.copies.push(Copy { from, n: value.len(), to: place.offset });
        Some(())
    }

    fn remember(&mut self, kind: UpdateKind, update: &[u8], record: &[u8]) {
        if let Some(shape) = Shape::of(kind, update, record, &self.copies) {
            self.shapes[update.len() % N_SHAPES] = Some(shape);
        }
    }
}

/// Writes a value; `None` if it is empty or does not fit the bytes of its place, which are zero.
fn put_value(value: &[u8], place: &RecordField, record: &mut [u8]) -> Option<()> {
    let n_zeros = value.iter().take_while(|byte| **byte == 0).count();
    let digits = &value[n_zeros..];
    if value.is_empty() || digits.len() > place.size {
        return None;
    }
    put(digits, &mut record[place.offset..place.offset + digits.len()]);
    Some(())
}

/// Copies a value from big-endian to little-endian order.
#[inline]
fn put(from: &[u8], to: &mut [u8]) {
    match (from, to) {
        (&[a], [to]) => *to = a,
        (&[a, b], to) if to.len() == 2 => to.copy_from_slice(&[b, a]),
        (&[a, b, c, d], to) if to.len() == 4 => to.copy_from_slice(&[d, c, b, a]),
        (from, to) => to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from),
    }
}
