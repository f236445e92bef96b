//! `siding bench async --figure 5|6 --over MEDIUM`: rates without loss through real ports, found as `siding traffic search`
//! finds them, beside those over memory.
//!
//! `siding switch` runs the program of the other figures in a process of its own. Each worker has a port where packets come in,
//! a port where they leave, and a thread that is generator and sink.

use super::placement::{Placement, n_workers_max};
use crate::args::{AsyncFigureArg, BenchAsyncArgs, MediumArg};
use crate::frontend::median;
use crate::harness::Report;
use crate::ports::{OwnSwitch, Pair, Place, Running};
use crate::report::{Line, rounded, short};
use console::output::{self, Exit};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use traffic::{
    ChecksumCheck, Content, Control, FlowOptions, FlowOrder, Generator, GeneratorOptions, IdleMode, Latency,
    Mac, Ordinal, Range, Rate, Receiver, SearchOptions, SearchPoint, Sender, Sink, Sizes, Station,
    TrafficError, Trial, TrialResult,
};

/// Flows of each generator, as in the figures over memory.
const N_FLOWS: u64 = 10;
const SENDER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const FIRST_STATION: [u8; 6] = [2, 0, 1, 0, 0, 0];
/// A rate is known to this part of itself.
const RESOLUTION: f64 = 0.02;
/// Packets that are later than this count as lost. A full ring and all packets in flight take less at the dearest extern.
const DRAIN: Duration = Duration::from_millis(500);
const QUICK_DRAIN: Duration = Duration::from_millis(100);
/// Time that a switch has until packets come through; its program may have to be compiled.
const START: Duration = Duration::from_secs(60);
const GENTLE: Rate = Rate::PacketsPerS(20_000);
/// Workers that are measured where there are cores for them.
const WORKERS: [usize; 5] = [1, 2, 3, 4, 8];

/// Percentage of packets that call the extern, and its cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    share: u64,
    cost: u64,
}

/// A switch, which is measured at all points.
#[derive(Clone, Copy, Debug)]
struct Setup {
    way: &'static str,
    n_workers: usize,
    n_offload_workers: usize,
}

/// The result of one switch at one point.
#[derive(Clone, Debug)]
struct Rates {
    setup: Setup,
    point: Point,
    /// Highest packets a second without loss, one for each search that found one.
    per_s: Vec<f64>,
    n_without_result: usize,
    /// The switch may do more than generator and link.
    is_limited_by_generator: bool,
    /// At half of the rate.
    latency: Option<Latency>,
}

/// Results over a medium.
#[derive(Debug)]
pub(super) struct Measured {
    over: MediumArg,
    rates: Vec<Rates>,
    notes: Vec<String>,
    absent: Vec<String>,
}

fn refused(text: &str) -> Exit {
    output::error_line(text);
    Exit::Usage
}

/// Measures a figure at shares and costs, which are lists of numbers.
pub(super) fn measure(
    args: &BenchAsyncArgs,
    figure: AsyncFigureArg,
    over: MediumArg,
    shares: &str,
    costs: &str,
) -> Result<Measured, Exit> {
    let setups: fn(usize, usize) -> Vec<Setup> = match figure {
        AsyncFigureArg::Five => scaling,
        AsyncFigureArg::Six => all_ways,
        AsyncFigureArg::Three | AsyncFigureArg::Four | AsyncFigureArg::Auto => {
            return Err(refused(
                "--over is for --figure 5 and --figure 6; the others are measured over memory alone",
            ));
        }
    };
    let trial = args.trial.unwrap_or(if args.measure.quick { 0.05 } else { 0.5 });
    if !(0.02..=600.0).contains(&trial) {
        return Err(refused(&format!("--trial is {trial} seconds; it can be 0.02 to 600")));
    }
    let numbers = |list: &str| list.split(',').filter_map(|n| n.parse().ok()).collect::<Vec<u64>>();
    let mut points: Vec<Point> = numbers(shares)
        .into_iter()
        .flat_map(|share| numbers(costs).into_iter().map(move |cost| Point { share, cost }))
        .collect();
    if figure == AsyncFigureArg::Five {
        points.insert(0, Point { share: 0, cost: 0 });
    }
    let dir = tempfile::tempdir().map_err(|error| {
        output::error_line(&format!("cannot make a directory: {error}"));
        Exit::Environment
    })?;
    // The thread's network namespace is its own, and that of the switch.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let bench = Bench {
                args,
                place: Place::enter(over, dir.path(), 1)?,
                points,
                trial: Duration::from_secs_f64(trial),
                cores: packet_io::allowed_cores().unwrap_or_else(|_| vec![0]),
            };
            bench.measure(setups)
        });
        thread.join().unwrap_or(Err(Exit::Bug))
    })
}

/// Figure 5: more workers at one offload worker, and at two.
fn scaling(n_workers: usize, n_cores: usize) -> Vec<Setup> {
    let setup = |n_offload_workers| Setup { way: "suspend", n_workers, n_offload_workers };
    let has_two = n_workers > 1 && n_workers <= n_workers_max(n_cores, 2);
    std::iter::once(setup(1)).chain(has_two.then(|| setup(2))).collect()
}

/// Figure 6: all policies.
fn all_ways(n_workers: usize, _n_cores: usize) -> Vec<Setup> {
    let ways = ["inline", "wait", "suspend", "auto"];
    ways.map(|way| Setup { way, n_workers, n_offload_workers: 1 }).to_vec()
}

/// Flows of the generator of a worker at a point: ten stations that no other generator and no other point has.
fn flows(point: usize, worker: usize, n_workers: usize) -> Result<FlowOptions, String> {
    let options = FlowOptions::ipv4();
    let first = Mac(FIRST_STATION).plus((point * n_workers + worker) as u64 * N_FLOWS);
    Ok(FlowOptions {
        n_flows: N_FLOWS as u32,
        order: FlowOrder::Uniform,
        src_mac: Range::single(Mac(SENDER)),
        dst_mac: Range::new(first, first.plus(N_FLOWS - 1))?,
        // Flows differ in the station alone.
        src_ip: Range::single(options.src_ip.first()),
        src_port: Range::single(options.src_port.first()),
        ..options
    })
}

/// Entries for all points: what comes in at port `w` leaves at port `n_workers + w`, which the same worker has.
fn entries(points: &[Point], n_workers: usize) -> String {
    let hex = |mac: Mac| mac.0.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"));
    let mut text = format!("add AsyncIngress.smac hdr.ethernet.srcAddr:{} NoAction()\n", hex(Mac(SENDER)));
    for (i, point) in points.iter().enumerate() {
        for worker in 0..n_workers {
            for flow in 0..N_FLOWS {
                let nth = (i * n_workers + worker) as u64 * N_FLOWS + flow;
                let (station, port) = (hex(Mac(FIRST_STATION).plus(nth)), n_workers + worker);
                let action = match flow < point.share * N_FLOWS / 100 {
                    true => format!("work(port:{port}, cost:{})", point.cost),
                    false => format!("forward(port:{port})"),
                };
                let _ = writeln!(
                    text,
                    "add AsyncIngress.dmac hdr.ethernet.dstAddr:{station} AsyncIngress.{action}"
                );
            }
        }
    }
    text
}

struct Bench<'a> {
    args: &'a BenchAsyncArgs,
    place: Place,
    points: Vec<Point>,
    trial: Duration,
    cores: Vec<usize>,
}

impl Bench<'_> {
    fn measure(&self, setups: fn(usize, usize) -> Vec<Setup>) -> Result<Measured, Exit> {
        let n_cores = self.cores.len();
        let mut measured =
            Measured { over: self.place.medium, rates: Vec::new(), notes: Vec::new(), absent: Vec::new() };
        let n_max = n_workers_max(n_cores, 1);
        for n_workers in WORKERS.into_iter().filter(|n| *n <= n_max) {
            for setup in setups(n_workers, n_cores) {
                let placement = Placement::new(&self.cores, n_workers, setup.n_offload_workers);
                let note = placement.sentence();
                if !measured.notes.contains(&note) {
                    measured.notes.push(note);
                }
                self.place.prepare(2 * n_workers)?;
                match self.searches(setup, &placement) {
                    Ok(rates) => measured.rates.extend(rates),
                    Err(why) => measured.absent.push(format!(
                        "{} with {n_workers} workers is not measured over {}: {why}",
                        setup.way,
                        self.place.medium.name()
                    )),
                }
            }
        }
        if let Some(n_missing) = WORKERS.into_iter().find(|n| *n > n_max) {
            measured.absent.push(format!(
                "{n_missing} workers and more are not measured over {}: N workers with a generator each and an offload \
                 worker take 2 N + 1 cores, and there are {n_cores}.",
                self.place.medium.name()
            ));
        }
        Ok(measured)
    }

    fn log(&self) -> PathBuf {
        self.place.dir.join("switch.log")
    }

    /// Starts a switch and searches at all points.
    fn searches(&self, setup: Setup, placement: &Placement) -> Result<Vec<Rates>, String> {
        let n = setup.n_workers;
        let ports: Vec<String> = (0..2 * n).map(|i| self.place.near(i)).collect();
        let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let options = [
            "--async",
            setup.way,
            "--offload-workers",
            &setup.n_offload_workers.to_string(),
            "--offload-cores",
            &list(&placement.offload_workers),
        ];
        let switch = OwnSwitch {
            dir: &self.place.dir,
            program: super::P4,
            includes: &[],
            entries: &entries(&self.points, n),
            ports: &ports,
            cores: &placement.workers,
            optimise: self.args.measure.cc.optimise,
            options: &options.map(str::to_owned),
        };
        let (log, mut running) = (self.log(), Running::default());
        switch.start(&log, &mut running)?;
        let mut pairs = (0..n)
            .map(|worker| Pair::open(&self.place, [worker, n + worker], 1, &mut || running.check(&log)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut traffic = Traffic { bench: self, placement, pairs: &mut pairs };
        traffic.wait(&mut running)?;
        (0..self.points.len()).map(|point| traffic.search(setup, point)).collect()
    }

    fn n_searches(&self) -> u32 {
        self.args.measure.runs.unwrap_or(if self.args.measure.quick { 3 } else { 5 })
    }
}

/// Generators and sinks at a switch.
struct Traffic<'a> {
    bench: &'a Bench<'a>,
    placement: &'a Placement,
    pairs: &'a mut [Pair],
}

impl Traffic<'_> {
    /// Waits until packets come through for each worker.
    fn wait(&mut self, running: &mut Running) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            running.check(&self.bench.log())?;
            let generator = GeneratorOptions {
                content: Content::Flows { flows: flows(0, 0, self.pairs.len())?, sizes: Sizes::fixed(64) },
                rate: GENTLE,
                n_packets: None,
                duration: Some(Duration::from_millis(50)),
                stream: 0,
                burst_max: 32,
            };
            let totals = self.trial(0, &generator).map_err(|error| error.to_string())?.totals;
            if totals.n_sent > 0 && totals.loss_ratio < 0.1 {
                return Ok(());
            }
            if begin.elapsed() > START {
                return Err(format!("of {} packets {} come through", totals.n_sent, totals.n_received));
            }
        }
    }

    /// One trial: all generators with these options, each with its own flows.
    fn trial(&mut self, point: usize, generator: &GeneratorOptions) -> Result<TrialResult, TrafficError> {
        let n_workers = self.pairs.len();
        let mut stations = Vec::new();
        for (worker, pair) in self.pairs.iter_mut().enumerate() {
            let mut options = generator.clone();
            if let Content::Flows { flows, .. } = &mut options.content
                && let Ok(own) = self::flows(point, worker, n_workers)
            {
                *flows = own;
            }
            let generator = Generator::new(options, packet_io::Port::frame_bytes_max(pair))?;
            stations.push(Station {
                port: pair,
                sender: Some(Sender::Generator(Box::new(generator))),
                receiver: Some(Receiver::Sink(Box::new(Sink::new(ChecksumCheck::Off)))),
                core: Some(self.placement.generators[worker]),
                idle: if self.placement.is_shared() { IdleMode::Yield } else { IdleMode::Spin },
            });
        }
        let mut trial = Trial::new(stations);
        trial.drain = if self.bench.args.measure.quick { QUICK_DRAIN } else { DRAIN };
        trial.run(&Control::new(n_workers))
    }

    fn search(&mut self, setup: Setup, point: usize) -> Result<Rates, String> {
        let options = SearchOptions {
            flows: flows(point, 0, self.pairs.len())?,
            trial: self.bench.trial,
            loss_max: 0.0,
            resolution: RESOLUTION,
            rate_max: Rate::Unlimited,
            burst_max: 32,
        };
        let mut found: Vec<SearchPoint> = Vec::new();
        let n_searches = self.bench.n_searches();
        // A ring in shared memory is full when the switch takes no more.
        let (mut is_pushed_back, has_rings) = (false, self.bench.place.medium != MediumArg::Veth);
        for _ in 0..n_searches {
            let mut run = |generator: GeneratorOptions| {
                let result = self.trial(point, &generator)?;
                is_pushed_back |= has_rings && is_blocked(&result);
                Ok(Some(result))
            };
            let one = traffic::search(&options, &Sizes::fixed(64), &mut run, &mut |_| {});
            found.extend(one.map_err(|error| error.to_string())?);
        }
        let per_s: Vec<f64> = found.iter().filter_map(|one| one.packets_per_s).collect();
        Ok(Rates {
            setup,
            point: self.bench.points[point],
            n_without_result: n_searches as usize - per_s.len(),
            per_s,
            is_limited_by_generator: !is_pushed_back && found.iter().any(|one| one.is_limited_by_generator),
            latency: found.into_iter().find_map(|one| one.half?.totals.latency),
        })
    }
}

/// Returns true if ports took nothing in more than one of a hundred calls.
fn is_blocked(result: &TrialResult) -> bool {
    let sent = result.stations.iter().filter_map(|station| station.sent.as_ref());
    let (n_blocked, n_calls) = sent.fold((0.0, 0.0), |(n_blocked, n_calls), sent| {
        let n_taken = sent.n_sent as f64 / sent.packets_per_call.max(1.0);
        (n_blocked + sent.n_calls_blocked as f64, n_calls + n_taken + sent.n_calls_blocked as f64)
    });
    n_blocked * 100.0 > n_calls
}

impl Rates {
    /// Makes a line in the harness's format.
    fn line(&self, figure: AsyncFigureArg, over: MediumArg, ghz: f64, cost_max: u64) -> Option<Line> {
        if self.per_s.is_empty() {
            return None;
        }
        let (Setup { way, n_workers, n_offload_workers }, Point { share, cost }) = (self.setup, self.point);
        let way = if share == 0 { "none" } else { way };
        let work = work(figure, self.point, n_offload_workers, cost_max);
        let middle = median(self.per_s.clone());
        let least = self.per_s.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.per_s.iter().copied().fold(0.0, f64::max);
        let cycles = |per_s: f64| rounded(ghz * 1e9 / per_s);
        let us = |ns: fn(&Latency) -> u64| self.latency.as_ref().map(|latency| ns(latency) as f64 / 1e3);
        let peer = format!("siding over {}", over.name());
        let all = json!({
            "peer": peer, "version": env!("CARGO_PKG_VERSION"), "work": work, "size": n_workers, "path": way,
            "cycles": cycles(middle), "cycles_min": cycles(most), "cycles_max": cycles(least), "mpps": (middle / 1e3).round() / 1e3,
            "runs": self.per_s.len(), "runs_without_result": self.n_without_result, "tsc_ghz": ghz, "unit": "packet",
            "share": share, "cost": cost, "offload_workers": n_offload_workers,
            "limited_by_generator": self.is_limited_by_generator,
            "p50_us": us(|l| l.p50_ns), "p99_us": us(|l| l.p99_ns),
        });
        let (cycles, cycles_min) = (cycles(middle), cycles(most));
        Some(Line { peer, work, size: n_workers as u64, cycles, cycles_min, all })
    }
}

/// The work of a line, named as over memory.
fn work(figure: AsyncFigureArg, point: Point, n_offload_workers: usize, cost_max: u64) -> String {
    let mut work = match figure {
        AsyncFigureArg::Five if point.share == 0 => "no extern".to_owned(),
        AsyncFigureArg::Five => format!("{} cycles", point.cost),
        _ if point.cost == cost_max => format!("{} percent", point.share),
        _ => format!("{} percent, {} cycles", point.share, point.cost),
    };
    if n_offload_workers > 1 {
        let _ = write!(work, ", {n_offload_workers} offload workers");
    }
    work
}

impl Measured {
    /// Adds its lines to the report over memory, made of these lines.
    pub(super) fn add_to(self, report: &mut Report, memory: &[Line], figure: AsyncFigureArg) {
        let over = self.over.name();
        let ghz = memory.first().and_then(|line| line.number("tsc_ghz")).unwrap_or(1.0);
        let cost_max = self.rates.iter().map(|rates| rates.point.cost).max().unwrap_or(0);
        for line in &mut report.lines {
            if line.peer == "siding" {
                line.peer = "siding over memory".to_owned();
                line.all["peer"] = json!(line.peer);
            }
        }
        let mut ratios: Vec<(String, Vec<(u64, f64)>)> = Vec::new();
        let mut limited = Vec::new();
        let mut all: Vec<&Rates> = self.rates.iter().collect();
        all.sort_by_key(|rates| (rates.point.share, rates.point.cost));
        for rates in all {
            let Some(line) = rates.line(figure, self.over, ghz, cost_max) else {
                report.absent.push(format!(
                    "{} at {} percent and {} cycles over {over}: some packets were lost at every rate.",
                    rates.setup.way,
                    rates.point.share,
                    short(rates.point.cost)
                ));
                continue;
            };
            if rates.is_limited_by_generator {
                let workers = match rates.setup.n_workers {
                    1 => String::new(),
                    n => format!(", {n} workers"),
                };
                limited.push(format!("{}{workers} ({})", line.work, line.word("path")));
            }
            let Point { share, cost } = rates.point;
            let is_same = |other: &&Line| {
                // Without the extern its cost makes no difference.
                other.word("path") == line.word("path")
                    && (share == 0 || other.all["share"] == json!(share) && other.size == cost)
            };
            if rates.setup.n_workers == 1
                && let Some(other) = memory.iter().find(is_same)
            {
                let (name, at) = match figure {
                    AsyncFigureArg::Five => (format!("{over}_over_memory_{}", line.word("path")), cost),
                    _ => (format!("{over}_over_memory_{}_{cost}_cycles", line.word("path")), share),
                };
                match ratios.iter_mut().find(|(n, _)| *n == name) {
                    Some((_, values)) => values.push((at, line.cycles / other.cycles)),
                    None => ratios.push((name, vec![(at, line.cycles / other.cycles)])),
                }
                // The report has memory's line only for the dearest extern, or for the policy of its figure.
                let is_partner = |l: &Line| {
                    l.peer == "siding over memory"
                        && l.work == line.work
                        && l.word("path") == line.word("path")
                };
                match report.lines.iter().position(is_partner) {
                    Some(at) => report.lines.insert(at + 1, line),
                    None => report.lines.extend([renamed(other, &line.work), line]),
                }
            } else {
                report.lines.push(line);
            }
        }
        report.ratios.extend(ratios);
        report.absent.extend(self.absent);
        report.notes.extend(self.notes);
        report.notes.push(format!(
            "Over {over} the rate is the highest at which no packet is lost (RFC 2544), with ten flows for each generator. \
             A link that is full makes the generator wait, which is no loss."
        ));
        if !limited.is_empty() {
            report.notes.push(format!(
                "The switch may do more: nothing was lost at the highest rate that generator and link reach for {}.",
                limited.join("; ")
            ));
        }
        report.notes.push(format!(
            "Ratios in the JSON text named {over}_over_memory are cycles over {over} divided by cycles over memory, with one worker."
        ));
    }
}

/// A line over memory under another work, for one worker.
fn renamed(line: &Line, work: &str) -> Line {
    let mut line = line.clone();
    (line.peer, line.work, line.size) = ("siding over memory".to_owned(), work.to_owned(), 1);
    for (key, value) in [("peer", json!(line.peer)), ("work", json!(line.work)), ("size", json!(1))] {
        line.all[key] = value;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [Point; 2] = [Point { share: 10, cost: 5000 }, Point { share: 100, cost: 50 }];

    fn memory(share: u64, cost: u64, path: &str, cycles: f64) -> Line {
        let text = json!({
            "peer": "siding", "work": format!("{share} percent"), "share": share, "size": cost, "cycles": cycles,
            "cycles_min": cycles, "mpps": 1.0, "tsc_ghz": 2.0, "path": path,
        });
        Line::parse(&text.to_string()).unwrap()
    }

    fn measured(way: &'static str, n_workers: usize, point: Point, per_s: &[f64]) -> Rates {
        Rates {
            setup: Setup { way, n_workers, n_offload_workers: 1 },
            point,
            per_s: per_s.to_vec(),
            n_without_result: 3 - per_s.len(),
            is_limited_by_generator: false,
            latency: None,
        }
    }

    #[test]
    fn a_share_of_the_stations_calls_the_extern() {
        let text = entries(&POINTS, 2);
        let n = |what: &str| text.matches(what).count();
        // Ten stations for each of two workers and two points.
        assert_eq!(text.lines().count(), 1 + 40);
        assert_eq!((n("work(port:2, cost:5000)"), n("work(port:3, cost:5000)"), n("cost:50)")), (1, 1, 20));
        let stations: std::collections::HashSet<&str> =
            text.lines().filter(|l| l.contains("dmac")).filter_map(|l| l.split(' ').nth(2)).collect();
        assert_eq!(stations.len(), 40);
    }

    #[test]
    fn generators_send_to_the_stations_of_their_worker() {
        let text = entries(&POINTS, 2);
        for (point, worker) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let flows = flows(point, worker, 2).unwrap();
            let first = flows.dst_mac.first().0.iter().fold("0x".to_owned(), |t, b| format!("{t}{b:02x}"));
            let line = text.lines().find(|line| line.contains(&first)).unwrap();
            assert!(
                line.contains(&format!("work(port:{}, cost:{})", 2 + worker, POINTS[point].cost)),
                "{line}"
            );
        }
    }

    #[test]
    fn lines_stand_next_to_those_over_memory() {
        let lines = vec![memory(10, 5000, "wait", 1000.0), memory(100, 50, "wait", 100.0)];
        let mut report = Report { lines: vec![renamed(&lines[0], "10 percent")], ..Report::default() };
        report.lines[0].peer = "siding".to_owned();
        let over = Measured {
            over: MediumArg::Memif,
            rates: vec![
                measured("wait", 1, POINTS[1], &[1e6, 2e6, 4e6]),
                measured("wait", 1, POINTS[0], &[1e6]),
                measured("wait", 2, POINTS[0], &[2e6]),
                measured("suspend", 1, POINTS[0], &[]),
            ],
            notes: Vec::new(),
            absent: Vec::new(),
        };
        over.add_to(&mut report, &lines, AsyncFigureArg::Six);
        let found: Vec<(&str, &str, u64, f64)> =
            report.lines.iter().map(|l| (l.peer.as_str(), l.work.as_str(), l.size, l.cycles)).collect();
        let expected = [
            ("siding over memory", "10 percent", 1, 1000.0),
            ("siding over memif", "10 percent", 1, 2000.0),
            ("siding over memif", "10 percent", 2, 1000.0),
            ("siding over memory", "100 percent, 50 cycles", 1, 100.0),
            ("siding over memif", "100 percent, 50 cycles", 1, 1000.0),
        ];
        assert_eq!(found, expected);
        let ratio = |name: &str| report.ratios.iter().find(|(n, _)| n == name).unwrap().1.clone();
        assert_eq!(ratio("memif_over_memory_wait_5000_cycles"), [(10, 2.0)]);
        assert_eq!(ratio("memif_over_memory_wait_50_cycles"), [(100, 10.0)]);
        assert!(report.absent[0].starts_with("suspend at 10 percent and 5k cycles over memif"));
    }

    #[test]
    fn more_workers_have_two_offload_workers_where_there_are_cores() {
        let n = |n_workers, n_cores| {
            scaling(n_workers, n_cores).iter().map(|s| s.n_offload_workers).collect::<Vec<_>>()
        };
        assert_eq!((n(1, 16), n(2, 5), n(2, 6)), (vec![1], vec![1], vec![1, 2]));
    }
}
