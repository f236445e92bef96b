//! Entries that packets have added go on in the next program: C13 of the state in tables.

mod common;

use common::TestDir;
use control::{Schema, Target, sync};
use interp::{InterpretedDevice, Silent};
use native::{BuildOptions, Native, build, native_device};
use std::path::Path;
use std::sync::Arc;
use target::store::{PacketWrites, Store};
use target::{Config, Device};

const SECOND: u64 = 1_000_000_000;

/// A switch of either executor.
trait Subject: Target {
    /// A packet of `tests/programs/state/learn.p4`; gives what left.
    fn arrives(&mut self, bytes: &[u8]) -> Vec<u8>;
    fn wait(&mut self, ns: u64);
    /// Counts of the entries of the first table.
    fn packets(&self) -> PacketWrites;
    /// Sets the timeout of a profile of the first table.
    fn set_profile(&mut self, profile: u8, timeout_ns: u64);
}

impl Subject for InterpretedDevice {
    fn arrives(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.switch.inject(0, bytes, &mut Silent).remove(0).bytes
    }

    fn wait(&mut self, ns: u64) {
        self.switch.advance_clock(ns, &mut Silent);
    }

    fn packets(&self) -> PacketWrites {
        self.switch.runner.table_uses()[0].packets
    }

    fn set_profile(&mut self, profile: u8, timeout_ns: u64) {
        let table = ir::lookup::id_at(0);
        assert!(self.switch.runner.set_profile(table, profile, timeout_ns));
    }
}

impl Subject for Device<Native> {
    fn arrives(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.switch.inject(0, bytes, &mut ()).remove(0).bytes
    }

    fn wait(&mut self, ns: u64) {
        self.switch.advance_clock(ns, &mut ());
    }

    fn packets(&self) -> PacketWrites {
        self.switch.runner.table_uses()[0].packets
    }

    fn set_profile(&mut self, profile: u8, timeout_ns: u64) {
        let table = ir::lookup::id_at(0);
        assert!(self.switch.runner.set_profile(table, profile, timeout_ns));
    }
}

type Make<'a> = Box<dyn Fn() -> Box<dyn Subject> + 'a>;

/// Runs a test on each pair of executors: the one before, and the one that goes on.
fn each(program: &str, test: impl Fn(&Schema, &dyn Fn() -> Box<dyn Subject>, &dyn Fn() -> Box<dyn Subject>)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/state").join(program);
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable = driver::runnable(&mut checked, None);
    let runnable = runnable.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let program = Arc::new(runnable.program);
    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let interpreted: Make<'_> = Box::new(|| {
        Box::new(interp::interpreter((*program).clone(), schema.clone(), Config::default()).unwrap())
    });
    let compiled: Make<'_> = Box::new(|| {
        let pipeline = build(&program, &checked.sources, &options).unwrap();
        Box::new(native_device(pipeline, Arc::clone(&program), schema.clone(), Config::default()).unwrap())
    });
    for before in [&interpreted, &compiled] {
        for after in [&interpreted, &compiled] {
            test(&schema, before, after);
        }
    }
}

/// A packet for a key: whether its lookup of `flows` has hit, and the value that it has then.
fn asks(subject: &mut dyn Subject, key: u8, value: u8, profile: u8) -> (bool, u8) {
    let answer = subject.arrives(&[key, value, 0, profile, 0, 0, 0, 0, 0, 0]);
    (answer[4] == 1, answer[1])
}

/// Adds an entry of 10 seconds and one of 30, of which 4 have passed.
fn begin(before: &mut dyn Subject) {
    before.wait(SECOND);
    assert_eq!(asks(before, 5, 0x55, 0), (false, 0x55));
    assert_eq!(asks(before, 6, 0x66, 1), (false, 0x66));
    before.wait(4 * SECOND);
}

/// Entries have the rest of their time, and their own origin.
fn goes_on(after: &mut dyn Subject) {
    let carried = PacketWrites { n_carried: 2, n_entries: 2, ..PacketWrites::default() };
    assert_eq!(after.packets(), carried);
    after.wait(5 * SECOND + 999_000_000);
    assert_eq!(asks(after, 5, 0, 0), (true, 0x55));
    after.wait(1_000_000);
    assert_eq!(asks(after, 5, 0x77, 0), (false, 0x77), "10 seconds are over");
    assert_eq!(asks(after, 6, 0, 0), (true, 0x66), "another profile");
    let packets = after.packets();
    assert!(packets.is_balanced(), "{packets:?}");
    assert_eq!((packets.n_added, packets.n_expired, packets.n_entries), (1, 1, 2));
    // Three numbers of flows were taken before: none comes again.
    let answer = after.arrives(&[7, 0x88, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(answer[6..10], [0, 0, 0, 4]);
}

#[test]
fn c13_another_program_goes_on_with_entries_of_packets() {
    each("learn.p4", |schema, before, after| {
        let (mut from, mut to) = (before(), after());
        begin(&mut *from);
        to.wait(7 * SECOND);
        let migration = sync::migrate(schema, &mut *from, schema, &mut *to);
        assert_eq!((migration.n_refused, &migration.faults[..]), (0, &[][..]));
        goes_on(&mut *to);
    });
}

#[test]
fn c13_another_executor_goes_on_with_entries_of_packets() {
    each("learn.p4", |schema, before, after| {
        let (mut from, mut to) = (before(), after());
        begin(&mut *from);
        to.wait(7 * SECOND);
        sync::mirror(schema, &*from, &mut *to).unwrap();
        goes_on(&mut *to);
        let counts = from.packets().and_then(to.packets());
        assert!(counts.is_balanced(), "{counts:?}");
        assert_eq!((counts.n_added, counts.n_carried, counts.n_entries), (4, 0, 3));
    });
}

/// A way to go on: from one switch to another of the same program.
type Way = fn(&Schema, &mut dyn Subject, &mut dyn Subject);

/// Both ways.
const WAYS: [Way; 2] = [
    |schema, from, to| assert_eq!(sync::migrate(schema, from, schema, to).n_refused, 0),
    |schema, from, to| sync::mirror(schema, from, to).unwrap(),
];

#[test]
fn c13_timeouts_of_profiles_go_on() {
    for way in WAYS {
        each("learn.p4", |schema, before, after| {
            let (mut from, mut to) = (before(), after());
            from.set_profile(0, 3600 * SECOND);
            assert_eq!(asks(&mut *from, 5, 0x55, 0), (false, 0x55));
            way(schema, &mut *from, &mut *to);
            to.wait(3599 * SECOND);
            assert_eq!(asks(&mut *to, 5, 0, 0), (true, 0x55));
            to.wait(3600 * SECOND);
            assert_eq!(asks(&mut *to, 5, 0x66, 0), (false, 0x66));
        });
    }
}

#[test]
fn c13_another_executor_goes_on_with_the_data_of_the_default_action() {
    each("update.p4", |schema, before, after| {
        let (mut from, mut to) = (before(), after());
        let count = |subject: &mut dyn Subject| subject.arrives(&[1, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0])[4];
        assert_eq!((count(&mut *from), count(&mut *from)), (6, 7));
        sync::mirror(schema, &*from, &mut *to).unwrap();
        assert_eq!(count(&mut *to), 8);
        // It is still that of the program.
        assert!(schema.tables.iter().all(|table| to.has_default_of_program(table.id)));
    });
}

#[test]
fn u01_registers_go_on_with_their_entries() {
    // The default entry begins anew in another program.
    for (way, n_default) in WAYS.into_iter().zip([1, 3]) {
        each("u01_direct_registers.p4", |schema, before, after| {
            let (mut from, mut to) = (before(), after());
            let count = |subject: &mut dyn Subject, key: u8, table: u8| {
                subject.arrives(&[key, table, 1, 0, 0, 0, 0, 0])[4]
            };
            // The first packet counts in the default entry and adds one, which begins with 100 as well.
            assert_eq!([(); 3].map(|()| count(&mut *from, 7, 0)), [101, 101, 102]);
            assert_eq!([(); 2].map(|()| count(&mut *from, 1, 1)), [1, 2]);
            assert_eq!([(); 2].map(|()| count(&mut *from, 9, 1)), [1, 2]);
            way(schema, &mut *from, &mut *to);
            assert_eq!((count(&mut *to, 7, 0), count(&mut *to, 1, 1)), (103, 3));
            assert_eq!(count(&mut *to, 9, 1), n_default);
        });
    }
}
