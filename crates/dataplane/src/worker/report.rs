//! Counts of a worker, and what it tells the control plane.

use super::{Running, Worker, WorkerPort};
use crate::report::{PortReport, QueueReport, WorkerReport, WorkerStatus};
use packet_io::LinkState;
use target::DigestMessage;
use target::traffic::Totals;

impl Worker {
    pub(crate) fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.running.as_mut().map(|running| running.switch.take_digests()).unwrap_or_default()
    }

    /// Brings files up to date.
    pub(crate) fn flush_ports(&mut self) {
        for port in &mut self.ports {
            port.flush(&mut self.pool);
            if let Err(failed) = port.port.flush() {
                port.error = Some(failed.to_string());
            }
        }
    }

    /// Captures that have ended since this was asked last: numbers of ports, and why.
    pub(crate) fn take_capture_errors(&mut self) -> Vec<(u32, String)> {
        let mut errors = Vec::new();
        for port in self.ports.iter_mut().filter(|port| !port.is_capture_error_taken) {
            if let Some(error) = port.port.capture_error() {
                port.is_capture_error_taken = true;
                errors.push((port.number, error));
            }
        }
        errors
    }

    /// By port number, for each queue.
    pub(crate) fn link_states(&self) -> Vec<(u32, LinkState, bool)> {
        self.ports.iter().map(|port| (port.number, port.port.link_state(), port.is_enabled)).collect()
    }

    /// Why a queue of the port has no link, if it knows.
    pub(crate) fn down_reason(&self, number: u32) -> Option<String> {
        self.ports.iter().filter(|port| port.number == number).find_map(|port| port.port.down_reason())
    }

    pub(crate) fn add_past(&mut self, totals: &Totals) {
        self.past.add(totals);
    }

    pub(crate) fn report(&mut self) -> WorkerStatus {
        let mut totals = self.past.clone();
        let n_waiting = self.n_suspended();
        // They have been received, and are counted so when the program has taken them, or when they have ended.
        let n_held = n_waiting + self.burst.len() as u64;
        let n_left: usize = self.ports.iter().map(|port| port.tx.len()).sum();
        let mut n_queued = (self.mailbox.ring.len() + n_left) as u64 + n_held;
        totals.n_received += n_held;
        if let Some(Running { switch, .. }) = &self.running {
            totals.add(switch.totals());
            n_queued += switch.n_queued();
        }
        let order = self.running.as_ref().and_then(|running| running.order.as_ref());
        n_queued += order.map_or(0, |order| order.n_held() as u64);
        let worker = self.worker.number;
        let report = |port: &mut WorkerPort| {
            let stats = port.port.stats();
            let link = port.port.link_state();
            let down_reason = || port.port.down_reason().filter(|_| link != LinkState::Up);
            PortReport {
                number: port.number,
                name: port.name.clone(),
                link,
                is_enabled: port.is_enabled,
                worker,
                stats,
                error: port.error.clone().or_else(down_reason),
                capture_error: port.port.capture_error(),
                fallback: port.port.fallback().map(str::to_owned),
                queues: vec![QueueReport { number: port.queue, worker, stats }],
            }
        };
        let asyncs = self.running.as_mut().map(|running| {
            let worker = running.switch.runner.worker_mut();
            let n_blocks = worker.instance().pipeline().layout().asyncs.len();
            (0..n_blocks).map(|block| worker.async_counts(block)).collect()
        });
        WorkerStatus {
            asyncs: asyncs.unwrap_or_default(),
            totals,
            drops: self.drops.clone(),
            n_queued,
            gone: self.gone,
            ports: self.ports.iter_mut().map(report).collect(),
            worker: WorkerReport {
                n_buffers: self.pool.n_made(),
                n_free_buffers: self.pool.n_free(),
                n_exhausted: self.pool.n_exhausted(),
                ..self.worker.clone()
            },
        }
    }
}
