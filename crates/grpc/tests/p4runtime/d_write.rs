//! D. Write.

use crate::bench::*;

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
