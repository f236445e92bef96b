//! Table entries and value sets.

use super::{ControllerData, DefaultEntry, Entities, State, View, values};
use crate::store::{
    Carried, ColourCounts, Count, DirectCells, EntryAction, EntryHandle, EntryRef as Target, Matches,
    MeterRates, MeterType, NewEntry, OneShot, Origin, Selection, Store, StoredAction, StoredEntry,
    TableError, Weighted,
};
use control::*;

/// Rates of the control plane as the meter takes them.
pub(super) fn rates(meter_type: MeterType, config: Option<&MeterConfig>) -> Option<MeterRates> {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    config.map(|c| MeterRates {
        meter_type,
        committed_rate: number(c.cir),
        committed_burst: number(c.cburst),
        peak_rate: number(c.pir),
        peak_burst: number(c.pburst),
        excess_burst: number(c.eburst),
    })
}

pub(super) fn meter_config(rates: Option<MeterRates>) -> Option<MeterConfig> {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    rates.map(|r| MeterConfig {
        cir: number(r.committed_rate),
        cburst: number(r.committed_burst),
        pir: number(r.peak_rate),
        pburst: number(r.peak_burst),
        eburst: number(r.excess_burst),
    })
}

pub(super) fn counter_data(count: Count) -> CounterData {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    CounterData { n_bytes: number(count.n_bytes), n_packets: number(count.n_packets) }
}

pub(super) fn count(data: &CounterData) -> Count {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    Count { n_packets: number(data.n_packets), n_bytes: number(data.n_bytes) }
}

pub(super) fn meter_counter_data(colours: ColourCounts) -> MeterCounterData {
    MeterCounterData {
        green: counter_data(colours.green),
        yellow: counter_data(colours.yellow),
        red: counter_data(colours.red),
    }
}

/// Clients write zeros alone; a batch that fails puts back what was there.
pub(super) fn colours(data: &MeterCounterData) -> ColourCounts {
    ColourCounts { green: count(&data.green), yellow: count(&data.yellow), red: count(&data.red) }
}

impl Entities {
    /// An action of a table with its data. Registers of the entry that are not given begin anew.
    pub(super) fn action(
        &self,
        table: TableId,
        id: ir::TableId,
        action: &Action,
        registers: &[RegisterValue],
    ) -> Result<ir::Action, Fault> {
        let known = self.schema.actions.get(action.id);
        let index = self.names.actions.get(&(table, action.id)).copied();
        let (Some(known), Some(index)) = (known, index) else {
            return Err(Problem::Unsupported { what: format!("action {}", action.id) }.into());
        };
        let shape = self.shape(id).and_then(|shape| shape.actions.get(index as usize));
        let mut data = Vec::with_capacity(known.params.len());
        for (i, param) in known.params.iter().enumerate() {
            let width = shape.and_then(|shape| shape.widths.get(i).copied().flatten());
            let given = action.params.iter().find(|p| p.id == param.id);
            let Some(given) = given else {
                let owner = format!("action `{}`", known.names.name).into();
                return Err(
                    Problem::Missing { part: schema::Part::Param, name: param.name.clone(), owner }.into()
                );
            };
            data.push(values::bits(&given.value, width, &param.name)?);
        }
        data.extend(self.program.tables[id].registers.iter().map(|register| {
            let given = registers.iter().find(|given| given.name == register.name);
            match given.map(|given| &given.value) {
                Some(Value::Bits(value)) if value.width() == register.initial.width() => value.clone(),
                _ => register.initial.clone(),
            }
        }));
        Ok(ir::Action { index, data })
    }

    /// The values of the registers of an entry, which stand behind the data of its action.
    pub(super) fn register_values(&self, id: ir::TableId, action: &ir::Action) -> Vec<RegisterValue> {
        let registers = &self.program.tables[id].registers;
        let n_own = action.data.len().saturating_sub(registers.len());
        let values = registers.iter().zip(action.data.iter().skip(n_own));
        values
            .map(|(register, value)| RegisterValue {
                name: register.name.clone(),
                value: value.clone().into(),
            })
            .collect()
    }

    /// Converts an action of the program to P4Info's; `None` for an action that P4Info does not have.
    pub(super) fn control_action(&self, table: TableId, action: &ir::Action) -> Option<Action> {
        let actions = &self.schema.tables.get(table)?.actions;
        let id = actions.iter().find(|a| self.names.actions.get(&(table, a.id)) == Some(&action.index))?.id;
        let known = self.schema.actions.get(id)?;
        let params = known.params.iter().zip(&action.data).map(|(param, value)| {
            let width = param.value.width_bits();
            let value = if width == 0 { value.clone() } else { value.resize(width) };
            Param { id: param.id, value: value.into() }
        });
        Some(Action { id, params: params.collect() })
    }

    /// The table in the program, and the matches in its terms.
    pub(super) fn key(
        &self,
        table: TableId,
        given: &[FieldMatch],
    ) -> Result<Option<(ir::TableId, Matches)>, Fault> {
        let (Some(known), Some(id)) = (self.schema.tables.get(table), self.names.tables.get(&table)) else {
            return Ok(None);
        };
        let widths = self.shape(*id).map(|shape| shape.keys.iter().map(|k| k.width));
        let widths: Vec<_> = widths.into_iter().flatten().collect();
        Ok(Some((*id, values::matches(&known.keys, &widths, given)?)))
    }

    /// Finds the entry, or the default entry, that owns the direct cells; `None` if it does not exist.
    pub(super) fn entry_ref(
        &self,
        store: &dyn Store,
        entry: &EntryRef,
    ) -> Result<Option<(ir::TableId, Target)>, Fault> {
        let Some((id, matches)) = self.key(entry.table, &entry.matches)? else { return Ok(None) };
        if entry.is_default_action {
            return Ok(Some((id, Target::Default)));
        }
        let found = store.find(id, &matches, entry.priority);
        Ok(found.map(|handle| (id, Target::Entry(handle))))
    }

    fn entry_action(
        &self,
        table: TableId,
        id: ir::TableId,
        action: &TableAction,
        registers: &[RegisterValue],
    ) -> Result<EntryAction, Fault> {
        Ok(match action {
            TableAction::Action(action) => EntryAction::Action(self.action(table, id, action, registers)?),
            TableAction::Member(member) => EntryAction::Member(member.0),
            TableAction::Group(group) => EntryAction::Group(group.0),
            TableAction::OneShot(one_shot) => {
                let mut actions = Vec::with_capacity(one_shot.actions.len());
                for weighted in &one_shot.actions {
                    actions.push(Weighted {
                        what: self.action(table, id, &weighted.action, registers)?,
                        weight: u32::try_from(weighted.weight).unwrap_or(0),
                        watch_port: watch_port(weighted.watch_port.as_ref())?,
                    });
                }
                let group_action = one_shot.group_action.as_ref();
                EntryAction::OneShot(OneShot {
                    actions,
                    selection: match one_shot.selection_mode {
                        SelectionMode::OfSelector | SelectionMode::Hash => Selection::Hash,
                        SelectionMode::Random => Selection::Random,
                    },
                    group_action: group_action
                        .map(|action| self.action(table, id, action, registers))
                        .transpose()?,
                })
            }
        })
    }

    pub(super) fn write_table_entry(
        &mut self,
        state: State<'_>,
        update: &Update,
        entry: &TableEntry,
    ) -> Result<(), Fault> {
        let Some((id, matches)) = self.key(entry.table, &entry.matches)? else {
            return Err(self.not_in_program(&update.entity));
        };
        if entry.is_default_action {
            return self.write_default_entry(state, update, entry, id);
        }
        if update.kind != UpdateKind::Insert
            && !self.snapshots.is_empty()
            && let Some(handle) = state.store.find(id, &matches, entry.priority)
        {
            self.keep_for_reads(state.view(), id, Target::Entry(handle));
        }
        if update.kind == UpdateKind::Delete {
            let deleted = state.store.delete(id, &matches, entry.priority);
            let handle = deleted.map_err(|e| self.fault(&e, &update.entity))?;
            self.logs.deleted_entry(entry);
            self.forget(entry.table, (id, handle));
            return Ok(());
        }
        let action = match &entry.action {
            Some(action) => self.entry_action(entry.table, id, action, &entry.registers)?,
            None => {
                let stored = self.entry_there(state.store, update, entry, (id, &matches))?;
                // Nothing but the direct resources of a const entry can be written.
                if stored.is_const {
                    let (target, mut set) = (Target::Entry(stored.handle), Ok(()));
                    state.store.change_at_once(&mut |store| {
                        set = self.set_direct(store, state.now_ns, (id, target), entry);
                    });
                    return set.map_err(|e| self.fault(&e, &update.entity));
                }
                self.action_there(update, entry, id, stored)?
            }
        };
        let new =
            new_entry(self.direct_meter_type(entry.table), &self.program.tables[id], entry, matches, action);
        let handle = match update.kind {
            UpdateKind::Insert => state.store.insert(id, new, state.now_ns),
            UpdateKind::Modify | UpdateKind::Delete if entry.keeps_data => {
                self.modify_keeping_data(state, update, entry, (id, new))?
            }
            UpdateKind::Modify | UpdateKind::Delete => state.store.modify(id, new, state.now_ns),
        };
        self.written(update, entry, (id, handle))
    }

    /// An entry that says what it does, and its table in the program; `None`: the program lacks it.
    pub(super) fn insertion(&self, entry: &TableEntry) -> Result<Option<(ir::TableId, NewEntry)>, Fault> {
        let (Some(action), Some((id, matches))) = (&entry.action, self.key(entry.table, &entry.matches)?)
        else {
            return Ok(None);
        };
        let action = self.entry_action(entry.table, id, action, &entry.registers)?;
        let meter_type = self.direct_meter_type(entry.table);
        Ok(Some((id, new_entry(meter_type, &self.program.tables[id], entry, matches, action))))
    }

    /// Completes a write after the store's result: saves the controller data.
    pub(super) fn written(
        &mut self,
        update: &Update,
        entry: &TableEntry,
        (id, handle): (ir::TableId, Result<EntryHandle, TableError>),
    ) -> Result<(), Fault> {
        let handle = handle.map_err(|e| self.fault(&e, &update.entity))?;
        if update.kind == UpdateKind::Insert {
            self.snapshots.leave_out(id, handle);
        }
        self.logs.written(entry.table, handle);
        self.keep(id, handle, entry);
        Ok(())
    }

    /// Returns the entry that an update without an action changes.
    fn entry_there(
        &self,
        store: &dyn Store,
        update: &Update,
        entry: &TableEntry,
        (id, matches): (ir::TableId, &Matches),
    ) -> Result<StoredEntry, Fault> {
        let handle = store.find(id, matches, entry.priority);
        let stored = handle.and_then(|handle| store.entry(id, handle));
        stored.ok_or_else(|| Problem::DoesNotExist { what: self.schema.describe(&update.entity) }.into())
    }

    /// Returns the current action of an entry, for an update that does not change it.
    fn action_there(
        &self,
        update: &Update,
        entry: &TableEntry,
        id: ir::TableId,
        stored: StoredEntry,
    ) -> Result<EntryAction, Fault> {
        Ok(match stored.action {
            StoredAction::Action(action) => EntryAction::Action(action),
            StoredAction::Member(member) => EntryAction::Member(member),
            StoredAction::Group(group) => EntryAction::Group(group),
            StoredAction::OneShot => {
                let written = self
                    .controller_data
                    .get(&(id, stored.handle))
                    .and_then(|controller_data| controller_data.one_shot.clone());
                let Some(written) = written else { return Err(self.not_in_program(&update.entity)) };
                self.entry_action(entry.table, id, &TableAction::OneShot(written), &[])?
            }
        })
    }

    /// Remembers what only the controller wants to know.
    pub(super) fn keep(&mut self, id: ir::TableId, handle: EntryHandle, entry: &TableEntry) {
        let key = (id, handle);
        let before = self.controller_data.get(&key).and_then(|data| data.one_shot.as_ref());
        let one_shot = match &entry.action {
            Some(TableAction::OneShot(one_shot)) => Some(one_shot.clone()),
            Some(TableAction::Action(_) | TableAction::Member(_) | TableAction::Group(_)) => None,
            None => before.cloned(),
        };
        match (before.is_some(), one_shot.is_some()) {
            (false, true) => self.programming.add(&self.schema, &programs(entry.table, one_shot.clone())),
            (true, false) => self.programming.remove(&self.schema, &programs(entry.table, before.cloned())),
            (true, true) | (false, false) => {}
        }
        let controller_data = ControllerData {
            metadata: entry.metadata.clone(),
            controller_metadata: entry.controller_metadata,
            one_shot,
        };
        if controller_data == ControllerData::default() {
            self.controller_data.remove(&key);
        } else {
            self.controller_data.insert(key, controller_data);
        }
    }

    /// Forgets an entry that is gone.
    pub(super) fn forget(&mut self, table: TableId, key: (ir::TableId, EntryHandle)) {
        let data = self.controller_data.remove(&key);
        if let Some(one_shot) = data.and_then(|data| data.one_shot) {
            self.programming.remove(&self.schema, &programs(table, Some(one_shot)));
        }
    }

    /// An update without an action puts back the action of the program, and clears the rest.
    fn write_default_entry(
        &mut self,
        state: State<'_>,
        update: &Update,
        entry: &TableEntry,
        id: ir::TableId,
    ) -> Result<(), Fault> {
        let action = match &entry.action {
            None => None,
            Some(TableAction::Action(action)) => {
                Some(self.action(entry.table, id, action, &entry.registers)?)
            }
            Some(TableAction::Member(_) | TableAction::Group(_) | TableAction::OneShot(_)) => {
                return Err(self.not_in_program(&update.entity));
            }
        };
        let has_action = action.is_some();
        let is_const = self.program.tables[id].has_const_default_action;
        let mut direct = entry.clone();
        if !has_action {
            direct.counter_data.get_or_insert_default();
            direct.meter_counter_data.get_or_insert_default();
        }
        let mut done = Ok(());
        state.store.change_at_once(&mut |store| {
            // A const default entry may still have its counter written.
            if !is_const || has_action {
                done = store.set_default_action(id, action.clone());
            }
            if done.is_ok() {
                done = self.set_direct(store, state.now_ns, (id, Target::Default), &direct);
            }
        });
        done.map_err(|e| self.fault(&e, &update.entity))?;
        let TableEntry { metadata, controller_metadata, .. } = entry.clone();
        let kept = DefaultEntry { has_action, metadata, controller_metadata };
        if kept == DefaultEntry::default() {
            self.defaults.remove(&entry.table);
        } else {
            self.defaults.insert(entry.table, kept);
        }
        Ok(())
    }

    /// Returns whether no update has set the default action of a table.
    pub(crate) fn has_default_of_program(&self, table: TableId) -> bool {
        self.defaults.get(&table).is_none_or(|entry| !entry.has_action)
    }

    /// Numbers of flows, and the timeouts of the profiles of tables that have any.
    pub(crate) fn packet_state(&self, store: &dyn Store) -> PacketState {
        let timeouts = |(table, id): (&TableId, &ir::TableId)| {
            let of = |profile| store.profile_timeout(*id, profile);
            Some((*table, (0..=u8::MAX).map(of).collect::<Option<Vec<u64>>>()?))
        };
        PacketState {
            n_flow_ids: store.n_flow_ids(),
            timeouts_ns: self.names.tables.iter().filter_map(timeouts).collect(),
        }
    }

    /// Takes over the state of another program, for tables that are here, too.
    pub(crate) fn restore_packet_state(&self, store: &mut dyn Store, state: &PacketState) {
        store.raise_flow_ids(state.n_flow_ids);
        for (table, timeouts_ns) in &state.timeouts_ns {
            let Some(id) = self.names.tables.get(table).copied() else { continue };
            for (profile, timeout_ns) in (0..=u8::MAX).zip(timeouts_ns) {
                // Tables without profiles have nothing to set.
                store.set_profile(id, profile, *timeout_ns);
            }
        }
    }

    /// Gives the default action of the program other data, in a table whose actions change them.
    pub(crate) fn restore_default_data(
        &mut self,
        store: &mut dyn Store,
        entry: &TableEntry,
    ) -> Result<(), Fault> {
        let (Some(id), Some(TableAction::Action(action))) =
            (self.names.tables.get(&entry.table).copied(), &entry.action)
        else {
            return Ok(());
        };
        if !self.program.tables[id].updates_data {
            return Ok(());
        }
        let action = self.action(entry.table, id, action, &entry.registers)?;
        let set = store.set_default_action(id, Some(action));
        set.map_err(|error| self.fault(&error, &Entity::TableEntry(entry.clone())))
    }

    /// Entries that the program declares without `const` and that the tables do not have.
    pub(crate) fn deleted_entries_of_program(&self, store: &dyn Store) -> Vec<TableEntry> {
        let mut deleted = Vec::new();
        for (table, id) in &self.names.tables {
            let Some(known) = self.schema.tables.get(*table) else { continue };
            // A program whose entries do not fit has not been loaded.
            let declared =
                self.shape(*id).and_then(|shape| shape.declared_entries(&self.program.tables[*id]).ok());
            for (entry, is_const) in declared.unwrap_or_default() {
                if !is_const && store.find(*id, &entry.matches, entry.priority).is_none() {
                    let matches = values::field_matches(&known.keys, &entry.matches);
                    deleted.push(TableEntry::new(*table, matches, entry.priority));
                }
            }
        }
        deleted
    }

    pub(super) fn default_entry(
        &self,
        view: View<'_>,
        (table, id): (TableId, ir::TableId),
        known: &schema::Table,
        extras: Extras,
    ) -> TableEntry {
        let stored = view.store.default_action(id);
        let registers = stored.as_ref().map(|action| self.register_values(id, action)).unwrap_or_default();
        let action = stored.and_then(|action| self.control_action(table, &action));
        let kept = self.defaults.get(&table).cloned().unwrap_or_default();
        let entry = TableEntry {
            is_default_action: true,
            is_const: self.program.tables[id].has_const_default_action,
            action: action.map(TableAction::Action),
            registers,
            metadata: kept.metadata,
            controller_metadata: kept.controller_metadata,
            ..TableEntry::new(table, vec![], 0)
        };
        let direct = view.store.direct(id, Target::Default).unwrap_or_default();
        with_direct(entry, known, &direct, extras)
    }

    /// Writes the direct counter and the direct meter of an entry whose action stays, or of a default entry.
    fn set_direct(
        &self,
        store: &mut dyn Store,
        now_ns: u64,
        (id, target): (ir::TableId, Target),
        entry: &TableEntry,
    ) -> Result<(), TableError> {
        let table = &self.program.tables[id];
        if table.direct_counter.is_some()
            && let Some(data) = &entry.counter_data
        {
            store.set_direct_count(id, target, count(data))?;
        }
        if table.direct_meter.is_some() {
            let rates = rates(self.direct_meter_type(entry.table), entry.meter_config.as_ref());
            store.set_direct_rates(id, target, rates, now_ns)?;
            if let Some(data) = &entry.meter_counter_data {
                store.set_direct_colours(id, target, colours(data))?;
            }
        }
        Ok(())
    }

    pub(super) fn direct_meter_type(&self, table: TableId) -> MeterType {
        let meter = self.schema.tables.get(table).and_then(|table| table.direct_meter);
        let meter = meter.and_then(|id| self.schema.direct_meters.get(id));
        meter.map_or(MeterType::default(), |meter| meter.meter_type)
    }

    pub(super) fn write_value_set(
        &mut self,
        state: State<'_>,
        update: &Update,
        entry: &ValueSetEntry,
    ) -> Result<(), Fault> {
        let known = self.schema.value_sets.get(entry.value_set);
        let (Some(known), Some(id)) = (known, self.names.value_sets.get(&entry.value_set)) else {
            return Err(self.not_in_program(&update.entity));
        };
        let fields = &self.program.value_sets[*id].fields;
        let widths: Vec<Option<u32>> = fields.iter().map(|f| f.ty.width_bits()).collect();
        let mut members = Vec::with_capacity(entry.members.len());
        for member in &entry.members {
            members.push(values::matches(&known.fields, &widths, &member.matches)?);
        }
        state.store.set_value_set(*id, members).map_err(|e| self.fault(&e, &update.entity))
    }

    pub(super) fn read_value_sets(&self, view: View<'_>, wanted: Option<ValueSetId>) -> Vec<Entity> {
        let entity = |(value_set, id): (&ValueSetId, &ir::ValueSetId)| {
            let known = self.schema.value_sets.get(*value_set)?;
            let members = view.store.value_set(*id).into_iter();
            let members = members
                .map(|member| ValueSetMember { matches: values::field_matches(&known.fields, &member) });
            Some(Entity::ValueSet(ValueSetEntry { value_set: *value_set, members: members.collect() }))
        };
        super::select(&self.names.value_sets, wanted).filter_map(entity).collect()
    }
}

/// An entry that programs the selector of its table by a one-shot.
fn programs(table: TableId, one_shot: Option<control::OneShot>) -> Entity {
    let action = one_shot.map(TableAction::OneShot);
    Entity::TableEntry(TableEntry { action, ..TableEntry::new(table, vec![], 0) })
}

fn new_entry(
    meter_type: MeterType,
    table: &ir::Table,
    entry: &TableEntry,
    matches: Matches,
    action: EntryAction,
) -> NewEntry {
    let idle_timeout_ns = u64::try_from(entry.idle_timeout_ns).unwrap_or(0);
    NewEntry {
        matches,
        priority: entry.priority,
        action,
        idle_timeout_ns,
        count: entry.counter_data.as_ref().map(count),
        rates: rates(meter_type, entry.meter_config.as_ref()),
        colours: entry.meter_counter_data.as_ref().map(colours),
        carried: carried(table, entry),
    }
}

/// Only entries that are carried over have these, see [`control::Target::restore`].
fn carried(table: &ir::Table, entry: &TableEntry) -> Option<Carried> {
    let origin = if entry.is_of_packet { Origin::Packet } else { Origin::Control };
    // Entries of packets had no time where they come from, and get that of new ones.
    let of_new = table.add_on_miss.filter(|_| entry.is_of_packet).map(|added| added.profile);
    let profile = entry.profile.or(of_new);
    (entry.is_of_packet || profile.is_some()).then_some(Carried { origin, profile })
}

/// The number of the port that decides whether a member is used.
pub(super) fn watch_port(port: Option<&Port>) -> Result<Option<u32>, Fault> {
    port.map(super::replication::number).transpose().map_err(|fault| fault.inside("watch_port"))
}

pub(super) fn with_direct(
    entry: TableEntry,
    known: &schema::Table,
    direct: &DirectCells,
    extras: Extras,
) -> TableEntry {
    let has_counter = known.direct_counter.is_some() && extras.counter_data;
    let has_meter = known.direct_meter.is_some();
    let has_colours = has_meter && extras.meter_counter_data;
    TableEntry {
        counter_data: has_counter.then(|| counter_data(direct.count)),
        meter_config: if has_meter && extras.meter_config { meter_config(direct.rates) } else { None },
        meter_counter_data: has_colours.then(|| meter_counter_data(direct.colours)),
        ..entry
    }
}
