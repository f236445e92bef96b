//! The steps between the blocks of a packet on the fast path.
//!
//! The steps come in the order of crate `target`. Both write the fields that `arch::PipelineModel` lists.

use crate::function::cx::Cx;
use crate::function::metadata::{field, set_field, set_if_read};
use crate::text::code::Code;
use arch::{BlockRole, ExternOp, FieldRole, IntrinsicValue, PipelineModel};

pub(crate) const HEAD: &str = "struct sd_worker *w, struct sd_packet *p";

pub(crate) const PARAMETERS: &str = "struct sd_worker *w, struct sd_packet *p, struct p4x_state *s";

/// Where some packets take the exception path: a constant that tells which path a function is inlined into.
fn path_parameter(cx: &Cx<'_>) -> &'static str {
    if cx.facts.common_case.has_exceptions { ", const bool is_exception" } else { "" }
}

/// The argument for [`path_parameter`] on the common path.
pub(crate) fn common_path(cx: &Cx<'_>) -> &'static str {
    if cx.facts.common_case.has_exceptions { ", false" } else { "" }
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
        IntrinsicValue::NoPort => model.no_port().to_string(),
    }
}

/// From arrival to the beginning of ingress; the state is zeros.
pub(crate) fn enter(cx: &Cx<'_>, model: &PipelineModel, out: &mut Code) {
    out.own("/* A packet arrives: its headers are invalid, its metadata zeros. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4x_enter({PARAMETERS}{})", path_parameter(cx)));
    out.line("uint32_t end;");
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
    for (field, value) in model.at_arrival {
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
    if role == BlockRole::Parser {
        out.open("if (SD_UNLIKELY(end))");
        out.line("if (end < SD_END_REJECTED)");
        out.line("    return p4x_stopped(p, end);");
        match field(cx, FieldRole::ParserError) {
            Some((lvalue, _)) => {
                if cx.facts.common_case.has_exceptions {
                    out.line("if (!is_exception)");
                    out.line("    return SD_NEXT_EXCEPTION;");
                }
                out.line(format!("{lvalue} = end - SD_END_REJECTED;"));
            }
            None => out.line("return p4x_drop(p, SD_DROP_PARSER_REJECTED);"),
        }
        out.close("");
    } else {
        out.line("if (SD_UNLIKELY(end))");
        out.line("    return p4x_stopped(p, end);");
    }
}

pub(crate) fn run(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    let Some(id) = cx.program.block(role) else { return };
    let name = cx.block_name(id);
    out.line(format!("end = {name}(w, p, s);"));
    check(cx, role, out);
}

pub(crate) fn after_ingress(cx: &Cx<'_>, spec: &str, out: &mut Code) {
    out.own("/* Ingress has ended so. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4x_after_ingress({PARAMETERS}, uint32_t end)"));
    check(cx, BlockRole::Ingress, out);
    let mut slow: Vec<String> = Vec::new();
    if cx.facts.ingress_makes_requests {
        slow.push("w->requests.flags".to_string());
    }
    slow.extend(cx.facts.request_fields.iter().filter_map(|role| field(cx, *role)).map(|(lvalue, _)| lvalue));
    if !slow.is_empty() {
        out.line("/* Copies, digests, a queue of its own, or another round: not straight. */");
        out.open(format!("if (SD_UNLIKELY({}))", slow.join(" || ")));
        check_length(cx, out);
        out.line("p->verdict = SD_VERDICT_AFTER_INGRESS;");
        out.line("return SD_NEXT_PUNT;");
        out.close("");
    }
    out.line(format!("if ({spec} == P4_DROP_PORT)"));
    out.line("    return p4x_drop(p, SD_DROP_INGRESS);");
    out.line(format!("p->egress_port = {spec};"));
    out.line("return SD_NEXT_CONTINUE;");
    out.close("");
    out.blank();
}

pub(crate) fn before_egress(cx: &Cx<'_>, model: &PipelineModel, out: &mut Code) {
    out.own("/* The queue was empty. */");
    out.function(format!("SD_ALWAYS_INLINE void p4x_before_egress({PARAMETERS})"));
    for (field, value) in model.at_enqueue.iter().chain(model.at_dequeue) {
        if *field == FieldRole::EgressSpec {
            out.line("/* BMv2: nothing is chosen again in egress. */");
            // It is read behind egress.
            set_field(cx, *field, &intrinsic_value(model, *value), out);
        } else {
            set_if_read(cx, *field, &intrinsic_value(model, *value), out);
        }
    }
    if cx.facts.has_direct_meters {
        out.line("sd_direct_colours_reset(w);");
    }
    out.close("");
    out.blank();
}

/// From the end of egress to the packet's departure. `in_place` says whether headers may stay where they lie.
pub(crate) fn after_egress(cx: &Cx<'_>, spec: &str, in_place: bool, out: &mut Code) {
    out.own("/* Egress has ended so: the packet departs. */");
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
    out.line("    return p4x_drop(p, SD_DROP_EGRESS);");
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
    out.open("if (SD_UNLIKELY(w->failed))");
    out.line("w->failed = 0;");
    out.line("return p4x_drop(p, SD_DROP_TOO_LONG);");
    out.close("");
    out.line("if (SD_LIKELY(sd_packet_rebuild(p, w)))");
    out.line("    return SD_NEXT_DONE;");
    out.line("p->verdict = SD_VERDICT_NO_HEADROOM;");
    out.line("return SD_NEXT_PUNT;");
    out.close("");
    out.blank();
}

pub(crate) fn run_block_of(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    match cx.program.block(role) {
        Some(id) => out.line(format!("end = {}(w, p, s);", cx.block_name(id))),
        None => out.line("end = SD_END_DONE;"),
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
    if role != BlockRole::Egress {
        out.line("next = p4x_after_ingress(w, p, s, end);");
        out.line("if (next != SD_NEXT_CONTINUE)");
        out.line("    return next;");
        out.line("p4x_before_egress(w, p, s);");
        run_block_of(cx, BlockRole::Egress, out);
        check_suspended(cx, BlockRole::Egress, out);
    } else {
        out.line("(void)next;");
    }
    out.line(format!("return p4x_after_egress(w, p, s, end{});", common_path(cx)));
}

/// Drops a packet for which a buffer of the worker was too small.
pub(crate) fn check_length(cx: &Cx<'_>, out: &mut Code) {
    if !cx.facts.uses_buffers {
        return;
    }
    out.open("if (SD_UNLIKELY(w->failed))");
    out.line("w->failed = 0;");
    out.line("return p4x_drop(p, SD_DROP_TOO_LONG);");
    out.close("");
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
