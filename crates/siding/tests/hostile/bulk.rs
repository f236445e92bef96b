//! Ten megabytes of one thing, a hundred thousand of another.

use crate::run::{Case, Expect, judge};
use std::fmt::Write;

const BYTES: usize = 10 << 20;
/// Without optimisation there is a quarter of each declaration: what takes too long then still does.
const PART: usize = if cfg!(debug_assertions) { 4 } else { 1 };

fn many(n: usize, each: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |mut text, i| {
        text.push_str(&each(i));
        text
    })
}

fn fill(text: &str) -> String {
    text.repeat(BYTES / text.len())
}

#[test]
fn expressions() {
    let chain = |operator: &str, operand: &str, n: usize| {
        let text = format!("const int x = {operand}{};", format!(" {operator} {operand}").repeat(n));
        Case::new(format!("{n} {operator} {operand}"), text, Expect::Either)
    };
    let mut cases = Vec::new();
    // All within what the parser allows, some far beyond.
    for n in [500, 20_000] {
        for operator in ["+", "-", "*", "|", "&", "|+|", "/", "<<", "++", "&&", "==", "<", ">", "? 1 :"] {
            cases.push(chain(operator, "1", n));
        }
        cases.push(chain("++", "8w1", n));
        cases.push(chain("++", "a", n));
        cases.push(chain("&&", "true", n));
    }
    cases.push(Case::new(
        "list of 5M",
        format!("const int x = {{ {} }};", "1,".repeat(5_000_000)),
        Expect::Either,
    ));
    cases.push(Case::new(
        "list of 500,000",
        format!("const list<int> x = {{ {}1 }};", "1,".repeat(500_000)),
        Expect::Either,
    ));
    cases.push(Case::new(
        "tuple of 300,000",
        format!("const tuple<> x = {{ {}1 }};", "1,".repeat(300_000)),
        Expect::Either,
    ));
    cases.push(Case::new("10 MB of arguments", format!("const int x = f({}1);", fill("1,")), Expect::Either));
    cases.push(Case::new(
        "500,000 arguments",
        format!("extern int f(); const int x = f({}1);", "1,".repeat(500_000)),
        Expect::Refused,
    ));
    judge(cases);
}

#[test]
fn lexemes() {
    judge([
        Case::new("string", format!("@name(\"{}\") const bit<8> x = 1;", fill("a")), Expect::Accepted),
        Case::new("string without end", format!("@name(\"{}", fill("a")), Expect::Refused),
        Case::new(
            "string of escapes",
            format!("@name(\"{}\") const bit<8> x = 1;", fill("\\n")),
            Expect::Either,
        ),
        Case::new("identifier", format!("const bit<8> {} = 1;", fill("a")), Expect::Accepted),
        Case::new("unknown identifier", format!("const bit<8> x = {};", fill("a")), Expect::Refused),
        Case::new(
            "long names",
            format!("const bit<8> {0} = 1; const bit<8> {0}b = {0} + {0}c;", "a".repeat(1 << 20)),
            Expect::Refused,
        ),
        Case::new("line comment", format!("// {}\nconst bit<8> x = 1;", fill("a")), Expect::Accepted),
        Case::new("block comment", format!("/* {} */ const bit<8> x = 1;", fill("a")), Expect::Accepted),
        Case::new("block comment without end", format!("/* {}", fill("a")), Expect::Refused),
        Case::new("comment openings", fill("/* "), Expect::Refused),
        Case::new("comments", fill("/**/"), Expect::Accepted),
        Case::new("line comments", fill("//\n"), Expect::Accepted),
        Case::new("blanks", fill(" "), Expect::Accepted),
        Case::new("lines", fill("\n"), Expect::Accepted),
        Case::new("carriage returns", fill("\r"), Expect::Either),
        Case::new("quotes", fill("\""), Expect::Either),
        Case::new("backslashes", fill("\\"), Expect::Refused),
        Case::new("zero bytes", fill("\0"), Expect::Refused),
        Case::new("at signs", fill("@"), Expect::Refused),
        Case::new("semicolons", fill(";"), Expect::Either),
        Case::new("commas", fill(","), Expect::Refused),
        Case::new("names", fill("a "), Expect::Refused),
        Case::new("numbers", fill("1 "), Expect::Refused),
        Case::new("keywords", fill("control "), Expect::Refused),
        Case::new("one long line", fill("const bit<8> x = 1; "), Expect::Refused),
        Case::new("unicode", fill("\u{1f600}"), Expect::Refused),
        Case::new("unicode names", fill("\u{e9}t\u{e9} "), Expect::Refused),
        Case::new("byte order marks", fill("\u{feff}"), Expect::Either),
        Case::new("directional marks", fill("\u{202e}"), Expect::Refused),
        Case::new("combining marks", format!("const int a{} = 1;", fill("\u{301}")), Expect::Refused),
        Case::new("not UTF-8", vec![0xff; BYTES], Expect::Refused),
        Case::new("empty", "", Expect::Accepted),
    ]);
}

#[test]
fn declarations() {
    const N: usize = 100_000 / PART;
    // A type can have so many, and few more.
    const N_FIELDS: usize = 65_000 / PART;
    // As many faults: each is shown with its line.
    const N_WRONG: usize = 20_000 / PART;
    let either = |name: &str, text: String| Case::new(name, text, Expect::Either);
    let accepted = |name: &str, text: String| Case::new(name, text, Expect::Accepted);
    let refused = |name: &str, text: String| Case::new(name, text, Expect::Refused);
    judge([
        accepted("constants", many(N, |i| format!("const bit<32> c{i} = {i};\n"))),
        accepted(
            "dependent constants",
            "const int c0 = 0;\n".to_owned() + &many(N, |i| format!("const int c{} = c{i} + 1;\n", i + 1)),
        ),
        either("one name", many(N, |_| "const bit<8> x = 1;\n".to_string())),
        either("unknown names", many(N, |i| format!("const bit<8> c{i} = d{i};\n"))),
        either("wrong types", many(N, |i| format!("const bit<8> c{i} = true;\n"))),
        accepted("structs", many(N, |i| format!("struct S{i} {{ bit<8> f; }}\n"))),
        accepted("headers", many(N, |i| format!("header H{i} {{ bit<8> f; }}\n"))),
        accepted("fields", format!("struct S {{ {} }}", many(N_FIELDS, |i| format!("bit<8> f{i};\n")))),
        refused("fields of one name", format!("struct S {{ {} }}", many(N, |_| "bit<8> f;\n".to_string()))),
        either("enum members", format!("enum E {{ {} }}", many(N, |i| format!("m{i},\n")))),
        accepted("serialised", format!("enum bit<32> E {{ {} }}", many(N, |i| format!("m{i} = {i},\n")))),
        accepted("errors", format!("error {{ {}z }}", many(N, |i| format!("e{i},\n")))),
        accepted("match kinds", format!("match_kind {{ {}z }}", many(N, |i| format!("k{i},\n")))),
        accepted("functions", many(N, |i| format!("bit<8> f{i}(in bit<8> x) {{ return x; }}\n"))),
        either("overloads", {
            let mut text = String::new();
            for i in 0..2000 {
                writeln!(
                    text,
                    "extern void f({});",
                    many(i % 60, |j| format!("in bit<{}> p{i}_{j},", j + 1)) + &format!("in bit<8> q{i}")
                )
                .unwrap();
            }
            text
        }),
        either(
            "parameters",
            format!("extern void f({}in bit<8> z);", many(N, |i| format!("in bit<8> p{i},"))),
        ),
        either("type parameters", format!("extern void f<{}Z>();", many(N, |i| format!("T{i},")))),
        accepted("methods", format!("extern E {{ {} }}", many(N, |i| format!("void m{i}();\n")))),
        either("uses of fields", {
            let fields = many(N_FIELDS, |i| format!("bit<8> f{i};\n"));
            let uses = many(N_FIELDS, |i| format!("s.f{i} = 1;\n"));
            format!("struct S {{ {fields} }} action a(inout S s) {{ {uses} }}")
        }),
        either("named fields", {
            let fields = many(N_FIELDS, |i| format!("bit<8> f{i};\n"));
            format!(
                "struct S {{ {fields} }} const S s = {{ {} }};",
                many(N_FIELDS, |i| format!("f{i} = 1,\n"))
            )
        }),
        either("uses of enum members", {
            let members = many(N, |i| format!("m{i},\n"));
            format!("enum E {{ {members} }} {}", many(N, |i| format!("const E e{i} = E.m{i};\n")))
        }),
        either("uses of errors", {
            let members = many(N, |i| format!("m{i},\n"));
            format!("error {{ {members} z }} {}", many(N, |i| format!("const error e{i} = error.m{i};\n")))
        }),
        either("uses of match kinds", {
            let kinds = many(N, |i| format!("k{i},\n"));
            let key = many(N, |i| format!("x: k{i};\n"));
            format!(
                "match_kind {{ {kinds} z }} control c(in bit<8> x) {{ table t {{ key = {{ {key} }} actions = {{}} }} apply {{}} }}"
            )
        }),
        either("uses of methods", {
            let methods = many(N, |i| format!("void m{i}();\n"));
            let uses = many(N, |i| format!("e.m{i}();\n"));
            format!("extern E {{ E(); {methods} }} E() e; action a() {{ {uses} }}")
        }),
        either(
            "overloaded methods",
            format!("extern E {{ {} }}", many(N, |i| format!("void m(in bit<8> p{i});\n"))),
        ),
        refused("unknown fields", {
            let fields = many(N_FIELDS, |i| format!("bit<8> f{i};\n"));
            format!(
                "struct S {{ {fields} }} action a(inout S s) {{ {} }}",
                many(N_WRONG, |i| format!("s.g{i} = 1;\n"))
            )
        }),
        refused("unknown enum members", {
            let members = many(N, |i| format!("m{i},\n"));
            format!("enum E {{ {members} }} {}", many(N_WRONG, |i| format!("const E e{i} = E.n{i};\n")))
        }),
        refused("unknown errors", {
            let members = many(N, |i| format!("m{i},\n"));
            format!(
                "error {{ {members} z }} {}",
                many(N_WRONG, |i| format!("const error e{i} = error.n{i};\n"))
            )
        }),
        refused("unknown match kinds", {
            let kinds = many(N, |i| format!("k{i},\n"));
            let key = many(N_WRONG, |i| format!("x: l{i};\n"));
            format!(
                "match_kind {{ {kinds} z }} control c(in bit<8> x) {{ table t {{ key = {{ {key} }} actions = {{}} }} apply {{}} }}"
            )
        }),
        refused("unknown methods", {
            let methods = many(N, |i| format!("void m{i}();\n"));
            let uses = many(N_WRONG, |i| format!("e.n{i}();\n"));
            format!("extern E {{ E(); {methods} }} E() e; action a() {{ {uses} }}")
        }),
        refused("unknown parameters", {
            let params = many(1000, |i| format!("in bit<8> p{i},"));
            let calls = many(N_WRONG, |i| format!("f(q{i} = 1);\n"));
            format!("extern void f({params} in bit<8> z); action a() {{ {calls} }}")
        }),
        either("lengths", {
            let fields = many(N_FIELDS / 2, |i| format!("bit<8> f{i}; @length(f{i}) varbit<8> v{i};\n"));
            format!("header H {{ {fields} }}")
        }),
        either("named arguments", {
            let params = many(N, |i| format!("in bit<8> p{i},"));
            let args = many(N, |i| format!("p{i} = 1,"));
            format!("extern void f({params} in bit<8> z); action a() {{ f({args} z = 1); }}")
        }),
        either("annotations", "@a ".repeat(N) + "const bit<8> x = 1;\n"),
        either("annotation bodies", many(N, |i| format!("@a{i}(x = {i}) ")) + "const bit<8> x = 1;\n"),
        either("instances", "extern E { E(); }\n".to_owned() + &many(N, |i| format!("E() e{i};\n"))),
        either("controls", many(N, |i| format!("control c{i}() {{ apply {{}} }}\n"))),
        either(
            "parsers",
            many(20_000, |i| format!("parser p{i}() {{ state start {{ transition accept; }} }}\n")),
        ),
        either("typedefs", many(N, |i| format!("typedef bit<8> t{i};\n"))),
    ]);
}

#[test]
fn bodies() {
    const N: usize = 100_000 / PART;
    let either = |name: &str, text: String| Case::new(name, text, Expect::Either);
    let state = |i: usize| format!("state s{i} {{ transition s{}; }}\n", i + 1);
    judge([
        either(
            "select cases",
            format!(
                "parser p(in bit<32> x) {{ state start {{ transition select(x) {{ {} }} }} }}",
                many(N, |i| format!("{i}: accept;\n"))
            ),
        ),
        either(
            "equal select cases",
            format!(
                "parser p(in bit<32> x) {{ state start {{ transition select(x) {{ {} }} }} }}",
                many(N, |_| "1: accept;\n".to_string())
            ),
        ),
        either(
            "switch cases",
            format!(
                "control c(in bit<32> x) {{ apply {{ switch (x) {{ {} }} }} }}",
                many(N, |i| format!("{i}: {{}}\n"))
            ),
        ),
        either(
            "equal switch cases",
            format!(
                "control c(in bit<32> x) {{ apply {{ switch (x) {{ {} }} }} }}",
                many(N, |_| "1: {}\n".to_string())
            ),
        ),
        either(
            "table actions",
            format!(
                "control c() {{ {} table t {{ actions = {{ {} }} }} apply {{ t.apply(); }} }}",
                many(20_000, |i| format!("action a{i}() {{}}\n")),
                many(20_000, |i| format!("a{i};\n"))
            ),
        ),
        either(
            "table entries",
            format!(
                "match_kind {{ exact }} control c(in bit<32> x) {{ action a() {{}} table t {{ key = {{ x: exact; }} actions = {{ a; }} \
                 const entries = {{ {} }} }} apply {{ t.apply(); }} }}",
                many(N, |i| format!("{i}: a();\n"))
            ),
        ),
        either(
            "actions and entries",
            format!(
                "match_kind {{ exact }} control c(in bit<32> x) {{ {} table t {{ key = {{ x: exact; }} actions = {{ {} }} \
                 const entries = {{ {} }} }} apply {{ t.apply(); }} }}",
                many(20_000, |i| format!("action a{i}() {{}}\n")),
                many(20_000, |i| format!("a{i};\n")),
                many(20_000, |i| format!("{i}: a{i}();\n"))
            ),
        ),
        either(
            "table keys",
            format!(
                "match_kind {{ exact }} control c(in bit<32> x) {{ action a() {{}} table t {{ key = {{ {} }} actions = {{ a; }} }} \
                 apply {{ t.apply(); }} }}",
                many(N, |i| format!("x: exact @name(\"k{i}\");\n"))
            ),
        ),
        either(
            "states",
            format!(
                "parser p() {{ state start {{ transition s0; }} {} state s{N} {{ transition accept; }} }}",
                many(N, state)
            ),
        ),
        either("statements", format!("action a(inout bit<8> x) {{ {} }}", "x = x + 1;\n".repeat(N))),
        either("wrong statements", format!("action a(inout bit<8> x) {{ {} }}", "x = y + 1;\n".repeat(N))),
        either("variables", format!("action a() {{ {} }}", many(N, |i| format!("bit<8> v{i} = 1;\n")))),
        either("blocks", format!("action a() {{ {} }}", "{ bit<8> v = 1; }\n".repeat(N))),
        either(
            "ifs",
            format!("action a(inout bit<8> x) {{ {} }}", "if (x == 1) x = 2; else x = 3;\n".repeat(N)),
        ),
        either("calls", format!("extern void f(); action a() {{ {} }}", "f();\n".repeat(N))),
        either("returns", format!("action a() {{ {} }}", "return;\n".repeat(N))),
        either(
            "tables",
            format!(
                "control c() {{ {} apply {{}} }}",
                many(20_000, |i| format!("table t{i} {{ actions = {{}} }}\n"))
            ),
        ),
        either(
            "properties",
            format!(
                "control c() {{ table t {{ actions = {{}} {} }} apply {{}} }}",
                many(N, |i| format!("p{i} = 1;\n"))
            ),
        ),
    ]);
}
