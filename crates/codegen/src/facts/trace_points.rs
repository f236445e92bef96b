//! Numbers of the points that traced code reports.

use crate::facts::storage::{Owner, graphs};
use ir::{Node, NodeId, Program};
use rustc_hash::FxHashMap;

/// The first point of each node. A node has one point for itself, one for each statement, and one for its terminator.
#[derive(Debug, Default)]
pub(crate) struct TracePoints {
    first: FxHashMap<(Owner, NodeId), u32>,
    pub(crate) n_points: u32,
}

fn n_points(node: &Node) -> u32 {
    2 + node.stmts.len() as u32
}

impl TracePoints {
    pub(crate) fn new(program: &Program) -> TracePoints {
        let mut points = TracePoints::default();
        for (owner, graph) in graphs(program) {
            for (id, node) in graph.nodes.iter() {
                points.first.insert((owner, id), points.n_points);
                points.n_points += n_points(node);
            }
        }
        points
    }

    /// The number of a node's first point.
    pub(crate) fn first(&self, owner: Owner, node: NodeId) -> u32 {
        self.first.get(&(owner, node)).copied().unwrap_or_default()
    }
}
