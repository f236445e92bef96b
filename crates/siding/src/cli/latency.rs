//! `siding model latency`: arguments.

use super::FrontEndArgs;
use super::model_packets::ModelPacketsArgs;
use super::number::{cycles, gigahertz, number, percent};
use clap::Args;
use console::CcArgs;
use std::path::PathBuf;

/// Exit code 1: no bound exists, something is overloaded, packets are lost, or a check misses a goal.
#[derive(Debug, Args)]
pub struct ModelLatencyArgs {
    /// A program: its packets cost what `siding model cpu` predicts
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub packets: ModelPacketsArgs,
    /// Cycles of a packet, in place of a program; several with shares that add up to 1, as 200:0.9,1500:0.1, or without for equal ones
    #[arg(long, value_name = "N[:SHARE],...", value_parser = costs, conflicts_with = "program")]
    pub cycles: Option<CostsArg>,
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
    /// Bytes of a packet for --port, several as 64:0.9,1518:0.1, or imix (64, 594 and 1518 bytes as 7:4:1) [default: 64]
    #[arg(long, value_name = "BYTES[:SHARE],...|imix", value_parser = sizes)]
    pub packet: Option<SizesArg>,
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

/// Cycles with their shares, which add up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct CostsArg(pub Vec<(f64, f64)>);

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

/// Sums of shares that are this far from 1 are taken for 1: shares are rounded.
const SUM_TOLERANCE: f64 = 0.001;

/// `N`, `N,N,...` with equal shares, or `N:SHARE,N:SHARE,...` with shares that add up to 1. The result's shares do so exactly.
fn with_shares(text: &str, least: f64, most: f64) -> Result<Vec<(f64, f64)>, String> {
    let parts: Vec<(&str, Option<&str>)> = text
        .split(',')
        .map(|part| part.split_once(':').map_or((part, None), |(n, s)| (n, Some(s))))
        .collect();
    let numbers = parts.iter().map(|(n, _)| number(n, least, most)).collect::<Result<Vec<f64>, String>>()?;
    let n_shares = parts.iter().filter(|(_, share)| share.is_some()).count();
    if n_shares == 0 {
        let share = 1.0 / numbers.len() as f64;
        return Ok(numbers.into_iter().map(|n| (n, share)).collect());
    }
    if let Some((n, _)) = parts.iter().find(|(_, share)| share.is_none()) {
        return Err(format!("`{n}` has no share; give every value a share, as {n}:0.1, or none of them"));
    }
    let share = |text: &str| {
        number(text, 1e-9, 1e9).map_err(|_| format!("`{text}` is no share; a share is above 0 and at most 1"))
    };
    let shares =
        parts.iter().filter_map(|(_, text)| text.map(share)).collect::<Result<Vec<f64>, String>>()?;
    let sum: f64 = shares.iter().sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE + 1e-9 {
        let scaled: Vec<String> = numbers
            .iter()
            .zip(&shares)
            .map(|(n, share)| format!("{n}:{}", significant(share / sum)))
            .collect();
        return Err(format!(
            "the shares add up to {}, and must add up to 1; in the same proportions: {}",
            significant(sum),
            scaled.join(",")
        ));
    }
    Ok(numbers.into_iter().zip(shares).map(|(n, share)| (n, share / sum)).collect())
}

/// Four digits behind the point, or more for small numbers, without zeros at the end.
fn significant(value: f64) -> f64 {
    let digits = if value >= 0.01 { 4 } else { 4 + (-value.log10()).floor() as i32 };
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}

fn costs(text: &str) -> Result<CostsArg, String> {
    with_shares(text, 1.0, 1e9).map(CostsArg)
}

fn sizes(text: &str) -> Result<SizesArg, String> {
    if text == "imix" {
        return Ok(SizesArg(vec![(64, 7.0 / 12.0), (594, 4.0 / 12.0), (1518, 1.0 / 12.0)]));
    }
    let sizes = with_shares(text, 1.0, 65_535.0)?;
    Ok(SizesArg(sizes.into_iter().map(|(bytes, share)| (bytes.round() as u32, share)).collect()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_given_for_all_or_for_none() {
        assert_eq!(costs("200:0.9,1500:0.1").unwrap().0, [(200.0, 0.9), (1500.0, 0.1)]);
        assert_eq!(costs("200,1500").unwrap().0, [(200.0, 0.5), (1500.0, 0.5)]);
        assert_eq!(costs("200:1").unwrap().0, [(200.0, 1.0)]);
        // Rounded shares are accepted, and scaled.
        let thirds = costs("1:0.333,2:0.333,3:0.333").unwrap().0;
        assert!((thirds.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12, "{thirds:?}");
        let refused = |text: &str| costs(text).unwrap_err();
        assert_eq!(
            refused("200:0.9,1500"),
            "`1500` has no share; give every value a share, as 1500:0.1, or none of them"
        );
        assert_eq!(
            refused("200:0.9,1500:0.2"),
            "the shares add up to 1.1, and must add up to 1; in the same proportions: 200:0.8182,1500:0.1818"
        );
        assert!(sizes("64:7,1518:1").unwrap_err().ends_with("64:0.875,1518:0.125"));
        assert!(sizes("64:0").unwrap_err().contains("`0` is no share"));
        let SizesArg(imix) = sizes("imix").unwrap();
        assert!((imix.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn proposed_shares_are_accepted() {
        for text in ["64:7,594:4,1518:1", "1:1,2:1,3:1", "10:99999,20:1", "5:0.2"] {
            let message = costs(text).unwrap_err();
            let (_, proposed) = message.rsplit_once(": ").unwrap();
            assert!(costs(proposed).is_ok(), "{message}");
        }
    }
}
