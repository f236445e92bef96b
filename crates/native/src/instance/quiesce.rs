//! The quiesce gate: tracks workers within compiled code, and lets the control plane wait for them.
//!
//! Each worker has a word (`seen` of `struct sd_worker`): the epoch in which it began the burst or block that it is in,
//! or [`IDLE`]. The word has two uses. The runtime reclaims memory that a writer took out of a table when every worker
//! began its burst later (`rt/worker/sd_epoch.h`). And an operation that is not concurrent closes the gate and waits until
//! all words are idle.
//!
//! Invariants: only its worker writes a word, except that of an abandoned offload worker. The closer sets `is_closed` and
//! then reads the words; a worker writes its word and then reads `is_closed`. All four are sequentially consistent, so at
//! least one of the two sees the other. Writes made while the gate is closed are visible to every worker that enters later.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Twin of `SD_EPOCH_IDLE`.
const IDLE: u64 = u64::MAX;

/// Number of polls before a waiting thread yields its core, and the time that it sleeps then. A burst takes some
/// microseconds.
const N_LOOKS: u32 = 1000;
const NAP: Duration = Duration::from_micros(20);
/// Longest wait for workers that have found the gate closed, see [`QuiesceGate::let_in`].
const LET_IN_TIME: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct QuiesceGate {
    epoch: NonNull<AtomicU64>,
    seats: Vec<Seat>,
    is_closed: AtomicBool,
    /// Locked while the gate is closed; workers wait for it.
    closing: Mutex<()>,
}

/// One worker's part of the gate.
#[derive(Debug)]
struct Seat {
    seen: NonNull<AtomicU64>,
    /// `close` does not wait for offload workers, which may hang: [`OffloadWatchdog`](crate::OffloadWatchdog) stops them.
    is_offload_worker: AtomicBool,
    /// It has found the gate closed, and has not come in since.
    is_waiting: AtomicBool,
}

// SAFETY: the pointers lead to atomics that live as long as the gate is used (`QuiesceGate::new`).
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Send for QuiesceGate {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "raw pointers make it none")]
unsafe impl Sync for QuiesceGate {}

impl QuiesceGate {
    /// # Safety
    ///
    /// `epoch` and `seen`, of each worker, are words that are accessed by atomic operations only, and that live until the
    /// last call of a method.
    #[expect(unsafe_code, reason = "what is promised here, methods rely on")]
    pub(crate) unsafe fn new(
        epoch: NonNull<AtomicU64>,
        seen: impl IntoIterator<Item = NonNull<AtomicU64>>,
    ) -> QuiesceGate {
        let seat = |seen| Seat {
            seen,
            is_offload_worker: AtomicBool::new(false),
            is_waiting: AtomicBool::new(false),
        };
        QuiesceGate {
            epoch,
            seats: seen.into_iter().map(seat).collect(),
            is_closed: AtomicBool::new(false),
            closing: Mutex::default(),
        }
    }

    fn epoch(&self) -> &AtomicU64 {
        // SAFETY: see `new`.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        unsafe {
            self.epoch.as_ref()
        }
    }

    /// Sets whether a worker that has not run yet is an offload worker.
    pub(crate) fn set_offload_worker(&self, number: u32, is_offload_worker: bool) {
        if let Some(seat) = self.seats.get(number as usize) {
            seat.is_offload_worker.store(is_offload_worker, Ordering::SeqCst);
        }
    }

    /// Enters compiled code until the result is dropped; waits while the gate is closed.
    pub(crate) fn enter(&self, number: u32) -> Inside<'_> {
        let is_waiting = &self.seats[number as usize].is_waiting;
        let mut has_waited = false;
        loop {
            let inside = self.begin(number);
            if !self.is_closed.load(Ordering::SeqCst) {
                if has_waited {
                    is_waiting.store(false, Ordering::Release);
                }
                return inside;
            }
            drop(inside);
            is_waiting.store(true, Ordering::Release);
            has_waited = true;
            self.wait_open();
        }
    }

    /// Enters compiled code without a look at this gate: the offload worker has entered by its watchdog.
    pub(crate) fn enter_as_offload_worker(&self, number: u32) -> Inside<'_> {
        self.begin(number)
    }

    /// Publishes the epoch in which the worker begins, see `sd_epoch_quiesce`.
    fn begin(&self, number: u32) -> Inside<'_> {
        let seen = self.seats[number as usize].seen();
        seen.swap(self.epoch().load(Ordering::Acquire), Ordering::SeqCst);
        // Orders later loads after the swap: entries that a writer removed while it saw the word idle are not found.
        self.epoch().load(Ordering::SeqCst);
        Inside(seen)
    }

    #[cold]
    fn wait_open(&self) {
        for _ in 0..N_LOOKS {
            if !self.is_closed.load(Ordering::Relaxed) {
                return;
            }
            std::hint::spin_loop();
        }
        drop(self.closing.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Closes the gate while the result lives: then no worker, other than offload workers, is within a burst or a block.
    /// Further callers block.
    pub(crate) fn close(&self) -> Closed<'_> {
        let closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(true, Ordering::SeqCst);
        let closed = Closed { gate: self, _closing: closing };
        for seat in &self.seats {
            let mut n_looks = 0;
            while !seat.is_offload_worker.load(Ordering::SeqCst) && seat.seen().load(Ordering::SeqCst) != IDLE
            {
                n_looks += 1;
                if n_looks < N_LOOKS {
                    std::hint::spin_loop();
                } else {
                    std::thread::sleep(NAP);
                }
            }
        }
        closed
    }

    /// Waits until the workers have come in that have found the gate closed. A caller that closes the
    /// gate again at once would keep them out otherwise: they wake up too late.
    pub(crate) fn let_in(&self) {
        let begin = Instant::now();
        for seat in &self.seats {
            let mut n_looks = 0;
            while seat.is_waiting.load(Ordering::Acquire) && begin.elapsed() < LET_IN_TIME {
                n_looks += 1;
                if n_looks < N_LOOKS {
                    std::hint::spin_loop();
                } else {
                    std::thread::yield_now();
                }
            }
        }
    }

    /// Forgets an offload worker that will never again run compiled code: memory that it held may be reclaimed.
    pub(crate) fn forget(&self, number: u32) {
        if let Some(seat) = self.seats.get(number as usize) {
            seat.seen().store(IDLE, Ordering::Release);
        }
    }
}

impl Seat {
    fn seen(&self) -> &AtomicU64 {
        // SAFETY: see `QuiesceGate::new`.
        #[expect(unsafe_code, reason = "memory of the compiled program")]
        unsafe {
            self.seen.as_ref()
        }
    }
}

/// A worker within compiled code.
#[derive(Debug)]
pub(crate) struct Inside<'a>(&'a AtomicU64);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(IDLE, Ordering::Release);
    }
}

/// The gate is closed.
#[derive(Debug)]
pub(crate) struct Closed<'a> {
    gate: &'a QuiesceGate,
    _closing: MutexGuard<'a, ()>,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.is_closed.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A gate whose words are never freed.
    fn gate(n_workers: usize) -> (Arc<QuiesceGate>, &'static [AtomicU64]) {
        let words: Vec<_> = (0..=n_workers).map(|i| AtomicU64::new(if i == 0 { 1 } else { IDLE })).collect();
        let words: &'static [AtomicU64] = Vec::leak(words);
        // SAFETY: atomics that are never freed.
        #[expect(unsafe_code, reason = "the promise of `new`")]
        let gate =
            unsafe { QuiesceGate::new(NonNull::from(&words[0]), words[1..].iter().map(NonNull::from)) };
        (Arc::new(gate), words)
    }

    #[test]
    fn nobody_is_inside_while_it_is_closed() {
        let (gate, _) = gate(2);
        let n_inside = Arc::new(AtomicU64::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let has_come_in = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let workers: Vec<_> = (0..2)
            .map(|number| {
                let (gate, n_inside, is_over, has_come_in) = (
                    Arc::clone(&gate),
                    Arc::clone(&n_inside),
                    Arc::clone(&is_over),
                    Arc::clone(&has_come_in),
                );
                std::thread::spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let _inside = gate.enter(number);
                        n_inside.fetch_add(1, Ordering::Relaxed);
                        n_inside.fetch_sub(1, Ordering::Relaxed);
                        has_come_in[number as usize].store(true, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for _ in 0..2000 {
            let _closed = gate.close();
            for _ in 0..20 {
                assert_eq!(n_inside.load(Ordering::Relaxed), 0);
                std::hint::spin_loop();
            }
        }
        // However busy the machine is.
        while !has_come_in.iter().all(|worker| worker.load(Ordering::Relaxed)) {
            std::thread::yield_now();
        }
        is_over.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    }

    #[test]
    fn who_is_inside_is_waited_for() {
        let (gate, words) = gate(2);
        let inside = gate.enter(1);
        assert_eq!((words[1].load(Ordering::Relaxed), words[2].load(Ordering::Relaxed)), (IDLE, 1));
        let closer = std::thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                let begin = Instant::now();
                drop(gate.close());
                begin.elapsed()
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!closer.is_finished());
        drop(inside);
        assert!(closer.join().unwrap() >= Duration::from_millis(10));
        assert_eq!(words[2].load(Ordering::Relaxed), IDLE);
    }

    #[test]
    fn who_waits_comes_in_before_it_is_closed_again() {
        let (gate, _) = gate(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let worker = std::thread::spawn({
            let (gate, is_over) = (Arc::clone(&gate), Arc::clone(&is_over));
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    drop(gate.enter(0));
                }
            }
        });
        for _ in 0..50 {
            let closed = gate.close();
            let is_waiting = &gate.seats[0].is_waiting;
            while !is_waiting.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            drop(closed);
            let begin = Instant::now();
            gate.let_in();
            let has_time = begin.elapsed() < LET_IN_TIME;
            assert!(!(has_time && is_waiting.load(Ordering::Acquire)));
        }
        is_over.store(true, Ordering::Relaxed);
        worker.join().unwrap();
    }

    #[test]
    fn offload_workers_are_not_waited_for() {
        let (gate, words) = gate(1);
        gate.set_offload_worker(0, true);
        std::mem::forget(gate.enter_as_offload_worker(0));
        drop(gate.close());
        assert_eq!(words[1].load(Ordering::Relaxed), 1);
        gate.forget(0);
        assert_eq!(words[1].load(Ordering::Relaxed), IDLE);
    }
}
