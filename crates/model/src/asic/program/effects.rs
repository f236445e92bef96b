//! The leaves that code reads and writes, and what it takes to compute.

use super::tables::bits;
use arch::ExternOp;
use diagnostics::Span;
use ir::layout::Layout;
use ir::leaf_set::LeafSet;
use ir::lookup::{get, index};
use ir::{
    Access, Arg, BinaryOp, Expr, ExprKind, Graph, NodeId, ObjectId, Place, ProcedureId, ProcedureKind,
    Program, Scope, Stmt, StmtKind, TerminatorKind, VarId,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// The part of a node's needs that follows from its code.
#[derive(Clone, Debug)]
pub struct Effects {
    pub reads: LeafSet,
    pub writes: LeafSet,
    pub objects: Vec<ObjectId>,
    /// Steps one after the other; at least 1.
    pub depth: u32,
    /// Values that hash units compute: hashes, and indices of memories that are neither constant nor action data.
    pub n_hashes: u64,
    pub hash_bits: u64,
}

impl Effects {
    pub fn none(n_leaves: usize) -> Effects {
        Effects {
            reads: LeafSet::none(n_leaves),
            writes: LeafSet::none(n_leaves),
            objects: Vec::new(),
            depth: 1,
            n_hashes: 0,
            hash_bits: 0,
        }
    }

    /// Adds code that runs at the same time or in its place.
    pub fn join(&mut self, other: &Effects) {
        self.reads.union(&other.reads);
        self.writes.union(&other.writes);
        for object in &other.objects {
            if !self.objects.contains(object) {
                self.objects.push(*object);
            }
        }
        self.depth = self.depth.max(other.depth);
        self.n_hashes = self.n_hashes.max(other.n_hashes);
        self.hash_bits = self.hash_bits.max(other.hash_bits);
    }
}

/// Leaves by place.
pub struct Leaves<'p> {
    pub program: &'p Program,
    pub layout: Layout,
}

impl<'p> Leaves<'p> {
    pub fn new(program: &'p Program) -> Leaves<'p> {
        Leaves { program, layout: Layout::new(program) }
    }

    pub fn none(&self) -> LeafSet {
        LeafSet::none(self.layout.n_leaves())
    }

    pub fn extent(&self, place: &Place) -> Range<usize> {
        self.layout.place(self.program, place).leaves
    }

    pub fn reads(&self, e: &Expr) -> LeafSet {
        let mut set = self.none();
        e.for_each_read(&mut |place| set.insert(self.extent(place)));
        set
    }

    /// True for code that needs nothing of the chip: marks, and what only software does.
    pub fn is_free(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => true,
            StmtKind::Assign { .. } => false,
            StmtKind::Extern { op, .. } => matches!(
                op,
                ExternOp::AsyncBegin
                    | ExternOp::AsyncEnd
                    | ExternOp::AtomicBegin
                    | ExternOp::AtomicEnd
                    | ExternOp::EmitBegin
                    | ExternOp::Rebuild
                    | ExternOp::LogMessage
                    | ExternOp::Assert
                    | ExternOp::Assume
            ),
        }
    }

    pub fn stmt(&self, stmt: &Stmt) -> Effects {
        let mut effects = Effects::none(self.layout.n_leaves());
        stmt.for_each_access(&mut |access, place| match access {
            Access::Read => effects.reads.insert(self.extent(place)),
            Access::Write | Access::MayWrite => effects.writes.insert(self.extent(place)),
        });
        match &stmt.kind {
            StmtKind::Assign { value, .. } => effects.depth = steps(value).max(1),
            StmtKind::Extern { op, object, args, result, .. } => {
                let deepest = args.iter().map(|arg| match arg {
                    Arg::In(e) => steps(e),
                    Arg::Fields(fields) => fields.iter().map(steps).max().unwrap_or(0),
                    Arg::Ref(_) | Arg::Str(_) | Arg::Table { .. } | Arg::Absent => 0,
                });
                effects.depth = 1 + deepest.max().unwrap_or(0);
                let index = args.iter().find_map(|arg| match arg {
                    Arg::In(e) => Some(e),
                    _ => None,
                });
                if is_hash(*op) {
                    effects.n_hashes = 1;
                    let out = args.iter().find_map(|arg| match arg {
                        Arg::Ref(place) => self.program.place_type(place),
                        _ => None,
                    });
                    let ty = result.as_ref().and_then(|place| self.program.place_type(place)).or(out);
                    effects.hash_bits = ty.and_then(|ty| ty.width_bits()).map_or(16, u64::from);
                }
                let object = object.and_then(|id| Some((id, get(&self.program.objects, id)?)));
                if let Some((id, found)) = object {
                    let is_unknown = *op == ExternOp::User;
                    effects.objects.extend(if is_unknown {
                        memory_of(self.program, id)
                    } else {
                        has_memory(*op).then_some(id)
                    });
                    if let (Some(index), false) = (index, effects.objects.is_empty()) {
                        // Constants and action data come with the entry, fields through a hash unit.
                        effects.hash_bits = self.field_bits(index);
                        effects.n_hashes = u64::from(effects.hash_bits > 0);
                    }
                    if is_unknown && found.type_name.starts_with("Hash") {
                        effects.n_hashes = 1;
                        let ty = result.as_ref().and_then(|place| self.program.place_type(place));
                        effects.hash_bits = ty.and_then(|ty| ty.width_bits()).map_or(16, u64::from);
                    }
                }
            }
            StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => {}
        }
        effects
    }

    /// Bits of the fields that an expression reads, each field once, without those of actions.
    pub fn field_bits(&self, e: &Expr) -> u64 {
        let mut widths: BTreeMap<usize, u64> = BTreeMap::new();
        e.for_each_read(&mut |place| {
            if !is_of_action(self.program, place.var) {
                let width = self.program.place_type(place).map_or(1, |ty| bits(self.program, &ty));
                let slot = widths.entry(self.extent(place).start).or_default();
                *slot = (*slot).max(width);
            }
        });
        widths.into_values().sum()
    }

    /// The part that an assignment without operations plays.
    pub fn transfer(&self, stmt: &Stmt) -> Transfer {
        let StmtKind::Assign { place, value } = &stmt.kind else { return Transfer::None };
        if steps(value) > 0 {
            return Transfer::None;
        }
        let mut is_result = false;
        value.for_each_read(&mut |source| is_result |= self.program.is_temporary(source.var));
        match (self.program.is_temporary(place.var), is_result) {
            (true, _) => Transfer::Copy,
            (false, true) => Transfer::Result,
            (false, false) => Transfer::None,
        }
    }

    /// An action's effects without its data and its own variables.
    pub fn action(&self, id: ProcedureId) -> Effects {
        let mut effects = Effects::none(self.layout.n_leaves());
        let Some(procedure) = get(&self.program.procedures, id) else { return effects };
        let mut items = Vec::new();
        let (mut n_hashes, mut hash_bits) = (0, 0);
        for node in in_order(&procedure.graph) {
            let node = &procedure.graph.nodes[node];
            for stmt in node.stmts.iter().filter(|stmt| !self.is_free(stmt)) {
                let own = self.stmt(stmt);
                effects.join(&Effects { depth: 1, ..own.clone() });
                n_hashes += own.n_hashes;
                hash_bits += own.hash_bits;
                items.push(Item::Stmt { effects: own, transfer: self.transfer(stmt) });
            }
            if let TerminatorKind::Branch { condition: e, .. } | TerminatorKind::Switch { subject: e, .. } =
                &node.terminator.kind
            {
                let reads = self.reads(e);
                effects.reads.union(&reads);
                items.push(Item::Condition(reads));
            }
        }
        (effects.n_hashes, effects.hash_bits) = (n_hashes, hash_bits);
        effects.depth = levels(&items).into_iter().map(|(first, n)| first + n).max().unwrap_or(1).max(1);
        for (id, _) in self.program.variables.iter() {
            if is_of_action(self.program, id) {
                effects.reads.remove(self.layout.variable(id));
                effects.writes.remove(self.layout.variable(id));
            }
        }
        effects
    }
}

/// The part that an assignment plays which computes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// It computes something, or sets a field.
    None,
    /// To a temporary: later code can read the origin.
    Copy,
    /// From a temporary: what computes it can write to the destination at once.
    Result,
}

/// A step of a sequence of code.
pub enum Item {
    Stmt {
        effects: Effects,
        transfer: Transfer,
    },
    /// Everything behind it waits for the leaves that it reads.
    Condition(LeafSet),
}

/// For each item the steps before it and its own: a statement comes after those whose results it needs. From the first
/// to the last access to a memory, everything is one operation of the memory's unit.
pub fn levels(items: &[Item]) -> Vec<(u32, u32)> {
    let mut ranges: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (i, item) in items.iter().enumerate() {
        let Item::Stmt { effects, .. } = item else { continue };
        for object in &effects.objects {
            ranges.entry(index(*object)).or_insert((i, i)).1 = i;
        }
    }
    let is_one = |i: usize, j: usize| ranges.values().any(|(first, last)| *first <= i && j <= *last);
    let mut floor = 0;
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let end = |j: usize, found: &[(u32, u32)]| match &items[j] {
            Item::Stmt { transfer: Transfer::Copy, .. } => found[j].0,
            Item::Stmt { .. } if !is_one(j, i) => found[j].0 + found[j].1,
            Item::Stmt { .. } | Item::Condition(_) => found[j].0,
        };
        let writes_of = |j: usize| match &items[j] {
            Item::Stmt { effects, .. } => Some(effects),
            Item::Condition(_) => None,
        };
        let mut first = floor;
        let mut n = 0;
        match item {
            Item::Condition(reads) => {
                for j in (0..i).filter(|j| writes_of(*j).is_some_and(|e| e.writes.meets(reads))) {
                    floor = floor.max(end(j, &found));
                }
            }
            Item::Stmt { effects, transfer } => {
                for j in 0..i {
                    let Some(before) = writes_of(j) else { continue };
                    if before.writes.meets(&effects.reads) {
                        let end = end(j, &found);
                        first = first.max(match transfer {
                            Transfer::Result => end.saturating_sub(1).max(found[j].0),
                            Transfer::Copy | Transfer::None => end,
                        });
                    } else if before.writes.meets(&effects.writes) || before.reads.meets(&effects.writes) {
                        first = first.max(found[j].0);
                    }
                }
                n = if effects.objects.is_empty() && !is_one(i, i) { effects.depth } else { 1 };
            }
        }
        found.push((first, n));
    }
    found
}

/// The nodes that are reached, each after those before it.
pub fn in_order(graph: &Graph) -> Vec<NodeId> {
    let mut is_seen = vec![false; graph.nodes.len()];
    let mut order = Vec::new();
    let mut stack = vec![(graph.entry, graph.nodes[graph.entry].terminator.kind.successors())];
    is_seen[index(graph.entry)] = true;
    while let Some((node, next)) = stack.last_mut() {
        match next.pop() {
            Some(to) => {
                if !std::mem::replace(&mut is_seen[index(to)], true) {
                    stack.push((to, graph.nodes[to].terminator.kind.successors()));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The action that each statement of an action belongs to, by the places of statements in the source. Actions that other actions
/// call belong to these.
pub fn actions_of_statements(program: &Program) -> BTreeMap<Span, usize> {
    let actions = || program.procedures.iter().filter(|(_, p)| p.kind == ProcedureKind::Action);
    let mut callers: BTreeMap<usize, usize> = BTreeMap::new();
    for (caller, procedure) in actions() {
        for (_, node) in procedure.graph.nodes.iter() {
            if let TerminatorKind::Call { procedure, .. } = node.terminator.kind {
                callers.insert(index(procedure), index(caller));
            }
        }
    }
    let mut found = BTreeMap::new();
    for (action, procedure) in actions() {
        let mut outermost = index(action);
        // Actions do not call themselves.
        while let Some(caller) = callers.get(&outermost) {
            outermost = *caller;
        }
        for stmt in procedure.graph.nodes.iter().flat_map(|(_, node)| &node.stmts) {
            found.insert(stmt.span, outermost);
        }
    }
    found
}

/// True for action data and other variables of an action.
pub fn is_of_action(program: &Program, id: VarId) -> bool {
    get(&program.variables, id).is_some_and(|variable| {
        matches!(variable.scope, Scope::Procedure(owner)
            if get(&program.procedures, owner).is_some_and(|p| p.kind == ProcedureKind::Action))
    })
}

fn is_hash(op: ExternOp) -> bool {
    matches!(op, ExternOp::Hash | ExternOp::HashRaw | ExternOp::HashContinue | ExternOp::HashOfObject)
}

/// True for operations on a memory with an index. Those of the entry's own place are part of the table.
fn has_memory(op: ExternOp) -> bool {
    matches!(
        op,
        ExternOp::CounterCount
            | ExternOp::CounterAdd
            | ExternOp::MeterExecute
            | ExternOp::MeterColour
            | ExternOp::RegisterRead
            | ExternOp::RegisterGet
            | ExternOp::RegisterWrite
    )
}

/// The memory that an extern of an unknown architecture works on, by the names that are usual: the object itself, or the register
/// that an action on registers is made for.
fn memory_of(program: &Program, id: ObjectId) -> Option<ObjectId> {
    let object = get(&program.objects, id)?;
    let name = object.type_name.as_str();
    if name.contains("Direct") {
        return None;
    }
    if name.contains("Action") {
        return object.args.iter().find_map(|(_, arg)| match arg {
            ir::Constant::Object(register) => memory_of(program, *register),
            _ => None,
        });
    }
    ["Register", "Counter", "Meter"].into_iter().any(|word| name.contains(word)).then_some(id)
}

/// Operations one after the other that a value takes. Casts, slices and concatenations are wires.
pub fn steps(e: &Expr) -> u32 {
    fold(e, &|kind, operands| match kind {
        ExprKind::Unary(..) | ExprKind::Mux(..) | ExprKind::SliceAt { .. } => 1 + operands,
        ExprKind::Binary(BinaryOp::Concat, ..) => operands,
        ExprKind::Binary(..) => 1 + operands,
        ExprKind::Const(_)
        | ExprKind::Read(_)
        | ExprKind::PacketLength
        | ExprKind::Cast(_)
        | ExprKind::Slice { .. } => operands,
    })
}

/// Operations before a condition can be decided: comparisons and masks are its own.
pub fn steps_of_condition(e: &Expr) -> u32 {
    fold(e, &|kind, operands| match kind {
        ExprKind::Binary(op, lhs, rhs) => match op {
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Concat => operands,
            BinaryOp::BitAnd if lhs.as_const().is_some() || rhs.as_const().is_some() => operands,
            _ => 1 + operands,
        },
        ExprKind::Mux(..) | ExprKind::SliceAt { .. } => 1 + operands,
        _ => operands,
    })
}

/// Applies a function to every part of an expression; it gets the largest result of the operands.
fn fold(e: &Expr, f: &dyn Fn(&ExprKind, u32) -> u32) -> u32 {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let operands = match &e.kind {
            ExprKind::Const(_) | ExprKind::Read(_) | ExprKind::PacketLength => 0,
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Slice { value: a, .. } => fold(a, f),
            ExprKind::Binary(_, a, b) | ExprKind::SliceAt { value: a, lo: b } => fold(a, f).max(fold(b, f)),
            ExprKind::Mux(a, b, c) => fold(a, f).max(fold(b, f)).max(fold(c, f)),
        };
        f(&e.kind, operands)
    })
}
