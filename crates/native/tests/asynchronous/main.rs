//! Packets that wait for other cores end as they do when nobody waits, whatever the order in which they come back.

#[path = "../common/mod.rs"]
mod common;

mod buffers;
mod order;
mod together;

use common::TestDir;
use control::Schema;
use driver::Runnable;
use externs::ExternSet;
use ir::Bits;
use native::{
    AsyncError, AsyncMode, BuildOptions, BurstPacket, BurstPath, Bursts, Fate, Instance, InstanceOptions,
    Native, OffloadPolicy, OffloadWorker, Path, Pipeline, PipelineWorker, WhenFull, build,
};
use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use target::traffic::{Destination, Ports};
use target::{Config, Device, ExternArgs, ExternEnd, UserExtern};

const HEADROOM: usize = 320;
/// Packets may get longer.
const TAILROOM: usize = 32;

struct Built {
    runnable: Runnable,
    pipeline: Arc<Pipeline>,
    externs: ExternSet,
    _dir: TestDir,
}

fn built_of(file: &str) -> Built {
    built_with(file, ExternSet::new())
}

fn built_with(file: &str, externs: ExternSet) -> Built {
    let path = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/asynchronous").join(file);
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), externs: externs.clone(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    assert_eq!(pipeline.messages(), "");
    Built { runnable, pipeline, externs, _dir: dir }
}

fn config() -> Config {
    Config { ports: Ports::Listed((0..8).collect()), ..Default::default() }
}

/// `value = value * 31 + key`
fn mix() -> UserExtern {
    Box::new(|args: &mut dyn ExternArgs| {
        let (key, value) = (args.number(0).unwrap(), args.values(1)[0].to_u64().unwrap());
        let mixed = value.wrapping_mul(31).wrapping_add(key) as u32;
        args.set(1, &[Bits::new(32, u128::from(mixed))]);
        ExternEnd::Next
    })
}

impl Built {
    fn instance(&self, n_workers: u32) -> Arc<Instance> {
        let options = InstanceOptions { n_workers, seed: 0, path: BurstPath::Auto, table_size: 1024 };
        Instance::new(Arc::clone(&self.pipeline), Arc::new(self.runnable.program.clone()), options).unwrap()
    }

    fn device(&self, instance: &Arc<Instance>) -> Device<Native> {
        let schema = Schema::new(&self.runnable.control_plane.p4info).unwrap();
        let mut device = Device::new(Native::new(instance, 100_000).unwrap(), schema, config()).unwrap();
        device.switch.runner.supply("mix", mix());
        device
    }
}

/// Packets of all ways, each with a number of its own; some too short.
fn packets(n: u32) -> Vec<Vec<u8>> {
    (0..n)
        .map(|serial| {
            let mixed = serial.wrapping_mul(2_654_435_761) >> 5;
            let way = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 0x80, 0x82, 0x84, 0x8c][mixed as usize % 15];
            let mut bytes = vec![way];
            bytes.extend(serial.to_be_bytes());
            bytes.extend(mixed.to_be_bytes());
            bytes.extend([0, 0, 0, 1, 0xaa, 0xbb, serial as u8]);
            bytes.truncate(if mixed % 97 == 0 { 6 } else { bytes.len() });
            bytes
        })
        .collect()
}

/// By the number of the packet: the port that it left through, and its bytes.
type Sent = BTreeMap<Vec<u8>, (Destination, Vec<u8>)>;

struct Runner {
    device: Device<Native>,
    bursts: Bursts,
    /// Numbers of suspended packets, by their tokens.
    waiting: BTreeMap<u32, Vec<u8>>,
    sent: Sent,
    n_dropped: usize,
}

impl Runner {
    fn new(device: Device<Native>) -> Runner {
        let bursts = Bursts::default();
        Runner { device, bursts, waiting: BTreeMap::new(), sent: Sent::new(), n_dropped: 0 }
    }

    fn note(&mut self, serial: &[u8], fate: Fate, bytes: &[u8]) {
        match fate {
            Fate::Sent(destination) => {
                let before = self.sent.insert(serial.to_vec(), (destination, bytes.to_vec()));
                assert!(before.is_none(), "{serial:?} twice");
            }
            Fate::Dropped => self.n_dropped += 1,
            Fate::Elsewhere | Fate::Suspended => panic!("{fate:?}"),
        }
    }

    fn process(&mut self, packets: &[Vec<u8>], path: Path) {
        let mut buffers: Vec<Vec<u8>> =
            packets.iter().map(|bytes| [&[0; HEADROOM], &bytes[..], &[0; TAILROOM]].concat()).collect();
        let mut outputs = Vec::new();
        let mut burst: Vec<BurstPacket<'_>> = (buffers.iter_mut().zip(packets))
            .map(|(buffer, bytes)| BurstPacket::new(buffer, HEADROOM, bytes.len(), 0))
            .collect();
        let (switch, now_ns) = (&mut self.device.switch, 1000);
        self.bursts.process(switch, now_ns, &mut burst, path, &mut (), &mut outputs);
        let mut outputs = outputs.into_iter();
        for (packet, bytes) in burst.iter().zip(packets) {
            let serial = &bytes[..bytes.len().min(5)];
            match packet.fate() {
                Fate::Suspended => {
                    let before = self.waiting.insert(packet.token(), serial.to_vec());
                    assert!(before.is_none(), "two packets have token {}", packet.token());
                    assert!(packet.bytes().is_empty());
                }
                Fate::Elsewhere => {
                    for output in outputs.by_ref().take(packet.n_outputs()) {
                        self.sent.insert(serial.to_vec(), (output.destination, output.bytes));
                    }
                    self.n_dropped += usize::from(packet.n_outputs() == 0);
                }
                fate => self.note(serial, fate, packet.bytes()),
            }
        }
        assert_eq!(self.bursts.n_suspended(), self.waiting.len());
    }

    fn resume(&mut self) {
        let (mut resumed, mut outputs) = (Vec::new(), Vec::new());
        let n = self.bursts.resume(&mut self.device.switch, 1000, &mut (), &mut resumed, &mut outputs);
        assert_eq!(n, resumed.len());
        assert!(outputs.is_empty());
        for one in resumed {
            let serial = self.waiting.remove(&one.token).expect("a packet that is suspended");
            self.note(&serial, one.fate, &one.buffer[one.start..one.start + one.len]);
        }
        assert_eq!(self.bursts.n_suspended(), self.waiting.len());
    }
}

/// Without offload workers, in one way or another.
fn alone(built: &Built, all: &[Vec<u8>], path: Path) -> (Sent, usize) {
    let mut runner = Runner::new(built.device(&built.instance(1)));
    all.chunks(32).for_each(|chunk| runner.process(chunk, path));
    (runner.sent, runner.n_dropped)
}

#[test]
fn packets_that_wait_end_as_those_that_do_not() {
    let built = built_of("work.p4");
    let blocks = &built.pipeline.layout().asyncs;
    assert_eq!(blocks.len(), 5, "{blocks:?}");
    assert!(blocks.iter().all(|block| block.context_bytes <= 64), "{blocks:?}");
    let all = packets(1500);
    let expected = alone(&built, &all, Path::Slow);
    assert!(expected.0.len() > 1000 && expected.1 > 50);
    assert_eq!(alone(&built, &all, Path::Straight), expected);
    for mode in [AsyncMode::Wait, AsyncMode::Suspend, AsyncMode::Auto] {
        let instance = built.instance(3);
        let mut device = built.device(&instance);
        let mut offload_workers: Vec<OffloadWorker> =
            (0..2).map(|_| OffloadWorker::new(instance.take_worker().unwrap()).unwrap()).collect();
        for (i, block) in built.pipeline.layout().asyncs.iter().enumerate() {
            let worker = device.switch.runner.worker_mut();
            let capacity = if block.settings == "capacity=100" { 100 } else { native::CAPACITY_DEFAULT };
            offload_workers[i % 2].connect(worker, i, capacity).unwrap();
            worker.set_offload_policy(i, OffloadPolicy { mode, full: WhenFull::Inline });
        }
        let is_over = AtomicBool::new(false);
        let mut runner = Runner::new(device);
        std::thread::scope(|scope| {
            for (i, mut offload_worker) in offload_workers.into_iter().enumerate() {
                offload_worker.worker_mut().supply("mix", mix());
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut n_turns = 0u32;
                    while !is_over.load(Ordering::Acquire) {
                        // One of them is late now and then, so that packets overtake each other.
                        n_turns += 1;
                        if i == 0 && n_turns.is_multiple_of(64) {
                            std::thread::sleep(Duration::from_micros(200));
                        }
                        if offload_worker.serve(100_000, 1000) == 0 {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            for chunk in all.chunks(32) {
                runner.process(chunk, Path::Straight);
                runner.resume();
            }
            let deadline = Instant::now() + Duration::from_secs(60);
            while !runner.waiting.is_empty() && Instant::now() < deadline {
                runner.resume();
                std::thread::yield_now();
            }
            is_over.store(true, Ordering::Release);
        });
        let worker = runner.device.switch.runner.worker_mut();
        assert_eq!(worker.n_suspended(), 0, "{mode:?}");
        let counts = worker.async_counts(busiest(worker));
        let (n_waited, n_done) = match mode {
            AsyncMode::Wait => (counts.n_sent, 0),
            _ => (0, counts.n_sent),
        };
        assert_eq!((counts.n_waited, counts.n_done), (n_waited, n_done), "{mode:?} {counts:?}");
        match counts.choice {
            // What it chooses depends on the machine.
            Some(_) => assert_eq!(mode, AsyncMode::Auto),
            None => assert!(mode != AsyncMode::Auto && counts.n_sent > 100, "{mode:?} {counts:?}"),
        }
        assert_eq!((&runner.sent, runner.n_dropped), (&expected.0, expected.1), "{mode:?}");
        let totals = runner.device.switch.totals();
        assert_eq!(totals.n_received, all.len() as u64);
        assert!(totals.is_balanced(0), "{totals:?}");
    }
}

/// Nobody serves: no more wait than may, and none is lost from sight.
#[test]
fn no_more_packets_wait_than_may() {
    let built = built_of("work.p4");
    for full in [WhenFull::Drop, WhenFull::Inline, WhenFull::Backpressure] {
        let instance = built.instance(2);
        let mut device = built.device(&instance);
        let mut offload_worker = OffloadWorker::new(instance.take_worker().unwrap()).unwrap();
        offload_worker.worker_mut().supply("mix", mix());
        let worker = device.switch.runner.worker_mut();
        assert_eq!(worker.async_room(), usize::MAX);
        for i in 0..5 {
            offload_worker.connect(worker, i, 8).unwrap();
            assert_eq!(offload_worker.connect(worker, i, 8), Err(AsyncError::Connected));
            worker.set_offload_policy(i, OffloadPolicy { mode: AsyncMode::Suspend, full });
        }
        let mut runner = Runner::new(device);
        let flood: Vec<Vec<u8>> = (0..200u32).map(|i| packet_of_way(2, i)).collect();
        flood.chunks(32).for_each(|chunk| runner.process(chunk, Path::Straight));
        assert_eq!(runner.waiting.len(), 8);
        let worker = runner.device.switch.runner.worker_mut();
        let block = busiest(worker);
        let counts = worker.async_counts(block);
        assert_eq!((counts.n_in_flight, counts.n_sent), (8, 8));
        // Only who holds back says that there is no room.
        let room = if full == WhenFull::Backpressure { 0 } else { usize::MAX };
        assert_eq!(worker.async_room(), room);
        match full {
            WhenFull::Drop => {
                assert_eq!((counts.n_dropped, runner.sent.len(), runner.n_dropped), (192, 0, 192));
                assert_eq!(runner.device.switch.totals().n_dropped_for("async_full"), 192);
            }
            WhenFull::Inline | WhenFull::Backpressure => {
                assert_eq!((counts.n_full, runner.sent.len(), runner.n_dropped), (192, 192, 0));
            }
        }
        assert_eq!(offload_worker.serve(100_000, 1000), 8);
        runner.resume();
        assert!(runner.waiting.is_empty());
        assert_eq!(offload_worker.served(block).n, 8);
        assert_eq!(runner.sent.len() + runner.n_dropped, 200);
    }
}

/// The block that most packets went to.
fn busiest(worker: &PipelineWorker) -> usize {
    (0..5).max_by_key(|i| worker.async_counts(*i).n_sent).unwrap()
}

fn packet_of_way(way: u8, serial: u32) -> Vec<u8> {
    let mut bytes = vec![way];
    bytes.extend(serial.to_be_bytes());
    bytes.extend([0; 8]);
    bytes
}

/// Without room for its context a packet is not sent away.
#[test]
fn a_packet_without_headroom_stays() {
    let built = built_of("work.p4");
    let instance = built.instance(2);
    let mut device = built.device(&instance);
    let mut offload_worker = OffloadWorker::new(instance.take_worker().unwrap()).unwrap();
    let worker = device.switch.runner.worker_mut();
    for i in 0..5 {
        offload_worker.connect(worker, i, 8).unwrap();
        worker.set_offload_policy(i, OffloadPolicy { mode: AsyncMode::Suspend, full: WhenFull::Drop });
    }
    let mut bursts = Bursts::default();
    let mut storage = [&[0; 40][..], &packet_of_way(2, 1)].concat();
    let mut burst = [BurstPacket::new(&mut storage, 40, 13, 0)];
    bursts.process(&mut device.switch, 1000, &mut burst, Path::Straight, &mut (), &mut Vec::new());
    assert_eq!(burst[0].fate(), Fate::Sent(Destination::Port(2)));
    let worker = device.switch.runner.worker_mut();
    let counts = (0..5).map(|i| worker.async_counts(i));
    assert_eq!(counts.fold((0, 0), |all, one| (all.0 + one.n_no_room, all.1 + one.n_sent)), (1, 0));
}
