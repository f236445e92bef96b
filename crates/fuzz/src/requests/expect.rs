//! Comparison of the state after a request with its updates.

use super::state::{State, canonical};
use super::switch::Refused;
use super::{Finding, require};
use control::{CounterData, Entity, EntityKey, Schema, Update, UpdateKind};
use p4info::proto::p4::v1 as pb;
use std::collections::HashMap;

/// Fails if an update that was made is not in the state, or one that was refused has changed something. Later updates of the
/// same entity count.
pub fn written(
    schema: &Schema,
    request: &pb::WriteRequest,
    results: &[Result<(), Refused>],
    before: &State,
    after: &State,
) -> Result<(), Finding> {
    // An update of all cells, or of a member, has consequences for others.
    let mut last: HashMap<EntityKey, (Update, bool)> = HashMap::new();
    for (update, result) in request.updates.iter().zip(results) {
        let Ok(update) = p4runtime::decode_update(schema, update) else { continue };
        let Some(key) = EntityKey::new(schema, &update.entity) else { continue };
        if result.is_ok() {
            let is_first = !last.contains_key(&key);
            last.insert(key, (update, is_first));
        }
    }
    // Cells, and counters and meters of entries, are read in two ways; several updates may be of the same one.
    let is_alone = last.len() == 1;
    for (key, (update, is_first)) in &last {
        let found = after.get(key);
        match update.kind {
            UpdateKind::Delete => {
                require(found.is_none(), "a deleted entity is still there", || format!("{update:?}"))?;
            }
            UpdateKind::Insert | UpdateKind::Modify => {
                let had = before.get(key).filter(|_| *is_first);
                let Some(wanted) = wanted(update, had, is_alone && *is_first) else { continue };
                let Some(found) = found else {
                    return Err(Finding::new("a written entity is not there", format!("{update:?}")));
                };
                require(
                    canonical(schema, &strip(schema, wanted.clone()))
                        == canonical(schema, &strip(schema, found.clone())),
                    &format!("{} is not read as it was written", schema.describe(found)),
                    || format!("written: {wanted:?}\nread: {found:?}"),
                )?;
            }
        }
    }
    Ok(())
}

/// Without the differences that there may be: the order of matches, direct resources that nothing uses.
fn strip(schema: &Schema, mut entity: Entity) -> Entity {
    // A digest without a config has one of zeros.
    if let Entity::Digest(of) = &mut entity {
        of.config.get_or_insert_default();
    }
    if let Entity::ValueSet(of) = &mut entity
        && let Some(set) = schema.value_sets.get(of.value_set)
    {
        for member in &mut of.members {
            member.matches.sort_by_key(|found| set.fields.iter().position(|field| field.id == found.field));
        }
    }
    if let Entity::TableEntry(entry) = &mut entity {
        schema.direct_uses.strip(entry);
        entry.counter_data = entry.counter_data.filter(|data| *data != CounterData::default());
        let table = schema.tables.get(entry.table);
        if let Some(table) = table {
            entry.matches.sort_by_key(|found| table.keys.iter().position(|key| key.id == found.field));
        }
    }
    entity
}

/// The entity as it is to be read; `None` if that depends on more than the update.
fn wanted(update: &Update, before: Option<&Entity>, is_alone: bool) -> Option<Entity> {
    Some(match &update.entity {
        Entity::TableEntry(entry) => {
            let mut entry = entry.clone();
            if update.kind == UpdateKind::Modify {
                let Some(Entity::TableEntry(old)) = before else { return None };
                if entry.action.is_none() {
                    // The default entry becomes that of the program.
                    if entry.is_default_action {
                        return None;
                    }
                    entry.action = old.action.clone();
                }
                entry.counter_data = entry.counter_data.or(old.counter_data);
                entry.is_const = old.is_const;
            }
            // Counts and rates may have been written behind it as direct resources.
            if !is_alone {
                return None;
            }
            Entity::TableEntry(entry)
        }
        Entity::Counter(of) if of.index.is_some() && of.data.is_some() && is_alone => update.entity.clone(),
        Entity::Register(of) if of.index.is_some() && is_alone => update.entity.clone(),
        Entity::Meter(of) if of.index.is_some() && is_alone => {
            let mut of = of.clone();
            of.counter_data = None;
            Entity::Meter(of)
        }
        Entity::ActionProfileMember(_)
        | Entity::ActionProfileGroup(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
        | Entity::ValueSet(_)
        | Entity::Digest(_) => update.entity.clone(),
        Entity::Counter(_)
        | Entity::Register(_)
        | Entity::Meter(_)
        | Entity::DirectMeter(_)
        | Entity::DirectCounter(_)
        | Entity::Extern(_) => return None,
    })
}
