//! C. Forwarding pipeline configs.

use crate::bench::*;
use crate::desk::{Desk, LINES};

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

#[test]
fn c01_faults_come_in_their_order() {
    let bench = Bench::new();
    let request = |device_id, role: &str, id, action: i32| pb::SetForwardingPipelineConfigRequest {
        device_id,
        role: role.to_owned(),
        election_id: Some(uint128(id)),
        action,
        ..pb::SetForwardingPipelineConfigRequest::default()
    };
    let refused = |request| code(&bench.set_request(request).unwrap_err());
    let mut primary = bench.controller();
    primary.elect("", 1);
    assert_eq!(refused(request(9, "nobody", 9, 77)), Code::NotFound);
    assert_eq!(refused(request(DEVICE, "nobody", 9, 77)), Code::NotFound);
    assert_eq!(refused(request(DEVICE, "", 9, 77)), Code::PermissionDenied);
    assert_eq!(refused(request(DEVICE, "", 1, 77)), Code::InvalidArgument);
    // Without arbitration only requests without an election id are for everybody, until somebody arbitrates.
    let free = Bench::with(|options| ServerOptions { without_arbitration: true, ..options });
    assert_eq!(code(&free.set(Action::Verify, PROGRAM, 1).unwrap_err()), Code::PermissionDenied);
    let mut controller = free.controller();
    controller.elect("", 1);
    let anonymous = pb::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        action: Action::Verify.into(),
        ..pb::SetForwardingPipelineConfigRequest::default()
    };
    assert_eq!(code(&free.set_request(anonymous).unwrap_err()), Code::PermissionDenied);
}

#[test]
fn c02_faults_of_programs_have_the_words_of_the_compiler() {
    let bench = Bench::new();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let wrong = PROGRAM.replace("standard.egress_spec = port;", "standard.egress_spec = prot;");
    for action in [Action::Verify, Action::VerifyAndSave, Action::VerifyAndCommit, Action::ReconcileAndCommit]
    {
        let status = bench.set(action, &wrong, 1).unwrap_err();
        assert_eq!(code(&status), Code::InvalidArgument, "{action:?}");
        assert!(status.message().contains("prot"), "{status}");
        assert_eq!(bench.get(0).unwrap(), None);
    }
}

#[test]
fn c03_a_saved_program_is_what_reads_and_writes_mean() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    assert_eq!(code(&bench.set(Action::Commit, "", 1).unwrap_err()), Code::NotFound);
    let other = PROGRAM.replace("size = 64;\n        support_timeout", "size = 1;\n        support_timeout");
    bench.set(Action::VerifyAndSave, &other, 1).unwrap();
    assert_eq!(bench.get(0).unwrap().unwrap().p4_device_config, other.as_bytes(), "Get gives the saved one");
    let two = vec![station(&p4info, Type::Insert, 1, 2), station(&p4info, Type::Insert, 2, 2)];
    let codes: Vec<i32> = details(&bench.write(two).unwrap_err()).iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [OK, Code::ResourceExhausted.number()]);
    assert_eq!(code(&bench.set(Action::Commit, &other, 1).unwrap_err()), Code::InvalidArgument);
    // A second one replaces the first, with what was written for it.
    bench.set(Action::VerifyAndSave, PROGRAM, 1).unwrap();
    assert_eq!(bench.read(all_entries()).unwrap(), []);
    bench.write(vec![station(&p4info, Type::Insert, 1, 4), station(&p4info, Type::Insert, 2, 5)]).unwrap();
    bench.set(Action::Commit, "", 1).unwrap();
    assert_eq!(bench.read(all_entries()).unwrap().len(), 2);
    let packet = [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 9, 8, 0];
    bench.device.receive(1, &packet);
    assert_eq!(bench.device.take_sent(), [(5, packet.to_vec())]);
}

#[test]
fn c04_a_committed_program_has_its_initial_entries() {
    let desk = Desk::new();
    desk.write(&[r"delete table_entry { table_id: $started exact(1,\x62) }"]);
    desk.write(&[r"modify table_entry { table_id: $keyless is_default_action: true do(forward,\x05) }"]);
    desk.set(Action::VerifyAndCommit, LINES, None).unwrap();
    assert_eq!(desk.read("table_entry { table_id: $started }").len(), 2);
    desk.reads(
        "table_entry { table_id: $keyless is_default_action: true }",
        &["table_entry { table_id: $keyless is_default_action: true do(NoAction) }"],
    );
}

#[test]
fn c05_everything_that_was_written_is_kept() {
    let desk = Desk::new();
    desk.write(&[
        r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(forward,\x03) metadata: 'm' controller_metadata: 4 idle_timeout_ns: 9000000000 }",
        r"insert table_entry { table_id: $kinds_of_match exact(1,\x01) ternary(3,\x01,\x01) priority: 4 do(drop) }",
        r"modify table_entry { table_id: $keyless is_default_action: true do(forward,\x05) }",
        r"insert action_profile_member { action_profile_id: $choices member_id: 1 action { call(forward,\x06) } }",
        "insert action_profile_group { action_profile_id: $choices group_id: 1 max_size: 4 members { member_id: 1 weight: 2 } }",
        r"insert table_entry { table_id: $balanced exact(1,\x01) action { action_profile_group_id: 1 } }",
        r"delete table_entry { table_id: $started exact(1,\x62) }",
        r"modify table_entry { table_id: $fixed ternary(1,\x51,\xff) priority: 3 counter_data { packet_count: 7 byte_count: 8 } }",
        r"modify table_entry { table_id: $prefixes is_default_action: true metadata: 'd' }",
        r"insert packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 metadata: 'g' replicas { port: '\x01' backup_replicas { port: '\x02' } } } }",
        r"insert packet_replication_engine_entry { clone_session_entry { session_id: 5 replicas { port: '\x01' } packet_length_bytes: 20 } }",
        "modify counter_entry { counter_id: $cells index { index: 3 } data { packet_count: 4 byte_count: 5 } }",
        "modify meter_entry { meter_id: $rates index { index: 3 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }",
        r"modify register_entry { register_id: $memory index { index: 3 } data { bitstring: '\x07' } }",
        r"modify value_set_entry { value_set_id: $kinds members { exact(1,\x07) } }",
        "insert digest_entry { digest_id: $Seen config { max_timeout_ns: 5 max_list_size: 6 ack_timeout_ns: 7 } }",
    ]);
    let before = desk.dump();
    desk.set(Action::ReconcileAndCommit, LINES, None).unwrap();
    desk.still_has(&before);
    // A program without a table has no place for its entries; ten are named at most.
    let keys: Vec<String> = (3..30)
        .map(|b| {
            format!("insert table_entry {{ table_id: $pairs exact(1,\\x02) exact(2,\\x{b:02x}) do(drop) }}")
        })
        .collect();
    desk.codes(&keys.iter().map(String::as_str).collect::<Vec<&str>>());
    let before = desk.dump();
    let without = LINES.replace("    @name(\"pairs\")\n", "").replace("table pairs", "table couples");
    let without = without.replace("pairs.apply()", "couples.apply()");
    let status = desk.set(Action::ReconcileAndCommit, &without, None).unwrap_err();
    assert_eq!(code(&status), Code::InvalidArgument);
    let n_named = status.message().matches("pairs").count();
    assert!((1..=10).contains(&n_named) && status.message().starts_with("1"), "{n_named}: {status}");
    desk.still_has(&before);
    assert_eq!(code(&desk.set(Action::ReconcileAndCommit, "", None).unwrap_err()), Code::InvalidArgument);
    // Without a program before, it is a commit.
    let bench = Bench::new();
    let mut primary = bench.controller();
    primary.elect("", 1);
    bench.set(Action::ReconcileAndCommit, PROGRAM, 1).unwrap();
    assert!(bench.get(0).unwrap().is_some());
}

#[test]
fn c06_a_p4info_matches_its_program_by_name() {
    let desk = Desk::new();
    let mut own = desk.p4info.clone();
    // Ids are those of the controller, and what it leaves out cannot be addressed.
    let pairs = own.tables.iter_mut().find(|of| of.preamble.as_ref().unwrap().alias == "pairs").unwrap();
    pairs.preamble.as_mut().unwrap().id = 0x0200_0777;
    for counter in &mut own.direct_counters {
        if counter.preamble.as_ref().unwrap().alias == "hits" {
            counter.direct_table_id = 0x0200_0777;
        }
    }
    own.tables.retain(|of| of.preamble.as_ref().unwrap().alias != "const_default");
    desk.set(Action::VerifyAndCommit, LINES, Some(own.clone())).unwrap();
    desk.write(&[
        r"insert table_entry { table_id: 0x02000777 exact(1,\x01) exact(2,\x02) do(forward,\x03) }",
    ]);
    desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
    assert_eq!(desk.device.take_sent()[0].0, 3);
    let missing = r"insert table_entry { table_id: $const_default exact(1,\x01) do(drop) }";
    assert_eq!(desk.codes(&[missing]), [Code::NotFound]);
    assert_eq!(desk.get(0).unwrap().unwrap().p4info, Some(own));
    // A P4Info that does not fit the program is refused, and the running program stays.
    let refused = |what: &str, change: fn(&mut p4info::P4Info)| {
        let mut p4info = desk.p4info.clone();
        change(&mut p4info);
        let before = desk.get(0).unwrap();
        for action in [Action::Verify, Action::VerifyAndCommit] {
            let status = desk.set(action, LINES, Some(p4info.clone())).expect_err(what);
            assert_eq!(code(&status), Code::InvalidArgument, "{what}: {status}");
        }
        assert_eq!(desk.get(0).unwrap(), before);
    };
    refused("a table that the program lacks", |p4info| {
        let mut table = p4info.tables[0].clone();
        let preamble = table.preamble.as_mut().unwrap();
        (preamble.id, preamble.name) = (0x0200_0123, "Work.none".to_owned());
        p4info.tables.push(table);
    });
    refused("another width", |p4info| p4info.tables[0].match_fields[0].bitwidth += 1);
    refused("another kind of match", |p4info| {
        use p4info::proto::p4::config::v1::match_field::{Match, MatchType};
        let field = &mut p4info.tables[0].match_fields[0];
        field.r#match = Some(Match::MatchType(MatchType::Lpm.into()));
    });
    refused("an id with the prefix of another kind", |p4info| {
        p4info.counters[0].preamble.as_mut().unwrap().id = 0x0200_0124;
    });
    refused("an id twice", |p4info| {
        let id = p4info.tables[0].preamble.as_ref().unwrap().id;
        p4info.tables[1].preamble.as_mut().unwrap().id = id;
    });
    refused("more than the platform has", |p4info| {
        use p4info::proto::p4::config::v1::{PkgInfo, PlatformProperties};
        let properties =
            PlatformProperties { multicast_group_table_size: i32::MAX, ..PlatformProperties::default() };
        p4info.pkg_info.get_or_insert_with(PkgInfo::default).platform_properties = Some(properties);
    });
}

#[test]
fn c07_a_cookie_of_zero_is_one() {
    let desk = Desk::new();
    assert_eq!(desk.get(1).unwrap().unwrap().cookie, None);
    let config = pb::ForwardingPipelineConfig {
        p4_device_config: LINES.as_bytes().to_vec(),
        cookie: Some(pb::forwarding_pipeline_config::Cookie { cookie: 0 }),
        ..pb::ForwardingPipelineConfig::default()
    };
    desk.set_request(pb::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        action: Action::VerifyAndCommit.into(),
        config: Some(config.clone()),
        ..pb::SetForwardingPipelineConfigRequest::default()
    })
    .unwrap();
    let found = desk.get(1).unwrap().unwrap();
    assert_eq!(found, pb::ForwardingPipelineConfig { cookie: config.cookie, ..Default::default() });
}

/// Programs are set while others write: every request ends on one program or the other.
#[test]
fn c08_programs_are_set_one_after_the_other() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let bench = &bench;
            let program = PROGRAM.replace("size = 16;", &format!("size = {};", 17 + thread));
            scope.spawn(move || {
                for _ in 0..3 {
                    bench.set(Action::VerifyAndCommit, &program, 1).unwrap();
                }
            });
        }
        for i in 0..60 {
            match bench
                .write(vec![station(&p4info, Type::Insert, i, 2), station(&p4info, Type::Delete, i, 2)])
            {
                Ok(()) => {}
                Err(status) => assert_eq!(code(&status), Code::Aborted, "{status}"),
            }
        }
    });
    // Nothing of the old programs is left.
    assert_eq!(bench.read(all_entries()).unwrap(), []);
    let config = bench.get(0).unwrap().unwrap();
    let text = String::from_utf8(config.p4_device_config).unwrap();
    let size = table(&config.p4info.unwrap(), "sources").size;
    assert!(text.contains(&format!("size = {size};")) && (size == 17 || size == 18), "{size}");
}
