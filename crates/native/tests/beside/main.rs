//! Tables that are written while workers run packets: what is not touched is always found, and nobody waits for anybody.

mod cells;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/programs.rs"]
mod programs;

use ir::{Action, Bits, Match, MatchKind, Program, TableId};
use native::{BurstPacket, BurstPath, Bursts, Control, Fate, Instance, InstanceOptions, Native, Path};
use programs::compiled;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use target::store::{EntryAction, NewEntry};
use target::traffic::{Destination, Ports};
use target::{Config, ExternEnd, Store, Switch};

const TABLES: [&str; 5] = ["lean", "counted", "direct", "prefix", "ranked"];
/// Keys whose entries nobody touches.
const N_STAY: u32 = 500;
const N_BURST: u32 = 32;

fn instance(n_workers: u32, path: BurstPath) -> Arc<Instance> {
    instance_of("tables.p4", n_workers, path)
}

fn instance_of(program: &str, n_workers: u32, path: BurstPath) -> Arc<Instance> {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/beside").join(program);
    let source = driver::read_source(&source).unwrap();
    let (runnable, pipeline) = compiled(&source);
    let options = InstanceOptions { n_workers, seed: 0, path, table_size: 1024 };
    Instance::new(pipeline, Arc::new(runnable.program), options).unwrap()
}

fn table(program: &Program, name: &str) -> TableId {
    let is_it = |full: &str| full.rsplit('.').next() == Some(name);
    let found = program.tables.iter().find(|(_, table)| is_it(&table.name));
    found.unwrap_or_else(|| panic!("no table {name}")).0
}

/// What the entry of a key says: never 0, which is what a miss leaves.
fn value_of(key: u32) -> u8 {
    (key % 251) as u8 + 1
}

fn entry(program: &Program, table: TableId, key: u32, value: u8) -> NewEntry {
    let declared = &program.tables[table].keys[0];
    let width = declared.ty.width_bits().unwrap();
    let bits = Bits::new(width, key.into());
    let matched = match declared.match_kind {
        MatchKind::Exact => Match::Exact(bits),
        MatchKind::Lpm => Match::Lpm { value: bits, prefix_len: width },
        MatchKind::Ternary => Match::Ternary { value: bits, mask: Bits::prefix_mask(width, width) },
        other => panic!("{other:?}"),
    };
    NewEntry {
        matches: [Some(matched)].into_iter().collect(),
        priority: i32::from(declared.match_kind == MatchKind::Ternary),
        action: EntryAction::Action(Action { index: 0, data: vec![Bits::new(8, value.into())] }),
        idle_timeout_ns: 0,
        count: None,
        rates: None,
        colours: None,
        carried: None,
    }
}

fn config() -> Config {
    Config { ports: Ports::Listed((0..8).collect()), ..Default::default() }
}

/// Runs packets with these keys; gives what each has found in each table.
fn run(switch: &mut Switch<Native>, bursts: &mut Bursts, keys: &[u32], way: u8) -> Vec<[u8; 5]> {
    let packet = |key: &u32| [&key.to_be_bytes()[..], &[0; 5], &[way]].concat();
    let mut storages: Vec<Vec<u8>> = keys.iter().map(packet).collect();
    let mut burst: Vec<_> = storages.iter_mut().map(|storage| BurstPacket::new(storage, 0, 10, 0)).collect();
    let mut outputs = Vec::new();
    bursts.process(switch, 0, &mut burst, Path::Straight, &mut (), &mut outputs);
    let found = burst.iter().map(|packet| {
        assert_eq!(packet.fate(), Fate::Sent(Destination::Port(1)));
        packet.bytes()[4..9].try_into().unwrap()
    });
    found.collect()
}

fn write_and_look(path: BurstPath) {
    const N_WRITTEN: u32 = 100_000;
    let instance = instance(2, path);
    let program = Arc::clone(instance.program());
    let mut control = Control::new(Arc::clone(&instance));
    let tables = TABLES.map(|name| table(&program, name));
    for table in tables {
        for key in 0..N_STAY {
            control.insert(table, entry(&program, table, key, value_of(key)), 0).unwrap();
        }
    }
    let is_done = AtomicBool::new(false);
    let n_found = AtomicU64::new(0);
    let look = |native: Native| {
        let mut switch = Switch::new(native, config()).unwrap();
        let mut bursts = Bursts::default();
        let mut n = 0_u32;
        while !is_done.load(Ordering::Relaxed) || n < 10 {
            n += 1;
            // Some that stay, and some that come and go.
            let key = |i: u32| match i % 4 {
                0 => N_STAY + (n * 7919 + i * 104_729) % 2000,
                _ => (n * 31 + i * 97) % N_STAY,
            };
            let keys: Vec<u32> = (0..N_BURST).map(key).collect();
            for (key, found) in keys.iter().zip(run(&mut switch, &mut bursts, &keys, 0)) {
                for (name, value) in TABLES.iter().zip(found) {
                    let is_there = value == value_of(*key);
                    assert!(is_there || (*key >= N_STAY && value == 0), "{name}: {key} leads to {value}");
                    n_found.fetch_add(u64::from(is_there && *key >= N_STAY), Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let natives = [0, 1].map(|_| Native::new(&instance, 1000).unwrap());
        let threads = natives.map(|native| scope.spawn(|| look(native)));
        // Whatever fails ends the workers, too.
        let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for (table, n) in tables.into_iter().zip([N_WRITTEN, 20_000, 2000, 10_000, 2000]) {
                let new = |key| entry(&program, table, key, value_of(key));
                control.reserve(table, n.into());
                for from in (N_STAY..N_STAY + n).step_by(500) {
                    let keys = from..from + 500;
                    let inserted = control.insert_many(table, keys.clone().map(new).collect(), 0);
                    assert!(inserted.iter().all(Result::is_ok), "{inserted:?}");
                    // Those that workers look for go again; now and then one by one, and changed.
                    for key in keys.filter(|key| key % 3 == 0 || *key < N_STAY + 2000) {
                        control.modify(table, new(key), 0).unwrap();
                        control.delete(table, &new(key).matches, new(key).priority).unwrap();
                        if key % 2 == 0 {
                            control.insert(table, new(key), 0).unwrap();
                        }
                    }
                }
            }
        }));
        is_done.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        written.unwrap();
    });
    assert!(n_found.load(Ordering::Relaxed) > 0, "workers have found nothing that came");
}

#[test]
fn what_stays_is_found_packet_by_packet() {
    write_and_look(BurstPath::PacketByPacket);
}

#[test]
fn what_stays_is_found_from_segment_to_segment() {
    write_and_look(BurstPath::Segments);
}

/// A worker is within a burst until somebody says that it may go on.
#[test]
fn who_writes_does_not_wait_for_a_burst() {
    let instance = instance(2, BurstPath::PacketByPacket);
    let program = Arc::clone(instance.program());
    let mut control = Control::new(Arc::clone(&instance));
    let tables = TABLES.map(|name| table(&program, name));
    for table in tables {
        control.insert(table, entry(&program, table, 7, 70), 0).unwrap();
    }
    let (inside, is_inside) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let mut native = Native::new(&instance, 1000).unwrap();
    native.supply(
        "pause",
        Box::new(move |args| {
            inside.send(args.number(0)).unwrap();
            may_go_on.recv_timeout(Duration::from_secs(60)).unwrap();
            ExternEnd::Next
        }),
    );
    let worker = std::thread::spawn(move || {
        let mut switch = Switch::new(native, config()).unwrap();
        run(&mut switch, &mut Bursts::default(), &[7], 1)
    });
    assert_eq!(is_inside.recv_timeout(Duration::from_secs(60)).unwrap(), Some(7));
    let [_, counted, _, _, _] = tables;
    // Each of these would wait for ever if it waited for the worker.
    for table in tables {
        for key in 100..1000 {
            control.insert(table, entry(&program, table, key, 1), 0).unwrap();
        }
        for key in 100..1000 {
            let handle = control.modify(table, entry(&program, table, key, 2), 0).unwrap();
            assert!(control.entry(table, handle).is_some());
        }
        for key in (100..1000).chain([7]) {
            let old = entry(&program, table, key, 1);
            control.delete(table, &old.matches, old.priority).unwrap();
        }
        assert!(control.default_action(table).is_some());
        assert!(control.find(table, &entry(&program, table, 7, 1).matches, 0).is_none());
    }
    assert_eq!(control.take_expired(1), []);
    // This one waits.
    let changing = std::thread::spawn({
        let mut control = control.clone();
        let program = Arc::clone(&program);
        move || {
            control.insert(counted, entry(&program, counted, 9, 1), 0).unwrap();
            control.set_default_action(counted, None).unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(50));
    assert!(!changing.is_finished());
    go_on.send(()).unwrap();
    // What the lean table said before it waited; the others have lost their entries meanwhile.
    assert_eq!(worker.join().unwrap(), [[70, 0, 0, 0, 0]]);
    changing.join().unwrap();
    assert!(control.find(counted, &entry(&program, counted, 9, 0).matches, 0).is_some());
}
