//! A native device whose packets go straight through, where their program allows it.

use crate::{Arriving, Device, Driven};
use control::{Data, DigestId};
use native::{BurstPacket, Bursts, Fate, Listener, Native, Path};
use target::Config;
use target::traffic::{Destination, Output};

/// Room in front of a packet: some for headers that a program adds; what needs more takes the longer way.
const HEADROOM_BYTES: usize = 128;

/// From the beginning of a packet on: what live ports have.
const ROOM_BYTES: usize = 9216;

/// A native device and who listens to what happens in it.
pub struct Straight<'a> {
    pub device: &'a mut target::Device<Native>,
    pub listener: &'a mut dyn Listener,
    bursts: Bursts,
}

impl<'a> Straight<'a> {
    /// `config` is that of the device.
    pub fn new(
        device: &'a mut target::Device<Native>,
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

impl Device for Straight<'_> {
    fn receive(&mut self, burst: &[Arriving<'_>], sent: &mut dyn FnMut(usize, u32, &[u8])) {
        let stored = |packet: &Arriving<'_>| {
            let mut storage = vec![0; HEADROOM_BYTES + packet.bytes.len().max(ROOM_BYTES)];
            storage[HEADROOM_BYTES..][..packet.bytes.len()].copy_from_slice(packet.bytes);
            storage
        };
        let mut storages: Vec<Vec<u8>> = burst.iter().map(stored).collect();
        let packets = storages.iter_mut().zip(burst);
        let mut packets: Vec<BurstPacket<'_>> = packets
            .map(|(storage, p)| BurstPacket::new(storage, HEADROOM_BYTES, p.bytes.len(), p.port))
            .collect();
        let mut outputs = Vec::new();
        let switch = &mut self.device.switch;
        let now_ns = switch.now_ns();
        self.bursts.process(switch, now_ns, &mut packets, Path::Straight, self.listener, &mut outputs);
        let mut outputs = outputs.into_iter();
        let mut hand_out = |i, output: Output| {
            if let Destination::Port(port) = output.destination {
                sent(i, port, &output.bytes);
            }
        };
        for (i, packet) in packets.iter().enumerate() {
            if let Fate::Sent(destination) = packet.fate() {
                hand_out(i, Output { destination, bytes: packet.bytes().to_vec(), at_ns: now_ns });
            }
            outputs.by_ref().take(packet.n_outputs()).for_each(|output| hand_out(i, output));
        }
        // What no packet of the burst has led to must not get lost.
        outputs.for_each(|output| hand_out(burst.len().saturating_sub(1), output));
    }

    fn advance_clock(&mut self, duration_ns: u64, sent: &mut dyn FnMut(u32, &[u8])) {
        self.driven().advance_clock(duration_ns, sent);
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        self.driven().take_digests()
    }
}
