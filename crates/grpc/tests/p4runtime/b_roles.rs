//! B. Roles.

use crate::bench::*;
use crate::desk::Desk;

#[test]
fn b01_a_role_without_a_name_is_the_default_role() {
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
fn b02_b03_roles_write_and_see_what_is_theirs() {
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
        let action = pb::Action { action_id: action_id(&p4info, "drop"), params: Vec::new() };
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

#[test]
fn b01_roles_by_number_are_refused() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    #[expect(deprecated, reason = "the field is refused")]
    let role = pb::Role { id: 5, ..pb::Role::default() };
    controller.send(Some(Request::Arbitration(pb::MasterArbitrationUpdate {
        device_id: DEVICE,
        role: Some(role),
        election_id: Some(uint128(1)),
        ..pb::MasterArbitrationUpdate::default()
    })));
    assert_eq!(code(&controller.next().unwrap_err()), Code::InvalidArgument);
    #[expect(deprecated, reason = "the field is refused")]
    let by_id =
        pb::SetForwardingPipelineConfigRequest { device_id: DEVICE, role_id: 5, ..Default::default() };
    assert_eq!(code(&bench.set_request(by_id).unwrap_err()), Code::InvalidArgument);
    // The empty name is the default role, too: one more stream with its id is refused.
    let (mut first, mut second) = (bench.controller(), bench.controller());
    first.elect("", 1);
    second.send(Some(Request::Arbitration(pb::MasterArbitrationUpdate {
        device_id: DEVICE,
        role: Some(pb::Role::default()),
        election_id: Some(uint128(1)),
        ..pb::MasterArbitrationUpdate::default()
    })));
    assert_eq!(code(&second.next().unwrap_err()), Code::InvalidArgument);
}

#[test]
fn b02_roles_have_primaries_of_their_own() {
    let bench = Bench::new();
    let set = |role: &str, id| {
        let config = pb::ForwardingPipelineConfig {
            p4_device_config: PROGRAM.as_bytes().to_vec(),
            ..pb::ForwardingPipelineConfig::default()
        };
        bench.set_request(pb::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            role: role.to_owned(),
            election_id: Some(uint128(id)),
            action: Action::Verify.into(),
            config: Some(config),
            ..pb::SetForwardingPipelineConfigRequest::default()
        })
    };
    assert_eq!(code(&set("r", 1).unwrap_err()), Code::NotFound);
    let (mut of_r, mut of_s) = (bench.controller(), bench.controller());
    of_r.elect("r", 1);
    of_s.elect("s", 9);
    set("r", 1).unwrap();
    set("s", 9).unwrap();
    assert_eq!(code(&set("r", 9).unwrap_err()), Code::PermissionDenied);
    of_r.finish();
    assert_eq!(code(&set("r", 1).unwrap_err()), Code::PermissionDenied);
    set("s", 9).unwrap();
}

fn role_config(message: &p4info::proto::siding::v1::RoleConfig) -> prost_types::Any {
    prost_types::Any {
        type_url: "type.googleapis.com/siding.v1.RoleConfig".to_owned(),
        value: prost::Message::encode_to_vec(message),
    }
}

fn bid(role: &str, id: u64, config: prost_types::Any) -> Option<Request> {
    Some(Request::Arbitration(pb::MasterArbitrationUpdate {
        device_id: DEVICE,
        role: Some(pb::Role { name: role.to_owned(), config: Some(config), ..pb::Role::default() }),
        election_id: Some(uint128(id)),
        ..pb::MasterArbitrationUpdate::default()
    }))
}

#[test]
fn b03_b04_configs_of_roles_say_what_they_write_and_read() {
    let mut desk = Desk::new();
    let pairs = table(&desk.p4info, "pairs").preamble.as_ref().unwrap().id;
    let prefixes = table(&desk.p4info, "prefixes").preamble.as_ref().unwrap().id;
    let entry = r"table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(forward,\x01) }";
    let group = "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } }";
    let guard = r"table_entry { table_id: $guards exact(1,\x01) do(NoAction) }";
    let (insert, insert_group, insert_guard) =
        (format!("insert {entry}"), format!("insert {group}"), format!("insert {guard}"));
    let (mut owner, mut other) = (desk.controller(), desk.controller());
    let exclusive = p4info::proto::siding::v1::RoleConfig {
        exclusive_ids: vec![pairs],
        read_only_ids: vec![prefixes],
        ..Default::default()
    };
    owner.send(bid("owner", 3, role_config(&exclusive)));
    assert_eq!(owner.notice(), (Some(3), OK));
    // Nobody else's config may name what is exclusive.
    other.send(bid("other", 3, role_config(&exclusive)));
    assert_eq!(code(&other.next().unwrap_err()), Code::InvalidArgument);
    let mut other = desk.controller();
    other.elect("other", 3);
    (desk.election_id, desk.role) = (Some(3), "other");
    assert_eq!(
        desk.codes(&[&insert, &insert_guard, &insert_group]),
        [Code::PermissionDenied, Code::PermissionDenied, Code::Ok]
    );
    desk.role = "owner";
    let prefix = r"insert table_entry { table_id: $prefixes lpm(1,\x0a\x00\x00\x00,8) do(NoAction) }";
    assert_eq!(
        desk.codes(&[&insert, prefix, &insert_group]),
        [Code::Ok, Code::PermissionDenied, Code::PermissionDenied]
    );
    // Reads leave out what is not the role's, direct questions included.
    desk.reads("table_entry { table_id: $pairs }", &[entry]);
    desk.reads(group, &[]);
    desk.role = "other";
    desk.reads(entry, &[]);
    assert_eq!(desk.read(group).len(), 1);
    desk.role = "";
    desk.reads(entry, &[entry]);
}

#[test]
fn b04_stratums_configs_are_understood() {
    let (bench, p4info) = Bench::running();
    let stations = table(&p4info, "stations").preamble.as_ref().unwrap().id;
    let message = p4info::proto::stratum::P4RoleConfig {
        shared_p4_ids: vec![stations],
        can_push_pipeline: false,
        ..Default::default()
    };
    let config = prost_types::Any {
        type_url: "type.googleapis.com/stratum.P4RoleConfig".to_owned(),
        value: prost::Message::encode_to_vec(&message),
    };
    let mut controller = bench.controller();
    controller.send(bid("r", 1, config));
    assert_eq!(controller.notice(), (Some(1), OK));
    let request = |updates| pb::WriteRequest {
        device_id: DEVICE,
        role: "r".to_owned(),
        election_id: Some(uint128(1)),
        updates,
        ..pb::WriteRequest::default()
    };
    bench.write_request(request(vec![station(&p4info, Type::Insert, 1, 2)])).unwrap();
    let set = pb::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        role: "r".to_owned(),
        election_id: Some(uint128(1)),
        action: Action::Verify.into(),
        ..pb::SetForwardingPipelineConfigRequest::default()
    };
    assert_eq!(code(&bench.set_request(set).unwrap_err()), Code::PermissionDenied);
}

#[test]
fn b05_packets_go_to_and_come_from_roles_that_may_have_them() {
    let desk = Desk::new();
    let (mut all, mut some, mut none) = (desk.controller(), desk.controller(), desk.controller());
    desk.write(&[
        r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(to_controller,\x05) }",
    ]);
    desk.write(&[
        r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x03) do(to_controller,\x06) }",
    ]);
    all.elect("", 1);
    let filter =
        p4info::proto::siding::v1::role_config::PacketFilter { metadata_id: 2, values: vec![vec![0, 6]] };
    let filtered = p4info::proto::siding::v1::RoleConfig {
        receives_packets: true,
        packet_filter: Some(filter),
        may_send_packets: true,
        ..Default::default()
    };
    some.send(bid("some", 1, role_config(&filtered)));
    none.send(bid("none", 1, role_config(&p4info::proto::siding::v1::RoleConfig::default())));
    assert_eq!((some.notice(), none.notice()), ((Some(1), OK), (Some(1), OK)));
    for b in [2, 3] {
        desk.device.receive(1, &[0, 1, 0, b, 0, 0, 0, 0]);
    }
    let payload = |controller: &mut Controller| match controller.next().unwrap() {
        Some(Update::Packet(packet)) => packet.payload[3],
        other => panic!("{other:?}"),
    };
    assert_eq!((payload(&mut all), payload(&mut all), payload(&mut some)), (2, 3, 3));
    assert!(some.hears_nothing() && none.hears_nothing());
    let out = || {
        let metadata = vec![pb::PacketMetadata { metadata_id: 1, value: vec![3] }];
        Some(Request::Packet(pb::PacketOut { payload: vec![0; 8], metadata }))
    };
    none.send(out());
    let error = none.stream_error();
    assert_eq!(error.canonical_code, Code::PermissionDenied.number());
    assert!(matches!(error.details, Some(pb::stream_error::Details::PacketOut(_))));
    let mut backup = desk.controller();
    backup.arbitrate("", Some(0));
    backup.notice();
    backup.send(out());
    assert_eq!(backup.stream_error().canonical_code, Code::PermissionDenied.number());
    assert_eq!(desk.device.take_sent(), []);
    some.send(out());
    some.send(bid("some", 1, role_config(&filtered)));
    some.notice();
    assert_eq!(desk.device.take_sent(), [(3, vec![0; 8])]);
    assert!(backup.hears_nothing());
}
