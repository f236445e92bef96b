//! Variables that hold a value which nothing changes, such as `in` parameters of a control that was inlined.

use super::effects::is_of_action;
use ir::lookup::get;
use ir::{Access, BlockId, ExprKind, Place, ProcedureId, Program, Scope, Step, Stmt, StmtKind, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces each variable that is assigned once, from a place that a block never writes to, by that place.
pub fn read_at_their_origin(program: &mut Program, block: BlockId) {
    loop {
        let found = unchanged(program, block);
        if found.is_empty() {
            return;
        }
        let replace = |place: &mut Place| {
            if let Some(origin) = found.get(&place.var.into_raw().into_u32()) {
                let rest = std::mem::take(&mut place.path);
                *place = origin.clone();
                place.path.extend(rest);
            }
        };
        for graph in program.graphs_mut() {
            for (_, node) in graph.nodes.iter_mut() {
                node.stmts.retain(|stmt| {
                    copied(stmt).is_none_or(|(var, _)| !found.contains_key(&var.into_raw().into_u32()))
                });
                node.for_each_place_mut(&mut { replace });
            }
        }
    }
}

/// The variables of the block's procedures with the places that they are copies of.
fn unchanged(program: &Program, block: BlockId) -> BTreeMap<u32, Place> {
    let mut n_writes: BTreeMap<u32, u32> = BTreeMap::new();
    let mut copies: Vec<(VarId, Place)> = Vec::new();
    let actions = (program.tables.iter().filter(|(_, table)| table.block == block))
        .flat_map(|(_, table)| table.actions.iter().map(|action| action.procedure.into_raw().into_u32()));
    let actions: BTreeSet<u32> = actions.collect();
    let graphs = actions
        .iter()
        .filter_map(|id| get(&program.procedures, ProcedureId::from_raw((*id).into())))
        .map(|procedure| &procedure.graph)
        .chain([&program.blocks[block].graph]);
    for (_, node) in graphs.flat_map(|graph| graph.nodes.iter()) {
        let mut note = |access: Access, place: &Place| {
            if access != Access::Read {
                *n_writes.entry(place.var.into_raw().into_u32()).or_default() += 1;
            }
        };
        node.terminator.kind.for_each_access(&mut note);
        for stmt in &node.stmts {
            stmt.for_each_access(&mut note);
            copies.extend(copied(stmt).map(|(var, place)| (var, place.clone())));
        }
    }
    let writes = |var: VarId| n_writes.get(&var.into_raw().into_u32()).copied().unwrap_or(0);
    let is_local = |var: VarId| {
        get(&program.variables, var).is_some_and(|variable| matches!(variable.scope, Scope::Procedure(_)))
    };
    // Entries assign the data of actions.
    let is_data = |var: VarId| is_of_action(program, var);
    copies.retain(|(var, place)| {
        let is_known = is_local(*var) && !is_data(*var) && !is_data(place.var);
        is_known && writes(*var) == 1 && writes(place.var) == 0
    });
    let mut found: BTreeMap<u32, Place> =
        copies.into_iter().map(|(var, place)| (var.into_raw().into_u32(), place)).collect();
    // A copy of a variable that is replaced at the same time waits for the next round.
    let replaced: BTreeSet<u32> = found.keys().copied().collect();
    found.retain(|_, place| !replaced.contains(&place.var.into_raw().into_u32()));
    found
}

/// The whole variable that a statement copies a place to.
fn copied(stmt: &Stmt) -> Option<(VarId, &Place)> {
    let StmtKind::Assign { place, value } = &stmt.kind else { return None };
    let ExprKind::Read(source) = &value.kind else { return None };
    let is_plain = |step: &Step| matches!(step, Step::Field(_) | Step::Element(_));
    (place.path.is_empty() && source.path.iter().all(is_plain)).then_some((place.var, source))
}
