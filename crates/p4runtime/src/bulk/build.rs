//! Records to sets.

use super::columns::{fixed, var};
use control::records::{RecordBlock, RecordField, RecordLayout, RecordMatch, RecordOp, RecordPlan};
use p4info::proto::siding::bulk::v1 as pb;
use prost::bytes::Bytes;

/// The set of records that were read: [`CheckedSet`](super::CheckedSet) gives the same records.
pub fn build_set(plan: &RecordPlan, op: RecordOp, block: &RecordBlock) -> pb::TableSet {
    let layout = &plan.layout;
    let records: Vec<&[u8]> = block.records.chunks_exact(layout.record_bytes).collect();
    let keys = plan.fields.iter().zip(&layout.keys).map(|(field, key)| {
        let value = fixed(column(&records, &key.value));
        let mut column = pb::KeyColumn { field_id: field.0, value, second: None, present: Bytes::new() };
        let Some(mask) = layout.mask(key).filter(|_| key.kind != RecordMatch::Exact) else { return column };
        let bytes = |record: &[u8]| record[mask.offset..mask.end()].to_vec();
        column.second = match key.kind {
            RecordMatch::Exact | RecordMatch::Optional => None,
            RecordMatch::Ternary | RecordMatch::Range => fixed(self::column(&records, &mask)),
            RecordMatch::Lpm => {
                let length = |record: &&[u8]| {
                    ir::Bits::from_bytes_le(mask.width_bits, &bytes(record)).leading_ones() as u16
                };
                let is_wide = mask.width_bits > 255;
                let lengths = records.iter().map(length).flat_map(|length| length.to_be_bytes());
                fixed(
                    lengths
                        .enumerate()
                        .filter(|(i, _)| is_wide || i % 2 == 1)
                        .map(|(_, byte)| byte)
                        .collect(),
                )
            }
        };
        let is_present = |record: &&[u8]| match key.kind {
            RecordMatch::Range => true,
            _ => bytes(record).iter().any(|byte| *byte != 0),
        };
        column.present = bits(records.iter().map(is_present));
        column
    });
    let mut set = pb::TableSet {
        table_id: plan.table.0,
        n: records.len() as u32,
        op: match op {
            RecordOp::Insert => pb::Op::Insert,
            RecordOp::Modify => pb::Op::Modify,
            RecordOp::Delete => pb::Op::Delete,
            RecordOp::Upsert => pb::Op::Upsert,
        }
        .into(),
        keys: keys.collect(),
        ..pb::TableSet::default()
    };
    let be = |at: usize, n: usize| {
        fixed(records.iter().flat_map(|record| record[at..at + n].iter().rev().copied()).collect())
    };
    set.priority = layout.priority_at.and_then(|at| be(at, 4));
    if op == RecordOp::Delete {
        return set;
    }
    add_actions(plan, &records, &mut set);
    set.idle_timeout = layout.idle_timeout_at.and_then(|at| be(at, 8));
    let numbers = |record: &[u8], at: usize, n: usize| -> Vec<u8> {
        (0..n).flat_map(|i| record[at + 8 * i..at + 8 * i + 8].iter().rev().copied()).collect()
    };
    set.count = layout
        .count_at
        .and_then(|at| fixed(records.iter().flat_map(|record| numbers(record, at, 2)).collect()));
    set.meter = layout.rates_at.and_then(|at| {
        let config = |record: &&[u8]| match record[at + RecordLayout::RATES_SET] {
            0 => vec![0xff; 40],
            _ => numbers(record, at, 5),
        };
        fixed(records.iter().flat_map(config).collect())
    });
    if !block.metadata.is_empty() {
        let mut all = vec![&[][..]; records.len()];
        for (i, metadata) in &block.metadata {
            all[*i] = metadata;
        }
        set.metadata = var(all.into_iter());
    }
    set
}

/// The values of a field, big-endian.
fn column(records: &[&[u8]], field: &RecordField) -> Vec<u8> {
    let n_bytes = (field.width_bits.div_ceil(8) as usize).max(1);
    let (from, to) = (field.offset, field.offset + n_bytes);
    let mut all = vec![0; records.len() * n_bytes];
    for (record, value) in records.iter().zip(all.chunks_exact_mut(n_bytes)) {
        value.copy_from_slice(&record[from..to]);
        value.reverse();
    }
    all
}

/// One bit for each; nothing if all are set.
fn bits(all: impl Iterator<Item = bool>) -> Bytes {
    let (mut bytes, mut are_all) = (Vec::new(), true);
    for (i, is_set) in all.enumerate() {
        if i % 8 == 0 {
            bytes.push(0);
        }
        bytes[i / 8] |= u8::from(is_set) << (i % 8);
        are_all &= is_set;
    }
    if are_all { Bytes::new() } else { bytes.into() }
}

/// Kinds of entries with an action set each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Action(u32),
    Members,
    Groups,
}

fn add_actions(plan: &RecordPlan, records: &[&[u8]], set: &mut pb::TableSet) {
    let layout = &plan.layout;
    let what = |record: &[u8]| match layout.kind_at.map(|at| record[at]) {
        None => What::Action(layout.action(record)),
        Some(RecordLayout::GROUP) => What::Groups,
        Some(_) => What::Members,
    };
    let (mut kinds, mut choice): (Vec<What>, Vec<usize>) = (Vec::new(), Vec::with_capacity(records.len()));
    for record in records {
        let of = what(record);
        let known = kinds.iter().position(|kind| *kind == of);
        choice.push(known.unwrap_or_else(|| {
            kinds.push(of);
            kinds.len() - 1
        }));
    }
    for (i, kind) in kinds.iter().enumerate() {
        let of_kind =
            records.iter().zip(&choice).filter(|(_, choice)| **choice == i).map(|(record, _)| *record);
        let of_kind: Vec<&[u8]> = of_kind.collect();
        let ids = || {
            let id = |record: &&[u8]| layout.action(record).to_be_bytes();
            fixed(of_kind.iter().flat_map(id).collect()).unwrap_or_default()
        };
        let action = match kind {
            What::Action(index) => plan.actions.get(*index as usize).and_then(Option::as_ref),
            What::Members | What::Groups => None,
        };
        let params = action
            .iter()
            .flat_map(|action| &action.params)
            .map(|(id, place)| pb::ParamColumn { param_id: id.0, value: fixed(column(&of_kind, place)) });
        let params = params.collect();
        let kind = match kind {
            What::Action(_) => pb::action_set::Kind::ActionId(action.map_or(0, |action| action.id.0)),
            What::Members => pb::action_set::Kind::Members(ids()),
            What::Groups => pb::action_set::Kind::Groups(ids()),
        };
        set.actions.push(pb::ActionSet { kind: Some(kind), params });
    }
    if kinds.len() > 1 {
        let is_wide = kinds.len() > 256;
        let index = choice.iter().flat_map(|choice| (*choice as u16).to_be_bytes());
        let index = index.enumerate().filter(|(i, _)| is_wide || i % 2 == 1).map(|(_, byte)| byte);
        set.choice = index.collect::<Vec<u8>>().into();
    }
}
