//! Places of translated values in entities and queries.

use crate::data::Data;
use crate::entity::*;
use crate::fault::{Fault, Inside};
use crate::query::Query;
use crate::schema::{DataType, IndexSpace, KeyElement, Schema, Table, ValueType};
use smol_str::SmolStr;

/// Changes values in their places. `name` is what has the value, for messages.
pub(super) trait Translate {
    fn value(&mut self, name: &str, ty: &ValueType, value: &mut Value) -> Result<(), Fault>;
    fn field_match(&mut self, element: &KeyElement, found: &mut Match) -> Result<(), Fault>;
    fn port(&mut self, port: &mut Port) -> Result<(), Fault>;
    fn index(&mut self, name: &SmolStr, space: &IndexSpace, index: &mut i64) -> Result<(), Fault>;
}

/// The parts of an entity that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    All,
    /// The key, which is all that a deletion reads.
    Key,
}

/// Translates an entity. Ids that the schema does not have are left to validation.
pub(super) fn entity(
    by: &mut impl Translate,
    schema: &Schema,
    parts: Parts,
    entity: &mut Entity,
) -> Result<(), Fault> {
    match entity {
        Entity::TableEntry(of) => {
            let Some(table) = schema.tables.get(of.table) else { return Ok(()) };
            matches(by, &table.keys, &mut of.matches)?;
            match &mut of.action {
                Some(action) if parts == Parts::All => table_action(by, schema, action).inside("action"),
                Some(_) | None => Ok(()),
            }
        }
        Entity::DirectMeter(DirectMeterEntry { entry, .. })
        | Entity::DirectCounter(DirectCounterEntry { entry, .. }) => entry_ref(by, schema, entry),
        Entity::Meter(of) => {
            let meter = schema.meters.get(of.meter);
            meter.map_or(Ok(()), |meter| index(by, &meter.names.name, &meter.index, &mut of.index))
        }
        Entity::Counter(of) => {
            let counter = schema.counters.get(of.counter);
            counter.map_or(Ok(()), |counter| index(by, &counter.names.name, &counter.index, &mut of.index))
        }
        Entity::Register(of) => {
            let Some(register) = schema.registers.get(of.register) else { return Ok(()) };
            let name = &register.names.name;
            index(by, name, &register.index, &mut of.index)?;
            of.data.as_mut().map_or(Ok(()), |value| data(by, name, &register.cell, value)).inside("data")
        }
        Entity::ValueSet(of) => {
            let Some(value_set) = schema.value_sets.get(of.value_set) else { return Ok(()) };
            of.members.iter_mut().enumerate().try_for_each(|(i, member)| {
                matches(by, &value_set.fields, &mut member.matches)
                    .map_err(|fault| fault.inside(format_args!("members[{i}]")))
            })
        }
        Entity::ActionProfileMember(_)
        | Entity::ActionProfileGroup(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
            if parts == Parts::Key =>
        {
            Ok(())
        }
        Entity::ActionProfileMember(of) => {
            of.action.as_mut().map_or(Ok(()), |of| action(by, schema, of)).inside("action")
        }
        Entity::ActionProfileGroup(of) => of.members.iter_mut().enumerate().try_for_each(|(i, member)| {
            let port = member.watch_port.as_mut().map_or(Ok(()), |port| by.port(port));
            port.map_err(|fault| fault.inside("watch_port").inside(format_args!("members[{i}]")))
        }),
        Entity::MulticastGroup(of) => replicas(by, &mut of.replicas),
        Entity::CloneSession(of) => replicas(by, &mut of.replicas),
        Entity::Digest(_) | Entity::Extern(_) => Ok(()),
    }
}

/// Translates the conditions of a query.
pub(super) fn query(by: &mut impl Translate, schema: &Schema, query: &mut Query) -> Result<(), Fault> {
    match query {
        Query::TableEntries(of) => {
            let table = of.table.and_then(|id| schema.tables.get(id));
            table.map_or(Ok(()), |table| matches(by, &table.keys, &mut of.matches))
        }
        Query::DirectMeters { entry, .. } | Query::DirectCounters { entry } => {
            entry.as_mut().map_or(Ok(()), |entry| entry_ref(by, schema, entry))
        }
        Query::Meters { meter, index: of, .. } => {
            let meter = meter.and_then(|id| schema.meters.get(id));
            meter.map_or(Ok(()), |meter| index(by, &meter.names.name, &meter.index, of))
        }
        Query::Counters { counter, index: of } => {
            let counter = counter.and_then(|id| schema.counters.get(id));
            counter.map_or(Ok(()), |counter| index(by, &counter.names.name, &counter.index, of))
        }
        Query::Registers { register, index: of } => {
            let register = register.and_then(|id| schema.registers.get(id));
            register.map_or(Ok(()), |register| index(by, &register.names.name, &register.index, of))
        }
        Query::Members { .. }
        | Query::Groups { .. }
        | Query::MulticastGroups(_)
        | Query::CloneSessions(_)
        | Query::ValueSets(_)
        | Query::Digests(_)
        | Query::Externs { .. } => Ok(()),
    }
}

/// Translates a value of any type, such as a digest. The recursion follows the type, whose depth is bounded.
pub(super) fn data(
    by: &mut impl Translate,
    name: &str,
    ty: &DataType,
    value: &mut Data,
) -> Result<(), Fault> {
    match (ty, value) {
        (DataType::Translated { uri, form }, value) => {
            let mut inner = match &*value {
                Data::Bits(bits) => Value::Bits(bits.clone()),
                Data::Text(text) => Value::Text(text.clone()),
                _ => return Ok(()),
            };
            by.value(name, &ValueType { form: *form, translation: Some(uri.clone()) }, &mut inner)?;
            *value = match inner {
                Value::Bits(bits) => Data::Bits(bits),
                Value::Text(text) => Data::Text(text),
            };
            Ok(())
        }
        (DataType::Tuple(types), Data::Tuple(values)) => {
            types.iter().zip(values).try_for_each(|(ty, value)| data(by, name, ty, value)).inside("tuple")
        }
        (DataType::Struct(of), Data::Struct(values)) => of
            .members
            .iter()
            .zip(values)
            .try_for_each(|((name, ty), value)| data(by, name, ty, value))
            .inside("struct"),
        // Fields of headers have types without translation.
        (
            DataType::Bits { .. }
            | DataType::Int { .. }
            | DataType::Varbit { .. }
            | DataType::Bool
            | DataType::Tuple(_)
            | DataType::Struct(_)
            | DataType::Header(_)
            | DataType::HeaderUnion(_)
            | DataType::HeaderStack { .. }
            | DataType::HeaderUnionStack { .. }
            | DataType::Enum(_)
            | DataType::Error(_)
            | DataType::SerializableEnum { .. },
            _,
        ) => Ok(()),
    }
}

fn entry_ref(by: &mut impl Translate, schema: &Schema, entry: &mut EntryRef) -> Result<(), Fault> {
    let keys = schema.tables.get(entry.table).map(|table: &Table| &table.keys);
    keys.map_or(Ok(()), |keys| matches(by, keys, &mut entry.matches)).inside("table_entry")
}

fn matches(by: &mut impl Translate, elements: &[KeyElement], found: &mut [FieldMatch]) -> Result<(), Fault> {
    found.iter_mut().enumerate().try_for_each(|(i, field)| {
        let element = elements.iter().find(|element| element.id == field.field);
        let translated = element.map_or(Ok(()), |element| by.field_match(element, &mut field.value));
        translated.map_err(|fault| fault.inside(format_args!("match[{i}]")))
    })
}

fn table_action(by: &mut impl Translate, schema: &Schema, found: &mut TableAction) -> Result<(), Fault> {
    match found {
        TableAction::Action(of) => action(by, schema, of).inside("action"),
        TableAction::Member(_) | TableAction::Group(_) => Ok(()),
        TableAction::OneShot(of) => {
            for (i, weighted) in of.actions.iter_mut().enumerate() {
                let port = weighted.watch_port.as_mut().map_or(Ok(()), |port| by.port(port));
                port.inside("watch_port")
                    .and_then(|()| action(by, schema, &mut weighted.action).inside("action"))
                    .map_err(|fault| fault.inside(format_args!("action_profile_actions[{i}]")))?;
            }
            let group_action = of.group_action.as_mut();
            group_action.map_or(Ok(()), |of| action(by, schema, of)).inside("group_action")
        }
    }
}

fn action(by: &mut impl Translate, schema: &Schema, found: &mut Action) -> Result<(), Fault> {
    let Some(action) = schema.actions.get(found.id) else { return Ok(()) };
    found.params.iter_mut().enumerate().try_for_each(|(i, found)| {
        let param = action.param(found.id);
        let translated = param.map_or(Ok(()), |param| by.value(&param.name, &param.value, &mut found.value));
        translated.map_err(|fault| fault.inside("value").inside(format_args!("params[{i}]")))
    })
}

fn index(
    by: &mut impl Translate,
    name: &SmolStr,
    space: &IndexSpace,
    index: &mut Option<i64>,
) -> Result<(), Fault> {
    index.as_mut().map_or(Ok(()), |index| by.index(name, space, index)).inside("index")
}

fn replicas(by: &mut impl Translate, replicas: &mut [Replica]) -> Result<(), Fault> {
    replicas.iter_mut().enumerate().try_for_each(|(i, replica)| {
        by.port(&mut replica.egress_port)
            .inside("port")
            .and_then(|()| {
                replica.backups.iter_mut().enumerate().try_for_each(|(j, backup)| {
                    let port = by.port(&mut backup.egress_port).inside("port");
                    port.map_err(|fault| fault.inside(format_args!("backup_replicas[{j}]")))
                })
            })
            .map_err(|fault| fault.inside(format_args!("replicas[{i}]")))
    })
}
