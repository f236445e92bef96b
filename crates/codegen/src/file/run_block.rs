//! `p4x_run_block`: one block of one packet, for packets whose other steps the host does.

use crate::file::steps::{StageArgument, block_call, count_lookups};
use crate::function::cx::Cx;
use crate::function::externs::has_cells_on_call;
use crate::text::code::Code;
use arch::BlockRole;

/// One block of one packet.
pub(crate) fn run_block(cx: &Cx<'_>, out: &mut Code) {
    out.own("/* Runs one block of a packet for which the host does the steps between blocks. */");
    out.function(
        "static uint32_t p4x_run_block(uint32_t block, struct sd_worker *w, struct sd_packet *p, void *state)",
    );
    out.line("struct p4x_state *s = state;");
    out.line("switch (block) {");
    let model = cx.program.architecture.pipeline();
    for (i, id) in cx.program.described_blocks().into_iter().enumerate() {
        if let Some(id) = id {
            let role = cx.program.blocks[id].role;
            let name = model.and_then(|model| model.blocks.get(i)).map_or("", |block| &block.name);
            let call = format!("return sd_block_end(w, {});", block_call(cx, id, StageArgument::Whole));
            let mut before = out.nested();
            for (table, decl) in cx.program.tables.iter() {
                if decl.block == id && has_cells_on_call(cx.program, decl) {
                    before.line(format!("sd_direct_none(w, {});", cx.names.table_number(table)));
                }
            }
            if role == BlockRole::Deparser {
                before.line("sd_emit_begin(w);");
            }
            if role == BlockRole::Ingress {
                count_lookups(cx, "+= 1", &mut before);
            }
            if before.is_empty() {
                out.line(format!("case {i}: /* {name} */ {call}"));
                continue;
            }
            out.line(format!("case {i}: /* {name} */"));
            before.line(call);
            out.append(before);
        }
    }
    out.line("default: return sd_block_end(w, SD_END_DONE);");
    out.line("}");
    out.close("");
    out.blank();
}
