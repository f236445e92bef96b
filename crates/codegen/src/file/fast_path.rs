//! The fast path: a packet from its arrival to its verdict, without the host.
//!
//! It does the same as crate `target` does for any block runner. `steps` has the steps between blocks.

use crate::facts::FastPath;
use crate::facts::deparser::plain_emits;
use crate::file::burst;
use crate::file::offload;
use crate::file::process::process;
use crate::file::sections::sections;
use crate::file::steps::{
    StageArgument, after_egress, after_ingress, common_path, count_lookups, declare_state, egress, enter,
    rest, run_block, whole_arguments,
};
use crate::function::cx::Cx;
use crate::function::emit;
use crate::function::metadata::field;
use crate::text::code::Code;
use arch::{BlockRole, FieldRole};

/// From arrival to departure of a packet that is neither copied nor starts again.
pub(crate) fn fast_path(cx: &Cx<'_>, out: &mut Code) -> bool {
    let program = cx.program;
    match &cx.facts.fast_path {
        FastPath::None => return false,
        FastPath::Sections(of_program) => return sections(cx, of_program, out),
        FastPath::Reference => {}
    }
    let model = program.architecture.pipeline().filter(|model| model.drop_port.is_some());
    let (Some(model), Some((spec, _))) = (model, field(cx, FieldRole::EgressSpec)) else {
        return false;
    };
    let in_place = program.block(BlockRole::Deparser).is_some_and(|id| {
        plain_emits(&program.blocks[id].graph)
            .is_some_and(|places| emit::in_place_functions(cx, &places, "", out))
    });
    enter(cx, model, out);
    after_egress(cx, &spec, in_place, out);
    egress(cx, model, out);
    after_ingress(cx, &spec, out);
    if cx.facts.common_case.has_exceptions {
        exceptions(cx, out);
    }
    packet(cx, out);
    offload::resume_functions(cx, out);
    burst::process(cx, out);
    process(cx, out);
    true
}

/// The exception path.
fn exceptions(cx: &Cx<'_>, out: &mut Code) {
    out.own("/* Exception path: from arrival to the verdict, without stages. */");
    out.function("SD_COLD uint32_t p4x_exception(struct sd_worker *w, struct sd_packet *p)");
    declare_state(cx, out);
    out.line("const uint32_t next = p4x_enter(w, p, s, true);");
    out.line("if (next != SD_NEXT_CONTINUE)");
    out.line("    return next;");
    count_lookups(cx, "+= 1", out);
    run_block(cx, BlockRole::Ingress, StageArgument::Whole, out);
    out.line(format!("return p4x_after_ingress(w, p, s{}, end, true);", whole_arguments(cx)));
    out.close("");
    out.blank();
}

/// One packet that does not suspend at tables.
fn packet(cx: &Cx<'_>, out: &mut Code) {
    out.own("/* Common path: from arrival to the verdict, without stages. */");
    let linkage = if cx.facts.is_small { "SD_ALWAYS_INLINE" } else { "SD_INLINE" };
    out.function(format!("{linkage} uint32_t p4x_packet(struct sd_worker *w, struct sd_packet *p)"));
    declare_state(cx, out);
    out.line(format!("const uint32_t next = p4x_enter(w, p, s{});", common_path(cx)));
    let mut otherwise = out.nested();
    count_lookups(cx, "-= 1", &mut otherwise);
    otherwise.line(if cx.facts.common_case.has_exceptions {
        "return next == SD_NEXT_EXCEPTION ? p4x_exception(w, p) : next;"
    } else {
        "return next;"
    });
    out.under("SD_UNLIKELY(next != SD_NEXT_CONTINUE)", otherwise);
    run_block(cx, BlockRole::Ingress, StageArgument::Whole, out);
    rest(cx, BlockRole::Ingress, out);
    out.close("");
    out.blank();
}
