//! `siding model`: what packets would cost.

use super::latency::ModelLatencyArgs;
use super::model_packets::ModelPacketsArgs;
use super::number::{cycles, gigahertz, number, percent};
use super::{FrontEndArgs, SweepArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Asynchronous blocks: how many packets get through when workers run them, wait for them or go on meanwhile
    Extern(ModelExternArgs),
    /// Switch chips: the memory that a program's tables take, and whether they fit the stages
    Asic(Box<ModelAsicArgs>),
    /// Processor cores: the cycles of a program's packets, before anything is compiled
    Cpu(Box<ModelCpuArgs>),
    /// Delays of packets through a worker that polls: bounds, percentiles, the ring; or measured beside them
    Latency(Box<ModelLatencyArgs>),
    /// Strengths of processors, network processors, FPGAs and switch chips, with our figures
    Targets,
    /// Measure what components of programs cost on this machine, for `siding model cpu`
    Calibrate(bench::CalibrateArgs),
    /// The published formula for exact tables, with the parameters of this machine
    Formula(bench::ModelFormulaArgs),
    /// Predict programs that no profile is made from, measure them, and compare
    Check(bench::ModelCheckArgs),
}

/// Exit code 1: the program does not fit.
#[derive(Debug, Args)]
pub struct ModelAsicArgs {
    /// The program
    #[arg(required_unless_present = "print_chip")]
    pub program: Option<PathBuf>,
    /// A chip that comes with Siding (generic-12, generic-20), or a file that describes one
    #[arg(long, value_name = "NAME|FILE", default_value = "generic-12")]
    pub chip: String,
    /// Entries of tables, in place of the sizes in the program, as ipv4_lpm=1e6
    #[arg(long, value_name = "TABLE=N,...", value_delimiter = ',', value_parser = entries)]
    pub entries: Vec<(String, u64)>,
    /// Also find the largest size of this table that fits
    #[arg(long, value_name = "TABLE")]
    pub max: Option<String>,
    /// Entries with a range, of tables with range keys, in percent
    #[arg(long, value_name = "PERCENT", default_value = "25", value_parser = percent)]
    pub range_share: f64,
    /// Seconds for the search for a shorter placement; 0: no search
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub search: f64,
    /// Draw the stages to this SVG file
    #[arg(long, value_name = "FILE", value_parser = console::svg_file)]
    pub svg: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the description of the chip, to be edited, and end
    #[arg(long)]
    pub print_chip: bool,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

/// Without a script all ways through the program have equal shares, and all lookups hit.
#[derive(Debug, Args)]
pub struct ModelCpuArgs {
    /// The program
    pub program: PathBuf,
    #[command(flatten)]
    pub packets: ModelPacketsArgs,
    /// How many packets go a way, as 25=0.9 of those that come to the condition in line 25, !25=0.1, 25/0=0.5 of the first case,
    /// or routes.drop=0.2; of the others as many as before, in proportion (repeatable)
    #[arg(long, value_name = "WAY=SHARE", value_delimiter = ',', value_parser = way)]
    pub path_share: Vec<(String, f64)>,
    /// Entries of tables, in place of those of the script, as routes=1e6; packets come to all of them
    #[arg(long, value_name = "TABLE=N,...", value_delimiter = ',', value_parser = entries)]
    pub entries: Vec<(String, u64)>,
    /// Also predict with these sizes of a table, as routes=1e3:1e5:1e7 (repeatable)
    #[arg(long, value_name = "TABLE=N:...", value_parser = sizes)]
    pub what_if: Vec<(String, Vec<u64>)>,
    /// Numbers of cores, for rates
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cores: Vec<u32>,
    /// Cycles of a second, for rates [default: as on the machine of the profile]
    #[arg(long, value_name = "GHZ", value_parser = gigahertz)]
    pub ghz: Option<f64>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub front_end: FrontEndArgs,
}

/// `WAY=SHARE`.
fn way(text: &str) -> Result<(String, f64), String> {
    let (way, share) = text.split_once('=').ok_or("expected a way and a share from 0 to 1, as 25=0.3")?;
    Ok((way.to_owned(), number(share, 0.0, 1.0)?))
}

/// Cycles are those of any one clock; `siding bench async` and `siding ctl show async` tell what they are here.
#[derive(Debug, Args)]
pub struct ModelExternArgs {
    /// Cycles of the block; several are compared
    #[arg(long, value_name = "CYCLES", value_delimiter = ',', default_value = "50,100,250,500,1000,2000,5000,10000",
          value_parser = cycles)]
    pub cost: Vec<f64>,
    /// Packets that come to the block, in percent
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = percent)]
    pub share: f64,
    /// Cycles of a packet without the block
    #[arg(long, value_name = "CYCLES", default_value = "200", value_parser = cycles)]
    pub base: f64,
    /// Cycles for sending a packet and taking it back
    #[arg(long, value_name = "CYCLES", default_value = "100", value_parser = cycles)]
    pub suspend: f64,
    /// Cycles until a packet that the worker waits for is back, beside the block
    #[arg(long, value_name = "CYCLES", default_value = "300", value_parser = cycles)]
    pub round_trip: f64,
    /// Workers that share the offload workers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: u32,
    /// Offload workers
    #[arg(long, alias = "executors", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub offload_workers: u32,
    /// Packets of a worker that may be under way
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub capacity: u32,
    /// Cycles of a second, for rates
    #[arg(long, value_name = "GHZ", default_value = "2.5", value_parser = gigahertz)]
    pub clock_ghz: f64,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sweep: SweepArgs,
}

fn seconds(text: &str) -> Result<f64, String> {
    number(text, 0.0, 3600.0)
}

/// `TABLE=N`, where N may be written as 1000000, 1_000_000 or 1e6.
fn entries(text: &str) -> Result<(String, u64), String> {
    let (table, n) = text
        .split_once('=')
        .filter(|(table, _)| !table.is_empty())
        .ok_or_else(|| "expected TABLE=N, such as ipv4_lpm=1000000 or ipv4_lpm=1e6".to_string())?;
    let digits = n.replace('_', "");
    let whole = digits.parse::<u64>().ok();
    // Numbers with an exponent are exact as long as they are whole.
    let with_exponent = || {
        let value: f64 = digits.parse().ok()?;
        (value.fract() == 0.0 && (0.0..u64::MAX as f64).contains(&value)).then_some(value as u64)
    };
    let n = whole.or_else(with_exponent).ok_or_else(|| {
        format!(
            "`{n}` entries for `{table}`: N is a whole number from 1 to {}, such as 1000000 or 1e6",
            u64::MAX
        )
    })?;
    match n {
        0 => Err(format!("`{table}` has 0 entries; a table has at least 1")),
        n => Ok((table.to_string(), n)),
    }
}

/// `TABLE=N:N:...`
fn sizes(text: &str) -> Result<(String, Vec<u64>), String> {
    let fault = || "expected TABLE=N:N:..., such as routes=1e3:1e5:1e7".to_string();
    let (table, all) = text.split_once('=').ok_or_else(fault)?;
    let size = |n: &str| entries(&format!("{table}={n}")).map(|(_, n)| n);
    Ok((table.to_owned(), all.split(':').map(size).collect::<Result<_, _>>()?))
}
