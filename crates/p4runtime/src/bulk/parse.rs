//! Sets to records.

use super::columns::{Slots, bad, put};
use crate::Inside;
use control::records::{
    N_RECORDS_OF_STEP, PlannedAction, RecordField, RecordKey, RecordLayout, RecordMatch, RecordOp, RecordPlan,
};
use control::{ActionId, Fault, FieldId, ParamId, Problem};
use p4info::proto::siding::bulk::v1 as pb;
use std::ops::Range;

/// Bytes of records that are filled at once: a part of the first cache.
const CACHED_BYTES: usize = 8 << 10;

/// A set that is well-formed. Its entries become records a block at a time: a block stays in the cache until it is written.
#[derive(Debug)]
pub struct CheckedSet<'s> {
    pub op: RecordOp,
    n: usize,
    /// A record with the values that all entries have, and zeros.
    common: Vec<u8>,
    /// In this order: later ones write over earlier ones.
    parts: Vec<Part<'s>>,
    metadata: Option<Slots<'s>>,
    faults: Vec<(usize, Fault)>,
}

/// Bytes of records that are not the same for all entries.
#[derive(Debug)]
enum Part<'s> {
    Number {
        column: Slots<'s>,
        offset: usize,
    },
    /// So many numbers of 8 bytes.
    Numbers {
        column: Slots<'s>,
        offset: usize,
        n: usize,
    },
    /// The mask of a prefix; `masks` has one for each length.
    Prefix {
        lengths: Slots<'s>,
        mask: RecordField,
        masks: Vec<u8>,
    },
    /// Value and mask of a key element where an entry has none.
    Absent {
        present: &'s [u8],
        value: RecordField,
        mask: RecordField,
        mask_bytes: Vec<u8>,
    },
    /// The rates of a meter, which are there unless all bytes are ones.
    Rates {
        column: Slots<'s>,
        offset: usize,
    },
    Action {
        /// Entries that have it, in their order.
        entries: Vec<usize>,
        of: ActionParts<'s>,
    },
}

/// Bytes that an action set writes into the records of its entries.
#[derive(Debug, Default)]
struct ActionParts<'s> {
    /// Bytes that all of them have, and where.
    common: Vec<(usize, Vec<u8>)>,
    /// Columns with a slot for each of them, and where.
    columns: Vec<(Slots<'s>, usize)>,
}

pub(super) fn op(op: i32) -> Result<RecordOp, Fault> {
    match pb::Op::try_from(op) {
        Ok(pb::Op::Insert) => Ok(RecordOp::Insert),
        Ok(pb::Op::Modify) => Ok(RecordOp::Modify),
        Ok(pb::Op::Delete) => Ok(RecordOp::Delete),
        Ok(pb::Op::Upsert) => Ok(RecordOp::Upsert),
        Ok(pb::Op::Unspecified) => Err(Problem::FieldNotSet { field: "op" }.into()),
        Err(_) => Err(Problem::UnknownEnumValue { field: "op", value: op }.into()),
    }
}

impl<'s> CheckedSet<'s> {
    /// Checks a set for a table with this plan, which has counts if the set has them. Fails if a column is missing or has
    /// another length than the set says, or if the set names what the table does not have.
    pub fn new(plan: &RecordPlan, set: &'s pb::TableSet) -> Result<CheckedSet<'s>, Fault> {
        let op = op(set.op)?;
        let n = set.n as usize;
        if n > N_RECORDS_OF_STEP {
            return Err(bad(format!("a set has {N_RECORDS_OF_STEP} entries at most, not {n}")));
        }
        let common = vec![0; plan.layout.record_bytes];
        let (parts, faults) = (Vec::new(), Vec::new());
        let mut checked = CheckedSet { op, n, common, parts, metadata: None, faults };
        checked.add_keys(plan, set)?;
        if op != RecordOp::Delete {
            checked.add_actions(plan, set)?;
            checked.add_rest(&plan.layout, set)?;
        }
        Ok(checked)
    }

    /// Entries of the set.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Entries that cannot be records, in their order. Their records are refused.
    pub fn faults(&self) -> &[(usize, Fault)] {
        &self.faults
    }

    /// Empty, or that of each entry.
    pub fn metadata(&self) -> Vec<&'s [u8]> {
        self.metadata.map_or_else(Vec::new, |slots| (0..self.n).map(|i| slots.get(i)).collect())
    }

    /// Replaces `records` by those of a range of entries.
    pub fn read(&self, entries: Range<usize>, records: &mut Vec<u8>) {
        let stride = self.common.len();
        records.clear();
        records.resize(entries.len() * stride, 0);
        // Each column passes over all records, which stay in the first cache meanwhile.
        let n_at_once = (CACHED_BYTES / stride).max(1);
        let firsts = entries.clone().step_by(n_at_once);
        for (first, records) in firsts.zip(records.chunks_mut(n_at_once * stride)) {
            repeat(&self.common, records);
            let entries = first..first + records.len() / stride;
            for part in &self.parts {
                part.write(&entries, records, stride);
            }
        }
    }

    /// A column of `n_bytes` or fewer for each entry.
    fn add_number(
        &mut self,
        column: Option<&'s pb::Column>,
        n_bytes: usize,
        offset: usize,
    ) -> Result<(), Fault> {
        match Slots::new(column, self.n, Some(n_bytes))? {
            Slots::Same(value) => put(value, &mut self.common[offset..]),
            column => self.parts.push(Part::Number { column, offset }),
        }
        Ok(())
    }

    fn add_keys(&mut self, plan: &RecordPlan, set: &'s pb::TableSet) -> Result<(), Fault> {
        let layout = &plan.layout;
        let mut given = vec![false; layout.keys.len()];
        for (i, column) in set.keys.iter().enumerate() {
            let at = plan.key_of(FieldId(column.field_id));
            let at = at.ok_or_else(|| bad(format!("the table has no key element {}", column.field_id)));
            let added = at.and_then(|at| match std::mem::replace(&mut given[at], true) {
                true => Err(bad("the key element comes twice")),
                false => self.add_key(layout, &layout.keys[at], column),
            });
            added.inside(format_args!("keys[{i}]"))?;
        }
        for (key, _) in layout.keys.iter().zip(&given).filter(|(_, given)| !**given) {
            match (key.kind, layout.mask(key)) {
                (RecordMatch::Exact, _) => {
                    return Err(bad("a column of an exact key element is missing").inside("keys"));
                }
                (RecordMatch::Range, Some(high)) => {
                    self.common[high.offset..high.end()].copy_from_slice(&ones(&high))
                }
                _ => {}
            }
        }
        match (layout.priority_at, &set.priority) {
            (Some(at), column) => self.add_number(column.as_ref(), 4, at).inside("priority"),
            (None, None) => Ok(()),
            (None, Some(_)) => Err(bad("entries of the table have no priority").inside("priority")),
        }
    }

    fn add_key(
        &mut self,
        layout: &RecordLayout,
        key: &RecordKey,
        column: &'s pb::KeyColumn,
    ) -> Result<(), Fault> {
        let n_bytes = (key.value.width_bits.div_ceil(8) as usize).max(1);
        self.add_number(column.value.as_ref(), n_bytes, key.value.offset).inside("value")?;
        let Some(mask) = layout.mask(key).filter(|_| key.kind != RecordMatch::Exact) else {
            return match (&column.second, column.present.is_empty()) {
                (None, true) => Ok(()),
                _ => Err(bad("an exact key element has values only")),
            };
        };
        match key.kind {
            RecordMatch::Exact => {}
            RecordMatch::Ternary | RecordMatch::Range => {
                self.add_number(column.second.as_ref(), n_bytes, mask.offset).inside("second")?;
            }
            RecordMatch::Optional if column.second.is_some() => {
                return Err(bad("an optional key element has values only").inside("second"));
            }
            RecordMatch::Optional => self.common[mask.offset..mask.end()].copy_from_slice(&ones(&mask)),
            RecordMatch::Lpm => self.add_prefixes(mask, column)?,
        }
        if column.present.is_empty() {
            return Ok(());
        }
        if column.present.len() != self.n.div_ceil(8) {
            let (wanted, found) = (self.n.div_ceil(8), column.present.len());
            return Err(bad(format!("a bit for each entry: {wanted} bytes, not {found}")).inside("present"));
        }
        let mask_bytes = if key.kind == RecordMatch::Range { ones(&mask) } else { vec![0; mask.size] };
        self.parts.push(Part::Absent { present: &column.present, value: key.value, mask, mask_bytes });
        Ok(())
    }

    fn add_prefixes(&mut self, mask: RecordField, column: &'s pb::KeyColumn) -> Result<(), Fault> {
        let width = mask.width_bits;
        let n_bytes = if width > 255 { 2 } else { 1 };
        let lengths = Slots::new(column.second.as_ref(), self.n, Some(n_bytes)).inside("second")?;
        for i in 0..self.n {
            let length = length(&lengths, i);
            // Nobody looks at the lengths of those that are absent.
            if length > width as usize
                && column.present.get(i / 8).is_none_or(|byte| byte >> (i % 8) & 1 != 0)
            {
                let why = format!("a prefix of {length} bits is longer than the element, which has {width}");
                self.faults.push((i, bad(why)));
            }
        }
        let mut masks = vec![0; mask.size * (width as usize + 1)];
        for (length, bytes) in (0..=width).zip(masks.chunks_exact_mut(mask.size)) {
            ir::Bits::prefix_mask(width, length).write_bytes_le(bytes);
        }
        self.parts.push(Part::Prefix { lengths, mask, masks });
        Ok(())
    }

    /// The action sets, and which of them each entry has.
    fn add_actions(&mut self, plan: &RecordPlan, set: &'s pb::TableSet) -> Result<(), Fault> {
        let n_actions = set.actions.len();
        if n_actions == 0 {
            return Err(Problem::FieldNotSet { field: "actions" }.into());
        }
        if set.choice.is_empty() && n_actions == 1 {
            let of = ActionParts::new(plan, &set.actions[0], self.n).inside("actions[0]")?;
            for (at, bytes) in of.common {
                self.common[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            let parts = of.columns.into_iter().map(|(column, offset)| Part::Number { column, offset });
            self.parts.extend(parts);
            return Ok(());
        }
        let n_bytes = if n_actions > 256 { 2 } else { 1 };
        if set.choice.len() != self.n * n_bytes {
            let (found, wanted) = (set.choice.len(), self.n * n_bytes);
            let why = format!("an index for each entry: {wanted} bytes, not {found}");
            return Err(bad(why).inside("choice"));
        }
        let mut entries = vec![Vec::new(); n_actions];
        for (i, index) in set.choice.chunks_exact(n_bytes).enumerate() {
            let index = index.iter().fold(0, |n, byte| n << 8 | usize::from(*byte));
            let of = entries
                .get_mut(index)
                .ok_or_else(|| bad(format!("entry {i}: there is no action set {index}")))?;
            of.push(i);
        }
        for (i, (set, entries)) in set.actions.iter().zip(entries).enumerate() {
            let of = ActionParts::new(plan, set, entries.len()).inside(format_args!("actions[{i}]"))?;
            self.parts.push(Part::Action { entries, of });
        }
        Ok(())
    }

    /// Timeouts, counts, rates and metadata.
    fn add_rest(&mut self, layout: &RecordLayout, set: &'s pb::TableSet) -> Result<(), Fault> {
        let n = self.n;
        if let Some(column) = &set.idle_timeout {
            let at = layout
                .idle_timeout_at
                .ok_or_else(|| bad("the table has no idle timeout").inside("idle_timeout"))?;
            self.add_number(Some(column), 8, at).inside("idle_timeout")?;
        }
        if let Some(column) = &set.count {
            let at = layout.count_at.ok_or_else(|| bad("the table has no direct counter").inside("count"))?;
            let column = Slots::new(Some(column), n, Some(16)).inside("count")?;
            self.parts.push(Part::Numbers { column, offset: at, n: 2 });
        }
        if let Some(column) = &set.meter {
            let at = layout.rates_at.ok_or_else(|| bad("the table has no direct meter").inside("meter"))?;
            let column = Slots::new(Some(column), n, Some(40)).inside("meter")?;
            self.parts.push(Part::Numbers { column, offset: at, n: 5 });
            self.parts.push(Part::Rates { column, offset: at });
        }
        if let Some(column) = &set.metadata {
            self.metadata = Some(Slots::new(Some(column), n, None).inside("metadata")?);
        }
        Ok(())
    }
}

impl<'s> ActionParts<'s> {
    /// The parts of a set whose columns have `n` slots.
    fn new(plan: &RecordPlan, set: &'s pb::ActionSet, n: usize) -> Result<ActionParts<'s>, Fault> {
        use pb::action_set::Kind;
        let layout = &plan.layout;
        let (at, kind, ids) = match (&set.kind, layout.kind_at) {
            (None, _) => return Err(Problem::FieldNotSet { field: "kind" }.into()),
            (Some(Kind::ActionId(id)), None) => {
                let found = plan.action_of(ActionId(*id));
                let (index, action) =
                    found.ok_or_else(|| bad(format!("the table has no action {id:#010x}")))?;
                let mut parts = ActionParts::default();
                let index = index.to_le_bytes()[..layout.action_bytes].to_vec();
                parts.common.push((layout.action_at, index));
                parts.add_params(action, set, n)?;
                return Ok(parts);
            }
            (Some(Kind::Members(column)), Some(at)) => (at, RecordLayout::MEMBER, column),
            (Some(Kind::Groups(column)), Some(at)) => (at, RecordLayout::GROUP, column),
            (Some(Kind::ActionId(_)), Some(_)) => {
                return Err(bad("entries of the table name members or groups"));
            }
            (Some(Kind::Members(_) | Kind::Groups(_)), None) => {
                return Err(bad("entries of the table name actions"));
            }
        };
        if !set.params.is_empty() {
            return Err(bad("members and groups have no parameters").inside("params"));
        }
        let ids = Slots::new(Some(ids), n, Some(4))?;
        Ok(ActionParts { common: vec![(at, vec![kind])], columns: vec![(ids, layout.action_at)] })
    }

    fn add_params(&mut self, action: &PlannedAction, set: &'s pb::ActionSet, n: usize) -> Result<(), Fault> {
        if set.params.len() != action.params.len() {
            let (wanted, found) = (action.params.len(), set.params.len());
            return Err(bad(format!("the action has {wanted} parameters, not {found}")).inside("params"));
        }
        let mut seen = Vec::with_capacity(set.params.len());
        for (i, column) in set.params.iter().enumerate() {
            let id = ParamId(column.param_id);
            let place = action.params.iter().find(|(of, _)| *of == id).filter(|_| !seen.contains(&id));
            let place =
                place.ok_or_else(|| bad(format!("the action has no parameter {id}, or it comes twice")));
            seen.push(id);
            let slots = place.and_then(|(_, place)| {
                let n_bytes = (place.width_bits.div_ceil(8) as usize).max(1);
                let slots = Slots::new(column.value.as_ref(), n, Some(n_bytes)).inside("value")?;
                Ok((slots, place.offset))
            });
            match slots.inside(format_args!("params[{i}]"))? {
                (Slots::Same(value), at) => self.common.push((at, value.iter().rev().copied().collect())),
                column => self.columns.push(column),
            }
        }
        Ok(())
    }
}

impl Part<'_> {
    /// Writes the bytes of a range of entries into their records.
    fn write(&self, entries: &Range<usize>, records: &mut [u8], stride: usize) {
        let first = entries.start;
        match self {
            Part::Number { column, offset } => column.fill(first, records, stride, *offset),
            Part::Numbers { column, offset, n } => {
                for (i, record) in entries.clone().zip(records.chunks_exact_mut(stride)) {
                    put_numbers(column.get(i), &mut record[*offset..offset + 8 * n]);
                }
            }
            Part::Prefix { lengths, mask, masks } => {
                for (i, record) in entries.clone().zip(records.chunks_exact_mut(stride)) {
                    match masks.chunks_exact(mask.size).nth(length(lengths, i)) {
                        Some(bytes) => record[mask.offset..mask.end()].copy_from_slice(bytes),
                        None => {
                            // No prefix has this mask.
                            record[mask.offset..mask.end()].fill(0);
                            record[mask.offset] = if mask.width_bits > 1 { 1 } else { 0xfe };
                        }
                    }
                }
            }
            Part::Absent { present, value, mask, mask_bytes } => {
                let records = entries.clone().zip(records.chunks_exact_mut(stride));
                for (_, record) in records.filter(|(i, _)| present[i / 8] >> (i % 8) & 1 == 0) {
                    record[value.offset..value.end()].fill(0);
                    record[mask.offset..mask.end()].copy_from_slice(mask_bytes);
                }
            }
            Part::Rates { column, offset } => {
                for (i, record) in entries.clone().zip(records.chunks_exact_mut(stride)) {
                    let is_set = column.get(i).iter().any(|byte| *byte != 0xff);
                    let (rates, set) = record[*offset..].split_at_mut(RecordLayout::RATES_SET);
                    if !is_set {
                        rates.fill(0);
                    }
                    set[..4].copy_from_slice(&u32::from(is_set).to_le_bytes());
                }
            }
            Part::Action { entries: all, of } => {
                let from = all.partition_point(|entry| *entry < first);
                let of_range = all[from..].iter().take_while(|entry| **entry < entries.end);
                for (slot, entry) in (from..).zip(of_range) {
                    let record = &mut records[(entry - first) * stride..(entry - first + 1) * stride];
                    for (at, bytes) in &of.common {
                        record[*at..at + bytes.len()].copy_from_slice(bytes);
                    }
                    for (column, at) in &of.columns {
                        put(column.get(slot), &mut record[*at..]);
                    }
                }
            }
        }
    }
}

/// Fills `records` with copies of a record.
fn repeat(record: &[u8], records: &mut [u8]) {
    let mut n_done = record.len().min(records.len());
    records[..n_done].copy_from_slice(&record[..n_done]);
    while n_done < records.len() {
        let n_more = n_done.min(records.len() - n_done);
        records.copy_within(..n_more, n_done);
        n_done += n_more;
    }
}

/// A value of all ones.
fn ones(field: &RecordField) -> Vec<u8> {
    let mut bytes = vec![0; field.size];
    ir::Bits::ones(field.width_bits).write_bytes_le(&mut bytes);
    bytes
}

/// The length of the prefix of an entry.
fn length(lengths: &Slots<'_>, entry: usize) -> usize {
    lengths.get(entry).iter().fold(0, |n, byte| n << 8 | usize::from(*byte))
}

/// Writes numbers of 8 bytes. A value that is shorter than they are begins at the end.
fn put_numbers(value: &[u8], to: &mut [u8]) {
    let mut all = [0; 40];
    let all = &mut all[..to.len()];
    let n_cut = to.len() - value.len().min(to.len());
    all[n_cut..].copy_from_slice(value);
    for (number, to) in all.chunks_exact(8).zip(to.chunks_exact_mut(8)) {
        put(number, to);
    }
}
