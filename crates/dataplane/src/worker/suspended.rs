//! Packets at offload workers. Their buffers are with [`native::Bursts`].

use super::{N_PASSES_POLL, Running, Worker};
use crate::report::reason;
use native::{Fate, Resumed};
use std::time::{Duration, Instant};

/// A longer time between two polls says that the worker could not run, not that offload workers did not.
const LOOK_MAX: Duration = Duration::from_millis(10);

impl Worker {
    /// Resumes packets that offload workers have given back; returns how many have ended.
    pub(super) fn resume(&mut self, now_ns: u64) -> usize {
        let Some(Running { switch, bursts, order }) = &mut self.running else { return 0 };
        if bursts.n_suspended() == 0 {
            return 0;
        }
        let mut resumed = std::mem::take(&mut self.resumed);
        let n = bursts.resume(switch, now_ns, &mut (), &mut resumed, &mut self.outputs);
        let mut leaving = std::mem::take(&mut self.leaving);
        for Resumed { mut buffer, token, start, len, fate, n_outputs: _ } in resumed.drain(..) {
            let is_inside = buffer.set_bounds(start as u32, len as u32);
            debug_assert!(is_inside);
            let end = match fate {
                Fate::Sent(destination) => Some((destination, buffer)),
                Fate::Dropped | Fate::Elsewhere | Fate::Suspended => {
                    self.pool.give_back(buffer);
                    None
                }
            };
            match order {
                Some(order) => order.ended(token, end, &mut leaving),
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

    /// Abandons the packets of offload workers that hang.
    pub(super) fn watch_offload_workers(&mut self, now_ns: u64) {
        let mut passed = Duration::from_nanos(now_ns.saturating_sub(self.looked_ns)).min(LOOK_MAX);
        self.looked_ns = now_ns;
        let hang_timeout = self.hang_timeout;
        while let Some(running) = &mut self.running
            && let Some(block) = running.switch.runner.worker_mut().hung_block(passed, hang_timeout)
        {
            passed = Duration::ZERO;
            // Packets that it gave back before are not lost.
            self.resume(now_ns);
            self.abandon(block);
        }
    }

    /// Drops the packets that are suspended at a block whose offload worker hangs, and those that they hold up leave. Other
    /// buffers may be made for theirs.
    fn abandon(&mut self, block: usize) {
        let Some(Running { switch, bursts, order }) = &mut self.running else { return };
        let mut leaving = Vec::new();
        for token in bursts.abandon(switch, block) {
            order.iter_mut().for_each(|order| order.ended(token, None, &mut leaving));
            self.past.n_received += 1;
            self.past.drop_for(reason::OFFLOAD_TIMEOUT);
            self.pool.forget();
        }
        leaving.into_iter().for_each(|(destination, buf)| self.leave(destination, buf));
    }

    /// Packets at offload workers.
    pub(super) fn n_suspended(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.bursts.n_suspended() as u64)
    }

    /// Waits until no packet is suspended. Packets that offload workers do not give back within the hang timeout are abandoned.
    pub(crate) fn wait_for_offload_workers(&mut self) {
        let deadline = Instant::now() + self.hang_timeout;
        while self.n_suspended() > 0 && Instant::now() < deadline {
            if let Some(running) = &mut self.running {
                running.switch.allow_passes(N_PASSES_POLL);
            }
            if self.resume(self.clock.now_ns()) == 0 {
                std::thread::yield_now();
            }
        }
        if self.n_suspended() > 0 {
            let running = self.running.as_ref();
            let n_blocks = running
                .map_or(0, |running| running.switch.runner.instance().pipeline().layout().asyncs.len());
            (0..n_blocks).for_each(|block| self.abandon(block));
        }
    }
}
