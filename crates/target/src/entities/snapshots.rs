//! Snapshots of tables: entries as they were when a read began, while others are inserted, changed and deleted.
//!
//! A read follows the order of insertion. An entry that it has not reached yet and that is about to change is copied first;
//! entries that were inserted later have a larger handle and are left out.

use crate::store::{EntryHandle, Matches};
use control::{EntryQuery, SnapshotId, TableEntry, TableId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries that one read keeps as they were, at most: with more the read fails.
pub(super) const N_KEPT_MAX: usize = 1 << 20;

/// The next snapshot of the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The rest of one table, which is still to be read.
#[derive(Clone, Debug)]
pub(super) struct TableLeft {
    pub(super) table: TableId,
    pub(super) id: ir::TableId,
    /// The key that is asked for, in normal form.
    pub(super) matches: Option<Matches>,
    /// The last entry that was read.
    pub(super) after: Option<EntryHandle>,
    /// The first entry that was inserted since the read began.
    pub(super) end: Option<EntryHandle>,
    /// Entries that have changed since the read began, as they were; `None` for one that is not asked for.
    pub(super) kept: BTreeMap<EntryHandle, Option<TableEntry>>,
}

impl TableLeft {
    pub(super) fn new((table, id): (TableId, ir::TableId), matches: Option<Matches>) -> TableLeft {
        TableLeft { table, id, matches, after: None, end: None, kept: BTreeMap::new() }
    }

    /// Returns whether an entry will still be read.
    pub(super) fn is_left(&self, entry: EntryHandle) -> bool {
        self.after.is_none_or(|after| entry > after) && self.end.is_none_or(|end| entry < end)
    }
}

/// A read of table entries under way.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) query: EntryQuery,
    /// The next one last.
    pub(super) tables: Vec<TableLeft>,
    /// Entries that change are kept as they were.
    keeps: bool,
    n_kept: usize,
    /// More entries have changed than are kept.
    pub(super) is_overtaken: bool,
}

/// All reads of table entries under way.
#[derive(Debug, Default)]
pub(super) struct Snapshots(BTreeMap<SnapshotId, Snapshot>);

impl Snapshots {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a read of a table is under way.
    pub(super) fn has(&self, id: ir::TableId) -> bool {
        self.0.values().any(|snapshot| snapshot.tables.iter().any(|table| table.id == id))
    }

    /// Begins a read of tables in their order.
    pub(super) fn open(&mut self, query: EntryQuery, mut tables: Vec<TableLeft>, keeps: bool) -> SnapshotId {
        tables.reverse();
        let id = SnapshotId(NEXT.fetch_add(1, Ordering::Relaxed));
        self.0.insert(id, Snapshot { query, tables, keeps, n_kept: 0, is_overtaken: false });
        id
    }

    pub(super) fn get(&self, id: SnapshotId) -> Option<&Snapshot> {
        self.0.get(&id)
    }

    pub(super) fn take(&mut self, id: SnapshotId) -> Option<Snapshot> {
        self.0.remove(&id)
    }

    pub(super) fn put_back(&mut self, id: SnapshotId, snapshot: Snapshot) {
        self.0.insert(id, snapshot);
    }

    /// Leaves an entry that was just inserted out of all reads.
    pub(super) fn leave_out(&mut self, id: ir::TableId, entry: EntryHandle) {
        for table in self.0.values_mut().flat_map(|snapshot| &mut snapshot.tables) {
            if table.id == id {
                table.end.get_or_insert(entry);
            }
        }
    }

    /// Keeps an entry that is about to change, as `copy` makes it for those reads that have not reached it.
    pub(super) fn keep(
        &mut self,
        id: ir::TableId,
        entry: EntryHandle,
        copy: impl Fn(&EntryQuery, &TableLeft) -> Option<TableEntry>,
    ) {
        for snapshot in self.0.values_mut().filter(|snapshot| snapshot.keeps && !snapshot.is_overtaken) {
            let Snapshot { query, tables, n_kept, is_overtaken, keeps: _ } = snapshot;
            let Some(table) = tables.iter_mut().find(|table| table.id == id) else { continue };
            if !table.is_left(entry) || table.kept.contains_key(&entry) {
                continue;
            }
            if *n_kept == N_KEPT_MAX {
                *is_overtaken = true;
                tables.clear();
                continue;
            }
            *n_kept += 1;
            let copied = copy(query, table);
            table.kept.insert(entry, copied);
        }
    }
}
