//! Tables with state: `add_entry`, timers of entries, and what the table has to be for them (PNA 0.7, "Tables with add-on-miss"
//! and "Table entry timeout notification").

use crate::assign::resized;
use crate::body::Body;
use crate::codes;
use crate::elaborator::{Elaborator, TableInForce};
use arch::{ExternOp, IdleTimeout, table_state};
use check::program::annotation;
use check::program::{ActionListElement, Call, Direction, Expr as Checked, NodeId, TableId as CheckedId};
use check::types::{TyKind, Types};
use check::value::Value;
use diagnostics::suggest::closest;
use diagnostics::{Diagnostic, Span};
use ir::lookup::get;
use ir::{
    AddOnMiss, Added, Arg, BinaryOp, Bits, Expr, ExprKind, Place, ProcedureId, StmtKind, TableId,
    TerminatorKind, Timeout, Type, WhenFull,
};
use num_traits::ToPrimitive;

/// Most entries of a table with state: all of its memory is reserved when the program is loaded.
const ADDED_MAX: u64 = 1 << 30;

/// Entries of other tables that do not say how many they may have.
const SIZE_DEFAULT: u64 = 1024;

/// Bits of the number of a profile.
const PROFILE_BITS: u32 = 8;

/// The ways in which an action, with the actions that it calls, writes the entries of its table.
#[derive(Default)]
struct Uses {
    adds: bool,
    sets_timers: bool,
    /// The actions of new entries, as indices in the table's list, and the calls that name them.
    added: Vec<(u32, Span)>,
}

impl<'p> Elaborator<'p> {
    /// Reads the properties of a table that say how packets may write it.
    pub(crate) fn table_state(&mut self, scope: NodeId, table: CheckedId, id: TableId) {
        let timeout = self.timeout(scope, table);
        let adds = match self.property(scope, table, table_state::ADD_ON_MISS) {
            Some(Value::Bool(adds)) => adds,
            Some(_) => {
                self.property_fault(table, table_state::ADD_ON_MISS, "`true` or `false`");
                true
            }
            None => false,
        };
        let profile = match self.property(scope, table, table_state::DEFAULT_PROFILE) {
            Some(value) => {
                let profile = value.as_int().and_then(ToPrimitive::to_u8);
                if profile.is_none() {
                    self.property_fault(table, table_state::DEFAULT_PROFILE, "a profile, which is 0 to 255");
                }
                profile
            }
            None => None,
        };
        let when_full = self.when_full(table, adds);
        if let Some(mark) = annotation(&self.p.tables[table].annotations, table_state::SYNC) {
            self.faults.push(
                Diagnostic::new(
                    &codes::TABLE_STATE,
                    mark.span,
                    format!("`@{}` is for actions, and is in front of a table", table_state::SYNC),
                )
                .label("says how workers keep the changes of an action apart")
                .help("write it in front of each action that changes its entry"),
            );
        }
        let out = &mut self.out.tables[id];
        out.timeout = timeout;
        out.add_on_miss = adds.then(|| AddOnMiss { profile: profile.unwrap_or(0), when_full });
        if adds {
            out.size = out.size.filter(|size| *size > 0).or(Some(table_state::SIZE_DEFAULT));
        }
    }

    /// Reads `@siding_full("refuse")` or `@siding_full("oldest")`.
    fn when_full(&mut self, table: CheckedId, adds: bool) -> WhenFull {
        let def = &self.p.tables[table];
        let Some(mark) = annotation(&def.annotations, table_state::WHEN_FULL) else {
            return WhenFull::Refuse;
        };
        let mut fault = |message: String, help: &str| {
            let diagnostic = Diagnostic::new(&codes::TABLE_STATE, mark.span, message);
            self.faults.push(diagnostic.label("says what happens when the table is full").help(help));
        };
        if !adds {
            fault(
                format!("packets add no entries to table `{}`", def.name),
                "write `add_on_miss = true;` in the table",
            );
        }
        match mark.string() {
            Some("refuse") => {}
            Some("oldest") => return WhenFull::Oldest,
            _ => fault(
                "this is no way to treat a full table".to_string(),
                "write \"refuse\", or \"oldest\" to remove an entry that was not hit for long",
            ),
        }
        WhenFull::Refuse
    }

    fn property(&self, scope: NodeId, table: CheckedId, name: &str) -> Option<Value> {
        let p = self.p;
        let found = p.tables[table].properties.iter().find(|property| property.name == name)?;
        p.eval(&found.value, Some(scope))
    }

    fn property_fault(&mut self, table: CheckedId, name: &str, wanted: &str) {
        let properties = &self.p.tables[table].properties;
        let Some(found) = properties.iter().find(|property| property.name == name) else { return };
        self.faults.push(
            Diagnostic::new(&codes::TABLE_STATE, found.value.span, format!("`{name}` is not {wanted}"))
                .label("another value"),
        );
    }

    fn timeout(&mut self, scope: NodeId, table: CheckedId) -> Timeout {
        let named = self.named_timeout(scope, table);
        match self.property(scope, table, table_state::AUTO_DELETE) {
            Some(Value::Bool(true)) => Timeout::Delete,
            Some(Value::Bool(false)) | None => named,
            Some(_) => {
                self.property_fault(table, table_state::AUTO_DELETE, "`true` or `false`");
                named
            }
        }
    }

    /// The timeout that the architecture's own property asks for.
    fn named_timeout(&self, scope: NodeId, table: CheckedId) -> Timeout {
        let names = &self.out.architecture.description().table_properties;
        let Some(property) = &names.idle_timeout else { return Timeout::Never };
        match (&property.value, self.property(scope, table, &property.name)) {
            (IdleTimeout::Flag(wanted), Some(Value::Bool(asked))) if asked == *wanted => Timeout::Notify,
            (IdleTimeout::Member(notifies), Some(Value::EnumMember(e, m))) => {
                let members = &self.p.enums[e].members;
                match members.get(m as usize).map(|member| member.name.as_str()) {
                    Some(name) if name == notifies => Timeout::Notify,
                    Some(table_state::AUTO_DELETE_MEMBER) => Timeout::Delete,
                    _ => Timeout::Never,
                }
            }
            _ => Timeout::Never,
        }
    }

    /// Reports what a table with `add_on_miss` cannot have, and actions that do not fit their table; says whether hits
    /// restart timers. The table's actions are elaborated.
    pub(crate) fn check_table_state(&mut self, table: CheckedId, id: TableId) {
        let def = &self.p.tables[table];
        let default = def.default_action.as_ref().map(|default| default.element);
        let uses: Vec<Uses> =
            self.out.tables[id].actions.iter().map(|action| self.uses(action.procedure)).collect();
        let out = &mut self.out.tables[id];
        out.restarts_on_hit = !uses.iter().any(|uses| uses.sets_timers);
        // An entry could not run it: the key has an entry then.
        for (action, uses) in out.actions.iter_mut().zip(&uses) {
            action.is_default_only |= uses.adds;
        }
        // Their memory is reserved, so entries of the program need room. Where packets add more, the program is at fault.
        let n_entries = out.entries.len() as u64;
        if out.has_state()
            && out.add_on_miss.is_none()
            && n_entries > out.size.filter(|size| *size > 0).unwrap_or(SIZE_DEFAULT)
        {
            out.size = Some(n_entries);
        }
        let out = &self.out.tables[id];
        let (adds_on_miss, timeout) = (out.add_on_miss.is_some(), out.timeout);
        let params_of = |element: &ActionListElement| &self.p.actions[element.action].params;
        let mut faults = Vec::new();
        let mut fault = |span, message: String, label: &str, help: &str| {
            let diagnostic = Diagnostic::new(&codes::TABLE_STATE, span, message).label(label);
            faults.push(diagnostic.help(help));
        };
        for (i, (uses, element)) in uses.iter().zip(&def.actions).enumerate() {
            let name = &self.p.actions[element.action].name;
            let is_marked = annotation(&element.annotations, "defaultonly").is_some();
            let is_for_default = default == u32::try_from(i).ok() || is_marked;
            if uses.adds && !adds_on_miss {
                fault(
                    element.span,
                    format!("action `{name}` adds entries, but table `{}` has no `add_on_miss`", def.name),
                    "calls `add_entry`",
                    "write `add_on_miss = true;` in the table",
                );
            } else if uses.adds && default == u32::try_from(i).ok() && !params_of(element).is_empty() {
                fault(
                    element.span,
                    format!("action `{name}` adds entries, and has parameters"),
                    "packets that miss have no data for them",
                    "the default action of such a table has none",
                );
            } else if uses.adds && !is_for_default {
                fault(
                    element.span,
                    format!("action `{name}` adds entries, and is not the default action"),
                    "only packets that miss add entries",
                    "mark it with `@defaultonly`, or make it the default action",
                );
            }
            if uses.sets_timers && is_for_default {
                fault(
                    element.span,
                    format!("action `{name}` sets timers, and is for packets that miss"),
                    "there is no entry whose timer it could set",
                    "call it in actions of entries",
                );
            } else if uses.sets_timers && timeout == Timeout::Never {
                fault(
                    element.span,
                    format!("action `{name}` sets timers, but entries of table `{}` have none", def.name),
                    "restarts or changes the timer of the entry",
                    "write `idle_timeout_with_auto_delete = true;` in the table",
                );
            }
        }
        let (changes, mark) = match out.registers.is_empty() {
            true => ("an action that changes its entry", "`@__ref`"),
            false => ("registers of its entries", "`registers`"),
        };
        if out.updates_data && out.implementation.is_some() {
            fault(
                def.span,
                format!("table `{}` has an action profile, and {changes}", def.name),
                "several entries share an action of the profile",
                &format!("remove the property, or {mark}"),
            );
        }
        if out.updates_data && (out.has_const_entries || out.entries.iter().any(|entry| entry.is_const)) {
            fault(
                def.span,
                format!("table `{}` has constant entries, and {changes}", def.name),
                "has entries marked `const`",
                "write them without `const`",
            );
        }
        let writes = match (adds_on_miss, out.restarts_on_hit) {
            (true, _) => Some("adds entries"),
            (false, false) => Some("has timers that actions set"),
            (false, true) => None,
        };
        if let Some(writes) = writes {
            for key in def.key.iter().flatten().filter(|key| key.match_kind != "exact") {
                fault(
                    key.span,
                    format!("table `{}` {writes}, and has a key of kind `{}`", def.name, key.match_kind),
                    "such tables have exact keys only",
                    "make the key `exact`",
                );
            }
            if out.keys.is_empty() {
                fault(
                    def.span,
                    format!("table `{}` {writes}, and has no key", def.name),
                    "it cannot have entries",
                    "give the table a key",
                );
            }
            if out.entries.iter().any(|entry| entry.matches.contains(&None)) {
                fault(
                    def.span,
                    format!("table `{}` {writes}, and an entry leaves out a key", def.name),
                    "an entry has `_` for a key",
                    "give each key of each entry a value",
                );
            }
            if out.implementation.is_some() {
                fault(
                    def.span,
                    format!("table `{}` {writes}, and has an action profile", def.name),
                    "such tables have actions of their own",
                    "remove one of the two properties",
                );
            }
        }
        if out.has_state() && out.size.is_some_and(|size| size > ADDED_MAX) {
            fault(
                def.span,
                format!("table `{}` is too large", def.name),
                "all of its memory is reserved when the program is loaded",
                "at most 2^30 entries are possible",
            );
        }
        if adds_on_miss {
            if out.has_const_entries {
                fault(
                    def.span,
                    format!("table `{}` adds entries, and its entries are constant", def.name),
                    "has `const entries`",
                    "write `entries` without `const`",
                );
            }
            if out.size.is_some_and(|size| (out.entries.len() as u64) > size) {
                fault(
                    def.span,
                    format!("table `{}` has more entries than its size", def.name),
                    "there is no room for new ones",
                    "make the table larger",
                );
            }
            // Others that add entries are reported above, or marked with `@defaultonly`.
            let mut added: Vec<_> = uses.iter().flat_map(|uses| uses.added.iter().copied()).collect();
            added.retain(|(action, _)| default == Some(*action) && uses[*action as usize].adds);
            added.dedup();
            for (action, span) in added {
                let element = &def.actions[action as usize];
                fault(
                    span,
                    format!("action `{}` adds entries itself", self.p.actions[element.action].name),
                    "a new entry cannot have an action that adds one",
                    "name another action of the table",
                );
            }
            if !default.and_then(|i| uses.get(i as usize)).is_some_and(|uses| uses.adds) {
                fault(
                    def.span,
                    format!("the default action of table `{}` does not call `add_entry`", def.name),
                    "has `add_on_miss`",
                    "name a default action that adds entries",
                );
            }
        }
        self.faults.extend(faults);
    }

    fn uses(&self, procedure: ProcedureId) -> Uses {
        let mut uses = Uses::default();
        let (mut seen, mut left) = (vec![procedure], vec![procedure]);
        while let Some(procedure) = left.pop().and_then(|id| get(&self.out.procedures, id)) {
            for (_, node) in procedure.graph.nodes.iter() {
                for stmt in &node.stmts {
                    let StmtKind::Extern { op, args, .. } = &stmt.kind else { continue };
                    uses.adds |= *op == ExternOp::AddEntry;
                    if let (ExternOp::AddEntry, Some(Arg::Table { action: Some(action), .. })) =
                        (*op, args.first())
                    {
                        uses.added.push((*action, stmt.span));
                    }
                    uses.sets_timers |= *op == ExternOp::SetTimer;
                }
                if let TerminatorKind::Call { procedure, .. } = node.terminator.kind
                    && !seen.contains(&procedure)
                {
                    seen.push(procedure);
                    left.push(procedure);
                }
            }
        }
        uses
    }
}

impl<'p> Body<'_, 'p> {
    /// The call of a function of tables with state, with its result if it has one; `None` if it is another function.
    pub(crate) fn table_state_call(
        &mut self,
        op: ExternOp,
        e: &Checked,
        call: &Call,
    ) -> Option<Option<Expr>> {
        let arg = |i: usize| call.args.get(i).and_then(Option::as_ref);
        match op {
            ExternOp::AddEntry => Some(self.add_entry(None, [arg(0), arg(1), arg(2)], e)),
            ExternOp::AddEntryIf => {
                let condition = self.expr(arg(0)?);
                Some(self.add_entry(Some(condition), [arg(1), arg(2), arg(3)], e))
            }
            ExternOp::RestartTimer => {
                let none = Expr::bit(PROFILE_BITS, 0);
                self.set_timer(Expr::bool(true), Expr::bool(false), none, e.span);
                Some(None)
            }
            ExternOp::SetTimer => {
                let profile = self.profile(arg(0)?);
                self.set_timer(Expr::bool(true), Expr::bool(true), profile, e.span);
                Some(None)
            }
            ExternOp::SetTimerIf => {
                let (condition, profile) = (self.expr(arg(0)?), self.profile(arg(1)?));
                self.set_timer(condition.clone(), condition, profile, e.span);
                Some(None)
            }
            ExternOp::UpdateTimer => {
                let [restarts, sets] = [arg(0)?, arg(1)?].map(|arg| self.expr(arg));
                let profile = self.profile(arg(2)?);
                self.set_timer(restarts, sets, profile, e.span);
                Some(None)
            }
            _ => None,
        }
    }

    /// The result of `add_entry` in the type that the program's declaration gives it: true, or 0, if the entry was added.
    fn status(&mut self, done: Place, e: &Checked) -> Option<Expr> {
        if e.ty == Types::VOID {
            return None;
        }
        let number = Expr::read(done, Type::Bit(Added::BITS));
        let n_done = Expr::bit(Added::BITS, u128::from(Added::N_DONE));
        let added = ExprKind::Binary(BinaryOp::Lt, Box::new(number), Box::new(n_done));
        let added = Expr::new(added, Type::Bool);
        Some(match self.ty(e.ty) {
            Type::Bit(width) => {
                let (zero, one) = (Expr::bit(width, 0), Expr::bit(width, 1));
                let status = ExprKind::Mux(Box::new(added), Box::new(zero), Box::new(one));
                Expr::new(status, Type::Bit(width))
            }
            _ => added,
        })
    }

    fn fault(&mut self, span: Span, message: String, label: &str, note: &str) {
        let diagnostic = Diagnostic::new(&codes::TABLE_STATE, span, message).label(label).note(note);
        self.e.faults.push(diagnostic);
    }

    /// The table whose action this is; reports a call elsewhere.
    fn own_table(&mut self, function: &str, span: Span) -> Option<TableInForce> {
        let table = self.e.table_in_force;
        if table.is_none() {
            self.fault(
                span,
                format!("{function} is used outside of the actions of a table"),
                "no entry belongs to this call",
                "only actions that a table runs, and actions that these call, may use it",
            );
        }
        table
    }

    /// Writes that the timeout of the entry begins again if `restarts` is true, with another profile if `sets` is, too.
    fn set_timer(&mut self, restarts: Expr, sets: Expr, profile: Expr, span: Span) {
        let Some(table) = self.own_table("a timer", span) else { return };
        let table = Arg::Table { table: table.id, action: None };
        let args = vec![table, Arg::In(restarts), Arg::In(sets), Arg::In(profile)];
        self.table_operation(ExternOp::SetTimer, args, None, span);
    }

    /// The number of a profile in its width.
    fn profile(&mut self, given: &Checked) -> Expr {
        // A literal is wrapped when it gets the type of the parameter.
        if let check::program::ExprKind::Cast { operand, is_implicit: true } = &given.kind
            && let Some(Value::Int(number)) = self.constant(operand)
            && number.to_u8().is_none()
        {
            self.fault(
                given.span,
                format!("there is no profile {number}"),
                "the profile of the entry's timeout",
                "profiles are 0 to 255; `siding ctl expire` says for how many seconds each stands",
            );
        }
        let profile = self.expr(given);
        match profile.ty {
            Type::Bit(PROFILE_BITS) => profile,
            _ => Expr::new(ExprKind::Cast(Box::new(profile)), Type::Bit(PROFILE_BITS)),
        }
    }

    fn table_operation(&mut self, op: ExternOp, args: Vec<Arg>, result: Option<Place>, span: Span) {
        let kind = StmtKind::Extern { op, name: op.name().into(), object: None, args, result };
        self.stmt(kind, span);
    }

    /// Writes a call of `add_entry` with its name, data and profile; gives its result.
    fn add_entry(
        &mut self,
        condition: Option<Expr>,
        [name, data, profile]: [Option<&Checked>; 3],
        e: &Checked,
    ) -> Option<Expr> {
        let table = self.own_table("`add_entry`", e.span)?;
        let done = self.temporary(Type::Bit(Added::BITS), e.span);
        // Without arguments the call is at fault, which has been reported, or is with the action in its list.
        let args = self.new_entry(table, name?, data?, profile, condition).unwrap_or_default();
        self.table_operation(ExternOp::AddEntry, args, Some(done.clone()), e.span);
        self.status(done, e)
    }

    fn new_entry(
        &mut self,
        table: TableInForce,
        name: &Checked,
        data: &Checked,
        profile: Option<&Checked>,
        condition: Option<Expr>,
    ) -> Option<Vec<Arg>> {
        let AddOnMiss { profile: default, .. } = self.e.out.tables[table.id].add_on_miss?;
        let (action, element) = self.added_action(table, name)?;
        let values = match self.extern_value(data, false) {
            Arg::In(value) => vec![value],
            Arg::Fields(values) => values,
            Arg::Ref(_) | Arg::Str(_) | Arg::Table { .. } | Arg::Absent => Vec::new(),
        };
        let mut values = self.action_data(table, element, data, values)?;
        values.extend(self.e.first_register_values(table.id));
        let profile = match profile {
            Some(profile) => self.profile(profile),
            None => Expr::bit(PROFILE_BITS, u128::from(default)),
        };
        let action = Arg::Table { table: table.id, action: Some(action) };
        let condition = condition.unwrap_or_else(|| Expr::bool(true));
        Some(vec![action, Arg::Fields(values), Arg::In(profile), Arg::In(condition)])
    }

    /// The action of the table that a string names: as declared, by its `@name`, or in full.
    fn added_action(&mut self, table: TableInForce, name: &Checked) -> Option<(u32, &'p ActionListElement)> {
        let p = self.e.p;
        let Some(Value::Str(wanted)) = self.constant(name) else {
            self.fault(
                name.span,
                "the action of a new entry is no string literal".to_string(),
                "not known while compiling",
                "write the name of an action of the table",
            );
            return None;
        };
        let def = &p.tables[table.checked];
        let is_named = |element: &ActionListElement| {
            let full = p.control_plane_name_of_action(table.scope, element.action);
            let full = full.trim_start_matches('.');
            let last = full.rsplit('.').next();
            p.actions[element.action].name == wanted || full == wanted || last == Some(wanted.as_str())
        };
        let Some((i, element)) = def.actions.iter().enumerate().find(|(_, element)| is_named(element)) else {
            let may_be_added = |e: &&ActionListElement| annotation(&e.annotations, "defaultonly").is_none();
            let elements = def.actions.iter().filter(may_be_added);
            let names: Vec<&str> = elements.map(|e| p.actions[e.action].name.as_str()).collect();
            let known = match closest(&wanted, names.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("entries may have {}", names.join(", ")),
            };
            self.fault(
                name.span,
                format!("table `{}` has no action `{wanted}`", def.name),
                "the new entry could not run it",
                &known,
            );
            return None;
        };
        let is_default_only = annotation(&element.annotations, "defaultonly").is_some();
        if is_default_only {
            self.fault(
                name.span,
                format!("action `{wanted}` is `@defaultonly`"),
                "no entry may have it",
                "name an action that entries may have",
            );
            return None;
        }
        let params = &p.actions[element.action].params;
        if params.iter().any(|param| p.direction(*param) != Direction::None) {
            self.fault(
                name.span,
                format!("action `{wanted}` has parameters with a direction"),
                "an entry cannot give it arguments",
                "name an action whose parameters have no direction",
            );
            return None;
        }
        Some((u32::try_from(i).ok()?, element))
    }

    /// The data of a new entry as leaves of the action's parameters; reports data that do not fit.
    fn action_data(
        &mut self,
        table: TableInForce,
        element: &ActionListElement,
        data: &Checked,
        values: Vec<Expr>,
    ) -> Option<Vec<Expr>> {
        let p = self.e.p;
        let def = &p.actions[element.action];
        let names = self.e.names_of(table.scope);
        let mut types = Vec::new();
        for param in &def.params {
            let ty = self.e.ty_in(p.vars[*param].ty, &names);
            let leaves = ir::layout::leaves(&self.e.out, &ty);
            if leaves.iter().any(ir::layout::Leaf::is_implicit) {
                let message = format!(
                    "parameter `{}` of action `{}` has a header in it",
                    p.vars[*param].name, def.name
                );
                self.fault(
                    data.span,
                    message,
                    "the data of the new entry",
                    "name an action that has the fields of the header as parameters",
                );
                return None;
            }
            types.extend(leaves.into_iter().map(|leaf| (&p.vars[*param].name, leaf.ty)));
        }
        if let Some(given) = self.field_names(data)
            && let Some((given, param)) = given.iter().zip(&def.params).find(|(a, b)| **a != p.vars[**b].name)
        {
            let message =
                format!("parameter `{}` of action `{}` is given as `{given}`", p.vars[*param].name, def.name);
            self.fault(
                data.span,
                message,
                "another name than that of the parameter",
                "the fields have the names of the parameters, in their order",
            );
            return None;
        }
        if types.len() != values.len() {
            let n = if types.len() == 1 { "1 value".to_string() } else { format!("{} values", types.len()) };
            let message = format!("action `{}` takes {n}, and gets {}", def.name, values.len());
            self.fault(data.span, message, "the data of the new entry", "one value for each parameter");
            return None;
        }
        let mut fitted = Vec::new();
        let has_types = self.has_declared_fields(data);
        for (value, (param, ty)) in values.into_iter().zip(types) {
            // A number that is known takes the type of the parameter if that has it, and none is declared.
            let known = value.as_const().filter(|_| !has_types);
            let value = match known.and_then(|known| as_number(known, &value.ty, &ty)) {
                Some(number) => Expr::new(ExprKind::Const(number), ty.clone()),
                None => value,
            };
            // Newtypes are what they are made of.
            if value.ty != ty {
                let message = format!(
                    "parameter `{param}` of action `{}` takes a value of {} where it gets one of {}",
                    def.name,
                    described(&ty),
                    described(&value.ty)
                );
                self.fault(
                    data.span,
                    message,
                    "the data of the new entry",
                    "each value has the type of its parameter",
                );
                return None;
            }
            fitted.push(self.fit(value, &ty, data.span));
        }
        Some(fitted)
    }

    /// Returns whether the data are a struct that the program declares.
    fn has_declared_fields(&mut self, data: &Checked) -> bool {
        let ty = self.e.instantiate(data.ty, &self.names);
        matches!(self.e.types.kind(ty), TyKind::Struct(..))
    }

    /// The names of the fields of a struct.
    fn field_names(&mut self, data: &Checked) -> Option<Vec<smol_str::SmolStr>> {
        let ty = self.e.instantiate(data.ty, &self.names);
        match self.e.types.kind(ty) {
            TyKind::Struct(..) | TyKind::StructLiteral(_) => {}
            _ => return None,
        }
        let Type::Struct(id) = self.e.ty(ty) else { return None };
        Some(self.e.out.structs[id].fields.iter().map(|field| field.name.clone()).collect())
    }
}

/// A known number in another type; `None` if one of the two is no type of numbers, or the number is out of range.
fn as_number(known: &Bits, from: &Type, to: &Type) -> Option<Bits> {
    let (Type::Bit(_) | Type::Int(_), Type::Bit(width) | Type::Int(width)) = (from, to) else { return None };
    let number = resized(known, from.is_signed(), *width);
    // With room for the sign of either.
    let wide = known.width().max(*width) + 1;
    let is_same = resized(&number, to.is_signed(), wide) == resized(known, from.is_signed(), wide);
    is_same.then_some(number)
}

/// A type in words.
fn described(ty: &Type) -> String {
    match ty {
        Type::Bool => "type bool".to_string(),
        Type::Bit(1) => "1 bit".to_string(),
        Type::Bit(width) => format!("{width} bits"),
        Type::Int(width) => format!("{width} bits with sign"),
        Type::Varbit(_) => "variable width".to_string(),
        Type::Error => "type error".to_string(),
        Type::Enum(_) => "an enum".to_string(),
        Type::Struct(_) | Type::Stack { .. } | Type::Array { .. } => "several parts".to_string(),
    }
}
