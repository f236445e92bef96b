//! Sets to records.

use super::columns::{Slots, bad};
use crate::Inside;
use control::records::{
    N_RECORDS_OF_STEP, PlannedAction, RecordField, RecordKey, RecordLayout, RecordMatch, RecordOp, RecordPlan,
};
use control::{ActionId, Fault, FieldId, ParamId, Problem};
use p4info::proto::siding::bulk::v1 as pb;
use prost::bytes::Bytes;

/// The entries of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedSet {
    pub op: RecordOp,
    pub records: Vec<u8>,
    /// Empty, or that of each entry.
    pub metadata: Vec<Bytes>,
    /// Entries that cannot be records, by their numbers. Their records are refused.
    pub faults: Vec<(usize, Fault)>,
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

/// The records of a set for a table with this plan, which has counts if the set has them. Fails if a column is missing or has
/// another length than the set says, or if the set names what the table does not have.
pub fn parse_set(plan: &RecordPlan, set: &pb::TableSet) -> Result<ParsedSet, Fault> {
    let op = op(set.op)?;
    let n = set.n as usize;
    if n > N_RECORDS_OF_STEP {
        return Err(bad(format!("a set has {N_RECORDS_OF_STEP} entries at most, not {n}")));
    }
    let layout = &plan.layout;
    let mut records = vec![0; n * layout.record_bytes];
    let mut faults = Vec::new();
    let mut given = vec![false; layout.keys.len()];
    for (i, column) in set.keys.iter().enumerate() {
        let at = plan.key_of(FieldId(column.field_id));
        let at = at.ok_or_else(|| bad(format!("the table has no key element {}", column.field_id)));
        let parsed = at.and_then(|at| match std::mem::replace(&mut given[at], true) {
            true => Err(bad("the key element comes twice")),
            false => key(layout, &layout.keys[at], column, (n, &mut records), &mut faults),
        });
        parsed.inside(format_args!("keys[{i}]"))?;
    }
    for (of, _) in layout.keys.iter().zip(&given).filter(|(_, given)| !**given) {
        match of.kind {
            RecordMatch::Exact => {
                return Err(bad("a column of an exact key element is missing").inside("keys"));
            }
            RecordMatch::Range => (0..n).for_each(|i| any_range(layout, of, &mut records, i)),
            RecordMatch::Lpm | RecordMatch::Ternary | RecordMatch::Optional => {}
        }
    }
    match (layout.priority_at, &set.priority) {
        (Some(at), column) => {
            let slots = Slots::new(column.as_ref(), n, Some(4)).inside("priority")?;
            slots.fill(&mut records, layout.record_bytes, at, 0..n);
        }
        (None, None) => {}
        (None, Some(_)) => return Err(bad("entries of the table have no priority").inside("priority")),
    }
    let mut parsed = ParsedSet { op, records, metadata: Vec::new(), faults };
    if op == RecordOp::Delete {
        return Ok(parsed);
    }
    actions(plan, set, n, &mut parsed.records)?;
    rest(layout, set, n, &mut parsed.records)?;
    if let Some(column) = &set.metadata {
        let slots = Slots::new(Some(column), n, None).inside("metadata")?;
        parsed.metadata = match slots {
            // One copy, however many entries there are.
            Slots::Same(one) => vec![Bytes::copy_from_slice(one); n],
            Slots::Fixed(..) | Slots::Var(..) => {
                (0..n).map(|i| Bytes::copy_from_slice(slots.get(i))).collect()
            }
        };
    }
    Ok(parsed)
}

fn any_range(layout: &RecordLayout, key: &RecordKey, records: &mut [u8], i: usize) {
    if let Some(high) = layout.mask(key) {
        let record = &mut records[i * layout.record_bytes..(i + 1) * layout.record_bytes];
        record[key.value.offset..key.value.end()].fill(0);
        ir::Bits::ones(high.width_bits).write_bytes_le(&mut record[high.offset..high.end()]);
    }
}

fn key(
    layout: &RecordLayout,
    key: &RecordKey,
    column: &pb::KeyColumn,
    (n, records): (usize, &mut [u8]),
    faults: &mut Vec<(usize, Fault)>,
) -> Result<(), Fault> {
    let n_bytes = (key.value.width_bits.div_ceil(8) as usize).max(1);
    let (stride, n_faults_before) = (layout.record_bytes, faults.len());
    let slots = Slots::new(column.value.as_ref(), n, Some(n_bytes)).inside("value")?;
    slots.fill(records, stride, key.value.offset, 0..n);
    let Some(mask) = layout.mask(key).filter(|_| key.kind != RecordMatch::Exact) else {
        return match (&column.second, column.present.is_empty()) {
            (None, true) => Ok(()),
            _ => Err(bad("an exact key element has values only")),
        };
    };
    match key.kind {
        RecordMatch::Exact => {}
        RecordMatch::Ternary | RecordMatch::Range => {
            let second = Slots::new(column.second.as_ref(), n, Some(n_bytes)).inside("second")?;
            second.fill(records, stride, mask.offset, 0..n);
        }
        RecordMatch::Optional if column.second.is_some() => {
            return Err(bad("an optional key element has values only").inside("second"));
        }
        RecordMatch::Optional => {
            let mut ones = vec![0; mask.size];
            ir::Bits::ones(mask.width_bits).write_bytes_le(&mut ones);
            for record in records.chunks_exact_mut(stride) {
                record[mask.offset..mask.end()].copy_from_slice(&ones);
            }
        }
        RecordMatch::Lpm => prefixes(&mask, column, (n, records, stride), faults)?,
    }
    if column.present.is_empty() {
        return Ok(());
    }
    if column.present.len() != n.div_ceil(8) {
        let found = column.present.len();
        return Err(
            bad(format!("a bit for each entry: {} bytes, not {found}", n.div_ceil(8))).inside("present")
        );
    }
    let is_present = |i: usize| column.present[i / 8] >> (i % 8) & 1 != 0;
    // Nobody looks at the slots of those that are absent.
    let mut of_key = faults.split_off(n_faults_before);
    of_key.retain(|(i, _)| is_present(*i));
    faults.append(&mut of_key);
    for i in (0..n).filter(|i| !is_present(*i)) {
        if key.kind == RecordMatch::Range {
            any_range(layout, key, records, i);
            continue;
        }
        let record = &mut records[i * stride..(i + 1) * stride];
        record[key.value.offset..key.value.end()].fill(0);
        record[mask.offset..mask.end()].fill(0);
    }
    Ok(())
}

/// Masks of the lengths of prefixes.
fn prefixes(
    mask: &RecordField,
    column: &pb::KeyColumn,
    (n, records, stride): (usize, &mut [u8], usize),
    faults: &mut Vec<(usize, Fault)>,
) -> Result<(), Fault> {
    let width = mask.width_bits;
    let n_bytes = if width > 255 { 2 } else { 1 };
    let lengths = Slots::new(column.second.as_ref(), n, Some(n_bytes)).inside("second")?;
    let mut masks = vec![0; mask.size * (width as usize + 1)];
    for (length, bytes) in (0..=width).zip(masks.chunks_exact_mut(mask.size)) {
        ir::Bits::prefix_mask(width, length).write_bytes_le(bytes);
    }
    for (i, record) in records.chunks_exact_mut(stride).enumerate() {
        let length = lengths.get(i).iter().fold(0, |n, byte| n << 8 | usize::from(*byte));
        match masks.chunks_exact(mask.size).nth(length) {
            Some(bytes) => record[mask.offset..mask.end()].copy_from_slice(bytes),
            None => {
                let why = format!("a prefix of {length} bits is longer than the element, which has {width}");
                faults.push((i, bad(why)));
                // No prefix has this mask.
                record[mask.offset..mask.end()].fill(0);
                record[mask.offset] = if width > 1 { 1 } else { 0xfe };
            }
        }
    }
    Ok(())
}

/// The kind of an action set, with its actions or ids.
fn actions(plan: &RecordPlan, set: &pb::TableSet, n: usize, records: &mut [u8]) -> Result<(), Fault> {
    let n_actions = set.actions.len();
    if n_actions == 0 {
        return Err(Problem::FieldNotSet { field: "actions" }.into());
    }
    if set.choice.is_empty() && n_actions == 1 {
        return action(plan, &set.actions[0], (n, records), 0..n).inside("actions[0]");
    }
    let n_bytes = if n_actions > 256 { 2 } else { 1 };
    if set.choice.len() != n * n_bytes {
        let (found, wanted) = (set.choice.len(), n * n_bytes);
        return Err(bad(format!("an index for each entry: {wanted} bytes, not {found}")).inside("choice"));
    }
    let mut entries = vec![Vec::new(); n_actions];
    for (i, index) in set.choice.chunks_exact(n_bytes).enumerate() {
        let index = index.iter().fold(0, |n, byte| n << 8 | usize::from(*byte));
        let of = entries
            .get_mut(index)
            .ok_or_else(|| bad(format!("entry {i}: there is no action set {index}")))?;
        of.push(i);
    }
    for (i, (of, entries)) in set.actions.iter().zip(entries).enumerate() {
        action(plan, of, (entries.len(), records), entries.iter().copied())
            .inside(format_args!("actions[{i}]"))?;
    }
    Ok(())
}

fn action(
    plan: &RecordPlan,
    set: &pb::ActionSet,
    (n, records): (usize, &mut [u8]),
    entries: impl Iterator<Item = usize> + Clone,
) -> Result<(), Fault> {
    use pb::action_set::Kind;
    let layout = &plan.layout;
    let stride = layout.record_bytes;
    let (kind, column) = match (&set.kind, layout.kind_at) {
        (None, _) => return Err(Problem::FieldNotSet { field: "kind" }.into()),
        (Some(Kind::ActionId(id)), None) => {
            let found = plan.action_of(ActionId(*id));
            let (index, of) = found.ok_or_else(|| bad(format!("the table has no action {:#010x}", id)))?;
            for i in entries.clone() {
                layout.set_action(&mut records[i * stride..(i + 1) * stride], index);
            }
            return params(of, set, (n, records, stride), entries);
        }
        (Some(Kind::Members(column)), Some(at)) => ((at, RecordLayout::MEMBER), column),
        (Some(Kind::Groups(column)), Some(at)) => ((at, RecordLayout::GROUP), column),
        (Some(Kind::ActionId(_)), Some(_)) => return Err(bad("entries of the table name members or groups")),
        (Some(Kind::Members(_) | Kind::Groups(_)), None) => {
            return Err(bad("entries of the table name actions"));
        }
    };
    if !set.params.is_empty() {
        return Err(bad("members and groups have no parameters").inside("params"));
    }
    let ids = Slots::new(Some(column), n, Some(4))?;
    for i in entries.clone() {
        records[i * stride + kind.0] = kind.1;
    }
    ids.fill(records, stride, layout.action_at, entries);
    Ok(())
}

fn params(
    action: &PlannedAction,
    set: &pb::ActionSet,
    (n, records, stride): (usize, &mut [u8], usize),
    entries: impl Iterator<Item = usize> + Clone,
) -> Result<(), Fault> {
    if set.params.len() != action.params.len() {
        let (wanted, found) = (action.params.len(), set.params.len());
        return Err(bad(format!("the action has {wanted} parameters, not {found}")).inside("params"));
    }
    let mut seen = Vec::with_capacity(set.params.len());
    for (i, column) in set.params.iter().enumerate() {
        let id = ParamId(column.param_id);
        let place = action.params.iter().find(|(of, _)| *of == id).filter(|_| !seen.contains(&id));
        let filled = place.ok_or_else(|| bad(format!("the action has no parameter {id}, or it comes twice")));
        seen.push(id);
        let filled = filled.and_then(|(_, place)| {
            let n_bytes = (place.width_bits.div_ceil(8) as usize).max(1);
            let slots = Slots::new(column.value.as_ref(), n, Some(n_bytes)).inside("value")?;
            slots.fill(records, stride, place.offset, entries.clone());
            Ok(())
        });
        filled.inside(format_args!("params[{i}]"))?;
    }
    Ok(())
}

/// Timeouts, counts and rates.
fn rest(layout: &RecordLayout, set: &pb::TableSet, n: usize, records: &mut [u8]) -> Result<(), Fault> {
    let stride = layout.record_bytes;
    if let Some(column) = &set.idle_timeout {
        let at = layout
            .idle_timeout_at
            .ok_or_else(|| bad("the table has no idle timeout").inside("idle_timeout"))?;
        let slots = Slots::new(Some(column), n, Some(8)).inside("idle_timeout")?;
        slots.fill(records, stride, at, 0..n);
    }
    if let Some(column) = &set.count {
        let at = layout.count_at.ok_or_else(|| bad("the table has no direct counter").inside("count"))?;
        let slots = Slots::new(Some(column), n, Some(16)).inside("count")?;
        numbers(&slots, (records, stride), at, 2);
    }
    if let Some(column) = &set.meter {
        let at = layout.rates_at.ok_or_else(|| bad("the table has no direct meter").inside("meter"))?;
        let slots = Slots::new(Some(column), n, Some(40)).inside("meter")?;
        numbers(&slots, (records, stride), at, 5);
        for (i, record) in records.chunks_exact_mut(stride).enumerate() {
            let is_set = slots.get(i).iter().any(|byte| *byte != 0xff);
            if !is_set {
                record[at..at + 40].fill(0);
            }
            record[at + 40..at + 44].copy_from_slice(&u32::from(is_set).to_le_bytes());
        }
    }
    Ok(())
}

/// Several numbers of 8 bytes in each slot.
fn numbers(slots: &Slots<'_>, (records, stride): (&mut [u8], usize), at: usize, n: usize) {
    for (i, record) in records.chunks_exact_mut(stride).enumerate() {
        // Shorter strings than asked for are numbers that are cut: they begin at the end.
        let value = slots.get(i);
        let mut all = [0; 40];
        let n_bytes = 8 * n;
        all[n_bytes - value.len().min(n_bytes)..n_bytes].copy_from_slice(value);
        for (number, to) in all[..n_bytes].chunks_exact(8).zip(record[at..].chunks_exact_mut(8)) {
            to.iter_mut().zip(number.iter().rev()).for_each(|(to, from)| *to = *from);
        }
    }
}
