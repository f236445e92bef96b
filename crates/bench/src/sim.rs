//! `siding bench sim`: how many packets a second the models of `siding sim` take.

use crate::args::BenchSimArgs;
use crate::frontend::median;
use console::output::{self, Exit};
use hazard::traffic::{Batch, Capture, Flows, Frame, Generator, Key, Length, Profile, mixed};
use hazard::{Action, Actions, Alpha, AlphaModel, Pace, Policy, Queues, Setup, Simulation, Switch};
use packet_io::{LINK_TYPE_ETHERNET, Packet, PacketReader, PacketRef, PcapWriter};
use serde_json::json;
use std::fs::File;
use std::hint::black_box;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Packets of a batch, as in `siding sim`.
const BATCH: usize = hazard::traffic::BATCH_PACKETS;
/// Batches that are made, then simulated: more than one, so that the clock is not asked too often, and few enough for a
/// cache.
const ROUND_BATCHES: u64 = 8;

/// The time that this thread has had a core for: other work of the machine does not count.
fn core_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) {
            let us = |time: nix::sys::time::TimeVal| time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64;
            return Duration::from_micros(us(usage.user_time()) + us(usage.system_time()));
        }
    }
    static STARTED: OnceLock<Instant> = OnceLock::new();
    STARTED.get_or_init(Instant::now).elapsed()
}

struct Case {
    name: &'static str,
    policy: Policy,
    cycles: u32,
    /// Packets a second that are asked for, with making or reading the packets.
    goal: f64,
}

const HAZARDS: Case = Case { name: "hazards", policy: Policy::None, cycles: 10, goal: 20e6 };
const LOCK: Case = Case { name: "global lock", policy: Policy::GlobalLock, cycles: 10, goal: 20e6 };

fn cases() -> Vec<Case> {
    let queues = |n_queues, n_locks| Policy::Queues(Queues { n_queues, n_locks, queue_packets_max: 100 });
    let case = |name, policy, cycles, goal| Case { name, policy, cycles, goal };
    vec![
        HAZARDS,
        case("hazards, 30 cycles", Policy::None, 30, 20e6),
        LOCK,
        case("queues, Q = 1, W = 1", queues(1, 1), 16, 5e6),
        case("queues, Q = 16, W = 16", queues(16, 16), 16, 5e6),
        case("queues, Q = 64, W = 1024", queues(64, 1024), 30, 5e6),
    ]
}

const ALPHAS: [f64; 3] = [1.0, 0.2, 0.0];

/// Packets of the capture that is written to be read; it is read as often as it takes.
const CAPTURE_PACKETS: u64 = 1_000_000;
const FRAME_BYTES: usize = 54;

/// Source of packets, all with the 5-tuple as their only key.
enum Packets {
    Made(Box<Generator>),
    Captured { path: PathBuf, reader: Box<PacketReader<File>>, capture: Box<Capture> },
}

/// A failure in words.
type Failed = String;

fn failed(error: impl std::fmt::Display) -> Failed {
    error.to_string()
}

fn generator() -> Result<Generator, Failed> {
    let (n_flows, exponent, train) = Profile::Backbone.flow_numbers();
    let sizes = Profile::Backbone.sizes().map_err(failed)?;
    let flows = Flows::zipf(n_flows, exponent, train).ok_or("flows out of range")?;
    Ok(Generator::new(sizes, flows, &[Key::five_tuple()], 1))
}

impl Packets {
    fn made() -> Result<Packets, Failed> {
        Ok(Packets::Made(Box::new(generator()?)))
    }

    fn captured(path: &Path) -> Result<Packets, Failed> {
        let reader = Box::new(PacketReader::open(path).map_err(failed)?);
        let capture = Box::new(Capture::new(Length::Frame, &[Key::five_tuple()]));
        Ok(Packets::Captured { path: path.to_path_buf(), reader, capture })
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<(), Failed> {
        let (reader, capture) = match self {
            Packets::Made(generator) => {
                generator.fill(batch, BATCH);
                return Ok(());
            }
            Packets::Captured { reader, capture, .. } => (reader, capture),
        };
        batch.clear();
        let mut refused = None;
        let mut take = |packet: PacketRef<'_>| {
            let frame = Frame {
                data: packet.data,
                len_bytes: packet.original_len_bytes,
                time_ns: packet.timestamp_ns,
                link_type: packet.link_type,
            };
            match capture.push(batch, frame) {
                Ok(()) => batch.len() < BATCH,
                Err(error) => {
                    refused = Some(error);
                    false
                }
            }
        };
        reader.visit(&mut take).map_err(failed)?;
        if let Some(error) = refused {
            return Err(failed(error));
        }
        if batch.len() < BATCH
            && let Packets::Captured { path, .. } = self
        {
            let path = path.clone();
            // The rest of the capture is less than a batch and is left out.
            *self = Packets::captured(&path)?;
            return self.fill(batch);
        }
        Ok(())
    }
}

/// Writes headers of the backbone's packets: Ethernet, IPv4 and TCP, cut behind them.
fn write_capture(path: &Path) -> Result<(), Failed> {
    let file = BufWriter::new(File::create(path).map_err(failed)?);
    let mut writer = PcapWriter::new(path.display().to_string(), file, LINK_TYPE_ETHERNET).map_err(failed)?;
    let (n_flows, exponent, train) = Profile::Backbone.flow_numbers();
    let flows = Flows::zipf(n_flows, exponent, train).ok_or("flows out of range")?;
    let mut generator = generator()?;
    let mut batch = Batch::new(1);
    let mut packet = Packet::new(vec![0; FRAME_BYTES]);
    for number in 0..CAPTURE_PACKETS {
        let at = number as usize % BATCH;
        if at == 0 {
            generator.fill(&mut batch, BATCH);
        }
        let fields = flows.fields((mixed(number) % u64::from(n_flows)) as u32, 1);
        let frame = &mut packet.data;
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[16..18].copy_from_slice(&(batch.len_bytes[at] as u16).to_be_bytes());
        frame[23] = fields.protocol;
        frame[26..30].copy_from_slice(&(fields.source as u32).to_be_bytes());
        frame[30..34].copy_from_slice(&(fields.destination as u32).to_be_bytes());
        frame[34..36].copy_from_slice(&fields.source_port.to_be_bytes());
        frame[36..38].copy_from_slice(&fields.destination_port.to_be_bytes());
        packet.original_len_bytes = batch.len_bytes[at].max(FRAME_BYTES as u32);
        packet.timestamp_ns = number * 10;
        writer.write(&packet).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(())
}

/// Time of a core for the packets themselves, and for packets and model.
fn time(case: &Case, alpha: f64, n_packets: u64, packets: &mut Packets) -> Result<[Duration; 2], Failed> {
    let setup = Setup {
        switch: Switch::default(),
        alpha: Alpha::new(AlphaModel::Mix, alpha, 1).map_err(failed)?,
        pace: Pace::BackToBack,
        actions: Actions::one(Action::new(case.cycles)).map_err(failed)?,
        policy: case.policy,
        lookup_key: 0,
        update_key: 0,
    };
    let mut simulation = Simulation::new(&setup).map_err(failed)?;
    let mut batches = vec![Batch::new(1); ROUND_BATCHES as usize];
    let (mut of_packets, mut of_model) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..n_packets / (BATCH as u64 * ROUND_BATCHES) {
        let start = core_time();
        for batch in &mut batches {
            packets.fill(batch)?;
        }
        let filled = core_time();
        batches.iter().for_each(|batch| simulation.take(batch));
        of_packets += filled - start;
        of_model += core_time() - filled;
    }
    black_box(simulation.finish());
    Ok([of_packets, of_packets + of_model])
}

/// A line of the report: seconds for the model alone, and with the packets.
struct Row {
    case: Case,
    alpha: f64,
    source: &'static str,
    model: f64,
    whole: f64,
}

fn row(
    case: Case,
    alpha: f64,
    args: &BenchSimArgs,
    n_packets: u64,
    capture: Option<&Path>,
) -> Result<Row, Failed> {
    let mut all = Vec::new();
    for _ in 0..args.runs {
        let mut packets = capture.map_or_else(Packets::made, Packets::captured)?;
        all.push(time(&case, alpha, n_packets, &mut packets)?.map(|t| t.as_secs_f64()));
    }
    let whole = median(all.iter().map(|[_, whole]| *whole).collect());
    let model = median(all.iter().map(|[packets, whole]| whole - packets).collect());
    let source = if capture.is_some() { "capture" } else { "made" };
    Ok(Row { case, alpha, source, model, whole })
}

fn rows(args: &BenchSimArgs, n_packets: u64, each: &mut dyn FnMut(&Row)) -> Result<Vec<Row>, Failed> {
    let dir = tempfile::tempdir().map_err(failed)?;
    let capture = dir.path().join("backbone.pcap");
    write_capture(&capture)?;
    let mut rows = Vec::new();
    let mut add = |row: Row| {
        each(&row);
        rows.push(row);
    };
    for case in [HAZARDS, LOCK] {
        add(row(case, 1.0, args, n_packets, Some(&capture))?);
    }
    for alpha in ALPHAS {
        for case in cases() {
            add(row(case, alpha, args, n_packets, None)?);
        }
    }
    Ok(rows)
}

pub fn run(args: &BenchSimArgs) -> Exit {
    if cfg!(debug_assertions) && !args.json {
        output::warning_line("this is a debug build");
    }
    let n_packets = args.packets.next_multiple_of(BATCH as u64 * ROUND_BATCHES);
    let rate = |seconds: f64| n_packets as f64 / seconds.max(1e-9);
    let mut show = |row: &Row| {
        if !args.json {
            output::out(&format!(
                "{:8} {:26} alpha {:3}  {:7.1} M packets/s  {:7.1} with the packets  (goal {:.0}{})\n",
                row.source,
                row.case.name,
                row.alpha,
                rate(row.model) / 1e6,
                rate(row.whole) / 1e6,
                row.case.goal / 1e6,
                if rate(row.whole) >= row.case.goal { "" } else { ", missed" },
            ));
        }
    };
    let rows = match rows(args, n_packets, &mut show) {
        Ok(rows) => rows,
        Err(error) => {
            output::error_line(&error);
            return Exit::Environment;
        }
    };
    if args.json {
        let rows = rows.iter().map(|row| {
            json!({
                "packets": row.source,
                "model": row.case.name,
                "alpha": row.alpha,
                "cycles": row.case.cycles,
                "packets_per_second_of_model": rate(row.model),
                "packets_per_second": rate(row.whole),
                "goal": row.case.goal,
                "reached": rate(row.whole) >= row.case.goal,
            })
        });
        let value = json!({
            "version": 2,
            "siding": env!("CARGO_PKG_VERSION"),
            "optimized": !cfg!(debug_assertions),
            "packets": n_packets,
            "runs": args.runs,
            "time": "of one core",
            "rows": rows.collect::<Vec<_>>(),
        });
        output::out(&format!("{value}\n"));
    }
    Exit::Ok
}
