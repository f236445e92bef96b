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
