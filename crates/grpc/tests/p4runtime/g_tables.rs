//! G. Table entries.

use crate::desk::Desk;
use control::Code;

#[test]
fn g01_each_element_of_the_key_is_given_once_and_as_declared() {
    let desk = Desk::new();
    desk.refuses(
        Code::InvalidArgument,
        &[
            (
                "insert table_entry { table_id: $pairs exact(1,1) exact(2,2) exact(9,1) do(drop) }",
                "no key element",
            ),
            (
                "insert table_entry { table_id: $pairs exact(1,1) exact(1,1) exact(2,2) do(drop) }",
                "given twice",
            ),
            (
                "insert table_entry { table_id: $pairs exact(1,1) do(drop) }",
                "`b` of table `Work.pairs` is missing",
            ),
            ("insert table_entry { table_id: $pairs exact(1,1) match { field_id: 2 } do(drop) }", "not set"),
            (
                "insert table_entry { table_id: $pairs exact(1,1) ternary(2,2,2) do(drop) }",
                "is exact, not ternary",
            ),
            ("insert table_entry { table_id: $pairs exact(1,1) lpm(2,2,16) do(drop) }", "is exact, not lpm"),
            (
                "insert table_entry { table_id: $kinds_of_match exact(1,1) exact(2,2) priority: 1 do(drop) }",
                "is lpm",
            ),
            ("delete table_entry { table_id: $pairs exact(1,1) }", "is missing"),
        ],
    );
    desk.refuses(
        Code::Unimplemented,
        &[(
            "insert table_entry { table_id: $pairs exact(1,1) match { field_id: 2 other {} } do(drop) }",
            "kind",
        )],
    );
    // Elements may come in any order; they come back in that of P4Info.
    desk.write(&["insert table_entry { table_id: $pairs exact(2,2) exact(1,1) do(drop) }"]);
    desk.reads(
        "table_entry { table_id: $pairs }",
        &["table_entry { table_id: $pairs exact(1,1) exact(2,2) do(drop) }"],
    );
}

#[test]
fn g02_matches_have_one_spelling() {
    let desk = Desk::new();
    let entry = |matches: &str| {
        format!(
            "insert table_entry {{ table_id: $kinds_of_match exact(1,1) {matches} priority: 1 do(drop) }}"
        )
    };
    let cases = [
        (r"lpm(2,\x0a\x00\x00\x00,0)", "leave it out"),
        (r"lpm(2,\x0a\x00\x00\x00,33)", "33"),
        (r"lpm(2,\x0a\x00\x00\x00,-1)", "-1"),
        (r"lpm(2,\x0a\x00\x00\x01,8)", "outside the prefix"),
        (r"ternary(3,\x00,\x00)", "leave it out"),
        (r"ternary(3,\x03,\x01)", "outside the mask"),
        (r"range(4,\x05,\x04)", ""),
        (r"range(4,\x00,\xff)", "leave it out"),
    ];
    let texts: Vec<String> = cases.iter().map(|(matches, _)| entry(matches)).collect();
    let cases: Vec<(&str, &str)> =
        texts.iter().zip(cases).map(|(text, (_, words))| (text.as_str(), words)).collect();
    desk.refuses(Code::InvalidArgument, &cases);
    // A match that is left out matches everything; limits are allowed.
    let good = [
        "",
        r"lpm(2,\x0a\x00\x00\x00,8)",
        r"lpm(2,\x0a\x00\x00\x01,32)",
        r"ternary(3,\x00,\x01)",
        r"ternary(3,\xff\xff,\xff\xff)",
        r"range(4,\x00,\xfe)",
        r"range(4,\x05,\x05)",
        r"optional(5,\x00)",
    ];
    for matches in good {
        desk.write(&[&entry(matches)]);
    }
    let written: Vec<String> = good.iter().map(|matches| entry(matches).replace("insert ", "")).collect();
    for entry in &written {
        assert_eq!(desk.read(entry), [desk.entity(entry)]);
    }
    assert_eq!(desk.read("table_entry { table_id: $kinds_of_match }").len(), good.len());
}

#[test]
fn g03_a_priority_goes_with_ternary_range_and_optional_keys_alone() {
    let desk = Desk::new();
    desk.refuses(
        Code::InvalidArgument,
        &[
            ("insert table_entry { table_id: $kinds_of_match exact(1,1) do(drop) }", "priority 0"),
            ("insert table_entry { table_id: $kinds_of_match exact(1,1) priority: -1 do(drop) }", "priority -1"),
            ("insert table_entry { table_id: $pairs exact(1,1) exact(2,2) priority: 1 do(drop) }", "priority"),
            (r"insert table_entry { table_id: $prefixes lpm(1,\x0a\x00\x00\x00,8) priority: 1 do(NoAction) }", "priority"),
            ("delete table_entry { table_id: $kinds_of_match exact(1,1) }", "priority 0"),
        ],
    );
    let entry = |priority: u32, port: u32| {
        format!(
            "table_entry {{ table_id: $kinds_of_match exact(1,\\x01) priority: {priority} do(forward,\\x0{port}) }}"
        )
    };
    let insert = |priority, port| format!("insert {}", entry(priority, port));
    desk.write(&[&insert(5, 2), &insert(7, 3), &insert(6, 4)]);
    // The identity is the match with the priority.
    assert_eq!(desk.codes(&[&insert(5, 2), &insert(7, 4)]), [Code::AlreadyExists, Code::AlreadyExists]);
    desk.device.receive(1, &[0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(desk.device.take_sent(), [(3, vec![0, 1, 0, 0, 0, 0, 0, 0])], "the larger priority wins");
    desk.write(&[r"delete table_entry { table_id: $kinds_of_match exact(1,\x01) priority: 7 }"]);
    desk.device.receive(1, &[0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(desk.device.take_sent()[0].0, 4);
    // Two that match may have one priority.
    desk.write(&[r"insert table_entry { table_id: $kinds_of_match exact(1,\x01) range(4,\x00,\x01) priority: 6 do(drop) }"]);
    assert_eq!(desk.read("table_entry { table_id: $kinds_of_match priority: 6 }").len(), 2);
}

#[test]
fn g04_tables_without_a_key_have_a_default_entry_alone() {
    let desk = Desk::new();
    desk.refuses(
        Code::InvalidArgument,
        &[
            (r"insert table_entry { table_id: $keyless do(forward,\x01) }", "has no key"),
            (r"modify table_entry { table_id: $keyless do(forward,\x01) }", "has no key"),
            ("delete table_entry { table_id: $keyless }", "has no key"),
            (
                "insert table_entry { table_id: $pairs exact(1,1) exact(2,2) do(drop) is_const: true }",
                "`is_const`",
            ),
            (
                "modify table_entry { table_id: $pairs exact(1,1) exact(2,2) do(drop) is_const: true }",
                "`is_const`",
            ),
            ("delete table_entry { table_id: $pairs exact(1,1) exact(2,2) is_const: true }", "`is_const`"),
            (r"delete table_entry { table_id: $started exact(1,\x61) is_const: true }", "`is_const`"),
            ("modify table_entry { table_id: $pairs is_default_action: true is_const: true }", "`is_const`"),
        ],
    );
    desk.write(&[r"modify table_entry { table_id: $keyless is_default_action: true do(forward,\x05) }"]);
    desk.device.receive(1, &[0; 8]);
    assert_eq!(desk.device.take_sent(), [(5, vec![0; 8])]);
}

#[test]
fn g05_actions_belong_to_the_table_and_have_all_their_parameters() {
    let desk = Desk::new();
    let key = r"table_id: $pairs exact(1,\x01) exact(2,\x02)";
    let insert = |action: &str| format!("insert table_entry {{ {key} {action} }}");
    let refuses = |code, cases: &[(&str, &str)]| {
        let texts: Vec<String> = cases.iter().map(|(action, _)| insert(action)).collect();
        let cases: Vec<(&str, &str)> =
            texts.iter().zip(cases).map(|(text, (_, words))| (text.as_str(), *words)).collect();
        desk.refuses(code, &cases);
    };
    refuses(
        Code::InvalidArgument,
        &[
            ("", "action"),
            ("action {}", "not set"),
            ("action { action {} }", "no action is named"),
            ("action { action_profile_member_id: 1 }", "no action profile"),
            ("action { action_profile_group_id: 1 }", "no action profile"),
            ("action { action_profile_action_set {} }", "no action profile"),
            ("do(limited,1)", "not in the list"),
            ("do(forward)", "`port` of action `Work.forward` is missing"),
            ("do(forward,1,1)", "no parameter"),
            ("do(stamp,1)", "is missing"),
            (
                "action { action { action_id: $forward params { param_id: 1 value: '1' } params { param_id: 1 value: '1' } } }",
                "twice",
            ),
        ],
    );
    refuses(Code::NotFound, &[("action { action { action_id: 0x010000ff } }", "no action")]);
    refuses(Code::PermissionDenied, &[("do(NoAction)", "@defaultonly")]);
    desk.refuses(
        Code::PermissionDenied,
        &[("modify table_entry { table_id: $pairs is_default_action: true do(drop) }", "@tableonly")],
    );
    desk.refuses(
        Code::InvalidArgument,
        &[
            ("insert table_entry { table_id: $by_hop exact(1,1) do(forward,1) }", "gets its actions from"),
            (
                "insert table_entry { table_id: $by_hop exact(1,1) action { action_profile_group_id: 1 } }",
                "no groups",
            ),
            (
                "insert table_entry { table_id: $by_hop exact(1,1) action { action_profile_member_id: 0 } }",
                "member 0",
            ),
        ],
    );
    desk.refuses(
        Code::NotFound,
        &[
            (
                "insert table_entry { table_id: $by_hop exact(1,1) action { action_profile_member_id: 7 } }",
                "member 7",
            ),
            (
                "insert table_entry { table_id: $balanced exact(1,1) action { action_profile_group_id: 7 } }",
                "group 7",
            ),
        ],
    );
    // MODIFY without an action keeps it.
    desk.write(&[&insert("do(stamp,\\x01,\\x02)"), &format!("modify table_entry {{ {key} metadata: 'm' }}")]);
    desk.reads(
        "table_entry { table_id: $pairs }",
        &[&format!("table_entry {{ {key} do(stamp,\\x01,\\x02) metadata: 'm' }}")],
    );
}

#[test]
fn g06_default_entries_are_only_modified() {
    let desk = Desk::new();
    let default = "table_id: $pairs is_default_action: true";
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&format!("insert table_entry {{ {default} do(NoAction) }}"), "can only be modified"),
            (&format!("delete table_entry {{ {default} }}"), "can only be modified"),
            (&format!("modify table_entry {{ {default} exact(1,1) do(NoAction) }}"), "has no match"),
            (&format!("modify table_entry {{ {default} priority: 1 do(NoAction) }}"), "has no priority"),
            (
                &format!("modify table_entry {{ {default} idle_timeout_ns: 1 do(NoAction) }}"),
                "has no idle timeout",
            ),
        ],
    );
    desk.refuses(
        Code::PermissionDenied,
        &[
            ("modify table_entry { table_id: $const_default is_default_action: true do(drop) }", "const"),
            (
                "modify table_entry { table_id: $by_hop is_default_action: true do(NoAction) }",
                "action profile",
            ),
        ],
    );
    desk.write(&[&format!("modify table_entry {{ {default} do(stamp,\\x07,\\x08) }}")]);
    desk.reads(
        &format!("table_entry {{ {default} }}"),
        &[&format!("table_entry {{ {default} do(stamp,\\x07,\\x08) }}")],
    );
    desk.write(&[&format!("modify table_entry {{ {default} }}")]);
    desk.reads(
        &format!("table_entry {{ {default} }}"),
        &[&format!("table_entry {{ {default} do(NoAction) }}")],
    );
}

#[test]
fn g06_default_entries_are_modified_and_reset() {
    let desk = Desk::new();
    let default = "table_id: $pairs is_default_action: true";
    let written =
        format!("table_entry {{ {default} do(stamp,\\x07,\\x08) metadata: 'mine' controller_metadata: 3 }}");
    desk.write(&[&format!("modify {written}")]);
    let question = format!("table_entry {{ {default} }}");
    desk.reads(&question, &[&written]);
    let counted = format!("table_entry {{ {default} counter_data {{}} }}");
    let with_count = written
        .replace("metadata: 'mine'", "metadata: 'mine' counter_data { byte_count: 8 packet_count: 1 }");
    desk.write(&[&format!("modify {with_count}")]);
    desk.reads(&counted, &[&with_count]);
    // Without an action everything is as in the program.
    desk.write(&[&format!("modify table_entry {{ {default} }}")]);
    desk.reads(&counted, &[&format!("table_entry {{ {default} do(NoAction) counter_data {{}} }}")]);
}

/// In v1model every miss counts for the default entry, and its direct meter marks the packet.
#[test]
fn g06_default_entries_count_and_meter_misses() {
    let desk = Desk::new();
    let counted = |data: &str| {
        format!(
            "table_entry {{ table_id: $pairs is_default_action: true do(NoAction) counter_data {{ {data} }} }}"
        )
    };
    let question = "table_entry { table_id: $pairs is_default_action: true counter_data {} }";
    desk.write(&[r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(forward,\x03) }"]);
    desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
    desk.reads(question, &[&counted("")]);
    desk.device.receive(1, &[0, 9, 0, 2, 0, 0, 0, 0]);
    desk.device.receive(1, &[0, 9, 0, 2, 0, 0, 0, 0, 0]);
    desk.reads(question, &[&counted("packet_count: 2 byte_count: 17")]);
    // The default action is another one, the counter goes on; without an action all begins anew.
    desk.write(&[r"modify table_entry { table_id: $pairs is_default_action: true do(stamp,\x07,\x08) }"]);
    desk.device.receive(1, &[0, 9, 0, 2, 0, 0, 0, 0]);
    let stamped = counted("packet_count: 3 byte_count: 25").replace("do(NoAction)", r"do(stamp,\x07,\x08)");
    desk.reads(question, &[&stamped]);
    desk.write(&["modify table_entry { table_id: $pairs is_default_action: true }"]);
    desk.reads(question, &[&counted("")]);
    // The meter of the default entry.
    let default = "table_id: $limits_table is_default_action: true";
    let rates = "meter_config { cburst: 8 pburst: 16 }";
    let none = "meter_counter_data { green {} yellow {} red {} }";
    desk.write(&[&format!("modify table_entry {{ {default} do(NoAction) {rates} {none} }}")]);
    for _ in 0..4 {
        desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
    }
    let colours = "meter_counter_data { green { packet_count: 1 byte_count: 8 } \
                   yellow { packet_count: 1 byte_count: 8 } red { packet_count: 2 byte_count: 16 } }";
    let question = format!("table_entry {{ {default} meter_config {{}} meter_counter_data {{}} }}");
    desk.reads(&question, &[&format!("table_entry {{ {default} do(NoAction) {rates} {colours} }}")]);
    desk.write(&[&format!("modify table_entry {{ {default} }}")]);
    desk.reads(&question, &[&format!("table_entry {{ {default} do(NoAction) {none} }}")]);
}

/// In PSA the default entry counts where the action calls `count`.
#[test]
fn g06_default_entries_of_psa_count_where_the_action_does() {
    let psa = include_str!("../../../../tests/programs/psa_externs/program.p4");
    let include = include_str!("../../../../tests/programs/include/psa.p4");
    let desk = Desk::with(&psa.replace("#include \"../include/psa.p4\"", include), |_| {});
    let packet =
        [0x11, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39];
    let default = "table_id: $counters is_default_action: true";
    let question = format!("table_entry {{ {default} counter_data {{}} }}");
    desk.device.receive(1, &packet);
    let once = "counter_data { packet_count: 1 byte_count: 21 }";
    desk.reads(&question, &[&format!("table_entry {{ {default} do(counted) {once} }}")]);
    desk.write(&[&format!("modify table_entry {{ {default} do(not_counted) }}")]);
    desk.device.receive(1, &packet);
    desk.reads(&question, &[&format!("table_entry {{ {default} do(not_counted) }}")]);
    desk.write(&[&format!("modify table_entry {{ {default} do(counted_twice) }}")]);
    desk.device.receive(1, &packet);
    let thrice = "counter_data { packet_count: 3 byte_count: 63 }";
    desk.reads(&question, &[&format!("table_entry {{ {default} do(counted_twice) {thrice} }}")]);
}

#[test]
fn g07_const_entries_keep_their_actions() {
    let desk = Desk::new();
    let ternary = r"table_id: $fixed ternary(1,\x50,\xf0) priority: 2";
    desk.reads(
        "table_entry { table_id: $fixed }",
        &[
            r"table_entry { table_id: $fixed ternary(1,\x51,\xff) priority: 3 do(forward,\x01) is_const: true }",
            &format!("table_entry {{ {ternary} do(forward,\\x02) is_const: true }}"),
            r"table_entry { table_id: $fixed ternary(1,\x40,\xc0) priority: 1 do(forward,\x03) is_const: true }",
        ],
    );
    desk.refuses(
        Code::PermissionDenied,
        &[
            (
                r"insert table_entry { table_id: $fixed ternary(1,\x01,\x01) priority: 9 do(forward,\x01) }",
                "const entries",
            ),
            (&format!("delete table_entry {{ {ternary} }}"), "const entries"),
            (&format!("modify table_entry {{ {ternary} do(forward,\\x02) }}"), "const entries"),
        ],
    );
    desk.write(&[r"modify table_entry { table_id: $fixed is_default_action: true do(forward,\x07) }"]);
    desk.reads(
        "table_entry { table_id: $fixed is_default_action: true }",
        &[r"table_entry { table_id: $fixed is_default_action: true do(forward,\x07) }"],
    );
    // In a table with `entries` that are not const, only those that say so are.
    let (kept, free) = (r"table_id: $started exact(1,\x61)", r"table_id: $started exact(1,\x62)");
    assert_eq!(
        desk.codes(&[
            &format!("delete table_entry {{ {kept} }}"),
            &format!("modify table_entry {{ {kept} do(forward,\\x04) }}"),
            &format!("modify table_entry {{ {free} do(forward,\\x04) }}"),
            r"insert table_entry { table_id: $started exact(1,\x63) do(forward,\x05) }",
        ]),
        [Code::PermissionDenied, Code::PermissionDenied, Code::Ok, Code::Ok]
    );
    desk.reads(
        "table_entry { table_id: $started }",
        &[
            &format!("table_entry {{ {kept} do(forward,\\x01) is_const: true }}"),
            &format!("table_entry {{ {free} do(forward,\\x04) }}"),
            r"table_entry { table_id: $started exact(1,\x63) do(forward,\x05) }",
        ],
    );
    desk.write(&[&format!("delete table_entry {{ {free} }}")]);
    assert_eq!(desk.read("table_entry { table_id: $started }").len(), 2);
}

#[test]
fn g07_direct_resources_of_const_entries_are_written() {
    let desk = Desk::new();
    let ternary = r"table_id: $fixed ternary(1,\x50,\xf0) priority: 2";
    // Direct resources are no part of what is const.
    desk.write(&[&format!("modify table_entry {{ {ternary} counter_data {{ packet_count: 9 }} }}")]);
    let counted = |n: u32| {
        format!(
            "table_entry {{ {ternary} do(forward,\\x02) is_const: true counter_data {{ packet_count: {n} }} }}"
        )
    };
    let question = format!("table_entry {{ {ternary} counter_data {{}} }}");
    desk.reads(&question, &[&counted(9)]);
    desk.device.receive(1, &[0, 0x52, 0, 0, 0, 0, 0, 0]);
    desk.reads(&question, &[&counted(10)]);
    let kept = r"table_id: $started exact(1,\x61)";
    desk.write(&[&format!("modify table_entry {{ {kept} }}")]);
}

#[test]
fn g08_direct_resources_are_written_with_their_entry() {
    let desk = Desk::new();
    let (counted, metered) =
        (r"table_id: $pairs exact(1,\x01) exact(2,\x02)", r"table_id: $limits_table exact(1,\x01)");
    let (forward, limited) = ("do(forward,\\x03)", "do(limited,\\x03)");
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&format!("insert table_entry {{ {counted} {forward} meter_config {{}} }}"), "no direct meter"),
            (&format!("insert table_entry {{ {counted} {forward} meter_counter_data {{}} }}"), "no direct meter"),
            (&format!("insert table_entry {{ {counted} {forward} counter_data {{ packet_count: -1 }} }}"), "negative"),
            (&format!("insert table_entry {{ {metered} {limited} counter_data {{}} }}"), "no direct counter"),
            (&format!("insert table_entry {{ {metered} {limited} meter_config {{ cir: -1 }} }}"), "negative"),
            (
                &format!("insert table_entry {{ {metered} {limited} meter_counter_data {{ red {{ packet_count: 1 }} }} }}"),
                "reset to 0",
            ),
        ],
    );
    desk.write(&[&format!("insert table_entry {{ {counted} {forward} }}")]);
    let count = format!("table_entry {{ {counted} counter_data {{}} }}");
    let is_at = |data: &str| {
        desk.reads(&count, &[&format!("table_entry {{ {counted} {forward} counter_data {{ {data} }} }}")]);
    };
    is_at("");
    desk.write(&[&format!(
        "modify table_entry {{ {counted} {forward} counter_data {{ packet_count: 5 byte_count: 6 }} }}"
    )]);
    is_at("packet_count: 5 byte_count: 6");
    // MODIFY without a count leaves it.
    desk.write(&[&format!("modify table_entry {{ {counted} {forward} }}")]);
    is_at("packet_count: 5 byte_count: 6");
    let config = "meter_config { cir: 1 cburst: 2 pir: 3 pburst: 4 }";
    desk.write(&[&format!("insert table_entry {{ {metered} {limited} {config} }}")]);
    let question = format!("table_entry {{ {metered} meter_config {{}} }}");
    desk.reads(&question, &[&format!("table_entry {{ {metered} {limited} {config} }}")]);
    // MODIFY without rates makes the meter what it was at first: everything is green.
    desk.write(&[&format!("modify table_entry {{ {metered} {limited} }}")]);
    desk.reads(&question, &[&format!("table_entry {{ {metered} {limited} }}")]);
}

#[test]
fn g10_idle_timeouts_are_kept_exactly() {
    let desk = Desk::new();
    let key = r"table_id: $pairs exact(1,\x01) exact(2,\x02)";
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&format!("insert table_entry {{ {key} do(drop) idle_timeout_ns: -1 }}"), "negative"),
            (&format!("insert table_entry {{ {key} do(drop) time_since_last_hit {{ elapsed_ns: 1 }} }}"), "set by the switch"),
            (r"insert table_entry { table_id: $prefixes lpm(1,\x0a\x00\x00\x00,8) do(NoAction) idle_timeout_ns: 1 }", "no idle timeout"),
            (r"insert table_entry { table_id: $prefixes lpm(1,\x0a\x00\x00\x00,8) do(NoAction) time_since_last_hit {} }", "no idle timeout"),
        ],
    );
    for timeout in [1_i64, 999, i64::MAX, 0] {
        let entry = format!("table_entry {{ {key} do(drop) idle_timeout_ns: {timeout} }}");
        desk.write(&[&format!("insert {entry}")]);
        desk.reads("table_entry { table_id: $pairs }", &[&entry]);
        desk.write(&[&format!("delete table_entry {{ {key} }}")]);
    }
    // The time since the last packet is there without a timeout, too.
    desk.write(&[&format!("insert table_entry {{ {key} do(drop) }}")]);
    let found = desk.read(&format!("table_entry {{ {key} time_since_last_hit {{}} }}"));
    let Some(p4info::proto::p4::v1::entity::Entity::TableEntry(entry)) = &found[0].entity else { panic!() };
    assert!(entry.time_since_last_hit.unwrap().elapsed_ns >= 0);
    assert_eq!(
        desk.read(&format!("table_entry {{ {key} }}")),
        [desk.entity(&format!("table_entry {{ {key} do(drop) }}"))]
    );
}

/// A table with `add_on_miss` takes and gives entries of controllers.
#[test]
fn g09_tables_that_packets_may_fill_are_tables_like_others() {
    let pna = include_str!("../../../../examples/09-pna-connections/connections_pna.p4");
    let headers = include_str!("../../../../examples/include/headers.p4");
    let pna = pna.replace("#include \"../include/headers.p4\"", headers);
    let desk = Desk::with(&pna, |_| {});
    let entry = |key: u32| {
        format!(
            "table_entry {{ table_id: $connections exact(1,\\x0{key}) exact(2,\\x02) exact(3,\\x06) exact(4,\\x01) exact(5,\\x02)"
        )
    };
    let (first, second) =
        (format!("{} do(pass,\\x01) }}", entry(1)), format!("{} do(pass,\\x02) }}", entry(2)));
    desk.write(&[&format!("insert {first}"), &format!("insert {second}")]);
    desk.reads("table_entry { table_id: $connections }", &[&first, &second]);
    desk.write(&[&format!("delete {} }}", entry(1))]);
    desk.refuses(Code::NotFound, &[(&format!("delete {} }}", entry(1)), "does not exist")]);
    desk.reads("table_entry { table_id: $connections }", &[&second]);
}

/// In PSA an action uses the direct counter and meter of its table or not.
#[test]
fn g08_actions_that_do_not_count_have_no_count() {
    let psa = include_str!("../../../../tests/programs/psa_externs/program.p4");
    let include = include_str!("../../../../tests/programs/include/psa.p4");
    let desk = Desk::with(&psa.replace("#include \"../include/psa.p4\"", include), |_| {});
    let entry = |action: &str| {
        format!(
            "table_entry {{ table_id: $counters exact(1,\\x01) do({action}) counter_data {{ packet_count: 3 }} }}"
        )
    };
    desk.refuses(Code::InvalidArgument, &[(&format!("insert {}", entry("not_counted")), "count")]);
    desk.write(&[&format!("insert {}", entry("counted"))]);
    desk.reads("table_entry { table_id: $counters counter_data {} }", &[&entry("counted")]);
}
