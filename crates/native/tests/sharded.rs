//! Sums that each worker keeps for itself: U5. No addition of a worker is lost, none is counted twice, and readers see all of a run
//! of an action or nothing of it.

mod common;

use common::TestDir;
use control::{
    Entity, EntryQuery, Param, Query, Schema, TableAction, TableEntry, Target, Update, UpdateKind, sync,
};
use interp::Silent;
use ir::{Bits, Match, Sync, TableId};
use native::{
    BuildOptions, BurstPath, CompileOptions, Instance, InstanceOptions, Native, Optimise, Pipeline, Trace,
    build, native_device,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use target::store::{EntryAction, Matches, NewEntry, StoredAction};
use target::{Config, Device, Store};

const N_WORKERS: usize = 2;
const N_PACKETS: u64 = 20_000;

/// A program, its control plane, and what it is compiled to.
struct Program {
    ir: Arc<ir::Program>,
    schema: Arc<Schema>,
    pipeline: Arc<Pipeline>,
    _dir: TestDir,
}

impl Program {
    fn new() -> Program {
        let dir = TestDir::new();
        let options = BuildOptions { compile: dir.options(), ..Default::default() };
        Program::build(dir, &options)
    }

    fn build(dir: TestDir, options: &BuildOptions) -> Program {
        let path = "../../tests/programs/state/u05_sharded.p4";
        let source = driver::read_source(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
        let runnable = driver::runnable(&mut checked, None);
        let runnable = runnable.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        let schema = Arc::new(Schema::new(&runnable.control_plane.p4info).unwrap());
        let ir = Arc::new(runnable.program);
        let pipeline = build(&ir, &checked.sources, options).unwrap();
        Program { ir, schema, pipeline, _dir: dir }
    }

    /// A device for each worker of one instance, all of which have the same tables.
    fn workers(&self, n: usize) -> Vec<Device<Native>> {
        let n_workers = u32::try_from(n).unwrap();
        let options = InstanceOptions { n_workers, seed: 0, path: BurstPath::Auto, table_size: 1024 };
        let instance = Instance::new(Arc::clone(&self.pipeline), Arc::clone(&self.ir), options).unwrap();
        let device = |_| {
            let native = Native::new(&instance, 1000).unwrap();
            Device::new(native, Arc::clone(&self.schema), Config::default()).unwrap()
        };
        (0..n).map(device).collect()
    }

    fn interpreter(&self) -> interp::InterpretedDevice {
        interp::interpreter((*self.ir).clone(), Arc::clone(&self.schema), Config::default()).unwrap()
    }

    fn table(&self, name: &str) -> control::TableId {
        self.schema.tables.iter().find(|table| table.names.name == name).unwrap().id
    }
}

/// A packet adds 3 to two values of its entry; to the third one it adds 2, or -1 if the first bit of its key is set.
const N_ADDED: u64 = 3;
/// One packet for each entry and each default entry that has sums.
const REQUESTS: [[u8; 2]; 10] =
    [[0, 0], [0, 1], [0, 2], [0, 9], [1, 0x11], [1, 0x19], [1, 0x91], [2, 0x81], [2, 0x82], [4, 0]];
/// The first value of each of these equals the third one at any time.
const PAIRS: [&str; 4] = ["I.known", "I.prefixes", "I.masked", "I.learned"];

fn send(device: &mut Device<Native>, [table, key]: [u8; 2]) {
    assert_eq!(device.switch.inject(0, &[table, key, 0, N_ADDED as u8], &mut ()).len(), 1);
}

fn id_of(store: &Device<Native>, name: &str) -> TableId {
    store.switch.program().tables.iter().find(|(_, table)| table.name == name).unwrap().0
}

/// All entries with their data, and the default action of each table.
fn contents(store: &dyn Store, program: &ir::Program) -> Vec<(String, Matches, ir::Action)> {
    let mut found = Vec::new();
    for (id, table) in program.tables.iter() {
        let name = table.name.to_string();
        store.visit_entries(id, &mut |entry| {
            let StoredAction::Action(action) = entry.action else { panic!("{name}: an action") };
            found.push((name.clone(), entry.matches, action));
        });
        let default = store.default_action(id).unwrap();
        found.push((name, Vec::new(), default));
    }
    found.sort_by_key(|(name, matches, _)| (name.clone(), format!("{matches:?}")));
    found
}

/// The values of an entry of action `pair`; they are equal.
fn sum_of(device: &Device<Native>, table: &str, (matches, priority): &(Matches, i32)) -> Option<u64> {
    let (id, store) = (id_of(device, table), &device.switch.runner);
    let entry = store.entry(id, store.find(id, matches, *priority)?)?;
    let StoredAction::Action(action) = entry.action else { panic!("an action") };
    Some(equal_values(&action))
}

fn equal_values(action: &ir::Action) -> u64 {
    assert_eq!(action.data[0], action.data[3], "half of a run of the action");
    action.data[0].to_u64().unwrap()
}

/// Tables of the program in which it declares one entry of action `pair`, and packets for it.
const DECLARED: [(&str, [u8; 2]); 3] =
    [("I.known", [0, 0]), ("I.prefixes", [1, 0x11]), ("I.masked", [2, 0x81])];

/// The key and the priority of that entry.
fn declared(device: &Device<Native>, table: &str) -> (Matches, i32) {
    let mut found = None;
    device.switch.runner.visit_entries(id_of(device, table), &mut |entry| {
        let is_pair = matches!(&entry.action, StoredAction::Action(action) if action.data.len() == 4);
        found = found.take().or(is_pair.then_some((entry.matches, entry.priority)));
    });
    found.unwrap()
}

fn pair(value: u64, port: u64) -> ir::Action {
    let values = [(64, value), (9, port), (24, 0), (64, value)];
    let data = values.into_iter().map(|(width, value)| Bits::new(width, value.into())).collect();
    ir::Action { index: 0, data }
}

/// Runs a worker with each of the first devices, and meanwhile this with the last one. Workers are told when it has ended.
fn beside(
    devices: &mut [Device<Native>],
    work: impl Fn(&mut Device<Native>, &AtomicBool) + Send + Copy,
    control: impl FnOnce(&mut Device<Native>),
) {
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    let (controller, workers) = devices.split_last_mut().unwrap();
    std::thread::scope(|scope| {
        let _end = End(&is_over);
        for worker in workers {
            let is_over = &is_over;
            scope.spawn(move || work(worker, is_over));
        }
        control(controller);
    });
}

#[test]
fn u5_what_only_adds_is_sharded() {
    let program = Program::new();
    let chosen = |wanted: &str| {
        let (_, table) = program.ir.tables.iter().find(|(_, table)| table.name == wanted).unwrap();
        table.actions.iter().map(|action| action.sync).collect::<Vec<_>>()
    };
    assert_eq!(chosen("I.known"), [Sync::Sharded; 3]);
    assert_eq!(chosen("I.prefixes"), [Sync::Sharded; 2]);
    assert_eq!(chosen("I.masked"), [Sync::Sharded, Sync::Sharded, Sync::None]);
    assert_eq!(chosen("I.learned"), [Sync::Sharded, Sync::None]);
    assert_eq!(chosen("I.defaults"), [Sync::Sharded]);
}

/// Both compilers, where they are there, optimise the code and warn of nothing; nor do they in code that is traced.
#[test]
fn u5_code_has_no_warnings() {
    let is_there = |compiler: &&str| std::process::Command::new(compiler).arg("--version").output().is_ok();
    let compilers: Vec<&str> = ["gcc", "clang"].into_iter().filter(is_there).collect();
    assert!(!compilers.is_empty());
    let cache = TestDir::new();
    for (compiler, trace) in compilers.into_iter().flat_map(|name| [(name, Trace::Off), (name, Trace::On)]) {
        let compile = CompileOptions {
            compiler: Some(compiler.into()),
            optimise: Optimise::Little,
            trace,
            program_flags: ["-Wall", "-Wextra", "-Werror"].map(String::from).to_vec(),
            ..cache.options()
        };
        Program::build(TestDir::new(), &BuildOptions { compile, ..Default::default() });
    }
}

#[test]
fn u5_no_addition_of_two_workers_is_lost() {
    let dir = TestDir::new();
    let compile = CompileOptions { optimise: Optimise::Most, ..dir.options() };
    let program = Program::build(dir, &BuildOptions { compile, ..Default::default() });
    let mut interpreted = program.interpreter();
    let learned = [3, 7];
    let packet = |[table, key]: [u8; 2]| [table, key, 0, N_ADDED as u8];
    interpreted.switch.inject(0, &packet(learned), &mut Silent);
    for _ in 0..2 * N_PACKETS / 10 {
        for request in REQUESTS.into_iter().chain([learned]) {
            interpreted.switch.inject(0, &packet(request), &mut Silent);
        }
    }
    let expected = contents(&interpreted.switch.runner, &program.ir);
    // One worker alone, which has no shards, and two beside a reader.
    let mut alone = program.workers(1).remove(0);
    send(&mut alone, learned);
    for _ in 0..2 * N_PACKETS / 10 {
        REQUESTS.into_iter().chain([learned]).for_each(|request| send(&mut alone, request));
    }
    assert_eq!(contents(&alone.switch.runner, &program.ir), expected);
    let mut devices = program.workers(N_WORKERS + 1);
    send(&mut devices[0], learned);
    let n_done = AtomicU64::new(0);
    beside(
        &mut devices,
        |worker, _| {
            for _ in 0..N_PACKETS / 10 {
                REQUESTS.into_iter().chain([learned]).for_each(|request| send(worker, request));
            }
            n_done.fetch_add(1, Ordering::Relaxed);
        },
        |controller| {
            let (mut before, mut is_last) = (Vec::new(), false);
            while !is_last {
                is_last = n_done.load(Ordering::Relaxed) == N_WORKERS as u64;
                let of_pairs = |(name, _, action): &(String, Matches, ir::Action)| {
                    let is_pair = PAIRS.contains(&name.as_str()) && action.data.len() == 4;
                    is_pair.then(|| equal_values(action))
                };
                let now: Vec<u64> =
                    contents(&controller.switch.runner, &program.ir).iter().filter_map(of_pairs).collect();
                assert_eq!(now.len(), PAIRS.len());
                assert!(before.iter().zip(&now).all(|(before, now)| before <= now), "{before:?} {now:?}");
                before = now;
            }
        },
    );
    assert_eq!(contents(&devices[N_WORKERS].switch.runner, &program.ir), expected);
}

#[test]
fn u5_entries_come_and_go_meanwhile() {
    let program = Program::new();
    let mut devices = program.workers(N_WORKERS + 1);
    beside(
        &mut devices,
        |worker, is_over| {
            while !is_over.load(Ordering::Relaxed) {
                DECLARED.into_iter().for_each(|(_, request)| send(worker, request));
                send(worker, [3, 7]);
                send(worker, [4, 0]);
            }
        },
        |controller| {
            let keys = DECLARED.map(|(table, _)| declared(controller, table));
            for round in 1..=300_u64 {
                let from = round << 40;
                let new = |(matches, priority): &(Matches, i32)| NewEntry {
                    matches: matches.clone(),
                    priority: *priority,
                    action: EntryAction::Action(pair(from, 1 + round % 7)),
                    idle_timeout_ns: 0,
                    carried: None,
                    count: None,
                    rates: None,
                    colours: None,
                };
                for ((table, _), key) in DECLARED.iter().zip(&keys) {
                    let id = id_of(controller, table);
                    let store = &mut controller.switch.runner;
                    match round % 2 {
                        0 => {
                            store.delete(id, &key.0, key.1).unwrap();
                            assert_eq!(store.find(id, &key.0, key.1), None);
                            store.insert(id, new(key), 0).unwrap();
                        }
                        _ => {
                            store.modify(id, new(key), 0).unwrap();
                        }
                    }
                    // Nothing of the entry before is in the new one: that had another first value.
                    let n = sum_of(controller, table, key).unwrap() - from;
                    assert!(n < 1 << 40 && n.is_multiple_of(N_ADDED), "{table}: {n}");
                }
                let learned = (vec![Some(Match::Exact(Bits::new(8, 7)))], 0);
                if let Some(n) = sum_of(controller, "I.learned", &learned) {
                    assert!(n.is_multiple_of(N_ADDED), "{n}");
                    let id = id_of(controller, "I.learned");
                    controller.switch.runner.delete(id, &learned.0, 0).unwrap();
                }
                let id = id_of(controller, "I.defaults");
                let store = &mut controller.switch.runner;
                store.change_at_once(&mut |store| {
                    store.set_default_action(id, Some(pair(from, 2))).unwrap();
                    assert_eq!(equal_values(&store.default_action(id).unwrap()), from);
                });
                let n = equal_values(&store.default_action(id).unwrap()) - from;
                assert!(n < 1 << 40 && n.is_multiple_of(N_ADDED), "{n}");
            }
        },
    );
}

#[test]
fn u7_modifications_that_keep_the_sums_lose_no_addition() {
    let program = Program::new();
    let mut devices = program.workers(N_WORKERS + 1);
    let first: Vec<u64> = DECLARED
        .iter()
        .map(|(table, _)| sum_of(&devices[0], table, &declared(&devices[0], table)).unwrap())
        .collect();
    let n_done = AtomicU64::new(0);
    beside(
        &mut devices,
        |worker, _| {
            for _ in 0..N_PACKETS / 10 {
                DECLARED.into_iter().for_each(|(_, request)| send(worker, request));
            }
            n_done.fetch_add(1, Ordering::Relaxed);
        },
        |controller| {
            let mut port = 0_u128;
            while n_done.load(Ordering::Relaxed) < N_WORKERS as u64 || port == 0 {
                port = port % 7 + 1;
                for (table, _) in DECLARED {
                    let query = EntryQuery { table: Some(program.table(table)), ..Default::default() };
                    let of_pair = controller.read(&Query::TableEntries(query)).unwrap().into_iter().find_map(
                        |entity| {
                            let Entity::TableEntry(entry) = entity else { return None };
                            let Some(TableAction::Action(action)) = &entry.action else { return None };
                            (action.params.len() == 4).then_some(entry)
                        },
                    );
                    let mut entry = TableEntry { keeps_data: true, ..of_pair.unwrap() };
                    let Some(TableAction::Action(action)) = &mut entry.action else { unreachable!() };
                    // The port is the only one that is not kept.
                    for param in &mut action.params {
                        let width = param.value.bits().unwrap().width();
                        let value = Bits::new(width, if width == 9 { port } else { 0 }).into();
                        *param = Param { id: param.id, value };
                    }
                    let update = Update { kind: UpdateKind::Modify, entity: Entity::TableEntry(entry) };
                    controller.write(&update).unwrap();
                    assert!(sum_of(controller, table, &declared(controller, table)).is_some());
                }
            }
        },
    );
    for ((table, _), first) in DECLARED.into_iter().zip(first) {
        let n_added = N_WORKERS as u64 * N_PACKETS / 10 * N_ADDED;
        let sum = sum_of(&devices[0], table, &declared(&devices[0], table));
        assert_eq!(sum, Some(first + n_added), "{table}");
    }
}

#[test]
fn c13_sums_go_on_in_another_program() {
    let program = Program::new();
    let mut devices = program.workers(N_WORKERS);
    for device in &mut devices {
        for _ in 0..5 {
            REQUESTS.into_iter().chain([[3, 7]]).for_each(|request| send(device, request));
        }
    }
    let before = contents(&devices[0].switch.runner, &program.ir);
    let mut interpreted = program.interpreter();
    sync::mirror(&program.schema, &devices[0], &mut interpreted).unwrap();
    assert_eq!(contents(&interpreted.switch.runner, &program.ir), before);
    let pipeline = Arc::clone(&program.pipeline);
    let alone =
        native_device(pipeline, Arc::clone(&program.ir), Arc::clone(&program.schema), Config::default());
    let mut alone = alone.unwrap();
    let migrated = sync::migrate(&program.schema, &mut devices[0], &program.schema, &mut alone);
    assert_eq!((migrated.n_refused, &migrated.faults[..]), (0, &[][..]));
    let entries = |contents: Vec<(String, Matches, ir::Action)>| {
        contents.into_iter().filter(|(_, matches, _)| !matches.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(entries(contents(&alone.switch.runner, &program.ir)), entries(before));
}
