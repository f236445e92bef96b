//! Whole requests.

use control::{Atomicity, Batch, Code, Entity, Fault, Problem, Results, Schema, TableId, Target, Update};
use p4info::proto::google::rpc::Status;
use p4info::proto::p4::v1 as pb;
use prost::{Message, Name};
use std::collections::BTreeMap;

use crate::Inside;
use crate::decode::{decode_update, path_of};
use crate::encode::encode_entity;

/// Namespace of the codes of errors. There are none besides the canonical ones.
pub(crate) const ERROR_SPACE: &str = "siding";

/// Updates that are decoded at once, if they do not belong together.
const N_OF_STEP: usize = 4096;

/// Applies a `WriteRequest`: one result for each of its updates. Device, role and election are not looked at. Fails if
/// the request as a whole cannot be applied; nothing has then changed, and the status has no details.
pub fn write(schema: &Schema, target: &mut dyn Target, request: &pb::WriteRequest) -> Result<Results, Fault> {
    write_if(schema, target, request, &|_| Ok(()))
}

/// Like [`write()`], for a controller that may not write everything: `check` fails for updates that are refused.
pub fn write_if(
    schema: &Schema,
    target: &mut dyn Target,
    request: &pb::WriteRequest,
    check: &dyn Fn(&Update) -> Result<(), Fault>,
) -> Result<Results, Fault> {
    use pb::write_request::Atomicity as From;
    let atomicity = match From::try_from(request.atomicity) {
        Ok(From::ContinueOnError) => Atomicity::ContinueOnError,
        Ok(From::RollbackOnError) => Atomicity::RollbackOnError,
        Ok(From::DataplaneAtomic) => Atomicity::DataplaneAtomic,
        Err(_) => {
            return Err(Problem::UnknownEnumValue { field: "atomicity", value: request.atomicity }.into());
        }
    };
    control::check_atomicity(target, atomicity, request.updates.len())?;
    let n_of_step = match atomicity {
        Atomicity::ContinueOnError => N_OF_STEP,
        Atomicity::RollbackOnError | Atomicity::DataplaneAtomic => request.updates.len().max(1),
    };
    if request.updates.len() > N_OF_STEP {
        insertions(request).into_iter().for_each(|(table, n_more)| target.reserve(table, n_more));
    }
    let mut results = Vec::with_capacity(request.updates.len());
    for updates in request.updates.chunks(n_of_step) {
        write_step(schema, target, (updates, atomicity), check, &mut results)?;
    }
    let at = |(i, result): (usize, Result<(), Fault>)| result.inside(format_args!("updates[{i}]"));
    Ok(results.into_iter().enumerate().map(at).collect())
}

/// Tables with the number of entries that a request inserts.
fn insertions(request: &pb::WriteRequest) -> BTreeMap<TableId, u64> {
    let mut tables = BTreeMap::new();
    for update in &request.updates {
        let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        if let Some(pb::entity::Entity::TableEntry(entry)) = entity
            && update.r#type() == pb::update::Type::Insert
        {
            *tables.entry(TableId(entry.table_id)).or_default() += 1;
        }
    }
    tables
}

/// Applies updates of a request, which are all of them if they belong together.
pub(crate) fn write_step(
    schema: &Schema,
    target: &mut dyn Target,
    (of_step, atomicity): (&[pb::Update], Atomicity),
    check: &dyn Fn(&Update) -> Result<(), Fault>,
    all_results: &mut Results,
) -> Result<(), Fault> {
    let mut results = Vec::with_capacity(of_step.len());
    let mut updates = Vec::with_capacity(of_step.len());
    for update in of_step {
        match decode_update(schema, update).and_then(|update| check(&update).map(|()| update)) {
            Ok(update) => {
                updates.push(update);
                results.push(Ok(()));
            }
            Err(fault) => results.push(Err(fault)),
        }
    }
    let n_decoded = updates.len();
    match (atomicity, results.iter().position(Result::is_err)) {
        (Atomicity::ContinueOnError, _) | (_, None) => {
            let applied = control::apply(schema, target, &Batch { updates, atomicity })?;
            debug_assert_eq!(applied.len(), n_decoded);
            let mut applied = applied.into_iter();
            for (result, update) in results.iter_mut().zip(of_step) {
                if result.is_ok()
                    && let Some(outcome) = applied.next()
                {
                    *result = outcome.map_err(|fault| below_entity(fault, update));
                }
            }
        }
        (Atomicity::RollbackOnError | Atomicity::DataplaneAtomic, Some(failed)) => {
            for result in results.iter_mut().filter(|result| result.is_ok()) {
                *result = Err(Problem::BatchAborted { failed }.into());
            }
        }
    }
    all_results.append(&mut results);
    Ok(())
}

/// Faults of a batch as a whole are not those of a field.
fn below_entity(fault: Fault, update: &pb::Update) -> Fault {
    match fault.problem() {
        Problem::BatchAborted { .. } | Problem::RollbackFailed { .. } => fault,
        _ => match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(entity) => fault.inside(path_of(entity)).inside("entity"),
            None => fault,
        },
    }
}

/// An entity as an answer.
pub fn encode_answer(schema: &Schema, entity: Entity) -> pb::Entity {
    encode_entity(schema, &as_written(schema, entity))
}

/// Leaves out what no update could write.
fn as_written(schema: &Schema, entity: Entity) -> Entity {
    match entity {
        Entity::TableEntry(mut entry) => {
            schema.direct_uses.strip(&mut entry);
            Entity::TableEntry(entry)
        }
        other => other,
    }
}

/// The status of a request: `None` if all went well, else code `UNKNOWN` with one `p4.v1.Error` for each result
/// (P4Runtime, "Error Reporting").
pub fn status<T>(results: &[Result<T, Fault>]) -> Option<Status> {
    let n_failed = results.iter().filter(|result| result.is_err()).count();
    if n_failed == 0 {
        return None;
    }
    let error = |result: &Result<T, Fault>| match result {
        Ok(_) => pb::Error::default(),
        Err(fault) => pb::Error {
            canonical_code: fault.code().number(),
            message: fault.to_string(),
            space: ERROR_SPACE.to_owned(),
            ..pb::Error::default()
        },
    };
    let detail =
        |result| prost_types::Any { type_url: pb::Error::type_url(), value: error(result).encode_to_vec() };
    Some(Status {
        code: Code::Unknown.number(),
        message: format!("{n_failed} of {} failed", results.len()),
        details: results.iter().map(detail).collect(),
    })
}

/// The status of a request that failed as a whole. It has no details.
pub fn request_status(fault: &Fault) -> Status {
    Status { code: fault.code().number(), message: fault.to_string(), details: Vec::new() }
}
