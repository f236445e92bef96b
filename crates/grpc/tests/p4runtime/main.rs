//! P4Runtime over a real socket, by the numbers of its checklist. Rules about single entities are in the documents of crate
//! `p4runtime`; here is what needs streams, requests and pipeline configs.

mod bench;
mod streams;
mod translation;

use bench::{Bench, CPU_PORT, DEVICE, PROGRAM, all_entries, code, details, station, table, uint128, update};
use control::Code;
use grpc::{Address, ServerOptions};
use p4info::proto::p4::v1 as pb;
use pb::entity::Entity;
use pb::set_forwarding_pipeline_config_request::Action;
use pb::stream_message_request::Update as Request;
use pb::stream_message_response::Update;
use pb::update::Type;

const OK: i32 = 0;
const NOT_FOUND: i32 = 5;
const ALREADY_EXISTS: i32 = 6;

// A. Connection, arbitration, election ids.

#[test]
fn a1_reads_need_no_stream_and_no_election() {
    let (bench, _) = Bench::running();
    assert_eq!(bench.read(all_entries()).unwrap(), []);
    assert!(bench.get(0).unwrap().is_some());
    assert_eq!(bench.capabilities(DEVICE).unwrap().p4runtime_api_version, "1.5.0");
}

#[test]
fn a2_streams_for_other_devices_end() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    controller.arbitrate_for(DEVICE + 1, "", Some(1));
    assert_eq!(code(&controller.next().unwrap_err()), Code::NotFound);
    let zero = Bench::with(|options| ServerOptions { device_id: 0, ..options });
    let mut controller = zero.controller();
    controller.arbitrate_for(0, "", Some(1));
    assert_eq!(controller.notice(), (Some(1), OK));
}

#[test]
fn a3_an_election_id_that_is_used_ends_the_stream() {
    let bench = Bench::new();
    let (mut first, mut second) = (bench.controller(), bench.controller());
    first.elect("", 4);
    second.arbitrate("", Some(4));
    let status = second.next().unwrap_err();
    assert_eq!(code(&status), Code::InvalidArgument);
    assert!(status.message().starts_with("election id 4 is already used"), "{status}");
    let mut other = bench.controller();
    other.elect("other", 4);
}

#[test]
fn a4_unknown_schemes_of_roles_end_the_stream() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    let config = prost_types::Any { type_url: "type.googleapis.com/some.Role".to_owned(), value: vec![1] };
    controller.send(Some(Request::Arbitration(pb::MasterArbitrationUpdate {
        device_id: DEVICE,
        role: Some(pb::Role { name: "r".to_owned(), config: Some(config), ..pb::Role::default() }),
        election_id: Some(uint128(1)),
        ..pb::MasterArbitrationUpdate::default()
    })));
    assert_eq!(code(&controller.next().unwrap_err()), Code::InvalidArgument);
}

#[test]
fn a5_a_stream_cannot_change_its_role() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    controller.elect("", 4);
    controller.elect("", 4);
    controller.elect("", 5);
    controller.arbitrate("", Some(3));
    assert_eq!(controller.notice(), (Some(5), NOT_FOUND));
    controller.arbitrate("other", Some(6));
    assert_eq!(code(&controller.next().unwrap_err()), Code::FailedPrecondition);
}

#[test]
fn a6_without_an_election_id_nobody_is_primary() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    controller.arbitrate("", None);
    assert_eq!(controller.notice(), (None, NOT_FOUND));
    controller.elect("", 0);
}

#[test]
fn a7_a_primary_that_goes_is_followed_by_nobody() {
    let bench = Bench::new();
    let (mut primary, mut backup) = (bench.controller(), bench.controller());
    primary.elect("", 9);
    backup.arbitrate("", Some(8));
    assert_eq!(backup.notice(), (Some(9), ALREADY_EXISTS));
    // Half of a stream that ends is a controller that goes.
    primary.finish();
    assert_eq!(backup.notice(), (Some(9), NOT_FOUND));
    assert_eq!(code(&bench.set(Action::Verify, PROGRAM, 8).unwrap_err()), Code::PermissionDenied);
    let mut next = bench.controller();
    next.elect("", 9);
    assert_eq!(backup.notice(), (Some(9), ALREADY_EXISTS));
    // So is one that is cut off.
    drop(next);
    assert_eq!(backup.notice(), (Some(9), NOT_FOUND));
    backup.arbitrate("", Some(10));
    assert_eq!(backup.notice(), (Some(10), OK));
}

#[test]
fn a8_the_old_primary_cannot_write_any_more() {
    let bench = Bench::new();
    let (mut old, mut new) = (bench.controller(), bench.controller());
    old.elect("", 1);
    bench.set(Action::VerifyAndCommit, PROGRAM, 1).unwrap();
    new.elect("", 2);
    assert_eq!(old.notice(), (Some(2), ALREADY_EXISTS));
    assert_eq!(code(&bench.set(Action::VerifyAndCommit, PROGRAM, 1).unwrap_err()), Code::PermissionDenied);
    assert_eq!(code(&bench.write(Vec::new()).unwrap_err()), Code::PermissionDenied);
    bench.set(Action::VerifyAndCommit, PROGRAM, 2).unwrap();
}

#[test]
fn a9_a_notice_is_the_first_message_of_a_stream() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    assert!(controller.hears_nothing());
    controller.arbitrate("r", Some(2));
    match controller.next().unwrap() {
        Some(Update::Arbitration(notice)) => {
            assert_eq!((notice.device_id, notice.role.unwrap().name), (DEVICE, "r".to_owned()));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a10_the_highest_election_id_outlives_a_program() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    controller.elect("", 7);
    bench.set(Action::VerifyAndCommit, PROGRAM, 7).unwrap();
    drop(controller);
    let mut late = bench.controller();
    late.arbitrate("", Some(6));
    assert_eq!(late.notice(), (Some(7), NOT_FOUND));
}

// B. Roles.

#[test]
fn b1_a_role_without_a_name_is_the_default_role() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    controller.send(Some(Request::Arbitration(pb::MasterArbitrationUpdate {
        device_id: DEVICE,
        role: Some(pb::Role::default()),
        election_id: Some(uint128(1)),
        ..pb::MasterArbitrationUpdate::default()
    })));
    assert_eq!(controller.notice(), (Some(1), OK));
    bench.set(Action::VerifyAndCommit, PROGRAM, 1).unwrap();
    #[expect(deprecated, reason = "the field is refused")]
    let by_id = pb::WriteRequest {
        device_id: DEVICE,
        role_id: 5,
        election_id: Some(uint128(1)),
        ..pb::WriteRequest::default()
    };
    assert_eq!(code(&bench.write_request(by_id).unwrap_err()), Code::InvalidArgument);
}

#[test]
fn b2_b3_roles_write_and_see_what_is_theirs() {
    let (bench, p4info) = Bench::running();
    let request = |role: &str, updates| pb::WriteRequest {
        device_id: DEVICE,
        role: role.to_owned(),
        election_id: Some(uint128(5)),
        updates,
        ..pb::WriteRequest::default()
    };
    assert_eq!(code(&bench.write_request(request("guard", Vec::new())).unwrap_err()), Code::NotFound);
    let (mut guard, mut other) = (bench.controller(), bench.controller());
    guard.elect("guard", 5);
    other.elect("other", 5);
    let guards = table(&p4info, "guards").preamble.as_ref().unwrap().id;
    let set_default = || {
        let action = pb::Action { action_id: bench::action_id(&p4info, "drop"), params: Vec::new() };
        let entry = pb::TableEntry {
            table_id: guards,
            is_default_action: true,
            action: Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) }),
            ..pb::TableEntry::default()
        };
        update(Type::Modify, Entity::TableEntry(entry))
    };
    bench.write_request(request("guard", vec![set_default()])).unwrap();
    let both = vec![set_default(), station(&p4info, Type::Insert, 1, 2)];
    let refused = bench.write_request(request("other", both)).unwrap_err();
    let found = details(&refused);
    assert_eq!((found[0].0, found[1].0), (Code::PermissionDenied.number(), 0));
    assert!(
        found[0].1.contains("role `other` may not write the default entry of table `Work.guards`"),
        "{}",
        found[0].1
    );
    let defaults = pb::TableEntry { table_id: guards, is_default_action: true, ..pb::TableEntry::default() };
    for (role, n) in [("guard", 1), ("", 1), ("other", 0)] {
        let entities = vec![pb::Entity { entity: Some(Entity::TableEntry(defaults.clone())) }];
        let request = pb::ReadRequest { device_id: DEVICE, role: role.to_owned(), entities };
        assert_eq!(bench.read_request(request).unwrap().len(), n, "{role}");
    }
}

// C. Pipeline configs.

#[test]
fn c1_only_the_primary_sets_programs() {
    let bench = Bench::new();
    assert_eq!(code(&bench.set(Action::Verify, PROGRAM, 1).unwrap_err()), Code::PermissionDenied);
    let free = Bench::with(|options| ServerOptions { without_arbitration: true, ..options });
    let request = |action: Action| pb::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        action: action.into(),
        config: Some(pb::ForwardingPipelineConfig {
            p4_device_config: PROGRAM.as_bytes().to_vec(),
            ..pb::ForwardingPipelineConfig::default()
        }),
        ..pb::SetForwardingPipelineConfigRequest::default()
    };
    free.set_request(request(Action::VerifyAndCommit)).unwrap();
    let elsewhere = pb::SetForwardingPipelineConfigRequest { device_id: 99, ..request(Action::Verify) };
    assert_eq!(code(&free.set_request(elsewhere).unwrap_err()), Code::NotFound);
}

#[test]
fn c2_programs_are_verified_without_effect() {
    let bench = Bench::new();
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.set(Action::Verify, PROGRAM, 1).unwrap();
    assert_eq!(bench.get(0).unwrap(), None);
    for (action, program) in [
        (Action::Verify, ""),
        (Action::Verify, "control"),
        (Action::Unspecified, PROGRAM),
        (Action::VerifyAndCommit, ""),
        (Action::Commit, PROGRAM),
    ] {
        let status = bench.set(action, program, 1).unwrap_err();
        assert_eq!(code(&status), Code::InvalidArgument, "{action:?}");
        assert!(status.details().is_empty());
    }
    assert_eq!(bench.get(0).unwrap(), None);
}

#[test]
fn c3_a_saved_program_takes_entries_before_it_runs() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.write(vec![station(&p4info, Type::Insert, 1, 2)]).unwrap();
    bench.set(Action::VerifyAndSave, PROGRAM, 1).unwrap();
    assert_eq!(bench.read(all_entries()).unwrap().len(), 0);
    bench.write(vec![station(&p4info, Type::Insert, 1, 3)]).unwrap();
    // Packets go on with the old program.
    let packet = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0];
    bench.device.receive(1, &packet);
    assert_eq!(bench.device.take_sent(), [(2, packet.to_vec())]);
    bench.set(Action::Commit, "", 1).unwrap();
    bench.device.receive(1, &packet);
    assert_eq!(bench.device.take_sent(), [(3, packet.to_vec())]);
    assert_eq!(code(&bench.set(Action::Commit, "", 1).unwrap_err()), Code::NotFound);
}

#[test]
fn c4_a_committed_program_begins_without_entries() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.write(vec![station(&p4info, Type::Insert, 1, 2)]).unwrap();
    assert_eq!(code(&bench.set(Action::VerifyAndCommit, "x", 1).unwrap_err()), Code::InvalidArgument);
    assert_eq!(bench.read(all_entries()).unwrap().len(), 1, "the old program runs on");
    bench.set(Action::VerifyAndCommit, PROGRAM, 1).unwrap();
    assert_eq!(bench.read(all_entries()).unwrap().len(), 0);
}

#[test]
fn c5_a_reconciled_program_keeps_its_entries() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let group = pb::PacketReplicationEngineEntry {
        r#type: Some(pb::packet_replication_engine_entry::Type::MulticastGroupEntry(
            pb::MulticastGroupEntry { multicast_group_id: 4, ..pb::MulticastGroupEntry::default() },
        )),
    };
    let group = Entity::PacketReplicationEngineEntry(group);
    bench.write(vec![station(&p4info, Type::Insert, 1, 2), update(Type::Insert, group)]).unwrap();
    let before = bench.read(all_entries()).unwrap();
    bench.set(Action::ReconcileAndCommit, PROGRAM, 1).unwrap();
    assert_eq!(bench.read(all_entries()).unwrap(), before);
    // A program in which an entry has no place changes nothing.
    let narrower = PROGRAM.replace(
        "headers.ethernet.destination: exact @name(\"station\");",
        "headers.ethernet.ether_type: exact @name(\"station\");",
    );
    let status = bench.set(Action::ReconcileAndCommit, &narrower, 1).unwrap_err();
    assert_eq!(code(&status), Code::InvalidArgument);
    assert!(status.message().contains("Work.stations"), "{status}");
    assert_eq!(bench.read(all_entries()).unwrap(), before);
}

#[test]
fn c7_a_config_is_given_back_as_it_was_set() {
    let (bench, p4info) = Bench::running();
    assert_eq!(code(&bench.get_of(99).unwrap_err()), Code::NotFound);
    let cookie = Some(pb::forwarding_pipeline_config::Cookie { cookie: 7 });
    let all = pb::ForwardingPipelineConfig {
        p4info: Some(p4info),
        p4_device_config: PROGRAM.as_bytes().to_vec(),
        cookie,
    };
    let with = |has_p4info: bool, has_program: bool| pb::ForwardingPipelineConfig {
        p4info: all.p4info.clone().filter(|_| has_p4info),
        p4_device_config: if has_program { all.p4_device_config.clone() } else { Vec::new() },
        cookie,
    };
    for (response_type, expected) in
        [(0, with(true, true)), (1, with(false, false)), (2, with(true, false)), (3, with(false, true))]
    {
        assert_eq!(bench.get(response_type).unwrap(), Some(expected), "{response_type}");
    }
    assert_eq!(code(&bench.get(4).unwrap_err()), Code::InvalidArgument);
    assert_eq!(Bench::new().get(0).unwrap(), None);
}

// D. Write.

#[test]
fn d1_checks_come_in_their_order() {
    let bench = Bench::new();
    let request = |device_id, role: &str, id: Option<u64>| pb::WriteRequest {
        device_id,
        role: role.to_owned(),
        election_id: id.map(uint128),
        ..pb::WriteRequest::default()
    };
    let refused = |request| bench.write_request(request).unwrap_err();
    assert_eq!(code(&refused(request(99, "", Some(1)))), Code::NotFound);
    assert_eq!(code(&refused(request(DEVICE, "r", Some(1)))), Code::NotFound);
    assert_eq!(code(&refused(request(DEVICE, "", Some(1)))), Code::PermissionDenied);
    let mut primary = bench.controller();
    primary.elect("", 1);
    assert_eq!(code(&refused(request(DEVICE, "", None))), Code::PermissionDenied);
    let status = refused(request(DEVICE, "", Some(1)));
    assert_eq!(code(&status), Code::FailedPrecondition);
    assert!(status.message().starts_with("no forwarding pipeline config"), "{status}");
    assert!(status.details().is_empty());
}

#[test]
fn d2_every_update_has_its_error() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.write(Vec::new()).unwrap();
    bench.write(vec![station(&p4info, Type::Insert, 1, 2)]).unwrap();
    let status = bench
        .write(vec![
            station(&p4info, Type::Insert, 1, 2),
            station(&p4info, Type::Insert, 2, 2),
            station(&p4info, Type::Delete, 3, 2),
        ])
        .unwrap_err();
    assert_eq!(code(&status), Code::Unknown);
    let found = details(&status);
    let codes: Vec<i32> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [ALREADY_EXISTS, OK, NOT_FOUND]);
    assert!(found[1].1.is_empty() && found[0].1.contains("updates[0]"), "{found:?}");
    let one = details(&bench.write(vec![station(&p4info, Type::Insert, 1, 2)]).unwrap_err());
    assert_eq!(one.len(), 1);
}

#[test]
fn d2_statuses_of_large_requests_fit_into_what_clients_take() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let updates = (0..60).map(|i| station(&p4info, Type::Delete, i, 2)).collect();
    let status = bench.write(updates).unwrap_err();
    assert!(status.details().len() * 4 / 3 <= 8 << 10, "{}", status.details().len());
    assert!(details(&status).iter().all(|(code, _)| *code == NOT_FOUND));
}

#[test]
fn d3_batches_are_applied_as_they_say() {
    use pb::write_request::Atomicity;
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let request = |atomicity: i32, updates| pb::WriteRequest {
        device_id: DEVICE,
        election_id: Some(uint128(1)),
        atomicity,
        updates,
        ..pb::WriteRequest::default()
    };
    let updates = || {
        vec![
            station(&p4info, Type::Insert, 1, 2),
            station(&p4info, Type::Delete, 9, 2),
            station(&p4info, Type::Insert, 2, 2),
        ]
    };
    for (atomicity, codes, n) in [
        (Atomicity::RollbackOnError, [10, NOT_FOUND, 10], 0),
        (Atomicity::DataplaneAtomic, [10, NOT_FOUND, 10], 0),
        (Atomicity::ContinueOnError, [OK, NOT_FOUND, OK], 2),
    ] {
        let status = bench.write_request(request(atomicity.into(), updates())).unwrap_err();
        let found: Vec<i32> = details(&status).iter().map(|(code, _)| *code).collect();
        assert_eq!(found, codes, "{atomicity:?}");
        assert_eq!(bench.read(all_entries()).unwrap().len(), n, "{atomicity:?}");
    }
    let unknown = bench.write_request(request(9, updates())).unwrap_err();
    assert_eq!((code(&unknown), unknown.details().is_empty()), (Code::InvalidArgument, true));
}

#[test]
fn d5_d6_updates_that_say_nothing_are_faults() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let mut without_type = station(&p4info, Type::Insert, 1, 2);
    without_type.r#type = 0;
    let nothing = pb::Update { r#type: Type::Insert.into(), entity: None };
    let of_table = |table_id| {
        update(Type::Insert, Entity::TableEntry(pb::TableEntry { table_id, ..pb::TableEntry::default() }))
    };
    let forward = bench::action_id(&p4info, "forward");
    let status =
        bench.write(vec![without_type, nothing, of_table(0), of_table(forward), of_table(0x0200_0001)]);
    let codes: Vec<i32> = details(&status.unwrap_err()).iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [3, 3, 3, 3, NOT_FOUND]);
}

// E. Read.

#[test]
fn e1_e2_good_questions_are_answered_beside_bad_ones() {
    let bench = Bench::new();
    let request = pb::ReadRequest { device_id: 99, ..pb::ReadRequest::default() };
    assert_eq!(code(&bench.read_request(request).unwrap_err().1), Code::NotFound);
    assert_eq!(code(&bench.read(all_entries()).unwrap_err().1), Code::FailedPrecondition);
    let (bench, p4info) = Bench::running();
    assert_eq!(bench.read(Vec::new()).unwrap(), []);
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.write(vec![station(&p4info, Type::Insert, 1, 2)]).unwrap();
    let entities = vec![pb::Entity { entity: Some(all_entries().remove(0)) }, pb::Entity { entity: None }];
    let request = pb::ReadRequest { device_id: DEVICE, entities, ..pb::ReadRequest::default() };
    let (found, status) = bench.read_request(request).unwrap_err();
    assert_eq!((found.len(), code(&status)), (1, Code::Unknown));
    let codes: Vec<i32> = details(&status).iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [OK, 3]);
}

#[test]
fn e2_long_answers_come_in_messages_that_clients_take() {
    let (bench, _) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let wide =
        PROGRAM.replace("size = 64;\n        support_timeout", "size = 100000;\n        support_timeout");
    bench.set(Action::VerifyAndCommit, &wide, 1).unwrap();
    let p4info = bench.get(0).unwrap().unwrap().p4info.unwrap();
    bench.write((0..40_000).map(|i| station(&p4info, Type::Insert, i, 2)).collect()).unwrap();
    // More than 4 MiB altogether, which a message must not have.
    let found = bench.read(all_entries()).unwrap();
    assert_eq!(found.len(), 40_000);
}

#[test]
fn e4_what_is_written_is_read() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let mut insert = station(&p4info, Type::Insert, 0x0102, 2);
    let Some(Entity::TableEntry(entry)) = insert.entity.as_mut().and_then(|entity| entity.entity.as_mut())
    else {
        panic!();
    };
    entry.metadata = b"mine".to_vec();
    entry.idle_timeout_ns = 5;
    let mut expected = entry.clone();
    bench.write(vec![insert]).unwrap();
    // Canonical: the shortest bytes.
    let exact = pb::field_match::Exact { value: vec![1, 2] };
    expected.r#match[0].field_match_type = Some(pb::field_match::FieldMatchType::Exact(exact));
    let found = bench.read(all_entries()).unwrap();
    assert_eq!(found, [pb::Entity { entity: Some(Entity::TableEntry(expected)) }]);
}

// K. Digests.

#[test]
fn k1_digests_reach_the_primary_and_are_acknowledged() {
    let (bench, p4info) = Bench::running();
    let (mut primary, mut backup) = (bench.controller(), bench.controller());
    primary.elect("", 1);
    backup.arbitrate("", Some(0));
    backup.notice();
    let digest_id = p4info.digests[0].preamble.as_ref().unwrap().id;
    let packet = |source: u8| [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, source, 8, 0];
    bench.device.receive(1, &packet(1));
    assert!(primary.hears_nothing(), "nobody has asked for them");
    let config =
        pb::digest_entry::Config { max_timeout_ns: 0, max_list_size: 1, ack_timeout_ns: 10_000_000_000 };
    let entry = pb::DigestEntry { digest_id, config: Some(config) };
    bench.write(vec![update(Type::Insert, Entity::DigestEntry(entry))]).unwrap();
    bench.device.receive(1, &packet(2));
    let Some(Update::Digest(list)) = primary.next().unwrap() else { panic!("a digest was expected") };
    assert_eq!((list.digest_id, list.list_id, list.data.len()), (digest_id, 1, 1));
    assert!(list.timestamp > 1_000_000_000_000_000_000, "nanoseconds since 1970");
    // Equal data is not sent again before it is acknowledged.
    bench.device.receive(1, &packet(2));
    assert!(primary.hears_nothing());
    let ack = |digest_id, list_id| Some(Request::DigestAck(pb::DigestListAck { digest_id, list_id }));
    primary.send(ack(digest_id, list.list_id));
    primary.send(ack(1, 1));
    assert_eq!(primary.stream_error().canonical_code, Code::InvalidArgument.number());
    bench.device.receive(1, &packet(2));
    let Some(Update::Digest(again)) = primary.next().unwrap() else { panic!("a digest was expected") };
    assert_eq!((again.list_id, again.data), (2, list.data));
    assert!(backup.hears_nothing());
}

// L. Packets, stream errors, capabilities.

#[test]
fn l1_packets_go_in_and_out_with_their_metadata() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let mut to_controller = station(&p4info, Type::Insert, 1, 9);
    if let Some(Entity::TableEntry(entry)) = to_controller.entity.as_mut().and_then(|e| e.entity.as_mut()) {
        let action = pb::Action {
            action_id: bench::action_id(&p4info, "to_controller"),
            params: vec![pb::action::Param { param_id: 1, value: vec![5] }],
        };
        entry.action = Some(pb::TableAction { r#type: Some(pb::table_action::Type::Action(action)) });
    }
    bench.write(vec![to_controller]).unwrap();
    let frame = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0, 42];
    bench.device.receive(300, &frame);
    let Some(Update::Packet(packet)) = primary.next().unwrap() else { panic!("a packet was expected") };
    let metadata: Vec<(u32, Vec<u8>)> =
        packet.metadata.iter().map(|of| (of.metadata_id, of.value.clone())).collect();
    assert_eq!(
        (packet.payload.as_slice(), metadata),
        (frame.as_slice(), vec![(1, vec![1, 44]), (2, vec![5])])
    );
    let out = |metadata: Vec<(u32, Vec<u8>)>| {
        let metadata =
            metadata.into_iter().map(|(metadata_id, value)| pb::PacketMetadata { metadata_id, value });
        Some(Request::Packet(pb::PacketOut { payload: frame.to_vec(), metadata: metadata.collect() }))
    };
    // The padding may be missing; everything else is wrong.
    primary.send(out(vec![(1, vec![0, 7])]));
    for wrong in [vec![], vec![(1, vec![7]), (9, vec![0])], vec![(1, vec![2, 0, 0])]] {
        primary.send(out(wrong));
        let error = primary.stream_error();
        assert!(matches!(error.details, Some(pb::stream_error::Details::PacketOut(_))), "{error:?}");
        assert!([3, 11].contains(&error.canonical_code), "{error:?}");
    }
    assert_eq!(bench.device.take_sent(), [(7, frame.to_vec())]);
    assert_eq!(CPU_PORT, 510, "the program's port of the controller");
}

#[test]
fn l2_packets_keep_their_order() {
    let (bench, _) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    for i in 0..200_u8 {
        let payload = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 8, 0, i];
        let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: vec![3] }];
        primary.send(Some(Request::Packet(pb::PacketOut { payload, metadata })));
    }
    // Answered behind all packets.
    primary.arbitrate("", Some(1));
    assert_eq!(primary.notice(), (Some(1), OK));
    let last: Vec<u8> =
        bench.device.take_sent().iter().filter_map(|(_, bytes)| bytes.last().copied()).collect();
    assert_eq!(last, (0..200).collect::<Vec<u8>>());
}

#[test]
fn l3_messages_that_cannot_be_are_errors() {
    let (bench, _) = Bench::running();
    let mut controller = bench.controller();
    let packet = || Some(Request::Packet(pb::PacketOut::default()));
    controller.send(packet());
    assert_eq!(controller.stream_error().canonical_code, Code::FailedPrecondition.number());
    controller.send(None);
    assert_eq!(controller.stream_error().canonical_code, Code::InvalidArgument.number());
    controller.send(Some(Request::Other(prost_types::Any::default())));
    assert_eq!(controller.stream_error().canonical_code, Code::Unimplemented.number());
    let mut primary = bench.controller();
    primary.elect("", 5);
    controller.arbitrate("", Some(4));
    controller.notice();
    // B5: packets of a backup are dropped.
    controller.send(packet());
    assert_eq!(controller.stream_error().canonical_code, Code::PermissionDenied.number());
    assert_eq!(bench.device.take_sent(), []);
    assert_eq!(bench.n_lost(), 0);
}

#[test]
fn l4_capabilities_have_the_version() {
    let bench = Bench::new();
    assert_eq!(code(&bench.capabilities(99).unwrap_err()), Code::NotFound);
    assert_eq!(bench.capabilities(0).unwrap().p4runtime_api_version, "1.5.0");
}

/// Clients that connect and go, in the middle of everything, leave nothing behind.
#[test]
fn controllers_may_go_at_any_moment() {
    let (bench, p4info) = Bench::running();
    for i in 2..60 {
        let mut controller = bench.controller();
        match i % 4 {
            0 => {}
            1 => controller.arbitrate("", Some(i)),
            2 => controller.elect("", i),
            _ => {
                controller.elect("", i);
                controller.send(Some(Request::Packet(pb::PacketOut::default())));
            }
        }
        drop(controller);
    }
    let mut last = bench.controller();
    last.elect("", 1000);
    let request = pb::WriteRequest {
        device_id: DEVICE,
        election_id: Some(uint128(1000)),
        updates: vec![station(&p4info, Type::Insert, 1, 2)],
        ..pb::WriteRequest::default()
    };
    bench.write_request(request).unwrap();
}

#[test]
fn addresses_are_read_as_people_write_them() {
    let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
    for (text, expected) in [
        ("127.0.0.1:9559", Some(tcp("127.0.0.1:9559"))),
        ("localhost:50051", Some(tcp("127.0.0.1:50051"))),
        (":50051", Some(tcp("0.0.0.0:50051"))),
        ("[::1]:7", Some(tcp("[::1]:7"))),
        ("unix:/tmp/x", Some(Address::Unix("/tmp/x".into()))),
        ("9559", None),
        ("host:9559", None),
    ] {
        assert_eq!(text.parse::<Address>().ok(), expected, "{text}");
    }
}
