//! Meters of all kinds mark and count in compiled code as they do in the interpreter.

use super::common::TestDir;
use super::steps::Numbers;
use control::schema::MeterType;
use control::*;
use interp::{InterpretedDevice, Silent};
use native::{BuildOptions, Native, build, native_device};
use std::path::Path;
use std::sync::Arc;
use target::{Config, Device};

/// A program on both executors.
struct Pair {
    schema: Schema,
    interpreted: InterpretedDevice,
    compiled: Device<Native>,
    _dir: TestDir,
}

const KINDS: [MeterType; 3] =
    [MeterType::TwoRateThreeColor, MeterType::SingleRateThreeColor, MeterType::SingleRateTwoColor];

impl Pair {
    /// The P4Info says how the meters mark.
    fn new(path: &str, kind: MeterType) -> Pair {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let source = driver::read_source(&path).unwrap();
        let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
        let runnable = driver::runnable(&mut checked, None);
        let runnable = runnable.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        let mut p4info = runnable.control_plane.p4info.clone();
        let number = KINDS.iter().position(|of| *of == kind).unwrap() as i32;
        let (arrays, direct) = (&mut p4info.meters, &mut p4info.direct_meters);
        for spec in arrays.iter_mut().map(|of| &mut of.spec).chain(direct.iter_mut().map(|of| &mut of.spec)) {
            spec.get_or_insert_default().r#type = number;
        }
        let schema = Schema::new(&p4info).unwrap();
        let program = &runnable.program;
        let dir = TestDir::new();
        let options = BuildOptions { compile: dir.options(), ..Default::default() };
        let pipeline = build(program, &checked.sources, &options).unwrap();
        Pair {
            interpreted: interp::interpreter(program.clone(), schema.clone(), Config::default()).unwrap(),
            compiled: native_device(pipeline, Arc::new(program.clone()), schema.clone(), Config::default())
                .unwrap(),
            schema,
            _dir: dir,
        }
    }

    fn both(&mut self) -> [&mut dyn Target; 2] {
        [&mut self.interpreted, &mut self.compiled]
    }

    fn write(&mut self, kind: UpdateKind, entity: Entity) {
        let batch = Batch { updates: vec![Update { kind, entity }], atomicity: Atomicity::ContinueOnError };
        let schema = self.schema.clone();
        for target in self.both() {
            apply(&schema, target, &batch).unwrap().remove(0).unwrap();
        }
    }

    /// Sends a packet; both give the same one.
    fn arrives(&mut self, packet: &[u8]) -> Vec<Vec<u8>> {
        let interpreted: Vec<_> = self.interpreted.switch.inject(0, packet, &mut Silent);
        let compiled = self.compiled.switch.inject(0, packet, &mut ());
        let later = self.interpreted.switch.advance_clock(1_000, &mut Silent);
        let interpreted: Vec<_> = interpreted.into_iter().chain(later).map(|out| out.bytes).collect();
        let later = self.compiled.switch.advance_clock(1_000, &mut ());
        let compiled: Vec<_> = compiled.into_iter().chain(later).map(|out| out.bytes).collect();
        assert_eq!(interpreted, compiled);
        interpreted
    }

    fn wait(&mut self, ns: u64) {
        self.interpreted.switch.advance_clock(ns, &mut Silent);
        self.compiled.switch.advance_clock(ns, &mut ());
    }

    /// Everything that can be read of meters and counters; both give the same.
    fn read(&self) -> Vec<Entity> {
        let extras =
            Extras { counter_data: true, meter_config: true, meter_counter_data: true, ..Extras::default() };
        let entries = EntryQuery { extras, ..EntryQuery::default() };
        let defaults = EntryQuery { is_default_action: true, ..entries.clone() };
        let queries = [
            Query::Meters { meter: None, index: None, with_counter_data: true },
            Query::DirectMeters { entry: None, with_counter_data: true },
            Query::TableEntries(entries),
            Query::TableEntries(defaults),
        ];
        let read = |from: &dyn Target| -> Vec<Entity> {
            queries.iter().flat_map(|query| from.read(query).unwrap()).collect()
        };
        let found = read(&self.interpreted);
        assert_eq!(found, read(&self.compiled));
        found
    }

    /// The entry of a table whose first key has this value.
    fn entry_ref(&self, table: &str, value: u128) -> EntryRef {
        let table = self.schema.tables.find(table).unwrap();
        let key = &table.keys[0];
        let value = Match::Exact(ir::Bits::new(key.value.width_bits(), value).into());
        let matches = vec![FieldMatch { field: key.id, value }];
        EntryRef { table: table.id, matches, priority: 0, is_default_action: false }
    }

    fn entry(&self, table: &str, value: u128, action: &str) -> TableEntry {
        let EntryRef { table: id, matches, .. } = self.entry_ref(table, value);
        let action = self.schema.tables.find(table).unwrap().find_action(&self.schema, action).unwrap();
        let action = Some(TableAction::Action(Action { id: action.id, params: Vec::new() }));
        TableEntry { action, ..TableEntry::new(id, matches, 0) }
    }
}

/// A config that a meter of this kind takes.
fn config(kind: MeterType, numbers: &mut Numbers) -> Option<MeterConfig> {
    let mut below = |n: u64| numbers.below(n) as i64;
    if below(8) == 0 {
        return None;
    }
    let (cir, cburst) = (below(200), below(300));
    let config = MeterConfig { cir, cburst, pir: cir, pburst: cburst, eburst: 0 };
    Some(match kind {
        MeterType::TwoRateThreeColor => MeterConfig { pir: below(400), pburst: below(600), ..config },
        MeterType::SingleRateThreeColor => MeterConfig { eburst: below(300), ..config },
        MeterType::SingleRateTwoColor => config,
    })
}

fn zeros(numbers: &mut Numbers) -> Option<MeterCounterData> {
    (numbers.below(4) == 0).then(MeterCounterData::default)
}

/// How many packets of each colour the meters of an array have counted.
fn of_arrays(found: &[Entity]) -> [i64; 3] {
    let mut n = [0; 3];
    for entity in found {
        let Entity::Meter(meter) = entity else { continue };
        let data = meter.counter_data.unwrap();
        let of = [data.green, data.yellow, data.red].map(|count| count.n_packets);
        n = [n[0] + of[0], n[1] + of[1], n[2] + of[2]];
    }
    n
}

#[test]
fn i2_meters_of_v1model_agree() {
    for kind in KINDS {
        let mut pair = Pair::new("tests/entities/meters.p4", kind);
        let meter = pair.schema.meters.find("rates").unwrap().id;
        let mut numbers = Numbers(7);
        for value in 0..6 {
            let entry = pair.entry("flows", value, "limited");
            pair.write(UpdateKind::Insert, Entity::TableEntry(entry));
        }
        let mut seen = [0_u64; 3];
        for step in 0..3000 {
            let config = config(kind, &mut numbers);
            let counter_data = zeros(&mut numbers);
            match numbers.below(40) {
                0 => {
                    let index = (numbers.below(5) > 0).then(|| numbers.below(4) as i64);
                    let entry = MeterEntry { meter, index, config, counter_data };
                    pair.write(UpdateKind::Modify, Entity::Meter(entry));
                }
                1 => {
                    let entry = pair.entry_ref("flows", u128::from(numbers.below(6)));
                    let entry = DirectMeterEntry { entry, config, counter_data };
                    pair.write(UpdateKind::Modify, Entity::DirectMeter(entry));
                }
                2 => {
                    let entry = pair.entry("flows", 0, "limited");
                    let action = entry.action.filter(|_| numbers.below(2) == 0);
                    let entry = TableEntry {
                        is_default_action: true,
                        action,
                        meter_config: config,
                        meter_counter_data: counter_data,
                        ..TableEntry::new(entry.table, vec![], 0)
                    };
                    pair.write(UpdateKind::Modify, Entity::TableEntry(entry));
                }
                3 => pair.wait(1_000_000_000 * numbers.below(5)),
                _ => {
                    pair.wait(50_000_000 * numbers.below(4));
                    let mut packet = vec![0_u8; 4 + numbers.below(60) as usize];
                    packet[0] = numbers.below(5) as u8;
                    packet[1] = numbers.below(8) as u8;
                    let sent = pair.arrives(&packet);
                    seen[usize::from(sent[0][2])] += 1;
                    seen[usize::from(sent[0][3])] += 1;
                }
            }
            if step % 50 == 0 {
                pair.read();
            }
        }
        let has_yellow = kind != MeterType::SingleRateTwoColor;
        assert!(seen[0] > 100 && seen[2] > 100 && (seen[1] > 100) == has_yellow, "{kind:?}: {seen:?}");
        pair.read();
    }
}

#[test]
fn i2_colour_aware_meters_of_psa_agree() {
    for kind in KINDS {
        let mut pair = Pair::new("../../tests/programs/psa_externs/program.p4", kind);
        let mut numbers = Numbers(11);
        let actions = ["metered", "metered_yellow"];
        for value in 0..4 {
            let entry = pair.entry("meters", value, actions[value as usize % 2]);
            pair.write(UpdateKind::Insert, Entity::TableEntry(entry));
        }
        for step in 0..1500 {
            let config = config(kind, &mut numbers);
            let counter_data = zeros(&mut numbers);
            match numbers.below(30) {
                0 => {
                    let name = ["packets", "octets"][numbers.below(2) as usize];
                    let meter = pair.schema.meters.find(name).unwrap().id;
                    let index = Some(numbers.below(4) as i64);
                    pair.write(
                        UpdateKind::Modify,
                        Entity::Meter(MeterEntry { meter, index, config, counter_data }),
                    );
                }
                1 => {
                    let entry = pair.entry_ref("meters", u128::from(numbers.below(4)));
                    let entry = DirectMeterEntry { entry, config, counter_data };
                    pair.write(UpdateKind::Modify, Entity::DirectMeter(entry));
                }
                2 => pair.wait(1_000_000_000 * numbers.below(3)),
                _ => {
                    // Colour-blind, colour-aware, and by the entry of a table; indices beyond the end and misses.
                    let mut packet = vec![0_u8; 21];
                    packet[0] = 15 + numbers.below(2) as u8;
                    if numbers.below(3) == 0 {
                        packet[0] = 18;
                    }
                    packet[1] = numbers.below(5) as u8;
                    packet[3] = 2 + numbers.below(2) as u8;
                    pair.arrives(&packet);
                }
            }
            if step % 50 == 0 {
                pair.read();
            }
        }
        let [green, yellow, red] = of_arrays(&pair.read());
        let has_yellow = kind != MeterType::SingleRateTwoColor;
        assert!(green > 0 && red > 0 && (yellow > 0) == has_yellow, "{kind:?}: {green} {yellow} {red}");
    }
}

/// A batch that fails leaves the counts of colours, and a fresh switch of the same program takes them over.
#[test]
fn d3_and_c05_counts_of_colours_are_kept() {
    let kind = MeterType::TwoRateThreeColor;
    let (mut pair, mut fresh) =
        (Pair::new("tests/entities/meters.p4", kind), Pair::new("tests/entities/meters.p4", kind));
    let entry = pair.entry("flows", 1, "limited");
    pair.write(UpdateKind::Insert, Entity::TableEntry(entry));
    for value in [1, 1, 2] {
        pair.arrives(&[1, value, 0, 0]);
    }
    let before = pair.read();
    let none = Some(MeterCounterData::default());
    let meter = pair.schema.meters.find("rates").unwrap().id;
    let modify = |entity| Update { kind: UpdateKind::Modify, entity };
    let of_default = TableEntry {
        is_default_action: true,
        meter_counter_data: none,
        ..TableEntry::new(pair.entry_ref("flows", 1).table, vec![], 0)
    };
    let direct = DirectMeterEntry { entry: pair.entry_ref("flows", 1), config: None, counter_data: none };
    let updates = vec![
        modify(Entity::Meter(MeterEntry { meter, index: None, config: None, counter_data: none })),
        modify(Entity::DirectMeter(direct)),
        modify(Entity::TableEntry(of_default)),
        modify(Entity::TableEntry(pair.entry("flows", 9, "limited"))),
    ];
    let (schema, batch) = (pair.schema.clone(), Batch { updates, atomicity: Atomicity::RollbackOnError });
    for target in pair.both() {
        let results = apply(&schema, target, &batch).unwrap();
        assert_eq!(results.last().unwrap().as_ref().unwrap_err().code(), Code::NotFound);
    }
    assert_eq!(pair.read(), before);
    for (from, to) in pair.both().into_iter().zip(fresh.both()) {
        let migration = sync::migrate(&schema, from, &schema, to);
        assert_eq!((migration.n_refused, &migration.faults[..]), (0, &[][..]));
    }
    assert_eq!(fresh.read(), before);
    // One executor takes over from the other.
    let mut mirrored = Pair::new("tests/entities/meters.p4", kind);
    sync::mirror(&schema, &pair.interpreted, &mut mirrored.compiled).unwrap();
    sync::mirror(&schema, &pair.compiled, &mut mirrored.interpreted).unwrap();
    assert_eq!(mirrored.read(), before);
}
