//! `p4x_run_block`: one block of one packet, for packets whose other steps the host does.

use crate::file::steps::{StageArgument, block_call, count_lookups};
use crate::function::cx::Cx;
use crate::text::code::Code;
use arch::BlockRole;

const ROLES: [(BlockRole, &str); 6] = [
    (BlockRole::Parser, "SD_BLOCK_PARSER"),
    (BlockRole::VerifyChecksum, "SD_BLOCK_VERIFY_CHECKSUM"),
    (BlockRole::Ingress, "SD_BLOCK_INGRESS"),
    (BlockRole::Egress, "SD_BLOCK_EGRESS"),
    (BlockRole::ComputeChecksum, "SD_BLOCK_COMPUTE_CHECKSUM"),
    (BlockRole::Deparser, "SD_BLOCK_DEPARSER"),
];

/// One block of one packet.
pub(crate) fn run_block(cx: &Cx<'_>, out: &mut Code) {
    out.own("/* Runs one block of a packet for which the host does the steps between blocks. */");
    out.function(
        "static uint32_t p4x_run_block(uint32_t role, struct sd_worker *w, struct sd_packet *p, void *state)",
    );
    out.line("struct p4x_state *s = state;");
    out.line("switch (role) {");
    for (role, name) in ROLES {
        if let Some(id) = cx.program.block(role) {
            let call = format!("return sd_block_end(w, {});", block_call(cx, id, StageArgument::Whole));
            let mut before = out.nested();
            if role == BlockRole::Deparser {
                before.line("sd_emit_begin(w);");
            }
            if role == BlockRole::Ingress {
                count_lookups(cx, "+= 1", &mut before);
            }
            if before.is_empty() {
                out.line(format!("case {name}: {call}"));
                continue;
            }
            out.line(format!("case {name}:"));
            before.line(call);
            out.append(before);
        }
    }
    out.line("default: return sd_block_end(w, SD_END_DONE);");
    out.line("}");
    out.close("");
    out.blank();
}
