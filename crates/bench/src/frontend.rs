//! `siding bench frontend`: the front end over the samples of p4lang/p4c.

use crate::args::BenchFrontendArgs;
use conformance::timing::{self, ProgramTiming};
use conformance::{Corpus, NoCorpus};
use console::output::{self, Exit};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Programs shown one by one.
const BIGGEST: usize = 5;

pub fn run(args: &BenchFrontendArgs) -> Exit {
    let corpus = match open_corpus(args.p4c.as_deref()) {
        Ok(corpus) => corpus,
        Err(exit) => return exit,
    };
    let timing = timing::measure(&corpus, args.runs);
    let p4test = find_p4test();
    let rows: Vec<(&ProgramTiming, Option<Duration>)> = timing
        .programs
        .iter()
        .take(BIGGEST)
        .map(|p| (p, p4test.as_deref().and_then(|tool| time_p4test(tool, &p.program.path))))
        .collect();
    let n_lines: usize = timing.programs.iter().map(|p| p.n_lines).sum();
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    if args.json {
        let biggest: Vec<_> = rows
            .iter()
            .map(|(p, p4test)| {
                serde_json::json!({
                    "program": p.program.name, "lines": p.n_lines, "ms": ms(p.median), "p4test_ms": p4test.map(ms),
                })
            })
            .collect();
        let value = serde_json::json!({
            "version": 1,
            "siding": env!("CARGO_PKG_VERSION"),
            "optimized": !cfg!(debug_assertions),
            "runs": timing.n_runs,
            "programs": timing.programs.len(),
            "lines": n_lines,
            "total_ms": ms(timing.total),
            "peak_rss_bytes": timing.peak_rss_bytes,
            "biggest": biggest,
        });
        output::out(&format!("{value}\n"));
        return Exit::Ok;
    }
    if cfg!(debug_assertions) {
        output::warning_line("this is a debug build");
    }
    output::out(&format!(
        "{} programs, {n_lines} lines: {:.1} ms on one core (median of {} runs), {:.0} lines/s\n",
        timing.programs.len(),
        ms(timing.total),
        timing.n_runs,
        n_lines as f64 / timing.total.as_secs_f64().max(1e-9),
    ));
    if let Some(bytes) = timing.peak_rss_bytes {
        output::out(&format!("peak memory {:.1} MiB\n", bytes as f64 / f64::from(1 << 20)));
    }
    for (p, p4test) in rows {
        let other = p4test.map_or(String::new(), |d| format!("   p4test {:.1} ms", ms(d)));
        output::out(&format!("{:9.2} ms  {:6} lines  {}{other}\n", ms(p.median), p.n_lines, p.program.name));
    }
    if p4test.is_none() {
        output::out("p4test is not on PATH, so there is nothing to compare with\n");
    }
    Exit::Ok
}

/// The checkout named on the command line or by the environment; says how to get one.
pub(crate) fn open_corpus(p4c: Option<&Path>) -> Result<Corpus, Exit> {
    Corpus::find(p4c).map_err(|error| {
        output::error_line(&error.to_string());
        match error {
            NoCorpus::NotNamed => Exit::Usage,
            NoCorpus::NotACheckout(_) => Exit::Environment,
        }
    })
}

fn find_p4test() -> Option<PathBuf> {
    console::tools::find("p4test".as_ref())
}

/// One run of p4test; `None` when it does not accept the program.
fn time_p4test(tool: &Path, program: &Path) -> Option<Duration> {
    let start = Instant::now();
    let status = Command::new(tool).arg(program).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    status.success().then(|| start.elapsed())
}

/// The middle one.
pub fn median<T: Copy + PartialOrd + Default>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied().unwrap_or_default()
}
