//! `siding model`: what packets would cost.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Asynchronous blocks: how many packets get through when workers run them, wait for them or go on meanwhile
    Extern(ModelExternArgs),
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
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| format!("expected a number from {least} to {most}"))
}

fn cycles(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e9)
}

fn percent(text: &str) -> Result<f64, String> {
    number(text, 0.0, 100.0)
}

fn gigahertz(text: &str) -> Result<f64, String> {
    number(text, 0.001, 100.0)
}
