//! Watches a trial: a line per second, and its end on a signal.

use super::signals::Signals;
use crate::output;
use serde_json::json;
use std::io::IsTerminal;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use traffic::{Control, Scaled, TrafficError, Trial, TrialResult};

/// Time between two looks at the signals.
const LOOK: Duration = Duration::from_millis(20);

/// Time between two lines.
const LINE: Duration = Duration::from_secs(1);

/// A receiver that got nothing for so long is told what to check.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a trial is watched.
pub struct Watch<'a> {
    pub signals: &'a Signals,
    /// Names of the ports, in the order of the stations.
    pub names: &'a [String],
    /// The port that receives.
    pub receiver: Option<&'a str>,
    pub is_json: bool,
    /// Show progress.
    pub is_shown: bool,
}

/// Counts of all ports.
#[derive(Clone, Copy, Default)]
struct Sum {
    n_sent: u64,
    n_received: u64,
    n_missing: u64,
}

impl Sum {
    fn of(control: &Control) -> Sum {
        control.ports.iter().fold(Sum::default(), |sum, port| Sum {
            n_sent: sum.n_sent + port.n_sent.load(Relaxed),
            n_received: sum.n_received + port.n_received.load(Relaxed),
            n_missing: sum.n_missing + port.n_missing.load(Relaxed),
        })
    }
}

impl Watch<'_> {
    /// Runs the trial on threads of its own.
    pub fn run(&self, trial: Trial<'_>) -> Result<TrialResult, TrafficError> {
        let control = Control::new(trial.stations.len());
        std::thread::scope(|scope| {
            let running = scope.spawn(|| trial.run(&control));
            self.follow(&control, || running.is_finished());
            running.join().unwrap_or(Err(TrafficError::Thread))
        })
    }

    fn follow(&self, control: &Control, is_finished: impl Fn() -> bool) {
        let is_terminal = std::io::stderr().is_terminal();
        let (start, mut told, mut before) = (Instant::now(), Instant::now(), Sum::default());
        let (mut has_line, mut has_advised) = (false, false);
        while !is_finished() {
            std::thread::sleep(LOOK);
            if self.signals.is_end_wanted() {
                control.stop();
            }
            let since = told.elapsed();
            if !self.is_shown || since < LINE {
                continue;
            }
            told = Instant::now();
            let sum = Sum::of(control);
            let per_s = |now: u64, before: u64| now.saturating_sub(before) as f64 / since.as_secs_f64();
            let (sent, received) =
                (per_s(sum.n_sent, before.n_sent), per_s(sum.n_received, before.n_received));
            before = sum;
            if let Some(name) = self.receiver.filter(|_| sum.n_received == 0 && start.elapsed() >= PATIENCE)
                && !has_advised
            {
                has_advised = true;
                output::warning_line(&super::report::nothing_arrived(name));
            }
            let at_s = start.elapsed().as_secs_f64();
            if self.is_json {
                output::out(&format!("{}\n", self.json(control, at_s)));
            } else if is_terminal {
                has_line = true;
                output::err(&format!(
                    "\r{at_s:4.0} s  sent {}packets/s  received {}packets/s  missing {}\x1b[K",
                    Scaled(sent),
                    Scaled(received),
                    sum.n_missing
                ));
            }
        }
        if has_line {
            output::err("\r\x1b[K");
        }
    }

    /// Counts so far of each port.
    fn json(&self, control: &Control, at_s: f64) -> serde_json::Value {
        let ports: Vec<_> = self
            .names
            .iter()
            .zip(&control.ports)
            .map(|(name, port)| {
                json!({
                    "name": name,
                    "n_sent": port.n_sent.load(Relaxed),
                    "n_bytes_sent": port.n_bytes_sent.load(Relaxed),
                    "n_received": port.n_received.load(Relaxed),
                    "n_bytes_received": port.n_bytes_received.load(Relaxed),
                    "n_missing": port.n_missing.load(Relaxed),
                })
            })
            .collect();
        json!({ "event": "progress", "at_s": at_s, "ports": ports })
    }
}
