//! Replacement of the program.

use super::{Running, Worker};
use target::DigestMessage;

impl Worker {
    /// Lets another program run from now on, after packets that wait in the one before have left; gives the one
    /// before, so that somebody else may spend the time to take it apart.
    pub(crate) fn replace(&mut self, next: Option<Running>) -> (Option<Running>, Vec<DigestMessage>) {
        let mut digests = Vec::new();
        self.wait_for_offload_workers();
        let mut before = self.running.take();
        if let Some(Running { switch, .. }) = &mut before {
            self.rates.keys().for_each(|port| switch.set_port_rate(*port, None));
            self.ports.iter().for_each(|port| switch.set_port_credit(port.number, None));
            // Copies of one packet at most: packets behind it are for the next program.
            switch.allow_passes(u64::MAX);
            let passed_ns = self.clock.now_ns().saturating_sub(switch.now_ns());
            self.outputs.extend(switch.advance_clock(passed_ns, &mut ()));
            // Packets that the program made meanwhile, at the default rate.
            while switch.n_queued() > 0 {
                self.outputs.extend(switch.advance_clock(1_000_000_000, &mut ()));
            }
            self.past.add(switch.totals());
            digests = switch.take_digests();
            self.send_outputs();
        }
        self.running = next;
        if let Some(Running { switch, .. }) = &mut self.running {
            for (port, (rate, pacer)) in &self.rates {
                switch.share_port_rate(*port, *rate, pacer.clone());
            }
            self.queue_depth.into_iter().for_each(|depth| switch.set_queue_depth(depth));
        }
        let has_back_pressure = self.has_back_pressure();
        for port in &mut self.ports {
            port.is_congested = false;
            port.port.set_back_pressure(has_back_pressure);
        }
        self.flush();
        (before, digests)
    }
}
