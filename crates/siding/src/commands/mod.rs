//! One file per command.

mod archive;
mod backends;
mod bench;
mod bench_async;
mod bench_async_figures;
mod bench_async_gcm;
mod bench_chart;
mod bench_compile;
mod bench_fast;
mod bench_instructions;
mod bench_interp;
mod bench_lines;
mod bench_measure;
mod bench_native;
mod bench_programs;
mod bench_registers;
mod bench_scenes;
mod bench_sim;
mod bench_tables;
mod build;
mod carry_over;
mod check;
mod compiling;
mod conformance;
mod ctl;
mod doctor;
mod examples;
mod explain;
mod externs;
mod fmt;
mod graph;
mod in_bursts;
mod ir;
mod language;
mod layout;
mod live;
mod load;
mod machine;
mod model;
mod p4info;
mod run;
mod script;
mod shorthand;
mod sim;
mod stf;
mod switch;
mod tools;
mod trace;

use crate::cli::{BenchCommand, Cli, Command};
use crate::output::{self, Exit};
use clap::{ArgMatches, CommandFactory};

/// Runs the command that was asked for.
pub fn run(cli: Cli, matches: &ArgMatches) -> Exit {
    // Present: clap demands a sub-command.
    let matches = matches.subcommand().map_or(matches, |(_, m)| m);
    match cli.command {
        Command::Check(args) => check::run(&args, matches),
        Command::Build(args) => build::run(&args, matches),
        Command::P4info(args) => p4info::run(&args, matches),
        Command::Run(args) => run::run(&args, matches),
        Command::Switch(args) => live::run(&args, matches),
        Command::Ctl(args) => ctl::run(&args),
        Command::Trace(args) => trace::run(&args, matches),
        Command::Stf(args) => stf::run(&args, matches),
        Command::Ir(args) => ir::run(&args, matches),
        Command::Sim(args) => sim::run(&args, matches),
        Command::Model(command) => model::run(&command),
        Command::Graph(args) => graph::run(&args, matches),
        Command::Fmt(args) => fmt::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Bench(BenchCommand::Frontend(args)) => bench::frontend(&args),
        Command::Bench(BenchCommand::Interp(args)) => bench_interp::run(&args),
        Command::Bench(BenchCommand::Compile(args)) => bench_compile::run(&args),
        Command::Bench(BenchCommand::Native(args)) => bench_native::run(&args),
        Command::Bench(BenchCommand::Forward(args)) => bench_fast::forward(&args),
        Command::Bench(BenchCommand::L2(args)) => bench_fast::l2(&args),
        Command::Bench(BenchCommand::Exact(args)) => bench_tables::exact(&args),
        Command::Bench(BenchCommand::Table(args)) => bench_tables::table(&args),
        Command::Bench(BenchCommand::Lpm(args)) => bench_tables::lpm(&args),
        Command::Bench(BenchCommand::Ternary(args)) => bench_tables::ternary(&args),
        Command::Bench(BenchCommand::Acl(args)) => bench_tables::acl(&args),
        Command::Bench(BenchCommand::Programs(args)) => bench_programs::run(&args),
        Command::Bench(BenchCommand::Instructions(args)) => bench_instructions::run(&args),
        Command::Bench(BenchCommand::Async(args)) => bench_async::run(&args),
        Command::Bench(BenchCommand::Registers(args)) => bench_registers::run(&args),
        Command::Bench(BenchCommand::Sim(args)) => bench_sim::run(&args),
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
