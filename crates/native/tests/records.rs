//! Entries as records: they do what updates do, are read as they were written, and are refused with the codes of faults.

mod common;
#[path = "common/programs.rs"]
mod programs;

use control::records::{RecordBlock, RecordLayout, RecordMatch};
use control::*;
use driver::Runnable;
use ir::Bits;
use native::{Native, native_device};
use p4info::proto::p4::v1 as pb;
use p4info::proto::siding::bulk::v1 as bulk;
use p4runtime::bulk::CheckedSet;
use programs::compiled;
use std::path::Path;
use std::sync::Arc;
use target::{Config, Device};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let v = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let v = (v ^ v >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        v ^ v >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

const TABLES: [&str; 7] = ["lean", "counted", "metered", "shared", "prefixes", "wide_prefixes", "ranked"];

fn runnable() -> (Runnable, Device<Native>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/tables.p4");
    let source = driver::read_source(&path).unwrap();
    let (runnable, pipeline) = compiled(&source);
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let device =
        native_device(pipeline, Arc::new(runnable.program.clone()), schema, Config::default()).unwrap();
    (runnable, device)
}

fn model(runnable: &Runnable) -> Device<interp::Interpreter> {
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    interp::interpreter(runnable.program.clone(), schema, Config::default()).unwrap()
}

/// Records may have all that the table has.
fn parts(table: &schema::Table) -> RecordParts {
    RecordParts {
        idle_timeout: table.has_idle_timeout,
        count: table.direct_counter.is_some(),
        rates: table.direct_meter.is_some(),
        of_controllers: false,
    }
}

/// Few keys, so that they meet.
fn valid_entry(schema: &Schema, name: &str, random: &mut Random) -> TableEntry {
    let table = schema.tables.find(name).unwrap();
    let mut matches = Vec::new();
    for key in &table.keys {
        let width = key.value.width_bits();
        let value = Bits::new(width, random.below(3).into());
        let is_left_out = key.match_kind != MatchKind::Exact && random.one_in(4);
        let value = match key.match_kind {
            MatchKind::Lpm => {
                let prefix_len = width - random.below(3) as u32;
                Match::Lpm { value: value.and(&Bits::prefix_mask(width, prefix_len)), prefix_len }
            }
            MatchKind::Ternary => {
                let mask = Bits::new(width, (1 + random.below(3)).into());
                Match::Ternary { value: value.and(&mask), mask }
            }
            MatchKind::Range => Match::Range { low: value, high: Bits::new(width, 7) },
            MatchKind::Optional => Match::Optional(value.into()),
            _ => Match::Exact(value.into()),
        };
        if !is_left_out {
            matches.push(FieldMatch { field: key.id, value });
        }
    }
    let mut entry = TableEntry::new(table.id, matches, i32::from(table.needs_priority()));
    let names: Vec<&str> = match name {
        "lean" => vec!["none", "set", "set_wide"],
        "metered" => vec!["none", "colour"],
        "wide_prefixes" => vec!["none", "set_wide"],
        _ => vec!["none", "set"],
    };
    entry.action = Some(if name == "shared" {
        match random.below(3) {
            0 => TableAction::Group(GroupId(1 + random.below(2) as u32)),
            _ => TableAction::Member(MemberId(1 + random.below(3) as u32)),
        }
    } else {
        let name = names[random.below(names.len() as u64) as usize];
        let action = table.find_action(schema, name).unwrap();
        let param = |param: &schema::ActionParam| {
            let width = param.value.width_bits();
            Param { id: param.id, value: Bits::new(width, random.next().into()).into() }
        };
        TableAction::Action(Action { id: action.id, params: action.params.iter().map(param).collect() })
    });
    if table.has_idle_timeout {
        entry.idle_timeout_ns = random.below(3) as i64 * 1_000_000_000_000;
    }
    if table.direct_counter.is_some() {
        entry.counter_data =
            Some(CounterData { n_bytes: random.below(99) as i64, n_packets: random.below(9) as i64 });
    }
    let meters = match &entry.action {
        Some(TableAction::Action(action)) => schema.direct_uses.may_meter(table.id, action.id),
        _ => false,
    };
    if table.direct_meter.is_some() && meters && random.one_in(2) {
        let number = |random: &mut Random| random.below(1 << 40) as i64;
        entry.meter_config = Some(MeterConfig {
            cir: number(random),
            cburst: number(random),
            pir: number(random),
            pburst: number(random),
            eburst: 0,
        });
    }
    entry
}

fn all(target: &mut dyn Target, schema: &Schema) -> Vec<Entity> {
    let tables = schema.tables.iter().map(|table| {
        let extras = Extras {
            counter_data: table.direct_counter.is_some(),
            meter_config: table.direct_meter.is_some(),
            ..Extras::default()
        };
        Query::TableEntries(EntryQuery { table: Some(table.id), extras, ..EntryQuery::default() })
    });
    tables.flat_map(|query| target.read(&query).unwrap()).collect()
}

/// All entries of all tables that can be records, and those that cannot, read in small steps.
fn all_by_records(target: &mut dyn Target, schema: &Schema) -> Vec<TableEntry> {
    let mut entries = Vec::new();
    for table in &schema.tables {
        let plan = target.record_plan(table.id, parts(table)).unwrap();
        let query = EntryQuery { table: Some(table.id), ..EntryQuery::default() };
        let mut reading = target.begin_read(&Query::TableEntries(query)).unwrap();
        let mut block = RecordBlock::default();
        loop {
            block.clear();
            let goes_on = target.read_records(&mut reading, &plan, 4, &mut block).unwrap();
            let metadata = |i: usize| block.metadata.iter().find(|(of, _)| *of == i);
            for (i, record) in block.records.chunks_exact(plan.layout.record_bytes).enumerate() {
                let mut entry = plan.entry(RecordOp::Insert, record);
                entry.metadata = metadata(i).map(|(_, bytes)| bytes.clone()).unwrap_or_default();
                entries.push(entry);
            }
            entries.append(&mut block.others);
            if !goes_on {
                break;
            }
        }
        target.end_read(reading);
    }
    entries
}

fn entries(all: Vec<Entity>) -> Vec<TableEntry> {
    let entry = |entity: Entity| match entity {
        Entity::TableEntry(entry) => entry,
        other => panic!("{other:?}"),
    };
    all.into_iter().map(entry).collect()
}

fn insert_members(schema: &Schema, target: &mut dyn Target) {
    let table = schema.tables.find("shared").unwrap();
    let profile = table.implementation.unwrap();
    let action = Action { id: table.find_action(schema, "none").unwrap().id, params: Vec::new() };
    let member = |i: u32| {
        let member = MemberId(i);
        Entity::ActionProfileMember(ActionProfileMember { profile, member, action: Some(action.clone()) })
    };
    let members = vec![GroupMember { member: MemberId(1), weight: 1, watch_port: None }];
    let group =
        Entity::ActionProfileGroup(ActionProfileGroup { profile, group: GroupId(1), members, max_size: 4 });
    for entity in [member(1), member(2), group] {
        target.write(&Update { kind: UpdateKind::Insert, entity }).unwrap();
    }
}

fn codes(results: Results) -> Vec<Code> {
    results.into_iter().map(|result| result.map_or_else(|fault| fault.code(), |()| Code::Ok)).collect()
}

#[test]
fn records_do_what_updates_do() {
    let (runnable, mut by_records) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let (_, mut by_updates) = self::runnable();
    let (mut model_by_records, mut model_by_updates) = (model(&runnable), model(&runnable));
    let targets: [&mut dyn Target; 4] =
        [&mut by_records, &mut by_updates, &mut model_by_records, &mut model_by_updates];
    for target in targets {
        insert_members(&schema, target);
    }
    let mut random = Random(3);
    let (mut n_ok, mut n_failed) = (0, 0);
    for round in 0..600 {
        let name = TABLES[random.below(7) as usize];
        let kind = [UpdateKind::Insert, UpdateKind::Modify, UpdateKind::Delete][random.below(3) as usize];
        let updates: Vec<Update> = (0..random.below(40))
            .map(|_| {
                let mut entry = valid_entry(&schema, name, &mut random);
                if kind != UpdateKind::Delete && round % 3 == 0 {
                    entry.metadata = vec![random.below(4) as u8; random.below(3) as usize];
                }
                Update { kind, entity: Entity::TableEntry(entry) }
            })
            .collect();
        let batch = Batch { updates, atomicity: Atomicity::ContinueOnError };
        let expected = codes(apply(&schema, &mut by_updates, &batch).unwrap());
        assert_eq!(codes(apply(&schema, &mut model_by_updates, &batch).unwrap()), expected);
        for target in [&mut by_records as &mut dyn Target, &mut model_by_records] {
            let table = schema.tables.find(name).unwrap();
            let plan = target.record_plan(table.id, parts(table)).unwrap();
            let (mut records, mut metadata) = (Vec::new(), Vec::new());
            for update in &batch.updates {
                let Entity::TableEntry(entry) = &update.entity else { unreachable!() };
                records.extend(plan.record(kind.into(), entry).unwrap());
                metadata.push(entry.metadata.as_slice());
            }
            let metadata = if round % 3 == 0 { metadata } else { Vec::new() };
            let written = target.write_records(&plan, kind.into(), &mut records, &metadata);
            assert_eq!(written.codes, expected, "{name} {kind:?}");
            assert_eq!(written.n_failed, expected.iter().filter(|code| **code != Code::Ok).count());
        }
        n_ok += expected.iter().filter(|code| **code == Code::Ok).count();
        n_failed += expected.iter().filter(|code| **code != Code::Ok).count();
        if round % 20 == 0 {
            let there = all(&mut by_updates, &schema);
            assert_eq!(all(&mut by_records, &schema), there);
            assert_eq!(all(&mut model_by_records, &schema), there);
            for target in [&mut by_records as &mut dyn Target, &mut model_by_records] {
                assert_eq!(all_by_records(target, &schema), entries(all(&mut by_updates, &schema)));
            }
        }
    }
    assert!(n_ok > 1000 && n_failed > 1000, "{n_ok} {n_failed}");
}

#[test]
fn an_upsert_inserts_or_modifies() {
    let (runnable, mut device) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let table = schema.tables.find("counted").unwrap();
    let plan = device.record_plan(table.id, parts(table)).unwrap();
    let mut random = Random(8);
    let upsert = |device: &mut Device<Native>, entries: &[TableEntry], op: RecordOp| {
        let mut records: Vec<u8> = entries.iter().flat_map(|entry| plan.record(op, entry).unwrap()).collect();
        device.write_records(&plan, op, &mut records, &[]).codes
    };
    let mut entries: Vec<TableEntry> = (0..9).map(|_| valid_entry(&schema, "counted", &mut random)).collect();
    entries.sort_by_key(|entry| format!("{:?}", entry.matches));
    entries.dedup_by_key(|entry| format!("{:?}", entry.matches));
    let mut later = entries.clone();
    later.iter_mut().for_each(|entry| entry.counter_data = Some(CounterData { n_bytes: 1, n_packets: 1 }));
    let n = entries.len();
    assert_eq!(upsert(&mut device, &entries[..2], RecordOp::Insert), [Code::Ok; 2]);
    // The last record of a key that comes twice stays.
    let twice: Vec<TableEntry> = entries.iter().chain(&later).cloned().collect();
    assert_eq!(upsert(&mut device, &twice, RecordOp::Upsert), vec![Code::Ok; 2 * n]);
    let mut there = self::entries(all(&mut device, &schema));
    there.sort_by_key(|entry| format!("{:?}", entry.matches));
    assert_eq!(there, later);
}

/// A read sees the moment at which it began, whatever records are written before its end.
#[test]
fn reads_see_one_moment() {
    let (runnable, mut device) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut random = Random(4);
    for name in ["lean", "counted", "ranked"] {
        let table = schema.tables.find(name).unwrap();
        let plan = device.record_plan(table.id, parts(table)).unwrap();
        let write = |device: &mut Device<Native>, random: &mut Random, op: RecordOp, n: usize| {
            let entries: Vec<TableEntry> = (0..n).map(|_| valid_entry(&schema, name, random)).collect();
            let mut records: Vec<u8> =
                entries.iter().flat_map(|entry| plan.record(op, entry).unwrap()).collect();
            device.write_records(&plan, op, &mut records, &[])
        };
        for _ in 0..50 {
            write(&mut device, &mut random, RecordOp::Insert, 20);
            let extras = Extras { counter_data: table.direct_counter.is_some(), ..Extras::default() };
            let query = EntryQuery { table: Some(table.id), extras, ..EntryQuery::default() };
            let query = Query::TableEntries(query);
            let mut expected = entries(device.read(&query).unwrap());
            let mut reading = device.begin_read(&query).unwrap();
            let (mut read, mut block) = (Vec::new(), RecordBlock::default());
            loop {
                block.clear();
                let goes_on = device.read_records(&mut reading, &plan, 3, &mut block).unwrap();
                let records = block.records.chunks_exact(plan.layout.record_bytes);
                read.extend(records.map(|record| plan.entry(RecordOp::Insert, record)));
                read.append(&mut block.others);
                if !goes_on {
                    break;
                }
                let op = [RecordOp::Insert, RecordOp::Modify, RecordOp::Delete][random.below(3) as usize];
                write(&mut device, &mut random, op, 3);
            }
            device.end_read(reading);
            read.sort_by_key(|entry| format!("{entry:?}"));
            expected.sort_by_key(|entry| format!("{entry:?}"));
            assert_eq!(read, expected, "{name}");
            write(&mut device, &mut random, RecordOp::Delete, 30);
        }
    }
}

/// Answers to reads that are made of records are those that are made of entries, byte for byte.
#[test]
fn answers_of_records_are_those_of_entries() {
    let (runnable, mut device) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    insert_members(&schema, &mut device);
    let mut random = Random(9);
    for round in 0..200 {
        let name = TABLES[random.below(7) as usize];
        let kind = [UpdateKind::Insert, UpdateKind::Insert, UpdateKind::Delete][random.below(3) as usize];
        for _ in 0..random.below(12) {
            let mut entry = valid_entry(&schema, name, &mut random);
            if kind == UpdateKind::Insert && round % 2 == 0 {
                entry.metadata = vec![random.below(4) as u8; random.below(3) as usize];
                entry.controller_metadata = random.below(2);
            }
            let _ = device.write(&Update { kind, entity: Entity::TableEntry(entry) });
        }
        if round % 10 != 0 {
            continue;
        }
        for table in schema.tables.iter().map(|table| Some(table.id)).chain([None]) {
            let known = table.and_then(|table| schema.tables.get(table));
            for wanted in [false, true] {
                let extras = Extras {
                    counter_data: wanted && known.is_some_and(|known| known.direct_counter.is_some()),
                    meter_config: wanted && known.is_some_and(|known| known.direct_meter.is_some()),
                    ..Extras::default()
                };
                let query = Query::TableEntries(EntryQuery { table, extras, ..EntryQuery::default() });
                let reading = device.begin_read(&query).unwrap();
                assert!(device.plan_of_read(&reading).is_some(), "no records: {query:?}");
                device.end_read(reading);
                let expected = device.read(&query).unwrap().into_iter();
                let expected = expected.map(|entity| p4runtime::encode_answer(&schema, entity)).collect();
                assert_eq!(
                    sorted(answers(&schema, &mut device, table, extras)),
                    sorted(expected),
                    "{query:?}"
                );
            }
        }
    }
}

/// Answers to a `ReadRequest` for a table, or for all.
fn answers(
    schema: &Schema,
    device: &mut Device<Native>,
    table: Option<TableId>,
    extras: Extras,
) -> Vec<pb::Entity> {
    let entry = pb::TableEntry {
        table_id: table.map_or(0, |table| table.0),
        counter_data: extras.counter_data.then(pb::CounterData::default),
        meter_config: extras.meter_config.then(pb::MeterConfig::default),
        ..pb::TableEntry::default()
    };
    let entity = pb::Entity { entity: Some(pb::entity::Entity::TableEntry(entry)) };
    let request = pb::ReadRequest { entities: vec![entity], ..pb::ReadRequest::default() };
    p4runtime::read(schema, device, &request).remove(0).unwrap()
}

fn sorted(mut entities: Vec<pb::Entity>) -> Vec<pb::Entity> {
    entities.sort_by_key(|entity| format!("{entity:?}"));
    entities
}

/// One bit is changed in a record that is valid: it is accepted, or refused with the code of the fault that is named.
#[test]
fn codes_are_those_of_faults() {
    let (runnable, mut device) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut random = Random(7);
    let mut n_refused = 0;
    for name in TABLES {
        let table = schema.tables.find(name).unwrap();
        let plan = device.record_plan(table.id, parts(table)).unwrap();
        for i in 0..3000 {
            let op = [RecordOp::Insert, RecordOp::Modify, RecordOp::Delete, RecordOp::Upsert][i % 4];
            let mut record = plan.record(op, &valid_entry(&schema, name, &mut random)).unwrap();
            assert_eq!(plan.check(op, &mut record.clone()), Ok(()), "{name}");
            assert_eq!(plan.fault(&schema, op, &record), None);
            let bit = random.below(record.len() as u64 * 8) as usize;
            record[bit / 8] ^= 1 << (bit % 8);
            let fault = plan.fault(&schema, op, &record);
            let checked = plan.check(op, &mut record);
            assert_eq!(checked.err(), fault.as_ref().map(Fault::code), "{name} {op:?} bit {bit}: {fault:?}");
            n_refused += usize::from(fault.is_some());
        }
    }
    assert!(n_refused > 3000, "{n_refused}");
}

/// Records of random entries, one after the other.
fn random_records(schema: &Schema, plan: &RecordPlan, name: &str, n: usize, random: &mut Random) -> Vec<u8> {
    let mut records = Vec::new();
    for _ in 0..n {
        let mut record = plan.record(RecordOp::Insert, &valid_entry(schema, name, random)).unwrap();
        // With the parts that the switch fills.
        assert_eq!(plan.check(RecordOp::Insert, &mut record), Ok(()));
        records.extend(record);
    }
    records
}

#[test]
fn records_are_checked_together_as_one_by_one() {
    let (runnable, mut device) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut random = Random(8);
    let mut n_refused = 0;
    for name in TABLES {
        let table = schema.tables.find(name).unwrap();
        let plan = device.record_plan(table.id, parts(table)).unwrap();
        let n_bytes = plan.layout.record_bytes;
        for i in 0..200 {
            let op = [RecordOp::Insert, RecordOp::Modify, RecordOp::Delete, RecordOp::Upsert][i % 4];
            let mut records = random_records(&schema, &plan, name, i % 20, &mut random);
            for _ in 0..(i % 3).min(records.len()) {
                let bit = random.below(records.len() as u64 * 8) as usize;
                records[bit / 8] ^= 1 << (bit % 8);
            }
            let mut alone = records.clone();
            let codes: Vec<_> =
                alone.chunks_exact_mut(n_bytes).map(|record| plan.check(op, record)).collect();
            let mut together = vec![Ok(()); codes.len()];
            plan.check_all(op, &mut records, |i, code| together[i] = Err(code));
            assert_eq!((&together, &records), (&codes, &alone), "{name} {op:?}");
            n_refused += together.iter().filter(|code| code.is_err()).count();
        }
    }
    assert!(n_refused > 200, "{n_refused}");
}

/// The column with each value as short as it can be.
fn shortened(column: &mut Option<bulk::Column>, n: usize) {
    let Some(bulk::Column { values: Some(bulk::column::Values::Fixed(all)), .. }) = column else { return };
    let (mut values, mut ends) = (Vec::new(), Vec::new());
    for value in all.chunks(all.len().checked_div(n).unwrap_or(0).max(1)) {
        values.extend(value.iter().skip_while(|byte| **byte == 0));
        ends.extend((values.len() as u32).to_le_bytes());
    }
    let values = Some(bulk::column::Values::Var(values.into()));
    *column = Some(bulk::Column { values, ends: ends.into() });
}

#[test]
fn columns_become_the_same_records_in_blocks_of_any_size() {
    let (runnable, mut device) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut random = Random(9);
    for name in TABLES {
        let table = schema.tables.find(name).unwrap();
        let plan = device.record_plan(table.id, parts(table)).unwrap();
        let n_bytes = plan.layout.record_bytes;
        for i in 0..60 {
            let n = 1 + random.below(200) as usize;
            let records = random_records(&schema, &plan, name, n, &mut random);
            let block = RecordBlock { records: records.clone(), ..RecordBlock::default() };
            let mut set = p4runtime::bulk::build_set(&plan, RecordOp::Insert, &block);
            if i % 2 == 1 {
                for key in &mut set.keys {
                    shortened(&mut key.value, n);
                    shortened(&mut key.second, n);
                }
                shortened(&mut set.count, n);
            }
            let checked = CheckedSet::new(&plan, &set).unwrap();
            assert_eq!((checked.n(), checked.faults().len()), (n, 0));
            let (mut all, mut part, mut first) = (Vec::new(), Vec::new(), 0);
            while first < n {
                let end = n.min(first + 1 + random.below(60) as usize);
                checked.read(first..end, &mut part);
                all.append(&mut part);
                first = end;
            }
            plan.check_all(RecordOp::Insert, &mut all, |i, code| panic!("{name} {i}: {code:?}"));
            for (i, (found, wanted)) in all.chunks(n_bytes).zip(records.chunks(n_bytes)).enumerate() {
                assert_eq!(found, wanted, "{name}, record {i} of {n}");
            }
            assert_eq!(all.len(), records.len());
        }
    }
}

/// All columns of a set.
fn columns_of(set: &mut bulk::TableSet) -> Vec<&mut bulk::Column> {
    let mut columns = Vec::new();
    for key in &mut set.keys {
        columns.extend(key.value.as_mut().into_iter().chain(&mut key.second));
    }
    for action in &mut set.actions {
        columns.extend(action.params.iter_mut().flat_map(|param| &mut param.value));
        match &mut action.kind {
            Some(bulk::action_set::Kind::Members(ids) | bulk::action_set::Kind::Groups(ids)) => {
                columns.push(ids)
            }
            Some(bulk::action_set::Kind::ActionId(_)) | None => {}
        }
    }
    let others =
        [&mut set.priority, &mut set.idle_timeout, &mut set.count, &mut set.meter, &mut set.metadata];
    columns.extend(others.into_iter().flatten());
    columns
}

fn random_bytes(n_max: u64, random: &mut Random) -> Vec<u8> {
    (0..random.below(n_max + 1)).map(|_| random.next() as u8).collect()
}

/// Changes one byte of a column.
fn change_a_value(set: &mut bulk::TableSet, random: &mut Random) {
    use bulk::column::Values;
    let mut columns = columns_of(set);
    if columns.is_empty() {
        return;
    }
    let at = random.below(columns.len() as u64) as usize;
    if let Some(Values::Fixed(all) | Values::Same(all) | Values::Var(all)) = &mut columns[at].values
        && !all.is_empty()
    {
        let mut bytes = all.to_vec();
        bytes[random.below(all.len() as u64) as usize] = random.next() as u8;
        *all = bytes.into();
    }
}

/// Changes the shape of a set.
fn damage(set: &mut bulk::TableSet, random: &mut Random) {
    use bulk::column::Values;
    let n = u64::from(set.n.min(100));
    match random.below(12) {
        0 => {
            set.n = [0, 1, set.n.wrapping_add(1), set.n.saturating_sub(1), 16_384, 16_385, u32::MAX]
                [random.below(7) as usize]
        }
        1 => set.op = random.below(7) as i32 - 1,
        2 => set.choice = random_bytes(2 * n, random).into(),
        3 if !set.keys.is_empty() => {
            let at = random.below(set.keys.len() as u64) as usize;
            match random.below(4) {
                0 => set.keys[at].present = random_bytes(n / 4, random).into(),
                1 => drop(set.keys.remove(at)),
                2 => set.keys.push(set.keys[at].clone()),
                _ => set.keys[at].field_id = random.below(6) as u32,
            }
        }
        4 if !set.actions.is_empty() => {
            let at = random.below(set.actions.len() as u64) as usize;
            match random.below(4) {
                0 => drop(set.actions.remove(at)),
                1 => set.actions.push(set.actions[at].clone()),
                2 => drop(set.actions[at].params.pop()),
                _ => set.actions[at].kind = None,
            }
        }
        _ => {
            let mut columns = columns_of(set);
            if columns.is_empty() {
                return;
            }
            let at = random.below(columns.len() as u64) as usize;
            let column = &mut *columns[at];
            match (random.below(6), &mut column.values) {
                (0, _) => column.values = None,
                (1, Some(Values::Fixed(all) | Values::Same(all) | Values::Var(all))) => {
                    let n = random.below(all.len() as u64 + 1) as usize;
                    *all = all.slice(..n);
                }
                (2, Some(Values::Fixed(all) | Values::Var(all))) => {
                    column.values = Some(Values::Same(all.slice(..all.len().min(4))));
                }
                (3, Some(Values::Fixed(all) | Values::Same(all))) => {
                    column.values = Some(Values::Var(all.clone()));
                    let ends = (0..n).flat_map(|_| (random.below(2 * n + 1) as u32).to_le_bytes());
                    column.ends = ends.collect::<Vec<u8>>().into();
                }
                (4, _) => column.ends = random_bytes(4 * n, random).into(),
                _ => column.values = Some(Values::Fixed(random_bytes(8 * n, random).into())),
            }
        }
    }
}

/// A set that is changed somewhere is refused, or its records are accepted or have the code of a fault that is named.
#[test]
fn damaged_sets_are_refused_or_read() {
    let (runnable, mut device) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut random = Random(10);
    let (mut n_refused, mut n_read, mut n_failed) = (0, 0, 0);
    for name in TABLES {
        let table = schema.tables.find(name).unwrap();
        let plan = device.record_plan(table.id, parts(table)).unwrap();
        let n_bytes = plan.layout.record_bytes;
        for i in 0..2000 {
            let n = random.below(30) as usize;
            let records = random_records(&schema, &plan, name, n, &mut random);
            let block = RecordBlock { records, ..RecordBlock::default() };
            let op = [RecordOp::Insert, RecordOp::Modify, RecordOp::Delete, RecordOp::Upsert][i % 4];
            let mut set = p4runtime::bulk::build_set(&plan, op, &block);
            for _ in 0..1 + random.below(3) {
                match random.one_in(4) {
                    true => damage(&mut set, &mut random),
                    false => change_a_value(&mut set, &mut random),
                }
            }
            let Ok(checked) = CheckedSet::new(&plan, &set) else {
                n_refused += 1;
                continue;
            };
            n_read += 1;
            assert_eq!(checked.n(), set.n as usize);
            assert!(checked.metadata().is_empty() || checked.metadata().len() == checked.n());
            let mut records = Vec::new();
            checked.read(0..checked.n(), &mut records);
            assert_eq!(records.len(), checked.n() * n_bytes);
            let before = records.clone();
            let mut codes = vec![Code::Ok; checked.n()];
            plan.check_all(checked.op, &mut records, |i, code| codes[i] = code);
            for (entry, fault) in checked.faults() {
                assert_ne!(codes[*entry], Code::Ok, "{name}: {fault:?}");
            }
            for (i, code) in codes.iter().enumerate().filter(|(_, code)| **code != Code::Ok) {
                let record = &before[i * n_bytes..(i + 1) * n_bytes];
                let fault = plan.fault(&schema, checked.op, record).map(|fault| fault.code());
                assert_eq!(fault, Some(*code), "{name} {:?}, entry {i}", checked.op);
                n_failed += 1;
            }
        }
    }
    assert!(n_refused > 2000 && n_read > 2000 && n_failed > 1000, "{n_refused} {n_read} {n_failed}");
}

/// A five-tuple without parameters takes 16 bytes.
#[test]
fn records_have_no_gaps() {
    let (runnable, mut device) = runnable();
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let mut layout = |name: &str, parts| -> RecordLayout {
        let table = schema.tables.find(name).unwrap().id;
        device.record_plan(table, parts).unwrap().layout.clone()
    };
    let lean = layout("lean", RecordParts::default());
    assert_eq!((lean.key_bytes, lean.action_at, lean.action_bytes, lean.data_at), (3, 3, 1, 4));
    let ranked = layout("ranked", RecordParts::default());
    let kinds = [RecordMatch::Exact, RecordMatch::Ternary, RecordMatch::Range, RecordMatch::Optional];
    assert_eq!(ranked.keys.iter().map(|key| key.kind).collect::<Vec<_>>(), kinds);
    assert_eq!((ranked.mask_at, ranked.action_at, ranked.priority_at), (Some(21), 42, Some(43)));
    let all = RecordParts { idle_timeout: true, count: true, ..RecordParts::default() };
    let counted = layout("counted", all);
    assert_eq!((counted.idle_timeout_at, counted.count_at, counted.record_bytes), (Some(8), Some(16), 32));
    let table = schema.tables.find("lean").unwrap().id;
    assert!(device.record_plan(table, all).is_none());
}
