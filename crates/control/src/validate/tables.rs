//! Table entries and default entries (P4Runtime, "TableEntry"), and actions wherever they occur.

use super::indexed::{counter_data, meter_config, meter_counter_data};
use super::matches;
use super::owner::{Owner, Positions};
use super::profiles;
use super::values::{not_negative, value};
use crate::entity::{Action, TableAction, TableEntry};
use crate::fault::{Fault, Inside, Problem};
use crate::schema::{self, ActionRef, ActionScope, Part, Schema, Table};
use crate::update::UpdateKind;

pub(super) fn table_entry(schema: &Schema, kind: UpdateKind, entry: &TableEntry) -> Result<(), Fault> {
    let table = schema.require(&schema.tables, entry.table).inside("table_id")?;
    if entry.is_const {
        return Err(Fault::from(Problem::ConstEntryWritten).inside("is_const"));
    }
    if entry.is_default_action {
        return default_entry(schema, kind, table, entry);
    }
    matches::key(table, &entry.matches, entry.priority)?;
    if table.is_const {
        const_table(kind, table, entry)?;
    }
    if kind == UpdateKind::Delete {
        return Ok(());
    }
    match (&entry.action, kind) {
        (Some(action), _) => table_action(schema, table, action).inside("action")?,
        (None, UpdateKind::Insert) => {
            return Err(Problem::ActionMissing { table: table.names.name.clone() }.into());
        }
        (None, UpdateKind::Modify | UpdateKind::Delete) => {}
    }
    idle_timeout(table, entry)?;
    direct_resources(schema, table, entry)
}

/// P4Runtime, "Constant Tables".
fn const_table(kind: UpdateKind, table: &Table, entry: &TableEntry) -> Result<(), Fault> {
    let why = match kind {
        UpdateKind::Insert => "no other can be inserted",
        UpdateKind::Delete => "they cannot be deleted",
        UpdateKind::Modify if entry.action.is_some() => {
            "their actions cannot be written, not even the same; leave the action out to write direct resources"
        }
        UpdateKind::Modify => return Ok(()),
    };
    Err(Problem::ConstTable { table: table.names.name.clone(), why }.into())
}

/// P4Runtime, "Default Entry".
fn default_entry(schema: &Schema, kind: UpdateKind, table: &Table, entry: &TableEntry) -> Result<(), Fault> {
    let name = || table.names.name.clone();
    if kind != UpdateKind::Modify {
        return Err(Problem::DefaultEntryKind { table: name(), kind: kind.name() }.into());
    }
    default_entry_key(table, entry.matches.is_empty(), entry.priority)?;
    let has = |what| Problem::DefaultEntryHas { table: name(), what };
    if entry.idle_timeout_ns != 0 {
        return Err(Fault::from(has("idle timeout")).inside("idle_timeout_ns"));
    }
    if entry.time_since_last_hit_ns.is_some() {
        return Err(Fault::from(has("time since its last hit")).inside("time_since_last_hit"));
    }
    if let Some(action) = table.const_default_action {
        let action = schema.name_of(action.0);
        return Err(Problem::ConstDefaultAction { table: name(), action }.into());
    }
    if let Some(profile) = table.implementation {
        let profile = schema.name_of(profile.0);
        return Err(Problem::DefaultOfIndirectTable { table: name(), profile }.into());
    }
    if let Some(action) = &entry.action {
        match action {
            TableAction::Action(call) => {
                action_in(schema, &table.actions, owner(table), call, Use::Default).inside("action")
            }
            TableAction::Member(_) | TableAction::Group(_) | TableAction::OneShot(_) => {
                Err(not_indirect(table, action))
            }
        }
        .inside("action")?;
    }
    direct_resources(schema, table, entry)
}

/// Checks that a default entry has neither matches nor a priority: the missing key identifies it.
pub(super) fn default_entry_key(table: &Table, no_matches: bool, priority: i32) -> Result<(), Fault> {
    let has = |what| Fault::from(Problem::DefaultEntryHas { table: table.names.name.clone(), what });
    if !no_matches {
        return Err(has("match").inside("match"));
    }
    if priority != 0 {
        return Err(has("priority").inside("priority"));
    }
    Ok(())
}

pub(super) fn owner(table: &Table) -> Owner<'_> {
    Owner::Table(&table.names.name)
}

fn not_indirect(table: &Table, action: &TableAction) -> Fault {
    Problem::NotIndirect { table: table.names.name.clone(), found: action_kind(action) }.into()
}

fn action_kind(action: &TableAction) -> &'static str {
    match action {
        TableAction::Action(_) => "an action",
        TableAction::Member(_) => "a member",
        TableAction::Group(_) => "a group",
        TableAction::OneShot(_) => "a one-shot",
    }
}

/// P4Runtime, "Action Specification".
fn table_action(schema: &Schema, table: &Table, action: &TableAction) -> Result<(), Fault> {
    let Some(profile) = table.implementation else {
        return match action {
            TableAction::Action(call) => {
                action_in(schema, &table.actions, owner(table), call, Use::Entry).inside("action")
            }
            TableAction::Member(_) | TableAction::Group(_) | TableAction::OneShot(_) => {
                Err(not_indirect(table, action))
            }
        };
    };
    let profile = schema.require(&schema.profiles, profile)?;
    let name = || profile.names.name.clone();
    match action {
        TableAction::Action(_) => {
            let expected = match profile.selector {
                Some(_) => "a member, a group or a one-shot",
                None => "a member",
            };
            Err(Problem::NotDirect {
                table: table.names.name.clone(),
                profile: name(),
                expected,
                found: action_kind(action),
            }
            .into())
        }
        TableAction::Member(member) => {
            profiles::not_zero("member", member.0).inside("action_profile_member_id")
        }
        TableAction::Group(group) => match profile.selector {
            Some(_) => profiles::not_zero("group", group.0).inside("action_profile_group_id"),
            None => Err(Problem::NoSelector { profile: name() }.into()),
        },
        TableAction::OneShot(one_shot) => {
            profiles::one_shot(schema, table, profile, one_shot).inside("action_profile_action_set")
        }
    }
}

/// Use of an action; the scope of the action must allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Entry,
    Default,
    Group,
}

/// Checks that the action is in the list, that its scope allows this use, and that it has all its parameters.
pub(super) fn action_in(
    schema: &Schema,
    list: &[ActionRef],
    owner: Owner<'_>,
    call: &Action,
    used: Use,
) -> Result<(), Fault> {
    let Some(in_list) = list.iter().find(|action| action.id == call.id) else {
        // An action that the program does not have at all is unknown, everywhere.
        schema.require(&schema.actions, call.id).inside("action_id")?;
        let problem = Problem::ActionNotInTable {
            action: schema.name_of(call.id.0),
            owner: owner.into(),
            known: list.iter().map(|action| schema.name_of(action.id.0)).collect(),
        };
        return Err(Fault::from(problem).inside("action_id"));
    };
    let action = schema.require(&schema.actions, call.id)?;
    let refused = match (in_list.scope, used) {
        (ActionScope::TableAndDefault | ActionScope::TableOnly, Use::Entry)
        | (ActionScope::TableAndDefault | ActionScope::DefaultOnly, Use::Default)
        | (ActionScope::GroupAction, Use::Group) => None,
        (ActionScope::TableOnly, Use::Default) => Some("marked @tableonly"),
        (ActionScope::DefaultOnly, Use::Entry) => Some("marked @defaultonly"),
        (ActionScope::GroupAction, Use::Entry | Use::Default) => Some("marked @groupaction"),
        (ActionScope::TableAndDefault | ActionScope::TableOnly | ActionScope::DefaultOnly, Use::Group) => {
            Some("not marked @groupaction")
        }
    };
    if let Some(annotation) = refused {
        let used_as = match used {
            Use::Entry => "the action of an entry",
            Use::Default => "a default action",
            Use::Group => "a group action",
        };
        let name = action.names.name.clone();
        let problem = Problem::ActionScope { action: name, owner: owner.into(), used_as, annotation };
        return Err(Fault::from(problem).inside("action_id"));
    }
    params(action, call)
}

fn params(action: &schema::Action, call: &Action) -> Result<(), Fault> {
    let owner = Owner::Action(&action.names.name);
    let mut seen = Positions::new(action.params.len());
    for (i, param) in call.params.iter().enumerate() {
        let at = || format!("params[{i}]");
        let Some(position) = action.params.iter().position(|known| known.id == param.id) else {
            let known = action.params.iter().map(|known| format!("{} ({})", known.name, known.id).into());
            let (part, id) = (Part::Param, param.id.0);
            let problem = Problem::UnknownPart { part, id, owner: owner.into(), known: known.collect() };
            return Err(Fault::from(problem).inside("param_id").inside(at()));
        };
        let known = &action.params[position];
        if !seen.insert(position) {
            let problem =
                Problem::Duplicate { part: Part::Param, name: known.name.clone(), owner: owner.into() };
            return Err(Fault::from(problem).inside(at()));
        }
        value(&known.name, &known.value, &param.value).inside("value").map_err(|fault| fault.inside(at()))?;
    }
    match action.params.iter().enumerate().find(|(i, _)| !seen.contains(*i)) {
        Some((_, missing)) => {
            let problem =
                Problem::Missing { part: Part::Param, name: missing.name.clone(), owner: owner.into() };
            Err(Fault::from(problem).inside("params"))
        }
        None => Ok(()),
    }
}

/// P4Runtime, "Idle-timeout".
fn idle_timeout(table: &Table, entry: &TableEntry) -> Result<(), Fault> {
    let unsupported = |field| Problem::NoIdleTimeout { table: table.names.name.clone(), field };
    if entry.idle_timeout_ns != 0 && !table.has_idle_timeout {
        return Err(unsupported("idle_timeout_ns").into());
    }
    not_negative("idle_timeout_ns", entry.idle_timeout_ns)?;
    match entry.time_since_last_hit_ns {
        None => Ok(()),
        Some(_) if table.has_idle_timeout => Err(Problem::AnswerOnly { field: "time_since_last_hit" }.into()),
        Some(_) => Err(unsupported("time_since_last_hit").into()),
    }
}

/// P4Runtime, "Direct Resources". P4Info does not tell whether the action executes them, the program does.
fn direct_resources(schema: &Schema, table: &Table, entry: &TableEntry) -> Result<(), Fault> {
    let action = match &entry.action {
        Some(TableAction::Action(action)) => Some(action.id),
        Some(TableAction::Member(_) | TableAction::Group(_) | TableAction::OneShot(_)) | None => None,
    };
    let unused = |resource| {
        let action = schema.name_of(action.map_or(0, |id| id.0));
        Problem::UnusedDirectResource { table: table.names.name.clone(), action, resource }
    };
    let may_meter = action.is_none_or(|action| schema.direct_uses.may_meter(table.id, action));
    let may_count = action.is_none_or(|action| schema.direct_uses.may_count(table.id, action));
    let missing = |resource| Problem::NoDirectResource { table: table.names.name.clone(), resource };
    if let Some(config) = &entry.meter_config {
        let meter = table.direct_meter.and_then(|id| schema.direct_meters.get(id));
        let meter = meter.ok_or_else(|| Fault::from(missing("meter")).inside("meter_config"))?;
        if !may_meter {
            return Err(Fault::from(unused("meter")).inside("meter_config"));
        }
        meter_config(&meter.names.name, meter.meter_type, config).inside("meter_config")?;
    }
    if let Some(data) = &entry.counter_data {
        if table.direct_counter.is_none() {
            return Err(Fault::from(missing("counter")).inside("counter_data"));
        }
        if !may_count {
            return Err(Fault::from(unused("counter")).inside("counter_data"));
        }
        counter_data(data).inside("counter_data")?;
    }
    if let Some(data) = &entry.meter_counter_data {
        if table.direct_meter.is_none() {
            return Err(Fault::from(missing("meter")).inside("meter_counter_data"));
        }
        if !may_meter {
            return Err(Fault::from(unused("meter")).inside("meter_counter_data"));
        }
        meter_counter_data(data).inside("meter_counter_data")?;
    }
    Ok(())
}
