//! `siding bench live --circulate`: the rate of switches without a generator.
//!
//! Both ends of one memif link are ports of the same switch, whose rule sends whatever comes to the first end; it arrives at the
//! second one and goes to the first one again. A few packets are let in once, through a pair of virtual interfaces, and circulate
//! as fast as the switch forwards them. A counter of the switch is read from outside, at both ends of a trial. Testpmd makes
//! its packets itself, and forwards them in both directions.

use super::outcome::{self, MEMIF_GOALS};
use super::subject::{self, OvsPort, Subject, TESTPMD, Task};
use crate::args::{BenchLiveArgs, LiveProgramArg, MediumArg};
use crate::frontend::median;
use crate::harness::{Goal, Judged};
use crate::ports::{Place, Running};
use crate::report;
use console::output::{self, Exit};
use dataplane::{PortKind, PortSpec};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use traffic::{
    Content, Control, FlowOptions, FlowOrder, Generator, GeneratorOptions, IdleMode, Rate, Sender, Sizes,
    Station, Trial,
};

/// Packets that circulate.
const N_PACKETS: u32 = 256;
/// Bursts that each of testpmd's two ports sends first, so that there are as many packets.
const N_FIRST_BURSTS: u32 = N_PACKETS / 32 / 2;
/// Bytes of a frame with its check sequence, and without.
const FRAME: &str = "64";
const FRAME_BYTES: usize = 60;
/// Slow enough for a switch that sees each flow for the first time.
const GENTLE: Rate = Rate::PacketsPerS(100_000);
/// How long a subject may take until packets circulate.
const START: Duration = Duration::from_secs(60);
/// Both ends of the link have found each other so long after the switch answers.
const SETTLE: Duration = Duration::from_millis(500);
/// Looks at packets that have been let in until they count as lost.
const N_PROOFS: u32 = 10;
/// Between two looks at a switch that starts.
const PAUSE: Duration = Duration::from_millis(100);
/// Between two looks at testpmd's output.
const POLL: Duration = Duration::from_micros(200);

/// The interface that lets packets in.
const ENTRANCE: usize = 0;
/// Siding's port that transmits all packets that circulate.
const FIRST_END: u32 = 1;

/// Says why the options do not fit, and what to type.
pub(super) fn refusal(args: &BenchLiveArgs) -> Option<String> {
    if !args.circulate {
        return None;
    }
    if args.over != MediumArg::Memif {
        return Some("--circulate needs a link with both ends in one switch: add --over memif".to_owned());
    }
    if args.program != LiveProgramArg::L2 {
        let name = args.program.name();
        return Some(format!("--circulate is for --program l2 only, not {name}: leave --program out"));
    }
    if args.workers != 1 {
        let n = args.workers;
        return Some(format!("--circulate measures one worker, not {n}: leave --workers out"));
    }
    let other = args.sizes.iter().find(|size| size.as_str() != FRAME);
    other.map(|size| format!("--circulate sends frames of {FRAME} bytes, not {size}: leave --size out"))
}

/// A benchmark of circulating packets, and what it has found.
#[derive(Debug)]
pub(super) struct Circulation<'a> {
    args: &'a BenchLiveArgs,
    place: &'a Place,
    cores: &'a [usize],
    trial: Duration,
    figures: Vec<Figure>,
    /// Sentences about subjects that are not measured.
    absent: Vec<String>,
}

#[derive(Debug)]
struct Figure {
    subject: Subject,
    n_entries: u32,
    /// Transmitted packets a second: median of the trials, least, most.
    rate: [f64; 3],
}

/// A count at a time.
#[derive(Clone, Copy, Debug)]
struct Look {
    n_packets: u64,
    at: Instant,
}

/// A count of transmitted packets of a running subject.
#[derive(Debug)]
enum Counter {
    /// The control socket of the switch.
    Siding(PathBuf),
    /// The control socket of the daemon.
    Ovs(PathBuf),
    /// The file that gets the answers of its prompt.
    Testpmd(PathBuf),
}

impl<'a> Circulation<'a> {
    pub(super) fn new(
        args: &'a BenchLiveArgs,
        place: &'a Place,
        cores: &'a [usize],
        trial: Duration,
    ) -> Circulation<'a> {
        Circulation { args, place, cores, trial, figures: Vec::new(), absent: Vec::new() }
    }

    pub(super) fn measure(&mut self, entries: &[u32], subjects: &[Subject]) -> Result<(), Exit> {
        for (i, n_entries) in entries.iter().enumerate() {
            for subject in subjects.iter().filter(|subject| i == 0 || subject.has_table()) {
                self.place.prepare(1)?;
                self.place.make_interface(ENTRANCE)?;
                match self.figure(*subject, *n_entries) {
                    Ok(figure) => self.figures.push(figure),
                    Err(why) => outcome::note_absent(&mut self.absent, *subject, &why),
                }
            }
        }
        Ok(())
    }

    fn figure(&self, subject: Subject, n_entries: u32) -> Result<Figure, String> {
        let mut running = Running::default();
        let counter = self.start(subject, n_entries, &mut running)?;
        self.wait(&counter, &subject.log(self.place), n_entries, &mut running)?;
        let mut rates = Vec::new();
        let mut before = counter.look(&mut running)?;
        for _ in 0..self.args.measure.n_runs() {
            std::thread::sleep(self.trial);
            let after = counter.look(&mut running)?;
            rates.push(after.rate_since(before));
            before = after;
        }
        rates.sort_by(f64::total_cmp);
        let rate = [median(rates.clone()), rates[0], rates[rates.len() - 1]];
        match rate[0] > 0.0 {
            true => Ok(Figure { subject, n_entries, rate }),
            false => Err("packets have ceased to circulate".to_owned()),
        }
    }

    fn start(&self, subject: Subject, n_entries: u32, running: &mut Running) -> Result<Counter, String> {
        let task = Task {
            place: self.place,
            program: LiveProgramArg::L2,
            n_entries,
            cores: self.cores,
            other_core: self.args.generator_core,
            optimise: self.args.measure.cc.optimise,
        };
        let log = subject.log(self.place);
        let socket = self.place.socket(0).display().to_string();
        let devices = [("server", 1), ("client", 2)]
            .map(|(role, i)| format!("net_memif{i},role={role},socket={socket},socket-abstract=no"));
        let entrance = self.place.near_interface(ENTRANCE);
        match subject {
            Subject::TestpmdShared => {
                let found = Command::new(TESTPMD).arg("--help").output();
                found.map_err(|error| format!("cannot start {TESTPMD}: {error} (package dpdk-dev)"))?;
                // Otherwise its answers wait in a buffer, as its output is a file.
                let mut command = Command::new("stdbuf");
                command.args(["-oL", TESTPMD]);
                let options = ["--interactive", &format!("--txpkts={FRAME_BYTES}")];
                subject::testpmd(&mut command, &task, &devices, &options, &log, running)?;
                Ok(Counter::Testpmd(log))
            }
            Subject::OvsDpdk => {
                let [first, second] = devices;
                let n_queues = subject.n_queues(&task);
                let ports = [
                    OvsPort { name: entrance, words: Vec::new() },
                    OvsPort::memif(1, &first, n_queues),
                    OvsPort::memif(2, &second, n_queues),
                ];
                subject::ovs(subject, &task, &ports, &log, running)?;
                Ok(Counter::Ovs(subject::ovs_control(&self.place.dir)))
            }
            _ => {
                let [first, second] = match subject {
                    Subject::SidingMemif => {
                        [format!("memif:{socket},role=server"), format!("memif:{socket}")]
                    }
                    _ => devices.map(|device| format!("dpdk:{device}")),
                };
                // A switch before this one may have left its socket.
                let control = self.place.dir.join("ctl");
                let _ = fs::remove_file(&control);
                subject::siding(&task, &[entrance, first, second], &log, running)?;
                Ok(Counter::Siding(control))
            }
        }
    }

    /// Lets packets in until they circulate.
    fn wait(
        &self,
        counter: &Counter,
        log: &Path,
        n_entries: u32,
        running: &mut Running,
    ) -> Result<(), String> {
        let begin = Instant::now();
        while let Err(why) = counter.look(running) {
            running.check(log)?;
            if begin.elapsed() > START {
                return Err(why);
            }
            std::thread::sleep(PAUSE);
        }
        std::thread::sleep(SETTLE);
        loop {
            running.check(log)?;
            let before = counter.look(running)?;
            self.let_in(counter, n_entries, running)?;
            for _ in 0..N_PROOFS {
                std::thread::sleep(PAUSE);
                let n_packets = counter.look(running)?.n_packets;
                // Packets that pass once do not circulate.
                if n_packets.saturating_sub(before.n_packets) > 4 * u64::from(N_PACKETS) {
                    return Ok(());
                }
            }
            if begin.elapsed() > START {
                return Err("no packets circulate".to_owned());
            }
        }
    }

    fn let_in(&self, counter: &Counter, n_entries: u32, running: &mut Running) -> Result<(), String> {
        if let Counter::Testpmd(_) = counter {
            // It forwards already if an earlier attempt failed.
            running.say("stop")?;
            return running.say(&format!("start tx_first {N_FIRST_BURSTS}"));
        }
        let kind = PortKind::parse(&self.place.far_interface(ENTRANCE))?;
        let mut port =
            PortSpec { number: ENTRANCE as u32, kind }.open(None).map_err(|error| error.to_string())?;
        let flows = LiveProgramArg::L2.flows(n_entries.min(N_PACKETS))?;
        let generator = GeneratorOptions {
            content: Content::Flows {
                flows: FlowOptions { order: FlowOrder::RoundRobin, ..flows },
                sizes: Sizes::fixed(FRAME_BYTES + 4),
            },
            rate: GENTLE,
            n_packets: Some(N_PACKETS.into()),
            duration: None,
            stream: 0,
            burst_max: 32,
        };
        let generator =
            Generator::new(generator, port.frame_bytes_max()).map_err(|error| error.to_string())?;
        let station = Station {
            port: port.as_mut(),
            sender: Some(Sender::Generator(Box::new(generator))),
            receiver: None,
            core: Some(self.args.generator_core),
            idle: IdleMode::Spin,
        };
        let mut trial = Trial::new(vec![station]);
        trial.drain = Duration::ZERO;
        let sent = trial.run(&Control::new(1)).map_err(|error| error.to_string())?.totals.n_sent;
        match sent == u64::from(N_PACKETS) {
            true => Ok(()),
            false => Err(format!("{sent} of {N_PACKETS} packets could be let in")),
        }
    }

    fn goals(&self) -> Vec<Judged> {
        let rates: Vec<_> =
            self.figures.iter().map(|figure| (figure.subject, figure.n_entries, figure.rate[0])).collect();
        let judged = |(name, ours, other, limit): (&str, Subject, Subject, f64)| {
            let values = outcome::ratios(&rates, ours, other).into_iter();
            let name = name.to_owned();
            values
                .map(|(size, value)| Judged { name: name.clone(), size, value, goal: Goal::AtLeast(limit) })
                .collect::<Vec<_>>()
        };
        MEMIF_GOALS.into_iter().flat_map(judged).collect()
    }

    pub(super) fn show(&self) {
        let goals = self.goals();
        let notes = [
            format!(
                "Rates are packets that a switch transmits in a second while {N_PACKETS} packets circulate: both ends of one memif link \
                 are its ports."
            ),
            format!(
                "With more than {N_PACKETS} entries the tables are that large, and the first {N_PACKETS} have packets."
            ),
            "Testpmd has no table; its packets go back and forth, and both directions are counted."
                .to_owned(),
        ];
        let medium = self.place.medium.name();
        if self.args.measure.json {
            let value = json!({
                "version": 1,
                "siding": env!("CARGO_PKG_VERSION"),
                "work": "live",
                "circulate": true,
                "over": medium,
                "program": LiveProgramArg::L2.name(),
                "workers": self.cores.len(),
                "quick": self.args.measure.quick,
                "trial_s": self.trial.as_secs_f64(),
                "goals": goals.iter().map(Judged::json).collect::<Vec<_>>(),
                "absent": self.absent,
                "notes": notes,
                "figures": self.figures.iter().map(Figure::json).collect::<Vec<_>>(),
            });
            output::out(&format!("{value}\n"));
            return;
        }
        let head = ["", "entries", "frame", "M/s", "least", "most", "ns"].map(str::to_owned).to_vec();
        let rows: Vec<_> = std::iter::once(head).chain(self.figures.iter().map(Figure::cells)).collect();
        let title = format!("Packets that circulate over {medium}, program {}", LiveProgramArg::L2.name());
        output::out(&outcome::text(&title, &rows, &goals, self.absent.iter().chain(&notes)));
    }
}

impl Figure {
    fn json(&self) -> Value {
        let [middle, least, most] = self.rate;
        json!({
            "subject": self.subject.name(),
            "program": LiveProgramArg::L2.name(),
            "entries": self.n_entries,
            "frame": FRAME,
            "packets_per_s": middle.round(),
            "least": least.round(),
            "most": most.round(),
        })
    }

    fn cells(&self) -> Vec<String> {
        let [middle, least, most] = self.rate.map(|rate| format!("{:.3}", rate / 1e6));
        vec![
            self.subject.name().to_owned(),
            report::short(u64::from(self.n_entries)),
            FRAME.to_owned(),
            middle,
            least,
            most,
            format!("{:.1}", 1e9 / self.rate[0]),
        ]
    }
}

impl Look {
    /// Packets a second since an earlier look.
    fn rate_since(self, before: Look) -> f64 {
        let n = self.n_packets.saturating_sub(before.n_packets);
        n as f64 / self.at.duration_since(before.at).as_secs_f64()
    }
}

impl Counter {
    fn look(&self, running: &mut Running) -> Result<Look, String> {
        let n_packets = match self {
            Counter::Siding(socket) => {
                let own = std::env::current_exe().map_err(|error| error.to_string())?;
                let mut command = Command::new(own);
                command.args(["ctl", "--ctl-socket"]).arg(socket).args(["--json", "show", "ports"]);
                siding_count(&answer(&mut command, "siding ctl show ports")?)?
            }
            Counter::Ovs(socket) => {
                let mut command = Command::new("ovs-appctl");
                command.arg("--timeout=10").arg("-t").arg(socket).arg("dpif-netdev/pmd-stats-show");
                ovs_count(&answer(&mut command, "ovs-appctl dpif-netdev/pmd-stats-show")?)?
            }
            Counter::Testpmd(log) => {
                // Answers to earlier questions are before this place.
                let start = fs::metadata(log).map_err(|error| error.to_string())?.len();
                running.say("show port stats all")?;
                let begin = Instant::now();
                loop {
                    let said = fs::read(log).map_err(|error| error.to_string())?;
                    let said = said.get(start as usize..).unwrap_or_default();
                    if let Some(n_packets) = testpmd_count(&String::from_utf8_lossy(said)) {
                        break n_packets;
                    }
                    running.check(log)?;
                    if begin.elapsed() > START {
                        return Err(format!("{TESTPMD} does not say what it has sent"));
                    }
                    std::thread::sleep(POLL);
                }
            }
        };
        Ok(Look { n_packets, at: Instant::now() })
    }
}

/// Runs a command and returns its output; the error has the command as it is `shown`, and the last line that it says.
fn answer(command: &mut Command, shown: &str) -> Result<String, String> {
    let ended = command.output().map_err(|error| format!("`{shown}`: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match ended.status.success() {
        true => Ok(text(&ended.stdout)),
        false => {
            let said = text(&ended.stderr);
            Err(format!("`{shown}`: {}", said.trim().lines().last().unwrap_or("it says nothing")))
        }
    }
}

/// Packets that Siding has transmitted at the first end.
fn siding_count(text: &str) -> Result<u64, String> {
    let ports: Vec<Value> =
        serde_json::from_str(text).map_err(|error| format!("`siding ctl show ports`: {error}"))?;
    let first = ports.iter().find(|port| port["port"] == FIRST_END);
    let n_packets = first.and_then(|port| port["stats"]["tx_packets"].as_u64());
    n_packets.ok_or_else(|| format!("`siding ctl show ports` counts no packets of port {FIRST_END}"))
}

/// Packets that threads of Open vSwitch that poll have received. Its main thread lets packets in.
fn ovs_count(text: &str) -> Result<u64, String> {
    let (mut is_pmd, mut sum) = (false, None);
    for line in text.lines() {
        if !line.starts_with(' ') {
            is_pmd = line.starts_with("pmd thread");
        } else if let Some(n) = line.trim().strip_prefix("packets received:").filter(|_| is_pmd) {
            let n: u64 = n.trim().parse().map_err(|_| format!("ovs-vswitchd counts `{line}`"))?;
            sum = Some(sum.unwrap_or(0) + n);
        }
    }
    sum.ok_or_else(|| "ovs-vswitchd has no thread that polls ports".to_owned())
}

/// Packets that both ports of testpmd have transmitted, once its answer is complete.
fn testpmd_count(text: &str) -> Option<u64> {
    let mut counts = [None; 2];
    let mut port = None;
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        if let Some((_, rest)) = line.split_once("NIC statistics for port ") {
            port = rest.split_whitespace().next().and_then(|word| word.parse::<usize>().ok());
        } else if let Some(rest) = line.trim().strip_prefix("TX-packets:") {
            let n = rest.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            if let Some(count) = port.and_then(|port| counts.get_mut(port)) {
                *count = n;
            }
        }
    }
    let [first, second] = counts;
    Some(first? + second?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: BenchLiveArgs,
    }

    fn parse(words: &str) -> Result<BenchLiveArgs, clap::Error> {
        let words = std::iter::once("live").chain(words.split_whitespace());
        CommandLine::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn options_that_do_not_fit_are_refused_with_a_remedy() {
        for fitting in ["", "--over veth --program nat", "--over memif --circulate --size 64 --workers 1"] {
            assert_eq!(refusal(&parse(fitting).unwrap()), None, "{fitting}");
        }
        for (words, remedy) in [
            ("--circulate", "add --over memif"),
            ("--circulate --over vhost", "add --over memif"),
            ("--circulate --over memif --program acl", "l2 only, not acl: leave --program out"),
            ("--circulate --over memif --workers 2", "not 2: leave --workers out"),
            ("--circulate --over memif --size 64 --size imix", "not imix: leave --size out"),
        ] {
            let why = refusal(&parse(words).unwrap()).unwrap();
            assert!(why.contains(remedy), "{words}: {why}");
        }
        let error = parse("--circulate --over memif --zero-loss").unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict);
    }

    #[test]
    fn siding_counts_at_the_first_end() {
        let port =
            |number: u32, n: u64| json!({ "port": number, "stats": { "tx_packets": n, "rx_packets": 7 } });
        let ports = json!([port(0, 3), port(2, 5), port(1, 1_013_056)]);
        assert_eq!(siding_count(&ports.to_string()), Ok(1_013_056));
        let error = siding_count(&json!([port(0, 3)]).to_string()).unwrap_err();
        assert!(error.contains("no packets of port 1"), "{error}");
        assert!(siding_count("no switch").is_err());
    }

    #[test]
    fn threads_of_open_vswitch_that_poll_are_counted() {
        let main = "main thread:\n  packets received: 256\n  packet recirculations: 0\n";
        let thread = |core: u32, n: u64| {
            format!(
                "pmd thread numa_id 0 core_id {core}:\n  packets received: {n}\n  emc hits: 4\n  avg cycles per packet: 183.63 (5/6)\n"
            )
        };
        assert_eq!(ovs_count(&(thread(1, 86_238_112) + main)), Ok(86_238_112));
        assert_eq!(ovs_count(&(main.to_owned() + &thread(1, 4) + &thread(2, 5))), Ok(9));
        assert!(ovs_count(main).unwrap_err().contains("no thread that polls"));
        let garbled = "pmd thread numa_id 0 core_id 1:\n  packets received: many\n";
        assert!(ovs_count(garbled).unwrap_err().contains("packets received: many"));
    }

    #[test]
    fn an_answer_of_testpmd_is_counted_once_it_is_complete() {
        let port = |number: u32, n: u64| {
            format!(
                "\n  ######## NIC statistics for port {number}  ########\n  RX-packets: 5    RX-missed: 0    RX-bytes:  300\n  \
                 RX-errors: 0\n  TX-packets: {n}    TX-errors: 0    TX-bytes:  360\n\n  Tx-pps:    9    Tx-bps:    8\n  ########\n"
            )
        };
        let whole = format!("testpmd> show port stats all\n{}{}testpmd> ", port(0, 128), port(1, 1_000_000));
        assert_eq!(testpmd_count(&whole), Some(1_000_128));
        assert_eq!(testpmd_count(&port(0, 128)), None);
        // A number may be cut off.
        let cut = whole.find("1000000").unwrap() + 3;
        assert_eq!(testpmd_count(&whole[..cut]), None);
        // A third port is none of these.
        assert_eq!(testpmd_count(&(whole + &port(2, 1))), Some(1_000_128));
    }

    #[test]
    fn rates_are_counts_over_the_time_between_looks() {
        let at = Instant::now();
        let before = Look { n_packets: 1_000, at };
        let after = Look { n_packets: 21_000, at: at + Duration::from_millis(500) };
        assert_eq!(after.rate_since(before), 40_000.0);
        let figure = Figure { subject: Subject::SidingMemif, n_entries: 10, rate: [12.5e6, 10e6, 14e6] };
        assert_eq!(figure.cells(), ["siding memif", "10", "64", "12.500", "10.000", "14.000", "80.0"]);
        assert_eq!(figure.json()["packets_per_s"], json!(12.5e6));
    }
}
