//! The loop of a worker.

use crate::worker::Worker;
use packet_io::Waiter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Turns without a packet before the worker sleeps.
const N_SPINS: u32 = 16;

/// Runs until told to stop; then everything that arrived has left.
pub(crate) fn run(mut worker: Worker, stop: &AtomicBool) {
    let mailbox = Arc::clone(worker.mailbox());
    let (mut fds, mut waiter) = (Vec::new(), Waiter::default());
    let mut n_idle = 0;
    while !stop.load(Ordering::Acquire) {
        for task in mailbox.take_tasks() {
            task(&mut worker);
        }
        if worker.poll() > 0 {
            n_idle = 0;
            continue;
        }
        worker.idle();
        n_idle += 1;
        if n_idle < N_SPINS {
            std::hint::spin_loop();
            continue;
        }
        let timeout = worker.before_sleep(&mut fds);
        if mailbox.may_sleep() {
            // Without it the worker only looks more often than it has to.
            let woken = waiter.wait(fds.iter().copied(), timeout);
            mailbox.awake();
            if woken.is_err() || timeout.is_zero() {
                std::thread::yield_now();
            }
        }
        // One look tells whether there is something; spinning again is for after a packet.
        n_idle = N_SPINS - 1;
    }
    // Tasks that are left still run, so that each caller gets its answer.
    for task in mailbox.take_tasks() {
        task(&mut worker);
    }
    worker.flush_ports();
}
