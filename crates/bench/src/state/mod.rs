//! `siding bench state`: packets that add entries to a table, beside DPDK's learner table and `rte_hash` with lookup and add.

mod latency;
mod throughput;

use crate::args::{BenchStateArgs, StateFigureArg};
use console::output::{self, Exit};

pub fn run(args: &BenchStateArgs) -> Exit {
    if args.figure == StateFigureArg::Latency && !args.flows.is_empty() {
        output::error_line("--flows is for --figure throughput: the latency is that of 2^20 keys");
        return Exit::Usage;
    }
    let done = match args.figure {
        StateFigureArg::Latency => latency::measure(args),
        StateFigureArg::Throughput => throughput::measure(args),
    };
    done.map_or_else(|exit| exit, |()| Exit::Ok)
}
