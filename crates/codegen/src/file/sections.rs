//! The steps of an architecture's description on the fast path.
//!
//! Each section that packets reach is a function, whose steps stand in their order. A packet that needs a copy, a group, a further
//! round or a message leaves at that step: the host goes on there ([`SD_VERDICT_AT_STEP`](../../../../rt/sd_abi.h)). What the steps
//! do is what `target::traffic` does for any block runner.
//!
//! A deparser that only emits runs where its bytes are wanted: packets that are dropped do without it, and headers that lie where
//! they were parsed are written in place.

use crate::facts::deparser::plain_emits;
use crate::facts::sections::{FastSections, all_writes, blocks_run, drop_constant, may_hold};
use crate::facts::storage::{Owner, users};
use crate::file::process::process;
use crate::file::steps::{PARAMETERS, StageArgument, block_call, declare_state};
use crate::function::cx::Cx;
use crate::function::emit;
use crate::function::externs::has_cells_on_call;
use crate::function::metadata::{field, field_at, set_field};
use crate::text::code::{Code, comment};
use arch::flow::{Atom, Condition, Contents, Effect, Onward, Request, Section, SectionId, SendPort, Step};
use arch::{
    BlockIndex, BlockRole, ExternOp, FieldRole, IntrinsicValue, IntrinsicWrites, ParamRole, PassKind,
    PipelineModel,
};
use ir::enum_members::{Directions, Paths, Verdicts};
use ir::lookup::index;
use ir::{BlockId, Scope, VarId};
use std::collections::BTreeSet;

/// The output of a section's deparser at a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deparsed {
    /// No deparser has run: nothing is emitted.
    Nothing,
    /// The deparser only emits, and runs when its output is wanted.
    Deferred(BlockId),
    /// The output is in the worker's buffer.
    Done,
}

/// How a condition is known while the code is written.
enum Known {
    Never,
    Always,
    /// The text of an expression.
    When(String),
}

struct Writer<'c, 'p> {
    cx: &'c Cx<'p>,
    model: &'static PipelineModel,
    sections: &'c FastSections,
    blocks: Vec<Option<BlockId>>,
    verdicts: Verdicts,
    paths: Paths,
    directions: Directions,
    /// Deparsers that only emit, for which functions are written.
    deferrable: BTreeSet<BlockIndex>,
    /// Those whose headers can be written in place.
    in_place: BTreeSet<BlockIndex>,
    /// Sections that packets come to as they are, with what deparsers have written before.
    continued: BTreeSet<SectionId>,
    section: SectionId,
    deparsed: Deparsed,
    /// The function has a variable `is_rejected`.
    has_rejected: bool,
    /// Requests of blocks that have run since the last look at them.
    has_requests: bool,
}

/// Writes the functions from arrival to verdict.
pub(crate) fn sections(cx: &Cx<'_>, sections: &FastSections, out: &mut Code) -> bool {
    let Some(model) = cx.program.architecture.pipeline() else { return false };
    let mut writer = Writer {
        cx,
        model,
        sections,
        blocks: cx.program.described_blocks(),
        verdicts: Verdicts::new(cx.program),
        paths: Paths::new(cx.program, model),
        directions: Directions::new(cx.program, model),
        deferrable: BTreeSet::new(),
        in_place: BTreeSet::new(),
        continued: continued(model, sections),
        section: 0,
        deparsed: Deparsed::Nothing,
        has_rejected: false,
        has_requests: false,
    };
    // A section goes on in later ones, which have to stand before it.
    for id in sections.reached.iter().rev() {
        writer.section(*id, out);
    }
    writer.packet(out);
    process(cx, out);
    true
}

impl Writer<'_, '_> {
    /// From arrival to the first section.
    fn packet(&mut self, out: &mut Code) {
        let cx = self.cx;
        out.own("/* From arrival to the verdict. */");
        let linkage = if cx.facts.is_small { "SD_ALWAYS_INLINE" } else { "SD_INLINE" };
        out.function(format!("{linkage} uint32_t p4x_packet(struct sd_worker *w, struct sd_packet *p)"));
        if self.sections.reads_arrival_flags {
            out.line("if (SD_UNLIKELY(p->ingress_port >= w->n_port_flags))");
            out.line("    return sd_punt_at_step(p, SD_AT_STEP(0, 0, 0));");
        }
        declare_state(cx, out);
        out.line("p->cursor_bits = 0;");
        if cx.facts.makes_requests || self.reads_drop_requests() {
            out.line("w->requests.flags = 0;");
        }
        if cx.facts.uses_buffers {
            out.line("w->failed = 0;");
        }
        if cx.calls.borrow().iter().any(|call| call.op == ExternOp::Digest) {
            out.line("w->digests.length = 0;");
        }
        out.line("p->egress_port = 0;");
        if self.continued.contains(&0) {
            out.line("sd_emit_begin(w);");
        }
        let writes = self.writes_of(0).unwrap_or(&self.model.at_arrival);
        self.write(writes, None, 0, out);
        out.line("return p4x_section_0(w, p, s);");
        out.close("");
        out.blank();
    }

    /// Steps by which packets come to a section.
    fn n_ways_to(&self, section: SectionId) -> usize {
        let from = |id: &SectionId| self.model.sections.get(*id).map(|section| (*id, section));
        let steps = self.sections.reached.iter().filter_map(from).flat_map(|(id, section)| {
            section.steps.iter().filter_map(move |step| self.sections.next_section(id, &step.effect))
        });
        steps.filter(|to| *to == section).count()
    }

    fn reads_drop_requests(&self) -> bool {
        let steps = self.model.sections.iter().flat_map(|section| &section.steps);
        steps.flat_map(|step| &step.when.0).any(|term| term.atom == Atom::Requested(Request::Drop))
    }

    fn writes_of(&self, section: SectionId) -> Option<&'static IntrinsicWrites> {
        self.model.sections.get(section).and_then(|section| section.writes.as_ref())
    }

    fn section(&mut self, id: SectionId, out: &mut Code) {
        let Some(section) = self.model.sections.get(id) else { return };
        let is_continued = self.continued.contains(&id);
        self.deparsed = if is_continued { Deparsed::Done } else { Deparsed::Nothing };
        (self.section, self.has_requests) = (id, false);
        self.has_rejected = self.may_reject(section);
        for block in blocks_run(section) {
            self.helpers(block, out);
        }
        out.own(format!("/* Section {}. */", comment(&section.name)));
        // One copy of the code, however many ways lead to it.
        let linkage = if self.n_ways_to(id) > 1 { "static" } else { "SD_ALWAYS_INLINE" };
        out.function(format!("{linkage} uint32_t p4x_section_{id}({PARAMETERS})"));
        if self.has_rejected {
            out.line("bool is_rejected = false;");
        }
        if self.has_ends(section) {
            out.line("uint32_t end;");
        }
        let has_conditional_deparser = section.steps.iter().any(|step| {
            matches!(step.effect, Effect::Run(block) if self.role(block) == BlockRole::Deparser)
                && !step.when.0.is_empty()
        });
        if has_conditional_deparser && !is_continued {
            out.line("sd_emit_begin(w);");
        }
        let mut has_ended = false;
        for (i, step) in section.steps.iter().enumerate() {
            has_ended = self.step(i, step, out);
            if has_ended {
                break;
            }
        }
        if !has_ended {
            out.line("return sd_drop(p, SD_DROP_NO_DESTINATION);");
        }
        out.close("");
        out.blank();
    }

    fn role(&self, block: BlockIndex) -> BlockRole {
        self.model.blocks.get(block).map_or(BlockRole::Ingress, |block| block.role)
    }

    /// A parser of the section may reject packets of a program that has no field for the error.
    fn may_reject(&self, section: &Section) -> bool {
        let has_parser = blocks_run(section).any(|block| {
            self.role(block) == BlockRole::Parser && self.blocks.get(block).is_some_and(Option::is_some)
        });
        has_parser && self.cx.program.field(FieldRole::ParserError).is_none()
    }

    /// Some block of the section tells how it has ended.
    fn has_ends(&self, section: &Section) -> bool {
        blocks_run(section)
            .filter_map(|block| Some((block, (*self.blocks.get(block)?)?)))
            .any(|(block, id)| self.role(block) == BlockRole::Parser || self.cx.facts.block_stops[index(id)])
    }

    /// Functions of a deparser that only emits.
    fn helpers(&mut self, block: BlockIndex, out: &mut Code) {
        let Some(id) = self.deferrable(block) else { return };
        if !self.deferrable.insert(block) {
            return;
        }
        let places = plain_emits(&self.cx.program.blocks[id].graph).unwrap_or_default();
        if emit::in_place_functions(self.cx, &places, &format!("_{block}"), out) {
            self.in_place.insert(block);
        }
        if !self.cx.facts.may_punt {
            return;
        }
        out.own("/* Leaves a packet to the host, which wants the output of the deparser. */");
        out.function(format!("SD_COLD uint32_t p4x_punt_deparsed_{block}({PARAMETERS}, uint32_t at)"));
        self.emit_now(id, out);
        out.line("return sd_punt_at_step(p, at);");
        out.close("");
        out.blank();
    }

    /// The deparser, if it does nothing but emit and runs for all packets that come so far.
    fn deferrable(&self, block: BlockIndex) -> Option<BlockId> {
        let id = (*self.blocks.get(block)?)?;
        let is_plain = self.role(block) == BlockRole::Deparser
            && !self.cx.facts.block_stops[index(id)]
            && plain_emits(&self.cx.program.blocks[id].graph).is_some();
        let is_conditional =
            self.model.sections.iter().flat_map(|section| &section.steps).any(|step| {
                matches!(step.effect, Effect::Run(run) if run == block) && !step.when.0.is_empty()
            });
        (is_plain && !is_conditional).then_some(id)
    }

    fn emit_now(&self, id: BlockId, out: &mut Code) {
        out.line("sd_emit_begin(w);");
        out.line(format!("{};", block_call(self.cx, id, StageArgument::Whole)));
        out.line("if (SD_UNLIKELY(w->failed))");
        out.line("    return sd_drop_too_long(w, p);");
    }

    /// Writes a step; true if no packet comes behind it.
    fn step(&mut self, i: usize, step: &Step, out: &mut Code) -> bool {
        if let Effect::Run(block) = step.effect {
            self.run(block, &step.when, out);
            return false;
        }
        if std::mem::take(&mut self.has_requests) && self.cx.facts.makes_requests {
            let mut leave = out.nested();
            self.punt(i, &mut leave);
            out.under(
                "SD_UNLIKELY(w->requests.flags & ~(uint32_t)(SD_REQUEST_DROP | SD_REQUEST_PASS))",
                leave,
            );
        }
        if !may_hold(self.cx.program, &step.when) {
            return false;
        }
        let mut body = out.nested();
        match &step.effect {
            Effect::Run(_) | Effect::SendDigests => return false,
            Effect::Copy { .. } | Effect::Multicast { .. } | Effect::Again { .. } => self.punt(i, &mut body),
            Effect::Queue { port, priority, onward } => {
                self.queue(i, step, (*port, *priority), onward, &mut body)
            }
            Effect::Next(onward) => self.next(i, step, onward, &mut body),
            Effect::Send { port, contents } => self.send(*port, *contents, &mut body),
            Effect::Drop(reason) => match drop_constant(reason) {
                Some(constant) => body.line(format!("return sd_drop(p, {constant});")),
                None => self.punt(i, &mut body),
            },
        }
        match self.condition(&step.when) {
            Known::Never => false,
            Known::Always => {
                out.append(body.shallower());
                step.effect.ends()
            }
            Known::When(text) => {
                let is_rare = matches!(
                    step.effect,
                    Effect::Copy { .. } | Effect::Multicast { .. } | Effect::Again { .. }
                );
                out.under(&if is_rare { format!("SD_UNLIKELY({text})") } else { text }, body);
                false
            }
        }
    }

    fn run(&mut self, block: BlockIndex, when: &Condition, out: &mut Code) {
        if !may_hold(self.cx.program, when) {
            return;
        }
        if let Deparsed::Deferred(id) = self.deparsed {
            self.emit_now(id, out);
            self.deparsed = Deparsed::Done;
        }
        let role = self.role(block);
        let Some(id) = self.blocks.get(block).copied().flatten() else {
            if role == BlockRole::Deparser {
                self.emit_nothing(when, out);
            }
            return;
        };
        self.has_requests = true;
        if self.deferrable(block).is_some() {
            self.deparsed = Deparsed::Deferred(id);
            return;
        }
        let cx = self.cx;
        let mut body = out.nested();
        for (table, decl) in cx.program.tables.iter() {
            if decl.block == id && has_cells_on_call(cx.program, decl) {
                body.line(format!("sd_direct_none(w, {});", cx.names.table_number(table)));
            }
        }
        if role == BlockRole::Deparser {
            body.line("sd_emit_begin(w);");
            self.deparsed = Deparsed::Done;
        }
        let stops = cx.facts.block_stops[index(id)];
        let tells = role == BlockRole::Parser || stops;
        let call = block_call(cx, id, StageArgument::Whole);
        body.line(format!("{}{call};", if tells { "end = " } else { "" }));
        if cx.facts.uses_buffers || role == BlockRole::Deparser {
            body.line("if (SD_UNLIKELY(w->failed))");
            body.line("    return sd_drop_too_long(w, p);");
        }
        if role == BlockRole::Parser {
            self.parsed(stops, &mut body);
        } else if stops {
            body.line("if (SD_UNLIKELY(end))");
            body.line("    return sd_drop_stopped(p, end);");
        }
        match self.condition(when) {
            Known::Never => {}
            Known::Always => out.append(body.shallower()),
            Known::When(text) => out.under(&text, body),
        }
    }

    /// A program without the deparser emits nothing, where the deparser would run.
    fn emit_nothing(&mut self, when: &Condition, out: &mut Code) {
        match self.condition(when) {
            Known::Never => {}
            Known::Always => self.deparsed = Deparsed::Nothing,
            Known::When(text) => {
                let mut body = out.nested();
                body.line("sd_emit_begin(w);");
                out.under(&text, body);
                self.deparsed = Deparsed::Done;
            }
        }
    }

    /// A parser has ended with `end`.
    fn parsed(&self, stops: bool, out: &mut Code) {
        let mut body = out.nested();
        if stops {
            body.line("if (end < SD_END_REJECTED)");
            body.line("    return sd_drop_stopped(p, end);");
        }
        if self.has_rejected {
            body.line("is_rejected = true;");
        } else {
            set_field(self.cx, FieldRole::ParserError, "end - SD_END_REJECTED", &mut body);
        }
        if body.is_empty() {
            // The error has a field of no width.
            return;
        }
        out.under("SD_UNLIKELY(end)", body);
    }

    /// The C text of a step of the section.
    fn at_step(&self, step: usize) -> String {
        let rejected = if self.has_rejected { "is_rejected" } else { "0" };
        format!("SD_AT_STEP({}, {step}, {rejected})", self.section)
    }

    /// Leaves the packet to the host at a step.
    fn punt(&self, step: usize, out: &mut Code) {
        let at = self.at_step(step);
        match self.deparsed {
            Deparsed::Deferred(id) => {
                let block = self.blocks.iter().position(|block| *block == Some(id)).unwrap_or_default();
                out.line(format!("return p4x_punt_deparsed_{block}(w, p, s, {at});"));
            }
            Deparsed::Nothing => {
                out.line("sd_emit_begin(w);");
                out.line(format!("return sd_punt_at_step(p, {at});"));
            }
            Deparsed::Done => out.line(format!("return sd_punt_at_step(p, {at});")),
        }
    }

    /// A field as an unsigned number of 32 bits; 0 when the program has no such field.
    fn number(&self, role: FieldRole) -> String {
        field(self.cx, role).map_or("0".to_string(), |(lvalue, _)| format!("(uint32_t){lvalue}"))
    }

    fn queue(
        &mut self,
        i: usize,
        step: &Step,
        (port, priority): (FieldRole, FieldRole),
        onward: &Onward,
        out: &mut Code,
    ) {
        let Some(to) = self.sections.next_section(self.section, &step.effect) else {
            return self.punt(i, out);
        };
        let mut host: Vec<String> =
            field(self.cx, priority).map(|(lvalue, _)| format!("{lvalue} != 0")).into_iter().collect();
        let port = self.number(port);
        if self.model.queue.checks_port {
            let specials = self.model.special_ports.iter();
            let known = specials.map(|special| format!(" && {port} != {}u", special.number));
            host.push(format!("(!sd_has_port(w, {port}){})", known.collect::<String>()));
        }
        if !host.is_empty() {
            let mut leave = out.nested();
            self.punt(i, &mut leave);
            out.under(&format!("SD_UNLIKELY({})", host.join(" || ")), leave);
        }
        out.line(format!("p->egress_port = {port};"));
        self.begin_anew(i, onward, out);
        if self.cx.facts.has_direct_meters {
            out.line("sd_direct_colours_reset(w);");
        }
        if self.reads_drop_requests() {
            out.line("w->requests.flags = 0;");
        }
        self.write(&self.model.at_enqueue, None, to, out);
        self.write(self.writes_of(to).unwrap_or(&self.model.at_dequeue), None, to, out);
        out.line(format!("return p4x_section_{to}(w, p, s);"));
    }

    fn next(&mut self, i: usize, step: &Step, onward: &Onward, out: &mut Code) {
        let Some(to) = self.sections.next_section(self.section, &step.effect) else {
            return self.punt(i, out);
        };
        if self.has_rejected {
            let mut leave = out.nested();
            self.punt(i, &mut leave);
            out.under("SD_UNLIKELY(is_rejected)", leave);
        }
        self.begin_anew(i, onward, out);
        if onward.contents != Contents::Headers {
            let writes = self.writes_of(to).unwrap_or(&self.model.at_arrival);
            self.write(writes, onward.carry, to, out);
        }
        out.line(format!("return p4x_section_{to}(w, p, s);"));
    }

    fn send(&mut self, port: SendPort, contents: Contents, out: &mut Code) {
        match port {
            SendPort::Arrival => out.line("p->egress_port = p->ingress_port;"),
            SendPort::Queue => {}
            SendPort::Field(role) => out.line(format!("p->egress_port = {};", self.number(role))),
        }
        out.line("p->verdict = SD_VERDICT_SEND;");
        match contents {
            Contents::AsReceived => {}
            Contents::ParsedAgain | Contents::Headers | Contents::Deparsed => {
                let failed = ["p->verdict = SD_VERDICT_NO_HEADROOM;", "return SD_NEXT_PUNT;"];
                self.rebuild(&failed.map(str::to_string), out);
            }
        }
        out.line("return SD_NEXT_DONE;");
    }

    /// Puts the output of the deparser in front of the payload; `failed` is done where there is no room for it.
    fn rebuild(&self, failed: &[String], out: &mut Code) {
        if let Deparsed::Deferred(id) = self.deparsed {
            let block = self.blocks.iter().position(|block| *block == Some(id)).unwrap_or_default();
            if self.in_place.contains(&block) {
                out.open(format!("if (SD_LIKELY(p4x_headers_stay_{block}(p, s)))"));
                out.line(format!("p4x_store_headers_{block}(p, s);"));
                out.close(" else {");
                out.indent();
                self.emit_now(id, out);
                put_back(failed, out);
                out.close("");
                return;
            }
            self.emit_now(id, out);
        }
        if self.deparsed == Deparsed::Nothing {
            out.line("sd_emit_begin(w);");
        }
        put_back(failed, out);
    }

    /// The packet begins a section: its bytes are those that go along, and what blocks have left behind is zero.
    fn begin_anew(&mut self, i: usize, onward: &Onward, out: &mut Code) {
        match onward.contents {
            Contents::Headers => return self.keep_output(out),
            Contents::AsReceived | Contents::ParsedAgain => {}
            Contents::Deparsed => {
                // The host gets the output that does not fit.
                let failed = format!("return sd_punt_at_step(p, {});", self.at_step(i));
                self.rebuild(&[failed], out);
            }
        }
        out.line("p->cursor_bits = 0;");
        if self.continued.contains(&onward.to) {
            out.line("sd_emit_begin(w);");
        }
        for var in self.stale(onward) {
            let name = self.cx.facts.storage.path(var);
            out.line(format!("memset(&{name}, 0, sizeof {name});"));
        }
    }

    /// The output of the deparser goes along.
    fn keep_output(&self, out: &mut Code) {
        match self.deparsed {
            Deparsed::Nothing => out.line("sd_emit_begin(w);"),
            Deparsed::Deferred(id) => self.emit_now(id, out),
            Deparsed::Done => {}
        }
    }

    /// Variables that a block may have changed, and that the packet's next section uses.
    fn stale(&self, onward: &Onward) -> Vec<VarId> {
        let (cx, model) = (self.cx, self.model);
        let users = users(cx.program);
        let used_by = |var: VarId, section: &Section| {
            users[index(var)].iter().any(|owner| {
                let block = match owner {
                    Owner::Block(block) => *block,
                    Owner::Procedure(procedure) => cx.program.procedures[*procedure].block,
                };
                blocks_run(section).any(|run| self.blocks.get(run).copied().flatten() == Some(block))
            })
        };
        let section_of = |id: SectionId| model.sections.get(id);
        let passes_headers =
            model.sections.iter().flat_map(|section| &section.steps).any(|step| match &step.effect {
                Effect::Copy { contents, .. } | Effect::Again { contents, .. } => {
                    matches!(contents, Contents::Headers | Contents::ParsedAgain)
                }
                Effect::Queue { onward, .. } | Effect::Multicast { onward, .. } | Effect::Next(onward) => {
                    onward.contents == Contents::Headers
                }
                Effect::Run(_) | Effect::SendDigests | Effect::Send { .. } | Effect::Drop(_) => false,
            });
        let fields = |section: &Section| -> Vec<VarId> {
            let written = all_writes(model, section).map(|(role, _)| *role);
            let read = section.steps.iter().flat_map(Step::fields_read);
            let roles = written.chain(read);
            let fields = roles.flat_map(|role| cx.program.fields_of(role)).map(|place| place.var);
            let terms = || section.steps.iter().flat_map(|step| &step.when.0);
            let reads_accept = terms().any(|term| term.atom == Atom::Accepted);
            let accept = cx.program.shared_variable(ParamRole::Accept).filter(|_| reads_accept);
            fields.chain(accept).collect()
        };
        let carried = |section: &Section| -> Vec<VarId> {
            let carried = section.steps.iter().filter_map(|step| step.effect.carried());
            carried.filter_map(|role| cx.program.shared_variable(role)).collect()
        };
        let goes_along = onward.carry.and_then(|role| cx.program.shared_variable(role));
        // Each parser writes the error to all fields for it.
        let errors: Vec<VarId> =
            cx.program.fields_of(FieldRole::ParserError).map(|place| place.var).collect();
        let before = |var: VarId| {
            let mut earlier =
                self.sections.reached.iter().filter(|id| **id != onward.to).filter_map(|id| section_of(*id));
            earlier.any(|section| used_by(var, section) || fields(section).contains(&var))
                || errors.contains(&var)
        };
        // Copies and further rounds take along what the program has listed.
        let listed = |var: VarId| {
            let carried: Vec<u32> = model.carried().into_iter().map(ir::carried_list).collect();
            let mut own = cx.program.field_lists.iter().filter(|list| !carried.contains(&list.index));
            own.any(|list| list.places.iter().any(|place| place.var == var))
        };
        let behind = |var: VarId| {
            passes_headers
                || listed(var)
                || section_of(onward.to).is_some_and(|section| {
                    used_by(var, section) || fields(section).contains(&var) || carried(section).contains(&var)
                })
        };
        let is_shared = |var: VarId| matches!(cx.program.variables[var].scope, Scope::Pipeline(_));
        let all = cx.program.variables.iter().map(|(var, _)| var);
        all.filter(|var| is_shared(*var) && Some(*var) != goes_along && before(*var) && behind(*var))
            .collect()
    }

    /// Writes what the architecture says of the packet, but for fields of the variable that goes along.
    fn write(&self, writes: &IntrinsicWrites, carried: Option<ParamRole>, to: SectionId, out: &mut Code) {
        let carried = carried.and_then(|role| self.cx.program.shared_variable(role));
        for (role, value) in writes {
            let is_wanted = self.cx.facts.may_punt
                || self.cx.facts.is_read(*role)
                || self.model.fields_read().contains(role);
            let is_carried = self.cx.program.fields_of(*role).any(|place| Some(place.var) == carried);
            if is_wanted && !is_carried {
                set_field(self.cx, *role, &self.value(*value, to), out);
            }
        }
    }

    /// The C text of a value of the architecture.
    fn value(&self, value: IntrinsicValue, to: SectionId) -> String {
        let by_flag = |flag: &str, yes: u64, no: u64| match yes == no {
            true => yes.to_string(),
            false => format!("w->port_flags[p->ingress_port] & {flag} ? {yes} : {no}"),
        };
        match value {
            IntrinsicValue::IngressPort => "p->ingress_port".to_string(),
            IntrinsicValue::PacketBytes => "p->length_bytes".to_string(),
            IntrinsicValue::ArrivalTime | IntrinsicValue::Now => "w->now_ns / 1000".to_string(),
            IntrinsicValue::NowNs => "w->now_ns".to_string(),
            IntrinsicValue::EgressPort => "p->egress_port".to_string(),
            // A packet that is no copy, whose queue was empty, in its first round.
            IntrinsicValue::PassKind
            | IntrinsicValue::ReplicaInstance
            | IntrinsicValue::QueueDepth
            | IntrinsicValue::QueueingTime
            | IntrinsicValue::Priority
            | IntrinsicValue::Round
            | IntrinsicValue::IsFurtherRound => "0".to_string(),
            IntrinsicValue::Number(number) => number.to_string(),
            IntrinsicValue::NoPort => self.model.no_port().to_string(),
            IntrinsicValue::PassVerdict => {
                self.verdicts.value_of(arch::flow::Verdict::Pass).unwrap_or(0).to_string()
            }
            IntrinsicValue::Path => {
                let normal = self.paths.member(to, PassKind::Normal);
                if self.model.sections_behind_queue().contains(&to) {
                    return normal.to_string();
                }
                let from_controller = self.paths.member(to, PassKind::FromController);
                by_flag("SD_PORT_OF_CONTROLLER", from_controller, normal)
            }
            IntrinsicValue::Direction => {
                by_flag("SD_PORT_AT_HOST", self.directions.of_port(true), self.directions.of_port(false))
            }
        }
    }

    fn condition(&self, condition: &Condition) -> Known {
        let mut texts = Vec::new();
        for term in &condition.0 {
            match (self.atom(term.atom), term.is_negated) {
                (Known::Never, false) | (Known::Always, true) => return Known::Never,
                (Known::Always, false) | (Known::Never, true) => {}
                (Known::When(text), false) => texts.push(text),
                (Known::When(text), true) => texts.push(format!("!({text})")),
            }
        }
        if texts.is_empty() { Known::Always } else { Known::When(texts.join(" && ")) }
    }

    fn atom(&self, atom: Atom) -> Known {
        let compared = |role: FieldRole, number: Option<u32>| match (field(self.cx, role), number) {
            (Some((lvalue, _)), Some(number)) => Known::When(format!("{lvalue} == {number}u")),
            _ => Known::Never,
        };
        match atom {
            // Packets of such programs have left before.
            Atom::Requested(Request::Clone | Request::Resubmit | Request::Recirculate) => Known::Never,
            Atom::Requested(Request::Drop) => Known::When("w->requests.flags & SD_REQUEST_DROP".to_string()),
            Atom::Rejected if self.has_rejected => Known::When("is_rejected".to_string()),
            Atom::Rejected => Known::Never,
            Atom::FromHost => Known::When("w->port_flags[p->ingress_port] & SD_PORT_AT_HOST".to_string()),
            Atom::Accepted => {
                let accept = self.cx.program.shared_variable(ParamRole::Accept);
                accept.map_or(Known::Always, |var| Known::When(self.cx.facts.storage.path(var)))
            }
            Atom::Verdict(verdict) => {
                let Some((lvalue, _)) = field(self.cx, FieldRole::OutputAction) else { return Known::Never };
                let values: Vec<String> =
                    self.verdicts.values_of(verdict).map(|value| format!("{lvalue} == {value}")).collect();
                match values.as_slice() {
                    [] => Known::Never,
                    [one] => Known::When(one.clone()),
                    all => Known::When(format!("({})", all.join(" || "))),
                }
            }
            Atom::Field(role) => match self.cx.program.field(role).and_then(|place| field_at(self.cx, place))
            {
                Some((lvalue, _)) => Known::When(lvalue),
                None => Known::Never,
            },
            Atom::IsPort(role, number) => compared(role, Some(number)),
            Atom::IsDropPort(role) => compared(role, self.model.drop_port),
        }
    }
}

/// Puts the output of the deparser in front of the payload, or does `failed` where there is no room for it.
fn put_back(failed: &[String], out: &mut Code) {
    let mut body = out.nested();
    failed.iter().for_each(|line| body.line(line));
    out.under("SD_UNLIKELY(!sd_packet_rebuild(p, w))", body);
}

/// Sections that packets come to as they are.
fn continued(model: &PipelineModel, sections: &FastSections) -> BTreeSet<SectionId> {
    let from = sections.reached.iter().filter_map(|id| model.sections.get(*id));
    let steps = from.flat_map(|section| &section.steps).filter_map(|step| match &step.effect {
        Effect::Queue { onward, .. } | Effect::Next(onward) => Some(onward),
        _ => None,
    });
    steps.filter(|onward| onward.contents == Contents::Headers).map(|onward| onward.to).collect()
}
