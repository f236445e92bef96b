//! J. Multicast groups, clone sessions, value sets.

use crate::desk::Desk;
use control::Code;

fn group(rest: &str) -> String {
    format!("packet_replication_engine_entry {{ multicast_group_entry {{ {rest} }} }}")
}

fn session(rest: &str) -> String {
    format!("packet_replication_engine_entry {{ clone_session_entry {{ {rest} }} }}")
}

/// Each entity inserted is refused.
fn refuses(desk: &Desk, code: Code, cases: &[(String, &str)]) {
    let texts: Vec<(String, &str)> =
        cases.iter().map(|(text, words)| (format!("insert {text}"), *words)).collect();
    let cases: Vec<(&str, &str)> = texts.iter().map(|(text, words)| (text.as_str(), *words)).collect();
    desk.refuses(code, &cases);
}

#[test]
fn j01_multicast_groups() {
    let desk = Desk::new();
    refuses(
        &desk,
        Code::InvalidArgument,
        &[
            (group(""), "multicast group 0"),
            (group("multicast_group_id: 65536"), "16 bits"),
            (
                group(r"multicast_group_id: 1 replicas { port: '\x01' } replicas { port: '\x00\x01' }"),
                "twice",
            ),
            (
                group(
                    r"multicast_group_id: 1 replicas { port: '\x01' } replicas { port: '\x02' backup_replicas { port: '\x01' } }",
                ),
                "twice",
            ),
            (
                group(
                    r"multicast_group_id: 1 replicas { port: '\x01' backup_replicas { port: '\x01' instance: 1 } }",
                ),
                "backup of itself",
            ),
            (group(r"multicast_group_id: 1 replicas { port: '\x01' instance: 65536 }"), "16 bits"),
            (group("multicast_group_id: 1 replicas { instance: 1 }"), "a port is missing"),
            (group(r"multicast_group_id: 1 replicas { port: '\x01\x00\x00\x00\x00' }"), "port"),
            ("packet_replication_engine_entry {}".to_owned(), "not set"),
        ],
    );
    // Ports need not exist yet; the old number of a port comes back as bytes, and backups in their order.
    let written = |port: &str| {
        group(&format!(
            r"multicast_group_id: 7 metadata: 'mine' replicas {{ {port} instance: 1 }}
            replicas {{ port: '\x04' instance: 2 backup_replicas {{ port: '\x06' instance: 3 }} backup_replicas {{ port: '\x05' instance: 3 }} }}"
        ))
    };
    desk.write(&[&format!("insert {}", written("egress_port: 3"))]);
    let question = group("multicast_group_id: 7");
    desk.reads(&question, &[&written(r"port: '\x03'")]);
    desk.refuses(Code::AlreadyExists, &[(&format!("insert {question}"), "7")]);
    desk.refuses(
        Code::NotFound,
        &[
            (&format!("modify {}", group("multicast_group_id: 8")), "8"),
            (&format!("delete {}", group("multicast_group_id: 8")), "8"),
        ],
    );
    desk.write(&[r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(replicate,\x07) }"]);
    desk.write(&[r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x03) do(replicate,\x09) }"]);
    desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
    let mut ports: Vec<u32> = desk.device.take_sent().into_iter().map(|(port, _)| port).collect();
    ports.sort_unstable();
    assert_eq!(ports, [3, 4]);
    // Nobody gets what is for a group that nobody has made.
    desk.device.receive(1, &[0, 1, 0, 3, 0, 0, 0, 0]);
    assert_eq!(desk.device.take_sent(), []);
    desk.write(&[&format!("modify {}", group(r"multicast_group_id: 7 replicas { port: '\x08' }"))]);
    desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
    assert_eq!(desk.device.take_sent()[0].0, 8);
    desk.write(&[&format!("delete {question}")]);
    desk.reads(&group(""), &[]);
}

#[test]
fn j02_clone_sessions() {
    let desk = Desk::new();
    refuses(
        &desk,
        Code::InvalidArgument,
        &[
            (session(""), "clone session 0"),
            (session("session_id: 5 packet_length_bytes: -1"), "negative"),
            (session(r"session_id: 5 replicas { port: '\x01' instance: 65536 }"), "16 bits"),
            (session("session_id: 5 replicas { instance: 1 }"), "a port is missing"),
        ],
    );
    let written = |length: u32| {
        session(&format!(
            r"session_id: 5 replicas {{ port: '\x03' instance: 1 }} replicas {{ port: '\x04' }} packet_length_bytes: {length}"
        ))
    };
    desk.write(&[&format!("insert {}", written(0))]);
    desk.reads(&session("session_id: 5"), &[&written(0)]);
    desk.refuses(Code::AlreadyExists, &[(&format!("insert {}", written(1)), "5")]);
    desk.write(&[r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(mirror,\x05) }"]);
    desk.write(&[r"modify table_entry { table_id: $keyless is_default_action: true do(forward,\x09) }"]);
    let copies = || {
        desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
        let mut sent: Vec<(u32, usize)> =
            desk.device.take_sent().into_iter().map(|(port, bytes)| (port, bytes.len())).collect();
        sent.sort_unstable();
        sent
    };
    // Length 0 is the whole packet; several replicas are several copies.
    assert_eq!(copies(), [(3, 8), (4, 8), (9, 8)]);
    desk.write(&[&format!("modify {}", written(5))]);
    assert_eq!(copies(), [(3, 5), (4, 5), (9, 8)]);
    desk.write(&[&format!("delete {}", session("session_id: 5"))]);
    assert_eq!(copies(), [(9, 8)]);
}

#[test]
fn j02_classes_of_service_are_those_of_the_program() {
    let desk = Desk::new();
    let text =
        |class: u32| format!("insert {}", session(&format!("session_id: 5 class_of_service: {class}")));
    let (large, largest) = (text(8), text(u32::MAX));
    desk.refuses(Code::InvalidArgument, &[(&large, "3 bits"), (&largest, "3 bits")]);
    desk.write(&[&text(7)]);
}

#[test]
fn j03_value_sets_are_replaced_as_a_whole() {
    let desk = Desk::new();
    let set = |members: &str| format!("value_set_entry {{ value_set_id: $kinds {members} }}");
    let pairs = |members: &str| format!("value_set_entry {{ value_set_id: $pairs_of_parser {members} }}");
    let one = |value: &str| format!("members {{ exact(1,{value}) }} ");
    let empty = set("");
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&format!("insert {empty}"), "can only be modified"),
            (&format!("delete {empty}"), "can only be modified"),
            (&format!("modify {}", set("members {}")), "is missing"),
            (&format!("modify {}", set(r"members { ternary(1,\x01,\x01) }")), "exact"),
            (
                &format!("modify {}", pairs(r"members { exact(1,\x01) ternary(2,\x03,\x01) }")),
                "outside the mask",
            ),
            (&format!("modify {}", pairs(r"members { exact(1,\x01) ternary(2,\x00,\x00) }")), "leave it out"),
        ],
    );
    let three = [r"\x01", r"\x02", r"\x03"].map(one).concat();
    desk.refuses(Code::ResourceExhausted, &[(&format!("modify {}", set(&three)), "room for 2")]);
    desk.refuses(Code::AlreadyExists, &[(&format!("modify {}", set(&one(r"\x01").repeat(2))), "twice")]);
    desk.write(&[r"insert table_entry { table_id: $kinds_of_match exact(1,\x00) optional(5,\x01) priority: 1 do(forward,\x04) }"]);
    let is_known = || {
        desk.device.receive(1, &[6, 0, 0, 0, 0, 0, 0, 0]);
        desk.device.take_sent() == [(4, vec![6, 0, 0, 0, 0, 0, 0, 0])]
    };
    assert!(!is_known());
    let written = set(&[r"\x06", r"\x07"].map(one).concat());
    desk.write(&[&format!("modify {written}")]);
    desk.reads(&empty, &[&written]);
    assert!(is_known());
    let other = set(&one(r"\x08"));
    desk.write(&[&format!("modify {other}")]);
    desk.reads(&empty, &[&other]);
    desk.write(&[&format!("modify {empty}")]);
    desk.reads(&empty, &[&empty]);
    assert!(!is_known());
    let written = pairs(r"members { exact(1,\x01) ternary(2,\x01,\x01) } members { exact(1,\x02) }");
    desk.write(&[&format!("modify {written}")]);
    desk.reads(&pairs(""), &[&written]);
}
