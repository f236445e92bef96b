//! How the code of each procedure may end.

use crate::facts::control_flow::has_loop;
use crate::facts::steps::Steps;
use arch::ExternOp;
use ir::lookup::{get, index};
use ir::{Graph, Program, StmtKind, TableId, TerminatorKind};

/// How the code of a procedure may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) exits: bool,
    /// The packet may end.
    pub(crate) stops: bool,
}

impl Ends {
    pub(crate) fn is_plain(self) -> bool {
        !self.exits && !self.stops
    }
}

pub(crate) fn table_ends(program: &Program, ends: &[Ends], id: TableId) -> Ends {
    let actions = get(&program.tables, id).map(|t| t.actions.as_slice()).unwrap_or_default();
    actions.iter().fold(Ends::default(), |all, action| {
        let one = ends[index(action.procedure)];
        Ends { exits: all.exits || one.exits, stops: all.stops || one.stops }
    })
}

pub(crate) fn ends(program: &Program, steps: &Steps) -> Vec<Ends> {
    let mut ends = vec![Ends::default(); program.procedures.len()];
    loop {
        let mut changed = false;
        for (id, procedure) in program.procedures.iter() {
            let mut found = of_graph(program, &procedure.graph, &ends);
            found.stops |= steps.of_call[index(id)] > 0;
            if ends[index(id)] != found {
                ends[index(id)] = found;
                changed = true;
            }
        }
        if !changed {
            return ends;
        }
    }
}

/// True for blocks in which the packet may end, by the number of the block.
pub(crate) fn block_stops(program: &Program, ends: &[Ends]) -> Vec<bool> {
    program.blocks.iter().map(|(_, block)| of_graph(program, &block.graph, ends).stops).collect()
}

fn of_graph(program: &Program, graph: &Graph, ends: &[Ends]) -> Ends {
    let mut found = Ends { exits: false, stops: has_loop(graph) };
    for (_, node) in graph.nodes.iter() {
        for stmt in &node.stmts {
            if let StmtKind::Extern { op, .. } = &stmt.kind {
                found.stops |= can_stop(*op);
            }
        }
        match &node.terminator.kind {
            TerminatorKind::Exit => found.exits = true,
            // An exit of the procedure is a successor of its own.
            TerminatorKind::Call { procedure, .. } => found.stops |= ends[index(*procedure)].stops,
            TerminatorKind::Apply { table, .. } => found.stops |= table_ends(program, ends, *table).stops,
            _ => {}
        }
    }
    found
}

/// A packet may end at such a call: functions of the host may stop it, and it stops where none is supplied.
pub(crate) fn can_stop(op: ExternOp) -> bool {
    matches!(
        op,
        ExternOp::Assert
            | ExternOp::Assume
            | ExternOp::User
            | ExternOp::SelectByDirection
            | ExternOp::IsNetPort
            | ExternOp::IsHostPort
            | ExternOp::Rebuild
            | ExternOp::AsyncBegin
    )
}
