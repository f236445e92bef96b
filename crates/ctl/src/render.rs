//! Answers as text.

use crate::protocol::{Request, What};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use trace::Story;

/// The result of a request, for people: tables, counts, stories.
pub fn render(request: &Request, result: &Json) -> String {
    match request {
        Request::Show { what: What::Entries, .. } => entries(result),
        Request::Expired => entries(&result["expired"]),
        Request::Handles { .. } => handles(result),
        Request::ProfileHandles { .. } => profile(result),
        Request::Show { what: What::Drops, .. } => counts(result),
        Request::Show { what: What::Totals, .. } => {
            let mut text = String::new();
            for name in ["received", "copied", "sent", "to_controller", "queued"] {
                text.push_str(&format!("{:>12}  {name}\n", plain(&result[name])));
            }
            for (reason, n) in result["dropped"].as_object().into_iter().flatten() {
                text.push_str(&format!("{:>12}  dropped: {reason}\n", plain(n)));
            }
            for (reason, n) in result["rx_lost"].as_object().into_iter().flatten() {
                text.push_str(&format!("{:>12}  lost at ports, not received: {reason}\n", plain(n)));
            }
            text
        }
        Request::Show { what: What::Ports, .. } => table(
            &for_people(result),
            &[
                ("port", "port"),
                ("name", "name"),
                ("link", "link"),
                ("enabled", "enabled"),
                ("worker", "workers_text"),
                ("rx packets", "stats.rx_packets"),
                ("rx bytes", "stats.rx_bytes"),
                ("rx lost", "rx_lost"),
                ("tx packets", "stats.tx_packets"),
                ("tx bytes", "stats.tx_bytes"),
                ("tx lost", "tx_lost"),
                ("losses", "losses_text"),
                ("error", "error"),
                ("capture ended", "capture_error"),
            ],
        ),
        Request::Show { what: What::Tables, .. } => table(
            result,
            &[
                ("table", "table"),
                ("entries", "entries"),
                ("size", "size"),
                ("default action", "default_action.name"),
            ],
        ),
        Request::Show { what: What::State, .. } if result.as_array().is_some_and(Vec::is_empty) => {
            "packets write no table of this program\n".to_string()
        }
        Request::Show { what: What::State, .. } => table(
            result,
            &[
                ("table", "table"),
                ("entries", "entries"),
                ("from packets", "from_packets"),
                ("added", "added"),
                ("exists", "exists"),
                ("race lost", "race_lost"),
                ("full", "full"),
                ("carried", "carried"),
                ("expired", "expired"),
                ("evicted", "evicted"),
                ("deleted", "deleted"),
                ("notified", "notified"),
                ("lost notices", "lost_notices"),
                ("waiting", "waiting"),
            ],
        ),
        Request::ShowProfiles { .. } => {
            table(&joined(&result["profiles"]), &[("profile", "profile"), ("seconds", "seconds")])
        }
        Request::Show { what: What::Names, .. } => names(result),
        Request::Show { what: What::Queues, .. } => table(
            result,
            &[
                ("port", "port"),
                ("name", "name"),
                ("queue", "queue"),
                ("worker", "worker"),
                ("rx packets", "rx_packets"),
                ("rx lost", "rx_lost"),
                ("tx packets", "tx_packets"),
                ("tx lost", "tx_lost"),
            ],
        ),
        Request::Show { what: What::Workers, .. } => table(
            result,
            &[
                ("worker", "worker"),
                ("core", "core"),
                ("wait", "wait"),
                ("packets", "packets"),
                ("bursts", "bursts"),
                ("sleeps", "sleeps"),
                ("buffers", "buffers"),
                ("without a buffer", "buffers_exhausted"),
            ],
        ),
        Request::Show { what: What::Async, .. } => table(
            result,
            &[
                ("block", "block"),
                ("in flight", "in_flight"),
                ("inline", "inline"),
                ("sent", "sent"),
                ("done", "done"),
                ("dropped", "dropped"),
                ("lost", "lost"),
                ("offload worker", "offload_worker"),
                ("cycles waiting", "wait_cycles"),
                ("cycles running", "run_cycles"),
                ("called together", "batched"),
            ],
        ),
        Request::Show { what: What::Pre, .. } => replication(result),
        Request::WaitEntries { .. } => {
            format!("{} entries in {}\n", plain(&result["entries"]), plain(&result["table"]))
        }
        Request::WaitReady { .. } => format!("runs {}\n", plain(&result["program"])),
        Request::Trace { .. } => {
            let mut text = String::new();
            let stories = result["stories"].as_array().into_iter().flatten();
            for (i, story) in stories.enumerate() {
                if let Ok(story) = serde_json::from_value::<Story>(story.clone()) {
                    text.push_str(&format!("Packet {}\n{}\n", i + 1, trace::render(&story)));
                }
            }
            if text.is_empty() {
                text.push_str("no such packet came\n");
            }
            if result["cut"] == true {
                text.push_str("there may be more stories; one answer has no room for them\n");
            }
            text
        }
        Request::PacketIn { .. } => {
            let packets = result["packets"].as_array().into_iter().flatten();
            let text: String = packets.map(|packet| format!("{}\n", plain(&packet["hex"]))).collect();
            or_none(text, "no packets for the controller")
        }
        Request::AddPort { .. } => format!("port {}\n", plain(&result["port"])),
        Request::Replace { .. } => {
            let mut text = format!("runs {}\n", plain(&result["program"]));
            if let Some(kept) = result["kept"].as_u64() {
                text.push_str(&format!("{kept} kept, {} without a place", plain(&result["refused"])));
                let left_out = result["left_out"].as_u64().filter(|n| *n > 0);
                text.push_str(
                    &left_out.map_or_else(String::new, |n| format!("; {n} entries of packets are left out")),
                );
                text.push('\n');
            }
            for fault in result["faults"].as_array().into_iter().flatten() {
                text.push_str(&format!("  {}\n", plain(fault)));
            }
            text
        }
        Request::Write { .. } | Request::ClearTable { .. } => match result["updates"].as_u64() {
            Some(1) => "1 update\n".to_owned(),
            Some(n) => format!("{n} updates\n"),
            None => String::new(),
        },
        Request::Show { what: What::Program, .. } => {
            format!("{}, {}\n", plain(&result["program"]), plain(&result["architecture"]))
        }
        Request::Show { what: What::Registers, .. } => registers(result),
        Request::Show { what, .. } => or_none(anything(result), what_is_missing(*what)),
        Request::Commands { .. } => anything(&result["shown"]),
        Request::Digests => or_none(anything(result), "no digests"),
        _ => anything(result),
    }
}

/// Profiles with their neighbours of the same time in one row, as `8-255`.
fn joined(profiles: &Json) -> Json {
    let mut rows: Vec<(u64, u64, &Json)> = Vec::new();
    for row in profiles.as_array().into_iter().flatten() {
        let (number, seconds) = (row["profile"].as_u64().unwrap_or(0), &row["seconds"]);
        match rows.last_mut() {
            Some((_, last, of)) if *of == seconds && *last + 1 == number => *last = number,
            _ => rows.push((number, number, seconds)),
        }
    }
    let shown = rows.into_iter().map(|(first, last, seconds)| {
        let profile = if first == last { first.to_string() } else { format!("{first}-{last}") };
        serde_json::json!({ "profile": profile, "seconds": seconds })
    });
    Json::Array(shown.collect())
}

fn or_none(text: String, what: &str) -> String {
    if text.is_empty() { format!("there are {what}\n") } else { text }
}

fn what_is_missing(what: What) -> &'static str {
    match what {
        What::Counters => "no counters, or none has counted",
        What::Meters => "no meters, or none has rates",
        What::Profiles => "no members and no groups",
        What::ValueSets => "no value sets",
        _ => "none",
    }
}

/// Cells that are not zero, one per line, and how many are.
fn registers(result: &Json) -> String {
    let cells: Vec<&Json> = result.as_array().into_iter().flatten().collect();
    let is_zero = |cell: &Json| matches!(plain(&cell["value"]).as_str(), "0" | "0x0" | "false");
    let kept: Json = cells.iter().filter(|cell| !is_zero(cell)).map(|cell| (*cell).clone()).collect();
    let n_zero = cells.len() - kept.as_array().map_or(0, Vec::len);
    let mut text = if cells.is_empty() { "there are no registers\n".to_owned() } else { anything(&kept) };
    if n_zero > 0 {
        text.push_str(&format!("{n_zero} cells are zero\n"));
    }
    text
}

/// One line per table with its keys and actions, then counters and registers.
fn names(result: &Json) -> String {
    let all = |list: &Json| -> Vec<String> { list.as_array().into_iter().flatten().map(plain).collect() };
    let mut text = String::new();
    for table in result["tables"].as_array().into_iter().flatten() {
        let action =
            |action: &Json| format!("{}({})", plain(&action["name"]), all(&action["params"]).join(", "));
        let actions: Vec<String> = table["actions"].as_array().into_iter().flatten().map(action).collect();
        let (keys, actions) = (all(&table["keys"]).join(" "), actions.join(" | "));
        text.push_str(&format!("table {} {keys} {actions}\n", plain(&table["table"])));
    }
    for kind in ["counter", "register"] {
        for name in all(&result[format!("{kind}s")]) {
            text.push_str(&format!("{kind} {name}\n"));
        }
    }
    text
}

/// Ports with their losses as text, `rx_dropped_gso 86, tx_too_long 2`, and what an `auto` port goes through.
fn for_people(ports: &Json) -> Json {
    let mut ports = ports.clone();
    for port in ports.as_array_mut().into_iter().flatten() {
        let losses = port["losses"].as_object().into_iter().flatten();
        let text: Vec<String> = losses.map(|(name, n)| format!("{name} {}", plain(n))).collect();
        let workers: BTreeSet<u64> =
            port["queues"].as_array().into_iter().flatten().filter_map(|of| of["worker"].as_u64()).collect();
        let workers: Vec<String> = workers.iter().map(u64::to_string).collect();
        port["workers_text"] = workers.join(" ").into();
        port["losses_text"] = text.join(", ").into();
        if let Some(name) = port["name"].as_str().filter(|name| name.starts_with("auto:")) {
            let kind = if port["fallback"].is_null() { "AF_XDP" } else { "AF_PACKET" };
            port["name"] = format!("{name} ({kind})").into();
        }
    }
    ports
}

fn counts(result: &Json) -> String {
    let lines = result.as_object().into_iter().flatten();
    let text: String = lines.map(|(name, n)| format!("{:>12}  {name}\n", plain(n))).collect();
    if text.is_empty() { "nothing was dropped\n".to_owned() } else { text }
}

/// Groups and sessions, with the ports of their copies.
fn replication(result: &Json) -> String {
    let mut rows = vec![["kind", "number", "ports"].map(str::to_owned).to_vec()];
    for entity in result.as_array().into_iter().flatten() {
        let kind = if entity["group"].is_null() { "session" } else { "group" };
        let replicas = entity["replicas"].as_array().into_iter().flatten();
        let ports: Vec<String> = replicas.map(|replica| plain(&replica["port"])).collect();
        rows.push(vec![kind.to_owned(), plain(&entity[kind]), ports.join(" ")]);
    }
    if rows.len() == 1 {
        return "there are no groups and no sessions\n".to_owned();
    }
    aligned(&rows)
}

/// One line for each entry, as `siding ctl add` takes them.
/// Entries with their handles, in the form of BMv2's command line.
fn handles(result: &Json) -> String {
    let mut text = String::new();
    for numbered in result["entries"].as_array().into_iter().flatten() {
        let entry = &numbered["entry"];
        text.push_str(&format!("**********\nDumping entry {}\nMatch key:\n", plain(&numbered["handle"])));
        for key in entry["keys"].as_array().into_iter().flatten() {
            text.push_str(&format!("* {}: {}\n", plain(&key["name"]), plain(&key["value"])));
        }
        let priority = plain(&entry["priority"]);
        if !matches!(priority.as_str(), "" | "0") {
            text.push_str(&format!("Priority: {priority}\n"));
        }
        let what = &entry["action"];
        let index = |kind: &str| Some(format!("{kind}({})", what[kind].as_u64()?.saturating_sub(1)));
        match index("member").or_else(|| index("group")) {
            Some(index) => text.push_str(&format!("Index: {index}\n")),
            None => text.push_str(&format!("Action entry: {}\n", action(what))),
        }
    }
    match text.is_empty() {
        true => "there are no entries\n".to_owned(),
        false => text,
    }
}

/// Members and groups with their handles, as BMv2's command line prints them.
fn profile(result: &Json) -> String {
    let mut text = "==========\nMEMBERS\n".to_owned();
    for member in result["members"].as_array().into_iter().flatten() {
        text.push_str(&format!("**********\n{}", profile_member(member)));
    }
    if let Some(groups) = result["groups"].as_array() {
        text.push_str("==========\nGROUPS\n");
        for group in groups {
            text.push_str(&format!("**********\n{}", profile_group(group)));
        }
    }
    text
}

/// A member of an action profile, as BMv2's command line prints it.
pub fn profile_member(member: &Json) -> String {
    let data: Vec<String> = member["data"].as_array().into_iter().flatten().map(plain).collect();
    let (handle, action) = (plain(&member["handle"]), plain(&member["action"]));
    format!("Dumping member {handle}\nAction entry: {action} - {}\n", data.join(", "))
}

/// A group of an action selector, as BMv2's command line prints it.
pub fn profile_group(group: &Json) -> String {
    let members: Vec<String> = group["members"].as_array().into_iter().flatten().map(plain).collect();
    format!("Dumping group {}\nMembers: [{}]\n", plain(&group["handle"]), members.join(", "))
}

fn entries(result: &Json) -> String {
    let mut rows = vec![
        ["table", "priority", "key", "action", "registers", "packets", "profile", "idle s"]
            .map(str::to_owned),
    ];
    for entry in result.as_array().into_iter().flatten() {
        let keys = entry["keys"].as_array().into_iter().flatten();
        let mut keys: Vec<String> =
            keys.map(|key| format!("{}:{}", plain(&key["name"]), plain(&key["value"]))).collect();
        if entry["default"] == true {
            keys.push("(default)".to_owned());
        }
        let priority = plain(&entry["priority"]);
        rows.push([
            plain(&entry["table"]),
            priority,
            keys.join(" "),
            action(&entry["action"]),
            named_values(&entry["registers"]),
            plain(&entry["packets"]),
            plain(&entry["profile"]),
            entry["idle_ns"].as_u64().map_or(String::new(), |ns| format!("{:.1}", ns as f64 / 1e9)),
        ]);
    }
    if rows.len() == 1 {
        return "there are no entries\n".to_owned();
    }
    aligned(&used_columns(rows.iter().map(|row| row.to_vec()).collect()))
}

fn action(action: &Json) -> String {
    let Some(name) = action["name"].as_str() else {
        return if action.is_null() { String::new() } else { action.to_string() };
    };
    format!("{name}({})", named_values(&action["params"]))
}

/// Values with their names.
fn named_values(values: &Json) -> String {
    let values = values.as_array().into_iter().flatten();
    let values: Vec<String> =
        values.map(|value| format!("{}:{}", plain(&value["name"]), plain(&value["value"]))).collect();
    values.join(", ")
}

fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Columns by heading and path.
fn table(rows: &Json, columns: &[(&str, &str)]) -> String {
    let mut text = vec![columns.iter().map(|(heading, _)| (*heading).to_owned()).collect::<Vec<_>>()];
    for row in rows.as_array().into_iter().flatten() {
        let cell = |path: &str| plain(path.split('.').fold(row, |value, step| &value[step]));
        text.push(columns.iter().map(|(_, path)| cell(path)).collect());
    }
    aligned(&used_columns(text))
}

/// Columns without anything in them say nothing, unless there are no rows.
fn used_columns(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let n_columns = rows.first().map_or(0, Vec::len);
    let is_used = |i: &usize| rows.len() == 1 || rows[1..].iter().any(|row| !row[*i].is_empty());
    let used: Vec<usize> = (0..n_columns).filter(is_used).collect();
    rows.iter().map(|row| used.iter().map(|i| row[*i].clone()).collect()).collect()
}

fn aligned(rows: &[Vec<String>]) -> String {
    let n_columns = rows.first().map_or(0, Vec::len);
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let is_number = |i: usize| {
        rows.len() > 1 && rows[1..].iter().all(|row| row[i].is_empty() || row[i].parse::<u64>().is_ok())
    };
    let numbers: Vec<bool> = (0..n_columns).map(is_number).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(i, cell)| match numbers[i] {
            true => format!("{cell:>n$}", n = widths[i]),
            false => format!("{cell:<n$}", n = widths[i]),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Lists of objects as tables; the rest as JSON.
fn anything(result: &Json) -> String {
    let list = match result {
        Json::Array(_) => result,
        Json::Object(fields) if fields.is_empty() => return String::new(),
        Json::Object(fields) if fields.len() == 1 && fields.values().all(Json::is_array) => {
            fields.values().next().unwrap_or(result)
        }
        other => return format!("{other:#}\n"),
    };
    let first = list.as_array().and_then(|list| list.first());
    match first.and_then(Json::as_object) {
        Some(first) => {
            let columns: Vec<(&str, &str)> = first.keys().map(|key| (key.as_str(), key.as_str())).collect();
            table(list, &columns)
        }
        None if first.is_none() => String::new(),
        None => format!("{list:#}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_aligned() {
        let ports = json!([
            { "port": 0, "name": "veth0", "link": "up", "stats": { "rx_packets": 7 } },
            { "port": 10, "name": "v1", "link": "down", "stats": { "rx_packets": 1234 } },
        ]);
        let columns = [("port", "port"), ("name", "name"), ("rx", "stats.rx_packets"), ("error", "error")];
        assert_eq!(table(&ports, &columns), "port  name     rx\n   0  veth0     7\n  10  v1     1234\n");
        let found = json!([{
            "table": "t", "keys": [{ "name": "a", "value": "10.0.0.0/8" }],
            "action": { "name": "go", "params": [{ "name": "port", "value": "1" }] }, "packets": 5,
        }]);
        assert_eq!(
            entries(&found),
            "table  key           action      packets\n\
             t      a:10.0.0.0/8  go(port:1)        5\n"
        );
        let with_register = json!([{
            "table": "t", "keys": [{ "name": "a", "value": "1" }],
            "action": { "name": "go", "params": [] }, "registers": [{ "name": "n", "value": "7" }],
        }]);
        assert_eq!(
            entries(&with_register),
            "table  key  action  registers\n\
             t      a:1  go()    n:7\n"
        );
        assert_eq!(counts(&json!({})), "nothing was dropped\n");
        let lossy = json!([{ "losses": { "rx_dropped_gso": 86, "tx_too_long": 2 } }, { "losses": {} }]);
        let lossy = for_people(&lossy);
        assert_eq!(lossy[0]["losses_text"], "rx_dropped_gso 86, tx_too_long 2");
        assert_eq!(lossy[1]["losses_text"], "");
        let auto = json!([{ "name": "auto:a", "fallback": null }, { "name": "auto:b", "fallback": "no" }]);
        let auto = for_people(&auto);
        assert_eq!(
            (auto[0]["name"].as_str(), auto[1]["name"].as_str()),
            (Some("auto:a (AF_XDP)"), Some("auto:b (AF_PACKET)"))
        );
    }
}
