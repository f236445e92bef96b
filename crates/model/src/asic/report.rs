//! Facts about a placement, for reports.

use super::bound::{Slack, slack};
use super::chip::Chip;
use super::packing::{Blocks, Lookup, Packed};
use super::placement::{EdgeKind, Placement, Problem, Stage};
use super::program::{Design, NodeKind};
use super::resource::{Amounts, Resource};

/// The amount of each resource that each stage uses.
pub fn usage(problem: &Problem, placement: &Placement, n_stages: u32) -> Vec<Amounts> {
    let mut stages = vec![Stage::new(); n_stages as usize];
    for part in &placement.parts {
        if let Some(stage) = stages.get_mut(part.stage as usize) {
            stage.put(problem, part.node, part.n_units);
        }
    }
    stages.iter().map(Stage::used).collect()
}

/// Blocks of the parts of a node together.
pub fn blocks(problem: &Problem, placement: &Placement, node: usize) -> Blocks {
    let mut sum = Blocks::default();
    for part in placement.parts_of(node) {
        let need = problem.nodes[node].need(part.n_units);
        sum.sram += need[Resource::Sram as usize];
        sum.tcam += need[Resource::Tcam as usize];
        sum.map_ram += need[Resource::MapRam as usize];
    }
    sum
}

/// The share of a table's match memory that its entries leave empty, from 0 to 1.
pub fn waste(chip: &Chip, packed: &Packed, key_bits: u64) -> f64 {
    let own = packed.blocks_of_unit();
    let (bits, used) = match packed.lookup {
        Lookup::None | Lookup::Gateway => return 0.0,
        Lookup::Index | Lookup::Hash => {
            let block = (chip.sram.words * chip.sram.word_bits) as f64;
            (own.sram as f64 * block, packed.n_entries as f64 * packed.entry_bits as f64)
        }
        Lookup::Ternary => {
            let block = (chip.tcam.rows * chip.tcam.pair_bytes * 4) as f64;
            (own.tcam as f64 * block, packed.n_entries as f64 * key_bits as f64)
        }
    };
    (1.0 - used / (bits * packed.n_units as f64)).clamp(0.0, 1.0)
}

/// A node of the longest chain of dependencies, and its dependency on the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub node: usize,
    pub kind: Option<EdgeKind>,
    /// Stages that the node takes at least.
    pub span: u32,
}

/// The chain of dependencies that takes most stages, of those the one with the fewest nodes before its end.
pub fn critical_path(problem: &Problem) -> Vec<Link> {
    let Some(Slack { head, tail, span }) = slack(problem) else { return Vec::new() };
    let is_last = |i: &usize| tail[*i] == problem.nodes[*i].depth.max(1) - 1;
    let length = |i: usize| head[i] + span[i] + tail[i];
    let last = (0..problem.nodes.len()).filter(is_last).max_by_key(|i| (length(*i), std::cmp::Reverse(*i)));
    let Some(mut node) = last else { return Vec::new() };
    let mut path = Vec::new();
    loop {
        let before = problem.edges.iter().filter(|edge| edge.to == node && head[node] > 0);
        let before =
            before.filter(|edge| head[edge.from] + span[edge.from] - 1 + problem.gap(edge) == head[node]);
        // A link that takes no stage adds a name and no length.
        let before = before.max_by_key(|edge| (problem.gap(edge), std::cmp::Reverse((edge.kind, edge.from))));
        path.push(Link { node, kind: before.map(|edge| edge.kind), span: span[node] });
        match before {
            Some(edge) => node = edge.from,
            None => break,
        }
    }
    path.reverse();
    path
}

/// Cycles that a packet takes through all stages on its way through one block.
pub fn latency(chip: &Chip, design: &Design, placement: &Placement, block: usize) -> u64 {
    let problem = &design.problem;
    let is_of_block = |node: usize| design.nodes[node].block == block;
    let mut cycles = chip.latency.base;
    for stage in 0..chip.stages {
        let is_here = |node: usize| placement.parts_of(node).any(|part| part.stage == stage);
        let depends = |is_kind: &dyn Fn(EdgeKind) -> bool| {
            let edges = problem.edges.iter().filter(|edge| is_kind(edge.kind) && is_of_block(edge.to));
            edges.into_iter().any(|edge| {
                let last =
                    placement.span(edge.from).map(|(_, last)| last + problem.nodes[edge.from].depth.max(1));
                is_here(edge.to) && last == Some(stage)
            })
        };
        let nodes = || (0..problem.nodes.len()).filter(|i| is_of_block(*i) && is_here(*i));
        let uses = |resource: Resource| nodes().any(|i| problem.nodes[i].part[resource as usize] > 0);
        // The first stage needs what the parser gives.
        let is_match = depends(&|kind| kind == EdgeKind::Match) || (stage == 0 && nodes().next().is_some());
        cycles += if is_match {
            let is_wide = uses(Resource::TernaryTables);
            let is_selector = nodes().any(|i| is_selector(design, i));
            let memory = if is_selector {
                chip.latency.selector
            } else if uses(Resource::RegisterUnits) {
                chip.latency.state
            } else {
                0
            };
            chip.latency.matching + if is_wide { chip.latency.tcam } else { 0 } + memory
        } else if depends(&|kind| kind == EdgeKind::Action) {
            chip.latency.action
        } else {
            chip.latency.independent
        };
    }
    cycles
}

fn is_selector(design: &Design, node: usize) -> bool {
    let part = &design.problem.nodes[node].part;
    design.nodes[node].kind == NodeKind::Memory
        && part[Resource::RegisterUnits as usize] > 0
        && part[Resource::HashDistribution as usize] > 0
}

#[cfg(test)]
mod tests {
    use super::super::placement::{Edge, Node, Part};
    use super::super::program::Described;
    use super::*;

    fn chain(kind: EdgeKind) -> (Chip, Design, Placement) {
        let chip = Chip::built_in("generic-12").unwrap();
        let mut problem = Problem { capacity: chip.capacity(), n_stages: 12, ..Problem::default() };
        problem.nodes = (0..12).map(|i| Node::new(format!("t{i}"))).collect();
        problem.edges = (1..12).map(|to| Edge { from: to - 1, to, kind }).collect();
        let parts = (0..12).map(|i| Part { node: i, stage: i as u32, n_units: 1 }).collect();
        let described = Described { kind: NodeKind::Table, block: 0, table: None };
        let design = Design {
            problem,
            nodes: vec![described; 12],
            blocks: vec!["ingress".to_string()],
            impossible: Vec::new(),
            refused: Vec::new(),
            circles: Vec::new(),
            notes: Vec::new(),
        };
        (chip, design, Placement { parts })
    }

    #[test]
    fn twelve_stages_that_match_one_after_the_other() {
        let (chip, mut design, placement) = chain(EdgeKind::Match);
        assert_eq!(latency(&chip, &design, &placement, 0), 244);
        design.problem.nodes[3].part[Resource::TernaryTables as usize] = 1;
        design.problem.nodes[4].part[Resource::RegisterUnits as usize] = 1;
        assert_eq!(latency(&chip, &design, &placement, 0), 244 + 2 + 4);
        assert_eq!(critical_path(&design.problem).len(), 12);
        let (chip, design, placement) = chain(EdgeKind::Action);
        assert_eq!(latency(&chip, &design, &placement, 0), 4 + 20 + 11 * 2);
        // Nothing of another block is in these stages.
        assert_eq!(latency(&chip, &design, &placement, 1), 4 + 12);
    }

    #[test]
    fn empty_places_are_counted() {
        let (chip, design, placement) = chain(EdgeKind::Match);
        let stages = usage(&design.problem, &placement, 12);
        assert_eq!(stages.len(), 12);
        assert!(stages.iter().all(|stage| stage[Resource::Sram as usize] == 0));
        let table = super::super::demand::TableDemand::new(
            "t",
            vec![super::super::demand::KeyField::exact(32)],
            1_024,
        );
        let packed = super::super::packing::pack(&chip, &table, Default::default()).unwrap();
        // One entry of 26 bits in a word of 128, and a quarter of the four blocks.
        let expected = 1.0 - 26.0 / 128.0 / 4.0;
        assert!((waste(&chip, &packed, 32) - expected).abs() < 1e-9);
    }
}
