//! `siding bench control`: entries a second that controllers write and read, through a switch in a process of its own.

mod bulk;
mod controller;
mod interference;
mod latency;
mod plain;
mod shm;
mod switch;

use crate::args::{BenchControlArgs, ControlFigureArg};
use console::output::{self, Exit};
use std::time::Instant;

pub fn run(args: &BenchControlArgs) -> Exit {
    let measured = match args.figure {
        ControlFigureArg::Plain => plain::measure(args),
        ControlFigureArg::Bulk => bulk::measure(args, false),
        ControlFigureArg::Read => bulk::measure(args, true),
        ControlFigureArg::Latency => latency::measure(args),
        ControlFigureArg::Interference => interference::measure(args),
        ControlFigureArg::Shm => shm::measure(args),
    };
    measured.map_or_else(|exit| exit, |()| Exit::Ok)
}

fn failed(message: impl std::fmt::Display) -> Exit {
    output::error_line(&message.to_string());
    Exit::Failed
}

/// Millions a second.
fn rate(n: usize, begin: Instant) -> f64 {
    n as f64 / begin.elapsed().as_secs_f64().max(1e-9) / 1e6
}
