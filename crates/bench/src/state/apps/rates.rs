//! Packets a second of new flows and of known ones, and memory of each flow.

use super::kernel::{Balancer, Kernel};
use super::lab::{self, INSIDE, Lab, OUTSIDE};
use super::ours::Ours;
use super::packet::{self, Body, Oddity};
use super::traffic::{BALANCED, UDP_SERVICE};
use super::verdicts::Ends;
use super::{AppArg, Side};
use crate::args::MeasureArgs;
use crate::frontend::median;
use console::output::Exit;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Packets under way at most: what AF_PACKET's and the kernel's queues hold without loss.
const WINDOW: u64 = 256;
const BURST: u64 = 32;
/// After this what has not come is lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// Packets of known flows in a run at least.
const N_KNOWN: u64 = 200_000;
const N_KNOWN_QUICK: u64 = 20_000;
const FRAME_BYTES: usize = 60;
/// Room for flows at least.
const N_BARE: u64 = 1024;
/// From this number of flows on memory of flows exceeds what else changes.
const N_FOR_MEMORY: u64 = 50_000;

/// One of the two that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Siding,
    Kernel(Balancer),
}

impl Peer {
    pub fn name(self) -> &'static str {
        match self {
            Peer::Siding => "siding",
            Peer::Kernel(_) => "kernel",
        }
    }
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Run {
    new_per_second: f64,
    known_per_second: f64,
    n_lost: u64,
    bytes_per_flow: Option<f64>,
}

/// Figures of one of the two with a number of flows.
#[derive(Clone, Debug)]
pub struct Figure {
    pub peer: &'static str,
    pub n_flows: u64,
    runs: Vec<Run>,
}

impl Figure {
    fn values(&self, of: impl Fn(&Run) -> f64) -> Vec<f64> {
        self.runs.iter().map(of).collect()
    }

    pub fn new_per_second(&self) -> f64 {
        median(self.values(|run| run.new_per_second))
    }

    pub fn known_per_second(&self) -> f64 {
        median(self.values(|run| run.known_per_second))
    }

    pub fn n_lost(&self) -> u64 {
        self.runs.iter().map(|run| run.n_lost).sum()
    }

    pub fn bytes_per_flow(&self) -> Option<f64> {
        let bytes: Vec<f64> = self.runs.iter().filter_map(|run| run.bytes_per_flow).collect();
        if bytes.is_empty() { None } else { Some(median(bytes)) }
    }

    pub fn json(&self) -> Value {
        let line = |work: &str, of: fn(&Run) -> f64| {
            let values = self.values(of);
            let rounded = |value: f64| value.round();
            json!({
                "peer": self.peer, "work": work, "flows": self.n_flows,
                "packets_per_second": rounded(median(values.clone())),
                "least": rounded(values.iter().copied().fold(f64::INFINITY, f64::min)),
                "most": rounded(values.iter().copied().fold(0.0, f64::max)),
            })
        };
        json!({
            "peer": self.peer, "flows": self.n_flows, "lost": self.n_lost(),
            "bytes_per_flow": self.bytes_per_flow().map(f64::round),
            "lines": [line("new flows", |run| run.new_per_second), line("known flows", |run| run.known_per_second)],
        })
    }
}

/// Frames of as many flows, one after the other.
struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    fn new(app: AppArg, n_flows: u64) -> Frames {
        let body = Body::Udp { data: vec![0; FRAME_BYTES - 42], has_checksum: true };
        let mut bytes = Vec::with_capacity(n_flows as usize * FRAME_BYTES);
        for flow in 0..n_flows as u32 {
            // A thousand ports of a host, and a peer of its own for each: a public port is free for it.
            let (block, port) = (flow >> 10, 1024 + (flow & 1023) as u16);
            let (source, destination) = match app {
                AppArg::Lb => ((0xc612_0000 + block, port), (BALANCED, UDP_SERVICE)),
                AppArg::Nat | AppArg::Firewall => ((0x0a10_0000 + block, port), (0xc612_0000 + block, 53)),
            };
            let packet = packet::ipv4(source, destination, &body, Oddity::default());
            bytes.extend(packet::frame(Lab::gateway(Side::Inside), lab::CLIENT, &packet));
        }
        Frames { bytes }
    }

    fn frame(&self, flow: u64) -> &[u8] {
        &self.bytes[flow as usize * FRAME_BYTES..][..FRAME_BYTES]
    }
}

/// Sends packets as fast as they come out; returns packets a second and how many did not come.
fn turn(
    ends: &mut Ends,
    frames: &Frames,
    n_packets: u64,
    flow_of: impl Fn(u64) -> u64,
) -> Result<(f64, u64), Exit> {
    let (mut n_sent, mut n_done, mut n_lost) = (0_u64, 0_u64, 0_u64);
    let begin = Instant::now();
    let mut last = begin;
    while n_done + n_lost < n_packets {
        let under_way = n_sent.saturating_sub(n_done + n_lost);
        let room = (WINDOW - under_way).min(n_packets - n_sent);
        if room >= BURST.min(n_packets - n_sent) && room > 0 {
            let burst = n_sent..n_sent + room.min(BURST);
            n_sent += ends.send(Side::Inside, burst.map(|i| frames.frame(flow_of(i))))? as u64;
        }
        let n = ends.receive(Side::Outside, |_| ())? as u64;
        n_done += n;
        if n > 0 {
            last = Instant::now();
            // A late packet is not lost.
            n_lost = n_lost.min(n_sent.saturating_sub(n_done));
        } else if last.elapsed() > PATIENCE {
            n_lost = n_sent.saturating_sub(n_done);
            last = Instant::now();
        }
    }
    Ok((n_done as f64 / begin.elapsed().as_secs_f64(), n_lost))
}

fn run(
    peer: Peer,
    app: AppArg,
    frames: &Frames,
    n_flows: u64,
    bare_bytes: u64,
    args: &MeasureArgs,
) -> Result<Run, Exit> {
    let lab = Lab::new()?;
    let cores = Cores::of_this_machine();
    cores.steer(&lab)?;
    let ours = match peer {
        Peer::Siding => Some(Ours::start(&lab, app, n_flows.max(N_BARE), cores.middle, args)?),
        Peer::Kernel(balancer) => Kernel::start(&lab, app, balancer).map(|_| None)?,
    };
    let mut ends = Ends::open(&lab)?;
    let _pinned = cores.pin();
    let memory = || match &ours {
        Some(ours) => ours.resident_bytes(),
        None => slab_bytes(),
    };
    // The switch has reserved its memory when it is ready.
    let before = if ours.is_some() { bare_bytes } else { memory() };
    let (new_per_second, lost) = turn(&mut ends, frames, n_flows, |i| i)?;
    let after = memory();
    let n_known = if args.quick { N_KNOWN_QUICK } else { N_KNOWN }.max(n_flows);
    // Any order that has all flows in it.
    let (known_per_second, lost_known) =
        turn(&mut ends, frames, n_known, |i| i.wrapping_mul(2_654_435_761) % n_flows)?;
    let bytes_per_flow =
        (n_flows >= N_FOR_MEMORY).then(|| after.saturating_sub(before) as f64 / n_flows as f64);
    Ok(Run { new_per_second, known_per_second, n_lost: lost + lost_known, bytes_per_flow })
}

/// Memory of a switch with room for a few flows.
fn bare_bytes(app: AppArg, args: &MeasureArgs) -> Result<u64, Exit> {
    let lab = Lab::new()?;
    Ok(Ours::start(&lab, app, N_BARE, None, args)?.resident_bytes())
}

/// Measures both by turns.
pub fn measure(app: AppArg, peers: &[Peer], n_flows: u64, args: &MeasureArgs) -> Result<Vec<Figure>, Exit> {
    let frames = Frames::new(app, n_flows);
    let mut figures: Vec<Figure> =
        peers.iter().map(|peer| Figure { peer: peer.name(), n_flows, runs: Vec::new() }).collect();
    let bare_bytes = if n_flows >= N_FOR_MEMORY { bare_bytes(app, args)? } else { 0 };
    for _ in 0..args.n_runs() {
        for (figure, peer) in figures.iter_mut().zip(peers) {
            figure.runs.push(run(*peer, app, &frames, n_flows, bare_bytes, args)?);
        }
    }
    Ok(figures)
}

/// Connections that the kernel tracks at most.
pub fn kernel_flows_max() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/net/netfilter/nf_conntrack_max").unwrap_or_default();
    text.trim().parse().unwrap_or(u64::MAX)
}

/// The kernel's memory that it cannot give back: connections with their extensions among it.
fn slab_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("SUnreclaim:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

/// The sender and receiver on one core, what is measured on another, if there are two.
pub struct Cores {
    sender: Option<usize>,
    pub middle: Option<usize>,
}

/// Lets the thread run on all its cores again.
pub struct Pinned(Option<CpuSet>);

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(set) = &self.0 {
            let _ = sched_setaffinity(Pid::from_raw(0), set);
        }
    }
}

impl Cores {
    pub fn of_this_machine() -> Cores {
        match packet_io::allowed_cores().as_deref() {
            Ok([sender, middle, ..]) => Cores { sender: Some(*sender), middle: Some(*middle) },
            _ => Cores { sender: None, middle: None },
        }
    }

    /// Packets that the middle receives are worked on at its core, also by the kernel.
    pub fn steer(&self, lab: &Lab) -> Result<(), Exit> {
        let Some(core) = self.middle else { return Ok(()) };
        // Groups of 32 cores are separated by commas, the last one first.
        let mask = format!("{:x}{}", 1_u32 << (core % 32), ",00000000".repeat(core / 32));
        [INSIDE, OUTSIDE].iter().try_for_each(|interface| {
            lab.in_middle(&format!("echo {mask} > /sys/class/net/{interface}/queues/rx-0/rps_cpus"))
        })
    }

    pub fn pin(&self) -> Pinned {
        let own = nix::sched::sched_getaffinity(Pid::from_raw(0)).ok();
        if let Some(core) = self.sender {
            let mut set = CpuSet::new();
            if set.set(core).is_ok() {
                let _ = sched_setaffinity(Pid::from_raw(0), &set);
            }
        }
        Pinned(own)
    }
}
