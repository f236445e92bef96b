//! One file per command.

mod backends;
mod build;
mod check;
mod compiler;
mod conformance;
mod ctl;
mod doctor;
mod entries;
mod explain;
mod fmt;
mod graph;
mod ir;
mod live;
mod model;
mod p4info;
mod run;
mod script;
mod sim;
mod stf;
mod trace;

use crate::cli::{Cli, Command};
pub use check::read_exit;

use crate::output::{self, Exit};
use clap::{ArgMatches, CommandFactory};
use console::{compiling, externs, tools};

/// Runs the command that was asked for.
pub fn run(cli: Cli, matches: &ArgMatches) -> Exit {
    // Present: clap demands a sub-command.
    let matches = matches.subcommand().map_or(matches, |(_, m)| m);
    match cli.command {
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
        Command::Trace(args) | Command::Why(args) => trace::run(&args, matches),
        Command::Stf(args) => stf::run(&args, matches),
        Command::Ir(args) => ir::run(&args, matches),
        Command::Sim(args) => sim::run(&args, matches),
        Command::Model(command) => model::run(&command),
        Command::Graph(args) => graph::run(&args, matches),
        Command::Fmt(args) => fmt::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Bench(command) => bench::run(&command),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "siding", &mut script);
            output::out(&String::from_utf8_lossy(&script));
            Exit::Ok
        }
        Command::Man => {
            let mut page = Vec::new();
            match clap_mangen::Man::new(Cli::command()).render(&mut page) {
                Ok(()) => {
                    output::out(&String::from_utf8_lossy(&page));
                    Exit::Ok
                }
                Err(error) => {
                    output::error_line(&error.to_string());
                    Exit::Environment
                }
            }
        }
    }
}
