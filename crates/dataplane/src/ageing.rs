//! Entries that no packet has hit for as long as they say.
//!
//! They stay: what becomes of them is the controller's matter (P4Runtime, "Idle-timeout").

use crate::plane::RunningProgram;
use control::{Entity, EntryQuery, Extras, FieldMatch, Match, Query, Target, Value};
use ir::Bits;
use std::collections::HashSet;
use target::Store;
use target::store::Matches;

/// A table's entry, as the control plane knows it.
type Key = (Vec<FieldMatch>, i32);

/// Entries whose time is over since this was asked last. Costs nothing for programs without idle timeouts, and little
/// while none is over.
pub(crate) fn take_expired(generation: &mut RunningProgram, now_ns: u64) -> Vec<Entity> {
    if !generation.schema().tables.iter().any(|table| table.has_idle_timeout) {
        return Vec::new();
    }
    let expired = generation.control.take_expired(now_ns);
    if expired.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let tables: Vec<_> = generation.entities.names().tables.iter().map(|(id, in_ir)| (*id, *in_ir)).collect();
    for (table, in_ir) in tables {
        let keys: HashSet<Key> = expired
            .iter()
            .filter(|(of, _)| *of == in_ir)
            // One that was deleted meanwhile is nobody's matter any more.
            .filter_map(|(_, handle)| generation.control.entry(in_ir, *handle))
            .map(|stored| (field_matches(generation, table, &stored.matches), stored.priority))
            .collect();
        if keys.is_empty() {
            continue;
        }
        let extras = Extras { time_since_last_hit: true, ..Extras::default() };
        let query = EntryQuery { table: Some(table), extras, ..EntryQuery::default() };
        let all = generation.at(now_ns).read(&Query::TableEntries(query)).unwrap_or_default();
        found.extend(all.into_iter().filter(|entity| match entity {
            Entity::TableEntry(entry) => {
                entry.idle_timeout_ns > 0 && keys.contains(&(entry.matches.clone(), entry.priority))
            }
            _ => false,
        }));
    }
    found
}

fn field_matches(generation: &RunningProgram, table: control::TableId, matches: &Matches) -> Vec<FieldMatch> {
    let Some(known) = generation.schema().tables.get(table) else { return Vec::new() };
    let one = |(key, wanted): (&control::schema::KeyElement, &Option<ir::Match>)| {
        // The controller may know a value by another width than the program.
        let width = key.value.width_bits();
        let fit = |bits: &Bits| if width == 0 { bits.clone() } else { bits.resize(width) };
        let value = match wanted.as_ref()? {
            ir::Match::Exact(value) => Match::Exact(Value::Bits(fit(value))),
            ir::Match::Optional(value) => Match::Optional(Value::Bits(fit(value))),
            ir::Match::Lpm { value, prefix_len } => Match::Lpm { value: fit(value), prefix_len: *prefix_len },
            ir::Match::Ternary { value, mask } => Match::Ternary { value: fit(value), mask: fit(mask) },
            ir::Match::Range { low, high } => Match::Range { low: fit(low), high: fit(high) },
        };
        Some(FieldMatch { field: key.id, value })
    };
    known.keys.iter().zip(matches).filter_map(one).collect()
}
