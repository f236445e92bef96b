//! Stages that no placement can do without.

use super::placement::Problem;
use super::resource::{Amounts, N_RESOURCES, Resource};

/// How far a node is from the first and the last stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slack {
    /// Stages before the first that the node can be in.
    pub head: Vec<u32>,
    /// Stages after its last one, up to the last of the program.
    pub tail: Vec<u32>,
    /// Stages that it is in at least.
    pub span: Vec<u32>,
}

/// Longer chains are of no use: no chip has as many stages.
const SPAN_MAX: u64 = 1 << 20;

/// Heads and tails by dependencies alone. `None` if a node fits no stage, or dependencies make a circle.
pub fn slack(problem: &Problem) -> Option<Slack> {
    let order = problem.order()?;
    let from = problem.edges_from();
    let n = problem.nodes.len();
    let mut span = Vec::with_capacity(n);
    for (i, node) in problem.nodes.iter().enumerate() {
        let per_stage = problem.units_per_stage(i);
        if per_stage == 0 || (node.packed.is_none() && per_stage < node.n_units()) {
            return None;
        }
        span.push(node.n_units().div_ceil(per_stage).min(SPAN_MAX) as u32);
    }
    let mut slack = Slack { head: vec![0; n], tail: vec![0; n], span };
    for node in &order {
        for edge in &from[*node] {
            let earliest = (slack.head[*node] + slack.span[*node] - 1).saturating_add(problem.gap(edge));
            slack.head[edge.to] = slack.head[edge.to].max(earliest);
        }
    }
    for node in order.iter().rev() {
        slack.tail[*node] = problem.nodes[*node].depth.max(1) - 1;
        for edge in &from[*node] {
            let behind = (slack.tail[edge.to] + slack.span[edge.to] - 1).saturating_add(problem.gap(edge));
            slack.tail[*node] = slack.tail[*node].max(behind);
        }
    }
    Some(slack)
}

/// The largest of: the longest chain of dependencies; and, for every resource and every set of nodes that a number of stages
/// must come before and another number behind, these two and the stages that hold the set. `None` as for [`slack`].
pub fn lower_bound(problem: &Problem) -> Option<u32> {
    let slack = slack(problem)?;
    let n = problem.nodes.len();
    let chain = (0..n).map(|i| slack.head[i].saturating_add(slack.span[i]).saturating_add(slack.tail[i]));
    let mut bound = chain.max().unwrap_or(0);
    let needs: Vec<Amounts> = (0..n).map(|i| least(problem, i, slack.span[i])).collect();
    let mut heads: Vec<u32> = slack.head.clone();
    heads.sort_unstable();
    heads.dedup();
    // The nodes by what is behind them, the most first: sets grow by one node at a time.
    let mut by_tail: Vec<usize> = (0..n).collect();
    by_tail.sort_by_key(|i| std::cmp::Reverse(slack.tail[*i]));
    for head in heads {
        let mut total: Amounts = [0; N_RESOURCES];
        for i in by_tail.iter().filter(|i| slack.head[**i] >= head) {
            total.iter_mut().zip(needs[*i]).for_each(|(sum, more)| *sum = sum.saturating_add(more));
            for resource in Resource::ALL {
                let (total, capacity) = (total[resource as usize], problem.capacity[resource as usize]);
                if total > 0 {
                    let stages = total.div_ceil(capacity.max(1)).min(SPAN_MAX) as u32;
                    bound = bound.max(stages.saturating_add(head).saturating_add(slack.tail[*i]));
                }
            }
        }
    }
    Some(bound)
}

/// The least that a node takes in all stages together. Bytes of crossbars are left out, because nodes share them.
pub fn least(problem: &Problem, node: usize, span: u32) -> Amounts {
    let node = &problem.nodes[node];
    let whole = node.need(node.n_units());
    let mut need = node.part.map(|amount| amount.saturating_mul(u64::from(span)));
    for resource in [Resource::Sram, Resource::Tcam, Resource::MapRam] {
        // Cut into parts, no part of it takes less.
        let i = resource as usize;
        need[i] = need[i].max(whole[i]);
    }
    need[Resource::ExactBytes as usize] = 0;
    need[Resource::TernaryBytes as usize] = 0;
    need
}

#[cfg(test)]
mod tests {
    use super::super::placement::{Edge, EdgeKind, Node};
    use super::*;

    #[test]
    fn chains_and_memory_add_up() {
        let mut problem = Problem { capacity: [10; N_RESOURCES], n_stages: 4, ..Problem::default() };
        for (name, sram) in [("a", 6), ("b", 6), ("c", 6), ("last", 1)] {
            let mut node = Node::new(name);
            node.part[Resource::Sram as usize] = sram;
            problem.nodes.push(node);
        }
        assert_eq!(lower_bound(&problem), Some(2));
        // All three before the last one, which needs a stage of its own.
        problem.edges.extend((0..3).map(|from| Edge { from, to: 3, kind: EdgeKind::Match }));
        assert_eq!(lower_bound(&problem), Some(3));
        problem.nodes[3].depth = 2;
        assert_eq!(lower_bound(&problem), Some(4));
        problem.edges.push(Edge { from: 3, to: 0, kind: EdgeKind::Reverse });
        assert_eq!(lower_bound(&problem), None);
    }
}
