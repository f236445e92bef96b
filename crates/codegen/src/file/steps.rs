//! The steps between the blocks of a packet on the fast path.
//!
//! The steps come in the order of crate `target`. Both write the fields that `arch::PipelineModel` lists.

use crate::function::cx::Cx;
use crate::function::metadata::{field, set_field, set_if_read};
use crate::function::saved_state::{load, save_worker, store};
use crate::text::code::Code;
use arch::{BlockRole, ExternOp, FieldRole, IntrinsicValue, PipelineModel};
use ir::BlockId;
use ir::lookup::index;

pub(crate) const HEAD: &str = "struct sd_worker *w, struct sd_packet *p";

pub(crate) const PARAMETERS: &str = "struct sd_worker *w, struct sd_packet *p, struct p4x_state *s";

/// The parameters of functions that run in stages.
pub(crate) const STAGE_PARAMETERS: &str = ", struct p4x_context *c, const enum p4x_stage stage";

/// Where some packets take the exception path: a constant that tells which path a function is inlined into.
fn path_parameter(cx: &Cx<'_>) -> &'static str {
    if cx.facts.common_case.has_exceptions { ", const bool is_exception" } else { "" }
}

/// The argument that passes [`path_parameter`] on.
fn path_argument(cx: &Cx<'_>) -> &'static str {
    if cx.facts.common_case.has_exceptions { ", is_exception" } else { "" }
}

/// The argument for [`path_parameter`] on the common path.
pub(crate) fn common_path(cx: &Cx<'_>) -> &'static str {
    if cx.facts.common_case.has_exceptions { ", false" } else { "" }
}

/// The parameters of functions behind ingress, where packets suspend behind it.
fn stage_parameters(cx: &Cx<'_>) -> &'static str {
    if suspends_after_ingress(cx) { STAGE_PARAMETERS } else { "" }
}

/// The arguments for [`stage_parameters`] in a function that runs in stages.
pub(crate) fn stage_arguments(cx: &Cx<'_>) -> &'static str {
    if suspends_after_ingress(cx) { ", c, stage" } else { "" }
}

/// The arguments for [`stage_parameters`] of a packet that does not suspend.
pub(crate) fn whole_arguments(cx: &Cx<'_>) -> &'static str {
    if suspends_after_ingress(cx) { ", NULL, P4X_WHOLE" } else { "" }
}

fn suspends_after_ingress(cx: &Cx<'_>) -> bool {
    cx.plan.is_some_and(|plan| plan.queue.is_some()) || cx.first_egress_point().is_some()
}

/// Where a block begins, and if it suspends at tables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageArgument {
    /// The block runs from its beginning to its end.
    Whole,
    /// The function has a parameter `stage`.
    Stage,
}

/// The C text of a value of the architecture on the fast path: a packet from a port, to one port, whose queue is empty.
fn intrinsic_value(model: &PipelineModel, value: IntrinsicValue) -> String {
    match value {
        IntrinsicValue::IngressPort => "p->ingress_port".to_string(),
        IntrinsicValue::PacketBytes => "p->length_bytes".to_string(),
        IntrinsicValue::ArrivalTime | IntrinsicValue::Now => "w->now_ns / 1000".to_string(),
        IntrinsicValue::EgressPort => "p->egress_port".to_string(),
        IntrinsicValue::PassKind
        | IntrinsicValue::ReplicaInstance
        | IntrinsicValue::QueueDepth
        | IntrinsicValue::QueueingTime => "0".to_string(),
        IntrinsicValue::Number(number) => number.to_string(),
        // Architectures of the fast path have none of these.
        IntrinsicValue::PassVerdict
        | IntrinsicValue::NowNs
        | IntrinsicValue::Path
        | IntrinsicValue::Priority
        | IntrinsicValue::Round
        | IntrinsicValue::IsFurtherRound
        | IntrinsicValue::Direction => "0".to_string(),
        IntrinsicValue::NoPort => model.no_port().to_string(),
    }
}

/// From arrival to the beginning of ingress; the state is zeros.
pub(crate) fn enter(cx: &Cx<'_>, model: &PipelineModel, out: &mut Code) {
    out.own("/* A packet arrives: its headers are invalid, its metadata zeros. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4x_enter({PARAMETERS}{})", path_parameter(cx)));
    out.line("p->cursor_bits = 0;");
    if cx.facts.may_punt {
        out.line("w->requests.flags = 0;");
    }
    // A packet that was dropped on its way may have left something behind.
    if cx.facts.uses_buffers {
        out.line("w->failed = 0;");
    }
    if cx.calls.borrow().iter().any(|call| call.op == ExternOp::Digest) {
        out.line("w->digests.length = 0;");
    }
    for (field, value) in &model.at_arrival {
        let text = intrinsic_value(model, *value);
        // The state is zeros.
        if text != "0" {
            set_if_read(cx, *field, &text, out);
        }
    }
    run(cx, BlockRole::Parser, out);
    if cx.facts.common_case.headers_stay {
        let common = if cx.facts.common_case.has_exceptions { "!is_exception && " } else { "" };
        out.line(format!("if ({common}SD_UNLIKELY(!p4x_headers_stay(p, s)))"));
        out.line("    return SD_NEXT_EXCEPTION;");
    }
    run(cx, BlockRole::VerifyChecksum, out);
    out.line("return SD_NEXT_CONTINUE;");
    out.close("");
    out.blank();
}

/// `if (end) { verdict }` after a block.
pub(crate) fn check(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    let stops = cx.program.block(role).is_some_and(|id| cx.facts.block_stops[index(id)]);
    if role == BlockRole::Parser {
        out.open("if (SD_UNLIKELY(end))");
        if stops {
            out.line("if (end < SD_END_REJECTED)");
            out.line("    return sd_drop_stopped(p, end);");
        }
        match field(cx, FieldRole::ParserError) {
            Some((lvalue, _)) => {
                if cx.facts.common_case.has_exceptions {
                    out.line("if (!is_exception)");
                    out.line("    return SD_NEXT_EXCEPTION;");
                }
                out.line(format!("{lvalue} = end - SD_END_REJECTED;"));
            }
            None => out.line("return sd_drop(p, SD_DROP_PARSER_REJECTED);"),
        }
        out.close("");
    } else if stops {
        out.line("if (SD_UNLIKELY(end))");
        out.line("    return sd_drop_stopped(p, end);");
    }
}

pub(crate) fn run(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    let Some(id) = cx.program.block(role) else { return };
    let end = match role {
        BlockRole::Parser => "uint32_t end = ",
        _ if cx.facts.block_stops[index(id)] => "end = ",
        _ => "",
    };
    out.line(format!("{end}{}(w, p, s);", cx.block_name(id)));
    check(cx, role, out);
}

/// From the end of ingress to the verdict, or to the queue if packets suspend there.
pub(crate) fn after_ingress(cx: &Cx<'_>, spec: &str, out: &mut Code) {
    out.own("/* After ingress, which has ended with `end`: drop or punt the packet, or run egress. */");
    let (stage, path) = (stage_parameters(cx), path_parameter(cx));
    out.function(format!(
        "SD_ALWAYS_INLINE uint32_t p4x_after_ingress({PARAMETERS}{stage}, uint32_t end{path})"
    ));
    check(cx, BlockRole::Ingress, out);
    let mut slow: Vec<String> = Vec::new();
    if cx.facts.ingress_makes_requests {
        slow.push("w->requests.flags".to_string());
    }
    slow.extend(cx.facts.request_fields.iter().filter_map(|role| field(cx, *role)).map(|(lvalue, _)| lvalue));
    if !slow.is_empty() {
        out.line("/* The host makes copies, sends digests, chooses queues, and begins another pass. */");
        out.open(format!("if (SD_UNLIKELY({}))", slow.join(" || ")));
        check_length(cx, out);
        out.line("p->verdict = SD_VERDICT_AFTER_INGRESS;");
        out.line("return SD_NEXT_PUNT;");
        out.close("");
    }
    out.line(format!("if ({spec} == P4_DROP_PORT)"));
    out.line("    return sd_drop(p, SD_DROP_INGRESS);");
    out.line(format!("p->egress_port = {spec};"));
    if let Some(plan) = cx.plan
        && let Some(saved) = &plan.queue
    {
        out.open("if (stage != P4X_WHOLE)");
        store(cx, saved, "c->at_queue", false, out);
        save_worker(cx, out);
        out.line(format!("return SD_NEXT_SUSPENDED + {};", plan.points.len()));
        out.close("");
    }
    out.line(format!("return p4x_egress(w, p, s{}{});", stage_arguments(cx), path_argument(cx)));
    out.close("");
    out.blank();
}

/// From the queue to the verdict.
pub(crate) fn egress(cx: &Cx<'_>, model: &PipelineModel, out: &mut Code) {
    out.own("/* Egress: set intrinsic metadata as after an empty queue, and run it. */");
    let (stage, path) = (stage_parameters(cx), path_parameter(cx));
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4x_egress({PARAMETERS}{stage}{path})"));
    if let Some(saved) = cx.plan.and_then(|plan| plan.queue.as_ref()) {
        out.open("if (stage == P4X_AFTER_QUEUE)");
        load(cx, saved, "c->at_queue", false, out);
        out.close("");
    }
    let first_point = cx.first_egress_point();
    if let Some(point) = first_point {
        out.open(format!("if (stage < P4X_AFTER_{point})"));
    }
    before_egress(cx, model, out);
    if first_point.is_some() {
        out.close("");
    }
    let argument = if first_point.is_some() { StageArgument::Stage } else { StageArgument::Whole };
    run_block(cx, BlockRole::Egress, argument, out);
    out.line(format!("return p4x_after_egress(w, p, s, end{});", path_argument(cx)));
    out.close("");
    out.blank();
}

fn before_egress(cx: &Cx<'_>, model: &PipelineModel, out: &mut Code) {
    for (field, value) in model.at_enqueue.iter().chain(&model.at_dequeue) {
        if *field == FieldRole::EgressSpec {
            // It is read behind egress. As in BMv2, the choice of ingress does not reach egress.
            set_field(cx, *field, &intrinsic_value(model, *value), out);
        } else {
            set_if_read(cx, *field, &intrinsic_value(model, *value), out);
        }
    }
    if cx.facts.has_direct_meters {
        out.line("sd_direct_colours_reset(w);");
    }
}

/// From the end of egress to the packet's departure. `in_place` says whether headers may stay where they lie.
pub(crate) fn after_egress(cx: &Cx<'_>, spec: &str, in_place: bool, out: &mut Code) {
    out.own("/* After egress, which has ended with `end`: drop or punt the packet, or deparse it. */");
    let path = path_parameter(cx);
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4x_after_egress({PARAMETERS}, uint32_t end{path})"));
    check(cx, BlockRole::Egress, out);
    if cx.facts.makes_requests {
        out.open("if (SD_UNLIKELY(w->requests.flags))");
        check_length(cx, out);
        out.line("p->verdict = SD_VERDICT_AFTER_EGRESS;");
        out.line("return SD_NEXT_PUNT;");
        out.close("");
    }
    out.line(format!("if ({spec} == P4_DROP_PORT)"));
    out.line("    return sd_drop(p, SD_DROP_EGRESS);");
    run(cx, BlockRole::ComputeChecksum, out);
    check_length(cx, out);
    out.line("p->verdict = SD_VERDICT_SEND;");
    let case = &cx.facts.common_case;
    if case.headers_stay && !case.has_exceptions {
        out.line("p4x_store_headers(p, s);");
        out.line("return SD_NEXT_DONE;");
        out.close("");
        out.blank();
        return;
    }
    if in_place {
        let common = if case.headers_stay { "!is_exception || " } else { "" };
        out.open(format!("if ({common}SD_LIKELY(p4x_headers_stay(p, s)))"));
        out.line("p4x_store_headers(p, s);");
        out.line("return SD_NEXT_DONE;");
        out.close("");
    }
    out.line("sd_emit_begin(w);");
    run(cx, BlockRole::Deparser, out);
    out.line("if (SD_UNLIKELY(w->failed))");
    out.line("    return sd_drop_too_long(w, p);");
    out.line("if (SD_LIKELY(sd_packet_rebuild(p, w)))");
    out.line("    return SD_NEXT_DONE;");
    out.line("p->verdict = SD_VERDICT_NO_HEADROOM;");
    out.line("return SD_NEXT_PUNT;");
    out.close("");
    out.blank();
}

/// Runs ingress or egress; a packet that is suspended returns.
pub(crate) fn run_block(cx: &Cx<'_>, role: BlockRole, argument: StageArgument, out: &mut Code) {
    let call = cx.program.block(role).map_or("SD_END_DONE".to_string(), |id| block_call(cx, id, argument));
    out.line(format!("const uint32_t end = {call};"));
    let has_points = cx.program.block(role).is_some_and(|id| !cx.points_of(id).is_empty());
    if has_points && argument == StageArgument::Stage {
        out.line("if (end >= SD_END_SUSPENDED)");
        out.line("    return SD_NEXT_SUSPENDED + (end - SD_END_SUSPENDED);");
    }
    check_suspended(cx, role, out);
}

/// The call of a block.
pub(crate) fn block_call(cx: &Cx<'_>, id: BlockId, argument: StageArgument) -> String {
    let name = cx.block_name(id);
    match (cx.points_of(id).is_empty(), cx.has_small_stages, argument) {
        (true, ..) | (false, false, StageArgument::Whole) => format!("{name}(w, p, s)"),
        (false, true, StageArgument::Whole) => format!("{name}(w, p, s, NULL, P4X_WHOLE)"),
        (false, true, StageArgument::Stage) => format!("{name}(w, p, s, c, stage)"),
        (false, false, StageArgument::Stage) => format!("{name}__stage(w, p, s, c, stage)"),
    }
}

/// Changes the counts of the tables whose lookups are counted once per burst.
pub(crate) fn count_lookups(cx: &Cx<'_>, change: &str, out: &mut Code) {
    let first = cx.plan.map(|plan| plan.first_tables.as_slice()).unwrap_or_default();
    for id in first {
        out.line(format!("w->table_counts[{}].n_lookups {change};", cx.names.table_number(*id)));
    }
}

/// The state of a packet, zeros.
pub(crate) fn declare_state(cx: &Cx<'_>, out: &mut Code) {
    if cx.facts.may_punt {
        out.line("/* The host may go on with it. */");
        out.line("struct p4x_state *s = w->state;");
        out.line("memset(s, 0, sizeof *s);");
    } else {
        out.line("struct p4x_state state = {}, *s = &state;");
    }
}

/// The steps after ingress or egress, which has ended in `end`.
pub(crate) fn rest(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    let path = common_path(cx);
    match role {
        BlockRole::Egress => out.line(format!("return p4x_after_egress(w, p, s, end{path});")),
        BlockRole::Parser
        | BlockRole::VerifyChecksum
        | BlockRole::Ingress
        | BlockRole::ComputeChecksum
        | BlockRole::Deparser
        | BlockRole::Accelerator => {
            out.line(format!("return p4x_after_ingress(w, p, s{}, end{path});", whole_arguments(cx)));
        }
    }
}

/// Drops a packet for which a buffer of the worker was too small.
pub(crate) fn check_length(cx: &Cx<'_>, out: &mut Code) {
    if !cx.facts.uses_buffers {
        return;
    }
    out.line("if (SD_UNLIKELY(w->failed))");
    out.line("    return sd_drop_too_long(w, p);");
}

/// Returns to the host when a block has ended because its packet is suspended.
pub(crate) fn check_suspended(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    let waits = cx
        .offload
        .is_some_and(|plan| plan.blocks.iter().any(|block| cx.program.blocks[block.block].role == role));
    if waits {
        out.line("if (SD_UNLIKELY(end >= SD_END_SUSPENDED))");
        out.line("    return SD_NEXT_SUSPENDED;");
    }
}
