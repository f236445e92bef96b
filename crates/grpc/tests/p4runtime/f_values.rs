//! F. Numbers as bytes. What is translated is in `translation`.

use crate::desk::Desk;
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
