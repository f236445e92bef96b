//! Values that controllers know by other names and numbers than the program (part F of the checklist).

use crate::bench::{Bench, DEVICE, action_id, code, details, table, update};
use control::Code;
use control::translate::{Options, Rules};
use grpc::ServerOptions;
use p4info::P4Info;
use p4info::proto::p4::v1 as pb;
use pb::entity::Entity;
use pb::set_forwarding_pipeline_config_request::Action;
use pb::stream_message_request::Update as Request;
use pb::stream_message_response::Update;
use pb::update::Type;

const TRANSLATED: &str = include_str!("translated.p4");
/// The program has other numbers for the same names.
const RULES: &str = r#"
["port_id_t"]
values = { "Ethernet0" = 1, "Ethernet4" = 4, "Ethernet9" = 9 }

["test/flow"]
values = { "0x10000" = 5, "0x20000" = 6, "3" = 3 }
"#;

/// A primary of a switch that runs the program, with rules for its values.
fn running(rules: &str) -> (Bench, P4Info) {
    let rules = Rules::parse(rules).unwrap();
    let translation = Options { rules, ..Options::default() };
    let bench = Bench::with(|options| ServerOptions { translation, without_arbitration: true, ..options });
    set(&bench, Action::VerifyAndCommit, TRANSLATED).unwrap();
    let p4info = bench.get(0).unwrap().unwrap().p4info.unwrap();
    (bench, p4info)
}

fn set(bench: &Bench, action: Action, program: &str) -> Result<(), tonic::Status> {
    let config = pb::ForwardingPipelineConfig {
        p4_device_config: program.as_bytes().to_vec(),
        ..pb::ForwardingPipelineConfig::default()
    };
    bench.set_request(pb::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        action: action.into(),
        config: (!program.is_empty()).then_some(config),
        ..pb::SetForwardingPipelineConfigRequest::default()
    })
}

fn write(bench: &Bench, updates: Vec<pb::Update>) -> Result<(), tonic::Status> {
    let request = pb::WriteRequest { device_id: DEVICE, updates, ..pb::WriteRequest::default() };
    bench.write_request(request)
}

fn entry(p4info: &P4Info, name: &str, key: &[u8], action: &str, params: &[&[u8]]) -> pb::TableEntry {
    let exact = pb::field_match::Exact { value: key.to_vec() };
    let params = params.iter().zip(1..);
    let action = pb::Action {
        action_id: action_id(p4info, action),
        params: params
            .map(|(value, param_id)| pb::action::Param { param_id, value: value.to_vec() })
            .collect(),
    };
    pb::TableEntry {
        table_id: table(p4info, name).preamble.as_ref().unwrap().id,
        r#match: vec![pb::FieldMatch {
            field_id: 1,
            field_match_type: Some(pb::field_match::FieldMatchType::Exact(exact)),
        }],
        action: Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) }),
        ..pb::TableEntry::default()
    }
}

fn insert(entry: pb::TableEntry) -> pb::Update {
    update(Type::Insert, Entity::TableEntry(entry))
}

fn replicas(ports: &[&str]) -> Entity {
    let replica = |port: &&str| pb::Replica {
        port_kind: Some(pb::replica::PortKind::Port(port.as_bytes().to_vec())),
        ..pb::Replica::default()
    };
    let group = pb::MulticastGroupEntry {
        multicast_group_id: 7,
        replicas: ports.iter().map(replica).collect(),
        ..pb::MulticastGroupEntry::default()
    };
    Entity::PacketReplicationEngineEntry(pb::PacketReplicationEngineEntry {
        r#type: Some(pb::packet_replication_engine_entry::Type::MulticastGroupEntry(group)),
    })
}

fn first_code(status: &tonic::Status) -> i32 {
    assert_eq!(code(status), Code::Unknown);
    details(status)[0].0
}

#[test]
fn f02_f03_values_are_written_and_read_as_controllers_know_them() {
    let (bench, p4info) = running(RULES);
    let profile = p4info.action_profiles[0].preamble.as_ref().unwrap().id;
    let counter_id = p4info.counters[0].preamble.as_ref().unwrap().id;
    let send = pb::Action {
        action_id: action_id(&p4info, "send"),
        params: vec![pb::action::Param { param_id: 1, value: b"Ethernet4".to_vec() }],
    };
    let member = pb::ActionProfileMember { action_profile_id: profile, member_id: 1, action: Some(send) };
    let watching = pb::action_profile_group::Member {
        member_id: 1,
        weight: 1,
        watch_kind: Some(pb::action_profile_group::member::WatchKind::WatchPort(b"Ethernet4".to_vec())),
    };
    let group = pb::ActionProfileGroup {
        action_profile_id: profile,
        group_id: 2,
        max_size: 4,
        members: vec![watching],
    };
    let cell = |index: i64, packet_count: i64| {
        Entity::CounterEntry(pb::CounterEntry {
            counter_id,
            index: Some(pb::Index { index }),
            data: Some(pb::CounterData { byte_count: 0, packet_count }),
        })
    };
    let all = [
        Entity::TableEntry(entry(&p4info, "networks", b"red", "enter", &[b"blue"])),
        Entity::TableEntry(entry(&p4info, "routes", &[2, 0, 0], "send", &[b"Ethernet9"])),
        Entity::ActionProfileMember(member),
        Entity::ActionProfileGroup(group),
        replicas(&["Ethernet0", "Ethernet4"]),
    ];
    let mut updates: Vec<pb::Update> =
        all.iter().map(|entity| update(Type::Insert, entity.clone())).collect();
    updates.push(update(Type::Modify, cell(0x10000, 40)));
    write(&bench, updates).unwrap();
    for entity in &all {
        let found = bench.read(vec![entity.clone()]).unwrap();
        assert_eq!(found, [pb::Entity { entity: Some(entity.clone()) }]);
    }
    assert_eq!(bench.read(vec![cell(0x10000, 0)]).unwrap(), [pb::Entity { entity: Some(cell(0x10000, 40)) }]);
    // Cells without a name are left out of all.
    let all_cells = Entity::CounterEntry(pb::CounterEntry { counter_id, ..pb::CounterEntry::default() });
    let found = bench.read(vec![all_cells]).unwrap();
    assert_eq!(found.len(), 3);
    // Packets meet the program's values: flow 6 goes to port 9, and cell 5 counts flow 5.
    bench.device.receive(1, &[0, 0, 0, 6]);
    bench.device.receive(1, &[0, 0, 0, 5]);
    assert_eq!(bench.device.take_sent()[0], (9, vec![0, 0, 0, 6]));
    assert_eq!(bench.read(vec![cell(0x10000, 0)]).unwrap(), [pb::Entity { entity: Some(cell(0x10000, 41)) }]);
}

#[test]
fn f03_f04_values_without_a_translation_are_refused() {
    let (bench, p4info) = running(RULES);
    let route = |key: &[u8], port: &[u8]| vec![insert(entry(&p4info, "routes", key, "send", &[port]))];
    let refused = |updates| first_code(&write(&bench, updates).unwrap_err());
    assert_eq!(refused(route(&[9], b"Ethernet0")), Code::NotFound.number(), "a flow in no fixed map");
    assert_eq!(refused(route(&[3], b"Ethernet1")), Code::InvalidArgument.number(), "a port in no fixed map");
    let group = update(Type::Insert, replicas(&["Ethernet8"]));
    assert_eq!(refused(vec![group]), Code::InvalidArgument.number());
    // A name has its number for good, so they run out.
    let networks = |range: std::ops::Range<u32>| {
        let network = |i: u32| {
            let name = format!("n{i}");
            insert(entry(&p4info, "networks", name.as_bytes(), "enter", &[name.as_bytes()]))
        };
        write(&bench, range.map(network).collect())
    };
    networks(0..60).unwrap();
    for name in 60..1023 {
        let network = format!("n{name}");
        let entry = entry(&p4info, "networks", b"n0", "enter", &[network.as_bytes()]);
        write(&bench, vec![update(Type::Modify, Entity::TableEntry(entry))]).unwrap();
    }
    assert_eq!(first_code(&networks(1023..1024).unwrap_err()), Code::ResourceExhausted.number());
}

#[test]
fn f03_without_rules_values_that_fit_are_the_same_and_names_get_numbers() {
    let (bench, p4info) = running("");
    write(
        &bench,
        vec![
            insert(entry(&p4info, "networks", b"red", "enter", &[b"red"])),
            insert(entry(&p4info, "routes", &[7], "send", &[b"5"])),
        ],
    )
    .unwrap();
    bench.device.receive(1, &[0, 0, 0, 7]);
    assert_eq!(bench.device.take_sent(), [(5, vec![0, 0, 0, 7])]);
    let wide = insert(entry(&p4info, "routes", &[1, 0, 0], "send", &[b"5"]));
    assert_eq!(first_code(&write(&bench, vec![wide]).unwrap_err()), Code::OutOfRange.number());
}

#[test]
fn f03_l01_metadata_and_digests_are_translated() {
    let (bench, p4info) = running(RULES);
    let mut primary = bench.controller();
    primary.elect("", 1);
    let digest_id = p4info.digests[0].preamble.as_ref().unwrap().id;
    let config = pb::digest_entry::Config { max_timeout_ns: 0, max_list_size: 1, ack_timeout_ns: 0 };
    let wanted = pb::DigestEntry { digest_id, config: Some(config) };
    let mut updates = vec![update(Type::Insert, Entity::DigestEntry(wanted))];
    updates.push(insert(entry(&p4info, "routes", &[1, 0, 0], "to_controller", &[])));
    bench.write(updates).unwrap();
    bench.device.receive(4, &[0, 0, 0, 5]);
    let (mut packet, mut digest) = (None, None);
    for _ in 0..2 {
        match primary.next().unwrap() {
            Some(Update::Packet(of)) => packet = Some(of),
            Some(Update::Digest(of)) => digest = Some(of),
            other => panic!("{other:?}"),
        }
    }
    let packet = packet.unwrap();
    let metadata: Vec<(u32, Vec<u8>)> =
        packet.metadata.iter().map(|of| (of.metadata_id, of.value.clone())).collect();
    assert_eq!(metadata, [(1, b"Ethernet4".to_vec()), (2, vec![1])]);
    assert_eq!(packet.payload, [0, 0, 0, 5]);
    let bits = |value: &[u8]| pb::P4Data { data: Some(pb::p4_data::Data::Bitstring(value.to_vec())) };
    let members = vec![bits(b"Ethernet4"), bits(&[1, 0, 0])];
    let expected = pb::P4StructLike { members };
    assert_eq!(digest.unwrap().data, [pb::P4Data { data: Some(pb::p4_data::Data::Struct(expected)) }]);
    let out = |port: &str| {
        let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: port.as_bytes().to_vec() }];
        Some(Request::Packet(pb::PacketOut { payload: vec![0, 0, 0, 8], metadata }))
    };
    primary.send(out("Ethernet9"));
    primary.send(out("Ethernet1"));
    let error = primary.stream_error();
    // The packet comes back as the controller has sent it.
    let Some(pb::stream_error::Details::PacketOut(of)) = error.details else { panic!("{error:?}") };
    assert_eq!(of.packet_out.unwrap().metadata[0].value, b"Ethernet1");
    assert_eq!(bench.device.take_sent(), [(9, vec![0, 0, 0, 8])]);
}

#[test]
fn f03_k02_notices_of_idle_entries_have_the_names_of_controllers() {
    let (bench, p4info) = running("");
    let mut primary = bench.controller();
    primary.elect("", 1);
    let idle =
        pb::TableEntry { idle_timeout_ns: 5, ..entry(&p4info, "networks", b"red", "enter", &[b"blue"]) };
    bench.write(vec![insert(idle.clone())]).unwrap();
    bench.device.expire_all();
    let Some(Update::IdleTimeoutNotification(notice)) = primary.next().unwrap() else {
        panic!("a notice was expected")
    };
    assert_eq!(notice.table_entry, [pb::TableEntry { action: None, ..idle }]);
}

#[test]
fn f03_c05_names_stay_when_a_program_has_other_widths() {
    let (bench, p4info) = running("[\"port_id_t\"]\nvalues = { \"Ethernet4\" = 4 }\n");
    write(
        &bench,
        vec![
            insert(entry(&p4info, "networks", b"red", "enter", &[b"blue"])),
            insert(entry(&p4info, "networks", b"blue", "enter", &[b"red"])),
            insert(entry(&p4info, "routes", &[5], "send", &[b"Ethernet4"])),
            update(Type::Insert, replicas(&["Ethernet4"])),
        ],
    )
    .unwrap();
    let entries = vec![Entity::TableEntry(pb::TableEntry::default()), replicas(&[])];
    let before = bench.read(entries.clone()).unwrap();
    let wider = TRANSLATED
        .replace("type bit<10> network_t", "type bit<12> network_t")
        .replace("(network_t)(bit<10>)headers", "(network_t)(bit<12>)headers");
    set(&bench, Action::ReconcileAndCommit, &wider).unwrap();
    assert_eq!(bench.read(entries.clone()).unwrap(), before);
    // Values have to fit: nothing changes.
    let narrower = TRANSLATED
        .replace("type bit<10> network_t", "type bit<1> network_t")
        .replace("(network_t)(bit<10>)headers", "(network_t)(bit<1>)headers");
    for action in [Action::Verify, Action::ReconcileAndCommit, Action::VerifyAndCommit] {
        let status = set(&bench, action, &narrower).unwrap_err();
        assert_eq!(code(&status), Code::InvalidArgument);
        assert!(status.message().contains("translation \"network_t\""), "{status}");
    }
    assert_eq!(bench.read(entries).unwrap(), before);
    bench.device.receive(1, &[0, 0, 0, 5]);
    assert_eq!(bench.device.take_sent(), [(4, vec![0, 0, 0, 5])]);
}

/// Packets of the running program are its own, while a saved one takes entries.
#[test]
fn c03_f03_a_saved_program_has_values_of_its_own() {
    let (bench, p4info) = running("");
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.write(vec![insert(entry(&p4info, "routes", &[5], "to_controller", &[]))]).unwrap();
    let other = TRANSLATED.replace("    bit<7> reason;\n", "    bit<7> reason;\n    bit<8> more;\n");
    bench.set(Action::VerifyAndSave, &other, 1).unwrap();
    bench.write(vec![insert(entry(&p4info, "networks", b"red", "enter", &[b"red"]))]).unwrap();
    bench.device.receive(4, &[0, 0, 0, 5]);
    let Some(Update::Packet(packet)) = primary.next().unwrap() else { panic!("a packet was expected") };
    assert_eq!((packet.payload, packet.metadata[0].value.clone()), (vec![0, 0, 0, 5], b"4".to_vec()));
    let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: b"6".to_vec() }];
    primary.send(Some(Request::Packet(pb::PacketOut { payload: vec![0, 0, 0, 8], metadata })));
    primary.arbitrate("", Some(1));
    assert_eq!(primary.notice(), (Some(1), 0));
    assert_eq!(bench.device.take_sent(), [(6, vec![0, 0, 0, 8])]);
    bench.set(Action::Commit, "", 1).unwrap();
    assert_eq!(bench.read(vec![Entity::TableEntry(pb::TableEntry::default())]).unwrap().len(), 1);
}
