//! Reads of table entries: at once, or in steps.

use super::snapshots::{N_KEPT_MAX, Snapshot, TableLeft};
use super::{Entities, View, select};
use crate::store::{EntryHandle, EntryRef as StoreRef, Matches, Origin, StoredAction, StoredEntry};
use control::*;
use std::collections::BTreeMap;

impl Entities {
    pub(super) fn read_table_entries(&self, view: View<'_>, query: &EntryQuery) -> Vec<Entity> {
        let mut out = Vec::new();
        for (table, id) in select(&self.names.tables, query.table) {
            let Some(known) = self.schema.tables.get(*table) else { continue };
            if query.is_default_action {
                out.push(self.default_entry(view, (*table, *id), known, query.extras));
                continue;
            }
            let matches = self.matches_of(*table, query);
            if is_point(query, known) {
                let found = matches.and_then(|matches| view.store.find(*id, &matches, query.priority));
                let stored = found.and_then(|handle| view.store.entry(*id, handle));
                out.extend(stored.and_then(|stored| self.answer(view, query, (*table, *id), None, &stored)));
                continue;
            }
            view.store.visit_entries(*id, &mut |stored| {
                out.extend(self.answer(view, query, (*table, *id), matches.as_ref(), &stored));
            });
        }
        out.into_iter().map(Entity::TableEntry).collect()
    }

    /// Begins a read in steps. Whatever is not a list of table entries is read at once.
    pub fn begin_read(&mut self, view: View<'_>, query: &Query) -> Result<Reading, Fault> {
        let Query::TableEntries(entries) = query else { return self.read(view, query).map(Reading::of) };
        let of_one = entries.table.and_then(|table| self.schema.tables.get(table));
        if entries.is_default_action || of_one.is_some_and(|known| is_point(entries, known)) {
            return self.read(view, query).map(Reading::of);
        }
        let tables = select(&self.names.tables, entries.table);
        let left = |(table, id): (&TableId, &ir::TableId)| {
            TableLeft::new((*table, *id), self.matches_of(*table, entries))
        };
        let tables = tables.map(left).collect();
        Ok(Reading::from_snapshot(self.snapshots.open(entries.clone(), tables, true)))
    }

    /// Begins a read that sees entries as they are when it comes to them, after one of them or from the first.
    pub fn begin_scan(&mut self, table: TableId, after: Option<u64>) -> Result<Reading, Fault> {
        let Some(id) = self.names.tables.get(&table) else { return Ok(Reading::default()) };
        let mut left = TableLeft::new((table, *id), None);
        left.after = after.map(EntryHandle::behind);
        let query = EntryQuery { table: Some(table), ..EntryQuery::default() };
        Ok(Reading::from_snapshot(self.snapshots.open(query, vec![left], false)))
    }

    /// The next entities of a read: none at its end.
    pub fn read_on(
        &mut self,
        view: View<'_>,
        reading: &mut Reading,
        n_max: usize,
    ) -> Result<Vec<Entity>, Fault> {
        let Some(id) = reading.snapshot() else { return Ok(reading.take_ready(n_max)) };
        let Some(mut snapshot) = self.snapshots.take(id) else { return Err(Problem::ProgramReplaced.into()) };
        let found = self.read_snapshot(view, &mut snapshot, n_max);
        self.snapshots.put_back(id, snapshot);
        found
    }

    pub fn end_read(&mut self, reading: &Reading) {
        reading.snapshot().and_then(|id| self.snapshots.take(id));
    }

    fn read_snapshot(
        &self,
        view: View<'_>,
        snapshot: &mut Snapshot,
        n_max: usize,
    ) -> Result<Vec<Entity>, Fault> {
        if snapshot.is_overtaken {
            return Err(Problem::ReadOvertaken { limit: N_KEPT_MAX }.into());
        }
        let mut out = Vec::new();
        while let Some(table) = snapshot.tables.last_mut()
            && out.is_empty()
        {
            let mut found = BTreeMap::new();
            let mut n_visited = 0;
            view.store.visit_entries_after(table.id, table.after, n_max, &mut |stored| {
                n_visited += 1;
                let wanted = || {
                    let of = (table.table, table.id);
                    self.answer(view, &snapshot.query, of, table.matches.as_ref(), &stored)
                };
                let is_left = table.is_left(stored.handle) && !table.kept.contains_key(&stored.handle);
                found.insert(stored.handle, if is_left { wanted() } else { None });
            });
            let last = found.last_key_value().map(|(handle, _)| *handle);
            let is_end =
                n_visited < n_max || last.is_some_and(|last| table.end.is_some_and(|end| last >= end));
            match last {
                // Those that were changed and deleted come in their places.
                Some(last) if !is_end => {
                    let later = table.kept.split_off(&last);
                    found.append(&mut std::mem::replace(&mut table.kept, later));
                    if let Some(kept) = table.kept.remove(&last) {
                        found.insert(last, kept);
                    }
                    table.after = Some(last);
                }
                _ => {
                    found.append(&mut table.kept);
                    snapshot.tables.pop();
                }
            }
            out.extend(found.into_values().flatten().map(Entity::TableEntry));
        }
        Ok(out)
    }

    /// Keeps an entry that is about to change for the reads that have not reached it.
    pub(super) fn keep_for_reads(&mut self, view: View<'_>, id: ir::TableId, entry: StoreRef) {
        // Default entries are read at once.
        let StoreRef::Entry(handle) = entry else { return };
        if self.snapshots.is_empty() {
            return;
        }
        let Some(stored) = view.store.entry(id, handle) else { return };
        let mut snapshots = std::mem::take(&mut self.snapshots);
        snapshots.keep(id, handle, |query, table| {
            self.answer(view, query, (table.table, id), table.matches.as_ref(), &stored)
        });
        self.snapshots = snapshots;
    }

    /// The key that a query asks for, in normal form; `None` if it asks for all.
    fn matches_of(&self, table: TableId, query: &EntryQuery) -> Option<Matches> {
        if query.table.is_none() || query.matches.is_empty() {
            return None;
        }
        let (id, matches) = self.key(table, &query.matches).ok().flatten()?;
        Some(self.shape(id).map_or(matches.clone(), |shape| shape.normalise(&matches)))
    }

    /// An entry with the extras that a query asks for; `None` if it is not asked for.
    fn answer(
        &self,
        view: View<'_>,
        query: &EntryQuery,
        (table, id): (TableId, ir::TableId),
        matches: Option<&Matches>,
        stored: &StoredEntry,
    ) -> Option<TableEntry> {
        let known = self.schema.tables.get(table)?;
        if matches.is_some_and(|matches| *matches != stored.matches) {
            return None;
        }
        let entry = self.entry(table, id, known, stored);
        let is_wanted = query.table.is_none() || is_wanted(query, &entry);
        is_wanted.then(|| with_extras(entry, view.now_ns, known, stored, query.extras))
    }

    /// The entry of a table that has this handle, as a controller reads it.
    pub(super) fn entry_at(
        &self,
        view: View<'_>,
        table: TableId,
        handle: EntryHandle,
        extras: Extras,
    ) -> Option<TableEntry> {
        let id = *self.names.tables.get(&table)?;
        let stored = view.store.entry(id, handle)?;
        let query = EntryQuery { extras, ..EntryQuery::default() };
        self.answer(view, &query, (table, id), None, &stored)
    }

    fn entry(
        &self,
        table: TableId,
        id: ir::TableId,
        known: &schema::Table,
        stored: &StoredEntry,
    ) -> TableEntry {
        let matches = super::values::field_matches(&known.keys, &stored.matches);
        let controller_data = self.controller_data.get(&(id, stored.handle));
        let action = match &stored.action {
            StoredAction::Action(action) => self.control_action(table, action).map(TableAction::Action),
            StoredAction::Member(member) => Some(TableAction::Member(MemberId(*member))),
            StoredAction::Group(group) => Some(TableAction::Group(GroupId(*group))),
            StoredAction::OneShot => {
                controller_data.and_then(|data| data.one_shot.clone()).map(TableAction::OneShot)
            }
        };
        let registers = match &stored.action {
            StoredAction::Action(action) => self.register_values(id, action),
            StoredAction::Member(_) | StoredAction::Group(_) | StoredAction::OneShot => Vec::new(),
        };
        TableEntry {
            action,
            registers,
            is_const: stored.is_const,
            is_of_packet: stored.origin == Origin::Packet,
            profile: stored.profile,
            metadata: controller_data.map(|data| data.metadata.clone()).unwrap_or_default(),
            controller_metadata: controller_data.map_or(0, |data| data.controller_metadata),
            idle_timeout_ns: i64::try_from(stored.idle_timeout_ns).unwrap_or(i64::MAX),
            ..TableEntry::new(table, matches, stored.priority)
        }
    }
}

/// Returns whether a query asks for one entry by its key.
fn is_point(query: &EntryQuery, known: &schema::Table) -> bool {
    query.table.is_some() && !query.matches.is_empty() && (query.priority > 0 || !known.needs_priority())
}

fn is_wanted(query: &EntryQuery, entry: &TableEntry) -> bool {
    let action = match &entry.action {
        Some(TableAction::Action(action)) => Some(action.id),
        Some(TableAction::Member(_) | TableAction::Group(_) | TableAction::OneShot(_)) | None => None,
    };
    (query.priority == 0 || query.priority == entry.priority)
        && (query.action.is_none() || query.action == action)
        && (query.metadata.is_empty() || query.metadata == entry.metadata)
        && (query.controller_metadata == 0 || query.controller_metadata == entry.controller_metadata)
}

/// Completes an entry with the extras that a query asks for.
fn with_extras(
    entry: TableEntry,
    now_ns: u64,
    known: &schema::Table,
    stored: &StoredEntry,
    extras: Extras,
) -> TableEntry {
    let mut entry = super::tables::with_direct(entry, known, &stored.direct, extras);
    if extras.time_since_last_hit && (known.has_idle_timeout || stored.profile.is_some()) {
        let idle = now_ns.saturating_sub(stored.last_hit_ns);
        entry.time_since_last_hit_ns = Some(i64::try_from(idle).unwrap_or(i64::MAX));
    }
    entry
}
