//! Tables that packets write: two workers and a controller on one table, against what may be in it.

mod applications;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod fresh;
mod histories;
mod load;
mod model;

use common::TestDir;
use ir::{Action, Bits, Match, Program, TableId};
use native::{
    BuildOptions, BurstPacket, BurstPath, Bursts, Control, Fate, Instance, InstanceOptions, Native, Path,
    Pipeline, build,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use target::store::{NewEntry, Origin, PacketWrites, StoredAction};
use target::traffic::{Destination, Ports};
use target::{Config, Store, Switch, TableError};

const N_BURST: u32 = 32;
/// The table's size.
const SIZE: u64 = 256;
const MS: u64 = 1_000_000;

/// A program with a macro for the size of its tables, compiled once for each.
fn build_text(name: &'static str, text: &str, size: Option<u64>) -> Built {
    static BUILT: Mutex<BTreeMap<(&str, Option<u64>), Built>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let define = size.map(|size| format!("#define SIZE {size}\n")).unwrap_or_default();
        let source = driver::Source { name: name.to_string(), text: (define + text).into() };
        let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
        let runnable =
            driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        let dir = TestDir::new();
        let options = BuildOptions { compile: dir.options(), ..Default::default() };
        let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
        Built { program: Arc::new(runnable.program), pipeline }
    };
    built.entry((name, size)).or_insert_with(make).clone()
}

#[derive(Clone)]
struct Built {
    program: Arc<Program>,
    pipeline: Arc<Pipeline>,
}

impl Built {
    fn instance(&self, n_workers: u32, path: BurstPath) -> Arc<Instance> {
        let options = InstanceOptions { n_workers, seed: 0, path, table_size: 1024 };
        Instance::new(Arc::clone(&self.pipeline), Arc::clone(&self.program), options).unwrap()
    }
}

fn instance(n_workers: u32, path: BurstPath) -> Arc<Instance> {
    build_text("flows.p4", include_str!("flows.p4"), None).instance(n_workers, path)
}

fn table(instance: &Instance) -> TableId {
    instance.program().tables.iter().next().unwrap().0
}

/// The values that entries of a key may have: from packets, and from the controller.
fn value_of(key: u32, origin: Origin) -> u32 {
    match origin {
        Origin::Packet => key * 7 + 1,
        Origin::Control => key * 7 + 1_000_000,
    }
}

fn entry_of_controller(key: u32) -> NewEntry {
    let value = Bits::new(32, value_of(key, Origin::Control).into());
    let action = Action { index: 0, data: vec![value, Bits::zero(64), Bits::zero(64)] };
    NewEntry::new(vec![Some(Match::Exact(Bits::new(32, key.into())))], 0, action)
}

/// The answer to a packet.
struct Answer {
    value: u32,
    found: u8,
    differs: u8,
    n: u32,
}

/// A packet that has hit an entry, has added one, or has not been able to.
const HIT: u8 = 1;
const ADDED: u8 = 2;
const NOT_ADDED: u8 = 3;

struct Worker {
    switch: Switch<Native>,
    bursts: Bursts,
}

impl Worker {
    fn new(instance: &Arc<Instance>) -> Worker {
        let config = Config { ports: Ports::Listed((0..8).collect()), ..Default::default() };
        let switch = Switch::new(Native::new(instance, 1000).unwrap(), config).unwrap();
        Worker { switch, bursts: Bursts::default() }
    }

    fn run(&mut self, keys: &[u32]) -> Vec<Answer> {
        let packet = |key: &u32| {
            [key.to_be_bytes(), value_of(*key, Origin::Packet).to_be_bytes(), [0; 4]].concat().into_iter()
        };
        let mut storages: Vec<Vec<u8>> = keys.iter().map(|key| packet(key).chain([0; 2]).collect()).collect();
        let mut burst: Vec<_> =
            storages.iter_mut().map(|storage| BurstPacket::new(storage, 0, 14, 0)).collect();
        let mut outputs = Vec::new();
        self.bursts.process(&mut self.switch, 0, &mut burst, Path::Straight, &mut (), &mut outputs);
        let answer = |packet: &BurstPacket<'_>| {
            assert_eq!(packet.fate(), Fate::Sent(Destination::Port(1)));
            let bytes = packet.bytes();
            let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
            Answer { value: number(4), found: bytes[8], differs: bytes[9], n: number(10) }
        };
        burst.iter().map(answer).collect()
    }
}

/// A random number below `limit`.
fn random(state: &mut u64, limit: u32) -> u32 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    ((*state >> 33) % u64::from(limit)) as u32
}

/// Compares the entries of `flows.p4` with its counts; gives the counts.
fn balanced(control: &Control, table: TableId) -> PacketWrites {
    let mut of_key = BTreeMap::new();
    control.visit_entries(table, &mut |entry| {
        let Some(Match::Exact(key)) = &entry.matches[0] else { panic!("{entry:?}") };
        let StoredAction::Action(action) = &entry.action else { panic!("{entry:?}") };
        let value = action.data[0].to_u64().unwrap();
        assert!(of_key.insert(key.to_u64().unwrap() as u32, (value as u32, entry.origin)).is_none());
    });
    let of_packets = of_key.values().filter(|(_, origin)| *origin == Origin::Packet).count() as u64;
    let uses = control.table_uses()[0];
    assert!(uses.packets.is_balanced(), "{uses:?}");
    assert_eq!((uses.n_entries, uses.packets.n_entries), (of_key.len() as u64, of_packets), "{uses:?}");
    assert!(uses.n_entries <= SIZE, "{uses:?}");
    uses.packets
}

/// C1 to C12: two workers look up, add and let entries end, while a controller inserts, modifies, deletes, reads and
/// removes what has ended.
fn everybody_writes(path: BurstPath) {
    const N_KEYS: u32 = 400;
    const N_BURSTS: u32 = 4000;
    const N_DELETED: u32 = 1000;
    let instance = instance(2, path);
    let table = table(&instance);
    let mut control = Control::new(Arc::clone(&instance));
    // Entries end soon, so that slots are used again.
    assert!(control.set_profile(table, 0, 20 * MS));
    let is_over = AtomicBool::new(false);
    // Workers go on until the controller has had its turns.
    let n_deleted = AtomicU32::new(0);
    let work = |mut worker: Worker, seed: u64| {
        let (mut state, mut n) = (seed, [0_u64; 4]);
        let mut i = 0;
        while i < N_BURSTS || n_deleted.load(Ordering::Relaxed) < N_DELETED {
            i += 1;
            let keys: Vec<u32> = (0..N_BURST).map(|_| random(&mut state, N_KEYS)).collect();
            for (key, answer) in keys.iter().zip(worker.run(&keys)) {
                n[usize::from(answer.found)] += 1;
                assert_eq!(answer.differs, 0, "an action was seen half");
                let known = [Origin::Packet, Origin::Control].map(|origin| value_of(*key, origin));
                assert!(answer.found != HIT || known.contains(&answer.value), "{key}: {}", answer.value);
            }
            if i % 4 == 0 {
                worker.switch.advance_clock(MS, &mut ());
            }
        }
        n
    };
    let counts = std::thread::scope(|scope| {
        let workers = [1, 2].map(|seed| (Worker::new(&instance), seed));
        let threads = workers.map(|(worker, seed)| scope.spawn(move || work(worker, seed)));
        let writing = scope.spawn(|| {
            let (mut state, mut control) = (3, Control::new(Arc::clone(&instance)));
            while !is_over.load(Ordering::Relaxed) {
                let entry = entry_of_controller(random(&mut state, N_KEYS));
                match random(&mut state, 8) {
                    0..=2 => match control.insert(table, entry, 0) {
                        Ok(_) | Err(TableError::Exists | TableError::Full { .. }) => {}
                        Err(error) => panic!("{error}"),
                    },
                    3 => drop(control.modify(table, entry, 0)),
                    4..=6 => {
                        let is_deleted = control.delete(table, &entry.matches, 0).is_ok();
                        n_deleted.fetch_add(u32::from(is_deleted), Ordering::Relaxed);
                    }
                    _ => control.visit_entries_after(table, None, 50, &mut |read| {
                        assert_eq!(read.matches.len(), 1);
                    }),
                }
            }
        });
        let counts = threads.map(|thread| thread.join().unwrap());
        is_over.store(true, Ordering::Relaxed);
        writing.join().unwrap();
        counts
    });
    let packets = balanced(&control, table);
    let of_answers = |found: u8| counts.iter().map(|n| n[usize::from(found)]).sum::<u64>();
    assert_eq!(packets.n_added, of_answers(ADDED));
    assert_eq!(packets.n_race_lost + packets.n_full, of_answers(NOT_ADDED));
    // No packet adds twice.
    assert_eq!(packets.n_exists, 0);
    assert!(packets.n_added > 1000 && packets.n_expired > 100 && packets.n_deleted > 0, "{packets:?}");
    // Nobody is left who could have an entry, so all of them can go.
    control.remove_ended(u64::MAX >> 1);
    let mut left = Vec::new();
    control.visit_entries(table, &mut |entry| left.push(entry));
    assert!(left.iter().all(|entry| entry.origin == Origin::Control));
    for entry in left {
        control.delete(table, &entry.matches, 0).unwrap();
    }
    assert_eq!(control.table_uses()[0].n_entries, 0);
    balanced(&control, table);
}

#[test]
fn c11_everybody_writes_packet_by_packet() {
    everybody_writes(BurstPath::PacketByPacket);
}

#[test]
fn c11_everybody_writes_from_segment_to_segment() {
    everybody_writes(BurstPath::Segments);
}

/// C4, U8: two workers meet the same new flows; each is added once, and no packet of it is missing in its count.
#[test]
fn c04_u08_no_packet_of_a_flow_is_lost() {
    const N_KEYS: u32 = 20;
    const N_BURSTS: u32 = 2000;
    let instance = instance(2, BurstPath::Segments);
    let table = table(&instance);
    let control = Control::new(Arc::clone(&instance));
    let work = |mut worker: Worker| {
        let (mut state, mut n_not_added) = (5, 0_u64);
        for _ in 0..N_BURSTS {
            let keys: Vec<u32> = (0..N_BURST).map(|_| random(&mut state, N_KEYS)).collect();
            let answers = worker.run(&keys);
            assert!(answers.iter().all(|answer| answer.differs == 0 && answer.n <= 2 * N_BURSTS * N_BURST));
            n_not_added += answers.iter().filter(|answer| answer.found != HIT).count() as u64;
        }
        n_not_added
    };
    let n_missed: u64 = std::thread::scope(|scope| {
        let threads =
            [(); 2].map(|()| Worker::new(&instance)).map(|worker| scope.spawn(move || work(worker)));
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let packets = balanced(&control, table);
    assert_eq!((packets.n_added, packets.n_full), (N_KEYS.into(), 0));
    assert_eq!(packets.n_added + packets.n_race_lost, n_missed);
    let mut counted = 0;
    control.visit_entries(table, &mut |entry| {
        let StoredAction::Action(action) = &entry.action else { panic!("{entry:?}") };
        assert_eq!(action.data[1], action.data[2]);
        counted += action.data[1].to_u64().unwrap();
    });
    assert_eq!(counted + n_missed, u64::from(2 * N_BURSTS * N_BURST));
}

/// C5, C9: with one worker the table's size is exact, and a flow whose packets come in one burst is added once.
#[test]
fn c05_c09_one_worker_keeps_the_size_exactly() {
    let instance = instance(1, BurstPath::Segments);
    let (table, control) = (table(&instance), Control::new(Arc::clone(&instance)));
    let mut worker = Worker::new(&instance);
    for n_burst in [1, 2, 31, 32] {
        let keys: Vec<u32> = (0..n_burst).map(|i| 1000 * n_burst + i / 2).collect();
        let found: Vec<u8> = worker.run(&keys).iter().map(|answer| answer.found).collect();
        let expected: Vec<u8> = (0..n_burst).map(|i| if i % 2 == 0 { ADDED } else { HIT }).collect();
        assert_eq!(found, expected);
    }
    let n_before = control.table_uses()[0].n_entries;
    let keys: Vec<u32> = (0..SIZE as u32).collect();
    let answers: Vec<Answer> = keys.chunks(32).flat_map(|keys| worker.run(keys)).collect();
    let n_added = answers.iter().filter(|answer| answer.found == ADDED).count() as u64;
    assert_eq!(n_before + n_added, SIZE);
    assert_eq!(balanced(&control, table).n_full, SIZE - n_added);
    // Profile 0 stands for ten seconds.
    worker.switch.advance_clock(10_000 * MS, &mut ());
    assert_eq!(control.table_uses()[0].n_entries, 0);
    assert_eq!(worker.run(&[5])[0].found, ADDED);
    assert_eq!(balanced(&control, table).n_expired, SIZE);
}
