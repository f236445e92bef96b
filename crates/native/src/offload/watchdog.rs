//! The watchdog of an offload worker: its state, for other threads.
//!
//! The control plane changes nothing while an offload worker is within a block, and workers wait for their packets. An offload
//! worker that does nothing for the hang timeout would hold up both for ever: it is hung from then on. If it hangs in an extern,
//! its thread never returns from there into compiled code, so it touches neither packets nor tables again. If it is slow in
//! compiled code itself, it ends by itself before long, and the control plane waits for that.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Between blocks.
const IDLE: u32 = 0;
/// In compiled code.
const RUNNING: u32 = 1;
/// In an extern that compiled code has called.
const IN_EXTERN: u32 = 2;
/// Hung in an extern. It never returns from there, so entries that it had found may be reused, see [`OffloadWatchdog::take_hung`].
const HUNG: u32 = 3;
/// Hung, and in no block.
const RETIRED: u32 = 4;

/// Sleep between two looks at an offload worker.
const NAP: Duration = Duration::from_micros(20);
/// A longer nap says nothing about the offload worker: the machine was busy, or stood still.
const NAP_COUNTED_MAX: Duration = Duration::from_millis(10);

/// An offload worker as other threads see it.
#[derive(Debug)]
pub struct OffloadWatchdog {
    state: AtomicU32,
    /// Grows as long as the offload worker makes progress.
    beats: AtomicU64,
    is_hung: AtomicBool,
    hang_timeout_ns: AtomicU64,
}

impl OffloadWatchdog {
    pub(crate) fn new(hang_timeout: Duration) -> OffloadWatchdog {
        let watchdog = OffloadWatchdog {
            state: AtomicU32::new(IDLE),
            beats: AtomicU64::new(0),
            is_hung: AtomicBool::new(false),
            hang_timeout_ns: AtomicU64::new(0),
        };
        watchdog.set_hang_timeout(hang_timeout);
        watchdog
    }

    pub(crate) fn set_hang_timeout(&self, hang_timeout: Duration) {
        let ns = u64::try_from(hang_timeout.as_nanos()).unwrap_or(u64::MAX);
        self.hang_timeout_ns.store(ns, Ordering::Relaxed);
    }

    /// True once it exceeded the hang timeout: packets that it has do not come back, and none may be sent to it.
    pub fn is_hung(&self) -> bool {
        self.is_hung.load(Ordering::Acquire)
    }

    /// True if it is hung and in no block.
    pub(crate) fn is_retired(&self) -> bool {
        self.state.load(Ordering::SeqCst) == RETIRED
    }

    pub(crate) fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Marks it as hung: nobody waits for it any more.
    pub(crate) fn mark_hung(&self) {
        self.is_hung.store(true, Ordering::SeqCst);
        for (from, to) in [(IN_EXTERN, HUNG), (IDLE, RETIRED)] {
            // In state RUNNING it sees the mark when it leaves the block.
            let _ = self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// True once after it was found to hang within an extern.
    pub(crate) fn take_hung(&self) -> bool {
        self.state.compare_exchange(HUNG, RETIRED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    // Called by the offload worker.

    /// Enters compiled code to run blocks; `None` when the offload worker is hung. Waits while `is_closed`.
    pub(crate) fn enter(&self, is_closed: &AtomicBool) -> Option<Inside<'_>> {
        loop {
            let before = self.state.compare_exchange(IDLE, RUNNING, Ordering::SeqCst, Ordering::SeqCst);
            if before.is_err() {
                return None;
            }
            let inside = Inside(self);
            if self.is_hung() {
                return None;
            }
            // A thread that closes sets the flag first, and looks afterwards at who is inside.
            if !is_closed.load(Ordering::SeqCst) {
                return Some(inside);
            }
            drop(inside);
            while is_closed.load(Ordering::Acquire) && !self.is_hung() {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Calls an extern.
    pub(crate) fn call<T>(&self, f: impl FnOnce() -> T) -> T {
        // No other thread changes the state RUNNING.
        self.state.store(IN_EXTERN, Ordering::Release);
        let result = f();
        let back = self.state.compare_exchange(IN_EXTERN, RUNNING, Ordering::SeqCst, Ordering::SeqCst);
        if back.is_err() {
            // Hung meanwhile: the packet and the entries that this thread would return to may be in use elsewhere.
            loop {
                std::thread::park();
            }
        }
        self.beat();
        result
    }

    fn beat(&self) {
        // Only the offload worker writes it.
        self.beats.store(self.beats().wrapping_add(1), Ordering::Relaxed);
    }

    // Called by the control plane.

    /// Waits until the offload worker is in no block or hangs.
    pub(crate) fn wait_outside(&self) {
        let hang_timeout = Duration::from_nanos(self.hang_timeout_ns.load(Ordering::Relaxed));
        let (mut beats, mut silent) = (self.beats(), Duration::ZERO);
        let mut before = Instant::now();
        for n in 0_u32.. {
            if matches!(self.state.load(Ordering::SeqCst), IDLE | HUNG | RETIRED) {
                return;
            }
            if n < 100 {
                std::hint::spin_loop();
                continue;
            }
            std::thread::sleep(NAP);
            let now = Instant::now();
            silent += (now - before).min(NAP_COUNTED_MAX);
            before = now;
            if self.beats() != beats {
                (beats, silent) = (self.beats(), Duration::ZERO);
            }
            if silent > hang_timeout {
                self.mark_hung();
            }
        }
    }
}

/// An offload worker within its blocks; leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Inside<'a>(&'a OffloadWatchdog);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let watchdog = self.0;
        watchdog.beat();
        let next = if watchdog.is_hung() { RETIRED } else { IDLE };
        watchdog.state.store(next, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn nobody_is_inside_while_it_is_closed() {
        let watchdog = Arc::new(OffloadWatchdog::new(Duration::from_secs(60)));
        let (closed, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let is_inside = Arc::new(AtomicBool::new(false));
        let offload_worker = std::thread::spawn({
            let (watchdog, closed) = (Arc::clone(&watchdog), Arc::clone(&closed));
            let (is_inside, is_over) = (Arc::clone(&is_inside), Arc::clone(&is_over));
            move || {
                let mut n = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    let _inside = watchdog.enter(&closed).unwrap();
                    is_inside.store(true, Ordering::Relaxed);
                    watchdog.call(|| n += 1);
                    is_inside.store(false, Ordering::Relaxed);
                }
                n
            }
        });
        // Threads begin when they like.
        while watchdog.beats() == 0 {
            std::thread::yield_now();
        }
        for _ in 0..500 {
            closed.store(true, Ordering::SeqCst);
            watchdog.wait_outside();
            for _ in 0..10 {
                assert!(!is_inside.load(Ordering::Relaxed));
                std::hint::spin_loop();
            }
            closed.store(false, Ordering::Release);
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(offload_worker.join().unwrap() > 0);
        assert!(!watchdog.is_hung());
    }

    #[test]
    fn a_hung_extern_is_waited_for_once() {
        let watchdog = Arc::new(OffloadWatchdog::new(Duration::from_millis(50)));
        let closed = Arc::new(AtomicBool::new(false));
        let (hang, is_back) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        // Its thread ends with the process.
        std::thread::spawn({
            let (watchdog, closed) = (Arc::clone(&watchdog), Arc::clone(&closed));
            let (hang, is_back) = (Arc::clone(&hang), Arc::clone(&is_back));
            move || {
                let _inside = watchdog.enter(&closed).unwrap();
                watchdog.call(|| {
                    while hang.load(Ordering::Relaxed) {
                        std::thread::sleep(NAP);
                    }
                });
                is_back.store(true, Ordering::Relaxed);
            }
        });
        while watchdog.state.load(Ordering::SeqCst) != IN_EXTERN {
            std::thread::sleep(NAP);
        }
        let begin = Instant::now();
        watchdog.wait_outside();
        assert!(watchdog.is_hung() && begin.elapsed() >= Duration::from_millis(50));
        watchdog.wait_outside();
        assert!(watchdog.take_hung() && !watchdog.take_hung() && watchdog.is_retired());
        assert!(watchdog.enter(&closed).is_none());
        hang.store(false, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!is_back.load(Ordering::Relaxed), "it comes back into compiled code");
    }

    #[test]
    fn a_worker_marked_as_hung_enters_no_block() {
        let watchdog = OffloadWatchdog::new(Duration::from_secs(60));
        let closed = AtomicBool::new(false);
        let inside = watchdog.enter(&closed).unwrap();
        watchdog.mark_hung();
        assert!(watchdog.is_hung());
        drop(inside);
        assert!(!watchdog.take_hung() && watchdog.is_retired());
        assert!(watchdog.enter(&closed).is_none());
        watchdog.wait_outside();
    }
}
