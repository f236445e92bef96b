//! Input that is hostile or huge: refused quickly, with one message, on a small stack.

use std::time::{Duration, Instant};
use syntax::ast::DEPTH_MAX;
use syntax::limits::SYNTAX_ERRORS_MAX;
use syntax::{NoIncludes, Options};

/// Codes of the messages; the tree is dropped within, on a stack of one megabyte.
fn codes(text: String) -> Vec<&'static str> {
    let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        let parsed = syntax::parse("t.p4", text, &NoIncludes, &Options::default());
        parsed.diagnostics.iter().map(|d| d.code.id).collect()
    });
    worker.unwrap().join().unwrap()
}

fn within(limit: Duration, text: String) -> Vec<&'static str> {
    let start = Instant::now();
    let codes = codes(text);
    assert!(start.elapsed() < limit, "took {:?}", start.elapsed());
    codes
}

/// The shapes of nesting: what opens, the innermost, what closes.
const SHAPES: &[Shape] = &[
    ("const int x = ", "(", "1", ")", ";"),
    ("const int x = ", "-", "1", "", ";"),
    ("const int x = ", "{", "1", "}", ";"),
    ("const int x = ", "f(", "1", ")", ";"),
    ("const int x = ", "a[", "1", "]", ";"),
    ("const int x = ", "(bit<8>)", "1", "", ";"),
    ("const int x = ", "c ? (", "1", ") : 2", ";"),
    ("const int x = ", "1 + ", "1", "", ";"),
    ("const int x = a", ".b", "", "", ";"),
    ("const int x = a", "[1]", "", "", ";"),
    ("const int x = a", "()", "", "", ";"),
    ("const int x = ", "c ? 1 : ", "2", "", ";"),
    ("action a() { if (c) ", "{", ";", "}", "}"),
    ("action a() { ", "if (c) x(); else ", ";", "", "}"),
    ("action a() { ", "if (c) ", ";", "", "}"),
    ("action a() { ", "for (;c;) ", ";", "", "}"),
    ("action a() ", "{ switch (c) { x: ", "{}", "}}", ""),
    ("const ", "tuple<", "bit", ">", " x = 1;"),
    ("const bit", "[1]", "", "", " x = 1;"),
    ("const bit x", "[1]", "", "", " = 1;"),
    ("T() x = ", "{ T() x = ", "{}", ";}", ";"),
    ("const ", "bit<(f<", "bit", ">(1))>", " x = 1;"),
];

type Shape = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn nested(shape: Shape, n: usize) -> String {
    let (before, open, inner, close, after) = shape;
    [before, &open.repeat(n), inner, &close.repeat(n), after].concat()
}

#[test]
fn nesting_is_refused_beyond_the_limit_and_not_far_before() {
    for &shape in SHAPES {
        assert_eq!(codes(nested(shape, DEPTH_MAX / 8)), [""; 0], "{shape:?}");
        assert_eq!(codes(nested(shape, DEPTH_MAX * 2)), ["P0190"], "{shape:?}");
    }
}

#[test]
fn ten_megabytes_of_nesting_are_refused_quickly() {
    for (i, &shape) in SHAPES.iter().enumerate() {
        let (_, open, _, close, _) = shape;
        let bytes = if i % 4 == 0 { 10 << 20 } else { 1 << 20 };
        let n = bytes / (open.len() + close.len());
        let found = within(Duration::from_secs(20), nested(shape, n));
        assert!(found.contains(&"P0190"), "{shape:?}: {found:?}");
    }
}

#[test]
fn look_ahead_is_not_quadratic() {
    for text in ["a < b", "a < b,", "x < y > ", "(a) ", "a[b] ", "a<b<", "@x "] {
        let text = format!("action f() {{ {} }}", text.repeat((1 << 20) / text.len()));
        let found = within(Duration::from_secs(20), text);
        assert!(!found.is_empty() && found.len() <= SYNTAX_ERRORS_MAX);
    }
}

#[test]
fn reading_stops_after_too_many_errors() {
    let found = codes("const bit x = ;\n".repeat(1000));
    assert_eq!(found.len(), SYNTAX_ERRORS_MAX);
    assert_eq!(found.last(), Some(&"P0191"));
    assert!(found[..SYNTAX_ERRORS_MAX - 1].iter().all(|c| *c == "P0104"));
}

#[test]
fn wide_programs_are_fine() {
    let list = format!("const tuple<> x = {{ {} }};", "1, ".repeat(100_000));
    assert_eq!(codes(list), [""; 0]);
    assert_eq!(codes("const bit x = 1;\n".repeat(50_000)), [""; 0]);
}
