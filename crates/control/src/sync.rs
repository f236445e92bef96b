//! Copies everything that a control plane can see from one target to another.
//!
//! - [`mirror`]: makes a target of the same program equal to another one. It is used when one backend takes over from another.
//! - [`migrate`]: writes what a controller has written into a target of another program, as far as that has a place for it.
//!
//! Both read entities in one order: what others refer to comes first.

use crate::{
    Code, Data, Entity, EntityKey, EntryQuery, Extras, Fault, Problem, Query, Schema, TableEntry, TableId,
    Target, Update, UpdateKind, validate,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Faults that [`Migration`] keeps as text.
const N_FAULTS_MAX: usize = 100;

/// Result of [`migrate`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migration {
    pub n_copied: u64,
    /// Entities that the other program refuses.
    pub n_refused: u64,
    /// Refused entities and the reasons, with numbers: ``table `routes`: 10 entries: there is no such table``.
    pub faults: Vec<String>,
}

/// How counters and meters of table entries are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectCells {
    /// In one update with their entry.
    WithEntries,
    /// Separately, which also works for constant entries.
    Separate,
}

/// Makes `to` equal to `from`, a target of the same program. `to` has the entries that the program declares, and no packet
/// has passed it. Levels of meters, times of last hits and random numbers are not visible to a control plane and stay as
/// they are.
pub fn mirror(schema: &Schema, from: &dyn Target, to: &mut dyn Target) -> Result<(), Fault> {
    // Entries refer to groups, and groups to members.
    let entries = Query::TableEntries(EntryQuery::default());
    let groups = Query::Groups { profile: None, group: None };
    let members = Query::Members { profile: None, member: None };
    for query in [entries, groups, members] {
        remove_others(schema, from, to, &query)?;
    }
    let queries = queries(schema, |_| true, DirectCells::Separate);
    queries.iter().try_for_each(|query| make_equal(schema, from, to, query))
}

/// Writes the entities of `from` that its program does not declare into `to`, whose program has `to_schema`. Default actions
/// are written for tables of which `has_other_default` is true: a controller has changed them.
pub fn migrate(
    from_schema: &Schema,
    from: &dyn Target,
    to_schema: &Schema,
    to: &mut dyn Target,
    has_other_default: impl Fn(TableId) -> bool,
) -> Migration {
    let mut migration = Migration::default();
    for query in queries(from_schema, has_other_default, DirectCells::WithEntries) {
        let found = match from.read(&query) {
            Ok(found) => found,
            // A target that does not know this kind of entity has none.
            Err(fault) if fault.code() == Code::Unimplemented => continue,
            Err(fault) => {
                migration.n_refused += 1;
                migration.faults.push(fault.to_string());
                continue;
            }
        };
        let written = found.into_iter().filter(|entity| !is_initial(entity));
        let updates = written.map(|entity| update(to_schema, entity)).collect();
        let mut problems = BTreeMap::<String, u64>::new();
        for result in write_all(to_schema, to, updates) {
            match result {
                Ok(()) => migration.n_copied += 1,
                Err(fault) => {
                    migration.n_refused += 1;
                    let problem = fault.problem().to_string();
                    if problems.len() < N_FAULTS_MAX || problems.contains_key(&problem) {
                        *problems.entry(problem).or_default() += 1;
                    }
                }
            }
        }
        let table = match &query {
            Query::TableEntries(query) => query.table,
            _ => None,
        };
        let is_gone = table.is_some_and(|table| to_schema.tables.get(table).is_none());
        let n_all: u64 = problems.values().sum();
        match table.map(|table| from_schema.name_of(table.0)) {
            Some(name) if is_gone && n_all > 0 => {
                migration
                    .faults
                    .push(format!("table `{name}`: {}: there is no such table", n_entries(n_all)));
            }
            name => migration.faults.extend(problems.into_iter().map(|(problem, n)| match &name {
                Some(name) => format!("table `{name}`: {}: {problem}", n_entries(n)),
                None if n > 1 => format!("{problem} ({n} times)"),
                None => problem,
            })),
        }
        migration.faults.truncate(N_FAULTS_MAX);
    }
    migration
}

fn n_entries(n: u64) -> String {
    if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") }
}

/// The updates that make a fresh target of the same program accept packets as `from` does: entries, groups, sessions and
/// rates that its program does not declare. Values of counters and registers are left out. Default actions are among them for
/// tables of which `has_other_default` is true. Fails if something that `from` has cannot be read.
pub fn configuration(
    schema: &Schema,
    from: &dyn Target,
    has_other_default: impl Fn(TableId) -> bool,
) -> Result<Vec<Update>, Fault> {
    let mut updates = Vec::new();
    for query in queries(schema, has_other_default, DirectCells::WithEntries) {
        if matches!(query, Query::Registers { .. } | Query::Counters { .. }) {
            continue;
        }
        let found = match from.read(&query) {
            // A target that does not know this kind of entity has none.
            Err(fault) if fault.code() == Code::Unimplemented => continue,
            found => found?,
        };
        updates.extend(found.into_iter().filter(|entity| !is_initial(entity)).map(|mut entity| {
            if let Entity::TableEntry(entry) = &mut entity {
                entry.counter_data = None;
            }
            update(schema, entity)
        }));
    }
    Ok(updates)
}

/// All entities, those first that others refer to. Default actions are asked for where `wants_default` says so.
fn queries(schema: &Schema, wants_default: impl Fn(TableId) -> bool, cells: DirectCells) -> Vec<Query> {
    let mut all = vec![
        Query::ValueSets(None),
        Query::Members { profile: None, member: None },
        Query::Groups { profile: None, group: None },
    ];
    for table in schema.tables.iter() {
        let is_with_entries = cells == DirectCells::WithEntries;
        let extras = Extras {
            meter_config: is_with_entries && table.direct_meter.is_some(),
            counter_data: is_with_entries && table.direct_counter.is_some(),
            ..Extras::default()
        };
        let query = EntryQuery { table: Some(table.id), extras, ..EntryQuery::default() };
        if wants_default(table.id) {
            all.push(Query::TableEntries(EntryQuery { is_default_action: true, ..query.clone() }));
        }
        all.push(Query::TableEntries(query));
    }
    all.extend([
        Query::MulticastGroups(None),
        Query::CloneSessions(None),
        Query::Digests(None),
        Query::Registers { register: None, index: None },
        Query::Counters { counter: None, index: None },
        Query::Meters { meter: None, index: None, with_counter_data: false },
    ]);
    if cells == DirectCells::Separate {
        all.extend([
            Query::DirectMeters { entry: None, with_counter_data: false },
            Query::DirectCounters { entry: None },
        ]);
    }
    all
}

/// Deletes entities of `to` that `from` does not have.
fn remove_others(
    schema: &Schema,
    from: &dyn Target,
    to: &mut dyn Target,
    query: &Query,
) -> Result<(), Fault> {
    let wanted: HashSet<EntityKey> =
        from.read(query)?.iter().filter_map(|entity| EntityKey::new(schema, entity)).collect();
    for entity in to.read(query)? {
        if EntityKey::new(schema, &entity).is_some_and(|key| !wanted.contains(&key)) {
            to.write(&Update { kind: UpdateKind::Delete, entity })?;
        }
    }
    Ok(())
}

/// Inserts and modifies what differs.
fn make_equal(schema: &Schema, from: &dyn Target, to: &mut dyn Target, query: &Query) -> Result<(), Fault> {
    let present: HashMap<EntityKey, Entity> = to
        .read(query)?
        .into_iter()
        .filter_map(|entity| Some((EntityKey::new(schema, &entity)?, entity)))
        .collect();
    for entity in from.read(query)? {
        let Some(key) = EntityKey::new(schema, &entity) else { continue };
        let kind = match present.get(&key) {
            Some(same) if *same == entity => continue,
            Some(_) => UpdateKind::Modify,
            None => UpdateKind::Insert,
        };
        to.write(&Update { kind, entity })?;
    }
    Ok(())
}

/// Returns whether the entity has its initial state, that of a target without any writes.
fn is_initial(entity: &Entity) -> bool {
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

fn is_zero(data: &Data) -> bool {
    match data {
        Data::Bits(bits) => bits.is_zero(),
        Data::Bool(value) => !value,
        _ => false,
    }
}

/// The update that writes an entity as it was read.
fn update(schema: &Schema, entity: Entity) -> Update {
    let entity = match entity {
        // Answers have these, updates must not.
        Entity::TableEntry(entry) => {
            let mut entry = TableEntry { time_since_last_hit_ns: None, meter_counter_data: None, ..entry };
            schema.direct_uses.strip(&mut entry);
            Entity::TableEntry(entry)
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

/// Writes valid updates in one call, so that entries of a table go in together; modifies entities that are there already.
fn write_all(schema: &Schema, target: &mut dyn Target, updates: Vec<Update>) -> Vec<Result<(), Fault>> {
    let mut results: Vec<_> = updates.iter().map(|update| validate(schema, update)).collect();
    let valid: Vec<&Update> =
        updates.iter().zip(&results).filter(|(_, result)| result.is_ok()).map(|(update, _)| update).collect();
    let written = target.write_many(&valid);
    results.iter_mut().filter(|result| result.is_ok()).zip(written).for_each(|(result, of)| *result = of);
    for (update, result) in updates.into_iter().zip(&mut results) {
        // The program declares it, or two names of the old program are one in the new.
        if matches!(result, Err(fault) if matches!(fault.problem(), Problem::AlreadyExists { .. })) {
            *result = target.write(&Update { kind: UpdateKind::Modify, ..update });
        }
    }
    results
}
