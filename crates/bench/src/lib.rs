//! `siding bench`: how fast everything is, beside goals, beside hand-written code and beside other projects.
//!
//! - [`Command`]: what can be measured, with its options; [`run`] measures;
//! - one file for each benchmark; C programs are in `../c`, P4 programs in `../programs`, other projects' in `../peers`;
//! - `harness`: compiles and runs the C programs; `scenes`: entries and packets of whole programs;
//! - `ports`: a switch in a process of its own between generator and sink, for `live` and `asynchronous`;
//! - [`report`], [`chart`]: tables, ratios and figures.
//!
//! Invariants: the same packets and entries on every run; medians of several runs. A peer that is absent is said to be
//! absent, never guessed.
//!
//! Non-goals: judging a change; figures depend on the machine, except for `instructions`.
//!
//! Start reading at [`run`], then `fast`.

mod args;
mod asynchronous;
pub mod chart;
mod compile;
mod control;
pub mod cpu;
mod examples;
mod fast;
mod frontend;
mod harness;
mod instructions;
mod interp;
pub mod latency;
mod live;
mod native;
mod network;
mod ports;
mod programs;
mod registers;
pub mod report;
mod scenes;
mod sim;
mod state;
mod tables;

pub use args::{BenchCommand as Command, CalibrateArgs, MeasureArgs, ModelCheckArgs, ModelFormulaArgs};

use console::output::Exit;

/// Measures what the command says and prints it.
pub fn run(command: &Command) -> Exit {
    match command {
        Command::Frontend(args) => frontend::run(args),
        Command::Interp(args) => interp::run(args),
        Command::Compile(args) => compile::run(args),
        Command::Native(args) => native::run(args),
        Command::Forward(args) => fast::forward(args),
        Command::L2(args) => fast::l2(args),
        Command::Exact(args) => tables::exact(args),
        Command::Table(args) => tables::table(args),
        Command::Lpm(args) => tables::lpm(args),
        Command::Ternary(args) => tables::ternary(args),
        Command::Acl(args) => tables::acl(args),
        Command::Programs(args) => programs::run(args),
        Command::Instructions(args) => instructions::run(args),
        Command::Async(args) => asynchronous::run(args),
        Command::Registers(args) => registers::run(args),
        Command::Sim(args) => sim::run(args),
        Command::State(args) => state::run(args),
        Command::Control(args) => control::run(args),
        Command::Live(args) => live::run(args),
    }
}
