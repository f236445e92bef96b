//! Table entries and value sets.

use super::{ControllerData, Entities, State, View, values};
use crate::store::{
    Count, DirectCells, EntryAction, EntryHandle, EntryRef as Target, Matches, MeterRates, NewEntry, OneShot,
    Store, StoredAction, StoredEntry, TableError, Weighted,
};
use control::*;

/// Rates of the control plane as the meter takes them.
pub(super) fn rates(config: Option<&MeterConfig>) -> Option<MeterRates> {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    config.map(|c| MeterRates {
        committed_rate: number(c.cir),
        committed_burst: number(c.cburst),
        peak_rate: number(c.pir),
        peak_burst: number(c.pburst),
    })
}

pub(super) fn meter_config(rates: Option<MeterRates>) -> Option<MeterConfig> {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    rates.map(|r| MeterConfig {
        cir: number(r.committed_rate),
        cburst: number(r.committed_burst),
        pir: number(r.peak_rate),
        pburst: number(r.peak_burst),
        eburst: 0,
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

impl Entities {
    /// An action of a table with its data.
    pub(super) fn action(
        &self,
        table: TableId,
        id: ir::TableId,
        action: &Action,
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
        Ok(ir::Action { index, data })
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
    fn key(&self, table: TableId, given: &[FieldMatch]) -> Result<Option<(ir::TableId, Matches)>, Fault> {
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
    ) -> Result<EntryAction, Fault> {
        Ok(match action {
            TableAction::Action(action) => EntryAction::Action(self.action(table, id, action)?),
            TableAction::Member(member) => EntryAction::Member(member.0),
            TableAction::Group(group) => EntryAction::Group(group.0),
            TableAction::OneShot(one_shot) => {
                if one_shot.group_action.is_some() {
                    return Err(Problem::Unsupported { what: "a group action".to_string() }.into());
                }
                let mut actions = Vec::with_capacity(one_shot.actions.len());
                for weighted in &one_shot.actions {
                    actions.push(Weighted {
                        what: self.action(table, id, &weighted.action)?,
                        weight: u32::try_from(weighted.weight).unwrap_or(0),
                        watch_port: watch_port(weighted.watch_port.as_ref())?,
                    });
                }
                EntryAction::OneShot(OneShot { actions })
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
        if update.kind == UpdateKind::Delete {
            let deleted = state.store.delete(id, &matches, entry.priority);
            let handle = deleted.map_err(|e| self.fault(&e, &update.entity))?;
            self.controller_data.remove(&(id, handle));
            return Ok(());
        }
        let action = match &entry.action {
            Some(action) => self.entry_action(entry.table, id, action)?,
            None => self.action_there(state.store, update, entry, (id, &matches))?,
        };
        let new = new_entry(entry, matches, action);
        let handle = match update.kind {
            UpdateKind::Insert => state.store.insert(id, new, state.now_ns),
            UpdateKind::Modify | UpdateKind::Delete => state.store.modify(id, new, state.now_ns),
        };
        self.written(state, update, entry, (id, handle))
    }

    /// An entry that says what it does, and its table in the program; `None`: the program lacks it.
    pub(super) fn insertion(&self, entry: &TableEntry) -> Result<Option<(ir::TableId, NewEntry)>, Fault> {
        let (Some(action), Some((id, matches))) = (&entry.action, self.key(entry.table, &entry.matches)?)
        else {
            return Ok(None);
        };
        let action = self.entry_action(entry.table, id, action)?;
        Ok(Some((id, new_entry(entry, matches, action))))
    }

    /// Completes a write after the store's result: saves the controller data and sets the direct cells.
    pub(super) fn written(
        &mut self,
        state: State<'_>,
        update: &Update,
        entry: &TableEntry,
        (id, handle): (ir::TableId, Result<EntryHandle, TableError>),
    ) -> Result<(), Fault> {
        let handle = handle.map_err(|e| self.fault(&e, &update.entity))?;
        self.keep(id, handle, entry);
        self.set_direct(state, id, Target::Entry(handle), entry).map_err(|e| self.fault(&e, &update.entity))
    }

    /// Returns the current action of an entry, for an update that does not change it.
    fn action_there(
        &self,
        store: &dyn Store,
        update: &Update,
        entry: &TableEntry,
        (id, matches): (ir::TableId, &Matches),
    ) -> Result<EntryAction, Fault> {
        let handle = store.find(id, matches, entry.priority);
        let stored = handle.and_then(|handle| store.entry(id, handle));
        let Some(stored) = stored else {
            return Err(Problem::DoesNotExist { what: self.schema.describe(&update.entity) }.into());
        };
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
                self.entry_action(entry.table, id, &TableAction::OneShot(written))?
            }
        })
    }

    /// Remembers what only the controller wants to know.
    fn keep(&mut self, id: ir::TableId, handle: EntryHandle, entry: &TableEntry) {
        let key = (id, handle);
        let one_shot = match &entry.action {
            Some(TableAction::OneShot(one_shot)) => Some(one_shot.clone()),
            Some(TableAction::Action(_) | TableAction::Member(_) | TableAction::Group(_)) => None,
            None => {
                self.controller_data.get(&key).and_then(|controller_data| controller_data.one_shot.clone())
            }
        };
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

    fn write_default_entry(
        &mut self,
        state: State<'_>,
        update: &Update,
        entry: &TableEntry,
        id: ir::TableId,
    ) -> Result<(), Fault> {
        let action = match &entry.action {
            None => None,
            Some(TableAction::Action(action)) => Some(self.action(entry.table, id, action)?),
            Some(TableAction::Member(_) | TableAction::Group(_) | TableAction::OneShot(_)) => {
                return Err(self.not_in_program(&update.entity));
            }
        };
        let is_const = self.program.tables[id].has_const_default_action;
        // A const default entry may still have its counter written.
        if !(is_const && action.is_none()) {
            state.store.set_default_action(id, action).map_err(|e| self.fault(&e, &update.entity))?;
        }
        self.set_direct(state, id, Target::Default, entry).map_err(|e| self.fault(&e, &update.entity))
    }

    pub(super) fn read_table_entries(&self, view: View<'_>, query: &EntryQuery) -> Vec<Entity> {
        let mut out = Vec::new();
        for (table, id) in &self.names.tables {
            if query.table.is_some_and(|t| t != *table) {
                continue;
            }
            let Some(known) = self.schema.tables.get(*table) else { continue };
            let all = query.table.is_none();
            if query.is_default_action && !all {
                let action = view.store.default_action(*id);
                let action = action.and_then(|a| self.control_action(*table, &a)).map(TableAction::Action);
                let direct = view.store.direct(*id, Target::Default).unwrap_or_default();
                let entry =
                    TableEntry { is_default_action: true, action, ..TableEntry::new(*table, vec![], 0) };
                let is_const = self.program.tables[*id].has_const_default_action;
                out.push(with_direct(TableEntry { is_const, ..entry }, known, &direct, query.extras));
                continue;
            }
            let wanted = match self.key(*table, &query.matches) {
                Ok(Some((_, matches))) if !all && !query.matches.is_empty() => {
                    self.shape(*id).map(|shape| shape.normalise(&matches))
                }
                _ => None,
            };
            view.store.visit_entries(*id, &mut |stored| {
                if wanted.as_ref().is_some_and(|m| *m != stored.matches) {
                    return;
                }
                let entry = self.entry(*table, *id, known, &stored);
                if all || is_wanted(query, &entry) {
                    let mut entry = with_direct(entry, known, &stored.direct, query.extras);
                    if query.extras.time_since_last_hit && known.has_idle_timeout {
                        let idle = view.now_ns.saturating_sub(stored.last_hit_ns);
                        entry.time_since_last_hit_ns = Some(i64::try_from(idle).unwrap_or(i64::MAX));
                    }
                    out.push(entry);
                }
            });
        }
        out.into_iter().map(Entity::TableEntry).collect()
    }

    fn entry(
        &self,
        table: TableId,
        id: ir::TableId,
        known: &schema::Table,
        stored: &StoredEntry,
    ) -> TableEntry {
        let matches = values::field_matches(&known.keys, &stored.matches);
        let controller_data = self.controller_data.get(&(id, stored.handle));
        TableEntry {
            action: self.table_action(table, controller_data, &stored.action),
            is_const: stored.is_const,
            metadata: controller_data
                .map(|controller_data| controller_data.metadata.clone())
                .unwrap_or_default(),
            controller_metadata: controller_data
                .map_or(0, |controller_data| controller_data.controller_metadata),
            idle_timeout_ns: i64::try_from(stored.idle_timeout_ns).unwrap_or(i64::MAX),
            ..TableEntry::new(table, matches, stored.priority)
        }
    }

    fn table_action(
        &self,
        table: TableId,
        controller_data: Option<&ControllerData>,
        action: &StoredAction,
    ) -> Option<TableAction> {
        match action {
            StoredAction::Action(action) => self.control_action(table, action).map(TableAction::Action),
            StoredAction::Member(member) => Some(TableAction::Member(MemberId(*member))),
            StoredAction::Group(group) => Some(TableAction::Group(GroupId(*group))),
            StoredAction::OneShot => controller_data?.one_shot.clone().map(TableAction::OneShot),
        }
    }

    /// Writes the direct counter and the direct meter of an entry.
    fn set_direct(
        &self,
        state: State<'_>,
        id: ir::TableId,
        target: Target,
        entry: &TableEntry,
    ) -> Result<(), TableError> {
        if let Some(data) = &entry.counter_data {
            state.store.set_direct_count(id, target, count(data))?;
        }
        if self.program.tables[id].direct_meter.is_some() {
            let rates = rates(entry.meter_config.as_ref());
            state.store.set_direct_rates(id, target, rates, state.now_ns)?;
        }
        Ok(())
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

fn new_entry(entry: &TableEntry, matches: Matches, action: EntryAction) -> NewEntry {
    let idle_timeout_ns = u64::try_from(entry.idle_timeout_ns).unwrap_or(0);
    NewEntry { matches, priority: entry.priority, action, idle_timeout_ns }
}

/// The number of the port that decides whether a member is used.
pub(super) fn watch_port(port: Option<&Port>) -> Result<Option<u32>, Fault> {
    port.map(super::replication::number).transpose().map_err(|fault| fault.inside("watch_port"))
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

fn with_direct(entry: TableEntry, known: &schema::Table, direct: &DirectCells, extras: Extras) -> TableEntry {
    let has_counter = known.direct_counter.is_some() && extras.counter_data;
    let has_meter = known.direct_meter.is_some() && extras.meter_config;
    TableEntry {
        counter_data: has_counter.then(|| counter_data(direct.count)),
        meter_config: if has_meter { meter_config(direct.rates) } else { None },
        ..entry
    }
}
