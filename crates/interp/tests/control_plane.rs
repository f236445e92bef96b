//! Entities written to and read from a program, through the same door as every controller.

use control::schema::{Object, ReplicationWidths};
use control::*;
use interp::traffic::Config;
use interp::{InterpretedDevice, Silent};
use ir::Bits;
use std::path::Path;

/// The router of `examples/`.
fn router() -> InterpretedDevice {
    load("examples/01-router/router.p4")
}

fn load(program: &str) -> InterpretedDevice {
    let runnable = compile(program);
    let schema = Schema::new(&runnable.control_plane.p4info).unwrap();
    interp::interpreter(runnable.program, schema, Config::default()).unwrap()
}

fn compile(program: &str) -> driver::Runnable {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(program);
    let source = driver::read_source(&path).unwrap();
    let loader = driver::FileLoader::default();
    let mut checked = driver::check(&source, &loader, &driver::Options::default());
    let runnable = driver::runnable(&mut checked, None);
    runnable.unwrap_or_else(|| panic!("{:?}", checked.diagnostics))
}

fn write(router: &mut InterpretedDevice, kind: UpdateKind, entity: Entity) -> Result<(), String> {
    let schema = std::sync::Arc::clone(&router.entities.schema);
    let update = Update { kind, entity };
    let batch = Batch { updates: vec![update], atomicity: Atomicity::ContinueOnError };
    apply(&schema, router, &batch)
        .unwrap()
        .remove(0)
        .map_err(|fault| format!("{}: {fault}", fault.code().name()))
}

fn entry(
    router: &InterpretedDevice,
    table: &str,
    matches: &[(&str, Match)],
    action: &str,
    params: &[Bits],
) -> TableEntry {
    let schema = &router.entities.schema;
    let table = schema.tables.find(table).unwrap();
    let matches = matches
        .iter()
        .map(|(key, value)| FieldMatch { field: table.find_key(key).unwrap().id, value: value.clone() });
    let action = table.find_action(schema, action).unwrap();
    let params = action.params.iter().zip(params);
    let action = Action {
        id: action.id(),
        params: params.map(|(p, v)| Param { id: p.id, value: v.clone().into() }).collect(),
    };
    let mut entry = TableEntry::new(table.id, matches.collect(), 0);
    entry.action = Some(TableAction::Action(action));
    entry
}

fn lpm(value: u128, prefix_len: u32) -> Match {
    Match::Lpm { value: Bits::new(32, value), prefix_len }
}

fn route(router: &InterpretedDevice, value: u128, prefix_len: u32, next_hop: u128) -> TableEntry {
    let matches = [("destination", lpm(value, prefix_len))];
    entry(router, "routes", &matches, "set_next_hop", &[Bits::new(16, next_hop)])
}

fn next_hop(router: &InterpretedDevice, id: u128, port: u128) -> TableEntry {
    let matches = [("next_hop", Match::Exact(Bits::new(16, id).into()))];
    let params = [Bits::new(9, port), Bits::new(48, 0xaa), Bits::new(48, 0xbb)];
    entry(router, "next_hops", &matches, "forward", &params)
}

fn insert(router: &mut InterpretedDevice, entry: TableEntry) -> Result<(), String> {
    write(router, UpdateKind::Insert, Entity::TableEntry(entry))
}

/// An IPv4 packet with a good checksum.
fn packet(destination: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0];
    let mut ip = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 99, 0, 0, 192, 168, 0, 1];
    ip.extend_from_slice(&destination);
    let sum: u32 = ip.chunks(2).map(|c| u32::from(c[0]) << 8 | u32::from(c[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(ip);
    bytes
}

#[test]
fn a_router_routes_as_it_is_told() {
    let mut router = router();
    for entry in [route(&router, 0x0a00_0000, 8, 1), route(&router, 0x0a01_0000, 16, 2)] {
        insert(&mut router, entry).unwrap();
    }
    for entry in [next_hop(&router, 1, 3), next_hop(&router, 2, 4)] {
        insert(&mut router, entry).unwrap();
    }
    let ports = |router: &mut InterpretedDevice, ip| {
        let out = router.switch.inject(1, &packet(ip), &mut Silent);
        out.iter().map(|o| o.port()).collect::<Vec<_>>()
    };
    assert_eq!(ports(&mut router, [10, 9, 9, 9]), [Some(3)]);
    assert_eq!(ports(&mut router, [10, 1, 9, 9]), [Some(4)]);
    assert_eq!(ports(&mut router, [11, 1, 9, 9]), []);
    let short = route(&router, 0x0a01_0000, 16, 0);
    write(&mut router, UpdateKind::Delete, Entity::TableEntry(short)).unwrap();
    assert_eq!(ports(&mut router, [10, 1, 9, 9]), [Some(3)]);
}

#[test]
fn what_is_written_can_be_read() {
    let mut router = router();
    let mut written = vec![route(&router, 0x0a00_0000, 8, 1), route(&router, 0x0a01_0000, 16, 2)];
    written[0].metadata = b"first".to_vec();
    for entry in &written {
        insert(&mut router, entry.clone()).unwrap();
    }
    let table = written[0].table;
    let query = EntryQuery { table: Some(table), ..EntryQuery::default() };
    let read = router.read(&Query::TableEntries(query.clone())).unwrap();
    assert_eq!(read, written.iter().cloned().map(Entity::TableEntry).collect::<Vec<_>>());
    let one = EntryQuery { matches: written[1].matches.clone(), ..query.clone() };
    let read = router.read(&Query::TableEntries(one)).unwrap();
    assert_eq!(read, [Entity::TableEntry(written[1].clone())]);
    let first = EntryQuery { metadata: b"first".to_vec(), ..query.clone() };
    assert_eq!(router.read(&Query::TableEntries(first)).unwrap().len(), 1);
    // Another route to the same place.
    let again = insert(&mut router, written[0].clone()).unwrap_err();
    assert!(again.starts_with("ALREADY_EXISTS: the entry of table"), "{again}");
    let missing = route(&router, 0x0b00_0000, 8, 1);
    let missing = write(&mut router, UpdateKind::Modify, Entity::TableEntry(missing)).unwrap_err();
    assert!(missing.starts_with("NOT_FOUND: "), "{missing}");
    // The default entry.
    let default = EntryQuery { is_default_action: true, ..query };
    let read = router.read(&Query::TableEntries(default)).unwrap();
    assert!(
        matches!(&read[..], [Entity::TableEntry(e)] if e.is_default_action && e.action.is_some()),
        "{read:?}"
    );
}

#[test]
fn counters_count_and_can_be_set() {
    let mut router = router();
    let entry = route(&router, 0x0a00_0000, 8, 1);
    insert(&mut router, entry.clone()).unwrap();
    let hop = next_hop(&router, 1, 3);
    insert(&mut router, hop).unwrap();
    for _ in 0..3 {
        router.switch.inject(5, &packet([10, 0, 0, 1]), &mut Silent);
    }
    let direct = EntryRef {
        table: entry.table,
        matches: entry.matches.clone(),
        priority: 0,
        is_default_action: false,
    };
    let read = router.read(&Query::DirectCounters { entry: Some(direct.clone()) }).unwrap();
    let Entity::DirectCounter(counter) = &read[0] else { panic!("{read:?}") };
    assert_eq!(counter.data.map(|d| d.n_packets), Some(3));
    let zero = DirectCounterEntry { entry: direct.clone(), data: Some(CounterData::default()) };
    write(&mut router, UpdateKind::Modify, Entity::DirectCounter(zero)).unwrap();
    let read = router.read(&Query::DirectCounters { entry: Some(direct) }).unwrap();
    assert!(matches!(&read[..], [Entity::DirectCounter(c)] if c.data == Some(CounterData::default())));
    let counter = router.entities.schema.counters.find("received").unwrap().id;
    let query = Query::Counters { counter: Some(counter), index: Some(5) };
    let read = router.read(&query).unwrap();
    assert!(
        matches!(&read[..], [Entity::Counter(c)] if c.data.is_some_and(|d| d.n_packets == 3)),
        "{read:?}"
    );
    let all = router.read(&Query::Counters { counter: Some(counter), index: None }).unwrap();
    assert_eq!(all.len(), 64);
}

#[test]
fn replication_is_kept_by_the_switch() {
    let mut router = router();
    let replica = |port, instance| Replica { egress_port: Port::number(port), instance, backups: vec![] };
    let group = MulticastGroup {
        group: MulticastGroupId(5),
        replicas: vec![replica(1, 0), replica(2, 7)],
        metadata: b"m".to_vec(),
    };
    write(&mut router, UpdateKind::Insert, Entity::MulticastGroup(group.clone())).unwrap();
    let twice = write(&mut router, UpdateKind::Insert, Entity::MulticastGroup(group.clone()));
    assert!(twice.unwrap_err().starts_with("ALREADY_EXISTS"));
    let read = router.read(&Query::MulticastGroups(None)).unwrap();
    assert_eq!(read, [Entity::MulticastGroup(group.clone())]);
    write(&mut router, UpdateKind::Delete, Entity::MulticastGroup(group)).unwrap();
    assert_eq!(router.read(&Query::MulticastGroups(None)).unwrap(), []);
    let session = CloneSession {
        session: CloneSessionId(9),
        replicas: vec![replica(3, 1)],
        class_of_service: 0,
        packet_length_bytes: 100,
    };
    write(&mut router, UpdateKind::Insert, Entity::CloneSession(session.clone())).unwrap();
    let read = router.read(&Query::CloneSessions(Some(CloneSessionId(9)))).unwrap();
    assert_eq!(read, [Entity::CloneSession(session)]);
}

#[test]
fn a_batch_that_fails_leaves_nothing() {
    let mut router = router();
    let good = route(&router, 0x0a00_0000, 8, 1);
    let updates = [good.clone(), good.clone()]
        .map(|entry| Update { kind: UpdateKind::Insert, entity: Entity::TableEntry(entry) });
    let batch = Batch { updates: updates.to_vec(), atomicity: Atomicity::DataplaneAtomic };
    let schema = std::sync::Arc::clone(&router.entities.schema);
    let results = apply(&schema, &mut router, &batch).unwrap();
    assert!(results.iter().all(Result::is_err), "{results:?}");
    let query = EntryQuery { table: Some(good.table), ..EntryQuery::default() };
    assert_eq!(router.read(&Query::TableEntries(query)).unwrap(), []);
}

/// Entries of the table with a selector, as they are answered.
fn entries(device: &InterpretedDevice, table: TableId) -> Vec<TableEntry> {
    let query = EntryQuery { table: Some(table), ..EntryQuery::default() };
    let read = device.read(&Query::TableEntries(query)).unwrap();
    let entry = |entity| match entity {
        Entity::TableEntry(entry) => entry,
        other => panic!("{other:?}"),
    };
    read.into_iter().map(entry).collect()
}

#[test]
fn one_shots_are_answered_as_written_and_stay_where_an_update_does_not_name_an_action() {
    let mut device = load("tests/programs/profiles/program.p4");
    let key = [("headers.probe.a", Match::Exact(Bits::new(32, 1).into()))];
    let mut written = entry(&device, "spread", &key, "answer", &[Bits::new(16, 0x33)]);
    let Some(TableAction::Action(action)) = written.action.take() else { panic!("{written:?}") };
    let weighted = |weight| WeightedAction { action: action.clone(), weight, watch_port: None };
    let one_shot = OneShot {
        actions: vec![weighted(1), weighted(3), weighted(1)],
        selection_mode: SelectionMode::OfSelector,
        size_semantics: SizeSemantics::OfSelector,
        group_action: None,
    };
    written.action = Some(TableAction::OneShot(one_shot));
    written.metadata = vec![7, 8];
    insert(&mut device, written.clone()).unwrap();
    let table = written.table;
    assert_eq!(entries(&device, table), [written.clone()]);
    // Other metadata, the same action.
    let unnamed = TableEntry { action: None, metadata: vec![9], controller_metadata: 5, ..written.clone() };
    write(&mut device, UpdateKind::Modify, Entity::TableEntry(unnamed.clone())).unwrap();
    let modified = TableEntry { action: written.action.clone(), ..unnamed };
    assert_eq!(entries(&device, table), [modified]);
    let mut packet = [0; 14];
    packet[4] = 1;
    let out = device.switch.inject(0, &packet, &mut Silent).remove(0);
    assert_eq!(out.bytes[11..13], [0, 0x33]);
    // What a deleted entry said is gone with it.
    write(&mut device, UpdateKind::Delete, Entity::TableEntry(written.clone())).unwrap();
    let plain = TableEntry { metadata: vec![], ..written };
    insert(&mut device, plain.clone()).unwrap();
    assert_eq!(entries(&device, table), [plain]);
}

#[test]
fn groups_keep_their_members_and_their_largest_size() {
    let mut device = load("tests/programs/profiles/program.p4");
    let profile = device.entities.schema.profiles.find("paths").unwrap().id;
    let some_entry = entry(
        &device,
        "spread",
        &[("headers.probe.a", Match::Exact(Bits::new(32, 1).into()))],
        "answer",
        &[Bits::new(16, 0x11)],
    );
    let Some(TableAction::Action(action)) = some_entry.action else { panic!("no action") };
    let member = ActionProfileMember { profile, member: MemberId(1), action: Some(action) };
    write(&mut device, UpdateKind::Insert, Entity::ActionProfileMember(member.clone())).unwrap();
    let read = device.read(&Query::Members { profile: Some(profile), member: None }).unwrap();
    assert_eq!(read, [Entity::ActionProfileMember(member)]);
    let of = |weight, watch_port: Option<u64>| GroupMember {
        member: MemberId(1),
        weight,
        watch_port: watch_port.map(Port::number),
    };
    let group = ActionProfileGroup { profile, group: GroupId(7), members: vec![of(2, Some(9))], max_size: 4 };
    write(&mut device, UpdateKind::Insert, Entity::ActionProfileGroup(group.clone())).unwrap();
    // A port that is no number would be forgotten.
    let wide = GroupMember { watch_port: Some(Port::from_bytes(&[1; 9])), ..of(1, None) };
    let unknown = ActionProfileGroup { group: GroupId(8), members: vec![wide], ..group.clone() };
    let refused = write(&mut device, UpdateKind::Insert, Entity::ActionProfileGroup(unknown)).unwrap_err();
    assert!(refused.starts_with("INVALID_ARGUMENT: port"), "{refused}");
    let query = Query::Groups { profile: None, group: Some(GroupId(7)) };
    assert_eq!(device.read(&query).unwrap(), [Entity::ActionProfileGroup(group.clone())]);
    let larger = ActionProfileGroup { max_size: 5, ..group.clone() };
    let refused = write(&mut device, UpdateKind::Modify, Entity::ActionProfileGroup(larger.clone()));
    assert!(refused.unwrap_err().contains("max"));
    assert_eq!(device.read(&query).unwrap(), [Entity::ActionProfileGroup(group.clone())]);
    // A new group of the same name begins anew.
    write(&mut device, UpdateKind::Delete, Entity::ActionProfileGroup(group)).unwrap();
    write(&mut device, UpdateKind::Insert, Entity::ActionProfileGroup(larger.clone())).unwrap();
    assert_eq!(device.read(&query).unwrap(), [Entity::ActionProfileGroup(larger)]);
}

/// The widths of v1model's `mcast_grp`, `egress_rid` and `priority`.
#[test]
fn j1_replication_is_as_wide_as_the_fields_of_the_program() {
    let router = router();
    let widths = ReplicationWidths::of_program(&router.switch.runner.executable().program);
    assert_eq!(widths, ReplicationWidths { multicast_group: 16, instance: 16, class_of_service: 3 });
}

/// The answer to a default entry with direct resources, by the names of table and action.
fn set_default(schema: &Schema, table: &str, action: &str, has: (bool, bool)) -> Result<(), String> {
    let table = schema.tables.find(table).unwrap();
    let action = table.find_action(schema, action).unwrap();
    let params = action.params.iter().map(|param| Param { id: param.id, value: Bits::zero(8).into() });
    let action = Action { id: action.id, params: params.collect() };
    let entry = TableEntry {
        counter_data: has.0.then(CounterData::default),
        meter_config: has.1.then(MeterConfig::default),
        ..TableEntry::default_entry(table.id, Some(action))
    };
    let update = Update { kind: UpdateKind::Modify, entity: Entity::TableEntry(entry) };
    validate(schema, &update).map_err(|fault| format!("{}: {fault}", fault.code().name()))
}

#[test]
fn g8_direct_resources_are_written_for_actions_that_use_them() {
    let with_program = |device: &InterpretedDevice| {
        Schema::clone(&device.entities.schema).with_program(&device.switch.runner.executable().program)
    };
    let device = load("tests/programs/psa_externs/program.p4");
    let schema = with_program(&device);
    for action in ["counted", "counted_twice"] {
        assert_eq!(set_default(&schema, "counters", action, (true, false)), Ok(()));
    }
    let text =
        "action `Work.not_counted` does not use the direct counter of table `Work.counters`: leave it out";
    assert_eq!(
        set_default(&schema, "counters", "not_counted", (true, false)),
        Err(format!("INVALID_ARGUMENT: {text} (in counter_data)"))
    );
    assert_eq!(set_default(&schema, "counters", "not_counted", (false, false)), Ok(()));
    assert_eq!(set_default(&schema, "meters", "metered", (false, true)), Ok(()));
    assert!(
        set_default(&schema, "meters", "NoAction", (false, true)).unwrap_err().ends_with("(in meter_config)")
    );
    // Without the program nothing is known of its actions.
    assert_eq!(set_default(&device.entities.schema, "counters", "not_counted", (true, false)), Ok(()));

    // Through a call of another action.
    let schema = with_program(&load("crates/fuzz/tests/direct.p4"));
    for action in ["measure", "measure_twice"] {
        assert_eq!(set_default(&schema, "owner", action, (true, true)), Ok(()));
    }
    // In v1model each hit counts, whatever the action says.
    let schema = with_program(&router());
    assert_eq!(schema.direct_uses, schema::DirectUses::default());
}

/// Fields of controller headers lie in packets as the program has them: hidden ones too, and types with a translation as wide as
/// the program's.
#[test]
fn l1_controller_headers_are_those_of_the_program() {
    let control_plane = compile("crates/interp/tests/controller.p4").control_plane;
    let schema = Schema::new(&control_plane.p4info).unwrap();
    let header = |name: &str| schema.controller_headers.find(name).unwrap();
    let fields = |name: &str| {
        let all = &control_plane.controller_headers;
        all.iter().find(|fields| fields.header == name).map(|fields| fields.fields.as_slice())
    };
    let field = |name: &str, width: u32| (name.to_owned(), width);
    assert_eq!(fields("packet_in").unwrap(), [field("version", 3), field("port", 9), field("reason", 4)]);
    assert_eq!(fields("packet_out").unwrap(), [field("port", 9), field("fill", 7)]);
    assert_eq!(
        header("packet_in").fields.iter().map(|of| of.value.width_bits()).collect::<Vec<_>>(),
        [32, 4]
    );
    assert_eq!(header("packet_out").fields.iter().map(|of| of.is_padding).collect::<Vec<_>>(), [false, true]);

    let io = PacketIo::with_widths(&schema, fields).unwrap();
    let id = |header: &str, name: &str| {
        schema.controller_headers.find(header).unwrap().find_field(name).unwrap().id
    };
    let metadata = |id, value: &[u8]| PacketMetadata { id, value: value.to_vec() };
    // 111 000000101 1001
    let packet_in = io.packet_in(b"\xe0\x59payload").unwrap();
    let expected = [metadata(id("packet_in", "port"), b"\x05"), metadata(id("packet_in", "reason"), b"\x09")];
    assert_eq!(
        (packet_in.metadata.as_slice(), packet_in.payload.as_slice()),
        (&expected[..], &b"payload"[..])
    );
    let port = metadata(id("packet_out", "port"), b"\x01\x01");
    let packet_out = ControllerPacket { payload: b"payload".to_vec(), metadata: vec![port] };
    assert_eq!(io.packet_out(&packet_out).unwrap(), b"\x80\x80payload");
}
