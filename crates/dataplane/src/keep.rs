//! What the control plane has written, carried over to another program.

use crate::plane::RunningProgram;
use control::{
    Entity, EntryQuery, Extras, Fault, Problem, Query, Schema, TableEntry, Target, Update, UpdateKind,
    validate,
};
use std::sync::Arc;
use target::Store;

/// Faults that are told one by one.
const N_FAULTS_MAX: usize = 100;

/// Result of carrying entities over to another program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedOver {
    pub n_kept: u64,
    /// What the other program has no place for.
    pub n_refused: u64,
    /// Some of it, and why.
    pub faults: Vec<String>,
}

/// Writes into the next program what is in this one; what the program itself declares is not carried over.
pub(crate) fn keep(before: &mut RunningProgram, next: &mut RunningProgram, now_ns: u64) -> CarriedOver {
    let schema = Arc::clone(next.schema());
    copy(before, &schema, &mut next.at(now_ns), now_ns)
}

/// The same into anything.
pub(crate) fn copy(
    before: &mut RunningProgram,
    next_schema: &Schema,
    next: &mut dyn Target,
    now_ns: u64,
) -> CarriedOver {
    let mut kept = CarriedOver::default();
    let schema = Arc::clone(before.schema());
    let changed_defaults: Vec<control::TableId> = (schema.tables.iter().map(|table| table.id))
        .filter(|table| has_other_default(before, *table))
        .collect();
    let before = before.at(now_ns);
    for query in questions(&schema, changed_defaults) {
        // What cannot be asked for is not there.
        let found = before.read(&query).unwrap_or_default();
        let updates = found.into_iter().filter(|entity| !is_declared(entity)).map(update).collect();
        for result in write_all(next_schema, next, updates) {
            match result {
                Ok(()) => kept.n_kept += 1,
                Err(fault) => {
                    kept.n_refused += 1;
                    if kept.faults.len() < N_FAULTS_MAX {
                        kept.faults.push(fault.to_string());
                    }
                }
            }
        }
    }
    kept
}

/// What is used comes before what uses it.
fn questions(schema: &Schema, changed_defaults: Vec<control::TableId>) -> Vec<Query> {
    let mut all = vec![
        Query::ValueSets(None),
        Query::Members { profile: None, member: None },
        Query::Groups { profile: None, group: None },
    ];
    for table in schema.tables.iter() {
        let extras = Extras {
            meter_config: table.direct_meter.is_some(),
            counter_data: table.direct_counter.is_some(),
            ..Extras::default()
        };
        let query = EntryQuery { table: Some(table.id), extras, ..EntryQuery::default() };
        if changed_defaults.contains(&table.id) {
            let is_default_action = true;
            all.push(Query::TableEntries(EntryQuery { is_default_action, ..query.clone() }));
        }
        all.push(Query::TableEntries(query));
    }
    all.extend([
        Query::MulticastGroups(None),
        Query::CloneSessions(None),
        Query::Counters { counter: None, index: None },
        Query::Meters { meter: None, index: None, with_counter_data: false },
        Query::Registers { register: None, index: None },
        Query::Digests(None),
    ]);
    all
}

fn has_other_default(generation: &RunningProgram, table: control::TableId) -> bool {
    let Some(id) = generation.entities.names().tables.get(&table) else { return false };
    let Some(shape) = generation.control.table_shapes().get(ir::lookup::index(*id)) else { return false };
    generation.control.default_action(*id).is_some_and(|action| action != shape.initial_default)
}

/// The program has it, or nothing was written there.
fn is_declared(entity: &Entity) -> bool {
    match entity {
        Entity::TableEntry(entry) => entry.is_const,
        Entity::Counter(counter) => counter.data.is_none_or(|data| data == Default::default()),
        Entity::Meter(meter) => meter.config.is_none(),
        Entity::Register(register) => register.data.as_ref().is_none_or(is_zero),
        Entity::ValueSet(value_set) => value_set.members.is_empty(),
        Entity::ActionProfileMember(_)
        | Entity::ActionProfileGroup(_)
        | Entity::DirectMeter(_)
        | Entity::DirectCounter(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
        | Entity::Digest(_)
        | Entity::Extern(_) => false,
    }
}

fn is_zero(data: &control::Data) -> bool {
    match data {
        control::Data::Bits(bits) => bits.is_zero(),
        control::Data::Bool(value) => !value,
        _ => false,
    }
}

/// How an entity that was read is written.
fn update(entity: Entity) -> Update {
    let entity = match entity {
        // Only answers have these.
        Entity::TableEntry(entry) => {
            Entity::TableEntry(TableEntry { time_since_last_hit_ns: None, meter_counter_data: None, ..entry })
        }
        other => other,
    };
    let is_modified_only = match &entity {
        Entity::TableEntry(entry) => entry.is_default_action,
        Entity::Counter(_) | Entity::Meter(_) | Entity::Register(_) | Entity::ValueSet(_) => true,
        _ => false,
    };
    let kind = if is_modified_only { UpdateKind::Modify } else { UpdateKind::Insert };
    Update { kind, entity }
}

fn write_all(schema: &Schema, target: &mut dyn Target, updates: Vec<Update>) -> Vec<Result<(), Fault>> {
    let mut results: Vec<_> = updates.iter().map(|update| validate(schema, update)).collect();
    let valid: Vec<&Update> =
        updates.iter().zip(&results).filter(|(_, result)| result.is_ok()).map(|(update, _)| update).collect();
    let written = target.write_many(&valid);
    results.iter_mut().filter(|result| result.is_ok()).zip(written).for_each(|(result, of)| *result = of);
    for (update, result) in updates.into_iter().zip(&mut results) {
        // Declared by the program, or the same thing under two names.
        if matches!(result, Err(fault) if matches!(fault.problem(), Problem::AlreadyExists { .. })) {
            *result = target.write(&Update { kind: UpdateKind::Modify, ..update });
        }
    }
    results
}
