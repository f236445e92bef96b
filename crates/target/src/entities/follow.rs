//! Logs of changes, for readers that follow tables.
//!
//! A log names the entries that were written, and has the keys of those that were deleted. Entries are read when the log is:
//! several changes of one entry become one, and an entry that is gone by then is left out.

use super::{Entities, View};
use crate::store::{EntryHandle, RecordsRead};
use control::records::{Changes, FollowerId, RecordBlock, RecordLayout, RecordOp, RecordParts, RecordPlan};
use control::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes that one log has at most: with more, the reader has to begin again.
pub(super) const N_CHANGES_MAX: usize = 1 << 22;

/// Readers that follow tables at a time.
const N_FOLLOWERS_MAX: usize = 16;

/// The next follower of the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
enum Change {
    Written(EntryHandle),
    /// By its key; other parts of the record have any value.
    DeletedRecord(Box<[u8]>),
    DeletedEntry(Box<TableEntry>),
}

#[derive(Debug)]
struct Log {
    tables: Vec<TableId>,
    changes: VecDeque<(TableId, Change)>,
    is_overrun: bool,
}

/// The logs of all readers.
#[derive(Debug, Default)]
pub(super) struct Logs(BTreeMap<FollowerId, Log>);

impl Logs {
    /// Returns whether somebody follows a table.
    pub(super) fn has(&self, table: TableId) -> bool {
        self.0.values().any(|log| log.tables.contains(&table))
    }

    fn add(&mut self, table: TableId, change: impl Fn() -> Change) {
        for log in self.0.values_mut().filter(|log| !log.is_overrun && log.tables.contains(&table)) {
            if log.changes.len() == N_CHANGES_MAX {
                log.is_overrun = true;
                log.changes = VecDeque::new();
                continue;
            }
            log.changes.push_back((table, change()));
        }
    }

    pub(super) fn written(&mut self, table: TableId, entry: EntryHandle) {
        self.add(table, || Change::Written(entry));
    }

    pub(super) fn deleted_record(&mut self, table: TableId, record: &[u8]) {
        self.add(table, || Change::DeletedRecord(record.into()));
    }

    pub(super) fn deleted_entry(&mut self, entry: &TableEntry) {
        let key = || TableEntry::new(entry.table, entry.matches.clone(), entry.priority);
        self.add(entry.table, || Change::DeletedEntry(Box::new(key())));
    }
}

impl Entities {
    pub(super) fn follow(&mut self, tables: &[TableId]) -> Option<FollowerId> {
        if self.logs.0.len() == N_FOLLOWERS_MAX {
            return None;
        }
        let id = FollowerId(NEXT.fetch_add(1, Ordering::Relaxed));
        let log = Log { tables: tables.to_vec(), changes: VecDeque::new(), is_overrun: false };
        self.logs.0.insert(id, log);
        Some(id)
    }

    pub(super) fn unfollow(&mut self, id: FollowerId) {
        self.logs.0.remove(&id);
    }

    /// The next changes, about `n_max` of them.
    pub(super) fn changes(
        &mut self,
        view: View<'_>,
        id: FollowerId,
        parts: RecordParts,
        n_max: usize,
    ) -> Result<Vec<Changes>, Fault> {
        let Some(log) = self.logs.0.get_mut(&id) else { return Err(Problem::ProgramReplaced.into()) };
        if log.is_overrun {
            return Err(Problem::ReadOvertaken { limit: N_CHANGES_MAX }.into());
        }
        let n = log.changes.len().min(n_max);
        let taken: Vec<(TableId, Change)> = log.changes.drain(..n).collect();
        let mut all: Vec<Changes> = Vec::new();
        let mut run = Vec::new();
        for (i, (table, change)) in taken.iter().enumerate() {
            let plan = self.record_plan_with(view, *table, parts);
            if let Change::Written(handle) = change {
                run.push(*handle);
                let is_run = matches!(taken.get(i + 1), Some((next, Change::Written(_))) if next == table);
                if !is_run {
                    let block = self.read_handles(view, *table, plan.as_deref(), &run);
                    run.clear();
                    all.push(Changes { table: *table, op: RecordOp::Upsert, block });
                }
                continue;
            }
            match all.last_mut() {
                Some(last) if last.table == *table && last.op == RecordOp::Delete => {}
                _ => all.push(Changes { table: *table, op: RecordOp::Delete, block: RecordBlock::default() }),
            }
            let Some(Changes { block, .. }) = all.last_mut() else { continue };
            match (change, &plan) {
                (Change::DeletedRecord(record), Some(plan)) => {
                    // Key and priority lie before all parts that layouts may differ in.
                    let end = block.records.len() + plan.layout.record_bytes;
                    let n = record.len().min(plan.layout.record_bytes);
                    block.records.extend_from_slice(&record[..n]);
                    block.records.resize(end, 0);
                }
                (Change::DeletedEntry(entry), Some(plan)) => match plan.record(RecordOp::Delete, entry) {
                    Some(record) => block.records.extend(record),
                    None => block.others.push((**entry).clone()),
                },
                (Change::DeletedEntry(entry), None) => block.others.push((**entry).clone()),
                (Change::DeletedRecord(_), None) | (Change::Written(_), _) => {}
            }
        }
        all.retain(|changes| *changes != Changes { block: RecordBlock::default(), ..changes.clone() });
        Ok(all)
    }

    /// The plan for records of a table, with counts only if the table has them.
    fn record_plan_with(
        &mut self,
        view: View<'_>,
        table: TableId,
        parts: RecordParts,
    ) -> Option<std::sync::Arc<RecordPlan>> {
        let has_counter = self.schema.tables.get(table).is_some_and(|of| of.direct_counter.is_some());
        self.record_plan(view, table, RecordParts { count: parts.count && has_counter, ..parts })
    }

    /// The entries with these handles that are still there, once each.
    fn read_handles(
        &self,
        view: View<'_>,
        table: TableId,
        plan: Option<&RecordPlan>,
        handles: &[EntryHandle],
    ) -> RecordBlock {
        let mut block = RecordBlock::default();
        let Some(id) = self.names.tables.get(&table).copied() else { return block };
        let mut sorted = handles.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let Some(plan) = plan else {
            let entries =
                sorted.iter().filter_map(|handle| self.entry_at(view, table, *handle, Extras::default()));
            block.others.extend(entries);
            return block;
        };
        let layout = &plan.layout;
        let mut i = 0;
        while i < sorted.len() {
            // Handles that follow each other are read together.
            let first = sorted[i];
            let is_next = |(j, handle): &(usize, &EntryHandle)| handle.serial == first.serial + *j as u64;
            let n = sorted[i..].iter().enumerate().take_while(is_next).count();
            i += n;
            let before = first.serial.checked_sub(1).map(EntryHandle::behind);
            let mut read = RecordsRead::default();
            view.store.read_records(id, layout, before, n, &mut read);
            let last = first.serial + n as u64;
            let found = read.records.chunks_exact(layout.record_bytes).zip(&read.handles);
            for (record, handle) in found.filter(|(_, handle)| (first.serial..last).contains(&handle.serial))
            {
                if layout.kind_at.is_some_and(|at| record[at] == RecordLayout::ONE_SHOT) {
                    block.others.extend(self.entry_at(view, table, *handle, Extras::default()));
                    continue;
                }
                let data = self.controller_data.get(&(id, *handle)).filter(|data| !data.metadata.is_empty());
                let number = block.records.len() / layout.record_bytes;
                block.metadata.extend(data.map(|data| (number, data.metadata.clone())));
                block.records.extend_from_slice(record);
            }
        }
        block
    }
}
