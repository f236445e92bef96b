//! `siding bench state`: packets that add entries to a table, beside DPDK's learner table and `rte_hash` with lookup and add.

mod apps;
mod latency;
mod throughput;

pub(crate) use self::latency::{UDP, files as latency_files};

use crate::args::{BenchStateArgs, StateFigureArg};
use console::output::{self, Exit};

pub fn run(args: &BenchStateArgs) -> Exit {
    let done = match (args.app, args.figure) {
        (Some(app), _) => apps::measure(app, args),
        (None, StateFigureArg::Latency) if !args.flows.is_empty() => {
            output::error_line("--flows is not for --figure latency, which has 2^20 keys");
            Err(Exit::Usage)
        }
        (None, StateFigureArg::Latency) => latency::measure(args),
        (None, StateFigureArg::Throughput) => throughput::measure(args),
    };
    done.map_or_else(|exit| exit, |()| Exit::Ok)
}
