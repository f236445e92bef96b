//! F. Numbers as bytes. What is translated is in `translation`.

use crate::desk::{Desk, lines_with_registers};
use control::Code;

#[test]
fn f01_numbers_have_any_leading_zeros_and_come_back_without() {
    let desk = Desk::new();
    let entry = |a: &str, b: &str, narrow: &str| {
        format!(
            "table_entry {{ table_id: $pairs exact(1,{a}) exact(2,{b}) do(stamp,{narrow},\\x00\\x00\\x00) }}"
        )
    };
    desk.write(&[&format!("insert {}", entry(r"\x00\x00\x00\x05", r"\x00\x00", r"\x00\x0f\xff"))]);
    desk.reads(
        "table_entry { table_id: $pairs }",
        &[r"table_entry { table_id: $pairs exact(1,\x05) exact(2,\x00) do(stamp,\x0f\xff,\x00) }"],
    );
    // One value in two spellings is one entry.
    assert_eq!(
        desk.codes(&[&format!("insert {}", entry(r"\x05", r"\x00\x00\x00", r"\x01"))]),
        [Code::AlreadyExists]
    );
    desk.write(&["delete table_entry { table_id: $pairs exact(1,\\x00\\x05) exact(2,\\x00) }"]);
    let empty = |rest: &str| {
        format!("insert table_entry {{ table_id: $kinds_of_match priority: 1 do(drop) {rest} }}")
    };
    let refused = [
        (format!("insert {}", entry(r"\x01\x00", r"\x01", r"\x01")), "8 bits"),
        (format!("insert {}", entry(r"\x01", r"\x01\x00\x00", r"\x01")), "16 bits"),
        (format!("insert {}", entry(r"\x01", r"\x01", r"\x10\x00")), "12 bits"),
        (format!("insert {}", entry("", r"\x01", r"\x01")), "is empty"),
        (format!("insert {}", entry(r"\x01", r"\x01", "")), "is empty"),
        (empty(r"exact(1,\x01) lpm(2,,8)"), "is empty"),
        (empty(r"exact(1,\x01) lpm(2,\x01\x00\x00\x00\x00,8)"), "32 bits"),
        (empty(r"exact(1,\x01) ternary(3,,\x01)"), "is empty"),
        (empty(r"exact(1,\x01) ternary(3,\x01,\x01\x00\x00)"), "16 bits"),
        (empty(r"exact(1,\x01) range(4,\x01,\x01\x00)"), "8 bits"),
        (empty(r"exact(1,\x01) optional(5,\x10\x00)"), "12 bits"),
        (
            r"modify value_set_entry { value_set_id: $kinds members { exact(1,\x01\x00) } }".to_owned(),
            "8 bits",
        ),
        (
            r"modify register_entry { register_id: $memory index {} data { bitstring: '\x10\x00' } }"
                .to_owned(),
            "12 bits",
        ),
    ];
    let refused: Vec<(&str, &str)> = refused.iter().map(|(text, words)| (text.as_str(), *words)).collect();
    desk.refuses(Code::OutOfRange, &refused);
}

fn desk_with(registers: &[&str]) -> Desk {
    Desk::with(&lines_with_registers(registers), |_| {})
}

fn cell(register: &str, data: &str) -> String {
    format!("register_entry {{ register_id: ${register} index {{ index: 1 }} data {{ {data} }} }}")
}

#[test]
fn f01_signed_numbers_are_extended_by_their_sign() {
    let desk = desk_with(&["int<12>", "Signed", "tuple<int<8>, bit<8>>"]);
    type Data = fn(&str) -> String;
    let forms: [(&str, Data); 3] = [
        ("memory0", |value| format!("bitstring: '{value}'")),
        ("memory1", |value| format!("header {{ is_valid: true bitstrings: '{value}' }}")),
        ("memory2", |value| {
            format!("tuple {{ members {{ bitstring: '{value}' }} members {{ bitstring: '\\xff' }} }}")
        }),
    ];
    for (register, data) in forms {
        let is_narrow = register == "memory2";
        // Bytes as they are written, and as they come back: the shortest that have the sign.
        let mut written = vec![
            (r"\x00", r"\x00"),
            (r"\x00\x00\x7f", r"\x7f"),
            (r"\x7f", r"\x7f"),
            (r"\xff", r"\xff"),
            (r"\xff\xff\xff", r"\xff"),
            (r"\xff\x80", r"\x80"),
        ];
        if !is_narrow {
            written.extend([
                (r"\x00\x80", r"\x00\x80"),
                (r"\x07\xff", r"\x07\xff"),
                (r"\xf8\x00", r"\xf8\x00"),
                (r"\xff\xf8\x00", r"\xf8\x00"),
            ]);
        }
        for (bytes, shortest) in written {
            desk.write(&[&format!("modify {}", cell(register, &data(bytes)))]);
            let question = format!("register_entry {{ register_id: ${register} index {{ index: 1 }} }}");
            desk.reads(&question, &[&cell(register, &data(shortest))]);
        }
        // One bit beyond either end.
        let refused = match is_narrow {
            true => [r"\x00\x80", r"\xff\x7f", ""],
            false => [r"\x08\x00", r"\xf7\xff", ""],
        };
        let refused = refused.map(|bytes| format!("modify {}", cell(register, &data(bytes))));
        desk.refuses(Code::OutOfRange, &refused.each_ref().map(|text| (text.as_str(), "")));
    }
}

#[test]
fn f01_varbits_are_as_long_as_they_say_and_no_longer() {
    let desk = desk_with(&["Long"]);
    let header = |rest: &str| {
        cell("memory0", &format!("header {{ is_valid: true bitstrings: '\\x07' bitstrings: '{rest}' }}"))
    };
    for rest in ["", r"\x00", r"\x00\x01", r"\x01\x02\x03\x04"] {
        desk.write(&[&format!("modify {}", header(rest))]);
        desk.reads("register_entry { register_id: $memory0 index { index: 1 } }", &[&header(rest)]);
    }
    let too_long = format!("modify {}", header(r"\x00\x01\x02\x03\x04"));
    desk.refuses(Code::OutOfRange, &[(&too_long, "32 bits")]);
}
