//! N21: random steps on the interpreter, on compiled code and on the model, which agree after each of them.

use crate::build_text;
use crate::model::{self, Entry, MS, Packet, Stay, Step, Written};
use ir::{Action, Bits, Match, Program, TableId};
use native::{BurstPacket, BurstPath, Bursts, Fate, Instance, Native, Path};
use std::collections::BTreeMap;
use std::sync::Arc;
use target::store::{Count, EntryRef, NewEntry, Origin, StoredAction};
use target::traffic::{Destination, Ports};
use target::{Config, Store, Switch, TableError};

pub fn config() -> Config {
    Config { ports: Ports::Listed((0..8).collect()), ..Default::default() }
}

pub fn new_entry(key: u16, value: u32, n: u32, timeout_ns: Option<u64>) -> NewEntry {
    let data = vec![Bits::new(32, value.into()), Bits::new(32, n.into())];
    let matches = vec![Some(Match::Exact(Bits::new(16, key.into())))];
    NewEntry {
        idle_timeout_ns: timeout_ns.unwrap_or(0),
        ..NewEntry::new(matches, 0, Action { index: 0, data })
    }
}

/// A backend that runs the program.
pub trait Side {
    fn name(&self) -> &'static str;
    fn send(&mut self, packets: &[Packet]) -> Vec<Packet>;
    fn pass_time(&mut self, ns: u64);
    fn store(&mut self) -> &mut dyn Store;
}

pub struct Interpreted(pub interp::Switch);

impl Side for Interpreted {
    fn name(&self) -> &'static str {
        "the interpreter"
    }

    fn send(&mut self, packets: &[Packet]) -> Vec<Packet> {
        let mut send = |packet: &Packet| {
            let outputs = self.0.inject(0, &packet.bytes(), &mut trace::Silent);
            assert_eq!(outputs.len(), 1);
            assert_eq!(outputs[0].destination, Destination::Port(1));
            Packet::read(&outputs[0].bytes)
        };
        packets.iter().map(&mut send).collect()
    }

    fn pass_time(&mut self, ns: u64) {
        self.0.advance_clock(ns, &mut trace::Silent);
    }

    fn store(&mut self) -> &mut dyn Store {
        &mut self.0.runner
    }
}

/// A worker of compiled code.
pub struct Compiled {
    pub switch: Switch<Native>,
    bursts: Bursts,
}

impl Compiled {
    pub fn new(instance: &Arc<Instance>) -> Compiled {
        let switch = Switch::new(Native::new(instance, 1000).unwrap(), config()).unwrap();
        Compiled { switch, bursts: Bursts::default() }
    }

    /// Sends a burst.
    pub fn run(&mut self, packets: &[Packet]) -> Vec<Packet> {
        let mut storages: Vec<Vec<u8>> = packets.iter().map(Packet::bytes).collect();
        let mut burst: Vec<_> = storages
            .iter_mut()
            .map(|storage| {
                let n_bytes = storage.len();
                BurstPacket::new(storage, 0, n_bytes, 0)
            })
            .collect();
        let now_ns = self.switch.now_ns();
        self.bursts.process(&mut self.switch, now_ns, &mut burst, Path::Straight, &mut (), &mut Vec::new());
        let answer = |packet: &BurstPacket<'_>| {
            assert_eq!(packet.fate(), Fate::Sent(Destination::Port(1)));
            Packet::read(packet.bytes())
        };
        burst.iter().map(answer).collect()
    }
}

impl Side for Compiled {
    fn name(&self) -> &'static str {
        "compiled code"
    }

    fn send(&mut self, packets: &[Packet]) -> Vec<Packet> {
        self.run(packets)
    }

    fn pass_time(&mut self, ns: u64) {
        self.switch.advance_clock(ns, &mut ());
    }

    fn store(&mut self) -> &mut dyn Store {
        &mut self.switch.runner
    }
}

type Write<'w> = dyn FnMut(&mut dyn Store, &[TableId]) -> Result<(), TableError> + 'w;

fn written(result: Result<(), TableError>) -> Written {
    match result {
        Ok(()) => Written::Done,
        Err(TableError::Exists) => Written::Exists,
        Err(TableError::NotFound) => Written::NotFound,
        Err(TableError::Full { .. }) => Written::Full,
        Err(error) => panic!("{error}"),
    }
}

/// The entries of a table as the control plane reads them.
fn entries(store: &dyn Store, table: TableId) -> BTreeMap<u16, Entry> {
    let mut read = BTreeMap::new();
    store.visit_entries(table, &mut |entry| {
        let Some(Match::Exact(key)) = &entry.matches[0] else { panic!("{entry:?}") };
        let StoredAction::Action(action) = &entry.action else { panic!("{entry:?}") };
        let number = |i: usize| action.data[i].to_u64().unwrap() as u32;
        let stay = match entry.profile {
            Some(profile) => Stay::Profile(profile),
            None => Stay::Own(Some(entry.idle_timeout_ns).filter(|ns| *ns > 0)),
        };
        let found = Entry {
            value: number(0),
            n: number(1),
            stay,
            last_hit_ns: entry.last_hit_ns,
            is_of_packet: entry.origin == Origin::Packet,
            n_packets: entry.direct.count.n_packets,
        };
        assert!(read.insert(key.to_u64().unwrap() as u16, found).is_none(), "a key has two entries");
    });
    read
}

struct Comparison {
    tables: Vec<model::Table>,
    ids: Vec<TableId>,
    sides: Vec<Box<dyn Side>>,
    now_ns: u64,
}

impl Comparison {
    fn new(program: &Arc<Program>, instance: &Arc<Instance>, size: usize) -> Comparison {
        let interpreted = Interpreted(interp::switch(Arc::clone(program), config()).unwrap());
        Comparison {
            tables: (0..model::N_TABLES).map(|index| model::Table::new(size, index)).collect(),
            ids: program.tables.iter().map(|(id, _)| id).collect(),
            sides: vec![Box::new(interpreted), Box::new(Compiled::new(instance))],
            now_ns: 0,
        }
    }

    fn run(&mut self, step: &Step) {
        let now_ns = self.now_ns;
        match step {
            Step::Packets(packets) => {
                let tables = &mut self.tables;
                let expected: Vec<Packet> = packets
                    .iter()
                    .map(|packet| tables[usize::from(packet.table)].packet(*packet, now_ns))
                    .collect();
                for side in &mut self.sides {
                    let found = side.send(packets);
                    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        assert_eq!(found, expected, "packet {i}, {}", side.name());
                    }
                }
            }
            Step::Clock(ns) => {
                self.now_ns += ns;
                self.sides.iter_mut().for_each(|side| side.pass_time(*ns));
            }
            Step::Insert { table, key, value, n, timeout_ns } => {
                let expected = self.tables[*table].insert(*key, *value, *n, *timeout_ns, now_ns);
                let entry = new_entry(*key, *value, *n, *timeout_ns);
                self.write(expected, &mut |store, ids| {
                    store.insert(ids[*table], entry.clone(), now_ns).map(drop)
                });
            }
            Step::Modify { table, key, value, n, timeout_ns } => {
                let expected = self.tables[*table].modify(*key, *value, *n, *timeout_ns, now_ns);
                let entry = new_entry(*key, *value, *n, *timeout_ns);
                self.write(expected, &mut |store, ids| {
                    store.modify(ids[*table], entry.clone(), now_ns).map(drop)
                });
            }
            Step::Delete { table, key } => {
                let expected = self.tables[*table].delete(*key, now_ns);
                let matches = new_entry(*key, 0, 0, None).matches;
                self.write(expected, &mut |store, ids| store.delete(ids[*table], &matches, 0).map(drop));
            }
            Step::Default { table, adds } => {
                self.tables[*table].adds = *adds;
                let action = (!adds).then(|| Action { index: 2, data: Vec::new() });
                self.write(Written::Done, &mut |store, ids| {
                    store.set_default_action(ids[*table], action.clone())
                });
            }
            Step::Timeout { table, profile, timeout_ns } => {
                self.tables[*table].end(now_ns);
                self.tables[*table].timeouts_ns[usize::from(*profile)] = *timeout_ns;
                for side in &mut self.sides {
                    // A longer time brings nothing back.
                    side.store().remove_ended(now_ns);
                    assert!(side.store().set_profile(self.ids[*table], *profile, *timeout_ns));
                }
            }
        }
    }

    /// A write of the controller. What has ended is removed before, as the control plane of a switch does all the time.
    fn write(&mut self, expected: Written, write: &mut Write<'_>) {
        for side in &mut self.sides {
            side.store().remove_ended(self.now_ns);
            assert_eq!(written(write(side.store(), &self.ids)), expected, "{}", side.name());
        }
    }

    /// Entries, counts and default entries are those of the model.
    fn check(&mut self) {
        self.tables.iter_mut().for_each(|table| table.end(self.now_ns));
        for side in &mut self.sides {
            let name = side.name();
            let store = side.store();
            store.remove_ended(self.now_ns);
            for ((table, id), uses) in self.tables.iter().zip(&self.ids).zip(store.table_uses()) {
                let found = entries(store, *id);
                let keys = found.keys().chain(table.entries.keys());
                let differs = |key: &&u16| found.get(key) != table.entries.get(key);
                if let Some(key) = keys.into_iter().find(differs) {
                    panic!("{name}, key {key}: {:?} for {:?}", found.get(key), table.entries.get(key));
                }
                let counts = model::Counts {
                    n_added: uses.packets.n_added,
                    n_exists: uses.packets.n_exists + uses.packets.n_race_lost,
                    n_full: uses.packets.n_full,
                    n_expired: uses.packets.n_expired,
                    n_deleted: uses.packets.n_deleted,
                    n_expired_control: uses.packets.n_expired_control,
                    n_lookups: uses.n_lookups,
                    n_hits: uses.n_hits,
                };
                assert_eq!(counts, table.counts, "{name}");
                assert!(uses.packets.is_balanced(), "{name}: {uses:?}");
                assert_eq!(uses.n_entries, table.entries.len() as u64, "{name}");
                let n_missed = store.direct(*id, EntryRef::Default).unwrap().count;
                assert_eq!(n_missed, Count { n_packets: table.n_missed, n_bytes: 0 }, "{name}");
            }
        }
    }
}

/// Runs random steps; in the end the counts tell that enough of each kind has happened.
fn compare(size: usize, n_keys: u32, n_burst: u32, path: BurstPath, seed: u64, n_steps: u32) {
    let text = include_str!("model.p4");
    let built = build_text("model.p4", text, Some(size as u64));
    let mut comparison = Comparison::new(&built.program, &built.instance(1, path), size);
    let mut state = seed;
    // Printed if a step fails.
    println!("size {size}, {n_keys} keys, bursts of {n_burst}, {path:?}, seed {seed}");
    for i in 0..n_steps {
        let step = model::step(&mut state, n_keys, n_burst);
        println!("{i} at {} ns: {step:?}", comparison.now_ns);
        comparison.run(&step);
        if i % 8 == 7 || !matches!(step, Step::Packets(_)) {
            comparison.check();
        }
    }
    comparison.check();
    let total =
        |count: fn(&model::Counts) -> u64| comparison.tables.iter().map(|t| count(&t.counts)).sum::<u64>();
    assert!(total(|c| c.n_added) > 50 && total(|c| c.n_expired) > 20 && total(|c| c.n_deleted) > 0);
    assert!(total(|c| c.n_hits) > 50 && total(|c| c.n_expired_control) > 0);
    assert!(n_burst < 31 && size > 2 || total(|c| c.n_full) > 0);
}

#[test]
fn n21_one_worker_is_the_model_packet_by_packet() {
    compare(1, 3, 1, BurstPath::PacketByPacket, 1, 2000);
    compare(64, 100, 32, BurstPath::PacketByPacket, 2, 1000);
}

/// C15: sizes around those of buckets and hands, and bursts of all kinds.
#[test]
fn n21_c15_one_worker_is_the_model_in_bursts() {
    let seed = std::env::var("SIDING_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for (i, (size, n_burst)) in
        [(1, 32), (2, 1), (63, 64), (64, 31), (65, 2), (65, 32)].into_iter().enumerate()
    {
        let n_keys = (size as u32 * 3 / 2).max(3);
        let n_steps = 3000 / (1 + n_burst / 8).max(2) + 400;
        compare(size, n_keys, n_burst, BurstPath::Segments, seed + i as u64, n_steps);
    }
}

/// Packets of one millisecond count from its beginning.
#[test]
fn n19_times_are_whole_milliseconds() {
    let mut table = model::Table::new(4, model::FLOWS);
    let packet = Packet { table: 0, key: 1, value: 2, profile: 0, command: 0, found: 0, n: 0 };
    assert_eq!(table.packet(packet, MS / 2).found, model::ADDED);
    assert_eq!(table.packet(packet, 10_000 * MS - 1).found, model::HIT);
    table.end(19_999 * MS - 1);
    assert_eq!(table.entries.len(), 1);
    table.end(19_999 * MS);
    assert_eq!(table.entries.len(), 0);
}

/// C13: the control plane hears of an entry once each time that its timeout passes without a hit; the entry stays.
#[test]
fn c13_idle_entries_are_reported_once_per_timeout() {
    let built = build_text("model.p4", include_str!("model.p4"), Some(64));
    let told = built.program.tables.iter().nth(2).unwrap().0;
    let instance = built.instance(1, BurstPath::Segments);
    let interpreted = Interpreted(interp::switch(Arc::clone(&built.program), config()).unwrap());
    let sides: [Box<dyn Side>; 2] = [Box::new(interpreted), Box::new(Compiled::new(&instance))];
    for mut side in sides {
        let mut now_ns = 0;
        // Profile 0 is ten seconds, profile 1 thirty.
        let packets = [1, 2].map(|key| Packet {
            table: 2,
            key,
            value: 5,
            profile: key as u8 - 1,
            command: 0,
            found: 0,
            n: 0,
        });
        assert!(side.send(&packets).iter().all(|packet| packet.found == model::ADDED));
        let mut n_told = 0;
        for (passes_ns, hits, wanted) in [
            (10_000 * MS - 1, false, vec![]),
            (1, false, vec![1]),
            (1, false, vec![]),
            (9_999 * MS, false, vec![]),
            // Twenty seconds and a nanosecond.
            (MS, false, vec![1]),
            (9_000 * MS, true, vec![]),
            (9_999 * MS, false, vec![]),
            (MS, false, vec![1]),
            (20_000 * MS, false, vec![1, 2]),
        ] {
            now_ns += passes_ns;
            side.pass_time(passes_ns);
            if hits {
                assert!(side.send(&packets).iter().all(|packet| packet.found == model::HIT));
            }
            let store = side.store();
            let handles = store.take_expired(now_ns);
            let mut keys: Vec<u64> = (handles.into_iter())
                .map(|(table, handle)| {
                    assert_eq!(table, told);
                    match store.entry(table, handle).unwrap().matches.into_iter().next() {
                        Some(Some(Match::Exact(key))) => key.to_u64().unwrap(),
                        other => panic!("{other:?}"),
                    }
                })
                .collect();
            keys.sort_unstable();
            assert_eq!(keys, wanted, "at {now_ns} ns");
            n_told += wanted.len() as u64;
        }
        let uses = side.store().table_uses()[2];
        assert_eq!((uses.packets.n_notified, uses.packets.n_expired, uses.n_entries), (n_told, 0, 2));
    }
}
