//! `siding bench state`: packets that add entries to a table, beside DPDK's learner table and `rte_hash` with lookup and add.

mod apps;
mod throughput;

use crate::args::{BenchStateArgs, StateFigureArg};
use console::output::Exit;

pub fn run(args: &BenchStateArgs) -> Exit {
    let done = match (args.app, args.figure) {
        (Some(app), _) => apps::measure(app, args),
        (None, StateFigureArg::Throughput) => throughput::measure(args),
    };
    done.map_or_else(|exit| exit, |()| Exit::Ok)
}
