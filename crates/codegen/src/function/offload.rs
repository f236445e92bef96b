//! Beginning, end and batched call of an asynchronous block.

use crate::function::func::{Func, FunctionKind};
use crate::function::saved_state::store;
use crate::suspend::offload::number;
use crate::text::code::comment;
use ir::{Arg, NodeId, Stmt, StmtKind};

impl Func<'_, '_> {
    /// The beginning of an asynchronous block: the packet may go to an offload worker.
    pub(crate) fn async_begin(&mut self, args: &[Arg]) {
        let cx = self.cx;
        let (Some(plan), Some(i)) = (cx.offload, number(args)) else { return };
        if self.kind.offload_block().is_some() {
            return;
        }
        let Some(block) = plan.blocks.get(i) else { return };
        let context = format!("struct p4x_async_{i}");
        self.code.line(format!("/* asynchronous block {} */", comment(&block.name)));
        self.code.open("");
        let how = self.temp();
        self.code.line(format!(
            "const uint32_t {how} = sd_async_where(w, p, {i}, sizeof({context}), P4X_SAVE_FLAGS);"
        ));
        self.code.open(format!("if ({how} != SD_OFFLOAD_INLINE)"));
        self.code.line(format!("if (SD_UNLIKELY({how} == SD_OFFLOAD_DROP))"));
        self.code.line("    return SD_END_ASYNC_FULL;");
        self.code.line(format!("{context} *c = sd_async_suspend(w, p, {i}, P4X_SAVE_FLAGS);"));
        store(cx, &block.request, "c->there", true, &mut self.code);
        self.code.line("return sd_async_suspended(w, p, sizeof *c, P4X_SAVE_FLAGS);");
        self.code.close("");
        self.code.close("");
    }

    /// The end of an asynchronous block: the offload worker returns the packet.
    pub(crate) fn async_end(&mut self, args: &[Arg]) {
        let cx = self.cx;
        let (Some(plan), Some(i)) = (cx.offload, number(args)) else { return };
        let Some(block) = plan.blocks.get(i) else { return };
        match self.kind.offload_block() {
            Some(at) if at == i => {
                store(cx, &block.completion, "c->back", true, &mut self.code);
                self.code.line("return SD_END_DONE;");
            }
            Some(_) => {}
            None => self.code.line(format!("sd_async_sampled(w, {i});")),
        }
    }
}

impl<'p> Func<'_, 'p> {
    /// The function ends at this node, whose call is batched.
    pub(crate) fn is_batched_at(&self, node: NodeId) -> bool {
        let block = self.kind.offload_block().and_then(|i| self.cx.offload?.blocks.get(i));
        matches!(self.kind, FunctionKind::UpToBatchedCall { .. })
            && block.and_then(|b| b.batched.as_ref().ok()).is_some_and(|b| b.node == node)
    }

    /// Saves the arguments of the batched call instead of making it.
    pub(crate) fn begin_batched(&mut self, stmt: &'p Stmt) {
        let StmtKind::Extern { name, object, args, result, .. } = &stmt.kind else { return };
        let cx = self.cx;
        let block = self.kind.offload_block().and_then(|i| cx.offload?.blocks.get(i));
        let Some(Ok(batched)) = block.map(|block| &block.batched) else { return };
        self.code.at(stmt.span);
        let begun = self.begin_call(name, *object, args, result.as_ref());
        self.code.line(format!("call->args = {};", begun.values));
        self.code.line(format!("call->given = {};", begun.given));
        store(cx, &batched.saved, "call->kept", true, &mut self.code);
        self.code.line("return SD_END_DONE;");
        let given = begun.result.as_ref().map_or("uint8_t".to_owned(), |ty| cx.types.c_type(ty));
        if let FunctionKind::UpToBatchedCall { call, .. } = &mut self.kind {
            *call = Some((begun.call, given));
        }
    }

    /// Takes over the results of the call; a call that failed ends the block.
    pub(crate) fn finish_batched(&mut self, stmt: &'p Stmt) {
        let StmtKind::Extern { args, result, .. } = &stmt.kind else { return };
        self.code.at(stmt.span);
        let begun = result.as_ref().map(|place| self.field_types(place));
        let ty = begun.as_ref().and_then(|types| types.first());
        self.finish_call(args, result.as_ref(), ty, ["call->args", "call->given", "end"]);
    }
}
