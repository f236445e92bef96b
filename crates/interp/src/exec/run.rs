//! The loop over the instructions of a block.

use super::parse::Failure;
use super::state::{Call, Missed, Pending, Run};
use super::watch::Watch;
use super::{Access, BlockEnd, ExternEnd, ExternHost, LookedUp, PacketState, StopReason, select};
use crate::load::{Executable, ExternArg, Instr, LookupCode, Pc, Slot};
use crate::table::{EntryRef, Tables};
use arch::ExternOp;
use diagnostics::Span;
use ir::{Bits, BlockId, ProcedureId, TableId};
use trace::{Event, LookupOutcome, Observer, ParserOp, Silent};

/// A program with the state that its blocks share between packets.
pub struct Machine<'a, E> {
    pub exe: &'a Executable,
    pub tables: &'a mut Tables,
    pub externs: &'a mut E,
    /// Since any fixed time.
    pub now_ns: u64,
}

/// The target of control after an instruction.
enum Flow {
    Next,
    To(Pc),
    End(BlockEnd),
    /// The packet waits behind this instruction.
    Wait,
}

impl<E: ExternHost> Machine<'_, E> {
    /// Runs one block from its beginning, or from where the packet has waited in it.
    pub fn run_block<O: Observer + ?Sized>(
        &mut self,
        block: BlockId,
        packet: &mut PacketState,
        observer: &mut O,
    ) -> BlockEnd {
        // Checked once: the loop without an observer has no code for events.
        match observer.listens() {
            true => self.run(block, packet, observer),
            false => self.run(block, packet, &mut Silent),
        }
    }

    fn run<O: Observer + ?Sized>(
        &mut self,
        block: BlockId,
        packet: &mut PacketState,
        observer: &mut O,
    ) -> BlockEnd {
        let exe = self.exe;
        let Some(mut pc) = exe.block_entry(block) else { return BlockEnd::Done };
        let mut run = Run { entry: None, pending: None, missed: None };
        match packet.waits_at.take() {
            Some((at, waiting)) => (pc, run) = (at, waiting),
            None => {
                if observer.listens() {
                    observer.event(exe, exe.program.blocks[block].span, Event::BlockEntered { block });
                }
                packet.calls.clear();
                packet.frame.clear(exe, exe.slots_of_block(block));
            }
        }
        let end = loop {
            let Some(instr) = exe.code.get(pc as usize) else { break BlockEnd::Done };
            let flow = if observer.listens() {
                let span = exe.spans[pc as usize];
                let watch = Watch::before(exe, &packet.frame, instr);
                let flow = self.step(instr, span, &mut run, packet, observer);
                if let Some(watch) = watch {
                    watch.report(exe, &packet.frame, span, observer);
                }
                flow
            } else {
                self.step(instr, Span::NONE, &mut run, packet, observer)
            };
            match flow {
                Flow::Next => pc += 1,
                Flow::To(target) => {
                    if packet.steps_left == 0 {
                        break BlockEnd::Stopped(StopReason::StepBudget);
                    }
                    packet.steps_left -= 1;
                    pc = target;
                }
                Flow::End(end) => break end,
                Flow::Wait => {
                    packet.waits_at = Some((pc + 1, run));
                    return BlockEnd::Waiting;
                }
            }
        };
        if observer.listens() {
            if let BlockEnd::Stopped(reason) = &end {
                let span = exe.spans.get(pc as usize).copied().unwrap_or_default();
                observer.event(exe, span, Event::Stopped { reason });
            }
            observer.event(exe, Span::NONE, Event::BlockLeft { block });
        }
        end
    }

    #[inline(always)]
    fn step<O: Observer + ?Sized>(
        &mut self,
        instr: &Instr,
        span: Span,
        run: &mut Run,
        packet: &mut PacketState,
        observer: &mut O,
    ) -> Flow {
        let exe = self.exe;
        let frame = &mut packet.frame;
        match instr {
            Instr::Copy { .. }
            | Instr::CopyRange { .. }
            | Instr::Unary { .. }
            | Instr::Binary { .. }
            | Instr::Mux { .. }
            | Instr::Cast { .. }
            | Instr::Slice { .. }
            | Instr::SliceAt { .. }
            | Instr::PacketLength { .. }
            | Instr::Load { .. }
            | Instr::Store { .. }
            | Instr::Insert { .. }
            | Instr::InsertAt { .. }
            | Instr::ZeroIfInvalid(_) => frame.compute(exe, instr, packet.bytes.len()),
            Instr::Emit(i) => {
                let code = &exe.headers[*i as usize];
                let emitted = packet.emit(exe, code);
                if observer.listens()
                    && let Some((header, n_bits)) = emitted
                {
                    let frame = &packet.frame.slots;
                    let is_valid = frame[header as usize].is_true();
                    let n_slots = code.n_slots;
                    observer.event(exe, span, Event::Emitted { header, n_slots, n_bits, is_valid, frame });
                }
            }
            Instr::Extern(i) => return self.call_extern(*i, span, run, packet, observer),
            Instr::State(i) => {
                if observer.listens() {
                    observer.event(exe, span, Event::ParserState { name: &exe.states[*i as usize] });
                }
            }
            Instr::Jump(target) => return Flow::To(*target),
            Instr::Branch { condition, then, otherwise } => {
                let condition = frame.get(*condition).is_true();
                if observer.listens() {
                    observer.event(exe, span, Event::Branch { condition });
                }
                return Flow::To(if condition { *then } else { *otherwise });
            }
            Instr::Switch(i) => {
                let code = &exe.switches[*i as usize];
                let value = frame.get(code.subject);
                let case = code.cases.get(value);
                if observer.listens() {
                    let case = case.map(|(i, _)| *i);
                    observer.event(exe, span, Event::Switched { value, case });
                }
                return Flow::To(case.map_or(code.otherwise, |(_, target)| *target));
            }
            Instr::Select(i) => {
                let code = &exe.selects[*i as usize];
                let case = select::select(code, frame, self.tables);
                if observer.listens() {
                    let slots: Vec<Slot> = code.keys.iter().map(|k| k.slot).collect();
                    let keys: Vec<Bits> = slots.iter().map(|slot| frame.get(*slot).clone()).collect();
                    let case = case.map(|i| i as u32);
                    observer.event(exe, span, Event::Selected { keys: &keys, slots: &slots, case });
                }
                return Flow::To(case.map_or(code.otherwise, |i| code.cases[i].1));
            }
            Instr::Extract(_) | Instr::Advance { .. } | Instr::Lookahead(_) => {
                return self.parse(instr, span, packet, observer);
            }
            Instr::Lookup(i) => self.lookup(&exe.lookups[*i as usize], span, run, packet, observer),
            Instr::RunAction { again, then, exit } => {
                let Some(mut pending) = run.pending.take() else { return Flow::To(*then) };
                if let Some(group_action) = pending.group_action.take() {
                    let entry = run.entry.replace((pending.table, pending.entry));
                    run.pending = Some(pending);
                    return self.enter(group_action, *again, *exit, entry, packet, span, observer);
                }
                let Some(procedure) = pending.procedure else { return Flow::To(*then) };
                pending.data.into_iter().for_each(|(slot, value)| frame.set(slot, value));
                let entry = run.entry.replace((pending.table, pending.entry));
                return self.enter(procedure, *then, *exit, entry, packet, span, observer);
            }
            Instr::Call { procedure, then, exit } => {
                return self.enter(*procedure, *then, *exit, run.entry, packet, span, observer);
            }
            Instr::Return => return self.leave(false, run, packet, span, observer),
            Instr::Exit => {
                if observer.listens() {
                    observer.event(exe, span, Event::Exit);
                }
                return self.leave(true, run, packet, span, observer);
            }
            Instr::Accept => {
                if observer.listens() {
                    observer.event(exe, span, Event::Accepted);
                }
                return Flow::End(BlockEnd::Accepted);
            }
            Instr::Reject { error } => {
                let error = frame.get(*error).low_u64() as u32;
                if observer.listens() {
                    observer.event(exe, span, Event::Rejected { error });
                }
                return Flow::End(BlockEnd::Rejected(error));
            }
        }
        Flow::Next
    }

    #[expect(clippy::too_many_arguments, reason = "the state of the loop, taken apart")]
    fn enter<O: Observer + ?Sized>(
        &self,
        procedure: ProcedureId,
        then: Pc,
        exit: Pc,
        entry: Option<(TableId, EntryRef)>,
        packet: &mut PacketState,
        span: Span,
        observer: &mut O,
    ) -> Flow {
        let code = self.exe.procedure(procedure);
        if observer.listens() {
            let data: Vec<Bits> = code.params.iter().map(|s| packet.frame.get(*s).clone()).collect();
            observer.event(self.exe, span, Event::Called { procedure, data: &data, slots: &code.params });
        }
        packet.calls.push(Call { procedure, then, exit, entry });
        Flow::To(code.entry)
    }

    fn leave<O: Observer + ?Sized>(
        &self,
        by_exit: bool,
        run: &mut Run,
        packet: &mut PacketState,
        span: Span,
        observer: &mut O,
    ) -> Flow {
        let Some(call) = packet.calls.pop() else { return Flow::End(BlockEnd::Done) };
        run.entry = call.entry;
        if observer.listens() {
            observer.event(self.exe, span, Event::Returned { procedure: call.procedure, by_exit });
        }
        Flow::To(if by_exit { call.exit } else { call.then })
    }

    fn lookup<O: Observer + ?Sized>(
        &mut self,
        code: &LookupCode,
        span: Span,
        run: &mut Run,
        packet: &mut PacketState,
        observer: &mut O,
    ) {
        let exe = self.exe;
        let (keys, now_ns) = (packet.frame.range(code.keys), self.now_ns);
        let found = self.tables.lookup(code.table, keys, now_ns, &mut || self.externs.random());
        let (index, data) = match found.action {
            Some((index, data)) => (Some(index), data),
            None => (None, &[][..]),
        };
        if observer.listens() {
            let outcome = match found.stored {
                Some(entry) => {
                    LookupOutcome::Hit { entry: entry.into(), action: index, member: found.member }
                }
                None => {
                    let (n_entries, has_expired) = (found.n_entries, found.has_expired);
                    LookupOutcome::Miss { action: index, n_entries, has_expired }
                }
            };
            let keys = packet.frame.range(code.keys);
            observer.event(exe, span, Event::Lookup { table: code.table, keys, outcome });
        }
        let action = index.and_then(|i| exe.action(code.table, i));
        let params = action.map_or(&[][..], |action| &action.params);
        let mut pending = Pending {
            procedure: action.map(|a| a.procedure),
            group_action: None,
            data: Vec::new(),
            table: code.table,
            entry: found.entry,
        };
        let group_action =
            found.group_action.and_then(|group| Some((exe.action(code.table, group.index)?, group)));
        let (first, data) = match group_action {
            Some((action, group)) => {
                pending.group_action = Some(action.procedure);
                pending.data = params.iter().copied().zip(data.iter().cloned()).collect();
                (&action.params[..], group.data.as_slice())
            }
            None => (params, data),
        };
        for (slot, value) in first.iter().zip(data) {
            packet.frame.set(*slot, value.clone());
        }
        run.pending = Some(pending);
        let is_hit = found.stored.is_some();
        let adds = exe.program.tables[code.table].add_on_miss.is_some() && !is_hit;
        if adds {
            let keys = packet.frame.range(code.keys).to_vec();
            run.missed = Some(Missed { table: code.table, keys });
        }
        if code.has_direct {
            let (table, entry, n_bytes) = (code.table, found.entry, packet.bytes.len() as u64);
            self.externs.looked_up(LookedUp {
                exe,
                tables: self.tables,
                table,
                entry,
                n_bytes,
                now_ns: self.now_ns,
            });
        }
        packet.frame.set(code.hit, Bits::bool(is_hit));
        // No action has this number, which stands for no action.
        packet.frame.set(code.action, Bits::new(32, u128::from(index.unwrap_or(u32::MAX))));
    }

    fn parse<O: Observer + ?Sized>(
        &mut self,
        instr: &Instr,
        span: Span,
        packet: &mut PacketState,
        observer: &mut O,
    ) -> Flow {
        let exe = self.exe;
        let left_bits = packet.bits_left();
        let (what, result, error, then, fail) = match instr {
            Instr::Extract(i) => {
                let code = &exe.extracts[*i as usize];
                let result = packet.extract(exe, code).map(|extracted| {
                    if observer.listens() {
                        let (n_slots, n_bits) = (code.n_slots(), extracted.n_bits);
                        let frame = &packet.frame.slots;
                        let event = match extracted.header {
                            Some(header) => Event::Extracted { header, n_slots, n_bits, frame },
                            None => Event::Advanced { n_bits },
                        };
                        observer.event(exe, span, event);
                    }
                });
                (ParserOp::Extract, result, code.error, code.then, code.fail)
            }
            Instr::Advance { bits, error, then, fail } => {
                let result = packet.advance(*bits).map(|n_bits| {
                    if observer.listens() {
                        observer.event(exe, span, Event::Advanced { n_bits });
                    }
                });
                (ParserOp::Advance, result, *error, *then, *fail)
            }
            Instr::Lookahead(i) => {
                let code = &exe.lookaheads[*i as usize];
                let result = packet.lookahead(exe, code).map(|()| {
                    if observer.listens() {
                        observer.event(exe, span, Event::LookedAhead { n_bits: code.n_bits });
                    }
                });
                (ParserOp::Lookahead, result, code.error, code.then, code.fail)
            }
            _ => return Flow::Next,
        };
        match result {
            Ok(()) => Flow::To(then),
            Err(Failure { error: code, wanted_bits }) => {
                packet.frame.set(error, Bits::new(ir::types::INDEX_BITS, u128::from(code)));
                if observer.listens() {
                    let event = Event::ParserFailed { what, error: code, wanted_bits, left_bits };
                    observer.event(exe, span, event);
                }
                Flow::To(fail)
            }
        }
    }

    fn call_extern<O: Observer + ?Sized>(
        &mut self,
        i: u32,
        span: Span,
        run: &mut Run,
        packet: &mut PacketState,
        observer: &mut O,
    ) -> Flow {
        let exe = self.exe;
        let call = &exe.externs[i as usize];
        let (tables, entry, now_ns) = (&mut *self.tables, run.entry, self.now_ns);
        let missed = run.missed.as_ref();
        let mut access = Access { exe, packet, tables, entry, missed, now_ns, notes: Vec::new(), call };
        // Arguments as they are before the call, except those that only go out.
        let before: Vec<Vec<Bits>> = match observer.listens() {
            true => (0..call.args.len()).map(|arg| access.values(arg)).collect(),
            false => Vec::new(),
        };
        let end = self.externs.call(call, &mut access);
        let notes = access.notes;
        if observer.listens() {
            let frame = &packet.frame;
            let args: Vec<Vec<Bits>> = (call.args.iter().zip(before))
                .map(|(arg, before)| match arg {
                    ExternArg::Ref { values, .. } => values.iter().map(|s| frame.get(*s).clone()).collect(),
                    ExternArg::In(_)
                    | ExternArg::Fields { .. }
                    | ExternArg::Str(_)
                    | ExternArg::Table { .. }
                    | ExternArg::Absent => before,
                })
                .collect();
            let result = call.result.filter(|r| r.len > 0).map(|r| frame.get(r.first));
            observer.event(exe, span, Event::Extern { call, args: &args, result });
            for text in &notes {
                observer.event(exe, span, Event::Note { text });
            }
        }
        match end {
            ExternEnd::Next if packet.may_wait && is_suspension(call.op) => Flow::Wait,
            ExternEnd::Next => Flow::Next,
            ExternEnd::Stop(reason) => Flow::End(BlockEnd::Stopped(reason)),
        }
    }
}

/// True when a packet may have to wait for another core at this operation.
fn is_suspension(op: ExternOp) -> bool {
    matches!(op, ExternOp::AsyncBegin | ExternOp::AsyncEnd)
}
