//! Entities and counts as JSON, with values that people can read.

use control::*;
use dataplane::{PortReport, QueueReport, Report, WorkerReport};
use entries::words;
use native::{AsyncMode, Choice, Times};
use packet_io::LinkState;
use serde_json::{Value as Json, json};

pub(crate) fn ports(report: &Report) -> Json {
    report.ports.iter().map(port).collect()
}

fn port(port: &PortReport) -> Json {
    let stats: serde_json::Map<String, Json> =
        port.stats.named().into_iter().map(|(name, n)| (name.to_owned(), n.into())).collect();
    let losses = port.stats.rx_losses().chain(port.stats.tx_losses());
    let losses: serde_json::Map<String, Json> = losses.map(|(name, n)| (name.to_owned(), n.into())).collect();
    json!({
        "port": port.number, "name": port.name, "link": link(port.link), "enabled": port.is_enabled,
        "worker": port.worker, "error": port.error, "capture_error": port.capture_error,
        "fallback": port.fallback, "stats": stats,
        "rx_lost": port.stats.rx_dropped(), "tx_lost": port.stats.tx_dropped(), "losses": losses,
        "queues": port.queues.iter().map(|of| queue(port, of)).collect::<Vec<_>>(),
    })
}

/// A row for each queue of each port.
pub(crate) fn queues(report: &Report) -> Json {
    report.ports.iter().flat_map(|port| port.queues.iter().map(|of| queue(port, of))).collect()
}

fn queue(port: &PortReport, queue: &QueueReport) -> Json {
    json!({
        "port": port.number, "name": port.name, "queue": queue.number, "worker": queue.worker,
        "rx_packets": queue.stats.rx_packets, "rx_lost": queue.stats.rx_dropped(),
        "tx_packets": queue.stats.tx_packets, "tx_lost": queue.stats.tx_dropped(),
    })
}

fn link(state: LinkState) -> &'static str {
    match state {
        LinkState::Up => "up",
        LinkState::Down => "down",
        LinkState::Gone => "gone",
    }
}

/// The counts of asynchronous blocks.
pub(crate) fn asyncs(report: &Report) -> Json {
    let mean = |times: &Times| times.cycles.checked_div(times.n);
    let blocks = report.asyncs.iter().map(|block| {
        json!({
            "block": block.name,
            "in_flight": block.n_in_flight,
            "inline": block.n_inline + block.n_no_room + block.n_full,
            "no_headroom": block.n_no_room,
            "full": block.n_full,
            "sent": block.n_sent,
            "waited_for": block.n_waited,
            "done": block.n_done,
            "dropped": block.n_dropped,
            "lost": block.n_lost,
            "offload_worker": if block.is_hung { "hung" } else { "works" },
            "wait_cycles": mean(&block.waited),
            "run_cycles": mean(&block.served),
            "batches": block.n_batches,
            "batched": block.n_batched,
            "choices": block.choices.iter().map(choice).collect::<Vec<_>>(),
        })
    });
    Json::Array(blocks.collect())
}

/// A worker's choice for a block whose mode is `auto`, with the measurements behind it.
fn choice(choice: &Choice) -> Json {
    let mode = match choice.mode {
        AsyncMode::Inline => "inline",
        AsyncMode::Wait => "wait",
        AsyncMode::Suspend => "suspend",
        AsyncMode::Auto => "auto",
    };
    json!({
        "mode": mode,
        "cycles_here": choice.here_cycles,
        "cycles_there": choice.there_cycles,
        "cycles_to_send": choice.suspend_cycles,
        "changes": choice.n_changes,
        "trials": choice.n_trials,
    })
}

pub(crate) fn workers(report: &Report) -> Json {
    let worker = |worker: &WorkerReport| {
        json!({
            "worker": worker.number, "core": worker.core, "wait": worker.wait.name(), "bursts": worker.n_bursts, "packets": worker.n_packets,
            "sleeps": worker.n_sleeps, "buffers": worker.n_buffers, "buffers_exhausted": worker.n_exhausted,
        })
    };
    report.workers.iter().map(worker).collect()
}

/// The totals of a switch: [`Report::is_balanced`] says that they add up.
pub fn totals(report: &Report) -> Json {
    json!({
        "received": report.n_received, "copied": report.n_copied, "sent": report.n_sent,
        "to_controller": report.n_to_controller, "dropped": report.n_dropped, "queued": report.n_queued,
        "rx_lost": report.n_rx_lost, "ignored": report.n_ignored,
        "balanced": report.is_balanced(),
    })
}

pub(crate) fn table(schema: &Schema, table: &control::schema::Table, n_entries: u64, default: Json) -> Json {
    let keys = table.keys.iter().map(|key| {
        json!({ "name": key.name.as_str(), "match": key.match_kind.name(), "width_bits": key.value.width_bits() })
    });
    let actions = table.actions.iter().map(|action| schema.name_of(action.id.0).to_string());
    json!({
        "table": table.names.name.as_str(), "entries": n_entries, "size": table.size,
        "keys": keys.collect::<Vec<_>>(), "actions": actions.collect::<Vec<_>>(), "default_action": default,
    })
}

/// The names that requests may contain, in short where there is a short form.
pub(crate) fn names(schema: &Schema) -> Json {
    let short = |names: &control::schema::Names| match names.alias.is_empty() {
        true => names.name.to_string(),
        false => names.alias.to_string(),
    };
    let action = |id: ActionId| {
        let action = schema.actions.get(id)?;
        let params: Vec<&str> = action.params.iter().map(|param| param.name.as_str()).collect();
        Some(json!({ "name": short(&action.names), "params": params }))
    };
    let tables = schema.tables.iter().map(|table| {
        let keys: Vec<&str> = table.keys.iter().map(|key| key.name.as_str()).collect();
        let actions: Vec<Json> = table.actions.iter().filter_map(|of| action(of.id)).collect();
        json!({ "table": short(&table.names), "keys": keys, "actions": actions })
    });
    let counters = schema.counters.iter().map(|counter| short(&counter.names));
    let registers = schema.registers.iter().map(|register| short(&register.names));
    json!({
        "tables": tables.collect::<Vec<_>>(), "counters": counters.collect::<Vec<_>>(),
        "registers": registers.collect::<Vec<_>>(),
    })
}

pub(crate) fn entry(schema: &Schema, entry: &TableEntry) -> Json {
    let mut shown = json!({ "table": schema.name_of(entry.table.0).as_str() });
    let mut set = |name: &str, value: Json| {
        shown[name] = value;
    };
    if let Some(table) = schema.tables.get(entry.table).filter(|_| !entry.is_default_action) {
        let keys = table.keys.iter().map(|key| {
            let found = entry.matches.iter().find(|field| field.field == key.id);
            let pattern = words::pattern(found.map(|field| &field.value), &key.name);
            json!({ "name": key.name.as_str(), "match": key.match_kind.name(), "value": pattern })
        });
        set("keys", keys.collect());
        if table.needs_priority() {
            set("priority", entry.priority.into());
        }
    }
    if entry.is_default_action {
        set("default", true.into());
    }
    if entry.is_const {
        set("const", true.into());
    }
    if let Some(what) = &entry.action {
        set("action", table_action(schema, what));
    }
    if !entry.registers.is_empty() {
        let registers = entry.registers.iter().map(|register| {
            let name = register.name.as_str();
            json!({ "name": name, "value": words::value(&register.value, name) })
        });
        set("registers", registers.collect());
    }
    if let Some(count) = entry.counter_data {
        set("packets", count.n_packets.into());
        set("bytes", count.n_bytes.into());
    }
    if entry.idle_timeout_ns > 0 {
        set("idle_timeout_ns", entry.idle_timeout_ns.into());
    }
    if entry.is_of_packet {
        set("of_packet", true.into());
    }
    if let Some(profile) = entry.profile {
        set("profile", profile.into());
    }
    if let Some(idle_ns) = entry.time_since_last_hit_ns {
        set("idle_ns", idle_ns.into());
    }
    shown
}

pub(crate) fn table_action(schema: &Schema, what: &TableAction) -> Json {
    match what {
        TableAction::Action(called) => action(schema, called),
        TableAction::Member(member) => json!({ "member": member.0 }),
        TableAction::Group(group) => json!({ "group": group.0 }),
        TableAction::OneShot(one_shot) => {
            let weighted = one_shot.actions.iter();
            let weighted =
                weighted.map(|w| json!({ "action": action(schema, &w.action), "weight": w.weight }));
            json!({ "oneshot": weighted.collect::<Vec<_>>() })
        }
    }
}

fn action(schema: &Schema, called: &Action) -> Json {
    let known = schema.actions.get(called.id);
    let params = called.params.iter().map(|param| {
        let name = known.and_then(|known| known.param(param.id)).map_or("", |param| param.name.as_str());
        json!({ "name": name, "value": words::value(&param.value, name) })
    });
    json!({ "name": schema.name_of(called.id.0).as_str(), "params": params.collect::<Vec<_>>() })
}

fn replicas(replicas: &[Replica]) -> Json {
    let one = |replica: &Replica| {
        let backups = replica.backups.iter().map(|b| b.egress_port.to_string()).collect::<Vec<_>>();
        json!({ "port": replica.egress_port.to_string(), "instance": replica.instance, "backups": backups })
    };
    replicas.iter().map(one).collect()
}

/// Two digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An entity of any kind, with names instead of ids.
pub(crate) fn entity(schema: &Schema, entity: &Entity) -> Json {
    let name = |id: u32| schema.name_of(id).to_string();
    match entity {
        Entity::TableEntry(of) => entry(schema, of),
        Entity::ActionProfileMember(of) => json!({
            "profile": name(of.profile.0), "member": of.member.0,
            "action": of.action.as_ref().map(|called| action(schema, called)),
        }),
        Entity::ActionProfileGroup(of) => {
            let members = of.members.iter();
            let members = members.map(|m| json!({ "member": m.member.0, "weight": m.weight }));
            json!({
                "profile": name(of.profile.0), "group": of.group.0, "members": members.collect::<Vec<_>>(),
            })
        }
        Entity::Counter(of) => {
            let data = of.data.unwrap_or_default();
            json!({
                "counter": name(of.counter.0), "index": of.index,
                "packets": data.n_packets, "bytes": data.n_bytes,
            })
        }
        Entity::DirectCounter(of) => {
            let data = of.data.unwrap_or_default();
            json!({
                "entry": schema.describe(entity), "packets": data.n_packets, "bytes": data.n_bytes,
            })
        }
        Entity::Meter(of) => json!({
            "meter": name(of.meter.0), "index": of.index,
            "rates": of.config.map(|c| json!({ "cir": c.cir, "cburst": c.cburst, "pir": c.pir, "pburst": c.pburst })),
        }),
        Entity::Register(of) => {
            let known = schema.registers.get(of.register);
            let value = of.data.as_ref().zip(known).map(|(data, known)| words::data(data, &known.cell));
            json!({ "register": name(of.register.0), "index": of.index, "value": value })
        }
        Entity::MulticastGroup(of) => json!({ "group": of.group.0, "replicas": replicas(&of.replicas) }),
        Entity::CloneSession(of) => json!({
            "session": of.session.0, "replicas": replicas(&of.replicas),
            "class_of_service": of.class_of_service, "packet_length_bytes": of.packet_length_bytes,
        }),
        Entity::ValueSet(of) => {
            json!({ "value_set": name(of.value_set.0), "members": of.members.len() })
        }
        Entity::DirectMeter(_) | Entity::Digest(_) | Entity::Extern(_) => {
            json!({ "what": schema.describe(entity) })
        }
    }
}
