//! Values that controllers have under other names or with other widths than the program: entities come back as they were
//! written, and packets meet them, in the interpreter and in compiled code.

mod common;

use common::TestDir;
use control::translate::{Options, Translated, Translator, Widths, port_translation};
use control::*;
use interp::Silent;
use ir::Bits;
use native::{BuildOptions, build, native_device};
use std::path::Path;
use std::sync::Arc;
use target::{BlockRunner, Config, Device, Store};

/// Updates in the terms of controllers.
fn updates(schema: &Schema) -> Vec<Update> {
    let insert = |entity| Update { kind: UpdateKind::Insert, entity };
    let modify = |entity| Update { kind: UpdateKind::Modify, entity };
    let wide = |value| Bits::new(32, value);
    let number = |value: u64| Value::Bits(Bits::new(16, value.into()));
    let ternary = |value, mask| Match::Ternary { value: wide(value), mask: wide(mask) };
    let network = |name: &str| Match::Exact(text(name));
    let lpm = |value, prefix_len| Match::Lpm { value: wide(value), prefix_len };
    let range = |low, high| Match::Range { low: Bits::new(8, low), high: Bits::new(8, high) };
    let port = |name: &str| Port::from_bytes(name.as_bytes());
    let replica = |name: &str, instance| Replica { egress_port: port(name), instance, backups: Vec::new() };
    let replicas = vec![replica("Ethernet4", 1), replica("8", 2)];
    let register = schema.registers.find("last").unwrap().id;
    let pair = Data::Struct(vec![Data::Text("Ethernet0".into()), Data::Bits(Bits::new(8, 9))]);
    let counter = schema.counters.find("per_wide").unwrap().id;
    let data = Some(CounterData { n_bytes: 0, n_packets: 40 });
    vec![
        insert(entry(
            schema,
            "networks",
            2,
            &[("port", Match::Optional(text("Ethernet0")))],
            "enter",
            text("red"),
        )),
        insert(entry(schema, "networks", 1, &[("wide", ternary(0x1200, 0xff00))], "enter", text("blue"))),
        insert(entry(
            schema,
            "routes",
            0,
            &[("network", network("red")), ("wide", lpm(0x1200, 24))],
            "send",
            text("Ethernet4"),
        )),
        insert(entry(
            schema,
            "routes",
            0,
            &[("network", network("red")), ("wide", lpm(0x1234, 32))],
            "send",
            text("7"),
        )),
        insert(entry(schema, "routes", 0, &[("network", network("blue"))], "replicate", number(5))),
        insert(entry(schema, "ranges", 1, &[("narrow", range(3, 5))], "send", text("9"))),
        insert(Entity::MulticastGroup(MulticastGroup {
            group: MulticastGroupId(5),
            replicas,
            metadata: Vec::new(),
        })),
        modify(Entity::Register(RegisterEntry { register, index: Some(1), data: Some(pair) })),
        modify(Entity::Counter(CounterEntry { counter, index: Some(3), data })),
    ]
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

fn entry(
    schema: &Schema,
    table: &str,
    priority: i32,
    matches: &[(&str, Match)],
    action: &str,
    value: Value,
) -> Entity {
    let table = schema.tables.find(table).unwrap();
    let field = |(key, value): &(&str, Match)| FieldMatch {
        field: table.find_key(key).unwrap().id,
        value: value.clone(),
    };
    let action = table.find_action(schema, action).unwrap();
    let params = vec![Param { id: action.params[0].id, value }];
    let action = TableAction::Action(Action { id: action.id, params });
    let entry = TableEntry::new(table.id, matches.iter().map(field).collect(), priority);
    Entity::TableEntry(TableEntry { action: Some(action), ..entry })
}

/// Port and bytes of each packet that leaves.
type Sent = Vec<(Option<u32>, Vec<u8>)>;

/// Writes everything, reads it back, and sends packets. Returns what leaves for each.
fn run<E: BlockRunner + Store>(
    schema: &Arc<Schema>,
    program: &ir::Program,
    mut device: Device<E>,
    send: impl Fn(&mut Device<E>, u32, &[u8]) -> Sent,
) -> Vec<Sent> {
    let ports = port_translation(schema);
    assert_eq!(ports.as_deref(), Some("port_id_t"));
    let port_names = vec![("Ethernet0".into(), 1), ("Ethernet4".into(), 4)];
    let mut translator = Translator::new(Options { ports, port_names, ..Options::default() });
    let widths = Widths::of_program(schema, program);
    translator.adopt(schema, |by| widths.get(by)).unwrap();
    let mut outer = Translated { schema, translator: &mut translator, target: &mut device };
    let batch = Batch { updates: updates(schema), atomicity: Atomicity::RollbackOnError };
    for (result, update) in apply(schema, &mut outer, &batch).unwrap().iter().zip(&batch.updates) {
        assert_eq!(result, &Ok(()), "{}", schema.describe(&update.entity));
    }
    for update in &batch.updates {
        let found = outer.read(&Query::exactly(schema, &update.entity)).unwrap();
        assert_eq!(found, std::slice::from_ref(&update.entity), "{}", schema.describe(&update.entity));
    }
    // The last update fails, and all of them are undone.
    let delete = |update: &Update| Update { kind: UpdateKind::Delete, entity: update.entity.clone() };
    let mut deletions: Vec<Update> = batch.updates[..6].iter().map(delete).collect();
    let absent = entry(schema, "ranges", 1, &[], "send", text("9"));
    deletions.push(Update { kind: UpdateKind::Delete, entity: absent });
    let undone = Batch { updates: deletions, atomicity: Atomicity::RollbackOnError };
    assert!(apply(schema, &mut outer, &undone).unwrap().iter().all(Result::is_err));
    for update in &batch.updates[..6] {
        let found = outer.read(&Query::exactly(schema, &update.entity)).unwrap();
        assert_eq!(found, std::slice::from_ref(&update.entity));
    }
    let packets: [(u32, u16, u16); 5] =
        [(1, 0x1299, 0), (1, 0x1234, 0), (2, 0x1234, 0), (1, 0x9999, 4), (1, 0x9999, 0x104)];
    let sent: Vec<_> = packets
        .iter()
        .map(|(port, wide, narrow)| {
            let bytes = [wide.to_be_bytes(), narrow.to_be_bytes(), [0, 0]].concat();
            send(&mut device, *port, &bytes)
        })
        .collect();
    // The data plane has written a port, which has a name outside.
    let register = schema.registers.find("last").unwrap().id;
    let query = Query::Registers { register: Some(register), index: Some(0) };
    let pair = Data::Struct(vec![Data::Text("Ethernet0".into()), Data::Bits(Bits::new(8, 7))]);
    let cell = RegisterEntry { register, index: Some(0), data: Some(pair) };
    let outer = Translated { schema, translator: &mut translator, target: &mut device };
    assert_eq!(outer.read(&query).unwrap(), [Entity::Register(cell)]);
    sent
}

#[test]
fn controllers_write_names_and_packets_meet_numbers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/translation/named.p4");
    let source = driver::read_source(&path).unwrap();
    let mut checked = driver::check(&source, &driver::FileLoader::default(), &driver::Options::default());
    let runnable = driver::runnable(&mut checked, None);
    let runnable = runnable.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let schema = Arc::new(Schema::new(&runnable.control_plane.p4info).unwrap());
    let interpreted = interp::interpreter(runnable.program.clone(), Arc::clone(&schema), Config::default());
    let expected = run(&schema, &runnable.program, interpreted.unwrap(), |device, port, bytes| {
        let out = device.switch.inject(port, bytes, &mut Silent);
        out.into_iter().map(|out| (out.port(), out.bytes)).collect()
    });
    let ports: Vec<Vec<Option<u32>>> =
        expected.iter().map(|sent| sent.iter().map(|(port, _)| *port).collect()).collect();
    assert_eq!(ports, [vec![Some(4)], vec![Some(7)], vec![Some(4), Some(8)], vec![Some(9)], vec![Some(0)]]);

    let dir = TestDir::new();
    let options = BuildOptions { compile: dir.options(), ..Default::default() };
    let pipeline = build(&runnable.program, &checked.sources, &options).unwrap();
    let compiled = native_device(pipeline, runnable.program.clone(), Arc::clone(&schema), Config::default());
    let found = run(&schema, &runnable.program, compiled.unwrap(), |device, port, bytes| {
        let out = device.switch.inject(port, bytes, &mut ());
        out.into_iter().map(|out| (out.port(), out.bytes)).collect()
    });
    assert_eq!(found, expected);
}
