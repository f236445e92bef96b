//! Tasks around ports.

use super::{Place, Worker, WorkerPort};
use crate::report::reason;
use packet_io::Port;
use packet_io::limits::BURST_MAX;
use target::PortState;
use target::traffic::Pacer;

impl Worker {
    /// Adds a queue of a port. Packets to the port leave through the first of its queues that this worker has.
    pub(crate) fn add_port(&mut self, number: u32, queue: usize, name: String, mut port: Box<dyn Port>) {
        port.set_back_pressure(self.has_back_pressure());
        self.ports.push(WorkerPort {
            port,
            number,
            queue,
            name,
            tx: Vec::with_capacity(BURST_MAX),
            is_enabled: true,
            is_congested: false,
            error: None,
            is_broken: false,
            is_capture_error_taken: false,
        });
        if !matches!(self.places.get(&number), Some(Place::Here(_))) {
            self.set_place(number, Some(Place::Here(self.ports.len() - 1)));
        }
    }

    /// Gives the worker's queues of the port, so that somebody else may wait until they are closed.
    pub(crate) fn remove_port(&mut self, number: u32) -> Vec<Box<dyn Port>> {
        let ports = std::mem::take(&mut self.ports);
        let (removed, kept): (Vec<_>, Vec<_>) = ports.into_iter().partition(|port| port.number == number);
        self.ports = kept;
        self.places.remove(&number);
        // In reverse: the first queue of a port is the one that sends.
        for (i, port) in self.ports.iter().enumerate().rev() {
            self.places.insert(port.number, Place::Here(i));
        }
        if let Some(running) = &mut self.running {
            running.switch.set_port_credit(number, None);
        }
        let mut closing = Vec::new();
        for mut queue in removed {
            queue.tx.drain(..).for_each(|buf| self.drop_leaving(buf, reason::TX_RING_FULL));
            self.gone.add(&queue.port.stats());
            closing.push(queue.port);
        }
        closing
    }

    /// Sets the worker that sends to a port from now on; `None` when there is no such port.
    pub(crate) fn set_place(&mut self, number: u32, place: Option<Place>) {
        match place {
            Some(place) => self.places.insert(number, place),
            None => self.places.remove(&number),
        };
    }

    pub(crate) fn enable_port(&mut self, number: u32, is_enabled: bool) {
        let queues = self.ports.iter_mut().filter(|port| port.number == number);
        queues.for_each(|queue| queue.is_enabled = is_enabled);
    }

    pub(crate) fn set_port_state(&mut self, port: u32, state: PortState) {
        if let Some(running) = &mut self.running {
            running.switch.set_port(port, state);
        }
    }

    pub(crate) fn set_queue_depth(&mut self, n_packets_max: usize) {
        self.queue_depth = Some(n_packets_max);
        if let Some(running) = &mut self.running {
            running.switch.set_queue_depth(n_packets_max);
        }
    }

    /// Workers with the same pacer keep the rate together.
    pub(crate) fn set_rate(&mut self, port: u32, rate_pps: Option<u64>, pacer: &Pacer) {
        if let Some(running) = &mut self.running {
            match rate_pps {
                Some(rate) => running.switch.share_port_rate(port, rate, pacer.clone()),
                None => running.switch.set_port_rate(port, None),
            }
        }
        match rate_pps {
            Some(rate) => self.rates.insert(port, (rate, pacer.clone())),
            None => self.rates.remove(&port),
        };
    }
}
