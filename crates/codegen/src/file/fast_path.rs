//! What lies between the blocks of a packet that needs nothing else: from arrival to a verdict, straight through.
//!
//! What happens is what crate `target` does for any executor: the steps come in the same order and set the same fields.

use crate::facts::storage::Owner;
use crate::file::burst;
use crate::file::offload;
use crate::function::cx::Cx;
use crate::function::emit;
use crate::function::func::Func;
use crate::text::code::Code;
use arch::{BlockRole, ExternOp, FieldRole};
use ir::lookup::index;
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
            8 | 16 | 32 | 64 => format!("({})({value})", crate::text::types::int_type(width)),
            1..=63 => {
                let c = crate::text::types::int_type(crate::text::types::int_bits(width));
                format!("({c})(({value}) & {})", crate::function::expr::mask_text(width))
            }
            _ => value.to_string(),
        };
        out.line(format!("{lvalue} = {text};"));
    }
}

/// `if (end) { verdict }` after a block.
fn check(cx: &Cx<'_>, role: BlockRole, path: Path, out: &mut Code) {
    if role == BlockRole::Parser {
        out.open("if (SD_UNLIKELY(end))");
        out.line("if (end < SD_END_REJECTED)");
        out.line("    return p4_stopped(p, end);");
        match field(cx, FieldRole::ParserError) {
            Some(_) if cx.common_case.has_exceptions && path == Path::Common => {
                out.line("return SD_NEXT_EXCEPTION;")
            }
            Some((lvalue, _)) => out.line(format!("{lvalue} = end - SD_END_REJECTED;")),
            None => out.line("return p4_drop(p, SD_DROP_PARSER_REJECTED);"),
        }
        out.close("");
    } else {
        out.line("if (SD_UNLIKELY(end))");
        out.line("    return p4_stopped(p, end);");
    }
}

fn run(cx: &Cx<'_>, role: BlockRole, path: Path, out: &mut Code) {
    let Some(id) = cx.program.block(role) else { return };
    let name = cx.block_name(id);
    out.line(format!("end = {name}(w, p, s);"));
    check(cx, role, path, out);
}

/// From arrival to departure of a packet that is neither copied nor starts again.
pub(crate) fn fast_path(cx: &Cx<'_>, out: &mut Code) -> bool {
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
    out.function("SD_INLINE uint32_t p4_drop(struct sd_packet *p, uint32_t reason)");
    out.line("p->verdict = SD_VERDICT_DROP;");
    out.line("p->drop = reason;");
    out.line("return SD_NEXT_DONE;");
    out.close("");
    out.blank();
    out.function("SD_COLD uint32_t p4_stopped(struct sd_packet *p, uint32_t end)");
    out.line("return p4_drop(p, SD_DROP_STEP_BUDGET + (end - SD_END_STEP_BUDGET));");
    out.close("");
    out.blank();
    enter(cx, Path::Common, out);
    if cx.common_case.has_exceptions {
        enter(cx, Path::Exception, out);
    }
    after_ingress(cx, &spec, drop_port, out);
    before_egress(cx, drop_port, out);
    if cx.common_case.has_exceptions {
        after_egress(cx, "p4_after_egress_exception", &spec, drop_port, Deparse::Checked { in_place }, out);
        exceptions(cx, out);
    }
    let deparse = if cx.common_case.headers_stay { Deparse::InPlace } else { Deparse::Checked { in_place } };
    after_egress(cx, "p4_after_egress", &spec, drop_port, deparse, out);
    packet(cx, out);
    offload::resume_functions(cx, out);
    burst::process(cx, out);
    process(cx, out);
    true
}

const PARAMETERS: &str = "struct sd_worker *w, struct sd_packet *p, struct p4_state *s";

/// Whose way it is, where packets are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Common,
    Exception,
}

/// From arrival to the beginning of ingress; the state is zeros.
fn enter(cx: &Cx<'_>, path: Path, out: &mut Code) {
    out.own("/* A packet arrives: its headers are invalid, its metadata zeros. */");
    let name = if path == Path::Exception { "p4_enter_exception" } else { "p4_enter" };
    out.function(format!("SD_ALWAYS_INLINE uint32_t {name}({PARAMETERS})"));
    out.line("uint32_t end;");
    out.line("p->cursor_bits = 0;");
    if may_punt(cx.program) {
        out.line("w->requests.flags = 0;");
    }
    // A packet that was dropped on its way may have left something behind.
    if uses_buffers(cx.program) {
        out.line("w->failed = 0;");
    }
    if cx.calls.borrow().iter().any(|call| call.op == ExternOp::Digest) {
        out.line("w->digests.length = 0;");
    }
    set_if_read(cx, FieldRole::IngressPort, "p->ingress_port", out);
    set_if_read(cx, FieldRole::PacketLength, "p->length_bytes", out);
    set_if_read(cx, FieldRole::IngressTimestamp, "w->now_ns / 1000", out);
    run(cx, BlockRole::Parser, path, out);
    if cx.common_case.headers_stay && path == Path::Common {
        out.line("if (SD_UNLIKELY(!p4_headers_stay(p, s)))");
        out.line("    return SD_NEXT_EXCEPTION;");
    }
    run(cx, BlockRole::VerifyChecksum, path, out);
    out.line("(void)end;");
    out.line("return SD_NEXT_CONTINUE;");
    out.close("");
    out.blank();
}

fn after_ingress(cx: &Cx<'_>, spec: &str, drop_port: u32, out: &mut Code) {
    out.own("/* Ingress has ended so. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4_after_ingress({PARAMETERS}, uint32_t end)"));
    check(cx, BlockRole::Ingress, Path::Common, out);
    let mut slow: Vec<String> = Vec::new();
    if makes_requests_in(cx.program, BlockRole::Ingress) {
        slow.push("w->requests.flags".to_string());
    }
    slow.extend(request_fields(cx.program).filter_map(|role| field(cx, role)).map(|(lvalue, _)| lvalue));
    if !slow.is_empty() {
        out.line("/* Copies, digests, a queue of its own, or another round: not straight. */");
        out.open(format!("if (SD_UNLIKELY({}))", slow.join(" || ")));
        check_length(cx, out);
        out.line("p->verdict = SD_VERDICT_AFTER_INGRESS;");
        out.line("return SD_NEXT_PUNT;");
        out.close("");
    }
    out.line(format!("if ({spec} == {drop_port})"));
    out.line("    return p4_drop(p, SD_DROP_INGRESS);");
    out.line(format!("p->egress_port = {spec};"));
    out.line("return SD_NEXT_CONTINUE;");
    out.close("");
    out.blank();
}

fn before_egress(cx: &Cx<'_>, drop_port: u32, out: &mut Code) {
    out.own("/* The queue was empty. */");
    out.function(format!("SD_ALWAYS_INLINE void p4_before_egress({PARAMETERS})"));
    set_if_read(cx, FieldRole::InstanceType, "0", out);
    set_if_read(cx, FieldRole::EgressInstance, "0", out);
    set_if_read(cx, FieldRole::EnqueueTimestamp, "w->now_ns / 1000", out);
    set_if_read(cx, FieldRole::EnqueueDepth, "0", out);
    set_if_read(cx, FieldRole::EgressTimestamp, "w->now_ns / 1000", out);
    set_if_read(cx, FieldRole::DequeueTimeDelta, "0", out);
    set_if_read(cx, FieldRole::DequeueDepth, "0", out);
    set_if_read(cx, FieldRole::EgressPort, "p->egress_port", out);
    set_field(cx, FieldRole::EgressSpec, &(drop_port + 1).to_string(), out);
    if has_colours(cx) {
        out.line("sd_direct_colours_reset(w);");
    }
    out.close("");
    out.blank();
}

/// What is known of the headers of a packet that departs.
#[derive(Clone, Copy)]
enum Deparse {
    /// They lie where they are emitted.
    InPlace,
    /// Perhaps not; with `in_place` it is asked.
    Checked { in_place: bool },
}

fn after_egress(cx: &Cx<'_>, name: &str, spec: &str, drop_port: u32, deparse: Deparse, out: &mut Code) {
    out.own("/* Egress has ended so: the packet departs. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t {name}({PARAMETERS}, uint32_t end)"));
    check(cx, BlockRole::Egress, Path::Common, out);
    if makes_requests_in(cx.program, BlockRole::Egress) {
        out.open("if (SD_UNLIKELY(w->requests.flags))");
        check_length(cx, out);
        out.line("p->verdict = SD_VERDICT_AFTER_EGRESS;");
        out.line("return SD_NEXT_PUNT;");
        out.close("");
    }
    out.line(format!("if ({spec} == {drop_port})"));
    out.line("    return p4_drop(p, SD_DROP_EGRESS);");
    run(cx, BlockRole::ComputeChecksum, Path::Common, out);
    check_length(cx, out);
    out.line("p->verdict = SD_VERDICT_SEND;");
    let Deparse::Checked { in_place } = deparse else {
        out.line("p4_store_headers(p, s);");
        out.line("return SD_NEXT_DONE;");
        out.close("");
        out.blank();
        return;
    };
    if in_place {
        out.open("if (SD_LIKELY(p4_headers_stay(p, s)))");
        out.line("p4_store_headers(p, s);");
        out.line("return SD_NEXT_DONE;");
        out.close("");
    }
    out.line("sd_emit_begin(w);");
    run(cx, BlockRole::Deparser, Path::Common, out);
    out.open("if (SD_UNLIKELY(w->failed))");
    out.line("w->failed = 0;");
    out.line("return p4_drop(p, SD_DROP_TOO_LONG);");
    out.close("");
    out.line("if (SD_LIKELY(sd_packet_rebuild(p, w)))");
    out.line("    return SD_NEXT_DONE;");
    out.line("p->verdict = SD_VERDICT_NO_HEADROOM;");
    out.line("return SD_NEXT_PUNT;");
    out.close("");
    out.blank();
}

/// A packet that is not as most are.
fn exceptions(cx: &Cx<'_>, out: &mut Code) {
    out.own("/* The way of a packet that is not as most are, straight through from its arrival on. */");
    out.function("SD_COLD uint32_t p4_exception(struct sd_worker *w, struct sd_packet *p)");
    declare_state(cx, out);
    out.line("uint32_t next = p4_enter_exception(w, p, s), end;");
    out.line("if (next != SD_NEXT_CONTINUE)");
    out.line("    return next;");
    count_lookups(cx, "+= 1", out);
    run_block_of(cx, BlockRole::Ingress, out);
    out.line("next = p4_after_ingress(w, p, s, end);");
    out.line("if (next != SD_NEXT_CONTINUE)");
    out.line("    return next;");
    out.line("p4_before_egress(w, p, s);");
    run_block_of(cx, BlockRole::Egress, out);
    out.line("return p4_after_egress_exception(w, p, s, end);");
    out.close("");
    out.blank();
}

fn run_block_of(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    match cx.program.block(role) {
        Some(id) => out.line(format!("end = {}(w, p, s);", cx.block_name(id))),
        None => out.line("end = SD_END_DONE;"),
    }
}

/// So many packets come to the tables that are not counted where they are looked up.
fn count_lookups(cx: &Cx<'_>, change: &str, out: &mut Code) {
    for id in burst::first_tables(cx) {
        out.line(format!("w->table_counts[{}].n_lookups {change};", index(id)));
    }
}

/// One packet, without a wait.
fn packet(cx: &Cx<'_>, out: &mut Code) {
    out.own("/* The way of one packet, straight through. */");
    let linkage = if cx.is_small { "SD_ALWAYS_INLINE" } else { "SD_INLINE" };
    out.function(format!("{linkage} uint32_t p4_packet(struct sd_worker *w, struct sd_packet *p)"));
    declare_state(cx, out);
    out.line("uint32_t next = p4_enter(w, p, s), end;");
    let mut otherwise = out.nested();
    count_lookups(cx, "-= 1", &mut otherwise);
    otherwise.line(if cx.common_case.has_exceptions {
        "return next == SD_NEXT_EXCEPTION ? p4_exception(w, p) : next;"
    } else {
        "return next;"
    });
    out.under("SD_UNLIKELY(next != SD_NEXT_CONTINUE)", otherwise);
    run_block_of(cx, BlockRole::Ingress, out);
    offload::check_suspended(cx, BlockRole::Ingress, out);
    rest(cx, BlockRole::Ingress, out);
    out.close("");
    out.blank();
}

/// The state of a packet, zeros.
pub(crate) fn declare_state(cx: &Cx<'_>, out: &mut Code) {
    if may_punt(cx.program) {
        out.line("/* The host may go on with it. */");
        out.line("struct p4_state *s = w->state;");
        out.line("memset(s, 0, sizeof *s);");
    } else {
        out.line("struct p4_state state = {}, *s = &state;");
    }
}

/// What comes when ingress or egress has ended in `end`.
pub(crate) fn rest(cx: &Cx<'_>, role: BlockRole, out: &mut Code) {
    if role != BlockRole::Egress {
        out.line("next = p4_after_ingress(w, p, s, end);");
        out.line("if (next != SD_NEXT_CONTINUE)");
        out.line("    return next;");
        out.line("p4_before_egress(w, p, s);");
        run_block_of(cx, BlockRole::Egress, out);
        offload::check_suspended(cx, BlockRole::Egress, out);
    } else {
        out.line("(void)next;");
    }
    out.line("return p4_after_egress(w, p, s, end);");
}

fn process(cx: &Cx<'_>, out: &mut Code) {
    out.function("static uint32_t p4_process(struct sd_worker *w, struct sd_packet *packets, uint32_t n)");
    if let Some(plan) = cx.plan {
        if cx.has_small_stages {
            out.line(format!("if (sd_burst_waits(w, {}))", burst::n_points(plan)));
        } else {
            let tables = plan.points.iter().map(|point| point.table);
            let all: Vec<String> = tables
                .chain(plan.prefetched.iter().map(|e| e.table))
                .map(|id| index(id).to_string())
                .collect();
            out.line(format!("static const uint16_t tables[] = {{{}}};", all.join(", ")));
            out.line("if (sd_burst_waits_for(w, tables, sizeof tables / sizeof tables[0]))");
        }
        out.line("    return p4_process_bursts(w, packets, n);");
    }
    if has_loops(cx) {
        out.line("const uint32_t steps = w->steps_left;");
    }
    if cx.offload.is_some() {
        out.line("sd_async_enter(w);");
    }
    count_lookups(cx, "+= n", out);
    out.line("struct sd_packet *const last = packets + n;");
    out.line(
        "const struct sd_packet *ahead = n > SD_PREFETCH_PACKETS ? packets + SD_PREFETCH_PACKETS : packets;",
    );
    out.open("for (struct sd_packet *p = packets; p < last; p++)");
    out.line("__builtin_prefetch(ahead->data);");
    out.line("ahead = ahead + 1 < last ? ahead + 1 : ahead;");
    if has_loops(cx) {
        out.line("w->steps_left = steps;");
    }
    if has_colours(cx) {
        out.line("sd_direct_colours_reset(w);");
    }
    if cx.offload.is_some() {
        out.line("uint32_t next = p4_packet(w, p);");
        out.line("if (SD_UNLIKELY(next == SD_NEXT_SUSPENDED))");
        out.line("    next = p4_wait(w, p);");
        out.open("if (SD_UNLIKELY(next == SD_NEXT_PUNT))");
        out.line("n = (uint32_t)(p - packets) + 1;");
        out.line("break;");
        out.close("");
    } else {
        let mut leaves = out.nested();
        count_lookups(cx, "-= (uint64_t)(last - p - 1)", &mut leaves);
        leaves.line("return (uint32_t)(p - packets) + 1;");
        out.under("SD_UNLIKELY(p4_packet(w, p) == SD_NEXT_PUNT)", leaves);
    }
    out.close("");
    if cx.offload.is_some() {
        out.line("sd_async_leave(w, n);");
    }
    out.line("return n;");
    out.close("");
    out.blank();
}

fn has_colours(cx: &Cx<'_>) -> bool {
    cx.program.tables.iter().any(|(_, t)| t.direct_meter.is_some())
}

/// Whether packets use up steps.
pub(crate) fn has_loops(cx: &Cx<'_>) -> bool {
    cx.program.graphs().any(crate::function::graph::has_loop)
}

/// Whether something is packed, or may be sent as a digest: what may find no room.
pub(crate) fn uses_buffers(program: &Program) -> bool {
    let packs = |op: ExternOp| {
        matches!(
            op,
            ExternOp::Hash
                | ExternOp::HashRaw
                | ExternOp::VerifyChecksum
                | ExternOp::UpdateChecksum
                | ExternOp::VerifyChecksumWithPayload
                | ExternOp::UpdateChecksumWithPayload
                | ExternOp::Checksum16Get
                | ExternOp::Ipv4Checksum
                | ExternOp::Digest
                | ExternOp::EmitBegin
                | ExternOp::Rebuild
        )
    };
    let stmts = program.graphs().flat_map(|g| g.nodes.iter()).flat_map(|(_, n)| &n.stmts);
    let in_code = stmts.into_iter().any(|stmt| match &stmt.kind {
        StmtKind::Extern { op, .. } => packs(*op),
        StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
    });
    in_code || program.tables.iter().any(|(_, table)| table.implementation.is_some())
}

/// Fields whose values send a packet to the host after ingress.
fn request_fields(program: &Program) -> impl Iterator<Item = FieldRole> + '_ {
    [FieldRole::MulticastGroup, FieldRole::Priority].into_iter().filter(|role| is_written(program, *role))
}

/// Whether the host may go on with a packet whose way began here.
pub(crate) fn may_punt(program: &Program) -> bool {
    makes_requests_in(program, BlockRole::Egress) || request_fields(program).next().is_some()
}

/// The same as [`set_field`], where somebody may look.
fn set_if_read(cx: &Cx<'_>, role: FieldRole, value: &str, out: &mut Code) {
    if may_punt(cx.program) || is_read(cx.program, role) {
        set_field(cx, role, value, out);
    }
}

/// What found no room in a buffer of the worker is missing: the packet ends.
fn check_length(cx: &Cx<'_>, out: &mut Code) {
    if !uses_buffers(cx.program) {
        return;
    }
    out.open("if (SD_UNLIKELY(w->failed))");
    out.line("w->failed = 0;");
    out.line("return p4_drop(p, SD_DROP_TOO_LONG);");
    out.close("");
}

/// Whether the program writes a field of the architecture's metadata, or something that holds it, other than by
/// marking its packet to drop.
pub(crate) fn is_written(program: &Program, role: FieldRole) -> bool {
    is_accessed(program, role, &|access| access != Access::Read)
}

/// Whether it reads it, or something that holds it.
fn is_read(program: &Program, role: FieldRole) -> bool {
    is_accessed(program, role, &|access| access != Access::Write)
}

fn is_accessed(program: &Program, role: FieldRole, how: &dyn Fn(Access) -> bool) -> bool {
    let Some(field) = program.field(role) else { return false };
    let mut found = false;
    let mut note = |access: Access, place: &ir::Place| {
        let n = place.path.len().min(field.path.len());
        found |= how(access) && place.var == field.var && place.path[..n] == field.path[..n];
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
fn makes_requests_in(program: &Program, role: BlockRole) -> bool {
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
            StmtKind::Assign { .. } | StmtKind::Emit(_) | StmtKind::ZeroIfInvalid(_) => false,
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
            if role == BlockRole::Ingress {
                out.indent();
                count_lookups(cx, "+= 1", out);
                out.dedent();
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
