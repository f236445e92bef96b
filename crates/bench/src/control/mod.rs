//! `siding bench control`: entries a second that controllers write and read, through a switch in a process of its own.

mod bmv2;
mod bulk;
mod controller;
mod interference;
mod latency;
mod plain;
mod shm;
mod switch;

use crate::args::{BenchControlArgs, ControlFigureArg};
use crate::frontend::median;
use crate::harness::Judged;
use console::output::{self, Exit};
use serde_json::{Value, json};
use std::time::Instant;

pub fn run(args: &BenchControlArgs) -> Exit {
    let measured = match args.figure {
        ControlFigureArg::Plain => plain::measure(args),
        ControlFigureArg::Bulk => bulk::measure(args, false),
        ControlFigureArg::Read => bulk::measure(args, true),
        ControlFigureArg::Latency => latency::measure(args),
        ControlFigureArg::Interference => interference::measure(args),
        ControlFigureArg::Shm => shm::measure(args),
    };
    measured.map_or_else(|exit| exit, |()| Exit::Ok)
}

fn failed(message: impl std::fmt::Display) -> Exit {
    output::error_line(&message.to_string());
    Exit::Failed
}

/// Millions a second.
fn rate(n: usize, begin: Instant) -> f64 {
    n as f64 / begin.elapsed().as_secs_f64().max(1e-9) / 1e6
}

/// The JSON of a figure, whose `lines` are what was measured.
fn json_of(figure: &str, args: &BenchControlArgs, goals: &[Judged], lines: Vec<Value>) -> Value {
    json!({
        "version": 1,
        "siding": env!("CARGO_PKG_VERSION"),
        "optimise": args.measure.cc.optimise,
        "work": "control",
        "figure": figure,
        "quick": args.measure.quick,
        "runs": args.measure.n_runs(),
        "goals": goals.iter().map(Judged::json).collect::<Vec<_>>(),
        "lines": lines,
    })
}

/// Entries a second of several runs: the median, the least and the most, as text.
fn spread(rates: &[f64]) -> [String; 3] {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    [median(rates.to_vec()), least, most].map(|rate| format!("{:.0}", rate * 1e6))
}
