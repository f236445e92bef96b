//! Entities that the control plane has written, copied into another program.

use crate::plane::RunningProgram;
use control::sync::{Migration, migrate};
use control::{Schema, TableId, Target};
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
    let changed: HashSet<TableId> = (schema.tables.iter().map(|table| table.id))
        .filter(|table| has_other_default(from, *table))
        .collect();
    migrate(&schema, &from.at(now_ns), to_schema, to, |table| changed.contains(&table))
}

/// True if the default action is not the one that the program declares.
fn has_other_default(running: &RunningProgram, table: TableId) -> bool {
    let Some(id) = running.entities.names().tables.get(&table) else { return false };
    let Some(shape) = running.control.table_shapes().get(ir::lookup::index(*id)) else { return false };
    running.control.default_action(*id).is_some_and(|action| action != shape.initial_default)
}
