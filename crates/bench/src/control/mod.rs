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
use crate::chart::{Chart, Origin, Series};
use crate::frontend::median;
use crate::harness::{self, Goal, Judged};
use crate::report;
use console::output::{self, Exit};
use serde_json::{Value, json};
use std::time::Instant;

pub fn run(args: &BenchControlArgs) -> Exit {
    if !args.batches.is_empty() && args.figure != ControlFigureArg::Plain {
        output::error_line("--batch is for --figure plain: the other figures have batches of their own");
        return Exit::Usage;
    }
    let is_drawn = matches!(args.figure, ControlFigureArg::Plain | ControlFigureArg::Shm);
    if args.measure.svg.is_some() && !is_drawn {
        output::error_line(
            "--svg is for --figure plain and shm: the other figures have no axis to draw along",
        );
        return Exit::Usage;
    }
    // The client has messages of the same size as the switch.
    dataplane::keep_freed_memory();
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

/// Tables with so many entries or more exceed all caches: their goals are other ones.
const N_LARGE: usize = 50_000_000;

/// The goal for columns and shared memory, inserted into a table that has room, in millions a second.
fn write_goal(n_entries: usize) -> f64 {
    if n_entries >= N_LARGE { 20.0 } else { 30.0 }
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

/// Draws rates in millions a second, the median of each point, if that is asked for.
fn draw(args: &BenchControlArgs, title: &str, x: &str, mut series: Vec<Series>) -> Result<(), Exit> {
    let Some(path) = &args.measure.svg else { return Ok(()) };
    for series in &mut series {
        series.points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    let chart = Chart {
        title: title.to_owned(),
        x: x.to_owned(),
        y: "million entries a second".to_owned(),
        series,
        ..Chart::default()
    };
    harness::draw(path, &chart)
}

/// Adds a point to the series of a name.
fn add_point(series: &mut Vec<Series>, name: &str, x: f64, rates: &[f64]) {
    let point = (x, median(rates.to_vec()));
    match series.iter_mut().find(|series| series.name == name) {
        Some(series) => series.points.push(point),
        None => {
            series.push(Series { name: name.to_owned(), points: vec![point], origin: Origin::Ours });
        }
    }
}

/// Entries a second of several runs: the median, the least and the most, as text.
fn spread(rates: &[f64]) -> [String; 3] {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    [median(rates.to_vec()), least, most].map(|rate| format!("{:.0}", rate * 1e6))
}

/// Goals as text: what was measured, the goal, and whether it is met. `what_of` names a goal and its unit.
fn text_of_goals(goals: &[Judged], what_of: impl Fn(&Judged) -> (String, &'static str)) -> String {
    if goals.is_empty() {
        return String::new();
    }
    let mut rows = vec![["goal for", "measured", "goal", ""].map(str::to_owned).to_vec()];
    for judged in goals {
        let (what, unit) = what_of(judged);
        let goal = match judged.goal {
            Goal::AtMost(limit) => format!("at most {limit} {unit}"),
            Goal::AtLeast(limit) => format!("at least {limit} {unit}"),
        };
        let verdict = if judged.is_met() { "met" } else { "missed" };
        rows.push(vec![what, format!("{:.2} {unit}", judged.value), goal, verdict.to_owned()]);
    }
    format!("\n{}", report::aligned(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_say_what_was_measured() {
        let judged = |value, goal| Judged { name: "tcp_insert_mps".to_owned(), size: 1000, value, goal };
        let goals = [judged(9.5, Goal::AtLeast(10.0)), judged(58.0, Goal::AtMost(60.0))];
        let text = text_of_goals(&goals, |judged| (format!("{} of {}", judged.name, judged.size), "M/s"));
        assert_eq!(
            text,
            "\ngoal for                 measured             goal\n\
             tcp_insert_mps of 1000   9.50 M/s  at least 10 M/s  missed\n\
             tcp_insert_mps of 1000  58.00 M/s   at most 60 M/s     met\n"
        );
        assert_eq!(text_of_goals(&[], |_| (String::new(), "")), "");
    }
}
