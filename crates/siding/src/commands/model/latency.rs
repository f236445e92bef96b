//! `siding model latency`: how long packets take, at most and as a rule.

use super::predicted;
use crate::cli::{ArrivalsArg, ModelLatencyArgs, SizesArg};
use crate::output::{self, Exit, error_line, out, replace_file};
use bench::chart::{self, Across, Chart, Series};
use bench::cpu::Question;
use bench::{MeasureArgs, latency as measured, report};
use clap::ArgMatches;
use model::latency::{
    Arrival, Bound, Envelope, Estimate, Limit, NoBound, Offload, Pattern, Port, Scene, Service, Sizes,
    Stalls, Traffic, TrafficError, Worker, bound, estimate, mean_wait,
};
use packet_io::PacketReader;
use serde_json::{Value, json};
use std::path::Path;

/// A message and how the command ends.
type Problem = (String, Exit);

const SHARES: [(f64, &str); 3] = [(0.5, "p50"), (0.99, "p99"), (0.9999, "p99.99")];
/// Packets of a simulation, and simulations; a hundredth of a percent of the packets makes the last percentile.
const N_PACKETS: u64 = 200_000;
const N_SIMULATIONS: usize = 10;
const N_PACKETS_OVERLOADED: u64 = 4_000;
/// For drawings, a point each.
const N_PACKETS_DRAWN: u64 = 50_000;
const LOADS_DRAWN: [f64; 11] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0];
const LOAD: f64 = 80.0;
/// Loads from here on count as 100 %, because a load that is given as such is rounded.
const FULL: f64 = 1.0 - 1e-9;
/// Packets of a capture that are kept; 16 bytes each.
const N_TRACE_MAX: usize = 16_000_000;

pub fn run(args: &ModelLatencyArgs, matches: &ArgMatches) -> Exit {
    if args.check.check {
        let measure = MeasureArgs {
            quick: args.check.quick,
            runs: None,
            svg: args.svg.clone(),
            json: args.json,
            cc: args.check.cc.clone(),
        };
        return measured::check(&measure, args.check.predictions.as_deref());
    }
    if args.check.quick || args.check.predictions.is_some() {
        error_line("--quick and --predictions are for --check");
        return Exit::Usage;
    }
    if args.program.is_none() && (args.cycles.is_none() || !args.packets.pcap.is_empty()) {
        error_line(match args.cycles.is_none() {
            true => "give a program with a script or a capture, or the cycles of a packet with --cycles",
            false => "--pcap is for the packets of a program; --trace takes the times of a capture",
        });
        return Exit::Usage;
    }
    let costs = match (&args.program, &args.cycles) {
        (Some(program), _) => Costs::predicted(args, program, matches),
        (None, cycles) => Ok(Costs::given(args, cycles.as_ref().map_or(&[], |cycles| &cycles.0))),
    };
    match costs.map(|costs| model(args, costs)) {
        Ok(Ok(exit)) | Err(exit) => exit,
        Ok(Err((message, exit))) => {
            error_line(&message);
            exit
        }
    }
}

fn model(args: &ModelLatencyArgs, costs: Costs) -> Result<Exit, Problem> {
    let scene = Setting::new(args, costs)?;
    let answer = scene.answer(N_PACKETS);
    if let Some(path) = &args.svg {
        draw(path, &scene)?;
    }
    out(&if args.json { format!("{}\n", answer.json(&scene)) } else { answer.text(&scene) });
    let is_fine = answer.estimate.n_lost == 0
        && answer.overload.is_none()
        && answer.program.as_ref().is_none_or(Result::is_ok);
    Ok(if is_fine { Exit::Ok } else { Exit::Failed })
}

/// Clock of a core of which nothing is known.
const GHZ: f64 = 2.5;

/// Costs of packets.
struct Costs {
    /// Cycles with their shares, which add up to 1.
    classes: Vec<(f64, f64)>,
    ghz: f64,
    /// A sentence about where they come from.
    origin: Option<String>,
    /// The dearest packet is not known.
    is_mean: bool,
}

impl Costs {
    fn given(args: &ModelLatencyArgs, cycles: &[(f64, f64)]) -> Costs {
        let origin = mix(cycles, "take", "cycles");
        Costs { classes: cycles.to_vec(), ghz: args.ghz.unwrap_or(GHZ), origin, is_mean: false }
    }

    /// Costs of a program's packets, by the ways that they go. Faults are printed.
    fn predicted(args: &ModelLatencyArgs, program: &Path, matches: &ArgMatches) -> Result<Costs, Exit> {
        let question = Question { ghz: args.ghz, ..Question::default() };
        let answer = predicted::answer(program, &args.packets, &args.front_end, matches, &question)?;
        let found: Vec<(f64, f64)> =
            answer.classes().iter().map(|class| (class.cycles, class.share)).collect();
        let what = match found.as_slice() {
            [] => format!("{:.0} cycles a packet in the mean of all ways", answer.cycles()),
            [(cycles, _)] => format!("{cycles:.0} cycles a packet"),
            [(least, _), .., (most, _)] => {
                format!("{} ways of packets, of {least:.0} to {most:.0} cycles", found.len())
            }
        };
        let origin = format!("{}: {what}, predicted for {}.", program.display(), answer.machine());
        let is_mean = found.is_empty();
        let classes = if found.is_empty() { vec![(answer.cycles(), 1.0)] } else { found };
        Ok(Costs { classes, ghz: answer.ghz(), origin: Some(origin), is_mean })
    }
}

/// Everything that is known of worker and traffic, in nanoseconds.
struct Setting<'a> {
    args: &'a ModelLatencyArgs,
    ghz: f64,
    /// Cycles of packets with their shares, and a sentence about where they come from.
    classes: Vec<(f64, f64)>,
    origin: Option<String>,
    /// The dearest packet is not known, so there is no bound.
    is_mean: bool,
    /// Costs of packets with their shares.
    packets: Vec<(f64, f64)>,
    worker: Worker,
    /// Packets a nanosecond that the worker takes in full bursts, at the mean cost.
    capacity: f64,
    offload: Option<Offload>,
    pattern: Pattern,
    sizes: Sizes,
    traffic: Traffic,
}

impl Setting<'_> {
    fn new(args: &ModelLatencyArgs, costs: Costs) -> Result<Setting<'_>, Problem> {
        let Costs { classes, ghz, origin, is_mean } = costs;
        let usage = |message: String| (message, Exit::Usage);
        let ns = |cycles: f64| cycles / ghz;
        let offload = (args.offload.extern_share > 0.0).then(|| Offload {
            share: args.offload.extern_share / 100.0,
            block_ns: ns(args.offload.extern_cycles),
            round_trip_ns: ns(args.offload.round_trip),
            n_workers: args.offload.offload_workers,
        });
        // The worker of the bound suspends every packet of a burst, that of the simulation their share.
        let (suspend_mean, suspend_most) = offload
            .map_or((0.0, 0.0), |offload| (offload.share * args.offload.suspend, args.offload.suspend));
        let packets: Vec<(f64, f64)> =
            classes.iter().map(|(cycles, share)| (ns(cycles + suspend_mean), *share)).collect();
        let most = classes.iter().map(|(cycles, _)| *cycles).fold(0.0, f64::max);
        let worker = Worker {
            burst_ns: ns(args.burst_cycles),
            packet_ns: ns(most + suspend_most),
            burst_max: args.burst,
            poll_ns: ns(args.poll_cycles),
            port_ns: args.port_latency,
        };
        let mean: f64 = packets.iter().map(|(ns, share)| ns * share).sum();
        let capacity = Worker { packet_ns: mean, ..worker }.rate();
        let given = args.packet.as_ref().map_or_else(|| vec![(64, 1.0)], |sizes| sizes.0.clone());
        let sizes = Sizes::new(given).ok_or_else(|| usage("packets have at least one byte".to_owned()))?;
        let trace = args.trace.as_deref().map(read_trace).transpose()?;
        let fault = |error: TrafficError| match &args.trace {
            Some(path) => usage(format!("{}: {error}", path.display())),
            None => usage(error.to_string()),
        };
        let own_rate = trace.as_deref().map(Traffic::trace_rate).transpose().map_err(fault)?;
        let rate = match (args.rate, args.load, own_rate) {
            (Some(mpps), ..) => mpps / 1e3,
            (None, None, Some(own)) => own,
            (None, load, _) => load.unwrap_or(LOAD) / 100.0 * capacity,
        };
        let pattern = match (trace, args.arrivals) {
            (Some(trace), _) => Pattern::Trace(trace.into()),
            (None, ArrivalsArg::Cbr) => Pattern::Cbr,
            (None, ArrivalsArg::Poisson) => Pattern::Poisson,
            (None, ArrivalsArg::OnOff(n_packets, mpps)) => {
                Pattern::OnOff { n_packets, gap_ns: mpps.map_or(0.0, |mpps| 1e3 / mpps) }
            }
        };
        let traffic = Traffic::new(pattern.clone(), rate, sizes.clone()).map_err(fault)?;
        Ok(Setting {
            args,
            ghz,
            classes,
            origin,
            is_mean,
            packets,
            worker,
            capacity,
            offload,
            pattern,
            sizes,
            traffic,
        })
    }

    /// The traffic at a load of this many percent; `None` if the pattern has no such rate.
    fn at_load(&self, percent: f64) -> Option<Traffic> {
        Traffic::new(self.pattern.clone(), percent / 100.0 * self.capacity, self.sizes.clone()).ok()
    }

    fn ns_per_byte(&self) -> Option<f64> {
        self.args.port.map(|gbps| 8.0 / gbps)
    }

    fn port(&self, traffic: &Traffic) -> Option<Port> {
        let port = |ns_per_byte| Port { ns_per_byte, bytes_most: traffic.bytes_most() };
        self.ns_per_byte().map(port)
    }

    fn bound(&self, traffic: &Traffic, envelope: &Envelope, stalls: &Stalls) -> Result<Bound, NoBound> {
        bound(&self.worker, self.port(traffic).as_ref(), self.offload.as_ref(), envelope, stalls)
    }

    /// The part with the highest load, if that is 100 % or more: its queue grows without end.
    fn overload(&self, traffic: &Traffic) -> Option<NoBound> {
        let rate = traffic.rate();
        let port = self.ns_per_byte().map(|ns| (Limit::Port, rate * traffic.bytes_mean() * ns));
        let offload = self.offload.map(|offload| {
            (Limit::OffloadWorkers, rate * offload.share * offload.block_ns / f64::from(offload.n_workers))
        });
        let loads = [Some((Limit::Core, rate / self.capacity)), port, offload].into_iter().flatten();
        let (limit, load) = loads.max_by(|one, other| one.1.total_cmp(&other.1))?;
        (load >= FULL).then_some(NoBound { limit, load })
    }

    fn stalls(&self) -> Option<Stalls> {
        self.args.stall.map(|us| Stalls { tau_ns: us * 1e3, share: 0.0 })
    }

    fn estimate(&self, traffic: &Traffic, n_packets: u64) -> Estimate {
        let scene = Scene {
            service: Service::Costs { burst_ns: self.worker.burst_ns, packets: self.packets.clone() },
            burst_max: self.worker.burst_max,
            ring: self.args.ring,
            poll_ns: self.worker.poll_ns,
            port_ns: self.worker.port_ns,
            ns_per_byte: self.ns_per_byte(),
            offload: self.offload,
            stalls: None,
        };
        estimate(&scene, traffic, &SHARES.map(|(share, _)| share), n_packets, N_SIMULATIONS)
    }

    fn answer(&self, n_packets: u64) -> Answer {
        let envelope = self.traffic.envelope();
        let bounded = envelope.filter(|_| !self.is_mean);
        let with = |stalls: Stalls| bounded.map(|envelope| self.bound(&self.traffic, &envelope, &stalls));
        let service: Vec<(f64, f64)> =
            self.packets.iter().map(|(ns, share)| (ns + self.worker.burst_ns, *share)).collect();
        let poll = self.worker.poll_ns;
        let is_plain = self.args.port.is_none() && self.offload.is_none();
        let wait = (envelope.is_none() && is_plain)
            .then(|| mean_wait(self.traffic.rate(), &service, (poll, poll * poll)))
            .flatten();
        let overload = self.overload(&self.traffic);
        // A queue for offload workers keeps every packet, and the simulation slows down as it grows.
        let n_packets = match overload {
            Some(NoBound { limit: Limit::OffloadWorkers, .. }) => n_packets.min(N_PACKETS_OVERLOADED),
            _ => n_packets,
        };
        Answer {
            envelope,
            program: with(Stalls::NONE),
            machine: self.stalls().and_then(with),
            wait_ns: wait,
            estimate: self.estimate(&self.traffic, n_packets),
            overload,
            load: self.traffic.rate() / self.capacity,
        }
    }
}

struct Answer {
    /// `None`: arrivals run ahead of their rate without limit.
    envelope: Option<Envelope>,
    program: Option<Result<Bound, NoBound>>,
    machine: Option<Result<Bound, NoBound>>,
    wait_ns: Option<f64>,
    estimate: Estimate,
    /// A queue that grows without end: its simulation says nothing about delays.
    overload: Option<NoBound>,
    load: f64,
}

fn read_trace(path: &Path) -> Result<Vec<Arrival>, Problem> {
    let problem = |error: packet_io::ReadError| (error.to_string(), Exit::Environment);
    let mut reader = PacketReader::open(path).map_err(problem)?;
    let mut first = None;
    let mut arrivals = Vec::new();
    let mut is_full = false;
    reader
        .visit(&mut |packet| {
            let first = *first.get_or_insert(packet.timestamp_ns);
            // Times before the first are negative: the order is judged later.
            let at_ns = packet.timestamp_ns as f64 - first as f64;
            arrivals.push(Arrival { at_ns, bytes: packet.original_len_bytes.max(1) });
            is_full = arrivals.len() > N_TRACE_MAX;
            !is_full
        })
        .map_err(problem)?;
    match is_full {
        true => Err((format!("{}: more than {N_TRACE_MAX} packets", path.display()), Exit::Usage)),
        false => Ok(arrivals),
    }
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Core => "core",
        Limit::Port => "port",
        Limit::OffloadWorkers => "offload workers",
    }
}

fn us(ns: f64) -> String {
    match ns / 1e3 {
        us if us >= 1e5 => format!("{us:.0}"),
        us => format!("{us:.3}"),
    }
}

impl Answer {
    fn json(&self, setting: &Setting<'_>) -> Value {
        let rounded = report::rounded;
        let of = |found: &Option<Result<Bound, NoBound>>| match found {
            Some(Ok(bound)) => json!({
                "delay_ns": rounded(bound.delay_ns), "backlog": bound.backlog, "limit": limit_name(bound.limit),
                "ring_overflows": bound.backlog > setting.args.ring as f64,
            }),
            Some(Err(none)) => {
                json!({ "delay_ns": null, "limit": limit_name(none.limit), "load": rounded(none.load * 100.0) })
            }
            None => Value::Null,
        };
        let classes = setting
            .classes
            .iter()
            .map(|(cycles, share)| json!({ "cycles": rounded(*cycles), "share": report::share(*share) }));
        let delay = |ns: f64| if self.overload.is_none() { json!(rounded(ns)) } else { Value::Null };
        let percentiles = SHARES.iter().zip(&self.estimate.quantiles).map(|((_, name), (ns, half))| {
            json!({ "percentile": name, "ns": delay(*ns), "half_width_ns": delay(*half) })
        });
        json!({
            "version": 1, "ghz": setting.ghz, "classes": classes.collect::<Vec<_>>(), "burst": setting.args.burst, "ring": setting.args.ring,
            "capacity_mpps": rounded(setting.capacity * 1e3), "mpps": rounded(setting.traffic.rate() * 1e3),
            "load": rounded(self.load * 100.0), "sigma": self.envelope.map(|envelope| rounded(envelope.sigma)),
            "program_bound": of(&self.program), "machine_bound": of(&self.machine),
            "mean_wait_ns": self.wait_ns.map(rounded),
            "overload": self.overload.map(|found| json!({ "limit": limit_name(found.limit), "load": rounded(found.load * 100.0) })),
            "simulated": {
                "mean_ns": delay(self.estimate.mean_ns), "percentiles": percentiles.collect::<Vec<_>>(),
                "max_ns": delay(self.estimate.most_ns), "packets": self.estimate.n_packets,
                "lost": self.estimate.n_lost, "backlog": self.estimate.backlog, "busy": rounded(self.estimate.busy),
            },
        })
    }

    fn text(&self, setting: &Setting<'_>) -> String {
        let args = setting.args;
        let mut text = setting.origin.iter().map(|origin| format!("{origin}\n")).collect::<String>();
        text += &format!(
            "A core of {} GHz takes {:.2} million packets a second in full bursts of {}; {:.2} come, a load of {:.0} %.\n",
            (setting.ghz * 1e3).round() / 1e3,
            setting.capacity * 1e3,
            args.burst,
            setting.traffic.rate() * 1e3,
            100.0 * self.load
        );
        if let Some(mix) = args.port.and(args.packet.as_ref()).and_then(|SizesArg(sizes)| {
            let sizes: Vec<(f64, f64)> = sizes.iter().map(|(n, share)| (f64::from(*n), *share)).collect();
            mix(&sizes, "have", "bytes")
        }) {
            text += &format!("{mix}\n");
        }
        text += &match self.envelope {
            Some(envelope) => format!(
                "Arrivals run ahead of their mean rate by at most {:.1} packets (sigma).\n\n",
                envelope.sigma
            ),
            None => "Arrivals run ahead of their mean rate without limit, so there is no longest delay.\n\n"
                .to_owned(),
        };
        let mut rows = vec![["delay", "microseconds", ""].map(str::to_owned).to_vec()];
        let row = |name: &str, ns: f64, words: String| vec![name.to_owned(), us(ns), words];
        let mut sentences = Vec::new();
        match &self.overload {
            Some(found) => {
                let words = "delays grow without end".to_owned();
                rows.push(vec!["mean, percentiles".to_owned(), "-".to_owned(), words]);
                sentences.push(overloaded(found, self.load, args.ring));
            }
            None => {
                rows.push(row("mean", self.estimate.mean_ns, "simulated".to_owned()));
                for ((_, name), (ns, half)) in SHARES.iter().zip(&self.estimate.quantiles) {
                    rows.push(row(name, *ns, format!("simulated, +- {}", us(*half))));
                }
            }
        }
        let mut add = |name: &str, found: &Option<Result<Bound, NoBound>>, words: String| match found {
            Some(Ok(bound)) => rows.push(row(name, bound.delay_ns, words)),
            Some(Err(none)) => {
                rows.push(vec![name.to_owned(), "-".to_owned(), "no bound exists".to_owned()]);
                if self.overload.is_none_or(|found| found.limit != none.limit) {
                    sentences.push(no_bound(name, none, self.load));
                }
            }
            None => {}
        };
        add(
            "bound of the program",
            &self.program,
            "no packet takes longer while nothing stalls the core".to_owned(),
        );
        let stall = args.stall.unwrap_or(0.0);
        add(
            "bound of the machine",
            &self.machine,
            format!("with stalls of {stall} us, one while packets wait"),
        );
        if setting.is_mean {
            sentences.push(
                "The dearest packet is not known, so there is no bound: give a script, or a capture with --pcap.".to_owned(),
            );
        }
        if let Some(wait) = self.wait_ns {
            rows.push(row("mean wait, formula", wait, "M/G/1 with vacations, packets one by one".to_owned()));
        }
        for row in &rows {
            let line = format!("{:<20} {:>12}  {}", row[0], row[1], row[2]);
            text += &format!("{}\n", line.trim_end());
        }
        text.push('\n');
        for found in [&self.machine, &self.program]
            .into_iter()
            .flatten()
            .filter_map(|found| found.as_ref().ok())
            .take(1)
        {
            let verdict = if found.backlog <= args.ring as f64 { "loses none" } else { "may lose some" };
            text += &format!(
                "Packets that wait or are in work: at most {:.0} ({} in the simulation); a ring of {} {verdict}.\n",
                found.backlog, self.estimate.backlog, args.ring
            );
        }
        let n_all = self.estimate.n_packets + self.estimate.n_lost;
        if self.estimate.n_lost > 0 {
            text += &format!(
                "The simulation lost {:.2} % of the packets, as the ring of {} was full.\n",
                100.0 * self.estimate.n_lost as f64 / n_all.max(1) as f64,
                args.ring
            );
        }
        if let Some(Ok(bound)) = &self.program {
            text += &format!("With more packets, the {} would be the limit.\n", limit_name(bound.limit));
        }
        if args.port.is_none() && args.packet.is_some() {
            text += "note: --packet has no effect without --port: only the port's delay depends on lengths\n";
        }
        for sentence in sentences {
            text += &format!("{sentence}\n");
        }
        text
    }
}

/// `90 % of packets take 200 cycles, 10 % 1500.`; nothing about a single value.
fn mix(values: &[(f64, f64)], verb: &str, unit: &str) -> Option<String> {
    let percent = |share: f64| (share * 1e4).round() / 100.0;
    let (first, others) = values.split_first().filter(|(_, others)| !others.is_empty())?;
    let others: String = others.iter().map(|(n, share)| format!(", {} % {n}", percent(*share))).collect();
    Some(format!("{} % of packets {verb} {} {unit}{others}.", percent(first.1), first.0))
}

fn overloaded(found: &NoBound, load: f64, ring: u64) -> String {
    let (end, remedy) = match found.limit {
        Limit::Core => (
            format!(", until the ring of {ring} is full and packets are lost"),
            "lower --load or --rate, or give packets fewer cycles",
        ),
        Limit::Port => (String::new(), "lower --load or --rate, or give --port a higher rate"),
        Limit::OffloadWorkers => (String::new(), "lower --load or --rate, or raise --offload-workers"),
    };
    format!(
        "The mean load of the {} is {:.0} %, so that delays grow without end{end}: {remedy}. They stay finite below a load of {} %.",
        limit_name(found.limit),
        100.0 * found.load,
        rounded_down(100.0 * load / found.load)
    )
}

/// A percentage of two digits or more, never too high.
fn rounded_down(percent: f64) -> f64 {
    let scale = if percent < 10.0 { 100.0 } else { 1.0 };
    (percent * scale + 1e-6).floor() / scale
}

fn no_bound(name: &str, none: &NoBound, load: f64) -> String {
    let costs = match none.limit {
        Limit::Core => ", if all packets cost the most",
        Limit::Port => ", if all packets are the longest",
        Limit::OffloadWorkers => "",
    };
    format!(
        "No {name} exists: the {} would be loaded to {:.0} %{costs}, and a queue that is loaded to 100 % or more grows without end. \
         One exists below a load of {} %.",
        limit_name(none.limit),
        100.0 * none.load,
        rounded_down(100.0 * load / none.load)
    )
}

fn draw(path: &Path, setting: &Setting<'_>) -> Result<(), Problem> {
    let mut lines: Vec<Vec<(f64, f64)>> = vec![Vec::new(); SHARES.len() + 2];
    for load in LOADS_DRAWN {
        let Some(traffic) = setting.at_load(load) else { continue };
        // A queue that grows without end has no percentiles.
        let found = setting.overload(&traffic).is_none().then(|| setting.estimate(&traffic, N_PACKETS_DRAWN));
        let quantiles = found.map(|found| found.quantiles).unwrap_or_default();
        for (line, (ns, _)) in lines.iter_mut().zip(&quantiles) {
            line.push((load, ns / 1e3));
        }
        let envelope = traffic.envelope();
        for (i, stalls) in [(SHARES.len(), Some(Stalls::NONE)), (SHARES.len() + 1, setting.stalls())] {
            let found =
                envelope.zip(stalls).map(|(envelope, stalls)| setting.bound(&traffic, &envelope, &stalls));
            lines[i].extend(found.and_then(Result::ok).map(|bound| (load, bound.delay_ns / 1e3)));
        }
    }
    let names =
        SHARES.map(|(_, name)| name).into_iter().chain(["bound of the program", "bound of the machine"]);
    let series = names.zip(lines).filter(|(_, points)| !points.is_empty());
    let chart = Chart {
        title: "Delays by load".to_owned(),
        x: "percent of what the core takes".to_owned(),
        y: "microseconds".to_owned(),
        across: Across::Linear,
        series: series
            .map(|(name, points)| Series { name: name.to_owned(), points, ..Series::default() })
            .collect(),
        ..Chart::default()
    };
    replace_file(path, chart::svg(&chart).as_bytes())
        .map_err(|error| (format!("{}: {error}", path.display()), Exit::Environment))
}

/// `siding model targets`: the page of the manual.
pub fn targets() -> Exit {
    output::out(include_str!("../../../../../docs/reference/targets.md"));
    Exit::Ok
}
