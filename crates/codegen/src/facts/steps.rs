//! Steps that procedures take from a packet's budget.
//!
//! Loops count their rounds. Calls without a loop can be as long: a procedure that calls another one twice, which calls a
//! third one twice, and so on. A procedure that may execute more than [`UNCOUNTED_MAX`] nodes and statements therefore
//! takes steps when it is called: its own weight, and that of the short procedures it calls, which take none.

use crate::facts::weight::graph_weight;
use ir::lookup::{get, index};
use ir::{Graph, ProcedureId, Program, TableAction, TerminatorKind};

/// The nodes and statements that a procedure executes at most, in all it calls, without taking steps.
const UNCOUNTED_MAX: u64 = 4096;

/// The steps of procedures, and how much blocks may execute.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// By the number of the procedure: steps that a call takes; 0 for short procedures.
    pub(crate) of_call: Vec<u32>,
    /// Nodes and statements of all blocks with every call in its place; saturates.
    pub(crate) expanded_weight: u64,
}

impl Steps {
    pub(crate) fn new(program: &Program) -> Steps {
        let mut costs = Costs { program, known: vec![None; program.procedures.len()] };
        let all: Vec<u64> = program.procedures.iter().map(|(id, _)| costs.of_procedure(id)).collect();
        let blocks = program.blocks.iter().map(|(_, block)| costs.of_graph(&block.graph));
        let expanded_weight = blocks.fold(0, u64::saturating_add);
        let short = |id: ProcedureId| Some(all[index(id)]).filter(|cost| *cost <= UNCOUNTED_MAX);
        let of_call = program.procedures.iter().map(|(id, procedure)| match short(id) {
            Some(_) => 0,
            None => {
                let calls = calls(program, &procedure.graph, &|id| short(id).unwrap_or(0));
                u32::try_from(calls.saturating_add(graph_weight(&procedure.graph) as u64)).unwrap_or(u32::MAX)
            }
        });
        Steps { of_call: of_call.collect(), expanded_weight }
    }

    /// Some procedure takes steps.
    pub(crate) fn any(&self) -> bool {
        self.of_call.iter().any(|steps| *steps > 0)
    }
}

struct Costs<'p> {
    program: &'p Program,
    known: Vec<Option<u64>>,
}

impl Costs<'_> {
    /// Nodes and statements that a call executes at most, loops once; saturates.
    fn of_procedure(&mut self, id: ProcedureId) -> u64 {
        if let Some(cost) = self.known[index(id)] {
            return cost;
        }
        // P4 has no recursion; this ends it all the same.
        self.known[index(id)] = Some(0);
        let program = self.program;
        let cost =
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.of_graph(&program.procedures[id].graph));
        self.known[index(id)] = Some(cost);
        cost
    }

    fn of_graph(&mut self, graph: &Graph) -> u64 {
        let mut cost = graph_weight(graph) as u64;
        for callees in callees(self.program, graph) {
            let longest = callees.into_iter().map(|id| self.of_procedure(id)).max();
            cost = cost.saturating_add(longest.unwrap_or(0));
        }
        cost
    }
}

/// For each call of a graph the procedure; for each table the actions of which one is executed, and those of which a group
/// executes one before.
fn callees(program: &Program, graph: &Graph) -> impl Iterator<Item = Vec<ProcedureId>> {
    graph.nodes.iter().flat_map(|(_, node)| match &node.terminator.kind {
        TerminatorKind::Call { procedure, .. } => vec![vec![*procedure]],
        TerminatorKind::Apply { table, .. } => {
            let actions = get(&program.tables, *table).map(|table| table.actions.as_slice());
            let (groups, others): (Vec<_>, Vec<_>) =
                actions.unwrap_or_default().iter().partition(|action| action.is_group_action);
            let procedures = |of: Vec<&TableAction>| of.iter().map(|action| action.procedure).collect();
            vec![procedures(others), procedures(groups)]
        }
        _ => Vec::new(),
    })
}

/// The sum over all calls of the longest that each may be.
fn calls(program: &Program, graph: &Graph, cost: &dyn Fn(ProcedureId) -> u64) -> u64 {
    callees(program, graph).map(|callees| callees.into_iter().map(cost).max().unwrap_or(0)).sum()
}
