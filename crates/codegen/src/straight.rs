//! What lies between the blocks of a packet that needs nothing else: from arrival to a verdict, straight through.
//!
//! What happens is what crate `device` does for any executor: the steps come in the same order and set the same fields.

use crate::code::Code;
use crate::cx::Cx;
use crate::emit;
use crate::func::Func;
use crate::homes::Owner;
use arch::{BlockRole, ExternOp, FieldRole};
use ir::visit::Access;
use ir::{BlockId, Program, StmtKind, Type};

const ROLES: [(BlockRole, &str); 6] = [
    (BlockRole::Parser, "SD_BLOCK_PARSER"),
    (BlockRole::VerifyChecksum, "SD_BLOCK_VERIFY_CHECKSUM"),
    (BlockRole::Ingress, "SD_BLOCK_INGRESS"),
    (BlockRole::Egress, "SD_BLOCK_EGRESS"),
    (BlockRole::ComputeChecksum, "SD_BLOCK_COMPUTE_CHECKSUM"),
    (BlockRole::Deparser, "SD_BLOCK_DEPARSER"),
];

/// The C text of a field of the architecture's metadata.
pub(crate) fn field(cx: &Cx<'_>, role: FieldRole) -> Option<(String, Type)> {
    let place = cx.program.field(role)?;
    let ty = cx.program.place_type(place)?;
    let mut func = Func::new(cx, Owner::Block(first_block(cx.program)?));
    let access = func.place(place);
    access.guard.is_none().then_some((access.lvalue, ty))
}

pub(crate) fn first_block(program: &Program) -> Option<BlockId> {
    program.blocks.iter().map(|(id, _)| id).next()
}

fn set_field(cx: &Cx<'_>, role: FieldRole, value: &str, out: &mut Code) {
    if let Some((lvalue, ty)) = field(cx, role) {
        let width = ty.width_bits().unwrap_or(0);
        let text = match width {
            0 => return,
            8 | 16 | 32 | 64 => format!("({})({value})", crate::types::int_type(width)),
            1..=63 => {
                let c = crate::types::int_type(crate::types::int_bits(width));
                format!("({c})(({value}) & {})", crate::expr::mask_text(width))
            }
            _ => value.to_string(),
        };
        out.line(format!("{lvalue} = {text};"));
    }
}

/// `if (end) { verdict }` after a block.
fn run(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    let Some(id) = cx.program.block(role) else { return };
    let name = cx.block_name(id);
    out.line(format!("end = {name}(w, p, s);"));
    if role == BlockRole::Parser {
        out.open("if (SD_UNLIKELY(end))");
        out.line("if (end < SD_END_REJECTED)");
        out.line("    return p4_stopped(p, end);");
        match field(cx, FieldRole::ParserError) {
            Some((lvalue, _)) => out.line(format!("{lvalue} = end - SD_END_REJECTED;")),
            None => out.line("return p4_drop(p, SD_DROP_PARSER_REJECTED);"),
        }
        out.close("");
    } else {
        out.line("if (SD_UNLIKELY(end))");
        out.line("    return p4_stopped(p, end);");
    }
}

/// From arrival to departure of a packet that is neither copied nor starts again.
pub(crate) fn straight_path(cx: &Cx<'_>, out: &mut Code) -> bool {
    let program = cx.program;
    let Some(model) = program.architecture.pipeline() else { return false };
    let has_queues = model.blocks.iter().any(|b| b.role == BlockRole::Egress);
    let (Some(drop_port), Some((spec, _))) = (model.drop_port, field(cx, FieldRole::EgressSpec)) else {
        return false;
    };
    if !has_queues || cx.options.trace {
        return false;
    }
    let in_place = program.block(BlockRole::Deparser).is_some_and(|id| {
        emit::plain_emits(&program.blocks[id].graph)
            .is_some_and(|places| emit::in_place_function(cx, &places, out))
    });
    out.own("/* Ends of a packet's way. */");
    out.function("SD_INLINE bool p4_drop(struct sd_packet *p, uint32_t reason)");
    out.line("p->verdict = SD_VERDICT_DROP;");
    out.line("p->drop = reason;");
    out.line("return true;");
    out.close("");
    out.blank();
    out.function("SD_COLD bool p4_stopped(struct sd_packet *p, uint32_t end)");
    out.line("return p4_drop(p, SD_DROP_STEP_BUDGET + (end - SD_END_STEP_BUDGET));");
    out.close("");
    out.blank();
    out.own("/* A packet arrives: its headers are invalid, its metadata zeros. */");
    out.function("SD_INLINE void p4_arrive(struct sd_worker *w, struct sd_packet *p, struct p4_state *s)");
    out.line("memset(s, 0, sizeof *s);");
    out.line("p->cursor_bits = 0;");
    out.line("w->requests.flags = 0;");
    // A packet that was dropped on its way may have left something behind.
    out.line("w->failed = 0;");
    if cx.calls.borrow().iter().any(|call| call.op == ExternOp::Digest) {
        out.line("w->digests.length = 0;");
    }
    set_field(cx, FieldRole::IngressPort, "p->ingress_port", out);
    set_field(cx, FieldRole::PacketLength, "p->length_bytes", out);
    set_field(cx, FieldRole::IngressTimestamp, "w->now_ns / 1000", out);
    out.close("");
    out.blank();
    out.own("/* The way of one packet, straight through. False when it goes on at the host. */");
    out.function("SD_INLINE bool p4_packet(struct sd_worker *w, struct sd_packet *p, struct p4_state *s)");
    out.line("uint32_t end;");
    out.line("p4_arrive(w, p, s);");
    run(cx, BlockRole::Parser, out);
    run(cx, BlockRole::VerifyChecksum, out);
    run(cx, BlockRole::Ingress, out);
    let mut slow = vec!["w->requests.flags".to_string()];
    for role in [FieldRole::MulticastGroup, FieldRole::Priority] {
        if let Some((lvalue, _)) = field(cx, role).filter(|_| is_written(program, role)) {
            slow.push(lvalue);
        }
    }
    let asks = asks_in(program, BlockRole::Ingress) || slow.len() > 1;
    if asks {
        out.line("/* Copies, digests, a queue of its own, or another round: not straight. */");
        out.open(format!("if (SD_UNLIKELY({}))", slow.join(" || ")));
        too_long(out);
        out.line("p->verdict = SD_VERDICT_AFTER_INGRESS;");
        out.line("return false;");
        out.close("");
    }
    out.line(format!("if ({spec} == {drop_port})"));
    out.line("    return p4_drop(p, SD_DROP_INGRESS);");
    out.line(format!("p->egress_port = {spec};"));
    set_field(cx, FieldRole::InstanceType, "0", out);
    set_field(cx, FieldRole::EgressInstance, "0", out);
    set_field(cx, FieldRole::EnqueueTimestamp, "w->now_ns / 1000", out);
    set_field(cx, FieldRole::EnqueueDepth, "0", out);
    set_field(cx, FieldRole::EgressTimestamp, "w->now_ns / 1000", out);
    set_field(cx, FieldRole::DequeueTimeDelta, "0", out);
    set_field(cx, FieldRole::DequeueDepth, "0", out);
    set_field(cx, FieldRole::EgressPort, "p->egress_port", out);
    set_field(cx, FieldRole::EgressSpec, &(drop_port + 1).to_string(), out);
    if program.tables.iter().any(|(_, t)| t.direct_meter.is_some()) {
        out.line("sd_direct_colours_reset(w);");
    }
    run(cx, BlockRole::Egress, out);
    if asks_in(program, BlockRole::Egress) {
        out.open("if (SD_UNLIKELY(w->requests.flags))");
        too_long(out);
        out.line("p->verdict = SD_VERDICT_AFTER_EGRESS;");
        out.line("return false;");
        out.close("");
    }
    out.line(format!("if ({spec} == {drop_port})"));
    out.line("    return p4_drop(p, SD_DROP_EGRESS);");
    run(cx, BlockRole::ComputeChecksum, out);
    too_long(out);
    out.line("p->verdict = SD_VERDICT_SEND;");
    if in_place {
        out.line("if (SD_LIKELY(p4_deparse_in_place(p, s)))");
        out.line("    return true;");
    }
    out.line("sd_emit_begin(w);");
    run(cx, BlockRole::Deparser, out);
    too_long(out);
    out.line("if (SD_UNLIKELY(!sd_packet_rebuild(p, w)))");
    out.line("    p->verdict = SD_VERDICT_NO_HEADROOM;");
    out.line("return p->verdict == SD_VERDICT_SEND;");
    out.close("");
    out.blank();
    out.function("static uint32_t p4_process(struct sd_worker *w, struct sd_packet *packets, uint32_t n)");
    out.line("struct p4_state *s = w->state;");
    out.line("const uint32_t steps = w->steps_left;");
    let has_colours = program.tables.iter().any(|(_, t)| t.direct_meter.is_some());
    out.open("for (uint32_t i = 0; i < n; i++)");
    out.line("w->steps_left = steps;");
    if has_colours {
        out.line("sd_direct_colours_reset(w);");
    }
    out.line("if (!p4_packet(w, &packets[i], s))");
    out.line("    return i + 1;");
    out.close("");
    out.line("return n;");
    out.close("");
    out.blank();
    true
}

/// What found no room in a buffer of the worker is missing: the packet ends.
fn too_long(out: &mut Code) {
    out.open("if (SD_UNLIKELY(w->failed))");
    out.line("w->failed = 0;");
    out.line("return p4_drop(p, SD_DROP_TOO_LONG);");
    out.close("");
}

/// Whether the program writes a field of the architecture's metadata, or something that holds it, other than by
/// marking its packet to drop.
fn is_written(program: &Program, role: FieldRole) -> bool {
    let Some(field) = program.field(role) else { return false };
    let mut found = false;
    let mut note = |access: Access, place: &ir::Place| {
        let n = place.path.len().min(field.path.len());
        found |= access != Access::Read && place.var == field.var && place.path[..n] == field.path[..n];
    };
    for (_, node) in program.graphs().flat_map(|g| g.nodes.iter()) {
        for stmt in &node.stmts {
            if !matches!(&stmt.kind, StmtKind::Extern { op: ExternOp::MarkToDrop, .. }) {
                stmt.for_each_access(&mut note);
            }
        }
        node.terminator.kind.for_each_access(&mut note);
    }
    found
}

/// Whether a block, or what runs before it, may ask the architecture for something.
fn asks_in(program: &Program, role: BlockRole) -> bool {
    let asks = |graph: &ir::Graph| {
        graph.nodes.iter().flat_map(|(_, n)| &n.stmts).any(|stmt| match &stmt.kind {
            StmtKind::Extern { op, .. } => matches!(
                op,
                ExternOp::Clone
                    | ExternOp::ClonePreservingFieldList
                    | ExternOp::CloneWithData
                    | ExternOp::ResubmitPreservingFieldList
                    | ExternOp::ResubmitWithData
                    | ExternOp::RecirculatePreservingFieldList
                    | ExternOp::RecirculateWithData
                    | ExternOp::Truncate
                    | ExternOp::Digest
            ),
            StmtKind::Assign { .. } | StmtKind::Emit(_) => false,
        })
    };
    let is_before = |of: BlockRole| match role {
        BlockRole::Egress => true,
        _ => !matches!(of, BlockRole::Egress | BlockRole::ComputeChecksum | BlockRole::Deparser),
    };
    let blocks = program.blocks.iter().filter(|(_, b)| is_before(b.role));
    let procedures = program.procedures.iter().filter(|(_, p)| is_before(program.blocks[p.block].role));
    blocks.map(|(_, b)| &b.graph).chain(procedures.map(|(_, p)| &p.graph)).any(asks)
}

/// One block of one packet.
pub(crate) fn run_block(cx: &Cx<'_>, out: &mut Code) {
    out.own("/* One block of one packet, where the host does what lies between blocks. */");
    out.function(
        "static uint32_t p4_run_block(uint32_t role, struct sd_worker *w, struct sd_packet *p, void *state)",
    );
    out.line("uint32_t end = SD_END_DONE;");
    out.line("switch (role) {");
    for (role, name) in ROLES {
        if let Some(id) = cx.program.block(role) {
            out.line(format!("case {name}:"));
            if role == BlockRole::Deparser {
                out.line("    sd_emit_begin(w);");
            }
            out.line(format!("    end = {}(w, p, state);", cx.block_name(id)));
            out.line("    break;");
        }
    }
    out.line("default:");
    out.line("    break;");
    out.line("}");
    out.open("if (SD_UNLIKELY(w->failed))");
    out.line("w->failed = 0;");
    out.line("end = SD_END_TOO_LONG;");
    out.close("");
    out.line("return end;");
    out.close("");
    out.blank();
}
