//! Two equal switches that get the same `WriteRequest`s: one decodes them in full, the other by the short way for table
//! entries. Their answers are the same, and so are their entities.

mod damage;

use crate::Finding;
use crate::requests::generate::Generator;
use crate::requests::{Subject, require};
use control::{Entity, EntryQuery, Extras, Fault, Query, Schema, TableId, Target, Update};
use damage::{damage, put_varint};
use fastrand::Rng;
use p4info::proto::p4::v1 as pb;
use p4runtime::wire::{self, Rights, WireRequest};
use prost::Message;
use std::sync::Arc;

/// Requests between two comparisons of all entities.
const N_REQUESTS: u64 = 64;
/// Insertions that are remembered.
const N_INSERTED_MAX: usize = 2000;
/// Updates of a request at most.
const N_UPDATES_MAX: usize = 48;

/// Two switches, and requests that follow from a number.
pub struct Twins {
    rng: Rng,
    schema: Arc<Schema>,
    full: Box<dyn Target>,
    short: Box<dyn Target>,
    n_requests: u64,
    last: Vec<u8>,
    /// Insertions in any order: of entries that were there at the last comparison, and later ones.
    inserted: Vec<pb::Update>,
    pub counts: TwinCounts,
}

/// Updates that were made.
#[derive(Clone, Copy, Debug, Default)]
pub struct TwinCounts {
    pub n_updates: u64,
    /// Those that went the short way in the switch that has it.
    pub n_short: u64,
    pub n_refused: u64,
    /// Requests that were refused as a whole.
    pub n_damaged: u64,
}

impl TwinCounts {
    pub fn add(&mut self, other: TwinCounts) {
        self.n_updates += other.n_updates;
        self.n_short += other.n_short;
        self.n_refused += other.n_refused;
        self.n_damaged += other.n_damaged;
    }
}

fn is_changeable(entity: &Entity) -> bool {
    matches!(entity, Entity::TableEntry(entry) if !entry.is_const && !entry.is_default_action)
}

/// Everything may be written.
struct All;

impl Rights for All {
    fn may_write_table(&self, _: TableId) -> bool {
        true
    }

    fn check(&self, _: &Update) -> Result<(), Fault> {
        Ok(())
    }
}

impl Twins {
    /// Two switches in this process: interpreted, or compiled.
    pub fn new(subject: &Subject, seed: u64, is_native: bool) -> Result<Twins, Finding> {
        let [full, short] = match is_native {
            true => [subject.native()?, subject.native()?].map(|device| Box::new(device) as Box<dyn Target>),
            false => [subject.device()?, subject.device()?].map(|device| Box::new(device) as Box<dyn Target>),
        };
        let rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let schema = subject.schema();
        let (last, inserted, counts) = (Vec::new(), Vec::new(), TwinCounts::default());
        Ok(Twins { rng, schema, full, short, n_requests: 0, last, inserted, counts })
    }

    /// Sends requests until the two have seen this number of updates, or differ.
    pub fn run(&mut self, n_updates: u64) -> Result<(), Finding> {
        while self.counts.n_updates < n_updates {
            self.step().map_err(|finding| Finding {
                details: format!("{}\nrequest: {:02x?}", finding.details, self.last),
                ..finding
            })?;
        }
        self.compare()
    }

    fn step(&mut self) -> Result<(), Finding> {
        let request = self.request();
        self.last.clone_from(&request);
        self.answer(&request)?;
        self.n_requests += 1;
        if self.n_requests.is_multiple_of(N_REQUESTS) { self.compare() } else { Ok(()) }
    }

    /// Sends one request to the two, compares their entries, and deletes those that can be deleted.
    pub fn answer_alone(&mut self, request: &[u8]) -> Result<(), Finding> {
        self.answer(request)?;
        self.compare()?;
        if self.inserted.is_empty() {
            return Ok(());
        }
        let deleted = self
            .inserted
            .drain(..)
            .map(|update| pb::Update { r#type: pb::update::Type::Delete.into(), ..update });
        let request = pb::WriteRequest { updates: deleted.collect(), ..pb::WriteRequest::default() };
        self.answer(&request.encode_to_vec())
    }

    /// Sends one request to the two: their answers are equal.
    fn answer(&mut self, request: &[u8]) -> Result<(), Finding> {
        let full = pb::WriteRequest::decode(request);
        let scanned = WireRequest::scan(request);
        let (full, scanned) = match (full, scanned) {
            (Ok(full), Some(scanned)) => (full, scanned),
            // Both ways decode it as a whole.
            (Ok(full), None) => {
                let answers = [&mut self.full, &mut self.short]
                    .map(|target| p4runtime::write(&self.schema, &mut **target, &full));
                let [one, other] = &answers;
                return require(one == other, "the twins differ without the short way", || {
                    format!("{answers:?}")
                });
            }
            (Err(_), Some(scanned)) => {
                self.counts.n_damaged += 1;
                let written = wire::write(&self.schema, &mut *self.short, &scanned, &All);
                return require(written.is_err(), "the short way takes a damaged request", String::new);
            }
            (Err(_), None) => {
                self.counts.n_damaged += 1;
                return Ok(());
            }
        };
        let claim = p4runtime::write_claim(&full);
        require(claim.as_ref() == Ok(&scanned.claim), "the two ways see other controllers", || {
            format!("{claim:?}\n{:?}", scanned.claim)
        })?;
        let expected = p4runtime::write(&self.schema, &mut *self.full, &full);
        let written = wire::write(&self.schema, &mut *self.short, &scanned, &All);
        let (Ok(expected), Ok(written)) = (expected, written) else {
            return Err(Finding::new("a request without faults of its own is refused", String::new()));
        };
        self.counts.n_updates += written.n as u64;
        self.counts.n_short += (written.n - written.n_full) as u64;
        self.counts.n_refused += written.failed.len() as u64;
        let results = written.results();
        require(results == expected, "the two ways answer differently", || {
            let differ = results.iter().zip(&expected).enumerate().find(|(_, (short, full))| short != full);
            format!("{differ:?}")
        })
    }

    fn compare(&mut self) -> Result<(), Finding> {
        let read = |target: &dyn Target| -> Vec<Entity> {
            let tables = self.schema.tables.iter().map(|table| {
                let extras = Extras {
                    counter_data: table.direct_counter.is_some(),
                    meter_config: table.direct_meter.is_some(),
                    ..Extras::default()
                };
                Query::TableEntries(EntryQuery { table: Some(table.id), extras, ..EntryQuery::default() })
            });
            tables.flat_map(|query| target.read(&query).unwrap_or_default()).collect()
        };
        let (full, short) = (read(&*self.full), read(&*self.short));
        require(full == short, "the two ways leave other entries", || {
            let differ = full.iter().zip(&short).find(|(full, short)| full != short);
            format!("{} and {} entries: {differ:?}", full.len(), short.len())
        })?;
        // Later changes and deletions are of entries that are there, so that tables do not stay full.
        let inserted = full.iter().filter(|entity| is_changeable(entity)).map(|entity| pb::Update {
            r#type: pb::update::Type::Insert.into(),
            entity: Some(p4runtime::encode_entity(&self.schema, entity)),
        });
        self.inserted = inserted.collect();
        self.rng.shuffle(&mut self.inserted);
        Ok(())
    }

    /// Changes and deletions mostly meet entries that were inserted.
    fn again(&mut self, next: pb::Update) -> pb::Update {
        let table = |update: &pb::Update| match update.entity.as_ref()?.entity.as_ref()? {
            pb::entity::Entity::TableEntry(entry) => Some(entry.table_id),
            _ => None,
        };
        let Some(of) = table(&next) else { return next };
        if next.r#type() == pb::update::Type::Insert {
            self.inserted.truncate(N_INSERTED_MAX);
            let at = self.rng.usize(..=self.inserted.len());
            self.inserted.insert(at, next.clone());
            return next;
        }
        if self.rng.u8(..8) == 0 {
            return next;
        }
        let known = self.inserted.iter().position(|update| table(update) == Some(of));
        match (known, next.r#type()) {
            (Some(i), pb::update::Type::Delete) => {
                pb::Update { r#type: next.r#type, ..self.inserted.remove(i) }
            }
            (Some(i), _) => pb::Update { r#type: next.r#type, ..self.inserted[i].clone() },
            (None, _) => next,
        }
    }

    /// A request in bytes, now and then with updates in other forms than usual.
    fn request(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let n = self.rng.usize(..=N_UPDATES_MAX);
        let is_clean = self.rng.u8(..3) == 0;
        let mut update = pb::Update::default();
        let mut left = 0;
        for _ in 0..n {
            // Runs of one kind, and entries that are alike.
            if left == 0 {
                left = self.rng.usize(1..12);
                update = Generator { rng: &mut self.rng, schema: &self.schema }.entry_update();
            }
            left -= 1;
            let next = Generator { rng: &mut self.rng, schema: &self.schema }.entry_like(&update);
            let next = next.unwrap_or_else(|| update.clone());
            let next = self.again(next);
            let mut message = next.encode_to_vec();
            if !is_clean && self.rng.u8(..6) == 0 {
                message = damage(&mut self.rng, &message);
            }
            put_varint(4 << 3 | 2, false, &mut bytes);
            put_varint(message.len() as u64, false, &mut bytes);
            bytes.extend(message);
        }
        let head = pb::WriteRequest {
            device_id: self.rng.u64(..2),
            election_id: self.rng.bool().then(|| pb::Uint128 { high: self.rng.u64(..2), low: 1 }),
            role: ["", "", "", "a"][self.rng.usize(..4)].to_owned(),
            ..pb::WriteRequest::default()
        };
        let head = head.encode_to_vec();
        // Some clients write these fields last.
        if self.rng.bool() {
            bytes.extend(head);
        } else {
            bytes.splice(0..0, head);
        }
        if !is_clean && self.rng.u8(..12) == 0 {
            bytes = damage(&mut self.rng, &bytes);
        }
        bytes
    }
}
