//! D. Write.

use crate::bench::*;
use crate::desk::Desk;

#[test]
fn d01_checks_come_in_their_order() {
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
fn d02_every_update_has_its_error() {
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
fn d02_statuses_of_large_requests_fit_into_what_clients_take() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let updates = (0..60).map(|i| station(&p4info, Type::Delete, i, 2)).collect();
    let status = bench.write(updates).unwrap_err();
    assert!(status.details().len() * 4 / 3 <= 8 << 10, "{}", status.details().len());
    assert!(details(&status).iter().all(|(code, _)| *code == NOT_FOUND));
}

#[test]
fn d03_batches_are_applied_as_they_say() {
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
fn d05_d06_updates_that_say_nothing_are_faults() {
    let (bench, p4info) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let mut without_type = station(&p4info, Type::Insert, 1, 2);
    without_type.r#type = 0;
    let nothing = pb::Update { r#type: Type::Insert.into(), entity: None };
    let of_table = |table_id| {
        update(Type::Insert, Entity::TableEntry(pb::TableEntry { table_id, ..pb::TableEntry::default() }))
    };
    let forward = action_id(&p4info, "forward");
    let status =
        bench.write(vec![without_type, nothing, of_table(0), of_table(forward), of_table(0x0200_0001)]);
    let codes: Vec<i32> = details(&status.unwrap_err()).iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [3, 3, 3, 3, NOT_FOUND]);
}

#[test]
fn d04_a_read_after_a_write_sees_it() {
    let desk = Desk::new();
    // Updates of a request are done in their order.
    let entry = |port: u32| {
        format!("table_entry {{ table_id: $pairs exact(1,\\x01) exact(2,\\x02) do(forward,\\x0{port}) }}")
    };
    let (insert, modify, delete) =
        (format!("insert {}", entry(1)), format!("modify {}", entry(2)), format!("delete {}", entry(1)));
    assert_eq!(
        desk.codes(&[&delete, &insert, &insert, &modify, &delete, &modify, &insert]),
        [Code::NotFound, Code::Ok, Code::AlreadyExists, Code::Ok, Code::Ok, Code::NotFound, Code::Ok]
    );
    // The data plane has what a write has done when it returns.
    for port in 1..9 {
        desk.write(&[&format!("modify {}", entry(port))]);
        desk.reads("table_entry { table_id: $pairs }", &[&entry(port)]);
        desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
        assert_eq!(desk.device.take_sent()[0].0, port);
    }
}

/// Two entries that requests write together never differ for a reader.
#[test]
fn d04_e03_updates_of_a_request_are_contiguous() {
    let desk = Desk::new();
    let entry = |kind: &str, key: u32, port: u32| {
        format!(
            "{kind} table_entry {{ table_id: $pairs exact(1,\\x01) exact(2,\\x0{key}) do(forward,\\x0{port}) }}"
        )
    };
    desk.write(&[&entry("insert", 1, 1), &entry("insert", 2, 1)]);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (desk, is_over) = (&desk, &is_over);
        let writers = [1, 2, 3].map(|port| {
            scope.spawn(move || {
                for _ in 0..100 {
                    desk.write(&[&entry("modify", 1, port), &entry("modify", 2, port)]);
                }
            })
        });
        let reader = scope.spawn(move || {
            let mut n_read = 0;
            while !is_over.load(std::sync::atomic::Ordering::Acquire) {
                let found = desk.read("table_entry { table_id: $pairs }");
                let actions: Vec<Option<pb::TableAction>> = found
                    .into_iter()
                    .map(|entity| match entity.entity {
                        Some(Entity::TableEntry(entry)) => entry.action,
                        _ => None,
                    })
                    .collect();
                assert_eq!(actions[0], actions[1]);
                n_read += 1;
            }
            assert!(n_read > 0);
        });
        for writer in writers {
            writer.join().unwrap();
        }
        is_over.store(true, std::sync::atomic::Ordering::Release);
        reader.join().unwrap();
    });
}

#[test]
fn d05_deletions_need_the_key_alone() {
    let desk = Desk::new();
    desk.write(&[r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(stamp,\x01,\x02) metadata: 'm' }"]);
    desk.refuses(
        Code::AlreadyExists,
        &[(r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(drop) }", "exists")],
    );
    desk.refuses(
        Code::NotFound,
        &[
            (
                r"modify table_entry { table_id: $pairs exact(1,\x01) exact(2,\x03) do(drop) }",
                "does not exist",
            ),
            (r"delete table_entry { table_id: $pairs exact(1,\x01) exact(2,\x03) }", "does not exist"),
        ],
    );
    // MODIFY replaces everything.
    desk.write(&[r"modify table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(drop) }"]);
    desk.reads(
        "table_entry { table_id: $pairs }",
        &[r"table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(drop) }"],
    );
    desk.write(&[
        r"delete table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) action { action { action_id: 77 } } idle_timeout_ns: -1 meter_config { cir: -1 } }",
    ]);
    desk.reads("table_entry { table_id: $pairs }", &[]);
}

#[test]
fn d06_ids_are_of_their_kind() {
    let desk = Desk::new();
    desk.refuses(
        Code::InvalidArgument,
        &[
            ("modify counter_entry { data {} }", "its id is 0"),
            ("modify counter_entry { counter_id: $rates }", "not a counter"),
            ("modify meter_entry { meter_id: $cells }", "not a meter"),
            ("modify register_entry { register_id: $cells }", "not a register"),
            (
                "insert action_profile_member { action_profile_id: $cells member_id: 1 }",
                "not an action profile",
            ),
            ("insert digest_entry { digest_id: $cells }", "not a digest"),
            ("modify value_set_entry { value_set_id: $cells }", "not a value set"),
        ],
    );
    desk.refuses(
        Code::NotFound,
        &[
            ("modify counter_entry { counter_id: 0x120000ff }", "no counter"),
            ("modify meter_entry { meter_id: 0x140000ff }", "no meter"),
            ("modify register_entry { register_id: 0x160000ff }", "no register"),
            (
                "insert action_profile_member { action_profile_id: 0x110000ff member_id: 1 }",
                "no action profile",
            ),
            ("insert digest_entry { digest_id: 0x170000ff }", "no digest"),
            ("modify value_set_entry { value_set_id: 0x030000ff }", "no value set"),
        ],
    );
}

/// An entry is never there without its count: each packet that hits it counts on top of what was written with it.
#[test]
fn d07_an_entry_comes_with_its_direct_resources() {
    let desk = Desk::new();
    let key = r"table_id: $pairs exact(1,\x01) exact(2,\x02)";
    let refused =
        format!("insert table_entry {{ {key} do(forward,\\x03) counter_data {{ packet_count: -1 }} }}");
    desk.refuses(Code::InvalidArgument, &[(&refused, "negative")]);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (device, is_over) = (&desk.device, &is_over);
        scope.spawn(move || {
            while !is_over.load(std::sync::atomic::Ordering::Acquire) {
                device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
            }
        });
        for _ in 0..50 {
            desk.device.take_sent();
            desk.write(&[&format!(
                "insert table_entry {{ {key} do(forward,\\x03) counter_data {{ packet_count: 1000 byte_count: 8000 }} }}"
            )]);
            let found = desk.read(&format!("table_entry {{ {key} counter_data {{}} }}"));
            let Some(Entity::TableEntry(entry)) = &found[0].entity else { panic!("{found:?}") };
            let count = entry.counter_data.unwrap();
            assert!(count.packet_count >= 1000 && count.byte_count == count.packet_count * 8, "{count:?}");
            desk.write(&[&format!("delete table_entry {{ {key} }}")]);
        }
        is_over.store(true, std::sync::atomic::Ordering::Release);
    });
}

#[test]
fn d08_tables_hold_what_they_say() {
    let desk = Desk::new();
    for i in 0..4 {
        desk.write(&[&format!(
            r"insert table_entry {{ table_id: $prefixes lpm(1,\x0{i}\x00\x00\x00,8) do(NoAction) }}"
        )]);
    }
    desk.refuses(
        Code::ResourceExhausted,
        &[(r"insert table_entry { table_id: $prefixes lpm(1,\x0a\x00\x00\x00,8) do(NoAction) }", "prefixes")],
    );
    desk.write(&[
        r"delete table_entry { table_id: $prefixes lpm(1,\x01\x00\x00\x00,8) }",
        r"insert table_entry { table_id: $prefixes lpm(1,\x0a\x00\x00\x00,8) do(NoAction) }",
    ]);
}
