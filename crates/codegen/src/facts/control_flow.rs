//! Orders, loops and reachability in control-flow graphs.

use ir::lookup::index;
use ir::{Graph, Keyset, NodeId, Pattern, TerminatorKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// The successors that control can reach: cases after one that matches everything are unreachable.
pub(crate) fn successors(kind: &TerminatorKind) -> Vec<NodeId> {
    match kind {
        TerminatorKind::Select { cases, otherwise, .. } => {
            let mut found = Vec::new();
            for case in cases {
                found.push(case.target);
                if is_everything(&case.pattern) {
                    return found;
                }
            }
            found.push(*otherwise);
            found
        }
        TerminatorKind::Call { then, exit, .. } | TerminatorKind::Apply { then, exit, .. }
            if then == exit =>
        {
            vec![*then]
        }
        _ => kind.successors(),
    }
}

pub(crate) fn is_everything(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Keys(sets) if sets.iter().all(|set| matches!(set, Keyset::Any)))
}

pub(crate) fn post_order(graph: &Graph, entry: NodeId, edges: &dyn Fn(NodeId) -> Vec<NodeId>) -> Vec<NodeId> {
    let mut seen = vec![false; graph.nodes.len()];
    let mut order = Vec::new();
    let mut stack = vec![(entry, edges(entry), 0usize)];
    seen[index(entry)] = true;
    while let Some((node, next, i)) = stack.last_mut() {
        if let Some(to) = next.get(*i).copied() {
            *i += 1;
            if !std::mem::replace(&mut seen[index(to)], true) {
                stack.push((to, edges(to), 0));
            }
        } else {
            order.push(*node);
            stack.pop();
        }
    }
    order
}

/// The place of a node in an order in which nodes stand before those that follow them; none when it is not reached.
pub(crate) fn position(graph: &Graph, node: NodeId) -> Option<usize> {
    let order = post_order(graph, graph.entry, &|node| successors(&graph.node(node).terminator.kind));
    order.into_iter().rev().position(|id| id == node)
}

/// Control may come back to a node of the graph.
pub(crate) fn has_loop(graph: &Graph) -> bool {
    let edges = |node: NodeId| successors(&graph.node(node).terminator.kind);
    let order: FxHashMap<NodeId, usize> =
        post_order(graph, graph.entry, &edges).into_iter().rev().enumerate().map(|(i, n)| (n, i)).collect();
    order.iter().any(|(node, at)| edges(*node).iter().any(|to| order.get(to).is_some_and(|t| t <= at)))
}

/// Control may come back to this node.
pub(crate) fn is_in_loop(graph: &Graph, node: NodeId) -> bool {
    reached(graph, graph.node(node).terminator.kind.successors(), None).contains(&node)
}

/// The nodes that may run from some on, without going through `not`.
pub(crate) fn reached(graph: &Graph, from: Vec<NodeId>, not: Option<NodeId>) -> FxHashSet<NodeId> {
    let mut seen = FxHashSet::default();
    let mut stack = from;
    while let Some(node) = stack.pop() {
        if Some(node) != not && seen.insert(node) {
            stack.extend(graph.node(node).terminator.kind.successors());
        }
    }
    seen
}
