//! Codelets: the operations between a read and a write of state.

use super::atom::{Atom, NoAtom};
use super::costs::Costs;
use super::fields::KeySource;
use super::operations::{Kind, OperationId, Operations, State};
use crate::config::Action;
use crate::traffic::Field;
use diagnostics::Span;
use ir::Program;
use ir::lookup::{get, index};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Operations that have to be one action: the next packet of the same state must not come between them.
#[derive(Clone, Debug)]
pub struct Codelet {
    pub kind: CodeletKind,
    /// The states that it reads and writes, with their names.
    pub objects: Vec<(State, SmolStr)>,
    /// Everything in it, in the order of the program.
    pub operations: Vec<OperationId>,
    /// The longest path from a read to a write.
    pub steps: Vec<Step>,
    /// Cycles from a read to the last write; at least 1.
    pub cycles: u32,
    pub key: KeySource,
    /// The smallest atom of a pipeline with one stateful operation per stage that does it.
    /// If an atomic block joins several parts, this is the largest atom of the parts: packets stay in order in a
    /// pipeline, so parts in successive stages act like one step.
    pub atom: Result<Atom, NoAtom>,
    /// The parts into which it falls without blocks marked `@atomic`; empty if that makes no difference.
    pub parts: Vec<Part>,
    /// Blocks that join the parts: indexes into [`Analysis::atomic_blocks`].
    ///
    /// [`Analysis::atomic_blocks`]: super::Analysis::atomic_blocks
    pub atomic: Vec<usize>,
    /// Span of the first read or write.
    pub span: Span,
}

/// An action that an atomic block joins with others.
#[derive(Clone, Debug)]
pub struct Part {
    pub objects: Vec<(State, SmolStr)>,
    pub cycles: u32,
    pub atom: Result<Atom, NoAtom>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeletKind {
    /// Nothing writes the state: no packet has to wait.
    ReadOnly,
    /// Nothing reads the state: the last write wins.
    WriteOnly,
    ReadModifyWrite,
    /// A table is looked up, and a missing entry is added to it.
    AddOnMiss,
    /// A counter or a meter of the architecture.
    BuiltIn,
}

/// An operation on the longest path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub operation: OperationId,
    pub cycles: u32,
}

impl Codelet {
    /// Returns the action that a simulation runs for this codelet.
    pub fn action(&self) -> Action {
        match self.kind {
            CodeletKind::ReadOnly => Action::read_only(self.cycles),
            CodeletKind::WriteOnly
            | CodeletKind::ReadModifyWrite
            | CodeletKind::AddOnMiss
            | CodeletKind::BuiltIn => Action::new(self.cycles),
        }
    }
}

pub(super) fn codelets(
    program: &Program,
    operations: &Operations,
    costs: &Costs,
    known: &dyn Fn(OperationId) -> Option<Field>,
) -> Vec<Codelet> {
    let apart = of_circles(program, operations, costs, known, circles(operations, Grouping::ByValues));
    if operations.all.iter().all(|operation| operation.atomic.is_none()) {
        return apart;
    }
    let mut all = of_circles(program, operations, costs, known, circles(operations, Grouping::ByBlocks));
    for codelet in &mut all {
        let is_part = |part: &&Codelet| part.operations.iter().any(|id| codelet.operations.contains(id));
        let parts: Vec<&Codelet> = apart.iter().filter(is_part).collect();
        if parts.len() < 2 {
            continue;
        }
        codelet.atom = parts.iter().try_fold(Atom::ReadWrite, |most, part| Ok(most.max(part.atom?)));
        codelet.parts = parts
            .iter()
            .map(|part| Part { objects: part.objects.clone(), cycles: part.cycles, atom: part.atom })
            .collect();
        codelet.atomic = codelet.operations.iter().filter_map(|id| operations.all[*id].atomic).collect();
        codelet.atomic.sort_unstable();
        codelet.atomic.dedup();
    }
    all
}

fn of_circles(
    program: &Program,
    operations: &Operations,
    costs: &Costs,
    known: &dyn Fn(OperationId) -> Option<Field>,
    circles: Vec<Vec<OperationId>>,
) -> Vec<Codelet> {
    let mut found = Vec::new();
    for circle in circles {
        let stateful: Vec<OperationId> =
            circle.iter().copied().filter(|id| operations.all[*id].kind.state().is_some()).collect();
        let Some(first) = stateful.first() else { continue };
        let mut objects: Vec<(State, SmolStr)> = stateful
            .iter()
            .filter_map(|id| operations.all[*id].kind.state())
            .map(|state| {
                let name = match state {
                    State::Object(id) => get(&program.objects, id).map(|o| o.name.clone()),
                    State::Table(id) => get(&program.tables, id).map(|t| t.name.clone()),
                };
                (state, name.unwrap_or("?".into()))
            })
            .collect();
        objects.sort_unstable_by_key(|(state, _)| match state {
            State::Object(id) => (0, index(*id)),
            State::Table(id) => (1, index(*id)),
        });
        objects.dedup();
        let has = |wanted: fn(Kind) -> bool| stateful.iter().any(|id| wanted(operations.all[*id].kind));
        let kind = if has(|kind| matches!(kind.state(), Some(State::Table(_)))) {
            CodeletKind::AddOnMiss
        } else if !has(|kind| !matches!(kind, Kind::Update(_))) {
            CodeletKind::BuiltIn
        } else {
            match (has(|k| matches!(k, Kind::Read(_))), has(|k| matches!(k, Kind::Write(_)))) {
                (true, false) => CodeletKind::ReadOnly,
                (false, _) if !has(|k| matches!(k, Kind::Update(_))) => CodeletKind::WriteOnly,
                (_, _) => CodeletKind::ReadModifyWrite,
            }
        };
        let (steps, cycles) = longest_of(operations, &circle);
        let span = operations.all[*first].span;
        found.push(Codelet {
            kind,
            atom: Atom::of(operations, &circle, objects.len(), costs),
            key: shared_key(operations, known, &stateful),
            cycles: cycles.max(1),
            objects,
            operations: circle,
            steps,
            parts: Vec::new(),
            atomic: Vec::new(),
            span,
        });
    }
    found
}

/// The rule by which operations form one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grouping {
    /// They depend on each other.
    ByValues,
    /// They depend on each other, or one block marked `@atomic` encloses them.
    ByBlocks,
}

/// Operations that depend on each other, through the state of the next packet: strongly connected components, by
/// Tarjan's algorithm without recursion. Each is in ascending order, and they come in the order of their first.
fn circles(operations: &Operations, grouping: Grouping) -> Vec<Vec<OperationId>> {
    let n = operations.all.len();
    // Accesses of one state form one component: each gets an arrow to the next, and back.
    let mut of_state: FxHashMap<State, Vec<OperationId>> = FxHashMap::default();
    for (id, operation) in operations.all.iter().enumerate() {
        if let Some(state) = operation.kind.state() {
            of_state.entry(state).or_default().push(id);
        }
    }
    let mut of_block: FxHashMap<usize, Vec<OperationId>> = FxHashMap::default();
    for (id, operation) in operations.all.iter().enumerate() {
        if let (Grouping::ByBlocks, Some(block), Some(state)) =
            (grouping, operation.atomic, operation.kind.state())
        {
            let accesses = of_state.get(&state).into_iter().flatten();
            // A state that nothing writes is the same before and after the block.
            if accesses.into_iter().any(|id| !matches!(operations.all[*id].kind, Kind::Read(_))) {
                of_block.entry(block).or_default().push(id);
            }
        }
    }
    let mut arrows: Vec<Vec<OperationId>> = (0..n).map(|id| operations.needs(id).collect()).collect();
    for group in of_state.values().chain(of_block.values()) {
        for pair in group.windows(2) {
            if let [one, other] = *pair {
                arrows[one].push(other);
                arrows[other].push(one);
            }
        }
    }
    const UNSEEN: usize = usize::MAX;
    let (mut number, mut lowest) = (vec![UNSEEN; n], vec![0; n]);
    let (mut on_stack, mut stack, mut found) = (vec![false; n], Vec::new(), Vec::new());
    let mut next_number = 0;
    for root in 0..n {
        if number[root] != UNSEEN {
            continue;
        }
        let mut calls = vec![(root, 0)];
        while let Some((id, at)) = calls.pop() {
            if at == 0 {
                (number[id], lowest[id]) = (next_number, next_number);
                next_number += 1;
                on_stack[id] = true;
                stack.push(id);
            }
            if let Some(&to) = arrows[id].get(at) {
                calls.push((id, at + 1));
                if number[to] == UNSEEN {
                    calls.push((to, 0));
                } else if on_stack[to] {
                    lowest[id] = lowest[id].min(number[to]);
                }
                continue;
            }
            if lowest[id] == number[id] {
                let mut circle = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    circle.push(member);
                    if member == id {
                        break;
                    }
                }
                circle.sort_unstable();
                found.push(circle);
            }
            if let Some((caller, _)) = calls.last() {
                lowest[*caller] = lowest[*caller].min(lowest[id]);
            }
        }
    }
    found.sort_unstable_by_key(|circle| circle.first().copied());
    found
}

/// Returns the most expensive path through the operations of a component, in the order of the program, and its cycles.
/// Inputs from outside the component cost nothing.
pub(super) fn longest_of(operations: &Operations, circle: &[OperationId]) -> (Vec<Step>, u32) {
    let mut best: FxHashMap<OperationId, (u32, Option<OperationId>)> = FxHashMap::default();
    for id in circle {
        let before = operations
            .needs(*id)
            .filter_map(|need| best.get(&need).map(|(cycles, _)| (*cycles, need)))
            .max_by_key(|(cycles, need)| (*cycles, std::cmp::Reverse(*need)));
        let cycles = operations.all[*id].cycles;
        let (so_far, from) = before.map_or((0, None), |(so_far, need)| (so_far, Some(need)));
        best.insert(*id, (so_far.saturating_add(cycles), from));
    }
    let Some((last, (cycles, _))) =
        best.iter().max_by_key(|(id, (cycles, _))| (*cycles, **id)).map(|(id, b)| (*id, *b))
    else {
        return (Vec::new(), 0);
    };
    let mut steps = Vec::new();
    let mut at = Some(last);
    while let Some(id) = at {
        steps.push(Step { operation: id, cycles: operations.all[id].cycles });
        at = best.get(&id).and_then(|(_, from)| *from);
    }
    steps.reverse();
    (steps, cycles)
}

/// Returns the part of the key that all accesses share: a lock must separate packets that can meet in any of them.
fn shared_key(
    operations: &Operations,
    known: &dyn Fn(OperationId) -> Option<Field>,
    stateful: &[OperationId],
) -> KeySource {
    let mut all = stateful.iter().map(|id| KeySource::of(operations, known, &operations.all[*id].index));
    let mut shared = all.next().unwrap_or_default();
    for other in all {
        shared.fields.retain(|field| other.fields.contains(field));
        shared.names.retain(|name| other.names.contains(name));
        shared.unknown.retain(|name| other.unknown.contains(name));
        shared.is_hashed |= other.is_hashed;
        shared.is_looked_up |= other.is_looked_up;
    }
    shared
}
