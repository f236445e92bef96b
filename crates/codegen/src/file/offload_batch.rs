//! Functions of asynchronous blocks whose extern call is batched (`suspend::offload_batch`).
//!
//! State that packets save during the call is on the stack of the offload worker. `rt/worker/sd_async.h` says when calls
//! are batched.

use crate::facts::storage::Owner;
use crate::file::steps::HEAD;
use crate::file::variables::variables_of_block;
use crate::function::cx::Cx;
use crate::function::func::{Func, FunctionKind};
use crate::function::saved_state::{load, members};
use crate::suspend::offload::OffloadBlock;
use crate::suspend::offload_batch::NotBatched;
use crate::suspend::saved_state::SavedState;
use crate::text::code::{Code, comment};
use std::collections::BTreeMap;

/// The functions of a block that is cut at its call; returns the number of the call.
pub(crate) fn functions(cx: &Cx<'_>, i: usize, block: &OffloadBlock, out: &mut Code) -> Option<usize> {
    let name = comment(&block.name);
    let batched = match &block.batched {
        Ok(batched) => batched,
        Err(NotBatched::NoCall) => return None,
        Err(why) => {
            out.own(format!("/* The calls of {name} are made one by one: {}. */", why.text()));
            return None;
        }
    };
    let graph = &cx.program.blocks[block.block].graph;
    let stmt = graph.node(batched.node).stmts.last()?;
    let context = format!("struct p4x_async_{i} *c = context;");
    let head = format!("{HEAD}, void *context, struct p4x_async_{i}__call *call");

    let mut before = Code::new();
    before.own(format!("/* {name} up to its call, at an offload worker. */"));
    before.function(format!("SD_INLINE uint32_t p4x_async_{i}__before({head})"));
    before.line(&*context);
    before.line("struct p4x_state state = {}, *s = &state;");
    variables_of_block(cx, block.block, &mut before);
    load(cx, &block.request, "c->there", true, &mut before);
    if is_empty(&block.request) {
        before.line("(void)c;");
    }
    let kind = FunctionKind::UpToBatchedCall { block: i, call: None };
    let mut func = Func::of_kind(cx, Owner::Block(block.block), kind);
    func.code.indent();
    func.graph_from(graph, block.body);
    let FunctionKind::UpToBatchedCall { call, .. } = &mut func.kind else { return None };
    let (number, given) = call.take()?;
    close(func, &mut before);

    out.own(format!("/* What a packet keeps of {name} during its call. */"));
    out.open(format!("struct p4x_async_{i}__call"));
    out.line(format!("struct p4x_call_{number} args;"));
    out.line(format!("{given} given;"));
    if !is_empty(&batched.saved) {
        out.open("struct");
        members(cx, &batched.saved, true, out);
        out.close(" kept;");
    }
    out.close(";");
    out.blank();
    out.append(before);

    out.own(format!("/* {name} behind its call, which has ended so. */"));
    out.function(format!("SD_INLINE uint32_t p4x_async_{i}__behind({head}, uint32_t end)"));
    out.line(&*context);
    out.line("struct p4x_state state = {}, *s = &state;");
    variables_of_block(cx, block.block, out);
    load(cx, &batched.saved, "call->kept", true, out);
    let kind = FunctionKind::AfterBatchedCall { block: i };
    let mut func = Func::of_kind(cx, Owner::Block(block.block), kind);
    func.code.indent();
    func.finish_batched(stmt);
    func.graph_from(graph, batched.after);
    close(func, out);
    batch_function(i, &name, number, out);
    Some(number)
}

fn is_empty(saved: &SavedState) -> bool {
    saved.values.is_empty() && saved.origins.is_empty()
}

fn close(mut func: Func<'_, '_>, out: &mut Code) {
    let jumps = std::mem::take(&mut func.jumps);
    func.code.keep_labels(&jumps);
    out.append(func.code);
    out.close("");
    out.blank();
}

/// The block for a burst of packets.
fn batch_function(i: usize, name: &str, number: usize, out: &mut Code) {
    out.own(format!("/* {name} of several packets, which call together. */"));
    out.function(format!(
        "static void p4x_async_{i}__together(struct sd_worker *w, void *const *burst, uint32_t n)"
    ));
    out.line(format!("struct p4x_async_{i}__call kept[SD_ASYNC_BURST];"));
    out.line("struct sd_host_call calls[SD_ASYNC_BURST];");
    out.line("struct sd_suspended *of[SD_ASYNC_BURST];");
    out.line("uint32_t n_calls = 0;");
    out.open("for (uint32_t i = 0; i < n; i++)");
    out.line("struct sd_suspended *suspended = burst[i];");
    out.line(format!("struct p4x_async_{i}__call *call = &kept[n_calls];"));
    out.line("sd_async_take(w, suspended, P4X_SAVE_FLAGS);");
    out.line(format!(
        "const uint32_t end = p4x_async_{i}__before(w, &suspended->packet, suspended + 1, call);"
    ));
    out.line("sd_async_put(w, suspended, end, P4X_SAVE_FLAGS);");
    out.line("if (SD_UNLIKELY(end != SD_END_DONE))");
    out.line("    continue;");
    out.line("calls[n_calls].packet = &suspended->packet;");
    out.line("calls[n_calls].args = (uint8_t *)&call->args;");
    out.line("calls[n_calls].result = (uint8_t *)&call->given;");
    out.line("of[n_calls++] = suspended;");
    out.close("");
    out.line(format!("sd_async_call(w, {i}, {number}, calls, n_calls);"));
    out.open("for (uint32_t i = 0; i < n_calls; i++)");
    out.line("struct sd_suspended *suspended = of[i];");
    out.line("sd_async_take(w, suspended, P4X_SAVE_FLAGS);");
    out.line("sd_async_put(w, suspended,");
    out.line(format!(
        "             p4x_async_{i}__behind(w, &suspended->packet, suspended + 1, &kept[i], calls[i].end), P4X_SAVE_FLAGS);"
    ));
    out.close("");
    out.close("");
    out.blank();
}

/// The function that serves bursts; returns its name in C.
pub(crate) fn dispatch(batched: &BTreeMap<usize, usize>, out: &mut Code) -> &'static str {
    if batched.is_empty() {
        return "NULL";
    }
    out.own("/* A block of several packets. */");
    out.function(
        "SD_INLINE void p4x_together(struct sd_worker *w, uint32_t point, void *const *burst, uint32_t n)",
    );
    out.open("switch (point)");
    for i in batched.keys() {
        out.line(format!("case {i}:"));
        out.line(format!("    p4x_async_{i}__together(w, burst, n);"));
        out.line("    break;");
    }
    out.line("default:");
    out.line("    __builtin_unreachable();");
    out.close("");
    out.close("");
    out.blank();
    "p4x_together"
}
