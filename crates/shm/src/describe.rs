//! Layouts of records for clients.

use control::records::{RecordField, RecordMatch, RecordParts, RecordPlan};
use control::schema::{Schema, Table};
use shm_client::wire::part;
use shm_client::{ActionLayout, FieldLayout, KeyLayout, TableLayout};

/// A set of parts from its bits; `None` for bits without a meaning.
pub(crate) fn parts_of(bits: u32) -> Option<RecordParts> {
    let has = |part: u32| bits & part != 0;
    (bits & !part::ALL == 0).then_some(RecordParts {
        idle_timeout: has(part::IDLE_TIMEOUT),
        count: has(part::COUNT),
        rates: has(part::RATES),
        of_controllers: false,
    })
}

/// The bits of the parts that records of a table may have.
pub(crate) fn available(table: &Table) -> u32 {
    let bit = |has: bool, part: u32| if has { part } else { 0 };
    bit(table.has_idle_timeout, part::IDLE_TIMEOUT)
        | bit(table.direct_counter.is_some(), part::COUNT)
        | bit(table.direct_meter.is_some(), part::RATES)
}

/// The description of a table. Without a plan its entries cannot be records, and the description has no positions.
pub fn describe(schema: &Schema, table: &Table, parts: u32, plan: Option<&RecordPlan>) -> TableLayout {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let field = |id: u32, name: &str, field: &RecordField| FieldLayout {
        id,
        name: name.to_owned(),
        offset: number(field.offset),
        n_bytes: number(field.size),
        n_bits: field.width_bits,
    };
    let mut described = TableLayout {
        id: table.id.0,
        name: table.names.name.to_string(),
        record_bytes: 0,
        parts: 0,
        parts_available: available(table),
        keys: Vec::new(),
        kind_at: None,
        action_at: 0,
        action_bytes: 0,
        priority_at: None,
        idle_timeout_at: None,
        count_at: None,
        rates_at: None,
        actions: Vec::new(),
    };
    let Some(plan) = plan else { return described };
    let layout = &plan.layout;
    for ((key, id), of) in layout.keys.iter().zip(&plan.fields).zip(&table.keys) {
        let mask = layout.mask(key).filter(|_| key.kind != RecordMatch::Exact);
        described.keys.push(KeyLayout {
            field: field(id.0, &of.name, &key.value),
            kind: match key.kind {
                RecordMatch::Exact => shm_client::MatchKind::Exact,
                RecordMatch::Lpm => shm_client::MatchKind::Lpm,
                RecordMatch::Ternary => shm_client::MatchKind::Ternary,
                RecordMatch::Range => shm_client::MatchKind::Range,
                RecordMatch::Optional => shm_client::MatchKind::Optional,
            },
            second_at: mask.map(|mask| number(mask.offset)),
        });
    }
    for (index, action) in (0u32..).zip(&plan.actions) {
        let Some(action) = action else { continue };
        let Some(of) = schema.actions.get(action.id) else { continue };
        let params = action.params.iter().zip(&of.params);
        described.actions.push(ActionLayout {
            id: action.id.0,
            name: of.names.name.to_string(),
            index,
            params: params.map(|((id, place), of)| field(id.0, &of.name, place)).collect(),
        });
    }
    TableLayout {
        record_bytes: number(layout.record_bytes),
        parts,
        kind_at: layout.kind_at.map(number),
        action_at: number(layout.action_at),
        action_bytes: number(layout.action_bytes),
        priority_at: layout.priority_at.map(number),
        idle_timeout_at: layout.idle_timeout_at.map(number),
        count_at: layout.count_at.map(number),
        rates_at: layout.rates_at.map(number),
        ..described
    }
}
