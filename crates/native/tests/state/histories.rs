//! N21: what two workers and a controller do with one key at the same time has an order in which each of them would have seen what it
//! has seen.

use crate::compare::{Compiled, new_entry};
use crate::model::{ADDED, HIT, NOT_ADDED, Packet};
use crate::{build_text, random};
use ir::TableId;
use native::{BurstPath, Control};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use target::store::StoredAction;
use target::{Store, TableError};

const N_WORKERS: usize = 2;
/// Operations of a worker or of the controller in one history.
const N_OPERATIONS: u32 = 4;

/// An operation on the key, or an observation of it. The entry has a value and a count of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Hit {
        value: u32,
        n: u32,
    },
    Added(u32),
    /// A packet that did not add: it has missed, and then there was an entry.
    Missed,
    WasThere,
    Inserted(u32),
    NotInserted,
    Modified(u32),
    NotModified,
    Deleted,
    NotDeleted,
    Read(Option<(u32, u32)>),
}

/// The value and the count of the key's entry, if it has one.
type Key = Option<(u32, u32)>;

impl What {
    /// The key after the operation; `None` if it cannot have been as the operation says.
    fn after(self, key: Key) -> Option<Key> {
        let unchanged = |holds: bool| holds.then_some(key);
        match (self, key) {
            (What::Hit { value, n }, Some((is, so_far))) => {
                (value == is && n == so_far + 1).then_some(Some((value, n)))
            }
            (What::Hit { .. }, None) => None,
            (What::Added(value) | What::Inserted(value), None) => Some(Some((value, 0))),
            (What::Modified(value), Some(_)) => Some(Some((value, 0))),
            (What::Deleted, Some(_)) => Some(None),
            (What::Added(_) | What::Inserted(_), Some(_)) | (What::Modified(_) | What::Deleted, None) => None,
            (What::Missed | What::NotModified | What::NotDeleted, _) => unchanged(key.is_none()),
            (What::WasThere | What::NotInserted, _) => unchanged(key.is_some()),
            (What::Read(read), _) => unchanged(read == key),
        }
    }
}

/// An operation between two readings of a clock that all share.
#[derive(Clone, Copy, Debug)]
struct Operation {
    who: usize,
    begin: u64,
    end: u64,
    what: What,
}

/// Returns whether operations have an order that each of them agrees with. Those of one thread are in their order; one that has ended
/// before another begins comes before it.
fn has_order(operations: &[Operation]) -> bool {
    let mut seen = HashSet::new();
    let mut left = vec![(0_u64, None)];
    while let Some((done, key)) = left.pop() {
        if done.count_ones() as usize == operations.len() {
            return true;
        }
        if !seen.insert((done, key)) {
            continue;
        }
        let is_left = |i: usize| done >> i & 1 == 0;
        for (i, operation) in operations.iter().enumerate().filter(|(i, _)| is_left(*i)) {
            let comes_before = |(j, other): (usize, &Operation)| {
                is_left(j) && (other.end < operation.begin || other.who == operation.who && j < i)
            };
            if operations.iter().enumerate().any(comes_before) {
                continue;
            }
            if let Some(key) = operation.what.after(key) {
                left.push((done | 1 << i, key));
            }
        }
    }
    false
}

#[test]
fn n21_the_checker_knows_impossible_histories() {
    let history = |operations: &[(usize, u64, u64, What)]| -> Vec<Operation> {
        operations
            .iter()
            .map(|(who, begin, end, what)| Operation { who: *who, begin: *begin, end: *end, what: *what })
            .collect()
    };
    let hit = |value, n| What::Hit { value, n };
    // Two add at once, and one of them finds the other's entry.
    let race =
        [(0, 0, 5, What::Added(7)), (1, 1, 6, What::Missed), (1, 1, 6, What::WasThere), (0, 7, 8, hit(7, 1))];
    assert!(has_order(&history(&race)));
    for impossible in [
        // Both have added.
        vec![(0, 0, 5, What::Added(7)), (1, 1, 6, What::Added(8))],
        // An entry that nobody has added.
        vec![(0, 0, 5, hit(7, 1))],
        // A hit is lost.
        vec![(0, 0, 1, What::Added(7)), (0, 2, 3, hit(7, 1)), (1, 2, 3, hit(7, 1))],
        // A miss after the entry is there.
        vec![(0, 0, 1, What::Added(7)), (1, 2, 3, What::Missed)],
        // A hit after it is gone.
        vec![(0, 0, 1, What::Added(7)), (2, 2, 3, What::Deleted), (1, 4, 5, hit(7, 1))],
        // The controller reads half of a change.
        vec![(0, 0, 1, What::Added(7)), (2, 2, 3, What::Modified(9)), (2, 4, 5, What::Read(Some((7, 0))))],
    ] {
        assert!(!has_order(&history(&impossible)), "{impossible:?}");
    }
}

struct Log<'a> {
    clock: &'a AtomicU64,
    who: usize,
    operations: Vec<Operation>,
}

impl Log<'_> {
    fn note<T>(&mut self, work: impl FnOnce() -> T, what: impl FnOnce(&T) -> Vec<What>) -> T {
        let begin = self.clock.fetch_add(1, Ordering::SeqCst);
        let result = work();
        let end = self.clock.fetch_add(1, Ordering::SeqCst);
        let operation = |what| Operation { who: self.who, begin, end, what };
        self.operations.extend(what(&result).into_iter().map(operation));
        result
    }
}

fn work(worker: &mut Compiled, log: &mut Log<'_>, key: u16, table: u8, state: &mut u64) {
    for _ in 0..N_OPERATIONS {
        let packets: Vec<Packet> = (0..1 + random(state, 2))
            .map(|_| Packet {
                table,
                key,
                value: 1 + random(state, 1 << 30),
                profile: 5,
                command: 0,
                found: 0,
                n: 0,
            })
            .collect();
        log.note(
            || worker.run(&packets),
            |answers| {
                let seen = |packet: &Packet| match packet.found {
                    HIT => vec![What::Hit { value: packet.value, n: packet.n }],
                    ADDED => vec![What::Added(packet.value)],
                    NOT_ADDED => vec![What::Missed, What::WasThere],
                    other => panic!("{other}"),
                };
                answers.iter().flat_map(seen).collect()
            },
        );
    }
}

fn write(control: &mut Control, table: TableId, log: &mut Log<'_>, key: u16, state: &mut u64) {
    let value = 1 + random(state, 1 << 30);
    let entry = new_entry(key, value, 0, None);
    match random(state, 6) {
        0 => drop(log.note(
            || control.insert(table, entry, 0),
            |done| match done {
                Ok(_) => vec![What::Inserted(value)],
                Err(TableError::Exists) => vec![What::NotInserted],
                Err(error) => panic!("{error}"),
            },
        )),
        1 => drop(log.note(
            || control.modify(table, entry, 0),
            |done| match done {
                Ok(_) => vec![What::Modified(value)],
                Err(TableError::NotFound) => vec![What::NotModified],
                Err(error) => panic!("{error}"),
            },
        )),
        2 | 3 => drop(log.note(
            || control.delete(table, &entry.matches, 0),
            |done| match done {
                Ok(_) => vec![What::Deleted],
                Err(TableError::NotFound) => vec![What::NotDeleted],
                Err(error) => panic!("{error}"),
            },
        )),
        _ => drop(log.note(
            || {
                // By its handle: an entry that is gone meanwhile is not there.
                let handle = control.find(table, &entry.matches, 0)?;
                control.entry(table, handle)
            },
            |read| {
                let read = read.as_ref().map(|entry| {
                    let StoredAction::Action(action) = &entry.action else { panic!("{entry:?}") };
                    let number = |i: usize| action.data[i].to_u64().unwrap() as u32;
                    (number(0), number(1))
                });
                vec![What::Read(read)]
            },
        )),
    }
}

fn histories_have_orders(path: BurstPath, seed: u64, n_histories: u64) {
    let built = build_text("model.p4", include_str!("model.p4"), Some(64));
    let instance = built.instance(N_WORKERS as u32, path);
    let tables: Vec<TableId> = built.program.tables.iter().map(|(id, _)| id).collect();
    println!("{path:?}, seed {seed}");
    let (clock, barrier) = (AtomicU64::new(0), Barrier::new(N_WORKERS + 1));
    let logs: Mutex<Vec<Operation>> = Mutex::new(Vec::new());
    let key_of = |history: u64| (history % 60_000) as u16;
    let table_of = |history: u64| (history % 2) as u8;
    let own_part = |who: usize, work: &mut dyn FnMut(u64, &mut Log<'_>), after: &mut dyn FnMut(u64)| {
        // One that fails goes on to the end: others wait for it.
        let mut failure = None;
        for history in 0..n_histories {
            let mut log = Log { clock: &clock, who, operations: Vec::new() };
            barrier.wait();
            let run = AssertUnwindSafe(|| work(history, &mut log));
            failure = failure.take().or_else(|| catch_unwind(run).err());
            logs.lock().unwrap_or_else(PoisonError::into_inner).extend(log.operations);
            barrier.wait();
            let run = AssertUnwindSafe(|| after(history));
            failure = failure.take().or_else(|| catch_unwind(run).err());
        }
        if let Some(why) = failure {
            resume_unwind(why);
        }
    };
    std::thread::scope(|scope| {
        for who in 0..N_WORKERS {
            let mut worker = Compiled::new(&instance);
            scope.spawn(move || {
                let mut state = seed * 10 + who as u64;
                let mut part = |history, log: &mut Log<'_>| {
                    work(&mut worker, log, key_of(history), table_of(history), &mut state);
                };
                own_part(who, &mut part, &mut |_| {});
            });
        }
        let (mut state, mut control) = (seed * 10 + 7, Control::new(Arc::clone(&instance)));
        let mut cleaner = control.clone();
        let mut part = |history, log: &mut Log<'_>| {
            for _ in 0..N_OPERATIONS {
                write(&mut control, tables[usize::from(table_of(history))], log, key_of(history), &mut state);
            }
        };
        own_part(N_WORKERS, &mut part, &mut |history| {
            let operations = std::mem::take(&mut *logs.lock().unwrap_or_else(PoisonError::into_inner));
            assert!(has_order(&operations), "history {history} of seed {seed}: {operations:#?}");
            let matches = new_entry(key_of(history), 0, 0, None).matches;
            // The next history has another key, and this one may be there or not.
            let _ = cleaner.delete(tables[usize::from(table_of(history))], &matches, 0);
        });
    });
    let control = Control::new(instance);
    for uses in &control.table_uses()[..2] {
        assert!(uses.packets.is_balanced() && uses.packets.n_added > 0, "{uses:?}");
        assert_eq!((uses.n_entries, uses.packets.n_entries), (0, 0), "{uses:?}");
    }
}

#[test]
fn n21_histories_of_a_key_have_orders_packet_by_packet() {
    histories_have_orders(BurstPath::PacketByPacket, 1, 2000);
}

#[test]
fn n21_histories_of_a_key_have_orders_in_bursts() {
    histories_have_orders(BurstPath::Segments, 2, 2000);
}
