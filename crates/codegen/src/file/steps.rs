//! The steps between the blocks of a packet on the fast path.
//!
//! The steps come in the order of crate `target` and set the same fields.

use crate::function::cx::Cx;
use crate::function::metadata::{field, set_field, set_if_read};
use crate::text::code::Code;
use arch::{BlockRole, ExternOp, FieldRole};
use ir::lookup::index;

pub(crate) const HEAD: &str = "struct sd_worker *w, struct sd_packet *p";

pub(crate) const PARAMETERS: &str = "struct sd_worker *w, struct sd_packet *p, struct p4x_state *s";

/// The path that code belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    Common,
    Exception,
}

/// From arrival to the beginning of ingress; the state is zeros.
pub(crate) fn enter(cx: &Cx<'_>, path: Path, out: &mut Code) {
    out.own("/* A packet arrives: its headers are invalid, its metadata zeros. */");
    let name = if path == Path::Exception { "p4x_enter_exception" } else { "p4x_enter" };
    out.function(format!("SD_ALWAYS_INLINE uint32_t {name}({PARAMETERS})"));
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
    set_if_read(cx, FieldRole::IngressPort, "p->ingress_port", out);
    set_if_read(cx, FieldRole::PacketLength, "p->length_bytes", out);
    set_if_read(cx, FieldRole::IngressTimestamp, "w->now_ns / 1000", out);
    run(cx, BlockRole::Parser, path, out);
    if cx.facts.common_case.headers_stay && path == Path::Common {
        out.line("if (SD_UNLIKELY(!p4x_headers_stay(p, s)))");
        out.line("    return SD_NEXT_EXCEPTION;");
    }
    run(cx, BlockRole::VerifyChecksum, path, out);
    out.line("(void)end;");
    out.line("return SD_NEXT_CONTINUE;");
    out.close("");
    out.blank();
}

/// `if (end) { verdict }` after a block.
pub(crate) fn check(cx: &Cx<'_>, role: BlockRole, path: Path, out: &mut Code) {
    if role == BlockRole::Parser {
        out.open("if (SD_UNLIKELY(end))");
        out.line("if (end < SD_END_REJECTED)");
        out.line("    return p4x_stopped(p, end);");
        match field(cx, FieldRole::ParserError) {
            Some(_) if cx.facts.common_case.has_exceptions && path == Path::Common => {
                out.line("return SD_NEXT_EXCEPTION;")
            }
            Some((lvalue, _)) => out.line(format!("{lvalue} = end - SD_END_REJECTED;")),
            None => out.line("return p4x_drop(p, SD_DROP_PARSER_REJECTED);"),
        }
        out.close("");
    } else {
        out.line("if (SD_UNLIKELY(end))");
        out.line("    return p4x_stopped(p, end);");
    }
}

pub(crate) fn run(cx: &Cx<'_>, role: BlockRole, path: Path, out: &mut Code) {
    let Some(id) = cx.program.block(role) else { return };
    let name = cx.block_name(id);
    out.line(format!("end = {name}(w, p, s);"));
    check(cx, role, path, out);
}

pub(crate) fn after_ingress(cx: &Cx<'_>, spec: &str, drop_port: u32, out: &mut Code) {
    out.own("/* Ingress has ended so. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4x_after_ingress({PARAMETERS}, uint32_t end)"));
    check(cx, BlockRole::Ingress, Path::Common, out);
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
    out.line(format!("if ({spec} == {drop_port})"));
    out.line("    return p4x_drop(p, SD_DROP_INGRESS);");
    out.line(format!("p->egress_port = {spec};"));
    out.line("return SD_NEXT_CONTINUE;");
    out.close("");
    out.blank();
}

pub(crate) fn before_egress(cx: &Cx<'_>, drop_port: u32, out: &mut Code) {
    out.own("/* The queue was empty. */");
    out.function(format!("SD_ALWAYS_INLINE void p4x_before_egress({PARAMETERS})"));
    set_if_read(cx, FieldRole::InstanceType, "0", out);
    set_if_read(cx, FieldRole::EgressInstance, "0", out);
    set_if_read(cx, FieldRole::EnqueueTimestamp, "w->now_ns / 1000", out);
    set_if_read(cx, FieldRole::EnqueueDepth, "0", out);
    set_if_read(cx, FieldRole::EgressTimestamp, "w->now_ns / 1000", out);
    set_if_read(cx, FieldRole::DequeueTimeDelta, "0", out);
    set_if_read(cx, FieldRole::DequeueDepth, "0", out);
    set_if_read(cx, FieldRole::EgressPort, "p->egress_port", out);
    set_field(cx, FieldRole::EgressSpec, &(drop_port + 1).to_string(), out);
    if cx.facts.has_direct_meters {
        out.line("sd_direct_colours_reset(w);");
    }
    out.close("");
    out.blank();
}

/// How a packet is deparsed at the end of egress.
#[derive(Clone, Copy)]
pub(crate) enum Deparse {
    /// The headers lie where they are emitted.
    InPlace,
    /// They may lie elsewhere; with `in_place` the code checks.
    Checked { in_place: bool },
}

pub(crate) fn after_egress(
    cx: &Cx<'_>,
    name: &str,
    spec: &str,
    drop_port: u32,
    deparse: Deparse,
    out: &mut Code,
) {
    out.own("/* Egress has ended so: the packet departs. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t {name}({PARAMETERS}, uint32_t end)"));
    check(cx, BlockRole::Egress, Path::Common, out);
    if cx.facts.makes_requests {
        out.open("if (SD_UNLIKELY(w->requests.flags))");
        check_length(cx, out);
        out.line("p->verdict = SD_VERDICT_AFTER_EGRESS;");
        out.line("return SD_NEXT_PUNT;");
        out.close("");
    }
    out.line(format!("if ({spec} == {drop_port})"));
    out.line("    return p4x_drop(p, SD_DROP_EGRESS);");
    run(cx, BlockRole::ComputeChecksum, Path::Common, out);
    check_length(cx, out);
    out.line("p->verdict = SD_VERDICT_SEND;");
    let Deparse::Checked { in_place } = deparse else {
        out.line("p4x_store_headers(p, s);");
        out.line("return SD_NEXT_DONE;");
        out.close("");
        out.blank();
        return;
    };
    if in_place {
        out.open("if (SD_LIKELY(p4x_headers_stay(p, s)))");
        out.line("p4x_store_headers(p, s);");
        out.line("return SD_NEXT_DONE;");
        out.close("");
    }
    out.line("sd_emit_begin(w);");
    run(cx, BlockRole::Deparser, Path::Common, out);
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
        out.line(format!("w->table_counts[{}].n_lookups {change};", index(*id)));
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
    out.line("return p4x_after_egress(w, p, s, end);");
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
