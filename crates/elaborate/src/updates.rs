//! Parameters of actions that change the data of their entry (`@__ref`), cells of registers (`DirectRegister`), and how workers keep
//! such changes apart.

use crate::codes;
use crate::elaborator::Elaborator;
use crate::procedure::ActionUse;
use arch::{ExternOp, table_state};
use check::program::{ActionId, Annotation, Annotations, Direction, annotation};
use diagnostics::{Diagnostic, Span};
use ir::types::INDEX_BITS;
use ir::{
    Access, Arg, BinaryOp, DataUpdate, Expr, ExprKind, Graph, NodeId, Place, ProcedureId, Step, Stmt,
    StmtKind, Sync, TerminatorKind, Type, VarId,
};

/// The most that an action may change in its entry.
pub(crate) const UPDATABLE_BITS_MAX: u64 = 64 * 8;

/// The changes that allow `@siding_sync("atomic")` and `@siding_sync("sharded")`.
const NOTE_ATOMIC: &str = "one value of 8, 16, 32 or 64 bits, of type `bit`, is assigned once, as in `n = n + x` with +, -, &, | or ^, and not read before";
const NOTE_SHARDED: &str = "values of type `bit` are assigned as in `n = n + x` or `n = n - x`, where `x` is no value that actions change, and are not read otherwise; registers are not written";

/// A value in the entry that an action may change.
struct Leaf {
    /// Its number among the data of the action.
    number: u128,
    place: Place,
    ty: Type,
    /// It is part of a register, which all actions of the table may use.
    is_register: bool,
}

/// A statement of a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
struct At {
    node: NodeId,
    stmt: usize,
}

impl<'p> Elaborator<'p> {
    /// Lets an action of a table write what it changes into its entry. Others see it when the action is over, or, where one
    /// operation does it, at once.
    pub(crate) fn store_data(&mut self, action: ActionId, procedure: ProcedureId, used: ActionUse) {
        let Some(table) = self.table_in_force.filter(|table| table.has_state) else { return };
        let def = &self.p.actions[action];
        let mut leaves = self.updatable_leaves(action, procedure);
        let registers = self.register_leaves(procedure);
        let of_registers: u64 =
            self.out.tables[table.id].registers.iter().map(|r| u64::from(r.initial.width())).sum();
        let n_bits: u64 = leaves.iter().map(|leaf| u64::from(leaf.ty.width_bits().unwrap_or(u32::MAX))).sum();
        // Registers that are too large by themselves are reported with their table.
        if !leaves.is_empty()
            && of_registers <= UPDATABLE_BITS_MAX
            && n_bits + of_registers > UPDATABLE_BITS_MAX
        {
            let label = match of_registers {
                0 => "its parameters marked `@__ref`",
                _ => "its parameters marked `@__ref`, and the registers of its table",
            };
            self.faults.push(
                Diagnostic::new(
                    &codes::TABLE_STATE,
                    def.span,
                    format!("action `{}` changes too much of its entry", def.name),
                )
                .label(label)
                .note("they have fixed widths, and 64 bytes together at most"),
            );
        }
        let graph = &self.out.procedures[procedure].graph;
        let uses_registers = match used {
            ActionUse::Listed => registers.iter().any(|leaf| !accesses(graph, leaf.place.var).is_empty()),
            // In a list with arguments the procedure around it has them.
            ActionUse::Called => of_registers > 0,
        };
        let wanted = self.wanted_sync(action, !leaves.is_empty() || uses_registers);
        leaves.extend(registers);
        self.store_leaves(action, procedure, leaves, (wanted, Sync::None));
    }

    /// Lets the procedure of an action that has arguments in the list of its table write the registers that it changes. The
    /// action that it calls has written its parameters.
    pub(crate) fn store_registers(&mut self, action: ActionId, procedure: ProcedureId) {
        let Some(table) = self.table_in_force.filter(|table| table.has_state) else { return };
        let leaves = self.register_leaves(procedure);
        if !leaves.is_empty() {
            let before = self.syncs.get(&(table.id, table.element)).copied().unwrap_or_default();
            self.store_leaves(
                action,
                procedure,
                leaves,
                (asked_sync(&self.p.actions[action].annotations), before),
            );
        }
    }

    /// Writes those of the leaves that a procedure changes, in the way that is wanted if there is one; what it calls does so in
    /// the way `before`.
    fn store_leaves(
        &mut self,
        action: ActionId,
        procedure: ProcedureId,
        leaves: Vec<Leaf>,
        (wanted, before): (Option<Sync>, Sync),
    ) {
        let Some(table) = self.table_in_force else { return };
        let def = &self.p.actions[action];
        let graph = &self.out.procedures[procedure].graph;
        let is_sum = before == Sync::None && only_adds(graph, &leaves);
        let changed: Vec<Leaf> =
            leaves.into_iter().filter(|leaf| is_written(graph, leaf.place.var)).collect();
        let target = Arg::Table { table: table.id, action: Some(table.element) };
        let single = match changed.as_slice() {
            [leaf] if before == Sync::None => single_update(graph, leaf),
            _ => None,
        };
        let sync = match (changed.first(), single, wanted) {
            (None, ..) => before,
            (Some(leaf), Some((at, update, operand)), None | Some(Sync::Atomic)) => {
                let number = Arg::In(Expr::bit(INDEX_BITS, leaf.number));
                let args = vec![target, number, Arg::Str(update.word().into()), Arg::In(operand)];
                let (op, result) = (ExternOp::UpdateData, Some(leaf.place.clone()));
                let kind = StmtKind::Extern { op, name: op.name().into(), object: None, args, result };
                let graph = &mut self.out.procedures[procedure].graph;
                graph.nodes[at.node].stmts[at.stmt].kind = kind;
                Sync::Atomic
            }
            (Some(_), single, _) => {
                if single.is_none() && wanted == Some(Sync::Atomic) {
                    self.report_sync(action, "one operation", NOTE_ATOMIC);
                }
                // A fault of an action that this one calls has been reported.
                if !is_sum && wanted == Some(Sync::Sharded) && before != Sync::Sequence {
                    self.report_sync(action, "additions alone", NOTE_SHARDED);
                }
                self.store_at_ends(procedure, &target, &changed, def.span);
                match wanted {
                    Some(Sync::None) => Sync::None,
                    None | Some(Sync::Sharded) if is_sum => Sync::Sharded,
                    None | Some(Sync::Atomic | Sync::Sequence | Sync::Sharded) => Sync::Sequence,
                }
            }
        };
        self.syncs.insert((table.id, table.element), sync);
    }

    /// The values of registers among the data of an action of a table.
    fn register_leaves(&self, procedure: ProcedureId) -> Vec<Leaf> {
        let is_register = |var: VarId| {
            let registers = self.table_in_force.and_then(|table| self.table_registers.get(&table.id));
            let mut vars = registers.into_iter().flatten().map(|register| (procedure, register.node));
            vars.any(|key| self.register_vars.get(&key) == Some(&var))
        };
        let (mut number, mut found) = (0, Vec::new());
        for var in &self.out.procedures[procedure].params {
            for leaf in ir::layout::leaves(&self.out, &self.out.variables[*var].ty) {
                if is_register(*var) {
                    let place = Place { var: *var, path: leaf.path };
                    found.push(Leaf { number, place, ty: leaf.ty, is_register: true });
                }
                number += 1;
            }
        }
        found
    }

    fn updatable_leaves(&mut self, action: ActionId, procedure: ProcedureId) -> Vec<Leaf> {
        let def = &self.p.actions[action];
        let of_params = self.params.get(&procedure).cloned().unwrap_or_default();
        let (mut number, mut found) = (0, Vec::new());
        let listed = def.params.iter().zip(of_params.iter());
        for (param, var) in listed.filter(|(param, _)| self.p.direction(**param) == Direction::None) {
            let Some(var) = *var else { continue };
            let ty = self.out.variables[var].ty.clone();
            for leaf in ir::layout::leaves(&self.out, &ty) {
                if self.p.vars[*param].is_updatable() {
                    let place = Place { var, path: leaf.path };
                    found.push(Leaf { number, place, ty: leaf.ty, is_register: false });
                }
                number += 1;
            }
        }
        found
    }

    /// Writes all values where the action ends.
    fn store_at_ends(&mut self, procedure: ProcedureId, target: &Arg, changed: &[Leaf], span: Span) {
        let op = ExternOp::StoreData;
        let stores: Vec<Stmt> = (changed.iter())
            .map(|leaf| {
                let value = Expr::read(leaf.place.clone(), leaf.ty.clone());
                let number = Arg::In(Expr::bit(INDEX_BITS, leaf.number));
                let args = vec![target.clone(), number, Arg::In(value)];
                Stmt {
                    kind: StmtKind::Extern { op, name: op.name().into(), object: None, args, result: None },
                    span,
                }
            })
            .collect();
        for (_, node) in self.out.procedures[procedure].graph.nodes.iter_mut() {
            if matches!(node.terminator.kind, TerminatorKind::Return | TerminatorKind::Exit) {
                node.stmts.extend(stores.iter().cloned());
            }
        }
    }

    /// Reads `@siding_sync("...")` of an action.
    fn wanted_sync(&mut self, action: ActionId, updates: bool) -> Option<Sync> {
        let def = &self.p.actions[action];
        let mark = annotation(&def.annotations, table_state::SYNC)?;
        let mut fault = |message: String, help: &str| {
            let diagnostic = Diagnostic::new(&codes::TABLE_STATE, mark.span, message);
            self.faults.push(diagnostic.label("says how workers keep changes apart").help(help));
        };
        if !updates {
            fault(
                format!("action `{}` changes no data of its entry", def.name),
                "mark a parameter with `@__ref`, write a register of the table, or remove the annotation",
            );
        }
        if def.annotations.iter().filter(|mark| mark.name == table_state::SYNC).count() > 1 {
            fault(
                format!("action `{}` has `@{}` more than once", def.name, table_state::SYNC),
                "write it once",
            );
        }
        let wanted = asked_sync(&def.annotations);
        if wanted.is_none() {
            fault(
                "this is no way to keep changes apart".to_string(),
                "write \"none\" (one worker has all packets of an entry), \"atomic\", \"sequence\" or \"sharded\"",
            );
        }
        wanted
    }

    /// Reports that `@siding_sync` asks for what the changes of an action do not allow: they are not `wanted`.
    fn report_sync(&mut self, action: ActionId, wanted: &str, note: &'static str) {
        let def = &self.p.actions[action];
        let span = annotation(&def.annotations, table_state::SYNC).map_or(def.span, |mark| mark.span);
        let message = format!("the changes of action `{}` are not {wanted}", def.name);
        self.faults.push(
            Diagnostic::new(&codes::TABLE_STATE, span, message)
                .label("is not possible here")
                .note(note)
                .help("remove the annotation, so that the compiler chooses, or write \"sequence\""),
        );
    }

    /// Reports a call of an action that changes its entry: it has none.
    pub(crate) fn check_direct_call(&mut self, action: ActionId, span: Span) {
        let def = &self.p.actions[action];
        // An action with arguments in the list of its table is called by the procedure that the table runs.
        let is_listed = self.table_in_force.is_some_and(|table| {
            let element = self.p.tables[table.checked].actions.get(table.element as usize);
            element.is_some_and(|element| element.action == action)
        });
        if !is_listed && def.params.iter().any(|param| self.p.vars[*param].is_updatable()) {
            self.faults.push(
                Diagnostic::new(
                    &codes::TABLE_STATE,
                    span,
                    format!("action `{}` changes its entry, and is called without one", def.name),
                )
                .label("no table runs it here")
                .note("only tables run actions with parameters marked `@__ref`"),
            );
        }
    }
}

/// The way that `@siding_sync("...")` asks for, if it is one.
fn asked_sync(annotations: &Annotations) -> Option<Sync> {
    let word = annotation(annotations, table_state::SYNC).and_then(Annotation::string);
    let all = [Sync::None, Sync::Atomic, Sync::Sequence, Sync::Sharded];
    all.into_iter().find(|sync| word == Some(sync.word()))
}

/// Returns whether a graph may change a variable.
pub(crate) fn is_written(graph: &Graph, var: VarId) -> bool {
    accesses(graph, var).iter().any(|(_, access)| *access != Access::Read)
}

/// The accesses to a variable, or to parts of it; those of a terminator lie behind the last statement.
fn accesses(graph: &Graph, var: VarId) -> Vec<(At, Access)> {
    let mut found = Vec::new();
    for (node, of_node) in graph.nodes.iter() {
        let mut add = |stmt, access, place: &Place| {
            if place.var == var {
                found.push((At { node, stmt }, access));
            }
        };
        for (i, stmt) in of_node.stmts.iter().enumerate() {
            stmt.for_each_access(&mut |access, place| add(i, access, place));
        }
        let end = of_node.stmts.len();
        of_node.terminator.kind.for_each_access(&mut |access, place| add(end, access, place));
    }
    found
}

/// The only assignment to a value of an entry, if one operation of the machine can make it: what the operation is, and its
/// operand. Nobody has read the value before.
fn single_update(graph: &Graph, leaf: &Leaf) -> Option<(At, DataUpdate, Expr)> {
    let Type::Bit(width) = leaf.ty else { return None };
    if !leaf.place.path.is_empty() || !DataUpdate::fits(width) {
        return None;
    }
    let accesses = accesses(graph, leaf.place.var);
    let mut writes = accesses.iter().filter(|(_, access)| *access != Access::Read);
    let (Some((at, _)), None) = (writes.next(), writes.next()) else { return None };
    let StmtKind::Assign { place, value } = &graph.nodes[at.node].stmts.get(at.stmt)?.kind else {
        return None;
    };
    if *place != leaf.place {
        return None;
    }
    let (update, operand) = update_of(value, &leaf.place)?;
    // In a loop it would be several operations.
    if comes_before(graph, *at, *at) {
        return None;
    }
    let is_early =
        |(of, access): &(At, Access)| *access == Access::Read && of != at && comes_before(graph, *of, *at);
    (!accesses.iter().any(is_early)).then_some((*at, update, operand))
}

/// Takes `place op operand` apart; the operand does not read the place.
fn update_of(value: &Expr, place: &Place) -> Option<(DataUpdate, Expr)> {
    let reads = |e: &Expr| {
        let mut found = false;
        e.for_each_read(&mut |read| found |= read.var == place.var);
        found
    };
    if !reads(value) {
        return Some((DataUpdate::Set, value.clone()));
    }
    let ExprKind::Binary(op, left, right) = &value.kind else { return None };
    let is_place = |e: &Expr| matches!(&e.kind, ExprKind::Read(read) if read == place);
    let operand = match (is_place(left), is_place(right)) {
        (true, false) => right,
        (false, true) if *op != BinaryOp::Sub => left,
        _ => return None,
    };
    if reads(operand) {
        return None;
    }
    let operand = (**operand).clone();
    match op {
        BinaryOp::Add => Some((DataUpdate::Add, operand)),
        BinaryOp::Sub => {
            let ty = operand.ty.clone();
            let negated = ExprKind::Unary(ir::UnaryOp::Negate, Box::new(operand));
            Some((DataUpdate::Add, Expr::new(negated, ty)))
        }
        BinaryOp::BitAnd => Some((DataUpdate::And, operand)),
        BinaryOp::BitOr => Some((DataUpdate::Or, operand)),
        BinaryOp::BitXor => Some((DataUpdate::Xor, operand)),
        _ => None,
    }
}

/// Returns whether all that a graph does with the values that it changes is to add to them. What it adds depends on none of the
/// values that actions may change, so the sum is the same in any order.
fn only_adds(graph: &Graph, leaves: &[Leaf]) -> bool {
    let changed: Vec<&Leaf> = leaves.iter().filter(|leaf| is_written(graph, leaf.place.var)).collect();
    if changed.iter().any(|leaf| leaf.is_register) {
        return false;
    }
    let is_free = |place: &Place| !leaves.iter().any(|leaf| overlap(&leaf.place, place));
    let is_addition = |stmt: &StmtKind| {
        let StmtKind::Assign { place, value } = stmt else { return false };
        let leaf = changed.iter().find(|leaf| leaf.place == *place);
        leaf.is_some_and(|leaf| matches!(leaf.ty, Type::Bit(_))) && is_sum_with(value, place, &is_free)
    };
    let is_changed = |place: &Place| changed.iter().any(|leaf| overlap(&leaf.place, place));
    graph.nodes.iter().all(|(_, node)| {
        let mut only_adds = true;
        node.terminator.kind.for_each_access(&mut |_, place| only_adds &= !is_changed(place));
        for stmt in node.stmts.iter().filter(|stmt| !is_addition(&stmt.kind)) {
            stmt.for_each_access(&mut |_, place| only_adds &= !is_changed(place));
        }
        only_adds
    })
}

/// Returns whether a value is the one of a place, to which others are added that read only places that `is_free` allows.
fn is_sum_with(value: &Expr, place: &Place, is_free: &dyn Fn(&Place) -> bool) -> bool {
    let reads_free = |e: &Expr| {
        let mut all = true;
        e.for_each_read(&mut |read| all &= is_free(read));
        all
    };
    match &value.kind {
        ExprKind::Read(read) => read == place,
        ExprKind::Binary(BinaryOp::Add, left, right) => {
            (is_sum_with(left, place, is_free) && reads_free(right))
                || (is_sum_with(right, place, is_free) && reads_free(left))
        }
        ExprKind::Binary(BinaryOp::Sub, left, right) => {
            is_sum_with(left, place, is_free) && reads_free(right)
        }
        _ => false,
    }
}

/// Returns whether two places may have a part in common.
fn overlap(one: &Place, other: &Place) -> bool {
    let differ = |pair: (&Step, &Step)| match pair {
        (Step::Field(a), Step::Field(b)) | (Step::Element(a), Step::Element(b)) => a != b,
        _ => false,
    };
    one.var == other.var && !one.path.iter().zip(&other.path).any(differ)
}

/// Returns whether one statement may run before another one.
fn comes_before(graph: &Graph, first: At, second: At) -> bool {
    if first.node == second.node && first.stmt < second.stmt {
        return true;
    }
    let mut left = graph.nodes[first.node].terminator.kind.successors();
    let mut seen = left.clone();
    while let Some(node) = left.pop() {
        if node == second.node {
            return true;
        }
        for next in graph.nodes[node].terminator.kind.successors() {
            if !seen.contains(&next) {
                seen.push(next);
                left.push(next);
            }
        }
    }
    false
}
