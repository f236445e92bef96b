//! The shortest placement: for each number of stages that greedy placement might miss, an integer program says whether there is
//! one.
//!
//! Variables, for each node and each stage that dependencies leave to it: whether the node has a part there, the part's units,
//! and the blocks of its companions. For nodes that may be cut there are two more, whether the node has begun and whether it has ended.
//! Each edge then orders an end and a beginning.

use super::bound::slack;
use super::placement::{Edge, Part, Placement, Problem};
use super::resource::Resource;
use good_lp::{
    Expression, ProblemVariables, ResolutionError, Solution as _, SolverModel, Variable, WithTimeLimit,
    microlp, variable,
};
use std::collections::{BTreeMap, BTreeSet};

/// The answer for a number of stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Fits(Placement),
    DoesNotFit,
    /// The time is over, or the program is too large to begin.
    Unknown,
}

/// Larger programs are left to greedy placement.
const N_VARIABLES_MAX: usize = 6_000;
const N_CONSTRAINTS_MAX: usize = 30_000;

/// Searches for a placement in `n_stages` stages for so many seconds.
pub fn place(problem: &Problem, n_stages: u32, seconds: f64) -> Answer {
    let Some(slack) = slack(problem) else { return Answer::DoesNotFit };
    let mut windows = Vec::new();
    for i in 0..problem.nodes.len() {
        let first = slack.head[i];
        let Some(last) = n_stages.checked_sub(slack.tail[i] + 1) else { return Answer::DoesNotFit };
        if first + slack.span[i] > last + 1 {
            return Answer::DoesNotFit;
        }
        windows.push(first..=last);
    }
    if problem.nodes.is_empty() {
        return Answer::Fits(Placement::default());
    }
    let edges = reduced(problem);
    let n_places: usize = windows.iter().map(|window| window.clone().count()).sum();
    if n_places * 4 > N_VARIABLES_MAX || edges.len() * n_stages as usize > N_CONSTRAINTS_MAX {
        return Answer::Unknown;
    }
    let mut model = Model { problem, n_stages, windows, vars: ProblemVariables::new(), rows: Vec::new() };
    let places = model.places();
    model.order(&edges, &places);
    model.capacities(&places);
    let mut solver = model.vars.minimise(Expression::default()).using(microlp);
    for row in model.rows {
        solver.add_constraint(row);
    }
    match solver.with_time_limit(seconds.max(0.01)).solve() {
        Ok(solution) => {
            let placement = read(problem, &places, &|v| solution.value(v));
            // The solver works with floating-point numbers: its result counts only if it is one.
            let is_valid = problem.faults(&placement, n_stages).is_empty();
            if is_valid { Answer::Fits(placement) } else { Answer::Unknown }
        }
        Err(ResolutionError::Infeasible) => Answer::DoesNotFit,
        Err(_) => Answer::Unknown,
    }
}

/// The variables of a node in a stage.
struct Place {
    is_here: Variable,
    /// Only for nodes in several units: 0 or between the least part and all.
    n_units: Option<Variable>,
    /// Blocks of each companion.
    companions: Vec<Variable>,
    /// Only for nodes that may be cut: 1 in and after its first stage; 1 in and after its last.
    ends: Option<(Variable, Variable)>,
}

type Places = Vec<BTreeMap<u32, Place>>;

struct Model<'p> {
    problem: &'p Problem,
    n_stages: u32,
    windows: Vec<std::ops::RangeInclusive<u32>>,
    vars: ProblemVariables,
    rows: Vec<good_lp::Constraint>,
}

impl Model<'_> {
    fn places(&mut self) -> Places {
        let mut all = Vec::new();
        for (i, window) in self.windows.clone().into_iter().enumerate() {
            let node = &self.problem.nodes[i];
            let n_units = node.n_units();
            let least = node.n_units_min();
            // A part may be padded to the least size.
            let most = n_units.max(least);
            let is_cuttable = n_units > 1 && node.packed.is_some();
            let mut places = BTreeMap::new();
            for stage in window {
                let is_here = self.vars.add(variable().binary());
                let mut place = Place { is_here, n_units: None, companions: Vec::new(), ends: None };
                if is_cuttable {
                    let units = self.vars.add(variable().integer().min(0.0).max(most as f64));
                    self.rows.push((units - most as f64 * is_here).leq(0.0));
                    self.rows.push((least as f64 * is_here - units).leq(0.0));
                    let packed = node.packed.as_ref();
                    for companion in packed.iter().flat_map(|packed| &packed.companions) {
                        let per_unit = packed.map_or(0, |packed| packed.entries_per_unit) as f64
                            / companion.entries_per_block.max(1) as f64;
                        let blocks_max = (most as f64 * per_unit).ceil();
                        let blocks = self.vars.add(variable().integer().min(0.0).max(blocks_max));
                        self.rows.push((per_unit * units - blocks).leq(0.0));
                        place.companions.push(blocks);
                    }
                    let begun = self.vars.add(variable().min(0.0).max(1.0));
                    let ended = self.vars.add(variable().min(0.0).max(1.0));
                    place.n_units = Some(units);
                    place.ends = Some((begun, ended));
                }
                places.insert(stage, place);
            }
            self.bind(&places, n_units);
            all.push(places);
        }
        all
    }

    /// All units are somewhere, and beginnings and ends are those of the parts.
    fn bind(&mut self, places: &BTreeMap<u32, Place>, n_units: u64) {
        let units: Option<Vec<Variable>> = places.values().map(|place| place.n_units).collect();
        let Some(units) = units else {
            let somewhere: Expression = places.values().map(|place| place.is_here).sum();
            self.rows.push(somewhere.eq(1.0));
            return;
        };
        let sum: Expression = units.into_iter().sum();
        self.rows.push(sum.geq(n_units as f64));
        let list: Vec<&Place> = places.values().collect();
        for (i, place) in list.iter().enumerate() {
            let Some((begun, ended)) = place.ends else { continue };
            self.rows.push((place.is_here - begun).leq(0.0));
            if let Some(Place { ends: Some((before, _)), .. }) = i.checked_sub(1).map(|i| list[i]) {
                self.rows.push((*before - begun).leq(0.0));
            }
            if let Some(Place { ends: Some((_, after)), is_here, .. }) = list.get(i + 1) {
                self.rows.push((ended - *after).leq(0.0));
                self.rows.push((ended + *is_here).leq(1.0));
            }
        }
    }

    /// 1 if the node has begun in a stage or before, otherwise 0.
    fn begun(&self, places: &BTreeMap<u32, Place>, stage: u32) -> Expression {
        match places.range(..=stage).next_back() {
            None => Expression::default(),
            Some((_, Place { ends: Some((begun, _)), .. })) => (*begun).into(),
            Some(_) => places.range(..=stage).map(|(_, place)| place.is_here).sum(),
        }
    }

    /// 1 if the node has ended in a stage or before, otherwise 0; `None` if that is certain.
    fn ended(&self, places: &BTreeMap<u32, Place>, stage: Option<u32>) -> Option<Expression> {
        let Some(stage) = stage else { return Some(Expression::default()) };
        if places.keys().next_back().is_some_and(|last| *last <= stage) {
            return None;
        }
        Some(match places.range(..=stage).next_back() {
            None => Expression::default(),
            Some((_, Place { ends: Some((_, ended)), .. })) => (*ended).into(),
            Some(_) => places.range(..=stage).map(|(_, place)| place.is_here).sum(),
        })
    }

    fn order(&mut self, edges: &[Edge], places: &Places) {
        for edge in edges {
            let gap = self.problem.gap(edge);
            for stage in self.windows[edge.to].clone() {
                let Some(ended) = self.ended(&places[edge.from], stage.checked_sub(gap)) else { continue };
                let begun = self.begun(&places[edge.to], stage);
                self.rows.push((begun - ended).leq(0.0));
            }
        }
    }

    fn capacities(&mut self, places: &Places) {
        for stage in 0..self.n_stages {
            let here = || places.iter().enumerate().filter_map(|(i, p)| Some((i, p.get(&stage)?)));
            for resource in Resource::ALL {
                let r = resource as usize;
                let mut sum = Expression::default();
                let mut most = 0.0;
                for (i, place) in here() {
                    let node = &self.problem.nodes[i];
                    most += node.need(node.n_units().max(node.n_units_min()))[r] as f64;
                    sum += need(node, place, resource);
                }
                if most > self.problem.capacity[r] as f64 {
                    self.rows.push(sum.leq(self.problem.capacity[r] as f64));
                }
            }
            for (resource, is_exact) in [(Resource::ExactBytes, true), (Resource::TernaryBytes, false)] {
                self.crossbar(stage, places, resource, is_exact);
            }
        }
    }

    /// Bytes that several nodes read count once.
    fn crossbar(&mut self, stage: u32, places: &Places, resource: Resource, is_exact: bool) {
        let mut users: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for (i, place) in places.iter().enumerate() {
            let node = &self.problem.nodes[i];
            let bytes = if is_exact { &node.exact_bytes } else { &node.ternary_bytes };
            if place.contains_key(&stage) {
                bytes.iter().for_each(|byte| {
                    users.entry(*byte).or_default().insert(i);
                });
            }
        }
        let capacity = self.problem.capacity[resource as usize] as usize;
        if users.len() <= capacity {
            return;
        }
        let mut groups: BTreeMap<BTreeSet<usize>, usize> = BTreeMap::new();
        for set in users.into_values() {
            *groups.entry(set).or_default() += 1;
        }
        let mut sum = Expression::default();
        for (set, n_bytes) in groups {
            let is_read = self.vars.add(variable().min(0.0).max(1.0));
            for node in set {
                self.rows.push((places[node][&stage].is_here - is_read).leq(0.0));
            }
            sum += n_bytes as f64 * is_read;
        }
        self.rows.push(sum.leq(capacity as f64));
    }
}

/// The amount of a resource that a node takes in a stage.
fn need(node: &super::placement::Node, place: &Place, resource: Resource) -> Expression {
    let mut sum: Expression = node.part[resource as usize] as f64 * place.is_here;
    let is_memory = matches!(resource, Resource::Sram | Resource::Tcam | Resource::MapRam);
    let (Some(packed), true) = (&node.packed, is_memory) else { return sum };
    let Some(units) = place.n_units else {
        let blocks = node.need(node.n_units())[resource as usize] - node.part[resource as usize];
        return sum + blocks as f64 * place.is_here;
    };
    let own = packed.blocks_of_unit();
    sum += match resource {
        Resource::Sram => own.sram as f64 * units,
        Resource::Tcam => own.tcam as f64 * units,
        _ => Expression::default(),
    };
    for (companion, blocks) in packed.companions.iter().zip(&place.companions) {
        let per_block = match resource {
            Resource::Sram if companion.has_sram => companion.n_words,
            Resource::MapRam if companion.has_map_ram => 1,
            _ => 0,
        };
        sum += per_block as f64 * *blocks;
        sum += (per_block * companion.n_spare) as f64 * place.is_here;
    }
    sum
}

/// The edges that no others imply.
fn reduced(problem: &Problem) -> Vec<Edge> {
    let n = problem.nodes.len();
    let Some(order) = problem.order() else { return problem.edges.clone() };
    let mut strongest: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
    for edge in &problem.edges {
        let slot = strongest.entry((edge.from, edge.to)).or_insert(*edge);
        if problem.gap(edge) > problem.gap(slot) {
            *slot = *edge;
        }
    }
    let mut behind: Vec<Vec<Edge>> = vec![Vec::new(); n];
    strongest.values().for_each(|edge| behind[edge.from].push(*edge));
    let mut kept = Vec::new();
    for from in 0..n {
        // The longest way to each node over another one.
        let mut direct = vec![None; n];
        let mut over: Vec<Option<u32>> = vec![None; n];
        for edge in &behind[from] {
            direct[edge.to] = Some(problem.gap(edge));
        }
        for node in &order {
            let Some(length) = direct[*node].max(over[*node]) else { continue };
            for edge in &behind[*node] {
                over[edge.to] = over[edge.to].max(Some(length + problem.gap(edge)));
            }
        }
        kept.extend(behind[from].iter().filter(|edge| over[edge.to] < Some(problem.gap(edge))));
    }
    kept
}

fn read(problem: &Problem, places: &Places, value: &dyn Fn(Variable) -> f64) -> Placement {
    let mut parts = Vec::new();
    for (node, places) in places.iter().enumerate() {
        for (stage, place) in places {
            let n_units = match place.n_units {
                Some(units) => value(units).round() as u64,
                None if value(place.is_here) > 0.5 => problem.nodes[node].n_units(),
                None => 0,
            };
            if n_units > 0 {
                parts.push(Part { node, stage: *stage, n_units });
            }
        }
    }
    Placement { parts }
}
