//! Work on the entities of a program in steps, between which packets, messages and other requests have their turn.

use crate::device::Device;
use crate::failure;
use crate::pipeline::Pipelines;
use crate::shared::{Shared, lock};
use crate::turn::{Length, Turn};
use control::records::{Changes, FollowerId};
use control::translate::Translated;
use control::{
    Code, Entity, Fault, PacketState, Problem, Query, Reading, RecordBlock, RecordCodes, RecordOp,
    RecordParts, RecordPlan, Schema, TableEntry, TableId, Target, Update, UpdateKind,
};
use p4runtime::bulk::CheckedSet;
use std::ops::Range;
use std::sync::Arc;
use tonic::Status;

/// Entities of one step at most.
pub(crate) const N_OF_STEP: usize = 4096;
/// Records of one step at most: they are written in some hundred microseconds.
const N_RECORDS: usize = 2048;
/// Records of updates of one step at most. A step costs little beside decoding them, so others wait less.
const N_UPDATES: usize = 512;

/// The program that a request means, in the values of controllers. Each call is a step, or several; it fails once another
/// program runs.
pub(crate) struct Steps<'s, D: Device> {
    shared: &'s Shared<D>,
    pub(crate) schema: Arc<Schema>,
    pace: Pace<'s>,
}

/// The turn in which a step is made.
#[derive(Clone, Copy)]
enum Pace<'s> {
    /// That of the request, which has it for all steps; or none, after a read has begun.
    Whole,
    /// That of the request, which pauses between steps.
    Pausing(&'s Turn<'s>),
    /// Each step has a turn of its own.
    Single,
}

impl<'s, D: Device> Steps<'s, D> {
    /// Fails if there is no program.
    pub(crate) fn new(
        shared: &'s Shared<D>,
        pipelines: &mut Pipelines<D::Program>,
    ) -> Result<Steps<'s, D>, Status> {
        let schema = shared.with_target(pipelines, |target| Arc::clone(target.schema))?;
        Ok(Steps { shared, schema, pace: Pace::Whole })
    }

    /// These steps, before each of which short requests pass.
    pub(crate) fn pausing<'t>(&self, turn: &'t Turn<'t>) -> Steps<'t, D>
    where
        's: 't,
    {
        Steps { shared: self.shared, schema: Arc::clone(&self.schema), pace: Pace::Pausing(turn) }
    }

    /// These steps, for requests that do not have the turn.
    pub(crate) fn single(self) -> Steps<'s, D> {
        Steps { pace: Pace::Single, ..self }
    }

    /// One step.
    pub(crate) fn step<T>(&self, work: impl FnOnce(&mut Translated<'_>) -> T) -> Result<T, Status> {
        let _turn = match self.pace {
            Pace::Whole => None,
            Pace::Pausing(turn) => {
                turn.pause();
                None
            }
            Pace::Single => Some(self.shared.turns.take(Length::Short)),
        };
        let mut pipelines = lock(&self.shared.pipelines);
        let mut work = Some(work);
        let mut if_same = |target: &mut Translated<'_>| {
            let work = if Arc::ptr_eq(target.schema, &self.schema) { work.take() } else { None };
            work.map(|work| work(target))
        };
        // A program may have been saved meanwhile.
        let done = match self.shared.with_target(&mut pipelines, &mut if_same)? {
            None => self.shared.with_running(&mut pipelines, if_same)?,
            done => done,
        };
        done.ok_or_else(|| failure::request(&Problem::ProgramReplaced.into()))
    }

    /// Writes records in steps. Fails if the program is gone before the first one; after it, records that are left are
    /// aborted.
    pub(crate) fn try_write_records(
        &self,
        plan: &RecordPlan,
        op: RecordOp,
        records: &mut [u8],
        metadata: &[&[u8]],
    ) -> Result<RecordCodes, Status> {
        self.write_given(N_RECORDS, (plan, op), records, metadata)
    }

    /// Writes the entries of a set in steps, as [`try_write_records`](Self::try_write_records) does. `block` has the records of a
    /// step.
    pub(crate) fn try_write_set(
        &self,
        plan: &RecordPlan,
        set: &CheckedSet<'_>,
        block: &mut Vec<u8>,
    ) -> Result<RecordCodes, Status> {
        let metadata = set.metadata();
        self.write_in_steps(N_RECORDS, set.n(), &metadata, |target, entries, metadata| {
            set.read(entries, block);
            target.write_records(plan, set.op, block, metadata)
        })
    }

    fn write_given(
        &self,
        n_of_step: usize,
        (plan, op): (&RecordPlan, RecordOp),
        records: &mut [u8],
        metadata: &[&[u8]],
    ) -> Result<RecordCodes, Status> {
        let n_bytes = plan.layout.record_bytes;
        self.write_in_steps(n_of_step, records.len() / n_bytes, metadata, |target, entries, metadata| {
            let records = &mut records[entries.start * n_bytes..entries.end * n_bytes];
            target.write_records(plan, op, records, metadata)
        })
    }

    /// Lets `write` write `n` entries, in steps of so many.
    fn write_in_steps(
        &self,
        n_of_step: usize,
        n: usize,
        metadata: &[&[u8]],
        mut write: impl FnMut(&mut Translated<'_>, Range<usize>, &[&[u8]]) -> RecordCodes,
    ) -> Result<RecordCodes, Status> {
        let mut all: Option<RecordCodes> = None;
        for first in (0..n).step_by(n_of_step) {
            let entries = first..(first + n_of_step).min(n);
            let metadata = metadata.get(entries.clone()).unwrap_or_default();
            if first > 0 {
                // Threads that wait for this core go on, which may be those of short requests.
                std::thread::yield_now();
            }
            let n_of_this = entries.len();
            let written = self.step(|target| write(target, entries, metadata));
            match &mut all {
                None => all = Some(written?),
                Some(all) => {
                    let written = written.unwrap_or_else(|_| aborted(n_of_this));
                    all.codes.extend(written.codes);
                    all.n_failed += written.n_failed;
                }
            }
        }
        Ok(all.unwrap_or_else(|| RecordCodes::ok(0)))
    }

    fn of_target<T>(&self, work: impl FnOnce(&mut Translated<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        self.step(work).unwrap_or_else(|_| Err(Problem::ProgramReplaced.into()))
    }
}

fn aborted(n: usize) -> RecordCodes {
    RecordCodes { codes: vec![Code::Aborted; n], n_failed: n }
}

impl<D: Device> Target for Steps<'_, D> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.of_target(|target| target.write(update))
    }

    fn write_many(&mut self, updates: &[&Update]) -> Vec<Result<(), Fault>> {
        let step = |updates: &[&Update]| {
            let written = self.step(|target| target.write_many(updates));
            written.unwrap_or_else(|_| updates.iter().map(|_| Err(Problem::ProgramReplaced.into())).collect())
        };
        updates.chunks(N_OF_STEP).flat_map(step).collect()
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.of_target(|target| target.read(query))
    }

    fn begin_read(&mut self, query: &Query) -> Result<Reading, Fault> {
        self.of_target(|target| target.begin_read(query))
    }

    fn begin_scan(&mut self, table: TableId, after: Option<u64>) -> Result<Reading, Fault> {
        self.of_target(|target| target.begin_scan(table, after))
    }

    fn read_on(&mut self, reading: &mut Reading, n_max: usize) -> Result<Vec<Entity>, Fault> {
        self.of_target(|target| target.read_on(reading, n_max))
    }

    fn end_read(&mut self, reading: Reading) {
        // A program that is gone keeps nothing.
        let _ = self.step(|target| target.end_read(reading));
    }

    fn record_plan(&mut self, table: TableId, parts: RecordParts) -> Option<Arc<RecordPlan>> {
        self.step(|target| target.record_plan(table, parts)).unwrap_or_default()
    }

    fn write_records(
        &mut self,
        plan: &RecordPlan,
        op: RecordOp,
        records: &mut [u8],
        metadata: &[&[u8]],
    ) -> RecordCodes {
        let n = records.len() / plan.layout.record_bytes;
        self.write_given(N_UPDATES, (plan, op), records, metadata).unwrap_or_else(|_| aborted(n))
    }

    fn plan_of_read(&mut self, reading: &Reading) -> Option<Arc<RecordPlan>> {
        self.step(|target| target.plan_of_read(reading)).unwrap_or_default()
    }

    fn read_records(
        &mut self,
        reading: &mut Reading,
        plan: &RecordPlan,
        n_max: usize,
        block: &mut RecordBlock,
    ) -> Result<bool, Fault> {
        self.of_target(|target| target.read_records(reading, plan, n_max, block))
    }

    fn follow(&mut self, tables: &[TableId]) -> Option<FollowerId> {
        self.step(|target| target.follow(tables)).unwrap_or_default()
    }

    fn changes(
        &mut self,
        follower: FollowerId,
        parts: RecordParts,
        n_max: usize,
    ) -> Result<Vec<Changes>, Fault> {
        self.of_target(|target| target.changes(follower, parts, n_max))
    }

    fn unfollow(&mut self, follower: FollowerId) {
        // A program that is gone keeps nothing.
        let _ = self.step(|target| target.unfollow(follower));
    }

    fn reserve(&mut self, table: TableId, n_more: u64) {
        // Without a program the next call says so.
        let _ = self.step(|target| target.reserve(table, n_more));
    }

    fn restore(&mut self, kind: UpdateKind, entity: Entity) -> Result<(), Fault> {
        self.of_target(|target| target.restore(kind, entity))
    }

    fn has_default_of_program(&self, table: TableId) -> bool {
        self.step(|target| target.has_default_of_program(table)).unwrap_or_default()
    }

    fn packet_state(&self) -> PacketState {
        self.step(|target| target.packet_state()).unwrap_or_default()
    }

    fn restore_packet_state(&mut self, state: &PacketState) {
        // Without a program the next call says so.
        let _ = self.step(|target| target.restore_packet_state(state));
    }

    fn restore_default_data(&mut self, entry: &TableEntry) -> Result<(), Fault> {
        self.of_target(|target| target.restore_default_data(entry))
    }

    fn deleted_entries_of_program(&self) -> Vec<TableEntry> {
        self.step(|target| target.deleted_entries_of_program()).unwrap_or_default()
    }
}
