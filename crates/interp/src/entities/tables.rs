//! Table entries and value sets.

use super::{Entities, State, View, values};
use crate::meter::MeterRates;
use crate::table::{
    Direct, EntryAction, EntryHandle, EntryRef as Target, Extras as Kept, Matches, NewEntry, OneShot,
    StoredEntry, Weighted,
};
use control::*;
use ir::MatchKind as Kind;

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

pub(super) fn counter_data(n_packets: u64, n_bytes: u64) -> CounterData {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    CounterData { n_bytes: number(n_bytes), n_packets: number(n_packets) }
}

pub(super) fn set_counter(direct: &mut Direct, data: &CounterData) {
    direct.n_packets = u64::try_from(data.n_packets).unwrap_or(0);
    direct.n_bytes = u64::try_from(data.n_bytes).unwrap_or(0);
}

/// What the program matches on.
fn key_shapes(decl: &ir::Table) -> Vec<(Kind, Option<u32>)> {
    let keys = decl.keys.iter().filter(|k| k.match_kind != Kind::Selector);
    keys.map(|k| (k.match_kind, k.ty.width_bits())).collect()
}

impl Entities {
    /// An action of a table with its data.
    pub(super) fn action(
        &self,
        exe: &crate::Executable,
        table: TableId,
        id: ir::TableId,
        action: &Action,
    ) -> Result<ir::Action, Fault> {
        let known = self.schema.actions.get(action.id);
        let index = self.names.actions.get(&(table, action.id)).copied();
        let (Some(known), Some(index)) = (known, index) else {
            return Err(Problem::Unsupported { what: format!("action {}", action.id) }.into());
        };
        let slots = exe.action(id, index).map_or(&[][..], |a| &a.params);
        let mut data = Vec::with_capacity(known.params.len());
        for (i, param) in known.params.iter().enumerate() {
            let width = slots.get(i).and_then(|slot| exe.width_of(*slot));
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

    /// The same, the other way; `None` for an action that P4Info does not have.
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
    fn key(
        &self,
        exe: &crate::Executable,
        table: TableId,
        given: &[FieldMatch],
    ) -> Result<Option<(ir::TableId, Matches)>, Fault> {
        let (Some(known), Some(id)) = (self.schema.tables.get(table), self.names.tables.get(&table)) else {
            return Ok(None);
        };
        let shapes = key_shapes(&exe.program.tables[*id]);
        Ok(Some((*id, values::matches(&known.keys, &shapes, given)?)))
    }

    /// Where an entry's direct cells are.
    pub(super) fn entry_ref(
        &self,
        exe: &crate::Executable,
        tables: &crate::Tables,
        entry: &EntryRef,
    ) -> Result<Option<(ir::TableId, Target)>, Fault> {
        let Some((id, matches)) = self.key(exe, entry.table, &entry.matches)? else { return Ok(None) };
        if entry.is_default_action {
            return Ok(Some((id, Target::Default)));
        }
        let found = tables.table(id).and_then(|t| t.find(&matches, entry.priority));
        Ok(found.map(|e| (id, Target::Entry(e.handle))))
    }

    fn entry_action(
        &self,
        state: &State<'_>,
        table: TableId,
        id: ir::TableId,
        action: &TableAction,
    ) -> Result<EntryAction, Fault> {
        Ok(match action {
            TableAction::Action(action) => EntryAction::Action(self.action(state.exe, table, id, action)?),
            TableAction::Member(member) => EntryAction::Member(member.0),
            TableAction::Group(group) => EntryAction::Group(group.0),
            TableAction::OneShot(one_shot) => {
                if one_shot.group_action.is_some() {
                    return Err(Problem::Unsupported { what: "a group action".to_string() }.into());
                }
                let mut actions = Vec::with_capacity(one_shot.actions.len());
                for weighted in &one_shot.actions {
                    actions.push(Weighted {
                        what: self.action(state.exe, table, id, &weighted.action)?,
                        weight: u32::try_from(weighted.weight).unwrap_or(0),
                        watch_port: watch_port(weighted.watch_port.as_ref()),
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
        let Some((id, matches)) = self.key(state.exe, entry.table, &entry.matches)? else {
            return Err(self.not_in_program(&update.entity));
        };
        if entry.is_default_action {
            return self.write_default_entry(state, update, entry, id);
        }
        let stored = state.tables.table(id).and_then(|t| t.find(&matches, entry.priority));
        let stored = stored.map(|e| (e.handle, e.action.clone()));
        if update.kind == UpdateKind::Delete {
            let deleted = state.tables.delete(id, &matches, entry.priority);
            let deleted = deleted.map_err(|e| self.fault(&e, &update.entity))?;
            self.one_shots.remove(&(id, deleted.handle));
            return Ok(());
        }
        let action = match (&entry.action, &stored) {
            (Some(action), _) => self.entry_action(&state, entry.table, id, action)?,
            (None, Some((_, action))) => action.clone(),
            (None, None) => {
                let what = self.schema.describe(&update.entity);
                return Err(Problem::DoesNotExist { what }.into());
            }
        };
        let extras = Kept {
            idle_timeout_ns: u64::try_from(entry.idle_timeout_ns).unwrap_or(0),
            metadata: entry.metadata.clone(),
            controller_metadata: entry.controller_metadata,
        };
        let new = NewEntry { matches, priority: entry.priority, action, extras };
        let handle = match update.kind {
            UpdateKind::Insert => state.tables.insert(id, new, state.now_ns),
            UpdateKind::Modify | UpdateKind::Delete => state.tables.modify(id, new, state.now_ns),
        };
        let handle = handle.map_err(|e| self.fault(&e, &update.entity))?;
        match &entry.action {
            Some(TableAction::OneShot(one_shot)) => {
                self.one_shots.insert((id, handle), one_shot.clone());
            }
            Some(TableAction::Action(_) | TableAction::Member(_) | TableAction::Group(_)) => {
                self.one_shots.remove(&(id, handle));
            }
            None => {}
        }
        set_direct(state, id, Target::Entry(handle), entry);
        Ok(())
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
            Some(TableAction::Action(action)) => Some(self.action(state.exe, entry.table, id, action)?),
            Some(TableAction::Member(_) | TableAction::Group(_) | TableAction::OneShot(_)) => {
                return Err(self.not_in_program(&update.entity));
            }
        };
        let is_const = state.exe.program.tables[id].has_const_default_action;
        // A const default entry may still have its counter written.
        if !(is_const && action.is_none()) {
            state.tables.set_default(id, action).map_err(|e| self.fault(&e, &update.entity))?;
        }
        set_direct(state, id, Target::Default, entry);
        Ok(())
    }

    pub(super) fn read_table_entries(&self, view: View<'_>, query: &EntryQuery) -> Vec<Entity> {
        let mut out = Vec::new();
        for (table, id) in &self.names.tables {
            if query.table.is_some_and(|t| t != *table) {
                continue;
            }
            let (Some(known), Some(store)) = (self.schema.tables.get(*table), view.tables.table(*id)) else {
                continue;
            };
            let all = query.table.is_none();
            if query.is_default_action && !all {
                let action = self.control_action(*table, store.default_action()).map(TableAction::Action);
                let direct = store.default_direct();
                let entry =
                    TableEntry { is_default_action: true, action, ..TableEntry::new(*table, vec![], 0) };
                let is_const = view.exe.program.tables[*id].has_const_default_action;
                out.push(with_direct(TableEntry { is_const, ..entry }, known, direct, query.extras));
                continue;
            }
            let wanted = match self.key(view.exe, *table, &query.matches) {
                Ok(Some((_, matches))) if !all && !query.matches.is_empty() => Some(matches),
                _ => None,
            };
            let wanted = wanted.map(|m| store.normalise(&m));
            for stored in store.entries() {
                if wanted.as_ref().is_some_and(|m| *m != stored.matches) {
                    continue;
                }
                let entry = self.entry(*table, *id, known, stored);
                if all || is_wanted(query, &entry) {
                    let mut entry = with_direct(entry, known, &stored.direct, query.extras);
                    if query.extras.time_since_last_hit && known.has_idle_timeout {
                        let idle = view.now_ns.saturating_sub(stored.last_hit_ns);
                        entry.time_since_last_hit_ns = Some(i64::try_from(idle).unwrap_or(i64::MAX));
                    }
                    out.push(entry);
                }
            }
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
        TableEntry {
            action: self.table_action(table, id, stored.handle, &stored.action),
            is_const: stored.is_const,
            metadata: stored.extras.metadata.clone(),
            controller_metadata: stored.extras.controller_metadata,
            idle_timeout_ns: i64::try_from(stored.extras.idle_timeout_ns).unwrap_or(i64::MAX),
            ..TableEntry::new(table, matches, stored.priority)
        }
    }

    fn table_action(
        &self,
        table: TableId,
        id: ir::TableId,
        handle: EntryHandle,
        action: &EntryAction,
    ) -> Option<TableAction> {
        match action {
            EntryAction::Action(action) => self.control_action(table, action).map(TableAction::Action),
            EntryAction::Member(member) => Some(TableAction::Member(MemberId(*member))),
            EntryAction::Group(group) => Some(TableAction::Group(GroupId(*group))),
            EntryAction::OneShot(_) => self.one_shots.get(&(id, handle)).cloned().map(TableAction::OneShot),
        }
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
        let fields = &state.exe.program.value_sets[*id].fields;
        let shapes: Vec<(Kind, Option<u32>)> =
            fields.iter().map(|f| (f.match_kind, f.ty.width_bits())).collect();
        let mut members = Vec::with_capacity(entry.members.len());
        for member in &entry.members {
            members.push(values::matches(&known.fields, &shapes, &member.matches)?);
        }
        state.tables.set_value_set(*id, members).map_err(|e| self.fault(&e, &update.entity))
    }

    pub(super) fn read_value_sets(&self, view: View<'_>, wanted: Option<ValueSetId>) -> Vec<Entity> {
        let sets =
            super::select(&self.names.value_sets, wanted).filter_map(|(value_set, id)| {
                let known = self.schema.value_sets.get(*value_set)?;
                let members =
                    view.tables.value_set(*id).members().iter().map(|member| ValueSetMember {
                        matches: values::field_matches(&known.fields, member),
                    });
                Some(Entity::ValueSet(ValueSetEntry { value_set: *value_set, members: members.collect() }))
            });
        sets.collect()
    }
}

pub(super) fn watch_port(port: Option<&Port>) -> Option<u32> {
    port.and_then(Port::to_number).and_then(|n| u32::try_from(n).ok())
}

/// What an entry says of its direct counter and meter.
fn set_direct(state: State<'_>, id: ir::TableId, target: Target, entry: &TableEntry) {
    let has_meter = state.exe.program.tables[id].direct_meter.is_some();
    let Some(direct) = state.tables.direct(id, target) else { return };
    if let Some(data) = &entry.counter_data {
        set_counter(direct, data);
    }
    if has_meter {
        direct.meter.set_rates(rates(entry.meter_config.as_ref()), state.now_ns);
    }
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

fn with_direct(entry: TableEntry, known: &schema::Table, direct: &Direct, extras: Extras) -> TableEntry {
    let has_counter = known.direct_counter.is_some() && extras.counter_data;
    let has_meter = known.direct_meter.is_some() && extras.meter_config;
    TableEntry {
        counter_data: has_counter.then(|| counter_data(direct.n_packets, direct.n_bytes)),
        meter_config: if has_meter { meter_config(direct.meter.rates()) } else { None },
        ..entry
    }
}
