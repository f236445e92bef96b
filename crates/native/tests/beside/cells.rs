//! Direct counters and meters of entries that are written while workers run, and cells that are written in one step.

use super::{N_BURST, config, entry, instance_of, table};
use ir::{Bits, ObjectId, Program};
use native::{BurstPacket, BurstPath, Bursts, Control, Instance, Native, Path};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use target::store::{Count, MeterRates, MeterType, NewEntry};
use target::{Store, Switch};

const RED: u8 = 2;
/// No packet has room.
const NOTHING: MeterRates = MeterRates {
    meter_type: MeterType::TwoRateThreeColor,
    committed_rate: 0,
    committed_burst: 0,
    peak_rate: 0,
    peak_burst: 0,
    excess_burst: 0,
};
/// The counters of new entries begin here.
const BEGIN: u64 = 1 << 40;

/// The observations of a packet: the value of the entry or 0, the colour, and two cells.
type Found = (u8, u8, u32, u32);

fn run(switch: &mut Switch<Native>, bursts: &mut Bursts, keys: &[u32]) -> Vec<Found> {
    let packet = |key: &u32| [&key.to_be_bytes()[..], &[0; 10]].concat();
    let mut storages: Vec<Vec<u8>> = keys.iter().map(packet).collect();
    let mut burst: Vec<_> = storages.iter_mut().map(|storage| BurstPacket::new(storage, 0, 14, 0)).collect();
    bursts.process(switch, 0, &mut burst, Path::Straight, &mut (), &mut Vec::new());
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let found = |packet: &BurstPacket<'_>| {
        let bytes = packet.bytes();
        (bytes[4], bytes[5], number(&bytes[6..10]), number(&bytes[10..14]))
    };
    burst.iter().map(found).collect()
}

/// All workers look for keys below `n_keys`, and check what they find, until `write` has ended.
fn beside_workers(
    instance: &Arc<Instance>,
    n_keys: u32,
    check: impl Fn(u32, Found) + Sync,
    write: impl FnOnce(&mut Control),
) {
    let (is_done, n_rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    let look = |native: Native| {
        let mut switch = Switch::new(native, config()).unwrap();
        let mut bursts = Bursts::default();
        let mut n = 0_u32;
        while !is_done.load(Ordering::Relaxed) {
            n = n.wrapping_add(1);
            let key = |i: u32| (n.wrapping_mul(7919) + i * 104_729) % n_keys;
            let keys: Vec<u32> = (0..N_BURST).map(key).collect();
            let found = run(&mut switch, &mut bursts, &keys);
            keys.iter().zip(found).for_each(|(key, found)| check(*key, found));
            n_rounds.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let natives: Vec<Native> =
            (0..instance.n_workers()).map(|_| Native::new(instance, 1000).unwrap()).collect();
        let look = &look;
        let threads: Vec<_> = natives.into_iter().map(|native| scope.spawn(move || look(native))).collect();
        while n_rounds.load(Ordering::Relaxed) < 2 && !threads.iter().any(|thread| thread.is_finished()) {
            std::thread::yield_now();
        }
        // Whatever fails ends the workers, too.
        let written = catch_unwind(AssertUnwindSafe(|| write(&mut Control::new(Arc::clone(instance)))));
        is_done.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        written.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

fn both(program: &Program, key: u32, value: u8, rates: Option<MeterRates>) -> NewEntry {
    NewEntry { rates, ..entry(program, table(program, "both"), key, value) }
}

#[test]
fn the_first_packet_of_an_entry_finds_its_cells() {
    const N: u32 = 20_000;
    let instance = instance_of("cells.p4", 2, BurstPath::PacketByPacket);
    let program = Arc::clone(instance.program());
    let table = table(&program, "both");
    let n_hits = AtomicU64::new(0);
    let check = |_, (found, colour, _, _): Found| {
        assert_eq!(colour, if found > 0 { RED } else { 0 });
        n_hits.fetch_add(u64::from(found > 0), Ordering::Relaxed);
    };
    beside_workers(&instance, N, check, |control| {
        let new = |key| {
            let count = Some(Count { n_packets: BEGIN, n_bytes: 0 });
            NewEntry { count, ..both(&program, key, 1, Some(NOTHING)) }
        };
        // One by one, and many at once.
        for key in 0..N / 2 {
            control.insert(table, new(key), 0).unwrap();
        }
        for from in (N / 2..N).step_by(500) {
            let inserted = control.insert_many(table, (from..from + 500).map(new).collect(), 0);
            assert!(inserted.iter().all(Result::is_ok), "{inserted:?}");
        }
    });
    // No packet is lost by a count that is set after it.
    let mut n_counted = 0;
    Control::new(instance).visit_entries(table, &mut |entry| {
        assert_eq!(entry.direct.rates, Some(NOTHING));
        n_counted += entry.direct.count.n_packets - BEGIN;
    });
    assert_eq!(n_counted, n_hits.into_inner());
    assert!(n_counted > 0);
}

#[test]
fn an_entry_changes_with_its_cells() {
    let instance = instance_of("cells.p4", 2, BurstPath::PacketByPacket);
    let program = Arc::clone(instance.program());
    let table = table(&program, "both");
    let mut control = Control::new(Arc::clone(&instance));
    for key in 0..8 {
        control.insert(table, both(&program, key, 1, None), 0).unwrap();
    }
    let n_hits = AtomicU64::new(0);
    let check = |_, (found, colour, _, _): Found| {
        assert!([(1, 0), (2, RED)].contains(&(found, colour)));
        n_hits.fetch_add(1, Ordering::Relaxed);
    };
    beside_workers(&instance, 8, check, |control| {
        for i in 0..4000 {
            let (value, rates) = if i % 2 == 0 { (2, Some(NOTHING)) } else { (1, None) };
            for key in 0..8 {
                control.modify(table, both(&program, key, value, rates), 0).unwrap();
            }
        }
    });
    // No packet is lost or counted twice by a modification.
    let mut n_counted = 0;
    control.visit_entries(table, &mut |entry| n_counted += entry.direct.count.n_packets);
    assert_eq!(n_counted, n_hits.into_inner());
    // Without a count the counter goes on; with one it begins there.
    control.set_direct_count(table, find(&control, &program), Count { n_packets: 5, n_bytes: 0 }).unwrap();
    let mut again = |count| {
        control.modify(table, NewEntry { count, ..both(&program, 0, 1, None) }, 0).unwrap();
        control.direct(table, find(&control, &program)).unwrap().count.n_packets
    };
    assert_eq!((again(None), again(Some(Count { n_packets: 9, n_bytes: 0 }))), (5, 9));
}

fn find(control: &Control, program: &Program) -> target::EntryRef {
    let both = both(program, 0, 0, None);
    target::EntryRef::Entry(control.find(table(program, "both"), &both.matches, 0).unwrap())
}

fn memory(program: &Program) -> ObjectId {
    let found = program.objects.iter().find(|(_, object)| object.name.ends_with("memory"));
    found.unwrap().0
}

#[test]
fn the_writes_of_a_step_are_one_to_packets() {
    let instance = instance_of("cells.p4", 2, BurstPath::PacketByPacket);
    let memory = memory(instance.program());
    let check = |_, (_, _, first, last): Found| assert_eq!(first, last);
    let n_between = AtomicU64::new(0);
    beside_workers(&instance, 8, check, |control| {
        let other = control.clone();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Operations of other threads come in between, and end neither the step nor themselves.
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    other.register(memory, 500).unwrap();
                    n_between.fetch_add(1, Ordering::Relaxed);
                }
            });
            for i in 1..2000_u32 {
                control.change_at_once(&mut |store| {
                    let n = n_between.load(Ordering::Relaxed);
                    while i == 1 && n_between.load(Ordering::Relaxed) == n {
                        std::thread::yield_now();
                    }
                    for cell in [0, 999] {
                        // Steps may nest.
                        store.change_at_once(&mut |store| {
                            store.set_register(memory, Some(cell), &[Bits::new(32, i.into())]).unwrap();
                        });
                    }
                });
            }
            is_done.store(true, Ordering::Relaxed);
        });
    });
}

/// Cells are what was written, read one by one or in steps of any size while a worker runs packets. Prints how many cells and
/// packets there are a second: the rates of docs/internals/concurrency.md, if it runs alone.
#[test]
fn cells_by_the_step() {
    const N_CELLS: u64 = 1000;
    const N_ROUNDS: u64 = 300;
    let instance = instance_of("cells.p4", 1, BurstPath::PacketByPacket);
    let memory = memory(instance.program());
    let n_packets = AtomicU64::new(0);
    let check = |_, _: Found| {
        n_packets.fetch_add(1, Ordering::Relaxed);
    };
    beside_workers(&instance, 8, check, |control| {
        control.set_register(memory, None, &[Bits::new(32, 7u32.into())]).unwrap();
        for n_in_step in [0, 1, 16, 64, 256, 1000] {
            let (begin, n_before) = (Instant::now(), n_packets.load(Ordering::Relaxed));
            for _ in 0..N_ROUNDS {
                for first in (0..N_CELLS).step_by(n_in_step.max(1)) {
                    let mut read = || {
                        for cell in first..N_CELLS.min(first + n_in_step.max(1) as u64) {
                            assert_eq!(control.register(memory, cell).unwrap(), [Bits::new(32, 7u32.into())]);
                        }
                    };
                    // 0: nothing around the reads.
                    if n_in_step == 0 { read() } else { control.at_once(&mut read) }
                }
            }
            let seconds = begin.elapsed().as_secs_f64();
            let rate = (N_CELLS * N_ROUNDS) as f64 / seconds;
            let packets = (n_packets.load(Ordering::Relaxed) - n_before) as f64 / seconds;
            eprintln!(
                "{n_in_step} cells a step: {rate:.0} cells a second beside {packets:.0} packets a second"
            );
        }
    });
}
