//! I. Counters, meters, registers.

use crate::desk::Desk;
use control::Code;

#[test]
fn i01_cells_are_modified_one_or_all() {
    let desk = Desk::new();
    let mut refused = Vec::new();
    for kind in ["insert", "delete"] {
        for entity in [
            "counter_entry { counter_id: $cells index { index: 1 } }",
            "meter_entry { meter_id: $rates index { index: 1 } }",
            r"register_entry { register_id: $memory index { index: 1 } data { bitstring: '\x01' } }",
        ] {
            refused.push(format!("{kind} {entity}"));
        }
    }
    let refused: Vec<(&str, &str)> =
        refused.iter().map(|text| (text.as_str(), "can only be modified")).collect();
    desk.refuses(Code::InvalidArgument, &refused);
    let with_index = |index: i64| {
        [
            format!("modify counter_entry {{ counter_id: $cells index {{ index: {index} }} data {{}} }}"),
            format!("modify meter_entry {{ meter_id: $rates index {{ index: {index} }} }}"),
            format!(
                "modify register_entry {{ register_id: $memory index {{ index: {index} }} data {{ bitstring: '\\x01' }} }}"
            ),
        ]
    };
    for (index, code, words) in [
        (-1, Code::InvalidArgument, "is negative"),
        (8, Code::OutOfRange, "beyond the last cell"),
        (i64::MAX, Code::OutOfRange, "beyond the last cell"),
    ] {
        let texts = with_index(index);
        desk.refuses(code, &texts.each_ref().map(|text| (text.as_str(), words)));
    }
    // Without an index all cells are written.
    let cell = |index: u32, n: u32| {
        format!(
            "counter_entry {{ counter_id: $cells index {{ index: {index} }} data {{ packet_count: {n} byte_count: 7 }} }}"
        )
    };
    desk.write(&["modify counter_entry { counter_id: $cells data { packet_count: 3 byte_count: 7 } }"]);
    desk.write(&[&format!("modify {}", cell(5, 9))]);
    let all: Vec<String> = (0..8).map(|index| cell(index, if index == 5 { 9 } else { 3 })).collect();
    desk.reads(
        "counter_entry { counter_id: $cells }",
        &all.iter().map(String::as_str).collect::<Vec<&str>>(),
    );
    desk.reads("counter_entry { counter_id: $cells index { index: 5 } }", &[&cell(5, 9)]);
    // Without data a counter stays; a register needs some.
    desk.write(&["modify counter_entry { counter_id: $cells }"]);
    desk.reads("counter_entry { counter_id: $cells index { index: 5 } }", &[&cell(5, 9)]);
    desk.refuses(
        Code::InvalidArgument,
        &[
            ("modify register_entry { register_id: $memory index { index: 1 } }", "is missing"),
            ("modify counter_entry { counter_id: $cells data { packet_count: -1 } }", "negative"),
        ],
    );
    let register = |index: u32, value: &str| {
        format!(
            "register_entry {{ register_id: $memory index {{ index: {index} }} data {{ bitstring: '{value}' }} }}"
        )
    };
    desk.write(&[r"modify register_entry { register_id: $memory data { bitstring: '\x01\x02' } }"]);
    desk.write(&[&format!("modify {}", register(7, r"\x00\x09"))]);
    let all: Vec<String> =
        (0..8).map(|index| register(index, if index == 7 { r"\x09" } else { r"\x01\x02" })).collect();
    desk.reads(
        "register_entry { register_id: $memory }",
        &all.iter().map(String::as_str).collect::<Vec<&str>>(),
    );
}

#[test]
fn i02_meters_take_rates_and_bursts() {
    let desk = Desk::new();
    let cell = |rest: &str| format!("meter_entry {{ meter_id: $rates index {{ index: 2 }} {rest} }}");
    let question = cell("");
    let bad = ["config { cir: 1 pir: 1 eburst: 1 }", "config { cir: -1 }", "config { pburst: -1 }"];
    let bad = bad.map(|config| format!("modify {}", cell(config)));
    desk.refuses(Code::InvalidArgument, &bad.each_ref().map(|text| (text.as_str(), "")));
    desk.reads(&question, &[&question]);
    let config = "config { cir: 1 cburst: 2 pir: 3 pburst: 4 }";
    desk.write(&[&format!("modify {}", cell(config))]);
    desk.reads(&question, &[&cell(config)]);
    // Without a config everything is green.
    desk.write(&[&format!("modify {question}")]);
    desk.reads(&question, &[&question]);
}

/// A desk whose P4Info gives the meters of the program another type.
fn desk_with_meters(kind: p4info::proto::p4::config::v1::meter_spec::Type) -> Desk {
    Desk::with(crate::desk::LINES, |p4info| {
        let (meters, direct) = (&mut p4info.meters, &mut p4info.direct_meters);
        for spec in meters.iter_mut().map(|of| &mut of.spec).chain(direct.iter_mut().map(|of| &mut of.spec)) {
            spec.get_or_insert_default().r#type = kind.into();
        }
    })
}

/// Sends four packets of 8 bytes at once and returns how many were green, yellow and red in the first cell.
fn colours_of_four(desk: &Desk) -> [i64; 3] {
    for _ in 0..4 {
        desk.device.receive(0, &[0; 8]);
    }
    let found = desk.read("meter_entry { meter_id: $rates index {} counter_data {} }");
    let Some(p4info::proto::p4::v1::entity::Entity::MeterEntry(entry)) = &found[0].entity else { panic!() };
    let data = entry.counter_data.unwrap();
    [data.green, data.yellow, data.red].map(|count| count.map_or(0, |count| count.packet_count))
}

#[test]
fn i02_two_rates_take_no_excess_burst() {
    let desk = Desk::new();
    let cell = |config: &str| format!("meter_entry {{ meter_id: $rates index {{}} config {{ {config} }} }}");
    // Room for one green packet and a yellow one.
    desk.write(&[&format!("modify {}", cell("cir: 0 cburst: 8 pir: 0 pburst: 16"))]);
    assert_eq!(colours_of_four(&desk), [1, 1, 2]);
    desk.refuses(
        Code::InvalidArgument,
        &[(&format!("modify {}", cell("cir: 1 cburst: 8 pir: 1 pburst: 16 eburst: 8")), "eburst")],
    );
}

#[test]
fn i02_a_single_rate_with_three_colours_has_an_excess_burst() {
    use p4info::proto::p4::config::v1::meter_spec::Type;
    let desk = desk_with_meters(Type::SingleRateThreeColor);
    let cell = |config: &str| format!("meter_entry {{ meter_id: $rates index {{}} config {{ {config} }} }}");
    let refused = [
        "cir: 1 cburst: 2 pir: 2 pburst: 2 eburst: 3",
        "cir: 1 cburst: 2 pir: 1 pburst: 3 eburst: 3",
        "eburst: -1",
    ];
    let refused = refused.map(|config| format!("modify {}", cell(config)));
    desk.refuses(Code::InvalidArgument, &refused.each_ref().map(|text| (text.as_str(), "")));
    let config = "cburst: 8 pburst: 8 eburst: 16";
    desk.write(&[&format!("modify {}", cell(config))]);
    desk.reads("meter_entry { meter_id: $rates index {} }", &[&cell(config)]);
    assert_eq!(colours_of_four(&desk), [1, 2, 1]);
    // Direct meters, and all cells of an array.
    let limited = r"table_id: $limits_table exact(1,\x01)";
    desk.write(&[
        &format!("insert table_entry {{ {limited} do(limited,\\x03) meter_config {{ {config} }} }}"),
        &format!("modify meter_entry {{ meter_id: $rates config {{ {config} }} }}"),
    ]);
    desk.reads(
        &format!("direct_meter_entry {{ table_entry {{ {limited} }} }}"),
        &[&format!("direct_meter_entry {{ table_entry {{ {limited} }} config {{ {config} }} }}")],
    );
    assert!(desk.read("meter_entry { meter_id: $rates }").contains(&desk.entity(&cell(config))));
}

#[test]
fn i02_a_single_rate_with_two_colours_has_one_bucket() {
    use p4info::proto::p4::config::v1::meter_spec::Type;
    let desk = desk_with_meters(Type::SingleRateTwoColor);
    let cell = |config: &str| format!("meter_entry {{ meter_id: $rates index {{}} config {{ {config} }} }}");
    let refused = ["cir: 1 cburst: 8 pir: 1 pburst: 8 eburst: 1", "cir: 1 cburst: 8 pir: 2 pburst: 8"];
    let refused = refused.map(|config| format!("modify {}", cell(config)));
    desk.refuses(Code::InvalidArgument, &refused.each_ref().map(|text| (text.as_str(), "")));
    desk.write(&[&format!("modify {}", cell("cburst: 8 pburst: 8"))]);
    desk.reads("meter_entry { meter_id: $rates index {} }", &[&cell("cburst: 8 pburst: 8")]);
    assert_eq!(colours_of_four(&desk), [1, 0, 3]);
}

#[test]
fn i02_colours_of_direct_meters_are_counted_and_reset() {
    let desk = Desk::new();
    let limited = r"table_id: $limits_table exact(1,\x01)";
    let forward = r"do(limited,\x03)";
    let rates = "{ cburst: 8 pburst: 16 }";
    let none = "{ green {} yellow {} red {} }";
    desk.write(&[&format!("insert table_entry {{ {limited} {forward} meter_config {rates} }}")]);
    let direct = |rest: &str| format!("direct_meter_entry {{ table_entry {{ {limited} }} {rest} }}");
    let entry = |rest: &str| format!("table_entry {{ {limited} {forward} {rest} }}");
    let question = format!("table_entry {{ {limited} meter_counter_data {{}} }}");
    desk.reads(&question, &[&entry(&format!("meter_counter_data {none}"))]);
    for _ in 0..4 {
        desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
    }
    let counted = "{ green { packet_count: 1 byte_count: 8 } yellow { packet_count: 1 byte_count: 8 } \
                   red { packet_count: 2 byte_count: 16 } }";
    desk.reads(&direct("counter_data {}"), &[&direct(&format!("config {rates} counter_data {counted}"))]);
    desk.reads(&direct(""), &[&direct(&format!("config {rates}"))]);
    desk.reads(&question, &[&entry(&format!("meter_counter_data {counted}"))]);
    // Only zeros can be written, alone, with their entry, or with others in a batch.
    let one = "{ yellow { byte_count: 1 } }";
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&format!("modify {}", direct(&format!("counter_data {one}"))), "reset to 0"),
            (&format!("modify {}", entry(&format!("meter_counter_data {one}"))), "reset to 0"),
        ],
    );
    desk.reads(&question, &[&entry(&format!("meter_counter_data {counted}"))]);
    // A change of rates leaves the counts.
    desk.write(&[&format!("modify {}", entry(""))]);
    desk.reads(&question, &[&entry(&format!("meter_counter_data {counted}"))]);
    desk.write(&[&format!("modify {}", entry(&format!("meter_counter_data {none}")))]);
    desk.reads(&question, &[&entry(&format!("meter_counter_data {none}"))]);
    // Without rates all packets are green.
    desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
    let green = "{ green { packet_count: 1 byte_count: 8 } yellow {} red {} }";
    desk.reads(&direct("counter_data {}"), &[&direct(&format!("counter_data {green}"))]);
    desk.write(&[&format!("modify {}", direct(&format!("counter_data {none}")))]);
    desk.reads(&direct("counter_data {}"), &[&direct(&format!("counter_data {none}"))]);
}

#[test]
fn i02_colours_are_counted_and_reset() {
    let desk = Desk::new();
    let cell = |rest: &str| format!("meter_entry {{ meter_id: $rates index {{ index: 2 }} {rest} }}");
    desk.refuses(
        Code::InvalidArgument,
        &[(&format!("modify {}", cell("counter_data { green { packet_count: 1 } }")), "reset to 0")],
    );
    desk.device.receive(2, &[0; 8]);
    desk.device.receive(2, &[0; 8]);
    let counted = "counter_data { green { packet_count: 2 byte_count: 16 } yellow {} red {} }";
    desk.reads(&cell("counter_data {}"), &[&cell(counted)]);
    desk.reads(&cell(""), &[&cell("")]);
    desk.write(&[&format!("modify {}", cell("counter_data { green {} yellow {} red {} }"))]);
    desk.reads(&cell("counter_data {}"), &[&cell("counter_data { green {} yellow {} red {} }")]);
}

#[test]
fn i03_direct_cells_belong_to_an_entry() {
    let desk = Desk::new();
    let key = r"table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) }";
    let missing = format!("direct_counter_entry {{ {key} data {{ packet_count: 1 }} }}");
    desk.refuses(Code::NotFound, &[(&format!("modify {missing}"), "does not exist")]);
    desk.refuses(
        Code::InvalidArgument,
        &[
            (&format!("insert {missing}"), "can only be modified"),
            (&format!("delete {missing}"), "can only be modified"),
            ("modify direct_counter_entry {}", "not set"),
            (r"modify direct_counter_entry { table_entry { table_id: $prefixes lpm(1,\x0a\x00\x00\x00,8) } data {} }", "no direct counter"),
            (&format!("modify direct_meter_entry {{ {key} config {{}} }}"), "no direct meter"),
        ],
    );
    desk.write(&[r"insert table_entry { table_id: $pairs exact(1,\x01) exact(2,\x02) do(forward,\x03) }"]);
    let counted = |n: u32, n_bytes: u32| {
        format!("direct_counter_entry {{ {key} data {{ packet_count: {n} byte_count: {n_bytes} }} }}")
    };
    desk.write(&[&format!("modify {}", counted(4, 100))]);
    desk.device.receive(1, &[0, 1, 0, 2, 0, 0, 0, 0]);
    // Packets and bytes are of one moment.
    let question = format!("direct_counter_entry {{ {key} }}");
    desk.reads(&question, &[&counted(5, 108)]);
    desk.write(&[&format!("modify direct_counter_entry {{ {key} }}")]);
    desk.reads(&question, &[&counted(5, 108)]);
    let limited = r"table_entry { table_id: $limits_table exact(1,\x01) }";
    desk.write(&[r"insert table_entry { table_id: $limits_table exact(1,\x01) do(limited,\x03) }"]);
    let rates = "config { cir: 1 cburst: 2 pir: 3 pburst: 4 }";
    desk.write(&[&format!("modify direct_meter_entry {{ {limited} {rates} }}")]);
    desk.reads(
        &format!("direct_meter_entry {{ {limited} }}"),
        &[&format!("direct_meter_entry {{ {limited} {rates} }}")],
    );
}

#[test]
fn i04_registers_take_values_of_their_type() {
    let desk = Desk::new();
    let data = |data: &str| {
        format!("modify register_entry {{ register_id: $memory index {{ index: 1 }} data {{ {data} }} }}")
    };
    let refused = [
        "",
        "bool: true",
        r"varbit { bitstring: '\x01' bitwidth: 12 }",
        r"tuple { members { bitstring: '\x01' } }",
        r"struct { members { bitstring: '\x01' } }",
        r"header { is_valid: true bitstrings: '\x01' }",
        "header_union {}",
        "header_stack {}",
        "header_union_stack {}",
        "enum: 'OPEN'",
        "error: 'NoError'",
        r"enum_value: '\x01'",
    ]
    .map(data);
    desk.refuses(Code::InvalidArgument, &refused.each_ref().map(|text| (text.as_str(), "")));
    let too_wide = data(r"bitstring: '\x10\x00'");
    desk.refuses(Code::OutOfRange, &[(&too_wide, "12 bits"), (&data("bitstring: ''"), "is empty")]);
    desk.write(&[&data(r"bitstring: '\x00\x0f\xff'")]);
    desk.reads(
        "register_entry { register_id: $memory index { index: 1 } }",
        &[r"register_entry { register_id: $memory index { index: 1 } data { bitstring: '\x0f\xff' } }"],
    );
}

#[test]
fn i04_registers_of_headers_keep_validity() {
    let program = include_str!("../../../../tests/programs/header_registers/program.p4")
        .replace(
            "#include \"../include/probe.p4\"",
            include_str!("../../../../tests/programs/include/probe.p4"),
        )
        .replace(
            "#include \"../include/switch.p4\"",
            include_str!("../../../../tests/programs/include/switch.p4"),
        );
    let desk = Desk::with(&program, |_| {});
    let cell = |register: &str, data: &str| {
        format!("register_entry {{ register_id: ${register} index {{ index: 1 }} data {{ {data} }} }}")
    };
    let question = "register_entry { register_id: $alone index { index: 1 } }";
    let packet = |kind: u8| [kind, 0, 0, 0, 1, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0];
    desk.reads(question, &[&cell("alone", "header {}")]);
    desk.device.receive(1, &packet(0));
    let valid = r"header { is_valid: true bitstrings: '\x07' bitstrings: '\x12\x34' }";
    desk.reads(question, &[&cell("alone", valid)]);
    desk.device.receive(1, &packet(1));
    desk.reads(question, &[&cell("alone", "header {}")]);
    // Packets read the value that a controller has written.
    desk.write(&[&format!("modify {}", cell("alone", &valid.replace("07", "09")))]);
    desk.device.take_sent();
    desk.device.receive(1, &packet(4));
    assert_eq!(desk.device.take_sent()[0].1[11..], [0x12, 0x34, 9]);
    desk.write(&[&format!("modify {}", cell("alone", "header {}"))]);
    desk.device.receive(1, &packet(4));
    assert_eq!(desk.device.take_sent()[0].1[11..], [0, 0, 0xff]);
    // In a struct.
    let pair = |header: &str| format!(r"struct {{ members {{ bitstring: '\x05' }} members {{ {header} }} }}");
    for header in ["header {}", valid] {
        desk.write(&[&format!("modify {}", cell("pairs", &pair(header)))]);
        let question = "register_entry { register_id: $pairs index { index: 1 } }";
        desk.reads(question, &[&cell("pairs", &pair(header))]);
    }
    desk.device.receive(1, &packet(6));
    assert_eq!(desk.device.take_sent()[0].1[11..], [0, 5, 7]);
}
