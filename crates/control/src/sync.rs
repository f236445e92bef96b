//! Copies everything that a control plane can see from one target to another.
//!
//! - [`mirror`]: makes a target of the same program equal to another one. It is used when one backend takes over from another.
//! - [`migrate`]: writes what a controller has written into a target of another program, as far as that has a place for it.
//!
//! Both read entities in one order: what others refer to comes first.

use crate::schema::Part;
use crate::{
    Action, Code, CounterData, Data, Entity, EntityKey, EntryQuery, Extras, Fault, MeterCounterData,
    MeterEntry, Problem, Query, Schema, TableAction, TableEntry, Target, Update, UpdateKind, validate,
    writable,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Faults that [`Migration`] keeps as text.
const N_FAULTS_MAX: usize = 100;
/// Entities that are copied at once.
const N_OF_STEP: usize = 1 << 16;

/// Result of [`migrate`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migration {
    pub n_copied: u64,
    /// Entities that the other program refuses.
    pub n_refused: u64,
    /// Entries of packets that it has no place for.
    pub n_left_out: u64,
    /// Refused entities and the reasons, with numbers: ``table `routes`: 10 entries: there is no such table``.
    pub faults: Vec<String>,
}

/// How counters and meters of table entries are copied. Those of default entries come with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectCells {
    /// In one update with their entry.
    WithEntries,
    /// Separately, which also works for constant entries.
    Separate,
}

/// Makes `to` equal to `from`, a target of the same program. `to` has the entries that the program declares, and no packet
/// has passed it. Levels of meters, times of last hits of entries that the control plane has written, and random numbers are not
/// visible to a control plane and stay as they are.
pub fn mirror(schema: &Schema, from: &dyn Target, to: &mut dyn Target) -> Result<(), Fault> {
    to.restore_packet_state(&from.packet_state());
    // Entries refer to groups, and groups to members.
    let entries = Query::TableEntries(EntryQuery::default());
    let groups = Query::Groups { profile: None, group: None };
    let members = Query::Members { profile: None, member: None };
    for query in [entries, groups, members] {
        remove_others(schema, from, to, &query)?;
    }
    let queries = queries(schema, DirectCells::Separate);
    queries.iter().try_for_each(|query| make_equal(schema, from, to, query))
}

/// Writes what a controller has changed in `from` into `to`, whose program has `to_schema` and which no controller has written
/// to: entities that the program of `from` does not declare, default actions, counters and meters with their counts of
/// colours, times since the last hit. Entries that a controller has deleted are deleted. Those that packets have added come along, after
/// all others of their table; one that has no place is no fault, as a packet may add it again.
pub fn migrate(
    from_schema: &Schema,
    from: &mut dyn Target,
    to_schema: &Schema,
    to: &mut dyn Target,
) -> Migration {
    let mut migration = Migration::default();
    to.restore_packet_state(&from.packet_state());
    for entry in from.deleted_entries_of_program() {
        let update = Update { kind: UpdateKind::Delete, entity: Entity::TableEntry(entry) };
        if validate(to_schema, &update).is_ok() {
            // Programs that do not declare the entry have nothing to delete.
            let _ = to.write(&update);
        }
    }
    for query in queries(from_schema, DirectCells::WithEntries) {
        let mut problems = BTreeMap::<String, u64>::new();
        let mut has_of_packets = false;
        let is_same = |entity: &Entity| renamed(from_schema, to_schema, entity).is_none();
        let mut copied = each_step(from, &query, &mut |from, found| {
            let (of_packets, found): (Vec<Entity>, Vec<Entity>) = found.into_iter().partition(is_of_packet);
            has_of_packets |= !of_packets.is_empty();
            let mut refuse = |fault: Fault| {
                migration.n_refused += 1;
                let problem = match fault.problem() {
                    // Entries differ in their keys alone.
                    Problem::Full { size, .. } => format!("there is room for {size}"),
                    problem => problem.to_string(),
                };
                if problems.len() < N_FAULTS_MAX || problems.contains_key(&problem) {
                    *problems.entry(problem).or_default() += 1;
                }
            };
            let (found, others): (Vec<Entity>, Vec<Entity>) = found.into_iter().partition(is_same);
            others.iter().filter_map(|entity| renamed(from_schema, to_schema, entity)).for_each(&mut refuse);
            let changed = found.into_iter().filter_map(|entity| change(to_schema, from, entity)).collect();
            for result in write_all(to_schema, to, changed) {
                match result {
                    Ok(()) => migration.n_copied += 1,
                    Err(fault) => refuse(fault),
                }
            }
        });
        if copied.is_ok() && has_of_packets {
            copied = each_step(from, &query, &mut |_, found| {
                let of_packets: Vec<Entity> = found.into_iter().filter(is_of_packet).collect();
                let n_all = of_packets.len() as u64;
                let n_carried = carry(to_schema, to, of_packets.into_iter().filter(is_same).collect());
                migration.n_copied += n_carried;
                migration.n_left_out += n_all - n_carried;
            });
        }
        if let Err(fault) = copied {
            migration.n_refused += 1;
            migration.faults.push(fault.to_string());
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

/// Reads what a query asks for in steps. A target that does not know this kind of entity has none.
fn each_step(
    from: &mut dyn Target,
    query: &Query,
    work: &mut dyn FnMut(&dyn Target, Vec<Entity>),
) -> Result<(), Fault> {
    let mut reading = match from.begin_read(query) {
        Err(fault) if fault.code() == Code::Unimplemented => return Ok(()),
        begun => begun?,
    };
    let result = loop {
        match from.read_on(&mut reading, N_OF_STEP) {
            Ok(found) if found.is_empty() => break Ok(()),
            Ok(found) => {
                work(from, found);
            }
            Err(fault) => break Err(fault),
        }
    };
    from.end_read(reading);
    result
}

fn is_of_packet(entity: &Entity) -> bool {
    matches!(entity, Entity::TableEntry(entry) if entry.is_of_packet)
}

/// The fault of an entity whose key elements or parameters have other names in the other program: their values would become
/// those of others.
fn renamed(from_schema: &Schema, to_schema: &Schema, entity: &Entity) -> Option<Fault> {
    let of_action = |action: &Action| {
        let (before, now) = (from_schema.actions.get(action.id)?, to_schema.actions.get(action.id)?);
        let pair = before.params.iter().zip(&now.params).find(|(one, other)| one.name != other.name);
        let owner = format!("action `{}`", before.names.name);
        pair.map(|(one, other)| (Part::Param, one.name.clone(), other.name.clone(), owner))
    };
    let of_entry = |entry: &TableEntry| {
        let (before, now) = (from_schema.tables.get(entry.table)?, to_schema.tables.get(entry.table)?);
        let pair = before.keys.iter().zip(&now.keys).find(|(one, other)| one.name != other.name);
        let owner = format!("table `{}`", before.names.name);
        pair.map(|(one, other)| (Part::Key, one.name.clone(), other.name.clone(), owner))
    };
    let (part, before, now, owner) = match entity {
        Entity::TableEntry(entry) => {
            let key = if entry.matches.is_empty() { None } else { of_entry(entry) };
            let param = || match &entry.action {
                Some(TableAction::Action(action)) => of_action(action),
                _ => None,
            };
            key.or_else(param)?
        }
        Entity::ActionProfileMember(member) => member.action.as_ref().and_then(of_action)?,
        _ => return None,
    };
    Some(Problem::Renamed { part, before, now, owner: owner.into() }.into())
}

/// Adds entries of packets to another program, with the rest of their time. Those that have no place are left out, as packets
/// may add them again. Returns the number of the others.
fn carry(to_schema: &Schema, to: &mut dyn Target, entries: Vec<Entity>) -> u64 {
    let mut n_carried = 0;
    for entity in entries {
        let update = Update { kind: UpdateKind::Insert, entity: writable(entity.clone()) };
        let is_carried =
            validate(to_schema, &update).is_ok() && to.restore(UpdateKind::Insert, entity).is_ok();
        n_carried += u64::from(is_carried);
    }
    n_carried
}

fn n_entries(n: u64) -> String {
    if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") }
}

/// The updates that make a fresh target of the same program accept packets as `from` does: entries, groups, sessions and
/// rates that its program does not declare, and deletions of those that it declares. Values of counters and registers are left
/// out, and so are entries of packets. Fails if something that `from` has cannot be read.
pub fn configuration(schema: &Schema, from: &mut dyn Target) -> Result<Vec<Update>, Fault> {
    let delete = |entry| Update { kind: UpdateKind::Delete, entity: Entity::TableEntry(entry) };
    let mut updates: Vec<Update> = from.deleted_entries_of_program().into_iter().map(delete).collect();
    for query in queries(schema, DirectCells::WithEntries) {
        if matches!(query, Query::Registers { .. } | Query::Counters { .. }) {
            continue;
        }
        each_step(from, &query, &mut |from, mut found| {
            found.retain(|entity| !is_of_packet(entity));
            updates.extend(found.into_iter().filter_map(|mut entity| {
                if let Entity::TableEntry(entry) = &mut entity {
                    entry.counter_data = None;
                    entry.time_since_last_hit_ns = None;
                }
                Some(change(schema, from, entity)?.update)
            }));
        })?;
    }
    Ok(updates)
}

/// All entities, those first that others refer to.
fn queries(schema: &Schema, cells: DirectCells) -> Vec<Query> {
    let mut all = vec![
        Query::ValueSets(None),
        Query::Members { profile: None, member: None },
        Query::Groups { profile: None, group: None },
    ];
    for table in schema.tables.iter() {
        let with_cells = Extras {
            meter_config: table.direct_meter.is_some(),
            counter_data: table.direct_counter.is_some(),
            meter_counter_data: table.direct_meter.is_some(),
            time_since_last_hit: true,
        };
        let extras = match cells {
            DirectCells::WithEntries => with_cells,
            DirectCells::Separate => Extras { time_since_last_hit: true, ..Extras::default() },
        };
        let query = EntryQuery { table: Some(table.id), ..EntryQuery::default() };
        let default = EntryQuery { is_default_action: true, extras: with_cells, ..query.clone() };
        all.push(Query::TableEntries(default));
        all.push(Query::TableEntries(EntryQuery { extras, ..query }));
    }
    all.extend([
        Query::MulticastGroups(None),
        Query::CloneSessions(None),
        Query::Digests(None),
        Query::Registers { register: None, index: None },
        Query::Counters { counter: None, index: None },
        Query::Meters { meter: None, index: None, with_counter_data: true },
    ]);
    if cells == DirectCells::Separate {
        all.extend([
            Query::DirectMeters { entry: None, with_counter_data: true },
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
    for mut entity in from.read(query)? {
        if is_of_packet(&entity) {
            to.restore(UpdateKind::Insert, entity)?;
            continue;
        }
        if let Entity::TableEntry(entry) = &mut entity {
            entry.time_since_last_hit_ns = None;
        }
        let Some(key) = EntityKey::new(schema, &entity) else { continue };
        let kind = match present.get(&key) {
            Some(same) if *same == entity => continue,
            Some(_) => UpdateKind::Modify,
            None => UpdateKind::Insert,
        };
        match entity {
            // To write the action of the program would make it one that the controller has set.
            Entity::TableEntry(entry) if entry.is_default_action => {
                let is_of_program = from.has_default_of_program(entry.table);
                let action = entry.action.clone().filter(|_| !is_of_program);
                to.restore(kind, Entity::TableEntry(TableEntry { action, ..entry.clone() }))?;
                if is_of_program {
                    to.restore_default_data(&entry)?;
                }
            }
            entity => to.write(&Update { kind, entity })?,
        }
    }
    Ok(())
}

/// A change that a controller or packets have made to what a program declares.
struct Change {
    update: Update,
    /// Time since the last hit of an entry with a timeout, in nanoseconds.
    idle_ns: Option<i64>,
    /// Packets that the meter of the entity has counted.
    colours: Option<MeterCounterData>,
}

/// The change that gives a fresh target an entity of `from`; `None` if the program of `from` declares it as it is.
fn change(to_schema: &Schema, from: &dyn Target, entity: Entity) -> Option<Change> {
    let (mut idle_ns, mut is_declared) = (None, false);
    let mut colours = None;
    let entity = match entity {
        Entity::TableEntry(entry) => {
            idle_ns = entry.time_since_last_hit_ns.filter(|_| entry.idle_timeout_ns > 0);
            is_declared = entry.is_default_action || entry.is_const;
            let is_of_program = entry.is_default_action && from.has_default_of_program(entry.table);
            // An update without an action leaves that of the program in place.
            let action = entry.action.filter(|_| !entry.is_const && !is_of_program);
            let counter_data = entry.counter_data.filter(|data| *data != CounterData::default());
            let mut entry = TableEntry { action, counter_data, is_const: false, ..entry };
            to_schema.direct_uses.strip(&mut entry);
            colours = entry.meter_counter_data;
            Entity::TableEntry(entry)
        }
        Entity::Meter(meter) => {
            colours = meter.counter_data;
            Entity::Meter(meter)
        }
        other => other,
    };
    let colours = colours.filter(|colours| *colours != MeterCounterData::default());
    let entity = writable(entity);
    let (kind, is_initial) = match &entity {
        Entity::TableEntry(entry) if is_declared => {
            let TableEntry { action, counter_data, meter_config, metadata, .. } = entry;
            let has_data = counter_data.is_some() || meter_config.is_some() || colours.is_some();
            let has_metadata = !metadata.is_empty() || entry.controller_metadata != 0;
            (UpdateKind::Modify, action.is_none() && !has_data && !has_metadata)
        }
        Entity::Counter(counter) => {
            (UpdateKind::Modify, counter.data.is_none_or(|data| data == CounterData::default()))
        }
        Entity::Meter(meter) => (UpdateKind::Modify, meter.config.is_none() && colours.is_none()),
        Entity::Register(register) => (UpdateKind::Modify, register.data.as_ref().is_none_or(is_zero)),
        Entity::ValueSet(value_set) => (UpdateKind::Modify, value_set.members.is_empty()),
        Entity::TableEntry(_)
        | Entity::ActionProfileMember(_)
        | Entity::ActionProfileGroup(_)
        | Entity::DirectMeter(_)
        | Entity::DirectCounter(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
        | Entity::Digest(_)
        | Entity::Extern(_) => (UpdateKind::Insert, false),
    };
    (!is_initial).then_some(Change { update: Update { kind, entity }, idle_ns, colours })
}

fn is_zero(data: &Data) -> bool {
    match data {
        Data::Bits(bits) => bits.is_zero(),
        Data::Bool(value) => !value,
        _ => false,
    }
}

/// Makes changes in one call, so that entries of a table go in together; modifies entities that are there already.
fn write_all(schema: &Schema, target: &mut dyn Target, changes: Vec<Change>) -> Vec<Result<(), Fault>> {
    let mut results: Vec<_> = changes.iter().map(|change| validate(schema, &change.update)).collect();
    let valid: Vec<&Update> = changes
        .iter()
        .zip(&results)
        .filter(|(_, result)| result.is_ok())
        .map(|(change, _)| &change.update)
        .collect();
    let written = target.write_many(&valid);
    results.iter_mut().filter(|result| result.is_ok()).zip(written).for_each(|(result, of)| *result = of);
    for (Change { mut update, idle_ns, colours }, result) in changes.into_iter().zip(&mut results) {
        // The program declares it, or two names of the old program are one in the new.
        if matches!(result, Err(fault) if matches!(fault.problem(), Problem::AlreadyExists { .. })) {
            update.kind = UpdateKind::Modify;
            *result = target.write(&update);
        }
        if result.is_ok() && (idle_ns.is_some() || colours.is_some()) {
            let entity = match update.entity {
                Entity::TableEntry(entry) => Entity::TableEntry(TableEntry {
                    time_since_last_hit_ns: idle_ns,
                    meter_counter_data: colours,
                    ..entry
                }),
                Entity::Meter(meter) => Entity::Meter(MeterEntry { counter_data: colours, ..meter }),
                other => other,
            };
            *result = target.restore(UpdateKind::Modify, entity);
        }
    }
    results
}
