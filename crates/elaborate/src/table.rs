//! Tables and their application.

use crate::body::Body;
use crate::codes;
use crate::elaborator::{Elaborator, ProcedureKey, TableInForce};
use crate::names::Binding;
use crate::procedure::Head;
use arch::{ControlPlaneExtern, ExternRole};
use check::program::{
    ActionListElement, Call, Callee, Direction, Expr, ExprKind, NodeId, NodeKind, Origin,
    TableId as CheckedId, annotation,
};
use check::types::{Ty, Types};
use diagnostics::{Diagnostic, Span};
use ir::types::INDEX_BITS;
use ir::{
    Bits, Key, MatchKind, ObjectId, Place, ProcedureId, ProcedureKind, TableAction, TableId, TerminatorKind,
    Type,
};
use num_traits::ToPrimitive;

/// A match kind of core.p4 or an architecture.
pub(crate) fn match_kind(name: &str) -> Option<MatchKind> {
    Some(match name {
        "exact" => MatchKind::Exact,
        "lpm" => MatchKind::Lpm,
        "ternary" => MatchKind::Ternary,
        "range" => MatchKind::Range,
        "optional" => MatchKind::Optional,
        "selector" => MatchKind::Selector,
        _ => return None,
    })
}

impl<'p> Body<'_, 'p> {
    /// Applies a table of the control object in sight. Where asked for, stores whether it hit and the index in
    /// `TableDef::actions` of the action that ran. Goes on where the action returns.
    pub fn apply_table(&mut self, table: CheckedId, hit: Option<Place>, action: Option<Place>, span: Span) {
        let Some((value, call)) = self.empty_group_call(table) else {
            return self.look_up(table, hit, action, span);
        };
        let hit = hit.unwrap_or_else(|| self.temporary(Type::Bool, span));
        let action = action.unwrap_or_else(|| self.temporary(Type::Bit(INDEX_BITS), span));
        self.look_up(table, Some(hit.clone()), Some(action.clone()), span);
        // A hit without an action is one of a group without a member.
        let none = ir::Expr::bit(INDEX_BITS, u128::from(u32::MAX));
        let has_none = ir::Expr::read(action.clone(), Type::Bit(INDEX_BITS)).equals(none);
        let is_empty = ir::Expr::read(hit, Type::Bool).and(has_none);
        let (empty, end) = self.branch(is_empty, span);
        self.continue_at(empty);
        self.e.empty_group_calls.insert(value.span);
        self.call(value, call);
        let listed = match call.callee {
            Callee::Action(id) => self.e.p.tables[table].actions.iter().position(|a| a.action == id),
            _ => None,
        };
        if let Some(i) = listed {
            self.assign(action, ir::Expr::bit(INDEX_BITS, i as u128), span);
        }
        self.goto(end, span);
        self.continue_at(end);
    }

    /// The action that the table names for groups without members, unless it does nothing.
    fn empty_group_call(&self, table: CheckedId) -> Option<(&'p Expr, &'p Call)> {
        let p = self.e.p;
        let name = self.e.out.architecture.table_properties.empty_group_action.as_deref()?;
        let property = p.tables[table].properties.iter().find(|property| property.name == name)?;
        match &property.value.kind {
            ExprKind::Call(call) if matches!(call.callee, Callee::Action(_)) => Some((&property.value, call)),
            _ => None,
        }
    }

    fn look_up(&mut self, table: CheckedId, hit: Option<Place>, action: Option<Place>, span: Span) {
        let Some(scope) = self.names.object else { return };
        let p = self.e.p;
        let id = self.e.table(scope, table);
        let keys: Vec<&Expr> = p.tables[table].key.iter().flatten().map(|k| &k.expr).collect();
        let keys = self.exprs(&keys);
        let then = self.new_node();
        let exits = self.e.out.tables[id].actions.iter().any(|a| self.e.exits.contains(&a.procedure));
        if exits {
            let name = self.e.out.tables[id].name.clone();
            self.refuse_to_leave(&name, span);
        }
        // Where no action exits, this successor is never taken.
        let exit = if exits { self.exit_node(span) } else { then };
        self.terminate(TerminatorKind::Apply { table: id, keys, hit, action, then, exit }, span);
        self.continue_at(then);
    }

    /// Evaluates expressions in order. A value that a later expression can change is saved.
    pub(crate) fn exprs(&mut self, exprs: &[&Expr]) -> Vec<ir::Expr> {
        let n_saved = exprs.iter().rposition(|e| self.changes(e)).unwrap_or(0);
        let mut values = Vec::with_capacity(exprs.len());
        for (i, e) in exprs.iter().enumerate() {
            let value = self.expr(e);
            values.push(if i < n_saved { self.save(value, e.span) } else { value });
        }
        values
    }
}

/// An expression that is not written in the program.
fn plain_expr(kind: ExprKind, ty: Ty, span: Span) -> Expr {
    Expr { kind, ty, span, value: None, is_compile_time: false, is_lvalue: false }
}

impl<'p> Elaborator<'p> {
    /// The table that a control object declares, made on first use.
    pub fn table(&mut self, scope: NodeId, table: CheckedId) -> TableId {
        if let Some(id) = self.tables.get(&(scope, table)) {
            return *id;
        }
        let p = self.p;
        let def = &p.tables[table];
        // Thunks of bound arguments are known by the table: it is there before its actions are.
        let id = self.out.tables.alloc(ir::Table {
            name: p.control_plane_name_of_table(scope, table).into(),
            block: self.block,
            keys: Vec::new(),
            actions: Vec::new(),
            default_action: ir::Action { index: 0, data: Vec::new() },
            has_const_default_action: false,
            entries: Vec::new(),
            has_const_entries: def.entries.as_ref().is_some_and(|list| list.is_const),
            size: def.size.as_ref().and_then(|e| p.eval(e, Some(scope))?.as_int()?.to_u64()),
            implementation: None,
            direct_counter: None,
            direct_meter: None,
            timeout: ir::Timeout::Never,
            restarts_on_hit: true,
            add_on_miss: None,
            updates_data: false,
            registers: Vec::new(),
            span: def.span,
        });
        self.tables.insert((scope, table), id);
        let n_keys = def.key.as_ref().map_or(0, Vec::len) as u64;
        let n_entries = def.entries.as_ref().map_or(0, |list| list.entries.len()) as u64;
        let n_written = n_entries.saturating_mul(n_keys + 1) + n_keys + def.actions.len() as u64;
        if self.is_full(n_written, def.span) {
            return id;
        }
        let keys = self.keys(scope, table);
        self.table_state(scope, table, id);
        self.registers_of_table(scope, table, id);
        let updates = |element: &ActionListElement| {
            p.actions[element.action].params.iter().any(|param| p.vars[*param].is_updatable())
        };
        let out = &mut self.out.tables[id];
        out.updates_data = def.actions.iter().any(updates) || !out.registers.is_empty();
        let has_state = out.has_state() || out.timeout != ir::Timeout::Never;
        let in_force = TableInForce { scope, checked: table, id, has_state, element: 0 };
        let outer = self.table_in_force.replace(in_force);
        let actions: Vec<TableAction> = (def.actions.iter().zip(0..))
            .map(|(element, i)| {
                self.table_in_force = Some(TableInForce { element: i, ..in_force });
                let marked = |name| annotation(&element.annotations, name).is_some();
                let procedure = self.listed_action(scope, id, i, element);
                TableAction {
                    name: p.control_plane_name_of_action(scope, element.action).into(),
                    procedure,
                    sync: self.syncs.get(&(id, i)).copied().unwrap_or_default(),
                    is_table_only: marked("tableonly"),
                    is_default_only: marked("defaultonly"),
                    is_group_action: marked("groupaction"),
                }
            })
            .collect();
        self.table_in_force = outer;
        let default = def.default_action.as_ref().and_then(|default| {
            let element = def.actions.get(default.element as usize)?;
            Some(self.action_with_data(scope, default.element, element.action, &default.args))
        });
        let entries = self.entries(scope, table);
        let out = &mut self.out.tables[id];
        let initial: Vec<Bits> = out.registers.iter().map(|register| register.initial.clone()).collect();
        let with_registers = |mut action: ir::Action| {
            action.data.extend(initial.iter().cloned());
            action
        };
        let default = default.map(with_registers);
        let entries = entries.into_iter();
        let entries =
            entries.map(|entry| ir::Entry { action: with_registers(entry.action), ..entry }).collect();
        out.keys = keys;
        out.actions = actions;
        out.entries = entries;
        if let Some(default) = default {
            out.default_action = default;
            out.has_const_default_action = def.default_action.as_ref().is_some_and(|d| d.is_const);
        }
        self.table_properties(scope, table, id);
        self.check_table_state(table, id);
        id
    }

    fn keys(&mut self, scope: NodeId, table: CheckedId) -> Vec<Key> {
        let p = self.p;
        let names = self.names_of(scope);
        let mut keys = Vec::new();
        for key in p.tables[table].key.iter().flatten() {
            let match_kind = match_kind(&key.match_kind).unwrap_or_else(|| {
                self.faults.push(
                    Diagnostic::new(
                        &codes::MATCH_KIND,
                        key.span,
                        format!("match kind `{}` cannot be executed", key.match_kind),
                    )
                    .label("not known how to match")
                    .note("known are exact, lpm, ternary, range, optional and selector"),
                );
                MatchKind::Exact
            });
            let ty = self.ty_in(key.expr.ty, &names);
            keys.push(Key { name: key.name.clone().unwrap_or_default(), ty, match_kind });
        }
        keys
    }

    // -- actions ----------------------------------------------------------------------------------

    /// The procedure for an element of a list of actions: the action itself, or one that evaluates the arguments
    /// bound in the list when it runs and calls the action (P4-16, "Actions").
    fn listed_action(
        &mut self,
        scope: NodeId,
        table: TableId,
        index: u32,
        element: &'p ActionListElement,
    ) -> ProcedureId {
        let p = self.p;
        let def = &p.actions[element.action];
        let object = self.names_of(scope);
        if def.params.iter().all(|v| p.direction(*v) == Direction::None) {
            return self.listed_action_procedure(element.action, &object);
        }
        let name = p.control_plane_name_of_action(scope, element.action).into();
        let head = Head { name, kind: ProcedureKind::Action, span: element.span };
        let procedure = self.procedure(ProcedureKey::Bound(table, index), head, |body, _| {
            body.names = object.inside();
            let mut data = Vec::new();
            let mut args = Vec::new();
            for (i, var) in def.params.iter().enumerate() {
                if p.direction(*var) != Direction::None {
                    args.push(element.args.get(i).cloned().flatten());
                    continue;
                }
                let param = &p.vars[*var];
                let ty = body.ty(param.ty);
                let given = body.variable(&param.name, ty, param.span);
                data.push(given);
                // In the call the action's own parameter stands for the data that this procedure was given.
                body.names.bind(*var, Binding::Place(Place::var(given)));
                args.push(Some(plain_expr(ExprKind::Var(*var), param.ty, param.span)));
            }
            data.extend(body.register_data());
            let order = (0..u32::try_from(args.len()).unwrap_or(u32::MAX)).collect();
            let call = Call { callee: Callee::Action(element.action), type_args: Vec::new(), args, order };
            let e = plain_expr(ExprKind::Call(Box::new(call.clone())), Types::VOID, element.span);
            body.call(&e, &call);
            data
        });
        self.store_registers(element.action, procedure);
        procedure
    }

    // -- properties -------------------------------------------------------------------------------

    /// The properties that attach externs.
    fn table_properties(&mut self, scope: NodeId, table: CheckedId, id: TableId) {
        let p = self.p;
        let names = &self.out.architecture.description().table_properties;
        if let Some(node) = self.property_object(scope, table, names.implementation.as_deref()) {
            match self.extern_role(node).map(|e| e.role) {
                Some(ExternRole::ActionProfile | ExternRole::ActionSelector) => {
                    let object = self.extern_object(node);
                    self.out.tables[id].implementation = Some(object);
                }
                // The `implementation` of a filter's table is its kind of map, which says the size.
                None if self.out.tables[id].size.is_none() => {
                    let size = p.extern_argument(node, "size").and_then(|v| v.as_int()?.to_u64());
                    self.out.tables[id].size = size;
                }
                _ => {}
            }
        }
        let counter =
            self.direct_object(scope, table, names.direct_counter.as_deref(), ExternRole::DirectCounter);
        let meter = self.direct_object(scope, table, names.direct_meter.as_deref(), ExternRole::DirectMeter);
        let out = &mut self.out.tables[id];
        out.direct_counter = counter;
        out.direct_meter = meter;
    }

    fn direct_object(
        &mut self,
        scope: NodeId,
        table: CheckedId,
        property: Option<&str>,
        role: ExternRole,
    ) -> Option<ObjectId> {
        let node = self.property_object(scope, table, property)?;
        (self.extern_role(node)?.role == role).then(|| self.extern_object(node))
    }

    /// The role that an extern object has for the architecture's control plane.
    fn extern_role(&self, node: NodeId) -> Option<&'static ControlPlaneExtern> {
        let NodeKind::Extern(id) = self.p.nodes[node].kind else { return None };
        self.out.architecture.control_plane_extern(&self.p.externs[id].name)
    }

    /// The object that a table property names or constructs.
    fn property_object(&self, scope: NodeId, table: CheckedId, property: Option<&str>) -> Option<NodeId> {
        let property = property?;
        let properties = &self.p.tables[table].properties;
        let index = properties.iter().position(|q| q.name == property)?;
        let value = &properties[index].value;
        match &value.kind {
            ExprKind::Call(_) => {
                self.p.find(Origin::Property(table, u32::try_from(index).ok()?), Some(scope))
            }
            _ => self.p.object(value, Some(scope)),
        }
    }
}
