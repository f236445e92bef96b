//! `siding model latency --check`: delays of packets beside what the model predicts.
//!
//! The open loop of `siding bench state --figure latency` sends packets of known arrivals to a compiled program. First the machine is
//! measured: gaps of an idle polling loop, the capacity, and bursts of every number of packets under Poisson arrivals. From
//! that come all predictions, before any point is measured. Then every pattern is sent at every load.
//!
//! A burst that takes longer than the worker of the bound is a stall, and so is a gap between two polls; it marks the packets until
//! the worker is in a state from which the bound holds. The bound of the program holds for packets without a mark, that of the machine for all.

use crate::args::MeasureArgs;
use crate::chart::{self, Across, Chart, Series};
use crate::harness::{self, Goal, Judged, Report};
use crate::report::{self, Line};
use crate::state::{UDP, latency_files};
use console::compiling::Compiling;
use console::output::{self, Exit};
use model::latency::{
    Arrival, Bound, Envelope, Estimate, Measured, Method, Pattern, Quantiles, Scene, Service, Sizes, Stalls,
    Traffic, Worker, bound, estimate, worker_of,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const MAIN: &str = "crates/bench/c/model/latency.c";
/// Equal to those of the harness: packets of a burst, slots of the ring, bytes of a packet, quantiles.
const BURST: u32 = 32;
const RING: u64 = 4096;
const PACKET_BYTES: u32 = 84;
const SHARES: [f64; 13] = [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1.0];
const P50: usize = 4;
const P99: usize = 8;
const P9999: usize = 10;
const MOST: usize = 12;
/// The generator may be so late without a mark.
const LATE_NS: f64 = 200.0;
/// Most packets of a run.
const N_PACKETS_MAX: f64 = 16_000_000.0;
const N_BITS: u32 = 14;

/// Packets of a cycle of arrivals.
const N_CYCLE: usize = 1 << 16;
const CALIBRATION_LOADS: [u32; 3] = [30, 60, 85];
/// Packets of a burst of on-off traffic.
const ON: u32 = 64;
/// Room above the largest cost that is no stall.
const MARGIN: f64 = 1.05;
/// The machine's stalls are taken to be so many times as long as the longest that were seen.
const STALL_MARGIN: f64 = 2.0;
/// Bursts that a quantile needs.
const N_BURSTS_MIN: u64 = 200;

/// A larger share of the time makes a sentence.
const STALLED_MAX: f64 = 0.02;

const GOAL_OF_RATIO: f64 = 3.0;
const GOAL_OF_P99: f64 = 0.15;
const GOAL_OF_WINDOWS: f64 = 0.999;
/// The load, in percent, at which the bound is compared with the percentile.
const LOAD_OF_RATIO: u32 = 80;

struct Extent {
    idle_s: f64,
    run_s: f64,
    loads: &'static [u32],
}

/// The time without packets is as long as that with them, so that the longest stall is as likely then as later.
const FULL: Extent = Extent { idle_s: 60.0, run_s: 3.0, loads: &[10, 30, 50, 70, 80, 90, 95] };
const QUICK: Extent = Extent { idle_s: 9.0, run_s: 1.0, loads: &[10, 50, 80] };

/// Measured costs of the machine and of the program.
struct Calibration {
    ghz: f64,
    /// TSC cycles of a packet at full speed.
    capacity: f64,
    poll_ns: f64,
    idle_s: f64,
    gaps: Vec<(f64, f64)>,
    longest_ns: f64,
    measured: Measured,
    worker: Worker,
}

/// One measured point with what was predicted.
struct Point {
    name: &'static str,
    load: u32,
    traffic: Traffic,
    envelope: Envelope,
    program: Option<Bound>,
    machine: Option<f64>,
    simulated: Estimate,
}

/// Measures and compares. `predictions` is a file for the predictions, written before anything is compared with them.
pub fn check(args: &MeasureArgs, predictions: Option<&Path>) -> Exit {
    checked(args, predictions).unwrap_or_else(|exit| exit)
}

fn failed(message: impl std::fmt::Display) -> Exit {
    output::error_line(&message.to_string());
    Exit::Failed
}

fn checked(args: &MeasureArgs, predictions: Option<&Path>) -> Result<Exit, Exit> {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        output::error_line("the generator and the worker need a core each, and there is one");
        return Err(Exit::Environment);
    }
    let extent = if args.quick { &QUICK } else { &FULL };
    let compiling = Compiling::new(&args.cc)?;
    let text = latency_files(&UDP)?;
    let files: Vec<(&str, &str)> = text.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let files: Vec<(&str, &str)> =
        std::iter::once((MAIN, include_str!("../c/model/latency.c"))).chain(files).collect();
    let executable = harness::compile(MAIN, &files, &compiling)?;
    let dir = tempfile::tempdir().map_err(failed)?;
    let harness = Harness { executable, dir };
    let calibration = harness.calibrate(extent)?;
    let mut points = Vec::new();
    for (name, pattern) in patterns(&calibration) {
        for load in extent.loads {
            points.push(Point::predict(name, pattern.clone(), *load, &calibration)?);
        }
    }
    if let Some(path) = predictions {
        let all: Vec<Value> = points.iter().map(Point::json).collect();
        let text = format!("{}\n", json!({ "version": 1, "worker": calibration.json(), "predictions": all }));
        output::replace_file(path, text.as_bytes()).map_err(|error| {
            output::error_line(&format!("{}: {error}", path.display()));
            Exit::Environment
        })?;
    }
    let mut report = Report { size_is: "packets", ..Report::default() };
    for point in &points {
        report.lines.push(harness.measure(point, &calibration, extent)?);
    }
    judge(&mut report, &points, &calibration);
    match args.json {
        true => {
            let mut value = report.json("model_latency", args);
            value["calibration"] = calibration.json();
            output::out(&format!("{value}\n"));
        }
        false => output::out(&text_of(&report, &points, &calibration)),
    }
    if let Some(path) = &args.svg {
        let page = chart::page("Delays and their bounds", &charts(&report, &points));
        output::replace_file(path, page.as_bytes()).map_err(|error| {
            output::error_line(&format!("cannot write {}: {error}", path.display()));
            Exit::Environment
        })?;
    }
    Ok(if report.goals.iter().all(Judged::is_met) { Exit::Ok } else { Exit::Failed })
}

/// The patterns of the check. Packets come no faster than the worker takes them.
fn patterns(calibration: &Calibration) -> [(&'static str, Pattern); 3] {
    let gap_ns = calibration.capacity / calibration.ghz;
    // A trace of trains of packets of many lengths, from a fixed seed.
    let source = Traffic::new(Pattern::Poisson, 1.0, one_size()).ok();
    let mut at_ns = 0.0;
    let mut trace = Vec::with_capacity(N_CYCLE);
    for arrival in source.iter().flat_map(|source| source.arrivals(11)).take(N_CYCLE / 8) {
        let n = 1 + (arrival.at_ns.fract() * 15.0) as u32;
        at_ns = f64::max(arrival.at_ns * 8.0 * gap_ns, at_ns);
        trace.extend((0..n).map(|i| Arrival { at_ns: at_ns + f64::from(i) * gap_ns, bytes: PACKET_BYTES }));
        at_ns += f64::from(n) * gap_ns;
    }
    [
        ("cbr", Pattern::Cbr),
        ("on-off", Pattern::OnOff { n_packets: ON, gap_ns }),
        ("trace", Pattern::Trace(trace.into())),
    ]
}

fn one_size() -> Sizes {
    Sizes::new(vec![(PACKET_BYTES, 1.0)]).unwrap_or_else(|| unreachable!("a size of a packet"))
}

/// The compiled harness, and a place for arrivals.
struct Harness {
    executable: PathBuf,
    dir: TempDir,
}

impl Harness {
    fn run(&self, options: &[(&str, String)]) -> Result<Line, Exit> {
        let words: Vec<String> =
            options.iter().flat_map(|(name, value)| [(*name).to_owned(), value.clone()]).collect();
        let mut lines = harness::run(&self.executable, &words)?;
        lines.pop().ok_or_else(|| failed("internal bug: the harness printed nothing"))
    }

    /// Writes a cycle of arrivals in TSC cycles.
    fn offsets(&self, traffic: &Traffic, n: usize, ghz: f64) -> Result<String, Exit> {
        let arrivals: Vec<f64> = traffic.arrivals(5).take(n).map(|arrival| arrival.at_ns).collect();
        let first = arrivals.first().copied().unwrap_or(0.0);
        let bytes: Vec<u8> =
            arrivals.iter().flat_map(|at| (((at - first) * ghz) as u64).to_le_bytes()).collect();
        let path = self.dir.path().join("offsets");
        std::fs::write(&path, bytes).map_err(failed)?;
        Ok(path.display().to_string())
    }

    fn calibrate(&self, extent: &Extent) -> Result<Calibration, Exit> {
        let bits = ("--bits", N_BITS.to_string());
        let idle = self.run(&[("--idle", extent.idle_s.to_string())])?;
        let n = ("--packets", ((extent.run_s * 4e6) as u64).to_string());
        let full = self.run(&[("--gap", "0".to_owned()), n, bits.clone()])?;
        let (ghz, capacity) = (full.number("tsc_ghz").unwrap_or(1.0), full.cycles);
        let mut runs = vec![full];
        for load in CALIBRATION_LOADS {
            let gap = capacity * 100.0 / f64::from(load);
            let traffic = Traffic::new(Pattern::Poisson, ghz / gap, one_size()).map_err(failed)?;
            let path = self.offsets(&spaced(&traffic, capacity / ghz)?, N_CYCLE, ghz)?;
            let n = (extent.run_s * 1e9 * ghz / gap).min(N_PACKETS_MAX) as u64;
            runs.push(self.run(&[
                ("--gap", gap.to_string()),
                ("--offsets", path),
                ("--packets", n.to_string()),
                bits.clone(),
            ])?);
        }
        calibration(&idle, &runs, ghz, capacity)
            .ok_or_else(|| failed("the machine is not quiet enough: hardly a burst was without a stall"))
    }

    fn measure(&self, point: &Point, calibration: &Calibration, extent: &Extent) -> Result<Line, Exit> {
        let gap = calibration.ghz / point.traffic.rate();
        let n = (extent.run_s * 1e9 * point.traffic.rate()).min(N_PACKETS_MAX) as u64;
        let worker = &calibration.worker;
        let envelope: Vec<String> = (1..=BURST)
            .map(|n| {
                ((worker.burst_ns + f64::from(n) * worker.packet_ns) * calibration.ghz).ceil().to_string()
            })
            .collect();
        let mut options = vec![
            ("--gap", gap.to_string()),
            ("--packets", n.to_string()),
            ("--bits", N_BITS.to_string()),
            ("--envelope", envelope.join(",")),
            ("--found", (worker.port_ns * calibration.ghz).ceil().to_string()),
        ];
        if let Some(bound) = point.program {
            let recovered = match bound.method {
                Method::Single => 0.0,
                Method::AllAtATime => bound.delay_ns - worker.port_ns,
                Method::FullBursts => 1e9,
            };
            options.extend([
                ("--program-ns", bound.delay_ns.to_string()),
                ("--recovered-ns", recovered.to_string()),
            ]);
        }
        options.extend(point.machine.map(|ns| ("--machine-ns", ns.to_string())));
        if point.name != "cbr" {
            let n = if point.name == "trace" { trace_length(&point.traffic) } else { ON as usize };
            options.push(("--offsets", self.offsets(&point.traffic, n, calibration.ghz)?));
        }
        let mut line = self.run(&options)?;
        if let Some(keys) = line.all.as_object_mut() {
            keys.remove("bursts");
            keys.remove("found");
            keys.extend(point.json().as_object().cloned().unwrap_or_default());
        }
        Ok(line)
    }
}

fn trace_length(traffic: &Traffic) -> usize {
    traffic.trace_len().unwrap_or(1)
}

/// One cycle of these arrivals as a trace whose packets are at least `gap_ns` apart.
fn spaced(traffic: &Traffic, gap_ns: f64) -> Result<Traffic, Exit> {
    let mut last = f64::NEG_INFINITY;
    let arrivals: Vec<Arrival> = traffic
        .arrivals(7)
        .take(N_CYCLE)
        .map(|arrival| {
            last = f64::max(arrival.at_ns, last + gap_ns);
            Arrival { at_ns: last, ..arrival }
        })
        .collect();
    Traffic::new(Pattern::Trace(arrivals.into()), traffic.rate(), one_size()).map_err(failed)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// The largest of the upper quantiles of bursts of `n` packets that is not that of stalls: costs of packets that differ by as much as
/// a median average out in a burst, with the root of their number.
fn largest(quantiles: &[f64], n: u32) -> Option<f64> {
    let median = *quantiles.get(P50)?;
    let most = (1.0 + 1.0 / f64::from(n).sqrt()) * median;
    let upper = quantiles.get(P50..=P9999)?;
    Some(upper.iter().copied().filter(|value| *value <= most).fold(median, f64::max))
}

/// A distribution without its stalls.
fn without_stalls(quantiles: &[f64], most: f64) -> Option<Quantiles> {
    Quantiles::new(SHARES.into_iter().zip(quantiles.iter().map(|value| value.min(most))).collect())
}

fn calibration(idle: &Line, runs: &[Line], ghz: f64, capacity: f64) -> Option<Calibration> {
    let gaps: Vec<(f64, f64)> = idle.all["gaps"]
        .as_array()?
        .iter()
        .filter_map(|gap| Some((gap[0].as_f64()?, gap[1].as_f64()?)))
        .collect();
    // For each number of packets the run that has most of its bursts.
    let mut costs: Vec<(u32, f64)> = Vec::new();
    let mut known: Vec<(u32, Quantiles)> = Vec::new();
    for n in 1..=BURST {
        let bursts = runs.iter().flat_map(|run| run.all["bursts"].as_array().into_iter().flatten());
        let most = bursts
            .filter(|burst| burst["n"].as_u64() == Some(u64::from(n)))
            .max_by_key(|burst| burst["size"].as_u64());
        let Some(most) = most.filter(|burst| burst["size"].as_u64() >= Some(N_BURSTS_MIN)) else { continue };
        costs.push((n, largest(&numbers(&most["whole"]), n)? * MARGIN));
        let through = numbers(&most["through"]);
        known.push((n, without_stalls(&through, largest(&through, n)? * MARGIN)?));
    }
    let found = runs.iter().max_by_key(|run| run.all["n_found"].as_u64().filter(|_| run.work == "delays"))?;
    let quantiles = numbers(&found.all["found"]);
    let found_most = largest(&quantiles, 1)? * MARGIN;
    let template = Worker {
        burst_ns: 0.0,
        packet_ns: 0.0,
        burst_max: BURST,
        poll_ns: idle.cycles / ghz,
        port_ns: found_most.max(LATE_NS + quantiles.get(P50)?),
    };
    // Largest costs far above the usual ones leave a bound for lower loads only.
    let worker = [LOAD_OF_RATIO, 60, 40, 20].into_iter().find_map(|load| {
        let traffic = Envelope { sigma: 1.0, rate: ghz / capacity * f64::from(load) / 100.0 };
        worker_of(&costs, &template, &traffic, &Stalls::NONE)
    });
    let after = runs.iter().filter(|run| run.work == "delays").filter_map(|run| run.number("after_ns"));
    let measured = Measured {
        bursts: (1..=BURST).map(|n| between(&known, n)).collect::<Option<Vec<Quantiles>>>()?,
        after_ns: after.fold(f64::INFINITY, f64::min),
        found: without_stalls(&quantiles, found_most)?,
    };
    Some(Calibration {
        ghz,
        capacity,
        poll_ns: template.poll_ns,
        idle_s: idle.number("seconds")?,
        gaps,
        longest_ns: idle.number("longest_ns")?,
        measured,
        worker: worker?,
    })
}

/// The costs of a burst of `n` packets: between those of the nearest that are known.
fn between(known: &[(u32, Quantiles)], n: u32) -> Option<Quantiles> {
    let (below, above) =
        (known.iter().rev().find(|(other, _)| *other <= n), known.iter().find(|(other, _)| *other >= n));
    let ((n0, q0), (n1, q1)) = match (below, above) {
        (Some(below), Some(above)) => (below, above),
        (Some(only), None) | (None, Some(only)) => (only, only),
        (None, None) => return None,
    };
    let part = if n1 > n0 { f64::from(n - n0) / f64::from(n1 - n0) } else { 0.0 };
    Quantiles::new(
        SHARES.iter().map(|share| (*share, q0.at(*share) * (1.0 - part) + q1.at(*share) * part)).collect(),
    )
}

impl Calibration {
    fn json(&self) -> Value {
        let rounded = report::rounded;
        json!({
            "tsc_ghz": self.ghz, "capacity_cycles": rounded(self.capacity), "burst_ns": rounded(self.worker.burst_ns),
            "packet_ns": rounded(self.worker.packet_ns), "port_ns": rounded(self.worker.port_ns),
            "poll_ns": rounded(self.poll_ns), "idle_seconds": self.idle_s, "stalls": self.gaps.len(),
            "longest_stall_ns": rounded(self.longest_ns), "stall_share": rounded(self.stall_share()),
        })
    }

    fn stall_share(&self) -> f64 {
        self.gaps.iter().map(|(_, length)| length).sum::<f64>() / (self.idle_s * 1e9)
    }

    /// The bound with the machine's stalls, in a ring without end or in that of the harness: the least over shares of the time.
    fn machine_bound(&self, envelope: &Envelope) -> Option<f64> {
        let longer: Vec<(f64, f64)> =
            self.gaps.iter().map(|(at, length)| (*at, STALL_MARGIN * length)).collect();
        let shares = (0..=19).map(|i| f64::from(i) * 0.05);
        let bounds = shares.flat_map(|share| {
            let stalls = Stalls::of(&longer, share);
            let open = bound(&self.worker, None, None, envelope, &stalls).ok().map(|bound| bound.delay_ns);
            [open, self.worker.delay_in_ring(RING, &stalls)]
        });
        bounds.flatten().reduce(f64::min)
    }
}

impl Point {
    fn predict(
        name: &'static str,
        pattern: Pattern,
        load: u32,
        calibration: &Calibration,
    ) -> Result<Point, Exit> {
        let rate = calibration.ghz / calibration.capacity * f64::from(load) / 100.0;
        let traffic = Traffic::new(pattern, rate, one_size()).map_err(failed)?;
        let envelope =
            traffic.envelope().ok_or_else(|| failed("internal bug: a pattern without an envelope"))?;
        let scene = Scene {
            service: Service::Measured(calibration.measured.clone()),
            burst_max: BURST,
            ring: RING,
            poll_ns: calibration.poll_ns,
            port_ns: 0.0,
            ns_per_byte: None,
            offload: None,
            stalls: None,
        };
        let shares = [SHARES[P50], SHARES[P99], SHARES[P9999]];
        Ok(Point {
            name,
            load,
            envelope,
            program: bound(&calibration.worker, None, None, &envelope, &Stalls::NONE).ok(),
            machine: calibration.machine_bound(&envelope),
            simulated: estimate(&scene, &traffic, &shares, 100_000, 8),
            traffic,
        })
    }

    fn simulated(&self, i: usize) -> f64 {
        self.simulated.quantiles.get(i).map_or(f64::NAN, |(value, _)| *value)
    }

    fn json(&self) -> Value {
        let rounded = |value: Option<f64>| value.map(report::rounded);
        json!({
            "arrivals": self.name, "load": self.load, "sigma": report::rounded(self.envelope.sigma),
            "mpps": report::rounded(self.traffic.rate() * 1e3),
            "program_bound_ns": rounded(self.program.map(|bound| bound.delay_ns)), "machine_bound_ns": rounded(self.machine),
            "backlog_bound": self.program.map(|bound| bound.backlog),
            "simulated_p50_ns": report::rounded(self.simulated(0)), "simulated_p99_ns": report::rounded(self.simulated(1)),
            "simulated_p9999_ns": report::rounded(self.simulated(2)),
        })
    }
}

/// A quantile of a measured point in nanoseconds, of packets without marks or of all; `None` if all are marked.
fn quantile(line: &Line, key: &str, i: usize) -> Option<f64> {
    line.all[key].get(i)?.as_f64()
}

fn judge(report: &mut Report, points: &[Point], calibration: &Calibration) {
    let lines = std::mem::take(&mut report.lines);
    let sum = |key: &str| lines.iter().filter_map(|line| line.number(key)).sum::<f64>();
    let n = sum("size") as u64;
    let below = 1.0 - sum("windows_above") / sum("windows").max(1.0);
    report.judge(
        "windows_below_machine_bound",
        vec![(sum("windows") as u64, below)],
        Goal::AtLeast(GOAL_OF_WINDOWS),
    );
    report.judge(
        "packets_above_program_bound_without_stall",
        vec![(n, sum("unexplained"))],
        Goal::AtMost(0.0),
    );
    let is_of_ratio = |point: &Point| point.name == "cbr" && point.load == LOAD_OF_RATIO;
    let ratios = points.iter().zip(&lines).filter(|(point, _)| is_of_ratio(point)).map(|(point, line)| {
        let measured = quantile(line, "ns", P9999).unwrap_or(f64::NAN);
        (line.size, point.program.map_or(f64::NAN, |bound| bound.delay_ns / measured))
    });
    report.judge("bound_to_p9999_cbr_load_80", ratios.collect(), Goal::AtMost(GOAL_OF_RATIO));
    for pattern in ["cbr", "on-off", "trace"] {
        let of_pattern = points.iter().zip(&lines).filter(|(point, _)| point.name == pattern);
        let errors = of_pattern.map(|(point, line)| {
            let measured = quantile(line, "ns", P99).unwrap_or(f64::NAN);
            (u64::from(point.load), (point.simulated(1) / measured - 1.0).abs())
        });
        report.judge(
            &format!("simulated_p99_error_{}_load", pattern.replace('-', "_")),
            errors.collect(),
            Goal::AtMost(GOAL_OF_P99),
        );
    }
    report.notes.push(format!(
        "The program is {} with {} keys; the worker of the bound takes {:.0} ns a burst and {:.1} ns a packet, and a packet is \
         found within {:.0} ns. An idle polling loop was stalled {} times in {:.0} s, {:.2} % of the time, for at most {:.0} us; \
         the bound of the machine is that with stalls {STALL_MARGIN} times as long.",
        UDP.name,
        1u32 << N_BITS,
        calibration.worker.burst_ns,
        calibration.worker.packet_ns,
        calibration.worker.port_ns,
        calibration.gaps.len(),
        calibration.idle_s,
        100.0 * calibration.stall_share(),
        calibration.longest_ns / 1e3,
    ));
    if calibration.stall_share() > STALLED_MAX {
        report.notes.push(format!(
            "Other programs or the host have taken {:.0} % of the worker's core: quiet cores are needed for figures that can be compared.",
            100.0 * calibration.stall_share()
        ));
    }
    report.notes.push(
        "Figures are those of packets that no stall has touched, unless they say \"all\"; a stall is a gap between polls, a burst \
         that takes longer than the worker of the bound, or a packet that the generator sends late."
            .to_owned(),
    );
    report.lines = lines;
}

fn us(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.2}", ns / 1e3))
}

fn text_of(report: &Report, points: &[Point], calibration: &Calibration) -> String {
    let mut text = format!(
        "Delays in microseconds beside their bounds; a load of 100 % is {:.2} million packets a second\n\n",
        calibration.ghz * 1e3 / calibration.capacity
    );
    let head = [
        "arrivals", "load", "sigma", "p50", "sim", "p99", "sim", "p99.99", "sim", "max", "program",
        "all max", "machine", "stalled",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (point, line) in points.iter().zip(&report.lines) {
        let mut row =
            vec![point.name.to_owned(), format!("{} %", point.load), format!("{:.1}", point.envelope.sigma)];
        for (i, measured) in [P50, P99, P9999].into_iter().enumerate() {
            row.extend([us(quantile(line, "ns", measured)), us(Some(point.simulated(i)))]);
        }
        let marked = line.number("marked").unwrap_or(0.0) / line.size.max(1) as f64;
        row.extend([
            us(quantile(line, "ns", MOST)),
            us(point.program.map(|bound| bound.delay_ns)),
            us(quantile(line, "ns_with_marked", MOST)),
            us(point.machine),
            format!("{:.1} %", 100.0 * marked),
        ]);
        rows.push(row);
    }
    text += &report::aligned(&rows);
    let head = ["goal", "packets, load", "value", "wanted", ""].map(str::to_owned).to_vec();
    let goals: Vec<_> = std::iter::once(head).chain(report.goals.iter().map(Judged::cells)).collect();
    text += &format!("\n{}", report::aligned(&goals));
    for sentence in &report.notes {
        text += &format!("\n{sentence}\n");
    }
    text
}

fn charts(report: &Report, points: &[Point]) -> Vec<Chart> {
    let of_pattern = |pattern: &str| {
        let chosen: Vec<(&Point, &Line)> =
            points.iter().zip(&report.lines).filter(|(point, _)| point.name == pattern).collect();
        let series = |name: &str, value: &dyn Fn(&Point, &Line) -> Option<f64>| Series {
            name: name.to_owned(),
            points: chosen
                .iter()
                .filter_map(|(point, line)| Some((f64::from(point.load), value(point, line)? / 1e3)))
                .collect(),
            ..Series::default()
        };
        Chart {
            title: format!("Delays of {pattern} arrivals"),
            x: "percent of the capacity".to_owned(),
            y: "microseconds".to_owned(),
            across: Across::Linear,
            series: vec![
                series("p50", &|_, line| quantile(line, "ns", P50)),
                series("p99", &|_, line| quantile(line, "ns", P99)),
                series("p99, simulated", &|point, _| Some(point.simulated(1))),
                series("largest without a stall", &|_, line| quantile(line, "ns", MOST)),
                series("bound of the program", &|point, _| point.program.map(|bound| bound.delay_ns)),
                series("largest", &|_, line| quantile(line, "ns_with_marked", MOST)),
                series("bound of the machine", &|point, _| point.machine),
            ],
            ..Chart::default()
        }
    };
    ["cbr", "on-off", "trace"].map(of_pattern).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantiles(median: f64) -> Vec<f64> {
        let mut values: Vec<f64> = (0..SHARES.len()).map(|i| median * (0.8 + 0.05 * i as f64)).collect();
        // Stalls.
        values[9..].fill(median * 100.0);
        values
    }

    fn line(value: Value) -> Line {
        Line::parse(&value.to_string()).unwrap()
    }

    fn made() -> Calibration {
        let idle = line(json!({
            "peer": "siding", "work": "idle", "size": 2, "cycles": 40, "cycles_min": 40, "seconds": 1.0, "longest_ns": 9000.0,
            "gaps": [[1000.0, 9000.0], [5e8, 600.0]],
        }));
        let burst = |n: u32| json!({ "n": n, "size": 1000, "through": quantiles(50.0 + 50.0 * f64::from(n)), "whole": quantiles(60.0 + 52.0 * f64::from(n)) });
        let run = line(json!({
            "peer": "siding", "work": "delays", "size": 9, "cycles": 200, "cycles_min": 200, "after_ns": 2.0, "n_found": 500,
            "found": quantiles(100.0), "bursts": [burst(1), burst(2), burst(8), burst(32)],
        }));
        calibration(&idle, &[run], 2.0, 110.0).unwrap()
    }

    #[test]
    fn stalls_are_no_costs_of_bursts() {
        let calibration = made();
        let worker = calibration.worker;
        for (n, median) in [(1, 112.0), (32, 1724.0)] {
            let cost = worker.burst_ns + f64::from(n) * worker.packet_ns;
            assert!(cost >= median && cost < 2.5 * median, "{n}: {worker:?}");
        }
        // Between two and eight packets.
        let middle = &calibration.measured.bursts[4];
        assert!((middle.at(0.5) - 300.0).abs() < 1.0, "{middle:?}");
        assert!(middle.at(1.0) < 2.0 * 300.0 * MARGIN);
        assert_eq!(calibration.poll_ns, 20.0);
    }

    #[test]
    fn points_have_both_bounds() {
        let calibration = made();
        let point = Point::predict("cbr", Pattern::Cbr, 50, &calibration).unwrap();
        let (program, machine) = (point.program.unwrap().delay_ns, point.machine.unwrap());
        assert!(machine > program + 9000.0, "{program} {machine}");
        assert!(point.simulated(1) < program, "{} {program}", point.simulated(1));
        let over = Point::predict("cbr", Pattern::Cbr, 300, &calibration).unwrap();
        // The ring bounds the delay of packets that find room.
        assert!(over.program.is_none() && over.machine.is_some());
    }

    #[test]
    fn goals_look_at_all_points() {
        let calibration = made();
        let points: Vec<Point> = [50, 80]
            .iter()
            .map(|load| Point::predict("cbr", Pattern::Cbr, *load, &calibration).unwrap())
            .collect();
        let lines = points.iter().map(|point| {
            let ns = vec![point.simulated(1); SHARES.len()];
            line(json!({
                "peer": "siding", "work": "delays", "size": 1000, "cycles": 1, "cycles_min": 1, "windows": 4, "windows_above": 0,
                "unexplained": u32::from(point.load == 80), "marked": 10, "ns": ns, "ns_with_marked": ns,
            }))
        });
        let mut report = Report { lines: lines.collect(), ..Report::default() };
        judge(&mut report, &points, &calibration);
        let missed: Vec<&str> =
            report.goals.iter().filter(|goal| !goal.is_met()).map(|goal| goal.name.as_str()).collect();
        assert!(missed.contains(&"packets_above_program_bound_without_stall"), "{missed:?}");
        assert!(
            !missed.contains(&"windows_below_machine_bound")
                && !missed.iter().any(|name| name.contains("p99_error")),
            "{missed:?}"
        );
        assert!(text_of(&report, &points, &calibration).contains("bound_to_p9999_cbr_load_80"));
        assert_eq!(charts(&report, &points)[0].series[0].points.len(), 2);
    }
}
