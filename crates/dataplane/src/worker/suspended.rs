//! Packets at offload workers.

use super::{N_PASSES_POLL, Running, Worker};
use crate::report::reason;
use native::Fate;
use packet_io::PacketBuf;
use std::time::{Duration, Instant};

/// More time between two polls says that the worker could not run, not that executors do not.
const LOOK_MAX: Duration = Duration::from_millis(10);

/// Buffers of packets that wait for executors, by their tokens.
#[derive(Default)]
pub(super) struct Waiting {
    buffers: Vec<Option<PacketBuf>>,
    pub(super) free: Vec<u64>,
    pub(super) n: usize,
}

/// An executor may still write to what it has not given back.
impl Drop for Waiting {
    fn drop(&mut self) {
        self.buffers.drain(..).flatten().for_each(std::mem::forget);
    }
}

impl Waiting {
    pub(super) fn token(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.buffers.push(None);
            self.buffers.len() as u64 - 1
        })
    }

    pub(super) fn keep(&mut self, token: u64, buf: PacketBuf) {
        if let Some(place) = self.buffers.get_mut(token as usize) {
            *place = Some(buf);
            self.n += 1;
        }
    }

    pub(super) fn take(&mut self, token: u64) -> Option<PacketBuf> {
        let buf = self.buffers.get_mut(token as usize)?.take()?;
        self.free.push(token);
        self.n -= 1;
        Some(buf)
    }
}

impl Worker {
    /// Goes on with packets that executors have given back; gives how many have ended.
    pub(super) fn take_back(&mut self, now_ns: u64) -> usize {
        let Some(running) = &mut self.running else { return 0 };
        if running.waiting.n == 0 {
            return 0;
        }
        let mut resumed = std::mem::take(&mut self.resumed);
        let Running { switch, bursts, waiting, order } = running;
        let n = bursts.resume(switch, now_ns, &mut (), &mut resumed, &mut self.outputs);
        let mut leaving = std::mem::take(&mut self.leaving);
        for one in resumed.drain(..) {
            let Some(mut buf) = waiting.take(one.token) else { continue };
            let is_inside = buf.set_bounds(one.start as u32, one.len as u32);
            debug_assert!(is_inside);
            let end = match one.fate {
                Fate::Sent(destination) => Some((destination, buf)),
                Fate::Dropped | Fate::Elsewhere | Fate::Suspended => {
                    self.pool.give_back(buf);
                    None
                }
            };
            match order {
                Some(order) => order.ended(one.token, end, &mut leaving),
                None => leaving.extend(end),
            }
        }
        self.resumed = resumed;
        for (destination, buf) in leaving.drain(..) {
            self.leave(destination, buf);
        }
        self.leaving = leaving;
        self.send_outputs();
        n
    }

    /// What lost executors have is lost.
    pub(super) fn look_after_executors(&mut self, now_ns: u64) {
        let mut passed = Duration::from_nanos(now_ns.saturating_sub(self.looked_ns)).min(LOOK_MAX);
        self.looked_ns = now_ns;
        let hang_timeout = self.hang_timeout;
        while let Some(running) = &mut self.running
            && let Some(block) = running.switch.runner.worker_mut().lost_block(passed, hang_timeout)
        {
            passed = Duration::ZERO;
            // What it has done before is not lost.
            self.take_back(now_ns);
            self.abandon(block);
        }
    }

    pub(super) fn abandon(&mut self, block: usize) {
        let Some(Running { switch, bursts, waiting, order }) = &mut self.running else { return };
        let mut leaving = Vec::new();
        for token in bursts.abandon(switch, block) {
            order.iter_mut().for_each(|order| order.ended(token, None, &mut leaving));
            let Some(buf) = waiting.take(token) else { continue };
            self.past.n_received += 1;
            self.past.drop_for(reason::OFFLOAD_TIMEOUT);
            // The executor may still write to it.
            self.pool.forget();
            std::mem::forget(buf);
        }
        leaving.into_iter().for_each(|(destination, buf)| self.leave(destination, buf));
    }

    pub(super) fn n_waiting(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.waiting.n as u64)
    }

    /// Packets that executors do not give back in time are lost, with their buffers: somebody may still write to them.
    pub(crate) fn wait_for_executors(&mut self) {
        let deadline = Instant::now() + self.hang_timeout;
        while self.n_waiting() > 0 && Instant::now() < deadline {
            if let Some(running) = &mut self.running {
                running.switch.allow_passes(N_PASSES_POLL);
            }
            if self.take_back(self.clock.now_ns()) == 0 {
                std::thread::yield_now();
            }
        }
        let Some(running) = &mut self.running else { return };
        let mut leaving = Vec::new();
        for (token, place) in (0..).zip(&mut running.waiting.buffers) {
            let Some(buf) = place.take() else { continue };
            running.order.iter_mut().for_each(|order| order.ended(token, None, &mut leaving));
            self.past.n_received += 1;
            self.past.drop_for(reason::OFFLOAD_TIMEOUT);
            self.pool.forget();
            std::mem::forget(buf);
        }
        running.waiting = Waiting::default();
        leaving.into_iter().for_each(|(destination, buf)| self.leave(destination, buf));
    }
}
