//! Entities that the control plane has written, copied into another program.

use crate::plane::RunningProgram;
use control::sync::{Migration, migrate};
use control::{Fault, Schema, TableId, Target, Update};
use std::collections::HashSet;
use std::sync::Arc;
use target::Store;

/// Copies the entities of a running program to `to`, which has `to_schema`. Entities that the program itself declares are
/// left out.
pub(crate) fn copy_entities(
    from: &mut RunningProgram,
    to_schema: &Schema,
    to: &mut dyn Target,
    now_ns: u64,
) -> Migration {
    let schema = Arc::clone(from.schema());
    let changed = tables_with_other_default(from, &schema);
    migrate(&schema, &from.at(now_ns), to_schema, to, |table| changed.contains(&table))
}

/// The updates that bring a fresh switch of the program to the configuration of this one.
pub(crate) fn configuration(from: &mut RunningProgram, now_ns: u64) -> Result<Vec<Update>, Fault> {
    let schema = Arc::clone(from.schema());
    let changed = tables_with_other_default(from, &schema);
    control::sync::configuration(&schema, &from.at(now_ns), |table| changed.contains(&table))
}

/// The tables whose default action is another one than the program's.
pub(crate) fn tables_with_other_default(running: &RunningProgram, schema: &Schema) -> HashSet<TableId> {
    schema.tables.iter().map(|table| table.id).filter(|table| has_other_default(running, *table)).collect()
}

/// True if the default action is not the one that the program declares.
fn has_other_default(running: &RunningProgram, table: TableId) -> bool {
    let Some(id) = running.entities.names().tables.get(&table) else { return false };
    let Some(shape) = running.control.table_shapes().get(ir::lookup::index(*id)) else { return false };
    running.control.default_action(*id).is_some_and(|action| action != shape.initial_default)
}
