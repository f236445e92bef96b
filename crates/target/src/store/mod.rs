//! The state of a program that outlives packets: tables, action profiles, value sets, arrays of cells.
//!
//! [`Store`] is the control plane's interface to this state. Values have the program's widths and are returned by value,
//! so that an implementation may store them anywhere and in any layout. Checks before writes are shared by all
//! implementations: see [`shape`] and [`Profile`].

mod cells;
mod entry;
mod error;
pub mod matching;
mod profile;
pub mod records;
pub mod shape;

pub use cells::{ColourCounts, Count, DirectCells, MeterRates, MeterType, OutOfRange};
pub use entry::{
    Carried, EntryAction, EntryHandle, EntryRef, Group, Matches, NewEntry, OneShot, Origin, Selection,
    StoredAction, StoredEntry, Weighted,
};
pub use error::TableError;
pub use profile::Profile;
pub use records::RecordsRead;

use control::{RecordCodes, RecordLayout, RecordParts, UpdateKind};
use ir::{Action, Bits, ObjectId, TableId, ValueSetId};

/// So many cells are read or written while workers wait: that takes longer than closing the gate, and not much longer than a
/// burst.
pub const N_CELLS_AT_ONCE: usize = 64;

/// Use of a table since the program began, summed over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableUse {
    pub n_entries: u64,
    pub n_lookups: u64,
    pub n_hits: u64,
    pub packets: PacketWrites,
}

/// Entries that packets have added to a table with state, and what became of them: `n_entries` = `n_added` + `n_carried` -
/// `n_expired` - `n_evicted` - `n_deleted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketWrites {
    pub n_added: u64,
    /// Not added: the packet had added one before.
    pub n_exists: u64,
    /// Not added: another packet or the control plane had added one since the packet missed.
    pub n_race_lost: u64,
    /// Not added: the table was full.
    pub n_full: u64,
    /// Entries of packets that were carried over from the program before.
    pub n_carried: u64,
    /// Entries of packets whose time was over.
    pub n_expired: u64,
    /// Entries of packets that have made room for new ones before their time was over.
    pub n_evicted: u64,
    /// Entries of packets that the control plane has deleted.
    pub n_deleted: u64,
    /// Entries of the control plane whose time was over.
    pub n_expired_control: u64,
    /// Entries of packets that are there.
    pub n_entries: u64,
    /// Entries of whose timeout the control plane was told, once for each time that it passed.
    pub n_notified: u64,
    /// Places of removed entries, of packets and of the control plane, that are not used again before all workers have ended
    /// the burst in which they may have found them.
    pub n_waiting: u64,
}

impl PacketWrites {
    /// The counts of one program and of another one that goes on with its entries.
    pub fn and_then(self, next: PacketWrites) -> PacketWrites {
        PacketWrites {
            n_added: self.n_added + next.n_added,
            n_exists: self.n_exists + next.n_exists,
            n_race_lost: self.n_race_lost + next.n_race_lost,
            n_full: self.n_full + next.n_full,
            n_carried: (self.n_carried + next.n_carried).saturating_sub(self.n_entries),
            n_expired: self.n_expired + next.n_expired,
            n_evicted: self.n_evicted + next.n_evicted,
            n_deleted: self.n_deleted + next.n_deleted,
            n_expired_control: self.n_expired_control + next.n_expired_control,
            n_entries: next.n_entries,
            n_notified: self.n_notified + next.n_notified,
            n_waiting: next.n_waiting,
        }
    }

    /// Returns whether the counts agree with each other.
    pub fn is_balanced(&self) -> bool {
        let n_made = self.n_added.wrapping_add(self.n_carried);
        let n_ended = self.n_expired.wrapping_add(self.n_evicted).wrapping_add(self.n_deleted);
        self.n_entries == n_made.wrapping_sub(n_ended)
    }
}

/// The tables and objects of a program. A call that fails changes nothing.
///
/// Ids are those of the program; what the program does not have is empty and cannot be written.
pub trait Store {
    /// The use of each table of the program, in its order.
    fn table_uses(&self) -> Vec<TableUse>;

    /// The shapes of entries that may be written to each table.
    fn table_shapes(&self) -> &shape::TableShapes;

    /// Runs `work`, which reads of this store what packets change: workers wait once for all of it. Nothing else should take
    /// long in it.
    fn at_once(&self, work: &mut dyn FnMut());

    /// Runs `work` on this store: workers wait once for all of it.
    fn change_at_once(&mut self, work: &mut dyn FnMut(&mut dyn Store));

    /// Returns the entry with this key; `matches` need not be in normal form.
    fn find(&self, table: TableId, matches: &Matches, priority: i32) -> Option<EntryHandle>;

    /// Returns an entry; `None` if it has been deleted.
    fn entry(&self, table: TableId, handle: EntryHandle) -> Option<StoredEntry>;

    /// Visits at most `n_max` entries in insertion order: those after an entry, or from the first, beginning with those that
    /// the program declares.
    fn visit_entries_after(
        &self,
        table: TableId,
        after: Option<EntryHandle>,
        n_max: usize,
        visit: &mut dyn FnMut(StoredEntry),
    );

    /// Visits all entries in this order.
    fn visit_entries(&self, table: TableId, visit: &mut dyn FnMut(StoredEntry)) {
        self.visit_entries_after(table, None, usize::MAX, visit);
    }

    /// Announces that `_n_more` entries are about to be inserted, so that the store can make room for all of them at once.
    /// Changes nothing else.
    fn reserve(&mut self, _table: TableId, _n_more: u64) {}

    /// Adds an entry, whose idle time begins at `now_ns`. The first packet that finds it finds its direct cells as given.
    fn insert(&mut self, table: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError>;

    /// Adds entries of one table, one after the other: what becomes of each.
    fn insert_many(
        &mut self,
        table: TableId,
        entries: Vec<NewEntry>,
        now_ns: u64,
    ) -> Vec<Result<EntryHandle, TableError>> {
        entries.into_iter().map(|entry| self.insert(table, entry, now_ns)).collect()
    }

    /// Replaces action, idle timeout and direct cells in one step for packets.
    fn modify(&mut self, table: TableId, entry: NewEntry, now_ns: u64) -> Result<EntryHandle, TableError>;

    fn delete(&mut self, table: TableId, matches: &Matches, priority: i32)
    -> Result<EntryHandle, TableError>;

    /// The layout of the records of a table; `None` if its entries cannot be records.
    fn record_layout(&self, table: TableId, parts: RecordParts) -> Option<RecordLayout> {
        let shape = self.table_shapes().get(ir::lookup::index(table))?;
        records::packed_layout(shape, parts)
    }

    /// Makes changes, one after the other, to entries that records describe; records have passed
    /// [`check`](control::RecordPlan::check). Returns what became of each, and adds the handles of those that were written;
    /// the others have any handle.
    fn write_records(
        &mut self,
        table: TableId,
        layout: &RecordLayout,
        kind: UpdateKind,
        records: &[u8],
        now_ns: u64,
        handles: Option<&mut Vec<EntryHandle>>,
    ) -> RecordCodes {
        records::write_entries(self, table, layout, kind, records, now_ns, handles)
    }

    /// Adds the records of at most `n_max` entries in insertion order: those after an entry, or from the first. Constant entries
    /// are left out. Returns the last entry that was looked at; `None` at the end.
    fn read_records(
        &self,
        table: TableId,
        layout: &RecordLayout,
        after: Option<EntryHandle>,
        n_max: usize,
        read: &mut RecordsRead,
    ) -> Option<EntryHandle> {
        records::read_entries(self, table, layout, after, n_max, read)
    }

    fn default_action(&self, table: TableId) -> Option<Action>;

    /// `None` sets the program's default action again.
    fn set_default_action(&mut self, table: TableId, action: Option<Action>) -> Result<(), TableError>;

    /// The cells of an entry in the table's direct counter and meter, zeros where it has none.
    fn direct(&self, table: TableId, entry: EntryRef) -> Option<DirectCells>;

    fn set_direct_count(&mut self, table: TableId, entry: EntryRef, count: Count) -> Result<(), TableError>;

    /// Both buckets begin full.
    fn set_direct_rates(
        &mut self,
        table: TableId,
        entry: EntryRef,
        rates: Option<MeterRates>,
        now_ns: u64,
    ) -> Result<(), TableError>;

    fn set_direct_colours(
        &mut self,
        table: TableId,
        entry: EntryRef,
        colours: ColourCounts,
    ) -> Result<(), TableError>;

    /// Removes entries of tables that remove those whose time is over. Lookups miss such an entry before.
    fn remove_ended(&mut self, now_ns: u64);

    /// Sets the timeout that a profile stands for, in nanoseconds; 0: an entry ends at once. False if entries of the table have
    /// no profiles.
    fn set_profile(&mut self, table: TableId, profile: u8, timeout_ns: u64) -> bool;

    /// The timeout that a profile stands for; `None` if entries of the table have no profiles.
    fn profile_timeout(&self, table: TableId, profile: u8) -> Option<u64>;

    /// Numbers of flows that packets have taken (`allocate_flow_id`).
    fn n_flow_ids(&self) -> u64;

    /// Takes numbers of flows until at least so many are taken: no packet gets them any more.
    fn raise_flow_ids(&mut self, at_least: u64);

    /// Entries that were not hit for as long as they say, each once per such time.
    fn take_expired(&mut self, now_ns: u64) -> Vec<(TableId, EntryHandle)>;

    /// Members of an action profile or selector by the ids that the controller chose, in their order.
    fn visit_members(&self, profile: ObjectId, visit: &mut dyn FnMut(u32, Action));

    fn insert_member(&mut self, profile: ObjectId, id: u32, action: Action) -> Result<(), TableError>;

    fn modify_member(&mut self, profile: ObjectId, id: u32, action: Action) -> Result<(), TableError>;

    fn delete_member(&mut self, profile: ObjectId, id: u32) -> Result<(), TableError>;

    /// Visits the groups of an action selector by the controller's ids, in order.
    fn visit_groups(&self, profile: ObjectId, visit: &mut dyn FnMut(u32, Group));

    fn insert_group(&mut self, profile: ObjectId, id: u32, group: Group) -> Result<(), TableError>;

    fn modify_group(&mut self, profile: ObjectId, id: u32, group: Group) -> Result<(), TableError>;

    fn delete_group(&mut self, profile: ObjectId, id: u32) -> Result<(), TableError>;

    fn value_set(&self, id: ValueSetId) -> Vec<Matches>;

    /// Replaces all members.
    fn set_value_set(&mut self, id: ValueSetId, members: Vec<Matches>) -> Result<(), TableError>;

    /// Cells of a counter, meter or register; 0 of other objects.
    fn n_cells(&self, object: ObjectId) -> u64;

    fn count(&self, counter: ObjectId, index: u64) -> Result<Count, OutOfRange>;

    /// Without an index all cells.
    fn set_count(&mut self, counter: ObjectId, index: Option<u64>, count: Count) -> Result<(), OutOfRange>;

    fn rates(&self, meter: ObjectId, index: u64) -> Result<Option<MeterRates>, OutOfRange>;

    /// Both buckets begin full. Without an index all cells.
    fn set_rates(
        &mut self,
        meter: ObjectId,
        index: Option<u64>,
        rates: Option<MeterRates>,
        now_ns: u64,
    ) -> Result<(), OutOfRange>;

    fn colours(&self, meter: ObjectId, index: u64) -> Result<ColourCounts, OutOfRange>;

    /// Without an index all cells.
    fn set_colours(
        &mut self,
        meter: ObjectId,
        index: Option<u64>,
        colours: ColourCounts,
    ) -> Result<(), OutOfRange>;

    /// The leaves of a cell without validity bits and indices.
    fn register(&self, register: ObjectId, index: u64) -> Result<Vec<Bits>, OutOfRange>;

    /// Missing leaves keep what they held; widths are those of the register. Without an index all cells.
    fn set_register(
        &mut self,
        register: ObjectId,
        index: Option<u64>,
        leaves: &[Bits],
    ) -> Result<(), OutOfRange>;
}
