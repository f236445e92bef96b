//! Records to entries and back, and their faults.

use super::layout::{RecordField, RecordKey, RecordLayout, RecordMatch, set_word, word};
use super::{RecordOp, RecordPlan};
use crate::entity::*;
use crate::fault::{Fault, Inside, Problem};
use crate::ids::{GroupId, MemberId};
use crate::schema::Schema;
use crate::update::{Update, UpdateKind};
use crate::validate::validate;
use ir::Bits;

impl RecordPlan {
    /// The entry that a record describes. Of a record that [`check`](RecordPlan::check) refuses: as near as possible.
    pub fn entry(&self, op: RecordOp, record: &[u8]) -> TableEntry {
        let layout = &self.layout;
        let matches = self.fields.iter().zip(&layout.keys).filter_map(|(field, key)| {
            let value = self.matched(key, record)?;
            Some(FieldMatch { field: *field, value })
        });
        let mut entry = TableEntry::new(self.table, matches.collect(), layout.priority(record));
        if op == RecordOp::Delete {
            return entry;
        }
        entry.action = self.action(record);
        if let Some(at) = layout.idle_timeout_at {
            entry.idle_timeout_ns = word(record, at) as i64;
        }
        if let Some(at) = layout.count_at {
            let (n_packets, n_bytes) = (word(record, at) as i64, word(record, at + 8) as i64);
            entry.counter_data = Some(CounterData { n_packets, n_bytes });
        }
        entry.meter_config = self.meter_config(record);
        entry
    }

    fn action(&self, record: &[u8]) -> Option<TableAction> {
        let layout = &self.layout;
        let what = layout.action(record);
        match layout.kind_at.map(|at| record[at]) {
            Some(RecordLayout::MEMBER) => return Some(TableAction::Member(MemberId(what))),
            Some(RecordLayout::GROUP) => return Some(TableAction::Group(GroupId(what))),
            Some(_) => return None,
            None => {}
        }
        let action = self.actions.get(what as usize)?.as_ref()?;
        let param = |(id, place): &(_, RecordField)| Param { id: *id, value: bits(record, place).into() };
        Some(TableAction::Action(Action { id: action.id, params: action.params.iter().map(param).collect() }))
    }

    /// The match of a key element; `None` if it matches anything.
    fn matched(&self, key: &RecordKey, record: &[u8]) -> Option<Match> {
        let value = bits(record, &key.value);
        let mask = self.layout.mask(key).map(|field| bits(record, &field));
        let width = key.value.width_bits;
        Some(match (key.kind, mask) {
            (RecordMatch::Exact, _) | (_, None) => Match::Exact(value.into()),
            (RecordMatch::Range, Some(high)) if value.is_zero() && high == Bits::ones(width) => return None,
            (RecordMatch::Range, Some(high)) => Match::Range { low: value, high },
            (_, Some(mask)) if mask.is_zero() && value.is_zero() => return None,
            (RecordMatch::Lpm, Some(mask)) => Match::Lpm { value, prefix_len: mask.leading_ones() },
            (RecordMatch::Ternary, Some(mask)) => Match::Ternary { value, mask },
            (RecordMatch::Optional, Some(_)) => Match::Optional(value.into()),
        })
    }

    /// The configuration of the meter in a record; numbers that P4Runtime cannot express become -1.
    pub(super) fn meter_config(&self, record: &[u8]) -> Option<MeterConfig> {
        let at = self.layout.rates_at.filter(|at| word(record, at + RecordLayout::RATES_SET) as u32 != 0)?;
        let number = |i: usize| i64::try_from(word(record, at + 8 * i)).unwrap_or(-1);
        let (cir, cburst, pir, pburst, eburst) = (number(0), number(1), number(2), number(3), number(4));
        Some(MeterConfig { cir, cburst, pir, pburst, eburst })
    }

    /// The record of an entry that has passed [`validate()`](crate::validate()). `None` if it does not fit a record: it is a
    /// default entry, has a one-shot, or a part that the layout lacks. Metadata is not looked at.
    pub fn record(&self, op: RecordOp, entry: &TableEntry) -> Option<Vec<u8>> {
        let layout = &self.layout;
        let mut record = vec![0; layout.record_bytes];
        if entry.is_default_action || entry.table != self.table {
            return None;
        }
        for (field, key) in self.fields.iter().zip(&layout.keys) {
            let found = entry.matches.iter().find(|found| found.field == *field);
            self.set_match(key, found.map(|found| &found.value), &mut record)?;
        }
        layout.set_priority(&mut record, entry.priority);
        if op == RecordOp::Delete {
            return Some(record);
        }
        match (entry.action.as_ref()?, layout.kind_at) {
            (TableAction::Action(action), None) => {
                let (index, of) = self.action_of(action.id)?;
                layout.set_action(&mut record, index);
                for (id, place) in &of.params {
                    let given = action.params.iter().find(|param| param.id == *id)?;
                    put(&mut record, place, given.value.bits()?);
                }
            }
            (TableAction::Member(MemberId(id)), Some(at)) => {
                record[at] = RecordLayout::MEMBER;
                layout.set_action(&mut record, *id);
            }
            (TableAction::Group(GroupId(id)), Some(at)) => {
                record[at] = RecordLayout::GROUP;
                layout.set_action(&mut record, *id);
            }
            (TableAction::Action(_), Some(_))
            | (TableAction::Member(_) | TableAction::Group(_), None)
            | (TableAction::OneShot(_), _) => return None,
        }
        match (layout.idle_timeout_at, entry.idle_timeout_ns) {
            (Some(at), timeout) => set_word(&mut record, at, u64::try_from(timeout).ok()?),
            (None, 0) => {}
            (None, _) => return None,
        }
        match (layout.count_at, entry.counter_data) {
            (Some(at), Some(CounterData { n_packets, n_bytes })) => {
                set_word(&mut record, at, u64::try_from(n_packets).ok()?);
                set_word(&mut record, at + 8, u64::try_from(n_bytes).ok()?);
            }
            (Some(_), None) if op == RecordOp::Modify => return None,
            (_, None) => {}
            (None, Some(_)) => return None,
        }
        match (layout.rates_at, entry.meter_config) {
            (Some(at), Some(MeterConfig { cir, cburst, pir, pburst, eburst })) => {
                for (i, number) in [cir, cburst, pir, pburst, eburst].into_iter().enumerate() {
                    set_word(&mut record, at + 8 * i, u64::try_from(number).ok()?);
                }
                set_word(&mut record, at + RecordLayout::RATES_SET, 1);
            }
            (_, None) => {}
            (None, Some(_)) => return None,
        }
        Some(record)
    }

    fn set_match(&self, key: &RecordKey, found: Option<&Match>, record: &mut [u8]) -> Option<()> {
        let width = key.value.width_bits;
        let (value, mask) = match (key.kind, found) {
            (RecordMatch::Exact, Some(Match::Exact(value))) => (value.bits()?.clone(), Bits::ones(width)),
            (RecordMatch::Exact, _) => return None,
            (RecordMatch::Range, None) => (Bits::zero(width), Bits::ones(width)),
            (RecordMatch::Range, Some(Match::Range { low, high })) => (low.clone(), high.clone()),
            (RecordMatch::Lpm | RecordMatch::Ternary | RecordMatch::Optional, None) => {
                (Bits::zero(width), Bits::zero(width))
            }
            (RecordMatch::Lpm, Some(Match::Lpm { value, prefix_len })) => {
                (value.clone(), Bits::prefix_mask(width, *prefix_len))
            }
            (RecordMatch::Ternary, Some(Match::Ternary { value, mask })) => (value.clone(), mask.clone()),
            (RecordMatch::Optional, Some(Match::Optional(value))) => {
                (value.bits()?.clone(), Bits::ones(width))
            }
            (
                RecordMatch::Range | RecordMatch::Lpm | RecordMatch::Ternary | RecordMatch::Optional,
                Some(_),
            ) => {
                return None;
            }
        };
        put(record, &key.value, &value);
        if let Some(place) = self.layout.mask(key) {
            put(record, &place, &mask);
        }
        Some(())
    }

    /// The fault of a record that [`check`](RecordPlan::check) refuses.
    pub fn fault(&self, schema: &Schema, op: RecordOp, record: &[u8]) -> Option<Fault> {
        let name = || schema.name_of(self.table.0);
        for (i, key) in self.layout.keys.iter().enumerate() {
            let place = self.layout.mask(key).filter(|_| key.kind != RecordMatch::Range);
            let Some(place) = place else { continue };
            let (value, mask) = (bits(record, &key.value), bits(record, &place));
            let name = self.key_name(schema, i);
            let problem = match key.kind {
                _ if value.width().max(mask.width()) > key.value.width_bits => {
                    let width_bits = key.value.width_bits;
                    let wide = if value.width() > width_bits { value } else { mask };
                    Problem::TooWide { name, value: format!("{wide:#x}"), width_bits }
                }
                RecordMatch::Lpm if Bits::prefix_mask(mask.width(), mask.leading_ones()) != mask => {
                    Problem::MaskNotPrefix { name, mask: format!("{mask:#x}") }
                }
                RecordMatch::Optional if !mask.is_zero() && mask != Bits::ones(mask.width()) => {
                    Problem::MaskNotWhole { name, mask: format!("{mask:#x}") }
                }
                // An element that matches anything is left out of the entry.
                RecordMatch::Lpm | RecordMatch::Ternary | RecordMatch::Optional
                    if mask.is_zero() && !value.is_zero() =>
                {
                    let (value, mask, canonical) =
                        (format!("{value:#x}"), format!("{mask:#x}"), "0x0".into());
                    Problem::BitsBeyondMask { name, value, mask, canonical }
                }
                RecordMatch::Optional if !value.and(&mask.not()).is_zero() => continue,
                RecordMatch::Exact
                | RecordMatch::Lpm
                | RecordMatch::Ternary
                | RecordMatch::Range
                | RecordMatch::Optional => continue,
            };
            return Some(Fault::from(problem).inside(format_args!("match[{i}]")));
        }
        if op != RecordOp::Delete {
            let what = self.layout.action(record);
            match self.layout.kind_at.map(|at| record[at]) {
                Some(RecordLayout::MEMBER | RecordLayout::GROUP) => {}
                Some(kind) => return Some(Problem::UnknownRecordKind { table: name(), kind }.into()),
                None if !self.actions.get(what as usize).is_some_and(Option::is_some) => {
                    return Some(Problem::UnknownActionIndex { table: name(), index: what }.into());
                }
                None => {}
            }
        }
        let kind = match op {
            RecordOp::Insert | RecordOp::Upsert => UpdateKind::Insert,
            RecordOp::Modify => UpdateKind::Modify,
            RecordOp::Delete => UpdateKind::Delete,
        };
        let mut entry = self.entry(op, record);
        // No count is the same as a count of zero, for actions that do not count.
        entry.counter_data = entry.counter_data.filter(|data| data.n_packets != 0 || data.n_bytes != 0);
        validate(schema, &Update { kind, entity: Entity::TableEntry(entry) }).inside("table_entry").err()
    }

    fn key_name(&self, schema: &Schema, i: usize) -> smol_str::SmolStr {
        let keys = schema.tables.get(self.table).map(|table| &table.keys);
        keys.and_then(|keys| keys.get(i)).map(|key| key.name.clone()).unwrap_or_default()
    }
}

/// A value as wide as it is, or wider if it has forbidden bits.
fn bits(record: &[u8], field: &RecordField) -> Bits {
    let bytes = &record[field.offset..field.end()];
    let value = Bits::from_bytes_le(field.size as u32 * 8, bytes);
    let n_bits = field.size as u32 * 8;
    let n_leading = (0..n_bits).rev().take_while(|i| !value.bit(*i)).count() as u32;
    value.resize((n_bits - n_leading).max(field.width_bits))
}

fn put(record: &mut [u8], field: &RecordField, value: &Bits) {
    value.resize(field.width_bits).write_bytes_le(&mut record[field.offset..field.end()]);
}
