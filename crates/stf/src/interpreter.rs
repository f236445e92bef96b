//! The interpreter's switch as a device that scripts run on.

use crate::Device;
use control::{Data, DigestId};
use interp::Interpreter;
use interp::story::Observer;
use interp::traffic::Destination;

/// A switch and who listens to what happens in it.
pub struct Interpreted<'a> {
    pub interpreter: &'a mut Interpreter,
    pub observer: &'a mut dyn Observer,
}

impl control::Target for Interpreted<'_> {
    fn write(&mut self, update: &control::Update) -> Result<(), control::Fault> {
        self.interpreter.write(update)
    }

    fn read(&self, query: &control::Query) -> Result<Vec<control::Entity>, control::Fault> {
        self.interpreter.read(query)
    }

    fn is_batch_atomic(&self) -> bool {
        self.interpreter.is_batch_atomic()
    }
}

impl Device for Interpreted<'_> {
    fn receive(&mut self, port: u32, bytes: &[u8], sent: &mut dyn FnMut(u32, &[u8])) {
        for output in self.interpreter.switch.inject(port, bytes, self.observer) {
            if let Destination::Port(port) = output.destination {
                sent(port, &output.bytes);
            }
        }
    }

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8])) {
        for output in self.interpreter.switch.advance_clock(duration_ns, self.observer) {
            if let Destination::Port(port) = output.destination {
                sent(port, &output.bytes);
            }
        }
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        let messages = self.interpreter.switch.take_digests();
        let known = |m: interp::externs::DigestMessage| {
            let digest = self.interpreter.entities.schema.digests.iter().find(|d| d.names.name == m.name)?;
            Some((digest.id, Data::Struct(m.values.into_iter().map(Data::Bits).collect())))
        };
        messages.into_iter().filter_map(known).collect()
    }
}
