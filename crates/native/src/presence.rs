//! What an executor is doing, as others need to know.
//!
//! The control plane changes nothing while an executor is within a block; workers want their packets back. An executor
//! that hangs in an extern would hold up both for ever: it is lost then. Its thread never comes back from the extern into
//! compiled code, so neither packets nor tables are touched again. One that is slow in compiled code itself may be lost, too;
//! it ends by itself before long, and the control plane waits for that.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Between blocks.
const OUTSIDE: u32 = 0;
/// In compiled code.
const INSIDE: u32 = 1;
/// In an extern that compiled code has called.
const CALLING: u32 = 2;
/// It comes back from there no more, and what it had found in tables is nobody's: see [`Presence::take_stuck`].
const STUCK: u32 = 3;
/// In no block, for ever.
const GONE: u32 = 4;

/// How long somebody who waits for an executor sleeps.
const NAP: Duration = Duration::from_micros(20);
/// A longer nap says nothing about the executor: the machine was busy, or stood still.
const NAP_COUNTED_MAX: Duration = Duration::from_millis(10);

/// An executor, as seen by others.
#[derive(Debug)]
pub struct Presence {
    state: AtomicU32,
    /// Grows as long as the executor works.
    beats: AtomicU64,
    is_lost: AtomicBool,
    patience_ns: AtomicU64,
}

impl Presence {
    pub(crate) fn new(patience: Duration) -> Presence {
        let presence = Presence {
            state: AtomicU32::new(OUTSIDE),
            beats: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
            patience_ns: AtomicU64::new(0),
        };
        presence.set_patience(patience);
        presence
    }

    pub(crate) fn set_patience(&self, patience: Duration) {
        let ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        self.patience_ns.store(ns, Ordering::Relaxed);
    }

    /// What it has not given back by now is lost, and nothing more must be given to it.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Lost, and in no block.
    pub(crate) fn is_gone(&self) -> bool {
        self.state.load(Ordering::SeqCst) == GONE
    }

    pub(crate) fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Nobody waits for it any more.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
        for (from, to) in [(CALLING, STUCK), (OUTSIDE, GONE)] {
            // Where it is INSIDE it sees the mark when it leaves.
            let _ = self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// True once, when it was lost within a block.
    pub(crate) fn take_stuck(&self) -> bool {
        self.state.compare_exchange(STUCK, GONE, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    // For the executor.

    /// Before blocks are run; `None` when the executor is lost. Waits while `is_closed`.
    pub(crate) fn enter(&self, is_closed: &AtomicBool) -> Option<Inside<'_>> {
        loop {
            let before = self.state.compare_exchange(OUTSIDE, INSIDE, Ordering::SeqCst, Ordering::SeqCst);
            if before.is_err() {
                return None;
            }
            let inside = Inside(self);
            if self.is_lost() {
                return None;
            }
            // Whoever closes says so first, and looks afterwards who is inside.
            if !is_closed.load(Ordering::SeqCst) {
                return Some(inside);
            }
            drop(inside);
            while is_closed.load(Ordering::Acquire) && !self.is_lost() {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Around a call of an extern.
    pub(crate) fn call<T>(&self, f: impl FnOnce() -> T) -> T {
        // From INSIDE nobody else takes it anywhere.
        self.state.store(CALLING, Ordering::Release);
        let result = f();
        let back = self.state.compare_exchange(CALLING, INSIDE, Ordering::SeqCst, Ordering::SeqCst);
        if back.is_err() {
            // Lost meanwhile: what the extern has come back to is not its own any more.
            loop {
                std::thread::park();
            }
        }
        self.beat();
        result
    }

    fn beat(&self) {
        // Only the executor writes it.
        self.beats.store(self.beats().wrapping_add(1), Ordering::Relaxed);
    }

    // For the control plane.

    /// Until the executor is within no block, or lost.
    pub(crate) fn wait_outside(&self) {
        let patience = Duration::from_nanos(self.patience_ns.load(Ordering::Relaxed));
        let (mut beats, mut silent) = (self.beats(), Duration::ZERO);
        let mut before = Instant::now();
        for n in 0_u32.. {
            if matches!(self.state.load(Ordering::SeqCst), OUTSIDE | STUCK | GONE) {
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
            if silent > patience {
                self.lose();
            }
        }
    }
}

/// An executor within its blocks; leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Inside<'a>(&'a Presence);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let presence = self.0;
        presence.beat();
        let next = if presence.is_lost() { GONE } else { OUTSIDE };
        presence.state.store(next, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn nobody_is_inside_while_it_is_closed() {
        let presence = Arc::new(Presence::new(Duration::from_secs(60)));
        let (closed, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let is_inside = Arc::new(AtomicBool::new(false));
        let executor = std::thread::spawn({
            let (presence, closed) = (Arc::clone(&presence), Arc::clone(&closed));
            let (is_inside, is_over) = (Arc::clone(&is_inside), Arc::clone(&is_over));
            move || {
                let mut n = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    let _inside = presence.enter(&closed).unwrap();
                    is_inside.store(true, Ordering::Relaxed);
                    presence.call(|| n += 1);
                    is_inside.store(false, Ordering::Relaxed);
                }
                n
            }
        });
        // Threads begin when they like.
        while presence.beats() == 0 {
            std::thread::yield_now();
        }
        for _ in 0..500 {
            closed.store(true, Ordering::SeqCst);
            presence.wait_outside();
            for _ in 0..10 {
                assert!(!is_inside.load(Ordering::Relaxed));
                std::hint::spin_loop();
            }
            closed.store(false, Ordering::Release);
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(executor.join().unwrap() > 0);
        assert!(!presence.is_lost());
    }

    #[test]
    fn who_hangs_in_an_extern_is_waited_for_once() {
        let presence = Arc::new(Presence::new(Duration::from_millis(50)));
        let closed = Arc::new(AtomicBool::new(false));
        let (hang, is_back) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        // Its thread ends with the process.
        std::thread::spawn({
            let (presence, closed) = (Arc::clone(&presence), Arc::clone(&closed));
            let (hang, is_back) = (Arc::clone(&hang), Arc::clone(&is_back));
            move || {
                let _inside = presence.enter(&closed).unwrap();
                presence.call(|| {
                    while hang.load(Ordering::Relaxed) {
                        std::thread::sleep(NAP);
                    }
                });
                is_back.store(true, Ordering::Relaxed);
            }
        });
        while presence.state.load(Ordering::SeqCst) != CALLING {
            std::thread::sleep(NAP);
        }
        let begin = Instant::now();
        presence.wait_outside();
        assert!(presence.is_lost() && begin.elapsed() >= Duration::from_millis(50));
        presence.wait_outside();
        assert!(presence.take_stuck() && !presence.take_stuck() && presence.is_gone());
        assert!(presence.enter(&closed).is_none());
        hang.store(false, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!is_back.load(Ordering::Relaxed), "it comes back into compiled code");
    }

    #[test]
    fn who_is_lost_between_blocks_enters_no_more() {
        let presence = Presence::new(Duration::from_secs(60));
        let closed = AtomicBool::new(false);
        let inside = presence.enter(&closed).unwrap();
        presence.lose();
        assert!(presence.is_lost());
        drop(inside);
        assert!(!presence.take_stuck() && presence.is_gone());
        assert!(presence.enter(&closed).is_none());
        presence.wait_outside();
    }
}
