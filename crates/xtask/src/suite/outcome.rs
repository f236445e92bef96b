//! Results of test executables, and the summary of all.

use std::fmt;
use std::time::Duration;

/// The result of one executable.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub name: String,
    pub is_success: bool,
    /// The exit code or the signal, in words.
    pub status: String,
    pub time: Duration,
    /// Standard output and standard error.
    pub output: String,
}

impl Outcome {
    /// The output, if the executable failed.
    pub fn report(&self) -> Option<String> {
        let Outcome { name, status, output, .. } = self;
        (!self.is_success).then(|| format!("== cargo test {name}: {status}\n{}", output.trim_end()))
    }

    /// How many tests passed, failed and were ignored, as the last summary of its output says.
    pub fn counts(&self) -> Option<[usize; 3]> {
        let line = self.output.lines().rev().find(|line| line.starts_with("test result: "))?;
        let words: Vec<&str> = line.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        let before = |word: &str| {
            let place = words.iter().position(|w| *w == word)?;
            words[place.checked_sub(1)?].parse().ok()
        };
        Some([before("passed")?, before("failed")?, before("ignored")?])
    }
}

/// Totals of many outcomes.
pub struct Summary {
    pub n_executables: usize,
    /// Without those that are ignored.
    pub n_tests: usize,
    pub n_ignored: usize,
    pub slowest: Vec<(String, Duration)>,
    pub failed: Vec<String>,
}

/// The summary names this many of the slowest.
const SLOWEST_MAX: usize = 5;

impl Summary {
    pub fn of(outcomes: &[Outcome]) -> Summary {
        let counts: Vec<[usize; 3]> = outcomes.iter().filter_map(Outcome::counts).collect();
        let mut slowest: Vec<_> = outcomes.iter().map(|o| (o.name.clone(), o.time)).collect();
        slowest.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        slowest.truncate(SLOWEST_MAX);
        Summary {
            n_executables: outcomes.len(),
            n_tests: counts.iter().map(|[passed, failed, _]| passed + failed).sum(),
            n_ignored: counts.iter().map(|[.., ignored]| ignored).sum(),
            slowest,
            failed: outcomes.iter().filter(|o| !o.is_success).map(|o| o.name.clone()).collect(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for name in &self.failed {
            writeln!(f, "failed: cargo test {name}")?;
        }
        let slowest = self.slowest.iter().map(|(name, time)| format!("{name} {:.1} s", time.as_secs_f64()));
        write!(
            f,
            "{} test executables, {} failed; {} tests, {} ignored; slowest: {}",
            self.n_executables,
            self.failed.len(),
            self.n_tests,
            self.n_ignored,
            slowest.collect::<Vec<_>>().join(", ")
        )
    }
}
