//! Applications of `examples/state` with one worker and with two that share all flows.

use super::common::TestDir;
use native::{
    BuildOptions, BurstPacket, BurstPath, Bursts, Control, Fate, Instance, InstanceOptions, Native, Path,
    build,
};
use std::collections::BTreeSet;
use std::sync::{Arc, Barrier, Mutex};
use target::store::PacketWrites;
use target::traffic::{Destination, Ports};
use target::{Config, Store, Switch};

const N_FLOWS: u16 = 300;
const N_BURST: usize = 32;
const INSIDE: u32 = 1;
const OUTSIDE: u32 = 2;

fn instance(dir: &TestDir, program: &str, n_workers: u32, path: BurstPath) -> Arc<Instance> {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/state").join(program);
    let source = driver::read_source(&source).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    let options = InstanceOptions { n_workers, seed: 0, path, table_size: 1024 };
    let instance = Instance::new(pipeline, Arc::new(runnable.program), options).unwrap();
    let mut control = Control::new(Arc::clone(&instance));
    let tables: Vec<_> = instance.program().tables.iter().map(|(id, _)| id).collect();
    for table in tables {
        // A profile without time is how the programs end an entry. Other tables have no profiles.
        control.set_profile(table, 255, 0);
    }
    instance
}

struct Worker {
    switch: Switch<Native>,
    bursts: Bursts,
}

impl Worker {
    fn new(instance: &Arc<Instance>) -> Worker {
        let config = Config { ports: Ports::Listed((0..8).collect()), ..Default::default() };
        let switch = Switch::new(Native::new(instance, 10_000).unwrap(), config).unwrap();
        Worker { switch, bursts: Bursts::default() }
    }

    /// Packets that are sent, with their ports, after some have come at a port.
    fn run(&mut self, port: u32, packets: &[Vec<u8>]) -> Vec<Option<(u32, Vec<u8>)>> {
        let mut answers = Vec::new();
        for packets in packets.chunks(N_BURST) {
            let mut storages = packets.to_vec();
            let mut burst: Vec<_> = storages
                .iter_mut()
                .map(|storage| {
                    let n_bytes = storage.len();
                    BurstPacket::new(storage, 0, n_bytes, port)
                })
                .collect();
            let mut outputs = Vec::new();
            self.bursts.process(&mut self.switch, 0, &mut burst, Path::Straight, &mut (), &mut outputs);
            assert!(outputs.is_empty());
            answers.extend(burst.iter().map(|packet| match packet.fate() {
                Fate::Sent(Destination::Port(port)) => Some((port, packet.bytes().to_vec())),
                Fate::Dropped => None,
                fate => panic!("{fate:?}"),
            }));
        }
        answers
    }
}

fn packet(from: &str, to: &str, tcp: &str) -> Vec<u8> {
    craft::packet(&format!("eth/ipv4(src={from}, dst={to})/tcp({tcp})")).unwrap()
}

/// Source and destination port of a TCP segment without IPv4 options.
fn ports_of(packet: &[u8]) -> (u16, u16) {
    let half = |at: usize| u16::from_be_bytes(packet[at..at + 2].try_into().unwrap());
    (half(34), half(36))
}

/// The counts of each table that packets write, each in balance with its entries.
fn counts(control: &Control) -> Vec<(u64, PacketWrites)> {
    let uses = control.table_uses();
    let of_packets = uses.iter().filter(|table| table.packets.n_added > 0);
    of_packets
        .map(|table| {
            assert!(table.packets.is_balanced(), "{table:?}");
            (table.n_entries, table.packets)
        })
        .collect()
}

/// All workers translate packets of the same flows at the same time. A flow has one public port, whoever asks.
fn translates(dir: &TestDir, n_workers: u32, path: BurstPath) {
    let instance = instance(dir, "nat44/nat44.p4", n_workers, path);
    let mut control = Control::new(Arc::clone(&instance));
    let outbound: Vec<Vec<u8>> = (0..N_FLOWS)
        .map(|flow| {
            let host = format!("10.0.0.{}", 1 + flow % 7);
            packet(&host, "198.51.100.7", &format!("sport={}, dport=80, flags=syn", 2000 + flow))
        })
        .collect();
    let barrier = Barrier::new(n_workers as usize);
    let seen: Mutex<Vec<Vec<u16>>> = Mutex::new(Vec::new());
    let work = |mut worker: Worker| {
        // Two workers that meet a new flow may both choose a port. The one that comes second takes the other's.
        let first = worker.run(INSIDE, &outbound);
        assert!(first.iter().all(Option::is_some));
        barrier.wait();
        let sent: Vec<_> = worker.run(INSIDE, &outbound).into_iter().map(Option::unwrap).collect();
        assert!(first.into_iter().map(Option::unwrap).eq(sent.iter().cloned()));
        let public: Vec<u16> = sent.iter().map(|(_, bytes)| ports_of(bytes).0).collect();
        for (port, bytes) in &sent {
            assert_eq!((*port, &bytes[26..30]), (OUTSIDE, &[192, 0, 2, 1][..]));
        }
        let answers: Vec<Vec<u8>> = public
            .iter()
            .map(|port| {
                packet("198.51.100.7", "192.0.2.1", &format!("sport=80, dport={port}, flags=syn+ack"))
            })
            .collect();
        for (flow, answer) in worker.run(OUTSIDE, &answers).into_iter().enumerate() {
            let (port, bytes) = answer.unwrap();
            let host = 1 + (flow % 7) as u8;
            assert_eq!((port, &bytes[30..34]), (INSIDE, &[10, 0, 0, host][..]));
            assert_eq!(ports_of(&bytes), (80, 2000 + flow as u16));
        }
        seen.lock().unwrap().push(public);
    };
    std::thread::scope(|scope| {
        let work = &work;
        for worker in (0..n_workers).map(|_| Worker::new(&instance)) {
            scope.spawn(move || work(worker));
        }
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.iter().all(|public| *public == seen[0]));
    assert_eq!(seen[0].iter().collect::<BTreeSet<_>>().len(), usize::from(N_FLOWS));
    // Halves of pairs that came second are gone.
    control.remove_ended(1);
    let counts = counts(&control);
    assert_eq!(counts.len(), 2);
    for (n_entries, packets) in counts {
        assert_eq!(n_entries, u64::from(N_FLOWS), "{packets:?}");
        assert_eq!(packets.n_full, 0);
        assert_eq!(packets.n_added - packets.n_expired, u64::from(N_FLOWS), "{packets:?}");
    }
}

/// The two directions of each connection go through different workers, if there are two, from the first SYN to the last ACK.
fn follows(dir: &TestDir, n_workers: u32, path: BurstPath) {
    let instance = instance(dir, "firewall/firewall.p4", n_workers, path);
    let control = Control::new(Arc::clone(&instance));
    let from_inside = |flow: u16, tcp: &str| {
        packet("10.0.0.5", "203.0.113.9", &format!("sport={}, dport=80, {tcp}", 2000 + flow))
    };
    let from_outside = |flow: u16, tcp: &str| {
        packet("203.0.113.9", "10.0.0.5", &format!("sport=80, dport={}, {tcp}", 2000 + flow))
    };
    // The side, the segment, and whether it passes.
    let story = [
        (OUTSIDE, "seq=500, ack=101, flags=syn+ack", false),
        (INSIDE, "seq=100, flags=syn", true),
        (OUTSIDE, "seq=500, ack=101, flags=ack", true),
        (OUTSIDE, "seq=500, ack=101, flags=fin+ack", false),
        (OUTSIDE, "seq=500, ack=101, flags=syn+ack", true),
        (INSIDE, "seq=101, ack=501, flags=ack", true),
        (INSIDE, "seq=101, ack=501, flags=syn+ack", false),
        (OUTSIDE, "seq=501, ack=101, flags=psh+ack", true),
        (OUTSIDE, "seq=501, ack=9101, flags=psh+ack", false),
        (INSIDE, "seq=101, ack=501, flags=fin+ack", true),
        (OUTSIDE, "seq=501, ack=102, flags=fin+ack", true),
        (INSIDE, "seq=102, ack=502, flags=ack", true),
        (OUTSIDE, "seq=900, flags=syn", false),
    ];
    let barrier = Barrier::new(n_workers as usize);
    let work = |mut worker: Worker, number: u16| {
        for (side, tcp, passes) in &story {
            let of_inside = |flow: &u16| u32::from((flow + number) % 2) % n_workers == 0;
            let is_own = |flow: &u16| n_workers == 1 || of_inside(flow) == (*side == INSIDE);
            let packets: Vec<Vec<u8>> = (0..N_FLOWS)
                .filter(is_own)
                .map(|flow| if *side == INSIDE { from_inside(flow, tcp) } else { from_outside(flow, tcp) })
                .collect();
            let to = if *side == INSIDE { OUTSIDE } else { INSIDE };
            for (answer, packet) in worker.run(*side, &packets).into_iter().zip(&packets) {
                let expected = passes.then(|| (to, packet.clone()));
                assert_eq!(answer, expected, "{tcp}");
            }
            barrier.wait();
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        for (worker, number) in (0..n_workers).map(|_| Worker::new(&instance)).zip(0..) {
            scope.spawn(move || work(worker, number));
        }
    });
    let counts = counts(&control);
    assert_eq!(counts.len(), 1);
    let (n_entries, packets) = counts[0];
    // The last SYN has ended the old connection and may open none.
    assert_eq!((packets.n_added, packets.n_exists), (u64::from(N_FLOWS), 0));
    assert!(n_entries <= u64::from(N_FLOWS));
}

#[test]
fn nat44_with_one_worker_and_with_two() {
    // Compiled once.
    let dir = TestDir::new();
    translates(&dir, 1, BurstPath::Segments);
    translates(&dir, 2, BurstPath::Segments);
    translates(&dir, 2, BurstPath::PacketByPacket);
}

#[test]
fn firewall_with_one_worker_and_with_two() {
    // Compiled once.
    let dir = TestDir::new();
    follows(&dir, 1, BurstPath::Segments);
    follows(&dir, 2, BurstPath::Segments);
    follows(&dir, 2, BurstPath::PacketByPacket);
}
