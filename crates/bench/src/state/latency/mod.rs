//! `siding bench state --figure latency`: how long packets take that add entries, and those that find them.
//!
//! An open loop (`crates/bench/peers/open_loop.h`): a generator on one core, a worker on another, latency from the time when a
//! packet should have been sent. First all keys are learned, then they are looked up while some packets bring new ones.
//!
//! - this file: which points are measured, in which series;
//! - `figures`: one figure of the runs of a point; goals; text;
//! - `charts`: the drawings;
//! - `digests`: the same learned by a controller, which digests tell of new keys;
//! - `veth`: the same through a running switch.

mod charts;
mod digests;
mod figures;
mod veth;

use crate::args::{BenchStateArgs, MeasureArgs};
use crate::examples::Example;
use crate::harness::{self, Report};
use crate::report::Line;
use console::compiling::{Compiling, Prepared};
use console::output::{self, Exit};
use serde_json::json;
use std::path::{Path, PathBuf};

const MAIN: &str = "crates/bench/c/state/latency.c";
const ADDRESS: Example<'static> =
    Example { name: "latency_address.p4", text: include_str!("../../../programs/latency_address.p4") };
pub(crate) const UDP: Example<'static> =
    Example { name: "latency_udp.p4", text: include_str!("../../../programs/latency_udp.p4") };
/// The programs by their names in the harness: the field that is the key.
const PROGRAMS: [(&str, Example<'static>); 2] = [("address", ADDRESS), ("udp", UDP)];

const N_RUNS: u32 = 5;
const LENGTHS: [u32; 2] = [84, 64];
/// One packet in so many has a new key: in the experiment itself, and in the series over rates.
const ONE_IN: u32 = 10_000;
const RATES: [u32; 6] = [100_000, 10_000, 1000, 100, 10, 2];
/// The rate in the series over loads: inserts are seldom, and there are enough of them.
const ONE_IN_OF_LOADS: u32 = 1000;
/// Percent of the capacity.
const LOAD: u32 = 50;
const LOADS: [u32; 5] = [10, 30, 50, 70, 90];

/// The extent of a measurement.
struct Extent {
    /// Binary logarithm of the number of keys.
    bits: u32,
    bursts: &'static [u32],
    rates: &'static [u32],
    loads: &'static [u32],
    /// Packets of the second phase, and of that of the series over rates and loads unless new keys are very rare.
    n_packets: u32,
    n_packets_of_series: u32,
}

const FULL: Extent = Extent {
    bits: 20,
    bursts: &[1, 8, 32],
    rates: &RATES,
    loads: &LOADS,
    n_packets: 4 << 20,
    n_packets_of_series: 1_000_000,
};

const QUICK: Extent = Extent {
    bits: 14,
    bursts: &[1, 32],
    rates: &[100, 2],
    loads: &[10, 90],
    n_packets: 1 << 16,
    n_packets_of_series: 1 << 16,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Series {
    /// The experiment, over the number of the packet.
    Packets,
    /// Over how seldom a packet has a new key.
    Rates,
    /// Over the share of the capacity.
    Loads,
    /// Through a running switch.
    Veth,
}

impl Series {
    fn name(self) -> &'static str {
        match self {
            Series::Packets => "packets",
            Series::Rates => "rates",
            Series::Loads => "loads",
            Series::Veth => "veth",
        }
    }
}

/// One start of a harness.
#[derive(Clone, Copy, Debug)]
struct Point {
    series: Series,
    burst: u32,
    bytes: u32,
    one_in: u32,
    load: u32,
    n_packets: u32,
}

impl Point {
    fn options(&self, extent: &Extent, n_runs: u32) -> Vec<String> {
        let mut options = vec![
            ("--burst", self.burst),
            ("--bytes", self.bytes),
            ("--bits", extent.bits),
            ("--one-in", self.one_in),
            ("--load", self.load),
            ("--packets", self.n_packets),
            ("--runs", n_runs),
        ];
        // The first phase is the same in all series.
        let flag = if self.series == Series::Packets { "--bins" } else { "--fill" };
        let mut words: Vec<String> =
            options.drain(..).flat_map(|(name, value)| [name.to_owned(), value.to_string()]).collect();
        words.push(flag.to_owned());
        words
    }
}

/// The points of a program; a point of two series is measured once for each.
fn points(extent: &Extent) -> Vec<Point> {
    let mut points = Vec::new();
    for &burst in extent.bursts {
        let point = |series, one_in, load| {
            // A key in 100,000 packets needs many of them.
            let n_packets = if one_in >= ONE_IN { extent.n_packets } else { extent.n_packets_of_series };
            Point { series, burst, bytes: LENGTHS[0], one_in, load, n_packets }
        };
        points.extend(LENGTHS.map(|bytes| Point { bytes, ..point(Series::Packets, ONE_IN, LOAD) }));
        points.extend(extent.rates.iter().map(|one_in| point(Series::Rates, *one_in, LOAD)));
        points.extend(extent.loads.iter().map(|load| point(Series::Loads, ONE_IN_OF_LOADS, *load)));
    }
    points
}

/// The files of a harness whose subject is this program, with their paths.
pub(crate) fn files(example: &Example<'_>) -> Result<Vec<(&'static str, String)>, Exit> {
    let text = Prepared::new(&example.load()?, example.name)?.c_text(codegen::Options::default());
    Ok(vec![
        ("crates/bench/c/state/subject.h", include_str!("../../../c/state/subject.h").to_owned()),
        ("crates/bench/c/state/program.c", text),
        ("crates/bench/peers/open_loop.h", include_str!("../../../peers/open_loop.h").to_owned()),
    ])
}

fn compile(example: &Example<'_>, compiling: &Compiling) -> Result<PathBuf, Exit> {
    let files = files(example)?;
    let others = files.iter().map(|(path, text)| (*path, text.as_str()));
    let all: Vec<_> =
        std::iter::once((MAIN, include_str!("../../../c/state/latency.c"))).chain(others).collect();
    harness::compile(MAIN, &all, compiling)
}

pub(super) fn measure(args: &BenchStateArgs) -> Result<(), Exit> {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        output::error_line("the generator and the worker need a core each, and there is one");
        return Err(Exit::Environment);
    }
    let extent = if args.measure.quick { &QUICK } else { &FULL };
    let default = if args.measure.quick { 1 } else { N_RUNS };
    let measure = MeasureArgs { runs: Some(args.measure.runs.unwrap_or(default)), ..args.measure.clone() };
    let compiling = Compiling::new(&measure.cc)?;
    let mut report = Report { size_is: "packets", ..Report::default() };
    for (program, example) in &PROGRAMS {
        let executable = compile(example, &compiling)?;
        for point in points(extent) {
            report.lines.extend(run(&executable, program, &point, extent, &measure)?);
        }
    }
    add_peers(&mut report, extent, &measure);
    report.lines.extend(digests::measure(&measure)?);
    match veth::measure(&measure) {
        Ok(lines) => report.lines.extend(summed(lines, "udp", Series::Veth)),
        Err(sentence) => report.absent.push(sentence),
    }
    figures::judge(&mut report);
    match measure.json {
        true => output::out(&format!("{}\n", report.json("state_latency", &measure))),
        false => output::out(&figures::text(&report)),
    }
    measure.svg.as_deref().map_or(Ok(()), |path| charts::draw(path, &report))
}

fn run(
    executable: &Path,
    program: &str,
    point: &Point,
    extent: &Extent,
    measure: &MeasureArgs,
) -> Result<Vec<Line>, Exit> {
    let mut options = point.options(extent, measure.n_runs());
    options.extend(["--program".to_owned(), program.to_owned()]);
    Ok(summed(harness::run(executable, &options)?, program, point.series))
}

/// The figures of a point, from the lines of its runs.
fn summed(lines: Vec<Line>, program: &str, series: Series) -> Vec<Line> {
    let mut lines = figures::over_runs(&lines);
    for line in &mut lines {
        line.all["program"] = json!(program);
        line.all["series"] = json!(series.name());
    }
    lines
}

/// Peers take the requests in UDP datagrams.
fn add_peers(report: &mut Report, extent: &Extent, measure: &MeasureArgs) {
    let is_of_peers = |point: &Point| point.series == Series::Rates && matches!(point.burst, 1 | 32);
    for point in points(extent).iter().filter(|point| is_of_peers(point)) {
        match harness::run_peer("learn_latency", &point.options(extent, measure.n_runs())) {
            Ok(lines) => report.lines.extend(summed(lines, "udp", point.series)),
            Err(sentence) => {
                report.absent.push(sentence);
                return;
            }
        }
    }
}
