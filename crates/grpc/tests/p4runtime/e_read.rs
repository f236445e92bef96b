//! E. Read.

use crate::bench::*;
use crate::desk::Desk;
use p4info::P4Info;
use prost::Message;
use tonic::{Status, Streaming};

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

/// A switch with `n` entries whose metadata take a KiB each, and its P4Info.
fn with_long_entries(n: u64) -> (Bench, P4Info, Controller) {
    let (bench, _) = Bench::running();
    let mut primary = bench.controller();
    primary.elect("", 1);
    let wide =
        PROGRAM.replace("size = 64;\n        support_timeout", "size = 100000;\n        support_timeout");
    bench.set(Action::VerifyAndCommit, &wide, 1).unwrap();
    let p4info = bench.get(0).unwrap().unwrap().p4info.unwrap();
    bench.write((0..n).map(|i| long_station(&p4info, Type::Insert, i, 2)).collect()).unwrap();
    (bench, p4info, primary)
}

fn long_station(p4info: &P4Info, kind: Type, of: u64, port: u8) -> pb::Update {
    let mut update = station(p4info, kind, of, port);
    let entity = update.entity.as_mut().and_then(|entity| entity.entity.as_mut());
    let Some(Entity::TableEntry(entry)) = entity else { panic!() };
    entry.metadata = vec![port; 1024];
    update
}

/// The answer to a question for all entries, of which one message has been received.
fn slow_answer(bench: &Bench) -> (Vec<pb::Entity>, Streaming<pb::ReadResponse>) {
    let entities = all_entries().into_iter().map(|entity| pb::Entity { entity: Some(entity) }).collect();
    let request = pb::ReadRequest { device_id: DEVICE, entities, ..pb::ReadRequest::default() };
    let mut client = bench.client.clone();
    bench.runtime.block_on(async {
        let mut answers = client.read(request).await.unwrap().into_inner();
        (answers.message().await.unwrap().unwrap().entities, answers)
    })
}

/// The rest of an answer, and how it ends.
fn rest(bench: &Bench, mut answers: Streaming<pb::ReadResponse>) -> (Vec<pb::Entity>, Result<(), Status>) {
    let mut found = Vec::new();
    bench.runtime.block_on(async {
        loop {
            match answers.message().await {
                Ok(Some(answer)) => found.extend(answer.entities),
                Ok(None) => return (found, Ok(())),
                Err(status) => return (found, Err(status)),
            }
        }
    })
}

/// Encoded entities, by their bytes.
fn in_order(entities: Vec<pb::Entity>) -> Vec<Vec<u8>> {
    let mut encoded: Vec<_> = entities.iter().map(pb::Entity::encode_to_vec).collect();
    encoded.sort_unstable();
    encoded
}

#[test]
fn e03_a_slow_reader_sees_one_moment_and_holds_nobody_up() {
    let (bench, p4info, _primary) = with_long_entries(40_000);
    let before = bench.read(all_entries()).unwrap();
    assert_eq!(before.len(), 40_000);
    let (mut found, answers) = slow_answer(&bench);
    // Others write and read while the answer is under way.
    let change = |i: u64| match i % 3 {
        0 => station(&p4info, Type::Delete, i, 2),
        1 => long_station(&p4info, Type::Modify, i, 3),
        _ => long_station(&p4info, Type::Insert, 50_000 + i, 4),
    };
    for part in 0..4 {
        bench.write((part * 10_000..(part + 1) * 10_000).map(change).collect()).unwrap();
    }
    let after = bench.read(all_entries()).unwrap();
    assert_ne!(after, before);
    let (others, end) = rest(&bench, answers);
    found.extend(others);
    end.unwrap();
    // Entities come in any order.
    assert!(in_order(found) == in_order(before), "other entries");
}

#[test]
fn e03_a_read_ends_with_the_program() {
    let (bench, _, _primary) = with_long_entries(40_000);
    let (first, answers) = slow_answer(&bench);
    bench.set(Action::VerifyAndCommit, PROGRAM, 1).unwrap();
    let (others, end) = rest(&bench, answers);
    assert!(first.len() + others.len() < 40_000);
    let status = end.unwrap_err();
    let [(code, text)] = &details(&status)[..] else { panic!("{status}") };
    assert_eq!(*code, Code::Aborted as i32, "{text}");
    assert!(text.contains("program was replaced"), "{text}");
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

/// E, table entries: which ones.
#[test]
fn e05_table_entries_are_filtered_by_everything_that_is_set() {
    let desk = Desk::new();
    let entry = |key: u32, rest: &str| {
        format!("table_entry {{ table_id: $pairs exact(1,\\x01) exact(2,\\x0{key}) {rest} }}")
    };
    let all = [
        entry(1, "do(forward,\\x01)"),
        entry(2, "do(forward,\\x02) metadata: 'm'"),
        entry(3, "do(drop) metadata: 'm' controller_metadata: 5"),
    ];
    let inserts = all.each_ref().map(|entry| format!("insert {entry}"));
    desk.write(&inserts.each_ref().map(String::as_str));
    let reads = |filter: &str, expected: &[&String]| {
        let expected: Vec<&str> = expected.iter().map(|text| text.as_str()).collect();
        desk.reads(&format!("table_entry {{ table_id: $pairs {filter} }}"), &expected);
    };
    reads("", &[&all[0], &all[1], &all[2]]);
    reads(r"exact(1,\x01) exact(2,\x02)", &[&all[1]]);
    reads(r"exact(1,\x01) exact(2,\x09)", &[]);
    reads("metadata: 'm'", &[&all[1], &all[2]]);
    reads("controller_metadata: 5", &[&all[2]]);
    reads("action { action { action_id: $forward } }", &[&all[0], &all[1]]);
    reads("action { action { action_id: $forward } } metadata: 'm'", &[&all[1]]);
    // All tables: initial entries too, and no default entries.
    let found = desk.read("table_entry {}");
    assert_eq!(found.len(), 3 + 3 + 2);
    let is_default = |entity: &pb::Entity| matches!(&entity.entity, Some(Entity::TableEntry(entry)) if entry.is_default_action);
    assert!(!found.iter().any(is_default));
    desk.refuses_to_read(
        Code::InvalidArgument,
        &[
            (r"table_entry { exact(1,\x01) }", ""),
            ("table_entry { priority: 1 }", ""),
            ("table_entry { metadata: 'm' }", ""),
            ("table_entry { table_id: $pairs exact(1,1) }", "is missing"),
        ],
    );
    desk.refuses_to_read(
        Code::Unimplemented,
        &[
            ("table_entry { table_id: $balanced action { action_profile_member_id: 1 } }", ""),
            ("table_entry { table_id: $balanced action { action_profile_group_id: 1 } }", ""),
            ("table_entry { table_id: $balanced action { action_profile_action_set {} } }", ""),
        ],
    );
    // A priority without a match means all entries that have it, whatever they match.
    for (priority, matches) in [(1, ""), (2, r"ternary(3,\x01,\x01)"), (2, "")] {
        desk.write(&[&format!("insert table_entry {{ table_id: $kinds_of_match exact(1,\\x01) {matches} priority: {priority} do(drop) }}")]);
    }
    assert_eq!(desk.read("table_entry { table_id: $kinds_of_match priority: 2 }").len(), 2);
}

#[test]
fn e05_default_entries_of_all_tables_are_read_together() {
    let desk = Desk::new();
    let found = desk.read("table_entry { is_default_action: true }");
    let is_default = |entity: &pb::Entity| matches!(&entity.entity, Some(Entity::TableEntry(entry)) if entry.is_default_action);
    assert!(found.len() > 5 && found.iter().all(is_default), "{found:?}");
}

/// E, table entries: the parts that only come if they are asked for.
#[test]
fn e06_parts_of_entries_come_when_they_are_asked_for() {
    let desk = Desk::new();
    let key = r"table_id: $pairs exact(1,\x01) exact(2,\x02)";
    desk.write(&[
        &format!("insert table_entry {{ {key} do(drop) counter_data {{ packet_count: 3 }} }}"),
        r"insert table_entry { table_id: $limits_table exact(1,\x01) do(limited,\x01) }",
    ]);
    desk.reads("table_entry { table_id: $pairs }", &[&format!("table_entry {{ {key} do(drop) }}")]);
    desk.reads(
        "table_entry { table_id: $pairs counter_data {} }",
        &[&format!("table_entry {{ {key} do(drop) counter_data {{ packet_count: 3 }} }}")],
    );
    // A meter that nobody has configured has no config, though it is asked for.
    desk.reads(
        "table_entry { table_id: $limits_table meter_config {} }",
        &[r"table_entry { table_id: $limits_table exact(1,\x01) do(limited,\x01) }"],
    );
    desk.refuses_to_read(
        Code::InvalidArgument,
        &[
            ("table_entry { table_id: $prefixes counter_data {} }", "no direct counter"),
            ("table_entry { table_id: $pairs meter_config {} }", "no direct meter"),
            ("table_entry { table_id: $pairs meter_counter_data {} }", "no direct meter"),
            ("table_entry { table_id: $prefixes time_since_last_hit {} }", "no idle timeout"),
        ],
    );
}

/// E, the other rows of its table.
#[test]
fn e07_ids_of_zero_mean_all() {
    let desk = Desk::new();
    let member = |profile: &str, id: u32| {
        format!(
            "action_profile_member {{ action_profile_id: ${profile} member_id: {id} action {{ call(forward,\\x01) }} }}"
        )
    };
    let members = [member("choices", 1), member("choices", 2), member("hops", 1)];
    let inserts = members.each_ref().map(|member| format!("insert {member}"));
    desk.write(&inserts.each_ref().map(String::as_str));
    desk.write(&["insert action_profile_group { action_profile_id: $choices group_id: 3 max_size: 2 }"]);
    assert_eq!(desk.read("action_profile_member {}").len(), 3);
    desk.reads("action_profile_member { action_profile_id: $choices }", &[&members[0], &members[1]]);
    desk.reads("action_profile_member { action_profile_id: $choices member_id: 2 }", &[&members[1]]);
    desk.reads("action_profile_member { action_profile_id: $choices member_id: 9 }", &[]);
    assert_eq!(desk.read("action_profile_group {}").len(), 1);
    assert_eq!(desk.read("action_profile_group { action_profile_id: $choices group_id: 3 }").len(), 1);
    desk.reads("action_profile_group { action_profile_id: $choices group_id: 4 }", &[]);
    desk.refuses_to_read(
        Code::InvalidArgument,
        &[("action_profile_group { action_profile_id: $hops }", "no groups")],
    );
    desk.refuses_to_read(Code::NotFound, &[("action_profile_member { action_profile_id: 0x110000ff }", "")]);
}

#[test]
fn e08_cells_are_read_one_or_all() {
    let desk = Desk::new();
    for (question, n) in [
        ("counter_entry {}", 8),
        ("counter_entry { counter_id: $cells }", 8),
        ("counter_entry { counter_id: $cells index { index: 3 } }", 1),
        ("meter_entry {}", 8),
        ("meter_entry { meter_id: $rates index {} }", 1),
        ("register_entry {}", 8),
        ("register_entry { register_id: $memory index { index: 7 } }", 1),
    ] {
        assert_eq!(desk.read(question).len(), n, "{question}");
    }
    for entity in [
        "counter_entry { counter_id: $cells",
        "meter_entry { meter_id: $rates",
        "register_entry { register_id: $memory",
    ] {
        let (negative, large) =
            (format!("{entity} index {{ index: -1 }} }}"), format!("{entity} index {{ index: 8 }} }}"));
        desk.refuses_to_read(Code::InvalidArgument, &[(&negative, "is negative")]);
        desk.refuses_to_read(Code::OutOfRange, &[(&large, "beyond the last cell")]);
    }
}

#[test]
fn e09_direct_cells_are_read_by_entry_table_or_all() {
    let desk = Desk::new();
    let entry =
        |key: u32| format!("table_entry {{ table_id: $pairs exact(1,\\x01) exact(2,\\x0{key}) do(drop) }}");
    desk.write(&[&format!("insert {}", entry(1)), &format!("insert {}", entry(2))]);
    let cell = |key: u32| {
        format!(
            "direct_counter_entry {{ table_entry {{ table_id: $pairs exact(1,\\x01) exact(2,\\x0{key}) }} }}"
        )
    };
    assert_eq!(desk.read(&cell(1)).len(), 1);
    assert_eq!(desk.read("direct_counter_entry { table_entry { table_id: $pairs } }").len(), 2);
    // Those of the const entries of `fixed` are among all.
    assert_eq!(desk.read("direct_counter_entry { table_entry {} }").len(), 2 + 3);
    assert_eq!(desk.read("direct_counter_entry {}").len(), 2 + 3);
    desk.refuses_to_read(Code::NotFound, &[(&cell(9), "does not exist")]);
    desk.refuses_to_read(
        Code::InvalidArgument,
        &[
            ("direct_counter_entry { table_entry { table_id: $prefixes } }", "no direct counter"),
            ("direct_meter_entry { table_entry { table_id: $pairs } }", "no direct meter"),
        ],
    );
}

#[test]
fn e10_what_is_missing_is_an_empty_answer() {
    let desk = Desk::new();
    let (group, session) = (
        "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 4 } }",
        "packet_replication_engine_entry { clone_session_entry { session_id: 4 } }",
    );
    for question in [group, session, "digest_entry { digest_id: $Seen }", "digest_entry {}"] {
        desk.reads(question, &[]);
    }
    // A value set is always there. Fields that are no filters are ignored.
    desk.reads(
        "value_set_entry { value_set_id: $kinds members { exact(1,\\x01) } }",
        &["value_set_entry { value_set_id: $kinds }"],
    );
    assert_eq!(desk.read("value_set_entry {}").len(), 2);
    desk.write(&[
        &format!("insert {group}"),
        &format!("insert {session}"),
        "insert digest_entry { digest_id: $Seen config {} }",
    ]);
    for (question, n) in [
        (
            "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 4 metadata: 'x' } }",
            1,
        ),
        ("packet_replication_engine_entry { multicast_group_entry {} }", 1),
        ("packet_replication_engine_entry { clone_session_entry { packet_length_bytes: 9 } }", 1),
        ("digest_entry { config { max_list_size: 9 } }", 1),
    ] {
        assert_eq!(desk.read(question).len(), n, "{question}");
    }
}
