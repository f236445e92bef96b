//! Entities as a control target.

use super::{Entities, State, View};
use crate::store::{EntryHandle, Store};
use crate::traffic::SharedPre;
use control::records::{Changes, FollowerId};
use control::{
    Entity, Extras, Fault, MeterCounterData, PacketState, Query, Reading, RecordBlock, RecordCodes, RecordOp,
    RecordParts, RecordPlan, TableEntry, TableId, Target, Update, UpdateKind,
};
use std::sync::Arc;

/// The entities of a program at a moment, made by [`Entities::at`].
pub struct EntitiesAt<'a, S> {
    entities: &'a mut Entities,
    store: &'a mut S,
    pre: &'a SharedPre,
    now_ns: u64,
}

impl Entities {
    /// A control target that writes to and reads from `store` and `pre`, with `now_ns` as the time.
    pub fn at<'a, S: Store>(
        &'a mut self,
        store: &'a mut S,
        pre: &'a SharedPre,
        now_ns: u64,
    ) -> EntitiesAt<'a, S> {
        EntitiesAt { entities: self, store, pre, now_ns }
    }
}

impl<S: Store> EntitiesAt<'_, S> {
    /// The entry of a table that has this handle; `None` if it is gone.
    pub fn entry(&self, table: TableId, handle: EntryHandle, extras: Extras) -> Option<TableEntry> {
        self.entities.entry_at(self.view(), table, handle, extras)
    }

    fn view(&self) -> View<'_> {
        View { store: self.store, pre: self.pre, now_ns: self.now_ns }
    }
}

/// The counts of colours in an entity that has a meter.
fn colours_of(entity: &mut Entity) -> Option<&mut Option<MeterCounterData>> {
    match entity {
        Entity::TableEntry(entry) => Some(&mut entry.meter_counter_data),
        Entity::Meter(meter) => Some(&mut meter.counter_data),
        Entity::DirectMeter(meter) => Some(&mut meter.counter_data),
        _ => None,
    }
}

impl<S: Store> Target for EntitiesAt<'_, S> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        let state = State { store: self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.write(state, update)
    }

    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        let state = State { store: self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.write_many(state, updates)
    }

    fn restore(&mut self, kind: UpdateKind, mut entity: Entity) -> Result<(), Fault> {
        let entry = if let Entity::TableEntry(entry) = &entity { Some(entry) } else { None };
        let idle_ns = entry.and_then(|entry| entry.time_since_last_hit_ns);
        let idle_ns = idle_ns.map_or(0, |idle| u64::try_from(idle).unwrap_or(0));
        let now_ns = self.now_ns.saturating_sub(idle_ns);
        let carried = entry.map_or((false, None), |entry| (entry.is_of_packet, entry.profile));
        // An update cannot write them, but the store can.
        let colours = colours_of(&mut entity).and_then(Option::take);
        let mut entity = control::writable(entity);
        if let Some(place) = colours_of(&mut entity) {
            *place = colours;
        }
        if let Entity::TableEntry(entry) = &mut entity {
            (entry.is_of_packet, entry.profile) = carried;
        }
        let update = Update { kind, entity };
        self.entities.write(State { store: self.store, pre: self.pre, now_ns }, &update)
    }

    fn has_default_of_program(&self, table: TableId) -> bool {
        self.entities.has_default_of_program(table)
    }

    fn packet_state(&self) -> PacketState {
        self.entities.packet_state(self.store)
    }

    fn restore_packet_state(&mut self, state: &PacketState) {
        self.entities.restore_packet_state(self.store, state);
    }

    fn restore_default_data(&mut self, entry: &TableEntry) -> Result<(), Fault> {
        self.entities.restore_default_data(self.store, entry)
    }

    fn deleted_entries_of_program(&self) -> Vec<TableEntry> {
        self.entities.deleted_entries_of_program(self.store)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.entities.read(self.view(), query)
    }

    fn begin_read(&mut self, query: &Query) -> Result<Reading, Fault> {
        let view = View { store: &*self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.begin_read(view, query)
    }

    fn begin_scan(&mut self, table: TableId, after: Option<u64>) -> Result<Reading, Fault> {
        self.entities.begin_scan(table, after)
    }

    fn read_on(&mut self, reading: &mut Reading, n_max: usize) -> Result<Vec<Entity>, Fault> {
        let view = View { store: &*self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.read_on(view, reading, n_max)
    }

    fn end_read(&mut self, reading: Reading) {
        self.entities.end_read(&reading);
    }

    fn record_plan(&mut self, table: TableId, parts: RecordParts) -> Option<Arc<RecordPlan>> {
        let view = View { store: &*self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.record_plan(view, table, parts)
    }

    fn write_records(
        &mut self,
        plan: &RecordPlan,
        op: RecordOp,
        records: &mut [u8],
        metadata: &[&[u8]],
    ) -> RecordCodes {
        let state = State { store: self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.write_records(state, plan, op, records, metadata)
    }

    fn plan_of_read(&mut self, reading: &Reading) -> Option<Arc<RecordPlan>> {
        let view = View { store: &*self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.plan_of_read(view, reading)
    }

    fn read_records(
        &mut self,
        reading: &mut Reading,
        plan: &RecordPlan,
        n_max: usize,
        block: &mut RecordBlock,
    ) -> Result<bool, Fault> {
        let view = View { store: &*self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.read_records(view, reading, plan, n_max, block)
    }

    fn follow(&mut self, tables: &[TableId]) -> Option<FollowerId> {
        self.entities.follow(tables)
    }

    fn changes(
        &mut self,
        follower: FollowerId,
        parts: RecordParts,
        n_max: usize,
    ) -> Result<Vec<Changes>, Fault> {
        let view = View { store: &*self.store, pre: self.pre, now_ns: self.now_ns };
        self.entities.changes(view, follower, parts, n_max)
    }

    fn unfollow(&mut self, follower: FollowerId) {
        self.entities.unfollow(follower);
    }

    fn reserve(&mut self, table: TableId, n_more: u64) {
        if let Some(id) = self.entities.names().tables.get(&table) {
            self.store.reserve(*id, n_more);
        }
    }
}
