//! `siding traffic`: arguments.

use super::number::{duration, loss, number};
use clap::{Args, Subcommand};
use dataplane::{PortKind, PortSpec};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use traffic::{
    ChecksumCheck, FlowOptions, FlowOrder, IdleMode, Mac, N_FLOWS_MAX, Protocol, Range, Rate, Sizes, Vlan,
};

/// Without a sub-command: sends, receives, or both.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TrafficArgs {
    #[command(subcommand)]
    pub command: Option<TrafficCommand>,
    #[command(flatten)]
    pub run: TrafficRunArgs,
}

#[derive(Debug, Subcommand)]
pub enum TrafficCommand {
    /// Search the highest rate without loss for each frame size (RFC 2544), and the latency at half of it
    Search(Box<TrafficSearchArgs>),
    /// Send the packets of a capture as they are, and record what comes back
    Replay(Box<TrafficReplayArgs>),
}

/// Ports, and the threads that serve them.
#[derive(Debug, Args)]
pub struct TrafficPortArgs {
    /// Send from this port, named as for `siding switch -i` (an interface, `afxdp:IF`, `memif:SOCKET`, ...), or `null:`, which takes
    /// everything
    #[arg(long, value_name = "[PORT@]INTERFACE", value_parser = TrafficPort::parse)]
    pub tx: Option<TrafficPort>,
    /// Receive at this port; it may be the one that sends
    #[arg(long, value_name = "[PORT@]INTERFACE", value_parser = TrafficPort::parse)]
    pub rx: Option<TrafficPort>,
    /// Keep the threads on these cores: of --tx, then of --rx
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub cores: Vec<usize>,
    /// Let the thread of --rx sleep until packets arrive; latencies include the time to wake up
    #[arg(long)]
    pub wait: bool,
}

impl TrafficPortArgs {
    pub fn idle(&self) -> IdleMode {
        if self.wait { IdleMode::Wait } else { IdleMode::Spin }
    }
}

/// A port of this command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficPort {
    pub number: Option<u32>,
    /// `None` is a port that takes everything.
    pub kind: Option<PortKind>,
}

impl TrafficPort {
    fn parse(text: &str) -> Result<TrafficPort, String> {
        // An abstract socket has an `@` in its name.
        let numbered = text.split_once('@').filter(|_| !text.starts_with("memif:"));
        let (number, kind) = match numbered {
            Some((_, "null:")) => (text.split('@').next().and_then(|number| number.parse().ok()), None),
            Some(_) => {
                let PortSpec { number, kind } = PortSpec::parse(text)?;
                (Some(number), Some(kind))
            }
            None if text == "null:" => (None, None),
            None if text.is_empty() => return Err("the name of the interface is missing".to_owned()),
            None if text == "null" => {
                return Err("write `null:` for a port that takes everything, or `afpacket:null` for an interface of that name".to_owned());
            }
            None => (None, Some(PortKind::parse(text)?)),
        };
        Ok(TrafficPort { number, kind })
    }
}

/// Headers of generated packets.
#[derive(Debug, Args)]
pub struct TrafficFlowArgs {
    /// Number of flows: different addresses and ports from the ranges below
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(N_FLOWS_MAX)))]
    pub flows: u32,
    /// Order of flows: in-turn, uniform (random), zipf or zipf:EXPONENT
    #[arg(long, value_name = "ORDER", default_value = "in-turn", value_parser = flow_order)]
    pub order: FlowOrder,
    /// Seed of random orders
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true)]
    pub seed: u64,
    /// Use IPv6
    #[arg(long)]
    pub ipv6: bool,
    /// Use TCP [default: UDP]
    #[arg(long)]
    pub tcp: bool,
    /// Add a VLAN tag
    #[arg(long, value_name = "ID[:PRIORITY]", value_parser = vlan)]
    pub vlan: Option<Vlan>,
    /// Source MAC addresses [default: 02:00:00:00:00:01]
    #[arg(long, value_name = "MAC[-MAC]")]
    pub src_mac: Option<Range<Mac>>,
    /// Destination MAC addresses [default: 02:00:00:00:00:02]
    #[arg(long, value_name = "MAC[-MAC]")]
    pub dst_mac: Option<Range<Mac>>,
    /// Source IP addresses [default: 198.18.0.1-198.18.0.64, or 2001:2::1-2001:2::40]
    #[arg(long, value_name = "IP[-IP]")]
    pub src_ip: Option<Range<IpAddr>>,
    /// Destination IP addresses [default: 198.19.0.1, or 2001:2:0:1::1]
    #[arg(long, value_name = "IP[-IP]")]
    pub dst_ip: Option<Range<IpAddr>>,
    /// Source ports [default: 49152-65535]
    #[arg(long, value_name = "N[-N]")]
    pub src_port: Option<Range<u16>>,
    /// Destination ports [default: 9]
    #[arg(long, value_name = "N[-N]")]
    pub dst_port: Option<Range<u16>>,
}

impl TrafficFlowArgs {
    pub fn options(&self) -> FlowOptions {
        let is_ipv6 = |range: Option<Range<IpAddr>>| range.is_some_and(|range| range.first().is_ipv6());
        let defaults = match self.ipv6 || is_ipv6(self.src_ip) || is_ipv6(self.dst_ip) {
            true => FlowOptions::ipv6(),
            false => FlowOptions::ipv4(),
        };
        FlowOptions {
            n_flows: self.flows,
            order: self.order,
            seed: self.seed,
            src_mac: self.src_mac.unwrap_or(defaults.src_mac),
            dst_mac: self.dst_mac.unwrap_or(defaults.dst_mac),
            has_stations: false,
            vlan: self.vlan,
            src_ip: self.src_ip.unwrap_or(defaults.src_ip),
            dst_ip: self.dst_ip.unwrap_or(defaults.dst_ip),
            protocol: if self.tcp { Protocol::Tcp } else { Protocol::Udp },
            src_port: self.src_port.unwrap_or(defaults.src_port),
            dst_port: self.dst_port.unwrap_or(defaults.dst_port),
        }
    }
}

#[derive(Debug, Args)]
pub struct TrafficRunArgs {
    #[command(flatten)]
    pub ports: TrafficPortArgs,
    /// Send from both ports, each to the other
    #[arg(long, requires = "tx", requires = "rx")]
    pub bidirectional: bool,
    /// Packets/s as 1M, or bits/s on the line as 10Gbps: 20 bytes for each frame beside it [default: as fast as the port takes]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// Frame sizes in bytes with the 4 bytes of the check sequence: 64, or 64,512,1518 in turn, or imix (7 x 64, 4 x 594, 1518)
    #[arg(long, value_name = "SIZES", default_value = "64")]
    pub size: Sizes,
    /// Send the UDP and TCP packets of this capture over and over; sequence number and time replace the end of their payload
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "bidirectional"])]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub flows: TrafficFlowArgs,
    /// End after so many packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// End after this time: 10s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Wait so long for the last packets
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub drain: Duration,
    /// Number of the stream, 0 to 15: generators at one sink need different ones
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..16))]
    pub stream: u8,
    /// Packets per call of the port, at most
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub burst: u8,
    /// Check the IPv4, UDP and TCP checksums of received packets
    #[arg(long)]
    pub check_checksums: bool,
    /// Exit with 1 if packets were lost or refused by the port, or if none arrived
    #[arg(long)]
    pub fail_on_loss: bool,
    /// One JSON object per second, then one with the results
    #[arg(long)]
    pub json: bool,
}

impl TrafficRunArgs {
    pub fn checksum_check(&self) -> ChecksumCheck {
        if self.check_checksums { ChecksumCheck::On } else { ChecksumCheck::Off }
    }
}

#[derive(Debug, Args)]
pub struct TrafficSearchArgs {
    #[command(flatten)]
    pub ports: TrafficPortArgs,
    /// Send from both ports, each to the other
    #[arg(long)]
    pub bidirectional: bool,
    /// Frame sizes in bytes with the check sequence, and imix; one search each
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "64,128,256,512,1024,1280,1518"
    )]
    pub sizes: Vec<Sizes>,
    #[command(flatten)]
    pub flows: TrafficFlowArgs,
    /// Length of a trial; RFC 2544 wants 60s
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub trial: Duration,
    /// Loss that is tolerated, in percent: 0.01%
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = loss)]
    pub loss_max: f64,
    /// Search until the rate is known to this percentage of itself
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = resolution)]
    pub resolution: f64,
    /// Try no higher rate [default: as fast as the port takes]
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<Rate>,
    /// Wait so long for the last packets of a trial
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub drain: Duration,
    /// Packets per call of the port, at most
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub burst: u8,
    /// Write the report as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// One JSON object per trial, then one per size
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TrafficReplayArgs {
    /// A pcap or pcapng file of Ethernet
    pub file: PathBuf,
    #[command(flatten)]
    pub ports: TrafficPortArgs,
    /// Packets/s as 1M, bits/s on the line as 10Gbps, or max for as fast as the port takes [default: the capture's pace]
    #[arg(long, value_name = "RATE", value_parser = replay_rate, conflicts_with = "speed")]
    pub rate: Option<Rate>,
    /// Times of the capture are divided by this
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    pub speed: f64,
    /// Send the capture so many times; 0 is until SIGINT
    #[arg(long = "loop", value_name = "N", default_value_t = 1)]
    pub rounds: u64,
    /// Leave out packets of which the capture has only the beginning, also where the file ends inside one
    #[arg(long)]
    pub skip_cut: bool,
    /// Exit with 1 if the port refused packets, or if fewer packets arrived at --rx than were sent
    #[arg(long)]
    pub fail_on_loss: bool,
    /// Write what --rx receives to this capture, as pcap or pcapng by its extension
    #[arg(long, value_name = "FILE", requires = "rx")]
    pub write: Option<PathBuf>,
    /// Receive so long after the last packet
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub drain: Duration,
    /// Packets per call of the port, at most
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub burst: u8,
    /// One JSON object per second, then one with the results
    #[arg(long)]
    pub json: bool,
}

fn flow_order(text: &str) -> Result<FlowOrder, String> {
    match text.split_once(':') {
        None if text == "in-turn" => Ok(FlowOrder::RoundRobin),
        None if text == "uniform" => Ok(FlowOrder::Uniform),
        None if text == "zipf" => Ok(FlowOrder::Zipf { exponent: 1.0 }),
        Some(("zipf", exponent)) => Ok(FlowOrder::Zipf { exponent: number(exponent, 0.0, 10.0)? }),
        _ => Err("write in-turn, uniform, zipf or zipf:EXPONENT".to_owned()),
    }
}

fn vlan(text: &str) -> Result<Vlan, String> {
    let (id, priority) = text.split_once(':').unwrap_or((text, "0"));
    let id = id.parse().ok().filter(|id| *id <= 4095);
    let priority = priority.parse().ok().filter(|priority| *priority <= 7);
    id.zip(priority)
        .map(|(id, priority)| Vlan { id, priority })
        .ok_or_else(|| "write ID, 0 to 4095, or ID:PRIORITY, 0 to 7".to_owned())
}

fn resolution(text: &str) -> Result<f64, String> {
    Ok(number(text.trim_end_matches('%'), 0.01, 50.0)? / 100.0)
}

fn speed(text: &str) -> Result<f64, String> {
    number(text, 1e-6, 1e6)
}

fn replay_rate(text: &str) -> Result<Rate, String> {
    if text == "max" { Ok(Rate::Unlimited) } else { text.parse() }
}
