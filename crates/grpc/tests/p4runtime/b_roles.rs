//! B. Roles.

use crate::bench::*;

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
