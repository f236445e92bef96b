//! The paths of packets through an action, and the work on each.
//!
//! A write inside a branch affects some packets only. The others use the state for a shorter time, only read it, or do
//! not touch it. The program does not tell how many packets take which way, so the user supplies these shares.

use super::build::Analysis;
use super::codelet::{Codelet, longest_of};
use super::operations::{Kind, OperationId, Operations};
use crate::config::Action;
use diagnostics::Span;
use smol_str::SmolStr;
use std::rc::Rc;

/// Index into [`Analysis::branches`].
pub type BranchId = usize;

/// A branch and one of its ways, in the order of its successors.
pub type Way = (BranchId, usize);

/// A point at which the paths of packets separate.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub kind: BranchKind,
    pub n_ways: usize,
    /// Operations that compute the condition.
    pub made_of: Vec<OperationId>,
    /// The ways that lead to the branch.
    pub around: Rc<[Way]>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum BranchKind {
    /// Ways: true, false. `is_header`: the condition tests only for headers that all IP packets with ports have.
    If { is_header: bool },
    /// The action that a table runs.
    Table { name: SmolStr, actions: Vec<SmolStr> },
    /// One way for each case, and one for all others.
    Cases,
}

/// Ways of a branch that count as one.
pub type Ways = (BranchId, Vec<usize>);

/// A path through an action, with the action of the packets that take it.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionPath {
    /// For each branch on the path that makes a difference, the ways that belong to the path.
    pub ways: Vec<Ways>,
    /// `None` if packets on this path do not touch the state.
    pub action: Option<Action>,
}

/// Most paths of one action.
const PATHS_MAX: usize = 64;

/// Returns the paths through an action; `None` if there are more than `PATHS_MAX`.
pub fn paths(analysis: &Analysis, codelet: &Codelet) -> Option<Vec<ActionPath>> {
    let mut branches: Vec<BranchId> = codelet
        .operations
        .iter()
        .flat_map(|id| ways_of(&analysis.operations, *id))
        .map(|way| way.0)
        .collect();
    branches.sort_unstable();
    branches.dedup();
    let mut found = Vec::new();
    let mut open: Vec<(usize, Vec<Ways>)> = vec![(0, Vec::new())];
    while let Some((at, ways)) = open.pop() {
        if found.len() + open.len() > PATHS_MAX {
            return None;
        }
        let Some(id) = branches.get(at).copied() else {
            let action = action_of(analysis, codelet, &ways);
            found.push(ActionPath { ways, action });
            continue;
        };
        let Some(branch) = analysis.branches.get(id) else { continue };
        if !branch.around.iter().all(|way| may_go(&ways, *way)) {
            open.push((at + 1, ways));
            continue;
        }
        // Ways that no operation of the action depends on count as one.
        let is_asked_for = |way: usize| {
            codelet.operations.iter().any(|op| ways_of(&analysis.operations, *op).contains(&(id, way)))
        };
        let (asked, others): (Vec<usize>, Vec<usize>) =
            (0..branch.n_ways).partition(|way| is_asked_for(*way));
        let groups =
            asked.into_iter().map(|way| vec![way]).chain(Some(others).filter(|others| !others.is_empty()));
        // `open` is a stack, so push in reverse order.
        for group in groups.collect::<Vec<_>>().into_iter().rev() {
            let mut ways = ways.clone();
            ways.push((id, group));
            open.push((at + 1, ways));
        }
    }
    Some(merged(analysis, found))
}

/// Removes the last branch of paths where all its ways lead to equal actions.
fn merged(analysis: &Analysis, mut paths: Vec<ActionPath>) -> Vec<ActionPath> {
    let mut at = 0;
    while let Some(path) = paths.get(at) {
        let (Some((last, around)), action) = (path.ways.split_last(), path.action) else { break };
        let is_same = |other: &&ActionPath| {
            other.action == action
                && other.ways.split_last().is_some_and(|(l, a)| l.0 == last.0 && a == around)
        };
        let n = paths[at..].iter().take_while(is_same).count();
        let n_ways: usize =
            paths[at..at + n].iter().filter_map(|p| p.ways.last()).map(|(_, g)| g.len()).sum();
        if analysis.branches.get(last.0).is_some_and(|branch| branch.n_ways == n_ways) {
            let ways = around.to_vec();
            paths.splice(at..at + n, [ActionPath { ways, action }]);
            // Earlier paths may merge with the new one.
            at = 0;
        } else {
            at += 1;
        }
    }
    paths
}

fn ways_of(operations: &Operations, id: OperationId) -> &[Way] {
    operations.get(id).map_or(&[], |operation| &operation.ways)
}

/// True if a packet that took `ways` can have taken this one. Ways that are not distinguished count as possible.
fn may_go(ways: &[Ways], (branch, way): Way) -> bool {
    ways.iter().find(|(id, _)| *id == branch).is_none_or(|(_, group)| group.as_slice() == [way])
}

fn action_of(analysis: &Analysis, codelet: &Codelet, ways: &[Ways]) -> Option<Action> {
    let operations = &analysis.operations;
    // An operation runs only if the path takes all its ways; a branch that the path does not reach has none.
    let happens = |id: &OperationId| {
        ways_of(operations, *id)
            .iter()
            .all(|way| ways.iter().any(|(b, group)| (*b, group.as_slice()) == (way.0, &[way.1])))
    };
    let active: Vec<OperationId> = codelet.operations.iter().copied().filter(happens).collect();
    let is_any = |wanted: fn(Kind) -> bool| {
        active.iter().any(|id| operations.get(*id).is_some_and(|o| wanted(o.kind)))
    };
    if !is_any(|kind| kind.state().is_some()) {
        return None;
    }
    let cycles = longest_of(operations, &active).1.max(1);
    // A branch on the state needs the state until it is decided.
    let asks_state = ways
        .iter()
        .filter_map(|(id, _)| analysis.branches.get(*id))
        .any(|branch| branch.made_of.iter().any(|id| codelet.operations.binary_search(id).is_ok()));
    let writes = is_any(|kind| matches!(kind, Kind::Write(_) | Kind::Update(_)));
    Some(if writes || asks_state { Action::new(cycles) } else { Action::read_only(cycles) })
}
