//! `p4x_run_block`: one block of one packet, for packets whose other steps the host does.

use crate::file::steps::count_lookups;
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
    out.own("/* One block of one packet, where the host does what lies between blocks. */");
    out.function(
        "static uint32_t p4x_run_block(uint32_t role, struct sd_worker *w, struct sd_packet *p, void *state)",
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
