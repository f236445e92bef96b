//! C15 and bad input: small tables under load with a controller that deletes, floods of new flows, many writers of one key.

use crate::compare::{Compiled, new_entry};
use crate::model::{ADDED, HIT, MS, NOT_ADDED, Packet};
use crate::{Built, build_text, random};
use native::{BurstPath, Control};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use target::store::PacketWrites;
use target::{Store, TableError};

const BURSTS: [u32; 5] = [1, 2, 31, 32, 64];

fn built(size: u64) -> Built {
    build_text("model.p4", include_str!("model.p4"), Some(size))
}

fn value_of(key: u16) -> u32 {
    u32::from(key) * 7 + 1
}

fn packet(key: u16, profile: u8) -> Packet {
    Packet { table: 0, key, value: value_of(key), profile, command: 0, found: 0, n: 0 }
}

/// The counts of the first table, which agree with its entries; at most `size` are there.
fn balanced(control: &Control, size: u64) -> PacketWrites {
    let uses = control.table_uses()[0];
    let mut n_there = 0;
    let table = control.instance().program().tables.iter().next().unwrap().0;
    control.visit_entries(table, &mut |_| n_there += 1);
    assert!(uses.packets.is_balanced(), "{uses:?}");
    assert_eq!(uses.n_entries, n_there, "{uses:?}");
    assert!(n_there <= size, "{uses:?}");
    uses.packets
}

/// Workers send packets of random keys in bursts of each size, while a controller deletes and inserts.
fn under_load(size: u64, n_workers: u32, path: BurstPath, n_keys: u32, n_bursts: u32) {
    println!("size {size}, {n_workers} workers, {path:?}, {n_keys} keys");
    let instance = built(size).instance(n_workers, path);
    let table = instance.program().tables.iter().next().unwrap().0;
    let control = Control::new(Arc::clone(&instance));
    let (has_deleted, n_working) = (AtomicBool::new(false), AtomicU32::new(n_workers));
    let work = |mut worker: Compiled, seed: u64| {
        let (mut state, mut n) = (seed, [0_u64; 4]);
        let mut i = 0;
        // Until the controller has deleted some of their entries.
        while i < n_bursts || !has_deleted.load(Ordering::Relaxed) {
            let n_burst = BURSTS[i as usize % BURSTS.len()];
            let packets: Vec<Packet> =
                (0..n_burst).map(|_| packet(random(&mut state, n_keys) as u16, (i % 3) as u8)).collect();
            for (asked, answer) in packets.iter().zip(worker.run(&packets)) {
                n[usize::from(answer.found)] += 1;
                assert_eq!((answer.key, answer.value), (asked.key, value_of(asked.key)));
            }
            // Profile 0 is ten seconds.
            if i % 16 == 0 {
                worker.switch.advance_clock(1000 * MS, &mut ());
            }
            i += 1;
        }
        n_working.fetch_sub(1, Ordering::Relaxed);
        n
    };
    let answers = std::thread::scope(|scope| {
        let workers: Vec<Compiled> = (0..n_workers).map(|_| Compiled::new(&instance)).collect();
        let threads: Vec<_> = workers
            .into_iter()
            .zip(1..)
            .map(|(worker, seed)| scope.spawn(move || work(worker, seed)))
            .collect();
        let (mut state, mut control) = (99, control.clone());
        while n_working.load(Ordering::Relaxed) > 0 {
            let key = random(&mut state, n_keys) as u16;
            let entry = new_entry(key, value_of(key), 0, None);
            if random(&mut state, 4) > 0 {
                if control.delete(table, &entry.matches, 0).is_ok() {
                    let n_deleted = control.table_uses()[0].packets.n_deleted;
                    has_deleted.store(n_deleted > 5, Ordering::Relaxed);
                }
            } else {
                match control.insert(table, entry, 0) {
                    Ok(_) | Err(TableError::Exists | TableError::Full { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        let answers: Vec<[u64; 4]> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        answers
    });
    let of = |found: u8| answers.iter().map(|n| n[usize::from(found)]).sum::<u64>();
    let packets = balanced(&control, size);
    assert_eq!(packets.n_added, of(ADDED));
    assert_eq!((packets.n_race_lost + packets.n_full, packets.n_exists), (of(NOT_ADDED), 0));
    assert!(packets.n_added > 0 && of(HIT) > 0 && packets.n_deleted > 0, "{packets:?}");
}

#[test]
fn c15_small_tables_under_load() {
    for size in [1, 2, 63, 64, 65] {
        for n_workers in [1, 2] {
            for path in [BurstPath::PacketByPacket, BurstPath::Segments] {
                under_load(size, n_workers, path, 2 * size as u32, 200);
            }
        }
    }
}

/// Two workers and a controller write one key, and two.
#[test]
fn c04_everybody_writes_the_same_key() {
    for n_keys in [1, 2] {
        under_load(64, 2, BurstPath::Segments, n_keys, 3000);
    }
}

/// A flood of new flows: what is there stays and is hit, and each flow is counted.
#[test]
fn c05_a_flood_of_new_flows() {
    const SIZE: u64 = 65;
    for n_workers in [1, 2] {
        let instance = built(SIZE).instance(n_workers, BurstPath::Segments);
        let control = Control::new(Arc::clone(&instance));
        let mut workers: Vec<Compiled> = (0..n_workers).map(|_| Compiled::new(&instance)).collect();
        let mut n_added = 0;
        for first in (0..60_000_u16).step_by(60) {
            let packets: Vec<Packet> = (first..first + 60).map(|key| packet(key, 5)).collect();
            let i = usize::from(first) % workers.len();
            let answers = workers[i].run(&packets);
            assert!(answers.iter().all(|answer| answer.found == ADDED || answer.found == NOT_ADDED));
            n_added += answers.iter().filter(|answer| answer.found == ADDED).count() as u64;
        }
        let packets = balanced(&control, SIZE);
        assert_eq!((packets.n_added, packets.n_added + packets.n_full), (n_added, 60_000));
        // With one worker the table's size is exact; with several an eighth may be in hand.
        assert!(if n_workers == 1 { n_added == SIZE } else { n_added >= SIZE - SIZE / 8 - 1 }, "{n_added}");
        assert!(workers[0].run(&[packet(0, 5), packet(1, 5)]).iter().all(|answer| answer.found == HIT));
        // They end, and there is room again.
        workers.iter_mut().for_each(|worker| drop(worker.switch.advance_clock(43_200_000 * MS, &mut ())));
        assert_eq!(control.table_uses()[0].n_entries, 0);
        assert_eq!(workers[0].run(&[packet(60_001, 5)])[0].found, ADDED);
        assert_eq!(balanced(&control, SIZE).n_expired, n_added);
    }
}

/// Timers of zero and of years, together.
#[test]
fn n16_timers_of_zero_and_of_years() {
    const YEARS: u64 = 290 * 365 * 86_400 * 1000 * MS;
    let instance = built(64).instance(1, BurstPath::Segments);
    let table = instance.program().tables.iter().next().unwrap().0;
    let mut control = Control::new(Arc::clone(&instance));
    assert!(control.set_profile(table, 0, 0) && control.set_profile(table, 1, YEARS));
    let mut worker = Compiled::new(&instance);
    // Each packet with profile 0 adds an entry anew; with profile 1 only the first one does.
    let packets: Vec<Packet> = (0..32).map(|i| packet(i % 2, (i % 2) as u8)).collect();
    let n_added = |answers: Vec<Packet>| answers.iter().filter(|answer| answer.found == ADDED).count();
    assert_eq!(n_added(worker.run(&packets)), 16 + 1);
    worker.switch.advance_clock(YEARS - 1, &mut ());
    assert_eq!(n_added(worker.run(&packets)), 16);
    let packets = balanced(&control, 64);
    assert_eq!(packets.n_full + packets.n_exists, 0);
    assert_eq!(packets.n_added, 33);
}
