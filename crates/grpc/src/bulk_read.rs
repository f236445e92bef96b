//! Reads of the service `siding.bulk.v1.Bulk`: tables at a moment, as they are, or with all their changes.

use crate::device::Device;
use crate::failure;
use crate::followers::Peer;
use crate::local::LocalService;
use crate::service::Meaning;
use crate::shared::lock;
use crate::steps::Steps;
use crate::turn::Length;
use control::records::{Changes, FollowerId, RecordBlock, RecordOp, RecordParts, RecordPlan};
use control::session::{Role, RoleName};
use control::{
    Entity, EntryQuery, Extras, Fault, Problem, Query, Reading, Schema, TableEntry, TableId, Target,
};
use p4info::proto::siding::bulk::v1 as pb;
use p4runtime::bulk::build_set;
use rustc_hash::FxHashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tonic::Status;

/// Entries of one chunk.
const N_OF_CHUNK: usize = 8192;
/// A reader that follows tables and is gone is noticed after so long.
const LOOK_TIME: Duration = Duration::from_millis(100);
/// Looks without a change after which a reader hears again that it is current.
const N_LOOKS: u32 = 10;

/// Takes chunks; false when nobody wants more.
type Send<'s> = &'s mut dyn FnMut(pb::Chunk) -> bool;

/// A place in a scan of all tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    program: u64,
    table: u32,
    after: Option<u64>,
}

impl Cursor {
    const BYTES: usize = 20;

    fn encode(self) -> Vec<u8> {
        let after = self.after.map_or(0, |after| after + 1);
        [&self.program.to_le_bytes()[..], &self.table.to_le_bytes(), &after.to_le_bytes()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Cursor> {
        let bytes: &[u8; Cursor::BYTES] = bytes.try_into().ok()?;
        let (program, rest) = bytes.split_first_chunk::<8>()?;
        let (table, rest) = rest.split_first_chunk::<4>()?;
        let after = u64::from_le_bytes(rest.try_into().ok()?);
        Some(Cursor {
            program: u64::from_le_bytes(*program),
            table: u32::from_le_bytes(*table),
            after: after.checked_sub(1),
        })
    }
}

/// A read under way.
struct Reader<'r, 's, D: Device> {
    steps: Steps<'s, D>,
    schema: Arc<Schema>,
    program: u64,
    mode: pb::read_request::Mode,
    parts: RecordParts,
    /// The op of entries that are there.
    op: RecordOp,
    send: Send<'r>,
    is_closed: &'r dyn Fn() -> bool,
}

/// Nobody takes more chunks.
struct Gone;

/// The way a read ends early.
enum Early {
    Gone,
    Failed(Status),
}

impl From<Gone> for Early {
    fn from(Gone: Gone) -> Early {
        Early::Gone
    }
}

impl From<Fault> for Early {
    fn from(fault: Fault) -> Early {
        Early::Failed(failure::request(&fault))
    }
}

impl<D: Device> LocalService<D> {
    /// Answers a read until its end, or until `send` returns false.
    pub(crate) fn bulk_read(
        &self,
        request: &pb::ReadRequest,
        peer: Option<Peer>,
        send: Send<'_>,
        is_closed: &dyn Fn() -> bool,
    ) -> Result<(), Status> {
        self.shared.check_device(request.device_id)?;
        let mode = pb::read_request::Mode::try_from(request.mode).map_err(|_| {
            Status::invalid_argument(format!("`mode` has the unknown value {}", request.mode))
        })?;
        let name = RoleName(request.role.as_str().into());
        let _place = match mode {
            // The primary has places of its own.
            pb::read_request::Mode::Follow if !lock(&self.shared.controllers).is_primary(peer) => {
                Some(self.shared.followers.take(peer)?)
            }
            pb::read_request::Mode::Follow
            | pb::read_request::Mode::Snapshot
            | pb::read_request::Mode::Scan => None,
        };
        let turn = self.shared.turns.take(Length::Short);
        let Meaning { role, steps, .. } = self.shared.meaning(&name)?;
        let schema = Arc::clone(&steps.schema);
        let program = self.shared.programs.number(&schema);
        let mut tables = tables(&schema, &role, &request.table_ids)?;
        let mut after = None;
        if !request.cursor.is_empty() {
            let cursor = Cursor::decode(&request.cursor).filter(|_| mode == pb::read_request::Mode::Scan);
            let cursor = cursor.ok_or_else(|| Status::invalid_argument("`cursor` is not that of a scan"))?;
            if cursor.program != program {
                return Err(Status::failed_precondition("`cursor` is that of another program"));
            }
            let at = tables.iter().position(|table| table.0 == cursor.table);
            let at = at.ok_or_else(|| Status::invalid_argument("`cursor` is in another table"))?;
            tables.drain(..at);
            after = cursor.after;
        }
        let parts =
            RecordParts { count: request.with_counts, of_controllers: true, ..RecordParts::default() };
        let op = match mode {
            pb::read_request::Mode::Snapshot | pb::read_request::Mode::Scan => RecordOp::Insert,
            pb::read_request::Mode::Follow => RecordOp::Upsert,
        };
        let mut reader = Reader { steps, schema, program, mode, parts, op, send, is_closed };
        let follower = match mode {
            pb::read_request::Mode::Follow => {
                let follower = reader.steps.follow(&tables);
                let too_many =
                    || Status::resource_exhausted("too many readers follow tables: end one of them");
                Some(follower.ok_or_else(too_many)?)
            }
            pb::read_request::Mode::Snapshot | pb::read_request::Mode::Scan => None,
        };
        let read = if mode == pb::read_request::Mode::Snapshot {
            // All tables at the moment at which nobody else has the turn.
            let readings =
                tables.iter().map(|table| reader.begin(*table, None).map(|reading| (*table, reading)));
            let readings: Result<Vec<_>, Fault> = readings.collect();
            drop(turn);
            readings.map_err(Early::from).and_then(|readings| reader.readings(readings))
        } else {
            drop(turn);
            reader.scan(&tables, after)
        };
        let read = read.and_then(|()| match follower {
            Some(follower) => reader.follow(follower, &self.shared.n_writes, &self.shared.written),
            None => Ok(()),
        });
        if let Some(follower) = follower {
            reader.steps.unfollow(follower);
        }
        match read {
            Ok(()) | Err(Early::Gone) => Ok(()),
            Err(Early::Failed(status)) => Err(status),
        }
    }
}

/// The tables of a request, or all whose entries a role may read and write.
fn tables(schema: &Schema, role: &Role, ids: &[u32]) -> Result<Vec<TableId>, Status> {
    if ids.is_empty() {
        let tables = schema.tables.iter().filter(|table| !table.is_const && !table.keys.is_empty());
        return Ok(tables.map(|table| table.id).filter(|table| role.sees_object(table.0)).collect());
    }
    let (mut tables, mut seen) = (Vec::new(), FxHashSet::default());
    // A table that is named twice is read once.
    for id in ids.iter().filter(|id| seen.insert(**id)) {
        let table = schema.require(&schema.tables, TableId(*id)).map_err(|fault| failure::request(&fault))?;
        if !role.sees_object(*id) {
            let what = format!("table `{}`", table.names.name);
            let fault = Fault::from(Problem::NotOfRole { role: role.name.to_string(), what });
            return Err(failure::request(&fault));
        }
        tables.push(table.id);
    }
    Ok(tables)
}

impl<D: Device> Reader<'_, '_, D> {
    fn begin(&mut self, table: TableId, after: Option<u64>) -> Result<Reading, Fault> {
        if self.mode != pb::read_request::Mode::Snapshot {
            return self.steps.begin_scan(table, after);
        }
        let known = self.schema.tables.get(table);
        let extras = Extras {
            counter_data: self.parts.count && known.is_some_and(|known| known.direct_counter.is_some()),
            meter_config: known.is_some_and(|known| known.direct_meter.is_some()),
            ..Extras::default()
        };
        self.steps.begin_read(&Query::TableEntries(EntryQuery {
            table: Some(table),
            extras,
            ..EntryQuery::default()
        }))
    }

    fn plan(&mut self, table: TableId) -> Option<Arc<RecordPlan>> {
        let has_counter = self.schema.tables.get(table).is_some_and(|known| known.direct_counter.is_some());
        let parts = RecordParts { count: self.parts.count && has_counter, ..self.parts };
        self.steps.record_plan(table, parts)
    }

    fn scan(&mut self, tables: &[TableId], mut after: Option<u64>) -> Result<(), Early> {
        for table in tables {
            let reading = self.begin(*table, after.take())?;
            self.readings(vec![(*table, reading)])?;
        }
        Ok(())
    }

    /// Sends what readings give, and ends them.
    fn readings(&mut self, readings: Vec<(TableId, Reading)>) -> Result<(), Early> {
        let mut outcome = Ok(());
        for (table, mut reading) in readings {
            if outcome.is_ok() {
                outcome = self.table(table, &mut reading);
            }
            self.steps.end_read(reading);
        }
        outcome
    }

    fn table(&mut self, table: TableId, reading: &mut Reading) -> Result<(), Early> {
        let Some(plan) = self.plan(table) else {
            loop {
                let found = self.steps.read_on(reading, N_OF_CHUNK)?;
                if found.is_empty() {
                    return Ok(());
                }
                self.send_entities(found, self.op)?;
            }
        };
        let mut block = RecordBlock::default();
        loop {
            block.clear();
            let has_more = self.steps.read_records(reading, &plan, N_OF_CHUNK, &mut block)?;
            let cursor = (self.mode == pb::read_request::Mode::Scan)
                .then(|| Cursor { program: self.program, table: table.0, after: block.last }.encode());
            self.send_block(&plan, self.op, &mut block, cursor.unwrap_or_default())?;
            if !has_more {
                return Ok(());
            }
        }
    }

    fn send_block(
        &mut self,
        plan: &RecordPlan,
        op: RecordOp,
        block: &mut RecordBlock,
        cursor: Vec<u8>,
    ) -> Result<(), Gone> {
        let others = std::mem::take(&mut block.others);
        if !block.records.is_empty() {
            let sets = vec![build_set(plan, op, block)];
            self.send(pb::Chunk { sets, cursor: cursor.into(), ..pb::Chunk::default() })?;
        }
        self.send_entities(others.into_iter().map(Entity::TableEntry).collect(), op)
    }

    fn send_entities(&mut self, mut entities: Vec<Entity>, op: RecordOp) -> Result<(), Gone> {
        entities.retain(is_writable);
        if entities.is_empty() {
            return Ok(());
        }
        let entities_op = match op {
            RecordOp::Insert => pb::Op::Insert,
            RecordOp::Modify => pb::Op::Modify,
            RecordOp::Delete => pb::Op::Delete,
            RecordOp::Upsert => pb::Op::Upsert,
        };
        let encoded = entities.into_iter().map(|entity| p4runtime::encode_answer(&self.schema, entity));
        let entities = encoded.collect();
        self.send(pb::Chunk { entities, entities_op: entities_op.into(), ..pb::Chunk::default() })
    }

    fn send(&mut self, chunk: pb::Chunk) -> Result<(), Gone> {
        let chunk = pb::Chunk { program: self.program, ..chunk };
        if (self.send)(chunk) { Ok(()) } else { Err(Gone) }
    }

    /// Sends changes until nobody wants more.
    fn follow(
        &mut self,
        follower: FollowerId,
        n_writes: &std::sync::Mutex<u64>,
        written: &std::sync::Condvar,
    ) -> Result<(), Early> {
        let mark = |mark: pb::Mark| pb::Chunk { mark: mark.into(), ..pb::Chunk::default() };
        self.send(mark(pb::Mark::Scanned))?;
        let mut n_looks = 0;
        while !(self.is_closed)() {
            let seen = *lock(n_writes);
            let changes = match self.steps.changes(follower, self.parts, N_OF_CHUNK) {
                Ok(changes) => changes,
                Err(fault) if matches!(fault.problem(), Problem::ReadOvertaken { .. }) => {
                    self.send(mark(pb::Mark::Lost))?;
                    return Ok(());
                }
                Err(fault) => return Err(fault.into()),
            };
            if !changes.is_empty() {
                n_looks = 0;
                for Changes { table, op, mut block } in changes {
                    match self.plan(table) {
                        Some(plan) => self.send_block(&plan, op, &mut block, Vec::new())?,
                        None => {
                            let entries = block.others.into_iter().map(Entity::TableEntry).collect();
                            self.send_entities(entries, op)?;
                        }
                    }
                }
                continue;
            }
            // Now and then again, so that readers know that the switch is there.
            if n_looks % N_LOOKS == 0 {
                self.send(mark(pb::Mark::Current))?;
            }
            n_looks += 1;
            let n = lock(n_writes);
            let waited = written.wait_timeout_while(n, LOOK_TIME, |n| *n == seen);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        Ok(())
    }
}

/// Returns whether an entry that was read can be written to another switch: entries that packets have added are made by packets there.
fn is_writable(entity: &Entity) -> bool {
    matches!(
        entity,
        Entity::TableEntry(TableEntry { is_const: false, is_default_action: false, is_of_packet: false, .. })
    )
}
