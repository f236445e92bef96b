//! Bursts: every packet ends once, straight through and from block to block in the same way, on one thread and on
//! many.

#[path = "../common/mod.rs"]
mod common;

use common::TestDir;
use control::{Entity, MulticastGroup, Port, Replica, Schema, Target, Update, UpdateKind};
use driver::Runnable;
use native::{
    BuildOptions, BurstPacket, BurstPath, Bursts, Control, Fate, Instance, InstanceOptions, Listener, Native,
    Path, Pipeline, build, native_device,
};
use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use target::entities::State;
use target::traffic::{Destination, Output, SharedPre};
use target::{Config, Device, Entities, ExternEnd, StopReason, Store, Switch};

struct Built {
    runnable: Runnable,
    pipeline: Arc<Pipeline>,
    _dir: TestDir,
}

fn built() -> Built {
    built_of("ways.p4")
}

fn built_of(file: &str) -> Built {
    let path = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/bursts").join(file);
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    assert_eq!(pipeline.messages(), "");
    assert!(pipeline.layout().has_straight_path);
    Built { runnable, pipeline, _dir: dir }
}

fn config() -> Config {
    let ports = target::traffic::Ports::Listed((0..8).collect());
    Config { cpu_port: Some(64), ports, ..Default::default() }
}

impl Built {
    fn schema(&self) -> Schema {
        Schema::new(&self.runnable.control_plane.p4info).unwrap()
    }

    fn device(&self) -> Device<Native> {
        self.device_of(config())
    }

    fn device_of(&self, config: Config) -> Device<Native> {
        let program = self.runnable.program.clone();
        let mut device = native_device(Arc::clone(&self.pipeline), program, self.schema(), config).unwrap();
        device.write(&group(&[2, 3])).unwrap();
        let native = &mut device.switch.runner;
        native.supply(
            "judge",
            Box::new(|args| match args.number(0) {
                Some(0) => ExternEnd::Next,
                Some(1) => ExternEnd::Stop(StopReason::Extern("guilty".into())),
                _ => panic!("a fault of the user's"),
            }),
        );
        device
    }
}

/// Group 5, with a replica for each port.
fn group(ports: &[u32]) -> Update {
    let replica = |port: &u32| Replica {
        egress_port: Port::from_bytes(&port.to_be_bytes()),
        instance: 100 + port,
        backups: Vec::new(),
    };
    let replicas = ports.iter().map(replica).collect();
    let group = MulticastGroup { group: control::MulticastGroupId(5), replicas, metadata: Vec::new() };
    Update { kind: UpdateKind::Insert, entity: Entity::MulticastGroup(group) }
}

/// A packet of every way, and some that end before.
fn packets() -> Vec<(u32, Vec<u8>)> {
    let mut packets: Vec<(u32, Vec<u8>)> = (0..16).map(|way| (0, vec![way, 0, 0xaa, 0xbb, 0xcc])).collect();
    packets.push((0, vec![5, 1, 0xaa]));
    packets.push((0, vec![5, 2, 0xaa]));
    packets.push((0, vec![8, 1]));
    packets.push((0, vec![0]));
    packets.push((9, vec![0, 0]));
    packets.push((64, vec![0, 0]));
    packets
}

/// What has left, whichever way: for a sequence that may differ between ports.
type Sent = BTreeMap<Option<u32>, Vec<Vec<u8>>>;

fn note(sent: &mut Sent, destination: Destination, bytes: &[u8]) {
    let port = match destination {
        Destination::Port(port) => Some(port),
        Destination::Controller => None,
    };
    sent.entry(port).or_default().push(bytes.to_vec());
}

#[derive(Default)]
struct Heard(Vec<String>);

impl Listener for Heard {
    fn message(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

/// Runs the packets in bursts of `n` with some headroom.
fn run(device: &mut Device<Native>, n: usize, headroom: usize, path: Path) -> (Sent, Vec<Fate>) {
    let mut bursts = Bursts::default();
    let (mut sent, mut fates) = (Sent::new(), Vec::new());
    for chunk in packets().chunks(n) {
        let mut storages: Vec<Vec<u8>> =
            chunk.iter().map(|(_, bytes)| [&vec![0; headroom], &bytes[..]].concat()).collect();
        let mut burst: Vec<BurstPacket<'_>> = storages
            .iter_mut()
            .zip(chunk)
            .map(|(storage, (port, bytes))| BurstPacket::new(storage, headroom, bytes.len(), *port))
            .collect();
        let mut outputs: Vec<Output> = Vec::new();
        bursts.process(&mut device.switch, 1000, &mut burst, path, &mut Heard::default(), &mut outputs);
        for packet in &burst {
            fates.push(packet.fate());
            if let Fate::Sent(destination) = packet.fate() {
                note(&mut sent, destination, packet.bytes());
            }
        }
        outputs.iter().for_each(|output| note(&mut sent, output.destination, &output.bytes));
    }
    sent.values_mut().for_each(|packets| packets.sort());
    (sent, fates)
}

#[test]
fn every_packet_ends_once_and_alike_on_both_paths() {
    let built = built();
    let mut device = built.device();
    let (slow, fates) = run(&mut device, 32, 256, Path::Slow);
    assert!(fates.iter().all(|fate| *fate == Fate::Elsewhere));
    let totals = device.switch.totals().clone();
    assert!(totals.is_balanced(0), "{totals:?}");
    assert_eq!(totals.n_received, packets().len() as u64);
    let expected = [
        ("ingress_drop", 2),
        ("egress_drop", 1),
        ("assertion_failed", 1),
        ("extern_panicked", 1),
        ("guilty", 1),
        ("no_such_ingress_port", 1),
        ("no_such_port", 1),
    ];
    for (reason, n) in expected {
        assert_eq!(totals.n_dropped_for(reason), n, "{reason} in {totals:?}");
    }
    assert_eq!(totals.n_dropped.values().sum::<u64>(), 8, "{totals:?}");
    let label = |port: Option<u32>| slow[&port].iter().filter(|bytes| bytes.len() == 32 + 5).count();
    assert_eq!(label(Some(1)), 1);
    assert_eq!(slow[&Some(2)], [[4, 102, 0xaa, 0xbb, 0xcc]]);
    assert_eq!(slow[&Some(3)], [[4, 103, 0xaa, 0xbb, 0xcc]]);
    assert_eq!(slow[&None], [[10, 0, 0xaa, 0xbb, 0xcc]]);
    assert!(slow[&Some(1)].contains(&vec![6, 0, 0xaa, 0xbb, 0xcc]));
    assert!(slow[&Some(1)].contains(&vec![9, 0, 0xaa, 0xbb]));
    for (n, headroom) in [(1, 256), (3, 256), (32, 256), (32, 0)] {
        let mut device = built.device();
        let (sent, fates) = run(&mut device, n, headroom, Path::Straight);
        assert_eq!(sent, slow, "bursts of {n}");
        assert_eq!(device.switch.totals(), &totals, "bursts of {n}");
        let n_elsewhere = fates.iter().filter(|fate| **fate == Fate::Elsewhere).count();
        // Copied, resubmitted, recirculated, truncated; and, without headroom, longer than before.
        assert_eq!(n_elsewhere, if headroom == 0 { 6 } else { 5 }, "{fates:?}");
    }
}

/// Packets that wait for tables, in bursts of every size: the same leaves as from block to block.
#[test]
fn packets_that_wait_end_alike() {
    let built = built_of("waits.p4");
    let packets: Vec<[u8; 3]> = (0..600u32)
        .map(|i| {
            let mixed = i.wrapping_mul(2_654_435_761) >> 7;
            [(mixed % 12) as u8, (mixed / 12 % 5) as u8, i as u8]
        })
        .collect();
    let device = |path| {
        let options = InstanceOptions { n_workers: 1, seed: 0, path, table_size: 1024 };
        let program = Arc::new(built.runnable.program.clone());
        let instance = Instance::new(Arc::clone(&built.pipeline), program, options).unwrap();
        let native = Native::new(&instance, 100_000).unwrap();
        let mut device = Device::new(native, built.schema(), config()).unwrap();
        device.write(&group(&[2, 3])).unwrap();
        device
    };
    let run = |path, n: usize, headroom: usize, way| {
        let mut device: Device<Native> = device(path);
        let mut bursts = Bursts::default();
        let (mut sent, mut fates) = (Sent::new(), Vec::new());
        for chunk in packets.chunks(n) {
            let mut storages: Vec<Vec<u8>> =
                chunk.iter().map(|bytes| [&vec![0; headroom], &bytes[..]].concat()).collect();
            let mut burst: Vec<BurstPacket<'_>> =
                storages.iter_mut().map(|storage| BurstPacket::new(storage, headroom, 3, 0)).collect();
            let mut outputs: Vec<Output> = Vec::new();
            bursts.process(&mut device.switch, 1000, &mut burst, way, &mut (), &mut outputs);
            for packet in &burst {
                fates.push(packet.fate());
                if let Fate::Sent(destination) = packet.fate() {
                    note(&mut sent, destination, packet.bytes());
                }
            }
            outputs.iter().for_each(|output| note(&mut sent, output.destination, &output.bytes));
        }
        sent.values_mut().for_each(|packets| packets.sort());
        let digests = device.switch.take_digests();
        let digests: Vec<u64> = digests.iter().map(|d| d.values[0].low_u64()).collect();
        (sent, digests, device.switch.totals().clone(), fates)
    };
    let (sent, digests, totals, _) = run(BurstPath::PacketByPacket, 32, 64, Path::Slow);
    assert!(totals.is_balanced(0), "{totals:?}");
    assert!(!digests.is_empty() && sent.len() >= 3, "{digests:?}, {sent:?}");
    for path in [BurstPath::PacketByPacket, BurstPath::Segments] {
        for (n, headroom) in
            (1..=70).map(|n| (n, 64)).chain([(127, 64), (128, 64), (200, 64), (256, 64), (64, 0), (200, 0)])
        {
            let what = format!("{path:?}, bursts of {n}, headroom {headroom}");
            let (got, got_digests, got_totals, fates) = run(path, n, headroom, Path::Straight);
            assert_eq!(got, sent, "{what}");
            assert_eq!(got_digests, digests, "{what}");
            assert_eq!(got_totals, totals, "{what}");
            assert!(fates.iter().any(|fate| matches!(fate, Fate::Sent(_))), "{what}");
        }
    }
}

/// What a packet has asked for before it fails is not done for the next of its burst.
#[test]
fn dropped_packets_leave_nothing_behind() {
    let built = built_of("left.p4");
    let program = built.runnable.program.clone();
    let mut device = native_device(Arc::clone(&built.pipeline), program, built.schema(), config()).unwrap();
    let mut storages = [0u8, 7, 0, 9].map(|byte| vec![byte]);
    let mut burst: Vec<BurstPacket<'_>> =
        storages.iter_mut().map(|storage| BurstPacket::new(storage, 0, 1, 0)).collect();
    let mut outputs = Vec::new();
    let mut heard = Heard::default();
    let mut bursts = Bursts::default();
    bursts.process(&mut device.switch, 1000, &mut burst, Path::Straight, &mut heard, &mut outputs);
    let digests: Vec<u64> = device.switch.take_digests().iter().map(|d| d.values[0].low_u64()).collect();
    assert_eq!(digests, [7, 9]);
    assert_eq!(device.switch.totals().n_dropped_for("assertion_failed"), 2);
}

#[test]
fn bytes_move_within_their_buffer() {
    let built = built();
    let mut device = built.device();
    let mut bursts = Bursts::default();
    let mut storage = vec![0; 64];
    storage[40..44].copy_from_slice(&[2, 0, 0xaa, 0xbb]);
    let mut burst = [BurstPacket::new(&mut storage, 40, 4, 0)];
    bursts.process(&mut device.switch, 0, &mut burst, Path::Straight, &mut (), &mut Vec::new());
    let [packet] = &burst;
    assert_eq!(packet.fate(), Fate::Sent(Destination::Port(1)));
    assert_eq!(packet.start(), 40 - 32);
    assert_eq!(packet.bytes()[31..], [7, 2, 0, 0xaa, 0xbb]);
    // Beyond the buffer there is nothing.
    let mut short = vec![1u8; 4];
    let packet = BurstPacket::new(&mut short, 3, 9, 0);
    assert_eq!((packet.start(), packet.bytes().len()), (3, 1));
}

#[test]
fn workers_are_had_alone() {
    let built = built();
    let options = InstanceOptions { n_workers: 2, seed: 0, path: BurstPath::Auto, table_size: 1024 };
    let program = Arc::new(built.runnable.program.clone());
    let instance = Instance::new(Arc::clone(&built.pipeline), program, options).unwrap();
    let first = instance.take_worker().unwrap();
    let second = instance.take_worker().unwrap();
    assert_eq!((first.number(), second.number()), (0, 1));
    assert!(instance.take_worker().is_none());
    drop(first);
    assert_eq!(instance.take_worker().map(|worker| worker.number()), Some(0));
}

/// Groups change while workers run: a packet is replicated to all of a group or to none.
#[test]
fn workers_see_what_is_published() {
    const N_WORKERS: u32 = 3;
    let built = built();
    let program = Arc::new(built.runnable.program.clone());
    let options = InstanceOptions { n_workers: N_WORKERS, seed: 0, path: BurstPath::Auto, table_size: 1024 };
    let instance = Instance::new(Arc::clone(&built.pipeline), Arc::clone(&program), options).unwrap();
    let is_done = AtomicBool::new(false);
    let pre = Arc::new(SharedPre::default());
    let run = |native: Native| {
        let mut switch = Switch::new(native, config()).unwrap();
        switch.share_pre(Arc::clone(&pre));
        let mut bursts = Bursts::default();
        let (mut n_received, mut n_replicated) = (0, 0);
        while !is_done.load(Ordering::Relaxed) || n_received == 0 {
            let mut storages = [[4u8, 0], [0, 0], [4, 0], [3, 0]].map(Vec::from);
            let mut burst = storages.each_mut().map(|bytes| BurstPacket::new(bytes, 0, 2, 0));
            let mut outputs = Vec::new();
            bursts.process(&mut switch, n_received, &mut burst, Path::Straight, &mut (), &mut outputs);
            n_received += burst.len() as u64;
            assert_eq!(burst[1].fate(), Fate::Sent(Destination::Port(1)));
            assert_eq!(burst[3].fate(), Fate::Dropped);
            assert!(outputs.len().is_multiple_of(2), "{outputs:?}");
            n_replicated += outputs.len();
            for output in &outputs {
                let Destination::Port(port) = output.destination else { panic!("{output:?}") };
                assert_eq!(output.bytes, [4, 100 + port as u8]);
            }
        }
        let totals = switch.totals();
        assert!(totals.is_balanced(0), "{totals:?}");
        assert_eq!(totals.n_received, n_received);
        (n_received, n_replicated)
    };
    let mut entities = Entities::new(program, built.schema(), Arc::clone(instance.table_shapes()));
    let mut control = Control::new(Arc::clone(&instance));
    let all = std::thread::scope(|scope| {
        let native = |_| Native::new(&instance, 1000).unwrap();
        let natives: Vec<Native> = (0..N_WORKERS).map(native).collect();
        let threads: Vec<_> = natives.into_iter().map(|native| scope.spawn(|| run(native))).collect();
        let mut write = |update: &Update| {
            entities.write(State { store: &mut control, pre: &pre, now_ns: 0 }, update).unwrap();
        };
        for i in 0..200 {
            let mut update = group(if i % 2 == 0 { &[2, 3] } else { &[4, 5] });
            write(&update);
            update.kind = UpdateKind::Delete;
            write(&update);
        }
        write(&group(&[6, 7]));
        // Until some packet has been replicated at the latest.
        std::thread::sleep(Duration::from_millis(200));
        is_done.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(all.iter().map(|(_, n_replicated)| n_replicated).sum::<usize>() > 0);
    // Counters of all workers together.
    let counter = ir::lookup::id_at(0);
    let counts = (0..control.n_cells(counter)).map(|cell| control.count(counter, cell).unwrap().n_packets);
    assert_eq!(counts.sum::<u64>(), all.iter().map(|(n_received, _)| n_received).sum::<u64>());
}

#[test]
fn packets_leave_the_sections_of_a_description_only_for_the_switch() {
    let built = built_of("sections.p4");
    // The controller's port is that of the architecture.
    let mut device = built.device_of(Config { cpu_port: None, ..config() });
    let one = |device: &mut Device<Native>, way: &[u8]| {
        let mut storage = [&[0; 16], way].concat();
        let mut burst = [BurstPacket::new(&mut storage, 16, way.len(), 0)];
        let mut outputs: Vec<Output> = Vec::new();
        Bursts::default().process(&mut device.switch, 0, &mut burst, Path::Straight, &mut (), &mut outputs);
        let bytes = burst[0].bytes().to_vec();
        let ports = outputs.iter().map(|output| output.destination).collect::<Vec<_>>();
        (burst[0].fate(), bytes, ports)
    };
    let to = |port: u32| Fate::Sent(Destination::Port(port));
    for (way, fate, bytes, ports) in [
        (vec![0, 0, 7], to(3), vec![0, 0, 7], vec![]),
        (vec![0, 2, 7], to(3), vec![7], vec![]),
        (vec![1, 0, 7], Fate::Dropped, vec![1, 0, 7], vec![]),
        (vec![0, 1, 7], Fate::Dropped, vec![0, 1, 7], vec![]),
        (vec![0], Fate::Dropped, vec![0], vec![]),
        (vec![5, 0, 7], Fate::Sent(Destination::Controller), vec![5, 0, 7], vec![]),
        (vec![2, 0, 7], Fate::Elsewhere, vec![2, 0, 7], vec![Destination::Port(2), Destination::Port(3)]),
        (vec![3, 0, 7], Fate::Elsewhere, vec![3, 0, 7], vec![Destination::Port(3)]),
        (vec![4, 0, 7], Fate::Elsewhere, vec![4, 0, 7], vec![]),
        (vec![6, 0, 7], Fate::Elsewhere, vec![6, 0, 7], vec![Destination::Port(3)]),
    ] {
        assert_eq!(one(&mut device, &way), (fate, bytes, ports), "{way:?}");
    }
    let totals = device.switch.totals();
    assert!(totals.is_balanced(0), "{totals:?}");
    let dropped: Vec<(&str, u64)> =
        totals.n_dropped.iter().map(|(reason, n)| (reason.as_ref(), *n)).collect();
    assert_eq!(dropped, [("egress_drop", 1), ("ingress_drop", 2), ("no_such_port", 1)]);
}
