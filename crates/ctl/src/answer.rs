//! Executes requests.

use crate::handles::Handles;
use crate::protocol::{Compiler, Request, What};
use crate::refusal::{Refusal, RefusalKind};
use crate::{commands, edit, handles, profiles, show};
use control::{Entity, EntryQuery, Extras, Query, Schema, Target};
use dataplane::{PortSpec, Switch, SwitchError, TraceLimits};
use diagnostics::render::Style;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use trace::Filter;

/// The longest that a request may wait for something to happen.
const WAIT_MAX: Duration = Duration::from_secs(3600);
/// The time between two looks at the number of entries: workers stop for each at the end of their burst.
const COUNT_PAUSE: Duration = Duration::from_millis(50);
/// Limits of the stories in one answer: their number, and their length as JSON in bytes.
const N_STORIES_MAX: u64 = 1000;
const STORY_BYTES_MAX: usize = 4 << 20;

type Answered = Result<Json, Refusal>;

pub(crate) fn answer(
    switch: &Switch,
    compiler: &dyn Compiler,
    request: Request,
    handles: &Mutex<Handles>,
    is_over: &dyn Fn() -> bool,
) -> Answered {
    let handles = || handles.lock().unwrap_or_else(PoisonError::into_inner);
    match request {
        Request::WaitReady { timeout_ms } => wait_ready(switch, timeout_ms, is_over),
        Request::WaitEntries { table, n_entries, is_below, timeout_ms } => {
            wait_entries(switch, &table, (n_entries, is_below), timeout_ms, is_over)
        }
        Request::Show { what, name } => show(switch, what, name.as_deref()),
        Request::Commands { text } => commands::run(switch, &text),
        Request::Write { text, name } => {
            Ok(json!({ "updates": write(switch, &text, name.as_deref().unwrap_or("request"))? }))
        }
        Request::ClearTable { table } => {
            let n = switch.with_target(|schema, target| edit::clear_table(schema, target, &table))??;
            Ok(json!({ "updates": n }))
        }
        Request::SetGroup { group, ports } => {
            switch.with_target(|schema, target| edit::set_group(schema, target, group, &ports))??;
            Ok(json!({}))
        }
        Request::RemoveGroup { group } => {
            switch.with_target(|schema, target| edit::remove_group(schema, target, group))??;
            Ok(json!({}))
        }
        Request::RemoveSession { session } => {
            switch.with_target(|schema, target| edit::remove_session(schema, target, session))??;
            Ok(json!({}))
        }
        Request::Trace { n_packets, filter, timeout_ms } => {
            let filter = Filter::parse(filter.as_deref().unwrap_or_default()).map_err(Refusal::usage)?;
            let limits = TraceLimits {
                n_stories_max: n_packets.min(N_STORIES_MAX),
                n_bytes_max: STORY_BYTES_MAX,
                timeout: Duration::from_millis(timeout_ms).min(WAIT_MAX),
            };
            let traced = switch.trace(limits, &filter, is_over)?;
            let has_all_allowed = traced.stories.len() as u64 == N_STORIES_MAX && n_packets > N_STORIES_MAX;
            Ok(json!({
                "stories": traced.stories, "missed": traced.n_missed, "cut": traced.is_cut || has_all_allowed,
            }))
        }
        Request::PacketIn { n_max } => {
            let packets = switch.take_packet_ins(n_max);
            let packets = packets.iter().map(|p| json!({ "hex": show::hex(&p.bytes), "at_ns": p.at_ns }));
            Ok(json!({ "packets": packets.collect::<Vec<_>>() }))
        }
        Request::PacketOut { packet, port } => {
            let bytes = craft::bytes(&packet)
                .map_err(|fault| Refusal::usage(format!("the packet: {}", fault.render(&packet))))?;
            match port {
                Some(port) => switch.inject(port, bytes)?,
                None => switch.packet_out(bytes)?,
            }
            Ok(json!({}))
        }
        Request::Digests => {
            let digests = switch.take_digests()?;
            let digests = digests.iter().map(|digest| {
                let values: Vec<String> = digest.values.iter().map(|value| format!("{value:#x}")).collect();
                json!({ "name": digest.name.as_str(), "values": values })
            });
            Ok(json!({ "digests": digests.collect::<Vec<_>>() }))
        }
        Request::Expired => {
            let expired = switch.take_expired();
            let schema = switch.schema().ok_or(SwitchError::NoProgram)?;
            Ok(json!({
                "expired": expired.iter().map(|entity| show::entity(&schema, entity)).collect::<Vec<_>>(),
            }))
        }
        Request::Replace { program, keep_entries } => {
            let compiled = compiler.compile(&program)?;
            let name = compiled.name.clone();
            if !keep_entries {
                switch.replace(compiled)?;
                return Ok(json!({ "program": name }));
            }
            let kept = switch.replace_keeping(compiled)?;
            Ok(json!({
                "program": name, "kept": kept.n_copied, "refused": kept.n_refused, "left_out": kept.n_left_out, "faults": kept.faults,
            }))
        }
        Request::AddPort { port } => {
            let spec = PortSpec::parse(&port).map_err(Refusal::usage)?;
            switch.add_port(&spec, None)?;
            let mut added = json!({ "port": spec.number });
            let report = switch.report()?;
            let port = report.ports.iter().find(|port| port.number == spec.number);
            if let Some(reason) = port.and_then(|port| port.fallback.as_ref()) {
                added["warnings"] =
                    format!("warning: port {} goes through AF_PACKET: {reason}", spec.number).into();
            }
            Ok(added)
        }
        Request::RemovePort { port } => done(switch.remove_port(port)),
        Request::SetPort { port, is_enabled } => done(switch.enable_port(port, is_enabled)),
        Request::SetRate { port, rate_pps } => done(switch.set_port_rate(port, rate_pps)),
        Request::SetProfile { table, profile, timeout_ns } => {
            let table = full_name(switch, &table)?;
            match switch.set_profile(&table, profile, timeout_ns)? {
                true => Ok(json!({})),
                false => Err(without_profiles(&table)),
            }
        }
        Request::ShowProfiles { table, profile } => {
            let table = full_name(switch, &table)?;
            let timeouts_ns = switch.profiles(&table)?.ok_or_else(|| without_profiles(&table))?;
            let is_asked =
                |(number, _): &(usize, &u64)| profile.is_none_or(|asked| usize::from(asked) == *number);
            let rows = timeouts_ns.iter().enumerate().filter(is_asked);
            let rows = rows.map(|(profile, ns)| json!({ "profile": profile, "seconds": *ns as f64 / 1e9 }));
            Ok(json!({ "profiles": rows.collect::<Vec<_>>() }))
        }
        Request::SetQueueDepth { n_packets_max } => done(switch.set_queue_depth(n_packets_max)),
        Request::Handles { table } => {
            let mut handles = handles();
            let all = switch.with_target(|schema, target| handles.all(schema, target, &table))??;
            Ok(json!({ "entries": all }))
        }
        Request::RemoveHandle { table, handle } => {
            let mut handles = handles();
            switch.with_target(|schema, target| handles.remove(schema, target, &table, handle))??;
            Ok(json!({}))
        }
        Request::WriteWithHandles { text } => {
            let mut handles = handles();
            switch.with_target(|schema, target| {
                let wanted = handles::of_bmv2(&text, schema)?;
                handles.prepare(target, &wanted.batch)?;
                entries::apply(&wanted, schema, target).map_err(|messages| {
                    Refusal::new(RefusalKind::Refused, messages.render(Style::default()))
                })?;
                Ok::<Json, Refusal>(json!({
                    "updates": wanted.batch.updates.len(), "handles": handles.added(&wanted.batch),
                }))
            })?
        }
        Request::ModifyHandle { table, handle, action } => {
            let mut handles = handles();
            switch.with_target(|schema, target| {
                let wanted = handles::of_bmv2(&format!("table_set_default {table} {action}"), schema)?;
                let action = wanted.batch.updates.into_iter().find_map(|update| match update.entity {
                    Entity::TableEntry(entry) => entry.action,
                    _ => None,
                });
                handles.modify(schema, target, &table, handle, action)
            })??;
            Ok(json!({}))
        }
        Request::ProfileCommand { text } => {
            switch.with_target(|schema, target| profiles::command(schema, target, &text))?
        }
        Request::ProfileHandles { profile } => {
            Ok(switch.with_target(|schema, target| profiles::all(schema, target, &profile))??)
        }
        Request::Shutdown => Ok(json!({})),
    }
}

/// Writes entries in any format of text. Returns how many updates they are.
fn write(switch: &Switch, text: &str, name: &str) -> Result<u64, Refusal> {
    let format = entries::detect(name, text.as_bytes()).map_err(|error| Refusal::usage(error.to_string()))?;
    let said = |kind, messages: entries::Messages| Refusal::new(kind, messages.render(Style::default()));
    switch.with_target(|schema, target| {
        let entries = entries::read(format, name, text.as_bytes(), schema)
            .map_err(|messages| said(RefusalKind::Usage, messages))?;
        entries::apply(&entries, schema, target).map_err(|messages| said(RefusalKind::Refused, messages))?;
        Ok(entries.batch.updates.len() as u64)
    })?
}

fn done(result: Result<(), SwitchError>) -> Answered {
    result?;
    Ok(json!({}))
}

fn wait_ready(switch: &Switch, timeout_ms: u64, is_over: &dyn Fn() -> bool) -> Answered {
    let (begin, timeout) = (Instant::now(), Duration::from_millis(timeout_ms).min(WAIT_MAX));
    loop {
        if let Some(program) = switch.program() {
            return Ok(json!({ "program": program.name }));
        }
        if begin.elapsed() >= timeout || is_over() {
            return Err(Refusal::new(RefusalKind::Timeout, "there is no program yet"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a table has a number of entries, or with `is_below` fewer.
fn wait_entries(
    switch: &Switch,
    table: &str,
    (n_entries, is_below): (u64, bool),
    timeout_ms: u64,
    is_over: &dyn Fn() -> bool,
) -> Answered {
    let (begin, timeout) = (Instant::now(), Duration::from_millis(timeout_ms).min(WAIT_MAX));
    loop {
        // Another program may run by now.
        let table = full_name(switch, table)?;
        let uses = switch.table_uses().ok_or(SwitchError::NoProgram)?;
        let n = uses.into_iter().find(|(name, _)| *name == table).map_or(0, |(_, uses)| uses.n_entries);
        if (n < n_entries) == is_below {
            return Ok(json!({ "table": table, "entries": n }));
        }
        if begin.elapsed() >= timeout || is_over() {
            return Err(Refusal::new(RefusalKind::Timeout, format!("table `{table}` has {n} entries")));
        }
        std::thread::sleep(COUNT_PAUSE);
    }
}

fn show(switch: &Switch, what: What, name: Option<&str>) -> Answered {
    match what {
        What::Ports => Ok(show::ports(&switch.report()?)),
        What::Queues => Ok(show::queues(&switch.report()?)),
        What::Workers => Ok(show::workers(&switch.report()?)),
        What::Async => Ok(show::asyncs(&switch.report()?)),
        What::Totals => Ok(show::totals(&switch.report()?)),
        What::Drops => {
            let report = switch.report()?;
            // Packets that ports have lost were never received, so no drop counts them.
            let all: BTreeMap<String, u64> = report.n_dropped.into_iter().chain(report.n_rx_lost).collect();
            Ok(json!(all))
        }
        What::Program => {
            let program = switch.program().ok_or(SwitchError::NoProgram)?;
            Ok(json!({ "program": program.name, "architecture": program.program.architecture.name }))
        }
        What::Names => switch.with_target(|schema, _| Ok(show::names(schema)))?,
        What::State => state(switch, name),
        What::Tables => {
            let uses = switch.table_uses().ok_or(SwitchError::NoProgram)?;
            let uses: BTreeMap<String, u64> =
                uses.into_iter().map(|(table, uses)| (table, uses.n_entries)).collect();
            switch.with_target(|schema, target| tables(schema, target, &uses, name))?
        }
        What::Entries => switch.with_target(|schema, target| {
            let table = name.map(|name| schema.tables.find(name)).transpose()?.map(|table| table.id);
            let extras = Extras { counter_data: true, time_since_last_hit: true, ..Extras::default() };
            entities(
                schema,
                target,
                &[Query::TableEntries(EntryQuery { table, extras, ..EntryQuery::default() })],
            )
        })?,
        What::Pre => switch.with_target(|schema, target| {
            let questions = [Query::MulticastGroups(None), Query::CloneSessions(None)];
            entities(schema, target, &questions)
        })?,
        What::Counters => switch.with_target(|schema, target| {
            let counter = name.map(|name| schema.counters.find(name)).transpose()?.map(|counter| counter.id);
            let mut all = target.read(&Query::Counters { counter, index: None })?;
            // Arrays are large, and mostly nothing was counted.
            all.retain(|entity| match entity {
                Entity::Counter(of) => of.data.is_some_and(|data| data != Default::default()),
                _ => true,
            });
            Ok(all.iter().map(|entity| show::entity(schema, entity)).collect())
        })?,
        What::Meters => switch.with_target(|schema, target| {
            let meter = name.map(|name| schema.meters.find(name)).transpose()?.map(|meter| meter.id);
            let mut all = target.read(&Query::Meters { meter, index: None, with_counter_data: false })?;
            all.retain(|entity| match entity {
                Entity::Meter(of) => of.config.is_some(),
                _ => true,
            });
            Ok(all.iter().map(|entity| show::entity(schema, entity)).collect())
        })?,
        What::ValueSets => switch.with_target(|schema, target| {
            let set = name.map(|name| schema.value_sets.find(name)).transpose()?.map(|set| set.id);
            entities(schema, target, &[Query::ValueSets(set)])
        })?,
        What::Profiles => switch.with_target(|schema, target| {
            let profile = name.map(|name| schema.profiles.find(name)).transpose()?;
            let profile = profile.map(|profile| profile.id);
            let questions =
                [Query::Members { profile, member: None }, Query::Groups { profile, group: None }];
            entities(schema, target, &questions)
        })?,
        What::Registers => switch.with_target(|schema, target| {
            let register =
                name.map(|name| schema.registers.find(name)).transpose()?.map(|register| register.id);
            entities(schema, target, &[Query::Registers { register, index: None }])
        })?,
    }
}

/// The name of a table of the running program in full.
fn full_name(switch: &Switch, table: &str) -> Result<String, Refusal> {
    let schema = switch.schema().ok_or(SwitchError::NoProgram)?;
    Ok(schema.tables.find(table)?.names.name.to_string())
}

fn without_profiles(table: &str) -> Refusal {
    Refusal::new(RefusalKind::Refused, format!("entries of table `{table}` have no profiles of timeouts"))
}

/// The tables that packets write, or one table.
fn state(switch: &Switch, name: Option<&str>) -> Answered {
    let only = name.map(|name| full_name(switch, name)).transpose()?;
    let with_state = switch.tables_with_state();
    let is_wanted = |(table, _): &(String, _)| match &only {
        Some(only) => only == table,
        None => with_state.contains(table),
    };
    let schema = switch.schema().ok_or(SwitchError::NoProgram)?;
    let lost_notices = |table: &str| schema.tables.find(table).map_or(0, |of| switch.n_lost_notices(of.id));
    let uses = switch.table_uses().unwrap_or_default().into_iter();
    let rows = uses.filter(is_wanted).map(|(table, found)| {
        let packets = found.packets;
        json!({
            "table": table, "entries": found.n_entries, "from_packets": packets.n_entries,
            "added": packets.n_added, "exists": packets.n_exists, "race_lost": packets.n_race_lost, "full": packets.n_full,
            "carried": packets.n_carried, "expired": packets.n_expired, "evicted": packets.n_evicted,
            "deleted": packets.n_deleted, "notified": packets.n_notified, "lost_notices": lost_notices(&table),
            "waiting": packets.n_waiting,
        })
    });
    Ok(Json::Array(rows.collect()))
}

fn entities(schema: &Schema, target: &dyn Target, questions: &[Query]) -> Answered {
    let mut all = Vec::new();
    for question in questions {
        all.extend(target.read(question)?.iter().map(|entity| show::entity(schema, entity)));
    }
    Ok(all.into())
}

/// `n_entries` has the numbers of entries by table: entries are not read.
fn tables(
    schema: &Schema,
    target: &dyn Target,
    n_entries: &BTreeMap<String, u64>,
    name: Option<&str>,
) -> Answered {
    let only = name.map(|name| schema.tables.find(name)).transpose()?.map(|table| table.id);
    let mut all = Vec::new();
    for table in schema.tables.iter().filter(|table| only.is_none_or(|only| only == table.id)) {
        let query = EntryQuery { table: Some(table.id), ..EntryQuery::default() };
        let default = EntryQuery { is_default_action: true, ..query };
        let n_entries = n_entries.get(table.names.name.as_str()).copied().unwrap_or(0);
        let default =
            target.read(&Query::TableEntries(default))?.into_iter().find_map(|entity| match entity {
                Entity::TableEntry(entry) => entry.action,
                _ => None,
            });
        let default = default.map_or(Json::Null, |action| show::table_action(schema, &action));
        all.push(show::table(schema, table, n_entries, default));
    }
    Ok(all.into())
}
