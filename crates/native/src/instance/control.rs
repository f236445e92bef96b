//! The control plane's access to the tables and objects of a compiled program.

use crate::abi::layout::{KeyLayout, Layout, ObjectKind, ObjectLayout, TableLayout, ValueLayout};
use crate::abi::ops::{Ops, RawEntry, Status};
use crate::abi::{self, record_op, status};
use crate::instance::entries::{
    colours_to, count_to, decode_action, decode_leaves, decode_matches, decode_stored_action, encode_action,
    encode_entry, encode_group, encode_key, encode_leaves, encode_matches, rates_to,
};
use crate::instance::{ConcurrentOp, ControlGuard, ControlState, Instance, number};
use control::records::{RecordField, RecordKey, RecordShape};
use control::{Code, RecordCodes, RecordLayout, RecordParts, UpdateKind};
use ir::lookup::{id_at, index};
use ir::{Action, Bits, ObjectId, TableId, Timeout, ValueSetId};
use std::sync::Arc;
use target::store::records::{record_match, write_entries};
use target::store::shape::{TableShape, TableShapes, Use};
use target::store::{
    ColourCounts, Count, DirectCells, EntryAction, Group, Matches, MeterRates, MeterType, N_CELLS_AT_ONCE,
    NewEntry, OutOfRange, Profile, RecordsRead, StoredEntry,
};
use target::store::{Origin, PacketWrites, TableUse};
use target::{EntryHandle, EntryRef, PortState, Store, TableError};

/// The control plane's side of an instance. Clones share it; operations run one at a time.
#[derive(Clone, Debug)]
pub struct Control {
    instance: Arc<Instance>,
}

/// Minimum number of new entries for which room is reserved.
const N_RESERVED_MIN: u64 = 4096;

/// Access to one table for one operation.
struct TableAccess<'a> {
    state: &'a mut ControlState,
    ops: Ops<'a>,
    layout: &'a TableLayout,
    shape: &'a TableShape,
    id: u32,
}

impl Control {
    pub fn new(instance: Arc<Instance>) -> Control {
        Control { instance }
    }

    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Members of groups that watch a port are left out while it is down.
    pub fn set_port(&self, port: u32, state: PortState) {
        let mut closed = self.instance.close();
        let (control, mut ops) = closed.parts();
        let changed = match state {
            PortState::Up => control.ports_down.remove(&port),
            PortState::Down => control.ports_down.insert(port),
        };
        if changed {
            let ports: Vec<u32> = control.ports_down.iter().copied().collect();
            // Without memory all ports count as they did.
            let _ = ops.set_ports_down(&ports);
        }
    }

    fn layout(&self) -> &Layout {
        self.instance.pipeline().layout()
    }

    fn object(&self, object: ObjectId, kind: ObjectKind) -> Option<(u32, &ObjectLayout)> {
        let layout = self.layout().objects.get(index(object)).filter(|layout| layout.kind == kind)?;
        Some((number(object), layout))
    }

    /// Lets `f` do this with a table: beside workers, if that can be.
    fn with_table<T>(
        &self,
        table: TableId,
        operation: ConcurrentOp,
        f: impl FnOnce(TableAccess<'_>) -> T,
    ) -> Option<T> {
        self.access(table, self.instance.turn_with(index(table), operation), f)
    }

    /// Lets `f` work on a table, alone.
    fn with_table_alone<T>(&self, table: TableId, f: impl FnOnce(TableAccess<'_>) -> T) -> Option<T> {
        self.access(table, self.instance.close(), f)
    }

    fn access<T>(
        &self,
        table: TableId,
        mut turn: ControlGuard<'_>,
        f: impl FnOnce(TableAccess<'_>) -> T,
    ) -> Option<T> {
        let layout = self.layout().tables.get(index(table))?;
        let (state, ops) = turn.parts();
        let shape = self.instance.table_shapes().get(index(table))?;
        Some(f(TableAccess { state, ops, layout, shape, id: index(table) as u32 }))
    }

    /// Reads what workers do not have.
    fn read_profile<T>(&self, profile: ObjectId, f: impl FnOnce(&Profile) -> T) -> Option<T> {
        let mut turn = self.instance.write();
        let (state, _) = turn.parts();
        state.profiles.get(&number(profile)).map(f)
    }

    /// Lets `f` work on an action profile, alone; members do what the entries of the first table that uses it do.
    fn with_profile<T>(
        &self,
        profile: ObjectId,
        f: impl FnOnce(ProfileAccess<'_>) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        let id = number(profile);
        let mut closed = self.instance.close();
        let (state, ops) = closed.parts();
        let layout = self.layout();
        let mut tables = self.instance.table_shapes().iter().zip(&layout.tables);
        let table = tables.find(|(shape, _)| shape.profile == Some(profile));
        let (Some((shape, table_layout)), Some(object)) = (table, layout.objects.get(id as usize)) else {
            return Err(TableError::UnknownProfile);
        };
        f(ProfileAccess { state, ops, shape, table_layout, data_bytes: object.data_bytes, id })
    }
}

struct ProfileAccess<'a> {
    state: &'a mut ControlState,
    ops: Ops<'a>,
    /// The first table that uses the profile.
    shape: &'a TableShape,
    table_layout: &'a TableLayout,
    data_bytes: usize,
    id: u32,
}

impl ProfileAccess<'_> {
    fn profile(&mut self) -> Result<&mut Profile, TableError> {
        self.state.profiles.get_mut(&self.id).ok_or(TableError::UnknownProfile)
    }

    fn check_member(&self, action: &Action) -> Result<(), TableError> {
        self.shape.check_action(action, Use::Entry)
    }

    fn data(&self, action: &Action) -> Vec<u8> {
        encode_action(self.table_layout, action, self.data_bytes)
    }

    /// The status of C as an error. The profile has agreed before, so C lacks memory.
    fn answer(&self, done: Result<(), Status>) -> Result<(), TableError> {
        done.map_err(|Status(status)| match status {
            status::IN_USE => TableError::InUse,
            _ => {
                let n = self.state.profiles.get(&self.id).map_or(0, |profile| profile.members.len());
                TableError::ProfileFull { size: n as u64 }
            }
        })
    }
}

impl TableAccess<'_> {
    fn check_action(&self, action: &EntryAction) -> Result<(), TableError> {
        let shape = self.shape;
        let profile = shape.profile.and_then(|object| self.state.profiles.get(&number(object)));
        shape.check_entry_action(action, profile)
    }

    fn find(&self, matches: &Matches, priority: i32) -> Option<RawEntry> {
        if matches.len() != self.layout.keys.len() {
            return None;
        }
        let matches = self.shape.normalise(matches);
        self.ops.table_find(self.id, &encode_key(self.layout, &matches, priority))
    }

    /// An entry that may be changed.
    fn find_own(&self, matches: &Matches, priority: i32) -> Result<RawEntry, TableError> {
        if self.shape.is_const {
            return Err(TableError::ConstTable);
        }
        let found = self.find(matches, priority).ok_or(TableError::NotFound)?;
        if found.is_const { Err(TableError::ConstEntry) } else { Ok(found) }
    }

    fn begin_use(&mut self, action: &EntryAction) {
        let profile = self.shape.profile;
        if let Some(profile) = profile.and_then(|object| self.state.profiles.get_mut(&number(object))) {
            profile.begin_use(action);
        }
    }

    fn end_use(&mut self, old: &RawEntry) {
        let action = match old.kind {
            abi::entry::MEMBER => EntryAction::Member(old.what),
            abi::entry::GROUP => EntryAction::Group(old.what),
            _ => return,
        };
        let profile = self.shape.profile;
        if let Some(profile) = profile.and_then(|object| self.state.profiles.get_mut(&number(object))) {
            profile.end_use(&action);
        }
    }

    fn error(&self, Status(status): Status) -> TableError {
        match status {
            status::EXISTS => TableError::Exists,
            status::NOT_FOUND => TableError::NotFound,
            status::IN_USE => TableError::InUse,
            // Out of memory is reported as a full table, whose size is its number of entries.
            status::NO_MEMORY => TableError::Full { size: self.ops.table_n_entries(self.id) },
            _ => TableError::Full { size: self.shape.size },
        }
    }

    /// Checks an entry and encodes it for C, which may still refuse it: table full, key exists. Returns its action, too.
    fn prepare(&self, entry: NewEntry) -> Result<(RawEntry, EntryAction), TableError> {
        self.check_action(&entry.action)?;
        let matches = self.shape.check_insert(&entry.matches, entry.priority)?;
        let entry = NewEntry { matches, ..entry };
        Ok((encode_entry(self.layout, &entry), entry.action))
    }

    fn insert(&mut self, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        let (raw, action) = self.prepare(entry)?;
        let handle = self.ops.table_insert(self.id, &raw, now_ns).map_err(|status| self.error(status))?;
        self.begin_use(&action);
        Ok(handle_of(handle))
    }

    /// Reserves room if there are many new entries: one copy of the old ones costs less than growing step by step.
    fn reserve(&mut self, n_more: u64) {
        let n_entries = self.ops.table_n_entries(self.id);
        if n_more >= N_RESERVED_MIN && n_more >= n_entries {
            let n = n_entries.saturating_add(n_more).min(self.shape.size);
            // Failure is ignored: some of the entries may still find room.
            let _ = self.ops.table_reserve(self.id, n);
        }
    }

    /// Inserts entries one after the other, see [`insert`](Self::insert).
    fn insert_many(&mut self, entries: Vec<NewEntry>, now_ns: u64) -> Vec<Result<EntryHandle, TableError>> {
        let (mut raw, mut actions) = (Vec::new(), Vec::new());
        let checked: Vec<Result<(), TableError>> = (entries.into_iter())
            .map(|entry| {
                let (entry, action) = self.prepare(entry)?;
                raw.push(entry);
                actions.push(action);
                Ok(())
            })
            .collect();
        let mut inserted = self.ops.table_insert_batch(self.id, &raw, now_ns).into_iter().zip(actions);
        let answer = |checked: Result<(), TableError>| {
            checked?;
            let (handle, action) = inserted.next().ok_or(TableError::UnknownTable)?;
            let handle = handle.map_err(|status| self.error(status))?;
            self.begin_use(&action);
            Ok(handle_of(handle))
        };
        checked.into_iter().map(answer).collect()
    }

    /// Writes records of a table whose entries have actions, and returns how many were written. `None` if they are not those of
    /// this table.
    fn write_records(
        &mut self,
        layout: &RecordLayout,
        kind: UpdateKind,
        records: &[u8],
        now_ns: u64,
        done: (&mut [u64], &mut [u8]),
    ) -> Option<usize> {
        let op = match kind {
            UpdateKind::Insert => record_op::INSERT,
            UpdateKind::Modify => record_op::MODIFY,
            UpdateKind::Delete => record_op::REMOVE,
        };
        if self.shape.is_const || self.shape.keys.is_empty() {
            return None;
        }
        self.ops.table_write_records(self.id, op, layout, records, now_ns, done).ok()
    }

    fn modify(&mut self, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        self.check_action(&entry.action)?;
        let old = self.find_own(&entry.matches, entry.priority)?;
        let matches = self.shape.normalise(&entry.matches);
        let entry = NewEntry { matches, ..entry };
        let raw = encode_entry(self.layout, &entry);
        let handle = self.ops.table_modify(self.id, &raw, now_ns).map_err(|status| self.error(status))?;
        self.begin_use(&entry.action);
        self.end_use(&old);
        Ok(handle_of(handle))
    }

    fn delete(&mut self, matches: &Matches, priority: i32) -> Result<EntryHandle, TableError> {
        let old = self.find_own(matches, priority)?;
        self.ops.table_remove(self.id, &old).map_err(|status| self.error(status))?;
        self.end_use(&old);
        Ok(handle_of(old.handle))
    }

    fn stored(&self, raw: &RawEntry) -> StoredEntry {
        StoredEntry {
            handle: handle_of(raw.handle),
            matches: decode_matches(&self.layout.keys, &raw.value, &raw.mask),
            priority: raw.priority,
            action: decode_stored_action(self.layout, raw),
            idle_timeout_ns: raw.idle_timeout_ns,
            is_const: raw.is_const,
            last_hit_ns: raw.last_hit_ns,
            profile: raw.profile,
            origin: if raw.is_of_packet { Origin::Packet } else { Origin::Control },
            direct: self.direct(raw.handle),
        }
    }

    fn direct(&self, handle: u64) -> DirectCells {
        let mut cells = DirectCells::default();
        if self.layout.has_direct_counter {
            cells.count = count_from(self.ops.direct_count(self.id, handle).unwrap_or_default());
        }
        if self.layout.has_direct_meter {
            cells.rates = rates_from(&self.ops.direct_rates(self.id, handle).unwrap_or_default());
            cells.colours = colours_from(self.ops.direct_colours(self.id, handle).unwrap_or_default());
        }
        cells
    }

    fn default_action(&self) -> Action {
        match self.ops.table_default(self.id) {
            Some((action, data)) => decode_action(self.layout, action, &data),
            None => self.shape.initial_default.clone(),
        }
    }

    fn set_default(&mut self, action: Option<Action>) -> Result<(), TableError> {
        let action = self.shape.check_default(action)?;
        let data = encode_action(self.layout, &action, self.layout.data_bytes);
        self.ops.table_set_default(self.id, action.index, &data).map_err(|status| self.error(status))
    }
}

/// The code of a status of C other than that of success.
fn code_of_status(status: u32) -> Code {
    match status {
        status::EXISTS => Code::AlreadyExists,
        status::NOT_FOUND => Code::NotFound,
        status::FULL | status::NO_MEMORY => Code::ResourceExhausted,
        status::IN_USE => Code::FailedPrecondition,
        status::CONST => Code::PermissionDenied,
        _ => Code::InvalidArgument,
    }
}

fn handle_of(serial: u64) -> EntryHandle {
    EntryHandle { serial, slot: 0 }
}

fn serial_of(entry: EntryRef) -> u64 {
    match entry {
        EntryRef::Entry(handle) => handle.serial,
        EntryRef::Default => abi::DEFAULT_ENTRY,
    }
}

fn packet_writes_from(raw: abi::PacketWrites) -> PacketWrites {
    PacketWrites {
        n_added: raw.n_added,
        n_exists: raw.n_exists,
        n_race_lost: raw.n_race_lost,
        n_full: raw.n_full,
        n_carried: raw.n_carried,
        n_expired: raw.n_expired,
        n_evicted: raw.n_evicted,
        n_deleted: raw.n_deleted,
        n_expired_control: raw.n_expired_control,
        n_notified: raw.n_notified,
        n_waiting: raw.n_waiting,
        n_entries: raw.n_entries,
    }
}

fn count_from(raw: abi::Count) -> Count {
    Count { n_packets: raw.n_packets, n_bytes: raw.n_bytes }
}

fn colours_from(raw: abi::ColourCounts) -> ColourCounts {
    let [green, yellow, red] = raw.counts.map(count_from);
    ColourCounts { green, yellow, red }
}

fn rates_from(raw: &abi::MeterRates) -> Option<MeterRates> {
    (raw.is_set != 0).then_some(MeterRates {
        meter_type: match raw.meter_type {
            abi::meter_type::SINGLE_RATE_THREE_COLOUR => MeterType::SingleRateThreeColor,
            abi::meter_type::SINGLE_RATE_TWO_COLOUR => MeterType::SingleRateTwoColor,
            _ => MeterType::TwoRateThreeColor,
        },
        committed_rate: raw.committed_rate,
        committed_burst: raw.committed_burst,
        peak_rate: raw.peak_rate,
        peak_burst: raw.peak_burst,
        excess_burst: raw.excess_burst,
    })
}

/// For an object that has no cells of the kind.
const fn no_cells(index: u64) -> OutOfRange {
    OutOfRange { index, size: 0 }
}

impl Control {
    /// Returns whether a table has entries with an idle timeout.
    pub fn has_timed_entries(&self) -> bool {
        !self.timed_tables().is_empty()
    }

    /// Returns whether some table has work for [`Store::remove_ended`]: it removes entries whose time is over, or packets write it.
    pub fn removes_ended(&self) -> bool {
        self.tables_with(Timeout::Delete).next().is_some()
            || self.layout().tables.iter().any(|layout| layout.has_profiles)
    }

    fn tables_with(&self, timeout: Timeout) -> impl Iterator<Item = TableId> + '_ {
        let shapes = self.instance.table_shapes().iter().enumerate();
        shapes.filter(move |(_, shape)| shape.timeout == timeout).map(|(table, _)| id_at(table))
    }

    /// Tables that have entries of whose timeouts the control plane wants to hear.
    fn timed_tables(&self) -> Vec<u32> {
        let mut turn = self.instance.write();
        let (_, ops) = turn.parts();
        let notifying = self.tables_with(Timeout::Notify).map(|table| index(table) as u32);
        notifying.filter(|table| ops.table_n_timed(*table) > 0).collect()
    }
}

impl Store for Control {
    fn table_uses(&self) -> Vec<TableUse> {
        let n_workers = self.instance.n_workers();
        let n_tables = self.layout().tables.len() as u32;
        let mut closed = self.instance.close();
        let (_, ops) = closed.parts();
        let of_table = |table| {
            let counts = (0..n_workers).map(|worker| ops.table_count(worker, table));
            let packets = packet_writes_from(ops.table_packet_writes(table));
            let none = TableUse { n_entries: ops.table_n_entries(table), packets, ..TableUse::default() };
            counts.fold(none, |all, count| TableUse {
                n_lookups: all.n_lookups.wrapping_add(count.n_lookups),
                n_hits: all.n_hits.wrapping_add(count.n_lookups.wrapping_sub(count.n_misses)),
                ..all
            })
        };
        (0..n_tables).map(of_table).collect()
    }

    fn table_shapes(&self) -> &TableShapes {
        self.instance.table_shapes()
    }

    fn at_once(&self, work: &mut dyn FnMut()) {
        let _hold = self.instance.hold();
        work();
    }

    fn change_at_once(&mut self, work: &mut dyn FnMut(&mut dyn Store)) {
        let instance = Arc::clone(&self.instance);
        let _hold = instance.hold();
        work(self);
    }

    fn find(&self, table: TableId, matches: &Matches, priority: i32) -> Option<EntryHandle> {
        // Workers do not change what this reads: keys and handles.
        let found = self.access(table, self.instance.write(), |table| table.find(matches, priority))?;
        found.map(|raw| handle_of(raw.handle))
    }

    fn entry(&self, table: TableId, handle: EntryHandle) -> Option<StoredEntry> {
        self.with_table(table, ConcurrentOp::Read, |table| {
            let raw = table.ops.table_get(table.id, handle.serial)?;
            Some(table.stored(&raw))
        })?
    }

    fn visit_entries_after(
        &self,
        table: TableId,
        after: Option<EntryHandle>,
        n_max: usize,
        visit: &mut dyn FnMut(StoredEntry),
    ) {
        let is_concurrent = self.instance.is_concurrent(index(table), ConcurrentOp::Read);
        let n_of_step = if is_concurrent { n_max } else { N_CELLS_AT_ONCE };
        let (mut after, mut n_left) = (after.map(|after| after.serial), n_max);
        while n_left > 0 {
            let n = n_left.min(n_of_step);
            let hold = (!is_concurrent).then(|| self.instance.hold());
            let entries = self.with_table(table, ConcurrentOp::Read, |table| {
                let raw = table.ops.table_entries(table.id, after, n);
                raw.iter().map(|raw| table.stored(raw)).collect::<Vec<_>>()
            });
            drop(hold);
            // Visitors may want something of the store themselves.
            let entries = entries.unwrap_or_default();
            if entries.len() < n {
                n_left = 0;
            } else {
                n_left -= n;
                after = entries.last().map(|entry| entry.handle.serial);
            }
            entries.into_iter().for_each(&mut *visit);
        }
    }

    fn reserve(&mut self, table: TableId, n_more: u64) {
        self.with_table(table, ConcurrentOp::Insert, |mut table| table.reserve(n_more));
    }

    fn insert(&mut self, table: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        self.with_table(table, ConcurrentOp::Insert, |mut table| table.insert(entry, now_ns))
            .ok_or(TableError::UnknownTable)?
    }

    fn insert_many(
        &mut self,
        table: TableId,
        entries: Vec<NewEntry>,
        now_ns: u64,
    ) -> Vec<Result<EntryHandle, TableError>> {
        let n = entries.len();
        let inserted =
            self.with_table(table, ConcurrentOp::Insert, |mut table| table.insert_many(entries, now_ns));
        inserted.unwrap_or_else(|| (0..n).map(|_| Err(TableError::UnknownTable)).collect())
    }

    fn modify(&mut self, table: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError> {
        self.with_table(table, ConcurrentOp::Modify, |mut table| table.modify(entry, now_ns))
            .ok_or(TableError::UnknownTable)?
    }

    fn delete(
        &mut self,
        table: TableId,
        matches: &Matches,
        priority: i32,
    ) -> Result<EntryHandle, TableError> {
        let deleted =
            self.with_table(table, ConcurrentOp::Remove, |mut table| table.delete(matches, priority));
        deleted.ok_or(TableError::UnknownTable)?
    }

    fn record_layout(&self, table: TableId, parts: RecordParts) -> Option<RecordLayout> {
        let layout = self.layout().tables.get(index(table))?;
        let field = |value: &ValueLayout| {
            let width_bits = value.width?;
            Some(RecordField { offset: value.offset, size: value.size, width_bits })
        };
        let key = |key: &KeyLayout| {
            Some(RecordKey { value: field(&key.value)?, kind: record_match(key.kind, key.is_biased)? })
        };
        let actions = layout.actions.iter().map(|action| action.params.iter().map(field).collect());
        let shape = RecordShape {
            keys: layout.keys.iter().map(key).collect::<Option<_>>()?,
            key_bytes: layout.key_bytes,
            actions: actions.collect::<Option<_>>()?,
            data_bytes: layout.data_bytes,
            has_profile: layout.profile.is_some(),
        };
        Some(RecordLayout::new(shape, parts))
    }

    fn write_records(
        &mut self,
        table: TableId,
        layout: &RecordLayout,
        kind: UpdateKind,
        records: &[u8],
        now_ns: u64,
        handles: Option<&mut Vec<EntryHandle>>,
    ) -> RecordCodes {
        // Members and groups know which entries name them.
        if layout.kind_at.is_some() {
            return write_entries(self, table, layout, kind, records, now_ns, handles);
        }
        let operation = match kind {
            UpdateKind::Insert => ConcurrentOp::Insert,
            UpdateKind::Modify => ConcurrentOp::Modify,
            UpdateKind::Delete => ConcurrentOp::Remove,
        };
        let n = records.len() / layout.record_bytes;
        let (mut serials, mut statuses) = (vec![0; n], vec![0_u8; n]);
        let written = self.with_table(table, operation, |mut table| {
            table.write_records(layout, kind, records, now_ns, (&mut serials, &mut statuses))
        });
        let n_written = written.flatten();
        if n_written.is_none() {
            statuses.fill(status::OUT_OF_RANGE as u8);
        }
        let mut done = RecordCodes::ok(n);
        // The usual case needs no look at each status.
        let statuses = if n_written == Some(n) { &[][..] } else { &statuses };
        for (i, status) in statuses.iter().enumerate().filter(|(_, status)| **status != status::OK as u8) {
            done.fail(i, code_of_status(u32::from(*status)));
        }
        if let Some(handles) = handles {
            handles.extend(serials.into_iter().map(handle_of));
        }
        done
    }

    fn read_records(
        &self,
        table: TableId,
        layout: &RecordLayout,
        after: Option<EntryHandle>,
        n_max: usize,
        read: &mut RecordsRead,
    ) -> Option<EntryHandle> {
        let has_cells = layout.count_at.is_some() || layout.rates_at.is_some();
        let is_concurrent = !has_cells || self.instance.is_concurrent(index(table), ConcurrentOp::Read);
        let n_of_step = if is_concurrent { n_max } else { N_CELLS_AT_ONCE };
        let (mut after, mut n_left) = (after.map(|after| after.serial), n_max);
        let mut serials = vec![0; n_of_step.min(n_max)];
        while n_left > 0 {
            let n = n_left.min(n_of_step);
            let at = read.records.len();
            read.records.resize(at + n * layout.record_bytes, 0);
            let turn = if is_concurrent { self.instance.write() } else { self.instance.close() };
            let found = self.access(table, turn, |table| {
                let records = &mut read.records[at..];
                table.ops.table_read_records(table.id, layout, after, records, &mut serials[..n])
            });
            let (n_read, last) = found.unwrap_or((0, after));
            read.records.truncate(at + n_read * layout.record_bytes);
            read.handles.extend(serials[..n_read].iter().copied().map(handle_of));
            if n_read < n {
                return None;
            }
            n_left -= n;
            after = last;
        }
        after.map(handle_of)
    }

    fn default_action(&self, table: TableId) -> Option<Action> {
        // Workers read it only.
        self.access(table, self.instance.write(), |table| table.default_action())
    }

    fn set_default_action(&mut self, table: TableId, action: Option<Action>) -> Result<(), TableError> {
        self.with_table_alone(table, |mut table| table.set_default(action)).ok_or(TableError::UnknownTable)?
    }

    fn direct(&self, table: TableId, entry: EntryRef) -> Option<DirectCells> {
        self.with_table(table, ConcurrentOp::Read, |table| {
            let serial = serial_of(entry);
            let exists = entry == EntryRef::Default || table.ops.table_get(table.id, serial).is_some();
            exists.then(|| table.direct(serial))
        })?
    }

    fn set_direct_count(&mut self, table: TableId, entry: EntryRef, count: Count) -> Result<(), TableError> {
        let count = count_to(count);
        let set = self.with_table_alone(table, |mut table| {
            let (id, serial) = (table.id, serial_of(entry));
            table.ops.set_direct_count(id, serial, count).map_err(|_| TableError::NotFound)
        });
        set.ok_or(TableError::NotFound)?
    }

    fn set_direct_rates(
        &mut self,
        table: TableId,
        entry: EntryRef,
        rates: Option<MeterRates>,
        now_ns: u64,
    ) -> Result<(), TableError> {
        let set = self.with_table_alone(table, |mut table| {
            let (id, serial) = (table.id, serial_of(entry));
            let rates = rates_to(rates);
            table.ops.set_direct_rates(id, serial, &rates, now_ns).map_err(|_| TableError::NotFound)
        });
        set.ok_or(TableError::NotFound)?
    }

    fn set_direct_colours(
        &mut self,
        table: TableId,
        entry: EntryRef,
        colours: ColourCounts,
    ) -> Result<(), TableError> {
        let set = self.with_table_alone(table, |mut table| {
            let (id, serial) = (table.id, serial_of(entry));
            let colours = colours_to(colours);
            table.ops.set_direct_colours(id, serial, &colours).map_err(|_| TableError::NotFound)
        });
        set.ok_or(TableError::NotFound)?
    }

    fn remove_ended(&mut self, now_ns: u64) {
        let shapes = self.instance.table_shapes().iter().zip(&self.layout().tables);
        let ending: Vec<(TableId, bool)> = (shapes.enumerate())
            .filter(|(_, (shape, layout))| shape.timeout == Timeout::Delete || layout.has_profiles)
            .map(|(table, (_, layout))| (id_at(table), layout.has_profiles))
            .collect();
        for (table, has_profiles) in ending {
            if has_profiles {
                self.with_table(table, ConcurrentOp::Expire, |mut table| {
                    table.ops.table_remove_ended(table.id, now_ns);
                });
                continue;
            }
            let ended = self.with_table(table, ConcurrentOp::Expire, |mut table| {
                let handles = table.ops.table_take_expired(table.id, now_ns);
                let entries = handles.into_iter().filter_map(|handle| table.ops.table_get(table.id, handle));
                entries.map(|raw| table.stored(&raw)).collect::<Vec<_>>()
            });
            for entry in ended.unwrap_or_default() {
                // The entry may be gone, or constant.
                let _ = self.delete(table, &entry.matches, entry.priority);
            }
        }
    }

    fn set_profile(&mut self, table: TableId, profile: u8, timeout_ns: u64) -> bool {
        let set = self.with_table(table, ConcurrentOp::Expire, |mut table| {
            let of_table = table.state.timeouts_ns.get_mut(table.id as usize);
            let timeout = of_table.and_then(|timeouts| timeouts.get_mut(usize::from(profile)));
            let is_known = timeout.is_some();
            timeout.into_iter().for_each(|timeout| *timeout = timeout_ns);
            is_known && table.ops.table_set_profile(table.id, profile, timeout_ns).is_ok()
        });
        set.unwrap_or(false)
    }

    fn profile_timeout(&self, table: TableId, profile: u8) -> Option<u64> {
        self.access(table, self.instance.write(), |table| {
            table.state.timeouts_ns.get(table.id as usize)?.get(usize::from(profile)).copied()
        })?
    }

    fn n_flow_ids(&self) -> u64 {
        let mut turn = self.instance.write();
        let (_, ops) = turn.parts();
        ops.flow_ids(0)
    }

    fn raise_flow_ids(&mut self, at_least: u64) {
        let mut turn = self.instance.write();
        let (_, ops) = turn.parts();
        ops.flow_ids(at_least);
    }

    fn take_expired(&mut self, now_ns: u64) -> Vec<(TableId, EntryHandle)> {
        let timed = self.timed_tables();
        if timed.is_empty() {
            return Vec::new();
        }
        let are_concurrent =
            timed.iter().all(|table| self.instance.is_concurrent(*table as usize, ConcurrentOp::Expire));
        let mut turn = if are_concurrent { self.instance.write() } else { self.instance.close() };
        let (_, mut ops) = turn.parts();
        let mut expired = Vec::new();
        for table in timed {
            let handles = ops.table_take_expired(table, now_ns);
            expired.extend(handles.into_iter().map(|serial| (id_at(table as usize), handle_of(serial))));
        }
        expired
    }

    fn visit_members(&self, profile: ObjectId, visit: &mut dyn FnMut(u32, Action)) {
        let members = self.read_profile(profile, |profile| profile.members.clone());
        members.unwrap_or_default().into_iter().for_each(|(id, action)| visit(id, action));
    }

    fn insert_member(&mut self, profile: ObjectId, id: u32, action: Action) -> Result<(), TableError> {
        self.with_profile(profile, |mut access| {
            access.check_member(&action)?;
            access.profile()?.check_insert_member(id)?;
            let data = access.data(&action);
            let done = access.ops.member_insert(access.id, id, action.index, &data);
            access.answer(done)?;
            access.profile()?.insert_member(id, action)
        })
    }

    fn modify_member(&mut self, profile: ObjectId, id: u32, action: Action) -> Result<(), TableError> {
        self.with_profile(profile, |mut access| {
            access.check_member(&action)?;
            if !access.profile()?.members.contains_key(&id) {
                return Err(TableError::UnknownMember(id));
            }
            let data = access.data(&action);
            let done = access.ops.member_modify(access.id, id, action.index, &data);
            access.answer(done)?;
            access.profile()?.modify_member(id, action)
        })
    }

    fn delete_member(&mut self, profile: ObjectId, id: u32) -> Result<(), TableError> {
        self.with_profile(profile, |mut access| {
            access.profile()?.check_delete_member(id)?;
            let done = access.ops.member_remove(access.id, id);
            access.answer(done)?;
            access.profile()?.delete_member(id)
        })
    }

    fn visit_groups(&self, profile: ObjectId, visit: &mut dyn FnMut(u32, Group)) {
        let groups = self.read_profile(profile, |profile| profile.groups.clone());
        groups.unwrap_or_default().into_iter().for_each(|(id, group)| visit(id, group));
    }

    fn insert_group(&mut self, profile: ObjectId, id: u32, group: Group) -> Result<(), TableError> {
        self.with_profile(profile, |mut access| {
            access.profile()?.check_insert_group(id, &group)?;
            let done = access.ops.group_set(access.id, id, &encode_group(&group));
            access.answer(done)?;
            access.profile()?.insert_group(id, group)
        })
    }

    fn modify_group(&mut self, profile: ObjectId, id: u32, group: Group) -> Result<(), TableError> {
        self.with_profile(profile, |mut access| {
            access.profile()?.check_modify_group(id, &group)?;
            let done = access.ops.group_set(access.id, id, &encode_group(&group));
            access.answer(done)?;
            access.profile()?.modify_group(id, group)
        })
    }

    fn delete_group(&mut self, profile: ObjectId, id: u32) -> Result<(), TableError> {
        self.with_profile(profile, |mut access| {
            access.profile()?.check_delete_group(id)?;
            let done = access.ops.group_remove(access.id, id);
            access.answer(done)?;
            access.profile()?.delete_group(id)
        })
    }

    fn value_set(&self, id: ValueSetId) -> Vec<Matches> {
        let Some(layout) = self.layout().value_sets.get(index(id)) else { return Vec::new() };
        // Workers read it only.
        let mut turn = self.instance.write();
        let (_, ops) = turn.parts();
        let (values, masks, n) = ops.value_set_read(index(id) as u32);
        let member = |i: usize| {
            let range = i * layout.key_bytes..(i + 1) * layout.key_bytes;
            let (values, masks) = (values.get(range.clone()), masks.get(range));
            decode_matches(&layout.fields, values.unwrap_or_default(), masks.unwrap_or_default())
        };
        (0..n as usize).map(member).collect()
    }

    fn set_value_set(&mut self, id: ValueSetId, members: Vec<Matches>) -> Result<(), TableError> {
        let layout = self.layout().value_sets.get(index(id)).ok_or(TableError::UnknownValueSet)?;
        let mut closed = self.instance.close();
        let (state, mut ops) = closed.parts();
        let shape = state.value_sets.get(index(id)).ok_or(TableError::UnknownValueSet)?;
        let members = shape.check(members)?;
        let encoded: Vec<_> =
            members.iter().map(|member| encode_matches(&layout.fields, layout.key_bytes, member)).collect();
        let (values, masks): (Vec<_>, Vec<_>) = encoded.into_iter().unzip();
        let n = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let written = ops.value_set_write(index(id) as u32, &values.concat(), &masks.concat(), n);
        written.map_err(|_| TableError::ValueSetFull { size: layout.size })
    }

    fn n_cells(&self, object: ObjectId) -> u64 {
        match self.layout().objects.get(index(object)) {
            Some(ObjectLayout {
                kind: ObjectKind::Counter | ObjectKind::Meter | ObjectKind::Register,
                size,
                ..
            }) => *size,
            Some(_) | None => 0,
        }
    }

    fn count(&self, counter: ObjectId, index: u64) -> Result<Count, OutOfRange> {
        let (id, layout) = self.object(counter, ObjectKind::Counter).ok_or(no_cells(index))?;
        let mut closed = self.instance.close();
        let (_, ops) = closed.parts();
        let count = ops.counter_read(id, in_range(index, layout)?);
        Ok(count_from(count.map_err(|_| OutOfRange { index, size: layout.size })?))
    }

    fn set_count(&mut self, counter: ObjectId, index: Option<u64>, count: Count) -> Result<(), OutOfRange> {
        let at = index.unwrap_or(0);
        let (id, layout) = self.object(counter, ObjectKind::Counter).ok_or(no_cells(at))?;
        let cell = cell(index, layout)?;
        let mut closed = self.instance.close();
        let (_, mut ops) = closed.parts();
        ops.counter_write(id, cell, count_to(count)).map_err(|_| OutOfRange { index: at, size: layout.size })
    }

    fn rates(&self, meter: ObjectId, index: u64) -> Result<Option<MeterRates>, OutOfRange> {
        let (id, layout) = self.object(meter, ObjectKind::Meter).ok_or(no_cells(index))?;
        let mut closed = self.instance.close();
        let (_, ops) = closed.parts();
        let rates = ops.meter_read(id, in_range(index, layout)?);
        Ok(rates_from(&rates.map_err(|_| OutOfRange { index, size: layout.size })?))
    }

    fn set_rates(
        &mut self,
        meter: ObjectId,
        index: Option<u64>,
        rates: Option<MeterRates>,
        now_ns: u64,
    ) -> Result<(), OutOfRange> {
        let at = index.unwrap_or(0);
        let (id, layout) = self.object(meter, ObjectKind::Meter).ok_or(no_cells(at))?;
        let cell = cell(index, layout)?;
        let mut closed = self.instance.close();
        let (_, mut ops) = closed.parts();
        let written = ops.meter_write(id, cell, &rates_to(rates), now_ns);
        written.map_err(|_| OutOfRange { index: at, size: layout.size })
    }

    fn colours(&self, meter: ObjectId, index: u64) -> Result<ColourCounts, OutOfRange> {
        let (id, layout) = self.object(meter, ObjectKind::Meter).ok_or(no_cells(index))?;
        let mut closed = self.instance.close();
        let (_, ops) = closed.parts();
        let colours = ops.meter_read_colours(id, in_range(index, layout)?);
        Ok(colours_from(colours.map_err(|_| OutOfRange { index, size: layout.size })?))
    }

    fn set_colours(
        &mut self,
        meter: ObjectId,
        index: Option<u64>,
        colours: ColourCounts,
    ) -> Result<(), OutOfRange> {
        let at = index.unwrap_or(0);
        let (id, layout) = self.object(meter, ObjectKind::Meter).ok_or(no_cells(at))?;
        let cell = cell(index, layout)?;
        let mut closed = self.instance.close();
        let (_, mut ops) = closed.parts();
        let written = ops.meter_write_colours(id, cell, &colours_to(colours));
        written.map_err(|_| OutOfRange { index: at, size: layout.size })
    }

    fn register(&self, register: ObjectId, index: u64) -> Result<Vec<Bits>, OutOfRange> {
        let (id, layout) = self.object(register, ObjectKind::Register).ok_or(no_cells(index))?;
        let mut closed = self.instance.close();
        let (_, ops) = closed.parts();
        let cell = ops.register_read(id, in_range(index, layout)?);
        let cell = cell.map_err(|_| OutOfRange { index, size: layout.size })?;
        Ok(decode_leaves(&layout.leaves, &cell))
    }

    fn set_register(
        &mut self,
        register: ObjectId,
        index: Option<u64>,
        leaves: &[Bits],
    ) -> Result<(), OutOfRange> {
        let at = index.unwrap_or(0);
        let (id, layout) = self.object(register, ObjectKind::Register).ok_or(no_cells(at))?;
        let to = cell(index, layout)?;
        let mut closed = self.instance.close();
        let (_, mut ops) = closed.parts();
        let out_of_range = |_| OutOfRange { index: at, size: layout.size };
        // Missing leaves keep what they held.
        let mut bytes = ops.register_read(id, at).map_err(out_of_range)?;
        encode_leaves(&layout.leaves, leaves, &mut bytes);
        ops.register_write(id, to, &bytes).map_err(out_of_range)
    }
}

/// The number that no cell has means all of them to C.
fn in_range(index: u64, layout: &ObjectLayout) -> Result<u64, OutOfRange> {
    if index < layout.size { Ok(index) } else { Err(OutOfRange { index, size: layout.size }) }
}

fn cell(index: Option<u64>, layout: &ObjectLayout) -> Result<u64, OutOfRange> {
    index.map_or(Ok(abi::ALL_CELLS), |index| in_range(index, layout))
}
