//! Buffers of suspended packets: each has one owner at a time, and none is freed while an offload worker may have it.

use super::{Built, HEADROOM, built_of, mix, packet_of_way};
use native::{AsyncMode, BurstPacket, Bursts, Fate, Native, OffloadPolicy, OffloadWorker, Path, WhenFull};
use packet_io::PacketStorage;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use target::Device;

/// Empty buffers that were made, and buffers with bytes that were freed.
static N_TAKEN: AtomicUsize = AtomicUsize::new(0);
static N_FREED: AtomicUsize = AtomicUsize::new(0);
/// One test at a time counts.
static COUNTING: Mutex<()> = Mutex::new(());

/// A buffer that counts.
#[derive(Debug)]
struct Counted(Vec<u8>);

impl Counted {
    fn new(bytes: &[u8]) -> Counted {
        Counted([&[0; HEADROOM], bytes].concat())
    }

    fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }
}

impl Default for Counted {
    fn default() -> Counted {
        N_TAKEN.fetch_add(1, Ordering::Relaxed);
        Counted(Vec::new())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        N_FREED.fetch_add(usize::from(!self.0.is_empty()), Ordering::Relaxed);
    }
}

// SAFETY: that of the vector, which nothing here changes.
#[expect(unsafe_code, reason = "what buffers promise")]
unsafe impl PacketStorage for Counted {
    fn storage(&self) -> &[u8] {
        self.0.storage()
    }

    fn raw_storage(&mut self) -> *mut [u8] {
        self.0.raw_storage()
    }
}

struct Lab {
    device: Device<Native>,
    offload: OffloadWorker,
    bursts: Bursts<Counted>,
    /// Addresses of buffers of suspended packets, and the last byte of their numbers, by token.
    out: BTreeMap<u32, (usize, u8)>,
}

/// Packets of this way come to no asynchronous block; those of ways 2 and 3 come to one, those of way 4 to two others.
const WAY_WITHOUT_BLOCK: u8 = 0;

impl Lab {
    fn new(built: &Built, capacity: u32) -> Lab {
        let instance = built.instance(2);
        let mut device = built.device(&instance);
        let mut offload = OffloadWorker::new(instance.take_worker().unwrap()).unwrap();
        offload.worker_mut().supply("mix", mix());
        let worker = device.switch.runner.worker_mut();
        for block in 0..built.pipeline.layout().asyncs.len() {
            offload.connect(worker, block, capacity).unwrap();
            worker.set_offload_policy(
                block,
                OffloadPolicy { mode: AsyncMode::Suspend, full: WhenFull::Inline },
            );
        }
        Lab { device, offload, bursts: Bursts::default(), out: BTreeMap::new() }
    }

    /// Runs a burst; returns how many packets it suspended.
    fn process(&mut self, ways: &[u8]) -> usize {
        let mut buffers: Vec<Counted> =
            (0..).zip(ways).map(|(n, way)| Counted::new(&packet_of_way(*way, n))).collect();
        let addresses: Vec<usize> = buffers.iter().map(Counted::address).collect();
        let mut burst: Vec<BurstPacket<'_, Counted>> =
            buffers.iter_mut().map(|buffer| BurstPacket::new(buffer, HEADROOM, 13, 0)).collect();
        let mut outputs = Vec::new();
        let switch = &mut self.device.switch;
        self.bursts.process(switch, 1000, &mut burst, Path::Straight, &mut (), &mut outputs);
        assert!(outputs.is_empty());
        let mut n_suspended = 0;
        for (i, packet) in burst.iter().enumerate() {
            if packet.fate() == Fate::Suspended {
                let before = self.out.insert(packet.token(), (addresses[i], i as u8));
                assert_eq!(before, None, "slot {} was reused while its packet was out", packet.token());
                n_suspended += 1;
            }
        }
        n_suspended
    }

    fn resume(&mut self) -> usize {
        let (mut resumed, mut outputs) = (Vec::new(), Vec::new());
        self.bursts.resume(&mut self.device.switch, 1000, &mut (), &mut resumed, &mut outputs);
        for one in &resumed {
            let (address, serial) = self.out.remove(&one.token).expect("a packet that is out");
            let bytes = &one.buffer.0[one.start..one.start + one.len];
            assert_eq!((one.buffer.address(), bytes[4]), (address, serial), "another packet's buffer");
        }
        resumed.len()
    }
}

fn counts() -> (usize, usize) {
    (N_TAKEN.load(Ordering::Relaxed), N_FREED.load(Ordering::Relaxed))
}

#[test]
fn a_slot_is_not_reused_while_its_packet_is_out() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let built = built_of("work.p4");
    let mut lab = Lab::new(&built, 40);
    let burst = [2, 0, 3, 0, 2, 3, 2, 0, 0, 3];
    let (mut n_suspended, mut n_resumed) = (0, 0);
    for round in 0..30 {
        n_suspended += lab.process(&burst);
        // Packets stay out for some bursts, and come back while others are out.
        if round % 3 == 2 {
            lab.offload.serve(100_000, 1000);
            n_suspended += lab.process(&burst);
            n_resumed += lab.resume();
        }
    }
    while lab.offload.serve(100_000, 1000) > 0 {
        n_resumed += lab.resume();
    }
    assert!(n_suspended > 100, "{n_suspended}");
    assert_eq!((n_resumed, lab.bursts.n_suspended()), (n_suspended, 0));
    assert!(lab.out.is_empty());
}

#[test]
fn only_suspended_packets_leave_their_owner() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let built = built_of("work.p4");
    let mut lab = Lab::new(&built, 40);
    let before = counts();
    assert_eq!(lab.process(&[WAY_WITHOUT_BLOCK; 32]), 0);
    assert_eq!(counts(), (before.0, before.1 + 32));
    let before = counts();
    let n_suspended = lab.process(&[2, 0, 3, 0]);
    assert_eq!(n_suspended, 2);
    assert_eq!(counts(), (before.0 + 2, before.1 + 2));
}

#[test]
fn buffers_of_abandoned_packets_are_given_up_once() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let built = built_of("work.p4");
    let mut lab = Lab::new(&built, 40);
    let before = counts();
    assert_eq!(lab.process(&[2, 4, 2, 0, 2, 4]), 5);
    let n_blocks = built.pipeline.layout().asyncs.len();
    let switch = &mut lab.device.switch;
    let in_flight: Vec<usize> = (0..n_blocks)
        .map(|block| switch.runner.worker_mut().async_counts(block).n_in_flight as usize)
        .collect();
    let mut per_block = in_flight.clone();
    per_block.retain(|n| *n > 0);
    per_block.sort();
    assert_eq!(per_block, [2, 3], "packets of two blocks");
    let busiest = in_flight.iter().position(|n| *n == 3).unwrap();
    // Those of one block come back; those of the other do not, although they have been served.
    assert_eq!(lab.offload.serve(100_000, 1000), 5);
    let mut abandoned = lab.bursts.abandon(&mut lab.device.switch, busiest);
    abandoned.sort();
    assert_eq!((abandoned.len(), lab.bursts.n_suspended()), (3, 2));
    assert!(lab.bursts.abandon(&mut lab.device.switch, busiest).is_empty());
    abandoned.iter().for_each(|token| assert!(lab.out.remove(token).is_some(), "{token}"));
    // They come to a second block, with the tokens that they have.
    assert_eq!((lab.resume(), lab.offload.serve(100_000, 1000)), (0, 2));
    assert_eq!(lab.resume(), 2);
    assert!(lab.out.is_empty());
    // Packets of later bursts use the slots; the worker runs the lost block itself.
    assert_eq!(lab.process(&[2, 4, 2, 0, 2, 4]), 2);
    assert_eq!(lab.bursts.n_suspended(), 2);
    let counts_of_block = lab.device.switch.runner.worker_mut().async_counts(busiest);
    assert_eq!((counts_of_block.n_lost, counts_of_block.n_in_flight), (3, 0));
    drop(lab);
    // 12 packets: three were abandoned, and two were out when their owner went.
    let after = counts();
    assert_eq!(after.1 - before.1, 12 - 3 - 2);
}
