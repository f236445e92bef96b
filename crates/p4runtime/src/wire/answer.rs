//! Records to the bytes of a `ReadResponse`.

use super::backward::Backward;
use crate::answers::RESPONSE_BYTES_MAX;
use control::records::{RecordBlock, RecordField, RecordLayout, RecordMatch, RecordPlan};
use prost::bytes::Bytes;

/// Tags of fields: the number and the wire type.
const fn varint(field: u32) -> u8 {
    (field << 3) as u8
}

const fn message(field: u32) -> u8 {
    (field << 3 | 2) as u8
}

/// Encodes the records of a block, in their order, as `ReadResponse`s of at most [`RESPONSE_BYTES_MAX`] bytes, unless one
/// entry alone is longer. They have the bytes of the entries that the records describe. `has_rates`: with the configuration
/// of their meters.
pub fn encode_records(plan: &RecordPlan, has_rates: bool, block: &RecordBlock) -> Vec<Bytes> {
    let mut out = Backward::default();
    // Lengths at which responses begin, counted from the end.
    let mut cuts = vec![0];
    let mut begin = 0;
    let mut metadata = block.metadata.iter().rev().peekable();
    let records = block.records.chunks_exact(plan.layout.record_bytes);
    for (i, record) in records.enumerate().rev() {
        let of_this = metadata.next_if(|(of, _)| *of == i).map_or(&[][..], |(_, metadata)| metadata);
        let end = out.n_bytes();
        put_entry(&mut out, plan, has_rates, record, of_this);
        out.close(message(2), end);
        out.close(message(1), end);
        if out.n_bytes() - begin > RESPONSE_BYTES_MAX && end > begin {
            cuts.push(end);
            begin = end;
        }
    }
    let n_bytes = out.n_bytes();
    let mut rest = out.into_bytes();
    let response = |cut: usize| rest.split_to(rest.len() - cut);
    let responses: Vec<Bytes> = cuts.into_iter().rev().map(response).collect();
    if n_bytes > 0 { responses } else { Vec::new() }
}

/// A `TableEntry`, its last field first.
fn put_entry(out: &mut Backward, plan: &RecordPlan, has_rates: bool, record: &[u8], metadata: &[u8]) {
    let layout = &plan.layout;
    let kind = layout.kind_at.map(|at| record[at]);
    let action = match kind {
        None => plan.actions.get(layout.action(record) as usize).and_then(Option::as_ref),
        Some(_) => None,
    };
    if !metadata.is_empty() {
        let end = out.n_bytes();
        out.put(metadata);
        out.close(message(11), end);
    }
    if let Some(at) = layout.idle_timeout_at {
        put_number(out, varint(9), word(record, at));
    }
    if let Some(at) = layout.count_at.filter(|_| action.is_none_or(|of| of.may_count)) {
        let end = out.n_bytes();
        put_number(out, varint(2), word(record, at));
        put_number(out, varint(1), word(record, at + 8));
        out.close(message(7), end);
    }
    let rates = layout.rates_at.filter(|_| has_rates && action.is_none_or(|of| of.may_meter));
    if let Some(at) = rates.filter(|at| word(record, at + RecordLayout::RATES_SET) as u32 != 0) {
        let end = out.n_bytes();
        for field in (0..5).rev() {
            put_number(out, varint(field + 1), word(record, at + 8 * field as usize));
        }
        out.close(message(6), end);
    }
    // A negative number has ten bytes.
    put_number(out, varint(4), i64::from(layout.priority(record)) as u64);
    match (kind, action) {
        (None, None) => {}
        (None, Some(action)) => {
            let end = out.n_bytes();
            for (id, place) in action.params.iter().rev() {
                let end = out.n_bytes();
                put_value(out, message(3), record, place);
                out.varint(u64::from(id.0));
                out.byte(varint(2));
                out.close(message(4), end);
            }
            out.varint(u64::from(action.id.0));
            out.byte(varint(1));
            out.close(message(1), end);
            out.close(message(3), end);
        }
        (Some(kind), _) => {
            let field = if kind == RecordLayout::GROUP { 3 } else { 2 };
            let end = out.n_bytes();
            // Part of a choice, so it is there if it is 0, too.
            out.varint(u64::from(layout.action(record)));
            out.byte(varint(field));
            out.close(message(3), end);
        }
    }
    for i in (0..layout.keys.len()).rev() {
        put_match(out, plan, i, record);
    }
    out.varint(u64::from(plan.table.0));
    out.byte(varint(1));
}

/// A `FieldMatch`, unless the element matches anything.
fn put_match(out: &mut Backward, plan: &RecordPlan, i: usize, record: &[u8]) {
    let key = &plan.layout.keys[i];
    let mask = plan.layout.mask(key);
    let end = out.n_bytes();
    let field = match (key.kind, mask) {
        (RecordMatch::Exact, _) | (_, None) => 2,
        (kind, Some(mask)) => {
            let (value, second) =
                (&record[key.value.offset..key.value.end()], &record[mask.offset..mask.end()]);
            let is_any = match kind {
                RecordMatch::Range => is_zero(value) && n_ones(second) == mask.width_bits,
                _ => is_zero(value) && is_zero(second),
            };
            if is_any {
                return;
            }
            match kind {
                RecordMatch::Exact => 2,
                RecordMatch::Ternary => {
                    put_value(out, message(2), record, &mask);
                    3
                }
                RecordMatch::Lpm => {
                    put_number(out, varint(2), u64::from(n_ones(second)));
                    4
                }
                RecordMatch::Range => {
                    put_value(out, message(2), record, &mask);
                    6
                }
                RecordMatch::Optional => 7,
            }
        }
    };
    put_value(out, message(1), record, &key.value);
    out.close(message(field), end);
    out.varint(u64::from(plan.fields[i].0));
    out.byte(varint(1));
    out.close(message(2), end);
}

/// A number, unless it is 0.
fn put_number(out: &mut Backward, tag: u8, value: u64) {
    if value != 0 {
        out.varint(value);
        out.byte(tag);
    }
}

/// A value in as few bytes as it needs, one for 0 (P4Runtime, "Bytestrings").
#[inline]
fn put_value(out: &mut Backward, tag: u8, record: &[u8], place: &RecordField) {
    let end = out.n_bytes();
    out.put_number_be(&record[place.offset..place.end()]);
    out.close(tag, end);
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn n_ones(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| byte.count_ones()).sum()
}

fn word(record: &[u8], at: usize) -> u64 {
    record[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}
