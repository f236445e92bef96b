//! `siding bench async`: what a wait for another core costs a packet, and what it saves the others.

mod figures;
mod gcm;
mod placement;
mod ports;

use crate::args::{AsyncExternArg, AsyncFigureArg, BenchAsyncArgs};
use crate::examples::Example;
use crate::harness::{self, Goal, Report};
use crate::report::{self, Line};
use console::compiling::{Compiling, Prepared};
use console::output::{self, Exit};
use std::path::PathBuf;

const NAME: &str = "async.p4";
const P4: &str = include_str!("../../programs/async.p4");
const HARNESS: &str = include_str!("../../c/async/run.c");
const PARTS: [(&str, &str); 3] = [
    ("crates/bench/c/async/stations.h", include_str!("../../c/async/stations.h")),
    ("crates/bench/c/async/breakdown.h", include_str!("../../c/async/breakdown.h")),
    ("crates/bench/c/async/cores.h", include_str!("../../c/async/cores.h")),
];

/// Arguments of a figure's measurement, and its points: percentages of packets that reach the block, cycles of the extern.
struct Figure {
    what: &'static str,
    shares: &'static str,
    costs: &'static str,
    quick_shares: &'static str,
    quick_costs: &'static str,
    report: fn(Vec<Line>) -> Report,
}

const RATES: Figure = Figure {
    what: "--rates",
    shares: "10,50,100",
    costs: "50,100,250,500,1000,2000,5000,10000",
    quick_shares: "50",
    quick_costs: "100,1000,5000",
    report: figures::rates,
};

impl Figure {
    fn of(arg: AsyncFigureArg) -> Figure {
        match arg {
            AsyncFigureArg::Three => RATES,
            AsyncFigureArg::Auto => Figure { report: figures::auto, ..RATES },
            AsyncFigureArg::Four => {
                Figure { what: "--drops", shares: "10,20,50,100", report: figures::drops, ..RATES }
            }
            AsyncFigureArg::Five => Figure {
                shares: "10",
                costs: "50,1000,3000,10000",
                quick_shares: "10",
                quick_costs: "50,3000,10000",
                report: figures::workers,
                ..RATES
            },
            AsyncFigureArg::Six => Figure {
                what: "--lossless",
                shares: "10,20,50,100",
                costs: "50,5000",
                quick_shares: "10,100",
                quick_costs: "50,5000",
                report: figures::lossless,
            },
        }
    }
}

/// Maximum cycles to suspend and resume a packet, by the number of packets in flight.
const CYCLES_MAX: [(u64, f64); 2] = [(64, 12.0), (1000, 30.0)];
/// Milliseconds after which a measurement stops waiting for a change of policy.
const STEP_MS: &str = "2000";
/// Minimum ratio of the cost of the C library's `ucontext` to that of a suspended packet.
const UCONTEXT_LEAST: f64 = 70.0;

/// The program's block; `PARSED_BLOCK` also deparses the packet before the block and parses it after.
const BLOCK: &str = "@async {";
const PARSED_BLOCK: &str = "@async(deparser = \"AsyncDeparser\", parser = \"AsyncParser\") {";

/// Picks the lines for suspending and resuming from a measurement with `PARSED_BLOCK`, and renames their work.
fn parsed(lines: Vec<Line>) -> impl Iterator<Item = Line> {
    lines.into_iter().filter(|line| line.peer == "siding" && line.work == "suspend").map(|mut line| {
        line.work = "suspend, deparse, parse".to_string();
        line.all["work"] = line.work.clone().into();
        line
    })
}

fn compile(text: &str, compiling: &Compiling) -> Result<PathBuf, Exit> {
    let loaded = Example { name: NAME, text }.load()?;
    let text = Prepared::new(&loaded, NAME)?.c_text(codegen::Options::default());
    let mut files =
        vec![("crates/bench/c/async/run.c", HARNESS), ("crates/bench/c/async/program.c", text.as_str())];
    files.extend(PARTS);
    harness::compile("crates/bench/c/async/run.c", &files, compiling)
}

pub fn run(args: &BenchAsyncArgs) -> Exit {
    measure(args).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn measure(args: &BenchAsyncArgs) -> Result<(), Exit> {
    if (args.figure.is_some() || args.with_extern.is_some())
        && std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2
    {
        output::error_line("worker and offload worker need a core each, and there is one");
        return Err(Exit::Environment);
    }
    if args.over.is_none() && args.trial.is_some() {
        output::error_line("--trial is for --over: over memory trials have a length of their own");
        return Err(Exit::Usage);
    }
    if let Some(AsyncExternArg::AesGcm) = args.with_extern {
        return gcm::measure(args);
    }
    let program = compile(P4, &Compiling::new(&args.measure.cc)?)?;
    let runs = args.measure.n_runs().to_string();
    match args.figure {
        None => {
            let options = ["--breakdown", "--runs", &runs].map(str::to_owned);
            let mut lines = harness::run(&program, &options)?;
            let program = compile(&P4.replace(BLOCK, PARSED_BLOCK), &Compiling::new(&args.measure.cc)?)?;
            lines.extend(parsed(harness::run(&program, &options)?));
            breakdown(lines).show("async", "", &args.measure)
        }
        Some(arg) => {
            let figure = Figure::of(arg);
            let (shares, costs) = match args.measure.quick {
                true => (figure.quick_shares, figure.quick_costs),
                false => (figure.shares, figure.costs),
            };
            // Ports come first: they are what may be missing.
            let over = args.over.map(|over| ports::measure(args, arg, over, shares, costs)).transpose()?;
            let options = [figure.what, "--shares", shares, "--costs", costs, "--runs", &runs];
            let mut lines = harness::run(&program, &options.map(str::to_owned))?;
            if arg == AsyncFigureArg::Auto {
                let options = ["--steps", "--runs", &runs, "--ms", STEP_MS];
                lines.extend(harness::run(&program, &options.map(str::to_owned))?);
            }
            let mut report = (figure.report)(lines.clone());
            if let Some(over) = over {
                over.add_to(&mut report, &lines, arg);
            }
            report.show("async", "path", &args.measure)
        }
    }
}

fn cycles(lines: &[Line], peer: &str, work: &str) -> Vec<(u64, f64)> {
    lines.iter().filter(|l| l.peer == peer && l.work == work).map(|l| (l.size, l.cycles)).collect()
}

fn breakdown(lines: Vec<Line>) -> Report {
    let pairs: Vec<_> =
        cycles(&lines, "siding", "suspend").into_iter().zip(cycles(&lines, "ucontext", "suspend")).collect();
    // Both are what is left when the same packets' work in place is taken away; on a busy machine that may be nothing.
    let (told_apart, lost): (Vec<_>, Vec<_>) =
        pairs.into_iter().partition(|(ours, theirs)| ours.1 > 0.0 && theirs.1 > 0.0);
    let (ours, theirs): (Vec<_>, Vec<_>) = told_apart.into_iter().unzip();
    let absent = lost.iter().map(|((size, _), _)| {
        format!(
            "with {} packets under way the way there and back was lost in the noise of this machine; \
             try more `--runs`, or when less is running",
            report::short(*size)
        )
    });
    let mut report = Report {
        title: "A packet's way to another core and back, TSC cycles on one thread that is both".to_string(),
        size_is: "under way",
        absent: absent.collect(),
        lines,
        ..Report::default()
    };
    for (size, limit) in CYCLES_MAX {
        let of_size: Vec<(u64, f64)> = ours.iter().copied().filter(|(n, _)| *n == size).collect();
        report.judge(&format!("cycles_suspend_resume_{size}"), of_size, Goal::AtMost(limit));
    }
    let ratio = |(ours, theirs): (&(u64, f64), &(u64, f64))| (ours.0, theirs.1 / ours.1);
    let ratios = ours.iter().zip(&theirs).map(ratio).collect();
    report.judge("ucontext_over_siding", ratios, Goal::AtLeast(UCONTEXT_LEAST));
    report.ratios.push(("cycles_suspend_resume".to_string(), ours));
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(peer: &str, work: &str, size: u64, cycles: f64, path: &str) -> Line {
        let text = serde_json::json!({
            "peer": peer, "version": "0", "work": work, "size": size, "cycles": cycles, "cycles_min": cycles,
            "cycles_max": cycles, "mpps": 1.0, "runs": 1, "tsc_ghz": 1.0, "unit": "packet", "path": path,
            "difference": work == "suspend",
        });
        Line::parse(&text.to_string()).unwrap()
    }

    #[test]
    fn ways_are_compared_size_by_size() {
        let lines = vec![
            line("siding", "suspend", 64, 10.0, ""),
            line("ucontext", "suspend", 64, 900.0, ""),
            line("siding", "inline", 64, 50.0, ""),
            line("siding", "suspend", 1000, 40.0, ""),
            line("ucontext", "suspend", 1000, 2000.0, ""),
        ];
        let report = breakdown(lines);
        let ratio = |name: &str| report.ratios.iter().find(|(n, _)| n == name).unwrap().1.clone();
        assert_eq!(ratio("ucontext_over_siding"), [(64, 90.0), (1000, 50.0)]);
        assert_eq!(ratio("cycles_suspend_resume"), [(64, 10.0), (1000, 40.0)]);
        let met: Vec<bool> = report.goals.iter().map(|goal| goal.is_met()).collect();
        assert_eq!(met, [true, false, true, false]);
    }
    #[test]
    fn what_is_lost_in_noise_is_said_and_not_compared() {
        let lines = vec![
            line("siding", "suspend", 64, -29.9, ""),
            line("ucontext", "suspend", 64, 900.0, ""),
            line("siding", "suspend", 1000, 40.0, ""),
            line("ucontext", "suspend", 1000, 2000.0, ""),
        ];
        let report = breakdown(lines);
        assert!(report.ratios.iter().all(|(_, values)| values.iter().all(|(size, _)| *size == 1000)));
        assert_eq!(report.absent.len(), 1);
        assert!(report.absent[0].starts_with("with 64 packets under way"), "{}", report.absent[0]);
        assert!(report.text().contains("-29.9"));
    }
}
