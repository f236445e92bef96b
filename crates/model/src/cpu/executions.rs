//! Executions of the nodes of all graphs, per packet, from the shares of decisions.

use super::decisions::{Decision, Decisions};
use ir::lookup::index;
use ir::{Graph, NodeId, Program, TerminatorKind};

/// Executions per packet, in the order of the arenas: of each block's nodes, and of each procedure's.
#[derive(Clone, Debug, PartialEq)]
pub struct Executions {
    pub blocks: Vec<Vec<f64>>,
    pub procedures: Vec<Vec<f64>>,
}

/// Passes over a graph with loops; what still changes then has run a thousand times.
const PASSES_MAX: usize = 1000;
/// Executions that no longer matter.
const EPSILON: f64 = 1e-9;

impl Executions {
    pub fn new(program: &Program, decisions: &Decisions) -> Executions {
        let blocks =
            program.blocks.iter().map(|(id, block)| visits(&block.graph, decisions.entered(id), decisions));
        let mut found = Executions {
            blocks: blocks.collect(),
            procedures: program.procedures.iter().map(|(_, p)| vec![0.0; p.graph.nodes.len()]).collect(),
        };
        // Calls have no cycles: after as many passes as calls are nested nothing changes.
        let mut calls = vec![0.0; program.procedures.len()];
        for _ in 0..=program.procedures.len() {
            let next = found.calls(program, decisions);
            if next.iter().zip(&calls).all(|(one, other)| (one - other).abs() < EPSILON) {
                break;
            }
            for ((id, procedure), entered) in program.procedures.iter().zip(&next) {
                found.procedures[index(id)] = visits(&procedure.graph, *entered, decisions);
            }
            calls = next;
        }
        found
    }

    /// Calls of each procedure per packet, of actions by tables included.
    fn calls(&self, program: &Program, decisions: &Decisions) -> Vec<f64> {
        let mut calls = vec![0.0; program.procedures.len()];
        for (graph, visits) in self.graphs(program) {
            for ((_, node), n) in graph.nodes.iter().zip(visits) {
                match &node.terminator.kind {
                    TerminatorKind::Call { procedure, .. } => calls[index(*procedure)] += n,
                    TerminatorKind::Apply { table, .. } => {
                        let actions = &program.tables[*table].actions;
                        for (i, action) in actions.iter().enumerate() {
                            let share = decisions.action_share(*table, i, actions.len());
                            calls[index(action.procedure)] += n * share;
                        }
                    }
                    _ => {}
                }
            }
        }
        calls
    }

    /// All graphs with the executions of their nodes.
    pub fn graphs<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = (&'a Graph, &'a Vec<f64>)> {
        let blocks = program.blocks.iter().map(|(_, block)| &block.graph).zip(&self.blocks);
        blocks.chain(program.procedures.iter().map(|(_, p)| &p.graph).zip(&self.procedures))
    }
}

/// Executions of each node when the graph is entered `entered` times.
fn visits(graph: &Graph, entered: f64, decisions: &Decisions) -> Vec<f64> {
    let ways: Vec<Vec<(usize, f64)>> = graph.nodes.iter().map(|(id, _)| ways(graph, id, decisions)).collect();
    let mut total = vec![0.0; graph.nodes.len()];
    let mut arriving = vec![0.0; graph.nodes.len()];
    if let Some(entry) = arriving.get_mut(index(graph.entry)) {
        *entry = entered;
    }
    // Arrivals move one node further with each pass; a graph without loops is done after its longest path.
    for _ in 0..PASSES_MAX {
        let mut next = vec![0.0; arriving.len()];
        for (i, n) in arriving.iter().enumerate() {
            if *n < EPSILON {
                continue;
            }
            total[i] += n;
            for (to, share) in &ways[i] {
                next[*to] += n * share;
            }
        }
        if next.iter().all(|n| *n < EPSILON) {
            break;
        }
        arriving = next;
    }
    total
}

/// Successors of a node with their shares.
fn ways(graph: &Graph, id: NodeId, decisions: &Decisions) -> Vec<(usize, f64)> {
    let terminator = &graph.node(id).terminator;
    let share = |decision, case, n_ways| decisions.share(terminator.span, decision, case, n_ways);
    match &terminator.kind {
        TerminatorKind::Goto(next) => vec![(index(*next), 1.0)],
        TerminatorKind::Branch { then, otherwise, .. } => vec![
            (index(*then), share(Decision::Branch, Some(0), 2)),
            (index(*otherwise), share(Decision::Branch, None, 2)),
        ],
        TerminatorKind::Switch { cases, otherwise, .. } => {
            let n = cases.len() + 1;
            let of = |(i, target): (usize, NodeId)| (index(target), share(Decision::Switch, Some(i), n));
            let rest = (index(*otherwise), share(Decision::Switch, None, n));
            cases.iter().map(|case| case.target).enumerate().map(of).chain([rest]).collect()
        }
        TerminatorKind::Select { cases, otherwise, .. } => {
            let n = cases.len() + 1;
            let of = |(i, target): (usize, NodeId)| (index(target), share(Decision::Select, Some(i), n));
            let rest = (index(*otherwise), share(Decision::Select, None, n));
            cases.iter().map(|case| case.target).enumerate().map(of).chain([rest]).collect()
        }
        TerminatorKind::Extract { then, fail, .. }
        | TerminatorKind::Advance { then, fail, .. }
        | TerminatorKind::Lookahead { then, fail, .. } => {
            // Nothing observed: packets are long enough.
            let fails = if decisions.n_packets() == 0 { 0.0 } else { share(Decision::Read, None, 2) };
            vec![(index(*then), 1.0 - fails), (index(*fail), fails)]
        }
        // Calls that end by `exit` are rare, and count as those that return.
        TerminatorKind::Apply { then, .. } | TerminatorKind::Call { then, .. } => vec![(index(*then), 1.0)],
        TerminatorKind::Return | TerminatorKind::Exit | TerminatorKind::Accept | TerminatorKind::Reject => {
            Vec::new()
        }
    }
}
