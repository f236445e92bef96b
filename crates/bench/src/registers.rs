//! `siding bench registers`: updates of registers that workers share, and what is lost of them without locks.

use crate::args::BenchRegistersArgs;
use crate::examples::Example;
use crate::harness::{self, Goal, Report};
use crate::report::{self, Line};
use console::compiling::{Compiling, Prepared};
use console::output::{self, Exit};
use hazard::{Action, Hazards};
use serde_json::json;
use std::path::PathBuf;

const NAME: &str = "registers.p4";
const P4: &str = include_str!("../programs/registers.p4");
const HARNESS: &str = include_str!("../c/registers/run.c");

const STEPS: [u64; 3] = [0, 10, 100];
const QUICK_STEPS: [u64; 2] = [0, 100];

/// Packets of a simulation.
const SIMULATED_PACKETS: u64 = 1_000_000;

fn compile(compiling: &Compiling) -> Result<PathBuf, Exit> {
    let loaded = Example { name: NAME, text: P4 }.load()?;
    let text = Prepared::new(&loaded, NAME)?.c_text(codegen::Options::default());
    let files =
        [("crates/bench/c/registers/run.c", HARNESS), ("crates/bench/c/registers/program.c", text.as_str())];
    harness::compile("crates/bench/c/registers/run.c", &files, compiling)
}

pub fn run(args: &BenchRegistersArgs) -> Exit {
    measure(args).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn measure(args: &BenchRegistersArgs) -> Result<(), Exit> {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        output::error_line("two workers need a core each, and there is one");
        return Err(Exit::Environment);
    }
    let program = compile(&Compiling::new(&args.measure.cc)?)?;
    let steps: &[u64] = match (args.steps.as_slice(), args.measure.quick) {
        ([], true) => &QUICK_STEPS,
        ([], false) => &STEPS,
        (given, _) => given,
    };
    let steps = steps.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let runs = args.measure.n_runs().to_string();
    let lines = harness::run(&program, &["--steps", &steps, "--runs", &runs].map(str::to_owned))?;
    let report = report(lines);
    match args.measure.json {
        true => output::out(&format!("{}\n", report.json("registers", &args.measure))),
        false => output::out(&text(&report)),
    }
    Ok(())
}

fn report(mut lines: Vec<Line>) -> Report {
    // The steps between a read and a write are taken to cost as much as without register accesses.
    let alone = |steps: u64| {
        let is_it = |line: &&Line| {
            line.size == steps && line.number("workers") == Some(1.0) && line.word("path") == "none"
        };
        lines.iter().find(is_it).map_or(0.0, |line| line.cycles)
    };
    let windows: Vec<f64> = lines.iter().map(|line| (alone(line.size) - alone(0)).max(1.0)).collect();
    for (line, window) in lines.iter_mut().zip(windows) {
        if line.word("path") == "plain" {
            let n_workers = line.number("workers").unwrap_or(1.0) as u64;
            let n_cells = line.number("cells").unwrap_or(1.0) as u64;
            let is_sharded = line.all["sharded"].as_bool().unwrap_or(false);
            let lost = simulated(n_workers, n_cells, is_sharded, line.cycles, window);
            line.all["window_cycles"] = json!(report::rounded(window));
            line.all["simulated_lost"] = json!(lost);
        }
    }
    let mut report = Report {
        title: "Updates of registers, TSC cycles of a worker for a packet, and the share that is lost"
            .to_string(),
        size_is: "products",
        ..Report::default()
    };
    for way in ["plain", "lock", "locks", "atomic"] {
        let of_way = lines.iter().filter(|line| line.word("path") == way);
        // Plain accesses are compiled only if no two workers share a cell.
        let of_way = of_way.filter(|line| {
            way != "plain" || line.number("workers") == Some(1.0) || line.all["sharded"] == json!(true)
        });
        let most = of_way.filter_map(|line| line.number("lost")).fold(0.0, f64::max);
        report.judge(&format!("lost_{way}"), vec![(0, most)], Goal::AtMost(0.0));
    }
    report.lines = lines;
    report
}

/// The share of updates that find another one of their cell under way, of workers that take packets as these do: one
/// every so many cycles, half of that sooner or later.
fn simulated(n_workers: u64, n_cells: u64, is_sharded: bool, cycles: f64, window: f64) -> f64 {
    let action = Action::new(window.round().clamp(1.0, 65_536.0) as u32);
    let mut random = 1u64;
    let mut draw = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut next = vec![0.0; usize::try_from(n_workers).unwrap_or(1).max(1)];
    let mut hazards = Hazards::new(action.lock_cycles);
    for _ in 0..SIMULATED_PACKETS {
        let (worker, at) = next
            .iter()
            .copied()
            .enumerate()
            .fold((0, f64::MAX), |first, other| if other.1 < first.1 { other } else { first });
        let cell = (draw() * n_cells as f64) as u64;
        let cell = if is_sharded { cell / n_workers * n_workers + worker as u64 } else { cell };
        hazards.enter(at as u64, cell, action);
        // A worker is done with one packet before it takes the next.
        next[worker] = at + (cycles * (0.5 + draw())).max(f64::from(action.cycles));
    }
    let result = hazards.result(SIMULATED_PACKETS);
    result.same_key_share_of_packets()
}

fn text(report: &Report) -> String {
    let head =
        ["workers", "cells", "products", "way", "cycles", "M packets/s", "lost", "simulated", "had core"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let percent = |share: Option<f64>| share.map_or(String::new(), |share| format!("{:.3} %", share * 100.0));
    for line in &report.lines {
        let n_workers = line.number("workers").unwrap_or(1.0);
        rows.push(vec![
            format!("{n_workers}"),
            line.work.clone(),
            line.size.to_string(),
            line.word("path").to_string(),
            format!("{:.1}", line.cycles),
            format!("{:.1}", line.number("mpps").unwrap_or(0.0) * n_workers),
            percent(line.number("lost")),
            percent(line.number("simulated_lost")),
            percent(line.number("had_core")),
        ]);
    }
    let mut text = format!("{}\n\n{}", report.title, report::aligned(&rows));
    for goal in report.goals.iter().filter(|goal| !goal.is_met()) {
        text += &format!("\n{}: {:.4} of updates, and none was expected\n", goal.name, goal.value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_meet_as_often_as_chance_says() {
        // A window of a tenth of the time of a packet, and one other worker.
        let one_cell = simulated(2, 1, false, 1000.0, 100.0);
        assert!((0.18..0.22).contains(&(one_cell * 2.0)), "{one_cell}");
        let some = simulated(2, 16, false, 1000.0, 100.0);
        assert!((some * 16.0 - one_cell).abs() < 0.02, "{some}");
        assert_eq!(simulated(2, 65536, true, 1000.0, 100.0), 0.0);
        assert_eq!(simulated(1, 1, false, 101.0, 100.7), 0.0);
    }

    #[test]
    fn only_updates_that_nobody_keeps_apart_may_be_lost() {
        let line = |way: &str, workers: u64, sharded: bool, lost: f64| {
            let value = json!({
                "peer": "siding", "work": "w", "size": 0, "cycles": 50.0, "cycles_min": 50.0, "path": way,
                "workers": workers, "cells": 16, "sharded": sharded, "lost": lost,
            });
            Line::parse(&value.to_string()).unwrap()
        };
        let report = report(vec![
            line("plain", 2, false, 0.3),
            line("plain", 2, true, 0.0),
            line("lock", 2, false, 0.0),
            line("atomic", 2, false, 0.1),
        ]);
        let missed: Vec<&str> =
            report.goals.iter().filter(|g| !g.is_met()).map(|g| g.name.as_str()).collect();
        assert_eq!(missed, ["lost_atomic"]);
        assert!(report.lines[0].number("simulated_lost").is_some());
    }
}
