//! Tasks around ports.

use super::report::add_stats;
use super::{Place, Worker, WorkerPort};
use crate::report::reason;
use packet_io::Port;
use packet_io::limits::BURST_MAX;
use target::PortState;

impl Worker {
    pub(crate) fn add_port(&mut self, number: u32, name: String, mut port: Box<dyn Port>) {
        port.set_back_pressure(self.has_back_pressure());
        self.ports.push(WorkerPort {
            port,
            number,
            name,
            tx: Vec::with_capacity(BURST_MAX),
            is_enabled: true,
            is_congested: false,
            error: None,
            is_broken: false,
            is_capture_error_taken: false,
        });
        self.set_place(number, Some(Place::Here(self.ports.len() - 1)));
    }

    /// Gives the port, so that somebody else may wait until it is closed.
    pub(crate) fn remove_port(&mut self, number: u32) -> Option<Box<dyn Port>> {
        let i = self.ports.iter().position(|port| port.number == number)?;
        let mut removed = self.ports.remove(i);
        self.places.remove(&number);
        for (i, port) in self.ports.iter().enumerate() {
            self.places.insert(port.number, Place::Here(i));
        }
        removed.tx.drain(..).for_each(|buf| self.drop_leaving(buf, reason::TX_RING_FULL));
        if let Some(running) = &mut self.running {
            running.switch.set_port_credit(number, None);
        }
        add_stats(&mut self.gone, &removed.port.stats());
        Some(removed.port)
    }

    /// Sets the worker that sends to a port from now on; `None` when there is no such port.
    pub(crate) fn set_place(&mut self, number: u32, place: Option<Place>) {
        match place {
            Some(place) => self.places.insert(number, place),
            None => self.places.remove(&number),
        };
    }

    pub(crate) fn enable_port(&mut self, number: u32, is_enabled: bool) -> bool {
        let port = self.ports.iter_mut().find(|port| port.number == number);
        port.map(|port| port.is_enabled = is_enabled).is_some()
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

    pub(crate) fn set_rate(&mut self, port: u32, rate_pps: Option<u64>) {
        match rate_pps {
            Some(rate) => self.rates.insert(port, rate),
            None => self.rates.remove(&port),
        };
        if let Some(running) = &mut self.running {
            running.switch.set_port_rate(port, rate_pps);
        }
    }
}
