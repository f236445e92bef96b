//! K. Digests and idle notices.

use crate::bench::*;
use crate::desk::Desk;

#[test]
fn k01_digests_reach_the_primary_and_are_acknowledged() {
    let (bench, p4info) = Bench::running();
    let (mut primary, mut backup) = (bench.controller(), bench.controller());
    primary.elect("", 1);
    backup.arbitrate("", Some(0));
    backup.notice();
    let digest_id = p4info.digests[0].preamble.as_ref().unwrap().id;
    let packet = |source: u8| [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, source, 8, 0];
    bench.device.receive(1, &packet(1));
    assert!(primary.hears_nothing(), "nobody has asked for them");
    let config =
        pb::digest_entry::Config { max_timeout_ns: 0, max_list_size: 1, ack_timeout_ns: 10_000_000_000 };
    let entry = pb::DigestEntry { digest_id, config: Some(config) };
    bench.write(vec![update(Type::Insert, Entity::DigestEntry(entry))]).unwrap();
    bench.device.receive(1, &packet(2));
    let Some(Update::Digest(list)) = primary.next().unwrap() else { panic!("a digest was expected") };
    assert_eq!((list.digest_id, list.list_id, list.data.len()), (digest_id, 1, 1));
    assert!(list.timestamp > 1_000_000_000_000_000_000, "nanoseconds since 1970");
    // Equal data is not sent again before it is acknowledged.
    bench.device.receive(1, &packet(2));
    assert!(primary.hears_nothing());
    let ack = |digest_id, list_id| Some(Request::DigestAck(pb::DigestListAck { digest_id, list_id }));
    primary.send(ack(digest_id, list.list_id));
    primary.send(ack(1, 1));
    assert_eq!(primary.stream_error().canonical_code, Code::InvalidArgument.number());
    bench.device.receive(1, &packet(2));
    let Some(Update::Digest(again)) = primary.next().unwrap() else { panic!("a digest was expected") };
    assert_eq!((again.list_id, again.data), (2, list.data));
    assert!(backup.hears_nothing());
}

/// A switch whose primary has asked for digests, that learns from each packet with `a` = 1 and `b` = 2.
fn learning(config: &str) -> (Desk, Controller) {
    let mut desk = Desk::new();
    let mut primary = desk.controller();
    primary.elect("", 1);
    desk.election_id = Some(1);
    desk.write(&[
        &format!("insert digest_entry {{ digest_id: $Seen config {{ {config} }} }}"),
        r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(learn) }",
    ]);
    (desk, primary)
}

fn send(desk: &Desk, kinds: impl Iterator<Item = u8>) {
    for kind in kinds {
        desk.device.receive(1, &[kind, 1, 0, 2, 0, 0, 0, 0]);
    }
}

fn list(controller: &mut Controller) -> pb::DigestList {
    match controller.next().unwrap() {
        Some(Update::Digest(list)) => list,
        other => panic!("a digest was expected: {other:?}"),
    }
}

#[test]
fn k01_digests_are_asked_for_once() {
    let desk = Desk::new();
    desk.refuses(
        Code::NotFound,
        &[("delete digest_entry { digest_id: $Seen }", ""), ("modify digest_entry { digest_id: $Seen }", "")],
    );
    desk.refuses(
        Code::InvalidArgument,
        &[
            ("insert digest_entry { digest_id: $Seen config { max_list_size: -1 } }", "negative"),
            ("insert digest_entry { digest_id: $Seen config { max_timeout_ns: -1 } }", "negative"),
            ("insert digest_entry { digest_id: $Seen config { ack_timeout_ns: -1 } }", "negative"),
        ],
    );
    let entry =
        "digest_entry { digest_id: $Seen config { max_timeout_ns: 1 max_list_size: 2 ack_timeout_ns: 3 } }";
    desk.write(&[&format!("insert {entry}")]);
    desk.refuses(Code::AlreadyExists, &[(&format!("insert {entry}"), "")]);
    desk.reads("digest_entry {}", &[entry]);
    desk.write(&["delete digest_entry { digest_id: $Seen }"]);
    desk.reads("digest_entry {}", &[]);
}

#[test]
fn k01_a_list_has_as_many_distinct_messages_as_it_may() {
    let (desk, mut primary) =
        learning("max_timeout_ns: 3600000000000 max_list_size: 3 ack_timeout_ns: 3600000000000");
    send(&desk, [1, 1, 2, 1].into_iter());
    assert!(primary.hears_nothing());
    send(&desk, 3..4);
    let first = list(&mut primary);
    assert_eq!(first.data.len(), 3);
    // Without an acknowledgement nothing is said again.
    send(&desk, 1..4);
    assert!(primary.hears_nothing());
    primary.send(Some(Request::DigestAck(pb::DigestListAck {
        digest_id: first.digest_id,
        list_id: first.list_id,
    })));
    // A late acknowledgement, and one of a list that never was, change nothing.
    for list_id in [first.list_id, 999] {
        primary.send(Some(Request::DigestAck(pb::DigestListAck { digest_id: first.digest_id, list_id })));
    }
    primary.arbitrate("", Some(1));
    assert_eq!(primary.notice(), (Some(1), OK));
    send(&desk, 1..4);
    let second = list(&mut primary);
    assert!(second.list_id > first.list_id && second.timestamp >= first.timestamp);
    assert_eq!(second.data, first.data);
}

#[test]
fn k01_a_list_goes_when_its_time_has_come() {
    let (desk, mut primary) = learning("max_timeout_ns: 20000000 max_list_size: 100");
    send(&desk, 1..3);
    assert_eq!(list(&mut primary).data.len(), 2);
    // Without a time for acknowledgements nothing is remembered.
    send(&desk, 1..3);
    assert_eq!(list(&mut primary).data.len(), 2);
}

#[test]
fn k01_size_zero_is_a_thousand() {
    let (desk, mut primary) = learning("max_timeout_ns: 20000000");
    send(&desk, 0..=255);
    assert!(!list(&mut primary).data.is_empty());
}

#[test]
fn k01_a_new_primary_hears_everything_anew() {
    let (desk, mut primary) = learning("max_list_size: 1 ack_timeout_ns: 3600000000000");
    send(&desk, 1..2);
    let first = list(&mut primary);
    let mut next = desk.controller();
    next.elect("", 2);
    send(&desk, 1..2);
    assert_eq!(list(&mut next).data, first.data);
    assert_eq!(primary.notice(), (Some(2), ALREADY_EXISTS));
    assert!(primary.hears_nothing());
}

#[test]
fn k02_idle_entries_are_told_with_key_metadata_and_timeout() {
    let mut desk = Desk::new();
    let mut primary = desk.controller();
    primary.elect("", 1);
    desk.election_id = Some(1);
    let pairs = table(&desk.p4info, "pairs").preamble.as_ref().unwrap().id;
    // Nothing is idle: nothing is said.
    desk.device.expire_table(pairs);
    assert!(primary.hears_nothing());
    let key = r"table_id: $pairs exact(1,\x01) exact(2,\x02)";
    let rest = "idle_timeout_ns: 5 metadata: 'm' controller_metadata: 6";
    desk.write(&[&format!("insert table_entry {{ {key} do(forward,\\x01) {rest} }}")]);
    desk.device.expire_table(pairs);
    let Some(Update::IdleTimeoutNotification(notice)) = primary.next().unwrap() else { panic!("a notice") };
    let expected = desk.entity(&format!("table_entry {{ {key} {rest} }}"));
    let found: Vec<Option<Entity>> =
        notice.table_entry.into_iter().map(|entry| Some(Entity::TableEntry(entry))).collect();
    assert_eq!(found, [expected.entity]);
    assert!(notice.timestamp > 1_000_000_000_000_000_000, "nanoseconds since 1970");
    // Deleted entries are not told of.
    desk.write(&[&format!("delete table_entry {{ {key} }}")]);
    desk.device.expire_table(pairs);
    assert!(primary.hears_nothing());
}
