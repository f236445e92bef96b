//! `siding bench state`: packets that add entries to a table, beside DPDK's learner table and `rte_hash` with lookup and add.

mod throughput;

use crate::args::{BenchStateArgs, StateFigureArg};
use console::output::Exit;

pub fn run(args: &BenchStateArgs) -> Exit {
    let done = match args.figure {
        StateFigureArg::Throughput => throughput::measure(args),
    };
    done.map_or_else(|exit| exit, |()| Exit::Ok)
}
