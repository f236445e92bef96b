//! Progress of a run, on standard error.

use crate::part::{Part, Size};
use console::output;
use std::cell::Cell;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

/// The pace of a machine beside the estimates stays within these bounds until more is known.
const PACE: [f64; 2] = [0.2, 5.0];

pub struct Progress {
    is_quiet: bool,
    is_terminal: bool,
    names: Vec<&'static str>,
    /// Seconds that each part should take.
    estimates: Vec<f64>,
    /// Seconds that the parts before took, and should have taken.
    taken: f64,
    expected: f64,
    part_begun: Instant,
    /// Seconds of the part that were shown last.
    shown: Cell<u64>,
}

impl Progress {
    pub fn new(is_quiet: bool, size: Size, parts: &[&'static Part]) -> Progress {
        Progress {
            is_quiet,
            is_terminal: std::io::stderr().is_terminal(),
            names: parts.iter().map(|part| part.name).collect(),
            estimates: parts.iter().map(|part| size.of(part.estimate_s)).collect(),
            taken: 0.0,
            expected: 0.0,
            part_begun: Instant::now(),
            shown: Cell::new(u64::MAX),
        }
    }

    pub fn begin(&self, page: &Path, state: &Path, n_known: usize) {
        if self.is_quiet {
            return;
        }
        let known = if n_known == 0 { String::new() } else { format!(", {n_known} are there already") };
        let time = duration(self.estimates.iter().sum());
        let n = self.names.len();
        let time = if n == 0 { String::new() } else { format!(", about {time}") };
        output::err(&format!(
            "{n} parts to run{known}{time}; page {}, results in {}\n",
            page.display(),
            state.display()
        ));
    }

    /// Shows that part `i` runs, on a terminal, once a second.
    pub fn tick(&self, i: usize, elapsed: Duration) {
        if self.is_quiet || !self.is_terminal || self.shown.replace(elapsed.as_secs()) == elapsed.as_secs() {
            return;
        }
        let left = self.left_s(i, elapsed.as_secs_f64());
        output::err(&format!(
            "\r\x1b[K{} … {} s, about {} left",
            self.head(i),
            elapsed.as_secs(),
            duration(left)
        ));
    }

    /// Shows the end of part `i`.
    pub fn end_of(&mut self, i: usize, end: &str) {
        let seconds = self.part_begun.elapsed().as_secs_f64();
        if !end.starts_with("missing") {
            self.taken += seconds;
            self.expected += self.estimates[i];
        }
        self.part_begun = Instant::now();
        self.shown.set(u64::MAX);
        if self.is_quiet {
            return;
        }
        let left = self.estimates.get(i + 1..).map_or(0.0, |rest| rest.iter().sum::<f64>() * self.pace());
        let left =
            if i + 1 < self.names.len() { format!(", about {} left", duration(left)) } else { String::new() };
        let clear = if self.is_terminal { "\r\x1b[K" } else { "" };
        output::err(&format!("{clear}{}: {end}{left}\n", self.head(i)));
    }

    fn head(&self, i: usize) -> String {
        format!("[{}/{}] {}", i + 1, self.names.len(), self.names[i])
    }

    /// Seconds taken for one that was expected.
    fn pace(&self) -> f64 {
        if self.expected > 0.0 { (self.taken / self.expected).clamp(PACE[0], PACE[1]) } else { 1.0 }
    }

    fn left_s(&self, i: usize, elapsed: f64) -> f64 {
        let this = (self.estimates[i] * self.pace() - elapsed).max(1.0);
        this + self.estimates[i + 1..].iter().sum::<f64>() * self.pace()
    }
}

/// `40 s`, `4 min`
pub fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{:.0} s", seconds.max(1.0)),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_the_pace() {
        let parts = crate::parts::selected(&["hazards".to_owned()]).unwrap();
        let mut progress = Progress::new(true, Size::Quick, &parts);
        let all: f64 = progress.estimates.iter().sum();
        assert_eq!(progress.left_s(0, 0.0), all);
        (progress.taken, progress.expected) = (20.0, 10.0);
        assert_eq!(progress.left_s(1, 0.0), 2.0 * (all - progress.estimates[0]));
        // A part that takes longer than expected is always about to end.
        assert!(progress.left_s(progress.names.len() - 1, 1e6) <= 1.0);
        assert_eq!([duration(12.3), duration(240.0)], ["12 s", "4 min"]);
    }
}
