//! Writes the story down as it happens.

use crate::causes::Causes;
use crate::format::Format;
use crate::places::{self, Places};
use crate::story::{At, Change, Hit, Matched, Named, STEPS_MAX, Step, Story, Verdict, What};
use crate::summary::summary;
use crate::{
    Event, ExternArg, ExternCall, HitEntry, Leaf, LookupOutcome, Observer, Slot, SlotRange, TrafficEvent,
    Variables,
};
use arch::{BlockRole, ExternOp, FieldRole, ParamRole};
use diagnostics::{SourceMap, Span};
use ir::{Added, Bits, MatchKind, ProcedureKind, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// An observer that collects a [`Story`].
#[derive(Debug)]
pub struct StoryBuilder<'s> {
    /// Without it steps have no places.
    sources: Option<&'s SourceMap>,
    story: Story,
    depth: u32,
    /// Depth outside of what the current state does.
    state_depth: Option<u32>,
    last_change: Span,
    /// Decisions are indexes of steps.
    causes: Causes<usize>,
    /// Something has changed the field that names the port.
    has_port: bool,
    /// Validity bits of headers that are valid.
    valid: BTreeSet<Slot>,
    /// Copies that are still to be queued, for ports of their own.
    n_copies_left: u32,
    /// Values that parameters of actions had when the action began.
    first_values: BTreeMap<Slot, Bits>,
}

impl<'s> StoryBuilder<'s> {
    pub fn new(sources: Option<&'s SourceMap>) -> StoryBuilder<'s> {
        StoryBuilder {
            sources,
            story: Story::default(),
            depth: 0,
            state_depth: None,
            last_change: Span::NONE,
            causes: Causes::default(),
            has_port: false,
            valid: BTreeSet::new(),
            n_copies_left: 0,
            first_values: BTreeMap::new(),
        }
    }

    pub fn finish(mut self) -> Story {
        self.story.summary = summary(&self.story, &Places::short(&self.story));
        self.story
    }

    fn at(&self, span: Span) -> Option<At> {
        places::at(self.sources?, span)
    }

    fn push(&mut self, span: Span, what: What) {
        if self.story.steps.len() >= STEPS_MAX {
            self.story.n_left_out += 1;
            return;
        }
        let at = self.at(span);
        self.story.steps.push(Step { depth: self.depth, at, what });
    }

    /// The index of the next step; `None` if there is no room for it.
    fn next_step(&self) -> Option<usize> {
        Some(self.story.steps.len()).filter(|n| *n < STEPS_MAX)
    }

    fn traffic(&mut self, variables: &Variables, event: &TrafficEvent<'_>) {
        let what = match event {
            TrafficEvent::Pass { kind, port, bytes } => {
                self.depth = 0;
                self.causes.begin();
                What::Pass { kind: *kind, port: *port, n_bytes: bytes.len(), hex: hex(bytes) }
            }
            TrafficEvent::Sent { port, bytes } => {
                let (n_bytes, hex) = (bytes.len(), hex(bytes));
                self.story.verdicts.push(Verdict::Sent { port: *port, n_bytes, hex });
                return;
            }
            TrafficEvent::ToController { bytes } => {
                let (n_bytes, hex) = (bytes.len(), hex(bytes));
                self.story.verdicts.push(Verdict::ToController { n_bytes, hex });
                return;
            }
            TrafficEvent::Dropped { reason } => {
                let (span, decided_by) = self.causes.take(reason).unwrap_or_default();
                let because = self.at(span);
                let reason = (*reason).to_string();
                self.story.verdicts.push(Verdict::Dropped { reason, because, decided_by, port: None });
                return;
            }
            TrafficEvent::Queued { port, instance } => {
                let is_copy = self.n_copies_left > 0;
                self.n_copies_left = self.n_copies_left.saturating_sub(1);
                let field = variables.field(FieldRole::EgressSpec).filter(|_| !self.has_port && !is_copy);
                let unset = field.and_then(|slot| variables.slot_info(slot)).map(|info| info.name);
                let chosen = self.causes.peek().filter(|_| unset.is_none() && !is_copy);
                let (span, decided_by) = chosen.unwrap_or_default();
                let because = self.at(span);
                What::Queued { port: *port, instance: *instance, unset, because, decided_by }
            }
            TrafficEvent::Multicast { group, n_replicas } => {
                self.n_copies_left = *n_replicas;
                What::Multicast { group: *group, n_replicas: *n_replicas }
            }
            TrafficEvent::Cloned { session, n_replicas } => {
                self.n_copies_left = *n_replicas;
                What::Cloned { session: *session, n_replicas: *n_replicas }
            }
            TrafficEvent::Resubmitted => {
                self.has_port = false;
                What::Resubmitted
            }
            TrafficEvent::Recirculated => {
                self.has_port = false;
                What::Recirculated
            }
            TrafficEvent::Truncated { n_bytes } => What::Truncated { n_bytes: *n_bytes },
            TrafficEvent::Digest { name, values } => {
                let format = Format::plain(&variables.program);
                let values = values.iter().map(|v| format.value(v)).collect();
                What::Digest { name: (*name).to_string(), values }
            }
        };
        self.push(Span::NONE, what);
    }

    fn change(&mut self, variables: &Variables, span: Span, slot: Slot, old: &Bits, new: &Bits) {
        if variables.slot_info(slot).is_some_and(|info| info.leaf == Leaf::Valid) {
            match new.is_true() {
                true => self.valid.insert(slot),
                false => self.valid.remove(&slot),
            };
        }
        self.has_port |= variables.field(FieldRole::EgressSpec) == Some(slot);
        let Some(info) = variables.slot_info(slot).filter(|info| !info.is_temporary()) else { return };
        let format = Format::of_leaf(&variables.program, &info);
        let change = Change {
            old: format.value(old),
            new: format.value(new),
            is_validity: info.leaf == Leaf::Valid,
            is_next_index: info.leaf == Leaf::NextIndex,
            name: info.name,
        };
        // All changes of one statement form one step.
        if self.last_change == span
            && self.story.n_left_out == 0
            && let Some(Step { what: What::Changed { changes }, .. }) = self.story.steps.last_mut()
        {
            changes.push(change);
            return;
        }
        self.last_change = span;
        self.push(span, What::Changed { changes: vec![change] });
    }

    fn lookup(
        &mut self,
        variables: &Variables,
        span: Span,
        table: TableId,
        keys: &[Bits],
        outcome: &LookupOutcome<'_>,
    ) {
        let decl = &variables.program.tables[table];
        let formats = decl.keys.iter().map(|k| Format::of_type(&variables.program, &k.ty, &k.name));
        let keys_told = decl.keys.iter().zip(keys).zip(formats.clone());
        let keys = keys_told.map(|((key, value), format)| {
            let mut told = named(key.name.as_str(), value, format);
            if let Some(header) = self.invalid_header(variables, &key.name) {
                told.text.push_str(&format!(" ({header} is invalid)"));
            }
            told
        });
        let keys = keys.collect();
        let (mut n_entries, mut expired) = (None, false);
        let (hit, action) = match outcome {
            LookupOutcome::Hit { entry, action, member } => {
                let matched = (decl.keys.iter().zip(formats))
                    .filter(|(k, _)| k.match_kind != MatchKind::Selector)
                    .zip(entry.matches);
                let matches = matched.map(|((key, format), m)| Matched {
                    key: key.name.to_string(),
                    pattern: format.pattern(m.as_ref()),
                });
                let mut hit = told(entry, matches.collect(), *member);
                hit.entry = hit.entry.filter(|_| !decl.has_state());
                (Some(hit), action)
            }
            LookupOutcome::Miss { action, n_entries: n, has_expired } => {
                expired = *has_expired;
                n_entries = Some(*n).filter(|_| !decl.keys.is_empty() && !expired);
                (None, action)
            }
        };
        let action = action.and_then(|i| decl.actions.get(i as usize)).map(|a| a.name.to_string());
        self.push(span, What::Table { table: decl.name.to_string(), keys, hit, action, n_entries, expired });
    }

    /// The header of a field, if it is invalid. Blocks may call the same headers by different names.
    fn invalid_header<'k>(&self, variables: &Variables, field: &'k str) -> Option<&'k str> {
        let inside = |name: &str| name.split_once('.').map(|(_, rest)| rest.to_string());
        let (header, _) = field.rsplit_once('.')?;
        let wanted = inside(header)?;
        let range = variables.shared(ParamRole::Headers)?;
        let is_meant = |slot: &Slot| {
            let info = variables.slot_info(*slot).filter(|info| info.leaf == Leaf::Valid);
            info.is_some_and(|info| inside(&info.name).is_some_and(|name| name == wanted))
        };
        let slot = (range.first..range.first + range.len).find(is_meant)?;
        (!self.valid.contains(&slot)).then_some(header)
    }

    fn extern_call(
        &mut self,
        variables: &Variables,
        span: Span,
        call: &ExternCall,
        args: &[Vec<Bits>],
        result: Option<&Bits>,
    ) {
        let name = &call.name;
        let marked = match call.op {
            ExternOp::AsyncBegin => Some(format!("the asynchronous block `{name}` begins")),
            ExternOp::AsyncEnd => Some(format!("the asynchronous block `{name}` ends")),
            ExternOp::EmitBegin => {
                Some(format!("the deparser `{name}` puts headers in front of the payload:"))
            }
            ExternOp::Rebuild => Some(format!("the deparser `{name}` is done")),
            // Before the block all bytes become its own, which says nothing to a reader.
            ExternOp::Rewind if name == "rewind" => return,
            ExternOp::Rewind => Some(format!("the parser `{name}` begins at the first byte again")),
            _ => None,
        };
        if let Some(text) = marked {
            self.push(span, What::Marked { text });
            return;
        }
        if let Some(text) = data_change(variables, &self.first_values, call, args, result) {
            self.push(span, What::Marked { text });
            return;
        }
        let plain = Format::plain(&variables.program);
        let list = |values: &[Bits]| {
            let values: Vec<String> = values.iter().map(|v| plain.value(v)).collect();
            format!("{{{}}}", values.join(", "))
        };
        let args = (call.args.iter().zip(args))
            .map(|(arg, values)| match (arg, values.as_slice()) {
                (ExternArg::Str(text), _) => format!("{text:?}"),
                (ExternArg::Absent, _) => String::new(),
                (ExternArg::Table { table, action }, _) => {
                    let table = &variables.program.tables[*table];
                    let action = action.and_then(|action| table.actions.get(action as usize));
                    action.map_or(&table.name, |action| &action.name).to_string()
                }
                (ExternArg::Ref { range, .. }, values) => match (variables.slot_info(range.first), values) {
                    (Some(info), [value]) if range.len == 1 => {
                        let format = Format::of_leaf(&variables.program, &info);
                        format!("{} = {}", info.name, format.value(value))
                    }
                    (Some(_), _) => whole_name(variables, *range),
                    (None, values) => list(values),
                },
                (ExternArg::In(slot), [value]) => match variables.slot_info(*slot) {
                    Some(info) => Format::of_leaf(&variables.program, &info).value(value),
                    None => plain.value(value),
                },
                (ExternArg::Fields { read_from, .. }, values) => {
                    let infos = read_from.iter().map(|slot| slot.and_then(|slot| variables.slot_info(slot)));
                    let values = infos.zip(values).map(|(info, value)| match info {
                        Some(info) => Format::of_leaf(&variables.program, &info).value(value),
                        None => plain.value(value),
                    });
                    format!("{{{}}}", values.collect::<Vec<_>>().join(", "))
                }
                (ExternArg::In(_), values) => list(values),
            })
            .filter(|arg| !arg.is_empty());
        // The condition of an entry that is added is seen in the result.
        let n_shown = if call.op == ExternOp::AddEntry { N_ADD_ENTRY_SHOWN } else { usize::MAX };
        let args = args.take(n_shown).collect();
        let object = call.object.map(|id| variables.program.objects[id].name.to_string());
        let result = result.map(|v| match call.op {
            ExternOp::AddEntry => {
                let added = v.to_u64().and_then(|n| u8::try_from(n).ok()).and_then(Added::from_number);
                added.map_or_else(|| plain.value(v), |added| added.in_words().to_string())
            }
            _ => plain.value(v),
        });
        self.push(span, What::Extern { name: call.name.to_string(), object, args, result });
    }

    /// A header without its fields, and its fields.
    fn header(
        &self,
        variables: &Variables,
        header: Slot,
        n_slots: u32,
        frame: &[Bits],
    ) -> (String, Vec<Named>) {
        let name = variables.slot_info(header).map(|info| info.name).unwrap_or_default();
        let fields = (header + 1..header + n_slots).filter_map(|slot| {
            let info = variables.slot_info(slot)?;
            let value = frame.get(slot as usize)?;
            let format = Format::of_leaf(&variables.program, &info);
            let field = info.name.strip_prefix(&name).unwrap_or(&info.name).trim_start_matches('.');
            Some(named(field, value, format))
        });
        let fields = fields.collect();
        (name, fields)
    }
}

/// Arguments of `add_entry` that programs give: action, data, profile.
const N_ADD_ENTRY_SHOWN: usize = 3;

/// A change of the data of an entry, in words; `None` for other calls.
fn data_change(
    variables: &Variables,
    first_values: &BTreeMap<Slot, Bits>,
    call: &ExternCall,
    args: &[Vec<Bits>],
    result: Option<&Bits>,
) -> Option<String> {
    let value = match call.op {
        ExternOp::StoreData => args.get(2)?.first()?,
        ExternOp::UpdateData => result?,
        _ => return None,
    };
    let program = &variables.program;
    let (Some(ExternArg::Table { table, action }), Some(number)) = (call.args.first(), args.get(1)) else {
        return None;
    };
    let (number, action) =
        (number.first()?.to_u64()?, program.tables[*table].actions.get((*action)? as usize)?);
    let params = &program.procedures[action.procedure].params;
    let slots = params.iter().flat_map(|var| variables.variable(*var).indices());
    let slot = Slot::try_from(slots.into_iter().nth(usize::try_from(number).ok()?)?).ok()?;
    let info = variables.slot_info(slot)?;
    let shown = |value: &Bits| Format::of_leaf(program, &info).value(value);
    Some(match first_values.get(&slot) {
        Some(before) if before != value => {
            format!("the entry changes {} from {} to {}", info.name, shown(before), shown(value))
        }
        Some(_) | None => format!("the entry keeps {} = {}", info.name, shown(value)),
    })
}

/// The name of an aggregate: what the names of its first and its last part have in common.
fn whole_name(variables: &Variables, range: SlotRange) -> String {
    let name = |slot: Slot| variables.slot_info(slot).map(|info| info.name).unwrap_or_default();
    let (first, last) = (name(range.first), name(range.first + range.len.saturating_sub(1)));
    let parts = first.split_inclusive(['.', '[', ']']).zip(last.split_inclusive(['.', '[', ']']));
    let same: String = parts
        .take_while(|(a, b)| a.trim_end_matches('.') == b.trim_end_matches('.'))
        .map(|(a, _)| a)
        .collect();
    same.trim_end_matches(['.', '[']).to_string()
}

fn named(name: &str, value: &Bits, format: Format<'_>) -> Named {
    Named { name: name.to_string(), hex: format!("{value:#x}"), text: format.value(value) }
}

fn told(entry: &HitEntry<'_>, matches: Vec<Matched>, member: Option<u32>) -> Hit {
    Hit {
        entry: Some(entry.serial),
        matches,
        priority: entry.priority,
        is_const: entry.is_const,
        n_hits: entry.n_hits,
        member,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn role_name(role: BlockRole) -> &'static str {
    match role {
        BlockRole::Parser => "parser",
        BlockRole::VerifyChecksum => "verify_checksum",
        BlockRole::Ingress => "ingress",
        BlockRole::Egress => "egress",
        BlockRole::ComputeChecksum => "compute_checksum",
        BlockRole::Deparser => "deparser",
        BlockRole::Accelerator => "accelerator",
    }
}

fn kind_name(kind: ProcedureKind) -> &'static str {
    match kind {
        ProcedureKind::Action => "action",
        ProcedureKind::Function => "function",
        ProcedureKind::Control => "control",
        ProcedureKind::Parser => "parser",
    }
}

impl Observer for StoryBuilder<'_> {
    fn event(&mut self, variables: &Variables, span: Span, event: Event<'_>) {
        let program = &*variables.program;
        let error_name = |code: u32| {
            program.errors.get(code as usize).map_or_else(|| format!("error {code}"), ToString::to_string)
        };
        // Branches without a place are the compiler's.
        let is_of_compiler = span.is_none() && self.sources.is_some();
        let next_step =
            self.next_step().filter(|_| !(is_of_compiler && matches!(event, Event::Branch { .. })));
        self.causes.event(variables, span, &event, || next_step);
        match event {
            Event::BlockEntered { block } => {
                let decl = &program.blocks[block];
                self.depth = 0;
                self.state_depth = None;
                let role = role_name(decl.role).to_string();
                self.push(span, What::Block { name: decl.name.to_string(), role });
                self.depth = 1;
            }
            Event::BlockLeft { block } => {
                self.depth = 0;
                self.state_depth = None;
                let name = program.blocks[block].name.to_string();
                self.push(span, What::BlockEnded { name });
            }
            Event::ParserState { name } => {
                self.depth = self.state_depth.unwrap_or(self.depth);
                self.push(span, What::State { name: name.to_string() });
                self.state_depth = Some(self.depth);
                self.depth += 1;
            }
            Event::Extracted { header, n_slots, n_bits, frame } => {
                self.valid.insert(header);
                let (header, fields) = self.header(variables, header, n_slots, frame);
                self.push(span, What::Extracted { header, n_bits, fields });
            }
            Event::ParserFailed { what, error, wanted_bits, left_bits } => {
                let error = error_name(error);
                self.push(span, What::ParserFailed { what, error, wanted_bits, left_bits });
            }
            Event::Advanced { n_bits } => self.push(span, What::Advanced { n_bits }),
            Event::LookedAhead { n_bits } => self.push(span, What::LookedAhead { n_bits }),
            Event::Selected { keys, slots, case } => {
                let keys = keys.iter().zip(slots).map(|(value, slot)| match variables.slot_info(*slot) {
                    Some(info) if !info.is_temporary() => {
                        named(&info.name, value, Format::of_leaf(program, &info))
                    }
                    Some(_) | None => named("", value, Format::plain(program)),
                });
                let keys = keys.collect();
                self.push(span, What::Selected { keys, case: case.map(|i| i + 1) });
            }
            Event::Accepted => self.push(span, What::Accepted),
            Event::Rejected { error } => {
                self.push(span, What::Rejected { error: error_name(error) });
            }
            Event::Branch { condition } => {
                if !is_of_compiler {
                    self.push(span, What::Branch { condition });
                }
            }
            Event::Switched { value, case } => {
                let value = Format::plain(program).value(value);
                self.push(span, What::Switched { value, case: case.map(|i| i + 1) });
            }
            Event::Lookup { table, keys, outcome } => self.lookup(variables, span, table, keys, &outcome),
            Event::Called { procedure, data, slots } => {
                let decl = &program.procedures[procedure];
                if decl.kind == ProcedureKind::Action {
                    self.first_values.extend(slots.iter().copied().zip(data.iter().cloned()));
                }
                let params = (slots.iter().zip(data)).filter_map(|(slot, value)| {
                    let info = variables.slot_info(*slot).filter(|info| !info.is_temporary())?;
                    Some(named(&info.name, value, Format::of_leaf(program, &info)))
                });
                let params = params.collect();
                let (kind, name) = (kind_name(decl.kind).to_string(), decl.name.to_string());
                self.push(span, What::Called { kind, name, params });
                self.depth += 1;
            }
            Event::Returned { procedure, by_exit } => {
                self.depth = self.depth.saturating_sub(1);
                let name = program.procedures[procedure].name.to_string();
                self.push(span, What::Returned { name, by_exit });
            }
            Event::Changed { slot, old, new } => self.change(variables, span, slot, old, new),
            Event::Extern { call, args, result } => self.extern_call(variables, span, call, args, result),
            Event::Emitted { header, n_slots, n_bits, is_valid, frame } => {
                let (header, _) = self.header(variables, header, n_slots, frame);
                self.push(
                    span,
                    match is_valid {
                        true => What::Emitted { header, n_bits },
                        false => What::NotEmitted { header },
                    },
                );
            }
            Event::Note { text } => self.push(span, What::Note { text: text.to_string() }),
            Event::Exit => self.push(span, What::Exit),
            Event::Stopped { reason } => {
                self.push(span, What::Stopped { reason: reason.name().to_string() });
            }
            Event::Traffic(event) => self.traffic(variables, &event),
        }
    }
}
