//! The loop of a worker.

use crate::options::Wait;
use crate::worker::Worker;
use packet_io::Waiter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long an adaptive worker polls after the last packet before it sleeps: longer than a sleep and a wake-up take.
const POLL_TIME: Duration = Duration::from_micros(50);
/// The first and the longest sleep while there is a port without a file descriptor to wait for.
const NAP_MIN: Duration = Duration::from_micros(50);
const NAP_MAX: Duration = Duration::from_millis(1);

/// Decides when a worker without packets sleeps.
struct Idle {
    wait: Wait,
    /// When polling ends; `None` after a packet.
    poll_end: Option<Instant>,
    nap: Duration,
}

impl Idle {
    fn new(wait: Wait) -> Idle {
        Idle { wait, poll_end: None, nap: NAP_MIN }
    }

    fn found_packets(&mut self) {
        (self.poll_end, self.nap) = (None, NAP_MIN);
    }

    /// Returns whether to sleep after a turn without packets.
    fn may_sleep(&mut self) -> bool {
        match self.wait {
            Wait::Busy => false,
            Wait::Interrupt => true,
            Wait::Adaptive => {
                let now = Instant::now();
                now >= *self.poll_end.get_or_insert(now + POLL_TIME)
            }
        }
    }

    /// The longest sleep if a port has to be polled; it grows from sleep to sleep.
    fn next_nap(&mut self) -> Duration {
        let nap = self.nap;
        self.nap = (nap * 2).min(NAP_MAX);
        nap
    }
}

/// Runs until told to stop; then everything that arrived has left.
pub(crate) fn run(mut worker: Worker, stop: &AtomicBool) {
    let mailbox = Arc::clone(worker.mailbox());
    let (mut fds, mut waiter) = (Vec::new(), Waiter::default());
    let mut idle = Idle::new(worker.wait());
    while !stop.load(Ordering::Acquire) {
        for task in mailbox.take_tasks() {
            task(&mut worker);
        }
        if worker.poll() > 0 {
            idle.found_packets();
            continue;
        }
        worker.idle();
        if !idle.may_sleep() {
            std::hint::spin_loop();
            continue;
        }
        let timeout = worker.before_sleep(&mut fds, idle.next_nap());
        if mailbox.may_sleep() {
            // Without it the worker only looks more often than it has to.
            let woken = waiter.wait(fds.iter().copied(), timeout);
            mailbox.awake();
            if woken.is_err() || timeout.is_zero() {
                std::thread::yield_now();
            }
        }
        // One look tells whether there is something; polling again is for after a packet.
    }
    // Tasks that are left still run, so that each caller gets its answer.
    for task in mailbox.take_tasks() {
        task(&mut worker);
    }
    worker.flush_ports();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_grow_until_a_packet_comes() {
        let mut idle = Idle::new(Wait::Interrupt);
        assert!(idle.may_sleep());
        let naps: Vec<u128> = (0..7).map(|_| idle.next_nap().as_micros()).collect();
        assert_eq!(naps, [50, 100, 200, 400, 800, 1000, 1000]);
        idle.found_packets();
        assert_eq!(idle.next_nap(), NAP_MIN);
    }

    #[test]
    fn an_adaptive_worker_polls_before_it_sleeps() {
        let mut idle = Idle::new(Wait::Adaptive);
        assert!(!idle.may_sleep());
        while !idle.may_sleep() {
            std::hint::spin_loop();
        }
        // It looks once after each sleep.
        assert!(idle.may_sleep());
        idle.found_packets();
        assert!(!idle.may_sleep());
        let mut busy = Idle::new(Wait::Busy);
        std::thread::sleep(POLL_TIME * 2);
        assert!(!busy.may_sleep() && !busy.may_sleep());
    }
}
