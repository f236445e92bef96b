//! A device as scripts run on it, whoever executes its blocks.

use crate::{Arriving, Device};
use ::target::traffic::{Destination, Output};
use ::target::{BlockRunner, Store};
use control::{Data, DigestId};

/// A device and who listens to what happens in it.
pub struct Driven<'a, 'o, E: BlockRunner> {
    pub device: &'a mut ::target::Device<E>,
    pub observer: &'a mut E::Observer<'o>,
}

fn hand_out(outputs: Vec<Output>, sent: &mut dyn FnMut(u32, &[u8])) {
    for output in outputs {
        if let Destination::Port(port) = output.destination {
            sent(port, &output.bytes);
        }
    }
}

impl<E: BlockRunner + Store> control::Target for Driven<'_, '_, E> {
    fn write(&mut self, update: &control::Update) -> Result<(), control::Fault> {
        self.device.write(update)
    }

    fn write_many(&mut self, updates: &[&control::Update]) -> Vec<Result<(), control::Fault>> {
        self.device.write_many(updates)
    }

    fn read(&self, query: &control::Query) -> Result<Vec<control::Entity>, control::Fault> {
        self.device.read(query)
    }

    fn is_batch_atomic(&self) -> bool {
        self.device.is_batch_atomic()
    }
}

impl<E: BlockRunner + Store> Device for Driven<'_, '_, E> {
    /// One after the other.
    fn receive(&mut self, burst: &[Arriving<'_>], sent: &mut dyn FnMut(usize, u32, &[u8])) {
        for (i, packet) in burst.iter().enumerate() {
            let outputs = self.device.switch.inject(packet.port, packet.bytes, self.observer);
            hand_out(outputs, &mut |port, bytes| sent(i, port, bytes));
        }
    }

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8])) {
        hand_out(self.device.switch.advance_clock(duration_ns, self.observer), sent);
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        let messages = self.device.switch.take_digests();
        let known = |m: ::target::DigestMessage| {
            let digest = self.device.entities.schema.digests.iter().find(|d| d.names.name == m.name)?;
            Some((digest.id, Data::Struct(m.values.into_iter().map(Data::Bits).collect())))
        };
        messages.into_iter().filter_map(known).collect()
    }
}
