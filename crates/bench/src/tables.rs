//! `siding bench exact`, `table`, `lpm`, `ternary` and `acl`: table backends beside those of DPDK.

use crate::args::{BenchTablesArgs, MeasureArgs};
use crate::harness::{self, Goal, Report};
use crate::report::Line;
use console::compiling::Compiling;
use console::output::Exit;

const EXACT: Engine = Engine {
    main: "crates/bench/c/tables/exact.c",
    files: &[("crates/bench/c/tables/exact.c", include_str!("../c/tables/exact.c"))],
};

const LPM: Engine = Engine {
    main: "crates/bench/c/tables/lpm.c",
    files: &[("crates/bench/c/tables/lpm.c", include_str!("../c/tables/lpm.c"))],
};

const TERNARY: Engine = Engine {
    main: "crates/bench/c/tables/ternary.c",
    files: &[
        ("crates/bench/c/tables/ternary.c", include_str!("../c/tables/ternary.c")),
        ("crates/bench/c/tables/acl_rules.h", include_str!("../c/tables/acl_rules.h")),
    ],
};

/// Rule sets with the character of real ones.
const ACL_SETS: [&str; 3] = ["acl", "fw", "ipc"];

/// A program that times an engine.
struct Engine {
    main: &'static str,
    files: &'static [(&'static str, &'static str)],
}

impl Engine {
    /// All of its lines; each of `runs` is a set of arguments.
    fn measure(&self, args: &MeasureArgs, runs: &[Vec<String>]) -> Result<Vec<Line>, Exit> {
        let program = harness::compile(self.main, self.files, &Compiling::new(&args.cc)?)?;
        let mut lines = Vec::new();
        for run in runs {
            lines.extend(harness::run(&program, &with_quick(run, args))?);
        }
        Ok(lines)
    }
}

fn with_quick(run: &[String], args: &MeasureArgs) -> Vec<String> {
    let mut all = run.to_vec();
    if args.quick {
        all.push("--quick".to_string());
    }
    if let Some(n) = args.runs {
        all.extend(["--runs".to_string(), n.to_string()]);
    }
    all
}

/// A comparison of one work of ours with one of a peer.
struct Pair {
    work: &'static str,
    peer: &'static str,
    peer_work: &'static str,
    /// Selects our lines by one word (key, word); empty selects all.
    only: (&'static str, &'static str),
}

/// Sizes with our cycles and the peer's.
fn pairs(lines: &[Line], pair: &Pair) -> Vec<(u64, f64, f64)> {
    let (key, word) = pair.only;
    let ours = lines.iter().filter(|line| {
        line.peer == "siding" && line.work == pair.work && (key.is_empty() || line.word(key) == word)
    });
    let theirs = |size| {
        let is_it = |line: &&Line| line.peer == pair.peer && line.work == pair.peer_work && line.size == size;
        lines.iter().find(is_it).map(|line| line.cycles)
    };
    ours.filter_map(|line| Some((line.size, line.cycles, theirs(line.size)?))).collect()
}

/// Our cycles by the peer's.
fn as_slow(lines: &[Line], pair: &Pair) -> Vec<(u64, f64)> {
    pairs(lines, pair).into_iter().map(|(size, ours, theirs)| (size, ours / theirs)).collect()
}

/// The peer's cycles by ours.
fn as_fast(lines: &[Line], pair: &Pair) -> Vec<(u64, f64)> {
    pairs(lines, pair).into_iter().map(|(size, ours, theirs)| (size, theirs / ours)).collect()
}

/// A key of our lines over the sizes.
fn figures(lines: &[Line], work: &str, key: &str, size_min: u64) -> Vec<(u64, f64)> {
    let ours =
        lines.iter().filter(|line| line.peer == "siding" && line.work == work && line.size >= size_min);
    ours.filter_map(|line| Some((line.size, line.number(key)?))).collect()
}

fn add_peer(report: &mut Report, name: &str, args: &MeasureArgs) {
    match harness::run_peer(name, &with_quick(&[], args)) {
        Ok(lines) => report.lines.extend(lines),
        Err(sentence) => report.absent.push(sentence),
    }
}

/// Sizes of a quick look; otherwise the engine's own list.
const QUICK_LOOKUPS: [u64; 3] = [10, 1_000, 100_000];
const QUICK_INSERTS: [u64; 2] = [100_000, 1_000_000];

/// Arguments of each run.
fn exact_sizes(args: &MeasureArgs, quick: &[u64]) -> Vec<Vec<String>> {
    match args.quick {
        true => quick.iter().map(|size| vec!["--size".to_string(), size.to_string()]).collect(),
        false => vec![Vec::new()],
    }
}

pub fn exact(args: &BenchTablesArgs) -> Exit {
    run_exact(&args.measure).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn run_exact(args: &MeasureArgs) -> Result<(), Exit> {
    let mut report = Report {
        title: "Lookups in exact tables, 16-byte keys, TSC cycles per lookup on one core".to_string(),
        size_is: "entries",
        lines: EXACT.measure(args, &exact_sizes(args, &QUICK_LOOKUPS))?,
        ..Report::default()
    };
    add_peer(&mut report, "rte_hash", args);
    report.lines.retain(|line| line.work.starts_with("lookup"));
    let pair = Pair { work: "lookup", peer: "rte_hash", peer_work: "lookup", only: ("", "") };
    let ratios = as_slow(&report.lines, &pair);
    report.judge("ratio_to_rte_hash", ratios, Goal::AtMost(1.0));
    let largest = figures(&report.lines, "lookup", "cycles", 50_000_000);
    report.judge("cycles_at_50m", largest, Goal::AtMost(70.0));
    report.show("exact", "", args)
}

pub fn table(args: &BenchTablesArgs) -> Exit {
    run_table(&args.measure).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn run_table(args: &MeasureArgs) -> Result<(), Exit> {
    let mut report = Report {
        title:
            "Inserts into exact tables, 16-byte keys and 8 bytes of data, one writer, TSC cycles per insert"
                .to_string(),
        size_is: "entries",
        lines: EXACT.measure(args, &exact_sizes(args, &QUICK_INSERTS))?,
        ..Report::default()
    };
    add_peer(&mut report, "rte_hash", args);
    report.lines.retain(|line| !line.work.starts_with("lookup") && line.size >= 100_000);
    let pair = Pair { work: "insert", peer: "rte_hash", peer_work: "insert", only: ("", "") };
    let ratios = as_fast(&report.lines, &pair);
    report.judge("ratio_to_rte_hash", ratios, Goal::AtLeast(4.0));
    // The peer has its memory before its clock starts, as ours has where room was made before.
    let reserved = Pair { work: "insert-reserved", ..pair };
    let ratios = as_fast(&report.lines, &reserved);
    report.judge("ratio_to_rte_hash_reserved", ratios, Goal::AtLeast(4.0));
    let rate = figures(&report.lines, "insert", "mpps", 50_000_000);
    report.judge("million_inserts_at_50m", rate, Goal::AtLeast(30.0));
    let rate = figures(&report.lines, "insert-reserved", "mpps", 50_000_000);
    report.judge("million_inserts_at_50m_reserved", rate, Goal::AtLeast(30.0));
    let bytes = figures(&report.lines, "insert", "bytes_per_entry", 100_000);
    report.judge("bytes_per_entry", bytes, Goal::AtMost(60.0));
    // The way of the control plane, with all that a table keeps.
    let pair = Pair { work: "table-insert", ..pair };
    let ratios = as_fast(&report.lines, &pair);
    report.judge("ratio_to_rte_hash_of_tables", ratios, Goal::AtLeast(4.0));
    let bytes = figures(&report.lines, "table-insert", "bytes_per_entry", 100_000);
    report.judge("bytes_per_entry_of_tables", bytes, Goal::AtMost(60.0));
    let reserved = Pair { work: "table-insert-reserved", ..pair };
    let ratios = as_fast(&report.lines, &reserved);
    report.judge("ratio_to_rte_hash_of_tables_reserved", ratios, Goal::AtLeast(4.0));
    let rate = figures(&report.lines, "table-insert-reserved", "mpps", 50_000_000);
    report.judge("million_inserts_at_50m_of_tables_reserved", rate, Goal::AtLeast(30.0));
    let bytes = figures(&report.lines, "table-insert-reserved", "bytes_per_entry", 100_000);
    report.judge("bytes_per_entry_of_tables_reserved", bytes, Goal::AtMost(60.0));
    report.show("table", "", args)
}

pub fn lpm(args: &BenchTablesArgs) -> Exit {
    run_lpm(&args.measure).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn run_lpm(args: &MeasureArgs) -> Result<(), Exit> {
    let mut report = Report {
        title: "Longest prefix match, TSC cycles on one core".to_string(),
        size_is: "routes",
        lines: LPM.measure(args, &[Vec::new()])?,
        ..Report::default()
    };
    add_peer(&mut report, "rte_fib", args);
    // The routes of the peer are those of this mix.
    let only = ("mix", "backbone");
    let any = Pair { work: "lookup-any", peer: "rte_fib", peer_work: "lookup-any", only };
    let hits = Pair { work: "lookup", peer: "rte_fib", peer_work: "lookup", only };
    let insert = Pair { work: "insert", peer: "rte_fib", peer_work: "insert", only };
    let (any, hits) = (as_slow(&report.lines, &any), as_slow(&report.lines, &hits));
    let insert = as_fast(&report.lines, &insert);
    report.judge("ratio_to_rte_fib", any, Goal::AtMost(1.1));
    report.judge("ratio_to_rte_fib_hits", hits, Goal::AtMost(1.1));
    report.judge("ratio_to_rte_fib_insert", insert, Goal::AtLeast(5.0));
    report.show("lpm", "mix", args)
}

pub fn ternary(args: &BenchTablesArgs) -> Exit {
    run_ternary(&args.measure).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn run_ternary(args: &MeasureArgs) -> Result<(), Exit> {
    let mut report = Report {
        title: "Ternary tables of 5-tuples, TSC cycles on one core".to_string(),
        size_is: "rules",
        lines: TERNARY.measure(args, &[vec!["--set".to_string(), "any".to_string()]])?,
        ..Report::default()
    };
    add_peer(&mut report, "rte_acl", args);
    let pair = Pair { work: "lookup", peer: "rte_acl", peer_work: "lookup", only: ("set", "any") };
    let ratios = as_slow(&report.lines, &pair);
    report.judge("ratio_to_rte_acl", ratios, Goal::AtMost(1.5));
    judge_inserts(&mut report);
    report.show("ternary", "set", args)
}

/// A rule comes into a table of ten thousand.
fn judge_inserts(report: &mut Report) {
    let times = figures(&report.lines, "insert", "mean_us", 10_000);
    report.judge("insert_us", times, Goal::AtMost(20.0));
}

pub fn acl(args: &BenchTablesArgs) -> Exit {
    run_acl(&args.measure).map_or_else(|exit| exit, |()| Exit::Ok)
}

fn run_acl(args: &MeasureArgs) -> Result<(), Exit> {
    let runs = ACL_SETS.map(|set| vec!["--set".to_string(), set.to_string()]);
    let mut report = Report {
        title: "Access lists like real ones in ternary tables, TSC cycles on one core".to_string(),
        size_is: "rules",
        lines: TERNARY.measure(args, &runs)?,
        ..Report::default()
    };
    judge_inserts(&mut report);
    report.show("acl", "set", args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(peer: &str, work: &str, size: u64, cycles: f64, mix: &str) -> Line {
        let text = serde_json::json!({
            "peer": peer, "work": work, "size": size, "cycles": cycles, "cycles_min": cycles, "mix": mix,
            "bytes_per_entry": 50.0,
        });
        Line::parse(&text.to_string()).unwrap()
    }

    #[test]
    fn works_are_compared_where_both_have_the_size() {
        let lines = [
            line("siding", "insert", 1000, 10.0, "a"),
            line("siding", "insert", 1000, 99.0, "b"),
            line("siding", "insert", 5000, 99.0, "a"),
            line("fib", "add", 1000, 40.0, ""),
            line("fib", "lookup", 5000, 40.0, ""),
        ];
        let pair = Pair { work: "insert", peer: "fib", peer_work: "add", only: ("mix", "a") };
        assert_eq!(as_fast(&lines, &pair), [(1000, 4.0)]);
        assert_eq!(as_slow(&lines, &pair), [(1000, 0.25)]);
        assert_eq!(figures(&lines, "insert", "bytes_per_entry", 2000), [(5000, 50.0)]);
        assert_eq!(figures(&lines, "insert", "nothing", 0), []);
    }
}
