//! `siding traffic`: sends and receives packets.

mod ports;
mod replay;
mod report;
mod search;
mod watch;

use crate::cli::{TrafficArgs, TrafficCommand, TrafficRunArgs};
use crate::output::{self, Exit};
use ports::{Ports, Roles};
use serde_json::json;
use traffic::{CapturedFrames, Content, GeneratorOptions, Rate, TrafficError, TrialResult};
use watch::{Signals, Watch};

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
        TrafficError::Port(_)
        | TrafficError::Read(_)
        | TrafficError::Write(_)
        | TrafficError::Core { .. } => Exit::Environment,
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
    let n_lost = result.totals.n_lost;
    let sent = result.stations.iter().filter_map(|station| station.sent.as_ref());
    let n_refused: u64 = sent.map(|sent| sent.n_refused).sum();
    if args.fail_on_loss && n_refused > 0 {
        let were = if n_refused == 1 { "packet was" } else { "packets were" };
        output::error_line(&format!("{} {were} refused by the port", report::grouped(n_refused)));
        return Ok(Exit::Failed);
    }
    if args.fail_on_loss && n_lost > 0 {
        let were = if n_lost == 1 { "packet was" } else { "packets were" };
        let part = report::percent(result.totals.loss_ratio);
        output::error_line(&format!("{} {were} lost ({part})", report::grouped(n_lost)));
        return Ok(Exit::Failed);
    }
    if args.fail_on_loss && result.totals.n_received == 0 {
        output::error_line("nothing arrived");
        return Ok(Exit::Failed);
    }
    Ok(Exit::Ok)
}

fn summary_json(result: &TrialResult) -> serde_json::Value {
    json!({ "event": "summary", "totals": result.totals, "ports": result.stations })
}
