//! `siding bench forward` and `siding bench l2`: generated code beside hand-written code, on the same packets.

use crate::args::{
    AddressesArg, BenchForwardArgs, BenchL2Args, FlowsArg, LengthsArg, MeasureArgs, TrafficArgs,
};
use crate::harness::{self, Goal, Report};
use crate::report::Line;
use console::Loaded;
use console::compiling::{Compiling, Prepared};
use console::output::{self, Exit};
use driver::{FileLoader, Options, Source};
use externs::ExternSet;
use std::path::PathBuf;
use std::sync::Arc;

const FORWARD: Benchmark = Benchmark {
    name: "forward.p4",
    p4: include_str!("../programs/forward.p4"),
    ceiling: include_str!("../c/ceiling/forward.c"),
};

const L2: Benchmark = Benchmark {
    name: "l2.p4",
    p4: include_str!("../peers/l2.p4"),
    ceiling: include_str!("../c/ceiling/l2.c"),
};

const HARNESS: &str = include_str!("../c/harness/run.c");

/// Packets that are there at once: those that stay in the caches of the core, and those that do not.
const HOT: u64 = 1024;
const COLD: u64 = 65_536;

const L2_SIZES: [u64; 5] = [10, 1_000, 100_000, 1_000_000, 10_000_000];

/// A program, and the same in C by hand.
struct Benchmark {
    name: &'static str,
    p4: &'static str,
    ceiling: &'static str,
}

impl Benchmark {
    /// The executable that times it.
    fn compile(&self, compiling: &Compiling) -> Result<PathBuf, Exit> {
        let text = c_text(self.name, self.p4)?;
        let files = [
            ("crates/bench/c/harness/run.c", HARNESS),
            ("crates/bench/c/harness/program.c", text.as_str()),
            ("crates/bench/c/harness/ceiling.c", self.ceiling),
        ];
        harness::compile("crates/bench/c/harness/run.c", &files, compiling)
    }
}

/// A program of ours as C, with tables of 2^24 entries.
pub fn c_text(name: &str, p4: &str) -> Result<String, Exit> {
    let source = Source { name: name.to_string(), text: p4.into() };
    let mut checked = driver::check(&source, &FileLoader::default(), &Options::default());
    let mut runnable = driver::runnable(&mut checked, None).ok_or_else(|| {
        output::error_line(&format!("internal bug: {name} cannot be compiled"));
        Exit::Bug
    })?;
    for (_, table) in runnable.program.tables.iter_mut() {
        table.size = Some(1 << 24);
    }
    let sources = Arc::new(checked.sources);
    let loaded =
        Loaded { runnable, sources, includes: Vec::new(), macros: Vec::new(), externs: ExternSet::new() };
    Ok(Prepared::new(&loaded, name)?.c_text(codegen::Options::default()))
}

/// The executable of `forward` or `l2`.
pub fn executable(name: &str, compiling: &Compiling) -> Result<PathBuf, Exit> {
    if name == "l2" { &L2 } else { &FORWARD }.compile(compiling)
}

fn harness_args(size: u64, measure: &MeasureArgs, traffic: &TrafficArgs) -> Vec<String> {
    let flows = match traffic.flows {
        FlowsArg::Random => "random",
        FlowsArg::Zipf => "zipf",
    };
    let lengths = match traffic.lengths {
        LengthsArg::Short => "64",
        LengthsArg::Imix => "imix",
    };
    let addresses = match traffic.addresses {
        AddressesArg::Random => "random",
        AddressesArg::Counted => "counted",
    };
    let options = [
        ("--size", size.to_string()),
        ("--packets", format!("{HOT},{COLD}")),
        ("--runs", measure.n_runs().to_string()),
        ("--burst", traffic.burst.to_string()),
        ("--flows", flows.to_string()),
        ("--lengths", lengths.to_string()),
        ("--addresses", addresses.to_string()),
    ];
    options.into_iter().flat_map(|(name, value)| [name.to_string(), value]).collect()
}

/// Cycles of ours by those of the fastest ceiling, over the sizes; the harness has taken them turn by turn.
fn ratio_to_ceiling(lines: &[Line], n_packets: u64) -> Vec<(u64, f64)> {
    let is_ours = |l: &&Line| l.peer == "siding" && l.word("path") == "auto" && l.n_packets() == n_packets;
    let ratio = |line: &Line| Some((line.size, line.number("ratio_to_ceiling")?));
    lines.iter().filter(is_ours).filter_map(ratio).collect()
}

/// Returns the larger value for each size.
fn worse(a: &[(u64, f64)], b: &[(u64, f64)]) -> Vec<(u64, f64)> {
    a.iter().zip(b).map(|(a, b)| (a.0, a.1.max(b.1))).collect()
}

fn judge_by_ceiling(report: &mut Report, limit: f64) {
    let (hot, cold) = (ratio_to_ceiling(&report.lines, HOT), ratio_to_ceiling(&report.lines, COLD));
    report.ratios.push(("ratio_to_ceiling".to_string(), worse(&hot, &cold)));
    report.judge("ratio_to_ceiling_hot", hot, Goal::AtMost(limit));
    report.judge("ratio_to_ceiling_cold", cold, Goal::AtMost(limit));
}

pub fn forward(args: &BenchForwardArgs) -> Exit {
    run_forward(args).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn run_forward(args: &BenchForwardArgs) -> Result<(), Exit> {
    let program = FORWARD.compile(&Compiling::new(&args.measure.cc)?)?;
    let mut report = Report {
        title: "Packets without a table, TSC cycles per packet on one core, over memory".to_string(),
        size_is: "entries",
        lines: harness::run(&program, &harness_args(0, &args.measure, &args.traffic))?,
        ..Report::default()
    };
    judge_by_ceiling(&mut report, 2.0);
    add_peer(&mut report, "dpdk_swx", "wire", &args.measure);
    let swx = ratio_to_peer(&report.lines, "swx", "wire", "forward");
    report.ratios.extend((!swx.is_empty()).then(|| ("ratio_to_swx".to_string(), swx)));
    report.show("forward", "path", &args.measure)
}

pub fn l2(args: &BenchL2Args) -> Exit {
    run_l2(args).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn run_l2(args: &BenchL2Args) -> Result<(), Exit> {
    let program = L2.compile(&Compiling::new(&args.measure.cc)?)?;
    let sizes: &[u64] = match args.entries.as_slice() {
        [] if args.measure.quick => &L2_SIZES[..3],
        [] => &L2_SIZES,
        sizes => sizes,
    };
    let mut report = Report {
        title: "Layer-2 switch with two exact tables, TSC cycles per packet on one core, over memory"
            .to_string(),
        size_is: "entries",
        ..Report::default()
    };
    for size in sizes {
        report.lines.extend(harness::run(&program, &harness_args(*size, &args.measure, &args.traffic))?);
    }
    judge_by_ceiling(&mut report, 1.5);
    add_peer(&mut report, "dpdk_swx", "l2", &args.measure);
    add_peer(&mut report, "bmv2", "l2", &args.measure);
    let (swx, bmv2) =
        (ratio_to_peer(&report.lines, "swx", "l2", "l2"), ratio_to_peer(&report.lines, "bmv2", "l2", "l2"));
    report.judge("ratio_to_swx", swx, Goal::AtLeast(8.0));
    report.judge("ratio_to_bmv2", bmv2, Goal::AtLeast(500.0));
    report.show("l2", "path", &args.measure)
}

/// Measures a peer in the same run of the command.
fn add_peer(report: &mut Report, name: &str, work: &str, args: &MeasureArgs) {
    let quick = if args.quick { vec!["--quick".to_string()] } else { Vec::new() };
    match harness::run_peer(name, &quick) {
        Ok(lines) => report.lines.extend(lines.into_iter().filter(|line| line.work == work)),
        Err(sentence) => report.absent.push(sentence),
    }
}

/// How many times as many cycles a peer takes as we do, over the sizes that both have. Peers have about as many
/// packets as stay in the caches.
fn ratio_to_peer(lines: &[Line], peer: &str, peer_work: &str, work: &str) -> Vec<(u64, f64)> {
    let ours = |size| {
        let is_ours = |l: &&Line| {
            l.peer == "siding"
                && l.work == work
                && l.size == size
                && l.word("path") == "auto"
                && l.n_packets() == HOT
        };
        lines.iter().find(is_ours).map(|line| line.cycles)
    };
    let theirs = lines.iter().filter(|line| line.peer == peer && line.work == peer_work);
    theirs.filter_map(|line| Some((line.size, line.cycles / ours(line.size)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(peer: &str, path: &str, size: u64, packets: u64, cycles: f64) -> Line {
        let text = serde_json::json!({
            "peer": peer, "path": path, "work": "l2", "size": size, "packets": packets, "cycles": cycles,
            "cycles_min": cycles, "ratio_to_ceiling": cycles / 10.0,
        });
        Line::parse(&text.to_string()).unwrap()
    }

    fn lines() -> Vec<Line> {
        vec![
            line("ceiling", "straight", 10, HOT, 10.0),
            line("ceiling", "burst", 10, HOT, 12.0),
            line("siding", "auto", 10, HOT, 15.0),
            line("siding", "straight", 10, HOT, 5.0),
            line("ceiling", "straight", 10, COLD, 40.0),
            line("ceiling", "burst", 10, COLD, 20.0),
            line("siding", "auto", 10, COLD, 50.0),
            line("siding", "auto", 1000, HOT, 20.0),
            line("swx", "", 10, 0, 150.0),
            line("swx", "", 77, 0, 150.0),
        ]
    }

    #[test]
    fn ratios_are_those_of_the_path_that_the_switch_takes() {
        assert_eq!(ratio_to_ceiling(&lines(), HOT), [(10, 1.5), (1000, 2.0)]);
        assert_eq!(ratio_to_ceiling(&lines(), COLD), [(10, 5.0)]);
        assert_eq!(worse(&[(10, 1.5)], &[(10, 2.5)]), [(10, 2.5)]);
    }

    #[test]
    fn ratios_to_peers_are_of_sizes_that_both_have() {
        assert_eq!(ratio_to_peer(&lines(), "swx", "l2", "l2"), [(10, 10.0)]);
        assert_eq!(ratio_to_peer(&lines(), "bmv2", "l2", "l2"), []);
    }
}
