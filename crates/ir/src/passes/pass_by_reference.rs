//! Replaces a variable that is copied from a place, and back before any other access, by that place.
//!
//! Parameters of direction `inout` are such variables (P4-16, "Calling convention: call by copy-in/copy-out"): a control
//! that is applied with the headers copies all of them twice. Where nothing reaches the argument by another name meanwhile,
//! a copy and the place itself cannot be told apart.
//!
//! The variable is *lent* the place between a statement that copies all of it in and one that copies all of it out. It is
//! replaced where it is used nowhere else, where nothing touches the place meanwhile, and where no way leads out of the
//! block or procedure in between.

use crate::layout::Layout;
use crate::lookup::{get, index};
use crate::visit::Access;
use crate::{
    ExprKind, Graph, NodeId, Place, ProcedureId, Program, Scope, Step, Stmt, StmtKind, TerminatorKind, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Controls within controls within controls: each time the innermost come to what the outer ones became.
const ROUNDS_MAX: usize = 16;

pub fn pass_by_reference(program: &mut Program) {
    for _ in 0..ROUNDS_MAX {
        let found = lent(program);
        if found.is_empty() {
            return;
        }
        replace(program, &found);
    }
}

/// Variables, and the places that they stand for.
fn lent(program: &Program) -> FxHashMap<VarId, Place> {
    let graphs: Vec<(Option<ProcedureId>, &Graph)> = reachable_graphs(program).collect();
    let mut found = candidates(program, &graphs);
    if found.is_empty() {
        return found;
    }
    let homes = homes(&graphs, &found);
    let uses = Uses::new(program);
    found.retain(|var, place| match homes.get(var) {
        Some(Home::One(at)) => Lending::new(program, &uses, *var, place, graphs[*at]).is_possible(&graphs),
        Some(Home::Several) | None => false,
    });
    // A place within a variable that is replaced at the same time waits for the next round.
    let replaced: FxHashSet<VarId> = found.keys().copied().collect();
    found.retain(|_, place| !replaced.contains(&place.var));
    found
}

/// The variables that are copied whole, and from one place only.
fn candidates(program: &Program, graphs: &[(Option<ProcedureId>, &Graph)]) -> FxHashMap<VarId, Place> {
    let mut excluded: FxHashSet<VarId> = FxHashSet::default();
    // Tables assign the data of actions.
    for action in program.tables.iter().flat_map(|(_, table)| &table.actions) {
        excluded.extend(get(&program.procedures, action.procedure).into_iter().flat_map(|p| &p.params));
    }
    excluded.extend(program.fields.iter().map(|(_, place)| place.var));
    excluded.extend(program.field_lists.iter().flat_map(|list| &list.places).map(|place| place.var));
    excluded.extend(program.blocks.iter().filter_map(|(_, block)| block.error));
    let mut found: FxHashMap<VarId, Place> = FxHashMap::default();
    for stmt in stmts(graphs).map(|(_, stmt)| stmt) {
        let Some((var, source)) = copied_in(program, stmt) else { continue };
        let known = found.entry(var).or_insert_with(|| source.clone());
        if known != source {
            excluded.insert(var);
        }
    }
    found.retain(|var, _| !excluded.contains(var));
    found
}

/// The graph that copies a variable in or out.
enum Home {
    One(usize),
    Several,
}

fn homes(
    graphs: &[(Option<ProcedureId>, &Graph)],
    found: &FxHashMap<VarId, Place>,
) -> FxHashMap<VarId, Home> {
    let mut homes: FxHashMap<VarId, Home> = FxHashMap::default();
    for (at, stmt) in stmts(graphs) {
        let is_lent = |var, place: &Place| found.get(&var) == Some(place);
        let Some(Copy::In(var) | Copy::Out(var)) = copied(stmt, &is_lent) else { continue };
        let home = homes.entry(var).or_insert(Home::One(at));
        if !matches!(home, Home::One(known) if *known == at) {
            *home = Home::Several;
        }
    }
    homes
}

fn stmts<'p>(graphs: &'p [(Option<ProcedureId>, &'p Graph)]) -> impl Iterator<Item = (usize, &'p Stmt)> + 'p {
    let of_graph = |(at, (_, graph)): (usize, &'p (Option<ProcedureId>, &'p Graph))| {
        graph.nodes.iter().flat_map(move |(_, node)| node.stmts.iter().map(move |stmt| (at, stmt)))
    };
    graphs.iter().enumerate().flat_map(of_graph)
}

/// A whole variable, and the place that it may stand for.
enum Copy {
    In(VarId),
    Out(VarId),
}

/// The variable that a statement copies in from its place, or out to it.
fn copied(stmt: &Stmt, is_lent: &dyn Fn(VarId, &Place) -> bool) -> Option<Copy> {
    let StmtKind::Assign { place, value } = &stmt.kind else { return None };
    let ExprKind::Read(source) = &value.kind else { return None };
    let are_lent = |whole: &Place, other: &Place| whole.path.is_empty() && is_lent(whole.var, other);
    if are_lent(place, source) {
        return Some(Copy::In(place.var));
    }
    are_lent(source, place).then_some(Copy::Out(source.var))
}

/// `variable = place`, of a variable that the architecture does not know.
fn copied_in<'p>(program: &Program, stmt: &'p Stmt) -> Option<(VarId, &'p Place)> {
    let StmtKind::Assign { place, value } = &stmt.kind else { return None };
    let ExprKind::Read(source) = &value.kind else { return None };
    let is_plain = |step: &Step| matches!(step, Step::Field(_) | Step::Element(_));
    let is_local = get(&program.variables, place.var).is_some_and(|v| !matches!(v.scope, Scope::Pipeline(_)));
    let is_found =
        place.path.is_empty() && is_local && source.var != place.var && source.path.iter().all(is_plain);
    is_found.then_some((place.var, source))
}

/// The graphs that can be reached: those of procedures with their ids, then those of blocks.
fn reachable_graphs(program: &Program) -> impl Iterator<Item = (Option<ProcedureId>, &Graph)> {
    let reachable = program.reachable_procedures();
    let procedures = program.procedures.iter();
    let called = procedures.filter(move |(id, _)| reachable.get(index(*id)) == Some(&true));
    called.map(|(id, p)| (Some(id), &p.graph)).chain(program.blocks.iter().map(|(_, b)| (None, &b.graph)))
}

/// The procedures that run from here.
fn callees(program: &Program, kind: &TerminatorKind) -> Vec<ProcedureId> {
    match kind {
        TerminatorKind::Call { procedure, .. } => vec![*procedure],
        TerminatorKind::Apply { table, .. } => get(&program.tables, *table)
            .map(|table| table.actions.iter().map(|action| action.procedure).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The leaves that each procedure touches itself, and the procedures that it calls.
struct Uses {
    layout: Layout,
    /// By procedure and variable.
    touched: Vec<FxHashMap<VarId, Vec<Range<usize>>>>,
    called: Vec<Vec<ProcedureId>>,
}

impl Uses {
    fn new(program: &Program) -> Uses {
        let layout = Layout::new(program);
        let mut touched = Vec::with_capacity(program.procedures.len());
        let mut called = Vec::with_capacity(program.procedures.len());
        for (_, procedure) in program.procedures.iter() {
            let mut by_var: FxHashMap<VarId, Vec<Range<usize>>> = FxHashMap::default();
            let mut to = Vec::new();
            let mut on_access = |_: Access, place: &Place| {
                let leaves = layout.place(program, place).leaves;
                let known = by_var.entry(place.var).or_default();
                if !known.contains(&leaves) {
                    known.push(leaves);
                }
            };
            for (_, node) in procedure.graph.nodes.iter() {
                node.stmts.iter().for_each(|stmt| stmt.for_each_access(&mut on_access));
                node.terminator.kind.for_each_access(&mut on_access);
                to.extend(callees(program, &node.terminator.kind));
            }
            to.sort();
            to.dedup();
            touched.push(by_var);
            called.push(to);
        }
        Uses { layout, touched, called }
    }

    /// For each procedure, true when it, or one that it calls, touches any of these leaves. The procedure `but` is left out,
    /// with its calls.
    fn reaching(&self, var: VarId, leaves: &Range<usize>, but: Option<ProcedureId>) -> Vec<bool> {
        let touches = |by_var: &FxHashMap<VarId, Vec<Range<usize>>>| {
            by_var.get(&var).is_some_and(|all| all.iter().any(|other| overlap(other, leaves)))
        };
        let counts = |i: usize| but.is_none_or(|id| index(id) != i);
        let mut reaching: Vec<bool> =
            self.touched.iter().enumerate().map(|(i, by_var)| counts(i) && touches(by_var)).collect();
        let mut has_changed = reaching.contains(&true);
        while has_changed {
            has_changed = false;
            for (i, called) in self.called.iter().enumerate() {
                let calls = || called.iter().any(|id| reaching.get(index(*id)) == Some(&true));
                if counts(i) && !reaching[i] && calls() {
                    reaching[i] = true;
                    has_changed = true;
                }
            }
        }
        reaching
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The question whether one variable can be replaced by one place.
struct Lending<'p> {
    program: &'p Program,
    layout: &'p Layout,
    var: VarId,
    place: &'p Place,
    leaves: Range<usize>,
    /// The graph in which the variable is copied in and out.
    home: (Option<ProcedureId>, &'p Graph),
    /// Procedures that come to use the variable, other than by way of its home.
    users: Vec<bool>,
    /// Procedures that come to touch the place.
    others: Vec<bool>,
}

/// Something is in the way.
struct Refused;

impl<'p> Lending<'p> {
    fn new(
        program: &'p Program,
        uses: &'p Uses,
        var: VarId,
        place: &'p Place,
        home: (Option<ProcedureId>, &'p Graph),
    ) -> Lending<'p> {
        let leaves = uses.layout.place(program, place).leaves;
        Lending {
            users: uses.reaching(var, &uses.layout.variable(var), home.0),
            others: uses.reaching(place.var, &leaves, None),
            program,
            layout: &uses.layout,
            var,
            place,
            leaves,
            home,
        }
    }

    fn is_possible(&self, graphs: &[(Option<ProcedureId>, &Graph)]) -> bool {
        let same_type = get(&self.program.variables, self.var).map(|v| v.ty.clone())
            == self.program.place_type(self.place);
        // A type without values, or one too large to have any here.
        if !same_type || self.leaves.is_empty() || self.follow(self.home.1).is_err() {
            return false;
        }
        // Procedures that use it are run by each other and by its home, while it is lent. So no block may run one.
        let is_user = |id: &ProcedureId| self.users.get(index(*id)).copied().unwrap_or(true);
        let blocks = graphs.iter().filter(|(id, graph)| id.is_none() && !std::ptr::eq(*graph, self.home.1));
        blocks.into_iter().all(|(_, graph)| {
            let mut touched = false;
            let mut on_access = |_: Access, place: &Place| touched |= place.var == self.var;
            for (_, node) in graph.nodes.iter() {
                node.stmts.iter().for_each(|stmt| stmt.for_each_access(&mut on_access));
                node.terminator.kind.for_each_access(&mut on_access);
            }
            let mut called = graph.nodes.iter().flat_map(|(_, n)| callees(self.program, &n.terminator.kind));
            !called.any(|id| is_user(&id)) && !touched
        })
    }

    /// From the beginning on, with whether it is lent.
    fn follow(&self, graph: &Graph) -> Result<(), Refused> {
        let mut at_entry: FxHashMap<NodeId, bool> = FxHashMap::default();
        at_entry.insert(graph.entry, false);
        let mut stack = vec![graph.entry];
        while let Some(id) = stack.pop() {
            let is_lent = self.through(graph, id, at_entry.get(&id) == Some(&true))?;
            for next in graph.node(id).terminator.kind.successors() {
                match at_entry.insert(next, is_lent) {
                    None => stack.push(next),
                    Some(before) if before != is_lent => return Err(Refused),
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    fn through(&self, graph: &Graph, id: NodeId, mut is_lent: bool) -> Result<bool, Refused> {
        let node = graph.node(id);
        let mut is_refused = false;
        for stmt in &node.stmts {
            match copied(stmt, &|var, place| var == self.var && place == self.place) {
                Some(Copy::In(_)) => is_refused |= std::mem::replace(&mut is_lent, true),
                Some(Copy::Out(_)) => is_refused |= !std::mem::replace(&mut is_lent, false),
                None => {
                    stmt.for_each_access(&mut |_, place| is_refused |= self.is_in_the_way(is_lent, place));
                }
            }
        }
        let kind = &node.terminator.kind;
        kind.for_each_access(&mut |_, place| is_refused |= self.is_in_the_way(is_lent, place));
        if is_refused {
            return Err(Refused);
        }
        for called in callees(self.program, kind) {
            let by = if is_lent { &self.others } else { &self.users };
            if by.get(index(called)).copied().unwrap_or(true) {
                return Err(Refused);
            }
        }
        let is_end = matches!(
            kind,
            TerminatorKind::Return | TerminatorKind::Exit | TerminatorKind::Accept | TerminatorKind::Reject
        );
        if is_end && is_lent { Err(Refused) } else { Ok(is_lent) }
    }

    /// True when a use of this place prevents the replacement.
    fn is_in_the_way(&self, is_lent: bool, place: &Place) -> bool {
        if !is_lent {
            return place.var == self.var;
        }
        place.var == self.place.var && overlap(&self.layout.place(self.program, place).leaves, &self.leaves)
    }
}

fn replace(program: &mut Program, found: &FxHashMap<VarId, Place>) {
    let is_lent = |var, place: &Place| found.get(&var) == Some(place);
    for graph in program.graphs_mut() {
        for (_, node) in graph.nodes.iter_mut() {
            node.stmts.retain(|stmt| copied(stmt, &is_lent).is_none());
            node.for_each_place_mut(&mut |place| {
                if let Some(lent) = found.get(&place.var) {
                    let rest = std::mem::take(&mut place.path);
                    *place = lent.clone();
                    place.path.extend(rest);
                }
            });
        }
    }
}
