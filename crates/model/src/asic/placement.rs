//! Tables and their dependencies, and the stages that they are placed in.

use super::packing::Packed;
use super::resource::{Amounts, N_RESOURCES, Resource};
use std::collections::BTreeSet;

/// Everything that a program has to have in stages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    /// The amount of each resource in a stage.
    pub capacity: Amounts,
    /// Stages of the chip.
    pub n_stages: u32,
}

/// A table, a condition, statements outside of tables, or a memory that several of them use.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: String,
    /// Its memory; without it the node is in one stage.
    pub packed: Option<Packed>,
    /// The amounts in every stage that has a part of it, without the memory of `packed`.
    pub part: Amounts,
    /// Bytes of the crossbars, by numbers that are equal where a byte is.
    pub exact_bytes: BTreeSet<u32>,
    pub ternary_bytes: BTreeSet<u32>,
    /// Stages until its results are there: 1, unless it computes in several steps.
    pub depth: u32,
}

impl Node {
    pub fn new(name: impl Into<String>) -> Node {
        Node {
            name: name.into(),
            packed: None,
            part: [0; N_RESOURCES],
            exact_bytes: BTreeSet::new(),
            ternary_bytes: BTreeSet::new(),
            depth: 1,
        }
    }

    pub fn n_units(&self) -> u64 {
        self.packed.as_ref().map_or(1, |packed| packed.n_units)
    }

    pub fn n_units_min(&self) -> u64 {
        self.packed.as_ref().map_or(1, |packed| packed.n_units_min)
    }

    /// The amounts that so many of its units take in a stage, without bytes of the crossbars.
    pub fn need(&self, n_units: u64) -> Amounts {
        let mut need = self.part;
        if let Some(packed) = &self.packed {
            let blocks = packed.blocks(n_units);
            for (resource, n) in [
                (Resource::Sram, blocks.sram),
                (Resource::Tcam, blocks.tcam),
                (Resource::MapRam, blocks.map_ram),
            ] {
                need[resource as usize] = need[resource as usize].saturating_add(n);
            }
        }
        need
    }
}

/// An order of two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The key, or the condition, is made of what the other wrote.
    Match,
    /// Actions read or write what the other wrote.
    Action,
    /// The other decides whether this one is run.
    Successor,
    /// Actions write what the other reads.
    Reverse,
}

impl EdgeKind {
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Match => "match",
            EdgeKind::Action => "action",
            EdgeKind::Successor => "successor",
            EdgeKind::Reverse => "reverse",
        }
    }

    /// True when the two may share a stage.
    pub fn is_weak(self) -> bool {
        matches!(self, EdgeKind::Successor | EdgeKind::Reverse)
    }
}

/// Units of a node in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    pub node: usize,
    pub stage: u32,
    pub n_units: u64,
}

/// The parts of all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// By node, then stage.
    pub parts: Vec<Part>,
}

impl Placement {
    /// The first and last stage of a node.
    pub fn span(&self, node: usize) -> Option<(u32, u32)> {
        let stages = || self.parts.iter().filter(|part| part.node == node).map(|part| part.stage);
        Some((stages().min()?, stages().max()?))
    }

    /// Stages up to the last that is used; nodes that compute in several steps end later than they begin.
    pub fn n_stages(&self, problem: &Problem) -> u32 {
        let end = |part: &Part| part.stage + problem.nodes.get(part.node).map_or(1, |node| node.depth.max(1));
        self.parts.iter().map(end).max().unwrap_or(0)
    }

    pub fn parts_of(&self, node: usize) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.node == node)
    }
}

impl Problem {
    /// Stages from the last of `edge.from` to the first of `edge.to` at least.
    pub fn gap(&self, edge: &Edge) -> u32 {
        if edge.kind.is_weak() { 0 } else { self.nodes[edge.from].depth.max(1) }
    }

    /// The edges from each node.
    pub fn edges_from(&self) -> Vec<Vec<Edge>> {
        let mut from = vec![Vec::new(); self.nodes.len()];
        self.edges.iter().for_each(|edge| from[edge.from].push(*edge));
        from
    }

    /// Nodes so that every edge leads to a later one; `None` if edges make a circle.
    pub fn order(&self) -> Option<Vec<usize>> {
        let n = self.nodes.len();
        let from = self.edges_from();
        let mut n_before = vec![0usize; n];
        self.edges.iter().for_each(|edge| n_before[edge.to] += 1);
        let mut ready: Vec<usize> = (0..n).rev().filter(|i| n_before[*i] == 0).collect();
        let mut order = Vec::with_capacity(n);
        while let Some(node) = ready.pop() {
            order.push(node);
            for edge in &from[node] {
                n_before[edge.to] -= 1;
                if n_before[edge.to] == 0 {
                    ready.push(edge.to);
                }
            }
        }
        (order.len() == n).then_some(order)
    }

    /// The most units of a node that one empty stage holds; 0 if there is not even room for the smallest part.
    pub fn units_per_stage(&self, node: usize) -> u64 {
        Stage::new().room(self, node, u64::MAX)
    }

    /// Faults of a placement in so many stages. None: it is one that a chip with as many stages could have.
    pub fn faults(&self, placement: &Placement, n_stages: u32) -> Vec<String> {
        let mut faults = Vec::new();
        let mut stages = vec![Stage::new(); n_stages as usize];
        for part in &placement.parts {
            let node = &self.nodes[part.node];
            match stages.get_mut(part.stage as usize) {
                Some(stage) if part.n_units > 0 => stage.put(self, part.node, part.n_units),
                _ => faults.push(format!("{} in stage {}", node.name, part.stage)),
            }
            if part.n_units < node.n_units_min() {
                faults.push(format!("{}: {} units in stage {}", node.name, part.n_units, part.stage));
            }
        }
        for (i, stage) in stages.iter().enumerate() {
            let used = stage.used();
            for resource in Resource::ALL {
                if used[resource as usize] > self.capacity[resource as usize] {
                    faults.push(format!("stage {i}: {} {}", used[resource as usize], resource.name()));
                }
            }
        }
        for (i, node) in self.nodes.iter().enumerate() {
            let n_units: u64 = placement.parts_of(i).map(|part| part.n_units).sum();
            if n_units < node.n_units() {
                faults.push(format!("{}: {n_units} of {} units", node.name, node.n_units()));
            }
            if node.packed.is_none() && placement.parts_of(i).count() > 1 {
                faults.push(format!("{} is in several stages", node.name));
            }
        }
        for edge in &self.edges {
            let ends = (placement.span(edge.from), placement.span(edge.to));
            if let (Some((_, last)), Some((first, _))) = ends
                && first < last + self.gap(edge)
            {
                faults.push(format!("{} after {}", self.nodes[edge.from].name, self.nodes[edge.to].name));
            }
        }
        faults
    }
}

/// A stage being filled.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// Bytes of the crossbars apart.
    used: Amounts,
    exact_bytes: BTreeSet<u32>,
    ternary_bytes: BTreeSet<u32>,
}

impl Stage {
    /// An empty stage.
    pub fn new() -> Stage {
        Stage::default()
    }

    /// All that is used of it.
    pub fn used(&self) -> Amounts {
        let mut used = self.used;
        used[Resource::ExactBytes as usize] += self.exact_bytes.len() as u64;
        used[Resource::TernaryBytes as usize] += self.ternary_bytes.len() as u64;
        used
    }

    pub fn put(&mut self, problem: &Problem, node: usize, n_units: u64) {
        let node = &problem.nodes[node];
        let need = node.need(n_units);
        self.used.iter_mut().zip(need).for_each(|(used, more)| *used = used.saturating_add(more));
        self.exact_bytes.extend(&node.exact_bytes);
        self.ternary_bytes.extend(&node.ternary_bytes);
    }

    /// The first resource of which there is too little for so many units of a node.
    pub fn shortage(&self, problem: &Problem, node: usize, n_units: u64) -> Option<Resource> {
        let node = &problem.nodes[node];
        let mut used = self.used();
        for (used, more) in used.iter_mut().zip(node.need(n_units)) {
            *used = used.saturating_add(more);
        }
        used[Resource::ExactBytes as usize] += node.exact_bytes.difference(&self.exact_bytes).count() as u64;
        used[Resource::TernaryBytes as usize] +=
            node.ternary_bytes.difference(&self.ternary_bytes).count() as u64;
        Resource::ALL.into_iter().find(|r| used[*r as usize] > problem.capacity[*r as usize])
    }

    /// The most units of a node that fit, of so many; 0 if that is less than its smallest part.
    pub fn room(&self, problem: &Problem, node: usize, n_units: u64) -> u64 {
        let fits = |n| self.shortage(problem, node, n).is_none();
        let least = problem.nodes[node].n_units_min().max(1);
        if !fits(least) {
            return 0;
        }
        // A unit takes a block or more, so that a stage has no room for more units than blocks.
        let blocks = problem.capacity[Resource::Sram as usize] + problem.capacity[Resource::Tcam as usize];
        let (mut low, mut high) = (least, n_units.min(blocks.saturating_add(least)).max(least) + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}
