//! Saving and restoring the state of a suspended packet.

use crate::facts::storage::StorageClass;
use crate::function::cx::Cx;
use crate::function::parse::loads;
use crate::suspend::plan::BurstPlan;
use crate::suspend::saved_state::{Origin, SavedState};
use crate::text::code::Code;
use crate::text::names::{Unique, member as member_name};
use crate::text::types::size_bytes;
use ir::layout::Leaf;
use ir::{Type, VarId};

/// A saved value: its name in the context, its place in the state, and its type.
pub(crate) struct Member {
    name: String,
    place: String,
    c_type: String,
    size_bytes: u32,
}

/// Members of the context, the widest first, so that there is no padding.
pub(crate) fn named(cx: &Cx<'_>, saved: &SavedState, keeps_all: bool) -> Vec<Member> {
    let mut unique = Unique::default();
    for taken in ["key", "asked", "selector", "nothing"] {
        unique.take(taken.to_string());
    }
    let mut member = |var: VarId, path: &str, c_type: String, size_bytes: u32| {
        let text = format!("{}{path}", cx.facts.storage.name(var));
        let text = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' });
        let name = unique.take(member_name(&text.collect::<String>()));
        Member { name, place: format!("{}{path}", cx.facts.storage.path(var)), c_type, size_bytes }
    };
    // The state of a packet of a large program stays in memory for the whole burst.
    let is_kept =
        |var: VarId| keeps_all || cx.has_small_stages || *cx.facts.storage.class(var) != StorageClass::State;
    let mut found = Vec::new();
    for (var, leaf) in saved.values.iter().filter(|(var, _)| is_kept(*var)) {
        let path = cx.leaf_path(&cx.program.variables[*var].ty, leaf);
        found.push(member(*var, &path, cx.types.c_type(&leaf.ty), size_bytes(&leaf.ty)));
    }
    for origin in saved.origins.iter().filter(|origin| is_kept(origin.var)) {
        let path = origin_path(cx, origin);
        found.push(member(origin.var, &format!("{path}.sd_at"), "uint32_t".to_string(), 4));
    }
    found.sort_by_key(|member| std::cmp::Reverse(member.size_bytes));
    found
}

/// From the variable to the header.
fn origin_path(cx: &Cx<'_>, origin: &Origin) -> String {
    let leaf = Leaf { path: origin.path.clone(), ty: Type::Struct(origin.header) };
    cx.leaf_path(&cx.program.variables[origin.var].ty, &leaf)
}

pub(crate) fn members(cx: &Cx<'_>, saved: &SavedState, keeps_all: bool, out: &mut Code) {
    for member in named(cx, saved, keeps_all) {
        out.line(format!("{} {};", member.c_type, member.name));
    }
}

pub(crate) fn store(cx: &Cx<'_>, saved: &SavedState, context: &str, keeps_all: bool, out: &mut Code) {
    for member in named(cx, saved, keeps_all) {
        out.line(format!("{context}.{} = {};", member.name, member.place));
    }
}

pub(crate) fn save_worker(cx: &Cx<'_>, out: &mut Code) {
    if cx.facts.saves_worker_state() {
        out.line("sd_save(w, &c->saved);");
    }
    if cx.facts.uses_steps {
        out.line("c->steps_left = w->steps_left;");
    }
}

pub(crate) fn load(cx: &Cx<'_>, saved: &SavedState, context: &str, keeps_all: bool, out: &mut Code) {
    for member in named(cx, saved, keeps_all) {
        out.line(format!("{} = {context}.{};", member.place, member.name));
    }
    let reloaded =
        saved.origins.iter().filter(|origin| (keeps_all || cx.has_small_stages) && !origin.fields.is_empty());
    for origin in reloaded {
        let header = format!("{}{}", cx.facts.storage.path(origin.var), origin_path(cx, origin));
        out.open(format!("if ({header}.sd_at)"));
        out.line(format!("const uint8_t *at = p->data + {header}.sd_at - 1;"));
        for (path, value) in loads(cx, origin.header, &origin.fields) {
            out.line(format!("{header}.{path} = {value};"));
        }
        if cx.facts.in_packet_fields.may_be_zeroed(origin.header) {
            out.close(" else {");
            out.indent();
            for (path, _) in loads(cx, origin.header, &origin.fields) {
                out.line(format!("{header}.{path} = 0;"));
            }
        }
        out.close("");
    }
}

pub(crate) fn restore_worker(cx: &Cx<'_>, out: &mut Code) {
    if cx.facts.saves_worker_state() {
        out.line("sd_restore(w, &c->saved);");
    }
    if cx.facts.uses_steps {
        out.line("w->steps_left = c->steps_left;");
    }
}

/// Saves state before a packet suspends. Packets of large programs continue at once when the table is in the cache.
pub(crate) fn save_at_point(cx: &Cx<'_>, plan: &BurstPlan, point: usize, out: &mut Code) {
    let suspended = &plan.points[point];
    store(cx, &suspended.saved, &format!("c->at_{point}"), false, out);
    if !cx.has_small_stages {
        out.open("if (here == SD_LOOKUP_INLINE)");
        for id in plan.counted(point) {
            out.line(format!("w->table_counts[{}].n_lookups++;", cx.names.table_number(id)));
        }
        let name = cx.segment_name(suspended.block, Some(point));
        out.line(format!("return {name}(w, p, s, c);"));
        out.close("");
    }
    save_worker(cx, out);
}
