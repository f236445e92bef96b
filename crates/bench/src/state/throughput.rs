//! `siding bench state --figure throughput`: cycles of packets that add entries and of those that find them, with peers.

use crate::args::{BenchStateArgs, MeasureArgs};
use crate::examples::Example;
use crate::fast;
use crate::harness::{self, Goal, Report};
use crate::report::Line;
use console::compiling::{Compiling, Prepared};
use console::output::Exit;
use std::path::{Path, PathBuf};

const MAIN: &str = "crates/bench/c/state/run.c";

/// Parameters of entries that hits read, and that they change.
const UPDATE: &str = "crates/bench/c/state/update.c";
const UPDATE_PROGRAM: Example<'static> =
    Example { name: "state_update.p4", text: include_str!("../../programs/state_update.p4") };
/// Ways to keep changes of an entry apart.
const SYNC: &str = "crates/bench/c/state/sync.c";
const SYNC_PROGRAM: Example<'static> =
    Example { name: "state_sync.p4", text: include_str!("../../programs/state_sync.p4") };
const HITS: (&str, &str) = ("crates/bench/c/state/hits.h", include_str!("../../c/state/hits.h"));
/// Entries that the tables of these programs have room for.
const UPDATE_SIZE_MAX: u64 = 2_000_000;

const SIZES: [u64; 4] = [1_000, 100_000, 1_000_000, 10_000_000];
/// Sizes of a quick look.
const N_QUICK: usize = 2;
/// Flows to which the goals apply.
const JUDGED: u64 = 1_000_000;

pub(super) fn measure(args: &BenchStateArgs) -> Result<(), Exit> {
    let text = fast::c_text("state.p4", include_str!("../../programs/state.p4"))?;
    let files =
        [(MAIN, include_str!("../../c/state/run.c")), ("crates/bench/c/state/program.c", text.as_str())];
    let program = harness::compile(MAIN, &files, &Compiling::new(&args.measure.cc)?)?;
    let sizes: &[u64] = match args.flows.as_slice() {
        [] if args.measure.quick => &SIZES[..N_QUICK],
        [] => &SIZES,
        sizes => sizes,
    };
    let mut report = Report {
        title: "Packets that add entries, TSC cycles per packet on one core, over memory".to_string(),
        size_is: "flows",
        ..Report::default()
    };
    for size in sizes {
        report.lines.extend(run_with(&program, *size, args, None)?);
    }
    let largest = sizes.iter().copied().max().unwrap_or(JUDGED);
    for n_workers in [1, 2] {
        report.lines.extend(run_with(&program, largest, args, Some(n_workers))?);
    }
    let compiling = Compiling::new(&args.measure.cc)?;
    let update = compile_hits((UPDATE, include_str!("../../c/state/update.c")), UPDATE_PROGRAM, &compiling)?;
    for size in sizes.iter().filter(|size| **size <= UPDATE_SIZE_MAX) {
        report.lines.extend(run_with(&update, *size, args, None)?);
    }
    let sync = compile_hits((SYNC, include_str!("../../c/state/sync.c")), SYNC_PROGRAM, &compiling)?;
    for size in [1, largest.min(UPDATE_SIZE_MAX)] {
        for n_workers in [1, 2] {
            report.lines.extend(run_with(&sync, size, args, Some(n_workers))?);
        }
    }
    add_peers(&mut report, sizes, &args.measure);
    judge(&mut report);
    report.notes.push(
        "Lines of siding and swx are whole packets, with parser and deparser; those of rte_hash and swx_learner are their tables alone."
            .to_owned(),
    );
    report.show("state", "", &args.measure)
}

fn compile_hits(
    main: (&str, &str),
    program: Example<'static>,
    compiling: &Compiling,
) -> Result<PathBuf, Exit> {
    let text = Prepared::new(&program.load()?, program.name)?.c_text(codegen::Options::default());
    harness::compile(main.0, &[main, HITS, ("crates/bench/c/state/program.c", text.as_str())], compiling)
}

fn run_with(
    program: &Path,
    size: u64,
    args: &BenchStateArgs,
    n_workers: Option<u32>,
) -> Result<Vec<Line>, Exit> {
    let mut options = vec![("--size", size.to_string()), ("--burst", args.burst.to_string())];
    options.push(("--runs", args.measure.n_runs().to_string()));
    options.extend(n_workers.map(|n| ("--workers", n.to_string())));
    let options: Vec<String> =
        options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
    harness::run(program, &options)
}

/// Flows that the table of SWX's pipeline has room for.
const PIPELINE_SIZE_MAX: u64 = 1 << 20;

/// Tables alone, and DPDK's pipeline with a program like ours.
fn add_peers(report: &mut Report, sizes: &[u64], args: &MeasureArgs) {
    let learner = sizes.iter().map(|size| ("learn", None, *size));
    let pipeline = sizes.iter().filter(|size| **size <= PIPELINE_SIZE_MAX);
    let pipeline = pipeline.map(|size| ("dpdk_swx", Some("--learn"), *size));
    let mut absent: Vec<&str> = Vec::new();
    for (peer, mode, size) in learner.chain(pipeline) {
        if absent.contains(&peer) {
            continue;
        }
        let mut options: Vec<String> = mode.into_iter().map(str::to_owned).collect();
        options.extend(["--size".to_owned(), size.to_string()]);
        options.extend(args.quick.then(|| "--quick".to_owned()));
        match harness::run_peer(peer, &options) {
            Ok(lines) => report.lines.extend(lines),
            Err(sentence) => {
                report.absent.push(sentence);
                absent.push(peer);
            }
        }
    }
}

fn cycles(lines: &[Line], peer: &str, work: &str, size: u64) -> Option<f64> {
    let is_it = |line: &&Line| line.peer == peer && line.work == work && line.size == size;
    lines.iter().find(is_it).map(|line| line.cycles)
}

/// Pairs of figures over the sizes that have both, each as a ratio.
fn ratios(lines: &[Line], above: (&str, &str), below: (&str, &str)) -> Vec<(u64, f64)> {
    let mut sizes: Vec<u64> = lines.iter().map(|line| line.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let ratio = |size: u64| {
        Some((size, cycles(lines, above.0, above.1, size)? / cycles(lines, below.0, below.1, size)?))
    };
    sizes.into_iter().filter_map(ratio).collect()
}

fn judge(report: &mut Report) {
    let lines = &report.lines;
    let judged = |values: Vec<(u64, f64)>| values.into_iter().filter(|(size, _)| *size == JUDGED).collect();
    let insert: Vec<(u64, f64)> = judged(ratios(lines, ("siding", "learn"), ("siding", "hit")));
    let rate = lines.iter().filter(|line| line.peer == "siding" && line.work == "learn");
    let rate: Vec<(u64, f64)> =
        judged(rate.filter_map(|line| Some((line.size, line.number("mpps")?))).collect());
    let learner = ratios(lines, ("swx_learner", "learn"), ("siding", "learn"));
    let hash = ratios(lines, ("rte_hash", "learn"), ("siding", "learn"));
    let pipeline = ratios(lines, ("swx", "learn"), ("siding", "learn"));
    let pipeline_hits = ratios(lines, ("swx", "hit"), ("siding", "hit"));
    let two_workers = ratios(lines, ("siding", "learn, 1 worker"), ("siding", "learn, 2 workers"));
    let counts = lines.iter().filter(|line| line.work == "hit, count");
    let updates = counts.filter_map(|line| Some((line.size, line.number("extra_cycles")?))).collect();
    report.judge("cycles_of_an_update", updates, Goal::AtMost(10.0));
    report.judge("learn_to_hit", insert, Goal::AtMost(3.0));
    report.judge("million_flows_a_second", rate, Goal::AtLeast(15.0));
    report.judge("ratio_to_swx_learner", learner, Goal::AtLeast(1.0));
    report.judge("ratio_to_rte_hash", hash, Goal::AtLeast(1.0));
    report.judge("ratio_to_swx_pipeline", pipeline, Goal::AtLeast(1.0));
    report.judge("ratio_to_swx_pipeline_at_hits", pipeline_hits, Goal::AtLeast(1.0));
    report.judge("two_workers_to_one", two_workers, Goal::AtLeast(1.6));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(peer: &str, work: &str, size: u64, cycles: f64) -> Line {
        let text = serde_json::json!({
            "peer": peer, "work": work, "size": size, "cycles": cycles, "cycles_min": cycles, "mpps": 20.0,
            "extra_cycles": if work == "hit, count" { Some(3.0) } else { None },
        });
        Line::parse(&text.to_string()).unwrap()
    }

    #[test]
    fn goals_are_those_of_a_million_flows() {
        let lines = vec![
            line("siding", "learn", 1000, 50.0),
            line("siding", "hit", 1000, 10.0),
            line("siding", "learn", JUDGED, 150.0),
            line("siding", "hit", JUDGED, 100.0),
            line("swx_learner", "learn", JUDGED, 300.0),
            line("swx", "learn", JUDGED, 450.0),
            line("swx", "hit", JUDGED, 250.0),
            line("siding", "learn, 1 worker", JUDGED, 150.0),
            line("siding", "learn, 2 workers", JUDGED, 100.0),
            line("siding", "hit, read", JUDGED, 90.0),
            line("siding", "hit, count", JUDGED, 93.0),
        ];
        let mut report = Report { lines, ..Report::default() };
        judge(&mut report);
        let found: Vec<(&str, u64, f64, bool)> = report
            .goals
            .iter()
            .map(|goal| (goal.name.as_str(), goal.size, goal.value, goal.is_met()))
            .collect();
        assert_eq!(
            found,
            [
                ("cycles_of_an_update", JUDGED, 3.0, true),
                ("learn_to_hit", JUDGED, 1.5, true),
                ("million_flows_a_second", JUDGED, 20.0, true),
                ("ratio_to_swx_learner", JUDGED, 2.0, true),
                ("ratio_to_swx_pipeline", JUDGED, 3.0, true),
                ("ratio_to_swx_pipeline_at_hits", JUDGED, 2.5, true),
                ("two_workers_to_one", JUDGED, 1.5, false),
            ]
        );
    }
}
