//! Functions of asynchronous blocks, and the contexts of their packets.
//!
//! The block becomes a function that an offload worker calls on packet and context. The code behind it becomes one that
//! the worker calls when the packet is back. A packet that is not suspended runs the same code in place.
//! `rt/worker/sd_async.h` says how packets travel.

use crate::facts::storage::Owner;
use crate::file::offload_batch;
use crate::file::steps::{HEAD, check_suspended, declare_state, rest};
use crate::file::variables::variables_of_block;
use crate::function::cx::Cx;
use crate::function::func::{Func, FunctionKind};
use crate::function::saved_state::{load, members};
use crate::suspend::offload::{OffloadBlock, OffloadPlan};
use crate::suspend::saved_state::SavedState;
use crate::text::arrays::string;
use crate::text::code::{Code, comment};
use ir::{BlockId, NodeId};

/// Contexts of suspended packets.
pub(crate) fn context_structs(cx: &Cx<'_>, out: &mut Code) {
    let Some(plan) = cx.offload else { return };
    let keeps = [
        (cx.facts.uses_steps, "SD_SAVE_STEPS"),
        (cx.facts.may_punt, "SD_SAVE_REQUESTS"),
        (cx.facts.uses_buffers, "SD_SAVE_FAILED"),
    ];
    let names: Vec<&str> = keeps.into_iter().filter(|(is_kept, _)| *is_kept).map(|(_, name)| name).collect();
    out.own("/* What of the worker packets that wait take along. */");
    out.line(format!(
        "enum {{ P4X_SAVE_FLAGS = {} }};",
        if names.is_empty() { "0".to_owned() } else { names.join(" | ") }
    ));
    out.blank();
    for (i, block) in plan.blocks.iter().enumerate() {
        out.line(format!("/* What a packet keeps before {} has run, and after it. */", comment(&block.name)));
        out.open(format!("struct p4x_async_{i}"));
        out.open("union");
        for (name, saved) in [("there", &block.request), ("back", &block.completion)] {
            out.open("struct");
            members(cx, saved, true, out);
            out.close(&format!(" {name};"));
        }
        out.line("uint64_t nothing[1];");
        out.close(";");
        out.close(";");
        out.blank();
    }
}

/// The functions of the asynchronous blocks of a block: their bodies, and what comes behind them.
pub(crate) fn functions(cx: &Cx<'_>, id: BlockId, out: &mut Code) {
    let Some(plan) = cx.offload else { return };
    for (i, block) in plan.blocks.iter().enumerate().filter(|(_, block)| block.block == id) {
        let name = comment(&block.name);
        out.own(format!("/* {name}, at an offload worker. */"));
        out.function(format!("SD_INLINE uint32_t p4x_async_{i}__body({HEAD}, void *context)"));
        out.line(format!("struct p4x_async_{i} *c = context;"));
        out.line("struct p4x_state state = {}, *s = &state;");
        piece(
            cx,
            block,
            (block.body, &block.request, "c->there"),
            FunctionKind::OffloadBody { block: i },
            out,
        );
        if let Some(call) = offload_batch::functions(cx, i, block, out) {
            cx.batched.borrow_mut().insert(i, call);
        }
        out.own(format!("/* {} behind {name} */", comment(&cx.program.blocks[id].name)));
        out.function(format!(
            "static uint32_t p4x_async_{i}__after({HEAD}, struct p4x_state *s, struct p4x_async_{i} *c)"
        ));
        piece(cx, block, (block.after, &block.completion, "c->back"), FunctionKind::Inline, out);
    }
}

fn piece(
    cx: &Cx<'_>,
    block: &OffloadBlock,
    (from, saved, part): (NodeId, &SavedState, &str),
    kind: FunctionKind,
    out: &mut Code,
) {
    variables_of_block(cx, block.block, out);
    load(cx, saved, part, true, out);
    let mut func = Func::of_kind(cx, Owner::Block(block.block), kind);
    func.code.indent();
    func.graph_from(&cx.program.blocks[block.block].graph, from);
    let jumps = std::mem::take(&mut func.jumps);
    func.code.keep_labels(&jumps);
    out.append(func.code);
    out.close("");
    out.blank();
}

/// Dispatch by the number of the block. With one block, gcc inlines it into the caller.
fn dispatch(plan: &OffloadPlan, out: &mut Code) {
    let functions = [
        (
            "What comes behind a block.",
            "rest",
            "struct sd_suspended *suspended",
            "suspended->point",
            "suspended",
        ),
        ("A block.", "body", "uint32_t point, void *context", "point", "context"),
    ];
    for (what, name, more, point, last) in functions {
        out.own(format!("/* {what} */"));
        out.function(format!("SD_INLINE uint32_t p4x_{name}({HEAD}, {more})"));
        out.open(format!("switch ({point})"));
        for i in 0..plan.blocks.len() {
            out.line(format!("case {i}:"));
            out.line(format!("    return p4x_async_{i}__{name}(w, p, {last});"));
        }
        out.line("default:");
        out.line("    __builtin_unreachable();");
        out.close("");
        out.close("");
        out.blank();
    }
}

/// `p4x_resume` and `p4x_serve`, which continue after `p4x_packet`.
pub(crate) fn resume_functions(cx: &Cx<'_>, out: &mut Code) {
    let Some(plan) = cx.offload else { return };
    for (i, block) in plan.blocks.iter().enumerate() {
        out.own(format!("/* The way of a packet from behind {}. */", comment(&block.name)));
        out.function(format!(
            "SD_INLINE uint32_t p4x_async_{i}__rest({HEAD}, struct sd_suspended *suspended)"
        ));
        out.line("void *c = sd_async_back(w, p, suspended, P4X_SAVE_FLAGS);");
        declare_state(cx, out);
        out.line("uint32_t end = suspended->end;");
        out.line("if (SD_LIKELY(end == SD_END_DONE))");
        out.line(format!("    end = p4x_async_{i}__after(w, p, s, c);"));
        let role = cx.program.blocks[block.block].role;
        check_suspended(cx, role, out);
        rest(cx, role, out);
        out.close("");
        out.blank();
    }
    dispatch(plan, out);
    out.own("/* One that the worker has waited for goes on, perhaps to a block where it waits again. */");
    out.function(format!(
        "static __attribute__((noinline)) uint32_t p4x_waited({HEAD}, struct sd_suspended *suspended)"
    ));
    out.line("uint32_t next = p4x_rest(w, p, suspended);");
    out.open("while (next == SD_NEXT_SUSPENDED)");
    out.line("suspended = w->suspended;");
    out.line("if (!sd_async_send(w))");
    out.line("    break;");
    out.line("next = p4x_rest(w, p, suspended);");
    out.close("");
    out.line("return next;");
    out.close("");
    out.blank();
    out.own("/* Packets that wait are sent. */");
    out.function(format!("SD_ALWAYS_INLINE uint32_t p4x_wait({HEAD})"));
    out.line("struct sd_suspended *suspended = w->suspended;");
    out.line("return sd_async_send(w) ? p4x_waited(w, p, suspended) : SD_NEXT_SUSPENDED;");
    out.close("");
    out.blank();
    out.own("/* Packets that are back. */");
    out.function("static uint32_t p4x_resume(struct sd_worker *w, struct sd_packet *packets, uint32_t n)");
    out.line("uint32_t n_ended = 0;");
    out.line("void *back[SD_ASYNC_BURST];");
    out.line("sd_async_enter(w);");
    out.open("while (n_ended < n)");
    // One at a time where the host may go on with each: it is the last one then.
    let wanted = if cx.facts.may_punt {
        "1".to_string()
    } else {
        "n - n_ended < SD_ASYNC_BURST ? n - n_ended : SD_ASYNC_BURST".to_string()
    };
    out.line(format!("const uint32_t n_back = sd_async_receive(w, back, {wanted});"));
    out.line("if (n_back == 0)");
    out.line("    break;");
    out.open("for (uint32_t i = 0; i < n_back; i++)");
    out.line("struct sd_suspended *suspended = back[i];");
    out.line("struct sd_packet *p = &packets[n_ended];");
    out.line("uint32_t next = p4x_rest(w, p, suspended);");
    out.line("if (SD_UNLIKELY(next == SD_NEXT_SUSPENDED))");
    out.line("    next = p4x_wait(w, p);");
    out.line("n_ended += next != SD_NEXT_SUSPENDED;");
    out.open("if (SD_UNLIKELY(next == SD_NEXT_PUNT))");
    out.line("n = n_ended;");
    out.close("");
    out.close("");
    out.close("");
    out.line("sd_async_leave(w, 0);");
    out.line("return n_ended;");
    out.close("");
    out.blank();
    let serve_batch = offload_batch::dispatch(&cx.batched.borrow(), out);
    out.function(
        "static uint32_t p4x_serve(struct sd_worker *offload_worker, struct sd_channel *const *channels, uint32_t n_channels)",
    );
    out.line(format!(
        "return sd_async_serve(offload_worker, p4x_body, {serve_batch}, channels, n_channels, P4X_SAVE_FLAGS);"
    ));
    out.close("");
    out.blank();
}

/// Descriptors of the asynchronous blocks.
pub(crate) fn types(cx: &Cx<'_>, out: &mut Code) {
    let Some(plan) = cx.offload else { return };
    out.line("static const struct sd_async_type p4x_asyncs[] = {");
    for (i, block) in plan.blocks.iter().enumerate() {
        let call = cx.batched.borrow().get(&i).map_or("UINT32_MAX".to_owned(), usize::to_string);
        out.line(format!(
            "    {{{}, {}, sizeof(struct p4x_async_{i}), SD_ASYNC_HEAD_BYTES, {call}, 0}},",
            string(&block.name),
            string(&block.settings)
        ));
    }
    out.line("};");
}
