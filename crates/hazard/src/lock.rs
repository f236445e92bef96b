//! One packet at a time: a lock around the whole pipeline, with an unbounded queue.

use crate::config::Action;
use crate::hazards::ratio;
use crate::histogram::{Histogram, Wait};

/// The times of a packet at the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Cycle in which it entered the pipeline.
    pub start: u64,
    /// Cycles from arrival to the end of the pipeline.
    pub latency_cycles: u64,
}

/// One lock for all packets, in the order of their arrival, with an unbounded queue.
///
/// A packet that changes state starts when the one before has unlocked, and not in the cycle in which another
/// starts. One that only reads needs no lock, but waits for its turn.
#[derive(Clone, Debug, Default)]
pub struct Lock {
    unlocked_at: u64,
    /// The cycle after the last start: one packet starts in a cycle.
    next_start: u64,
    left_at: u64,
    wait: Histogram,
    latency: Histogram,
}

impl Lock {
    pub fn new() -> Lock {
        Lock::default()
    }

    /// A packet that has arrived. Cycles ascend.
    #[inline]
    pub fn pass(&mut self, cycle: u64, action: Action) -> Passed {
        let mut start = cycle.max(self.next_start);
        if action.lock_cycles > 0 {
            start = start.max(self.unlocked_at);
            self.unlocked_at = start + u64::from(action.lock_cycles);
        }
        self.next_start = start + 1;
        let left_at = start + u64::from(action.cycles);
        self.left_at = self.left_at.max(left_at);
        self.wait.record(start - cycle);
        self.latency.record(left_at - cycle);
        Passed { start, latency_cycles: left_at - cycle }
    }

    /// `ended_at` is when the input ended.
    pub fn result(&self, ended_at: u64) -> LockResult {
        let done_at = self.unlocked_at.max(self.next_start).max(ended_at);
        LockResult {
            n_packets: self.latency.n(),
            throughput: if self.latency.n() == 0 { 1.0 } else { ratio(ended_at, done_at) },
            latency_mean_cycles: self.latency.mean(),
            latency_p50_cycles: self.latency.percentile(0.5),
            latency_p99_cycles: self.latency.percentile(0.99),
            latency_max_cycles: self.latency.max(),
            wait: Wait::of(&self.wait),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockResult {
    pub n_packets: u64,
    /// Share of the offered load that gets through: the duration of the input divided by the time until the last
    /// packet has released the lock.
    pub throughput: f64,
    pub latency_mean_cycles: f64,
    pub latency_p50_cycles: u64,
    pub latency_p99_cycles: u64,
    pub latency_max_cycles: u64,
    /// Waits for the lock: how full the queue gets, in cycles of work.
    pub wait: Wait,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(packets: &[(u64, Action)]) -> Vec<u64> {
        let mut lock = Lock::new();
        packets.iter().map(|(cycle, action)| lock.pass(*cycle, *action).start).collect()
    }

    #[test]
    fn packets_wait_for_the_lock() {
        let three = Action::new(3);
        // Locked in 1..4, 4..7, 8..11, 11..14.
        assert_eq!(starts(&[(1, three), (2, three), (8, three), (9, three)]), [1, 4, 8, 11]);
    }

    #[test]
    fn waits_are_latencies_without_the_action() {
        let mut lock = Lock::new();
        [1, 2, 8, 9].iter().for_each(|cycle| {
            lock.pass(*cycle, Action::new(3));
        });
        let result = lock.result(9);
        assert_eq!(
            (result.latency_p50_cycles, result.latency_max_cycles, result.latency_mean_cycles),
            (3, 5, 4.0)
        );
        let wait = Wait { mean_cycles: 1.0, p50_cycles: 0, p99_cycles: 2, max_cycles: 2 };
        assert_eq!(result.wait, wait);
    }

    #[test]
    fn readers_pass_but_not_each_other() {
        let (write, read) = (Action::new(5), Action::read_only(5));
        // The reader starts while the lock is held; the second writer when it is free.
        assert_eq!(starts(&[(1, write), (2, read), (3, write), (4, read)]), [1, 2, 6, 7]);
    }

    #[test]
    fn short_actions_lose_nothing() {
        let mut lock = Lock::new();
        for packet in 1..=100 {
            // Ten cycles of line each, eight of work.
            lock.pass(packet * 10, Action::new(8));
        }
        let result = lock.result(1000);
        assert_eq!((result.latency_p99_cycles, result.wait.max_cycles), (8, 0));
        // The last one starts when the line is done.
        assert!((result.throughput - 1000.0 / 1008.0).abs() < 1e-9);
    }

    #[test]
    fn long_actions_get_through_at_their_own_rate() {
        let mut lock = Lock::new();
        (1..=10_000).for_each(|packet| {
            lock.pass(packet * 10, Action::new(16));
        });
        assert!((lock.result(100_000).throughput - 10.0 / 16.0).abs() < 1e-3);
        // The last has waited for what all before it took longer.
        assert_eq!(lock.result(100_000).wait.max_cycles, 9_999 * 6);
    }
}
