//! The calls themselves, one by one.

use super::hash::{HashAlgorithm, hash_on, pack, within};
use super::objects::OutOfRange;
use super::{CloneKind, CloneRequest, DigestMessage, Externs, ObjectState, Preserve, checksum, unit_of};
use crate::exec::{Access, ExternEnd, ExternHost, LookedUp, StopReason};
use crate::load::{ExternArg, ExternCall, Slot};
use crate::meter::Colour;
use crate::table::EntryRef;
use arch::{DirectObjects, ExternOp, FieldRole, Unit};
use ir::{Action, Added, Bits, DataUpdate, Step};

impl ExternHost for Externs {
    fn call(&mut self, call: &ExternCall, access: &mut Access<'_>) -> ExternEnd {
        let end = self.dispatch(call, access);
        access.notes.append(&mut self.notes);
        end
    }

    fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    fn looked_up(&mut self, looked_up: LookedUp<'_>) {
        self.count_lookup(looked_up);
    }
}

impl Externs {
    fn dispatch(&mut self, call: &ExternCall, access: &mut Access<'_>) -> ExternEnd {
        match call.op {
            ExternOp::CounterCount | ExternOp::CounterAdd => self.count(call, access),
            ExternOp::DirectCounterCount => self.count_direct(call, access),
            ExternOp::DirectMeterExecute => {
                let colour = self.execute_direct(call, access);
                set_colour(access, 0, colour);
            }
            ExternOp::MeterExecute => {
                let index = access.number(0).unwrap_or(0);
                let n_bytes = access.number(3).unwrap_or(access.packet.bytes.len() as u64);
                let (before, now_ns) = (Colour::of_number(access.number(2)), access.now_ns);
                let meters = call.object.and_then(|id| self.meters(id));
                let marked = meters.map(|meters| meters.execute(index, before, n_bytes, now_ns));
                let colour = self.in_range(call, marked).unwrap_or_default();
                set_colour(access, 1, colour);
            }
            ExternOp::DirectMeterRead => {
                // The meter belongs to one table, whichever action reads it.
                let tables = &access.exe.program.tables;
                let owner =
                    tables.iter().find(|(_, t)| call.object.is_some() && t.direct_meter == call.object);
                let colour = owner.and_then(|(table, _)| self.colours.get(&table)).copied();
                set_colour(access, 0, colour.unwrap_or_default());
            }
            ExternOp::RegisterRead => {
                let value = self.register_value(call, access.number(1));
                access.set(0, &value);
            }
            ExternOp::RegisterGet => {
                let value = self.register_value(call, access.number(0));
                access.set_result(value.first().unwrap_or(&Bits::zero(0)));
            }
            ExternOp::RegisterWrite => {
                let (index, value) = (access.number(0).unwrap_or(0), access.values(1));
                let register = call.object.and_then(|id| self.register(id));
                let written = register.map(|register| register.set(index, &value));
                self.in_range(call, written);
            }
            ExternOp::Random => {
                let (low, high) = (access.number(1).unwrap_or(0), access.number(2).unwrap_or(0));
                let value = self.random.within(low, high);
                access.set(0, &[Bits::new(64, u128::from(value))]);
            }
            ExternOp::Hash => {
                let hash = self.hash_values(self.algorithm(access, 1), &access.values(3), &[]).unwrap_or(0);
                let value = within(access.number(2).unwrap_or(0), hash, access.number(4).unwrap_or(0));
                access.set(0, &[Bits::new(64, u128::from(value))]);
            }
            ExternOp::HashRaw => {
                let hash = self.hash_values(self.algorithm(access, 1), &access.values(2), &[]).unwrap_or(0);
                access.set(0, &[Bits::new(64, u128::from(hash))]);
            }
            ExternOp::HashContinue => {
                let (before, data) = (access.number(2).unwrap_or(0), access.values(3));
                let hash = match self.algorithm(access, 1) {
                    Some(algorithm) => hash_on(algorithm, &self.hash_parameters, before, &pack(&data)),
                    None => 0,
                };
                access.set(0, &[Bits::new(64, u128::from(hash))]);
            }
            ExternOp::VerifyChecksum => self.verify(access, false),
            ExternOp::VerifyChecksumWithPayload => self.verify(access, true),
            ExternOp::UpdateChecksum => self.update(access, false),
            ExternOp::UpdateChecksumWithPayload => self.update(access, true),
            ExternOp::Checksum16Get => {
                let sum = checksum::internet(&pack(&access.values(0)));
                access.set_result(&Bits::new(16, u128::from(sum)));
            }
            ExternOp::MarkToDrop => self.mark_to_drop(call, access),
            ExternOp::MarkToPass => self.requests.drop = Some(false),
            ExternOp::Clone | ExternOp::CloneWithData => self.clone_packet(access, Preserve::Nothing),
            ExternOp::ClonePreservingFieldList => {
                let list = field_list(access, 2);
                self.clone_packet(access, list);
            }
            ExternOp::ResubmitWithData => self.requests.resubmit = Some(Preserve::Nothing),
            ExternOp::ResubmitPreservingFieldList => self.requests.resubmit = Some(field_list(access, 0)),
            ExternOp::RecirculateWithData => self.requests.recirculate = Some(Preserve::Nothing),
            ExternOp::RecirculatePreservingFieldList => {
                self.requests.recirculate = Some(field_list(access, 0));
            }
            ExternOp::Truncate => {
                let n = access.number(0).map_or(u32::MAX, small);
                let min = access.exe.program.architecture.truncate_min_bytes;
                self.requests.truncate_bytes = Some(n.max(min));
            }
            ExternOp::Digest => self.requests.digests.push(DigestMessage {
                name: call.name.clone(),
                receiver: access.number(0).unwrap_or(0),
                values: access.values(1),
            }),
            ExternOp::Assert if !is_true(access, 0) => return ExternEnd::Stop(StopReason::AssertionFailed),
            ExternOp::Assume if !is_true(access, 0) => {
                return ExternEnd::Stop(StopReason::Extern("assumption_failed".into()));
            }
            ExternOp::Assert | ExternOp::Assume => {}
            ExternOp::LogMessage => {
                let text = target::format_message(access.text(0).unwrap_or(""), &access.values(1));
                self.note(text);
            }
            ExternOp::TimeNanoseconds => {
                access.set_result(&Bits::new(64, u128::from(access.now_ns)));
            }
            ExternOp::ChecksumReplace2 => {
                let [sum, old, new] = [0, 1, 2].map(|i| access.number(i).unwrap_or(0));
                let sum = checksum::replace2(sum as u16, old as u16, new as u16);
                access.set_result(&Bits::new(16, u128::from(sum)));
            }
            ExternOp::ChecksumReplace4 => {
                let [sum, old, new] = [0, 1, 2].map(|i| access.number(i).unwrap_or(0));
                let sum = checksum::replace4(sum as u16, old as u32, new as u32);
                access.set_result(&Bits::new(16, u128::from(sum)));
            }
            ExternOp::Ipv4Checksum => {
                let sum = ipv4_checksum(access, call.args.len());
                access.set_result(&Bits::new(16, u128::from(sum)));
            }
            // The event has no reader; the kernel's helper returns 0 on success.
            ExternOp::PerfEventOutput => access.set_result(&Bits::zero(32)),
            ExternOp::AddEntry => {
                let added = add_entry(access);
                access.set_result(&Bits::new(Added::BITS, u128::from(added.number())));
            }
            ExternOp::SetTimer => set_timer(access),
            ExternOp::StoreData => store_data(access),
            ExternOp::UpdateData => update_data(access, call),
            ExternOp::AllocateFlowId => {
                self.n_flow_ids += 1;
                // After the last number comes 0, which stays.
                let id = u32::try_from(self.n_flow_ids).unwrap_or(0);
                access.set_result(&Bits::new(32, u128::from(id)));
            }
            ExternOp::User
            | ExternOp::AddEntryIf
            | ExternOp::RestartTimer
            | ExternOp::SetTimerIf
            | ExternOp::UpdateTimer
            | ExternOp::DirectRegisterRead
            | ExternOp::DirectRegisterWrite
            | ExternOp::SelectByDirection
            | ExternOp::IsNetPort
            | ExternOp::IsHostPort
            | ExternOp::HashOfObject
            | ExternOp::RandomOfObject
            | ExternOp::ChecksumClear
            | ExternOp::ChecksumAdd
            | ExternOp::ChecksumSubtract
            | ExternOp::ChecksumGet
            | ExternOp::ChecksumGetState
            | ExternOp::ChecksumSetState
            | ExternOp::MeterColour
            | ExternOp::DirectMeterColour
            | ExternOp::DigestOfObject => {
                return self.call_user(call, access);
            }
            // Here packets run one after the other.
            ExternOp::AsyncBegin | ExternOp::AsyncEnd | ExternOp::AtomicBegin | ExternOp::AtomicEnd => {}
            ExternOp::EmitBegin => access.packet.emitted.clear(),
            ExternOp::Rebuild => access.packet.rebuild(),
            ExternOp::Rewind => access.packet.cursor_bits = 0,
        }
        ExternEnd::Next
    }

    /// The result of an access to an array; `None`, with a note, beyond its end.
    fn in_range<T>(&mut self, call: &ExternCall, done: Option<Result<T, OutOfRange>>) -> Option<T> {
        match done? {
            Ok(value) => Some(value),
            Err(error) => {
                self.note(note::out_of_range(call, &error));
                None
            }
        }
    }

    fn count(&mut self, call: &ExternCall, access: &Access<'_>) {
        let index = access.number(0).unwrap_or(0);
        let (n_packets, n_bytes) = match call.op {
            ExternOp::CounterAdd => (access.number(1).unwrap_or(0), 0),
            _ => (1, access.number(1).unwrap_or(access.packet.bytes.len() as u64)),
        };
        let counters = call.object.and_then(|id| self.counters(id));
        let counted = counters.map(|counters| counters.count(index, n_packets, n_bytes));
        self.in_range(call, counted);
    }

    /// The algorithm that an argument names, by its member or its number.
    fn algorithm(&self, access: &Access<'_>, arg: usize) -> Option<HashAlgorithm> {
        match access.text(arg) {
            Some(name) => HashAlgorithm::of_member(name),
            None => self.algorithm_of(access.number(arg)?),
        }
    }

    /// Counts for the entry whose action runs, where the architecture does not count every hit.
    fn count_direct(&mut self, call: &ExternCall, access: &mut Access<'_>) {
        let program = &access.exe.program;
        if program.architecture.table_properties.direct_objects == DirectObjects::OnHit {
            return;
        }
        let n_bytes = access.number(0).unwrap_or(access.packet.bytes.len() as u64);
        let Some((table, entry)) = access.entry else { return };
        let counter = program.tables[table].direct_counter.filter(|counter| Some(*counter) == call.object);
        let object = program.objects.iter().find(|(id, _)| Some(*id) == counter).map(|(_, object)| object);
        let unit = object.and_then(|object| unit_of(access.exe, object)).unwrap_or(Unit::PacketsAndBytes);
        if let Some(direct) = access.tables.direct(table, entry).filter(|_| counter.is_some()) {
            direct.count(unit, n_bytes);
        }
    }

    /// Meters for the entry whose action runs.
    fn execute_direct(&mut self, call: &ExternCall, access: &mut Access<'_>) -> Colour {
        let before = Colour::of_number(access.number(1));
        let n_bytes = access.number(2).unwrap_or(access.packet.bytes.len() as u64);
        let Some((table, entry)) = access.entry else { return Colour::Green };
        let program = &access.exe.program;
        let meter = program.tables[table].direct_meter.filter(|meter| Some(*meter) == call.object);
        let object = program.objects.iter().find(|(id, _)| Some(*id) == meter).map(|(_, object)| object);
        let unit = object.and_then(|object| unit_of(access.exe, object)).unwrap_or(Unit::Packets);
        let direct = access.tables.direct(table, entry).filter(|_| meter.is_some());
        direct.map_or(Colour::Green, |direct| direct.meter.execute(before, unit, n_bytes, access.now_ns))
    }

    fn register_value(&mut self, call: &ExternCall, index: Option<u64>) -> Vec<Bits> {
        let register = call.object.and_then(|id| self.register(id));
        let n_leaves_max = 1 << 10;
        let read = register.map(|register| register.get(index.unwrap_or(0)).map(<[Bits]>::to_vec));
        self.in_range(call, read).unwrap_or_else(|| vec![Bits::zero(0); n_leaves_max])
    }

    fn checksum(&mut self, access: &Access<'_>, with_payload: bool) -> Option<u64> {
        let payload = if with_payload { access.packet.payload() } else { &[] };
        self.hash_values(self.algorithm(access, 3), &access.values(1), payload)
    }

    fn verify(&mut self, access: &mut Access<'_>, with_payload: bool) {
        if !is_true(access, 0) {
            return;
        }
        let Some(sum) = self.checksum(access, with_payload) else { return };
        let found = access.value(2).cloned().unwrap_or(Bits::zero(0));
        if Bits::new(64, u128::from(sum)).resize(found.width()) != found {
            access.set_field(FieldRole::ChecksumError, 1);
            self.notes.push(note::wrong_checksum(sum, &found));
        }
    }

    fn update(&mut self, access: &mut Access<'_>, with_payload: bool) {
        if !is_true(access, 0) {
            return;
        }
        let Some(sum) = self.checksum(access, with_payload) else { return };
        access.set(2, &[Bits::new(64, u128::from(sum))]);
    }

    fn mark_to_drop(&mut self, call: &ExternCall, access: &mut Access<'_>) {
        let Some(drop_port) = self.drop_port else {
            self.requests.drop = Some(true);
            return;
        };
        for (role, value) in [(FieldRole::EgressSpec, drop_port), (FieldRole::MulticastGroup, 0)] {
            let slot = match call.args.first() {
                Some(ExternArg::Ref { range, .. }) => field_offset(access, role).map(|at| range.first + at),
                _ => access.exe.field(role),
            };
            if let Some(slot) = slot {
                let width = access.packet.frame.get(slot).width();
                access.packet.frame.set(slot, Bits::new(width, u128::from(value)));
            }
        }
    }

    fn clone_packet(&mut self, access: &Access<'_>, preserve: Preserve) {
        let kind = access.number(0).and_then(|n| self.clone_kinds.get(usize::try_from(n).ok()?)).copied();
        self.requests.clone = Some(CloneRequest {
            kind: kind.unwrap_or(CloneKind::Ingress),
            session: access.number(1).map_or(0, small),
            preserve,
        });
    }

    fn call_user(&mut self, call: &ExternCall, access: &mut Access<'_>) -> ExternEnd {
        match self.user.get_mut(&call.name) {
            Some(function) => function(access),
            None => {
                self.note(note::not_supplied(call));
                ExternEnd::Stop(StopReason::Extern("extern_not_supplied".into()))
            }
        }
    }
}

/// The texts of notes about calls.
mod note {
    use super::{Bits, ExternCall, OutOfRange};

    pub(super) fn out_of_range(call: &ExternCall, error: &OutOfRange) -> String {
        format!("{}: {error}: no effect", call.name)
    }

    pub(super) fn wrong_checksum(sum: u64, found: &Bits) -> String {
        format!("the checksum should be {sum:#x}, but is {found:#x}")
    }

    pub(super) fn not_supplied(call: &ExternCall) -> String {
        format!("extern `{}` is called, but nobody supplies it", call.name)
    }
}

impl Externs {
    /// The notes of a call that another backend has made. `args` are the values of its arguments before the call, `payload`
    /// the bytes that the parser has not read.
    pub(crate) fn notes_of(
        &mut self,
        call: &ExternCall,
        args: &[Vec<Bits>],
        payload: &[u8],
        is_supplied: bool,
    ) -> Vec<String> {
        let value = |arg: usize| args.get(arg).and_then(|values| values.first());
        let number = |arg: usize| value(arg).map_or(0, |v| v.to_u64().unwrap_or(u64::MAX));
        let size = match call.object.and_then(|id| self.object(id)) {
            Some(ObjectState::Counter(array)) => Some(array.size),
            Some(ObjectState::Meter(array)) => Some(array.size),
            Some(ObjectState::Register(array)) => Some(array.size),
            Some(ObjectState::Other) | None => None,
        };
        let index = match call.op {
            ExternOp::CounterCount
            | ExternOp::CounterAdd
            | ExternOp::MeterExecute
            | ExternOp::RegisterGet
            | ExternOp::RegisterWrite => Some(number(0)),
            ExternOp::RegisterRead => Some(number(1)),
            _ => None,
        };
        let checksum = match call.op {
            ExternOp::VerifyChecksum => Some(&[][..]),
            ExternOp::VerifyChecksumWithPayload => Some(payload),
            _ => None,
        };
        let note = if let (Some(index), Some(size)) = (index, size) {
            (index >= size).then(|| note::out_of_range(call, &OutOfRange { index, size }))
        } else if let Some(payload) = checksum.filter(|_| value(0).is_some_and(Bits::is_true)) {
            let values = args.get(1).map(Vec::as_slice).unwrap_or_default();
            let found = value(2).cloned().unwrap_or(Bits::zero(0));
            let algorithm = value(3).and_then(|_| self.algorithm_of(number(3)));
            let sum = self.hash_values(algorithm, values, payload);
            sum.filter(|sum| Bits::new(64, u128::from(*sum)).resize(found.width()) != found)
                .map(|sum| note::wrong_checksum(sum, &found))
        } else {
            match (call.op, call.args.first()) {
                (ExternOp::LogMessage, Some(ExternArg::Str(text))) => {
                    Some(target::format_message(text, args.get(1).map(Vec::as_slice).unwrap_or_default()))
                }
                (ExternOp::User, _) if !is_supplied => Some(note::not_supplied(call)),
                _ => None,
            }
        };
        note.into_iter().collect()
    }
}

/// Adds the entry that a packet asks for after a miss.
fn add_entry(access: &mut Access<'_>) -> Added {
    if !is_true(access, 3) {
        return Added::NotAsked;
    }
    let (Some((table, Some(index))), Some(missed)) = (access.table(0), access.missed) else {
        return Added::Exists;
    };
    // An action of an entry adds none: the key has one.
    if missed.table != table || access.entry_of(table) != Some(EntryRef::Default) {
        return Added::Exists;
    }
    let profile = access.number(2).and_then(|profile| u8::try_from(profile).ok()).unwrap_or(0);
    let action = Action { index, data: access.values(1) };
    access.tables.add_on_miss(table, &missed.keys, action, profile, access.now_ns).unwrap_or(Added::Full)
}

/// Changes a value in the data of the entry whose action runs.
fn store_data(access: &mut Access<'_>) {
    let (Some((table, _)), Some(leaf)) = (access.table(0), access.number(1)) else { return };
    if let (Some(entry), Some(value)) = (access.entry_of(table), access.value(2).cloned())
        && let Some(stored) = access.tables.data(table, entry, leaf as usize)
    {
        *stored = value;
    }
}

fn update_data(access: &mut Access<'_>, call: &ExternCall) {
    let (Some((table, _)), Some(leaf)) = (access.table(0), access.number(1)) else { return };
    let update = match call.args.get(2) {
        Some(ExternArg::Str(word)) => DataUpdate::from_word(word),
        _ => None,
    };
    let (Some(entry), Some(update), Some(operand)) =
        (access.entry_of(table), update, access.value(3).cloned())
    else {
        return;
    };
    if let Some(stored) = access.tables.data(table, entry, leaf as usize) {
        *stored = update.apply(stored, &operand);
        let new = stored.clone();
        access.set_result(&new);
    }
}

fn set_timer(access: &mut Access<'_>) {
    let Some((table, _)) = access.table(0).filter(|_| is_true(access, 1)) else { return };
    let profile = access.number(3).and_then(|profile| u8::try_from(profile).ok());
    if let Some(entry) = access.entry_of(table) {
        access.tables.restart(table, entry, profile.filter(|_| is_true(access, 2)), access.now_ns);
    }
}

fn is_true(access: &Access<'_>, arg: usize) -> bool {
    access.value(arg).is_some_and(Bits::is_true)
}

fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn set_colour(access: &mut Access<'_>, arg: usize, colour: Colour) {
    access.set(arg, &[Bits::new(2, colour as u128)]);
}

fn field_list(access: &Access<'_>, arg: usize) -> Preserve {
    Preserve::FieldList(access.number(arg).map_or(0, small))
}

/// The offset of a field of the architecture's metadata from the beginning of its struct.
fn field_offset(access: &Access<'_>, role: FieldRole) -> Option<Slot> {
    let place = access.exe.program.field(role)?;
    match place.path.as_slice() {
        [Step::Field(_)] => access.exe.field(role)?.checked_sub(access.exe.variable(place.var).first),
        _ => None,
    }
}

/// The checksum of an IPv4 header. The arguments are its fields in order, without the checksum, which counts as zero.
fn ipv4_checksum(access: &Access<'_>, n_args: usize) -> u16 {
    /// Fields before the checksum: version to protocol.
    const N_BEFORE: usize = 9;
    let mut values: Vec<Bits> = (0..n_args).filter_map(|arg| access.value(arg).cloned()).collect();
    values.insert(N_BEFORE.min(values.len()), Bits::zero(16));
    checksum::internet(&pack(&values))
}
