//! Descriptors for code that reports every step: `sd_trace` of `rt/worker/sd_trace.h`.

use crate::facts::storage::StorageClass;
use crate::function::cx::Cx;
use crate::text::arrays::{array, value_type};
use crate::text::code::Code;
use ir::layout::leaves;
use ir::lookup::index;

/// The offsets of variables.
pub(crate) fn write(cx: &Cx<'_>, out: &mut Code) {
    let program = cx.program;
    let mut slots = Vec::new();
    for (id, variable) in program.variables.iter() {
        let (block, of) = match cx.facts.storage.class(id) {
            StorageClass::State => ("SD_TRACE_IN_STATE".to_string(), "struct p4x_state".to_string()),
            StorageClass::Locals(block) => {
                (index(*block).to_string(), format!("struct {}__locals", cx.block_name(*block)))
            }
            StorageClass::Function(_) | StorageClass::Param(_) => continue,
        };
        let name = cx.facts.storage.name(id);
        for leaf in leaves(program, &variable.ty) {
            let member = format!("{name}{}", cx.leaf_path(&variable.ty, &leaf));
            slots
                .push(format!("{{{block}, {}}}", value_type(&format!("offsetof({of}, {member})"), &leaf.ty)));
        }
    }
    let locals = program.blocks.iter().map(|(id, _)| match cx.facts.storage.has_locals(id) {
        true => format!("sizeof(struct {}__locals)", cx.block_name(id)),
        false => "0".to_string(),
    });
    let locals = locals.collect::<Vec<_>>();
    out.own("/* Where the variables lie, for who follows every step. */");
    let slots = array("struct sd_trace_slot", "p4x_trace_slots", &slots, out);
    let locals = array("uint32_t", "p4x_trace_locals", &locals, out);
    let n_points = cx.facts.trace_points.n_points;
    out.own("__attribute__((visibility(\"default\"))) extern const struct sd_trace_type sd_trace;");
    out.line("const struct sd_trace_type sd_trace = {");
    out.line(format!("    {n_points}, {}, {slots}, {}, 0, {locals},", slots.n, locals.n));
    out.line("};");
    out.blank();
}
