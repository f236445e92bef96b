//! Waiting for something that has to happen.

use std::time::{Duration, Instant};

/// After this something is broken, however slow the machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[track_caller]
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < PATIENCE, "still no {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
