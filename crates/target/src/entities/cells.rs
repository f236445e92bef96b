//! Counters, meters and registers: arrays of cells, and the cells of table entries.

use super::tables::{colours, count, counter_data, meter_config, meter_counter_data, rates};
use super::{Entities, State, View, select, values};
use crate::store::{DirectCells, EntryRef as Target, N_CELLS_AT_ONCE, OutOfRange};
use control::*;

/// Index of a cell; `None` is all of them.
fn cell(index: Option<i64>) -> Option<u64> {
    index.map(|i| u64::try_from(i).unwrap_or(u64::MAX))
}

/// The cells that a query asks for.
fn cells(index: Option<i64>, size: u64) -> std::ops::Range<u64> {
    match cell(index) {
        Some(i) if i < size => i..i + 1,
        Some(_) => 0..0,
        None => 0..size,
    }
}

/// Reads the cells that a query asks for, in steps that stop workers once each.
fn read_cells<T>(
    view: View<'_>,
    index: Option<i64>,
    size: u64,
    mut read: impl FnMut(u64) -> Result<T, OutOfRange>,
    mut found: impl FnMut(u64, T),
) {
    let all = cells(index, size);
    let mut step = Vec::new();
    for first in all.clone().step_by(N_CELLS_AT_ONCE) {
        let end = all.end.min(first + N_CELLS_AT_ONCE as u64);
        view.store.at_once(&mut || step.extend((first..end).filter_map(|i| Some((i, read(i).ok()?)))));
        step.drain(..).for_each(|(i, value)| found(i, value));
    }
}

fn number(index: u64) -> Option<i64> {
    i64::try_from(index).ok()
}

impl Entities {
    /// A cell that does not exist. Indices of a translated type reach this place unchecked.
    fn out_of_range(&self, error: OutOfRange, object: u32) -> Fault {
        let index = i64::try_from(error.index).unwrap_or(i64::MAX);
        Problem::IndexOutOfRange { name: self.schema.name_of(object), index, size: error.size }.into()
    }

    pub(super) fn write_counter(&mut self, state: State<'_>, entry: &CounterEntry) -> Result<(), Fault> {
        let entity = || Entity::Counter(entry.clone());
        let Some(data) = &entry.data else { return Ok(()) };
        let Some(id) = self.names.counters.get(&entry.counter) else {
            return Err(self.not_in_program(&entity()));
        };
        let set = state.store.set_count(*id, cell(entry.index), count(data));
        set.map_err(|e| self.out_of_range(e, entry.counter.0))
    }

    pub(super) fn read_counters(
        &self,
        view: View<'_>,
        counter: Option<CounterId>,
        index: Option<i64>,
    ) -> Vec<Entity> {
        let mut out = Vec::new();
        for (counter, id) in select(&self.names.counters, counter) {
            let read = |i| view.store.count(*id, i);
            read_cells(view, index, view.store.n_cells(*id), read, |i, count| {
                let data = Some(counter_data(count));
                out.push(Entity::Counter(CounterEntry { counter: *counter, index: number(i), data }));
            });
        }
        out
    }

    pub(super) fn write_meter(&mut self, state: State<'_>, entry: &MeterEntry) -> Result<(), Fault> {
        let entity = || Entity::Meter(entry.clone());
        let known = self.schema.meters.get(entry.meter);
        let (Some(known), Some(id)) = (known, self.names.meters.get(&entry.meter)) else {
            return Err(self.not_in_program(&entity()));
        };
        let rates = rates(known.meter_type, entry.config.as_ref());
        let set = state.store.set_rates(*id, cell(entry.index), rates, state.now_ns);
        let set = set.and_then(|()| match &entry.counter_data {
            Some(data) => state.store.set_colours(*id, cell(entry.index), colours(data)),
            None => Ok(()),
        });
        set.map_err(|e| self.out_of_range(e, entry.meter.0))
    }

    pub(super) fn read_meters(
        &self,
        view: View<'_>,
        meter: Option<MeterId>,
        index: Option<i64>,
        with_counter_data: bool,
    ) -> Vec<Entity> {
        let mut out = Vec::new();
        for (meter, id) in select(&self.names.meters, meter) {
            let read = |i| view.store.rates(*id, i);
            read_cells(view, index, view.store.n_cells(*id), read, |i, rates| {
                let config = meter_config(rates);
                let colours = if with_counter_data { view.store.colours(*id, i).ok() } else { None };
                out.push(Entity::Meter(MeterEntry {
                    meter: *meter,
                    index: number(i),
                    config,
                    counter_data: colours.map(meter_counter_data),
                }));
            });
        }
        out
    }

    pub(super) fn write_register(
        &mut self,
        state: State<'_>,
        update: &Update,
        entry: &RegisterEntry,
    ) -> Result<(), Fault> {
        let known = self.schema.registers.get(entry.register);
        let (Some(known), Some(id)) = (known, self.names.registers.get(&entry.register)) else {
            return Err(self.not_in_program(&update.entity));
        };
        let mut leaves = Vec::new();
        if let Some(data) = &entry.data {
            values::leaves(&known.cell, data, &mut leaves);
        }
        let set = state.store.set_register(*id, cell(entry.index), &leaves);
        set.map_err(|e| self.out_of_range(e, entry.register.0))
    }

    pub(super) fn read_registers(
        &self,
        view: View<'_>,
        register: Option<RegisterId>,
        index: Option<i64>,
    ) -> Vec<Entity> {
        let mut out = Vec::new();
        for (register, id) in select(&self.names.registers, register) {
            let known = self.schema.registers.get(*register);
            let Some(known) = known else { continue };
            let read = |i| view.store.register(*id, i);
            read_cells(view, index, view.store.n_cells(*id), read, |i, value| {
                let data = Some(values::data(&known.cell, &mut value.iter()));
                out.push(Entity::Register(RegisterEntry { register: *register, index: number(i), data }));
            });
        }
        out
    }

    fn direct(
        &self,
        state: &State<'_>,
        update: &Update,
        entry: &EntryRef,
    ) -> Result<(ir::TableId, Target), Fault> {
        let found = self.entry_ref(state.store, entry)?;
        found.ok_or_else(|| Problem::DoesNotExist { what: self.schema.describe(&update.entity) }.into())
    }

    pub(super) fn write_direct_counter(
        &mut self,
        state: State<'_>,
        update: &Update,
        counter: &DirectCounterEntry,
    ) -> Result<(), Fault> {
        let (table, target) = self.direct(&state, update, &counter.entry)?;
        let Some(data) = &counter.data else { return Ok(()) };
        self.keep_for_reads(state.view(), table, target);
        let set = state.store.set_direct_count(table, target, count(data));
        set.map_err(|e| self.fault(&e, &update.entity))
    }

    pub(super) fn write_direct_meter(
        &mut self,
        state: State<'_>,
        update: &Update,
        meter: &DirectMeterEntry,
    ) -> Result<(), Fault> {
        let (table, target) = self.direct(&state, update, &meter.entry)?;
        self.keep_for_reads(state.view(), table, target);
        let rates = rates(self.direct_meter_type(meter.entry.table), meter.config.as_ref());
        let set = state.store.set_direct_rates(table, target, rates, state.now_ns);
        let set = set.and_then(|()| match &meter.counter_data {
            Some(data) => state.store.set_direct_colours(table, target, colours(data)),
            None => Ok(()),
        });
        set.map_err(|e| self.fault(&e, &update.entity))
    }

    /// The entries that a query for direct resources means, with their cells.
    fn direct_cells(
        &self,
        view: View<'_>,
        wanted: Option<&EntryRef>,
        has_resource: impl Fn(&schema::Table) -> bool,
    ) -> Result<Vec<(EntryRef, DirectCells)>, Fault> {
        let one = wanted.filter(|w| !w.matches.is_empty() || w.is_default_action);
        if let Some(entry) = one {
            let found = self.entry_ref(view.store, entry)?;
            let direct = found.and_then(|(id, target)| view.store.direct(id, target));
            let Some(direct) = direct else {
                let counter = DirectCounterEntry { entry: entry.clone(), data: None };
                let what = self.schema.describe(&Entity::DirectCounter(counter));
                return Err(Problem::DoesNotExist { what }.into());
            };
            return Ok(vec![(entry.clone(), direct)]);
        }
        let mut out = Vec::new();
        for (table, id) in select(&self.names.tables, wanted.map(|w| w.table)) {
            let Some(known) = self.schema.tables.get(*table).filter(|known| has_resource(known)) else {
                continue;
            };
            view.store.visit_entries(*id, &mut |stored| {
                let entry = EntryRef {
                    table: *table,
                    matches: values::field_matches(&known.keys, &stored.matches),
                    priority: stored.priority,
                    is_default_action: false,
                };
                out.push((entry, stored.direct));
            });
        }
        Ok(out)
    }

    pub(super) fn read_direct_counters(
        &self,
        view: View<'_>,
        wanted: Option<&EntryRef>,
    ) -> Result<Vec<Entity>, Fault> {
        let cells = self.direct_cells(view, wanted, |table| table.direct_counter.is_some())?;
        let entity = |(entry, direct): (EntryRef, DirectCells)| {
            let data = Some(counter_data(direct.count));
            Entity::DirectCounter(DirectCounterEntry { entry, data })
        };
        Ok(cells.into_iter().map(entity).collect())
    }

    pub(super) fn read_direct_meters(
        &self,
        view: View<'_>,
        wanted: Option<&EntryRef>,
        with_counter_data: bool,
    ) -> Result<Vec<Entity>, Fault> {
        let cells = self.direct_cells(view, wanted, |table| table.direct_meter.is_some())?;
        let entity = |(entry, direct): (EntryRef, DirectCells)| {
            let config = meter_config(direct.rates);
            let counter_data = with_counter_data.then(|| meter_counter_data(direct.colours));
            Entity::DirectMeter(DirectMeterEntry { entry, config, counter_data })
        };
        Ok(cells.into_iter().map(entity).collect())
    }
}
