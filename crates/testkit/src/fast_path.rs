//! A native device that takes bursts, as live ports do: packets stay on the fast path where their program allows it.

use crate::BlockByBlock;
use control::{Data, DigestId};
use native::{BurstPacket, Bursts, Fate, Native, Path};
use stf::{Arriving, Dut};
use target::Device;
use target::store::TableUse;
use target::traffic::{Output, Totals};
use trace::Observer;

/// Sizes of packet buffers, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Room in front of a packet, for headers that a program adds. Packets that need more take the slow path.
    pub headroom_bytes: usize,
    /// Room for a packet and what grows behind it; longer packets get buffers of their own length.
    pub packet_bytes: usize,
}

/// Buffers with room for the longest packet of live ports.
impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { headroom_bytes: 128, packet_bytes: 9216 }
    }
}

/// A native device whose bursts take the fast path. It makes no events.
pub struct FastPath {
    slow: BlockByBlock<Native>,
    bursts: Bursts,
    buffers: Buffers,
    /// Memory of the packets of a burst, used again for the next one. As in live ports, the room around a packet may
    /// hold bytes of earlier ones.
    storages: Vec<Vec<u8>>,
}

impl FastPath {
    pub fn new(device: Device<Native>) -> FastPath {
        FastPath::with_buffers(device, Buffers::default())
    }

    /// Packets lie in buffers of these sizes.
    pub fn with_buffers(device: Device<Native>, buffers: Buffers) -> FastPath {
        let slow = BlockByBlock::new(device);
        FastPath { slow, bursts: Bursts::default(), buffers, storages: Vec::new() }
    }
}

impl Dut for FastPath {
    fn target(&mut self) -> &mut dyn control::Target {
        self.slow.target()
    }

    fn receive(&mut self, burst: &[Arriving<'_>], _observer: &mut dyn Observer) -> Vec<Vec<Output>> {
        let Buffers { headroom_bytes, packet_bytes } = self.buffers;
        self.storages.resize_with(self.storages.len().max(burst.len()), Vec::new);
        let mut packets: Vec<BurstPacket<'_>> = Vec::with_capacity(burst.len());
        for (storage, packet) in self.storages.iter_mut().zip(burst) {
            let length = packet.bytes.len();
            let n_bytes = headroom_bytes + length.max(packet_bytes);
            storage.resize(n_bytes, 0);
            storage[headroom_bytes..][..length].copy_from_slice(packet.bytes);
            packets.push(BurstPacket::new(storage, headroom_bytes, length, packet.port));
        }
        let mut outputs = Vec::new();
        let switch = &mut self.slow.device.switch;
        let now_ns = switch.now_ns();
        self.bursts.process(switch, now_ns, &mut packets, Path::Straight, &mut (), &mut outputs);
        let mut outputs = outputs.into_iter();
        let mut left: Vec<Vec<Output>> = Vec::with_capacity(burst.len());
        for packet in &packets {
            let sent = match packet.fate() {
                Fate::Sent(destination) => {
                    Some(Output { destination, bytes: packet.bytes().to_vec(), at_ns: now_ns })
                }
                Fate::Dropped | Fate::Elsewhere | Fate::Suspended => None,
            };
            left.push(sent.into_iter().chain(outputs.by_ref().take(packet.n_outputs())).collect());
        }
        // Outputs that belong to no packet count for the last one, so that none is lost.
        left.last_mut().into_iter().for_each(|last| last.extend(&mut outputs));
        left
    }

    fn advance_clock(&mut self, duration_ns: u64, observer: &mut dyn Observer) -> Vec<Output> {
        self.slow.advance_clock(duration_ns, observer)
    }

    fn set_host_port(&mut self, port: u32, is_host: bool) {
        self.slow.set_host_port(port, is_host);
    }

    fn table_use(&self, table: &str) -> Option<TableUse> {
        self.slow.table_use(table)
    }

    fn set_profile(&mut self, table: &str, profile: u8, timeout_ns: u64) -> bool {
        self.slow.set_profile(table, profile, timeout_ns)
    }

    fn notify_of_idle_entries(&mut self) {
        self.slow.notify_of_idle_entries();
    }

    fn take_digests(&mut self) -> Vec<(DigestId, Data)> {
        self.slow.take_digests()
    }

    fn now_ns(&self) -> u64 {
        self.slow.now_ns()
    }

    fn n_queued(&self) -> u64 {
        self.slow.n_queued()
    }

    fn totals(&self) -> Totals {
        self.slow.totals()
    }

    fn table_uses(&self) -> Vec<TableUse> {
        self.slow.table_uses()
    }
}
