//! Names, and P4Info that contradicts itself.

mod support;

use control::*;
use support::*;

fn message<T>(result: Result<T, Fault>) -> String {
    match result {
        Ok(_) => "found".to_owned(),
        Err(fault) => format!("{}: {fault}", fault.code().name()),
    }
}

#[test]
fn names_and_their_ends() {
    let schema = schema();
    let found = |name: &str| schema.tables.find(name).map(|table| table.names.name.to_string());
    for (name, full) in [("I.acl", "I.acl"), ("acl", "I.acl"), ("I.sub.l2", "I.sub.l2")] {
        assert_eq!(found(name).as_deref(), Ok(full));
    }
    for (name, expected) in [
        ("l2", "INVALID_ARGUMENT: `l2` may be any table of `I.sub.l2`, `E.sub.l2`; write more of its name"),
        (
            "sub.l2",
            "INVALID_ARGUMENT: `sub.l2` may be any table of `I.sub.l2`, `E.sub.l2`; write more of its name",
        ),
        ("I.alc", "NOT_FOUND: there is no table `I.alc`; did you mean `I.acl`?"),
        ("cl", "NOT_FOUND: there is no table `cl`"),
        ("", "NOT_FOUND: there is no table ``"),
    ] {
        assert_eq!(message(found(name)), expected);
    }
    let table = schema.tables.find("I.sub.l2").unwrap();
    assert_eq!(table.find_key("eth.dst").unwrap().id, FieldId(1));
    assert_eq!(
        message(table.find_key("dst")),
        "INVALID_ARGUMENT: `dst` may be any key element of `hdr.eth.dst`, `meta.dst`; write more of its name"
    );
    assert_eq!(
        message(table.find_key("hdr.eth.dts")),
        "NOT_FOUND: there is no key element `hdr.eth.dts` in table `I.sub.l2`; did you mean `hdr.eth.dst`?"
    );
    assert_eq!(table.find_action(&schema, "forward").unwrap().id, ActionId(0x0100_0001));
    assert_eq!(
        message(table.find_action(&schema, "NoAction")),
        "NOT_FOUND: there is no action `NoAction` in table `I.sub.l2`"
    );
    let forward = schema.actions.find("forward").unwrap();
    assert_eq!(
        message(forward.find_param("prot")),
        "NOT_FOUND: there is no parameter `prot` in action `I.forward`; did you mean `port`?"
    );
    assert_eq!(schema.object(0x1200_0001), Some((schema::ObjectKind::Counter, "I.hits")));
    assert_eq!(schema.name_of(7), "0x00000007");
}

/// Each with what makes it useless.
const CONTRADICTIONS: &[(&str, &str)] = &[
    ("tables {}", "a table has no name and id"),
    (r#"actions { preamble { name: "a" } }"#, "action `a` has the id 0, which means none"),
    (
        r#"actions { preamble { id: 1 name: "a" } } counters { preamble { id: 1 name: "b" } spec { unit: BOTH } }"#,
        "`a` and `b` have the same id 0x00000001",
    ),
    (
        r#"actions { preamble { id: 1 name: "a" } } actions { preamble { id: 2 name: "a" } }"#,
        "two objects of the kind action are named `a`",
    ),
    (
        r#"actions { preamble { id: 1 name: "a" } params { id: 1 } params { id: 1 } }"#,
        "`a`: two parts have the id 1",
    ),
    (
        r#"tables { preamble { id: 1 name: "t" } action_refs { id: 7 } }"#,
        "`t`: there is no action with id 0x00000007",
    ),
    (
        r#"tables { preamble { id: 1 name: "t" } implementation_id: 7 }"#,
        "`t`: there is no action profile with id 0x00000007",
    ),
    (
        r#"tables { preamble { id: 1 name: "t" } direct_resource_ids: 7 }"#,
        "`t`: 0x00000007 is neither a direct counter nor a direct meter",
    ),
    (
        r#"tables { preamble { id: 1 name: "t" } match_fields { id: 1 } }"#,
        "`t`: a match kind is not set, or to a value that we do not know",
    ),
    (
        r#"actions { preamble { id: 1 name: "a" } params { id: 1 bitwidth: -1 } }"#,
        "`a`: the width in bits is -1; it must be from 0 to 65536",
    ),
    (
        r#"counters { preamble { id: 1 name: "c" } }"#,
        "`c`: the unit is not set, or to a value that we do not know",
    ),
    (
        r#"counters { preamble { id: 1 name: "c" } spec { unit: BYTES } size: -4 }"#,
        "`c`: size is -4; it must be from 0 to 9223372036854775807",
    ),
    (
        r#"registers { preamble { id: 1 name: "r" } type_spec { struct { name: "s" } } }"#,
        "`r`: type `s` is not in type_info",
    ),
    (
        r#"registers { preamble { id: 1 name: "r" } type_spec { struct { name: "s" } } }
           type_info { structs { key: "s" value { members { type_spec { struct { name: "s" } } } } } }"#,
        "type `s` contains itself, or nests deeper than 64",
    ),
    (
        "pkg_info { platform_properties { multicast_group_table_size: 65537 } }",
        "the program demands a multicast_group_table_size of 65537; this switch has 65536",
    ),
    (
        "pkg_info { platform_properties { multicast_group_table_total_replicas: 4194305 } }",
        "the program demands a multicast_group_table_total_replicas of 4194305; this switch has 4194304",
    ),
    (
        "pkg_info { platform_properties { multicast_group_table_max_replicas_per_entry: -1 } }",
        "`platform_properties`: multicast_group_table_max_replicas_per_entry is -1; it must be from 0 to 2147483647",
    ),
    (
        r#"registers { preamble { id: 1 name: "r" } type_spec { new_type { name: "n" } } }
           type_info { new_types { key: "n" value { original_type { new_type { name: "n" } } } } }"#,
        "type `n` contains itself, or nests deeper than 64",
    ),
];

#[test]
fn contradictions_are_found() {
    for (text, expected) in CONTRADICTIONS {
        let found = Schema::new(&p4info(text)).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(found, Err((*expected).to_owned()), "{text}");
    }
}

/// The numbers that a program demands are minimums: groups may be larger, up to what the switch has.
#[test]
fn c6_a_switch_may_have_more_than_the_program_demands() {
    let demand = "pkg_info { platform_properties { multicast_group_table_max_replicas_per_entry: 2 } }";
    let schema = Schema::new(&p4info(demand)).unwrap();
    assert_eq!(schema.platform.n_replicas_per_group, 2);
    let group = |n: u32| {
        let replica = |i| Replica { egress_port: Port::number(1), instance: i, backups: Vec::new() };
        let replicas = (0..n).map(replica).collect();
        let group = MulticastGroup { group: MulticastGroupId(1), replicas, metadata: Vec::new() };
        let update = Update { kind: UpdateKind::Insert, entity: Entity::MulticastGroup(group) };
        validate(&schema, &update).map_err(|fault| fault.code())
    };
    assert_eq!(group(3), Ok(()));
    assert_eq!(group(65_536), Ok(()));
    assert_eq!(group(65_537), Err(Code::ResourceExhausted));
}

#[test]
fn c6_ids_begin_with_the_number_of_their_kind() {
    schema().check_ids().unwrap();
    let check =
        |text: &str| Schema::new(&p4info(text)).unwrap().check_ids().map_err(|error| error.to_string());
    let instance = |id: u32| format!(r#"instances {{ preamble {{ id: {id} name: "x" }} }}"#);
    let of_type = |ty: u32, id| format!("externs {{ extern_type_id: {ty} {} }}", instance(id));
    assert_eq!(check(&of_type(0x81, 0x8100_0001)), Ok(()));
    for (text, expected) in [
        (
            r#"tables { preamble { id: 0x01000001 name: "t" } }"#.to_owned(),
            "table `t` has the id 0x01000001; ids of its kind begin with 0x02",
        ),
        (
            r#"digests { preamble { id: 7 name: "d" } type_spec { bool {} } }"#.to_owned(),
            "digest `d` has the id 0x00000007; ids of its kind begin with 0x17",
        ),
        (of_type(0x81, 0x8200_0001), "extern `x` has the id 0x82000001; ids of its kind begin with 0x81"),
        (of_type(0x80, 0x8000_0001), "`x` has the extern type 0x80; extern types are from 0x81 to 0xfe"),
        (of_type(0x181, 0x8100_0001), "`x` has the extern type 0x181; extern types are from 0x81 to 0xfe"),
    ] {
        assert_eq!(check(&text), Err(expected.to_owned()));
    }
}

#[test]
fn codes_have_the_numbers_and_names_of_grpc() {
    for (code, number, name) in [
        (Code::Ok, 0, "OK"),
        (Code::Cancelled, 1, "CANCELLED"),
        (Code::Unknown, 2, "UNKNOWN"),
        (Code::InvalidArgument, 3, "INVALID_ARGUMENT"),
        (Code::DeadlineExceeded, 4, "DEADLINE_EXCEEDED"),
        (Code::NotFound, 5, "NOT_FOUND"),
        (Code::AlreadyExists, 6, "ALREADY_EXISTS"),
        (Code::PermissionDenied, 7, "PERMISSION_DENIED"),
        (Code::ResourceExhausted, 8, "RESOURCE_EXHAUSTED"),
        (Code::FailedPrecondition, 9, "FAILED_PRECONDITION"),
        (Code::Aborted, 10, "ABORTED"),
        (Code::OutOfRange, 11, "OUT_OF_RANGE"),
        (Code::Unimplemented, 12, "UNIMPLEMENTED"),
        (Code::Internal, 13, "INTERNAL"),
        (Code::Unavailable, 14, "UNAVAILABLE"),
        (Code::DataLoss, 15, "DATA_LOSS"),
        (Code::Unauthenticated, 16, "UNAUTHENTICATED"),
    ] {
        assert_eq!((code.number(), code.name()), (number, name));
        assert_eq!(Code::of_number(number), code);
    }
    assert_eq!((Code::of_number(-1), Code::of_number(17)), (Code::Unknown, Code::Unknown));
}

#[test]
fn types_of_a_billion_parts_are_no_trouble() {
    let structs = |n: usize, member: &dyn Fn(usize) -> String| -> String {
        let one = |i| format!(r#"structs {{ key: "s{i}" value {{ {} }} }}"#, member(i));
        format!("type_info {{ {} }}", (0..n).map(one).collect::<String>())
    };
    let register = |i: usize| {
        let preamble = format!(r#"preamble {{ id: {} name: "r{i}" }}"#, i + 1);
        format!(r#"registers {{ {preamble} type_spec {{ struct {{ name: "s{i}" }} }} }}"#)
    };
    let of = |i: usize| format!(r#"members {{ type_spec {{ struct {{ name: "s{i}" }} }} }}"#);

    // Each has two of the next, sixty times.
    let doubled = structs(60, &|i| if i == 59 { String::new() } else { of(i + 1).repeat(2) });
    let schema = Schema::new(&p4info(&(register(0) + &doubled))).unwrap();
    assert_eq!(schema.registers.find("r0").unwrap().cell.flat_widths(), None);

    // Each is known when the next one asks for it: the sum is too deep all the same.
    let nested = structs(100, &|i| if i == 0 { String::new() } else { of(i - 1) });
    let registers: String = (0..100).map(register).collect();
    let deep = Schema::new(&p4info(&(registers + &nested))).map(|_| ());
    assert!(deep.is_err_and(|error| error.to_string().contains("nests deeper")));
}

#[test]
fn widths_of_a_message() {
    let info = r#"
        digests { preamble { id: 1 name: "d" } type_spec { struct { name: "s" } } }
        type_info {
          structs { key: "s" value {
            members { name: "a" type_spec { bitstring { bit { bitwidth: 9 } } } }
            members { name: "b" type_spec { header_stack { header { name: "h" } size: 2 } } }
            members { name: "c" type_spec { bool {} } }
          } }
          headers { key: "h" value {
            members { name: "x" type_spec { bit { bitwidth: 4 } } }
            members { name: "y" type_spec { int { bitwidth: 12 } } }
          } }
        }"#;
    let schema = Schema::new(&p4info(info)).unwrap();
    let digest = schema.digests.find("d").unwrap();
    assert_eq!(digest.message.flat_widths(), Some(vec![9, 4, 12, 4, 12, 1]));
}
