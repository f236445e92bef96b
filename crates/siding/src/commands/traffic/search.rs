//! `siding traffic search`: RFC 2544 throughput and latency.

use super::ports::{Ports, Roles};
use super::signals::Signals;
use super::watch::Watch;
use super::{refuse, report};
use crate::cli::TrafficSearchArgs;
use crate::output::{self, Exit};
use serde_json::json;
use std::fmt::Write as _;
use std::io::IsTerminal;
use traffic::{
    ChecksumCheck, GeneratorOptions, Rate, Scaled, SearchOptions, SearchPoint, SearchTrial, TrafficError,
    TrialResult,
};

pub fn run(args: &TrafficSearchArgs) -> Result<Exit, Exit> {
    if args.ports.tx.is_none() || args.ports.rx.is_none() {
        output::error_line("name both ports: --tx INTERFACE sends, --rx INTERFACE receives");
        return Err(Exit::Usage);
    }
    let signals = Signals::new();
    let mut ports = Ports::open(&args.ports, &signals)?;
    let names = ports.names();
    let options = SearchOptions {
        flows: args.flows.options(),
        trial: args.trial,
        loss_max: args.loss_max,
        resolution: args.resolution,
        rate_max: args.max_rate.unwrap_or(Rate::Unlimited),
        burst_max: args.burst.into(),
    };
    // Before minutes have passed with other sizes.
    for sizes in &args.sizes {
        let first = GeneratorOptions {
            content: traffic::Content::Flows { flows: options.flows.clone(), sizes: sizes.clone() },
            ..GeneratorOptions::flood()
        };
        ports.trial(&roles(args, first)).map_err(|error| refuse(&error))?;
    }
    let watch =
        Watch { signals: &signals, names: &names, receiver: None, is_json: args.json, is_shown: false };
    let is_terminal = std::io::stderr().is_terminal();
    let mut points = Vec::new();
    for sizes in &args.sizes {
        let mut run = |generator: GeneratorOptions| -> Result<Option<TrialResult>, TrafficError> {
            let mut trial = ports.trial(&roles(args, generator))?;
            trial.drain = args.drain;
            let result = watch.run(trial)?;
            Ok((!signals.is_end_wanted()).then_some(result))
        };
        let mut tell = |trial: &SearchTrial| {
            if args.json {
                output::out(&format!(
                    "{}\n",
                    json!({ "event": "trial", "sizes": sizes.to_string(), "trial": trial })
                ));
            } else if is_terminal {
                output::err(&trial_line(&sizes.to_string(), trial));
            }
        };
        let point = traffic::search(&options, sizes, &mut run, &mut tell).map_err(|error| refuse(&error))?;
        let Some(point) = point else {
            output::warning_line(&format!("stopped: no result for frames of {sizes} bytes"));
            break;
        };
        if args.json {
            output::out(&format!("{}\n", json!({ "event": "point", "point": point })));
        }
        points.push(point);
    }
    if !args.json {
        output::out(&text(&points));
    }
    let machine = reproduce::machine_facts(env!("CARGO_PKG_VERSION"));
    if args.json {
        output::out(&format!("{}\n", json!({ "event": "machine", "machine": machine })));
    }
    if let Some(path) = &args.markdown {
        output::replace_file(path, markdown(args, &points, &machine).as_bytes()).map_err(|error| {
            output::error_line(&format!("cannot write {}: {error}", path.display()));
            Exit::Environment
        })?;
    }
    let is_all = points.len() == args.sizes.len() && points.iter().all(|point| point.packets_per_s.is_some());
    Ok(if is_all { Exit::Ok } else { Exit::Failed })
}

fn roles(args: &TrafficSearchArgs, generator: GeneratorOptions) -> Roles {
    Roles {
        generator: Some(generator),
        is_bidirectional: args.bidirectional,
        checksum_check: ChecksumCheck::Off,
        cores: args.ports.cores.clone(),
        idle: args.ports.idle(),
    }
}

/// One line per trial, with the stalls of the machine.
fn trial_line(sizes: &str, trial: &SearchTrial) -> String {
    let totals = &trial.totals;
    format!(
        "{sizes:>5}  {:>8}packets/s  lost {:>12}  {}{}; {} stalls, the longest {}\n",
        Scaled(totals.sent_packets_per_s).to_string(),
        report::grouped(totals.n_lost),
        if trial.has_passed { "passed" } else { "failed" },
        if trial.is_below_rate { ", below the rate" } else { "" },
        totals.stalls.n_stalls,
        report::time(totals.stalls.longest_ns as f64),
    )
}

/// Cells of the report: a row of names, then a row for each size.
fn rows(points: &[SearchPoint]) -> Vec<Vec<String>> {
    let names = [
        "frame",
        "packets/s",
        "bit/s",
        "p50",
        "p99",
        "p99.9",
        "max",
        "trials",
        "stalls",
        "longest stall",
        "dropped by sink",
        "",
    ];
    let mut rows = vec![names.map(str::to_owned).to_vec()];
    for point in points {
        let trials = || point.trials.iter().chain(&point.half);
        let rate = |value: Option<f64>| value.map_or("-".to_owned(), |value| Scaled(value).to_string());
        let latency = point.half.as_ref().and_then(|half| half.totals.latency);
        let at = |f: fn(&traffic::Latency) -> u64| {
            latency.as_ref().map_or("-".to_owned(), |latency| report::time(f(latency) as f64))
        };
        let limit = match (point.packets_per_s, point.is_limited_by_generator) {
            (None, _) if point.is_silent => "nothing arrived",
            (None, _) => "every trial lost packets",
            (Some(_), true) => "limited by the generator",
            (Some(_), false) => "",
        };
        rows.push(vec![
            point.sizes.clone(),
            rate(point.packets_per_s),
            rate(point.line_bits_per_s),
            at(|latency| latency.p50_ns),
            at(|latency| latency.p99_ns),
            at(|latency| latency.p999_ns),
            at(|latency| latency.max_ns),
            trials().count().to_string(),
            trials().map(|trial| trial.totals.stalls.n_stalls).sum::<u64>().to_string(),
            report::time(trials().map(|trial| trial.totals.stalls.longest_ns).max().unwrap_or(0) as f64),
            report::grouped(trials().map(|trial| trial.totals.n_dropped_by_sinks).sum()),
            limit.to_owned(),
        ]);
    }
    rows
}

fn text(points: &[SearchPoint]) -> String {
    let rows = rows(points);
    let width = |column: usize| rows.iter().map(|row| row[column].trim_end().len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &rows {
        let (last, others) =
            row.split_last().map_or(("", &row[..]), |(last, others)| (last.as_str(), others));
        let cells: Vec<String> =
            others.iter().enumerate().map(|(i, cell)| format!("{:>1$}", cell.trim_end(), width(i))).collect();
        let _ = writeln!(text, "{}", format!("{}  {last}", cells.join("  ")).trim_end());
    }
    text.push_str(
        "Latencies are those at half of the rate. Stalls are times when the machine did not run a thread.\n",
    );
    text
}

fn markdown(args: &TrafficSearchArgs, points: &[SearchPoint], machine: &serde_json::Value) -> String {
    let mut text = String::from("# Throughput without loss\n\n");
    let tolerated = match args.loss_max {
        0.0 => "no loss".to_owned(),
        loss => format!("a loss of up to {}", report::percent(loss)),
    };
    let _ = writeln!(
        text,
        "The highest rates with {tolerated}, found by binary search to {} with trials of {} as RFC 2544 describes. Frames \
         count with their check sequence; bits are those on the line, with 20 bytes for each frame beside it{}. Latencies \
         are those at half of the rate. Stalls are times of more than {} when the machine did not run a thread.\n",
        report::percent(args.resolution),
        report::time(args.trial.as_nanos() as f64),
        if args.bidirectional { "; packets of both directions are added" } else { "" },
        report::time(traffic::STALL_NS as f64),
    );
    for (i, row) in rows(points).iter().enumerate() {
        let cells: Vec<&str> = row.iter().map(|cell| cell.trim_end()).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if i == 0 {
            let _ = writeln!(text, "|{}", " ---: |".repeat(row.len()));
        }
    }
    text.push_str("\n| machine | |\n| --- | --- |\n");
    for fact in machine.as_array().into_iter().flatten() {
        let _ = writeln!(text, "| {} | {} |", fact[0].as_str().unwrap_or(""), fact[1].as_str().unwrap_or(""));
    }
    text
}
