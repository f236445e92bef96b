//! Tables: their keys, what they look up, the actions they run, and what the program puts into them.

use crate::facts::keys::matched;
use crate::facts::storage::StorageClass;
use crate::facts::updates::Update;
use crate::function::cx::Cx;
use crate::function::externs::{has_cells_on_call, packed_member, selector_algorithm};
use crate::function::func::Func;
use crate::function::saved_state::{load, save_at_point};
use crate::function::scalar::{Class, Scalar};
use crate::suspend::plan::BurstPlan;
use crate::text::code::{Code, comment};
use crate::text::names::{Unique, member as member_name};
use crate::text::types::{Repr, packed, repr, size_bytes, width_of};
use ir::layout::leaves;
use ir::lookup::{get, index};
use ir::{
    Added, Arg, Bits, Expr, Key, Match, MatchKind, Place, ProcedureId, Sync, TableAction, TableId, Type,
};

pub(crate) fn kind_name(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact | MatchKind::Selector => "SD_MATCH_EXACT",
        MatchKind::Lpm => "SD_MATCH_LPM",
        MatchKind::Ternary => "SD_MATCH_TERNARY",
        MatchKind::Range => "SD_MATCH_RANGE",
        MatchKind::Optional => "SD_MATCH_OPTIONAL",
    }
}

/// Signed values that are matched by range are kept with the sign bit flipped, so that their order is unsigned.
pub(crate) fn is_biased(ty: &Type, kind: MatchKind) -> bool {
    kind == MatchKind::Range && ty.is_signed()
}

/// Names of the members of a key.
fn member_names(keys: &[(usize, &Key)]) -> Vec<String> {
    let mut unique = Unique::default();
    keys.iter().map(|(_, key)| unique.take(member_name(&crate::text::names::path(&key.name)))).collect()
}

/// Leaves of the action data, in order.
pub(crate) fn data_leaves(cx: &Cx<'_>, procedure: ProcedureId) -> Vec<Type> {
    let params = get(&cx.program.procedures, procedure).map(|p| p.params.as_slice()).unwrap_or_default();
    let of_param = |var: &ir::VarId| leaves(cx.program, &cx.program.variables[*var].ty);
    params.iter().flat_map(of_param).map(|leaf| leaf.ty).collect()
}

/// Names of the members of the action data, in the same order.
fn data_names(cx: &Cx<'_>, procedure: ProcedureId) -> Vec<String> {
    let params = get(&cx.program.procedures, procedure).map(|p| p.params.as_slice()).unwrap_or_default();
    let mut unique = Unique::default();
    let mut names = Vec::new();
    for var in params {
        let variable = &cx.program.variables[*var];
        for leaf in leaves(cx.program, &variable.ty) {
            let path = cx.leaf_path(&variable.ty, &leaf);
            let path: String =
                path.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
            names.push(unique.take(member_name(&format!("{}{path}", variable.name))));
        }
    }
    names
}

pub(crate) fn data_struct_name(cx: &Cx<'_>, procedure: ProcedureId) -> String {
    format!("struct {}__data", cx.procedure_name(procedure))
}

/// The struct of the action data in entries.
pub(crate) fn data_struct(cx: &Cx<'_>, procedure: ProcedureId, out: &mut Code) {
    let types = data_leaves(cx, procedure);
    if types.is_empty() {
        return;
    }
    let name = &cx.program.procedures[procedure].name;
    out.line(format!("/* Data of action {}. */", comment(name)));
    out.open(data_struct_name(cx, procedure));
    for (ty, member) in types.iter().zip(data_names(cx, procedure)) {
        out.line(packed_member(cx, ty, &member));
    }
    out.close(" __attribute__((packed));");
    out.blank();
}

pub(crate) fn key_struct(cx: &Cx<'_>, id: TableId, out: &mut Code) {
    let table = &cx.program.tables[id];
    let keys = matched(&table.keys);
    if keys.is_empty() {
        return;
    }
    out.line(format!("/* Key of table {}. */", comment(&table.name)));
    out.open(format!("struct {}__key", cx.table_name(id)));
    for ((_, key), name) in keys.iter().zip(member_names(&keys)) {
        let kind = key.match_kind.name();
        out.line(format!("{} /* {}: {kind} */", packed_member(cx, &key.ty, &name), comment(&key.name)));
    }
    out.close(" __attribute__((packed));");
    out.blank();
}

/// How a table is applied.
#[derive(Clone, Copy)]
pub(crate) enum Lookup {
    /// Its memory was prefetched at the point of another table, where the lookup may have been counted, too.
    Asked { is_counted: bool },
    /// At once; `point` is the trace point.
    AtOnce { point: Option<u32> },
}

/// The place of a table in a block that runs in stages.
#[derive(Clone, Copy)]
pub(crate) enum StagedSite {
    /// Packets suspend here; the number of the point.
    Point(usize),
    /// The point of another table prefetches it, and may have counted the lookup.
    Prefetched { is_counted: bool },
}

impl<'p> Func<'_, 'p> {
    /// Looks a table up and runs the action; gives how that ended where it is not known.
    pub(crate) fn apply(
        &mut self,
        id: TableId,
        keys: &[Expr],
        hit: Option<&Place>,
        action: Option<&Place>,
        applied: Lookup,
    ) -> Option<String> {
        let end = self.apply_table(id, keys, hit, action, applied);
        // Only actions of the table reach the cells of its entries.
        if has_cells_on_call(self.cx.program, &self.cx.program.tables[id]) {
            self.code.line(format!("sd_direct_none(w, {});", self.cx.names.table_number(id)));
        }
        end
    }

    fn apply_table(
        &mut self,
        id: TableId,
        keys: &[Expr],
        hit: Option<&Place>,
        action: Option<&Place>,
        applied: Lookup,
    ) -> Option<String> {
        let cx = self.cx;
        let point = match applied {
            Lookup::Asked { .. } => None,
            Lookup::AtOnce { point } => point,
        };
        let table = &cx.program.tables[id];
        let end = self.end_of_table(id);
        if is_shared(cx, id, applied) {
            let (call, _) = self.lookup_call(id, keys, applied);
            let found = self.temp();
            self.code.line(format!("const struct sd_found {found} = {call};"));
            self.found(id, &found, hit, action, end.as_deref(), None);
            return end;
        }
        self.code.line(format!("/* {}.apply() */", comment(&table.name)));
        let body = self.nested(|f| {
            let (call, key) = f.lookup_call(id, keys, applied);
            f.code.line(format!("const struct sd_found found = {call};"));
            if let Some(point) = point {
                let locals = cx.locals(table.block);
                f.code.line(format!("SD_TRACE_LOOKUP_POINT(w, p, s, {locals}, {point}, {key}, found);"));
            }
            f.found(id, "found", hit, action, end.as_deref(), point);
        });
        self.code.line("{");
        self.code.append(body);
        self.code.line("}");
        end
    }

    /// The call that looks a table up, and the address of its key. Writes the statements that build the key.
    fn lookup_call(&mut self, id: TableId, keys: &[Expr], applied: Lookup) -> (String, &'static str) {
        let cx = self.cx;
        let table = &cx.program.tables[id];
        if has_cells_on_call(cx.program, table) {
            self.code.line(format!("sd_direct_default(w, {});", cx.names.table_number(id)));
        }
        if is_shared(cx, id, applied) {
            let mut arguments = "w, p".to_string();
            for (position, _) in matched(&table.keys) {
                let Some(value) = keys.get(position) else { continue };
                arguments.push_str(&format!(", {}", self.value_text(value)));
            }
            return (format!("{}__apply({arguments})", cx.table_name(id)), "NULL");
        }
        let hash = self.selector_hash(table, keys);
        let (key, size) = match matched(&table.keys).is_empty() {
            true => ("NULL", "0"),
            false => {
                self.code.line(format!("struct {}__key key;", cx.table_name(id)));
                self.fill_keys(table, keys, "key.");
                ("&key", "sizeof key")
            }
        };
        let (n, this) = (index(id), cx.table_arguments(id));
        if matches!(applied, Lookup::Asked { is_counted: false }) {
            self.code.line(format!("w->table_counts[{}].n_lookups++;", cx.names.table_number(id)));
        }
        // Lookups that all packets of the block make are counted once per burst, by its caller.
        let look = lookup_function(cx, id);
        let call = match applied {
            Lookup::AtOnce { .. } => format!("{look}(w, p, {this}, {key}, {size}, {hash})"),
            Lookup::Asked { .. } => {
                format!("sd_table_lookup_finish(w, p, {this}, {key}, {size}, &c->asked_{n}, {hash})")
            }
        };
        (call, key)
    }

    /// Applies a table in a block that runs in stages: at once when the block runs as a whole, else with memory that
    /// was prefetched.
    pub(crate) fn apply_in_stages(
        &mut self,
        id: TableId,
        keys: &[Expr],
        hit: Option<&Place>,
        action: Option<&Place>,
        site: StagedSite,
    ) -> Option<String> {
        let name = comment(&self.cx.program.tables[id].name).to_string();
        let end = self.end_of_table(id);
        let found = self.temp();
        self.code.line(format!("struct sd_found {found};"));
        self.code.open("if (stage == P4X_WHOLE)");
        let (call, _) = self.lookup_call(id, keys, Lookup::AtOnce { point: None });
        self.code.line(format!("{found} = {call};"));
        self.code.close(" else {");
        self.code.indent();
        let call = match site {
            StagedSite::Point(point) => {
                self.code.line(format!("/* {name}.apply(): suspend until its memory is prefetched. */"));
                self.suspend(id, keys, point);
                let label = format!("after_{point}");
                self.jumps.insert(label.clone());
                self.code.label(label);
                self.restore_at(point);
                self.finish_call_at(id, point)
            }
            StagedSite::Prefetched { is_counted } => {
                self.lookup_call(id, keys, Lookup::Asked { is_counted }).0
            }
        };
        self.code.line(format!("{found} = {call};"));
        self.code.close("");
        self.found(id, &found, hit, action, end.as_deref(), None);
        end
    }

    fn restore_at(&mut self, point: usize) {
        let cx = self.cx;
        if let Some(plan) = cx.plan {
            load(cx, &plan.points[point].saved, &format!("c->at_{point}"), false, &mut self.code);
        }
    }

    /// The call that completes a lookup behind its suspension point.
    fn finish_call_at(&self, id: TableId, point: usize) -> String {
        let hash = match self.cx.program.tables[id].implementation {
            Some(_) => format!("c->at_{point}.selector"),
            None => "0".to_string(),
        };
        format!(
            "sd_table_lookup_finish(w, p, {this}, &c->at_{point}.key, sizeof c->at_{point}.key, &c->at_{point}.asked, {hash})",
            this = self.cx.table_arguments(id)
        )
    }

    /// Where how the actions of a table end is put, if they may end in several ways.
    fn end_of_table(&mut self, id: TableId) -> Option<String> {
        (!self.cx.table_ends(id).is_plain()).then(|| {
            let end = self.temp();
            self.code.line(format!("uint32_t {end};"));
            end
        })
    }

    fn fill_keys(&mut self, table: &ir::Table, keys: &[Expr], to: &str) {
        let matched_keys = matched(&table.keys);
        for ((position, key), member) in matched_keys.iter().zip(member_names(&matched_keys)) {
            let Some(value) = keys.get(*position) else { continue };
            self.fill_key(&format!("{to}{member}"), value, key.match_kind);
        }
    }

    /// Assigns the results of a lookup, and runs the action.
    fn found(
        &mut self,
        id: TableId,
        found: &str,
        hit: Option<&Place>,
        action: Option<&Place>,
        end: Option<&str>,
        point: Option<u32>,
    ) {
        let cx = self.cx;
        if let Some(place) = hit {
            let access = self.place(place);
            self.store(&access, &Scalar::atom(format!("{found}.hit"), Class::Int));
        }
        if let Some(place) = action {
            let access = self.place(place);
            self.store(&access, &Scalar::atom(format!("{found}.action"), Class::U32));
        }
        if let Some(point) = point {
            self.trace("SD_TRACE_TERMINATOR", point, "0");
        }
        let assigned = end.map(|end| format!("{end} = ")).unwrap_or_default();
        let arguments = cx.arguments(cx.program.tables[id].block);
        self.code.line(format!("{assigned}{}__run({arguments}, &{found});", cx.table_name(id)));
    }

    /// Changes a value in the data of the entry whose action runs.
    pub(crate) fn store_data(&mut self, args: &[Arg]) {
        let [Arg::Table { table, action: Some(action) }, Arg::In(leaf), Arg::In(value)] = args else {
            return;
        };
        if let Some((of, data, member)) = self.data_member(*table, *action, leaf) {
            self.fill(&format!("(({of} *){data})->{member}"), value);
        }
    }

    /// Changes a value in the data of an entry in one step.
    pub(crate) fn update_data(&mut self, args: &[Arg], result: Option<&'p Place>) {
        let [Arg::Table { table, action: Some(action) }, Arg::In(leaf), Arg::Str(update), Arg::In(operand)] =
            args
        else {
            return;
        };
        let Some((of, data, member)) = self.data_member(*table, *action, leaf) else { return };
        // Compilers warn of pointers to members of packed structs.
        let at = format!("(void *)({data} + offsetof({of}, {member}))");
        let (width, operand) = (width_of(&operand.ty), self.value_text(operand));
        let update = update.to_uppercase();
        let call = format!("sd_data_update_{width}(w, {at}, SD_DATA_{update}, (uint{width}_t)({operand}))");
        let new = self.bind(&format!("uint{width}_t"), &call);
        self.set_result(result, &Scalar::atom(new, Class::of_width(width)), width);
    }

    /// A value in the data of the entry whose action runs: the type of the data, a pointer to its bytes, and the member.
    fn data_member(&self, table: TableId, action: u32, leaf: &Expr) -> Option<(String, String, String)> {
        let cx = self.cx;
        let listed = cx.program.tables[table].actions.get(action as usize)?;
        let leaf = usize::try_from(leaf.as_const()?.to_u64()?).ok()?;
        let names = data_names(cx, listed.procedure);
        let member = names.get(leaf)?;
        let data = format!("w->direct[{}].data", cx.names.table_number(table));
        Some((data_struct_name(cx, listed.procedure), data, member.clone()))
    }

    /// Adds an entry for the key that the action's table has missed.
    pub(crate) fn add_entry(&mut self, args: &[Arg], result: Option<&'p Place>) {
        let [Arg::Table { table, action: Some(action) }, Arg::Fields(values), ..] = args else { return };
        let cx = self.cx;
        let Some(listed) = cx.program.tables[*table].actions.get(*action as usize) else { return };
        let (data, size) = match values.is_empty() {
            true => ("\"\"".to_string(), "0".to_string()),
            false => {
                let data = self.temp();
                self.code.line(format!("{} {data};", data_struct_name(cx, listed.procedure)));
                for (value, member) in values.iter().zip(data_names(cx, listed.procedure)) {
                    self.fill(&format!("{data}.{member}"), value);
                }
                (format!("&{data}"), format!("sizeof {data}"))
            }
        };
        let (profile, adds) = (self.small(args, 2), self.condition(args, 3));
        let number = cx.names.actions(*table).get(*action as usize).cloned().unwrap_or_default();
        let call = format!(
            "{adds} ? sd_table_add_entry(w, {}, {number}, {data}, {size}, (uint8_t){profile}) : SD_ADDED_NOT_ASKED",
            cx.table_arguments(*table)
        );
        let added = self.bind("uint8_t", &call);
        self.set_result(result, &Scalar::atom(added, Class::Int), Added::BITS);
    }

    /// Suspends a packet of a large program.
    pub(crate) fn suspend_at(&mut self, id: TableId, keys: &[Expr], point: usize) {
        let table = &self.cx.program.tables[id];
        self.code
            .line(format!("/* {}.apply(): suspend until its memory is prefetched. */", comment(&table.name)));
        let body = self.nested(|f| f.suspend(id, keys, point));
        self.code.line("{");
        self.code.append(body);
        self.code.line("}");
    }

    /// Stage 1 of a lookup: hashes the key, prefetches, saves state, and suspends the packet.
    fn suspend(&mut self, id: TableId, keys: &[Expr], point: usize) {
        let cx = self.cx;
        let Some(plan) = cx.plan else { return };
        let table = &cx.program.tables[id];
        // Bursts of small programs run in stages when tables exceed the cache; large programs ask each table.
        let distance = if cx.has_small_stages { "SD_LOOKUP_STAGED" } else { "here" };
        if !cx.has_small_stages {
            let tables = std::iter::once(id).chain(plan.members_of(id));
            let far: Vec<String> =
                tables.map(|id| format!("sd_table_exceeds_cache(w, {})", index(id))).collect();
            self.code.line(format!(
                "const enum sd_lookup_mode here = {} ? SD_LOOKUP_STAGED : SD_LOOKUP_INLINE;",
                far.join(" || ")
            ));
        }
        let hash = self.selector_hash(table, keys);
        self.fill_keys(table, keys, &format!("c->at_{point}.key."));
        self.code.line(format!(
            "sd_table_lookup_hash(w, {this}, &c->at_{point}.key, sizeof c->at_{point}.key, {distance}, \
             &c->at_{point}.asked);",
            this = cx.table_arguments(id)
        ));
        if table.implementation.is_some() {
            self.code.line(format!("c->at_{point}.selector = {hash};"));
        }
        for member in plan.members_of(id) {
            self.prefetch_member(plan, member, distance);
        }
        save_at_point(cx, plan, point, &mut self.code);
        self.code.line(format!("return SD_END_SUSPENDED + {point};"));
    }

    /// Prefetches for a table to which the packet will come.
    fn prefetch_member(&mut self, plan: &BurstPlan, id: TableId, distance: &str) {
        let cx = self.cx;
        let table = &cx.program.tables[id];
        let Some(keys) = plan.keys(id) else { return };
        self.code.line(format!("/* {}.apply() comes later */", comment(&table.name)));
        let body = self.nested(|f| {
            f.code.line(format!("struct {}__key key;", cx.table_name(id)));
            f.fill_keys(table, keys, "key.");
            let (n, this) = (index(id), cx.table_arguments(id));
            f.code.line(format!(
                "sd_table_lookup_hash(w, {this}, &key, sizeof key, {distance}, &c->asked_{n});"
            ));
        });
        self.code.line("{");
        self.code.append(body);
        self.code.line("}");
    }

    /// Completes a lookup of a large program behind its suspension point.
    pub(crate) fn resume_lookup(
        &mut self,
        id: TableId,
        hit: Option<&Place>,
        action: Option<&Place>,
        point: usize,
    ) -> Option<String> {
        let table = &self.cx.program.tables[id];
        let end = self.end_of_table(id);
        self.code.line(format!("/* {}.apply(): the memory is prefetched. */", comment(&table.name)));
        let (call, found) = (self.finish_call_at(id, point), self.temp());
        self.code.line(format!("const struct sd_found {found} = {call};"));
        self.found(id, &found, hit, action, end.as_deref(), None);
        end
    }

    fn fill_key(&mut self, member: &str, value: &Expr, kind: MatchKind) {
        let width = width_of(&value.ty);
        if !is_biased(&value.ty, kind) || width == 0 {
            return self.fill(member, value);
        }
        let top =
            Expr { kind: ir::ExprKind::Const(Bits::new(width, 1).shl(width - 1)), ty: value.ty.clone() };
        let biased = Expr::binary(ir::BinaryOp::BitXor, value.clone(), top, value.ty.clone());
        self.fill(member, &biased);
    }

    /// The hash that chooses a member of a group.
    fn selector_hash(&mut self, table: &ir::Table, keys: &[Expr]) -> String {
        let Some(algorithm) = selector_algorithm(self.cx.program, table) else { return "0".to_string() };
        self.code.line("sd_pack_begin(w);");
        for (key, value) in table.keys.iter().zip(keys) {
            if key.match_kind == MatchKind::Selector {
                self.pack_value(value, false);
            }
        }
        self.bind("uint64_t", &format!("sd_hash_packed(w, {algorithm}, NULL, 0)"))
    }

    /// The members of a value set have a key of these values.
    pub(crate) fn in_value_set(&mut self, set: usize, values: &[Expr]) -> String {
        let key = self.temp();
        self.code.line(format!("struct p4x_value_set_{set}__key {key};"));
        let fields =
            self.cx.program.value_sets.iter().nth(set).map(|(_, s)| s.fields.clone()).unwrap_or_default();
        for (i, (value, field)) in values.iter().zip(&fields).enumerate() {
            self.fill_key(&format!("{key}.k{i}"), value, field.match_kind);
        }
        format!("sd_value_set_contains(w, {set}, &{key}, sizeof {key})")
    }
}

/// Looks tables up at once. What all packets of a block come to is counted by whoever runs the block.
fn lookup_function(cx: &Cx<'_>, id: TableId) -> &'static str {
    match cx.plan.is_some_and(|plan| plan.first_tables.contains(&id)) {
        true => "sd_table_lookup_uncounted",
        false => "sd_table_lookup",
    }
}

/// Says if a lookup calls the table's own function, which builds the key.
fn is_shared(cx: &Cx<'_>, id: TableId, applied: Lookup) -> bool {
    matches!(applied, Lookup::AtOnce { point: None }) && has_apply_function(cx, id)
}

/// Says if a table has a function that builds its key and looks it up. A selector's hash is built where the table is
/// applied, and a host that follows every step is told of the key.
fn has_apply_function(cx: &Cx<'_>, id: TableId) -> bool {
    let table = &cx.program.tables[id];
    let is_plain = |(_, key): &(usize, &Key)| !is_biased(&key.ty, key.match_kind) && width_of(&key.ty) > 0;
    !cx.options.trace
        && selector_algorithm(cx.program, table).is_none()
        && matched(&table.keys).iter().all(is_plain)
}

/// Builds the key of a table and looks it up.
pub(crate) fn apply_function(cx: &Cx<'_>, id: TableId, out: &mut Code) {
    if !has_apply_function(cx, id) {
        return;
    }
    let table = &cx.program.tables[id];
    let keys = matched(&table.keys);
    let (name, look, this) = (cx.table_name(id), lookup_function(cx, id), cx.table_arguments(id));
    out.own(format!("/* Looks up {}. */", comment(&table.name)));
    out.at(table.span);
    let values = (0..keys.len()).map(|i| format!("k{i}"));
    let parameters =
        keys.iter().zip(values.clone()).map(|((_, key), k)| format!(", {} {k}", cx.types.c_type(&key.ty)));
    let parameters: String = parameters.collect();
    out.function(format!(
        "SD_ALWAYS_INLINE struct sd_found {name}__apply(struct sd_worker *w, struct sd_packet *p{parameters})"
    ));
    if keys.is_empty() {
        out.line(format!("return {look}(w, p, {this}, NULL, 0, 0);"));
    } else {
        let members = member_names(&keys).into_iter().zip(values);
        let fields = members.map(|(member, k)| format!(".{member} = {k}")).collect::<Vec<_>>().join(", ");
        out.line(format!("const struct {name}__key key = {{{fields}}};"));
        out.line(format!("return {look}(w, p, {this}, &key, sizeof key, 0);"));
    }
    out.close("");
    out.blank();
}

/// Runs the action that a lookup has found.
pub(crate) fn run_function(cx: &Cx<'_>, id: TableId, out: &mut Code) {
    let table = &cx.program.tables[id];
    let plain = cx.table_ends(id).is_plain();
    let result = if plain { "void" } else { "uint32_t" };
    out.own(format!("/* Runs the action that table {} has found. */", comment(&table.name)));
    out.at(table.span);
    let parameters = cx.parameters(table.block);
    out.function(format!(
        "{} {result} {}__run({parameters}, const struct sd_found *found)",
        cx.linkage(),
        cx.table_name(id)
    ));
    if table.implementation.is_some() && table.actions.iter().any(|action| action.is_group_action) {
        out.line("/* The action of a group runs first. */");
        out.open("if (found->group_action)");
        out.line("switch (found->group_action->member_or_action) {");
        action_cases(cx, id, RunAs::Group, out);
        out.line("}");
        out.close("");
    }
    out.line("switch (found->action) {");
    action_cases(cx, id, RunAs::Selected, out);
    if !plain {
        out.line("default:");
        out.line("    return SD_END_DONE;");
    }
    out.line("}");
    out.close("");
    out.blank();
}

/// The source of an action that a table runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunAs {
    /// The action of a group; the selected one follows.
    Group,
    /// The action of an entry, the default action, or the one that a group selects.
    Selected,
}

/// The cases of a switch over the actions of a table.
fn action_cases(cx: &Cx<'_>, id: TableId, run_as: RunAs, out: &mut Code) {
    let actions = cx.program.tables[id].actions.iter().zip(&cx.facts.updates[index(id)]);
    for (i, (action, update)) in actions.enumerate() {
        if action.is_group_action != (run_as == RunAs::Group) {
            continue;
        }
        let declares = !data_leaves(cx, action.procedure).is_empty()
            || (run_as == RunAs::Group && !cx.ends(action.procedure).is_plain());
        let brace = if declares { " {" } else { "" };
        out.line(format!("case {}:{brace}", cx.names.actions(id)[i]));
        out.indent();
        run_action(cx, id, (action, update), run_as, out);
        out.dedent();
        if declares {
            out.line("}");
        }
    }
}

fn run_action(
    cx: &Cx<'_>,
    table: TableId,
    (action, update): (&TableAction, &Update),
    run_as: RunAs,
    out: &mut Code,
) {
    let procedure = action.procedure;
    let block = cx.program.tables[table].block;
    let callee = &cx.program.procedures[procedure];
    let names = data_names(cx, procedure);
    let mut arguments = cx.arguments(block).to_string();
    if !names.is_empty() {
        let data = data_struct_name(cx, procedure);
        let found = match run_as {
            RunAs::Group => "found->group_action",
            RunAs::Selected => "found",
        };
        if update.sharded.len() < names.len() {
            out.line(format!("const {data} *d = (const {data} *){found}->data;"));
        }
        let number = cx.names.table_number(table);
        match update.sync {
            Sync::Sequence => out.line(format!("sd_data_begin_update(w, {number}, {found}->data);")),
            Sync::Sharded => {
                let own = format!("sd_table_begin_sharded(w, {}, {found})", cx.table_arguments(table));
                out.line(format!("const {data} *own = (const {data} *){own};"));
            }
            Sync::None | Sync::Atomic if cx.program.tables[table].updates_data => {
                out.line(format!("sd_data_offer(w, {number}, {found}->data);"));
            }
            Sync::None | Sync::Atomic => {}
        }
        let mut names = names.iter().enumerate();
        for var in &callee.params {
            let ty = &cx.program.variables[*var].ty;
            for leaf in leaves(cx.program, ty) {
                let Some((number, name)) = names.next() else { continue };
                let from = if update.sharded.contains(&number) { "own" } else { "d" };
                if matches!(cx.facts.storage.class(*var), StorageClass::Param(_)) {
                    arguments.push_str(&format!(", {from}->{name}"));
                } else {
                    let path = cx.leaf_path(ty, &leaf);
                    out.line(format!("{}{path} = {from}->{name};", cx.facts.storage.path(*var)));
                }
            }
        }
    }
    if cx.options.trace {
        let (locals, number) = (cx.locals(block), index(procedure));
        out.line(format!("SD_TRACE_POINT(w, p, s, {locals}, SD_TRACE_CALL, UINT32_MAX, {number});"));
    }
    let call = format!("{}({arguments})", cx.procedure_name(procedure));
    // From the first read of the data to the last write.
    let is_update = matches!(update.sync, Sync::Sequence | Sync::Sharded);
    if is_update && cx.ends(procedure).is_plain() {
        out.line(format!("{call};"));
        out.line(format!("sd_data_end_update(w, {});", cx.names.table_number(table)));
        let returns = run_as == RunAs::Selected && !cx.table_ends(table).is_plain();
        out.line(if returns { "return SD_END_DONE;" } else { "break;" });
        return;
    }
    if is_update {
        out.line(format!("const uint32_t end = {call};"));
        out.line(format!("sd_data_end_update(w, {});", cx.names.table_number(table)));
        out.line("return end;");
        return;
    }
    match (cx.ends(procedure).is_plain(), run_as) {
        (false, RunAs::Group) => {
            out.line(format!("const uint32_t end = {call};"));
            out.line("if (end != SD_END_DONE)");
            out.line("    return end;");
            out.line("break;");
        }
        (false, RunAs::Selected) => out.line(format!("return {call};")),
        (true, _) => {
            out.line(format!("{call};"));
            let returns = run_as == RunAs::Selected && !cx.table_ends(table).is_plain();
            out.line(if returns { "return SD_END_DONE;" } else { "break;" });
        }
    }
}

/// Parameters of the C function of a procedure, beyond those of its block.
pub(crate) fn own_parameters(cx: &Cx<'_>, procedure: ProcedureId) -> String {
    let mut text = String::new();
    for var in &cx.program.procedures[procedure].params {
        if matches!(cx.facts.storage.class(*var), StorageClass::Param(_)) {
            let c = cx.types.c_type(&cx.program.variables[*var].ty);
            text.push_str(&format!(", {c} {}", cx.facts.storage.name(*var)));
        }
    }
    text
}

/// Bytes of a value in an entry, as a C initialiser: little-endian.
fn value_bytes(bits: &Bits, ty: &Type) -> Vec<u8> {
    if let Some(Repr::Varbit(_)) = repr(ty) {
        let mut bytes = bits.width().to_le_bytes().to_vec();
        // In the order of packets, with the first bit first.
        let shift = bits.width().next_multiple_of(8) - bits.width();
        let whole = bits.resize(bits.width() + shift).shl(shift);
        bytes.extend(whole.to_bytes_be());
        bytes.resize(size_bytes(ty) as usize, 0);
        return bytes;
    }
    let mut bytes: Vec<u8> = bits.to_bytes_be().into_iter().rev().collect();
    bytes.resize(size_bytes(ty).max(1) as usize, 0);
    bytes
}

fn bytes_text(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:#04x}")).collect::<Vec<_>>().join(", ")
}

/// Value and mask of an entry; for a range, its two ends.
fn match_bytes(m: Option<&Match>, key: &Key) -> (Vec<u8>, Vec<u8>) {
    let width = width_of(&key.ty);
    let biased = is_biased(&key.ty, key.match_kind) && width > 0;
    let of = |bits: &Bits| {
        let top = Bits::new(width, 1).shl(width.saturating_sub(1));
        value_bytes(&if biased { bits.xor(&top) } else { bits.clone() }, &key.ty)
    };
    let ones = || match repr(&key.ty) {
        Some(Repr::Varbit(_)) => vec![0xff; size_bytes(&key.ty) as usize],
        _ => value_bytes(&Bits::ones(width), &key.ty),
    };
    let zeros = || vec![0; size_bytes(&key.ty).max(1) as usize];
    match m {
        None if key.match_kind == MatchKind::Range => (zeros(), ones()),
        None => (zeros(), zeros()),
        Some(Match::Exact(v) | Match::Optional(v)) => (of(v), ones()),
        Some(Match::Lpm { value, prefix_len }) => {
            let mask = Bits::prefix_mask(width, *prefix_len);
            (of(&value.and(&mask)), value_bytes(&mask, &key.ty))
        }
        Some(Match::Ternary { value, mask }) => (of(&value.and(mask)), value_bytes(mask, &key.ty)),
        Some(Match::Range { low, high }) => (of(low), of(high)),
    }
}

pub(crate) fn action_bytes(cx: &Cx<'_>, table: &ir::Table, action: &ir::Action) -> Vec<u8> {
    let Some(listed) = table.actions.get(action.index as usize) else { return Vec::new() };
    let types = data_leaves(cx, listed.procedure);
    action.data.iter().zip(&types).flat_map(|(bits, ty)| value_bytes(bits, ty)).collect()
}

fn action_number(cx: &Cx<'_>, id: TableId, i: u32) -> String {
    cx.names.actions(id).get(i as usize).cloned().unwrap_or_else(|| i.to_string())
}

/// The default action of a table for its descriptor, if it has no data.
pub(crate) fn plain_default(cx: &Cx<'_>, id: TableId) -> Option<String> {
    let table = &cx.program.tables[id];
    let has_data = !action_bytes(cx, table, &table.default_action).is_empty();
    (!has_data).then(|| action_number(cx, id, table.default_action.index))
}

/// True if a new instance gets entries, or default actions with data.
pub(crate) fn has_initial(cx: &Cx<'_>) -> bool {
    cx.program.tables.iter().any(|(id, table)| !table.entries.is_empty() || plain_default(cx, id).is_none())
}

/// The function that puts the program's entries into a new instance.
pub(crate) fn initial_function(cx: &Cx<'_>, out: &mut Code) {
    if !has_initial(cx) {
        return;
    }
    out.own("/* The entries of the program, and default actions with data. */");
    out.function("static uint32_t p4x_fill(struct sd_instance *instance)");
    out.line("uint32_t status = SD_OK;");
    for (id, table) in cx.program.tables.iter() {
        if plain_default(cx, id).is_none() {
            out.line(format!(
                "status |= sd_control_ops.table_set_default(instance, {}, {}, (const uint8_t[]){{{}}});",
                cx.names.table_number(id),
                action_number(cx, id, table.default_action.index),
                bytes_text(&action_bytes(cx, table, &table.default_action))
            ));
        }
        initial_entries(cx, id, out);
    }
    out.line("return status;");
    out.close("");
    out.blank();
}

/// The entries of a table as rows of data and a loop that adds them, so that the compiler's time grows with their number only
/// as fast as reading them takes.
fn initial_entries(cx: &Cx<'_>, id: TableId, out: &mut Code) {
    let (table, number) = (&cx.program.tables[id], cx.names.table_number(id));
    if table.entries.is_empty() {
        return;
    }
    let keys = matched(&table.keys);
    let data: Vec<Vec<u8>> =
        table.entries.iter().map(|entry| action_bytes(cx, table, &entry.action)).collect();
    let n_data = data.iter().map(Vec::len).max().unwrap_or(0);
    let n_key: u32 = key_layout(&keys).1;
    out.open("");
    out.open("static const struct");
    out.line(format!("uint8_t value[{n_key}], mask[{n_key}];"));
    if n_data > 0 {
        out.line(format!("uint8_t data[{n_data}];"));
    }
    out.line("int32_t priority;");
    out.line("uint16_t action;");
    out.line("bool is_const;");
    out.close(" entries[] = {");
    for (entry, mut data) in table.entries.iter().zip(data) {
        let (mut value, mut mask) = (Vec::new(), Vec::new());
        for ((_, key), m) in keys.iter().zip(&entry.matches) {
            let (v, m) = match_bytes(normalised(m.as_ref(), key).as_ref(), key);
            value.extend(v);
            mask.extend(m);
        }
        data.resize(n_data, 0);
        let data = if n_data > 0 { format!(", {{{}}}", bytes_text(&data)) } else { String::new() };
        out.line(format!(
            "    {{{{{}}}, {{{}}}{data}, {}, {}, {}}},",
            bytes_text(&value),
            bytes_text(&mask),
            entry.priority,
            action_number(cx, id, entry.action.index),
            entry.is_const || table.has_const_entries
        ));
    }
    out.line("};");
    out.open("for (size_t i = 0; i < SD_ARRAY_LEN(entries); i++)");
    out.open("const struct sd_entry_view entry =");
    out.line(".value = entries[i].value,");
    out.line(".mask = entries[i].mask,");
    out.line(".priority = entries[i].priority,");
    out.line(".kind = SD_ENTRY_ACTION,");
    out.line(".what = entries[i].action,");
    out.line(".is_const = entries[i].is_const,");
    if n_data > 0 {
        out.line(".data = entries[i].data,");
    }
    out.close(";");
    out.line(format!("status |= sd_table_add_initial(instance, {number}, &entry);"));
    out.close("");
    out.close("");
}

/// Bits that do not count are zero; what matches everything is `None`.
fn normalised(m: Option<&Match>, key: &Key) -> Option<Match> {
    let width = width_of(&key.ty);
    match m? {
        Match::Lpm { prefix_len: 0, .. } => None,
        Match::Ternary { mask, .. } if mask.is_zero() => None,
        Match::Range { low, high } => {
            let (min, max) = match key.ty.is_signed() && width > 0 {
                true => {
                    let top = Bits::new(width, 1).shl(width - 1);
                    (top.clone(), top.not())
                }
                false => (Bits::zero(width), Bits::ones(width)),
            };
            (*low != min || *high != max).then(|| Match::Range { low: low.clone(), high: high.clone() })
        }
        other => Some(other.clone()),
    }
}

/// Offsets of the keys of a table and their size together.
pub(crate) fn key_layout(keys: &[(usize, &Key)]) -> (Vec<u32>, u32) {
    packed(&keys.iter().map(|(_, key)| key.ty.clone()).collect::<Vec<_>>())
}
