//! The hiccup meter: times when a thread did not run, although it never waits.

use serde::Serialize;
use std::fs;

/// A step of a loop outside of calls of a port that takes longer is a stall: the core did something else.
pub const STALL_NS: u64 = 20_000;

/// Stalls of a thread, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stalls {
    /// Steps outside of port calls that took more than [`STALL_NS`].
    pub n_stalls: u64,
    pub stalled_ns: u64,
    pub longest_ns: u64,
    /// Time that the thread could have run, but had to wait for a core. Part of it may be in `stalled_ns`, too.
    pub waited_for_core_ns: u64,
}

impl Stalls {
    pub(crate) fn add(&mut self, other: &Stalls) {
        self.n_stalls += other.n_stalls;
        self.stalled_ns += other.stalled_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.waited_for_core_ns += other.waited_for_core_ns;
    }
}

/// Meter of the calling thread.
#[derive(Debug)]
pub(crate) struct StallMeter {
    stalls: Stalls,
    /// End of the last step that may take long, such as a call of a port.
    since_ns: u64,
    waited_before_ns: u64,
}

impl StallMeter {
    pub(crate) fn start(now_ns: u64) -> StallMeter {
        StallMeter { stalls: Stalls::default(), since_ns: now_ns, waited_before_ns: waited_for_core_ns() }
    }

    /// Ends a step that should have been short.
    pub(crate) fn step(&mut self, now_ns: u64) {
        let took_ns = now_ns.saturating_sub(self.since_ns);
        if took_ns > STALL_NS {
            self.stalls.n_stalls += 1;
            self.stalls.stalled_ns += took_ns;
            self.stalls.longest_ns = self.stalls.longest_ns.max(took_ns);
        }
        self.since_ns = now_ns;
    }

    /// Ends a step that may take long.
    pub(crate) fn skip(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
    }

    pub(crate) fn finish(self) -> Stalls {
        let waited_for_core_ns = waited_for_core_ns().saturating_sub(self.waited_before_ns);
        Stalls { waited_for_core_ns, ..self.stalls }
    }
}

/// Nanoseconds that the calling thread has waited for a core since it began; 0 if the kernel does not say.
fn waited_for_core_ns() -> u64 {
    // Documentation/scheduler/sched-stats.rst of Linux: time on a core, time waiting for one, number of time slices.
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_steps_are_stalls_unless_they_may_be_long() {
        let mut meter = StallMeter::start(0);
        meter.step(STALL_NS);
        meter.skip(50 * STALL_NS);
        meter.step(52 * STALL_NS);
        meter.step(55 * STALL_NS);
        let stalls = meter.finish();
        assert_eq!((stalls.n_stalls, stalls.stalled_ns, stalls.longest_ns), (2, 5 * STALL_NS, 3 * STALL_NS));
        let mut sum = stalls;
        sum.add(&stalls);
        assert_eq!((sum.n_stalls, sum.longest_ns), (4, 3 * STALL_NS));
    }
}
