//! `siding sim`: stateful actions that take many cycles.

use super::{FrontEndArgs, SweepArgs};
use clap::{Args, ValueEnum};
use hazard::traffic::{Key, Profile};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FigureArg {
    /// Sizes of packets
    #[value(name = "1a")]
    Sizes,
    /// Hazards without locks
    #[value(name = "1b")]
    Hazards,
    /// Throughput behind one lock
    #[value(name = "1c")]
    Lock,
    /// Throughput with locks for flows
    Flow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum PolicyArg {
    /// No locks: hazards are counted
    None,
    /// One packet at a time
    GlobalLock,
    /// Queues and locks by keys
    PerFlowLock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MetricArg {
    /// Packets out, as a share of packets in
    Throughput,
    /// From having arrived to having left: the 99th percentile, in cycles
    Latency,
    /// From having arrived to the start of the action: the 99th percentile, in cycles
    Wait,
    /// The most packets that any queue had
    Queue,
    /// The packets in the fullest queue: the 99th percentile over the arrivals
    QueueP99,
    /// Dropped packets, as a share of all
    Drops,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlphaModelArg {
    /// A share alpha of the packets keeps its length, the others become short, about 64 + 300 alpha bytes
    Mix,
    /// Each packet keeps a share alpha of its length beyond 64 bytes
    Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LengthArg {
    /// From the destination address of Ethernet on, without check sequence
    Frame,
    /// The IP packet alone
    Ip,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic")]
pub struct SimTrafficArgs {
    /// Packets of a capture, pcap or pcapng
    #[arg(long, value_name = "FILE", conflicts_with_all = ["profile", "sizes"])]
    pub trace: Option<PathBuf>,
    /// Made-up packets: backbone, facebook (or datacenter), sj12, mawi, uni1, uni2, imix, fixed:LENGTH
    /// [default: backbone]
    #[arg(long, value_name = "NAME", value_parser = Profile::parse)]
    pub profile: Option<Profile>,
    /// Made-up packets of these sizes: lines with a length and the share of packets that are not longer
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    pub sizes: Option<PathBuf>,
    /// Packets of a run [default: 1000000, of figures 200000, of a trace all]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: Option<u64>,
    /// Flows of made-up packets
    #[arg(long, value_name = "N", conflicts_with = "trace")]
    pub flows: Option<u32>,
    /// Popularity of flows: the flow of rank i comes in proportion to 1/i^S
    #[arg(long, value_name = "S", conflicts_with = "trace")]
    pub zipf: Option<f64>,
    /// The chance that a packet belongs to the flow of the one before
    #[arg(long, hide_short_help = true, value_name = "P", conflicts_with = "trace")]
    pub trains: Option<f64>,
    /// The chance that the mix of lengths stays as it is from packet to packet, so that long packets come in runs; 0.985
    /// gives the waits of a real link [default: 0, every length is drawn by itself]
    #[arg(
        long,
        hide_short_help = true,
        value_name = "P",
        conflicts_with = "trace",
        allow_negative_numbers = true
    )]
    pub size_runs: Option<f64>,
    /// Lengths of a trace's packets
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        value_name = "WHICH",
        default_value = "frame",
        requires = "trace"
    )]
    pub length: LengthArg,
    /// Also simulate each N packets by themselves: show the least, the 99th percentile and the most of each result; in a
    /// figure, the worst
    #[arg(long, value_name = "N")]
    pub window: Option<u64>,
    /// Seed of made-up packets, and of the choice which packets --alpha shortens
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How busy the line is; below 1, packets have gaps in proportion to their length
    #[arg(long, value_name = "U,...", value_delimiter = ',', default_value = "1")]
    pub utilisation: Vec<f64>,
    /// Keep the trace's own times, stretched so that the line is as busy as --utilisation says
    #[arg(long, hide_short_help = true, requires = "trace")]
    pub trace_times: bool,
    /// How much is left of the lengths, from 0 (all packets have 64 bytes) to 1 (as they are) [default: 1, of figures
    /// 0,0.2,...,1]
    #[arg(long, value_name = "A,...", value_delimiter = ',')]
    pub alpha: Vec<f64>,
    /// The function by which --alpha shortens packets
    #[arg(long, hide_short_help = true, value_enum, value_name = "MODEL", default_value = "mix")]
    pub alpha_model: AlphaModelArg,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Switch")]
pub struct SimSwitchArgs {
    /// Cycles of the stateful action, as 5, 1..30 or 2,4,8..16 [default: of the program, or 1..30]
    #[arg(long, visible_alias = "stages", value_name = "N,...", value_parser = LengthList::parse)]
    pub cycles: Option<LengthList>,
    /// Actions of different length, with weights, as 3:0.7,10:0.3; `program`: those of the program's paths
    #[arg(long, value_name = "N:WEIGHT,...", value_delimiter = ',', conflicts_with = "cycles")]
    pub mix: Vec<String>,
    /// Cycles from the read to the write, if they are fewer than the action has
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub lock_cycles: Option<u32>,
    /// The share of packets that only read, and need no lock
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub read_only: f64,
    /// Synchronisation of packets that share state [default: all three]
    #[arg(long, value_enum, value_name = "POLICY", value_delimiter = ',')]
    pub policy: Vec<PolicyArg>,
    /// Which packets share state: global, 5-tuple, src-dst, or fields as dst/16,proto (repeatable) [default: of the
    /// program, or 5-tuple]
    #[arg(long, value_name = "KEY", value_parser = Key::parse)]
    pub key: Vec<Key>,
    /// Which packets share a queue [default: those that share state]
    #[arg(long, hide_short_help = true, value_name = "KEY", value_parser = Key::parse)]
    pub lookup_key: Option<Key>,
    /// Queues in front of the action, with per-flow locks [default: 16]
    #[arg(long, value_name = "Q,...", value_parser = LengthList::parse)]
    pub queues: Option<LengthList>,
    /// Locks: the hash of the key is taken modulo this [default: 16]
    #[arg(long, value_name = "W,...", value_parser = LengthList::parse)]
    pub locks: Option<LengthList>,
    /// Packets that a queue has room for [default: 100]
    #[arg(long, value_name = "N,...", value_parser = LengthList::parse)]
    pub queue_capacity: Option<LengthList>,
    /// Bytes that arrive in a cycle
    #[arg(long, value_name = "N", default_value_t = 80)]
    pub chunk_bytes: u32,
    /// Cycles in a nanosecond, for times and rates
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    pub clock_ghz: f64,
}

#[derive(Debug, Args)]
pub struct SimArgs {
    /// A program: its stateful actions are found, explained and simulated [default: what the options say]
    pub program: Option<PathBuf>,
    /// A published figure instead
    #[arg(long, value_enum, value_name = "FIGURE", conflicts_with = "program")]
    pub figure: Option<FigureArg>,
    /// Metric shown by `--figure flow`
    #[arg(long, value_enum, value_name = "WHAT", default_value = "throughput")]
    pub metric: MetricArg,
    /// Print the longest action that loses no more of the packets than this, as 0.01%,0.1%,1% or 0.001
    #[arg(long, value_name = "LOSS,...", value_delimiter = ',', value_parser = loss, conflicts_with_all = ["program", "figure", "mix", "window"])]
    pub budget: Vec<f64>,
    /// With --figure: draw to this SVG file
    #[arg(long, value_name = "FILE", value_parser = console::svg_file)]
    pub svg: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sweep: SweepArgs,
    #[command(flatten)]
    pub traffic: SimTrafficArgs,
    #[command(flatten)]
    pub switch: SimSwitchArgs,
    /// File with the costs of operations, in cycles; see --print-costs
    #[arg(long, value_name = "FILE", help_heading = "Program")]
    pub costs: Option<PathBuf>,
    /// Print the table of costs, to be edited, and end
    #[arg(long, help_heading = "Program")]
    pub print_costs: bool,
    /// Only explain the program
    #[arg(long, requires = "program", help_heading = "Program")]
    pub explain: bool,
    /// How many packets go a way of the program that --explain names, as 25=0.3 or police=0.01 (repeatable); of the
    /// others as many each. Implies --mix program
    #[arg(long, value_name = "WAY=SHARE", requires = "program", conflicts_with_all = ["cycles", "lock_cycles"], value_delimiter = ',', help_heading = "Program")]
    pub path_share: Vec<String>,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

/// Parses a share of the packets, in percent if it says so.
fn loss(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(loss) if (0.0..unit).contains(&loss) => Ok(loss / unit),
        Ok(_) | Err(_) => {
            Err("expected a share of the packets from 0 to below 1, or in percent, as 0.1%".to_string())
        }
    }
}

/// `5`, `1..30` (both ends included) or `2,4,8..16`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthList(pub Vec<u32>);

/// Numbers of one list.
const LIST_MAX: usize = 4096;

impl LengthList {
    pub fn parse(text: &str) -> Result<LengthList, String> {
        let number = |word: &str| {
            word.trim()
                .parse::<u32>()
                .map_err(|_| format!("`{word}`: expected numbers as 5, 1..30 or 2,4,8..16"))
        };
        let mut all = Vec::new();
        for word in text.split(',') {
            let (low, high) = match word.split_once("..") {
                Some((low, high)) => (number(low)?, number(high.trim_start_matches('='))?),
                None => (number(word)?, number(word)?),
            };
            if low > high {
                return Err(format!("`{word}`: {low} is above {high}"));
            }
            if (high - low) as usize + all.len() >= LIST_MAX {
                return Err(format!("`{word}`: more than {LIST_MAX} numbers"));
            }
            all.extend(low..=high);
        }
        Ok(LengthList(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_shares_or_percent() {
        assert_eq!((loss("0.001"), loss("0.1%"), loss("0")), (Ok(0.001), Ok(0.001), Ok(0.0)));
        for text in ["", "x", "1", "100%", "-1%", "nan", "%"] {
            assert!(loss(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_of_numbers() {
        let of = |text| LengthList::parse(text).map(|list| list.0);
        assert_eq!(of("5"), Ok(vec![5]));
        assert_eq!(of("2,4..6,9"), Ok(vec![2, 4, 5, 6, 9]));
        for text in ["", "x", "3..1", "1..99999", "-1", "1,,2"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
