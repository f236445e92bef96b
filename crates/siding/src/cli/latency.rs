//! `siding model latency`: arguments.

use super::FrontEndArgs;
use super::model_packets::ModelPacketsArgs;
use super::number::{cycles, gigahertz, number, percent};
use clap::Args;
use console::CcArgs;
use std::path::PathBuf;

/// Exit code 1: no bound exists, packets are lost, or a check misses a goal.
#[derive(Debug, Args)]
pub struct ModelLatencyArgs {
    /// A program: its packets cost what `siding model cpu` predicts
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub packets: ModelPacketsArgs,
    /// Cycles of a packet, in place of a program; several with their shares, as 200:0.9,1500:0.1
    #[arg(long, value_name = "N[:SHARE],...", value_delimiter = ',', value_parser = cost,
          conflicts_with = "program")]
    pub cycles: Vec<(f64, f64)>,
    /// Cycles of a burst beside those of its packets
    #[arg(long, value_name = "N", default_value = "0", value_parser = cycles, hide_short_help = true)]
    pub burst_cycles: f64,
    /// Cycles between two polls that find nothing
    #[arg(long, value_name = "N", default_value = "50", value_parser = positive_cycles, hide_short_help = true)]
    pub poll_cycles: f64,
    /// Cycles of a second [default: 2.5, with a program those of the profile's machine]
    #[arg(long, value_name = "GHZ", value_parser = gigahertz)]
    pub ghz: Option<f64>,
    /// Packets that come, in percent of what the core takes in full bursts [default: 80, with --trace those of the capture]
    #[arg(long, value_name = "PERCENT", value_parser = load, conflicts_with = "rate")]
    pub load: Option<f64>,
    /// Packets that come, in millions a second
    #[arg(long, value_name = "MPPS", value_parser = rate)]
    pub rate: Option<f64>,
    /// How they come: cbr (equal gaps), poisson, or on-off:N (N at once, then a pause), on-off:N:MPPS (N at this rate)
    #[arg(long, value_name = "HOW", default_value = "cbr", value_parser = arrivals)]
    pub arrivals: ArrivalsArg,
    /// They come as in this capture, pcap or pcapng, again and again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "packet"])]
    pub trace: Option<PathBuf>,
    /// Most packets that the worker takes at a time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub burst: u32,
    /// Packets that the ring in front of the worker has room for
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 24), hide_short_help = true)]
    pub ring: u64,
    /// Bytes of a packet, several with their shares as 64:7,1518:1, or imix (64, 594 and 1518 bytes as 7:4:1)
    #[arg(long, value_name = "BYTES[:SHARE],...|imix", default_value = "64", value_parser = sizes)]
    pub packet: SizesArg,
    /// Rate of the port that sends the packets on [default: no port]
    #[arg(long, value_name = "GBPS", value_parser = gigabits)]
    pub port: Option<f64>,
    /// Time from when a packet is sent to when the worker can find it
    #[arg(long, value_name = "NS", default_value = "0", value_parser = time, hide_short_help = true)]
    pub port_latency: f64,
    /// The longest that the machine keeps the core from the worker, for the bound of the machine
    #[arg(long, value_name = "US", value_parser = time)]
    pub stall: Option<f64>,
    /// Draw percentiles and bounds over the load to this SVG file
    #[arg(long, value_name = "FILE", value_parser = console::svg_file)]
    pub svg: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub offload: LatencyOffloadArgs,
    #[command(flatten)]
    pub check: LatencyCheckArgs,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Asynchronous blocks")]
pub struct LatencyOffloadArgs {
    /// Packets that come to a block, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    pub extern_share: f64,
    /// Cycles of the block at an offload worker
    #[arg(long, value_name = "CYCLES", default_value = "1000", value_parser = cycles)]
    pub extern_cycles: f64,
    /// Cycles for sending a packet there and taking it back, for the worker
    #[arg(long, value_name = "CYCLES", default_value = "100", value_parser = cycles, hide_short_help = true)]
    pub suspend: f64,
    /// Cycles until a packet is back, beside the block
    #[arg(long, value_name = "CYCLES", default_value = "300", value_parser = cycles, hide_short_help = true)]
    pub round_trip: f64,
    /// Offload workers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub offload_workers: u32,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Comparison with measurements")]
pub struct LatencyCheckArgs {
    /// Measure delays on this machine, beside what the model predicts of them; takes two cores, and some two minutes
    #[arg(long, conflicts_with_all = ["program", "cycles", "load", "rate", "arrivals", "trace", "packet", "port", "stall", "extern_share"])]
    pub check: bool,
    /// With --check: fewer loads, shorter runs, half a minute
    #[arg(long)]
    pub quick: bool,
    /// With --check: write the predictions to this file before delays are measured
    #[arg(long, value_name = "FILE.json", hide_short_help = true)]
    pub predictions: Option<PathBuf>,
    #[command(flatten)]
    pub cc: CcArgs,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrivalsArg {
    Cbr,
    Poisson,
    /// Packets, and millions a second; `None`: all at once.
    OnOff(u32, Option<f64>),
}

/// Lengths with their shares.
#[derive(Clone, Debug, PartialEq)]
pub struct SizesArg(pub Vec<(u32, f64)>);

fn positive_cycles(text: &str) -> Result<f64, String> {
    number(text, 1.0, 1e9)
}

fn load(text: &str) -> Result<f64, String> {
    number(text, 0.001, 10_000.0)
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, 1e-6, 1e4)
}

fn gigabits(text: &str) -> Result<f64, String> {
    number(text, 0.001, 100_000.0)
}

/// Nanoseconds or microseconds.
fn time(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e9)
}

/// `N` or `N:SHARE`.
fn with_share(text: &str, least: f64, most: f64) -> Result<(f64, f64), String> {
    let (n, share) = text.split_once(':').unwrap_or((text, "1"));
    Ok((number(n, least, most)?, number(share, 1e-9, 1e9).map_err(|error| format!("share: {error}"))?))
}

fn cost(text: &str) -> Result<(f64, f64), String> {
    with_share(text, 1.0, 1e9)
}

fn sizes(text: &str) -> Result<SizesArg, String> {
    if text == "imix" {
        return Ok(SizesArg(vec![(64, 7.0), (594, 4.0), (1518, 1.0)]));
    }
    let size =
        |text: &str| with_share(text, 1.0, 65_535.0).map(|(bytes, share)| (bytes.round() as u32, share));
    text.split(',').map(size).collect::<Result<_, _>>().map(SizesArg)
}

fn arrivals(text: &str) -> Result<ArrivalsArg, String> {
    let mut parts = text.split(':');
    let found = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("cbr"), None, None, None) => Some(ArrivalsArg::Cbr),
        (Some("poisson"), None, None, None) => Some(ArrivalsArg::Poisson),
        (Some("on-off"), Some(n), rate, None) => {
            let n = n.parse::<u32>().ok().filter(|n| (1..=1_000_000).contains(n));
            let n = n.ok_or("a burst has 1 to 1000000 packets, as in on-off:64")?;
            Some(ArrivalsArg::OnOff(n, rate.map(|rate| number(rate, 1e-6, 1e4)).transpose()?))
        }
        _ => None,
    };
    found.ok_or_else(|| "expected cbr, poisson, on-off:N or on-off:N:MPPS".to_owned())
}
