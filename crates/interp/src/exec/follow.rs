//! Follows another backend of the same program, and tells what it does as the interpreter would.
//!
//! The other backend says which places of the program it passes, in which order, what its branches, tables and
//! parser operations chose, and what its variables hold; all of that is told as it says. Only what is in no
//! variable (the keys of a `select`, the arguments of externs) is computed here, from its variables.

use super::watch::Watch;
use super::{BlockEnd, Frame};
use crate::externs::Externs;
use crate::load::{
    Config, Executable, ExternArg, ExternCall, ExtractCode, Instr, LoadError, Slot, SlotRange,
};
use diagnostics::Span;
use ir::{Bits, BlockId, MatchKind, ProcedureId, Program};
use std::ops::Range;
use std::sync::Arc;
use trace::{
    Did, Event, Follow, LookedUp, LookupOutcome, Observer, ParserOp, Seen, StatementEnd, Values, Variables,
};

/// Makes [events](Event) of what another backend does.
pub struct Follower {
    exe: Arc<Executable>,
    /// The variables with the values that the other backend wrote last, and values computed from them.
    frame: Frame,
    calls: Vec<ProcedureId>,
    /// The instruction after the last lookup: its answers are assigned when its terminator chooses.
    after_lookup: Option<usize>,
    /// The span of the last application of a table.
    apply_span: Span,
    /// The span of the last instruction.
    last: Span,
    /// Its cells are not used: notes are made of the sizes of arrays and of hashes.
    externs: Externs,
}

/// One step of the other backend, taken apart.
struct Now<'a, 'o> {
    exe: &'a Executable,
    seen: Seen<'a>,
    observer: &'a mut (dyn Observer + 'o),
}

impl Now<'_, '_> {
    fn tell(&mut self, span: Span, event: Event<'_>) {
        self.observer.event(self.exe, span, event);
    }
}

impl Follower {
    /// Loads the program that the other runs, too; `config` is that of the other.
    pub fn of_program(program: Arc<Program>, config: Config) -> Result<Follower, LoadError> {
        Ok(Follower::new(Arc::new(Executable::new(program, config)?)))
    }

    pub fn new(exe: Arc<Executable>) -> Follower {
        Follower {
            frame: Frame { slots: exe.initial().to_vec() },
            calls: Vec::new(),
            after_lookup: None,
            apply_span: Span::NONE,
            last: Span::NONE,
            externs: Externs::new(&exe, 0),
            exe,
        }
    }
}

impl Follow for Follower {
    fn variables(&self) -> &Arc<Variables> {
        &self.exe.variables
    }

    fn n_points(&self) -> usize {
        self.exe.n_points()
    }

    fn begin_block(&mut self, block: BlockId, values: &dyn Values, observer: &mut (dyn Observer + '_)) {
        let exe = &*self.exe;
        observer.event(exe, exe.program.blocks[block].span, Event::BlockEntered { block });
        self.calls.clear();
        self.after_lookup = None;
        self.frame.clear(exe, exe.slots_of_block(block));
        for range in exe.shared_slots() {
            for slot in range.first..range.first + range.len {
                self.frame.set(slot, values.value(slot));
            }
        }
    }

    fn end_block(&mut self, block: BlockId, end: &BlockEnd, observer: &mut (dyn Observer + '_)) {
        if let BlockEnd::Stopped(reason) = end {
            observer.event(&self.exe, self.last, Event::Stopped { reason });
        }
        observer.event(&self.exe, Span::NONE, Event::BlockLeft { block });
    }

    fn step(&mut self, point: u32, did: &Did, seen: Seen<'_>, observer: &mut (dyn Observer + '_)) {
        let exe = Arc::clone(&self.exe);
        let mut now = Now { exe: &exe, seen, observer };
        let instrs = self.instrs(point);
        match did {
            Did::Begin => instrs.for_each(|pc| self.compute(pc, &mut now)),
            Did::Statement(end) => self.statement(instrs, *end, &mut now),
            Did::Choose(value) => {
                let begin = self.after_lookup.take().filter(|pc| instrs.contains(pc));
                (begin.unwrap_or(instrs.start)..instrs.end).for_each(|pc| self.choose(pc, *value, &mut now));
            }
            Did::Call(procedure) => {
                let own = instrs.last().and_then(|pc| exe.spans.get(pc)).copied();
                self.call(*procedure, own.unwrap_or(self.apply_span), &mut now);
            }
        }
    }

    fn lookup(
        &mut self,
        point: u32,
        found: &LookedUp<'_>,
        seen: Seen<'_>,
        observer: &mut (dyn Observer + '_),
    ) {
        let exe = Arc::clone(&self.exe);
        let mut now = Now { exe: &exe, seen, observer };
        for pc in self.instrs(point) {
            let Some(Instr::Lookup(i)) = exe.code.get(pc) else {
                self.compute(pc, &mut now);
                continue;
            };
            let code = &exe.lookups[*i as usize];
            let mut matched = found.keys.iter();
            for (slot, key) in (code.keys.first..).zip(&exe.program.tables[code.table].keys) {
                if key.match_kind != MatchKind::Selector
                    && let Some(value) = matched.next()
                {
                    self.frame.set(slot, value.clone());
                }
            }
            let (action, member) = (found.action, found.member);
            let outcome = match &found.hit {
                Some(entry) => LookupOutcome::Hit { entry: entry.clone(), action, member },
                None => {
                    let (n_entries, has_expired) = (found.n_entries, found.has_expired);
                    LookupOutcome::Miss { action, n_entries, has_expired }
                }
            };
            let keys = self.frame.range(code.keys);
            let span = exe.spans[pc];
            now.tell(span, Event::Lookup { table: code.table, keys, outcome });
            (self.apply_span, self.last) = (span, span);
            self.after_lookup = Some(pc + 1);
            return;
        }
    }
}

impl Follower {
    fn instrs(&self, point: u32) -> Range<usize> {
        let range = self.exe.points.get(point as usize);
        range.map_or(0..0, |range| range.start as usize..range.end as usize)
    }

    /// Takes the values of slots from the other backend.
    fn take(&mut self, slots: impl Iterator<Item = Slot>, now: &Now<'_, '_>) {
        slots.for_each(|slot| self.frame.set(slot, now.seen.values.value(slot)));
    }

    /// An instruction that has no choice: what it writes to variables is as the other says.
    fn compute(&mut self, pc: usize, now: &mut Now<'_, '_>) {
        let exe = now.exe;
        let (Some(instr), Some(span)) = (exe.code.get(pc), exe.spans.get(pc).copied()) else { return };
        self.last = span;
        match instr {
            Instr::Emit(i) => self.emit(*i as usize, span, now),
            Instr::State(i) => now.tell(span, Event::ParserState { name: &exe.states[*i as usize] }),
            _ => match Watch::before(exe, &self.frame, instr) {
                Some(watch) => {
                    self.take(watch.slots(), now);
                    watch.report(exe, &self.frame, span, now.observer);
                }
                None => self.frame.compute(exe, instr, now.seen.bytes.len()),
            },
        }
    }

    fn emit(&mut self, i: usize, span: Span, now: &mut Now<'_, '_>) {
        let code = &now.exe.headers[i];
        let Some(header) = self.frame.find(now.exe, code.place) else { return };
        let range = SlotRange { first: header, len: code.n_slots };
        let is_valid = self.frame.get(header).is_true();
        let widths = self.frame.range(range).iter().skip(1).map(|value| u64::from(value.width()));
        let n_bits = if is_valid { widths.sum() } else { 0 };
        let (n_slots, frame) = (code.n_slots, self.frame.slots.as_slice());
        now.tell(span, Event::Emitted { header, n_slots, n_bits, is_valid, frame });
    }

    fn statement(&mut self, instrs: Range<usize>, end: StatementEnd, now: &mut Now<'_, '_>) {
        for pc in instrs.clone() {
            let Some(Instr::Extern(i)) = now.exe.code.get(pc) else {
                self.compute(pc, now);
                continue;
            };
            self.extern_call(*i as usize, pc, instrs.clone(), end, now);
            if end != StatementEnd::Next {
                return;
            }
        }
    }

    fn extern_call(
        &mut self,
        i: usize,
        pc: usize,
        instrs: Range<usize>,
        end: StatementEnd,
        now: &mut Now<'_, '_>,
    ) {
        let exe = now.exe;
        let call = &exe.externs[i];
        let span = exe.spans[pc];
        self.last = span;
        let before: Vec<Vec<Bits>> = call.args.iter().map(|arg| self.frame.values_of(arg)).collect();
        let watch = Watch::before(exe, &self.frame, &exe.code[pc]);
        self.take(watch.iter().flat_map(Watch::slots), now);
        self.take_copies(call, pc, instrs, now);
        let args: Vec<Vec<Bits>> = (call.args.iter().zip(&before))
            .map(|(arg, before)| match arg {
                ExternArg::Ref { .. } => self.frame.values_of(arg),
                ExternArg::In(_)
                | ExternArg::Fields { .. }
                | ExternArg::Str(_)
                | ExternArg::Table { .. }
                | ExternArg::Absent => before.clone(),
            })
            .collect();
        let result = call.result.filter(|r| r.len > 0).map(|r| self.frame.get(r.first));
        now.tell(span, Event::Extern { call, args: &args, result });
        let from = usize::try_from(now.seen.cursor_bits.div_ceil(8)).unwrap_or(usize::MAX);
        let payload = now.seen.bytes.get(from..).unwrap_or_default();
        for text in self.externs.notes_of(call, &before, payload, end != StatementEnd::NotSupplied) {
            now.tell(span, Event::Note { text: &text });
        }
        if let Some(watch) = watch {
            watch.report(exe, &self.frame, span, now.observer);
        }
    }

    /// Makes the copies that a call of the interpreter would have written. When a call writes to an element or to a part of a
    /// value, the interpreter gives it a copy and stores the copy afterwards. Here the copy is made from the values that the
    /// other backend has stored.
    fn take_copies(&mut self, call: &ExternCall, pc: usize, instrs: Range<usize>, now: &Now<'_, '_>) {
        let refs = call.args.iter().filter_map(|arg| match arg {
            ExternArg::Ref { range, .. } => Some(*range),
            ExternArg::In(_)
            | ExternArg::Fields { .. }
            | ExternArg::Str(_)
            | ExternArg::Table { .. }
            | ExternArg::Absent => None,
        });
        let is_copy = |range: &SlotRange| range.first >= now.exe.n_variable_slots();
        let copies: Vec<SlotRange> = refs.chain(call.result).filter(is_copy).collect();
        if copies.is_empty() {
            return;
        }
        let mut after = Frame { slots: self.frame.slots.clone() };
        for instr in &now.exe.code[pc + 1..instrs.end] {
            let watch = Watch::before(now.exe, &after, instr);
            for slot in watch.iter().flat_map(Watch::slots) {
                after.set(slot, now.seen.values.value(slot));
            }
        }
        for instr in &now.exe.code[instrs.start..pc] {
            if let Instr::Load { .. } | Instr::Slice { .. } | Instr::SliceAt { .. } = instr {
                after.compute(now.exe, instr, now.seen.bytes.len());
            }
        }
        copies.into_iter().for_each(|range| self.frame.copy_from(&after, range));
    }

    fn call(&mut self, procedure: ProcedureId, span: Span, now: &mut Now<'_, '_>) {
        self.last = span;
        let params = &now.exe.procedure(procedure).params;
        self.take(params.iter().copied(), now);
        let data: Vec<Bits> = params.iter().map(|slot| self.frame.get(*slot).clone()).collect();
        now.tell(span, Event::Called { procedure, data: &data, slots: params });
        self.calls.push(procedure);
    }

    fn leave(&mut self, by_exit: bool, span: Span, now: &mut Now<'_, '_>) {
        if let Some(procedure) = self.calls.pop() {
            now.tell(span, Event::Returned { procedure, by_exit });
        }
    }

    /// An instruction of a terminator.
    fn choose(&mut self, pc: usize, value: u64, now: &mut Now<'_, '_>) {
        let exe = now.exe;
        let (Some(instr), Some(span)) = (exe.code.get(pc), exe.spans.get(pc).copied()) else { return };
        self.last = span;
        let case = u32::try_from(value).ok();
        match instr {
            Instr::Branch { .. } => now.tell(span, Event::Branch { condition: value != 0 }),
            Instr::Switch(i) => {
                let code = &exe.switches[*i as usize];
                let computed = self.frame.get(code.subject);
                let width = computed.width();
                if width > u64::BITS {
                    return now.tell(span, Event::Switched { value: computed, case });
                }
                let value = Bits::new(width, u128::from(value));
                let case = code.cases.get(&value).map(|(i, _)| *i);
                now.tell(span, Event::Switched { value: &value, case });
            }
            Instr::Select(i) => {
                let slots: Vec<Slot> = exe.selects[*i as usize].keys.iter().map(|key| key.slot).collect();
                let keys: Vec<Bits> = slots.iter().map(|slot| self.frame.get(*slot).clone()).collect();
                now.tell(span, Event::Selected { keys: &keys, slots: &slots, case });
            }
            Instr::Extract(i) => {
                let code = &exe.extracts[*i as usize];
                self.extract(code, value as u32, span, now);
            }
            Instr::Advance { bits, error, .. } => {
                let n_bits = self.frame.get(*bits).low_u64();
                match value as u32 {
                    0 => now.tell(span, Event::Advanced { n_bits }),
                    code => self.fail(ParserOp::Advance, *error, code, n_bits, span, now),
                }
            }
            Instr::Lookahead(i) => {
                let code = &exe.lookaheads[*i as usize];
                let watch = Watch::before(exe, &self.frame, instr);
                self.take(watch.iter().flat_map(Watch::slots), now);
                match value as u32 {
                    0 => now.tell(span, Event::LookedAhead { n_bits: code.n_bits }),
                    error => self.fail(ParserOp::Lookahead, code.error, error, code.n_bits, span, now),
                }
                if let Some(watch) = watch {
                    watch.report(exe, &self.frame, span, now.observer);
                }
            }
            Instr::Return => self.leave(false, span, now),
            Instr::Exit => {
                now.tell(span, Event::Exit);
                self.leave(true, span, now);
            }
            Instr::Accept => now.tell(span, Event::Accepted),
            Instr::Reject { error } => {
                let error = self.frame.get(*error).low_u64() as u32;
                now.tell(span, Event::Rejected { error });
            }
            Instr::Jump(_) | Instr::Lookup(_) | Instr::RunAction { .. } | Instr::Call { .. } => {}
            _ => self.compute(pc, now),
        }
    }

    fn extract(&mut self, code: &ExtractCode, error: u32, span: Span, now: &mut Now<'_, '_>) {
        let varbit_bits = code.size_bits.map_or(0, |slot| self.frame.get(slot).low_u64());
        let n_bits = code.fixed_bits.saturating_add(varbit_bits);
        if error != 0 {
            return self.fail(ParserOp::Extract, code.error, error, n_bits, span, now);
        }
        let Some(place) = self.frame.find(now.exe, code.place) else {
            return now.tell(span, Event::Advanced { n_bits });
        };
        let n_slots = code.n_slots();
        let header = match code.stack_size {
            None => place,
            Some(size) => {
                let next = self.frame.get(place).low_u64().min(u64::from(size.saturating_sub(1)));
                self.take(std::iter::once(place), now);
                place + 1 + next as u32 * n_slots
            }
        };
        self.take(header..header + n_slots, now);
        let frame = self.frame.slots.as_slice();
        now.tell(span, Event::Extracted { header, n_slots, n_bits, frame });
    }

    /// `place` is where the parser keeps its error.
    fn fail(
        &mut self,
        what: ParserOp,
        place: Slot,
        error: u32,
        wanted_bits: u64,
        span: Span,
        now: &mut Now<'_, '_>,
    ) {
        self.frame.set(place, Bits::new(ir::types::INDEX_BITS, u128::from(error)));
        let left_bits = (now.seen.bytes.len() as u64 * 8).saturating_sub(now.seen.cursor_bits);
        now.tell(span, Event::ParserFailed { what, error, wanted_bits, left_bits });
    }
}
