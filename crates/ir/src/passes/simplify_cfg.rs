//! Fewer nodes: straight lines are merged, empty nodes skipped, unreachable ones dropped. Nodes in which a parser
//! state begins stay apart: people look for them.

use crate::lookup::{get, id_at, index};
use crate::{Graph, Node, NodeId, Program, TerminatorKind};
use la_arena::Arena;

pub fn simplify_cfg(program: &mut Program) {
    program.graphs_mut().for_each(simplify);
}

fn simplify(graph: &mut Graph) {
    skip_empty(graph);
    merge_lines(graph);
    drop_unreachable(graph);
}

/// The node that control finally reaches from an empty node.
fn final_target(graph: &Graph, start: NodeId) -> NodeId {
    let mut at = start;
    // A loop of empty nodes has no end; any of them stands for it.
    for _ in 0..graph.nodes.len() {
        match get(&graph.nodes, at) {
            Some(Node { state: None, stmts, terminator }) if stmts.is_empty() => match terminator.kind {
                TerminatorKind::Goto(next) => at = next,
                _ => return at,
            },
            _ => return at,
        }
    }
    at
}

fn skip_empty(graph: &mut Graph) {
    let targets: Vec<NodeId> = graph.nodes.iter().map(|(id, _)| final_target(graph, id)).collect();
    let resolve = |id: NodeId| targets.get(index(id)).copied().unwrap_or(id);
    graph.entry = resolve(graph.entry);
    for (_, node) in graph.nodes.iter_mut() {
        node.terminator.kind.map_successors(&mut |id| resolve(id));
        // A terminator decides nothing where all successors are one node.
        let decides = match &node.terminator.kind {
            TerminatorKind::Branch { .. } | TerminatorKind::Switch { .. } | TerminatorKind::Select { .. } => {
                true
            }
            TerminatorKind::Goto(_)
            | TerminatorKind::Extract { .. }
            | TerminatorKind::Advance { .. }
            | TerminatorKind::Lookahead { .. }
            | TerminatorKind::Apply { .. }
            | TerminatorKind::Call { .. }
            | TerminatorKind::Return
            | TerminatorKind::Exit
            | TerminatorKind::Accept
            | TerminatorKind::Reject => false,
        };
        let successors = node.terminator.kind.successors();
        if let (true, Some(first)) = (decides, successors.first())
            && successors.iter().all(|s| s == first)
        {
            node.terminator.kind = TerminatorKind::Goto(*first);
        }
    }
}

fn reachable(graph: &Graph) -> Vec<bool> {
    let mut seen = vec![false; graph.nodes.len()];
    let mut stack = vec![graph.entry];
    while let Some(id) = stack.pop() {
        if let (Some(node), Some(seen @ false)) = (get(&graph.nodes, id), seen.get_mut(index(id))) {
            *seen = true;
            stack.extend(node.terminator.kind.successors());
        }
    }
    seen
}

fn merge_lines(graph: &mut Graph) {
    let seen = reachable(graph);
    let mut n_predecessors = vec![0u32; graph.nodes.len()];
    for (id, node) in graph.nodes.iter() {
        if seen[index(id)] {
            for successor in node.terminator.kind.successors() {
                if let Some(n) = n_predecessors.get_mut(index(successor)) {
                    *n += 1;
                }
            }
        }
    }
    for (position, _) in seen.iter().enumerate().filter(|(_, seen)| **seen) {
        let id: NodeId = id_at(position);
        while let TerminatorKind::Goto(next) = graph.nodes[id].terminator.kind {
            let joins = get(&graph.nodes, next).is_some_and(|node| node.state.is_none())
                && next != id
                && next != graph.entry
                && n_predecessors[index(next)] == 1;
            if !joins {
                break;
            }
            // `next` is unreachable now and must not be merged again.
            n_predecessors[index(next)] = 0;
            let stmts = std::mem::take(&mut graph.nodes[next].stmts);
            let terminator = graph.nodes[next].terminator.clone();
            graph.nodes[next].terminator.kind = TerminatorKind::Goto(next);
            graph.nodes[id].stmts.extend(stmts);
            graph.nodes[id].terminator = terminator;
        }
    }
}

fn drop_unreachable(graph: &mut Graph) {
    let seen = reachable(graph);
    if seen.iter().all(|seen| *seen) {
        return;
    }
    let mut n = 0;
    let renumbered: Vec<NodeId> = seen
        .iter()
        .map(|seen| {
            let id = id_at(n);
            n += usize::from(*seen);
            id
        })
        .collect();
    let resolve = |id: NodeId| renumbered.get(index(id)).copied().unwrap_or(id);
    let old = std::mem::take(&mut graph.nodes);
    let mut nodes = Arena::with_capacity(n);
    for (i, (_, mut node)) in old.into_iter().enumerate() {
        if seen[i] {
            node.terminator.kind.map_successors(&mut |id| resolve(id));
            nodes.alloc(node);
        }
    }
    graph.entry = resolve(graph.entry);
    graph.nodes = nodes;
}
