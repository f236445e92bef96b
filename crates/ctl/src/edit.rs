//! Changes that depend on what the switch has: whole tables, groups and sessions by their numbers.

use control::{
    Batch, CloneSession, CloneSessionId, Entity, EntryQuery, Fault, MulticastGroup, MulticastGroupId, Port,
    Query, Replica, Schema, TableEntry, Target, Update, UpdateKind, apply,
};

/// Returns the number of entries that were removed. Constant entries stay.
pub(crate) fn clear_table(schema: &Schema, target: &mut dyn Target, table: &str) -> Result<u64, Fault> {
    let table = schema.tables.find(table)?.id;
    let entries =
        target.read(&Query::TableEntries(EntryQuery { table: Some(table), ..EntryQuery::default() }))?;
    let updates = entries.into_iter().filter_map(|entity| match entity {
        Entity::TableEntry(entry) if !entry.is_const => {
            let entry = TableEntry::new(entry.table, entry.matches, entry.priority);
            Some(Update { kind: UpdateKind::Delete, entity: Entity::TableEntry(entry) })
        }
        _ => None,
    });
    let updates: Vec<Update> = updates.collect();
    let n = updates.len() as u64;
    let batch = Batch { updates, ..Batch::default() };
    apply(schema, target, &batch)?.into_iter().collect::<Result<Vec<()>, Fault>>()?;
    Ok(n)
}

/// Each port gets one copy, of instance 0.
pub(crate) fn set_group(
    schema: &Schema,
    target: &mut dyn Target,
    group: u32,
    ports: &[u32],
) -> Result<(), Fault> {
    let group = MulticastGroupId(group);
    let replica = |port: &u32| Replica {
        egress_port: Port::number(u64::from(*port)),
        instance: 0,
        backups: Vec::new(),
    };
    let kind = match target.read(&Query::MulticastGroups(Some(group))) {
        Ok(found) if !found.is_empty() => UpdateKind::Modify,
        _ => UpdateKind::Insert,
    };
    let replicas = ports.iter().map(replica).collect();
    write(
        schema,
        target,
        kind,
        Entity::MulticastGroup(MulticastGroup { group, replicas, metadata: Vec::new() }),
    )
}

pub(crate) fn remove_group(schema: &Schema, target: &mut dyn Target, group: u32) -> Result<(), Fault> {
    let group = MulticastGroupId(group);
    let group = MulticastGroup { group, replicas: Vec::new(), metadata: Vec::new() };
    write(schema, target, UpdateKind::Delete, Entity::MulticastGroup(group))
}

pub(crate) fn remove_session(schema: &Schema, target: &mut dyn Target, session: u32) -> Result<(), Fault> {
    let session = CloneSession {
        session: CloneSessionId(session),
        replicas: Vec::new(),
        class_of_service: 0,
        packet_length_bytes: 0,
    };
    write(schema, target, UpdateKind::Delete, Entity::CloneSession(session))
}

fn write(schema: &Schema, target: &mut dyn Target, kind: UpdateKind, entity: Entity) -> Result<(), Fault> {
    let batch = Batch { updates: vec![Update { kind, entity }], ..Batch::default() };
    apply(schema, target, &batch)?.into_iter().collect()
}
