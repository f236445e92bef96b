//! The weight of a program: its nodes and statements.

use ir::{Graph, Program};

/// Up to this weight all functions are inlined, and the common case has a path of its own.
pub(crate) const SMALL_WEIGHT_MAX: usize = 250;

/// Programs that are small have at most this weight with every call in its place: what is inlined stays small.
pub(crate) const SMALL_EXPANDED_WEIGHT_MAX: u64 = 4000;

/// Nodes and statements of all graphs.
pub(crate) fn weight(program: &Program) -> usize {
    program.graphs().map(graph_weight).sum()
}

pub(crate) fn graph_weight(graph: &Graph) -> usize {
    graph.nodes.iter().map(|(_, node)| 1 + node.stmts.len()).sum()
}
