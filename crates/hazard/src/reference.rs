//! Reference models: plain simulations, cycle by cycle, against which tests compare the fast models.

use crate::config::Queues;
use crate::hazards::Met;
use crate::queues::{Arrival, Event};
use std::collections::VecDeque;

/// Returns the hazards of each packet by a comparison with every earlier packet.
pub fn hazards(arrivals: &[Arrival]) -> Vec<Met> {
    let mut all = Vec::new();
    for (i, packet) in arrivals.iter().enumerate() {
        let mut met = Met::default();
        for earlier in &arrivals[..i] {
            let both_write = packet.action.lock_cycles > 0 && earlier.action.lock_cycles > 0;
            if both_write && earlier.cycle + u64::from(earlier.action.lock_cycles) > packet.cycle {
                met.any = true;
                met.same_key |= earlier.update == packet.update;
            }
        }
        all.push(met);
    }
    all
}

/// Returns the cycle in which each packet starts behind a single lock.
pub fn lock(arrivals: &[Arrival]) -> Vec<u64> {
    let mut starts = vec![0; arrivals.len()];
    let (mut next, mut locked_for, mut cycle) = (0, 0, 0);
    while let Some(packet) = arrivals.get(next) {
        let may_start = packet.cycle <= cycle && (packet.action.lock_cycles == 0 || locked_for == 0);
        if may_start {
            starts[next] = cycle;
            next += 1;
            if packet.action.lock_cycles > 0 {
                locked_for = packet.action.lock_cycles;
            }
        }
        locked_for = u32::saturating_sub(locked_for, 1);
        cycle += 1;
    }
    starts
}

/// Everything that happens to packets before queues, and the number of packets in the fullest queue after each arrival.
pub fn queues(config: Queues, arrivals: &[Arrival]) -> (Vec<Event>, Vec<u64>) {
    let n_queues = config.n_queues as usize;
    let (mut events, mut fullest) = (Vec::new(), Vec::new());
    let mut queues: Vec<VecDeque<usize>> = vec![VecDeque::new(); n_queues];
    let mut locked_for = vec![0u32; config.n_locks as usize];
    let lock_of = |packet: usize| arrivals[packet].update as u32 as usize % config.n_locks as usize;
    let (mut next, mut turn, mut cycle) = (0, 0, 0);
    while next < arrivals.len() || queues.iter().any(|queue| !queue.is_empty()) {
        if arrivals.get(next).is_some_and(|arrival| arrival.cycle == cycle) {
            let queue = arrivals[next].lookup as u32 as usize % n_queues;
            if queues[queue].len() < config.queue_packets_max as usize {
                queues[queue].push_back(next);
            } else {
                events.push(Event::Drop { packet: next as u64, cycle, queue: queue as u32 });
            }
            next += 1;
            fullest.push(queues.iter().map(VecDeque::len).max().unwrap_or(0) as u64);
        }
        for step in 0..n_queues {
            let queue = (turn + step) % n_queues;
            let Some(&packet) = queues[queue].front() else { continue };
            let lock_cycles = arrivals[packet].action.lock_cycles;
            if lock_cycles == 0 || locked_for[lock_of(packet)] == 0 {
                queues[queue].pop_front();
                if lock_cycles > 0 {
                    locked_for[lock_of(packet)] = lock_cycles;
                }
                events.push(Event::Start { packet: packet as u64, cycle, queue: queue as u32 });
                turn = (queue + 1) % n_queues;
                break;
            }
        }
        locked_for.iter_mut().for_each(|cycles| *cycles = cycles.saturating_sub(1));
        cycle += 1;
    }
    (events, fullest)
}
