//! Counters, meters and registers: arrays of cells, and the cells of table entries.

use super::tables::{counter_data, meter_config, rates, set_counter};
use super::{Entities, State, View, select, values};
use crate::externs::ObjectState;
use crate::externs::objects::{Count, OutOfRange};
use crate::table::{Direct, EntryRef as Target};
use control::*;

/// Index of a cell; `None` is all of them.
fn cell(index: Option<i64>) -> Option<u64> {
    index.map(|i| u64::try_from(i).unwrap_or(u64::MAX))
}

/// The cells that a query asks for. Bounded, as arrays may be larger than anybody wants to read.
fn cells(index: Option<i64>, size: u64) -> std::ops::Range<u64> {
    match cell(index) {
        Some(i) if i < size => i..i + 1,
        Some(_) => 0..0,
        None => 0..size.min(N_CELLS_MAX),
    }
}

/// Cells in one answer.
const N_CELLS_MAX: u64 = 1 << 22;

fn number(index: u64) -> Option<i64> {
    i64::try_from(index).ok()
}

impl Entities {
    /// A cell that does not exist, or an object that the program does not have.
    fn out_of_range(&self, error: OutOfRange, entity: &Entity) -> Fault {
        let what = self.schema.describe(entity);
        Problem::Refused { what, why: format!("there are {} cells", error.size) }.into()
    }

    pub(super) fn write_counter(&mut self, state: State<'_>, entry: &CounterEntry) -> Result<(), Fault> {
        let entity = || Entity::Counter(entry.clone());
        let array = self.names.counters.get(&entry.counter).and_then(|id| state.externs.counters(*id));
        let (Some(array), Some(data)) = (array, entry.data) else {
            return if entry.data.is_none() { Ok(()) } else { Err(self.not_in_program(&entity())) };
        };
        let count = Count {
            n_packets: u64::try_from(data.n_packets).unwrap_or(0),
            n_bytes: u64::try_from(data.n_bytes).unwrap_or(0),
        };
        match cell(entry.index) {
            Some(i) => array.set(i, count).map_err(|e| self.out_of_range(e, &entity())),
            None => {
                array.set_all(count);
                Ok(())
            }
        }
    }

    pub(super) fn read_counters(
        &self,
        view: View<'_>,
        counter: Option<CounterId>,
        index: Option<i64>,
    ) -> Vec<Entity> {
        let mut out = Vec::new();
        for (counter, id) in select(&self.names.counters, counter) {
            let Some(ObjectState::Counter(array)) = view.externs.object(*id) else { continue };
            for i in cells(index, array.size) {
                let Ok(count) = array.get(i) else { continue };
                let data = Some(counter_data(count.n_packets, count.n_bytes));
                out.push(Entity::Counter(CounterEntry { counter: *counter, index: number(i), data }));
            }
        }
        out
    }

    pub(super) fn write_meter(&mut self, state: State<'_>, entry: &MeterEntry) -> Result<(), Fault> {
        let entity = || Entity::Meter(entry.clone());
        let array = self.names.meters.get(&entry.meter).and_then(|id| state.externs.meters(*id));
        let Some(array) = array else { return Err(self.not_in_program(&entity())) };
        let rates = rates(entry.config.as_ref());
        match cell(entry.index) {
            Some(i) => array.set_rates(i, rates, state.now_ns).map_err(|e| self.out_of_range(e, &entity())),
            None => {
                array.set_all_rates(rates, state.now_ns);
                Ok(())
            }
        }
    }

    pub(super) fn read_meters(
        &self,
        view: View<'_>,
        meter: Option<MeterId>,
        index: Option<i64>,
    ) -> Vec<Entity> {
        let mut out = Vec::new();
        for (meter, id) in select(&self.names.meters, meter) {
            let Some(ObjectState::Meter(array)) = view.externs.object(*id) else { continue };
            for i in cells(index, array.size) {
                let Ok(rates) = array.rates(i) else { continue };
                let config = meter_config(rates);
                out.push(Entity::Meter(MeterEntry {
                    meter: *meter,
                    index: number(i),
                    config,
                    counter_data: None,
                }));
            }
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
        let array = self.names.registers.get(&entry.register).and_then(|id| state.externs.register(*id));
        let (Some(known), Some(array)) = (known, array) else {
            return Err(self.not_in_program(&update.entity));
        };
        let mut leaves = Vec::new();
        if let Some(data) = &entry.data {
            values::leaves(&known.cell, data, &mut leaves);
        }
        match cell(entry.index) {
            Some(i) => array.set(i, &leaves).map_err(|e| self.out_of_range(e, &update.entity)),
            None => {
                array.set_all(&leaves);
                Ok(())
            }
        }
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
            let (Some(known), Some(ObjectState::Register(array))) = (known, view.externs.object(*id)) else {
                continue;
            };
            for i in cells(index, array.size) {
                let Ok(value) = array.get(i) else { continue };
                let data = Some(values::data(&known.cell, &mut value.iter()));
                out.push(Entity::Register(RegisterEntry { register: *register, index: number(i), data }));
            }
        }
        out
    }

    fn direct<'s>(
        &self,
        state: &'s mut State<'_>,
        update: &Update,
        entry: &EntryRef,
    ) -> Result<&'s mut Direct, Fault> {
        let found = self.entry_ref(state.exe, state.tables, entry)?;
        let direct = found.and_then(|(id, target)| state.tables.direct(id, target));
        direct.ok_or_else(|| Problem::DoesNotExist { what: self.schema.describe(&update.entity) }.into())
    }

    pub(super) fn write_direct_counter(
        &mut self,
        mut state: State<'_>,
        update: &Update,
        counter: &DirectCounterEntry,
    ) -> Result<(), Fault> {
        let direct = self.direct(&mut state, update, &counter.entry)?;
        if let Some(data) = &counter.data {
            set_counter(direct, data);
        }
        Ok(())
    }

    pub(super) fn write_direct_meter(
        &mut self,
        mut state: State<'_>,
        update: &Update,
        meter: &DirectMeterEntry,
    ) -> Result<(), Fault> {
        let now_ns = state.now_ns;
        let direct = self.direct(&mut state, update, &meter.entry)?;
        direct.meter.set_rates(rates(meter.config.as_ref()), now_ns);
        Ok(())
    }

    /// The entries that a query for direct resources means, with their cells.
    fn direct_cells(
        &self,
        view: View<'_>,
        wanted: Option<&EntryRef>,
        has_resource: impl Fn(&schema::Table) -> bool,
    ) -> Result<Vec<(EntryRef, Direct)>, Fault> {
        let one = wanted.filter(|w| !w.matches.is_empty() || w.is_default_action);
        if let Some(entry) = one {
            let found = self.entry_ref(view.exe, view.tables, entry)?;
            let direct = found.and_then(|(id, target)| {
                let table = view.tables.table(id)?;
                match target {
                    Target::Default => Some(*table.default_direct()),
                    Target::Entry(handle) => table.get(handle).map(|e| e.direct),
                }
            });
            let Some(direct) = direct else {
                let counter = DirectCounterEntry { entry: entry.clone(), data: None };
                let what = self.schema.describe(&Entity::DirectCounter(counter));
                return Err(Problem::DoesNotExist { what }.into());
            };
            return Ok(vec![(entry.clone(), direct)]);
        }
        let mut out = Vec::new();
        for (table, id) in select(&self.names.tables, wanted.map(|w| w.table)) {
            let (Some(known), Some(store)) = (self.schema.tables.get(*table), view.tables.table(*id)) else {
                continue;
            };
            if !has_resource(known) {
                continue;
            }
            for stored in store.entries() {
                let entry = EntryRef {
                    table: *table,
                    matches: values::field_matches(&known.keys, &stored.matches),
                    priority: stored.priority,
                    is_default_action: false,
                };
                out.push((entry, stored.direct));
            }
        }
        Ok(out)
    }

    pub(super) fn read_direct_counters(
        &self,
        view: View<'_>,
        wanted: Option<&EntryRef>,
    ) -> Result<Vec<Entity>, Fault> {
        let cells = self.direct_cells(view, wanted, |table| table.direct_counter.is_some())?;
        let entity = |(entry, direct): (EntryRef, Direct)| {
            let data = Some(counter_data(direct.n_packets, direct.n_bytes));
            Entity::DirectCounter(DirectCounterEntry { entry, data })
        };
        Ok(cells.into_iter().map(entity).collect())
    }

    pub(super) fn read_direct_meters(
        &self,
        view: View<'_>,
        wanted: Option<&EntryRef>,
    ) -> Result<Vec<Entity>, Fault> {
        let cells = self.direct_cells(view, wanted, |table| table.direct_meter.is_some())?;
        let entity = |(entry, direct): (EntryRef, Direct)| {
            let config = meter_config(direct.meter.rates());
            Entity::DirectMeter(DirectMeterEntry { entry, config, counter_data: None })
        };
        Ok(cells.into_iter().map(entity).collect())
    }
}
