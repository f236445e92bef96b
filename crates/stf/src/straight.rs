//! A native device whose packets go straight through, where their program allows it.

use crate::{Device, Driven};
use control::{Data, DigestId};
use device::Config;
use device::traffic::Destination;
use pipeline::{BurstPacket, Bursts, Fate, Listener, Native, Path};

/// Room in front of a packet: some for headers that a program adds; what needs more takes the longer way.
const HEADROOM_BYTES: usize = 128;

/// From the beginning of a packet on: what live ports have.
const ROOM_BYTES: usize = 9216;

/// A native device and who listens to what happens in it.
pub struct Straight<'a> {
    pub device: &'a mut device::Device<Native>,
    pub listener: &'a mut dyn Listener,
    bursts: Bursts,
}

impl<'a> Straight<'a> {
    /// `config` is that of the device.
    pub fn new(
        device: &'a mut device::Device<Native>,
        listener: &'a mut dyn Listener,
        config: &Config,
    ) -> Straight<'a> {
        Straight { device, listener, bursts: Bursts::new(config) }
    }

    fn driven(&mut self) -> Driven<'_, '_, Native> {
        Driven { device: self.device, observer: self.listener }
    }
}

impl control::Target for Straight<'_> {
    fn write(&mut self, update: &control::Update) -> Result<(), control::Fault> {
        self.device.write(update)
    }

    fn read(&self, query: &control::Query) -> Result<Vec<control::Entity>, control::Fault> {
        self.device.read(query)
    }

    fn is_batch_atomic(&self) -> bool {
        self.device.is_batch_atomic()
    }
}

impl Device for Straight<'_> {
    fn receive(&mut self, port: u32, bytes: &[u8], sent: &mut dyn FnMut(u32, &[u8])) {
        let mut storage = vec![0; HEADROOM_BYTES];
        storage.extend_from_slice(bytes);
        storage.resize(HEADROOM_BYTES + bytes.len().max(ROOM_BYTES), 0);
        let mut burst = [BurstPacket::new(&mut storage, HEADROOM_BYTES, bytes.len(), port)];
        let mut outputs = Vec::new();
        let switch = &mut self.device.switch;
        let now_ns = switch.now_ns();
        self.bursts.process(switch, now_ns, &mut burst, Path::Straight, self.listener, &mut outputs);
        if let [packet] = &burst
            && let Fate::Sent(Destination::Port(port)) = packet.fate()
        {
            sent(port, packet.bytes());
        }
        for output in outputs {
            if let Destination::Port(port) = output.destination {
                sent(port, &output.bytes);
            }
        }
    }

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8])) {
        self.driven().advance_clock(duration_ns, sent);
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        self.driven().take_digests()
    }
}
