//! Records of tables that packets write, and readers that follow them.

mod common;
#[path = "common/programs.rs"]
mod programs;

use control::records::{RecordBlock, RecordOp, RecordParts, RecordPlan};
use control::*;
use ir::Bits;
use native::{Native, native_device};
use programs::compiled;
use std::path::Path;
use std::sync::Arc;
use target::{Config, Device};

const SECOND: u64 = 1_000_000_000;

fn device() -> (Schema, Device<Native>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/state/program.p4");
    let (runnable, pipeline) = compiled(&driver::read_source(&path).unwrap());
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    let program = Arc::new(runnable.program.clone());
    let device = native_device(pipeline, program, schema.clone(), Config::default()).unwrap();
    (schema, device)
}

fn entry(schema: &Schema, table: &str, key: u8, value: u8) -> TableEntry {
    let table = schema.tables.find(table).unwrap();
    let exact = FieldMatch { field: table.keys[0].id, value: Match::Exact(Bits::new(8, key.into()).into()) };
    let mut entry = TableEntry::new(table.id, vec![exact], 0);
    let action = table.find_action(schema, "store").unwrap();
    let params = vec![Param { id: action.params[0].id, value: Bits::new(8, value.into()).into() }];
    entry.action = Some(TableAction::Action(Action { id: action.id, params }));
    entry
}

fn plan(schema: &Schema, device: &mut Device<Native>, table: &str, of_controllers: bool) -> Arc<RecordPlan> {
    let parts = RecordParts { of_controllers, ..RecordParts::default() };
    device.record_plan(schema.tables.find(table).unwrap().id, parts).unwrap()
}

fn write(device: &mut Device<Native>, plan: &RecordPlan, op: RecordOp, entry: &TableEntry) {
    let mut record = plan.record(op, entry).unwrap();
    let done = device.write_records(plan, op, &mut record, &[]);
    assert_eq!(done.n_failed, 0, "{:?}", done.codes);
}

/// A packet of table `number` for a key: it adds the entry on a miss.
fn learn(device: &mut Device<Native>, number: u8, key: u8, value: u8) {
    let packet = [number, key, value, 0, 0, 0, 0];
    assert_eq!(device.switch.inject(0, &packet, &mut ()).len(), 1);
}

fn n_entries(schema: &Schema, device: &Device<Native>, table: &str) -> usize {
    let table = Some(schema.tables.find(table).unwrap().id);
    device.read(&Query::TableEntries(EntryQuery { table, ..EntryQuery::default() })).unwrap().len()
}

#[test]
fn n16_records_of_controllers_have_no_profile() {
    let (schema, mut device) = device();
    for table in ["I.ending", "I.aged"] {
        let plan = plan(&schema, &mut device, table, false);
        write(&mut device, &plan, RecordOp::Insert, &entry(&schema, table, 1, 0x11));
        write(&mut device, &plan, RecordOp::Insert, &entry(&schema, table, 2, 0x22));
        write(&mut device, &plan, RecordOp::Modify, &entry(&schema, table, 2, 0x33));
    }
    device.switch.advance_clock(1_000_000 * SECOND, &mut ());
    for table in ["I.ending", "I.aged"] {
        assert_eq!(n_entries(&schema, &device, table), 2, "{table}");
    }
}

#[test]
fn c12_reads_for_other_switches_leave_out_entries_of_packets() {
    let (schema, mut device) = device();
    learn(&mut device, 0, 1, 0xaa);
    learn(&mut device, 0, 2, 0xbb);
    let plan_of_all = plan(&schema, &mut device, "I.aged", false);
    write(&mut device, &plan_of_all, RecordOp::Insert, &entry(&schema, "I.aged", 3, 0x33));
    for (of_controllers, n) in [(false, 3), (true, 1)] {
        let plan = plan(&schema, &mut device, "I.aged", of_controllers);
        let mut reading = device.begin_scan(plan.table, None).unwrap();
        let mut block = RecordBlock::default();
        while device.read_records(&mut reading, &plan, 1, &mut block).unwrap() {}
        device.end_read(reading);
        assert_eq!(block.records.len(), n * plan.layout.record_bytes, "{of_controllers}");
    }
}

#[test]
fn c12_readers_follow_tables_that_packets_write() {
    let (schema, mut device) = device();
    let table = schema.tables.find("I.aged").unwrap().id;
    let plan = plan(&schema, &mut device, "I.aged", true);
    learn(&mut device, 0, 9, 0xaa);
    write(&mut device, &plan, RecordOp::Insert, &entry(&schema, "I.aged", 1, 0x11));
    let follower = device.follow(&[table]).unwrap();
    let news = |device: &mut Device<Native>| -> Vec<(RecordOp, usize)> {
        let parts = RecordParts { of_controllers: true, ..RecordParts::default() };
        let changes = device.changes(follower, parts, 100).unwrap();
        changes.iter().map(|of| (of.op, of.block.records.len() / plan.layout.record_bytes)).collect()
    };
    assert_eq!(news(&mut device), []);
    for (key, kind) in [(2, UpdateKind::Insert), (3, UpdateKind::Insert), (1, UpdateKind::Modify)] {
        let update = Update { kind, entity: Entity::TableEntry(entry(&schema, "I.aged", key, 0x44)) };
        device.write(&update).unwrap();
    }
    assert_eq!(news(&mut device), [(RecordOp::Upsert, 3)]);
    write(&mut device, &plan, RecordOp::Modify, &entry(&schema, "I.aged", 2, 0x55));
    assert_eq!(news(&mut device), [(RecordOp::Upsert, 1)]);
    write(&mut device, &plan, RecordOp::Delete, &entry(&schema, "I.aged", 3, 0));
    assert_eq!(news(&mut device), [(RecordOp::Delete, 1)]);
    // A slot that another entry has taken.
    write(&mut device, &plan, RecordOp::Insert, &entry(&schema, "I.aged", 3, 0x66));
    assert_eq!(news(&mut device), [(RecordOp::Upsert, 1)]);
}
