//! What every format says is what was said: written and read again, and read as other tools write it.

use control::{Entity, Match, Schema, TableAction, Update, UpdateKind};
use entries::{Format, Messages, Place};
use std::path::Path;

fn schema() -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../stf/tests/resolve/program.p4info.txtpb");
    let text = std::fs::read(path).unwrap();
    Schema::new(&p4info::decode_p4info(&text, p4info::Format::Text).unwrap()).unwrap()
}

fn read(format: Format, text: &str) -> Vec<Update> {
    entries::read(format, "test", text.as_bytes(), &schema())
        .unwrap_or_else(|messages| panic!("{}", shown(&messages)))
        .batch
        .updates
}

fn shown(messages: &Messages) -> String {
    messages.render(diagnostics::render::Style::default())
}

fn refused(format: Format, text: &str) -> String {
    shown(&entries::read(format, "test", text.as_bytes(), &schema()).unwrap_err())
}

/// Every kind of match, of value and of object.
const ALL: &str = "\
add ingress.mac hdr.eth.dst:0a:0b:0c:0d:0e:0f hdr.vlan.$valid$:1 hdr.stack[0].tag:5 forward(port:1, dst:a1:a2:a3:a4:a5:a6)
add route dst:10.1.0.0/16 forward(port:1, dst:0)
add route NoAction()
add ingress.acl 10 src:10.0.0.0/8 drop()
add ingress.acl 11 src:10.0.0.1&&&0xff0000ff port:80 drop()
add ingress.acl 12 port:80..443 vrf:5 drop()
add ingress.acl 13 flags:0b1*0000000 drop()
setdefault mac forward(dst:1, port:2)
member_add selector 1 forward(port:1, dst:1)
member_add selector 2 forward(port:3, dst:1)
group_add selector 1 1 2
add next_hop nh:1 group 1
add next_hop nh:2 member 2
register_write state 1 7
counter_write per_port 3 4 5
mc_mgrp_create 1
mc_node_create 5 1 2
mc_node_create 6 3
mc_node_associate 1 0
mc_node_associate 1 1
mirroring_add 7 3
";

/// The last state of groups: formats differ in the steps to it.
fn settled(updates: Vec<Update>) -> Vec<Update> {
    let mut out: Vec<Update> = Vec::new();
    for update in updates {
        let schema = schema();
        let same = |kept: &Update| {
            let is_group = matches!(
                update.entity,
                Entity::MulticastGroup(_) | Entity::CloneSession(_) | Entity::ActionProfileGroup(_)
            );
            is_group && schema.describe(&kept.entity) == schema.describe(&update.entity)
        };
        match out.iter_mut().find(|kept| same(kept)) {
            Some(kept) => kept.entity = update.entity.clone(),
            None => out.push(update),
        }
    }
    for update in &mut out {
        if let Entity::TableEntry(entry) = &mut update.entity {
            entry.matches.sort_by_key(|found| found.field);
            if let Some(TableAction::Action(action)) = &mut entry.action {
                action.params.sort_by_key(|param| param.id);
            }
        }
    }
    out
}

#[test]
fn what_is_written_is_read_again() {
    let updates = settled(read(Format::Script, ALL));
    for format in Format::ALL {
        for names in [false, true] {
            let written = entries::write(format, &updates, &schema(), names);
            let text = String::from_utf8_lossy(&written.bytes).into_owned();
            let again = entries::read(format, "again", &written.bytes, &schema())
                .unwrap_or_else(|messages| panic!("{}\n{text}", shown(&messages)));
            assert_eq!(again.places.len(), again.batch.updates.len());
            let mut wanted = updates.clone();
            if format == Format::RuntimeJson {
                // It has entries with actions, groups and sessions, in this order.
                wanted.retain(|update| match &update.entity {
                    Entity::TableEntry(of) => {
                        !matches!(of.action, Some(TableAction::Member(_) | TableAction::Group(_)))
                    }
                    Entity::MulticastGroup(_) | Entity::CloneSession(_) => true,
                    _ => false,
                });
                assert_eq!(written.left_out.len(), updates.len() - wanted.len(), "{:?}", written.left_out);
            } else {
                assert_eq!(written.left_out, Vec::<String>::new(), "{format:?}");
            }
            assert_eq!(settled(again.batch.updates), wanted, "{format:?}, names {names}:\n{text}");
            if format != Format::P4RuntimeBinary {
                let detected = entries::detect("file", &written.bytes);
                assert_eq!(detected, Ok(format), "{text}");
            }
        }
    }
}

#[test]
fn p4runtime_by_name_reads_like_the_program() {
    let updates = read(Format::Script, "add route dst:10.1.0.0/16 forward(port:1, dst:02:00:00:00:00:01)\n");
    let text = |format| String::from_utf8(entries::write(format, &updates, &schema(), true).bytes).unwrap();
    let named = text(Format::P4RuntimeText);
    for line in
        ["table_id: \"ingress.route\"", "value: 10.1.0.0", "param_id: \"dst\"", "value: 02:00:00:00:00:01"]
    {
        assert!(named.contains(line), "{line}:\n{named}");
    }
    let named = text(Format::P4RuntimeJson);
    for line in
        ["\"tableId\": \"ingress.route\"", "\"value\": \"10.1.0.0\"", "\"paramId\": \"port\"", "\"value\": 1"]
    {
        assert!(named.contains(line), "{line}:\n{named}");
    }
}

#[test]
fn bmv2_commands_as_their_command_line_takes_them() {
    let text = "\
# Entries, with and without a priority.
table_add ingress.mac ingress.forward 0a:0b:0c:0d:0e:0f true 5 => 1 02:00:00:00:00:01
table_add route forward 10.1.0.0/16 => 1 0x0a
table_add ingress.acl drop 10.0.0.1&&&255.0.0.255 80->443 0&&&0 0&&&0 => 7
table_modify route NoAction 0 =>
table_delete ingress.acl 0
table_set_default mac forward 1 2
table_dump mac
act_prof_create_member selector forward 1 1
act_prof_create_group selector
act_prof_add_member_to_group selector 0 0
table_indirect_add_with_group next_hop 1 => 0
";
    let read = entries::read(Format::Bmv2, "commands.txt", text.as_bytes(), &schema());
    let read = read.unwrap_or_else(|messages| panic!("{}", shown(&messages)));
    let said = shown(&read.messages);
    assert!(said.contains("`table_dump` makes no entry"), "{said}");
    assert_eq!(read.messages.diagnostics.len(), 1, "{said}");
    let kinds: Vec<UpdateKind> = read.batch.updates.iter().map(|update| update.kind).collect();
    use UpdateKind::{Delete, Insert, Modify};
    assert_eq!(kinds, [Insert, Insert, Insert, Modify, Delete, Modify, Insert, Insert, Modify, Insert]);
    let Entity::TableEntry(acl) = &read.batch.updates[2].entity else {
        panic!("{:?}", read.batch.updates[2])
    };
    // BMv2 takes the smallest priority, P4Runtime the largest.
    assert_eq!(acl.priority, i32::MAX - 7);
    assert_eq!(acl.matches.len(), 2, "{:?}", acl.matches);
    let Entity::TableEntry(next_hop) = &read.batch.updates[9].entity else {
        panic!("{:?}", read.batch.updates[9])
    };
    // BMv2 counts from 0, where P4Runtime reserves 0.
    assert_eq!(next_hop.action, Some(TableAction::Group(control::GroupId(1))));
}

#[test]
fn faults_of_bmv2_commands_point_at_the_word() {
    for (text, message) in [
        ("table_ad mac forward 1 => 1", "did you mean `table_add`?"),
        ("table_add mac forward 1 1 1 1 02:00:00:00:00:01", "expected a key or `=>`"),
        ("table_add macc forward 1 1 1 => 1 2", "did you mean"),
        ("table_add mac forwrad 1 1 1 => 1 2", "did you mean"),
        ("table_add route forward 10.0.0.0/8 => 1", "lacks the argument `dst`"),
        ("table_add route forward 10.0.0.0/8 => 1 2 3", "one value too many"),
        ("table_add ingress.acl drop 1 1 1 1 =>", "needs a priority"),
        ("table_add mac forward 1:2 1 1 => 1 2", "expected the end of the line"),
        ("table_delete mac 0", "table `mac` has no entry 0"),
        ("act_prof_add_member_to_group selector 0 3", "no group has this number"),
        ("mc_node_create x 1", "expected an instance"),
        ("register_write state 1 2 3", "one word too many"),
    ] {
        let said = refused(Format::Bmv2, text);
        assert!(said.contains(message), "{text}:\n{said}");
        assert!(said.contains("test:1:"), "{text}:\n{said}");
    }
}

#[test]
fn runtime_json_as_the_tutorials_write_it() {
    let text = r#"{
      "target": "bmv2", "p4info": "build/basic.p4.p4info.txtpb", "bmv2_json": "build/basic.json",
      "table_entries": [
        { "table": "ingress.route", "default_action": true, "action_name": "NoAction", "action_params": {} },
        { "table": "ingress.route", "match": { "hdr.ipv4.dst": ["10.0.1.1", 32] },
          "action_name": "forward", "action_params": { "dst": "08:00:00:00:01:11", "port": 1 } },
        { "table": "ingress.mac", "match": { "hdr.eth.dst": 1, "hdr.vlan.$valid$": 1, "hdr.stack[0].tag": [7] },
          "action_name": "NoAction" }
      ],
      "multicast_group_entries": [
        { "multicast_group_id": 1, "replicas": [ { "egress_port": 1, "instance": 1 } ] } ],
      "clone_session_entries": [
        { "clone_session_id": 5, "replicas": [ { "egress_port": 2, "instance": 1 } ], "packet_length_bytes": 64 } ]
    }"#;
    let entries = entries::read(Format::RuntimeJson, "s1", text.as_bytes(), &schema());
    let entries = entries.unwrap_or_else(|messages| panic!("{}", shown(&messages)));
    assert_eq!(entries.batch.updates.len(), 5);
    assert_eq!(entries.places[2], Place::Item { list: "table_entries", index: 2, line: None });
    let route = entries.batch.updates.iter().find_map(|update| match &update.entity {
        Entity::TableEntry(of) if of.matches.len() == 1 => Some(of),
        _ => None,
    });
    let Some(Match::Lpm { value, prefix_len: 32 }) = route.map(|of| &of.matches[0].value) else {
        panic!("{route:?}")
    };
    assert_eq!(format!("{value:#x}"), "0xa000101");
}

#[test]
fn faults_of_runtime_json_have_a_path() {
    let entry = |body: &str| format!(r#"{{ "table_entries": [ {{ {body} }} ] }}"#);
    for (text, message) in [
        ("{".to_owned(), "test:1:1: EOF"),
        ("[]".to_owned(), "expected an object with `table_entries`"),
        (r#"{ "tables": [] }"#.to_owned(), "`tables` is unknown"),
        (r#"{ "table_entries": 1 }"#.to_owned(), "table_entries: expected a list"),
        (entry(r#""tabel": "x""#), "table_entries[0]: `tabel` is unknown"),
        (entry(r#""match": {}"#), "the name of its `table` is missing"),
        (entry(r#""table": "ingres.route""#), "table_entries[0].table: "),
        (entry(r#""table": "route", "match": { "dsst": 1 }"#), "table_entries[0].match.dsst: "),
        (entry(r#""table": "route", "match": { "dst": "10.0.0.0" }"#), "expected a value and the length"),
        (
            entry(r#""table": "route", "match": { "dst": ["10.0.0.0", 33] }"#),
            ".match.dst[1]: the length of a prefix is 0 to 32",
        ),
        (
            entry(r#""table": "route", "match": { "dst": ["x", 8] }"#),
            ".match.dst[0]: `x` is neither a number nor an address",
        ),
        (
            entry(
                r#""table": "route", "action_name": "forward", "action_params": { "port": 512, "dst": 1 }"#,
            ),
            ".action_params.port: 0x200 does not fit into 9 bits",
        ),
        (
            entry(
                r#""table": "route", "action_name": "forward", "action_params": { "port": -257, "dst": 1 }"#,
            ),
            ".action_params.port: -257 does not fit into 9 bits",
        ),
        (
            entry(r#""table": "route", "default_action": "true", "action_name": "NoAction""#),
            ".default_action: expected true or false",
        ),
        (
            entry(r#""table": "route", "action_name": "forward", "action_params": { "port": 1 }"#),
            "lacks the parameter `dst`",
        ),
        (entry(r#""table": "route", "match": { "dst": ["10.0.0.0", 8] }"#), "table_entries[0]: "),
        (
            r#"{ "multicast_group_entries": [ { "replicas": [ {} ] } ] }"#.to_owned(),
            "`multicast_group_id` is missing",
        ),
        (
            r#"{ "multicast_group_entries": [ { "multicast_group_id": 1, "replicas": [ {} ] } ] }"#
                .to_owned(),
            ".replicas[0]: `egress_port` is missing",
        ),
    ] {
        let said = refused(Format::RuntimeJson, &text);
        assert!(said.contains(message), "{text}:\n{said}");
        assert!(said.starts_with("error: test"), "{said}");
    }
}

#[test]
fn faults_of_named_p4runtime_have_a_place() {
    let table =
        |body: &str| format!("updates {{\n type: INSERT\n entity {{ table_entry {{ {body} }} }}\n}}\n");
    for (text, message) in [
        (table("table_id: \"ingres.route\""), "test:3:35: "),
        (table("table_id: \"route\" match { field_id: \"dsst\" }"), "test:3:61: "),
        (table("match { field_id: \"dst\" }"), "the key `dst` is in no table that is known"),
        (
            table("table_id: \"route\" match { field_id: \"dst\" lpm { value: 10.0.0 } }"),
            "neither a number nor an address",
        ),
        (table("tabel: 1"), "test:3:"),
        ("updates {".to_owned(), "test:1:10: "),
    ] {
        let said = refused(Format::P4RuntimeText, &text);
        assert!(said.contains(message), "{text}:\n{said}");
    }
    let json = r#"{"updates": [{"type": "INSERT", "entity": {"tableEntry": {"tableId": "ingres.route"}}}]}"#;
    let said = refused(Format::P4RuntimeJson, json);
    assert!(said.contains("test: .updates[0].entity.tableEntry.tableId: "), "{said}");
}

#[test]
fn test_scripts_give_their_entries_alone() {
    let text = "add route dst:10.0.0.0/8 NoAction()\npacket 1 00\nexpect 1 00\nwait\n";
    let entries = entries::read(Format::Script, "t.stf", text.as_bytes(), &schema()).unwrap();
    assert_eq!(entries.batch.updates.len(), 1);
    assert!(shown(&entries.messages).contains("3 lines send or check packets, and are left out"));
    assert!(refused(Format::Script, "remove all\n").contains("`remove all` is no entry"));
}

#[test]
fn constants_of_the_program_are_values_in_every_format() {
    let values = [("Port.UP".to_owned(), 5u32.into()), ("NET".to_owned(), 0x0a00_0000u32.into())];
    let schema = schema().with_values(&values);
    let wanted = read(Format::Script, "add route dst:10.0.0.0 forward(port:5, dst:1)\n");
    let json = r#"{"table_entries": [{"table": "route", "match": {"dst": ["NET", 32]},
        "action_name": "forward", "action_params": {"port": "Port.UP", "dst": 1}}]}"#;
    let text = "updates { type: INSERT entity { table_entry { table_id: \"route\"
        match { field_id: \"dst\" lpm { value: NET prefix_len: 32 } }
        action { action { action_id: \"forward\" params { param_id: \"port\" value: Port.UP }
        params { param_id: \"dst\" value: 1 } } } } } }";
    for (format, text) in [
        (Format::Script, "add route dst:NET forward(port:Port.UP, dst:1)\n"),
        (Format::Bmv2, "table_add route forward NET => UP 1\n"),
        (Format::RuntimeJson, json),
        (Format::P4RuntimeText, text),
    ] {
        let read = entries::read(format, "test", text.as_bytes(), &schema);
        let read = read.unwrap_or_else(|messages| panic!("{}", shown(&messages)));
        assert_eq!(settled(read.batch.updates), wanted, "{format:?}");
    }
    let short = stf::parse_short("short", "add route dst:NET forward(UP, 1)");
    let (plan, faults) = stf::resolve(&short.script, &schema);
    assert!(!short.diagnostics.has_errors() && !faults.has_errors());
    assert_eq!(plan.steps.len(), 1);
    let wrong =
        entries::read(Format::Script, "test", b"add route dst:NET forward(port:Port.UPP, dst:1)\n", &schema);
    let said = shown(&wrong.unwrap_err());
    assert!(
        said.contains("there is no constant `Port.UPP` in the program; did you mean `Port.UP`?"),
        "{said}"
    );
}

#[test]
fn requests_of_controllers_have_election_ids() {
    let entity =
        "entity { table_entry { table_id: \"route\" action { action { action_id: \"NoAction\" } } } }";
    for id in ["election_id { low: 1 }", "election_id: { high: 0 low: 1 }", "electionId { low: 1 }"] {
        let text = format!("device_id: 1\n{id}\nupdates {{ type: INSERT {entity} }}\n");
        match id.starts_with("electionId") {
            // JSON's name is unknown to the text format, but it is no value either.
            true => assert!(refused(Format::P4RuntimeText, &text).contains("electionId")),
            false => assert_eq!(read(Format::P4RuntimeText, &text).len(), 1),
        }
    }
    let json = r#"{"deviceId": "1", "electionId": {"high": "0", "low": 1}, "updates": []}"#;
    assert_eq!(read(Format::P4RuntimeJson, json).len(), 0);
    assert_eq!(read(Format::P4RuntimeJson, &format!("\u{feff}{json}")).len(), 0);
    assert_eq!(entries::detect("a.json", format!("\u{feff}{json}").as_bytes()), Ok(Format::P4RuntimeJson));
}

#[test]
fn priorities_do_not_depend_on_the_rest_of_a_file() {
    let priority = |format, text: &str| -> Vec<i32> {
        let entry = |update: &Update| match &update.entity {
            Entity::TableEntry(entry) => entry.priority,
            other => panic!("{other:?}"),
        };
        read(format, text).iter().map(entry).collect()
    };
    let line = |priority: u32| format!("add ingress.acl {priority} src:10.0.0.0/8 drop()\n");
    assert_eq!(priority(Format::Script, &(line(0) + &line(6))), [1, 6]);
    assert_eq!(priority(Format::Script, &line(7)), [7]);
    // 0 and 1 have to differ.
    assert_eq!(priority(Format::Script, &(line(0) + &line(1) + &line(6))), [1, 2, 7]);
}

#[test]
fn groups_made_in_steps_are_whole_in_runtime_json() {
    let updates = read(Format::Script, "mc_mgrp_create 1\nmc_node_create 0 1 2 3\nmc_node_associate 1 0\n");
    let written = entries::write(Format::RuntimeJson, &updates, &schema(), true);
    assert_eq!(written.left_out, Vec::<String>::new());
    let text = String::from_utf8(written.bytes).unwrap();
    assert_eq!(text.matches("egress_port").count(), 3, "{text}");
    assert_eq!(text.matches("multicast_group_id").count(), 1, "{text}");
}
