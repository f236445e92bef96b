//! Everything that a controller can read of a switch.

use super::switch::Switch;
use super::{require, shown};
use crate::Finding;
use control::{Entity, EntityKey, Schema, TableEntry, Update, UpdateKind};
use p4info::proto::p4::v1 as pb;
use prost::Message;
use std::collections::HashMap;

/// Differences that a finding shows.
const N_SHOWN: usize = 6;

/// All entities by their keys, in their canonical form.
#[derive(Debug)]
pub struct State {
    entities: HashMap<EntityKey, Entity>,
    /// Their keys in the order in which they were read.
    order: Vec<EntityKey>,
    /// Encoded messages, sorted.
    bytes: Vec<Vec<u8>>,
}

/// How the entities of a state are written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// To the switch that has them.
    Modify,
    /// To an empty switch.
    Insert,
}

impl State {
    pub fn read(schema: &Schema, switch: &mut dyn Switch) -> Result<State, Finding> {
        let request = pb::ReadRequest { entities: questions(schema), ..pb::ReadRequest::default() };
        let (found, refused) = switch.read(&request)?;
        require(refused.is_empty(), "the state cannot be read", || format!("{refused:?}"))?;
        let mut state = State { entities: HashMap::new(), order: Vec::new(), bytes: Vec::new() };
        for message in found {
            let entity = decoded(schema, &message)?;
            let bytes = message.encode_to_vec();
            let again = p4runtime::encode_entity(schema, &entity).encode_to_vec();
            require(again == bytes, "an answer is not in its canonical form", || shown(&message))?;
            state.bytes.push(bytes);
            let key = EntityKey::new(schema, &entity).ok_or_else(|| {
                Finding::new("an entity of an unknown table is read", format!("{entity:?}"))
            })?;
            state.order.push(key.clone());
            if let Some(other) = state.entities.insert(key, entity) {
                return Err(Finding::new("an entity is read twice", format!("{other:?}")));
            }
        }
        state.bytes.sort_unstable();
        Ok(state)
    }

    pub fn get(&self, key: &EntityKey) -> Option<&Entity> {
        self.entities.get(key)
    }

    /// Fails if another state differs.
    pub fn require_equal(&self, other: &State, key: &str) -> Result<(), Finding> {
        require(self.bytes == other.bytes, key, || {
            let lines = |one: &State, two: &State, sign: char| {
                let only = one.bytes.iter().filter(|bytes| two.bytes.binary_search(bytes).is_err());
                let only = only.take(N_SHOWN).map(|bytes| {
                    let entity = pb::Entity::decode(&**bytes).unwrap_or_default();
                    format!("{sign} {}\n", shown(&entity))
                });
                only.collect::<String>()
            };
            lines(self, other, '-') + &lines(other, self, '+')
        })
    }

    /// Fails if an answer has entities that are not in the state.
    pub fn require_part(&self, schema: &Schema, answer: &[pb::Entity]) -> Result<(), Finding> {
        for entity in answer {
            let decoded = decoded(schema, entity)?;
            // Direct resources are those of an entry.
            let key = EntityKey::new(schema, &decoded).map(|key| match key {
                EntityKey::DirectCounter(entry) | EntityKey::DirectMeter(entry) => *entry,
                other => other,
            });
            require(
                key.is_some_and(|key| self.entities.contains_key(&key)),
                "an answer is not in the state",
                || format!("{entity:?}"),
            )?;
        }
        Ok(())
    }

    /// The updates that write the state: members before groups, groups before entries, direct resources behind entries.
    pub fn as_updates(&self, schema: &Schema, how: Rewrite) -> Vec<pb::Update> {
        let mut updates: Vec<Update> = self
            .order
            .iter()
            .filter_map(|key| as_update(schema, self.entities.get(key)?.clone(), how))
            .collect();
        updates.sort_by_key(|update| match &update.entity {
            Entity::ActionProfileMember(_) => 0,
            Entity::ActionProfileGroup(_) => 1,
            Entity::TableEntry(_) => 2,
            Entity::Meter(_)
            | Entity::DirectMeter(_)
            | Entity::Counter(_)
            | Entity::DirectCounter(_)
            | Entity::Register(_)
            | Entity::MulticastGroup(_)
            | Entity::CloneSession(_)
            | Entity::ValueSet(_)
            | Entity::Digest(_)
            | Entity::Extern(_) => 3,
        });
        updates.iter().map(|update| encoded(schema, update)).collect()
    }
}

pub fn encoded(schema: &Schema, update: &Update) -> pb::Update {
    let kind = match update.kind {
        UpdateKind::Insert => pb::update::Type::Insert,
        UpdateKind::Modify => pb::update::Type::Modify,
        UpdateKind::Delete => pb::update::Type::Delete,
    };
    pb::Update { r#type: kind.into(), entity: Some(p4runtime::encode_entity(schema, &update.entity)) }
}

/// `None` for entities that no update can write as they are: those of the program.
fn as_update(schema: &Schema, entity: Entity, how: Rewrite) -> Option<Update> {
    let kind = match (&entity, how) {
        (Entity::TableEntry(entry), _) if entry.is_const => return None,
        (Entity::TableEntry(entry), _) if entry.is_default_action => {
            let table = schema.tables.get(entry.table)?;
            let is_writable = table.implementation.is_none() && table.const_default_action.is_none();
            is_writable.then_some(UpdateKind::Modify)?
        }
        (Entity::TableEntry(_) | Entity::MulticastGroup(_) | Entity::CloneSession(_), how) => of(how),
        (Entity::ActionProfileMember(_) | Entity::ActionProfileGroup(_) | Entity::Digest(_), how) => of(how),
        (
            Entity::Meter(_)
            | Entity::DirectMeter(_)
            | Entity::Counter(_)
            | Entity::DirectCounter(_)
            | Entity::Register(_)
            | Entity::ValueSet(_),
            _,
        ) => UpdateKind::Modify,
        (Entity::Extern(_), _) => return None,
    };
    Some(Update { kind, entity })
}

fn of(how: Rewrite) -> UpdateKind {
    match how {
        Rewrite::Modify => UpdateKind::Modify,
        Rewrite::Insert => UpdateKind::Insert,
    }
}

fn decoded(schema: &Schema, message: &pb::Entity) -> Result<Entity, Finding> {
    let update = pb::Update { r#type: pb::update::Type::Insert.into(), entity: Some(message.clone()) };
    let decoded = p4runtime::decode_update(schema, &update);
    Ok(decoded.map_err(|fault| Finding::new("an answer makes no sense", fault.to_string()))?.entity)
}

/// Questions for everything.
fn questions(schema: &Schema) -> Vec<pb::Entity> {
    use pb::entity::Entity as Asked;
    use pb::packet_replication_engine_entry::Type;
    let replication =
        |of| Asked::PacketReplicationEngineEntry(pb::PacketReplicationEngineEntry { r#type: Some(of) });
    let mut all = vec![
        Asked::ActionProfileMember(pb::ActionProfileMember::default()),
        Asked::ActionProfileGroup(pb::ActionProfileGroup::default()),
        Asked::MeterEntry(pb::MeterEntry::default()),
        Asked::CounterEntry(pb::CounterEntry::default()),
        Asked::RegisterEntry(pb::RegisterEntry::default()),
        replication(Type::MulticastGroupEntry(pb::MulticastGroupEntry::default())),
        replication(Type::CloneSessionEntry(pb::CloneSessionEntry::default())),
        Asked::ValueSetEntry(pb::ValueSetEntry::default()),
        Asked::DigestEntry(pb::DigestEntry::default()),
    ];
    for table in &schema.tables {
        let entry = pb::TableEntry {
            table_id: table.id.0,
            counter_data: table.direct_counter.map(|_| pb::CounterData::default()),
            meter_config: table.direct_meter.map(|_| pb::MeterConfig::default()),
            ..pb::TableEntry::default()
        };
        let default = pb::TableEntry { is_default_action: true, ..entry.clone() };
        // A table without a key has nothing but its default entry.
        all.extend((!table.keys.is_empty()).then_some(Asked::TableEntry(entry)));
        all.push(Asked::TableEntry(default));
    }
    all.into_iter().map(|asked| pb::Entity { entity: Some(asked) }).collect()
}

/// The entry as it is compared: matches in the order of the table's key, parameters in that of the action.
pub fn canonical(schema: &Schema, entity: &Entity) -> Vec<u8> {
    let mut entity = entity.clone();
    if let Entity::TableEntry(entry) = &mut entity {
        *entry = TableEntry { time_since_last_hit_ns: None, meter_counter_data: None, ..entry.clone() };
    }
    p4runtime::encode_entity(schema, &entity).encode_to_vec()
}
