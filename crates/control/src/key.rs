//! Identity of entities: keys that can be compared and hashed.

use crate::entity::*;
use crate::ids::*;
use crate::schema::{KeyElement, Table};

/// The key of a table entry: a match per element, in the order of the table's key, and the priority. Entries
/// that match the same packets at the same priority have equal keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryKey {
    /// `None` for an element that matches any value.
    pub fields: Box<[Option<Match>]>,
    pub priority: i32,
}

impl EntryKey {
    /// Builds a key from matches that have passed [`validate()`](crate::validate()); matches on fields that
    /// the table does not have are ignored.
    pub fn new(table: &Table, matches: &[FieldMatch], priority: i32) -> EntryKey {
        EntryKey::of_fields(&table.keys, matches, priority)
    }

    pub(crate) fn of_fields(elements: &[KeyElement], matches: &[FieldMatch], priority: i32) -> EntryKey {
        let find = |element: &KeyElement| matches.iter().find(|field| field.field == element.id);
        let fields = elements.iter().map(|element| find(element).map(|field| field.value.clone())).collect();
        EntryKey { fields, priority }
    }

    /// Converts back to matches, without elements that match any value.
    pub fn matches(&self, table: &Table) -> Vec<FieldMatch> {
        let fields = table.keys.iter().zip(&self.fields);
        fields
            .filter_map(|(element, value)| Some(FieldMatch { field: element.id, value: value.clone()? }))
            .collect()
    }
}

/// Identity of an entity. An index of `None` means all cells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntityKey {
    TableEntry(TableId, EntryKey),
    DefaultEntry(TableId),
    ActionProfileMember(ProfileId, MemberId),
    ActionProfileGroup(ProfileId, GroupId),
    Meter(MeterId, Option<i64>),
    DirectMeter(Box<EntityKey>),
    Counter(CounterId, Option<i64>),
    DirectCounter(Box<EntityKey>),
    Register(RegisterId, Option<i64>),
    MulticastGroup(MulticastGroupId),
    CloneSession(CloneSessionId),
    ValueSet(ValueSetId),
    Digest(DigestId),
    Extern(ExternTypeId, ExternId),
}

impl EntityKey {
    /// Returns `None` for an entry of a table that the schema does not have.
    pub fn new(schema: &crate::Schema, entity: &Entity) -> Option<EntityKey> {
        let entry = |table: TableId, matches: &[FieldMatch], priority, is_default| {
            let known = schema.tables.get(table)?;
            Some(match is_default {
                true => EntityKey::DefaultEntry(table),
                false => EntityKey::TableEntry(table, EntryKey::new(known, matches, priority)),
            })
        };
        let of_ref = |of: &EntryRef| entry(of.table, &of.matches, of.priority, of.is_default_action);
        Some(match entity {
            Entity::TableEntry(of) => entry(of.table, &of.matches, of.priority, of.is_default_action)?,
            Entity::ActionProfileMember(of) => EntityKey::ActionProfileMember(of.profile, of.member),
            Entity::ActionProfileGroup(of) => EntityKey::ActionProfileGroup(of.profile, of.group),
            Entity::Meter(of) => EntityKey::Meter(of.meter, of.index),
            Entity::DirectMeter(of) => EntityKey::DirectMeter(Box::new(of_ref(&of.entry)?)),
            Entity::Counter(of) => EntityKey::Counter(of.counter, of.index),
            Entity::DirectCounter(of) => EntityKey::DirectCounter(Box::new(of_ref(&of.entry)?)),
            Entity::Register(of) => EntityKey::Register(of.register, of.index),
            Entity::MulticastGroup(of) => EntityKey::MulticastGroup(of.group),
            Entity::CloneSession(of) => EntityKey::CloneSession(of.session),
            Entity::ValueSet(of) => EntityKey::ValueSet(of.value_set),
            Entity::Digest(of) => EntityKey::Digest(of.digest),
            Entity::Extern(of) => EntityKey::Extern(of.extern_type, of.instance),
        })
    }
}
