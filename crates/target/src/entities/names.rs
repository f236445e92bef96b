//! Which id of P4Info is what in the program: they have their control-plane names in common.

use control::{
    ActionId, CounterId, DirectCounterId, DirectMeterId, MeterId, ProfileId, RegisterId, Schema, TableId,
    ValueSetId,
};
use ir::{ObjectId, Program};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Ids of P4Info and of the program. What only one of them has is not here.
#[derive(Debug, Default)]
pub struct Names {
    pub tables: BTreeMap<TableId, ir::TableId>,
    /// Index in a table's list of actions.
    pub actions: FxHashMap<(TableId, ActionId), u32>,
    pub profiles: BTreeMap<ProfileId, ObjectId>,
    pub counters: BTreeMap<CounterId, ObjectId>,
    pub direct_counters: BTreeMap<DirectCounterId, TableId>,
    pub meters: BTreeMap<MeterId, ObjectId>,
    pub direct_meters: BTreeMap<DirectMeterId, TableId>,
    pub registers: BTreeMap<RegisterId, ObjectId>,
    pub value_sets: BTreeMap<ValueSetId, ir::ValueSetId>,
}

impl Names {
    pub(super) fn new(program: &Program, schema: &Schema) -> Names {
        let tables: FxHashMap<&str, ir::TableId> =
            program.tables.iter().map(|(id, t)| (t.name.as_str(), id)).collect();
        let objects: FxHashMap<&str, ObjectId> =
            program.objects.iter().map(|(id, o)| (o.name.as_str(), id)).collect();
        let value_sets: FxHashMap<&str, ir::ValueSetId> =
            program.value_sets.iter().map(|(id, v)| (v.name.as_str(), id)).collect();
        let object = |name: &str| objects.get(name).copied();
        let mut names = Names::default();
        for table in schema.tables.iter() {
            let Some(id) = tables.get(table.names.name.as_str()) else { continue };
            names.tables.insert(table.id, *id);
            for action in &table.actions {
                let Some(known) = schema.actions.get(action.id) else { continue };
                let mut actions = (0u32..).zip(&program.tables[*id].actions);
                if let Some((i, _)) = actions.find(|(_, a)| a.name == known.names.name) {
                    names.actions.insert((table.id, action.id), i);
                }
            }
        }
        for profile in schema.profiles.iter() {
            names.profiles.extend(object(&profile.names.name).map(|o| (profile.id, o)));
        }
        for counter in schema.counters.iter() {
            names.counters.extend(object(&counter.names.name).map(|o| (counter.id, o)));
        }
        for meter in schema.meters.iter() {
            names.meters.extend(object(&meter.names.name).map(|o| (meter.id, o)));
        }
        for register in schema.registers.iter() {
            names.registers.extend(object(&register.names.name).map(|o| (register.id, o)));
        }
        for counter in schema.direct_counters.iter() {
            names.direct_counters.insert(counter.id, counter.table);
        }
        for meter in schema.direct_meters.iter() {
            names.direct_meters.insert(meter.id, meter.table);
        }
        for set in schema.value_sets.iter() {
            names.value_sets.extend(value_sets.get(set.names.name.as_str()).map(|id| (set.id, *id)));
        }
        names
    }
}
