//! A target as controllers see it.

use crate::apply::{PacketState, Target};
use crate::entity::{Entity, TableEntry};
use crate::fault::{Fault, Problem};
use crate::ids::TableId;
use crate::query::Query;
use crate::reading::Reading;
use crate::records::{Changes, FollowerId, RecordBlock, RecordCodes, RecordOp, RecordParts, RecordPlan};
use crate::schema::Schema;
use crate::update::{Update, UpdateKind};

use super::translator::Translator;
use std::sync::Arc;

/// Takes and gives the values of controllers, and keeps those of the program in another target.
pub struct Translated<'t> {
    pub schema: &'t Arc<Schema>,
    pub translator: &'t mut Translator,
    pub target: &'t mut dyn Target,
}

impl Target for Translated<'_> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        if self.translator.is_empty() {
            return self.target.write(update);
        }
        let inner = self.translator.update(self.schema, update)?;
        self.target.write(&inner)
    }

    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        if self.translator.is_empty() {
            return self.target.write_many(updates);
        }
        let inner: Vec<Result<Update, Fault>> =
            updates.iter().map(|update| self.translator.update(self.schema, update)).collect();
        let good: Vec<&Update> = inner.iter().flatten().collect();
        let mut written = self.target.write_many(&good).into_iter();
        let missing = || Err(Problem::RollbackFailed { why: "a result is missing".into() }.into());
        inner.into_iter().map(|inner| inner.and_then(|_| written.next().unwrap_or_else(missing))).collect()
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        let Some(inner) = self.translator.query(self.schema, query)? else {
            let needs_entry = matches!(query, Query::DirectMeters { .. } | Query::DirectCounters { .. });
            return if needs_entry {
                Err(Problem::DoesNotExist { what: "the table entry".into() }.into())
            } else {
                Ok(Vec::new())
            };
        };
        self.answers(self.target.read(&inner)?)
    }

    fn begin_read(&mut self, query: &Query) -> Result<Reading, Fault> {
        match self.translator.query(self.schema, query)? {
            Some(inner) => self.target.begin_read(&inner),
            None => self.read(query).map(Reading::of),
        }
    }

    fn begin_scan(&mut self, table: TableId, after: Option<u64>) -> Result<Reading, Fault> {
        self.target.begin_scan(table, after)
    }

    fn read_on(&mut self, reading: &mut Reading, n_max: usize) -> Result<Vec<Entity>, Fault> {
        loop {
            let found = self.target.read_on(reading, n_max)?;
            let is_end = found.is_empty();
            let answers = self.answers(found)?;
            if is_end || !answers.is_empty() {
                return Ok(answers);
            }
        }
    }

    fn end_read(&mut self, reading: Reading) {
        self.target.end_read(reading);
    }

    fn record_plan(&mut self, table: TableId, parts: RecordParts) -> Option<Arc<RecordPlan>> {
        // Tables with values that are translated have none.
        self.target.record_plan(table, parts)
    }

    fn write_records(
        &mut self,
        plan: &RecordPlan,
        op: RecordOp,
        records: &mut [u8],
        metadata: &[&[u8]],
    ) -> RecordCodes {
        self.target.write_records(plan, op, records, metadata)
    }

    fn plan_of_read(&mut self, reading: &Reading) -> Option<Arc<RecordPlan>> {
        self.target.plan_of_read(reading)
    }

    fn read_records(
        &mut self,
        reading: &mut Reading,
        plan: &RecordPlan,
        n_max: usize,
        block: &mut RecordBlock,
    ) -> Result<bool, Fault> {
        let has_more = self.target.read_records(reading, plan, n_max, block)?;
        self.translate_others(block)?;
        Ok(has_more)
    }

    fn follow(&mut self, tables: &[TableId]) -> Option<FollowerId> {
        self.target.follow(tables)
    }

    fn changes(
        &mut self,
        follower: FollowerId,
        parts: RecordParts,
        n_max: usize,
    ) -> Result<Vec<Changes>, Fault> {
        let mut changes = self.target.changes(follower, parts, n_max)?;
        changes.iter_mut().try_for_each(|change| self.translate_others(&mut change.block))?;
        Ok(changes)
    }

    fn unfollow(&mut self, follower: FollowerId) {
        self.target.unfollow(follower);
    }

    fn reserve(&mut self, table: TableId, n_more: u64) {
        self.target.reserve(table, n_more);
    }

    fn is_batch_atomic(&self) -> bool {
        self.target.is_batch_atomic()
    }

    fn restore(&mut self, kind: UpdateKind, mut entity: Entity) -> Result<(), Fault> {
        self.translator.entity(self.schema, &mut entity)?;
        self.target.restore(kind, entity)
    }

    fn has_default_of_program(&self, table: TableId) -> bool {
        self.target.has_default_of_program(table)
    }

    fn packet_state(&self) -> PacketState {
        self.target.packet_state()
    }

    fn restore_packet_state(&mut self, state: &PacketState) {
        self.target.restore_packet_state(state);
    }

    fn restore_default_data(&mut self, entry: &TableEntry) -> Result<(), Fault> {
        self.target.restore_default_data(entry)
    }

    fn deleted_entries_of_program(&self) -> Vec<TableEntry> {
        let deleted = self.target.deleted_entries_of_program().into_iter().map(Entity::TableEntry).collect();
        let entries = self.answers(deleted).unwrap_or_default().into_iter();
        entries.filter_map(into_entry).collect()
    }
}

impl Translated<'_> {
    /// Translates what the target has answered.
    fn answers(&self, found: Vec<Entity>) -> Result<Vec<Entity>, Fault> {
        if self.translator.is_empty() {
            return Ok(found);
        }
        let translated = found.into_iter().filter_map(|mut entity| {
            match self.translator.answer(self.schema, &mut entity) {
                Ok(()) => Some(Ok(entity)),
                // Controllers have no name for this cell, so they cannot ask for it either.
                Err(fault) if is_of_index(&fault) => None,
                Err(fault) => Some(Err(fault)),
            }
        });
        translated.collect()
    }

    /// Translates the entries of a block that are no records.
    fn translate_others(&self, block: &mut RecordBlock) -> Result<(), Fault> {
        if block.others.is_empty() {
            return Ok(());
        }
        let entries = std::mem::take(&mut block.others);
        let answers = self.answers(entries.into_iter().map(Entity::TableEntry).collect())?;
        block.others.extend(answers.into_iter().filter_map(into_entry));
        Ok(())
    }
}

fn into_entry(entity: Entity) -> Option<TableEntry> {
    if let Entity::TableEntry(entry) = entity { Some(entry) } else { None }
}

/// Returns whether the index of a cell has no translation.
fn is_of_index(fault: &Fault) -> bool {
    fault.path() == "index" && matches!(fault.problem(), Problem::NoName { .. })
}
