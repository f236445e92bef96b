//! Where packets of a burst wait for the memory of tables, and what they keep meanwhile.
//!
//! A cut changes the order in which packets reach what they share: all run up to the cut before the first goes on. That
//! makes no difference where packets only read and count. Whatever else they share (a register, a meter, the random
//! numbers) may be touched in one stage only, as within a stage packets run in the order of their arrival: cuts that
//! would spread it over several are left out.

use crate::facts::common_case::CommonCase;
use crate::facts::in_packet_fields::InPacketFields;
use crate::function::externs::is_random_hash;
use crate::function::tables::matched;
use crate::suspend::prefetch_groups::{self, PrefetchMember};
use crate::text::types::{Repr, repr, size_bytes};
use arch::{BlockRole, ExternOp, FieldRole, ParamRole};
use ir::layout::{Leaf, leaves};
use ir::leaf_set::LeafSet;
use ir::lookup::{get, id_at, index};
use ir::segments::{PointKind, Segment, SegmentEntry, Segments, Wait, segments_for};
use ir::{
    BlockId, Expr, Graph, MatchKind, NodeId, ProcedureId, Program, Scope, Step, Stmt, StmtKind, StructId,
    StructKind, TableId, TerminatorKind, Type, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Statements and nodes above which everything twice would take too long to compile.
const WEIGHT_MAX: usize = 3000;
/// What comes after ingress stands at each end of it up to this weight.
const TAIL_WEIGHT_MAX: usize = 24;
/// Tables that can hold no more entries stay in the caches.
const CACHED_ENTRIES_MAX: u64 = 128;
/// A packet that keeps more than this is not worth its wait.
const SAVED_BYTES_MAX: u32 = 1024;

/// What a packet keeps while it waits.
#[derive(Default)]
pub(crate) struct SavedState {
    /// Values that are read again.
    pub(crate) values: Vec<(VarId, Leaf)>,
    /// Headers that remember where they were extracted: that place, and fields that are read from the packet once
    /// more, because nobody has changed them.
    pub(crate) origins: Vec<Origin>,
}

pub(crate) struct Origin {
    pub(crate) var: VarId,
    /// Of the header.
    pub(crate) path: Vec<Step>,
    pub(crate) header: StructId,
    pub(crate) fields: Vec<u32>,
}

impl BurstPlan {
    /// Tables that are asked for where packets wait for this one.
    pub(crate) fn members_of(&self, leader: TableId) -> impl Iterator<Item = TableId> + '_ {
        self.prefetched.iter().filter(move |member| member.leader == leader).map(|member| member.table)
    }

    /// What an early table is looked up with.
    pub(crate) fn keys(&self, table: TableId) -> Option<&[Expr]> {
        let nodes = self.program.blocks.iter().flat_map(|(_, block)| block.graph.nodes.iter());
        nodes.into_iter().find_map(|(_, node)| match &node.terminator.kind {
            TerminatorKind::Apply { table: id, keys, .. } if *id == table => Some(keys.as_slice()),
            _ => None,
        })
    }
}

impl SavedState {
    fn origin(&mut self, var: VarId, path: &[Step], header: StructId) -> &mut Origin {
        let known = self.origins.iter().position(|o| o.var == var && o.path == path);
        let at = known.unwrap_or_else(|| {
            self.origins.push(Origin { var, path: path.to_vec(), header, fields: Vec::new() });
            self.origins.len() - 1
        });
        &mut self.origins[at]
    }
}

/// A table that packets wait for.
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
    /// Packets wait between ingress and egress, too, with this.
    pub(crate) queue: Option<SavedState>,
    /// Tables that packets ask for while they wait for another one.
    pub(crate) prefetched: Vec<PrefetchMember>,
    /// Where packets may come to next: from their arrival, from each point, and from the queue, the points in order;
    /// the number of points stands for the queue.
    pub(crate) next_points: Vec<Vec<usize>>,
}

/// How much code a program is, about.
pub(crate) fn weight(program: &Program) -> usize {
    program.graphs().map(graph_weight).sum()
}

fn graph_weight(graph: &Graph) -> usize {
    graph.nodes.iter().map(|(_, node)| 1 + node.stmts.len()).sum()
}

/// Where a program is worth cutting; `None` where it is not, or must not be.
pub(crate) fn plan(program: &Program) -> Option<BurstPlan> {
    let has_egress = program.architecture.pipeline()?.blocks.iter().any(|b| b.role == BlockRole::Egress);
    if !has_egress || weight(program) > WEIGHT_MAX || !can_be_reordered(program) {
        return None;
    }
    let mut excluded: FxHashSet<TableId> = FxHashSet::default();
    loop {
        let waits = |program: &Program, wait: &Wait<'_>| match wait {
            Wait::Table(id) => !excluded.contains(id) && should_suspend(program, *id),
            Wait::Extern { .. } => false,
        };
        let cut = segments_for(program, &waits, &in_packet).ok()?;
        if !cut.points.iter().any(|point| matches!(point.kind, PointKind::Table(_))) {
            return None;
        }
        if weight(&cut.program) > WEIGHT_MAX {
            return None;
        }
        if let Some(table) = in_loop(&cut) {
            excluded.insert(table);
            continue;
        }
        match Stages::find(&cut) {
            Ok(stages) => return merged(&cut, &waits).or_else(|| finish(cut, stages.has_queue, Vec::new())),
            Err(Some(table)) => {
                excluded.insert(table);
            }
            Err(None) => return None,
        }
    }
}

/// With fewer points, where packets can ask for several tables at once.
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

/// Not where the host hears of every step, or meters mark whoever comes first.
fn can_be_reordered(program: &Program) -> bool {
    let has_meters = program.tables.iter().any(|(_, t)| t.direct_meter.is_some());
    let is_heard = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Extern { op, .. } => matches!(
            op,
            ExternOp::LogMessage | ExternOp::User | ExternOp::PerfEventOutput | ExternOp::DirectMeterRead
        ),
        StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
    };
    let stmts = program.graphs().flat_map(|g| g.nodes.iter()).flat_map(|(_, node)| &node.stmts);
    !has_meters && !stmts.into_iter().any(is_heard)
}

/// As many bits of exact keys lead to their entries without a hash (`SD_DIRECT_BITS_MAX`).
const DIRECT_BITS_MAX: u32 = 16;

/// Whether a table with these keys is an array of entries.
pub(crate) fn is_direct(keys: &[(usize, &ir::Key)]) -> bool {
    let n_bits = keys.iter().try_fold(0u32, |n_bits, (_, key)| {
        let width = key.ty.width_bits().filter(|_| key.match_kind == MatchKind::Exact)?;
        n_bits.checked_add(width)
    });
    n_bits.is_some_and(|n_bits| (1..=DIRECT_BITS_MAX).contains(&n_bits))
}

fn should_suspend(program: &Program, id: TableId) -> bool {
    let Some(table) = get(&program.tables, id) else { return false };
    let keys = matched(&table.keys);
    let hashes = keys.iter().all(|(_, key)| matches!(key.match_kind, MatchKind::Exact | MatchKind::Lpm));
    let is_small = table.has_const_entries || table.size.is_some_and(|size| size <= CACHED_ENTRIES_MAX);
    !keys.is_empty() && hashes && !is_small && !is_direct(&keys)
}

/// Leaves that are emitted from the packet's bytes: fields that nobody has changed.
pub(crate) fn in_packet(program: &Program, layout: &ir::layout::Layout) -> LeafSet {
    let in_packet_fields = InPacketFields::new(program, false);
    // Where packets may go on at the host, blocks run there that ask.
    let headers_stay = CommonCase::new(program, &in_packet_fields).headers_stay
        && !crate::file::fast_path::may_punt(program);
    let mut found = LeafSet::none(layout.n_leaves());
    for (id, variable) in program.variables.iter() {
        if variable.scope != Scope::Pipeline(ParamRole::Headers) {
            continue;
        }
        let first = layout.variable(id).start;
        for (i, leaf) in leaves(program, &variable.ty).iter().enumerate() {
            if let Some((_, header, field)) = header_field(program, &variable.ty, leaf)
                && in_packet_fields.has_origin(header)
                && !in_packet_fields.is_modified(header, field)
            {
                found.insert(first + i..first + i + 1);
            }
            // Whether there is a header that is not stored does not matter once it is known that headers stay.
            if headers_stay
                && header_of_validity(program, &variable.ty, leaf).is_some_and(|header| {
                    in_packet_fields.has_origin(header) && !in_packet_fields.has_modified(program, header)
                })
            {
                found.insert(first + i..first + i + 1);
            }
        }
    }
    found
}

/// The header that a leaf is a field of, or in a field of: how far the path leads to it, its type, and the field.
fn header_field(program: &Program, ty: &Type, leaf: &Leaf) -> Option<(usize, StructId, u32)> {
    let mut ty = ty.clone();
    let mut found = None;
    for (n, step) in leaf.path.iter().enumerate() {
        if let (Step::Field(i), Type::Struct(id)) = (step, &ty)
            && program.structs[*id].kind == StructKind::Header
        {
            found = Some((n, *id, *i));
        }
        ty = program.step_type(&ty, step)?;
    }
    found
}

/// The header whose validity a leaf is.
fn header_of_validity(program: &Program, ty: &Type, leaf: &Leaf) -> Option<StructId> {
    let (last, path) = leaf.path.split_last()?;
    let mut ty = ty.clone();
    for step in path {
        ty = program.step_type(&ty, step)?;
    }
    match (last, ty) {
        (Step::Valid, Type::Struct(id)) => Some(id),
        _ => None,
    }
}

/// A table that packets wait for and may come back to.
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

/// What packets share and change, other than by counting.
type Effects = BTreeSet<u32>;

const RANDOM: u32 = u32::MAX;
/// Messages are told in the order in which they come.
const LOG: u32 = u32::MAX - 1;

struct EffectFinder<'p> {
    program: &'p Program,
    procedures: FxHashMap<ProcedureId, Effects>,
}

impl<'p> EffectFinder<'p> {
    fn stmt(&self, stmt: &Stmt, out: &mut Effects) {
        let StmtKind::Extern { op, object, args, .. } = &stmt.kind else { return };
        match op {
            ExternOp::RegisterRead
            | ExternOp::RegisterGet
            | ExternOp::RegisterWrite
            | ExternOp::MeterExecute => {
                out.extend(object.map(|id| index(id) as u32));
            }
            ExternOp::Random => {
                out.insert(RANDOM);
            }
            ExternOp::LogMessage => {
                out.insert(LOG);
            }
            _ => out.extend(is_random_hash(self.program, args).then_some(RANDOM)),
        }
    }

    fn procedure(&mut self, id: ProcedureId) -> Effects {
        if let Some(known) = self.procedures.get(&id) {
            return known.clone();
        }
        let program = self.program;
        let nodes: Vec<NodeId> = program.procedures[id].graph.nodes.iter().map(|(id, _)| id).collect();
        let found = self.nodes(&program.procedures[id].graph, &nodes, &|_| false);
        self.procedures.insert(id, found.clone());
        found
    }

    fn table(&mut self, id: TableId, out: &mut Effects) {
        for action in &self.program.tables[id].actions {
            out.extend(self.procedure(action.procedure));
        }
    }

    /// Of nodes as far as they run where some of them end in points.
    fn nodes(&mut self, graph: &Graph, nodes: &[NodeId], is_point: &dyn Fn(NodeId) -> bool) -> Effects {
        let mut out = Effects::new();
        for id in nodes {
            let node = graph.node(*id);
            node.stmts.iter().for_each(|stmt| self.stmt(stmt, &mut out));
            match &node.terminator.kind {
                TerminatorKind::Call { procedure, .. } => out.extend(self.procedure(*procedure)),
                TerminatorKind::Apply { table, .. } if !is_point(*id) => self.table(*table, &mut out),
                _ => {}
            }
        }
        out
    }

    fn block(&mut self, role: BlockRole) -> Effects {
        let Some(id) = self.program.block(role) else { return Effects::new() };
        let graph = &self.program.blocks[id].graph;
        let nodes: Vec<NodeId> = graph.nodes.iter().map(|(id, _)| id).collect();
        self.nodes(graph, &nodes, &|_| false)
    }
}

/// Whether the order of packets matters to anything that they share.
pub(crate) fn has_effects(program: &Program) -> bool {
    let mut effects_of = EffectFinder { program, procedures: FxHashMap::default() };
    !can_be_reordered(program) || program.blocks.iter().any(|(_, b)| !effects_of.block(b.role).is_empty())
}

/// Whether two parts of a graph touch the same of what packets share: so that it matters whether another packet comes in
/// between.
pub(crate) fn share_effects(program: &Program, graph: &Graph, parts: [&[NodeId]; 2]) -> bool {
    let mut effects_of = EffectFinder { program, procedures: FxHashMap::default() };
    let [a, b] = parts.map(|nodes| effects_of.nodes(graph, nodes, &|_| false));
    !a.is_disjoint(&b)
}

/// Whether packets that run these nodes may come to the end of the block.
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
    /// `Err` with a table that must not be waited for; without one where nothing helps.
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
        if !all.is_empty() && crate::file::fast_path::may_punt(program) {
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
                let at = crate::function::graph::position(graph, node)?;
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
    Some(BurstPlan { program: cut.program, points, queue, prefetched, next_points })
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

/// The values of a set that exist in C; `None` when they are too many.
pub(crate) fn saved_state(
    cut: &Segments,
    in_packet_fields: &InPacketFields,
    live: &LeafSet,
) -> Option<SavedState> {
    let program = &cut.program;
    let mut known: FxHashMap<usize, Vec<Leaf>> = FxHashMap::default();
    let mut out = SavedState::default();
    let mut n_bytes = 0u32;
    // What asks for a copy or a queue is zero where nobody ever asks.
    let asking = [FieldRole::MulticastGroup, FieldRole::Priority].into_iter();
    let zero: Vec<_> = asking
        .filter(|role| !crate::file::fast_path::is_written(program, *role))
        .filter_map(|role| Some(cut.layout.place(program, program.field(role)?).leaves))
        .collect();
    for leaf in live.iter().filter(|leaf| !zero.iter().any(|range| range.contains(leaf))) {
        let var_index = cut.layout.variable_of(leaf);
        let var: VarId = id_at(var_index);
        let ty = &program.variables[var].ty;
        let of_var = known.entry(var_index).or_insert_with(|| leaves(program, ty));
        let Some(found) = of_var.get(leaf - cut.layout.variable(var).start) else { continue };
        if let Some((n, header, field)) = header_field(program, ty, found)
            && in_packet_fields.has_origin(header)
        {
            let is_int = matches!(repr(&found.ty), Some(Repr::Int(_)));
            if in_packet_fields.stays_in_packet(header, field) {
                continue;
            }
            if is_int && !in_packet_fields.is_modified(header, field) {
                out.origin(var, &found.path[..n], header).fields.push(field);
                continue;
            }
        }
        if let Some(header) =
            header_of_validity(program, ty, found).filter(|id| in_packet_fields.has_origin(*id))
        {
            out.origin(var, &found.path[..found.path.len() - 1], header);
        }
        n_bytes += size_bytes(&found.ty).max(1);
        out.values.push((var, found.clone()));
    }
    n_bytes += 4 * out.origins.len() as u32;
    (n_bytes <= SAVED_BYTES_MAX).then_some(out)
}
