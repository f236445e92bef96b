//! E. Read.

use crate::bench::*;
use crate::desk::Desk;

#[test]
fn e01_e02_good_questions_are_answered_beside_bad_ones() {
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
fn e02_long_answers_come_in_messages_that_clients_take() {
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
fn e04_what_is_written_is_read() {
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

#[test]
fn e01_questions_about_what_is_not_there() {
    let desk = Desk::new();
    desk.refuses_to_read(
        Code::NotFound,
        &[
            ("table_entry { table_id: 0x020000ff }", "no table"),
            ("counter_entry { counter_id: 0x120000ff }", "no counter"),
            ("digest_entry { digest_id: 0x170000ff }", "no digest"),
            ("value_set_entry { value_set_id: 0x030000ff }", "no value set"),
        ],
    );
    desk.refuses_to_read(
        Code::InvalidArgument,
        &[
            ("table_entry { table_id: $forward }", "not a table"),
            ("counter_entry { counter_id: $rates }", "not a counter"),
        ],
    );
}
