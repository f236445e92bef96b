//! How much code a program is.

use ir::{Graph, Program};

/// Statements and nodes of programs whose functions are all inlined, and whose usual packets have a way of their own.
pub(crate) const SMALL_WEIGHT_MAX: usize = 250;

/// How much code a program is, about.
pub(crate) fn weight(program: &Program) -> usize {
    program.graphs().map(graph_weight).sum()
}

pub(crate) fn graph_weight(graph: &Graph) -> usize {
    graph.nodes.iter().map(|(_, node)| 1 + node.stmts.len()).sum()
}
