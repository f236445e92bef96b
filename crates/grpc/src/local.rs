//! The service of a switch for controllers without a connection of gRPC, such as those in shared memory.

use crate::device::Device;
use crate::failure;
use crate::outbox::Inbox;
use crate::service::Meaning;
use crate::shared::{Shared, lock};
use crate::steps::Steps;
use crate::stream::{self, Requests};
use crate::turn::Length;
use control::records::{N_RECORDS_OF_STEP, RecordCodes, RecordOp, RecordParts, RecordPlan};
use control::session::WriterClaim;
use control::{Entity, Schema, TableEntry, TableId, Target};
use p4info::proto::p4::v1 as pb;
use prost::bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::runtime::Handle;
use tonic::Status;

/// The program that requests mean.
#[derive(Clone, Debug)]
pub struct Program {
    /// Another number for each program that ran or was saved, also after a restart of the switch. Never 0.
    pub number: u64,
    pub schema: Arc<Schema>,
}

/// Entries of one table, at most [`N_RECORDS_OF_STEP`].
#[derive(Debug)]
pub struct RecordSet<'s> {
    /// The program for which records were made.
    pub program: u64,
    pub plan: &'s RecordPlan,
    pub op: RecordOp,
    pub records: &'s mut [u8],
    /// Empty, or that of each entry.
    pub metadata: &'s [&'s [u8]],
}

/// Updates by the way on which they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Updates of `WriteRequest`s that became records of tables at once.
    pub n_short: u64,
    /// Updates of `WriteRequest`s that were decoded to messages, then to entities.
    pub n_full: u64,
    /// Entries in columns.
    pub n_columns: u64,
    /// Records in shared memory.
    pub n_records: u64,
}

/// The service, for any thread. Calls may block, and are not for tasks.
pub trait Local: Send + Sync {
    /// The program that requests mean. Fails if there is none.
    fn program(&self) -> Result<Program, Status>;

    /// The plan for records of a table of this program. `None`: its entries cannot be records.
    fn plan(
        &self,
        program: &Program,
        table: TableId,
        parts: RecordParts,
    ) -> Result<Option<Arc<RecordPlan>>, Status>;

    /// Writes records as a `WriteRequest` would that continues on error. Fails if the writer may not write to the table, or if
    /// another program runs; nothing has then changed.
    fn write_records(&self, writer: &WriterClaim, set: RecordSet<'_>) -> Result<RecordCodes, Status>;

    /// Announces that so many more entries of a table are about to be inserted.
    fn reserve(&self, writer: &WriterClaim, program: u64, table: TableId, n_more: u64) -> Result<(), Status>;

    /// Answers an encoded `WriteRequest`.
    fn write(&self, request: &[u8]) -> Result<(), Status>;

    /// Answers a `ReadRequest` in several encoded `ReadResponse`s, until `send` returns false.
    fn read(&self, request: &pb::ReadRequest, send: &mut dyn FnMut(Result<Bytes, Status>) -> bool);

    /// Streams of controllers that are open.
    fn n_streams(&self) -> usize;

    /// Packets, digests and idle notices for which there was no controller, or one that reads too slowly.
    fn n_lost(&self) -> u64;

    /// Updates since the server has started, refused ones among them.
    fn n_updates(&self) -> UpdateCounts;

    /// Opens a stream, as `StreamChannel` does. The session ends with either of the two halves.
    fn stream(&self, requests: Requests) -> Inbox;
}

/// The service of a server.
pub(crate) struct LocalService<D: Device> {
    pub(crate) shared: Arc<Shared<D>>,
    /// For tasks of streams.
    pub(crate) runtime: Handle,
}

impl<D: Device> Clone for LocalService<D> {
    fn clone(&self) -> LocalService<D> {
        LocalService { shared: Arc::clone(&self.shared), runtime: self.runtime.clone() }
    }
}

impl<D: Device> Local for LocalService<D> {
    fn program(&self) -> Result<Program, Status> {
        let steps = Steps::new(&self.shared, &mut lock(&self.shared.pipelines))?;
        Ok(Program { number: self.shared.programs.number(&steps.schema), schema: Arc::clone(&steps.schema) })
    }

    fn plan(
        &self,
        program: &Program,
        table: TableId,
        parts: RecordParts,
    ) -> Result<Option<Arc<RecordPlan>>, Status> {
        let steps = Steps::new(&self.shared, &mut lock(&self.shared.pipelines))?;
        self.shared.programs.check(program.number, &steps.schema)?;
        steps.step(|target| target.record_plan(table, parts))
    }

    fn write_records(&self, writer: &WriterClaim, set: RecordSet<'_>) -> Result<RecordCodes, Status> {
        let RecordSet { program, plan, op, records, metadata } = set;
        let n = records.len() / plan.layout.record_bytes;
        if n > N_RECORDS_OF_STEP {
            let message = format!("a set has {N_RECORDS_OF_STEP} entries at most, not {n}");
            return Err(Status::invalid_argument(message));
        }
        self.shared.write_table(writer, program, (plan.table, n), |steps| {
            self.shared.n_records.fetch_add(n as u64, Ordering::Relaxed);
            steps.try_write_records(plan, op, records, metadata)
        })
    }

    fn reserve(&self, writer: &WriterClaim, program: u64, table: TableId, n_more: u64) -> Result<(), Status> {
        self.shared.write_table(writer, program, (table, 0), |steps| {
            steps.step(|target| target.reserve(table, n_more))
        })
    }

    fn write(&self, request: &[u8]) -> Result<(), Status> {
        self.shared.write_bytes(request)
    }

    fn read(&self, request: &pb::ReadRequest, send: &mut dyn FnMut(Result<Bytes, Status>) -> bool) {
        self.shared.read(request, send);
    }

    fn n_streams(&self) -> usize {
        lock(&self.shared.controllers).outboxes.len()
    }

    fn n_lost(&self) -> u64 {
        self.shared.n_lost.load(Ordering::Relaxed)
    }

    fn n_updates(&self) -> UpdateCounts {
        let Shared { n_updates_short, n_updates_full, n_columns, n_records, .. } = &*self.shared;
        UpdateCounts {
            n_short: n_updates_short.load(Ordering::Relaxed),
            n_full: n_updates_full.load(Ordering::Relaxed),
            n_columns: n_columns.load(Ordering::Relaxed),
            n_records: n_records.load(Ordering::Relaxed),
        }
    }

    fn stream(&self, requests: Requests) -> Inbox {
        let _context = self.runtime.enter();
        stream::open(&self.shared, requests, None)
    }
}

impl<D: Device> Shared<D> {
    /// Lets `work` write so many entries to one table of a program, if the writer may.
    pub(crate) fn write_table<T>(
        &self,
        writer: &WriterClaim,
        program: u64,
        (table, n): (TableId, usize),
        work: impl FnOnce(&mut Steps<'_, D>) -> Result<T, Status>,
    ) -> Result<T, Status> {
        self.check_device(writer.device_id)?;
        let _writing = self.begin_write(Ok(writer.clone()))?;
        let turn = self.turns.take(Length::of(n));
        let Meaning { role, steps, .. } = self.meaning(&writer.role)?;
        self.programs.check(program, &steps.schema)?;
        let entry = Entity::TableEntry(TableEntry::new(table, Vec::new(), 0));
        role.check_write(&steps.schema, &entry).map_err(|fault| failure::request(&fault))?;
        work(&mut steps.pausing(&turn))
    }
}
