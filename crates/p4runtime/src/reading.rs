//! Reads whose answers come in steps.

use crate::Inside;
use crate::decode::path_of;
use crate::query::decode_query;
use control::{Entity, Fault, Reading, Schema, Target};
use p4info::proto::p4::v1 as pb;

/// The answer to one entity of a `ReadRequest`. It must be ended.
#[derive(Debug)]
pub struct Answer {
    /// Index of the entity in the request.
    position: usize,
    path: &'static str,
    /// `None` at the end.
    reading: Result<Option<Reading>, Fault>,
}

impl Answer {
    /// Begins to answer each entity of a request.
    pub fn begin(schema: &Schema, target: &mut dyn Target, request: &pb::ReadRequest) -> Vec<Answer> {
        let one = |(position, entity): (usize, &pb::Entity)| {
            let path = entity.entity.as_ref().map_or("", path_of);
            let begun = decode_query(schema, entity).and_then(|query| {
                let valid = control::validate_query(schema, &query);
                valid.and_then(|()| target.begin_read(&query)).inside(path)
            });
            let reading = begun.map(Some).inside(format_args!("entities[{position}]"));
            Answer { position, path, reading }
        };
        request.entities.iter().enumerate().map(one).collect()
    }

    /// The next entities, about `n_max` of them; `None` at the end, or after a fault.
    pub fn next(&mut self, target: &mut dyn Target, n_max: usize) -> Option<Vec<Entity>> {
        let Ok(Some(reading)) = &mut self.reading else { return None };
        match target.read_on(reading, n_max) {
            Ok(found) if !found.is_empty() => return Some(found),
            Ok(_) => self.end(target),
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
