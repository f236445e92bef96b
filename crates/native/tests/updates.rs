//! Two workers change the same entries, with each way in which they keep the changes apart: U1, U5 and U8.

mod common;

use common::TestDir;
use ir::{Match, Sync, TableId};
use native::{
    BuildOptions, BurstPacket, BurstPath, Bursts, Control, Fate, Instance, InstanceOptions, Native, Path,
    build,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::store::StoredAction;
use target::traffic::{Destination, Ports};
use target::{Config, Store, Switch};

const N_WORKERS: u64 = 2;
const N_BURSTS: u64 = 3000;
/// Packets of a burst, one for each entry of table `one` and of `masked`, and one for the default entry.
const REQUESTS: [[u8; 2]; 13] =
    [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6], [0, 7], [0, 8], [0, 9], [1, 0], [1, 4], [2, 0]];
/// The entry whose packets all come to one worker.
const ALONE: [u8; 2] = [0, 7];

fn instance(n_workers: u32) -> Arc<Instance> {
    instance_of("sync.p4", n_workers)
}

fn instance_of(program: &str, n_workers: u32) -> Arc<Instance> {
    let programs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/state");
    let source = driver::read_source(&programs.join(program)).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    let options = InstanceOptions { n_workers, seed: 0, path: BurstPath::Segments, table_size: 1024 };
    Instance::new(pipeline, Arc::new(runnable.program), options).unwrap()
}

fn run_worker(instance: &Arc<Instance>, is_first: bool) {
    let wanted = REQUESTS.iter().filter(|request| is_first || **request != ALONE);
    let packets: Vec<Vec<u8>> = wanted.map(|[table, key]| vec![*table, *key, 0, 7]).collect();
    send(instance, &packets);
}

/// Sends these packets in each burst.
fn send(instance: &Arc<Instance>, packets: &[Vec<u8>]) {
    let config = Config { ports: Ports::Listed((0..8).collect()), ..Default::default() };
    let mut switch = Switch::new(Native::new(instance, 1000).unwrap(), config).unwrap();
    let mut bursts = Bursts::default();
    for _ in 0..N_BURSTS {
        let mut storages = packets.to_vec();
        let mut burst: Vec<_> = (storages.iter_mut())
            .map(|storage| {
                let length = storage.len();
                storage.resize(length + 4, 0);
                BurstPacket::new(storage, 0, length, 0)
            })
            .collect();
        bursts.process(&mut switch, 0, &mut burst, Path::Straight, &mut (), &mut Vec::new());
        assert!(burst.iter().all(|packet| packet.fate() == Fate::Sent(Destination::Port(1))));
    }
}

/// The value of each entry of a table.
fn values(control: &Control, table: TableId) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    control.visit_entries(table, &mut |entry| {
        let key = match &entry.matches[0] {
            Some(Match::Exact(key) | Match::Ternary { value: key, .. }) => key.to_u64().unwrap(),
            other => panic!("{other:?}"),
        };
        let StoredAction::Action(action) = &entry.action else { panic!("{entry:?}") };
        found.insert(key, action.data[0].to_u64().unwrap());
    });
    found
}

#[test]
fn u5_the_compiler_chooses_for_each_action() {
    let instance = instance(1);
    let one = &instance.program().tables.iter().next().unwrap().1;
    let chosen: Vec<(&str, Sync)> =
        one.actions.iter().map(|action| (action.name.trim_start_matches("I."), action.sync)).collect();
    assert_eq!(
        chosen,
        [
            ("add", Sync::Atomic),
            ("subtract", Sync::Atomic),
            ("mark", Sync::Atomic),
            ("keep_last", Sync::Atomic),
            ("saturate", Sync::Sequence),
            ("add_narrow", Sync::Sharded),
            ("add_in_sequence", Sync::Sequence),
            ("add_alone", Sync::None),
            ("read", Sync::None),
            ("add_of", Sync::Atomic),
            ("NoAction", Sync::None),
        ]
    );
}

#[test]
fn u8_no_change_of_two_workers_is_lost() {
    let instance = instance(u32::try_from(N_WORKERS).unwrap());
    let control = Control::new(Arc::clone(&instance));
    let tables: Vec<TableId> = instance.program().tables.iter().map(|(id, _)| id).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            // Values only grow, whatever the reader meets.
            let (mut before, mut n_reads) = (BTreeMap::new(), 0_u64);
            while !is_over.load(Ordering::Relaxed) || n_reads == 0 {
                let now = values(&control, tables[0]);
                for key in [0, 4, 5, 6, 7] {
                    assert!(before.get(&key).is_none_or(|before| *before <= now[&key]), "{before:?} {now:?}");
                }
                before = now;
                n_reads += 1;
            }
        });
        let workers: Vec<_> = (0..N_WORKERS)
            .map(|i| {
                scope.spawn({
                    let instance = &instance;
                    move || run_worker(instance, i == 0)
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    let n = N_WORKERS * N_BURSTS;
    let of_one = values(&control, tables[0]);
    let minus = u64::from(0_u32.wrapping_sub(u32::try_from(n).unwrap()));
    let expected =
        [(0, n), (1, minus), (2, 2), (3, 7), (4, 1000), (5, n), (6, n), (7, N_BURSTS), (8, 5), (9, 2 * n)];
    assert_eq!(of_one, expected.into_iter().collect());
    assert_eq!(values(&control, tables[1]), [(0, n), (4, 1000)].into_iter().collect());
    let default = control.default_action(tables[2]).unwrap();
    assert_eq!(default.data[0].to_u64(), Some(n));
}

#[test]
fn u1_no_change_of_a_register_is_lost() {
    let instance = instance_of("u01_direct_registers.p4", u32::try_from(N_WORKERS).unwrap());
    // Key and table. The first packet of one of the workers adds the entry of the first one.
    let packets: Vec<Vec<u8>> = [[5, 0], [1, 1], [9, 1], [0x71, 2]]
        .iter()
        .map(|[key, table]| vec![*key, *table, 1, 0, 0, 0, 0, 0])
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..N_WORKERS {
            scope.spawn(|| send(&instance, &packets));
        }
    });
    let control = Control::new(Arc::clone(&instance));
    let tables: Vec<(TableId, &str)> =
        instance.program().tables.iter().map(|(id, table)| (id, table.name.as_str())).collect();
    let table = |wanted: &str| tables.iter().find(|(_, name)| *name == wanted).unwrap().0;
    // The first value of the registers, which is the only one or comes before another.
    let register = |table: TableId, action: &ir::Action| {
        let n_registers = instance.program().tables[table].registers.len();
        action.data[action.data.len() - n_registers].to_u64().unwrap()
    };
    let entry = |table: TableId, wanted: u64| {
        let mut found = None;
        control.visit_entries(table, &mut |entry| {
            let (Some(Match::Exact(key) | Match::Ternary { value: key, .. }), StoredAction::Action(action)) =
                (&entry.matches[0], &entry.action)
            else {
                panic!("{entry:?}")
            };
            found = found.or((key.to_u64() == Some(wanted)).then(|| register(table, action)));
        });
        found.unwrap()
    };
    let default = |table: TableId| register(table, &control.default_action(table).unwrap());
    let n = N_WORKERS * N_BURSTS;
    let (learned, known, masked) = (table("I.learned"), table("I.known"), table("I.masked"));
    // Each packet counts in the default entry, or in the one that was added. Both began with 100.
    assert_eq!(default(learned) + entry(learned, 5), 100 + 100 + n);
    assert_eq!((entry(known, 1), default(known)), (n, n));
    assert_eq!(entry(masked, 0x70), (0xff_fffe + 3 * n) & 0xff_ffff);
}
