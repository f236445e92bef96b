//! Placement stage by stage: what has the longest way behind it goes first.

use super::bound::{Slack, slack};
use super::placement::{Part, Placement, Problem, Stage};
use super::resource::Resource;

/// Order of nodes that could go into a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The longest chain behind, then the scarcest resource.
    Chain,
    /// The longest chain behind, then the smallest node.
    SmallFirst,
    /// The largest share of a stage.
    LargeFirst,
}

const RULES: [Rule; 3] = [Rule::Chain, Rule::SmallFirst, Rule::LargeFirst];

/// The shortest placement of several rules, in as many stages as it takes. `None` if a node fits no stage, if dependencies make
/// a circle, or if more than `n_stages_max` stages would be needed.
pub fn greedy(problem: &Problem, n_stages_max: u32) -> Option<Placement> {
    let slack = slack(problem)?;
    let placements = RULES.into_iter().filter_map(|rule| complete(problem, &slack, rule, n_stages_max));
    placements.min_by_key(|placement| placement.n_stages(problem))
}

/// A node that is not placed entirely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    pub node: usize,
    pub n_units: u64,
    /// The resource that ran out first.
    pub resource: Option<Resource>,
}

/// Places as much as so many stages hold. The nodes that are left, those that wait for none of them first.
pub fn partial(problem: &Problem, slack: &Slack, n_stages: u32) -> (Placement, Vec<Shortage>) {
    let runs = RULES.into_iter().map(|rule| {
        let mut run = Run::new(problem, slack, rule);
        (0..n_stages).for_each(|stage| run.fill(stage));
        run
    });
    let n_left = |run: &Run| {
        let left = run.rest.iter().filter(|rest| **rest > 0);
        (left.clone().count(), left.fold(0u64, |sum, rest| sum.saturating_add(*rest)))
    };
    let Some(run) = runs.min_by_key(n_left) else { return (Placement::default(), Vec::new()) };
    let left = (0..problem.nodes.len()).filter(|i| run.rest[*i] > 0);
    let mut left: Vec<Shortage> = left
        .map(|node| Shortage {
            node,
            n_units: problem.nodes[node].n_units().saturating_sub(run.rest[node]),
            resource: run.shortage[node],
        })
        .collect();
    left.sort_by_key(|shortage| (shortage.resource.is_none(), slack.head[shortage.node]));
    (run.finish(), left)
}

fn complete(problem: &Problem, slack: &Slack, rule: Rule, n_stages_max: u32) -> Option<Placement> {
    let mut run = Run::new(problem, slack, rule);
    let mut stage = 0;
    while run.rest.iter().any(|rest| *rest > 0) {
        if stage == n_stages_max {
            return None;
        }
        run.fill(stage);
        stage += 1;
    }
    Some(run.finish())
}

struct Run<'p> {
    problem: &'p Problem,
    /// Nodes in the order of the rule.
    order: Vec<usize>,
    /// Units that are not placed yet.
    rest: Vec<u64>,
    last: Vec<Option<u32>>,
    /// The resource that kept a node out of the last stage that it could be in.
    shortage: Vec<Option<Resource>>,
    before: Vec<Vec<(usize, u32)>>,
    parts: Vec<Part>,
}

impl Run<'_> {
    fn new<'p>(problem: &'p Problem, slack: &Slack, rule: Rule) -> Run<'p> {
        let n = problem.nodes.len();
        let mut before = vec![Vec::new(); n];
        for edge in &problem.edges {
            before[edge.to].push((edge.from, problem.gap(edge)));
        }
        // Units of a thousandth of what a stage has.
        let scarcity = |i: usize| {
            let need = problem.nodes[i].need(problem.nodes[i].n_units());
            let share =
                |r: Resource| need[r as usize].saturating_mul(1000) / problem.capacity[r as usize].max(1);
            Resource::ALL.into_iter().map(share).max().unwrap_or(0)
        };
        let behind = |i: usize| u64::from(slack.tail[i]) + u64::from(slack.span[i]);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|i| match rule {
            Rule::Chain => (u64::MAX - behind(*i), u64::MAX - scarcity(*i), *i),
            Rule::SmallFirst => (u64::MAX - behind(*i), scarcity(*i), *i),
            Rule::LargeFirst => (u64::MAX - scarcity(*i), u64::MAX - behind(*i), *i),
        });
        let rest = problem.nodes.iter().map(|node| node.n_units()).collect();
        Run { problem, order, rest, last: vec![None; n], shortage: vec![None; n], before, parts: Vec::new() }
    }

    fn is_ready(&self, node: usize, stage: u32) -> bool {
        let done = |(from, gap): &(usize, u32)| {
            self.rest[*from] == 0 && self.last[*from].is_none_or(|last| last + gap <= stage)
        };
        self.before[node].iter().all(done)
    }

    fn fill(&mut self, number: u32) {
        let mut stage = Stage::new();
        let mut is_here = vec![false; self.rest.len()];
        // A placed node may let a successor into the same stage.
        loop {
            let mut is_changed = false;
            for node in self.order.clone() {
                if self.rest[node] == 0 || is_here[node] || !self.is_ready(node, number) {
                    continue;
                }
                let wanted = self.rest[node].max(self.problem.nodes[node].n_units_min());
                let mut n_units = stage.room(self.problem, node, wanted);
                if self.problem.nodes[node].packed.is_none() && n_units < wanted {
                    n_units = 0;
                }
                if n_units < wanted {
                    self.shortage[node] =
                        stage.shortage(self.problem, node, n_units.saturating_add(1).min(wanted));
                }
                if n_units == 0 {
                    continue;
                }
                stage.put(self.problem, node, n_units);
                self.rest[node] = self.rest[node].saturating_sub(n_units);
                self.last[node] = Some(number);
                self.parts.push(Part { node, stage: number, n_units });
                is_here[node] = true;
                is_changed = true;
            }
            if !is_changed {
                break;
            }
        }
    }

    fn finish(mut self) -> Placement {
        self.parts.sort_unstable();
        Placement { parts: self.parts }
    }
}
