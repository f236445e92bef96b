//! Entities that the control plane has written, copied into another program.

use crate::plane::RunningProgram;
use control::sync::{Migration, migrate};
use control::{Fault, Schema, Target, Update};
use std::sync::Arc;

/// Copies the entities of a running program to `to`, which has `to_schema`. Entities that the program itself declares are
/// left out.
pub(crate) fn copy_entities(
    from: &mut RunningProgram,
    to_schema: &Schema,
    to: &mut dyn Target,
    now_ns: u64,
) -> Migration {
    let schema = Arc::clone(from.schema());
    migrate(&schema, &mut from.at(now_ns), to_schema, to)
}

/// The updates that bring a fresh switch of the program to the configuration of this one.
pub(crate) fn configuration(from: &mut RunningProgram, now_ns: u64) -> Result<Vec<Update>, Fault> {
    let schema = Arc::clone(from.schema());
    control::sync::configuration(&schema, &mut from.at(now_ns))
}
