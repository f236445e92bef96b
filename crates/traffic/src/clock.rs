//! The clock of all timestamps, and waiting.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Waits that end sooner are spent in a loop, since a sleeping thread may wake up this much too late.
const SPIN_NS: u64 = 100_000;

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Time of day at time 0 of the clock, in nanoseconds since 1970.
pub(crate) fn epoch_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).saturating_sub(now_ns())
}

/// Waits for a short part of the time until `due_ns`, at most 1 ms.
pub(crate) fn wait_towards(now_ns: u64, due_ns: u64) {
    let left_ns = due_ns.saturating_sub(now_ns);
    if left_ns > 2 * SPIN_NS {
        std::thread::sleep(Duration::from_nanos((left_ns - SPIN_NS).min(1_000_000)));
    } else {
        std::hint::spin_loop();
    }
}
