//! `siding ctl`.

use crate::cli::{CtlArgs, CtlCommand, PortCommand, ShowArg};
use crate::output::{self, Exit};
use dataplane::ctl::{self, Answer, Line, Refusal, RefusalKind, Request, VERSION, What};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;
use trace::{Story, render as prose};

/// Beyond what the switch itself may take: then it is stuck.
const PATIENCE: Duration = Duration::from_secs(600);

pub fn run(args: &CtlArgs) -> Exit {
    let request = match request(&args.what) {
        Ok(request) => request,
        Err(exit) => return exit,
    };
    let socket = args.ctl_socket.clone().unwrap_or_else(|| ctl::default_path(args.device_id));
    let answer = match ask(&socket, request) {
        Ok(answer) => answer,
        Err(message) => {
            output::error_line(&message);
            return Exit::Environment;
        }
    };
    match answer {
        Answer { error: Some(refusal), .. } => refused(&refusal),
        Answer { result: Some(result), .. } if args.json => {
            output::out(&format!("{result}\n"));
            Exit::Ok
        }
        Answer { result, .. } => {
            output::out(&in_words(&args.what, &result.unwrap_or_default()));
            Exit::Ok
        }
    }
}

fn refused(refusal: &Refusal) -> Exit {
    let message = refusal.message.trim_end();
    if message.starts_with("error") {
        // A diagnostic says itself what it is.
        output::err(&format!("{message}\n"));
    } else {
        output::error_line(message);
    }
    match refusal.kind {
        RefusalKind::Usage => Exit::Usage,
        RefusalKind::Refused | RefusalKind::Timeout => Exit::Failed,
        RefusalKind::Program => Exit::CompileError,
        RefusalKind::Environment => Exit::Environment,
    }
}

fn request(what: &CtlCommand) -> Result<Request, Exit> {
    let commands = |verb: &str, words: &[String]| {
        let words: Vec<&str> = std::iter::once(verb).chain(words.iter().map(String::as_str)).collect();
        Request::Commands { text: words.join(" ").trim().to_owned() }
    };
    Ok(match what {
        CtlCommand::Show { what, name } => Request::Show { what: shown(*what), name: name.clone() },
        CtlCommand::Add { words } => commands("add", words),
        CtlCommand::Modify { words } => commands("modify", words),
        CtlCommand::Delete { words } => commands("remove", words),
        CtlCommand::Setdefault { words } => commands("setdefault", words),
        CtlCommand::Do { words } => commands("", words),
        CtlCommand::McGroup { group, ports } => {
            let ports: Vec<String> = ports.iter().map(u32::to_string).collect();
            let text = format!(
                "mc_mgrp_create {group}\nmc_node_create 0 {}\nmc_node_associate {group} 0",
                ports.join(" ")
            );
            Request::Commands { text }
        }
        CtlCommand::Write { file } => Request::Write { text: read(file)? },
        CtlCommand::Trace { count, filter, timeout } => Request::Trace {
            n_packets: *count,
            filter: filter.clone(),
            timeout_ms: timeout.saturating_mul(1000),
        },
        CtlCommand::PacketIn { count } => Request::PacketIn { n_max: *count },
        CtlCommand::PacketOut { hex, port } => Request::PacketOut { hex: hex.clone(), port: *port },
        CtlCommand::Digests => Request::Digests,
        CtlCommand::Expired => Request::Expired,
        CtlCommand::Replace { program, keep_entries } => {
            // The switch runs in a directory of its own.
            let program = std::path::absolute(program).unwrap_or_else(|_| program.clone());
            Request::Replace { program, keep_entries: *keep_entries }
        }
        CtlCommand::Port(PortCommand::Add { port }) => Request::AddPort { port: port.clone() },
        CtlCommand::Port(PortCommand::Remove { port }) => Request::RemovePort { port: *port },
        CtlCommand::Port(PortCommand::Up { port }) => Request::SetPort { port: *port, is_enabled: true },
        CtlCommand::Port(PortCommand::Down { port }) => Request::SetPort { port: *port, is_enabled: false },
        CtlCommand::SetRate { port, rate } => Request::SetRate { port: *port, rate_pps: *rate },
        CtlCommand::WaitReady { timeout } => Request::WaitReady { timeout_ms: timeout.saturating_mul(1000) },
        CtlCommand::Shutdown => Request::Shutdown,
    })
}

fn read(path: &Path) -> Result<String, Exit> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| {
        output::error_line(&format!("cannot read {}: {error}", path.display()));
        Exit::Environment
    })
}

fn shown(what: ShowArg) -> What {
    match what {
        ShowArg::Ports => What::Ports,
        ShowArg::Tables => What::Tables,
        ShowArg::Entries => What::Entries,
        ShowArg::Drops => What::Drops,
        ShowArg::Workers => What::Workers,
        ShowArg::Async => What::Async,
        ShowArg::Pre => What::Pre,
        ShowArg::Counters => What::Counters,
        ShowArg::Registers => What::Registers,
        ShowArg::Totals => What::Totals,
        ShowArg::Program => What::Program,
    }
}

/// One request, one answer.
fn ask(socket: &Path, request: Request) -> Result<Answer, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!(
            "no switch answers on {}: {error}. To start one: siding switch -i 0@INTERFACE PROGRAM.p4",
            socket.display()
        )
    };
    // A switch that is being started has no socket yet.
    let patience = match &request {
        Request::WaitReady { timeout_ms } => Duration::from_millis(*timeout_ms),
        _ => Duration::ZERO,
    };
    let begin = std::time::Instant::now();
    let stream = loop {
        match ctl::connect(socket) {
            Ok(stream) => break stream,
            // Waiting does not make a foreign socket ours.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(format!("the socket {} cannot be used: {error}", socket.display()));
            }
            Err(error) if begin.elapsed() >= patience => return Err(failed(&error)),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let waits = match &request {
        Request::Trace { timeout_ms, .. } | Request::WaitReady { timeout_ms } => *timeout_ms,
        _ => 0,
    };
    stream
        .set_read_timeout(Some(PATIENCE.saturating_add(Duration::from_millis(waits))))
        .map_err(|error| failed(&error))?;
    let mut line =
        serde_json::to_vec(&Line { version: VERSION, request }).map_err(|error| error.to_string())?;
    line.push(b'\n');
    (&stream).write_all(&line).map_err(|error| failed(&error))?;
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).map_err(|error| failed(&error))?;
    if !answer.ends_with('\n') {
        return Err(format!("the switch on {} ended before it had answered", socket.display()));
    }
    serde_json::from_str(&answer)
        .map_err(|error| format!("the answer on {} cannot be understood: {error}", socket.display()))
}

/// What people see.
fn in_words(what: &CtlCommand, result: &Json) -> String {
    match what {
        CtlCommand::Show { what: ShowArg::Entries, .. } => entries(result),
        CtlCommand::Expired => entries(&result["expired"]),
        CtlCommand::Show { what: ShowArg::Drops, .. } => counts(result),
        CtlCommand::Show { what: ShowArg::Totals, .. } => {
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
        CtlCommand::Show { what: ShowArg::Ports, .. } => table(
            &with_losses(result),
            &[
                ("port", "port"),
                ("name", "name"),
                ("link", "link"),
                ("enabled", "enabled"),
                ("worker", "worker"),
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
        CtlCommand::Show { what: ShowArg::Tables, .. } => table(
            result,
            &[
                ("table", "table"),
                ("entries", "entries"),
                ("size", "size"),
                ("default action", "default_action.name"),
            ],
        ),
        CtlCommand::Show { what: ShowArg::Workers, .. } => table(
            result,
            &[
                ("worker", "worker"),
                ("core", "core"),
                ("packets", "packets"),
                ("bursts", "bursts"),
                ("sleeps", "sleeps"),
                ("buffers", "buffers"),
                ("without a buffer", "buffers_exhausted"),
            ],
        ),
        CtlCommand::Show { what: ShowArg::Async, .. } => table(
            result,
            &[
                ("block", "block"),
                ("in flight", "in_flight"),
                ("inline", "inline"),
                ("sent", "sent"),
                ("done", "done"),
                ("dropped", "dropped"),
                ("lost", "lost"),
                ("executor", "executor"),
                ("cycles waiting", "wait_cycles"),
                ("cycles running", "run_cycles"),
                ("called together", "batched"),
            ],
        ),
        CtlCommand::Show { what: ShowArg::Pre, .. } => replication(result),
        CtlCommand::WaitReady { .. } => format!("runs {}\n", plain(&result["program"])),
        CtlCommand::Trace { .. } => {
            let mut text = String::new();
            let stories = result["stories"].as_array().into_iter().flatten();
            for (i, story) in stories.enumerate() {
                if let Ok(story) = serde_json::from_value::<Story>(story.clone()) {
                    text.push_str(&format!("Packet {}\n{}\n", i + 1, prose(&story)));
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
        CtlCommand::PacketIn { .. } => {
            let packets = result["packets"].as_array().into_iter().flatten();
            packets.map(|packet| format!("{}\n", plain(&packet["hex"]))).collect()
        }
        CtlCommand::Replace { .. } => {
            let mut text = format!("runs {}\n", plain(&result["program"]));
            if let Some(kept) = result["kept"].as_u64() {
                text.push_str(&format!("{kept} kept, {} without a place\n", plain(&result["refused"])));
            }
            for fault in result["faults"].as_array().into_iter().flatten() {
                text.push_str(&format!("  {}\n", plain(fault)));
            }
            text
        }
        _ => anything(result),
    }
}

/// Ports with their losses as text: `rx_dropped_gso 86, tx_too_long 2`.
fn with_losses(ports: &Json) -> Json {
    let mut ports = ports.clone();
    for port in ports.as_array_mut().into_iter().flatten() {
        let losses = port["losses"].as_object().into_iter().flatten();
        let text: Vec<String> = losses.map(|(name, n)| format!("{name} {}", plain(n))).collect();
        port["losses_text"] = text.join(", ").into();
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
fn entries(result: &Json) -> String {
    let mut rows = vec![["table", "priority", "key", "action", "packets"].map(str::to_owned)];
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
            plain(&entry["packets"]),
        ]);
    }
    if rows.len() == 1 {
        return "there are no entries\n".to_owned();
    }
    aligned(&rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>())
}

fn action(action: &Json) -> String {
    let Some(name) = action["name"].as_str() else {
        return if action.is_null() { String::new() } else { action.to_string() };
    };
    let params = action["params"].as_array().into_iter().flatten();
    let params: Vec<String> =
        params.map(|param| format!("{}:{}", plain(&param["name"]), plain(&param["value"]))).collect();
    format!("{name}({})", params.join(", "))
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
    // Columns without anything in them say nothing.
    let used: Vec<usize> = (0..columns.len())
        .filter(|i| text.len() == 1 || text[1..].iter().any(|row| !row[*i].is_empty()))
        .collect();
    let kept: Vec<Vec<String>> =
        text.iter().map(|row| used.iter().map(|i| row[*i].clone()).collect()).collect();
    aligned(&kept)
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
            "table  priority  key           action      packets\n\
             t                a:10.0.0.0/8  go(port:1)        5\n"
        );
        assert_eq!(counts(&json!({})), "nothing was dropped\n");
        let lossy = json!([{ "losses": { "rx_dropped_gso": 86, "tx_too_long": 2 } }, { "losses": {} }]);
        let lossy = with_losses(&lossy);
        assert_eq!(lossy[0]["losses_text"], "rx_dropped_gso 86, tx_too_long 2");
        assert_eq!(lossy[1]["losses_text"], "");
    }
}
