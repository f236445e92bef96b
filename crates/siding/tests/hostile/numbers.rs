//! Numbers and widths without measure.

use crate::run::{Case, Expect, judge};
use std::fmt::Write;

#[test]
fn literals() {
    let digits = "9".repeat(1 << 20);
    judge([
        Case::new("1 MB of digits", format!("const int x = {digits};"), Expect::Refused),
        Case::new("1 MB of hex digits", format!("const int x = 0x{digits};"), Expect::Refused),
        Case::new("1 MB of bits", format!("const int x = 0b{};", "1".repeat(1 << 20)), Expect::Refused),
        Case::new("1 MB of underscores", format!("const int x = 1{};", "_".repeat(1 << 20)), Expect::Either),
        Case::new("1 MB of width", format!("const int x = {digits}w1;"), Expect::Refused),
        Case::new("1 MB after the width", format!("const bit<8> x = 8w{digits};"), Expect::Refused),
        Case::new("width of 20 digits", "const int x = 99999999999999999999w1;", Expect::Refused),
        Case::new(
            "many long literals",
            format!("const int x = {};", [&digits[..9000]; 400].join(" + ")),
            Expect::Either,
        ),
        Case::new(
            "broken literals",
            "const int x = 0x; 0b 8w 0xg 1s1 09 8w0b2 0o9 ".repeat(10_000),
            Expect::Refused,
        ),
    ]);
}

#[test]
fn widths() {
    let widths = ["2000000000", "4294967296", "99999999999999999999", "0", "-1", "1 << 40", "(1 << 1000)"];
    let mut cases = Vec::new();
    for w in widths {
        for text in [
            "const bit<(W)> x = 1;",
            "const int<(W)> x = 1;",
            "header H { varbit<(W)> x; }",
            "const bit<8> x = (bit<8>)((bit<(W)>)1);",
            "const bit<(W)> x = (bit<(W)>)1 ++ (bit<(W)>)1;",
            "const bit<8> x = 8w1[(W):0];",
            "const bit<8> x = 8w1[0+:(W)];",
            "struct S { bit<8>[(W)] x; } ",
            "header H { bit<8> x; } struct S { H[(W)] x; } const int n = S.minSizeInBits();",
            "const bit<8> x = 8w1 << (W);",
            "const bit<8> x = 8w1 >> (W);",
            "const int x = 1 << (W);",
            "const int x = 1 >> (W);",
            "const int x = -(W) * (W) / (W) % (W);",
            "enum bit<(W)> E { a = 1 }",
            "const bit<8> x = {1, 2, 3}[(W)];",
            "control c() { table t { key = { 8w1: exact; } actions = {} size = (W); } apply {} }",
        ] {
            let text = text.replace("(W)", &format!("({w})"));
            cases.push(Case::new(text.clone(), text, Expect::Either));
        }
    }
    judge(cases);
}

#[test]
fn arithmetic() {
    let steps = |first: &str, step: &str, n: usize| {
        let mut text = format!("const int x0 = {first};\n");
        for i in 1..=n {
            writeln!(text, "const int x{i} = {};", step.replace('$', &format!("x{}", i - 1))).unwrap();
        }
        text
    };
    judge([
        Case::new("1 << 2000000000", "const int x = 1 << 2000000000;", Expect::Refused),
        Case::new("1 << 99999999999999999999", "const int x = 1 << 99999999999999999999;", Expect::Refused),
        Case::new("1 << (1 << 100)", "const int x = 1 << (1 << 100);", Expect::Refused),
        Case::new("squares", steps("3", "$ * $", 64), Expect::Refused),
        Case::new("shifted", steps("1", "$ << 10000", 2000), Expect::Either),
        Case::new("shifted by itself", steps("3", "$ << $", 10), Expect::Refused),
        Case::new("doubling", steps("1", "$ + $", 20_000), Expect::Either),
        Case::new(
            "long products",
            format!("const int x = {};", [&"9".repeat(9000)[..]; 400].join(" * ")),
            Expect::Either,
        ),
        Case::new("long quotients", steps(&"9".repeat(9000), "($ * 7) / 3", 500), Expect::Either),
        Case::new(
            "concatenations",
            {
                let mut text = String::from("const bit<8> x0 = 1;\n");
                let mut w: u64 = 8;
                for i in 1..40 {
                    w = w.saturating_mul(2);
                    writeln!(text, "const bit<{w}> x{i} = x{0} ++ x{0};", i - 1).unwrap();
                }
                text
            },
            Expect::Refused,
        ),
        Case::new(
            "nested concatenation",
            format!("const int x = {}8w1{};", "(".repeat(100), " ++ 8w1)".repeat(100)),
            Expect::Either,
        ),
        Case::new(
            "divisions by zero",
            "const int a = 1 / 0; const int b = 1 % 0; const bit<8> c = 8w1 / 0;",
            Expect::Refused,
        ),
    ]);
}
