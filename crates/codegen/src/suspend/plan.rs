//! Suspension of the packets of a burst at tables.
//!
//! A cut changes the order in which packets reach shared state: all run up to the cut before the first one continues. That
//! makes no difference to packets that only read and count. Other shared state (a register, a meter, random numbers) may
//! be touched in one stage only, since within a stage packets run in the order of their arrival. Cuts that would spread
//! it over several stages are left out.

use crate::facts::control_flow::{is_in_loop, position};
use crate::facts::effects::{EffectFinder, Effects, can_be_reordered};
use crate::facts::in_packet_fields::InPacketFields;
use crate::facts::requests::may_punt;
use crate::facts::table_kind::TableKind;
use crate::facts::weight::{graph_weight, weight};
use crate::suspend::prefetch_groups::{self, PrefetchMember};
use crate::suspend::saved_state::{SavedState, in_packet, saved_state};
use arch::BlockRole;
use ir::segments::{PointKind, Segment, SegmentEntry, Segments, Wait, segments_for};
use ir::{BlockId, Expr, Graph, NodeId, Program, TableId, TerminatorKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// With more points, the state of packets is in memory, and each table says whether it exceeds the cache.
pub(crate) const SMALL_POINTS_MAX: usize = 4;
/// Statements and nodes above which everything twice would take too long to compile.
const WEIGHT_MAX: usize = 3000;
/// Up to this weight, the code after ingress is repeated at each end of ingress.
const TAIL_WEIGHT_MAX: usize = 24;

impl BurstPlan {
    /// Tables that are prefetched at the point of this one.
    pub(crate) fn members_of(&self, leader: TableId) -> impl Iterator<Item = TableId> + '_ {
        self.prefetched.iter().filter(move |member| member.leader == leader).map(|member| member.table)
    }

    /// The tables that each packet looks up which suspends at a point.
    pub(crate) fn counted(&self, point: usize) -> impl Iterator<Item = TableId> + '_ {
        counted(&self.prefetched, self.points[point].table)
    }

    /// Where packets suspend: points, and the queue.
    pub(crate) fn n_points(&self) -> usize {
        self.points.len() + usize::from(self.queue.is_some())
    }

    /// The keys of a prefetched table.
    pub(crate) fn keys(&self, table: TableId) -> Option<&[Expr]> {
        let nodes = self.program.blocks.iter().flat_map(|(_, block)| block.graph.nodes.iter());
        nodes.into_iter().find_map(|(_, node)| match &node.terminator.kind {
            TerminatorKind::Apply { table: id, keys, .. } if *id == table => Some(keys.as_slice()),
            _ => None,
        })
    }
}

/// A table at which packets suspend.
pub(crate) struct SuspensionPoint {
    pub(crate) block: BlockId,
    pub(crate) node: NodeId,
    pub(crate) table: TableId,
    pub(crate) saved: SavedState,
}

pub(crate) struct BurstPlan {
    /// The program with its points in blocks.
    pub(crate) program: Program,
    /// In the order in which packets come to them.
    pub(crate) points: Vec<SuspensionPoint>,
    /// The state saved between ingress and egress, if packets suspend there.
    pub(crate) queue: Option<SavedState>,
    /// Tables that are prefetched at the point of another one.
    pub(crate) prefetched: Vec<PrefetchMember>,
    /// Where packets may come to next: from their arrival, from each point, and from the queue, the points in order;
    /// the number of points stands for the queue.
    pub(crate) next_points: Vec<Vec<usize>>,
    /// The tables that each packet looks up whose ingress begins: their lookups are counted once per burst.
    pub(crate) first_tables: Vec<TableId>,
}

/// Why packets suspend nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSuspension {
    /// The code reports every step.
    Traced,
    /// The steps of the architecture are not those of the reference switch, or it has no queue.
    NoFastPath,
    NoTable,
    TooLarge,
    /// The order of packets would change what a register, a meter, a message or an extern sees.
    Order,
    TooMuchState,
}

impl NoSuspension {
    pub(crate) fn text(self) -> &'static str {
        match self {
            NoSuspension::Traced => "every step is reported",
            NoSuspension::NoFastPath => "stages are for the steps of v1model",
            NoSuspension::NoTable => "no table is staged",
            NoSuspension::TooLarge => "the program is too large to be compiled twice",
            NoSuspension::Order => "the order of packets matters to what they share",
            NoSuspension::TooMuchState => "packets would save too much",
        }
    }
}

/// Where a program is worth cutting; `Err` where it is not, or must not be.
pub(crate) fn plan(program: &Program) -> Result<BurstPlan, NoSuspension> {
    let model = program.architecture.pipeline().ok_or(NoSuspension::NoFastPath)?;
    // Only packets of the fast path run in stages.
    let has_steps = program.architecture.has_steps_of_reference();
    if !has_steps || !model.blocks.iter().any(|b| b.role == BlockRole::Egress) {
        return Err(NoSuspension::NoFastPath);
    }
    if weight(program) > WEIGHT_MAX {
        return Err(NoSuspension::TooLarge);
    }
    if !can_be_reordered(program) {
        return Err(NoSuspension::Order);
    }
    let mut excluded: FxHashSet<TableId> = FxHashSet::default();
    loop {
        let waits = |program: &Program, wait: &Wait<'_>| match wait {
            Wait::Table(id) => !excluded.contains(id) && TableKind::of(&program.tables[*id]).is_staged,
            Wait::Extern { .. } => false,
        };
        let cut = segments_for(program, &waits, &in_packet).map_err(|_| NoSuspension::TooMuchState)?;
        if !cut.points.iter().any(|point| matches!(point.kind, PointKind::Table(_))) {
            return Err(if excluded.is_empty() { NoSuspension::NoTable } else { NoSuspension::Order });
        }
        if weight(&cut.program) > WEIGHT_MAX {
            return Err(NoSuspension::TooLarge);
        }
        if let Some(table) = in_loop(&cut) {
            excluded.insert(table);
            continue;
        }
        match Stages::find(&cut) {
            Ok(stages) => {
                let plan = merged(&cut, &waits).or_else(|| finish(cut, stages.has_queue, Vec::new()));
                return plan.ok_or(NoSuspension::TooMuchState);
            }
            Err(Some(table)) => {
                excluded.insert(table);
            }
            Err(None) => return Err(NoSuspension::Order),
        }
    }
}

/// A plan with fewer points, when several tables can be prefetched at one.
fn merged(cut: &Segments, waits: &dyn Fn(&Program, &Wait<'_>) -> bool) -> Option<BurstPlan> {
    let prefetched = prefetch_groups::find(cut);
    if prefetched.is_empty() {
        return None;
    }
    let is_prefetched = |wait: &Wait<'_>| matches!(wait, Wait::Table(id) if prefetched.iter().any(|member| member.table == *id));
    let waits = |program: &Program, wait: &Wait<'_>| !is_prefetched(wait) && waits(program, wait);
    let cut =
        segments_for(&prefetch_groups::with_keys_at_leaders(cut, &prefetched), &waits, &in_packet).ok()?;
    let stages = Stages::find(&cut).ok()?;
    finish(cut, stages.has_queue, prefetched)
}

/// A suspension point to which packets may come back.
fn in_loop(cut: &Segments) -> Option<TableId> {
    cut.points.iter().find_map(|point| {
        let (PointKind::Table(table), Some(node)) = (&point.kind, point.node) else { return None };
        let graph = &cut.program.blocks[point.block].graph;
        let mut seen = FxHashSet::default();
        let mut stack = graph.node(node).terminator.kind.successors();
        while let Some(id) = stack.pop() {
            if seen.insert(id) {
                stack.extend(graph.node(id).terminator.kind.successors());
            }
        }
        seen.contains(&node).then_some(*table)
    })
}

/// Packets that run these nodes may come to the end of the block.
fn ends(cut: &Segments, segment: &Segment) -> bool {
    let graph = &cut.program.blocks[segment.block].graph;
    segment.nodes.iter().any(|id| {
        matches!(
            graph.node(*id).terminator.kind,
            TerminatorKind::Return | TerminatorKind::Exit | TerminatorKind::Accept
        )
    })
}

struct Stages {
    has_queue: bool,
}

impl Stages {
    /// `Err` with a table that must not be a point, or with `None` when no cut is possible.
    fn find(cut: &Segments) -> Result<Stages, Option<TableId>> {
        let program = &cut.program;
        let mut effects_of = EffectFinder { program, procedures: FxHashMap::default() };
        let of_role = |role| cut.segments.iter().filter(move |s| program.blocks[s.block].role == role);
        let n_ends = of_role(BlockRole::Ingress).filter(|s| ends(cut, s)).count();
        let tail_weight: usize = [BlockRole::Egress, BlockRole::ComputeChecksum, BlockRole::Deparser]
            .iter()
            .filter_map(|role| program.block(*role))
            .map(|id| graph_weight(&program.blocks[id].graph))
            .sum();
        let mut after_egress = effects_of.block(BlockRole::ComputeChecksum);
        after_egress.extend(effects_of.block(BlockRole::Deparser));
        let mut stages: Vec<(Effects, Option<TableId>)> = Vec::new();
        let mut has_queue = n_ends > 1 && tail_weight > TAIL_WEIGHT_MAX;
        let mut egress = Vec::new();
        for segment in of_role(BlockRole::Egress) {
            let mut effects = Self::of_segment(cut, segment, &mut effects_of);
            if ends(cut, segment) {
                effects.extend(after_egress.iter().copied());
            }
            egress.push((effects, Self::table(cut, segment)));
        }
        let at_queue = egress.first().map(|(effects, _)| effects.clone()).unwrap_or_default();
        has_queue |= n_ends > 1 && !at_queue.is_empty();
        for segment in of_role(BlockRole::Ingress) {
            let mut effects = Self::of_segment(cut, segment, &mut effects_of);
            if segment.entry == SegmentEntry::Start {
                effects.extend(effects_of.block(BlockRole::Parser));
                effects.extend(effects_of.block(BlockRole::VerifyChecksum));
            }
            if !has_queue && ends(cut, segment) {
                effects.extend(at_queue.iter().copied());
            }
            stages.push((effects, Self::table(cut, segment)));
        }
        stages.extend(egress.into_iter().skip(usize::from(!has_queue)));
        let all: Effects = stages.iter().flat_map(|(effects, _)| effects.iter().copied()).collect();
        if !all.is_empty() && may_punt(program) {
            return Err(None);
        }
        for effect in all {
            let touching: Vec<Option<TableId>> =
                stages.iter().filter(|(effects, _)| effects.contains(&effect)).map(|(_, t)| *t).collect();
            if touching.len() > 1 {
                return Err(touching.into_iter().flatten().next_back());
            }
        }
        Ok(Stages { has_queue })
    }

    fn table(cut: &Segments, segment: &Segment) -> Option<TableId> {
        match segment.entry {
            SegmentEntry::Start => None,
            SegmentEntry::Resume(i) => match &cut.points[i].kind {
                PointKind::Table(table) => Some(*table),
                _ => None,
            },
        }
    }

    fn of_segment(cut: &Segments, segment: &Segment, effects_of: &mut EffectFinder<'_>) -> Effects {
        let is_point =
            |node: NodeId| cut.points.iter().any(|p| p.block == segment.block && p.node == Some(node));
        let mut effects =
            effects_of.nodes(&cut.program.blocks[segment.block].graph, &segment.nodes, &is_point);
        if let Some(table) = Self::table(cut, segment) {
            effects_of.table(table, &mut effects);
        }
        effects
    }
}

fn finish(cut: Segments, has_queue: bool, prefetched: Vec<PrefetchMember>) -> Option<BurstPlan> {
    let in_packet_fields = InPacketFields::new(&cut.program, false);
    let mut points = Vec::new();
    let mut queue = None;
    let mut by_block: Vec<(usize, usize, SuspensionPoint)> = Vec::new();
    for point in &cut.points {
        let saved = saved_state(&cut, &in_packet_fields, &point.live)?;
        match (&point.kind, point.node) {
            (PointKind::Table(table), Some(node)) => {
                let graph = &cut.program.blocks[point.block].graph;
                let is_egress = cut.program.blocks[point.block].role == BlockRole::Egress;
                let at = position(graph, node)?;
                let waiting = SuspensionPoint { block: point.block, node, table: *table, saved };
                by_block.push((usize::from(is_egress), at, waiting));
            }
            (PointKind::Queue, _) if has_queue => queue = Some(saved),
            _ => {}
        }
    }
    by_block.sort_by_key(|(block, at, _)| (*block, *at));
    points.extend(by_block.into_iter().map(|(_, _, waiting)| waiting));
    if has_queue && queue.is_none() {
        return None;
    }
    let next_points = next_points(&cut, &points, queue.is_some());
    let first_tables = first_tables(&cut.program, &points, &prefetched);
    Some(BurstPlan { program: cut.program, points, queue, prefetched, next_points, first_tables })
}

/// See [`Plan::ways`].
fn next_points(cut: &Segments, points: &[SuspensionPoint], has_queue: bool) -> Vec<Vec<usize>> {
    let at = |block: BlockId, node: NodeId| points.iter().position(|p| p.block == block && p.node == node);
    let ends_in = |segment: &Segment| -> Vec<usize> {
        segment.nodes.iter().filter_map(|node| at(segment.block, *node)).collect()
    };
    let is_role = |segment: &Segment, role| cut.program.blocks[segment.block].role == role;
    let start = |role| cut.segments.iter().find(|s| is_role(s, role) && s.entry == SegmentEntry::Start);
    let in_egress = start(BlockRole::Egress).map(&ends_in).unwrap_or_default();
    let from = |segment: &Segment| {
        let mut found = ends_in(segment);
        if is_role(segment, BlockRole::Ingress) && ends(cut, segment) {
            match has_queue {
                true => found.push(points.len()),
                false => found.extend(&in_egress),
            }
        }
        found.sort();
        found.dedup();
        found
    };
    let resumed = |point: &SuspensionPoint| {
        cut.segments.iter().find(|segment| match segment.entry {
            SegmentEntry::Resume(i) => {
                cut.points[i].block == point.block && cut.points[i].node == Some(point.node)
            }
            SegmentEntry::Start => false,
        })
    };
    let arrival = start(BlockRole::Ingress).map(from).unwrap_or_default();
    let mut next_points = vec![arrival];
    next_points.extend(points.iter().map(|point| resumed(point).map(from).unwrap_or_default()));
    next_points.push(in_egress.clone());
    next_points
}

/// The tables that each packet looks up whose ingress begins: they are counted once per burst.
fn first_tables(
    program: &Program,
    points: &[SuspensionPoint],
    prefetched: &[PrefetchMember],
) -> Vec<TableId> {
    let Some(ingress) = program.block(BlockRole::Ingress) else { return Vec::new() };
    let entry = program.blocks[ingress].graph.entry;
    let first = points.iter().find(|point| point.block == ingress && point.node == entry);
    let tables = first.into_iter().flat_map(|point| counted(prefetched, point.table));
    tables.filter(|id| is_applied_once(program, *id)).collect()
}

/// A table and the members of its prefetch group that each packet looks up which suspends there.
fn counted(prefetched: &[PrefetchMember], table: TableId) -> impl Iterator<Item = TableId> + '_ {
    let certain = prefetched.iter().filter(move |member| member.leader == table && member.is_certain);
    std::iter::once(table).chain(certain.map(|member| member.table))
}

/// At one place, to which a packet comes back only when its block begins again.
fn is_applied_once(program: &Program, id: TableId) -> bool {
    let graphs = program.graphs().flat_map(|graph| graph.nodes.iter().map(move |(node, _)| (graph, node)));
    let sites: Vec<_> = graphs.filter(|(graph, node)| applies(graph, *node, id)).collect();
    matches!(sites[..], [(graph, node)] if !is_in_loop(graph, node))
}

fn applies(graph: &Graph, node: NodeId, id: TableId) -> bool {
    matches!(&graph.node(node).terminator.kind, TerminatorKind::Apply { table, .. } if *table == id)
}
