//! Calls of a program's control operations: lengths and indices checked, answers copied.
//!
//! Every method needs exclusive control access, which an [`Ops`] proves
//! ([`ControlGuard`](crate::instance::ControlGuard)). Methods also need that no worker is within a burst, unless they say
//! otherwise.

use crate::abi::layout::Layout;
use crate::abi::{self, status};
use crate::toolchain::load::Functions;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

/// Reason why an operation failed: a value of `enum sd_status` other than `SD_OK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u32);

type Done<T> = Result<T, Status>;

fn done(status: u32) -> Done<()> {
    if status == status::OK { Ok(()) } else { Err(Status(status)) }
}

/// Maximum number of entries passed in one call; fits C's `uint32_t`.
const N_IN_BATCH: usize = 1 << 20;

const NOT_FOUND: Status = Status(status::NOT_FOUND);

/// An entry in the encoding of the compiled program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawEntry {
    pub(crate) handle: u64,
    /// Key bytes; `value` and `mask` have the table's key size.
    pub(crate) value: Vec<u8>,
    pub(crate) mask: Vec<u8>,
    pub(crate) priority: i32,
    /// `SD_ENTRY_*`
    pub(crate) kind: u32,
    /// Index of the action, or number of the member or group.
    pub(crate) what: u32,
    pub(crate) is_const: bool,
    /// Action data, of the table's data size; only for entries with an action.
    pub(crate) data: Vec<u8>,
    /// The one-shot to write; `None` in entries that were read.
    pub(crate) one_shot: Option<Box<RawOneShot>>,
    /// Values for the direct cells; `None` in tables without any, and in entries that were read.
    pub(crate) cells: Option<Box<RawCells>>,
    pub(crate) idle_timeout_ns: u64,
    pub(crate) last_hit_ns: u64,
    /// In entries that were read, or that come from another program: a packet has added it; the profile of its timeout.
    pub(crate) is_of_packet: bool,
    pub(crate) profile: Option<u8>,
}

/// Values of the direct counter and the direct meter of an entry, see `sd_entry_view`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawCells {
    pub(crate) count: Option<abi::Count>,
    pub(crate) rates: Option<abi::MeterRates>,
    pub(crate) colours: Option<abi::ColourCounts>,
}

/// A one-shot as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawOneShot {
    /// The choices, then the group action if there is one.
    pub(crate) actions: Vec<RawChoice>,
    pub(crate) has_group_action: bool,
    pub(crate) is_random: bool,
}

impl RawEntry {
    fn actions(&self) -> &[RawChoice] {
        self.one_shot.as_deref().map_or(&[], |one_shot| &one_shot.actions)
    }
}

/// An alternative of a group or a one-shot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawChoice {
    pub(crate) member_or_action: u32,
    pub(crate) weight: u32,
    pub(crate) watch_port: u32,
    /// Action data of a one-shot's choice; empty for members.
    pub(crate) data: Vec<u8>,
}

/// Epoch words that a worker shares with the runtime, see `rt/worker/sd_epoch.h`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpochWords {
    pub(crate) seen: NonNull<AtomicU64>,
    /// The instance's epoch, shared by all workers.
    pub(crate) epoch: NonNull<AtomicU64>,
}

/// Exclusive control access to an instance.
pub(crate) struct Ops<'a> {
    raw: *mut abi::Instance,
    control: &'a abi::ControlOps,
    worker: unsafe extern "C" fn(*mut abi::Instance, u32) -> *mut abi::PipelineWorker,
    layout: &'a Layout,
    alone: PhantomData<&'a mut ()>,
}

impl<'a> Ops<'a> {
    /// `raw` was created by these functions and lives for `'a`. During `'a` it is not used otherwise, except that workers may
    /// run packets while only operations are called that find and read entries without their cells, or that `concurrent_ops` of
    /// their table's layout lists.
    #[expect(unsafe_code, reason = "what is promised here, methods rely on")]
    pub(crate) unsafe fn new(
        raw: *mut abi::Instance,
        functions: &'a Functions,
        layout: &'a Layout,
    ) -> Ops<'a> {
        Ops { raw, control: &functions.control, worker: functions.worker, layout, alone: PhantomData }
    }
}

// SAFETY of all calls below: `raw` is alive, and nobody does what would disturb them (`Ops::new`); indices are within
// what the program exports (`check_*`), buffers have the sizes that its layout says (`view`, `to_vec`), and pointers given
// back are read before the next call.
#[expect(unsafe_code, reason = "control operations are functions of the compiled program")]
impl Ops<'_> {
    fn check_table(&self, table: u32) -> Done<()> {
        if (table as usize) < self.layout.tables.len() { Ok(()) } else { Err(NOT_FOUND) }
    }

    fn check_object(&self, object: u32) -> Done<()> {
        if (object as usize) < self.layout.objects.len() { Ok(()) } else { Err(NOT_FOUND) }
    }

    /// The entry as C wants it; the buffers that it points to live as long as the arguments.
    fn view(&self, table: u32, entry: &RawEntry, weighted: &[abi::Weighted]) -> Done<abi::EntryView> {
        self.check_table(table)?;
        let layout = &self.layout.tables[table as usize];
        let n_keys = layout.key_bytes;
        let has_data = entry.kind != abi::entry::ACTION || entry.data.len() == layout.data_bytes;
        let has_choices = entry.actions().iter().all(|choice| choice.data.len() == layout.data_bytes);
        if entry.value.len() != n_keys || entry.mask.len() != n_keys || !has_data || !has_choices {
            debug_assert!(false, "an entry of other sizes than those of its table");
            return Err(NOT_FOUND);
        }
        let one_shot = entry.one_shot.as_deref();
        let cells = entry.cells.as_deref();
        let n_group = usize::from(one_shot.is_some_and(|one_shot| one_shot.has_group_action));
        let (choices, group_action) = weighted.split_at(weighted.len().saturating_sub(n_group));
        Ok(abi::EntryView {
            handle: entry.handle,
            value: entry.value.as_ptr(),
            mask: entry.mask.as_ptr(),
            priority: entry.priority,
            kind: entry.kind,
            what: entry.what,
            is_const: u32::from(entry.is_const),
            data: entry.data.as_ptr(),
            n_weighted: choices.len() as u32,
            is_random: u32::from(one_shot.is_some_and(|one_shot| one_shot.is_random)),
            weighted: choices.as_ptr(),
            group_action: group_action.first().map_or(ptr::null(), ptr::from_ref),
            idle_timeout_ns: entry.idle_timeout_ns,
            last_hit_ns: entry.last_hit_ns,
            is_of_packet: u32::from(entry.is_of_packet),
            profile: entry.profile.map_or(u32::MAX, u32::from),
            count: cells.and_then(|cells| cells.count.as_ref()).map_or(ptr::null(), ptr::from_ref),
            rates: cells.and_then(|cells| cells.rates.as_ref()).map_or(ptr::null(), ptr::from_ref),
            colours: cells.and_then(|cells| cells.colours.as_ref()).map_or(ptr::null(), ptr::from_ref),
        })
    }

    /// A copy of what C gives.
    unsafe fn to_entry(&self, table: u32, view: &abi::EntryView) -> RawEntry {
        let layout = &self.layout.tables[table as usize];
        let data_bytes = if view.kind == abi::entry::ACTION { layout.data_bytes } else { 0 };
        // SAFETY: see above; C keeps keys and action data in these sizes.
        let [value, mask, data] = unsafe {
            [
                to_vec(view.value, layout.key_bytes),
                to_vec(view.mask, layout.key_bytes),
                to_vec(view.data, data_bytes),
            ]
        };
        RawEntry {
            handle: view.handle,
            value,
            mask,
            priority: view.priority,
            kind: view.kind,
            what: view.what,
            is_const: view.is_const != 0,
            data,
            one_shot: None,
            cells: None,
            idle_timeout_ns: view.idle_timeout_ns,
            last_hit_ns: view.last_hit_ns,
            is_of_packet: view.is_of_packet != 0,
            profile: u8::try_from(view.profile).ok().filter(|_| layout.has_profiles),
        }
    }

    /// Returns the epoch words of a worker; `None` if the worker or its words do not exist.
    pub(crate) fn epoch_words(&self, worker: u32) -> Option<EpochWords> {
        // SAFETY: see above; a worker that there is not is null. Both words are aligned, and accessed by atomic operations
        // only (`rt/sd_abi.h`).
        let (seen, epoch) = unsafe {
            let worker = (self.worker)(self.raw, worker).as_ref()?;
            (worker.seen, worker.epoch)
        };
        Some(EpochWords { seen: NonNull::new(seen.cast())?, epoch: NonNull::new(epoch.cast_mut().cast())? })
    }

    pub(crate) fn table_insert(&mut self, table: u32, entry: &RawEntry, now_ns: u64) -> Done<u64> {
        let weighted = weighted(entry.actions());
        let view = self.view(table, entry, &weighted)?;
        let mut handle = 0;
        // SAFETY: see above.
        done(unsafe { (self.control.table_insert)(self.raw, table, &view, now_ns, &mut handle) })?;
        Ok(handle)
    }

    /// Inserts entries one after the other, see [`table_insert`](Self::table_insert).
    pub(crate) fn table_insert_batch(
        &mut self,
        table: u32,
        entries: &[RawEntry],
        now_ns: u64,
    ) -> Vec<Done<u64>> {
        let weighted: Vec<_> = entries.iter().map(|entry| weighted(entry.actions())).collect();
        let views = entries.iter().zip(&weighted).map(|(entry, weighted)| self.view(table, entry, weighted));
        let views: Vec<_> = match views.collect() {
            Ok(views) => views,
            Err(status) => return vec![Err(status); entries.len()],
        };
        let (mut handles, mut statuses) = (vec![0; views.len()], vec![0_u8; views.len()]);
        for ((views, handles), statuses) in
            views.chunks(N_IN_BATCH).zip(handles.chunks_mut(N_IN_BATCH)).zip(statuses.chunks_mut(N_IN_BATCH))
        {
            let (handles, statuses) = (handles.as_mut_ptr(), statuses.as_mut_ptr());
            // SAFETY: see above; there are as many handles and statuses as views.
            unsafe {
                let n = views.len() as u32;
                let insert = self.control.table_insert_batch;
                insert(self.raw, table, views.as_ptr(), n, now_ns, handles, statuses);
            }
        }
        let answers = statuses.iter().zip(handles);
        answers.map(|(status, handle)| done(u32::from(*status)).map(|()| handle)).collect()
    }

    /// Room for so many entries in all, which insertions do without, too.
    pub(crate) fn table_reserve(&mut self, table: u32, n_entries: u64) -> Done<()> {
        self.check_table(table)?;
        // SAFETY: see above.
        done(unsafe { (self.control.table_reserve)(self.raw, table, n_entries) })
    }

    pub(crate) fn table_modify(&mut self, table: u32, entry: &RawEntry, now_ns: u64) -> Done<u64> {
        let weighted = weighted(entry.actions());
        let view = self.view(table, entry, &weighted)?;
        let mut handle = 0;
        // SAFETY: see above.
        done(unsafe { (self.control.table_modify)(self.raw, table, &view, now_ns, &mut handle) })?;
        Ok(handle)
    }

    /// Removes the entry with the key and priority of `entry`. Other fields are ignored, also in
    /// [`table_find`](Self::table_find).
    pub(crate) fn table_remove(&mut self, table: u32, entry: &RawEntry) -> Done<()> {
        let view = self.view(table, entry, &[])?;
        // SAFETY: see above.
        done(unsafe { (self.control.table_remove)(self.raw, table, &view) })
    }

    pub(crate) fn table_find(&self, table: u32, key: &RawEntry) -> Option<RawEntry> {
        let view = self.view(table, key, &[]).ok()?;
        let mut found = abi::EntryView::EMPTY;
        // SAFETY: see above.
        unsafe {
            done((self.control.table_find)(self.raw, table, &view, &mut found)).ok()?;
            Some(self.to_entry(table, &found))
        }
    }

    pub(crate) fn table_get(&self, table: u32, handle: u64) -> Option<RawEntry> {
        self.check_table(table).ok()?;
        let mut found = abi::EntryView::EMPTY;
        // SAFETY: see above.
        unsafe {
            done((self.control.table_get)(self.raw, table, handle, &mut found)).ok()?;
            Some(self.to_entry(table, &found))
        }
    }

    /// At most `n_max` entries in the order of their handles: those after a handle, or from the first.
    pub(crate) fn table_entries(&self, table: u32, after: Option<u64>, n_max: usize) -> Vec<RawEntry> {
        let mut entries = Vec::new();
        if self.check_table(table).is_err() {
            return entries;
        }
        // The largest number is before the first.
        let mut after = after.unwrap_or(u64::MAX);
        while entries.len() < n_max {
            let mut found = abi::EntryView::EMPTY;
            // SAFETY: see above.
            unsafe {
                if done((self.control.table_next)(self.raw, table, &mut after, &mut found)).is_err() {
                    return entries;
                }
                entries.push(self.to_entry(table, &found));
            }
        }
        entries
    }

    /// Writes records, which are as long as their layout says and have been checked. Returns how many were written, and fills
    /// in the status of each, and the handles of those that were written.
    pub(crate) fn table_write_records(
        &mut self,
        table: u32,
        op: u32,
        layout: &control::RecordLayout,
        records: &[u8],
        now_ns: u64,
        (handles, statuses): (&mut [u64], &mut [u8]),
    ) -> Done<usize> {
        self.check_table(table)?;
        let n = records.len() / layout.record_bytes.max(1);
        let fits = self.check_records(table, layout) && n * layout.record_bytes == records.len();
        if !fits || handles.len() != n || statuses.len() != n || n > N_IN_BATCH {
            debug_assert!(false, "records of another layout than that of their table");
            return Err(NOT_FOUND);
        }
        let (handles, statuses) = (handles.as_mut_ptr(), statuses.as_mut_ptr());
        let raw_layout = record_layout(layout);
        // SAFETY: see above; records are whole, and have all parts that the layout says; there are as many handles
        // and statuses.
        let n_done = unsafe {
            let write = self.control.table_write_records;
            write(self.raw, table, op, &raw_layout, records.as_ptr(), n as u32, now_ns, handles, statuses)
        };
        Ok(n_done as usize)
    }

    /// Reads at most as many entries as there are handles, those after a handle, into `records`. Returns their number and
    /// the last handle that was looked at.
    pub(crate) fn table_read_records(
        &self,
        table: u32,
        layout: &control::RecordLayout,
        after: Option<u64>,
        records: &mut [u8],
        handles: &mut [u64],
    ) -> (usize, Option<u64>) {
        let n_bytes = handles.len().checked_mul(layout.record_bytes);
        let fits = self.check_table(table).is_ok() && self.check_records(table, layout);
        if !fits || n_bytes != Some(records.len()) || handles.len() > N_IN_BATCH {
            debug_assert!(false, "records of another layout than that of their table");
            return (0, after);
        }
        let raw_layout = record_layout(layout);
        // The largest number is before the first.
        let mut at = after.unwrap_or(u64::MAX);
        // SAFETY: see above; there is room for as many records as handles.
        let n = unsafe {
            let read = self.control.table_read_records;
            let (records, n_max) = (records.as_mut_ptr(), handles.len() as u32);
            read(self.raw, table, &raw_layout, &mut at, records, handles.as_mut_ptr(), n_max)
        };
        (n as usize, (at != u64::MAX).then_some(at))
    }

    /// Returns whether a layout is one of this table: all parts are within a record, and as large as C takes them.
    fn check_records(&self, table: u32, layout: &control::RecordLayout) -> bool {
        let of = &self.layout.tables[table as usize];
        let n = layout.record_bytes;
        let ends = [
            Some(of.key_bytes),
            layout.mask_at.map(|at| at + of.key_bytes),
            layout.kind_at.map(|at| at + 1),
            Some(layout.action_at + layout.action_bytes),
            layout.priority_at.map(|at| at + 4),
            Some(layout.data_at + of.data_bytes),
            layout.idle_timeout_at.map(|at| at + 8),
            layout.count_at.map(|at| at + control::RecordLayout::COUNT_BYTES),
            layout.rates_at.map(|at| at + control::RecordLayout::RATES_BYTES),
        ];
        let has_masks = of.keys.iter().any(|key| key.kind != ir::MatchKind::Exact);
        ends.into_iter().flatten().all(|end| end <= n)
            && matches!(layout.action_bytes, 1 | 4)
            && layout.key_bytes == of.key_bytes
            && layout.mask_at.is_some() == has_masks
            && layout.kind_at.is_some() == of.profile.is_some()
            && n > 0
            && n <= u32::MAX as usize
    }

    pub(crate) fn table_n_entries(&self, table: u32) -> u64 {
        // SAFETY: see above.
        self.check_table(table).map_or(0, |()| unsafe { (self.control.table_n_entries)(self.raw, table) })
    }

    /// Returns the number of entries with an idle timeout.
    pub(crate) fn table_n_timed(&self, table: u32) -> u64 {
        // SAFETY: see above.
        self.check_table(table).map_or(0, |()| unsafe { (self.control.table_n_timed)(self.raw, table) })
    }

    /// Returns the lookup counts of one worker for a table.
    pub(crate) fn table_count(&self, worker: u32, table: u32) -> abi::TableCount {
        if self.check_table(table).is_err() {
            return abi::TableCount::default();
        }
        // SAFETY: see above; a worker that there is not is null, and each has one count for each table.
        unsafe {
            let worker = (self.worker)(self.raw, worker);
            if worker.is_null() || (*worker).table_counts.is_null() {
                return abi::TableCount::default();
            }
            *(*worker).table_counts.add(table as usize)
        }
    }

    pub(crate) fn table_set_default(&mut self, table: u32, action: u32, data: &[u8]) -> Done<()> {
        self.check_table(table)?;
        if data.len() != self.layout.tables[table as usize].data_bytes {
            return Err(NOT_FOUND);
        }
        // SAFETY: see above.
        done(unsafe { (self.control.table_set_default)(self.raw, table, action, data.as_ptr()) })
    }

    /// Action and data.
    pub(crate) fn table_default(&self, table: u32) -> Option<(u32, Vec<u8>)> {
        self.check_table(table).ok()?;
        let mut data = ptr::null();
        // SAFETY: see above.
        unsafe {
            let action = (self.control.table_default)(self.raw, table, &mut data);
            let n_bytes = self.layout.tables[table as usize].data_bytes;
            (action != u32::MAX).then(|| (action, to_vec(data, n_bytes)))
        }
    }

    pub(crate) fn direct_count(&self, table: u32, handle: u64) -> Done<abi::Count> {
        self.check_table(table)?;
        let mut count = abi::Count::default();
        // SAFETY: see above.
        done(unsafe { (self.control.direct_count)(self.raw, table, handle, &mut count) })?;
        Ok(count)
    }

    pub(crate) fn set_direct_count(&mut self, table: u32, handle: u64, count: abi::Count) -> Done<()> {
        self.check_table(table)?;
        // SAFETY: see above.
        done(unsafe { (self.control.set_direct_count)(self.raw, table, handle, count) })
    }

    pub(crate) fn direct_rates(&self, table: u32, handle: u64) -> Done<abi::MeterRates> {
        self.check_table(table)?;
        let mut rates = abi::MeterRates::default();
        // SAFETY: see above.
        done(unsafe { (self.control.direct_rates)(self.raw, table, handle, &mut rates) })?;
        Ok(rates)
    }

    pub(crate) fn set_direct_rates(
        &mut self,
        table: u32,
        handle: u64,
        rates: &abi::MeterRates,
        now_ns: u64,
    ) -> Done<()> {
        self.check_table(table)?;
        // SAFETY: see above.
        done(unsafe { (self.control.set_direct_rates)(self.raw, table, handle, rates, now_ns) })
    }

    pub(crate) fn direct_colours(&self, table: u32, handle: u64) -> Done<abi::ColourCounts> {
        self.check_table(table)?;
        let mut colours = abi::ColourCounts::default();
        // SAFETY: see above.
        done(unsafe { (self.control.direct_colours)(self.raw, table, handle, &mut colours) })?;
        Ok(colours)
    }

    pub(crate) fn set_direct_colours(
        &mut self,
        table: u32,
        handle: u64,
        colours: &abi::ColourCounts,
    ) -> Done<()> {
        self.check_table(table)?;
        // SAFETY: see above.
        done(unsafe { (self.control.set_direct_colours)(self.raw, table, handle, colours) })
    }

    pub(crate) fn table_take_expired(&mut self, table: u32, now_ns: u64) -> Vec<u64> {
        const N_AT_ONCE: usize = 256;
        let mut expired = Vec::new();
        if self.check_table(table).is_err() {
            return expired;
        }
        loop {
            let mut handles = [0; N_AT_ONCE];
            // SAFETY: see above; C writes at most as many handles as there is room for.
            let n = unsafe {
                (self.control.table_take_expired)(
                    self.raw,
                    table,
                    now_ns,
                    handles.as_mut_ptr(),
                    N_AT_ONCE as u32,
                )
            };
            let n = (n as usize).min(N_AT_ONCE);
            expired.extend_from_slice(&handles[..n]);
            if n < N_AT_ONCE {
                return expired;
            }
        }
    }

    /// Removes entries that have ended, of a table whose lookup structure is for that.
    pub(crate) fn table_remove_ended(&mut self, table: u32, now_ns: u64) {
        if self.check_table(table).is_ok() {
            // SAFETY: see above.
            unsafe { (self.control.table_remove_ended)(self.raw, table, now_ns) };
        }
    }

    pub(crate) fn table_set_profile(&mut self, table: u32, profile: u8, timeout_ns: u64) -> Done<()> {
        self.check_table(table)?;
        // SAFETY: see above.
        done(unsafe { (self.control.table_set_profile)(self.raw, table, u32::from(profile), timeout_ns) })
    }

    /// Numbers of flows that are taken, after at least so many of them are.
    pub(crate) fn flow_ids(&self, at_least: u64) -> u64 {
        // SAFETY: see above.
        unsafe { (self.control.flow_ids)(self.raw, at_least) }
    }

    /// Zeros for tables that packets do not write.
    pub(crate) fn table_packet_writes(&self, table: u32) -> abi::PacketWrites {
        let mut writes = abi::PacketWrites::default();
        if self.check_table(table).is_ok() {
            // SAFETY: see above; C leaves it alone, or fills it.
            unsafe { (self.control.table_packet_writes)(self.raw, table, &mut writes) };
        }
        writes
    }

    fn check_data(&self, object: u32, data: &[u8]) -> Done<()> {
        self.check_object(object)?;
        if data.len() == self.layout.objects[object as usize].data_bytes { Ok(()) } else { Err(NOT_FOUND) }
    }

    pub(crate) fn member_insert(&mut self, object: u32, member: u32, action: u32, data: &[u8]) -> Done<()> {
        self.check_data(object, data)?;
        // SAFETY: see above.
        done(unsafe { (self.control.member_insert)(self.raw, object, member, action, data.as_ptr()) })
    }

    pub(crate) fn member_modify(&mut self, object: u32, member: u32, action: u32, data: &[u8]) -> Done<()> {
        self.check_data(object, data)?;
        // SAFETY: see above.
        done(unsafe { (self.control.member_modify)(self.raw, object, member, action, data.as_ptr()) })
    }

    pub(crate) fn member_remove(&mut self, object: u32, member: u32) -> Done<()> {
        self.check_object(object)?;
        // SAFETY: see above.
        done(unsafe { (self.control.member_remove)(self.raw, object, member) })
    }

    /// Sets the choices of a group; creates the group if it does not exist.
    pub(crate) fn group_set(&mut self, object: u32, group: u32, choices: &[RawChoice]) -> Done<()> {
        self.check_object(object)?;
        let weighted = weighted(choices);
        // SAFETY: see above. The size at most is the control plane's matter.
        done(unsafe {
            (self.control.group_set)(self.raw, object, group, 0, weighted.as_ptr(), weighted.len() as u32)
        })
    }

    pub(crate) fn group_remove(&mut self, object: u32, group: u32) -> Done<()> {
        self.check_object(object)?;
        // SAFETY: see above.
        done(unsafe { (self.control.group_remove)(self.raw, object, group) })
    }

    pub(crate) fn set_ports_down(&mut self, ports: &[u32]) -> Done<()> {
        // SAFETY: see above.
        done(unsafe { (self.control.set_ports_down)(self.raw, ports.as_ptr(), ports.len() as u32) })
    }

    /// Values and masks, those of one member after the other.
    pub(crate) fn value_set_write(&mut self, id: u32, values: &[u8], masks: &[u8], n: u32) -> Done<()> {
        let layout = self.layout.value_sets.get(id as usize).ok_or(NOT_FOUND)?;
        let n_bytes = layout.key_bytes * n as usize;
        if values.len() != n_bytes || masks.len() != n_bytes {
            return Err(NOT_FOUND);
        }
        // SAFETY: see above.
        done(unsafe { (self.control.value_set_write)(self.raw, id, values.as_ptr(), masks.as_ptr(), n) })
    }

    /// Values, masks, and the number of members.
    pub(crate) fn value_set_read(&self, id: u32) -> (Vec<u8>, Vec<u8>, u32) {
        let Some(layout) = self.layout.value_sets.get(id as usize) else { return Default::default() };
        let (mut values, mut masks) = (ptr::null(), ptr::null());
        // SAFETY: see above; there are as many of both as the number says.
        unsafe {
            let n = (self.control.value_set_read)(self.raw, id, &mut values, &mut masks);
            let n_bytes = layout.key_bytes * n as usize;
            (to_vec(values, n_bytes), to_vec(masks, n_bytes), n)
        }
    }

    pub(crate) fn counter_read(&self, object: u32, index: u64) -> Done<abi::Count> {
        self.check_object(object)?;
        let mut count = abi::Count::default();
        // SAFETY: see above.
        done(unsafe { (self.control.counter_read)(self.raw, object, index, &mut count) })?;
        Ok(count)
    }

    /// An index of [`abi::ALL_CELLS`] writes all, here and below.
    pub(crate) fn counter_write(&mut self, object: u32, index: u64, count: abi::Count) -> Done<()> {
        self.check_object(object)?;
        // SAFETY: see above.
        done(unsafe { (self.control.counter_write)(self.raw, object, index, count) })
    }

    pub(crate) fn meter_read(&self, object: u32, index: u64) -> Done<abi::MeterRates> {
        self.check_object(object)?;
        let mut rates = abi::MeterRates::default();
        // SAFETY: see above.
        done(unsafe { (self.control.meter_read)(self.raw, object, index, &mut rates) })?;
        Ok(rates)
    }

    pub(crate) fn meter_write(
        &mut self,
        object: u32,
        index: u64,
        rates: &abi::MeterRates,
        now_ns: u64,
    ) -> Done<()> {
        self.check_object(object)?;
        // SAFETY: see above.
        done(unsafe { (self.control.meter_write)(self.raw, object, index, rates, now_ns) })
    }

    pub(crate) fn meter_read_colours(&self, object: u32, index: u64) -> Done<abi::ColourCounts> {
        self.check_object(object)?;
        let mut colours = abi::ColourCounts::default();
        // SAFETY: see above.
        done(unsafe { (self.control.meter_read_colours)(self.raw, object, index, &mut colours) })?;
        Ok(colours)
    }

    pub(crate) fn meter_write_colours(
        &mut self,
        object: u32,
        index: u64,
        colours: &abi::ColourCounts,
    ) -> Done<()> {
        self.check_object(object)?;
        // SAFETY: see above.
        done(unsafe { (self.control.meter_write_colours)(self.raw, object, index, colours) })
    }

    pub(crate) fn register_read(&self, object: u32, index: u64) -> Done<Vec<u8>> {
        self.check_object(object)?;
        let mut cell = vec![0; self.layout.objects[object as usize].cell_bytes];
        // SAFETY: see above; C writes a whole cell.
        done(unsafe { (self.control.register_read)(self.raw, object, index, cell.as_mut_ptr()) })?;
        Ok(cell)
    }

    pub(crate) fn register_write(&mut self, object: u32, index: u64, cell: &[u8]) -> Done<()> {
        self.check_object(object)?;
        if cell.len() != self.layout.objects[object as usize].cell_bytes {
            return Err(NOT_FOUND);
        }
        // SAFETY: see above.
        done(unsafe { (self.control.register_write)(self.raw, object, index, cell.as_ptr()) })
    }
}

/// A copy; nothing where there is no address.
///
/// # Safety
///
/// `bytes` is null or points to `n` readable bytes.
#[expect(unsafe_code, reason = "memory of the compiled program")]
unsafe fn to_vec(bytes: *const u8, n: usize) -> Vec<u8> {
    if bytes.is_null() || n == 0 {
        return vec![0; n];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(bytes, n) }.to_vec()
}

/// Points into the choices.
fn record_layout(layout: &control::RecordLayout) -> abi::RecordLayout {
    // `check_records` bounds all of them by the size of a record.
    let at = |at: Option<usize>| at.map_or(abi::NO_PART, |at| at as u32);
    abi::RecordLayout {
        record_bytes: layout.record_bytes as u32,
        mask_at: at(layout.mask_at),
        kind_at: at(layout.kind_at),
        action_at: layout.action_at as u32,
        action_bytes: layout.action_bytes as u32,
        priority_at: at(layout.priority_at),
        data_at: layout.data_at as u32,
        idle_timeout_at: at(layout.idle_timeout_at),
        count_at: at(layout.count_at),
        rates_at: at(layout.rates_at),
        of_controllers: u32::from(layout.parts.of_controllers),
    }
}

fn weighted(choices: &[RawChoice]) -> Vec<abi::Weighted> {
    let weighted = |choice: &RawChoice| abi::Weighted {
        member_or_action: choice.member_or_action,
        weight: choice.weight,
        watch_port: choice.watch_port,
        data: choice.data.as_ptr(),
    };
    choices.iter().map(weighted).collect()
}
