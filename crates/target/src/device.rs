//! A program with everything it keeps: what a control plane writes to and packets run through.

use crate::entities::{Entities, EntitiesAt, View};
use crate::traffic::Unrunnable;
use crate::{BlockRunner, Config, Store, Switch};
use control::records::{Changes, FollowerId};
use control::{
    Entity, Fault, PacketState, Query, Reading, RecordBlock, RecordCodes, RecordOp, RecordParts, RecordPlan,
    Schema, TableEntry, TableId, Target, Update, UpdateKind,
};
use std::sync::Arc;

/// A switch and its control plane's view of it.
pub struct Device<E: BlockRunner> {
    /// Packets go in and come out here.
    pub switch: Switch<E>,
    pub entities: Entities,
}

impl<E: BlockRunner + Store> Device<E> {
    /// The entries that the program declares are the runner's matter.
    pub fn new(runner: E, schema: impl Into<Arc<Schema>>, config: Config) -> Result<Device<E>, Unrunnable> {
        let switch = Switch::new(runner, config)?;
        let entities =
            Entities::new(Arc::clone(switch.program()), schema, switch.runner.table_shapes().clone());
        Ok(Device { switch, entities })
    }
}

impl<E: BlockRunner + Store> Device<E> {
    /// The control plane's view, now.
    fn target(&mut self) -> EntitiesAt<'_, E> {
        let now_ns = self.switch.now_ns();
        let Switch { runner, pre, .. } = &mut self.switch;
        self.entities.at(runner, pre.shared(), now_ns)
    }
}

impl<E: BlockRunner + Store> Target for Device<E> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.target().write(update)
    }

    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        self.target().write_many(updates)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let Switch { runner, pre, .. } = &self.switch;
        self.entities.read(View { store: runner, pre: pre.shared(), now_ns: self.switch.now_ns() }, query)
    }

    fn begin_read(&mut self, query: &Query) -> Result<Reading, Fault> {
        self.target().begin_read(query)
    }

    fn begin_scan(&mut self, table: TableId, after: Option<u64>) -> Result<Reading, Fault> {
        self.target().begin_scan(table, after)
    }

    fn read_on(&mut self, reading: &mut Reading, n_max: usize) -> Result<Vec<Entity>, Fault> {
        self.target().read_on(reading, n_max)
    }

    fn end_read(&mut self, reading: Reading) {
        self.target().end_read(reading);
    }

    fn record_plan(&mut self, table: TableId, parts: RecordParts) -> Option<Arc<RecordPlan>> {
        self.target().record_plan(table, parts)
    }

    fn write_records(
        &mut self,
        plan: &RecordPlan,
        op: RecordOp,
        records: &mut [u8],
        metadata: &[&[u8]],
    ) -> RecordCodes {
        self.target().write_records(plan, op, records, metadata)
    }

    fn plan_of_read(&mut self, reading: &Reading) -> Option<Arc<RecordPlan>> {
        self.target().plan_of_read(reading)
    }

    fn read_records(
        &mut self,
        reading: &mut Reading,
        plan: &RecordPlan,
        n_max: usize,
        block: &mut RecordBlock,
    ) -> Result<bool, Fault> {
        self.target().read_records(reading, plan, n_max, block)
    }

    fn follow(&mut self, tables: &[TableId]) -> Option<FollowerId> {
        self.target().follow(tables)
    }

    fn changes(
        &mut self,
        follower: FollowerId,
        parts: RecordParts,
        n_max: usize,
    ) -> Result<Vec<Changes>, Fault> {
        self.target().changes(follower, parts, n_max)
    }

    fn unfollow(&mut self, follower: FollowerId) {
        self.target().unfollow(follower);
    }

    fn reserve(&mut self, table: TableId, n_more: u64) {
        self.target().reserve(table, n_more);
    }

    fn restore(&mut self, kind: UpdateKind, entity: Entity) -> Result<(), Fault> {
        self.target().restore(kind, entity)
    }

    fn has_default_of_program(&self, table: TableId) -> bool {
        self.entities.has_default_of_program(table)
    }

    fn packet_state(&self) -> PacketState {
        self.entities.packet_state(&self.switch.runner)
    }

    fn restore_packet_state(&mut self, state: &PacketState) {
        self.target().restore_packet_state(state);
    }

    fn restore_default_data(&mut self, entry: &TableEntry) -> Result<(), Fault> {
        self.target().restore_default_data(entry)
    }

    fn deleted_entries_of_program(&self) -> Vec<TableEntry> {
        self.entities.deleted_entries_of_program(&self.switch.runner)
    }

    /// No packet runs while a batch is applied: both need the switch for themselves.
    fn is_batch_atomic(&self) -> bool {
        true
    }
}
