//! Reads whose answers come in steps.

use crate::Inside;
use crate::decode::path_of;
use crate::query::decode_query;
use crate::request::encode_answer;
use crate::wire::encode_records;
use control::{Entity, Fault, Query, Reading, RecordBlock, RecordPlan, Schema, Target};
use p4info::proto::p4::v1 as pb;
use prost::Message;
use prost::bytes::Bytes;
use std::sync::Arc;

/// Entities that are read at once.
const N_OF_STEP: usize = 4096;

/// Answers a `ReadRequest`: the entities, or the fault, for each of the entities that were asked for.
pub fn read(
    schema: &Schema,
    target: &mut dyn Target,
    request: &pb::ReadRequest,
) -> Vec<Result<Vec<pb::Entity>, Fault>> {
    let answers = Answer::begin(schema, target, request);
    let all = |mut answer: Answer| {
        let steps = std::iter::from_fn(|| answer.next(target, N_OF_STEP));
        let entities = steps.flat_map(|found| found.into_messages(schema)).collect();
        answer.result().map(|()| entities)
    };
    answers.into_iter().map(all).collect()
}

/// The answer to one entity of a `ReadRequest`. It must be ended.
#[derive(Debug)]
pub struct Answer {
    /// Index of the entity in the request.
    position: usize,
    path: &'static str,
    /// Table entries have the configuration of their meters.
    has_rates: bool,
    /// The plan for the table that is being read.
    plan: Option<Arc<RecordPlan>>,
    /// `None` at the end.
    reading: Result<Option<Reading>, Fault>,
}

/// Part of an answer.
#[derive(Debug)]
pub enum Found {
    Entities(Vec<Entity>),
    /// Entries of one table.
    Records {
        plan: Arc<RecordPlan>,
        has_rates: bool,
        block: RecordBlock,
    },
}

impl Found {
    /// The messages for these entities.
    pub(crate) fn into_messages(self, schema: &Schema) -> Vec<pb::Entity> {
        let (mut messages, entities) = match self {
            Found::Entities(entities) => (Vec::new(), entities),
            Found::Records { plan, has_rates, block } => {
                let responses = encode_records(&plan, has_rates, &block).into_iter().map(decoded);
                let others = block.others.into_iter().map(Entity::TableEntry).collect();
                (responses.flat_map(|response| response.entities).collect(), others)
            }
        };
        messages.extend(entities.into_iter().map(|entity| encode_answer(schema, entity)));
        messages
    }
}

/// Decodes a response of our own.
fn decoded(response: Bytes) -> pb::ReadResponse {
    let decoded = pb::ReadResponse::decode(response);
    debug_assert!(decoded.is_ok(), "{decoded:?}");
    decoded.unwrap_or_default()
}

impl Answer {
    /// Begins to answer each entity of a request.
    pub fn begin(schema: &Schema, target: &mut dyn Target, request: &pb::ReadRequest) -> Vec<Answer> {
        let one = |(position, entity): (usize, &pb::Entity)| {
            let path = entity.entity.as_ref().map_or("", path_of);
            let mut has_rates = false;
            let begun = decode_query(schema, entity).and_then(|query| {
                has_rates = matches!(&query, Query::TableEntries(query) if query.extras.meter_config);
                let valid = control::validate_query(schema, &query);
                valid.and_then(|()| target.begin_read(&query)).inside(path)
            });
            let reading = begun.map(Some).inside(format_args!("entities[{position}]"));
            Answer { position, path, has_rates, plan: None, reading }
        };
        request.entities.iter().enumerate().map(one).collect()
    }

    /// The next part, of about `n_max` entities; `None` at the end, or after a fault.
    pub fn next(&mut self, target: &mut dyn Target, n_max: usize) -> Option<Found> {
        let Ok(Some(reading)) = &mut self.reading else { return None };
        match next_part(target, reading, &mut self.plan, self.has_rates, n_max) {
            Ok(Some(found)) => return Some(found),
            Ok(None) => self.end(target),
            Err(fault) => {
                self.end(target);
                self.reading =
                    Err(fault.inside(self.path).inside(format_args!("entities[{}]", self.position)));
            }
        }
        None
    }

    /// Ends it, at its end or before.
    pub fn end(&mut self, target: &mut dyn Target) {
        if let Ok(reading) = &mut self.reading
            && let Some(reading) = reading.take()
        {
            target.end_read(reading);
        }
    }

    /// Fails if the read has failed.
    pub fn result(&self) -> Result<(), Fault> {
        self.reading.as_ref().map(|_| ()).map_err(Fault::clone)
    }
}

fn next_part(
    target: &mut dyn Target,
    reading: &mut Reading,
    plan: &mut Option<Arc<RecordPlan>>,
    has_rates: bool,
    n_max: usize,
) -> Result<Option<Found>, Fault> {
    loop {
        if plan.is_none() {
            *plan = target.plan_of_read(reading);
        }
        let Some(of) = plan.clone() else {
            let found = target.read_on(reading, n_max)?;
            return Ok((!found.is_empty()).then_some(Found::Entities(found)));
        };
        let mut block = RecordBlock::default();
        if !target.read_records(reading, &of, n_max, &mut block)? {
            *plan = None;
        }
        if !block.records.is_empty() || !block.others.is_empty() {
            return Ok(Some(Found::Records { plan: of, has_rates, block }));
        }
    }
}
