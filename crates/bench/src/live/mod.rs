//! `siding bench live`: packets through two ports of a switch in a process of its own, beside other programs in its place.
//!
//! Generator and sink share a thread and a core; what is measured has others. Everything is in one network namespace. Before a
//! subject is measured, `check` looks at the packets that it lets through. `circulate` measures without a generator.

mod check;
mod circulate;
mod outcome;
mod program;
mod subject;

use crate::args::{BenchLiveArgs, LiveProgramArg, MediumArg};
use crate::frontend::median;
use crate::harness::{Goal, Judged};
use crate::ports::{Pair, Place, Running};
use crate::report;
use circulate::Circulation;
use console::output::{self, Exit};
use outcome::{MEMIF_GOALS, ratios};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use subject::{Subject, Task};
use traffic::{
    ChecksumCheck, Content, Control, Generator, GeneratorOptions, IdleMode, Rate, Receiver, SearchOptions,
    Sender, Sink, Sizes, Station, Totals, TrafficError, Trial, TrialResult,
};

/// How long a subject may take until packets come through.
const START: Duration = Duration::from_secs(60);
/// Packets a second of the first packets.
const GENTLE: Rate = Rate::PacketsPerS(20_000);
/// A rate without loss is known to this part of itself.
const RESOLUTION: f64 = 0.02;
/// Packets that come later count as lost.
const DRAIN: Duration = Duration::from_millis(50);

/// The result of one subject with frames of one size and so many entries.
#[derive(Debug)]
struct Figure {
    subject: Subject,
    n_entries: u32,
    sizes: String,
    /// Received packets a second when the generator sends as fast as it can; median of the trials, least, most.
    flood: [f64; 3],
    offered: f64,
    /// The highest rate without loss, if it was searched; the inner `None` means that packets were lost at every rate.
    zero_loss: Option<Option<f64>>,
    /// At half of the rate without loss, or of the other one.
    half: Totals,
}

pub fn run(args: &BenchLiveArgs) -> Exit {
    // The thread's network namespace is its own, and that of all processes that it starts.
    let measured = std::thread::scope(|scope| {
        let thread = scope.spawn(|| measure(args));
        thread.join().unwrap_or(Err(Exit::Bug))
    });
    match measured {
        Ok(()) => Exit::Ok,
        Err(exit) => exit,
    }
}

fn refused(text: &str) -> Exit {
    output::error_line(text);
    Exit::Usage
}

fn measure(args: &BenchLiveArgs) -> Result<(), Exit> {
    if args.measure.svg.is_some() {
        return Err(refused("--svg is for benchmarks along an axis: this one compares programs"));
    }
    if let Some(why) = circulate::refusal(args) {
        return Err(refused(&why));
    }
    let quick = args.measure.quick;
    let sizes = match (args.sizes.as_slice(), quick) {
        ([], true) => vec!["64"],
        ([], false) => vec!["64", "512", "1518", "imix"],
        (given, _) => given.iter().map(String::as_str).collect(),
    };
    let sizes: Vec<Sizes> =
        sizes.into_iter().map(str::parse).collect::<Result<_, String>>().map_err(|error| refused(&error))?;
    let entries = match (args.entries.as_slice(), quick) {
        ([], true) => vec![10],
        ([], false) => vec![10, 100_000],
        (given, _) => given.to_vec(),
    };
    let trial = args.trial.unwrap_or(if quick { 0.5 } else { 2.0 });
    if !(0.05..=600.0).contains(&trial) {
        return Err(refused(&format!("--trial is {trial} seconds; it can be 0.05 to 600")));
    }
    let allowed = packet_io::allowed_cores().unwrap_or_else(|_| vec![0]);
    let cores = worker_cores(args, &allowed)?;
    let subjects = wanted(args)?;
    let dir = tempfile::tempdir().map_err(|error| {
        output::error_line(&format!("cannot make a directory: {error}"));
        Exit::Environment
    })?;
    let place = Place::enter(args.over, dir.path(), cores.len())?;
    let trial = Duration::from_secs_f64(trial);
    if args.circulate {
        let mut circulation = Circulation::new(args, &place, &cores, trial);
        circulation.measure(&entries, &subjects)?;
        circulation.show();
        return Ok(());
    }
    let mut bench = Bench { args, place, cores, trial, figures: Vec::new(), absent: Vec::new() };
    for (i, n_entries) in entries.iter().enumerate() {
        for subject in subjects.iter().filter(|subject| i == 0 || subject.has_table()) {
            bench.measure_subject(*subject, *n_entries, &sizes)?;
        }
    }
    bench.show()
}

/// Subjects that can run the program, and that --only names.
fn wanted(args: &BenchLiveArgs) -> Result<Vec<Subject>, Exit> {
    let can_run = Subject::over(args.over).iter().copied().filter(|subject| subject.can_run(args.program));
    let (wanted, others): (Vec<_>, Vec<_>) = can_run.partition(|subject| {
        args.only.is_empty() || args.only.iter().any(|name| subject.name().starts_with(name.as_str()))
    });
    if wanted.is_empty() {
        let names: Vec<_> = others.iter().map(|subject| subject.name()).collect();
        return Err(refused(&format!("--only names nothing that is measured here: {}", names.join(", "))));
    }
    Ok(wanted)
}

/// Cores of the workers: the first one and those that follow, without the generator's.
fn worker_cores(args: &BenchLiveArgs, allowed: &[usize]) -> Result<Vec<usize>, Exit> {
    let n_workers = usize::from(args.workers);
    for (option, core) in [("--core", args.core), ("--generator-core", args.generator_core)] {
        if !allowed.contains(&core) {
            let names: Vec<String> = allowed.iter().map(usize::to_string).collect();
            let names = names.join(", ");
            return Err(refused(&format!("{option} {core}: this process may use the cores {names}")));
        }
    }
    if n_workers == 1 {
        return Ok(vec![args.core]);
    }
    let cores = cores_from(args.core, args.generator_core, allowed);
    if cores.len() < n_workers {
        output::error_line(&format!(
            "--workers {n_workers} needs {n_workers} cores from core {} on, beside core {} of the generator, and there {} {}; choose \
             fewer workers, or other cores with --core and --generator-core",
            args.core,
            args.generator_core,
            if cores.len() == 1 { "is" } else { "are" },
            cores.len()
        ));
        return Err(Exit::Environment);
    }
    Ok(cores[..n_workers].to_vec())
}

/// Allowed cores from the first one on, without the generator's.
fn cores_from(first: usize, generator: usize, allowed: &[usize]) -> Vec<usize> {
    allowed.iter().copied().filter(|core| *core >= first && *core != generator).collect()
}

/// Looks at each packet.
fn sink() -> Receiver {
    Receiver::Sink(Box::new(Sink::new(ChecksumCheck::Off)))
}

struct Bench<'a> {
    args: &'a BenchLiveArgs,
    place: Place,
    /// A worker on each.
    cores: Vec<usize>,
    trial: Duration,
    figures: Vec<Figure>,
    absent: Vec<String>,
}

impl Bench<'_> {
    fn measure_subject(&mut self, subject: Subject, n_entries: u32, sizes: &[Sizes]) -> Result<(), Exit> {
        self.place.prepare(2)?;
        let task = Task {
            place: &self.place,
            program: self.args.program,
            n_entries,
            cores: &self.cores,
            other_core: self.args.generator_core,
            optimise: self.args.measure.cc.optimise,
        };
        let found = subject.start(&task).and_then(|mut running| {
            let log = subject.log(&self.place);
            let n_queues = subject.n_queues(&task);
            let mut pair = Pair::open(&self.place, [0, 1], n_queues, &mut || running.check(&log))?;
            self.wait(subject, &mut running, &mut pair, n_entries)?;
            let program = self.args.program;
            let expected = |flow: u32| subject.expected(program, flow);
            check::check(&mut pair, program, n_entries, &expected, self.args.generator_core)?;
            sizes
                .iter()
                .map(|sizes| self.figure(subject, &mut pair, n_entries, sizes))
                .collect::<Result<Vec<_>, _>>()
        });
        match found {
            Ok(figures) => self.figures.extend(figures),
            Err(why) => outcome::note_absent(&mut self.absent, subject, &why),
        }
        Ok(())
    }

    /// Waits until packets come through.
    fn wait(
        &self,
        subject: Subject,
        running: &mut Running,
        pair: &mut Pair,
        n_entries: u32,
    ) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            running.check(&subject.log(&self.place))?;
            let totals = self.send(pair, n_entries, &Sizes::fixed(64), GENTLE, Duration::from_millis(100))?;
            if totals.n_received > 0 && totals.loss_ratio < 0.5 {
                return Ok(());
            }
            if begin.elapsed() > START {
                return Err(format!("no packet comes through ({} sent)", totals.n_sent));
            }
        }
    }

    fn figure(
        &self,
        subject: Subject,
        pair: &mut Pair,
        n_entries: u32,
        sizes: &Sizes,
    ) -> Result<Figure, String> {
        let (mut received, mut offered) = (Vec::new(), Vec::new());
        for _ in 0..self.args.measure.n_runs() {
            let generator = self.generator(n_entries, sizes, Rate::Unlimited, self.trial)?;
            // Packets are counted only: whoever looks at each of them is slower than the switch.
            let counter = Receiver::Recording(Box::default());
            let totals = self.trial(pair, generator, counter).map_err(|error| error.to_string())?.totals;
            // Packets that are still in queues when the generator ends come later.
            received.push(totals.n_received as f64 / self.trial.as_secs_f64());
            offered.push(totals.sent_packets_per_s);
        }
        received.sort_by(f64::total_cmp);
        let middle = median(received.clone());
        let at_half = |pair: &mut Pair| {
            let half = Rate::PacketsPerS((middle / 2.0).max(1000.0) as u64);
            self.send(pair, n_entries, sizes, half, self.trial)
        };
        let (zero_loss, half) = match self.args.zero_loss {
            false => (None, at_half(pair)?),
            true => match self.search(pair, n_entries, sizes)? {
                Some((per_s, half)) => (Some(Some(per_s)), half),
                None => (Some(None), at_half(pair)?),
            },
        };
        Ok(Figure {
            subject,
            n_entries,
            sizes: sizes.to_string(),
            flood: [middle, received[0], received[received.len() - 1]],
            offered: median(offered),
            zero_loss,
            half,
        })
    }

    /// Searches the highest rate without loss. Returns it with the trial at half of it, or `None` if packets are always lost.
    fn search(
        &self,
        pair: &mut Pair,
        n_entries: u32,
        sizes: &Sizes,
    ) -> Result<Option<(f64, Totals)>, String> {
        let options = SearchOptions {
            flows: self.args.program.flows(n_entries)?,
            trial: self.trial,
            loss_max: 0.0,
            resolution: RESOLUTION,
            rate_max: Rate::Unlimited,
            burst_max: 32,
        };
        let mut run = |generator: GeneratorOptions| self.trial(pair, generator, sink()).map(Some);
        let found =
            traffic::search(&options, sizes, &mut run, &mut |_| {}).map_err(|error| error.to_string())?;
        Ok(found.and_then(|point| Some((point.packets_per_s?, point.half?.totals))))
    }

    fn send(
        &self,
        pair: &mut Pair,
        n_entries: u32,
        sizes: &Sizes,
        rate: Rate,
        duration: Duration,
    ) -> Result<Totals, String> {
        let generator = self.generator(n_entries, sizes, rate, duration)?;
        Ok(self.trial(pair, generator, sink()).map_err(|error| error.to_string())?.totals)
    }

    fn generator(
        &self,
        n_entries: u32,
        sizes: &Sizes,
        rate: Rate,
        duration: Duration,
    ) -> Result<GeneratorOptions, String> {
        Ok(GeneratorOptions {
            content: Content::Flows { flows: self.args.program.flows(n_entries)?, sizes: sizes.clone() },
            rate,
            n_packets: None,
            duration: Some(duration),
            stream: 0,
            burst_max: 32,
        })
    }

    fn trial(
        &self,
        pair: &mut Pair,
        generator: GeneratorOptions,
        receiver: Receiver,
    ) -> Result<TrialResult, TrafficError> {
        let generator = Generator::new(generator, packet_io::Port::frame_bytes_max(pair))?;
        let station = Station {
            port: pair,
            sender: Some(Sender::Generator(Box::new(generator))),
            receiver: Some(receiver),
            core: Some(self.args.generator_core),
            idle: IdleMode::Spin,
        };
        let mut trial = Trial::new(vec![station]);
        trial.drain = DRAIN;
        trial.run(&Control::new(1))
    }

    fn goals(&self) -> Vec<Judged> {
        let mut goals = Vec::new();
        // They are those of a layer-2 switch with one worker.
        if self.args.program != LiveProgramArg::L2 || self.cores.len() > 1 {
            return goals;
        }
        let mut judge = |name: &str, values: Vec<(u64, f64)>, goal: Goal| {
            goals.extend(values.into_iter().map(|(size, value)| Judged {
                name: name.to_owned(),
                size,
                value,
                goal,
            }));
        };
        let pairs = [
            ("afxdp to testpmd net_af_xdp", Subject::SidingXdp, Subject::TestpmdXdp, 0.9),
            ("afxdp to bmv2", Subject::SidingXdp, Subject::Bmv2, 5.0),
            ("afpacket to bmv2", Subject::SidingPacket, Subject::Bmv2, 2.0),
            ("dpdk to testpmd", Subject::SidingDpdk, Subject::TestpmdShared, 0.8),
            ("dpdk to ovs dpdk", Subject::SidingDpdk, Subject::OvsDpdk, 1.5),
        ];
        let of_64 = self.figures.iter().filter(|figure| figure.sizes == "64");
        let rates: Vec<_> = of_64.map(|figure| (figure.subject, figure.n_entries, figure.flood[0])).collect();
        for (name, ours, other, limit) in pairs.into_iter().chain(MEMIF_GOALS) {
            judge(name, ratios(&rates, ours, other), Goal::AtLeast(limit));
        }
        if self.place.medium != MediumArg::Veth {
            let ours = self.figures.iter().filter(|figure| figure.subject == Subject::SidingDpdk);
            let delays = ours.filter_map(|figure| {
                let latency = figure.half.latency.as_ref()?;
                Some((u64::from(figure.n_entries), latency.p99_ns as f64 / 1e3))
            });
            judge("p99 in microseconds", delays.collect(), Goal::AtMost(50.0));
        }
        goals
    }

    fn show(&self) -> Result<(), Exit> {
        let goals = self.goals();
        let medium = self.place.medium.name();
        let delays = match self.args.zero_loss {
            true => "delays are at half of the highest rate without loss (RFC 2544)",
            false => "delays are at half of that rate",
        };
        let notes = [
            format!(
                "Rates are packets that arrive in a second while the generator sends as fast as it can; {delays}."
            ),
            "Generator and sink share a core with what the kernel does for the packets that they send. `stalled` is the share of time in \
             which this core did something else while delays were measured: packets were late for that reason."
                .to_owned(),
            "A packet of each flow was looked at first: addresses, ports, time to live, checksums."
                .to_owned(),
        ];
        if self.args.measure.json {
            let value = json!({
                "version": 1,
                "siding": env!("CARGO_PKG_VERSION"),
                "work": "live",
                "over": medium,
                "program": self.args.program.name(),
                "workers": self.cores.len(),
                "quick": self.args.measure.quick,
                "trial_s": self.trial.as_secs_f64(),
                "goals": goals.iter().map(Judged::json).collect::<Vec<_>>(),
                "absent": self.absent,
                "notes": notes,
                "figures": self.figures.iter().map(|figure| figure.json(self.args.program)).collect::<Vec<_>>(),
            });
            output::out(&format!("{value}\n"));
            return Ok(());
        }
        let mut head = vec![
            "", "entries", "frame", "M/s", "least", "most", "offered", "p50 us", "p99 us", "p99.9 us",
            "stalled",
        ];
        if self.args.zero_loss {
            head.insert(7, "no loss");
        }
        let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        rows.extend(self.figures.iter().map(Figure::cells));
        let title = format!("Packets through two ports over {medium}, program {}", self.args.program.name());
        output::out(&outcome::text(&title, &rows, &goals, self.absent.iter().chain(&notes)));
        Ok(())
    }
}

impl Figure {
    fn json(&self, program: LiveProgramArg) -> Value {
        let [middle, least, most] = self.flood;
        let mut value = json!({
            "subject": self.subject.name(),
            "program": program.name(),
            "entries": self.n_entries,
            "frame": self.sizes,
            "packets_per_s": middle.round(),
            "least": least.round(),
            "most": most.round(),
            "offered": self.offered.round(),
            "half": self.half,
        });
        if let Some(zero_loss) = self.zero_loss {
            value["zero_loss_packets_per_s"] = json!(zero_loss.map(f64::round));
        }
        value
    }

    fn cells(&self) -> Vec<String> {
        let m = |n: f64| format!("{:.3}", n / 1e6);
        let us = |ns: Option<u64>| ns.map_or_else(String::new, |ns| format!("{:.1}", ns as f64 / 1e3));
        let latency = self.half.latency.as_ref();
        let mut cells = vec![
            self.subject.name().to_owned(),
            report::short(u64::from(self.n_entries)),
            self.sizes.clone(),
            m(self.flood[0]),
            m(self.flood[1]),
            m(self.flood[2]),
            m(self.offered),
            us(latency.map(|l| l.p50_ns)),
            us(latency.map(|l| l.p99_ns)),
            us(latency.map(|l| l.p999_ns)),
            stalled(&self.half),
        ];
        if let Some(zero_loss) = self.zero_loss {
            cells.insert(7, zero_loss.map_or_else(|| "-".to_owned(), m));
        }
        cells
    }
}

/// The share of a trial in which the core of generator and sink did something else. Packets that wait for it are late, whatever the
/// switch did.
fn stalled(totals: &Totals) -> String {
    let sent_s = totals.n_sent as f64 / totals.sent_packets_per_s;
    let stalled_s = totals.stalls.stalled_ns as f64 / 1e9;
    if sent_s > 0.0 { format!("{:.1} %", 100.0 * stalled_s / sent_s) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_get_the_cores_behind_the_first_one() {
        assert_eq!(cores_from(1, 0, &[0, 1, 2, 5]), [1, 2, 5]);
        assert_eq!(cores_from(0, 2, &[0, 1, 2, 3]), [0, 1, 3]);
        assert!(cores_from(4, 0, &[0, 1]).is_empty());
    }

    #[test]
    fn figures_name_their_program_and_the_rate_without_loss() {
        let mut figure = Figure {
            subject: Subject::SidingXdp,
            n_entries: 10,
            sizes: "64".to_owned(),
            flood: [2e6, 1e6, 3e6],
            offered: 4e6,
            zero_loss: None,
            half: Totals::default(),
        };
        let value = figure.json(LiveProgramArg::Nat);
        assert_eq!((&value["program"], &value["packets_per_s"]), (&json!("nat"), &json!(2e6)));
        assert!(value.get("zero_loss_packets_per_s").is_none());
        let n_cells = figure.cells().len();
        figure.zero_loss = Some(Some(1.5e6));
        assert_eq!(figure.json(LiveProgramArg::Nat)["zero_loss_packets_per_s"], json!(1.5e6));
        assert_eq!((figure.cells()[7].as_str(), figure.cells().len()), ("1.500", n_cells + 1));
        figure.zero_loss = Some(None);
        assert_eq!(figure.json(LiveProgramArg::Nat)["zero_loss_packets_per_s"], Value::Null);
        assert_eq!(figure.cells()[7], "-");
        assert_eq!(stalled(&figure.half), "");
        figure.half = Totals { n_sent: 500, sent_packets_per_s: 1000.0, ..Totals::default() };
        figure.half.stalls.stalled_ns = 5_000_000;
        assert_eq!(stalled(&figure.half), "1.0 %");
    }
}
