//! Which procedures are called and which tables are applied.

use ir::lookup::index;
use ir::{BlockId, ProcedureId, Program, TableId, TerminatorKind};
use rustc_hash::FxHashSet;

/// Calls and table applications of a program.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Procedures that code calls, which is not said of the actions of tables.
    called: FxHashSet<ProcedureId>,
    /// Tables that code applies which can be reached.
    applied: FxHashSet<TableId>,
    called_in_procedures: FxHashSet<ProcedureId>,
    applied_in_procedures: FxHashSet<TableId>,
    reachable: Vec<bool>,
}

impl Calls {
    pub(crate) fn new(program: &Program) -> Calls {
        let mut calls = Calls { reachable: program.reachable_procedures(), ..Calls::default() };
        for (_, block) in program.blocks.iter() {
            calls.visit(&block.graph, None);
        }
        for (id, procedure) in program.procedures.iter() {
            calls.visit(&procedure.graph, Some(id));
        }
        calls
    }

    fn visit(&mut self, graph: &ir::Graph, owner: Option<ProcedureId>) {
        for (_, node) in graph.nodes.iter() {
            match node.terminator.kind {
                TerminatorKind::Call { procedure, .. } => {
                    self.called.insert(procedure);
                    if owner.is_some() {
                        self.called_in_procedures.insert(procedure);
                    }
                }
                TerminatorKind::Apply { table, .. } => {
                    if owner.is_none_or(|id| self.reachable[index(id)]) {
                        self.applied.insert(table);
                    }
                    if owner.is_some() {
                        self.applied_in_procedures.insert(table);
                    }
                }
                _ => {}
            }
        }
    }

    /// Code calls the procedure; calls by tables do not count.
    pub(crate) fn is_called(&self, id: ProcedureId) -> bool {
        self.called.contains(&id)
    }

    /// A procedure calls it, so its function is declared before the procedures.
    pub(crate) fn is_called_in_procedure(&self, id: ProcedureId) -> bool {
        self.called_in_procedures.contains(&id)
    }

    /// The procedures of a block that can be reached.
    pub(crate) fn procedures_of(&self, program: &Program, block: BlockId) -> Vec<ProcedureId> {
        let of_block = program.procedures.iter().filter(|(_, procedure)| procedure.block == block);
        of_block.map(|(id, _)| id).filter(|id| self.reachable[index(*id)]).collect()
    }

    /// The tables of a block that reachable code applies.
    pub(crate) fn tables_of(&self, program: &Program, block: BlockId) -> Vec<TableId> {
        let of_block = program.tables.iter().filter(|(_, table)| table.block == block).map(|(id, _)| id);
        of_block.filter(|id| self.applied.contains(id)).collect()
    }

    /// A procedure applies the table, so its function is declared before the procedures.
    pub(crate) fn is_applied_in_procedure(&self, id: TableId) -> bool {
        self.applied_in_procedures.contains(&id)
    }
}
