//! Where each variable lives in C: in the packet's state, in the locals of a block that its procedures see, in a
//! function, or as a parameter of an action.

use crate::facts::calls::Calls;
use crate::text::names::{Unique, path, variable as variable_name};
use crate::text::types::{Repr, repr};
use ir::lookup::{get, id_at, index};
use ir::visit::Access;
use ir::{BlockId, Graph, NodeId, ProcedureId, ProcedureKind, Program, Scope, VarId};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// A block or a procedure: the owner of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Owner {
    Block(BlockId),
    Procedure(ProcedureId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StorageClass {
    /// `s->name`
    State,
    /// `l->name`
    Locals(BlockId),
    /// A variable of one function.
    Function(Owner),
    /// A parameter of an action that only tables call.
    Param(ProcedureId),
}

#[derive(Debug)]
pub(crate) struct Storage {
    storage: Vec<StorageClass>,
    names: Vec<String>,
}

impl Storage {
    /// With `visible` all variables are in the state or in the locals, where a host can read them.
    pub(crate) fn new(program: &Program, calls: &Calls, visible: bool) -> Storage {
        let users = users(program);
        let mut storage = Vec::new();
        for (id, variable) in program.variables.iter() {
            let block = match variable.scope {
                Scope::Pipeline(_) => None,
                Scope::Block(block) => Some(block),
                Scope::Procedure(p) => get(&program.procedures, p).map(|p| p.block),
            };
            let Some(block) = block else {
                storage.push(StorageClass::State);
                continue;
            };
            let users: Vec<Owner> = users[index(id)].iter().copied().collect();
            storage.push(match users.as_slice() {
                _ if visible => StorageClass::Locals(block),
                [] | [Owner::Procedure(_)] if is_action_data(program, calls, id, &users) => {
                    match variable.scope {
                        Scope::Procedure(p) => StorageClass::Param(p),
                        _ => StorageClass::Locals(block),
                    }
                }
                [Owner::Block(b)] => StorageClass::Function(Owner::Block(*b)),
                [Owner::Procedure(p)] if !is_parameter(program, id) && is_assigned_first(program, *p, id) => {
                    StorageClass::Function(Owner::Procedure(*p))
                }
                _ => StorageClass::Locals(block),
            });
        }
        let names = names(program, &storage);
        Storage { storage, names }
    }

    pub(crate) fn class(&self, id: VarId) -> &StorageClass {
        &self.storage[index(id)]
    }

    pub(crate) fn name(&self, id: VarId) -> &str {
        &self.names[index(id)]
    }

    /// In C.
    pub(crate) fn path(&self, id: VarId) -> String {
        match self.class(id) {
            StorageClass::State => format!("s->{}", self.name(id)),
            StorageClass::Locals(_) => format!("l->{}", self.name(id)),
            StorageClass::Function(_) | StorageClass::Param(_) => self.name(id).to_string(),
        }
    }

    pub(crate) fn with(&self, wanted: impl Fn(&StorageClass) -> bool) -> Vec<VarId> {
        (0..self.storage.len()).filter(|i| wanted(&self.storage[*i])).map(id_at).collect()
    }

    pub(crate) fn has_locals(&self, block: BlockId) -> bool {
        self.storage.contains(&StorageClass::Locals(block))
    }
}

fn names(program: &Program, storage: &[StorageClass]) -> Vec<String> {
    // One name for all that may meet in one function or struct: those of a block.
    let mut state = Unique::default();
    let mut blocks: Vec<Unique> = program.blocks.iter().map(|_| Unique::default()).collect();
    let mut names = Vec::new();
    for ((_, variable), home) in program.variables.iter().zip(storage) {
        let own = match variable.name.strip_prefix('$') {
            Some(number) => format!("tmp_{}", path(number)),
            None => variable_name(&variable.name),
        };
        let block = match variable.scope {
            Scope::Pipeline(_) => None,
            Scope::Block(block) => Some(block),
            Scope::Procedure(p) => get(&program.procedures, p).map(|p| p.block),
        };
        let unique = match block.and_then(|b| blocks.get_mut(index(b))) {
            Some(unique) => unique,
            None => &mut state,
        };
        names.push(match (home, variable.scope) {
            // Actions have their parameters to themselves.
            (StorageClass::Param(_), _) => own,
            (StorageClass::Locals(_), Scope::Procedure(p)) => {
                let procedure = get(&program.procedures, p).map_or("", |p| p.name.as_str());
                let last = procedure.rsplit('.').next().unwrap_or("");
                unique.take(format!("{}__{own}", path(last)))
            }
            _ => unique.take(own),
        });
    }
    // Parameters of one action differ from each other.
    for (_, procedure) in program.procedures.iter() {
        let mut unique = Unique::default();
        for param in &procedure.params {
            if matches!(storage[index(*param)], StorageClass::Param(_)) {
                let name = unique.take(names[index(*param)].clone());
                names[index(*param)] = name;
            }
        }
    }
    names
}

fn is_parameter(program: &Program, id: VarId) -> bool {
    match program.variables[id].scope {
        Scope::Procedure(p) => get(&program.procedures, p).is_some_and(|p| p.params.contains(&id)),
        Scope::Pipeline(_) | Scope::Block(_) => false,
    }
}

/// A single value that only entries of tables assign, and only the action reads.
fn is_action_data(program: &Program, calls: &Calls, id: VarId, users: &[Owner]) -> bool {
    let Scope::Procedure(p) = program.variables[id].scope else { return false };
    let Some(procedure) = get(&program.procedures, p) else { return false };
    let is_int = matches!(repr(&program.variables[id].ty), Some(Repr::Int(_)));
    procedure.kind == ProcedureKind::Action
        && procedure.params.contains(&id)
        && is_int
        && users.iter().all(|user| *user == Owner::Procedure(p))
        && !calls.is_called(p)
}

pub(crate) fn graphs(program: &Program) -> impl Iterator<Item = (Owner, &Graph)> {
    let blocks = program.blocks.iter().map(|(id, b)| (Owner::Block(id), &b.graph));
    blocks.chain(program.procedures.iter().map(|(id, p)| (Owner::Procedure(id), &p.graph)))
}

/// The graphs that name each variable.
pub(crate) fn users(program: &Program) -> Vec<BTreeSet<Owner>> {
    let mut users = vec![BTreeSet::new(); program.variables.len()];
    for (owner, graph) in graphs(program) {
        let mut note = |_: Access, place: &ir::Place| {
            users[index(place.var)].insert(owner);
        };
        for (_, node) in graph.nodes.iter() {
            node.stmts.iter().for_each(|stmt| stmt.for_each_access(&mut note));
            node.terminator.kind.for_each_access(&mut note);
        }
        // Parser operations that fail set the error, and a parser that rejects reports it.
        let block = match owner {
            Owner::Block(block) => Some(block),
            Owner::Procedure(p) => get(&program.procedures, p).map(|p| p.block),
        };
        let error = block.and_then(|b| get(&program.blocks, b)).and_then(|b| b.error);
        if let Some(error) = error {
            users[index(error)].insert(owner);
        }
    }
    // Tables assign the parameters of their actions, also where the code of an action does not name them.
    for (_, table) in program.tables.iter() {
        for action in &table.actions {
            let params = get(&program.procedures, action.procedure).map(|p| p.params.as_slice());
            for param in params.unwrap_or_default() {
                users[index(*param)].insert(Owner::Procedure(action.procedure));
            }
        }
    }
    users
}

/// The procedure assigns all of the variable before it reads it, each time it is called.
fn is_assigned_first(program: &Program, procedure: ProcedureId, id: VarId) -> bool {
    let graph = &program.procedures[procedure].graph;
    // Nodes that are reached before the variable is assigned.
    let mut seen: FxHashSet<NodeId> = FxHashSet::default();
    let mut stack = vec![graph.entry];
    while let Some(node) = stack.pop() {
        if !seen.insert(node) {
            continue;
        }
        let Some(node) = get(&graph.nodes, node) else { continue };
        let (mut assigned, mut read_first) = (false, false);
        let mut note = |access: Access, place: &ir::Place| {
            if place.var != id || assigned {
                return;
            }
            if access == Access::Write && place.path.is_empty() {
                assigned = true;
            } else {
                read_first = true;
            }
        };
        for stmt in &node.stmts {
            stmt.for_each_access(&mut note);
        }
        node.terminator.kind.for_each_access(&mut note);
        if read_first {
            return false;
        }
        if !assigned {
            stack.extend(node.terminator.kind.successors());
        }
    }
    true
}
