//! `siding model`: costs that are predicted.

mod asic;
mod asic_report;
mod cpu;
mod latency;
mod offload;
mod predicted;

use crate::cli::ModelCommand;
use crate::output::Exit;
use clap::ArgMatches;

pub fn run(command: &ModelCommand, matches: &ArgMatches) -> Exit {
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    match command {
        ModelCommand::Extern(args) => offload::run(args, matches),
        ModelCommand::Asic(args) => asic::run(args, matches),
        ModelCommand::Cpu(args) => cpu::run(args, matches),
        ModelCommand::Latency(args) => latency::run(args, matches),
        ModelCommand::Targets => latency::targets(),
        ModelCommand::Calibrate(args) => bench::cpu::calibrate(args),
        ModelCommand::Formula(args) => bench::cpu::formula(args),
        ModelCommand::Check(args) => bench::cpu::check(args),
    }
}
