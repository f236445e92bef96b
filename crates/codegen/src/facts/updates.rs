//! How the code of each action changes the data of its entry.

use arch::ExternOp;
use ir::lookup::get;
use ir::{Arg, ProcedureId, Program, StmtKind, Sync, TableId, TerminatorKind};
use std::collections::BTreeSet;

/// The changes that an action of a table makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Update {
    /// How workers keep them apart.
    pub(crate) sync: Sync,
    /// The numbers, among the data of the action, of the values that each worker keeps for itself.
    pub(crate) sharded: BTreeSet<usize>,
}

/// By the number of the table, then by that of the action. Traced code shows the values of entries while actions run, so it
/// changes the entries themselves.
pub(crate) fn updates(program: &Program, is_traced: bool) -> Vec<Vec<Update>> {
    let of_table = |(id, table): (TableId, &ir::Table)| {
        let actions = (0..).zip(&table.actions);
        let of_action = |(number, action): (u32, &ir::TableAction)| match action.sync {
            Sync::Sharded if is_traced => Update { sync: Sync::Sequence, ..Update::default() },
            Sync::Sharded => {
                let sharded = stored(program, (id, number), action.procedure);
                Update { sync: Sync::Sharded, sharded }
            }
            sync @ (Sync::None | Sync::Atomic | Sync::Sequence) => Update { sync, ..Update::default() },
        };
        actions.map(of_action).collect()
    };
    program.tables.iter().map(of_table).collect()
}

/// The values of an action of a table that a procedure writes, with those that it calls.
fn stored(program: &Program, wanted: (TableId, u32), procedure: ProcedureId) -> BTreeSet<usize> {
    let (mut found, mut seen, mut left) = (BTreeSet::new(), BTreeSet::new(), vec![procedure]);
    while let Some(procedure) = left.pop() {
        let Some(graph) = get(&program.procedures, procedure).map(|procedure| &procedure.graph) else {
            continue;
        };
        if !seen.insert(procedure) {
            continue;
        }
        for (_, node) in graph.nodes.iter() {
            if let TerminatorKind::Call { procedure, .. } = &node.terminator.kind {
                left.push(*procedure);
            }
            found.extend(node.stmts.iter().filter_map(|stmt| stored_value(&stmt.kind, wanted)));
        }
    }
    found
}

fn stored_value(stmt: &StmtKind, wanted: (TableId, u32)) -> Option<usize> {
    let StmtKind::Extern { op: ExternOp::StoreData, args, .. } = stmt else { return None };
    match args.as_slice() {
        [Arg::Table { table, action: Some(action) }, Arg::In(number), _] if (*table, *action) == wanted => {
            usize::try_from(number.as_const()?.to_u64()?).ok()
        }
        _ => None,
    }
}
