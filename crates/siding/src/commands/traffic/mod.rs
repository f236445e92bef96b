//! `siding traffic`: sends and receives packets.

mod ports;
mod replay;
mod report;
mod search;
mod signals;
mod watch;

use crate::cli::{TrafficArgs, TrafficCommand, TrafficRunArgs};
use crate::output::{self, Exit};
use ports::{Ports, Roles};
use serde_json::json;
use signals::Signals;
use traffic::{CapturedFrames, Content, GeneratorOptions, Rate, TrafficError, TrialResult};
use watch::Watch;

pub fn run(args: &TrafficArgs) -> Exit {
    let ended = match &args.command {
        None => one(&args.run),
        Some(TrafficCommand::Search(args)) => search::run(args),
        Some(TrafficCommand::Replay(args)) => replay::run(args),
    };
    ended.unwrap_or_else(|exit| exit)
}

/// Shows an error, and says which exit code it has.
fn refuse(error: &TrafficError) -> Exit {
    output::error_line(&error.to_string());
    match error {
        TrafficError::Options(_) => Exit::Usage,
        TrafficError::Port(_) | TrafficError::Read(_) | TrafficError::Write(_) | TrafficError::Core(_) => {
            Exit::Environment
        }
        TrafficError::Thread => Exit::Bug,
    }
}

fn one(args: &TrafficRunArgs) -> Result<Exit, Exit> {
    let signals = Signals::new();
    let mut ports = Ports::open(&args.ports, &signals)?;
    let flows = args.flows.options();
    let content = match &args.from {
        Some(file) => {
            output::note_input(file);
            let frames = CapturedFrames::read(file).map_err(|error| refuse(&error))?;
            if frames.n_left_out() > 0 {
                output::warning_line(&format!(
                    "{}: {} packets are left out: they are cut, fragments, neither UDP nor TCP, or have less than {} bytes of payload",
                    file.display(),
                    frames.n_left_out(),
                    traffic::SIGNATURE_BYTES
                ));
            }
            Content::Capture(frames)
        }
        None => Content::Flows { flows, sizes: args.size.clone() },
    };
    let generator = ports.has_tx().then(|| GeneratorOptions {
        content,
        rate: args.rate.unwrap_or(Rate::Unlimited),
        n_packets: args.count,
        duration: args.duration,
        stream: args.stream,
        burst_max: args.burst.into(),
    });
    let roles = Roles {
        generator,
        is_bidirectional: args.bidirectional,
        checksum_check: args.checksum_check(),
        cores: args.ports.cores.clone(),
        idle: args.ports.idle(),
    };
    let names = ports.names();
    let mut trial = ports.trial(&roles).map_err(|error| refuse(&error))?;
    trial.drain = args.drain;
    if roles.generator.is_none() {
        (trial.duration, trial.n_packets) = (args.duration, args.count);
    }
    let receiver = args.ports.rx.as_ref().and(names.last()).map(String::as_str);
    let watch = Watch { signals: &signals, names: &names, receiver, is_json: args.json, is_shown: true };
    let result = watch.run(trial).map_err(|error| refuse(&error))?;
    match args.json {
        true => output::out(&format!("{}\n", summary_json(&result))),
        false => output::out(&report::text(&result, &names)),
    }
    report::hints(&result, &names, &ports).iter().for_each(|hint| output::warning_line(hint));
    Ok(if args.fail_on_loss { loss(&result) } else { Exit::Ok })
}

/// The exit code of `--fail-on-loss`, after an error line.
fn loss(result: &TrialResult) -> Exit {
    let were = |n: u64| if n == 1 { "packet was" } else { "packets were" };
    let sent = result.stations.iter().filter_map(|station| station.sent.as_ref());
    let n_refused: u64 = sent.map(|sent| sent.n_refused).sum();
    let is_receiving =
        result.stations.iter().any(|station| station.received.is_some() || station.recorded.is_some());
    let totals = &result.totals;
    let n_lost = totals.n_lost;
    let message = if n_refused > 0 {
        format!("{} {} refused by the port", report::grouped(n_refused), were(n_refused))
    } else if is_receiving && n_lost > 0 {
        format!("{} {} lost ({})", report::grouped(n_lost), were(n_lost), report::percent(totals.loss_ratio))
    } else if is_receiving && totals.n_received == 0 {
        "nothing arrived".to_owned()
    } else {
        return Exit::Ok;
    };
    output::error_line(&message);
    Exit::Failed
}

fn summary_json(result: &TrialResult) -> serde_json::Value {
    json!({ "event": "summary", "totals": result.totals, "ports": result.stations })
}
