//! Dependencies between the tables of a control.

use super::{Arrow, Picture, Shape, Source, Style};
use crate::layout::{Exactness, Layout};
use crate::leaf_set::LeafSet;
use crate::liveness::{TooLarge, postorder};
use crate::lookup::{get, index};
use crate::passes::inline_procedures;
use crate::text::Printer;
use crate::visit::Access;
use crate::{BlockId, Expr, Graph, NodeId, Place, ProcedureId, Program, StmtKind, TableId, TerminatorKind};
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Why a table must come after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// Its key is made of what an action of the other wrote.
    Match,
    /// Its actions read or write what an action of the other wrote.
    Action,
    /// The result of the other table decides whether this one is applied.
    Successor,
    /// Its actions write what the other reads.
    Reverse,
}

impl Dependency {
    pub fn name(self) -> &'static str {
        match self {
            Dependency::Match => "match",
            Dependency::Action => "action",
            Dependency::Successor => "successor",
            Dependency::Reverse => "reverse",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDependency {
    pub from: TableId,
    pub to: TableId,
    /// The kinds in order, each once.
    pub kinds: Vec<Dependency>,
}

/// Limit on leaves times tables times nodes.
const N_BITS_MAX: u64 = 1 << 33;

/// The tables of a control as they are applied, and what depends on what. What happens between tables counts: a
/// key computed from what an action wrote depends on it.
pub fn table_dependencies(program: &Program, control: BlockId) -> Result<Vec<TableDependency>, TooLarge> {
    let mut program = program.clone();
    inline_procedures(&mut program, &|program, id| {
        get(&program.procedures, id).is_some_and(|procedure| procedure.block == control)
    });
    forget_impossible_exits(&mut program, control);
    let layout = Layout::new(&program);
    let Some(graph) = get(&program.blocks, control).map(|block| &block.graph) else { return Ok(Vec::new()) };
    let tables: Vec<TableId> =
        program.tables.iter().filter(|(_, t)| t.block == control).map(|(id, _)| id).collect();
    let size = (layout.n_leaves() as u64)
        .saturating_mul(2 * tables.len() as u64)
        .saturating_mul(graph.nodes.len() as u64);
    if size > N_BITS_MAX {
        return Err(TooLarge);
    }
    let mut analysis =
        Analysis { program: &program, layout, graph, tables, effects: Vec::new(), found: BTreeMap::new() };
    analysis.effects = (0..analysis.tables.len()).map(|i| analysis.effects_of(i)).collect();
    analysis.run();
    let dependencies = analysis.found.into_iter();
    Ok(dependencies
        .map(|((from, to), kinds)| TableDependency {
            from: analysis.tables[from],
            to: analysis.tables[to],
            kinds: kinds.into_iter().collect(),
        })
        .collect())
}

/// Removes the exit successors of tables without an action that exits.
fn forget_impossible_exits(program: &mut Program, control: BlockId) {
    let may_exit: Vec<bool> = program.tables.iter().map(|(id, _)| may_exit(program, id)).collect();
    if get(&program.blocks, control).is_none() {
        return;
    }
    for (_, node) in program.blocks[control].graph.nodes.iter_mut() {
        if let TerminatorKind::Apply { table, then, exit, .. } = &mut node.terminator.kind
            && may_exit.get(index(*table)) == Some(&false)
        {
            *exit = *then;
        }
    }
}

/// True when an action of the table may exit. Calls are inlined: see [`table_dependencies`].
fn may_exit(program: &Program, table: TableId) -> bool {
    let procedures = program.tables[table].actions.iter().map(|action| action.procedure);
    procedures.filter_map(|id| get(&program.procedures, id)).any(|procedure| {
        procedure.graph.nodes.iter().any(|(_, node)| node.terminator.kind == TerminatorKind::Exit)
    })
}

/// The dependencies as a picture. Successor and reverse dependencies, which cost less, are dashed.
pub fn table_graph(program: &Program, control: BlockId, source: Source<'_>) -> Result<Picture, TooLarge> {
    let printer = Printer::new(program);
    let mut picture =
        Picture { title: format!("Tables of {}", printer.block(control)), ..Picture::default() };
    let mut boxes = BTreeMap::new();
    for (id, table) in program.tables.iter().filter(|(_, table)| table.block == control) {
        let mut lines = vec![printer.table(id)];
        lines.extend(keys(table));
        let position = picture.add(Shape::Table, super::shortened(lines.clone(), 8));
        picture.explain(position, lines, source.link(table.span));
        boxes.insert(index(id), position);
    }
    for dependency in table_dependencies(program, control)? {
        let ends = (boxes.get(&index(dependency.from)), boxes.get(&index(dependency.to)));
        let (Some(from), Some(to)) = ends else { continue };
        let names: Vec<&str> = dependency.kinds.iter().map(|kind| kind.name()).collect();
        let is_strong =
            dependency.kinds.iter().any(|kind| matches!(kind, Dependency::Match | Dependency::Action));
        let style = if is_strong { Style::Solid } else { Style::Dashed };
        picture.arrows.push(Arrow { from: *from, to: *to, lines: vec![names.join(", ")], style });
    }
    if !picture.arrows.is_empty() {
        picture.legend = LEGEND.iter().map(|line| line.to_string()).collect();
    }
    Ok(picture)
}

const LEGEND: [&str; 5] = [
    "Solid arrow: the lower table needs what the upper one wrote. Dashed arrow: only the order matters.",
    "match: a key is made of what an action of the other table wrote.",
    "action: an action reads or writes what an action of the other table wrote.",
    "successor: the result of the other table decides whether this table is applied.",
    "reverse: an action writes what the other table reads.",
];

/// The keys of a table with their match kinds, a line each.
pub(super) fn keys(table: &crate::Table) -> impl Iterator<Item = String> {
    table.keys.iter().map(|key| format!("{}: {}", key.name, key.match_kind.name()))
}

/// The origin of values: for each table, the leaves that its actions contributed to, and those that it has read.
#[derive(Clone, PartialEq)]
struct Origins {
    /// By table: the leaves.
    wrote: Vec<LeafSet>,
    read: Vec<LeafSet>,
}

/// The leaves that a table reads and writes.
struct Effects {
    keys: LeafSet,
    /// By the actions, without their data.
    reads: LeafSet,
    writes: LeafSet,
}

struct Analysis<'p> {
    program: &'p Program,
    layout: Layout,
    graph: &'p Graph,
    tables: Vec<TableId>,
    /// The effects of each table.
    effects: Vec<Effects>,
    /// By positions in `tables`.
    found: BTreeMap<(usize, usize), BTreeSet<Dependency>>,
}

impl Analysis<'_> {
    fn none(&self) -> Origins {
        let sets = vec![LeafSet::none(self.layout.n_leaves()); self.tables.len()];
        Origins { wrote: sets.clone(), read: sets }
    }

    fn position(&self, table: TableId) -> Option<usize> {
        self.tables.iter().position(|id| *id == table)
    }

    fn run(&mut self) {
        let mut before: Vec<Option<Origins>> = vec![None; self.graph.nodes.len()];
        if let Some(slot) = before.get_mut(index(self.graph.entry)) {
            *slot = Some(self.none());
        }
        let mut order = postorder(self.graph);
        order.reverse();
        loop {
            let mut changed = false;
            for id in &order {
                changed |= self.visit(*id, &mut before);
            }
            if !changed {
                break;
            }
        }
        self.conditions(&before);
    }

    /// Takes what is known before a node to its successors; whether that is anything new.
    fn visit(&mut self, id: NodeId, before: &mut [Option<Origins>]) -> bool {
        let (Some(node), Some(Some(origins))) = (get(&self.graph.nodes, id), before.get(index(id))) else {
            return false;
        };
        let mut changed = false;
        let mut after = origins.clone();
        for stmt in &node.stmts {
            let mut reads = Vec::new();
            let mut writes = Vec::new();
            stmt.for_each_access(&mut |access, place| match access {
                Access::Read => reads.push(place),
                Access::Write | Access::MayWrite => writes.push((access, place)),
            });
            // An assignment of a whole value to a place of its own replaces what was there.
            let is_assignment = matches!(stmt.kind, StmtKind::Assign { .. });
            let tables = self.origin(&after, &reads);
            for (access, place) in writes {
                let access = if is_assignment { access } else { Access::MayWrite };
                self.write(&mut after, access, place, &tables);
            }
        }
        if let TerminatorKind::Apply { table, hit, action, .. } = &node.terminator.kind {
            self.apply(&mut after, *table, hit.as_ref(), action.as_ref());
        }
        for successor in node.terminator.kind.successors() {
            match before.get_mut(index(successor)) {
                Some(Some(there)) => {
                    let sets = there.wrote.iter_mut().chain(&mut there.read);
                    for (set, more) in sets.zip(after.wrote.iter().chain(&after.read)) {
                        changed |= set.union(more);
                    }
                }
                Some(slot) => {
                    *slot = Some(after.clone());
                    changed = true;
                }
                None => {}
            }
        }
        changed
    }

    fn extent(&self, place: &Place) -> std::ops::Range<usize> {
        self.layout.place(self.program, place).leaves
    }

    /// The tables that had a part in what places hold.
    fn origin(&self, origins: &Origins, places: &[&Place]) -> Vec<usize> {
        let has_part =
            |set: &LeafSet| places.iter().any(|place| self.extent(place).any(|leaf| set.contains(leaf)));
        origins.wrote.iter().enumerate().filter(|(_, set)| has_part(set)).map(|(i, _)| i).collect()
    }

    fn write(&self, origins: &mut Origins, access: Access, place: &Place, tables: &[usize]) {
        let extent = self.layout.place(self.program, place);
        if access == Access::Write && extent.exactness == Exactness::Exact {
            origins.wrote.iter_mut().for_each(|set| set.remove(extent.leaves.clone()));
        }
        for table in tables {
            origins.wrote[*table].insert(extent.leaves.clone());
        }
    }

    fn note(&mut self, from: usize, to: usize, kind: Dependency) {
        if from != to {
            self.found.entry((from, to)).or_default().insert(kind);
        }
    }

    fn apply(&mut self, origins: &mut Origins, table: TableId, hit: Option<&Place>, action: Option<&Place>) {
        let Some(to) = self.position(table) else { return };
        for from in 0..self.tables.len() {
            let wrote = &origins.wrote[from];
            let read = &origins.read[from];
            let Effects { keys, reads, writes } = &self.effects[to];
            let kinds = [
                (Dependency::Match, wrote.meets(keys)),
                (Dependency::Action, wrote.meets(reads) || wrote.meets(writes)),
                (Dependency::Reverse, read.meets(writes)),
            ];
            for (kind, holds) in kinds {
                if holds {
                    self.note(from, to, kind);
                }
            }
        }
        let Effects { keys, reads, writes } = &self.effects[to];
        // Leaves that the actions write also depend on those that they read.
        for from in 0..self.tables.len() {
            if from == to || origins.wrote[from].meets(reads) {
                origins.wrote[from].union(writes);
            }
        }
        origins.read[to].union(keys);
        origins.read[to].union(reads);
        for place in [hit, action].into_iter().flatten() {
            self.write(origins, Access::Write, place, &[to]);
        }
    }

    fn effects_of(&self, position: usize) -> Effects {
        let table = self.tables[position];
        let none = || LeafSet::none(self.layout.n_leaves());
        let (mut keys, mut reads, mut writes, mut params) = (none(), none(), none(), none());
        for (_, node) in self.graph.nodes.iter() {
            if let TerminatorKind::Apply { table: t, keys: exprs, .. } = &node.terminator.kind
                && *t == table
            {
                exprs.iter().for_each(|e| self.insert_reads(e, &mut keys));
            }
        }
        for listed in &self.program.tables[table].actions {
            self.effects_of_action(listed.procedure, &mut reads, &mut writes, &mut params);
        }
        reads.subtract(&params);
        writes.subtract(&params);
        Effects { keys, reads, writes }
    }

    fn insert_reads(&self, e: &Expr, out: &mut LeafSet) {
        e.for_each_read(&mut |place| out.insert(self.extent(place)));
    }

    /// The leaves that an action, with the procedures that it calls, may read and write, and the parameters among them.
    fn effects_of_action(
        &self,
        id: ProcedureId,
        reads: &mut LeafSet,
        writes: &mut LeafSet,
        params: &mut LeafSet,
    ) {
        let Some(procedure) = get(&self.program.procedures, id) else { return };
        procedure.params.iter().for_each(|param| params.insert(self.layout.variable(*param)));
        let mut on_access = |access, place: &Place| match access {
            Access::Read => reads.insert(self.extent(place)),
            Access::Write | Access::MayWrite => writes.insert(self.extent(place)),
        };
        // Calls are inlined: see `table_dependencies`.
        for (_, node) in procedure.graph.nodes.iter() {
            node.stmts.iter().for_each(|stmt| stmt.for_each_access(&mut on_access));
            node.terminator.kind.for_each_access(&mut on_access);
        }
    }

    /// Tables that are applied or not as the result of another decides.
    fn conditions(&mut self, before: &[Option<Origins>]) {
        let mut found = Vec::new();
        for (id, node) in self.graph.nodes.iter() {
            let subject = match &node.terminator.kind {
                TerminatorKind::Branch { condition: e, .. } | TerminatorKind::Switch { subject: e, .. } => {
                    Some(e)
                }
                _ => None,
            };
            let from = match (&node.terminator.kind, subject, &before[index(id)]) {
                // An action may exit.
                (TerminatorKind::Apply { table, then, exit, .. }, _, Some(_)) if then != exit => {
                    self.position(*table).into_iter().collect()
                }
                (_, Some(e), Some(origins)) => {
                    let mut reads = Vec::new();
                    e.for_each_read(&mut |place| reads.push(place));
                    let mut after = origins.clone();
                    for stmt in &node.stmts {
                        let mut sources = Vec::new();
                        stmt.for_each_access(&mut |access, place| {
                            if access == Access::Read {
                                sources.push(place);
                            }
                        });
                        let tables = self.origin(&after, &sources);
                        stmt.for_each_access(&mut |access, place| {
                            if access != Access::Read {
                                self.write(&mut after, access, place, &tables);
                            }
                        });
                    }
                    self.origin(&after, &reads)
                }
                _ => Vec::new(),
            };
            if from.is_empty() {
                continue;
            }
            for (to, table) in self.tables.iter().enumerate() {
                if self.decides(id, *table) {
                    found.extend(from.iter().map(|from| (*from, to)));
                }
            }
        }
        for (from, to) in found {
            self.note(from, to, Dependency::Successor);
        }
    }

    /// True when a table is applied on some paths from a node and not on others.
    fn decides(&self, from: NodeId, table: TableId) -> bool {
        let applies = |id: NodeId| matches!(&self.graph.nodes[id].terminator.kind, TerminatorKind::Apply { table: t, .. } if *t == table);
        let (mut with, mut without) = (false, false);
        let mut seen = vec![false; self.graph.nodes.len()];
        let mut stack = self.graph.nodes[from].terminator.kind.successors();
        while let Some(id) = stack.pop() {
            if get(&self.graph.nodes, id).is_none() || std::mem::replace(&mut seen[index(id)], true) {
                continue;
            }
            if applies(id) {
                with = true;
                continue;
            }
            let successors = self.graph.nodes[id].terminator.kind.successors();
            without |= successors.is_empty();
            stack.extend(successors);
        }
        with && without
    }
}
