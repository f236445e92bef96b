//! C. Forwarding pipeline configs.

use crate::bench::*;

#[test]
fn c01_only_the_primary_sets_programs() {
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
fn c02_programs_are_verified_without_effect() {
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
fn c03_a_saved_program_takes_entries_before_it_runs() {
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
fn c04_a_committed_program_begins_without_entries() {
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
fn c05_a_reconciled_program_keeps_its_entries() {
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
fn c07_a_config_is_given_back_as_it_was_set() {
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
