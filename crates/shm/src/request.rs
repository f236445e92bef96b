//! Answers to requests.

use crate::counts::Counts;
use crate::describe::{available, describe, parts_of};
use crate::rings::{End, Rings};
use crate::stream::Controller;
use control::records::{N_RECORDS_OF_STEP, RecordOp, RecordPlan};
use control::session::WriterClaim;
use control::{Code, TableId};
use grpc::{Local, Program, RecordSet};
use p4info::proto::google::rpc;
use p4info::proto::p4::v1 as pb;
use pb::stream_message_request::Update as ToService;
use prost::Message;
use shm_client::Tables;
use shm_client::wire::{Completion, Op, REPORT_CODES, REPORT_TEXT, Request, answer, kind};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tonic::Status;

/// Everything that answers the requests of one client.
pub(crate) struct Desk {
    pub(crate) rings: Rings,
    pub(crate) local: Arc<dyn Local>,
    pub(crate) claim: WriterClaim,
    pub(crate) controller: Controller,
    pub(crate) plans: Plans,
    pub(crate) counts: Arc<Counts>,
    /// A piece of a slot, copied.
    pub(crate) copied: Vec<u8>,
}

/// Plans that a session has asked for, of one program.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    program: Option<Program>,
    /// By table and parts, with the hash of the description.
    plans: HashMap<(u32, u32), (Arc<RecordPlan>, u64)>,
}

/// The outcome of records.
struct Written {
    n: usize,
    n_failed: usize,
    text: Option<String>,
}

impl Desk {
    /// Answers a request. An error ends the session.
    pub(crate) fn answer(&mut self, request: Request) -> Result<(), End> {
        let number = request.number;
        let done = |code: Result<(), Status>| code.map(|()| Written { n: 0, n_failed: 0, text: None });
        let result = match request.kind {
            kind::RECORDS => self.write_records(&request),
            kind::WRITE => done(self.copy_message(&request).and_then(|()| self.local.write(&self.copied))),
            kind::READ => done(self.read(&request)?),
            kind::STREAM => done(self.send(&request)),
            kind::LAYOUT => match self.layouts(&request) {
                Ok(tables) => {
                    self.rings.answer(answer::LAYOUT, number, &tables.encode())?;
                    done(Ok(()))
                }
                Err(status) => Err(status),
            },
            kind::RESERVE => {
                let table = TableId(request.table);
                done(self.local.reserve(&self.claim, request.program, table, request.n))
            }
            other => Err(Status::invalid_argument(format!("{other} is no kind of request"))),
        };
        let (completion, status) = match result {
            Ok(Written { n, n_failed, text }) => {
                let code = if n_failed == 0 { Code::Ok } else { Code::Unknown };
                let completion = Completion {
                    number,
                    code: code.number() as u32,
                    has_status: text.is_some(),
                    n: n as u64,
                    n_failed: n_failed as u64,
                };
                (completion, text.map(|text| encode_status(&Status::unknown(text))))
            }
            Err(status) => {
                let code = status.code() as u32;
                let completion = Completion { number, code, has_status: true, ..Completion::default() };
                (completion, Some(encode_status(&status)))
            }
        };
        if let Some(status) = status {
            self.rings.answer(answer::STATUS, number, &status)?;
        }
        self.rings.complete(completion)
    }

    /// Copies the message of a request.
    fn copy_message(&mut self, request: &Request) -> Result<(), Status> {
        let (at, n_bytes) = self.place(request, 1)?;
        self.copied.resize(n_bytes, 0);
        self.rings.read_slots(at, &mut self.copied);
        Ok(())
    }

    /// Position and length of the payload of a request, within the slots.
    fn place(&self, request: &Request, element_bytes: usize) -> Result<(usize, usize), Status> {
        let sizes = self.rings.sizes;
        if request.slot as usize >= sizes.n_slots {
            return Err(Status::invalid_argument(format!("there is no slot {}", request.slot)));
        }
        let at = request.slot as usize * sizes.slot_bytes;
        let n_bytes = usize::try_from(request.n).ok().and_then(|n| n.checked_mul(element_bytes));
        match n_bytes {
            Some(n_bytes) if n_bytes <= sizes.slots_bytes() - at => Ok((at, n_bytes)),
            _ => {
                let message = format!("{} elements do not fit slot {}", request.n, request.slot);
                Err(Status::invalid_argument(message))
            }
        }
    }

    /// Checks that the program of a request runs.
    fn check_program(&mut self, number: u64) -> Result<(), Status> {
        if self.plans.program.as_ref().is_none_or(|known| known.number != number) {
            let program = self.local.program()?;
            if self.plans.program.as_ref().is_none_or(|known| known.number != program.number) {
                self.plans = Plans { program: Some(program), plans: HashMap::new() };
            }
        }
        match &self.plans.program {
            Some(program) if program.number == number => Ok(()),
            _ => {
                let message = format!("program {number} does not run (any more): ask for layouts again");
                Err(Status::failed_precondition(message))
            }
        }
    }

    /// The plan of records, with the hash of its description.
    fn plan(&mut self, table: u32, parts: u32) -> Result<(Arc<RecordPlan>, u64), Status> {
        if let Some((plan, hash)) = self.plans.plans.get(&(table, parts)) {
            return Ok((Arc::clone(plan), *hash));
        }
        let Some(program) = &self.plans.program else {
            return Err(Status::failed_precondition("no program runs"));
        };
        let known = program.schema.tables.get(TableId(table));
        let known = known.ok_or_else(|| Status::not_found(format!("there is no table {table}")))?;
        let asked = parts_of(parts)
            .filter(|_| parts & !available(known) == 0)
            .ok_or_else(|| Status::invalid_argument(format!("`{}` lacks these parts", known.names.name)))?;
        let plan = self.local.plan(program, known.id, asked)?;
        let plan = plan.ok_or_else(|| {
            Status::unimplemented(format!("entries of `{}` cannot be records", known.names.name))
        })?;
        let hash = describe(&program.schema, known, parts, Some(&plan)).hash();
        self.plans.plans.insert((table, parts), (Arc::clone(&plan), hash));
        Ok((plan, hash))
    }

    /// Writes records in steps, between which others have their turn. Nothing has changed if it fails.
    fn write_records(&mut self, request: &Request) -> Result<Written, Status> {
        let op = match Op::of_number(request.op) {
            Some(Op::Insert) => RecordOp::Insert,
            Some(Op::Modify) => RecordOp::Modify,
            Some(Op::Delete) => RecordOp::Delete,
            Some(Op::Upsert) => RecordOp::Upsert,
            None => return Err(Status::invalid_argument(format!("{} is no operation", request.op))),
        };
        self.check_program(request.program)?;
        let (plan, hash) = self.plan(request.table, request.parts)?;
        let record_bytes = plan.layout.record_bytes;
        if hash != request.hash || record_bytes != request.record_bytes as usize {
            let message = "the records have another layout: ask for layouts again".to_owned();
            return Err(Status::failed_precondition(message));
        }
        let (at, n_bytes) = self.place(request, record_bytes)?;
        let (n, codes_at) = (n_bytes / record_bytes, request.slot as usize * self.rings.sizes.codes_bytes());
        let mut written = Written { n, n_failed: 0, text: None };
        let mut bytes = Vec::new();
        let mut refused: Option<Status> = None;
        for first in (0..n).step_by(N_RECORDS_OF_STEP) {
            let n_now = N_RECORDS_OF_STEP.min(n - first);
            bytes.clear();
            if refused.is_none() {
                self.copied.resize(n_now * record_bytes, 0);
                self.rings.read_slots(at + first * record_bytes, &mut self.copied);
                let records = &mut self.copied[..];
                let set = RecordSet { program: request.program, plan: &plan, op, records, metadata: &[] };
                match self.local.write_records(&self.claim, set) {
                    Ok(codes) if codes.n_failed == 0 => bytes.resize(n_now, 0),
                    Ok(codes) => {
                        written.n_failed += codes.n_failed;
                        bytes.extend(codes.codes.iter().map(|code| code.number() as u8));
                        if written.text.is_none() && request.report & REPORT_TEXT != 0 {
                            written.text = self.text(&plan, op, first, &codes.codes);
                        }
                    }
                    Err(status) if first == 0 => return Err(status),
                    Err(status) => refused = Some(status),
                }
            }
            // The steps before were made: these entries have failed, and not the request.
            if let Some(status) = &refused {
                written.n_failed += n_now;
                bytes.resize(n_now, status.code() as u8);
                written.text.get_or_insert_with(|| status.message().to_owned());
            }
            if request.report & REPORT_CODES != 0 {
                self.rings.write_codes(codes_at + first, &bytes);
            }
        }
        let n_failed = written.n_failed as u64;
        self.counts.n_records.fetch_add(n as u64 - n_failed, Ordering::Relaxed);
        self.counts.n_records_failed.fetch_add(n_failed, Ordering::Relaxed);
        Ok(written)
    }

    /// Describes the first record that has failed.
    fn text(&self, plan: &RecordPlan, op: RecordOp, first: usize, codes: &[Code]) -> Option<String> {
        let i = codes.iter().position(|code| *code != Code::Ok)?;
        let record = self.copied.get(i * plan.layout.record_bytes..)?.get(..plan.layout.record_bytes)?;
        let schema = &self.plans.program.as_ref()?.schema;
        let fault = plan.fault(schema, op, record).filter(|fault| fault.code() == codes[i]);
        let text = fault.map(|fault| format!(": {fault}")).unwrap_or_default();
        Some(format!("record {}: {}{text}", first + i, codes[i].name()))
    }

    fn read(&mut self, request: &Request) -> Result<Result<(), Status>, End> {
        if let Err(status) = self.copy_message(request) {
            return Ok(Err(status));
        }
        let decoded = match pb::ReadRequest::decode(&self.copied[..]) {
            Ok(decoded) => decoded,
            Err(error) => return Ok(Err(Status::invalid_argument(format!("no `ReadRequest`: {error}")))),
        };
        let (mut result, mut end) = (Ok(()), None);
        let (local, rings) = (&self.local, &mut self.rings);
        local.read(&decoded, &mut |response| match response {
            Ok(response) => match rings.answer(answer::READ, request.number, &response) {
                Ok(()) => !rings.link.is_closed,
                Err(why) => {
                    end = Some(why);
                    false
                }
            },
            Err(status) => {
                result = Err(status);
                true
            }
        });
        end.map_or(Ok(result), Err)
    }

    fn send(&mut self, request: &Request) -> Result<(), Status> {
        self.copy_message(request)?;
        let message = pb::StreamMessageRequest::decode(&self.copied[..]);
        let message = message
            .map_err(|error| Status::invalid_argument(format!("no `StreamMessageRequest`: {error}")))?;
        if let Some(ToService::Arbitration(bid)) = &message.update {
            // Records that come later are written with the new id.
            self.claim.election_id = bid.election_id.map(|id| u128::from(id.high) << 64 | u128::from(id.low));
        }
        self.controller.send(message)
    }

    fn layouts(&mut self, request: &Request) -> Result<Tables, Status> {
        let program = self.local.program()?;
        self.check_program(program.number)?;
        if parts_of(request.parts).is_none() {
            return Err(Status::invalid_argument(format!("{:#x} are no parts", request.parts)));
        }
        let schema = Arc::clone(&program.schema);
        if request.table != 0 {
            let (plan, _) = self.plan(request.table, request.parts)?;
            let known = schema.tables.get(TableId(request.table));
            let known = known.ok_or_else(|| Status::not_found(format!("no table {}", request.table)))?;
            let table = describe(&schema, known, request.parts, Some(&plan));
            return Ok(Tables { program: program.number, tables: vec![table] });
        }
        let mut tables = Vec::new();
        for known in &schema.tables {
            let parts = request.parts & available(known);
            let plan = match self.plan(known.id.0, parts) {
                Ok((plan, _)) => Some(plan),
                Err(status) if status.code() == tonic::Code::Unimplemented => None,
                Err(status) => return Err(status),
            };
            tables.push(describe(&schema, known, parts, plan.as_deref()));
        }
        Ok(Tables { program: program.number, tables })
    }
}

/// A status as an encoded `google.rpc.Status`.
pub(crate) fn encode_status(status: &Status) -> Vec<u8> {
    if !status.details().is_empty() {
        return status.details().to_vec();
    }
    let (code, message) = (status.code() as i32, status.message().to_owned());
    rpc::Status { code, message, details: Vec::new() }.encode_to_vec()
}
