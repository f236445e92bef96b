//! `siding ctl`.

use crate::cli::{CtlArgs, CtlCommand, PortCommand, ShowArg};
use crate::output::{self, Exit};
use ctl::{Answer, Refusal, RefusalKind, Request, What};
use std::path::Path;
use std::time::Duration;

pub fn run(args: &CtlArgs) -> Exit {
    let request = match request(&args.what) {
        Ok(request) => request,
        Err(exit) => return exit,
    };
    let socket = args.ctl_socket.clone().unwrap_or_else(|| match args.thrift_port {
        Some(port) => ctl::thrift_path(port),
        None => ctl::default_path(args.device_id),
    });
    let pid = match &args.what {
        CtlCommand::WaitReady { pid, .. } => *pid,
        _ => None,
    };
    // A process that is gone answers no more.
    let is_gone = || pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
    let answer = match ctl::ask_while(&socket, &request, &|| !is_gone()) {
        Ok(answer) => answer,
        Err(message) => {
            output::error_line(&message);
            return Exit::Environment;
        }
    };
    match answer {
        Answer { error: Some(refusal), .. } => refused(&refusal),
        Answer { result, .. } => {
            let result = result.unwrap_or_default();
            output::out(&match args.json {
                true => format!("{result}\n"),
                false => ctl::render(&request, &result),
            });
            if let Some(warnings) = result["warnings"].as_str() {
                output::err(&format!("{warnings}\n"));
            }
            let has_no_story = result["stories"].as_array().is_some_and(Vec::is_empty);
            if has_no_story { Exit::Failed } else { Exit::Ok }
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
        CtlCommand::Modify { keep_state: false, words } => commands("modify", words),
        CtlCommand::Modify { keep_state: true, words } => commands("modify_keep_state", words),
        CtlCommand::Delete { words } => match words.as_slice() {
            [table, all] if all == "all" => Request::ClearTable { table: table.clone() },
            words => commands("delete", words),
        },
        CtlCommand::Setdefault { words } => commands("setdefault", words),
        CtlCommand::Do { words } => commands("", words),
        CtlCommand::McGroup { group, ports } => Request::SetGroup { group: *group, ports: ports.clone() },
        CtlCommand::Write { file } => write_request(file)?,
        CtlCommand::Trace { count, filter, timeout } => {
            // Externs of users have reasons of their own, so the switch may know more of them.
            if let Some(Ok(parsed)) = filter.as_deref().map(trace::Filter::parse)
                && let Some(message) = parsed.reasons().find_map(siding::explain::unknown_reason)
            {
                output::warning_line(&format!("--match: {message}"));
            }
            Request::Trace {
                n_packets: *count,
                filter: filter.clone(),
                timeout_ms: timeout.saturating_mul(1000),
            }
        }
        CtlCommand::PacketIn { count } => Request::PacketIn { n_max: *count },
        CtlCommand::PacketOut { packet, port } => Request::PacketOut { packet: packet.clone(), port: *port },
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
        CtlCommand::Expire { table, profile: Some(profile), seconds: Some(seconds) } => Request::SetProfile {
            table: table.clone(),
            profile: *profile,
            timeout_ns: nanoseconds(*seconds)?,
        },
        CtlCommand::Expire { table, profile, .. } => {
            Request::ShowProfiles { table: table.clone(), profile: *profile }
        }
        CtlCommand::WaitReady { timeout, pid: _ } => {
            Request::WaitReady { timeout_ms: timeout.saturating_mul(1000) }
        }
        CtlCommand::WaitEntries { table, n_entries, below, timeout } => Request::WaitEntries {
            table: table.clone(),
            n_entries: *n_entries,
            is_below: *below,
            timeout_ms: timeout.saturating_mul(1000),
        },
        CtlCommand::Shutdown => Request::Shutdown,
        CtlCommand::Bmv2(words) => super::bmv2::request(words).map_err(|message| {
            output::error_line(&message);
            Exit::Usage
        })?,
    })
}

/// A time on the command line.
fn nanoseconds(seconds: f64) -> Result<u64, Exit> {
    match Duration::try_from_secs_f64(seconds).ok().and_then(|time| u64::try_from(time.as_nanos()).ok()) {
        Some(ns) => Ok(ns),
        None => {
            output::error_line(&format!("{seconds} seconds are no time that an entry may have"));
            Err(Exit::Usage)
        }
    }
}

/// The entries of a file; requests on the wire become text.
fn write_request(path: &Path) -> Result<Request, Exit> {
    let shown = path.display();
    let bytes = output::read_file(path).map_err(|error| {
        output::error_line(&format!("cannot read {shown}: {error}"));
        Exit::Environment
    })?;
    let usage = |message: String| {
        output::error_line(&message);
        Exit::Usage
    };
    let format =
        entries::detect(&path.to_string_lossy(), &bytes).map_err(|error| usage(error.to_string()))?;
    let mut name = path.display().to_string();
    let bytes = match format {
        entries::Format::P4RuntimeBinary => {
            name.push_str(" (as text)");
            let request = p4info::decode_write_request(&bytes, p4info::Format::Binary)
                .map_err(|error| usage(format!("{shown}: {error}")))?;
            p4info::encode_write_request(&request, p4info::Format::Text)
        }
        _ => bytes,
    };
    let text = String::from_utf8(bytes)
        .map_err(|error| usage(format!("{shown}: byte {}: not UTF-8", error.utf8_error().valid_up_to())))?;
    Ok(Request::Write { text, name: Some(name) })
}

fn shown(what: ShowArg) -> What {
    match what {
        ShowArg::Ports => What::Ports,
        ShowArg::Tables => What::Tables,
        ShowArg::State => What::State,
        ShowArg::Entries => What::Entries,
        ShowArg::Drops => What::Drops,
        ShowArg::Queues => What::Queues,
        ShowArg::Workers => What::Workers,
        ShowArg::Async => What::Async,
        ShowArg::Replication => What::Pre,
        ShowArg::Counters => What::Counters,
        ShowArg::Registers => What::Registers,
        ShowArg::Meters => What::Meters,
        ShowArg::ValueSets => What::ValueSets,
        ShowArg::Profiles => What::Profiles,
        ShowArg::Totals => What::Totals,
        ShowArg::Program => What::Program,
        ShowArg::Names => What::Names,
    }
}
