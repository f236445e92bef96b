//! A. Connection, arbitration, election ids.

use crate::bench::*;

#[test]
fn a01_reads_need_no_stream_and_no_election() {
    let (bench, _) = Bench::running();
    assert_eq!(bench.read(all_entries()).unwrap(), []);
    assert!(bench.get(0).unwrap().is_some());
    assert_eq!(bench.capabilities(DEVICE).unwrap().p4runtime_api_version, "1.5.0");
}

#[test]
fn a02_streams_for_other_devices_end() {
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
fn a03_an_election_id_that_is_used_ends_the_stream() {
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
fn a04_unknown_schemes_of_roles_end_the_stream() {
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
fn a05_a_stream_cannot_change_its_role() {
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
fn a06_without_an_election_id_nobody_is_primary() {
    let bench = Bench::new();
    let mut controller = bench.controller();
    controller.arbitrate("", None);
    assert_eq!(controller.notice(), (None, NOT_FOUND));
    controller.elect("", 0);
}

#[test]
fn a07_a_primary_that_goes_is_followed_by_nobody() {
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
fn a08_the_old_primary_cannot_write_any_more() {
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
fn a09_a_notice_is_the_first_message_of_a_stream() {
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

/// Clients that connect and go, in the middle of everything, leave nothing behind.
#[test]
fn a07_controllers_may_go_at_any_moment() {
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
fn a01_the_port_is_the_registered_one() {
    assert_eq!(grpc::PORT, 9559);
}

#[test]
fn a04_a_role_has_64_streams_at_most() {
    let bench = Bench::new();
    let mut streams = Vec::new();
    for i in 0..64 {
        let mut stream = bench.controller();
        stream.arbitrate("", Some(i));
        stream.notice();
        streams.push(stream);
    }
    let mut late = bench.controller();
    late.arbitrate("", Some(64));
    assert_eq!(code(&late.next().unwrap_err()), Code::ResourceExhausted);
    let mut other = bench.controller();
    other.elect("other", 64);
    // A place is free as soon as a stream has gone.
    streams.pop().unwrap().finish();
    let mut next = bench.controller();
    next.arbitrate("", Some(64));
    assert_eq!(next.notice(), (Some(64), OK));
}

#[test]
fn a05_another_device_or_a_lower_id() {
    let bench = Bench::new();
    let (mut primary, mut backup) = (bench.controller(), bench.controller());
    primary.elect("", 4);
    backup.arbitrate("", Some(2));
    assert_eq!(backup.notice(), (Some(4), ALREADY_EXISTS));
    // Bidding again changes nothing, and is announced like an election.
    primary.arbitrate("", Some(4));
    assert_eq!((primary.notice(), backup.notice()), ((Some(4), OK), (Some(4), ALREADY_EXISTS)));
    primary.arbitrate("", Some(3));
    assert_eq!((primary.notice(), backup.notice()), ((Some(4), NOT_FOUND), (Some(4), NOT_FOUND)));
    assert_eq!(code(&bench.set(Action::Verify, PROGRAM, 3).unwrap_err()), Code::PermissionDenied);
    primary.arbitrate_for(DEVICE + 1, "", Some(5));
    assert_eq!(code(&primary.next().unwrap_err()), Code::FailedPrecondition);
    assert!(backup.hears_nothing());
}

#[test]
fn a06_only_the_highest_id_ever_is_primary() {
    let bench = Bench::new();
    let mut first = bench.controller();
    first.elect("", 7);
    first.finish();
    let mut controller = bench.controller();
    controller.arbitrate("", Some(6));
    assert_eq!(controller.notice(), (Some(7), NOT_FOUND));
    controller.arbitrate("", None);
    assert_eq!(controller.notice(), (Some(7), NOT_FOUND));
    controller.elect("", 7);
    // Both halves of an id count.
    let high = pb::MasterArbitrationUpdate {
        device_id: DEVICE,
        election_id: Some(pb::Uint128 { high: 1, low: 0 }),
        ..pb::MasterArbitrationUpdate::default()
    };
    let mut other = bench.controller();
    other.send(Some(Request::Arbitration(high)));
    assert_eq!(other.notice().1, OK);
    assert_eq!(controller.notice().1, ALREADY_EXISTS);
}

/// A write is under way when a successor bids.
#[test]
fn a08_a_successor_waits_for_writes_that_are_under_way() {
    let (bench, p4info) = Bench::running();
    let (mut old, mut backup, mut new) = (bench.controller(), bench.controller(), bench.controller());
    old.elect("", 1);
    backup.arbitrate("", Some(0));
    backup.notice();
    let held = bench.device.hold();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| bench.write(vec![station(&p4info, Type::Insert, 1, 2)]));
        bench.device.wait_for_work();
        new.arbitrate("", Some(2));
        // The others are told at once, and the old one's new writes are refused, while the new one has to wait.
        assert_eq!(old.notice(), (Some(2), ALREADY_EXISTS));
        assert_eq!(backup.notice(), (Some(2), ALREADY_EXISTS));
        assert_eq!(code(&bench.write(Vec::new()).unwrap_err()), Code::PermissionDenied);
        assert!(new.hears_nothing());
        assert_eq!(code(&bench.set(Action::Verify, PROGRAM, 2).unwrap_err()), Code::PermissionDenied);
        drop(held);
        writing.join().unwrap().unwrap();
    });
    assert_eq!(new.notice(), (Some(2), OK));
    assert_eq!(bench.read(all_entries()).unwrap().len(), 1, "what was under way is done");
}

#[test]
fn a09_all_of_a_role_are_told_and_no_others() {
    let bench = Bench::new();
    let config = |may_set_pipeline| {
        let message = p4info::proto::siding::v1::RoleConfig { may_set_pipeline, ..Default::default() };
        prost_types::Any {
            type_url: "type.googleapis.com/siding.v1.RoleConfig".to_owned(),
            value: prost::Message::encode_to_vec(&message),
        }
    };
    let bid = |id, config: Option<&prost_types::Any>| {
        Some(Request::Arbitration(pb::MasterArbitrationUpdate {
            device_id: DEVICE,
            role: Some(pb::Role { name: "r".to_owned(), config: config.cloned(), ..pb::Role::default() }),
            election_id: Some(uint128(id)),
            ..pb::MasterArbitrationUpdate::default()
        }))
    };
    let (mut primary, mut backup, mut other) = (bench.controller(), bench.controller(), bench.controller());
    other.elect("", 1);
    let (first, second) = (config(true), config(false));
    let expect = |controller: &mut Controller, config: &prost_types::Any, status| {
        let Some(Update::Arbitration(notice)) = controller.next().unwrap() else { panic!("a notice") };
        let role = notice.role.unwrap();
        assert_eq!((notice.device_id, role.name.as_str(), role.config.as_ref()), (DEVICE, "r", Some(config)));
        assert_eq!((notice.election_id, notice.status.unwrap().code), (Some(uint128(3)), status));
    };
    primary.send(bid(3, Some(&first)));
    expect(&mut primary, &first, OK);
    // A newcomer that becomes backup is told alone, and its config does not count.
    backup.send(bid(2, Some(&second)));
    expect(&mut backup, &first, ALREADY_EXISTS);
    assert!(primary.hears_nothing());
    primary.send(bid(3, Some(&second)));
    expect(&mut primary, &second, OK);
    expect(&mut backup, &second, ALREADY_EXISTS);
    primary.finish();
    expect(&mut backup, &second, NOT_FOUND);
    assert!(other.hears_nothing());
}
