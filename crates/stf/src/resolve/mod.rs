//! From a script to what a switch is to do: names become ids, numbers become values of the right widths.
//!
//! BMv2's runner is followed in everything that the language leaves open, because scripts were written for it:
//!
//! - names of tables, actions, keys and so on may be any unambiguous end of the full name; `a$0.b` is `a[0].b`,
//!   and `valid` is the validity of a header. Back ends without dots in names (eBPF) write `_` instead, and
//!   number the keys `field0`, `field1`, ...: that is understood as well, with the other habits of these scripts;
//! - keys that are not given are anything, or 0 where they are exact, unless [`ExactKeys::Required`] is asked for;
//! - the digits of a ternary value say which bits are compared, and those of an `lpm` value how long the prefix
//!   is: `0x0a` is 8 bits, whatever the width of the key;
//! - of several matching entries the one with the larger priority wins, as in P4Runtime. Since priorities begin
//!   at 1 there, 0 becomes 1. Where a script uses both for a table, all of the table's are raised by one.

mod checks;
mod keep_state;
mod names;
mod objects;
mod replication;
mod values;

pub use checks::{Check, DigestCheck, Quantity};

use crate::codes;
use crate::script::*;
use arch::PipelineModel;
use control::{Entity, FieldMatch, TableAction, TableEntry};
use control::{Fault, Problem, Query, Schema, TableId, Update, UpdateKind};
use diagnostics::{Code, Diagnostic, Diagnostics, Span};
use num_traits::ToPrimitive;
use rustc_hash::{FxHashMap, FxHashSet};

/// The steps of a script, in order. Expected packets are not in it: see [`compare`](crate::expect::compare).
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
}

impl Plan {
    /// How many packets follow each other at most, with nothing to be done between them. Larger bursts are the same.
    pub fn longest_burst(&self) -> usize {
        self.steps.split(|step| !step.is_packet()).map(<[Step]>::len).max().unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
pub struct Step {
    /// The command.
    pub span: Span,
    pub kind: StepKind,
}

impl Step {
    pub(crate) fn is_packet(&self) -> bool {
        matches!(self.kind, StepKind::Packet { .. })
    }

    /// The one change that it makes.
    pub(crate) fn update(&self) -> Option<&Update> {
        match &self.kind {
            StepKind::Write(updates) => {
                <&[Update; 1]>::try_from(updates.as_slice()).ok().map(|[update]| update)
            }
            StepKind::Packet { .. }
            | StepKind::AdvanceClock { .. }
            | StepKind::Wait
            | StepKind::Port { .. }
            | StepKind::RemoveAllEntries
            | StepKind::CheckTable { .. }
            | StepKind::SetProfile { .. }
            | StepKind::Check(_)
            | StepKind::Show(_)
            | StepKind::ExpectDigest(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub enum StepKind {
    /// A packet arrives at a port.
    Packet { port: u32, data: Vec<u8> },
    /// Each update is valid, see [`control::validate()`].
    Write(Vec<Update>),
    /// Removes all entries that a controller may remove.
    RemoveAllEntries,
    /// Moves the clock of the test.
    AdvanceClock { duration_ns: u64 },
    /// Compares a number of entries of a table, which goes by its name.
    CheckTable { table: String, count: TableCount, comparison: Comparison, value: u64 },
    /// Sets the timeout of a profile of a table.
    SetProfile { table: String, profile: u8, timeout_ns: u64 },
    /// Puts a port at the side of the host, or of the network.
    Port { port: u32, is_host: bool },
    /// Lets the switch finish what it is doing.
    Wait,
    /// Reads and compares.
    Check(Check),
    /// Reads and shows.
    Show(Query),
    /// A digest with these values must have been sent, after those that were expected before.
    ExpectDigest(DigestCheck),
}

/// The meaning of an exact key that a command leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactKeys {
    /// It is 0, as BMv2's runner has it.
    ZeroIfMissing,
    /// The command is refused.
    Required,
}

/// Resolves a script against a program. Commands that cannot be done are left out and reported. Exact keys that are not
/// given are 0.
pub fn resolve(script: &Script, schema: &Schema) -> (Plan, Diagnostics) {
    resolve_with(script, schema, ExactKeys::ZeroIfMissing)
}

/// Does what [`resolve`] does, with the meaning of exact keys that are not given.
pub fn resolve_with(script: &Script, schema: &Schema, exact_keys: ExactKeys) -> (Plan, Diagnostics) {
    let mut resolver = Resolver {
        schema,
        exact_keys,
        plan: Plan::default(),
        diagnostics: Diagnostics::new(),
        raised_priorities: FxHashSet::default(),
        handles: FxHashMap::default(),
        replication: replication::Replication::default(),
        value_sets: FxHashMap::default(),
    };
    resolver.find_raised_priorities(script);
    for command in &script.commands {
        if let Err(diagnostic) = resolver.command(command) {
            resolver.diagnostics.push(*diagnostic);
        }
    }
    (resolver.plan, resolver.diagnostics)
}

/// Reports packets that arrive at ports which a switch of this architecture cannot have.
pub fn check_ports(script: &Script, model: &PipelineModel) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for command in &script.commands {
        let CommandKind::Packet { port, .. } = &command.kind else { continue };
        if let Err(fault) = model.check_port(port.number) {
            let message = format!("no packet can arrive at port {}", port.number);
            diagnostics.push(Diagnostic::new(&codes::PORT, port.span, message).label(fault.to_string()));
        }
    }
    diagnostics
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

struct Resolver<'s> {
    schema: &'s Schema,
    exact_keys: ExactKeys,
    plan: Plan,
    diagnostics: Diagnostics,
    /// Tables for which the script uses the priorities 0 and 1.
    raised_priorities: FxHashSet<TableId>,
    /// Entries that got a name when they were added.
    handles: FxHashMap<String, EntryKey>,
    replication: replication::Replication,
    value_sets: FxHashMap<control::ValueSetId, Vec<control::ValueSetMember>>,
}

/// The identity of an entry.
#[derive(Clone, Debug)]
struct EntryKey {
    table: TableId,
    matches: Vec<FieldMatch>,
    priority: i32,
}

impl EntryKey {
    fn entry(&self, action: Option<TableAction>) -> TableEntry {
        TableEntry { action, ..TableEntry::new(self.table, self.matches.clone(), self.priority) }
    }
}

/// A code for what the control plane finds wrong.
fn code_of(problem: &Problem) -> Code {
    match problem {
        Problem::UnknownName { .. } | Problem::UnknownMember { .. } => &codes::UNKNOWN_NAME,
        Problem::AmbiguousName { .. } => &codes::AMBIGUOUS_NAME,
        Problem::MatchKind { .. }
        | Problem::OtherMatchKind { .. }
        | Problem::PrefixTooLong { .. }
        | Problem::EmptyRange { .. }
        | Problem::NotText { .. }
        | Problem::NotBits { .. } => &codes::MATCH_KIND,
        Problem::TooWide { .. } => &codes::TOO_WIDE,
        Problem::PriorityMissing { .. } => &codes::PRIORITY,
        Problem::NoForm { .. } => &codes::UNSUPPORTED,
        _ => &codes::REFUSED,
    }
}

/// A fault of the control plane at a place of the script.
fn fault(fault: &Fault, span: Span) -> Box<Diagnostic> {
    let problem = fault.problem();
    let diagnostic = Diagnostic::new(code_of(problem), span, problem.to_string());
    Box::new(match problem {
        Problem::UnknownName { suggestion: Some(name), .. } => {
            diagnostic.fix(format!("did you mean `{name}`?"), span, name.as_str())
        }
        _ => diagnostic,
    })
}

fn error<T>(code: Code, span: Span, message: impl Into<String>, label: impl Into<String>) -> Result<T> {
    Err(Box::new(Diagnostic::new(code, span, message).label(label)))
}

impl Resolver<'_> {
    fn step(&mut self, span: Span, kind: StepKind) {
        self.plan.steps.push(Step { span, kind });
    }

    /// Adds updates as one step, if they are allowed.
    fn write(&mut self, span: Span, updates: Vec<Update>) -> Result<()> {
        for update in &updates {
            control::validate(self.schema, update).map_err(|f| fault(&f, span))?;
        }
        self.step(span, StepKind::Write(updates));
        Ok(())
    }

    fn modify(&mut self, span: Span, entity: Entity) -> Result<()> {
        self.write(span, vec![Update { kind: UpdateKind::Modify, entity }])
    }

    /// Priorities begin at 1 in P4Runtime and at 0 in scripts; only where a script uses 0 they are raised, so
    /// that elsewhere they are as people write them.
    fn find_raised_priorities(&mut self, script: &Script) {
        let (mut zeros, mut ones) = (FxHashSet::default(), FxHashSet::default());
        for command in &script.commands {
            let (table, key) = match &command.kind {
                CommandKind::Add { table, key, .. } => (table, key),
                CommandKind::Modify { table, entry: EntryRef::Key(key), .. }
                | CommandKind::Remove { table, entry: EntryRef::Key(key) } => (table, key),
                _ => continue,
            };
            let has_priority = key.priority.is_some() || !key.in_order.is_empty();
            let Some(table) = self.table(table).ok().filter(|_| has_priority) else { continue };
            let Some(priority) = values::priority_of(table, key).filter(|number| !number.has_wildcards())
            else {
                continue;
            };
            match priority.value.to_u32() {
                Some(0) => zeros.insert(table.id),
                Some(1) => ones.insert(table.id),
                _ => continue,
            };
        }
        self.raised_priorities = zeros.intersection(&ones).copied().collect();
    }

    fn command(&mut self, command: &Command) -> Result<()> {
        let span = command.span;
        match &command.kind {
            CommandKind::Packet { port, data, .. } => {
                self.step(span, StepKind::Packet { port: port.number, data: data.clone() });
            }
            // Compared when everything is over.
            CommandKind::Expect(_) | CommandKind::NoPacket { .. } => {}
            CommandKind::Wait => self.step(span, StepKind::Wait),
            CommandKind::Port { port, is_host } => {
                self.step(span, StepKind::Port { port: port.number, is_host: *is_host });
            }
            CommandKind::Clock { duration_ns } => {
                self.step(span, StepKind::AdvanceClock { duration_ns: *duration_ns });
            }
            CommandKind::CheckTable { table, count, comparison, value } => {
                let value = values::large(value, "the number")?.unsigned_abs();
                let (table, count, comparison) =
                    (self.table(table)?.names.name.to_string(), *count, *comparison);
                self.step(span, StepKind::CheckTable { table, count, comparison, value });
            }
            CommandKind::TimeoutWrite { table, profile, timeout_ns } => {
                let wide = || error(&codes::TOO_WIDE, profile.span, "there are 256 profiles", "above 255");
                let Some(profile) = profile.value.to_u8() else { return wide() };
                let (table, timeout_ns) = (self.table(table)?.names.name.to_string(), *timeout_ns);
                self.step(span, StepKind::SetProfile { table, profile, timeout_ns });
            }

            CommandKind::Add { table, key, target, handle } => {
                let (entry, places) = self.entry_key(table, key)?;
                let action = Some(self.target(table, target)?);
                self.write_entry(span, UpdateKind::Insert, entry.entry(action), &places)?;
                if let Some(handle) = handle {
                    self.handles.insert(handle.text.clone(), entry);
                }
            }
            CommandKind::Modify { table, entry, target, keeps_state } => {
                let (key, places) = self.entry_ref(table, entry)?;
                let action = match keeps_state {
                    true => self.target_keeping_state(table, target)?,
                    false => self.target(table, target)?,
                };
                let entry = TableEntry { keeps_data: *keeps_state, ..key.entry(Some(action)) };
                self.write_entry(span, UpdateKind::Modify, entry, &places)?;
            }
            CommandKind::Remove { table, entry } => {
                let (key, places) = self.entry_ref(table, entry)?;
                self.write_entry(span, UpdateKind::Delete, key.entry(None), &places)?;
            }
            CommandKind::RemoveAll => self.step(span, StepKind::RemoveAllEntries),
            CommandKind::SetDefault { table, target } => {
                let action = Some(self.target(table, target)?);
                let table = self.table(table)?.id;
                let entry = TableEntry { action, ..TableEntry::default_entry(table, None) };
                self.modify(span, Entity::TableEntry(entry))?;
            }
            CommandKind::ResetDefault { table } => {
                let table = self.table(table)?.id;
                self.modify(span, Entity::TableEntry(TableEntry::default_entry(table, None)))?;
            }

            CommandKind::MemberAdd { profile, member, action } => {
                self.member(span, UpdateKind::Insert, profile, member, Some(action))?;
            }
            CommandKind::MemberModify { profile, member, action } => {
                self.member(span, UpdateKind::Modify, profile, member, Some(action))?;
            }
            CommandKind::MemberRemove { profile, member } => {
                self.member(span, UpdateKind::Delete, profile, member, None)?;
            }
            CommandKind::GroupAdd { profile, group, members } => {
                self.group(span, UpdateKind::Insert, profile, group, members)?;
            }
            CommandKind::GroupModify { profile, group, members } => {
                self.group(span, UpdateKind::Modify, profile, group, members)?;
            }
            CommandKind::GroupRemove { profile, group } => {
                self.group(span, UpdateKind::Delete, profile, group, &[])?;
            }

            CommandKind::ValueSetAdd { value_set, matches } => {
                self.value_set_add(span, value_set, matches)?;
            }
            CommandKind::ValueSetRemove { value_set, matches } => {
                self.value_set_remove(span, value_set, matches)?;
            }
            CommandKind::ValueSetClear { value_set } => self.value_set_clear(span, value_set)?,

            CommandKind::CheckCounter { counter, cell, check }
            | CommandKind::CounterRead { counter, cell, check } => {
                self.counter_check(span, counter, cell, check.as_ref())?;
            }
            CommandKind::CheckMeter { meter, cell, check } => {
                self.meter_check(span, meter, cell, check.as_ref())?;
            }
            CommandKind::CounterWrite { counter, index, n_packets, n_bytes } => {
                self.counter_write(span, counter, index, n_packets, n_bytes)?;
            }
            CommandKind::RegisterRead { register, index, check } => {
                self.register_check(span, register, index, check.as_ref())?;
            }
            CommandKind::RegisterWrite { register, index, value } => {
                self.register_write(span, register, index, value)?;
            }
            CommandKind::RegisterReset { register } => self.register_reset(span, register)?,
            CommandKind::MeterGetRates { meter, index } => self.meter_show(span, meter, index)?,
            CommandKind::MeterSetRates { meter, index, rates } => {
                self.meter_write(span, meter, Some(index), rates)?;
            }
            CommandKind::MeterArraySetRates { meter, rates } => {
                self.meter_write(span, meter, None, rates)?;
            }

            CommandKind::MirroringAdd { session, port } => self.mirroring_add(span, session, port)?,
            CommandKind::MirroringAddMc { session, group } => self.mirroring_add_mc(span, session, group)?,
            CommandKind::MirroringDelete { session } => self.mirroring_delete(span, session)?,
            CommandKind::MirroringGet { session } => self.mirroring_get(span, session),
            CommandKind::McMgrpCreate { group } => self.group_create(span, group)?,
            CommandKind::McNodeCreate { instance, ports } => self.node_create(instance, ports),
            CommandKind::McNodeUpdate { node, ports } => self.node_update(span, node, ports)?,
            CommandKind::McNodeAssociate { group, node } => self.node_associate(span, group, node)?,
            CommandKind::McNodeDissociate { group, node } => self.node_dissociate(span, group, node)?,
            CommandKind::McNodeDestroy { node } => self.node_destroy(span, node)?,
            CommandKind::McMgrpDestroy { group } => self.group_destroy(span, group)?,

            CommandKind::ExpectDigest { digest, values } => self.digest_check(span, digest, values)?,
        }
        Ok(())
    }

    /// `places` are those of the key's matches, for pointing at them.
    fn write_entry(
        &mut self,
        span: Span,
        kind: UpdateKind,
        entry: TableEntry,
        places: &[Span],
    ) -> Result<()> {
        let update = Update { kind, entity: Entity::TableEntry(entry) };
        control::validate(self.schema, &update).map_err(|f| {
            // `match[3].exact.value`: the matches of the script come first, in order.
            let place = f.path().strip_prefix("match[").and_then(|rest| rest.split_once(']'));
            let place = place.and_then(|(i, _)| places.get(i.parse::<usize>().ok()?));
            fault(&f, place.copied().unwrap_or(span))
        })?;
        self.step(span, StepKind::Write(vec![update]));
        Ok(())
    }

    /// The entry that is meant, and the places of its matches if the script writes them.
    fn entry_ref(&mut self, table: &Name, entry: &EntryRef) -> Result<(EntryKey, Vec<Span>)> {
        match entry {
            EntryRef::Key(key) => self.entry_key(table, key),
            EntryRef::Handle(handle) => {
                let id = self.table(table)?.id;
                let key = self.handle(handle)?;
                if key.table != id {
                    let of = self.schema.name_of(key.table.0);
                    let message = format!("`${}` is an entry of table `{of}`", handle.text);
                    return error(&codes::UNKNOWN_HANDLE, handle.span, message, "of another table");
                }
                Ok((key, Vec::new()))
            }
        }
    }

    fn handle(&self, handle: &Name) -> Result<EntryKey> {
        if let Some(key) = self.handles.get(&handle.text) {
            return Ok(key.clone());
        }
        let message = format!("no entry has the handle `{}`", handle.text);
        let diagnostic = Diagnostic::new(&codes::UNKNOWN_HANDLE, handle.span, message)
            .label("not given to an entry before")
            .help(format!("write `= {}` behind the `add` of the entry", handle.text));
        let known = self.handles.keys().map(String::as_str);
        Err(Box::new(match diagnostics::suggest::nearest_word(&handle.text, known) {
            Some(meant) => diagnostic.note(format!("there is a handle `{meant}`")),
            None => diagnostic,
        }))
    }
}
