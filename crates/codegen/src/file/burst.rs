//! Bursts that suspend at tables: contexts, segments of blocks, stages, and the loop over them.
//!
//! A stage is the code from one suspension to the next: the rest of a block from a point on, and the blocks after it.
//! `rt/worker/sd_burst.h` says how packets suspend.

use crate::facts::storage::Owner;
use crate::file::steps::{
    PARAMETERS, STAGE_PARAMETERS, StageArgument, common_path, run_block, stage_arguments,
};
use crate::file::variables::variables_of_block;
use crate::function::cx::Cx;
use crate::function::func::Func;
use crate::function::saved_state::{load, members, named, restore_worker};
use crate::suspend::plan::BurstPlan;
use crate::text::code::{Code, comment};
use arch::BlockRole;
use ir::BlockId;
use ir::lookup::index;
use std::collections::BTreeSet;

/// The state saved at each point.
pub(crate) fn context_structs(cx: &Cx<'_>, out: &mut Code) {
    let Some(plan) = cx.plan else { return };
    stage_enum(cx, plan, out);
    for (i, point) in plan.points.iter().enumerate() {
        let table = &cx.program.tables[point.table];
        out.line(format!("/* State saved while a packet is suspended at {}. */", comment(&table.name)));
        out.open(format!("struct p4x_at_{i}"));
        out.line(format!("struct {}__key key;", cx.table_name(point.table)));
        out.line("struct sd_lookup_state asked;");
        if table.implementation.is_some() {
            out.line("uint64_t selector;");
        }
        members(cx, &point.saved, false, out);
        out.close(";");
        out.blank();
    }
    if let Some(saved) = &plan.queue {
        out.line("/* State saved between ingress and egress. */");
        out.open("struct p4x_at_queue");
        members(cx, saved, false, out);
        if named(cx, saved, false).is_empty() {
            out.line("uint8_t nothing;");
        }
        out.close(";");
        out.blank();
    }
    out.line("/* A packet is suspended at one point at a time. */");
    out.open("struct p4x_context");
    let is_union = plan.n_points() > 1;
    if is_union {
        out.open("union");
    }
    for i in 0..plan.points.len() {
        out.line(format!("struct p4x_at_{i} at_{i};"));
    }
    if plan.queue.is_some() {
        out.line("struct p4x_at_queue at_queue;");
    }
    if is_union {
        out.close(";");
    }
    for member in &plan.prefetched {
        let name = comment(&cx.program.tables[member.table].name).to_string();
        out.line(format!("struct sd_lookup_state asked_{}; /* {name} */", index(member.table)));
    }
    if cx.facts.saves_worker_state() {
        out.line("struct sd_saved saved;");
    }
    if cx.facts.uses_steps {
        out.line("uint32_t steps_left;");
    }
    out.close(" __attribute__((aligned(SD_LINE_BYTES)));");
    out.blank();
    out.open("struct p4x_burst");
    out.line("struct p4x_context contexts[SD_BURST];");
    out.line("struct sd_saved punted[SD_BURST]; /* worker state of punted packets */");
    if cx.facts.may_punt || !cx.has_small_stages {
        out.line("struct p4x_state states[SD_BURST];");
    }
    out.close(";");
    out.blank();
}

/// The stages, in the order in which packets come to them.
fn stage_enum(cx: &Cx<'_>, plan: &BurstPlan, out: &mut Code) {
    let first_egress = cx.first_egress_point().unwrap_or(plan.points.len());
    let mut names: Vec<String> = (0..plan.points.len()).map(|i| format!("P4X_AFTER_{i}")).collect();
    if plan.queue.is_some() {
        names.insert(first_egress, "P4X_AFTER_QUEUE".to_string());
    }
    out.line("/* The part of a path that a function runs: all without suspending, or from arrival or a point to the next point. */");
    out.line(format!("enum p4x_stage {{ P4X_WHOLE, P4X_START, {} }};", names.join(", ")));
    out.blank();
}

/// The functions of a block's segments, and the one that chooses among them; small programs have one function instead.
pub(crate) fn segments(cx: &Cx<'_>, block: BlockId, out: &mut Code) {
    let Some(plan) = cx.plan else { return };
    let points = cx.points_of(block);
    if points.is_empty() || cx.has_small_stages {
        return;
    }
    let mut from: Vec<Option<usize>> = vec![None];
    from.extend(points.values().copied().map(Some));
    from.sort();
    let name = cx.block_name(block);
    for point in from.iter().flatten() {
        out.line(format!("{};", segment_head(&cx.segment_name(block, Some(*point)))));
    }
    out.blank();
    for start in &from {
        let (what, head) = match *start {
            None => (format!("{name} up to its suspension points"), cx.segment_name(block, None)),
            Some(i) => {
                let table = &cx.program.tables[plan.points[i].table].name;
                (format!("{name} from {} on", comment(table)), cx.segment_name(block, Some(i)))
            }
        };
        out.own(format!("/* {what} */"));
        out.function(segment_head(&head));
        variables_of_block(cx, block, out);
        if let Some(i) = *start {
            load(cx, &plan.points[i].saved, &format!("c->at_{i}"), false, out);
        }
        let mut func = Func::new(cx, Owner::Block(block));
        func.code.indent();
        let node = start.map(|i| plan.points[i].node);
        func.segment(&cx.program.blocks[block].graph, points.clone(), node);
        let jumps = std::mem::take(&mut func.jumps);
        func.code.keep_labels(&jumps);
        func.code.join_else_if();
        out.append(func.code);
        out.close("");
        out.blank();
    }
    out.own(format!("/* {name} in one stage */"));
    out.function(format!("SD_ALWAYS_INLINE uint32_t {name}__stage({PARAMETERS}{STAGE_PARAMETERS})"));
    out.open("switch (stage)");
    out.line("case P4X_WHOLE:");
    out.line(format!("    return {name}(w, p, s);"));
    for point in from.iter().flatten() {
        out.line(format!("case P4X_AFTER_{point}:"));
        out.line(format!("    return {}(w, p, s, c);", cx.segment_name(block, Some(*point))));
    }
    out.line("default:");
    out.line(format!("    return {}(w, p, s, c);", cx.segment_name(block, None)));
    out.close("");
    out.close("");
    out.blank();
}

fn segment_head(name: &str) -> String {
    format!("static uint32_t {name}({PARAMETERS}, struct p4x_context *c)")
}

/// Punts a packet with its state.
fn punt(cx: &Cx<'_>, out: &mut Code) {
    if cx.facts.may_punt && cx.has_small_stages {
        out.open("if (SD_UNLIKELY(next == SD_NEXT_PUNT))");
        // A copy, so that the state itself can stay in registers.
        out.line("const struct p4x_state copy = state;");
        out.line("return sd_punt(w, p, &b->punted[i], &b->states[i], &copy, sizeof copy);");
        out.close("");
    } else {
        out.line("if (SD_UNLIKELY(next == SD_NEXT_PUNT))");
        out.line("    return sd_punt(w, p, &b->punted[i], NULL, NULL, 0);");
    }
}

/// Packets of the exception path, each from its arrival to its end.
fn exceptions(cx: &Cx<'_>, out: &mut Code) {
    if !cx.facts.common_case.has_exceptions {
        return;
    }
    let (states, state_bytes) = punted_states(cx);
    out.line("if (SD_UNLIKELY(exceptions))");
    out.line(format!(
        "    punted |= sd_burst_run_exceptions(w, burst, exceptions, p4x_exception, b->punted, {states}, {state_bytes});"
    ));
}

/// The stages, and `p4x_process_bursts`.
pub(crate) fn process(cx: &Cx<'_>, out: &mut Code) {
    let Some(plan) = cx.plan else { return };
    stage_function(cx, plan, out);
    bursts(cx, plan, out);
}

/// A resumed packet has only the state that it saved, since nothing else is read.
fn stage_function(cx: &Cx<'_>, plan: &BurstPlan, out: &mut Code) {
    out.own("/* One stage of a packet: up to the next point where it suspends, or to its verdict. */");
    out.function(
        "SD_ALWAYS_INLINE uint32_t p4x_stage(struct sd_worker *w, struct sd_packet *p, struct p4x_burst *b, uint32_t i, \
         const enum p4x_stage stage)",
    );
    out.line("struct p4x_context *c = &b->contexts[i];");
    out.line(if cx.has_small_stages {
        "struct p4x_state state = {}, *s = &state;"
    } else {
        "struct p4x_state *s = &b->states[i];"
    });
    out.line("uint32_t next;");
    out.open("if (stage == P4X_START)");
    if !cx.has_small_stages {
        out.line("memset(s, 0, sizeof *s);");
    }
    out.line(format!("next = p4x_enter(w, p, s{});", common_path(cx)));
    out.line("if (SD_UNLIKELY(next != SD_NEXT_CONTINUE))");
    out.line("    return next;");
    let mut resumed = Code::new();
    restore_worker(cx, &mut resumed);
    if !resumed.is_empty() {
        out.close(" else {");
        out.indent();
        restore_worker(cx, out);
    }
    out.close("");
    let first_egress = match &plan.queue {
        Some(_) => Some("P4X_AFTER_QUEUE".to_string()),
        None => cx.first_egress_point().map(|point| format!("P4X_AFTER_{point}")),
    };
    if let Some(first) = &first_egress {
        out.open(format!("if (stage >= {first})"));
        out.line(format!("next = p4x_egress(w, p, s{}{});", stage_arguments(cx), common_path(cx)));
        out.close(" else {");
        out.indent();
    }
    run_block(cx, BlockRole::Ingress, StageArgument::Stage, out);
    out.line(format!("next = p4x_after_ingress(w, p, s{}, end{});", stage_arguments(cx), common_path(cx)));
    if first_egress.is_some() {
        out.close("");
    }
    punt(cx, out);
    out.line("return next;");
    out.close("");
    out.blank();
}

/// The array of the states of punted packets, and the size of one.
fn punted_states(cx: &Cx<'_>) -> (&'static str, &'static str) {
    if cx.facts.may_punt { ("b->states", "sizeof b->states[0]") } else { ("NULL", "0") }
}

fn bursts(cx: &Cx<'_>, plan: &BurstPlan, out: &mut Code) {
    let (states, state_bytes) = punted_states(cx);
    out.own("/* Runs bursts in stages: each stage for all packets that have come to it. */");
    out.function(
        "static uint32_t p4x_process_bursts(struct sd_worker *w, struct sd_packet *packets, uint32_t n)",
    );
    out.line("struct p4x_burst *b = w->burst;");
    out.line("uint32_t n_done = 0;");
    out.line(format!(
        "if (w->n_burst_left && sd_burst_hand_over(w, packets, n, b->punted, {states}, {state_bytes}, &n_done))"
    ));
    out.line("    return n_done;");
    if cx.facts.uses_steps {
        out.line("const uint32_t steps = w->steps_left;");
    }
    out.open("while (n_done < n)");
    out.line("struct sd_packet *burst = packets + n_done;");
    let most = if cx.has_small_stages { "SD_BURST" } else { "SD_BURST_LARGE" };
    out.line(format!("const uint32_t n_burst = n - n_done < {most} ? n - n_done : {most};"));
    out.line("/* Sets of packets, a bit for each: punted, suspended at each point, and those of the exception path. */");
    out.line("uint64_t punted = 0;");
    // Where packets come to one point only from their arrival, most of them do: the others are taken out.
    let from_arrival = next_points(cx, plan, 0);
    let certain = from_arrival.first().copied().filter(|_| from_arrival.len() == 1);
    for number in 0..plan.n_points() {
        let first = if certain == Some(number) { "UINT64_MAX >> (SD_BURST - n_burst)" } else { "0" };
        out.line(format!("uint64_t {} = {first};", set_name(plan, number)));
    }
    if cx.facts.common_case.has_exceptions {
        out.line("uint64_t exceptions = 0;");
    }
    if cx.facts.saves_worker_state() {
        out.line("w->kept.length = 0;");
    }
    out.open("for (uint32_t i = 0; i < n_burst; i++)");
    out.line("if (i + SD_PREFETCH_PACKETS < n_burst)");
    out.line("    __builtin_prefetch(burst[i + SD_PREFETCH_PACKETS].data);");
    if cx.facts.uses_steps {
        out.line("w->steps_left = steps;");
    }
    out.line("const uint32_t next = p4x_stage(w, &burst[i], b, i, P4X_START);");
    if cx.facts.common_case.has_exceptions {
        out.line("exceptions |= (uint64_t)(next == SD_NEXT_EXCEPTION) << i;");
    }
    match certain {
        Some(to) => {
            out.line(format!("if (SD_UNLIKELY(next != SD_NEXT_SUSPENDED + {to}))"));
            out.line(format!("    {} &= ~(UINT64_C(1) << i);", set_name(plan, to)));
            out.line("punted |= (uint64_t)(next == SD_NEXT_PUNT) << i;");
        }
        None => sort_by_next(cx, plan, 0, out),
    }
    out.close("");
    exceptions(cx, out);
    for number in 0..plan.points.len() {
        let is_egress = |i: usize| cx.program.blocks[plan.points[i].block].role == BlockRole::Egress;
        if plan.queue.is_some() && is_egress(number) && (number == 0 || !is_egress(number - 1)) {
            stage(cx, plan, plan.points.len(), out);
        }
        for id in plan.counted(number) {
            let lookups = format!("w->table_counts[{}].n_lookups", cx.names.table_number(id));
            out.line(format!("{lookups} += (uint64_t)__builtin_popcountll({});", set_name(plan, number)));
        }
        prefetch(cx, plan, number, out);
        stage(cx, plan, number, out);
    }
    let last_is_egress =
        plan.points.last().is_some_and(|point| cx.program.blocks[point.block].role == BlockRole::Egress);
    if plan.queue.is_some() && !last_is_egress {
        stage(cx, plan, plan.points.len(), out);
    }
    out.line("if (SD_UNLIKELY(punted))");
    out.line(format!(
        "    return n_done + sd_burst_punt(w, burst, n_burst, punted, b->punted, {states}, {state_bytes});"
    ));
    out.line("n_done += n_burst;");
    out.close("");
    out.line("return n_done;");
    out.close("");
    out.blank();
}

/// The set of the packets that are suspended at a point.
fn set_name(plan: &BurstPlan, number: usize) -> String {
    if number == plan.points.len() { "at_queue".to_string() } else { format!("at_{number}") }
}

/// Stages 2 and 3 of the lookups of all packets at a point: prefetch what the buckets lead to, then the entries.
fn prefetch(cx: &Cx<'_>, plan: &BurstPlan, number: usize, out: &mut Code) {
    let (set, table) = (set_name(plan, number), plan.points[number].table);
    let own = (table, format!("{set}.asked"), format!("&c->{set}.key"));
    let member = plan.members_of(table).map(|id| (id, format!("asked_{}", index(id)), "NULL".to_string()));
    let all: Vec<_> = std::iter::once(own).chain(member).collect();
    let head = format!("for (uint64_t set = {set}; set; set &= set - 1)");
    let context = "struct p4x_context *c = &b->contexts[__builtin_ctzll(set)];";
    out.open(&head);
    out.line(context);
    for (id, asked, _) in &all {
        let n = index(*id);
        out.line(format!(
            "sd_table_prefetch_entry(w, {n}, &p4x_tables[{n}], sizeof(struct {}__key), &c->{asked});",
            cx.table_name(*id)
        ));
    }
    out.close("");
    if !all.iter().any(|(id, _, _)| !cx.facts.tables[index(*id)].entries_are_inline) {
        return;
    }
    out.open(&head);
    out.line(context);
    for (id, asked, key) in all.iter().filter(|(id, _, _)| !cx.facts.tables[index(*id)].entries_are_inline) {
        let n = index(*id);
        out.line(format!(
            "sd_table_prefetch_record(w, {n}, &p4x_tables[{n}], {key}, sizeof(struct {}__key), &c->{asked});",
            cx.table_name(*id)
        ));
    }
    out.close("");
}

/// The points that packets may come to next. In large programs they pass points whose tables are in the cache.
fn next_points(cx: &Cx<'_>, plan: &BurstPlan, from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut next: Vec<usize> = plan.next_points.get(from).cloned().unwrap_or_default();
    while let Some(to) = next.pop() {
        if found.insert(to) && !cx.has_small_stages && to < plan.points.len() {
            next.extend(plan.next_points.get(to + 1).into_iter().flatten());
        }
    }
    found
}

/// Resumes all packets of a point.
fn stage(cx: &Cx<'_>, plan: &BurstPlan, number: usize, out: &mut Code) {
    let set = set_name(plan, number);
    let name = set.trim_start_matches("at_").to_uppercase();
    out.open(format!("for (; {set}; {set} &= {set} - 1)"));
    out.line(format!("const uint32_t i = (uint32_t)__builtin_ctzll({set});"));
    out.line(format!("const uint32_t next = p4x_stage(w, &burst[i], b, i, P4X_AFTER_{name});"));
    sort_by_next(cx, plan, number + 1, out);
    out.close("");
}

/// Adds packet `i` to the set of the point that it came to. The sets are in registers, since each packet changes them.
fn sort_by_next(cx: &Cx<'_>, plan: &BurstPlan, from: usize, out: &mut Code) {
    for to in next_points(cx, plan, from) {
        out.line(format!("{} |= (uint64_t)(next == SD_NEXT_SUSPENDED + {to}) << i;", set_name(plan, to)));
    }
    out.line("punted |= (uint64_t)(next == SD_NEXT_PUNT) << i;");
}
