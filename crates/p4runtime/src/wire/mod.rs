//! `WriteRequest`s from their bytes, and `ReadResponse`s to bytes: usual updates of table entries become records at once, all
//! others are decoded in full; entries that were read as records become bytes at once.
//!
//! The short way never makes a fault. Whatever it does not expect, and whatever a table refuses, goes the full way in its
//! place in the order, so that every message has one origin.

mod answer;
mod backward;
mod cursor;
mod entry;
mod request;
mod shape;

pub use answer::encode_records;
pub use request::WireRequest;

use crate::request::write_step;
use control::records::{N_RECORDS_OF_STEP, RecordParts, RecordPlan};
use control::*;
use entry::EntryDecoder;
use p4info::proto::p4::v1 as pb;
use prost::Message;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Updates of a batch that goes the full way, at most.
const N_IN_BATCH: usize = 4096;

/// How the updates of a request went.
#[derive(Debug, Default)]
pub struct Written {
    pub n: usize,
    /// Numbers of updates, ascending, with their faults.
    pub failed: Vec<(usize, Fault)>,
    /// Updates that went the full way.
    pub n_full: usize,
    /// Some of them are of digests.
    pub has_digests: bool,
}

impl Written {
    /// One result for each update.
    pub fn results(self) -> Results {
        let mut results: Results = (0..self.n).map(|_| Ok(())).collect();
        for (i, fault) in self.failed {
            results[i] = Err(fault);
        }
        results
    }
}

/// Rights of the controller that writes.
pub trait Rights {
    /// Returns whether any entry of a table may be written.
    fn may_write_table(&self, table: TableId) -> bool;

    /// Fails if an update may not be made.
    fn check(&self, update: &Update) -> Result<(), Fault>;
}

/// Applies the updates of a request one after the other, each whether or not others fail. Fails if an update is no message;
/// nothing has then changed.
pub fn write(
    schema: &Schema,
    target: &mut dyn Target,
    request: &WireRequest<'_>,
    rights: &dyn Rights,
) -> Result<Written, prost::DecodeError> {
    let decoded = decode(target, request, rights, &|| ())?;
    Ok(apply(schema, target, request, decoded, rights))
}

/// Applies the updates of a request that were decoded.
pub fn apply(
    schema: &Schema,
    target: &mut dyn Target,
    request: &WireRequest<'_>,
    decoded: Decoded,
    rights: &dyn Rights,
) -> Written {
    let written = Written { n: request.updates.len(), ..Written::default() };
    let mut writer = Writer { schema, target, rights, updates: &request.updates, written };
    decoded.0.into_iter().for_each(|part| writer.write(part));
    writer.written
}

/// Decodes a request without its updates.
pub fn head(request: &[u8]) -> Result<pb::WriteRequest, prost::DecodeError> {
    const UPDATES: u32 = 4;
    pb::WriteRequest::decode(&*crate::bounds::without(request, UPDATES))
}

/// The updates of a request, for the program that has the plans of their tables.
pub struct Decoded(Vec<Part>);

/// Updates that follow each other.
enum Part {
    /// Updates of one kind and table.
    Records {
        plan: Arc<RecordPlan>,
        kind: UpdateKind,
        first: usize,
        records: Vec<u8>,
    },
    Full {
        first: usize,
        updates: Vec<pb::Update>,
    },
}

/// Decodes all updates, and calls `pause` every few microseconds. Fails if one is no message.
pub fn decode(
    target: &mut dyn Target,
    request: &WireRequest<'_>,
    rights: &dyn Rights,
    pause: &dyn Fn(),
) -> Result<Decoded, prost::DecodeError> {
    let updates = &request.updates;
    // Tables that were named; `None`: their entries go the full way.
    let mut tables: FxHashMap<u32, Option<EntryDecoder>> = FxHashMap::default();
    let (mut parts, mut i) = (Vec::new(), 0);
    while i < updates.len() {
        let opened = entry::open(updates[i]);
        let found = opened.as_ref().and_then(|opened| {
            let new = || {
                let table = TableId(opened.table_id);
                let plan = target.record_plan(table, RecordParts::default());
                plan.filter(|_| rights.may_write_table(table)).and_then(EntryDecoder::new)
            };
            tables.entry(opened.table_id).or_insert_with(new).as_mut()
        });
        if let (Some(opened), Some(decoder)) = (opened, found) {
            let (kind, mut records) = (opened.kind, Vec::new());
            let n = decoder.decode_many(&updates[i..], opened, &mut records, pause);
            if n > 0 {
                parts.push(Part::Records { plan: Arc::clone(&decoder.plan), kind, first: i, records });
                i += n;
                continue;
            }
        }
        let update = pb::Update::decode(updates[i])?;
        match parts.last_mut() {
            Some(Part::Full { updates, .. }) if updates.len() < N_IN_BATCH => updates.push(update),
            _ => parts.push(Part::Full { first: i, updates: vec![update] }),
        }
        i += 1;
    }
    Ok(Decoded(parts))
}

struct Writer<'w> {
    schema: &'w Schema,
    target: &'w mut dyn Target,
    rights: &'w dyn Rights,
    updates: &'w [&'w [u8]],
    written: Written,
}

impl Writer<'_> {
    fn write(&mut self, part: Part) {
        let (plan, kind, first, mut records) = match part {
            Part::Records { plan, kind, first, records } => (plan, kind, first, records),
            Part::Full { first, updates } => {
                let numbers: Vec<usize> = (first..first + updates.len()).collect();
                return self.write_in_full(&numbers, &updates);
            }
        };
        let n_left = self.updates.len() - first;
        if kind == UpdateKind::Insert && n_left > N_RECORDS_OF_STEP {
            self.target.reserve(plan.table, n_left as u64);
        }
        let done = self.target.write_records(&plan, kind.into(), &mut records, &[]);
        if done.n_failed == 0 {
            return;
        }
        // None of them has changed anything, and they fail again, with a message.
        let failed = done.codes.iter().enumerate().filter(|(_, code)| **code != Code::Ok);
        let failed: Vec<usize> = failed.map(|(i, _)| first + i).collect();
        for numbers in failed.chunks(N_IN_BATCH) {
            let decoded = |i: &usize| pb::Update::decode(self.updates[*i]).unwrap_or_default();
            let updates: Vec<pb::Update> = numbers.iter().map(decoded).collect();
            self.write_in_full(numbers, &updates);
        }
    }

    fn write_in_full(&mut self, numbers: &[usize], updates: &[pb::Update]) {
        self.written.n_full += numbers.len();
        self.written.has_digests |= updates.iter().any(is_of_digest);
        let mut results = Vec::with_capacity(updates.len());
        let check = |update: &Update| self.rights.check(update);
        let of_step = (updates, Atomicity::ContinueOnError);
        let applied = write_step(self.schema, self.target, of_step, &check, &mut results);
        debug_assert!(applied.is_ok(), "only updates that belong together fail as a whole");
        for (i, result) in numbers.iter().zip(results) {
            if let Err(fault) = result {
                self.written.failed.push((*i, fault.inside(format_args!("updates[{i}]"))));
            }
        }
    }
}

/// Returns whether an update says how digests are sent.
pub fn is_of_digest(update: &pb::Update) -> bool {
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    matches!(entity, Some(pb::entity::Entity::DigestEntry(_)))
}
