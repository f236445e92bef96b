//! Updates that are handed over together do what they do one by one: the same answers, and the same entities after them.

mod common;

use common::TestDir;
use control::schema::Object;
use control::*;
use driver::Runnable;
use ir::Bits;
use native::{BuildOptions, Native, build, native_device};
use std::path::Path;
use std::sync::Arc;
use target::{Config, Device, Store};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let v = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let v = (v ^ v >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (v ^ v >> 31) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A target that is never given more than one update at once.
struct OneByOne<'a>(&'a mut dyn Target);

impl Target for OneByOne<'_> {
    fn write(&mut self, update: &Update) -> Result<(), Fault> {
        self.0.write(update)
    }

    fn read(&self, query: &Query) -> Result<Vec<Entity>, Fault> {
        self.0.read(query)
    }

    fn is_batch_atomic(&self) -> bool {
        self.0.is_batch_atomic()
    }

    fn restore(&mut self, kind: UpdateKind, entity: Entity) -> Result<(), Fault> {
        self.0.restore(kind, entity)
    }

    fn has_default_of_program(&self, table: TableId) -> bool {
        self.0.has_default_of_program(table)
    }

    fn deleted_entries_of_program(&self) -> Vec<TableEntry> {
        self.0.deleted_entries_of_program()
    }
}

/// Few keys, so that they meet; now and then what nobody accepts, or only some.
fn table_entry(schema: &Schema, name: &str, random: &mut Random) -> TableEntry {
    let table = schema.tables.find(name).unwrap();
    let matches = table.keys.iter().map(|key| {
        let width = key.value.width_bits();
        let value = Bits::new(width, random.below(7).into());
        let value = match key.match_kind {
            MatchKind::Lpm => Match::Lpm { value, prefix_len: width },
            MatchKind::Ternary => Match::Ternary { value, mask: Bits::ones(width) },
            _ => Match::Exact(value.into()),
        };
        FieldMatch { field: key.id, value }
    });
    let mut matches: Vec<FieldMatch> = matches.collect();
    if random.one_in(40) {
        matches.pop();
    }
    let priority = i32::from(name == "ranked") + random.one_in(40) as i32;
    let action = table.find_action(schema, if random.one_in(3) { "none" } else { "set" }).unwrap();
    let value = |n: u64| Bits::new(12, n.into()).into();
    let mut params: Vec<Param> =
        action.params.iter().map(|param| Param { id: param.id, value: value(random.below(4096)) }).collect();
    if random.one_in(40) {
        params.clear();
    }
    let mut entry = TableEntry::new(table.id, matches, priority);
    entry.action = Some(match name {
        "shared" if !random.one_in(8) => TableAction::Member(MemberId(random.below(4) as u32)),
        _ => TableAction::Action(Action { id: action.id(), params }),
    });
    if random.one_in(8) {
        entry.controller_metadata = random.below(5);
        entry.metadata = vec![random.below(3) as u8];
    }
    if random.one_in(8) {
        entry.counter_data = Some(CounterData { n_bytes: 0, n_packets: random.below(9) as i64 });
    }
    if random.one_in(40) {
        entry.action = None;
    }
    if random.one_in(30) {
        entry.is_default_action = true;
        entry.matches.clear();
        entry.priority = 0;
    }
    entry
}

/// Mostly insertions, many of them one after the other into one table.
fn updates(schema: &Schema, n: usize, random: &mut Random) -> Vec<Update> {
    let mut name = "lean";
    let mut update = || {
        if random.one_in(12) {
            name = ["lean", "counted", "shared", "prefixes", "ranked", "large"][random.below(6) as usize];
        }
        let kind = match random.below(12) {
            0 => UpdateKind::Modify,
            1 => UpdateKind::Delete,
            _ => UpdateKind::Insert,
        };
        let entity = match random.below(30) {
            0 => {
                let profile = schema.tables.find("shared").unwrap().implementation.unwrap();
                let none = schema.tables.find("shared").unwrap().find_action(schema, "none").unwrap().id();
                let action = Action { id: none, params: Vec::new() };
                let member = MemberId(random.below(5) as u32);
                Entity::ActionProfileMember(ActionProfileMember { profile, member, action: Some(action) })
            }
            1 => Entity::MulticastGroup(MulticastGroup {
                group: MulticastGroupId(1 + random.below(3) as u32),
                replicas: Vec::new(),
                metadata: Vec::new(),
            }),
            _ => Entity::TableEntry(table_entry(schema, name, random)),
        };
        Update { kind, entity }
    };
    (0..n).map(|_| update()).collect()
}

fn text(results: Vec<Result<(), Fault>>) -> Vec<String> {
    results
        .into_iter()
        .map(|result| result.map_or_else(|fault| fault.to_string(), |()| String::new()))
        .collect()
}

/// Everything that is there; entries in the order in which they came.
fn all(target: &dyn Target, schema: &Schema) -> Vec<Entity> {
    let tables = schema.tables.iter().map(|table| {
        let extras = Extras { counter_data: table.direct_counter.is_some(), ..Extras::default() };
        Query::TableEntries(EntryQuery { table: Some(table.id), extras, ..EntryQuery::default() })
    });
    let others = [Query::Members { profile: None, member: None }, Query::MulticastGroups(None)];
    tables.chain(others).flat_map(|query| target.read(&query).unwrap()).collect()
}

fn runnable() -> (Runnable, Box<dyn Fn() -> Device<Native>>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/batches/tables.p4");
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable =
        driver::runnable(&mut checked, None).unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    let (program, info) = (Arc::new(runnable.program.clone()), runnable.control_plane.p4info.clone());
    let new = move || {
        let _keep = &dir;
        let schema = Schema::new(&info).unwrap();
        native_device(Arc::clone(&pipeline), Arc::clone(&program), schema, Config::default()).unwrap()
    };
    (runnable, Box::new(new))
}

#[test]
fn together_is_as_one_by_one() {
    let (runnable, new_native) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut random = Random(5);
    let (mut n_ok, mut n_refused, mut n_aborted) = (0, 0, 0);
    for round in 0..40 {
        let mut devices = [new_native(), new_native()];
        let model = interp::interpreter(runnable.program.clone(), schema.clone(), Config::default());
        let mut model = model.unwrap();
        for _ in 0..4 {
            let is_small = random.one_in(2);
            let atomicity = match (is_small, round % 3) {
                (true, 1) => Atomicity::RollbackOnError,
                (true, 2) => Atomicity::DataplaneAtomic,
                _ => Atomicity::ContinueOnError,
            };
            let n = if is_small { random.below(8) } else { random.below(300) };
            let batch = Batch { updates: updates(&schema, n as usize, &mut random), atomicity };
            let [together, one_by_one] = &mut devices;
            let answers = text(apply(&schema, together, &batch).unwrap());
            assert_eq!(answers, text(apply(&schema, &mut OneByOne(one_by_one), &batch).unwrap()));
            assert_eq!(answers, text(apply(&schema, &mut model, &batch).unwrap()));
            assert_eq!(all(together, &schema), all(one_by_one, &schema));
            assert_eq!(all(together, &schema), all(&model, &schema));
            n_ok += answers.iter().filter(|answer| answer.is_empty()).count();
            n_refused += answers.iter().filter(|answer| !answer.is_empty()).count();
            n_aborted +=
                usize::from(atomicity != Atomicity::ContinueOnError && answers.iter().any(|a| !a.is_empty()));
        }
    }
    assert!(n_ok > 2000 && n_refused > 2000 && n_aborted > 5, "{n_ok} {n_refused} {n_aborted}");
}

/// So many that room is made for them, of which some come twice, and the last ones find none.
#[test]
fn thousands_together() {
    let (runnable, new_native) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut random = Random(6);
    let (mut together, mut one_by_one) = (new_native(), new_native());
    let table = schema.tables.find("large").unwrap();
    for n in [100, 5000, 20_000] {
        let mut insert = || {
            let mut entry = table_entry(&schema, "large", &mut random);
            if let [a, b] = &mut entry.matches[..] {
                a.value = Match::Exact(Bits::new(8, random.below(4).into()).into());
                b.value = Match::Exact(Bits::new(12, random.below(4096).into()).into());
            }
            Update { kind: UpdateKind::Insert, entity: Entity::TableEntry(entry) }
        };
        let updates: Vec<Update> = (0..n).map(|_| insert()).collect();
        let batch = Batch { updates, atomicity: Atomicity::ContinueOnError };
        let answers = text(apply(&schema, &mut together, &batch).unwrap());
        assert_eq!(answers, text(apply(&schema, &mut OneByOne(&mut one_by_one), &batch).unwrap()));
        assert_eq!(all(&together, &schema), all(&one_by_one, &schema));
    }
    let id = together.entities.names().tables[&table.id];
    let mut n_entries = 0;
    together.switch.runner.visit_entries(id, &mut |_| n_entries += 1);
    assert_eq!(n_entries, 9000);
}
