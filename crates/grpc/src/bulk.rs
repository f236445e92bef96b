//! The service `siding.bulk.v1.Bulk`: entries in columns.
//!
//! Chunks of a stream are applied by one thread, in their order, while the connection receives later ones. Short requests pass between
//! the steps of a set, and long ones between sets. For reads see `bulk_read.rs`.

use crate::bulk_v1::bulk_server::Bulk;
use crate::device::Device;
use crate::followers::Peer;
use crate::local::{Local, LocalService, Program};
use control::records::{N_RECORDS_OF_STEP, RecordCodes, RecordOp, RecordParts, RecordPlan};
use control::session::{RoleName, WriterClaim};
use control::{Code, Fault, Problem, TableId, Target};
use p4info::proto::google::rpc;
use p4info::proto::p4::v1 as p4;
use p4info::proto::siding::bulk::v1 as pb;
use p4runtime::bulk::{CheckedSet, fault_of, op};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// Chunks that are received ahead of the one that is applied.
const N_AHEAD: usize = 4;
/// Answers that wait to be sent.
const N_ANSWERS_MAX: usize = 8;
/// Entries of the sets of one chunk at most: a few bytes may stand for many entries.
const N_OF_CHUNK_MAX: u64 = 16 * N_RECORDS_OF_STEP as u64;
/// Sets of one chunk at most: an empty one has two bytes.
const N_SETS_MAX: usize = 4096;
/// Entries for which a table makes room at most, for each entry that was written: a few bytes do not take all memory.
const N_RESERVED_OF_ENTRY: u64 = 4096;
/// Failures with a message: if the chunk does not say how many, and at most.
const N_FAILURES: u32 = 100;
const N_FAILURES_MAX: u32 = 10_000;

/// Entries that the sets of a chunk claim to have.
fn n_entries(chunk: &pb::Chunk) -> u64 {
    chunk.sets.iter().map(|set| u64::from(set.n)).sum()
}

/// Entries for which the table makes room after a set of which so many entries went well. The table makes no more than it may
/// have.
fn n_reserved(set: &pb::TableSet, op: RecordOp, n_ok: usize) -> u64 {
    match op {
        RecordOp::Insert | RecordOp::Upsert => {
            set.n_expected.saturating_sub(n_ok as u64).min(N_RESERVED_OF_ENTRY * n_ok as u64)
        }
        RecordOp::Modify | RecordOp::Delete => 0,
    }
}

/// The answer to a chunk, while it is applied.
struct Answer {
    done: pb::Done,
    has_codes: bool,
    n_failures_max: usize,
}

impl Answer {
    fn new(chunk: &pb::Chunk) -> Answer {
        let n_failures_max = match (chunk.report(), chunk.n_failures_max) {
            (pb::Report::Counts, _) => 0,
            (pb::Report::Failures | pb::Report::Codes, 0) => N_FAILURES,
            (pb::Report::Failures | pb::Report::Codes, n) => n.min(N_FAILURES_MAX),
        };
        Answer {
            done: pb::Done { number: chunk.number, ..pb::Done::default() },
            has_codes: chunk.report() == pb::Report::Codes,
            n_failures_max: n_failures_max as usize,
        }
    }

    /// Adds the outcome of one more entry.
    fn add(&mut self, set: usize, entry: usize, code: Code, message: impl FnOnce() -> String) {
        if code == Code::Ok {
            self.done.n_ok += 1;
        } else {
            self.done.n_failed += 1;
            if self.done.failures.len() < self.n_failures_max {
                let (set, entry) = (set as u32, entry as u32);
                let failure = pb::Failure { set, entry, code: code.number(), message: message() };
                self.done.failures.push(failure);
            }
        }
    }

    /// Adds the outcomes of a set, of which `fault` describes those that failed.
    fn add_set(&mut self, set: usize, codes: &RecordCodes, mut fault: impl FnMut(usize, Code) -> Fault) {
        let n_failed_before = self.done.n_failed;
        if codes.n_failed == 0 {
            self.done.n_ok += codes.codes.len() as u64;
        } else {
            for (i, code) in codes.codes.iter().enumerate() {
                let message = || fault(i, *code).inside(format_args!("sets[{set}]")).to_string();
                self.add(set, i, *code, message);
            }
        }
        debug_assert_eq!(self.done.n_failed - n_failed_before, codes.n_failed as u64);
        self.add_codes(codes.codes.iter().copied());
    }

    fn add_codes(&mut self, codes: impl Iterator<Item = Code>) {
        if self.has_codes {
            let mut all = Vec::from(std::mem::take(&mut self.done.codes));
            all.extend(codes.map(|code| code as u8));
            self.done.codes = all.into();
        }
    }

    /// Adds a set of which nothing was applied. Only its first entry has a message.
    fn add_refused(&mut self, set: usize, n: usize, code: Code, message: &str) {
        self.add(set, 0, code, || message.to_owned());
        self.done.n_failed += (n as u64).saturating_sub(1);
        self.add_codes((0..n).map(|_| code));
    }
}

fn claim(chunk: &pb::Chunk) -> WriterClaim {
    WriterClaim {
        device_id: chunk.device_id,
        role: RoleName(chunk.role.as_str().into()),
        election_id: chunk.election_id.map(|id| u128::from(id.high) << 64 | u128::from(id.low)),
    }
}

fn check_size(chunk: &pb::Chunk) -> Result<(), Status> {
    let (n, n_sets) = (n_entries(chunk), chunk.sets.len());
    if n > N_OF_CHUNK_MAX {
        let message = format!("the sets of a chunk have {N_OF_CHUNK_MAX} entries at most, not {n}");
        return Err(Status::invalid_argument(message));
    }
    if n_sets > N_SETS_MAX {
        return Err(Status::invalid_argument(format!("a chunk has {N_SETS_MAX} sets at most, not {n_sets}")));
    }
    Ok(())
}

impl<D: Device> LocalService<D> {
    fn layout(&self, device_id: u64) -> Result<pb::LayoutResponse, Status> {
        self.shared.check_device(device_id)?;
        let program = self.program()?;
        let mut tables = Vec::new();
        for table in &program.schema.tables {
            let plan = self.plan(&program, table.id, RecordParts::default())?;
            let (table_id, size) = (table.id.0, table.size);
            tables.push(pb::layout_response::Table { table_id, size, is_fast: plan.is_some() });
        }
        Ok(pb::LayoutResponse {
            program: program.number,
            tables,
            set_entries_max: N_RECORDS_OF_STEP as u32,
            chunk_entries_max: N_OF_CHUNK_MAX as u32,
        })
    }

    /// The plan for the records of a set.
    fn plan_of_set(&self, program: &Program, set: &pb::TableSet) -> Result<Arc<RecordPlan>, Fault> {
        let table = program.schema.require(&program.schema.tables, TableId(set.table_id))?;
        let parts = RecordParts { count: set.count.is_some(), ..RecordParts::default() };
        let plan = self.plan(program, table.id, parts).map_err(|_| Fault::from(Problem::ProgramReplaced))?;
        let name = &table.names.name;
        let plan = plan.ok_or_else(|| match set.count.is_some() && table.direct_counter.is_none() {
            true => Problem::NoDirectResource { table: name.clone(), resource: "counter" },
            false => Problem::NoColumns { table: name.clone() },
        })?;
        Ok(plan)
    }

    /// Applies a chunk. `block` is room for records.
    fn apply(&self, chunk: pb::Chunk, block: &mut Vec<u8>) -> pb::Done {
        let mut answer = Answer::new(&chunk);
        let claim = claim(&chunk);
        let program = match check_size(&chunk).and_then(|()| self.check(&claim, chunk.program)) {
            Ok(program) => program,
            Err(status) => {
                let (code, message) = (status.code() as i32, status.message().to_owned());
                answer.done.status = Some(rpc::Status { code, message, details: Vec::new() });
                return answer.done;
            }
        };
        for (i, set) in chunk.sets.iter().enumerate() {
            let n = set.n as usize;
            let plan = self.plan_of_set(&program, set);
            let checked = plan.and_then(|plan| Ok((CheckedSet::new(&plan, set)?, plan)));
            let (checked, plan) = match checked {
                Ok(checked) => checked,
                Err(fault) => {
                    let fault = fault.inside(format_args!("sets[{i}]"));
                    answer.add_refused(i, n, fault.code(), &fault.to_string());
                    continue;
                }
            };
            let written = self.shared.write_table(&claim, program.number, (plan.table, n), |steps| {
                self.shared.n_columns.fetch_add(n as u64, Ordering::Relaxed);
                let codes = steps.try_write_set(&plan, &checked, block)?;
                let n_more = n_reserved(set, checked.op, n - codes.n_failed);
                if n_more > 0 {
                    steps.reserve(plan.table, n_more);
                }
                Ok(codes)
            });
            match written {
                Ok(mut codes) => {
                    let faults: FxHashMap<usize, &Fault> =
                        checked.faults().iter().map(|(i, fault)| (*i, fault)).collect();
                    for (entry, fault) in &faults {
                        codes.codes[*entry] = fault.code();
                    }
                    answer.add_set(i, &codes, |entry, code| match faults.get(&entry) {
                        Some(fault) => Fault::clone(fault),
                        None => {
                            checked.read(entry..entry + 1, block);
                            // With what the check completes.
                            let _ = plan.check(checked.op, block);
                            fault_of(&program.schema, &plan, checked.op, block, code)
                        }
                    });
                }
                Err(status) => {
                    answer.add_refused(i, n, Code::of_number(status.code() as i32), status.message());
                }
            }
        }
        if !chunk.entities.is_empty() {
            self.write_entities(chunk, &mut answer);
        }
        answer.done
    }

    /// Checks what holds for a chunk as a whole.
    fn check(&self, claim: &WriterClaim, number: u64) -> Result<Program, Status> {
        self.shared.check_device(claim.device_id)?;
        drop(self.shared.begin_write(Ok(claim.clone()))?);
        let program = self.program()?;
        self.shared.programs.check(number, &program.schema)?;
        Ok(program)
    }

    /// Writes the entities of a chunk, which have no columns.
    fn write_entities(&self, chunk: pb::Chunk, answer: &mut Answer) {
        let (set, n) = (chunk.sets.len(), chunk.entities.len());
        let kind = match op(chunk.entities_op) {
            Ok(RecordOp::Insert | RecordOp::Upsert) => p4::update::Type::Insert,
            Ok(RecordOp::Modify) => p4::update::Type::Modify,
            Ok(RecordOp::Delete) => p4::update::Type::Delete,
            Err(fault) => return answer.add_refused(set, n, fault.code(), &fault.to_string()),
        };
        let is_upsert = chunk.entities_op() == pb::Op::Upsert;
        let update = |kind: p4::update::Type| {
            move |entity: p4::Entity| p4::Update { r#type: kind.into(), entity: Some(entity) }
        };
        let mut request = p4::WriteRequest {
            device_id: chunk.device_id,
            role: chunk.role,
            election_id: chunk.election_id,
            updates: chunk.entities.into_iter().map(update(kind)).collect(),
            ..p4::WriteRequest::default()
        };
        let mut results = match self.shared.write_updates(&request) {
            Ok(results) => results,
            Err(status) => {
                let code = Code::of_number(status.code() as i32);
                return answer.add_refused(set, n, code, status.message());
            }
        };
        let exists =
            |result: &Result<(), Fault>| matches!(result, Err(fault) if fault.code() == Code::AlreadyExists);
        if is_upsert && results.iter().any(exists) {
            let there = results.iter_mut().zip(request.updates).filter(|(result, _)| exists(result));
            let (there, updates): (Vec<_>, Vec<_>) = there.unzip();
            let again = updates.into_iter().filter_map(|of| of.entity).map(update(p4::update::Type::Modify));
            request.updates = again.collect();
            if let Ok(modified) = self.shared.write_updates(&request) {
                there.into_iter().zip(modified).for_each(|(result, modified)| *result = modified);
            }
        }
        let code = |result: &Result<(), Fault>| result.as_ref().err().map_or(Code::Ok, Fault::code);
        for (i, result) in results.iter().enumerate() {
            let message = || result.as_ref().err().map(ToString::to_string).unwrap_or_default();
            answer.add(set, i, code(result), message);
        }
        answer.add_codes(results.iter().map(code));
    }
}

/// The service of one device.
pub(crate) struct BulkService<D: Device>(pub(crate) LocalService<D>);

/// Applies a chunk, and those that have come meanwhile: waking a thread for each takes as long as a thousand entries. Returns
/// whether more may come.
fn apply_those<D: Device>(
    local: &LocalService<D>,
    first: Result<pb::Chunk, Status>,
    others: &mut mpsc::Receiver<Result<pb::Chunk, Status>>,
    answers: &mpsc::Sender<Result<pb::Done, Status>>,
) -> bool {
    let mut block = Vec::new();
    let mut next = Some(first);
    while let Some(chunk) = next {
        let done = chunk.map(|chunk| local.apply(chunk, &mut block));
        let is_end = done.is_err();
        if answers.blocking_send(done).is_err() || is_end {
            return false;
        }
        next = others.try_recv().ok();
    }
    true
}

fn internal(error: impl std::fmt::Display) -> Status {
    Status::internal(format!("internal bug: {error}"))
}

#[tonic::async_trait]
impl<D: Device> Bulk for BulkService<D> {
    async fn layout(
        &self,
        request: Request<pb::LayoutRequest>,
    ) -> Result<Response<pb::LayoutResponse>, Status> {
        let local = self.0.clone();
        let layout = tokio::task::spawn_blocking(move || local.layout(request.into_inner().device_id));
        layout.await.map_err(internal)?.map(Response::new)
    }

    type WriteStream = ReceiverStream<Result<pb::Done, Status>>;

    async fn write(
        &self,
        request: Request<Streaming<pb::Chunk>>,
    ) -> Result<Response<Self::WriteStream>, Status> {
        let mut chunks = request.into_inner();
        let (ahead, mut received) = mpsc::channel(N_AHEAD);
        tokio::spawn(async move {
            while let Some(chunk) = chunks.next().await {
                if ahead.send(chunk).await.is_err() {
                    return;
                }
            }
        });
        let (answers, receiver) = mpsc::channel(N_ANSWERS_MAX);
        let local = self.0.clone();
        tokio::spawn(async move {
            while let Some(first) = received.recv().await {
                let (local, to) = (local.clone(), answers.clone());
                let applying = tokio::task::spawn_blocking(move || {
                    let is_open = apply_those(&local, first, &mut received, &to);
                    is_open.then_some(received)
                });
                match applying.await {
                    Ok(Some(rest)) => received = rest,
                    Ok(None) => return,
                    Err(error) => {
                        let _ = answers.send(Err(internal(error))).await;
                        return;
                    }
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    type ReadStream = ReceiverStream<Result<pb::Chunk, Status>>;

    async fn read(&self, request: Request<pb::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let (sender, receiver) = mpsc::channel(N_ANSWERS_MAX);
        let local = self.0.clone();
        let peer = Peer::of(&request);
        let request = request.into_inner();
        let readers = Arc::clone(&self.0.shared.readers);
        tokio::spawn(readers.read(move |readers| {
            let closed = || sender.is_closed();
            let mut send = |chunk| readers.send(&sender, Ok(chunk));
            let read = local.bulk_read(&request, peer, &mut send, &closed);
            if let Err(status) = read {
                readers.send(&sender, Err(status));
            }
        }));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_for_what_was_written() {
        let room =
            |n_expected, op, n_ok| n_reserved(&pb::TableSet { n_expected, ..Default::default() }, op, n_ok);
        assert_eq!(room(50_000_000, RecordOp::Insert, 16_384), 50_000_000 - 16_384);
        assert_eq!(room(50_000_000, RecordOp::Upsert, 1), 4096);
        assert_eq!(room(u64::MAX, RecordOp::Insert, 0), 0);
        assert_eq!(room(10, RecordOp::Insert, 20), 0);
        assert_eq!(room(50_000_000, RecordOp::Delete, 16_384), 0);
    }
}
