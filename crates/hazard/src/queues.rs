//! Locks for parts of the state: queues in front of the pipeline, served in turn where nothing is locked.

use crate::config::{Action, ConfigError, Queues};
use crate::hazards::ratio;
use crate::histogram::{Histogram, Wait};
use std::collections::VecDeque;

/// An event in the life of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its queue was full.
    Drop { packet: u64, cycle: u64, queue: u32 },
    /// It has entered the pipeline.
    Start { packet: u64, cycle: u64, queue: u32 },
}

/// A packet that has arrived: with hashes of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub cycle: u64,
    pub len_bytes: u32,
    /// Hash of the lookup key, which selects the queue.
    pub lookup: u64,
    /// Hash of the update key, which selects the lock.
    pub update: u64,
    pub action: Action,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: u64,
    cycle: u64,
    lock: u32,
    action: Action,
}

/// A scheduler with finite queues.
///
/// A cycle has three steps. Expired locks become free. The packet that has arrived joins the queue of its lookup key,
/// or is dropped if that is full. The arbiter scans the queues in turn, from the one after the last that it served, and
/// starts the first head that needs no lock or whose lock is free. One packet starts per cycle and holds its lock for
/// the action's `lock_cycles`.
///
/// Cycles in which nothing can start are skipped, so the time to simulate a packet does not depend on the length of
/// actions; [`reference`](crate::reference) runs the same model cycle by cycle.
#[derive(Clone, Debug)]
pub struct Scheduler {
    config: Queues,
    queues: Vec<VecDeque<Waiting>>,
    /// A bit for each queue, set if the queue is not empty.
    occupied: Vec<u64>,
    /// The cycle in which each lock becomes free.
    free_at: Vec<u64>,
    /// Cycles before this are done.
    now: u64,
    /// Nothing can start before this.
    wake_at: u64,
    /// The queue to look at first.
    turn: u32,
    n_waiting: u64,
    totals: Totals,
    fullest: Fullest,
    wait: Histogram,
    latency: Histogram,
}

/// The number of packets in the fullest queue.
#[derive(Clone, Debug)]
struct Fullest {
    /// Number of queues by the number of packets in them; index 0 is not kept.
    n_by_packets: Vec<u32>,
    now: usize,
    /// Recorded at each arrival, the arriving packet included.
    at_arrivals: Histogram,
}

impl Fullest {
    fn new() -> Fullest {
        Fullest { n_by_packets: vec![0; 2], now: 0, at_arrivals: Histogram::default() }
    }

    /// A queue has got its packet number `n`.
    #[inline]
    fn grown(&mut self, n: usize) {
        if n >= self.n_by_packets.len() {
            self.n_by_packets.resize(2 * n, 0);
        }
        self.n_by_packets[n - 1] = self.n_by_packets[n - 1].wrapping_sub(1);
        self.n_by_packets[n] += 1;
        self.now = self.now.max(n);
    }

    /// A queue of `n` packets has lost one.
    #[inline]
    fn shrunk(&mut self, n: usize) {
        self.n_by_packets[n] -= 1;
        self.n_by_packets[n - 1] = self.n_by_packets[n - 1].wrapping_add(1);
        if self.now == n && self.n_by_packets[n] == 0 {
            self.now = n - 1;
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    n_packets: u64,
    n_dropped: u64,
    bytes: u64,
    bytes_dropped: u64,
    all_queues_packets_max: u64,
    last_start: u64,
}

const NEVER: u64 = u64::MAX;

impl Scheduler {
    pub fn new(config: Queues) -> Result<Scheduler, ConfigError> {
        config.check()?;
        let n_queues = config.n_queues as usize;
        Ok(Scheduler {
            config,
            queues: vec![VecDeque::new(); n_queues],
            occupied: vec![0; n_queues.div_ceil(64)],
            free_at: vec![0; config.n_locks as usize],
            now: 0,
            wake_at: NEVER,
            turn: 0,
            n_waiting: 0,
            totals: Totals::default(),
            fullest: Fullest::new(),
            wait: Histogram::default(),
            latency: Histogram::default(),
        })
    }

    /// A packet that has arrived, after all that starts before. Cycles ascend.
    #[inline]
    pub fn arrive(&mut self, arrival: Arrival, told: &mut impl FnMut(Event)) {
        self.run_to(arrival.cycle, told);
        let packet = self.totals.n_packets;
        self.totals.n_packets += 1;
        self.totals.bytes += u64::from(arrival.len_bytes);
        let queue = arrival.lookup as u32 % self.config.n_queues;
        let lock = arrival.update as u32 % self.config.n_locks;
        let waiting = &mut self.queues[queue as usize];
        let n_before = waiting.len();
        if n_before >= self.config.queue_packets_max as usize {
            self.totals.n_dropped += 1;
            self.totals.bytes_dropped += u64::from(arrival.len_bytes);
            self.fullest.at_arrivals.record(self.fullest.now as u64);
            told(Event::Drop { packet, cycle: arrival.cycle, queue });
            return;
        }
        waiting.push_back(Waiting { packet, cycle: arrival.cycle, lock, action: arrival.action });
        self.n_waiting += 1;
        self.fullest.grown(n_before + 1);
        self.fullest.at_arrivals.record(self.fullest.now as u64);
        self.totals.all_queues_packets_max = self.totals.all_queues_packets_max.max(self.n_waiting);
        if n_before == 0 {
            self.occupied[queue as usize / 64] |= 1 << (queue % 64);
            let at = if arrival.action.lock_cycles == 0 {
                self.now
            } else {
                self.free_at[lock as usize].max(self.now)
            };
            self.wake_at = self.wake_at.min(at);
        }
    }

    /// Starts all waiting packets.
    pub fn finish(&mut self, told: &mut impl FnMut(Event)) {
        self.run_to(NEVER, told);
    }

    /// Starts everything that can start before a cycle.
    #[inline]
    fn run_to(&mut self, end: u64, told: &mut impl FnMut(Event)) {
        loop {
            let cycle = self.wake_at.max(self.now);
            if cycle >= end {
                break;
            }
            match self.ready(cycle) {
                Ok(queue) => self.start(queue, cycle, told),
                Err(wake_at) => self.wake_at = wake_at,
            }
        }
        if end != NEVER {
            self.now = self.now.max(end);
        }
    }

    /// Returns the next queue to serve, or the cycle in which the next awaited lock becomes free.
    #[inline]
    fn ready(&self, cycle: u64) -> Result<u32, u64> {
        let mut wake_at = NEVER;
        let (first_word, first_bit) = (self.turn as usize / 64, self.turn % 64);
        let n_words = self.occupied.len();
        // The first word comes twice: from the turn on, and at last up to it.
        for step in 0..=n_words {
            let at =
                if first_word + step < n_words { first_word + step } else { first_word + step - n_words };
            let mut word = self.occupied[at];
            if step == 0 {
                word &= u64::MAX << first_bit;
            } else if step == n_words {
                word &= !(u64::MAX << first_bit);
            }
            while word != 0 {
                let queue = at * 64 + word.trailing_zeros() as usize;
                word &= word - 1;
                let Some(head) = self.queues[queue].front() else { continue };
                if head.action.lock_cycles == 0 {
                    return Ok(queue as u32);
                }
                let free_at = self.free_at[head.lock as usize];
                if free_at <= cycle {
                    return Ok(queue as u32);
                }
                wake_at = wake_at.min(free_at);
            }
        }
        Err(wake_at)
    }

    #[inline]
    fn start(&mut self, queue: u32, cycle: u64, told: &mut impl FnMut(Event)) {
        let waiting = &mut self.queues[queue as usize];
        let Some(head) = waiting.pop_front() else { return };
        if waiting.is_empty() {
            self.occupied[queue as usize / 64] &= !(1 << (queue % 64));
        }
        self.fullest.shrunk(waiting.len() + 1);
        self.n_waiting -= 1;
        if head.action.lock_cycles > 0 {
            self.free_at[head.lock as usize] = cycle + u64::from(head.action.lock_cycles);
        }
        self.turn = if queue + 1 == self.config.n_queues { 0 } else { queue + 1 };
        self.now = cycle + 1;
        self.wake_at = if self.n_waiting == 0 { NEVER } else { self.now };
        self.totals.last_start = cycle;
        self.wait.record(cycle - head.cycle);
        self.latency.record(cycle - head.cycle + u64::from(head.action.cycles));
        told(Event::Start { packet: head.packet, cycle, queue });
    }

    /// `ended_at` is when the input ended. After [`Scheduler::finish`].
    pub fn result(&self, ended_at: u64) -> QueueResult {
        let t = &self.totals;
        let n_served = t.n_packets - t.n_dropped;
        let done_at = if n_served == 0 { ended_at } else { ended_at.max(t.last_start + 1) };
        let in_time = if t.n_packets == 0 { 1.0 } else { ratio(ended_at, done_at) };
        QueueResult {
            n_packets: t.n_packets,
            n_dropped: t.n_dropped,
            throughput: if t.n_packets == 0 { 1.0 } else { ratio(n_served, t.n_packets) * in_time },
            throughput_bytes: if t.bytes == 0 {
                1.0
            } else {
                ratio(t.bytes - t.bytes_dropped, t.bytes) * in_time
            },
            drop_fraction: ratio(t.n_dropped, t.n_packets),
            latency_mean_cycles: self.latency.mean(),
            latency_p50_cycles: self.latency.percentile(0.5),
            latency_p99_cycles: self.latency.percentile(0.99),
            latency_max_cycles: self.latency.max(),
            wait: Wait::of(&self.wait),
            queue_packets_p99: self.fullest.at_arrivals.percentile(0.99),
            queue_packets_max: self.fullest.at_arrivals.max(),
            all_queues_packets_max: t.all_queues_packets_max,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueResult {
    pub n_packets: u64,
    pub n_dropped: u64,
    /// Share of the offered packets that gets through while the input lasts.
    pub throughput: f64,
    /// Share of the offered bytes that gets through while the input lasts.
    pub throughput_bytes: f64,
    pub drop_fraction: f64,
    /// Mean time from arrival to the end of the pipeline, over packets that were not dropped.
    pub latency_mean_cycles: f64,
    pub latency_p50_cycles: u64,
    pub latency_p99_cycles: u64,
    pub latency_max_cycles: u64,
    /// Time from arrival to the start, over the same packets.
    pub wait: Wait,
    /// The 99th percentile, over the arrivals, of the packets in the fullest queue.
    pub queue_packets_p99: u64,
    /// The most that waited in one queue.
    pub queue_packets_max: u64,
    /// The most that waited in all queues together.
    pub all_queues_packets_max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs packets given as (arrival, hash of both keys). Returns (packet, start cycle) pairs, with `None` for drops.
    fn told(config: Queues, action: Action, packets: &[(u64, u64)]) -> Vec<(u64, Option<u64>)> {
        let mut events = Vec::new();
        let mut scheduler = Scheduler::new(config).unwrap();
        let mut tell = |event| {
            events.push(match event {
                Event::Drop { packet, .. } => (packet, None),
                Event::Start { packet, cycle, .. } => (packet, Some(cycle)),
            });
        };
        for &(cycle, key) in packets {
            scheduler.arrive(Arrival { cycle, len_bytes: 64, lookup: key, update: key, action }, &mut tell);
        }
        scheduler.finish(&mut tell);
        events
    }

    #[test]
    fn one_queue_and_one_lock_are_a_line() {
        let config = Queues::global(10);
        let events = told(config, Action::new(3), &[(1, 5), (2, 6), (8, 7)]);
        assert_eq!(events, [(0, Some(1)), (1, Some(4)), (2, Some(8))]);
    }

    #[test]
    fn flows_with_their_own_locks_pass_each_other() {
        let config = Queues { n_queues: 2, n_locks: 2, queue_packets_max: 10 };
        // Flow 0 has the lock in 1..5; flow 1 starts meanwhile; flow 0 again when it is free.
        let events = told(config, Action::new(4), &[(1, 0), (2, 0), (3, 1)]);
        assert_eq!(events, [(0, Some(1)), (2, Some(3)), (1, Some(5))]);
    }

    #[test]
    fn the_head_of_a_queue_blocks_it() {
        let config = Queues { n_queues: 1, n_locks: 2, queue_packets_max: 10 };
        let events = told(config, Action::new(4), &[(1, 0), (2, 0), (3, 1)]);
        assert_eq!(events, [(0, Some(1)), (1, Some(5)), (2, Some(6))]);
    }

    #[test]
    fn queues_are_served_in_turn() {
        let config = Queues { n_queues: 3, n_locks: 1, queue_packets_max: 10 };
        // While the first works, two wait in queue 0 and one in each of the others.
        let events = told(config, Action::new(10), &[(1, 0), (2, 0), (3, 0), (4, 2), (5, 1)]);
        assert_eq!(events, [(0, Some(1)), (4, Some(11)), (3, Some(21)), (1, Some(31)), (2, Some(41))]);
    }

    #[test]
    fn full_queues_drop() {
        let config = Queues::global(1);
        // One works, one waits, the third is dropped; in cycle 11 the second starts, after the fourth was dropped.
        let events = told(config, Action::new(10), &[(1, 0), (2, 0), (3, 0), (11, 0), (12, 0)]);
        assert_eq!(events, [(0, Some(1)), (2, None), (3, None), (1, Some(11)), (4, Some(21))]);
    }

    #[test]
    fn readers_wait_for_their_turn_only() {
        let config = Queues::global(10);
        let events = told(config, Action::read_only(7), &[(1, 0), (2, 0), (3, 0)]);
        assert_eq!(events, [(0, Some(1)), (1, Some(2)), (2, Some(3))]);
    }

    #[test]
    fn results_are_of_what_was_offered() {
        let mut scheduler = Scheduler::new(Queues::global(1)).unwrap();
        for cycle in 1..=4 {
            let (lookup, update) = (0, 0);
            let len_bytes = 100 * cycle as u32;
            let action = Action::new(2);
            scheduler.arrive(Arrival { cycle, len_bytes, lookup, update, action }, &mut |_| {});
        }
        scheduler.finish(&mut |_| {});
        // Starts in 1, 3, 5; the one of cycle 3 comes while the one of cycle 2 still waits.
        let result = scheduler.result(6);
        assert_eq!((result.n_packets, result.n_dropped, result.drop_fraction), (4, 1, 0.25));
        assert_eq!((result.throughput, result.throughput_bytes), (0.75, 0.7));
        assert_eq!((result.latency_p50_cycles, result.latency_max_cycles), (3, 3));
        // They waited for 0, 1 and 1 cycles.
        assert_eq!((result.wait.p50_cycles, result.wait.max_cycles), (1, 1));
        assert_eq!(
            (result.queue_packets_p99, result.queue_packets_max, result.all_queues_packets_max),
            (1, 1, 1)
        );
    }
}
