//! Uses of direct counters and meters by actions, which only the program tells.

use super::Schema;
use crate::entity::{TableAction, TableEntry};
use crate::ids::{ActionId, TableId};
use arch::{DirectObjects, ExternOp};
use ir::{ObjectId, Program, StmtKind, TerminatorKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Actions of tables that leave the direct counter or meter of their entry alone. Of the others, and without a program,
/// nothing is known: they may use both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectUses {
    without_counter: FxHashSet<(TableId, ActionId)>,
    without_meter: FxHashSet<(TableId, ActionId)>,
}

impl DirectUses {
    /// Finds the actions that do not use the direct objects of their table. In architectures where each hit counts by itself
    /// there are none.
    pub fn of_program(schema: &Schema, program: &Program) -> DirectUses {
        let mut uses = DirectUses::default();
        if program.architecture.table_properties.direct_objects == DirectObjects::OnHit {
            return uses;
        }
        let objects = objects_of_procedures(program);
        for table in &schema.tables {
            let found = program.tables.iter().find(|(_, known)| known.name == table.names.name);
            let Some((_, known)) = found else { continue };
            for action in &table.actions {
                let name = schema.actions.get(action.id).map(|action| &action.names.name);
                let Some(code) = known.actions.iter().find(|code| Some(&code.name) == name) else { continue };
                let used = &objects[ir::lookup::index(code.procedure)];
                let is_unused = |object: Option<ObjectId>| object.is_some_and(|id| !used.contains(&id));
                if is_unused(known.direct_counter) {
                    uses.without_counter.insert((table.id, action.id));
                }
                if is_unused(known.direct_meter) {
                    uses.without_meter.insert((table.id, action.id));
                }
            }
        }
        uses
    }

    /// Returns whether the action may count for its entry.
    pub fn may_count(&self, table: TableId, action: ActionId) -> bool {
        !self.without_counter.contains(&(table, action))
    }

    /// Returns whether the action may meter for its entry.
    pub fn may_meter(&self, table: TableId, action: ActionId) -> bool {
        !self.without_meter.contains(&(table, action))
    }

    /// Leaves out the direct resources that the entry's action does not use, so that what is read can be written.
    pub fn strip(&self, entry: &mut TableEntry) {
        let Some(TableAction::Action(action)) = &entry.action else { return };
        let id = action.id;
        if !self.may_count(entry.table, id) {
            entry.counter_data = None;
        }
        if !self.may_meter(entry.table, id) {
            entry.meter_config = None;
            entry.meter_counter_data = None;
        }
    }
}

/// For each procedure, the direct objects that it uses, also by calls of others.
fn objects_of_procedures(program: &Program) -> Vec<FxHashSet<ObjectId>> {
    let mut objects = vec![FxHashSet::default(); program.procedures.len()];
    let mut callees: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (id, procedure) in program.procedures.iter() {
        let id = ir::lookup::index(id);
        for (_, node) in procedure.graph.nodes.iter() {
            for stmt in &node.stmts {
                let StmtKind::Extern { op, object: Some(object), .. } = &stmt.kind else { continue };
                if is_direct(*op) {
                    objects[id].insert(*object);
                }
            }
            if let TerminatorKind::Call { procedure, .. } = &node.terminator.kind {
                callees.entry(id).or_default().push(ir::lookup::index(*procedure));
            }
        }
    }
    loop {
        let mut has_changed = false;
        for (caller, callees) in &callees {
            let of_callees: Vec<ObjectId> =
                callees.iter().flat_map(|callee| &objects[*callee]).copied().collect();
            let n_before = objects[*caller].len();
            objects[*caller].extend(of_callees);
            has_changed |= objects[*caller].len() > n_before;
        }
        if !has_changed {
            return objects;
        }
    }
}

fn is_direct(op: ExternOp) -> bool {
    matches!(
        op,
        ExternOp::DirectCounterCount
            | ExternOp::DirectMeterRead
            | ExternOp::DirectMeterColour
            | ExternOp::DirectMeterExecute
    )
}
