//! Event-driven simulation of workers and offload workers: the worker with the least time runs its next burst.

use crate::asynchronous::{ARRIVED_MAX, BURST, Outcome, Scene, Way};
use crate::random::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Default)]
struct Worker {
    now: f64,
    n_taken: u64,
    n_lost: u64,
    n_through: u64,
    n_blocks: u64,
    n_dropped: u64,
    /// When packets come back, ascending.
    back: VecDeque<f64>,
    /// The counts after half of the packets, by which time queues have filled.
    half: Mark,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    now: f64,
    n_through: u64,
    n_blocks: u64,
    n_dropped: u64,
}

impl Worker {
    fn mark(&self) -> Mark {
        Mark { now: self.now, n_through: self.n_through, n_blocks: self.n_blocks, n_dropped: self.n_dropped }
    }
}

#[derive(Default)]
struct Sums {
    n_sent: u64,
    waited: f64,
    in_flight_max: usize,
}

/// The times at which offload workers become free, and the work done so far.
pub(crate) struct OffloadWorkers {
    free: Vec<f64>,
    worked: f64,
}

impl OffloadWorkers {
    pub(crate) fn new(n: u32) -> OffloadWorkers {
        OffloadWorkers { free: vec![0.0; n as usize], worked: 0.0 }
    }

    /// Serves a request that arrives at `at`; returns the time at which it is done.
    pub(crate) fn serve(&mut self, at: f64, cycles: f64) -> f64 {
        let Some(first) = self.free.iter_mut().min_by(|a, b| a.total_cmp(b)) else { return at };
        let end = first.max(at) + cycles;
        *first = end;
        self.worked += cycles;
        end
    }
}

struct Bench<'a> {
    scene: &'a Scene,
    way: Way,
    gap: f64,
    n_packets: u64,
    offload_workers: OffloadWorkers,
    random: Random,
    sums: Sums,
}

pub(crate) fn run(scene: &Scene, way: Way, gap: f64, n_packets: u64, seed: u64) -> Outcome {
    let offload_workers = OffloadWorkers::new(scene.n_offload_workers);
    let mut bench =
        Bench { scene, way, gap, n_packets, offload_workers, random: Random(seed), sums: Sums::default() };
    let mut workers: Vec<Worker> = (0..scene.n_workers).map(|_| Worker::default()).collect();
    // Times are positive, so that their bits are in the same order.
    let mut order: BinaryHeap<Reverse<(u64, usize)>> =
        (0..workers.len()).map(|worker| Reverse((0, worker))).collect();
    while let Some(Reverse((_, i))) = order.pop() {
        if bench.turn(&mut workers[i]) {
            order.push(Reverse((workers[i].now.to_bits(), i)));
        }
    }
    bench.outcome(&workers)
}

impl Bench<'_> {
    /// Runs one burst of a worker; returns false if it has taken all its packets.
    fn turn(&mut self, worker: &mut Worker) -> bool {
        if worker.n_taken + worker.n_lost >= self.n_packets {
            return false;
        }
        if worker.n_taken + worker.n_lost < self.n_packets / 2 {
            worker.half = worker.mark();
        }
        while worker.back.front().is_some_and(|at| *at <= worker.now) {
            worker.back.pop_front();
            worker.n_through += 1;
        }
        // With `Wait`, workers contend for the offload worker at every packet, so take one at a time.
        let mut n = if self.way == Way::Wait { 1 } else { u64::from(BURST) };
        if self.gap > 0.0 {
            let mut arrived = (worker.now / self.gap) as u64 - worker.n_taken - worker.n_lost;
            if arrived > ARRIVED_MAX {
                worker.n_lost += arrived - ARRIVED_MAX;
                arrived = ARRIVED_MAX;
            }
            if arrived == 0 {
                // Advance by a hundredth of a gap more than needed, so that rounding does not hide the packet.
                worker.now = ((worker.n_taken + worker.n_lost) as f64 + 1.01) * self.gap;
                return true;
            }
            n = n.min(arrived);
        }
        if self.way == Way::Suspend {
            let room = (self.scene.capacity as usize).saturating_sub(worker.back.len()) as u64;
            if room == 0 {
                // With `Suspend`, a full worker waits for the first packet in flight.
                worker.now = worker.back.front().map_or(worker.now, |at| at.max(worker.now));
                return true;
            }
            n = n.min(room);
        }
        self.burst(worker, n);
        true
    }

    fn burst(&mut self, worker: &mut Worker, n: u64) {
        let scene = self.scene;
        let mut n_sent = 0u64;
        worker.n_taken += n;
        for _ in 0..n {
            worker.now += scene.base_cycles;
            if !self.random.is_below(scene.share) {
                worker.n_through += 1;
                continue;
            }
            worker.n_blocks += 1;
            let is_full = worker.back.len() + n_sent as usize >= scene.capacity as usize;
            match self.way {
                Way::Inline => {
                    worker.now += scene.block_cycles;
                    worker.n_through += 1;
                }
                Way::Wait => {
                    let end = self.offload_workers.serve(worker.now, scene.block_cycles);
                    self.sums.waited += end + scene.round_trip_cycles - worker.now;
                    self.sums.n_sent += 1;
                    worker.now = end + scene.round_trip_cycles;
                    worker.n_through += 1;
                }
                Way::Drop if is_full => worker.n_dropped += 1,
                Way::Spill if is_full => {
                    worker.now += scene.block_cycles;
                    worker.n_through += 1;
                }
                Way::Suspend | Way::Drop | Way::Spill => {
                    worker.now += scene.suspend_cycles;
                    n_sent += 1;
                }
            }
        }
        // The requests of a burst are sent together at its end.
        for _ in 0..n_sent {
            let end = self.offload_workers.serve(worker.now, scene.block_cycles);
            self.sums.waited += end - worker.now;
            worker.back.push_back(end);
        }
        self.sums.n_sent += n_sent;
        self.sums.in_flight_max = self.sums.in_flight_max.max(worker.back.len());
    }

    fn outcome(&self, workers: &[Worker]) -> Outcome {
        let over = |a: f64, b: u64| if b > 0 { a / b as f64 } else { 0.0 };
        let end = workers.iter().map(|worker| worker.now).fold(0.0, f64::max);
        let n_taken: u64 = workers.iter().map(|worker| worker.n_taken).sum();
        let n_lost: u64 = workers.iter().map(|worker| worker.n_lost).sum();
        let n_dropped: u64 = workers.iter().map(|worker| worker.n_dropped).sum();
        let later = |n: fn(Mark) -> u64| workers.iter().map(|w| n(w.mark()) - n(w.half)).sum::<u64>();
        let rate = |w: &Worker| (w.n_through - w.half.n_through) as f64 / (w.now - w.half.now).max(1.0);
        let rate: f64 = workers.iter().map(rate).sum();
        // Subtract the work that offload workers would do after the end.
        let worked = self.offload_workers.worked
            - self.offload_workers.free.iter().map(|free| (free - end).max(0.0)).sum::<f64>();
        Outcome {
            cycles: if rate > 0.0 { 1.0 / rate } else { end },
            dropped: over(later(|m| m.n_dropped) as f64, later(|m| m.n_blocks)),
            lost: over((n_lost + n_dropped) as f64, n_taken + n_lost),
            offload_load: if end > 0.0 {
                worked / end / f64::from(self.scene.n_offload_workers)
            } else {
                0.0
            },
            waited_cycles: over(self.sums.waited, self.sums.n_sent),
            in_flight_max: u32::try_from(self.sums.in_flight_max).unwrap_or(u32::MAX),
        }
    }
}
