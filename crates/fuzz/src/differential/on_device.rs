//! Any backend that a device drives as a subject.

use super::{Arriving, Sent, Subject, Totals};
use control::{Data, DigestId, Entity, Fault, Query, Target, Update};
use target::traffic::{Destination, Output};
use target::{BlockRunner, Device, Store};

/// A backend that can run without an observer.
pub trait Quiet: BlockRunner {
    /// Calls `f` with an observer that does nothing.
    fn quietly<R>(f: impl FnOnce(&mut Self::Observer<'_>) -> R) -> R;
}

/// A device with its backend.
pub struct OnDevice<E: BlockRunner> {
    pub device: Device<E>,
}

pub(super) fn sent(outputs: Vec<Output>) -> Vec<Sent> {
    let one = |output: Output| Sent {
        port: match output.destination {
            Destination::Port(port) => Some(port),
            Destination::Controller => None,
        },
        bytes: output.bytes,
    };
    outputs.into_iter().map(one).collect()
}

impl<E: Quiet + Store> Subject for OnDevice<E> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.device.write(update)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.device.read(query)
    }

    fn receive(&mut self, burst: &[Arriving<'_>]) -> Vec<Vec<Sent>> {
        let mut one = |packet: &Arriving<'_>| {
            sent(E::quietly(|observer| self.device.switch.inject(packet.port, packet.bytes, observer)))
        };
        burst.iter().map(&mut one).collect()
    }

    fn advance_clock(&mut self, ns: u64) -> Vec<Sent> {
        sent(E::quietly(|observer| self.device.switch.advance_clock(ns, observer)))
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        let messages = self.device.switch.take_digests();
        let digests = &self.device.entities.schema.digests;
        let known = |m: target::DigestMessage| {
            let digest = digests.iter().find(|d| d.names.name == m.name)?;
            Some((digest.id, Data::Struct(m.values.into_iter().map(Data::Bits).collect())))
        };
        messages.into_iter().filter_map(known).collect()
    }

    fn totals(&self) -> Totals {
        let totals = self.device.switch.totals();
        let mut out = Totals::from([
            ("received".to_string(), totals.n_received),
            ("copied".to_string(), totals.n_copied),
            ("sent".to_string(), totals.n_sent),
            ("to controller".to_string(), totals.n_to_controller),
        ]);
        out.extend(totals.n_dropped.iter().map(|(reason, n)| (format!("dropped {reason}"), *n)));
        out
    }
}
