//! `p4x_process`: the packets of a burst, one after the other, each by `p4x_packet`.

use crate::file::steps::count_lookups;
use crate::function::cx::Cx;
use crate::text::code::Code;
use ir::lookup::index;

/// All packets of a burst.
pub(crate) fn process(cx: &Cx<'_>, out: &mut Code) {
    out.function("static uint32_t p4x_process(struct sd_worker *w, struct sd_packet *packets, uint32_t n)");
    if let Some(plan) = cx.plan {
        if cx.has_small_stages {
            out.line(format!("if (sd_burst_waits(w, {}))", plan.n_points()));
        } else {
            let tables = plan.points.iter().map(|point| point.table);
            let all: Vec<String> = tables
                .chain(plan.prefetched.iter().map(|e| e.table))
                .map(|id| index(id).to_string())
                .collect();
            out.line(format!("static const uint16_t tables[] = {{{}}};", all.join(", ")));
            out.line("if (sd_burst_waits_for(w, tables, sizeof tables / sizeof tables[0]))");
        }
        out.line("    return p4x_process_bursts(w, packets, n);");
    }
    if cx.facts.uses_steps {
        out.line("const uint32_t steps = w->steps_left;");
    }
    if cx.offload.is_some() {
        out.line("sd_async_enter(w);");
    }
    count_lookups(cx, "+= n", out);
    let counts_lookups = cx.plan.is_some_and(|plan| !plan.first_tables.is_empty());
    if !(cx.facts.uses_steps || cx.facts.has_direct_meters || cx.offload.is_some() || counts_lookups) {
        out.line("return sd_process_packets(w, packets, n, p4x_packet);");
        out.close("");
        out.blank();
        return;
    }
    out.line("struct sd_packet *const last = packets + n;");
    out.line(
        "const struct sd_packet *ahead = n > SD_PREFETCH_PACKETS ? packets + SD_PREFETCH_PACKETS : packets;",
    );
    out.open("for (struct sd_packet *p = packets; p < last; p++)");
    out.line("__builtin_prefetch(ahead->data);");
    out.line("ahead = ahead + 1 < last ? ahead + 1 : ahead;");
    if cx.facts.uses_steps {
        out.line("w->steps_left = steps;");
    }
    if cx.facts.has_direct_meters {
        out.line("sd_direct_colours_reset(w);");
    }
    if cx.offload.is_some() {
        out.line("uint32_t next = p4x_packet(w, p);");
        out.line("if (SD_UNLIKELY(next == SD_NEXT_SUSPENDED))");
        out.line("    next = p4x_wait(w, p);");
        out.open("if (SD_UNLIKELY(next == SD_NEXT_PUNT))");
        out.line("n = (uint32_t)(p - packets) + 1;");
        out.line("break;");
        out.close("");
    } else {
        let mut leaves = out.nested();
        count_lookups(cx, "-= (uint64_t)(last - p - 1)", &mut leaves);
        leaves.line("return (uint32_t)(p - packets) + 1;");
        out.under("SD_UNLIKELY(p4x_packet(w, p) == SD_NEXT_PUNT)", leaves);
    }
    out.close("");
    if cx.offload.is_some() {
        out.line("sd_async_leave(w, n);");
    }
    out.line("return n;");
    out.close("");
    out.blank();
}
