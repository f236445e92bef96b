//! Entries as records.

use super::snapshots::{N_KEPT_MAX, Snapshot, TableLeft};
use super::{Entities, State, View};
use crate::store::{EntryHandle, EntryRef, RecordsRead};
use control::records::{RecordBlock, RecordCodes, RecordLayout, RecordOp, RecordParts, RecordPlan};
use control::*;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Entities {
    /// The plan for the records of a table; `None` if its entries cannot be records.
    pub(super) fn record_plan(
        &mut self,
        view: View<'_>,
        table: TableId,
        parts: RecordParts,
    ) -> Option<Arc<RecordPlan>> {
        if let Some(known) = self.record_plans.get(&(table, parts)) {
            return known.clone();
        }
        let plan = self.new_plan(view, table, parts).map(Arc::new);
        self.record_plans.insert((table, parts), plan.clone());
        plan
    }

    fn new_plan(&self, view: View<'_>, table: TableId, parts: RecordParts) -> Option<RecordPlan> {
        let known = self.schema.tables.get(table)?;
        if parts.count && known.direct_counter.is_none() {
            return None;
        }
        // A modification replaces what these say, so no record leaves them out.
        let parts = RecordParts {
            idle_timeout: known.has_idle_timeout,
            rates: known.direct_meter.is_some(),
            ..parts
        };
        let layout = view.store.record_layout(*self.names.tables.get(&table)?, parts)?;
        RecordPlan::new(&self.schema, table, layout, |action| {
            self.names.actions.get(&(table, action)).copied()
        })
    }

    pub(super) fn write_records(
        &mut self,
        state: State<'_>,
        plan: &RecordPlan,
        op: RecordOp,
        records: &mut [u8],
        metadata: &[&[u8]],
    ) -> RecordCodes {
        let n_bytes = plan.layout.record_bytes;
        let mut done = RecordCodes::ok(records.len() / n_bytes);
        plan.check_all(op, records, |i, code| done.fail(i, code));
        let kind = match op {
            RecordOp::Insert | RecordOp::Upsert => UpdateKind::Insert,
            RecordOp::Modify => UpdateKind::Modify,
            RecordOp::Delete => UpdateKind::Delete,
        };
        let State { store, pre, now_ns } = state;
        self.write_those(State { store, pre, now_ns }, plan, kind, (records, metadata), &mut done, Code::Ok);
        if op == RecordOp::Upsert && done.codes.contains(&Code::AlreadyExists) {
            let state = State { store, pre, now_ns };
            self.write_those(
                state,
                plan,
                UpdateKind::Modify,
                (records, metadata),
                &mut done,
                Code::AlreadyExists,
            );
        }
        done
    }

    /// Writes those checked records that have this code, and gives them others.
    fn write_those(
        &mut self,
        state: State<'_>,
        plan: &RecordPlan,
        kind: UpdateKind,
        (records, metadata): (&[u8], &[&[u8]]),
        done: &mut RecordCodes,
        with: Code,
    ) {
        let Some(id) = self.names.tables.get(&plan.table).copied() else { return };
        let n_bytes = plan.layout.record_bytes;
        if with == Code::Ok && done.n_failed == 0 {
            let written = self.write_checked(state, plan, (id, kind), records, &|i| metadata.get(i).copied());
            *done = written;
            return;
        }
        let those: Vec<usize> = (0..done.codes.len()).filter(|i| done.codes[*i] == with).collect();
        if those.is_empty() {
            return;
        }
        let of = |i: &usize| records[i * n_bytes..(i + 1) * n_bytes].iter().copied();
        let copied: Vec<u8> = those.iter().flat_map(of).collect();
        let metadata = |i: usize| those.get(i).and_then(|i| metadata.get(*i)).copied();
        let written = self.write_checked(state, plan, (id, kind), &copied, &metadata);
        for (i, code) in those.iter().zip(written.codes) {
            done.codes[*i] = code;
        }
        done.n_failed = done.codes.iter().filter(|code| **code != Code::Ok).count();
    }

    fn write_checked<'m>(
        &mut self,
        state: State<'_>,
        plan: &RecordPlan,
        (id, kind): (ir::TableId, UpdateKind),
        records: &[u8],
        metadata: &dyn Fn(usize) -> Option<&'m [u8]>,
    ) -> RecordCodes {
        let n_bytes = plan.layout.record_bytes;
        let is_read = self.snapshots.has(id);
        if is_read && kind != UpdateKind::Insert {
            for record in records.chunks_exact(n_bytes) {
                let key = plan.entry(RecordOp::Delete, record);
                let found = self.key(plan.table, &key.matches).ok().flatten();
                let found = found.and_then(|(_, matches)| state.store.find(id, &matches, key.priority));
                if let Some(handle) = found {
                    self.keep_for_reads(state.view(), id, EntryRef::Entry(handle));
                }
            }
        }
        let has_metadata = metadata(0).is_some();
        let is_followed = self.logs.has(plan.table);
        let is_of_others = kind != UpdateKind::Insert && !self.controller_data.is_empty();
        let wants_handles = is_read || is_followed || has_metadata || is_of_others;
        let mut handles = wants_handles.then(Vec::new);
        let State { store, now_ns, .. } = state;
        let done = store.write_records(id, &plan.layout, kind, records, now_ns, handles.as_mut());
        let written = handles.iter().flatten().zip(&done.codes).enumerate();
        for (i, (handle, _)) in written.filter(|(_, (_, code))| **code == Code::Ok) {
            match kind {
                UpdateKind::Insert => self.snapshots.leave_out(id, *handle),
                UpdateKind::Modify => {}
                UpdateKind::Delete => {
                    if is_followed {
                        let record = &records[i * n_bytes..(i + 1) * n_bytes];
                        self.logs.deleted_record(plan.table, record);
                    }
                    self.forget(plan.table, (id, *handle));
                    continue;
                }
            }
            if is_followed {
                self.logs.written(plan.table, *handle);
            }
            if has_metadata || kind == UpdateKind::Modify {
                let mut entry = plan.entry(kind.into(), &records[i * n_bytes..(i + 1) * n_bytes]);
                entry.metadata = metadata(i).unwrap_or_default().to_vec();
                self.keep(id, *handle, &entry);
            }
        }
        done
    }

    /// The plan for the table at which a read has arrived; `None` if its answer has more than records do.
    pub(super) fn plan_of_read(&mut self, view: View<'_>, reading: &Reading) -> Option<Arc<RecordPlan>> {
        let Snapshot { query, tables, .. } = self.snapshots.get(reading.snapshot()?)?;
        let TableLeft { table, id, .. } = tables.last()?;
        let (table, id) = (*table, *id);
        let has_conditions = query.table.is_some()
            && *query != EntryQuery { table: query.table, extras: query.extras, ..EntryQuery::default() };
        let has_entries_of_program = !self.program.tables[id].entries.is_empty();
        let Extras { meter_config: _, counter_data, meter_counter_data, time_since_last_hit } = query.extras;
        if has_conditions || has_entries_of_program || meter_counter_data || time_since_last_hit {
            return None;
        }
        let has_counter = self.schema.tables.get(table)?.direct_counter.is_some();
        let parts = RecordParts { count: counter_data && has_counter, ..RecordParts::default() };
        self.record_plan(view, table, parts)
    }

    /// The next entries of a read as records. False at the end of the plan's table.
    pub(super) fn read_records(
        &mut self,
        view: View<'_>,
        reading: &mut Reading,
        plan: &RecordPlan,
        n_max: usize,
        block: &mut RecordBlock,
    ) -> Result<bool, Fault> {
        let Some(id) = reading.snapshot() else { return Ok(false) };
        let Some(mut snapshot) = self.snapshots.take(id) else { return Err(Problem::ProgramReplaced.into()) };
        let found = self.read_records_of(view, &mut snapshot, plan, n_max, block);
        self.snapshots.put_back(id, snapshot);
        found
    }

    fn read_records_of(
        &self,
        view: View<'_>,
        snapshot: &mut Snapshot,
        plan: &RecordPlan,
        n_max: usize,
        block: &mut RecordBlock,
    ) -> Result<bool, Fault> {
        if snapshot.is_overtaken {
            return Err(Problem::ReadOvertaken { limit: N_KEPT_MAX }.into());
        }
        let Some(table) = snapshot.tables.last_mut().filter(|table| table.table == plan.table) else {
            return Ok(false);
        };
        let n_bytes = plan.layout.record_bytes;
        let mut read = RecordsRead { records: std::mem::take(&mut block.records), handles: Vec::new() };
        let last = view.store.read_records(table.id, &plan.layout, table.after, n_max, &mut read);
        let RecordsRead { mut records, handles } = read;
        let is_kept = |handle: &EntryHandle| table.kept.contains_key(handle);
        let has_number = |handle: &EntryHandle| {
            let data = self.controller_data.get(&(table.id, *handle));
            data.is_some_and(|data| data.controller_metadata != 0)
        };
        let may_have_number = !self.controller_data.is_empty();
        let is_in_place = |(i, handle): (usize, &EntryHandle)| {
            let is_one_shot =
                plan.layout.kind_at.is_some_and(|at| records[i * n_bytes + at] == RecordLayout::ONE_SHOT);
            let has_more = is_one_shot || may_have_number && has_number(handle);
            !has_more && table.is_left(*handle) && !is_kept(handle)
        };
        let are_in_place = handles.iter().enumerate().all(is_in_place);
        if !are_in_place {
            let is_in_place: Vec<bool> = handles.iter().enumerate().map(is_in_place).collect();
            for (handle, _) in handles.iter().zip(&is_in_place).filter(|(_, is_in_place)| !**is_in_place) {
                if table.is_left(*handle) && !is_kept(handle) {
                    block.others.extend(self.entry_at(view, plan.table, *handle, snapshot.query.extras));
                }
            }
            let mut left = Vec::with_capacity(records.len());
            let all = records.chunks_exact(n_bytes).zip(&is_in_place);
            all.filter(|(_, is_in_place)| **is_in_place)
                .for_each(|(record, _)| left.extend_from_slice(record));
            self.add_metadata(
                table.id,
                handles.iter().zip(&is_in_place).filter(|(_, of)| **of).map(|(h, _)| *h),
                block,
            );
            records = left;
        } else {
            self.add_metadata(table.id, handles.iter().copied(), block);
        }
        block.records = records;
        let arrived = last.or(handles.last().copied()).or(table.after);
        block.last = arrived.map(|arrived| arrived.serial);
        let is_end = last.is_none_or(|last| table.end.is_some_and(|end| last >= end));
        let changed = match last {
            Some(last) if !is_end => {
                let mut later = table.kept.split_off(&last);
                let of_last = later.remove(&last);
                let mut changed = std::mem::replace(&mut table.kept, later);
                changed.extend(of_last.map(|kept| (last, kept)));
                table.after = Some(last);
                changed
            }
            _ => std::mem::take(&mut table.kept),
        };
        add_changed(plan, changed, block);
        if is_end {
            snapshot.tables.pop();
        }
        Ok(!is_end)
    }

    fn add_metadata(
        &self,
        id: ir::TableId,
        handles: impl Iterator<Item = EntryHandle>,
        block: &mut RecordBlock,
    ) {
        if self.controller_data.is_empty() {
            return;
        }
        for (i, handle) in handles.enumerate() {
            let data = self.controller_data.get(&(id, handle)).filter(|data| !data.metadata.is_empty());
            block.metadata.extend(data.map(|data| (i, data.metadata.clone())));
        }
    }
}

/// Adds entries that have changed since the read began, as they were.
fn add_changed(
    plan: &RecordPlan,
    changed: BTreeMap<EntryHandle, Option<TableEntry>>,
    block: &mut RecordBlock,
) {
    for entry in changed.into_values().flatten().filter(|entry| !entry.is_const) {
        match plan.record(RecordOp::Insert, &entry) {
            Some(record) if entry.controller_metadata == 0 => {
                let i = block.records.len() / plan.layout.record_bytes;
                block.records.extend_from_slice(&record);
                block.metadata.extend((!entry.metadata.is_empty()).then_some((i, entry.metadata)));
            }
            Some(_) | None => block.others.push(entry),
        }
    }
}
