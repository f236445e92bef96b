//! One file per command.

mod arch;
mod backends;
mod bmv2;
mod build;
mod check;
mod compiler;
mod complete;
mod conformance;
mod ctl;
mod doctor;
mod entries;
mod explain;
mod fmt;
mod graph;
mod ir;
mod live;
mod man;
mod merge;
mod migrate;
mod model;
mod own_extern;
mod p4info;
mod p4rt;
mod pipeline_config;
mod reproduce;
mod run;
mod script;
pub mod shims;
mod sim;
mod stf;
mod sweeps;
mod trace;
mod traffic;

use crate::cli::{self, Cli, Command};
pub use check::read_exit;

use crate::output::{self, Exit};
use clap::ArgMatches;
use console::{compiling, externs, tools};
use std::io::IsTerminal;

/// Runs the command that was asked for.
pub fn run(parsed: Cli, matches: &ArgMatches) -> Exit {
    // Present: clap demands a sub-command.
    let matches = matches.subcommand().map_or(matches, |(_, m)| m);
    match parsed.command {
        Command::Check(args) => check::run(&args, matches),
        Command::Build(args) => build::run(&args, matches),
        Command::Entries(command) => entries::run(&command, matches),
        Command::P4info(args) => p4info::run(&args, matches),
        Command::Run(args) => run::run(&args, matches),
        Command::Switch(mut args) => {
            args.program = args.program.take().or(args.configured_program.take());
            live::run(&args, matches)
        }
        Command::Ctl(args) => ctl::run(&args),
        Command::P4rt(args) => p4rt::run(&args, matches),
        Command::Migrate(args) => migrate::run(&args),
        Command::Trace(args) | Command::Why(args) => trace::run(&args, matches),
        Command::Stf(args) => stf::run(&args, matches),
        Command::Ir(args) => ir::run(&args, matches),
        Command::Sim(args) => sim::run(&args, matches),
        Command::Merge(args) => merge::run(&args),
        Command::Model(command) => model::run(&command, matches),
        Command::Graph(args) => graph::run(&args, matches),
        Command::Fmt(args) => fmt::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Arch(args) => arch::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Bench(command) => bench::run(&command),
        Command::Traffic(args) => traffic::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Extern(command) => own_extern::run(&command),
        Command::Shims(args) => shims::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions { shell } => complete::script(shell),
        Command::CompleteWords { words } => complete::words(&words),
        Command::Man(args) => man::run(&args),
        Command::Help { words } => help(&words),
    }
}

fn help(words: &[String]) -> Exit {
    match cli::page(words) {
        Ok(page) => {
            let is_coloured = std::io::stdout().is_terminal();
            output::out(&if is_coloured { page.ansi().to_string() } else { page.to_string() });
            Exit::Ok
        }
        Err(message) => {
            output::error_line(&message);
            Exit::Usage
        }
    }
}
