//! Prefetch groups: tables whose memory is prefetched at the suspension point of another table.
//!
//! A packet that suspends at one table can prefetch for others whose keys are known by then, so that it suspends once
//! instead of several times. The result does not change: the later lookup compares the key itself, and looks again when
//! the prefetched memory does not have it.
//!
//! A point *leads* another one when packets come to the other one only through it, and nothing in between changes the
//! places that its key is made of. The key is copied to variables before the suspension, which are saved.

use crate::facts::control_flow::{has_loop, is_in_loop, position, reached};
use crate::facts::ends::can_stop;
use ir::lookup::index;
use ir::segments::{Point, PointKind, Segments};
use ir::visit::Access;
use ir::{
    Expr, ExprKind, Graph, NodeId, Place, ProcedureId, Program, Scope, Step, Stmt, StmtKind, TableId,
    TerminatorKind, Variable,
};
use rustc_hash::FxHashSet;

/// Largest number of members of a group.
const MEMBERS_MAX: usize = 8;

/// A table that is prefetched at the point of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrefetchMember {
    pub(crate) table: TableId,
    pub(crate) leader: TableId,
    /// Every packet that suspends at the leader comes to it.
    pub(crate) is_certain: bool,
}

/// A point in a block.
struct LookupSite<'p> {
    table: TableId,
    node: NodeId,
    point: &'p Point,
}

/// The tables that need no suspension point of their own.
pub(crate) fn find(cut: &Segments) -> Vec<PrefetchMember> {
    let sites: Vec<LookupSite> = cut.points.iter().filter_map(site).collect();
    let is_once = |site: &&LookupSite| sites.iter().filter(|other| other.table == site.table).count() == 1;
    let mut sites: Vec<&LookupSite> = sites.iter().filter(is_once).collect();
    sites.sort_by_key(|site| position(graph_of(cut, site), site.node));
    let mut found: Vec<PrefetchMember> = Vec::new();
    for leader in &sites {
        if found.iter().any(|member| member.table == leader.table) {
            continue;
        }
        let mut n = 0;
        for site in &sites {
            let is_free = site.table != leader.table
                && site.point.block == leader.point.block
                && !found.iter().any(|member| member.table == site.table || member.leader == site.table);
            if is_free && n < MEMBERS_MAX && can_lead(cut, leader, site) {
                let is_certain = always_reaches(cut, leader, site);
                found.push(PrefetchMember { table: site.table, leader: leader.table, is_certain });
                n += 1;
            }
        }
    }
    found
}

fn site(point: &Point) -> Option<LookupSite<'_>> {
    match (&point.kind, point.node) {
        (PointKind::Table(table), Some(node)) => Some(LookupSite { table: *table, node, point }),
        _ => None,
    }
}

fn graph_of<'c>(cut: &'c Segments, site: &LookupSite) -> &'c Graph {
    &cut.program.blocks[site.point.block].graph
}

fn keys_of(graph: &Graph, node: NodeId) -> &[Expr] {
    match &graph.node(node).terminator.kind {
        TerminatorKind::Apply { keys, .. } => keys,
        _ => &[],
    }
}

fn can_lead(cut: &Segments, leader: &LookupSite, site: &LookupSite) -> bool {
    let graph = graph_of(cut, leader);
    let after = reached(graph, graph.node(leader.node).terminator.kind.successors(), None);
    if !after.contains(&site.node)
        || is_in_loop(graph, site.node)
        || reached(graph, vec![graph.entry], Some(leader.node)).contains(&site.node)
    {
        return false;
    }
    let mut places = Vec::new();
    for key in keys_of(graph, site.node) {
        key.for_each_read(&mut |place| places.push(place.clone()));
    }
    if !places.iter().all(Place::is_static) {
        return false;
    }
    let on_the_way =
        |node: &&NodeId| **node != site.node && reached(graph, vec![**node], None).contains(&site.node);
    let mut changes = Changes { program: &cut.program, places: &places, seen: FxHashSet::default() };
    !changes.terminator(&graph.node(leader.node).terminator.kind)
        && !after.iter().filter(on_the_way).any(|node| changes.node(graph, *node))
        && !graph.node(site.node).stmts.iter().any(|stmt| changes.stmt(stmt))
}

/// A packet that was at one point always comes to the other one.
fn always_reaches(cut: &Segments, leader: &LookupSite, site: &LookupSite) -> bool {
    let graph = graph_of(cut, leader);
    let mut exits = Exits { program: &cut.program, seen: FxHashSet::default() };
    let mut seen = FxHashSet::default();
    let mut stack = vec![leader.node];
    while let Some(node) = stack.pop() {
        if node == site.node || !seen.insert(node) {
            continue;
        }
        let next = match &graph.node(node).terminator.kind {
            kind @ (TerminatorKind::Apply { then, .. } | TerminatorKind::Call { then, .. })
                if !exits.terminator(kind) =>
            {
                vec![*then]
            }
            kind => kind.successors(),
        };
        if next.is_empty() {
            return false;
        }
        stack.extend(next);
    }
    true
}

/// Finds code that may end a packet's block, or the packet.
struct Exits<'p> {
    program: &'p Program,
    seen: FxHashSet<ProcedureId>,
}

impl Exits<'_> {
    fn terminator(&mut self, kind: &TerminatorKind) -> bool {
        match kind {
            TerminatorKind::Apply { table, .. } => {
                let actions = &self.program.tables[*table].actions;
                actions.iter().any(|action| self.procedure(action.procedure))
            }
            TerminatorKind::Call { procedure, .. } => self.procedure(*procedure),
            TerminatorKind::Exit => true,
            _ => false,
        }
    }

    fn procedure(&mut self, id: ProcedureId) -> bool {
        let program = self.program;
        let graph = &program.procedures[id].graph;
        let can_stop = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Extern { op, .. } if can_stop(*op));
        self.seen.insert(id)
            && (has_loop(graph)
                || graph.nodes.iter().any(|(_, node)| {
                    node.stmts.iter().any(can_stop) || self.terminator(&node.terminator.kind)
                }))
    }
}

/// Finds code that may write any of some places.
struct Changes<'p> {
    program: &'p Program,
    places: &'p [Place],
    seen: FxHashSet<ProcedureId>,
}

impl Changes<'_> {
    fn node(&mut self, graph: &Graph, node: NodeId) -> bool {
        let node = graph.node(node);
        node.stmts.iter().any(|stmt| self.stmt(stmt)) || self.terminator(&node.terminator.kind)
    }

    fn stmt(&self, stmt: &Stmt) -> bool {
        let mut found = false;
        stmt.for_each_access(&mut |access, place| found |= self.is_hit(access, place));
        found
    }

    fn terminator(&mut self, kind: &TerminatorKind) -> bool {
        let mut found = false;
        kind.for_each_access(&mut |access, place| found |= self.is_hit(access, place));
        found
            || match kind {
                TerminatorKind::Apply { table, .. } => {
                    let actions = &self.program.tables[*table].actions;
                    actions.iter().any(|action| self.procedure(action.procedure))
                }
                TerminatorKind::Call { procedure, .. } => self.procedure(*procedure),
                _ => false,
            }
    }

    fn procedure(&mut self, id: ProcedureId) -> bool {
        let program = self.program;
        let graph = &program.procedures[id].graph;
        // One that has been looked at had nothing, or the search had ended.
        self.seen.insert(id) && graph.nodes.iter().any(|(node, _)| self.node(graph, node))
    }

    fn is_hit(&self, access: Access, written: &Place) -> bool {
        access != Access::Read && self.places.iter().any(|place| overlaps(self.program, place, written))
    }
}

/// A write to one place may change what the other one reads. The validity of a header counts as all of it.
fn overlaps(program: &Program, read: &Place, written: &Place) -> bool {
    if read.var != written.var {
        return false;
    }
    let mut ty = program.variables[read.var].ty.clone();
    for (a, b) in read.path.iter().zip(&written.path) {
        match (a, b) {
            (Step::Field(a), Step::Field(b)) | (Step::Element(a), Step::Element(b)) if a != b => {
                return false;
            }
            (Step::Field(_), Step::Field(_)) | (Step::Element(_), Step::Element(_)) => {}
            _ => return true,
        }
        match program.step_type(&ty, a) {
            Some(inner) => ty = inner,
            None => return true,
        }
    }
    true
}

/// The program in which the keys of such tables are put into variables where their leaders are.
pub(crate) fn with_keys_at_leaders(cut: &Segments, members: &[PrefetchMember]) -> Program {
    let mut program = cut.program.clone();
    for PrefetchMember { table, leader, .. } in members {
        let site_of = |table: &TableId| cut.points.iter().filter_map(site).find(|site| site.table == *table);
        let (Some(leader), Some(site)) = (site_of(leader), site_of(table)) else { continue };
        let block = site.point.block;
        let own = program.tables[*table].name.rsplit('.').next().unwrap_or_default().to_string();
        let mut keys = keys_of(&program.blocks[block].graph, site.node).to_vec();
        for (i, key) in keys.iter_mut().enumerate() {
            if matches!(key.kind, ExprKind::Const(_)) {
                continue;
            }
            let var = program.variables.alloc(Variable {
                name: format!("{own}_key_{i}").into(),
                ty: key.ty.clone(),
                scope: Scope::Block(block),
                span: site.point.span,
            });
            let place = Place { var, path: Vec::new() };
            let value = std::mem::replace(key, Expr::read(place.clone(), key.ty.clone()));
            let stmt = Stmt { kind: StmtKind::Assign { place, value }, span: site.point.span };
            program.blocks[block].graph.nodes[leader.node].stmts.push(stmt);
        }
        if let TerminatorKind::Apply { keys: old, .. } =
            &mut program.blocks[block].graph.nodes[site.node].terminator.kind
        {
            *old = keys;
        }
    }
    debug_assert!(members.iter().all(|member| index(member.table) != index(member.leader)));
    program
}
