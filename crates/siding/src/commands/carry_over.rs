//! From one switch to another of the same program: everything that its control plane can see.
//!
//! What it cannot see begins anew: how full the buckets of meters are, when entries were last hit, random numbers.

use control::{Entity, EntityKey, EntryQuery, Fault, Query, Schema, Target, Update, UpdateKind};
use std::collections::{HashMap, HashSet};

/// `to` has the entries that the program declares, and no packet has passed.
pub fn carry_over(schema: &Schema, from: &dyn Target, to: &mut dyn Target) -> Result<(), Fault> {
    let entries = Query::TableEntries(EntryQuery::default());
    let groups = Query::Groups { profile: None, group: None };
    let members = Query::Members { profile: None, member: None };
    // What refers to others goes first, and comes last.
    for query in [&entries, &groups, &members] {
        remove_others(schema, from, to, query)?;
    }
    let mut queries = vec![members, groups, entries];
    queries.extend(schema.tables.iter().map(|table| {
        let of_table = EntryQuery { table: Some(table.id), is_default_action: true, ..EntryQuery::default() };
        Query::TableEntries(of_table)
    }));
    queries.extend([
        Query::MulticastGroups(None),
        Query::CloneSessions(None),
        Query::ValueSets(None),
        Query::Digests(None),
        Query::Registers { register: None, index: None },
        Query::Counters { counter: None, index: None },
        Query::Meters { meter: None, index: None, with_counter_data: false },
        Query::DirectMeters { entry: None, with_counter_data: false },
        Query::DirectCounters { entry: None },
    ]);
    queries.iter().try_for_each(|query| make_equal(schema, from, to, query))
}

fn remove_others(
    schema: &Schema,
    from: &dyn Target,
    to: &mut dyn Target,
    query: &Query,
) -> Result<(), Fault> {
    let kept: HashSet<EntityKey> =
        from.read(query)?.iter().filter_map(|entity| EntityKey::new(schema, entity)).collect();
    for entity in to.read(query)? {
        if EntityKey::new(schema, &entity).is_some_and(|key| !kept.contains(&key)) {
            to.write(&Update { kind: UpdateKind::Delete, entity })?;
        }
    }
    Ok(())
}

fn make_equal(schema: &Schema, from: &dyn Target, to: &mut dyn Target, query: &Query) -> Result<(), Fault> {
    let there: HashMap<EntityKey, Entity> = to
        .read(query)?
        .into_iter()
        .filter_map(|entity| Some((EntityKey::new(schema, &entity)?, entity)))
        .collect();
    for entity in from.read(query)? {
        let Some(key) = EntityKey::new(schema, &entity) else { continue };
        let kind = match there.get(&key) {
            Some(same) if *same == entity => continue,
            Some(_) => UpdateKind::Modify,
            None => UpdateKind::Insert,
        };
        to.write(&Update { kind, entity })?;
    }
    Ok(())
}
