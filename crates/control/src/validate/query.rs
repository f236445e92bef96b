//! Validation of queries (P4Runtime, "Wildcard Reads").

use super::indexed::index;
use super::matches;
use super::tables::default_entry_key;
use super::values::not_negative;
use crate::entity::EntryRef;
use crate::fault::{Fault, Inside, Problem};
use crate::query::{EntryQuery, Query};
use crate::schema::{ObjectKind, Schema};

/// Checks that the ids exist and that the conditions can be combined. A key must be complete.
pub fn validate_query(schema: &Schema, query: &Query) -> Result<(), Fault> {
    match query {
        Query::TableEntries(query) => table_entries(schema, query),
        Query::Members { profile, .. } => match profile {
            Some(profile) => {
                schema.require(&schema.profiles, *profile).inside("action_profile_id").map(|_| ())
            }
            None => Ok(()),
        },
        Query::Groups { profile, .. } => {
            let Some(profile) = profile else { return Ok(()) };
            let profile = schema.require(&schema.profiles, *profile).inside("action_profile_id")?;
            match profile.selector {
                Some(_) => Ok(()),
                None => Err(Problem::NoSelector { profile: profile.names.name.clone() }.into()),
            }
        }
        Query::Meters { meter, index: cell, .. } => {
            let Some(meter) = meter else { return no_index(ObjectKind::Meter, *cell) };
            let meter = schema.require(&schema.meters, *meter).inside("meter_id")?;
            index(&meter.names.name, &meter.index, *cell)
        }
        Query::Counters { counter, index: cell } => {
            let Some(counter) = counter else { return no_index(ObjectKind::Counter, *cell) };
            let counter = schema.require(&schema.counters, *counter).inside("counter_id")?;
            index(&counter.names.name, &counter.index, *cell)
        }
        Query::Registers { register, index: cell } => {
            let Some(register) = register else { return no_index(ObjectKind::Register, *cell) };
            let register = schema.require(&schema.registers, *register).inside("register_id")?;
            index(&register.names.name, &register.index, *cell)
        }
        Query::DirectMeters { entry, .. } => {
            entry_ref(schema, entry.as_ref(), "meter", |table| table.direct_meter.is_some())
        }
        Query::DirectCounters { entry } => {
            entry_ref(schema, entry.as_ref(), "counter", |table| table.direct_counter.is_some())
        }
        Query::MulticastGroups(_) | Query::CloneSessions(_) => Ok(()),
        Query::ValueSets(value_set) => match value_set {
            Some(id) => schema.require(&schema.value_sets, *id).inside("value_set_id").map(|_| ()),
            None => Ok(()),
        },
        Query::Digests(digest) => match digest {
            Some(id) => schema.require(&schema.digests, *id).inside("digest_id").map(|_| ()),
            None => Ok(()),
        },
        Query::Externs { extern_type, instance } => {
            if let Some(id) = extern_type
                && !schema.externs.iter().any(|known| known.extern_type == *id)
            {
                return Err(Fault::from(Problem::UnknownExternType { id: id.0 }).inside("extern_type_id"));
            }
            match instance {
                Some(id) => schema.require(&schema.externs, *id).inside("extern_id").map(|_| ()),
                None => Ok(()),
            }
        }
    }
}

fn no_index(kind: ObjectKind, cell: Option<i64>) -> Result<(), Fault> {
    match cell {
        Some(_) => Err(Problem::ConditionWithoutId { kind, field: "index" }.into()),
        None => Ok(()),
    }
}

/// P4Runtime, "Wildcard Reads" of table entries.
fn table_entries(schema: &Schema, query: &EntryQuery) -> Result<(), Fault> {
    let Some(table) = query.table else {
        let field = if !query.matches.is_empty() {
            "match"
        } else if query.priority != 0 {
            "priority"
        } else if query.action.is_some() {
            "action"
        } else if !query.metadata.is_empty() {
            "metadata"
        } else if query.controller_metadata != 0 {
            "controller_metadata"
        } else {
            // `is_default_action` is not a condition on entries: it selects the kind of entry.
            return Ok(());
        };
        return Err(Problem::ConditionWithoutId { kind: ObjectKind::Table, field }.into());
    };
    let table = schema.require(&schema.tables, table).inside("table_id")?;
    not_negative("priority", query.priority.into())?;
    if query.is_default_action {
        default_entry_key(table, query.matches.is_empty(), query.priority)?;
    } else if !query.matches.is_empty() {
        matches::fields(super::tables::owner(table), crate::schema::Part::Key, &table.keys, &query.matches)?;
    }
    if let Some(action) = query.action {
        if let Some(profile) = table.implementation {
            let profile = schema.name_of(profile.0);
            return Err(Problem::ActionCondition { table: table.names.name.clone(), profile }.into());
        }
        if table.action(action).is_none() {
            let unknown = schema.require(&schema.actions, action).map(|_| ());
            unknown.inside("action_id").inside("action").inside("action")?;
            let problem = Problem::ActionNotInTable {
                action: schema.name_of(action.0),
                owner: super::tables::owner(table).into(),
                known: table.actions.iter().map(|action| schema.name_of(action.id.0)).collect(),
            };
            return Err(Fault::from(problem).inside("action_id").inside("action").inside("action"));
        }
    }
    let asks = query.extras;
    let missing = |resource| Problem::NoDirectResource { table: table.names.name.clone(), resource };
    if asks.counter_data && table.direct_counter.is_none() {
        return Err(Fault::from(missing("counter")).inside("counter_data"));
    }
    if asks.meter_config && table.direct_meter.is_none() {
        return Err(Fault::from(missing("meter")).inside("meter_config"));
    }
    if asks.meter_counter_data && table.direct_meter.is_none() {
        return Err(Fault::from(missing("meter")).inside("meter_counter_data"));
    }
    if asks.time_since_last_hit && !table.has_idle_timeout {
        let table = table.names.name.clone();
        return Err(Problem::NoIdleTimeout { table, field: "time_since_last_hit" }.into());
    }
    Ok(())
}

fn entry_ref(
    schema: &Schema,
    entry: Option<&EntryRef>,
    resource: &'static str,
    has: impl Fn(&crate::schema::Table) -> bool,
) -> Result<(), Fault> {
    let Some(entry) = entry else { return Ok(()) };
    let check = || {
        let table = schema.require(&schema.tables, entry.table).inside("table_id")?;
        if !has(table) {
            return Err(Problem::NoDirectResource { table: table.names.name.clone(), resource }.into());
        }
        if entry.is_default_action {
            default_entry_key(table, entry.matches.is_empty(), entry.priority)
        } else if entry.matches.is_empty() {
            Ok(())
        } else {
            matches::key(table, &entry.matches, entry.priority)
        }
    };
    check().inside("table_entry")
}
