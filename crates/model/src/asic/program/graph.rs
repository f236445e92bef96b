//! Circles of dependencies: what is one operation of a register's unit becomes one node, everything else is a fault.

use super::{Circle, CircleKind, Design, NodeKind};
use crate::asic::placement::{Edge, Node};

/// Sets of nodes that reach each other, with more than one node each.
fn circles(n: usize, edges: &[Edge]) -> Vec<Vec<usize>> {
    // Kosaraju: the order of leaving forwards, then sets backwards.
    let mut forward = vec![Vec::new(); n];
    let mut backward = vec![Vec::new(); n];
    for edge in edges {
        forward[edge.from].push(edge.to);
        backward[edge.to].push(edge.from);
    }
    let mut left = Vec::with_capacity(n);
    let mut is_seen = vec![false; n];
    for root in 0..n {
        if std::mem::replace(&mut is_seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.last_mut() {
            match forward[*node].get(*next).copied() {
                Some(to) => {
                    *next += 1;
                    if !std::mem::replace(&mut is_seen[to], true) {
                        stack.push((to, 0));
                    }
                }
                None => {
                    left.push(*node);
                    stack.pop();
                }
            }
        }
    }
    let mut is_taken = vec![false; n];
    let mut sets = Vec::new();
    for root in left.into_iter().rev() {
        if std::mem::replace(&mut is_taken[root], true) {
            continue;
        }
        let mut set = vec![root];
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            for to in &backward[node] {
                if !std::mem::replace(&mut is_taken[*to], true) {
                    set.push(*to);
                    stack.push(*to);
                }
            }
        }
        if set.len() > 1 {
            set.sort_unstable();
            sets.push(set);
        }
    }
    sets
}

/// Merges the nodes of each circle that has a memory and no keyed table into one. Other circles are listed in the design.
pub fn merge_circles(design: &mut Design) {
    let n = design.problem.nodes.len();
    design.problem.edges.retain(|edge| edge.from != edge.to);
    let mut target: Vec<usize> = (0..n).collect();
    for set in circles(n, &design.problem.edges) {
        let is_kind = |kind: NodeKind| set.iter().any(|i| design.nodes[*i].kind == kind);
        if !is_kind(NodeKind::Memory) || is_kind(NodeKind::Table) {
            let names: Vec<String> = set.iter().map(|i| design.problem.nodes[*i].name.clone()).collect();
            let is_known =
                design.circles.iter().any(|known| known.names.iter().any(|name| names.contains(name)));
            if !is_known {
                design.circles.push(Circle { names, kind: CircleKind::Memory });
            }
            continue;
        }
        let memory = set.iter().find(|i| design.nodes[**i].kind == NodeKind::Memory);
        let Some(keep) = memory.copied() else { continue };
        for i in set.iter().filter(|i| **i != keep) {
            let other = design.problem.nodes[*i].clone();
            let node = &mut design.problem.nodes[keep];
            node.part.iter_mut().zip(other.part).for_each(|(a, b)| *a = a.saturating_add(b));
            node.exact_bytes.extend(other.exact_bytes);
            node.ternary_bytes.extend(other.ternary_bytes);
            target[*i] = keep;
        }
        let name = design.problem.nodes[keep].name.clone();
        design.notes.push(format!(
            "`{name}`: its reads and writes are taken as one operation of a register unit; `siding sim` says whether one can do it"
        ));
    }
    // Close the gaps.
    let mut number = vec![0; n];
    let mut nodes: Vec<Node> = Vec::new();
    let mut described = Vec::new();
    for i in 0..n {
        if target[i] == i {
            number[i] = nodes.len();
            nodes.push(design.problem.nodes[i].clone());
            described.push(design.nodes[i].clone());
        }
    }
    for edge in &mut design.problem.edges {
        edge.from = number[target[edge.from]];
        edge.to = number[target[edge.to]];
    }
    design.problem.edges.retain(|edge| edge.from != edge.to);
    design.problem.edges.sort_unstable();
    design.problem.edges.dedup();
    design.problem.nodes = nodes;
    design.nodes = described;
}
