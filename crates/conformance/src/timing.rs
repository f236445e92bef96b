//! Time of the front end: every sample, one after another, on one core.

use crate::corpus::Program;
use crate::{Corpus, front_end};
use std::time::{Duration, Instant};

/// Measured times. A time includes reading the included files, but not the main file.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Longest first.
    pub programs: Vec<ProgramTiming>,
    /// Median over the runs of the time for all programs.
    pub total: Duration,
    pub n_runs: usize,
    /// Largest resident set of this process so far; `None` where the system does not say.
    pub peak_rss_bytes: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct ProgramTiming {
    pub program: Program,
    /// Lines of the main file.
    pub n_lines: usize,
    pub median: Duration,
}

/// Checks all samples `n_runs` times (at least once).
pub fn measure(corpus: &Corpus, n_runs: usize) -> Timing {
    let n_runs = n_runs.max(1);
    let programs = corpus.samples();
    let sources: Vec<_> = programs.iter().map(|p| front_end::read(&p.path).ok()).collect();
    let mut times: Vec<Vec<Duration>> = vec![Vec::with_capacity(n_runs); programs.len()];
    let mut totals = Vec::with_capacity(n_runs);
    for _ in 0..n_runs {
        let mut total = Duration::ZERO;
        for (source, times) in sources.iter().zip(&mut times) {
            let Some(source) = source else { continue };
            let start = Instant::now();
            let checked = front_end::check_source(corpus, source);
            let time = start.elapsed();
            drop(checked);
            times.push(time);
            total += time;
        }
        totals.push(total);
    }
    let mut programs: Vec<ProgramTiming> = programs
        .into_iter()
        .zip(&sources)
        .zip(times)
        .map(|((program, source), times)| ProgramTiming {
            program,
            n_lines: source.as_ref().map_or(0, |s| s.text.lines().count()),
            median: median(times),
        })
        .collect();
    programs.sort_by_key(|p| std::cmp::Reverse(p.median));
    Timing { programs, total: median(totals), n_runs, peak_rss_bytes: peak_rss_bytes() }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// `VmHWM` of proc(5).
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let ms = |n| Duration::from_millis(n);
        assert_eq!(median(vec![ms(9), ms(1), ms(5)]), ms(5));
        assert_eq!(median(vec![]), ms(0));
    }
}
