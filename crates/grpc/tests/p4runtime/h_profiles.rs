//! H. Action profiles: members, groups, one-shots.

use crate::desk::Desk;
use control::Code;
use target::PortState;

/// A member of an action profile that forwards to a port.
fn member(profile: &str, id: u32, port: u32) -> String {
    format!(
        "action_profile_member {{ action_profile_id: ${profile} member_id: {id} action {{ call(forward,\\x0{port}) }} }}"
    )
}

fn group(profile: &str, id: u32, rest: &str) -> String {
    format!("action_profile_group {{ action_profile_id: ${profile} group_id: {id} {rest} }}")
}

fn insert(entity: &str) -> String {
    format!("insert {entity}")
}

/// An entry of a table with a match and an action.
fn entry(table: &str, key: u32, action: &str) -> String {
    format!("table_entry {{ table_id: ${table} exact(1,\\x0{key}) action {{ {action} }} }}")
}

/// The ports to which a packet goes whose first fields are these.
fn ports(desk: &Desk, a: u8, b: u8) -> Vec<u32> {
    desk.device.receive(1, &[0, a, 0, b, 0, 0, 0, 0]);
    desk.device.take_sent().into_iter().map(|(port, _)| port).collect()
}

#[test]
fn h01_members_are_shared_by_groups_and_entries() {
    let desk = Desk::new();
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&insert(&member("hops", 0, 1)), "member 0"),
            ("insert action_profile_member { action_profile_id: $hops member_id: 1 }", "is missing"),
            ("insert action_profile_member { action_profile_id: $hops member_id: 1 action { call(drop) } }", "not in the list"),
            ("modify action_profile_member { action_profile_id: $hops member_id: 1 }", "is missing"),
        ],
    );
    desk.write(&[&insert(&member("hops", 1, 2)), &insert(&member("hops", 2, 3))]);
    desk.refuses(Code::AlreadyExists, &[(&insert(&member("hops", 1, 3)), "member 1")]);
    desk.refuses(Code::ResourceExhausted, &[(&insert(&member("hops", 3, 3)), "hops")]);
    desk.refuses(
        Code::NotFound,
        &[
            (&format!("modify {}", member("hops", 9, 3)), "member 9"),
            ("delete action_profile_member { action_profile_id: $hops member_id: 9 }", "member 9"),
        ],
    );
    desk.write(&[&insert(&entry("by_hop", 1, "action_profile_member_id: 1"))]);
    desk.write(&[&insert(&entry("by_hop", 2, "action_profile_member_id: 1"))]);
    let delete = "delete action_profile_member { action_profile_id: $hops member_id: 1 }";
    desk.refuses(Code::FailedPrecondition, &[(delete, "")]);
    assert_eq!((ports(&desk, 1, 0), ports(&desk, 2, 0)), (vec![2], vec![2]));
    // MODIFY reaches all that use it.
    desk.write(&[&format!("modify {}", member("hops", 1, 7))]);
    assert_eq!((ports(&desk, 1, 0), ports(&desk, 2, 0)), (vec![7], vec![7]));
    desk.reads(
        "action_profile_member { action_profile_id: $hops }",
        &[&member("hops", 1, 7), &member("hops", 2, 3)],
    );
    desk.write(&[
        "delete table_entry { table_id: $by_hop exact(1,\\x01) }",
        "delete table_entry { table_id: $by_hop exact(1,\\x02) }",
        delete,
    ]);
    // A member of a group is in use.
    let of_group = "delete action_profile_member { action_profile_id: $choices member_id: 1 }";
    desk.write(&[
        &insert(&member("choices", 1, 1)),
        &insert(&group("choices", 1, "max_size: 4 members { member_id: 1 weight: 1 }")),
    ]);
    desk.refuses(Code::FailedPrecondition, &[(of_group, "")]);
    desk.write(&["delete action_profile_group { action_profile_id: $choices group_id: 1 }", of_group]);
}

#[test]
fn h02_groups_keep_to_their_sizes() {
    let desk = Desk::with(crate::desk::LINES, |p4info| {
        let choices =
            p4info.action_profiles.iter_mut().find(|of| of.preamble.as_ref().unwrap().alias == "choices");
        assert_eq!(choices.unwrap().max_group_size, 4);
    });
    let all: Vec<String> = (1..=5).map(|id| insert(&member("choices", id, id))).collect();
    desk.write(&all.iter().map(String::as_str).collect::<Vec<&str>>());
    let refuses = |code, cases: &[(&str, &str)]| {
        let texts: Vec<String> = cases.iter().map(|(rest, _)| insert(&group("choices", 1, rest))).collect();
        let cases: Vec<(&str, &str)> =
            texts.iter().zip(cases).map(|(text, (_, words))| (text.as_str(), *words)).collect();
        desk.refuses(code, &cases);
    };
    refuses(
        Code::InvalidArgument,
        &[
            ("max_size: 4 members { member_id: 1 weight: 1 } members { member_id: 1 weight: 1 }", "twice"),
            ("max_size: 4 members { member_id: 1 }", "weight 0"),
            ("max_size: 4 members { member_id: 1 weight: -1 }", "weight -1"),
            ("max_size: 4 members { member_id: 0 weight: 1 }", "member 0"),
            ("max_size: 5", "max_size 5"),
            ("", "max_size 0"),
            ("max_size: 3 members { member_id: 1 weight: 4 }", "more than 3"),
            (
                "max_size: 4 members { member_id: 1 weight: 3 } members { member_id: 2 weight: 2 }",
                "more than 4",
            ),
        ],
    );
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&insert(&group("choices", 0, "max_size: 4")), "group 0"),
            (&insert(&group("hops", 1, "max_size: 4")), "no groups"),
        ],
    );
    refuses(Code::NotFound, &[("max_size: 4 members { member_id: 9 weight: 1 }", "member 9")]);
    // Without a largest size the selector is the limit.
    let free: Vec<String> = (1..=3).map(|id| insert(&member("free_choices", id, id))).collect();
    desk.write(&free.iter().map(String::as_str).collect::<Vec<&str>>());
    desk.refuses(
        Code::ResourceExhausted,
        &[
            (
                &insert(&group(
                    "free_choices",
                    1,
                    "members { member_id: 1 weight: 3 } members { member_id: 2 weight: 1 }",
                )),
                "3",
            ),
            (&insert(&member("free_choices", 4, 1)), "free_choices"),
        ],
    );
    // Empty groups are allowed, and actions may differ.
    let stamp = "insert action_profile_member { action_profile_id: $choices member_id: 6 action { call(stamp,\\x01,\\x02) } }";
    let mixed = "max_size: 4 members { member_id: 1 weight: 2 } members { member_id: 6 weight: 1 }";
    desk.write(&[stamp, &insert(&group("choices", 1, mixed)), &insert(&group("choices", 2, "max_size: 1"))]);
    desk.refuses(Code::AlreadyExists, &[(&insert(&group("choices", 1, "max_size: 4")), "group 1")]);
    desk.refuses(
        Code::InvalidArgument,
        &[(&format!("modify {}", group("choices", 1, "max_size: 3")), "max_size")],
    );
    desk.refuses(Code::NotFound, &[(&format!("modify {}", group("choices", 3, "max_size: 3")), "group 3")]);
    // Groups and members have numbers of their own.
    desk.reads(
        "action_profile_group { action_profile_id: $choices }",
        &[&group("choices", 1, mixed), &group("choices", 2, "max_size: 1")],
    );
    desk.write(&[&insert(&entry("balanced", 1, "action_profile_group_id: 1"))]);
    let delete = "delete action_profile_group { action_profile_id: $choices group_id: 1 }";
    desk.refuses(Code::FailedPrecondition, &[(delete, "")]);
    desk.write(&["delete table_entry { table_id: $balanced exact(1,\\x01) }", delete]);
}

#[test]
fn h02_weights_may_be_limited() {
    let selector = "action_selector(HashAlgorithm.crc16, 3, 8) free_choices;";
    let limited = format!("@selector_size_semantics(\"sum_of_members\") @max_member_weight(2) {selector}");
    let desk = Desk::with(&crate::desk::LINES.replace(selector, &limited), |_| {});
    let members: Vec<String> = (1..=3).map(|id| insert(&member("free_choices", id, id))).collect();
    desk.write(&members.iter().map(String::as_str).collect::<Vec<&str>>());
    let heavy = insert(&group("free_choices", 1, "members { member_id: 1 weight: 3 }"));
    desk.refuses(Code::InvalidArgument, &[(&heavy, "weight 3")]);
    // Sizes are numbers of members here.
    let rest = "max_size: 3 members { member_id: 1 weight: 2 } members { member_id: 2 weight: 2 } members { member_id: 3 weight: 2 }";
    desk.write(&[&insert(&group("free_choices", 1, rest))]);
    desk.reads(
        "action_profile_group { action_profile_id: $free_choices group_id: 1 }",
        &[&group("free_choices", 1, rest)],
    );
}

#[test]
fn h03_watched_ports_exist() {
    let desk = Desk::new();
    desk.write(&[&insert(&member("choices", 1, 1)), &insert(&member("choices", 2, 2))]);
    let watching = |watch: &str| {
        group(
            "choices",
            1,
            &format!(
                "max_size: 4 members {{ member_id: 1 weight: 1 {watch} }} members {{ member_id: 2 weight: 1 }}"
            ),
        )
    };
    desk.refuses(Code::InvalidArgument, &[(&insert(&watching("watch: -1")), "`watch`")]);
    desk.write(&[&insert(&watching(r"watch_port: '\x03'"))]);
    desk.reads("action_profile_group { action_profile_id: $choices }", &[&watching(r"watch_port: '\x03'")]);
    // The old number comes back as a port, too.
    desk.write(&[&format!("modify {}", watching("watch: 5"))]);
    assert_eq!(desk.read("action_profile_group { action_profile_id: $choices }").len(), 1);
    desk.write(&[&insert(&entry("balanced", 1, "action_profile_group_id: 1"))]);
    assert_eq!(ports(&desk, 1, 0).len(), 1);
}

#[test]
fn h03_ports_that_are_none_are_refused() {
    let desk = Desk::new();
    desk.write(&[&insert(&member("choices", 1, 1))]);
    let watching = insert(&group(
        "choices",
        1,
        r"max_size: 4 members { member_id: 1 weight: 1 watch_port: '\xff\xff\xff\xff\xff' }",
    ));
    desk.refuses(Code::InvalidArgument, &[(&watching, "port")]);
}

#[test]
fn h04_one_shots_keep_the_rules_of_groups() {
    let desk = Desk::new();
    let one_shot = |inside: &str| entry("balanced", 1, &format!("action_profile_action_set {{ {inside} }}"));
    let action = |port: u32, weight: i32| {
        format!("action_profile_actions {{ action {{ call(forward,\\x0{port}) }} weight: {weight} }} ")
    };
    let refused = [
        (one_shot(&action(1, 0)), "weight 0"),
        (one_shot(&action(1, 5)), "more than 4"),
        (one_shot(&(1..6).map(|port| action(port, 1)).collect::<String>()), "more than 4"),
        (one_shot("action_profile_actions { weight: 1 }"), "not set"),
        (one_shot("action_profile_actions { action { call(limited,1) } weight: 1 }"), "not in the list"),
        (one_shot(&format!("{} action_selection_mode: 9", action(1, 1))), "unknown value 9"),
        (one_shot(&format!("{} size_semantics: 9", action(1, 1))), "unknown value 9"),
    ];
    let refused: Vec<(String, &str)> = refused.iter().map(|(entry, words)| (insert(entry), *words)).collect();
    let refused: Vec<(&str, &str)> = refused.iter().map(|(text, words)| (text.as_str(), *words)).collect();
    desk.refuses(Code::InvalidArgument, &refused);
    let scoped = one_shot(&format!("{} group_action {{ call(forward,\\x01) }}", action(1, 1)));
    desk.refuses(Code::PermissionDenied, &[(&insert(&scoped), "@groupaction")]);
    // Equal actions stay apart, and the order stays.
    let written = one_shot(&format!("{}{}{}", action(5, 1), action(3, 2), action(5, 1)));
    desk.write(&[&insert(&written)]);
    desk.reads("table_entry { table_id: $balanced }", &[&written]);
    // With numbers of members as sizes, weights do not count.
    let heavy = one_shot(&format!("{} size_semantics: SUM_OF_MEMBERS", action(5, 9)));
    desk.write(&[&format!("modify {heavy}")]);
    desk.reads("table_entry { table_id: $balanced }", &[&heavy]);
    assert_eq!(ports(&desk, 1, 1), [5]);
}

#[test]
fn h04_selection_is_by_hash_or_at_random() {
    let desk = Desk::new();
    let of_mode = |mode: &str| {
        let action = |port: u32, weight: u32| {
            format!("action_profile_actions {{ action {{ call(forward,\\x0{port}) }} weight: {weight} }} ")
        };
        let set = format!("{}{} action_selection_mode: {mode}", action(5, 1), action(6, 3));
        entry("balanced", 1, &format!("action_profile_action_set {{ {set} }}"))
    };
    // Equal packets draw their action, in proportion to the weights.
    desk.write(&[&insert(&of_mode("RANDOM"))]);
    desk.reads("table_entry { table_id: $balanced }", &[&of_mode("RANDOM")]);
    let n = (0..2000).filter(|_| ports(&desk, 1, 1) == [6]).count();
    assert!((1300..1700).contains(&n), "{n} of 2000 packets");
    for mode in ["HASH", "DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR"] {
        desk.write(&[&format!("modify {}", of_mode(mode))]);
        desk.reads("table_entry { table_id: $balanced }", &[&of_mode(mode)]);
        let first = ports(&desk, 1, 1);
        assert!((0..100).all(|_| ports(&desk, 1, 1) == first), "{mode}");
    }
}

#[test]
fn h04_the_group_action_runs_first() {
    let desk = Desk::new();
    let one_shot = |inside: &str| entry("balanced", 1, &format!("action_profile_action_set {{ {inside} }}"));
    let selected = "action_profile_actions { action { call(forward,\\x05) } weight: 1 }";
    let written = one_shot(&format!("{selected} group_action {{ call(note,\\x07) }}"));
    desk.write(&[&insert(&written)]);
    desk.reads("table_entry { table_id: $balanced }", &[&written]);
    let sent = || {
        desk.device.receive(1, &[0, 1, 0, 1, 0, 0, 0, 0]);
        desk.device.take_sent()
    };
    // The selected action has the last word.
    assert_eq!(sent(), [(5, vec![0, 1, 0, 7, 0, 0, 0, 0])]);
    // It runs for every packet of the group, also if the group is empty.
    desk.write(&[&format!("modify {}", one_shot("group_action { call(note,\\x08) }"))]);
    assert_eq!(sent(), [(9, vec![0, 1, 0, 8, 0, 0, 0, 0])]);
    desk.write(&[&format!("modify {}", one_shot(selected))]);
    assert_eq!(sent(), [(5, vec![0, 1, 0, 1, 0, 0, 0, 0])]);
    // It is for nothing else.
    let entry = |action: &str| insert(&entry("balanced", 2, action));
    desk.refuses(
        Code::PermissionDenied,
        &[
            (
                &entry("action_profile_action_set { action_profile_actions { action { call(note,\\x01) } weight: 1 } }"),
                "@groupaction",
            ),
            (&entry("action_profile_action_set { group_action { call(forward,\\x01) } }"), "@groupaction"),
        ],
    );
    desk.refuses(
        Code::InvalidArgument,
        &[(&entry("action_profile_action_set { group_action { call(note) } }"), "missing")],
    );
}

#[test]
fn h04_a_selector_is_programmed_in_one_way() {
    let desk = Desk::new();
    let actions = "action_profile_actions { action { call(forward,\\x05) } weight: 1 }";
    let written = entry("balanced", 1, &format!("action_profile_action_set {{ {actions} }}"));
    desk.write(&[&insert(&written)]);
    // A selector has either one-shots, or members and groups.
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&insert(&member("choices", 1, 1)), "one-shot"),
            (&insert(&group("choices", 1, "max_size: 4")), "one-shot"),
        ],
    );
    desk.write(&[
        "delete table_entry { table_id: $balanced exact(1,\\x01) }",
        &insert(&member("choices", 1, 1)),
    ]);
    desk.refuses(Code::InvalidArgument, &[(&insert(&written), "")]);
}

#[test]
fn h02_weights_may_be_disallowed() {
    let desk = Desk::with(crate::desk::LINES, |p4info| {
        let all = &mut p4info.action_profiles;
        let of = all.iter_mut().find(|of| of.preamble.as_ref().unwrap().alias == "free_choices");
        of.unwrap().weights_disallowed = true;
    });
    let members: Vec<String> = (1..=3).map(|id| insert(&member("free_choices", id, id))).collect();
    desk.write(&members.iter().map(String::as_str).collect::<Vec<&str>>());
    let rest = |weights: [i32; 3]| {
        let member = |(id, weight): (usize, i32)| format!("members {{ member_id: {id} weight: {weight} }} ");
        (1..).zip(weights).map(member).collect::<String>()
    };
    let refused = [[1, 0, 0], [0, 0, -1], [2, 2, 2]].map(|of| insert(&group("free_choices", 1, &rest(of))));
    desk.refuses(Code::InvalidArgument, &refused.each_ref().map(|text| (text.as_str(), "have no weights")));
    let written = group("free_choices", 1, &rest([0; 3]));
    desk.write(&[&insert(&written), &insert(&entry("free_balanced", 1, "action_profile_group_id: 1"))]);
    desk.reads("action_profile_group { action_profile_id: $free_choices }", &[&written]);
    // All members are used alike.
    let mut used: Vec<u32> = (0..=255).flat_map(|b| ports(&desk, 1, b)).collect();
    used.sort_unstable();
    let n = |port| used.iter().filter(|used| **used == port).count();
    assert!((1..=3).all(|port| (40..130).contains(&n(port))), "{used:?}");
    // One-shots of the selector have no weights, either.
    let action = |weight: i32| {
        let action =
            format!("action_profile_actions {{ action {{ call(forward,\\x05) }} weight: {weight} }}");
        entry("free_balanced", 1, &format!("action_profile_action_set {{ {action} }}"))
    };
    desk.write(&[
        "delete table_entry { table_id: $free_balanced exact(1,\\x01) }",
        "delete action_profile_group { action_profile_id: $free_choices group_id: 1 }",
        "delete action_profile_member { action_profile_id: $free_choices member_id: 1 }",
        "delete action_profile_member { action_profile_id: $free_choices member_id: 2 }",
        "delete action_profile_member { action_profile_id: $free_choices member_id: 3 }",
    ]);
    desk.refuses(Code::InvalidArgument, &[(&insert(&action(1)), "have no weights")]);
    desk.write(&[&insert(&action(0))]);
    desk.reads("table_entry { table_id: $free_balanced }", &[&action(0)]);
    assert_eq!(ports(&desk, 1, 0), [5]);
}

#[test]
fn h03_members_whose_port_is_down_are_left_out() {
    let desk = Desk::new();
    desk.write(&[&insert(&member("choices", 1, 1)), &insert(&member("choices", 2, 2))]);
    let watching = r"max_size: 4 members { member_id: 1 weight: 1 watch_port: '\x03' } members { member_id: 2 weight: 1 watch_port: '\x04' }";
    let watching = group("choices", 1, watching);
    let hits = r"table_entry { table_id: $balanced exact(1,\x01) action { action_profile_group_id: 1 } }";
    desk.write(&[&insert(&watching), &insert(hits)]);
    let used = || {
        let mut used: Vec<u32> = (0..64).flat_map(|b| ports(&desk, 1, b)).collect();
        used.sort_unstable();
        used.dedup();
        used
    };
    let as_written = || desk.reads("action_profile_group { action_profile_id: $choices }", &[&watching]);
    assert_eq!(used(), [1, 2]);
    desk.device.set_port(3, PortState::Down);
    assert_eq!(used(), [2]);
    as_written();
    // All down is an empty group: nothing runs.
    desk.device.set_port(4, PortState::Down);
    assert_eq!(used(), [0]);
    as_written();
    desk.device.set_port(3, PortState::Up);
    assert_eq!(used(), [1]);
    desk.device.set_port(4, PortState::Up);
    assert_eq!(used(), [1, 2]);
    // Actions of one-shots watch ports, too.
    let shot = |port: u32, watch: u32| {
        format!(
            "action_profile_actions {{ action {{ call(forward,\\x0{port}) }} weight: 1 watch_port: '\\x0{watch}' }} "
        )
    };
    desk.write(&[
        r"delete table_entry { table_id: $balanced exact(1,\x01) }",
        "delete action_profile_group { action_profile_id: $choices group_id: 1 }",
        "delete action_profile_member { action_profile_id: $choices member_id: 1 }",
        "delete action_profile_member { action_profile_id: $choices member_id: 2 }",
    ]);
    let written =
        entry("balanced", 1, &format!("action_profile_action_set {{ {}{} }}", shot(5, 3), shot(6, 4)));
    desk.write(&[&insert(&written)]);
    assert_eq!(used(), [5, 6]);
    desk.device.set_port(4, PortState::Down);
    assert_eq!(used(), [5]);
    desk.reads("table_entry { table_id: $balanced }", &[&written]);
    desk.device.set_port(3, PortState::Down);
    assert_eq!(used(), [0]);
}
