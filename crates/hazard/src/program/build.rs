//! Builds the graph of operations from control-flow graphs: branches become selections.

use super::codelet::{Codelet, codelets};
use super::costs::Costs;
use super::fields::known_field;
use super::operations::{Kind, Operation, OperationId, Operations, State};
use super::paths::{Branch, BranchId, BranchKind, Way};
use super::values::{MadeOf, Part, Parts, Path, Values, part_of, place_of};
use crate::traffic::Field;
use arch::ExternOp;
use diagnostics::Span;
use ir::lookup::{get, index};
use ir::text::Printer;
use ir::{
    Arg, BinaryOp, BlockId, Expr, ExprKind, Graph, NodeId, ObjectId, Place, ProcedureId, Program, Step, Stmt,
    StmtKind, TableId, TerminatorKind, VarId,
};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::fmt;
use std::rc::Rc;

/// Most operations of one program. Procedures are expanded at every call.
const OPERATIONS_MAX: usize = 100_000;

/// The error for a program with too many operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program has more than {OPERATIONS_MAX} operations when its calls are written out")
    }
}

impl std::error::Error for TooLarge {}

/// The stateful actions of a program.
#[derive(Clone, Debug)]
pub struct Analysis {
    pub operations: Operations,
    /// Codelets in the order in which a packet reaches them.
    pub codelets: Vec<Codelet>,
    /// True if some code repeats. The analysis visits one iteration of it.
    pub has_loops: bool,
    /// Externs that are not known, each once.
    pub unknown_externs: Vec<SmolStr>,
    /// Blocks marked `@atomic`, as often as a packet comes to them.
    pub atomic_blocks: Vec<AtomicBlock>,
    /// The branches of the program, each after those that lead to it.
    pub branches: Vec<Branch>,
}

/// Code that is one step to all other packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomicBlock {
    pub name: SmolStr,
    pub span: Span,
}

/// Finds the stateful actions of a program.
pub fn analyse(program: &Program, costs: &Costs) -> Result<Analysis, TooLarge> {
    let mut builder = Builder {
        program,
        costs: *costs,
        operations: Operations::default(),
        known: FxHashMap::default(),
        fields: FxHashMap::default(),
        values: Values::default(),
        written: Written::default(),
        has_loops: false,
        unknown_externs: Vec::new(),
        atomic: None,
        atomic_blocks: Vec::new(),
        branches: Vec::new(),
        asked: FxHashMap::default(),
        ways: Rc::default(),
        added_to: None,
        is_too_large: false,
    };
    let mut shared = Values::default();
    for (_, block) in &program.pipeline {
        builder.values = std::mem::take(&mut shared);
        shared = builder.block(*block);
        // Variables local to a block end with it.
        shared.retain(|var| {
            get(&program.variables, var).is_some_and(|v| matches!(v.scope, ir::Scope::Pipeline(_)))
        });
        if builder.is_too_large {
            return Err(TooLarge);
        }
    }
    let known = |id: OperationId| builder.known.get(&id).copied();
    let codelets = codelets(program, &builder.operations, costs, &known);
    Ok(Analysis {
        codelets,
        operations: builder.operations,
        has_loops: builder.has_loops,
        unknown_externs: builder.unknown_externs,
        atomic_blocks: builder.atomic_blocks,
        branches: builder.branches,
    })
}

/// Operations of this packet that may have written each state last.
type Written = FxHashMap<State, Vec<OperationId>>;

/// A condition on the path, and the way taken at it.
#[derive(Clone, Debug, PartialEq)]
struct Condition {
    made_of: Vec<OperationId>,
    way: Way,
}

/// The state of the analysis at one point: known values, last writes, and the conditions on the path.
#[derive(Clone, Debug)]
struct Here {
    values: Values,
    written: Written,
    conditions: Vec<Condition>,
    atomic: Option<Atomic>,
}

/// The outermost atomic block around the code being visited, and the nesting depth there.
#[derive(Clone, Copy, Debug)]
struct Atomic {
    block: usize,
    depth: u32,
}

pub(super) struct Builder<'p> {
    program: &'p Program,
    pub(super) costs: Costs,
    operations: Operations,
    known: FxHashMap<OperationId, Field>,
    fields: FxHashMap<SmolStr, OperationId>,
    values: Values,
    written: Written,
    has_loops: bool,
    unknown_externs: Vec<SmolStr>,
    atomic: Option<Atomic>,
    atomic_blocks: Vec<AtomicBlock>,
    branches: Vec<Branch>,
    /// Branches seen so far, by the operations of their conditions.
    asked: FxHashMap<Vec<OperationId>, Vec<(Expr, BranchId)>>,
    /// The ways that lead to the code being visited.
    ways: Rc<[Way]>,
    /// The table whose action is being visited, if packets may add to it: its key operations, and the lookup.
    added_to: Option<(TableId, Vec<OperationId>, OperationId)>,
    is_too_large: bool,
}

/// End of the graph of a procedure.
struct Ends {
    returned: Vec<Here>,
    exited: Vec<Here>,
}

impl Builder<'_> {
    pub(super) fn add(
        &mut self,
        kind: Kind,
        cycles: u32,
        operands: Vec<OperationId>,
        span: Span,
    ) -> OperationId {
        if self.operations.all.len() >= OPERATIONS_MAX {
            self.is_too_large = true;
            return 0;
        }
        self.operations.all.push(Operation {
            kind,
            cycles,
            operands,
            conditions: Vec::new(),
            index: Vec::new(),
            name: SmolStr::default(),
            atomic: self.atomic.map(|atomic| atomic.block),
            ways: Rc::clone(&self.ways),
            span,
        });
        self.operations.all.len() - 1
    }

    pub(super) fn field_named(&mut self, name: &str, span: Span) -> OperationId {
        if let Some(known) = self.fields.get(name) {
            return *known;
        }
        let id = self.add(Kind::Field, 0, Vec::new(), span);
        if let Some(operation) = self.operations.all.get_mut(id) {
            operation.name = name.into();
        }
        self.fields.insert(name.into(), id);
        id
    }

    /// Returns the operation for a value that comes with the packet.
    fn field(&mut self, place: &Place, span: Span) -> OperationId {
        let id = self.field_named(&Printer::new(self.program).place(place), span);
        if let Some(field) = known_field(self.program, place) {
            self.known.insert(id, field);
        }
        id
    }

    /// Returns the operations behind a read of a place: the last writes to it, to its parts, or to a whole that
    /// contains it.
    pub(super) fn read_place(&mut self, place: &Place, span: Span) -> Vec<OperationId> {
        let mut all = Vec::new();
        for step in &place.path {
            if let Step::Index(e) | Step::SliceAt { lo: e, .. } = step {
                all.extend(self.value(e, span));
            }
        }
        let part = part_of(place);
        let mut is_covered = false;
        for (path, made_of) in self.values.parts(part.0) {
            if part.1.starts_with(path) {
                is_covered = true;
                all.extend(made_of.iter().copied());
            } else if path.starts_with(&part.1) {
                all.extend(made_of.iter().copied());
            }
        }
        // A local variable starts as zero; a shared one that was not written comes with the packet.
        let is_shared = get(&self.program.variables, part.0)
            .is_some_and(|variable| matches!(variable.scope, ir::Scope::Pipeline(_)));
        if !is_covered && is_shared {
            let id = self.field(place, span);
            all.push(id);
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn write_place(&mut self, place: &Place, made_of: Vec<OperationId>, span: Span) {
        let part = part_of(place);
        let is_whole = place.is_static() && !matches!(place.path.last(), Some(Step::Slice { .. }));
        let mut made_of = made_of;
        if is_whole {
            self.values.remove(&part);
        } else {
            // The write changes an unknown part, so the earlier value contributes, too.
            made_of.extend(self.read_place(&Place { var: part.0, path: static_path(place) }, span));
            made_of.sort_unstable();
            made_of.dedup();
        }
        self.values.insert(part, made_of.into());
    }

    fn block(&mut self, id: BlockId) -> Values {
        let program = self.program;
        let Some(block) = get(&program.blocks, id) else { return Values::default() };
        let here = self.leave(&[]);
        let ends = self.graph(&block.graph, here);
        let all = ends.returned.into_iter().chain(ends.exited).collect();
        let Some(here) = self.join(all, Span::NONE) else { return Values::default() };
        self.written = here.written;
        here.values
    }

    /// Takes the state of the analysis at this point; the builder's own becomes empty.
    fn leave(&mut self, conditions: &[Condition]) -> Here {
        Here {
            values: std::mem::take(&mut self.values),
            written: std::mem::take(&mut self.written),
            conditions: conditions.to_vec(),
            atomic: self.atomic,
        }
    }

    /// Follows a graph from its beginning; code that repeats is followed once.
    fn graph(&mut self, graph: &Graph, start: Here) -> Ends {
        let order = self.order(graph);
        let mut arriving: FxHashMap<NodeId, Vec<Here>> = FxHashMap::default();
        arriving.insert(graph.entry, vec![start]);
        let mut ends = Ends { returned: Vec::new(), exited: Vec::new() };
        for id in order {
            let (Some(node), Some(from)) = (get(&graph.nodes, id), arriving.remove(&id)) else { continue };
            if self.is_too_large {
                break;
            }
            let Some(here) = self.join(from, node.terminator.span) else { continue };
            (self.values, self.written, self.atomic) = (here.values, here.written, here.atomic);
            self.go(&here.conditions);
            for stmt in &node.stmts {
                self.stmt(stmt, &here.conditions);
            }
            let span = node.terminator.span;
            let mut go = |here: Here, to: NodeId| arriving.entry(to).or_default().push(here);
            match &node.terminator.kind {
                TerminatorKind::Call { procedure, then, exit } => {
                    let atomic = self.atomic;
                    let called = self.call(*procedure, &here.conditions);
                    for (ends, to) in [(called.returned, *then), (called.exited, *exit)] {
                        if let Some(after) = self.join(ends, span) {
                            go(Here { atomic, ..after }, to);
                        }
                    }
                }
                TerminatorKind::Apply { table, keys, hit, action, then, exit } => {
                    let atomic = self.atomic;
                    let operands = self.values(&keys.iter().collect::<Vec<_>>(), span);
                    let called = self.apply(*table, operands, [hit, action], &here.conditions, span);
                    for (ends, to) in [(called.returned, *then), (called.exited, *exit)] {
                        if let Some(after) = self.join(ends, span) {
                            go(Here { atomic, ..after }, to);
                        }
                    }
                }
                TerminatorKind::Return => {
                    let end = self.leave(&here.conditions);
                    ends.returned.push(end);
                }
                TerminatorKind::Exit | TerminatorKind::Accept | TerminatorKind::Reject => {
                    let end = self.leave(&here.conditions);
                    ends.exited.push(end);
                }
                branching => {
                    let mut condition = Vec::new();
                    match branching {
                        TerminatorKind::Branch { condition: e, .. }
                        | TerminatorKind::Switch { subject: e, .. }
                        | TerminatorKind::Advance { bits: e, .. } => condition = self.value(e, span),
                        TerminatorKind::Select { keys, .. } => {
                            condition = self.values(&keys.iter().collect::<Vec<_>>(), span);
                        }
                        // Extracted values come with the packet.
                        TerminatorKind::Extract { place, .. } | TerminatorKind::Lookahead { place, .. } => {
                            self.values.remove(&part_of(place));
                        }
                        _ => {}
                    }
                    let branch = self.branch(branching, &condition, span);
                    for (way, to) in branching.successors().into_iter().enumerate() {
                        let mut conditions = here.conditions.clone();
                        if !condition.is_empty() {
                            conditions.push(Condition { made_of: condition.clone(), way: (branch, way) });
                        }
                        let (values, written) = (self.values.clone(), self.written.clone());
                        go(Here { values, written, conditions, atomic: self.atomic }, to);
                    }
                }
            }
        }
        ends
    }

    /// Returns the nodes in topological order, without back edges.
    fn order(&mut self, graph: &Graph) -> Vec<NodeId> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            No,
            Open,
            Done,
        }
        let mut seen = vec![Seen::No; graph.nodes.len()];
        let mut order = Vec::new();
        let mut left = vec![(graph.entry, false)];
        while let Some((id, is_leaving)) = left.pop() {
            let Some(node) = get(&graph.nodes, id) else { continue };
            if is_leaving {
                seen[index(id)] = Seen::Done;
                order.push(id);
                continue;
            }
            match seen[index(id)] {
                Seen::No => {}
                Seen::Open | Seen::Done => continue,
            }
            seen[index(id)] = Seen::Open;
            left.push((id, true));
            for to in node.terminator.kind.successors() {
                match seen.get(index(to)) {
                    Some(Seen::No) => left.push((to, false)),
                    Some(Seen::Open) => self.has_loops = true,
                    Some(Seen::Done) | None => {}
                }
            }
        }
        order.reverse();
        order
    }

    /// Joins several ways. Values that differ become selections by the conditions on which the ways differ.
    fn join(&mut self, mut ways: Vec<Here>, span: Span) -> Option<Here> {
        if ways.len() <= 1 {
            return ways.pop();
        }
        let first = ways.first()?;
        // Atomic blocks nest properly, so all ways agree.
        let atomic = first.atomic;
        let common: Vec<Condition> = first
            .conditions
            .iter()
            .filter(|condition| ways.iter().all(|way| way.conditions.contains(condition)))
            .cloned()
            .collect();
        self.go(&common);
        let mut deciding: Vec<OperationId> = ways
            .iter()
            .flat_map(|way| way.conditions.iter().filter(|c| !common.contains(c)))
            .flat_map(|condition| condition.made_of.iter().copied())
            .collect();
        deciding.sort_unstable();
        deciding.dedup();
        // Report the selection at the deciding condition.
        let span = deciding.last().and_then(|id| self.operations.get(*id)).map_or(span, |o| o.span);
        let values = self.join_values(&mut ways, &deciding, span);
        let mut written = Written::default();
        for (state, writers) in ways.iter().flat_map(|way| &way.written) {
            let all: &mut Vec<OperationId> = written.entry(*state).or_default();
            all.extend(writers);
            all.sort_unstable();
            all.dedup();
        }
        Some(Here { values, written, conditions: common, atomic })
    }

    fn join_values(&mut self, ways: &mut [Here], deciding: &[OperationId], span: Span) -> Values {
        let mut vars: Vec<VarId> =
            ways.iter().flat_map(|way| way.values.variables().map(|(var, _)| var)).collect();
        vars.sort_unstable();
        vars.dedup();
        let mut values = Values::default();
        for var in vars {
            let of_way = |way: &Here| way.values.variable(var).cloned();
            let each: Vec<Option<Rc<Parts>>> = ways.iter().map(of_way).collect();
            if let Some(Some(same)) = each.first()
                && each.iter().all(|other| other.as_ref().is_some_and(|other| Rc::ptr_eq(other, same)))
            {
                values.insert_variable(var, Rc::clone(same));
                continue;
            }
            let mut paths: Vec<&Path> = each.iter().flatten().flat_map(|parts| parts.keys()).collect();
            paths.sort_unstable();
            paths.dedup();
            for path in paths {
                let given = |parts: &Option<Rc<Parts>>| parts.as_ref()?.get(path).cloned();
                let given: Vec<Option<MadeOf>> = each.iter().map(given).collect();
                let part = (var, Rc::clone(path));
                if let Some(Some(same)) = given.first()
                    && given.iter().all(|other| other.as_ref() == Some(same))
                {
                    values.insert(part, Rc::clone(same));
                    continue;
                }
                let mut operands: Vec<_> =
                    given.iter().flatten().flat_map(|made_of| made_of.iter().copied()).collect();
                if given.iter().any(Option::is_none)
                    && let Some(place) = place_of(self.program, &part)
                {
                    // Ways that did not write the part keep its earlier value.
                    for (way, _) in ways.iter_mut().zip(&given).filter(|(_, made_of)| made_of.is_none()) {
                        std::mem::swap(&mut self.values, &mut way.values);
                        operands.extend(self.read_place(&place, span));
                        std::mem::swap(&mut self.values, &mut way.values);
                    }
                }
                operands.extend(deciding);
                operands.sort_unstable();
                operands.dedup();
                let made_of = if operands.is_empty() {
                    operands
                } else {
                    let cycles = self.costs.select;
                    vec![self.add(Kind::Select, cycles, operands, span)]
                };
                values.insert(part, made_of.into());
            }
        }
        values
    }

    fn call(&mut self, procedure: ProcedureId, conditions: &[Condition]) -> Ends {
        let program = self.program;
        let here = self.leave(conditions);
        match get(&program.procedures, procedure) {
            Some(procedure) if !self.is_too_large => self.graph(&procedure.graph, here),
            _ => Ends { returned: vec![here], exited: Vec::new() },
        }
    }

    fn apply(
        &mut self,
        id: TableId,
        operands: Vec<OperationId>,
        results: [&Option<Place>; 2],
        conditions: &[Condition],
        span: Span,
    ) -> Ends {
        let program = self.program;
        let Some(table) = get(&program.tables, id) else {
            return Ends { returned: vec![self.leave(conditions)], exited: Vec::new() };
        };
        // A table without a key has one outcome, which the control plane chooses.
        let is_added_to = table.actions.iter().any(|action| adds_entries(program, action.procedure));
        let found = match operands.is_empty() {
            true => Vec::new(),
            false if is_added_to => {
                let state = State::Table(id);
                let before = self.written.get(&state).cloned().unwrap_or_default();
                let lookup = self.add(Kind::Read(state), self.costs.table, before, table.span);
                self.guard(lookup, operands.clone(), &[]);
                vec![lookup]
            }
            false => {
                let cycles = self.costs.table;
                vec![self.add(Kind::Table(id), cycles, operands.clone(), table.span)]
            }
        };
        let outside = self.added_to.take();
        if let ([lookup], true) = (found.as_slice(), is_added_to) {
            self.added_to = Some((id, operands, *lookup));
        }
        let branch = self.branches.len();
        if !found.is_empty() {
            let actions = table.actions.iter().map(|action| {
                get(&program.procedures, action.procedure).map_or("?".into(), |p| last_part(&p.name))
            });
            self.branches.push(Branch {
                kind: BranchKind::Table { name: last_part(&table.name), actions: actions.collect() },
                n_ways: table.actions.len(),
                made_of: found.clone(),
                around: Rc::clone(&self.ways),
                span: table.span,
            });
        }
        for place in results.into_iter().flatten() {
            self.write_place(place, found.clone(), span);
        }
        for object in [table.direct_counter, table.direct_meter].into_iter().flatten() {
            self.direct(object, &found, conditions, table.span);
        }
        let before = self.leave(conditions);
        let mut ends = Ends { returned: Vec::new(), exited: Vec::new() };
        for (way, action) in table.actions.iter().enumerate() {
            let Some(procedure) = get(&program.procedures, action.procedure) else { continue };
            (self.values, self.written, self.atomic) =
                (before.values.clone(), before.written.clone(), before.atomic);
            for param in &procedure.params {
                self.write_place(&Place::var(*param), found.clone(), span);
            }
            let mut conditions = conditions.to_vec();
            if !found.is_empty() {
                conditions.push(Condition { made_of: found.clone(), way: (branch, way) });
            }
            let called = self.call(action.procedure, &conditions);
            ends.returned.extend(called.returned);
            ends.exited.extend(called.exited);
        }
        if table.actions.is_empty() {
            ends.returned.push(before);
        }
        self.added_to = outside;
        ends
    }

    /// Enters code under these conditions.
    fn go(&mut self, conditions: &[Condition]) {
        if !conditions.iter().map(|condition| condition.way).eq(self.ways.iter().copied()) {
            self.ways = conditions.iter().map(|condition| condition.way).collect();
        }
    }

    /// Returns the branch for a condition. A condition tested again under equal outer conditions is the same branch.
    fn branch(&mut self, kind: &TerminatorKind, made_of: &[OperationId], span: Span) -> BranchId {
        let id = self.branches.len();
        if made_of.is_empty() {
            return id;
        }
        let mut branch = Branch {
            kind: BranchKind::Cases,
            n_ways: kind.successors().len(),
            made_of: made_of.to_vec(),
            around: Rc::clone(&self.ways),
            span,
        };
        if let TerminatorKind::Branch { condition, .. } = kind {
            branch.kind = BranchKind::If { is_header: asks_for_header(self.program, condition) };
            let asked = self.asked.entry(made_of.to_vec()).or_default();
            let known = asked.iter().find(|(other, id)| {
                other == condition && self.branches.get(*id).is_some_and(|b| b.around == branch.around)
            });
            if let Some((_, known)) = known {
                return *known;
            }
            asked.push((condition.clone(), id));
        }
        self.branches.push(branch);
        id
    }

    /// Updates a direct counter or meter, which has a cell for each entry of a table.
    fn direct(&mut self, object: ObjectId, found: &[OperationId], conditions: &[Condition], span: Span) {
        let state = State::Object(object);
        if !self.written.contains_key(&state) {
            let is_meter = get(&self.program.objects, object).is_some_and(|o| o.type_name.contains("meter"));
            self.update(state, is_meter, found.to_vec(), conditions, span);
        }
    }

    fn update(
        &mut self,
        state: State,
        is_meter: bool,
        index: Vec<OperationId>,
        conditions: &[Condition],
        span: Span,
    ) -> OperationId {
        let cycles = if is_meter { self.costs.meter } else { self.costs.counter };
        let before = self.written.get(&state).cloned().unwrap_or_default();
        let id = self.add(Kind::Update(state), cycles, before, span);
        self.written.insert(state, vec![id]);
        self.guard(id, index, conditions);
        id
    }

    fn guard(&mut self, id: OperationId, index: Vec<OperationId>, conditions: &[Condition]) {
        let Some(operation) = self.operations.all.get_mut(id) else { return };
        operation.index = index;
        let mut conditions: Vec<_> =
            conditions.iter().flat_map(|condition| &condition.made_of).copied().collect();
        conditions.sort_unstable();
        conditions.dedup();
        operation.conditions = conditions;
    }

    fn stmt(&mut self, stmt: &Stmt, conditions: &[Condition]) {
        match &stmt.kind {
            StmtKind::Assign { place, value } => self.assign(place, value, stmt.span),
            StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => {}
            StmtKind::Extern { op, name, object, args, result } => {
                self.call_extern(*op, name, *object, args, result.as_ref(), conditions, stmt.span);
            }
        }
    }

    /// Assigns a value. A copy of a whole struct copies each known part.
    fn assign(&mut self, to: &Place, value: &ir::Expr, span: Span) {
        if let ir::ExprKind::Read(from) = &value.kind
            && value.ty.width_bits().is_none()
            && from.is_static()
            && to.is_static()
        {
            let (source, target) = (part_of(from), part_of(to));
            let parts: Vec<(Part, MadeOf)> = self
                .values
                .parts(source.0)
                .filter(|(path, _)| path.starts_with(&source.1))
                .map(|(path, made_of)| {
                    let path = target.1.iter().chain(&path[source.1.len()..]).copied().collect();
                    ((target.0, path), Rc::clone(made_of))
                })
                .collect();
            if !parts.is_empty() {
                self.values.remove(&target);
                parts.into_iter().for_each(|(part, made_of)| self.values.insert(part, made_of));
                return;
            }
        }
        let made_of = self.value(value, span);
        self.write_place(to, made_of, span);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a statement")]
    fn call_extern(
        &mut self,
        op: ExternOp,
        name: &SmolStr,
        object: Option<ObjectId>,
        args: &[Arg],
        result: Option<&Place>,
        conditions: &[Condition],
        span: Span,
    ) {
        let state = object.map(State::Object);
        let input = |builder: &mut Self, arg: Option<&Arg>| match arg {
            Some(Arg::In(e)) => builder.value(e, span),
            Some(Arg::Fields(fields)) => builder.values(&fields.iter().collect::<Vec<_>>(), span),
            Some(Arg::Ref(_) | Arg::Str(_) | Arg::Table { .. } | Arg::Absent) | None => Vec::new(),
        };
        let output = |arg: Option<&Arg>| match arg {
            Some(Arg::Ref(place)) => Some(place.clone()),
            _ => None,
        };
        match (op, state) {
            (ExternOp::AddEntry, _) => self.add_entry(args, result, conditions, span),
            (ExternOp::AtomicBegin, _) => self.atomic_begin(name, span),
            (ExternOp::AtomicEnd, _) => {
                self.atomic = self.atomic.filter(|a| a.depth > 1).map(|a| Atomic { depth: a.depth - 1, ..a });
            }
            (ExternOp::RegisterRead, Some(state)) => {
                let index = input(self, args.get(1));
                let id = self.read_state(state, index, span);
                if let Some(place) = output(args.first()) {
                    self.write_place(&place, vec![id], span);
                }
            }
            (ExternOp::RegisterGet, Some(state)) => {
                let index = input(self, args.first());
                let id = self.read_state(state, index, span);
                if let Some(place) = result {
                    self.write_place(place, vec![id], span);
                }
            }
            (ExternOp::RegisterWrite, Some(state)) => {
                let index = input(self, args.first());
                let operands = input(self, args.get(1));
                let cycles = self.costs.memory_write;
                let id = self.add(Kind::Write(state), cycles, operands, span);
                self.guard(id, index, conditions);
                self.written.insert(state, vec![id]);
            }
            (ExternOp::CounterCount | ExternOp::CounterAdd, Some(state)) => {
                let index = input(self, args.first());
                self.update(state, false, index, conditions, span);
            }
            // The counter belongs to a table's entry; its key was recorded where the table is applied.
            (ExternOp::DirectCounterCount, Some(_)) => {}
            (ExternOp::MeterExecute, Some(state)) => {
                let index = input(self, args.first());
                let id = self.update(state, true, index, conditions, span);
                if let Some(place) = result.cloned().or(args.iter().find_map(|arg| output(Some(arg)))) {
                    self.write_place(&place, vec![id], span);
                }
            }
            (ExternOp::DirectMeterRead, Some(state)) => {
                let made_of = self.written.get(&state).cloned().unwrap_or_default();
                if let Some(place) = result.cloned().or(args.iter().find_map(|arg| output(Some(arg)))) {
                    self.write_place(&place, made_of, span);
                }
            }
            _ => self.compute(op, name, args, result, span),
        }
    }

    /// Adds the write of a new entry to the table whose lookup missed.
    fn add_entry(&mut self, args: &[Arg], result: Option<&Place>, conditions: &[Condition], span: Span) {
        let Some((table, keys, lookup)) = self.added_to.clone() else { return };
        let mut operands = vec![lookup];
        for arg in args {
            match arg {
                Arg::In(e) => operands.extend(self.value(e, span)),
                Arg::Fields(fields) => operands.extend(self.values(&fields.iter().collect::<Vec<_>>(), span)),
                Arg::Ref(_) | Arg::Str(_) | Arg::Table { .. } | Arg::Absent => {}
            }
        }
        operands.sort_unstable();
        operands.dedup();
        let state = State::Table(table);
        let id = self.add(Kind::Write(state), self.costs.insert, operands, span);
        self.guard(id, keys, conditions);
        self.written.insert(state, vec![id]);
        if let Some(place) = result {
            self.write_place(place, vec![id], span);
        }
    }

    fn atomic_begin(&mut self, name: &SmolStr, span: Span) {
        let within = self.atomic.map(|atomic| Atomic { depth: atomic.depth + 1, ..atomic });
        self.atomic = within.or_else(|| {
            self.atomic_blocks.push(AtomicBlock { name: name.clone(), span });
            Some(Atomic { block: self.atomic_blocks.len() - 1, depth: 1 })
        });
    }

    fn read_state(&mut self, state: State, index: Vec<OperationId>, span: Span) -> OperationId {
        // The read returns an earlier write of the same packet, if there is one.
        let before = self.written.get(&state).cloned().unwrap_or_default();
        let id = self.add(Kind::Read(state), self.costs.memory_read, before, span);
        self.guard(id, index, &[]);
        id
    }

    /// Adds the operation of an extern without state, or of an unknown one.
    fn compute(&mut self, op: ExternOp, name: &SmolStr, args: &[Arg], result: Option<&Place>, span: Span) {
        let kind = match op {
            ExternOp::Hash
            | ExternOp::HashRaw
            | ExternOp::Checksum16Get
            | ExternOp::ChecksumReplace2
            | ExternOp::ChecksumReplace4
            | ExternOp::Ipv4Checksum
            | ExternOp::VerifyChecksum
            | ExternOp::UpdateChecksum
            | ExternOp::VerifyChecksumWithPayload
            | ExternOp::UpdateChecksumWithPayload => Kind::Hash,
            ExternOp::Random => Kind::Random,
            ExternOp::TimeNanoseconds => Kind::Field,
            ExternOp::SelectByDirection => Kind::Select,
            // Functions of the architecture without a result decide the packet's verdict.
            ExternOp::User if result.is_none() && arch::include_that_declares(name).is_some() => Kind::Wire,
            ExternOp::User => {
                if !self.unknown_externs.contains(name) {
                    self.unknown_externs.push(name.clone());
                }
                Kind::Call
            }
            // Verdicts and messages have no result.
            _ => Kind::Wire,
        };
        if kind == Kind::Wire {
            return;
        }
        let mut operands = Vec::new();
        let mut outputs: Vec<Place> = result.cloned().into_iter().collect();
        for arg in args {
            match arg {
                Arg::In(e) => operands.extend(self.value(e, span)),
                Arg::Fields(fields) => {
                    operands.extend(self.values(&fields.iter().collect::<Vec<_>>(), span));
                }
                Arg::Ref(place) => {
                    // A known function only writes its result.
                    if kind == Kind::Call {
                        operands.extend(self.read_place(place, span));
                    }
                    outputs.push(place.clone());
                }
                Arg::Str(_) | Arg::Table { .. } | Arg::Absent => {}
            }
        }
        operands.sort_unstable();
        operands.dedup();
        if outputs.is_empty() {
            return;
        }
        let id = match kind {
            Kind::Field => self.field_named(name, span),
            _ => self.add(kind, self.cycles_of(kind), operands, span),
        };
        outputs.iter().for_each(|place| self.write_place(place, vec![id], span));
    }
}

/// True if a procedure, or one that it calls, adds entries to the table that runs it.
fn adds_entries(program: &Program, id: ProcedureId) -> bool {
    let (mut seen, mut left) = (vec![id], vec![id]);
    while let Some(procedure) = left.pop().and_then(|id| get(&program.procedures, id)) {
        for (_, node) in procedure.graph.nodes.iter() {
            let is_add = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Extern { op: ExternOp::AddEntry, .. });
            if node.stmts.iter().any(is_add) {
                return true;
            }
            if let TerminatorKind::Call { procedure, .. } = node.terminator.kind
                && !seen.contains(&procedure)
            {
                seen.push(procedure);
                left.push(procedure);
            }
        }
    }
    false
}

/// True if a condition tests only headers that all IP packets with ports have.
fn asks_for_header(program: &Program, condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Binary(BinaryOp::And, a, b) => asks_for_header(program, a) && asks_for_header(program, b),
        ExprKind::Read(place) => match place.path.split_last() {
            Some((Step::Valid, path)) => {
                let header = Place { var: place.var, path: path.to_vec() };
                let fields = program.place_type(&header).and_then(|ty| match ty {
                    ir::Type::Struct(id) => get(&program.structs, id).map(|header| header.fields.len()),
                    _ => None,
                });
                (0..fields.unwrap_or(0)).filter_map(|i| u32::try_from(i).ok()).any(|i| {
                    let known = known_field(program, &header.field(i));
                    matches!(known, Some(Field::Source | Field::SourcePort))
                })
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns the part of a name after its last dot.
fn last_part(name: &str) -> SmolStr {
    name.rsplit('.').next().unwrap_or(name).into()
}

/// Returns the path of a place up to its first computed index or bit slice.
fn static_path(place: &Place) -> Vec<Step> {
    let is_known =
        |step: &&Step| matches!(step, Step::Field(_) | Step::Element(_) | Step::Valid | Step::NextIndex);
    place.path.iter().take_while(is_known).cloned().collect()
}
