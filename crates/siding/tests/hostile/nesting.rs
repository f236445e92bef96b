//! A hundred thousand levels of everything that nests.

use crate::run::{Case, Expect, judge};

const LEVELS: usize = 100_000;

/// What stands before, what opens, the innermost, what closes, what stands after.
type Shape = (&'static str, &'static str, &'static str, &'static str, &'static str);

const EXPRESSIONS: &[Shape] = &[
    ("const int x = ", "(", "1", ")", ";"),
    ("const int x = ", "-", "1", "", ";"),
    ("const int x = ", "- ~ ", "1", "", ";"),
    ("const bool x = ", "!", "true", "", ";"),
    ("const bit<8> x = ", "(bit<8>)", "1", "", ";"),
    ("const bit<8> x = ", "(bit<8>)(int<8>)", "1", "", ";"),
    ("const int x = ", "1 + (", "1", ")", ";"),
    ("const int x = ", "1 + ", "1", "", ";"),
    ("const int x = ", "true ? (", "1", ") : 2", ";"),
    ("const int x = ", "true ? 1 : ", "2", "", ";"),
    ("const int x = ", "{", "1", "}", ";"),
    ("const int x = ", "{a = ", "1", "}", ";"),
    ("const int x = ", "f(", "1", ")", ";"),
    ("const int x = ", "f<bit>(", "1", ")", ";"),
    ("const int x = ", "a[", "1", "]", ";"),
    ("const int x = a", ".b", "", "", ";"),
    ("const int x = a", "[1]", "", "", ";"),
    ("const int x = a", "[3:0]", "", "", ";"),
    ("const int x = a", "()", "", "", ";"),
    ("const int x = a", " < b", "", "", ";"),
    ("const int x = 1", " ++ 1", "", "", ";"),
    ("const bool x = 1 == 1", " && true", "", "", ";"),
];

const STATEMENTS: &[Shape] = &[
    ("action a() ", "{", "", "}", ""),
    ("action a() { ", "if (true) {", "", "}", "}"),
    ("action a() { ", "if (true) ", ";", "", "}"),
    ("action a() { ", "if (true) x(); else ", ";", "", "}"),
    ("action a() { ", "if (true) { } else { ", "", "}", "}"),
    ("action a() { ", "for (;true;) ", ";", "", "}"),
    ("action a() { ", "for (bit<8> i in 1..2) {", "", "}", "}"),
    ("control c() { apply ", "{ switch (8w1) { 1: ", "{}", "}}", "}"),
    ("parser p() { state start ", "{", "", "}", "}"),
];

const TYPES: &[Shape] = &[
    ("const ", "tuple<", "bit", ">", " x = 1;"),
    ("const ", "list<", "bit", ">", " x = {};"),
    ("struct S<T> { } const ", "S<", "bit", ">", " x = {};"),
    ("const ", "Unknown<", "bit", ">", " x = 1;"),
    ("const bit", "[1]", "", "", " x = 1;"),
    ("typedef bit", "[1]", "", "", " t;"),
    ("const ", "bit<(", "1", ")>", " x = 1;"),
    ("typedef bit<(f<", "bit<(f<", "bit", ">(1))>", ">(1))> t;"),
    ("extern E<T> { ", "void f(E<", "E<bit>", "> x); ", "}"),
];

const DECLARATIONS: &[Shape] = &[
    ("T() x = ", "{ T() x = ", "{}", ";}", ";"),
    ("", "@a(", "", ")", " const bit<8> x = 1;"),
    ("", "@a[", "", "]", " const bit<8> x = 1;"),
    ("", "@a[x=", "1", "]", " const bit<8> x = 1;"),
    ("@a ", "@a ", "", "", " const bit<8> x = 1;"),
    ("", "control c() { ", "", "apply {} }", ""),
    ("control c() { table t { key = { ", "(", "1", ")", ": exact; } actions = {} } apply {} }"),
    ("parser p() { state start { transition select(1) { ", "(", "1", ")", ": accept; } } }"),
];

fn nested(shape: &Shape, n: usize) -> String {
    let (before, open, inner, close, after) = *shape;
    [before, &open.repeat(n), inner, &close.repeat(n), after].concat()
}

/// Whole, without what closes, and nothing but what closes.
fn cases(shapes: &[Shape]) -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in shapes {
        let (before, open, inner, close, after) = *shape;
        let name = format!("{before}{open}");
        cases.push(Case::new(&name, nested(shape, LEVELS), Expect::Either));
        cases.push(Case::new(
            format!("{name} unclosed"),
            before.to_owned() + &open.repeat(LEVELS),
            Expect::Either,
        ));
        if !close.is_empty() {
            let text = [before, inner, &close.repeat(LEVELS), after].concat();
            cases.push(Case::new(format!("{name} closed only"), text, Expect::Refused));
        }
        // Just within what the parser allows, so that later stages see it.
        for n in [60, 250, 1000] {
            cases.push(Case::new(format!("{name} {n} times"), nested(shape, n), Expect::Either));
        }
    }
    cases
}

#[test]
fn expressions() {
    judge(cases(EXPRESSIONS));
}

#[test]
fn statements() {
    judge(cases(STATEMENTS));
}

#[test]
fn types() {
    judge(cases(TYPES));
}

#[test]
fn declarations() {
    judge(cases(DECLARATIONS));
}

#[test]
fn brackets_of_one_kind() {
    judge(
        "([{<)]}>".chars().map(|c| Case::new(c.to_string(), c.to_string().repeat(LEVELS), Expect::Refused)),
    );
    judge(
        ["([{", "(<", "{(", "<[", ")(", "}{", "]["].map(|s| Case::new(s, s.repeat(LEVELS), Expect::Refused)),
    );
}
