//! Types that grow faster than their text.

use crate::run::{Case, Expect, judge};
use std::fmt::Write;

/// `T0`, then `T1` made of `T0` and so on, then a use of the last.
fn tower(first: &str, step: &str, n: usize, last: &str) -> String {
    let mut text = format!("{first}\n");
    for i in 1..=n {
        writeln!(text, "{}", step.replace("#", &i.to_string()).replace('$', &format!("T{}", i - 1))).unwrap();
    }
    text + &last.replace('$', &format!("T{n}"))
}

fn towers(n: usize) -> Vec<Case> {
    let sizes = "const int n = $.minSizeInBits();\nconst int m = $.maxSizeInBytes();\n";
    let either = |name: &str, text: String| Case::new(format!("{name}, {n} levels"), text, Expect::Either);
    vec![
        either("structs", tower("struct T0 { bit<8> x; }", "struct T# { $ a; $ b; }", n, sizes)),
        either(
            "structs compared",
            tower(
                "struct T0 { bit<8> x; }",
                "struct T# { $ a; $ b; }",
                n,
                "bool f($ a, $ b) { return a == b; }\n$ g($ a) { return a; }\n",
            ),
        ),
        either(
            "struct values",
            tower("struct T0 { bit<8> x; }", "struct T# { $ a; $ b; }", n, "const $ x = {};\n"),
        ),
        either(
            "struct defaults",
            tower("struct T0 { bit<8> x; }", "struct T# { $ a; $ b; }", n, "const $ x = {...};\n"),
        ),
        either(
            "struct of defaults compared",
            tower(
                "struct T0 { bit<8> x; }",
                "struct T# { $ a; $ b; }",
                n,
                "const $ x = {...};const bool y = x == x;\n",
            ),
        ),
        either(
            "values",
            tower(
                "struct T0 { bit<8> x; }\nconst T0 v0 = {1};",
                "struct T# { $ a; $ b; }\nconst T# v# = {(v$), (v$)};",
                n,
                "",
            )
            .replace("vT", "v"),
        ),
        either("headers", tower("header T0 { bit<8> x; }", "header T# { $ a; $ b; }", n, sizes)),
        either("unions", tower("header T0 { bit<8> x; }", "header_union T# { $ a; $ b; }", n, sizes)),
        either("stacks", tower("header T0 { bit<2000> x; }", "struct T# { $[1000] a; }", n, sizes)),
        either("aliases", tower("typedef bit<8> T0;", "typedef tuple<$, $> T#;", n, "const $ x = {};\n")),
        either("alias chain", tower("typedef bit<8> T0;", "typedef $ T#;", n, "const $ x = 1;\n")),
        either("type chain", tower("type bit<8> T0;", "type $ T#;", n, "const $ x = 1;\n")),
        either(
            "alias functions",
            tower(
                "typedef bit<8> T0;",
                "typedef tuple<$, $> T#;",
                n,
                "$ f($ x) { return x; }\nbool g($ x) { return f(x) == x; }\n",
            ),
        ),
        either(
            "lists",
            tower(
                "typedef bit<8> T0;",
                "typedef tuple<$, $> T#;",
                n,
                "T f<T>(T x) { return x; }\n$ g($ x) { return f(x); }\n",
            ),
        ),
        either(
            "generic structs",
            tower(
                "struct P<A, B> { A a; B b; }\ntypedef bit<8> T0;",
                "typedef P<$, $> T#;",
                n,
                "const int n = $.minSizeInBits();\n$ f($ x) { return x; }\n",
            ),
        ),
        either(
            "generic functions",
            tower(
                "tuple<T, T> T0<T>(T x) { return { x, x }; }",
                "tuple<T, T> T#<T>(T x) { return { x, x }; }",
                n,
                &(1..n.min(50)).fold(String::from("const int x = T0(1)"), |t, i| {
                    t.replace("T0(", &format!("T{i}(T0(")).replace("1)", "1))")
                }),
            ) + ";\n",
        ),
        either(
            "generic calls",
            format!(
                "extern tuple<T, T> d<T>(T x);\naction a() {{ {}8w1{}; }}\n",
                "d(".repeat(n),
                ")".repeat(n)
            ),
        ),
        either(
            "generic externs",
            tower(
                "extern T0<T> { T0(); T f(); }",
                "extern T#<T> { T#(); $<tuple<T, T>> f(); }",
                n,
                "$<bit<8>>() x;\n",
            ),
        ),
        either(
            "generic controls",
            tower(
                "control T0<T>(in T x);",
                "control T#<T>(in tuple<T, T> x);",
                n,
                "package P(T0<bit<8>> c);\n",
            ),
        ),
        either("nested lists", format!("const int x = {}{};", "{ 1, ".repeat(n), "}".repeat(n))),
    ]
}

#[test]
fn towers_that_double() {
    judge(towers(10));
    judge(towers(24));
    judge(towers(64));
    judge(towers(2000));
}

#[test]
fn strings_that_double() {
    let first = "const string T0 = \"0123456789abcdef\";";
    let doubled = tower(first, "const string T# = $ ++ $;", 39, "");
    let mut many = tower(first, "const string T# = $ ++ $;", 11, "");
    for i in 0..40_000 {
        writeln!(many, "const string U{i} = T11 ++ T10;").unwrap();
    }
    let mut names = tower(first, "const string T# = $ ++ $;", 11, "");
    for i in 0..2000 {
        writeln!(names, "@name(T11{}) action a{i}() {{}}", " ++ T11".repeat(500)).unwrap();
    }
    judge(vec![
        Case::new("a string doubled 39 times", doubled, Expect::Refused),
        Case::new("40,000 long strings", many, Expect::Refused),
        Case::new("2000 names of 500 long strings", names, Expect::Refused),
    ]);
}

#[test]
fn cycles() {
    let each = [
        "struct S { S s; }",
        "struct S { T t; } struct T { S s; }",
        "header H { H h; }",
        "header_union U { U u; }",
        "typedef T T;",
        "typedef U T; typedef T U;",
        "type T T;",
        "struct S<T> { S<S<T>> s; }",
        "struct S<T> { T t; } typedef S<U> U;",
        "extern E<T> { E(); E<E<T>> f(); } E<bit>() e; control c() { apply { e.f().f().f(); } }",
        "const int x = x;",
        "const int x = y; const int y = x;",
        "bit<8> f() { return f(); }",
        "bit<8> f() { return g(); } bit<8> g() { return f(); }",
        "control c() { c() x; apply { x.apply(); } }",
        "parser p() { p() x; state start { x.apply(); transition accept; } }",
        "control c()(c x) { apply {} }",
        "package P(P p); P(main) main;",
        "enum bit<8> E { a = b, b = a }",
        "action a() { a(); }",
        "parser p() { state a { transition b; } state b { transition a; } }",
        "control c() { table t { actions = { t; } } apply { t.apply(); } }",
        "T f<T>() { return f<tuple<T>>(); } const int x = f<bit>();",
    ];
    judge(each.map(|text| Case::new(text, text, Expect::Either)));
}
