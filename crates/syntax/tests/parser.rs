//! Runs the cases of `parser_errors.md` and `parser_accepts.md`, and checks the shape of expressions.
//!
//! A case is a heading, a `p4` block and a `diagnostics` block (missing: no messages). With `BLESS` in the
//! environment the test prints what the `diagnostics` blocks should be; review before you paste.

use diagnostics::{Diagnostic, SourceMap};
use mdtest::Case;
use std::collections::BTreeSet;
use syntax::ast::{Arg, DeclKind, Expr, ExprKind, StmtKind};
use syntax::{NoIncludes, Options, Parsed, pretty, same_tree};

fn parse(text: &str) -> Parsed {
    syntax::parse("t.p4", text, &NoIncludes, &Options::default())
}

/// `line:column code message`, then labels, helps and fixes, each on a line of its own.
fn show(d: &Diagnostic, sources: &SourceMap) -> String {
    let place = |span| sources.locate(span).map_or("?".into(), |l| format!("{}:{}", l.line, l.column));
    let mut out = format!("{} {} {}\n", place(d.primary.span), d.code.id, d.message);
    for l in &d.labels {
        out += &format!("    {} {}\n", place(l.span), l.text);
    }
    for note in &d.notes {
        out += &format!("    note: {note}\n");
    }
    for help in &d.helps {
        out += &format!("    help: {help}\n");
    }
    for fix in &d.fixes {
        for (span, text) in &fix.edits {
            out += &format!("    fix at {}: {} `{text}`\n", place(*span), fix.message);
        }
    }
    out
}

fn run(markdown: &str) -> Vec<Case> {
    let all = mdtest::read("page", markdown);
    let mut failures = String::new();
    for case in &all {
        let parsed = parse(case.text("p4"));
        let found: String = parsed.diagnostics.iter().map(|d| show(d, &parsed.sources)).collect();
        if found != case.text("diagnostics") {
            let block =
                if found.is_empty() { String::new() } else { format!("```diagnostics\n{found}```\n") };
            failures += &format!("## {}\n\n```p4\n{}```\n{block}\n", case.heading, case.text("p4"));
        }
    }
    if std::env::var_os("BLESS").is_some() {
        println!("{failures}");
    }
    assert!(failures.is_empty(), "found\n{failures}");
    all
}

#[test]
fn faults_are_reported_once_and_well() {
    let all = run(include_str!("parser_errors.md"));
    let shown: String = all.iter().map(|c| c.text("diagnostics")).collect();
    let in_limits = BTreeSet::from(["P0190", "P0191"]);
    for code in syntax::codes::ALL.iter().filter(|c| c.id.starts_with("P01")) {
        assert!(shown.contains(code.id) || in_limits.contains(code.id), "{} is shown by no case", code.id);
    }
}

#[test]
fn every_construct_is_read_and_printed() {
    for case in run(include_str!("parser_accepts.md")) {
        let first = parse(case.text("p4"));
        let printed = pretty::program(&first.program);
        let second = parse(&printed);
        assert!(!second.diagnostics.has_errors(), "{}: printed as\n{printed}", case.heading);
        assert!(same_tree::same(&first.program, &second.program), "{}: printed as\n{printed}", case.heading);
        assert_eq!(printed, pretty::program(&second.program), "{}", case.heading);
        assert!(!first.program.decls.is_empty(), "{} holds nothing", case.heading);
    }
}

/// The tree of an expression as nested lists.
fn tree(e: &Expr) -> String {
    let args = |args: &[Arg]| -> String {
        args.iter()
            .map(|a| match &a.name {
                Some(name) => format!(" {}={}", name.name, tree(&a.value)),
                None => format!(" {}", tree(&a.value)),
            })
            .collect()
    };
    match &e.kind {
        ExprKind::Type(t) => format!("<{}>", pretty::ty(t)),
        ExprKind::Member { base, member } => format!("(. {} {})", tree(base), member.name),
        ExprKind::Index { base, index } => format!("([] {} {})", tree(base), tree(index)),
        ExprKind::Slice { base, hi, lo } => format!("([:] {} {} {})", tree(base), tree(hi), tree(lo)),
        ExprKind::PlusSlice { base, lo, width } => {
            format!("([+:] {} {} {})", tree(base), tree(lo), tree(width))
        }
        ExprKind::Unary { op, operand } => format!("({} {})", op.as_str(), tree(operand)),
        ExprKind::Binary { op, lhs, rhs, .. } => format!("({} {} {})", op.as_str(), tree(lhs), tree(rhs)),
        ExprKind::Conditional { condition, then, otherwise } => {
            format!("(? {} {} {})", tree(condition), tree(then), tree(otherwise))
        }
        ExprKind::Cast { ty, operand } => format!("(cast {} {})", pretty::ty(ty), tree(operand)),
        ExprKind::Call { callee, type_args, args: a } => {
            let types: String = type_args.iter().map(|t| format!(" <{}>", pretty::ty(t))).collect();
            format!("(call {}{types}{})", tree(callee), args(a))
        }
        ExprKind::List(values) => {
            format!("(list{})", values.iter().map(|v| format!(" {}", tree(v))).collect::<String>())
        }
        _ => pretty::expr(e),
    }
}

/// Types `T`, `G<X>`; functions `f`, `g<X>`; variables `a` to `d`; nothing else is declared.
const PRELUDE: &str = "typedef bit<8> T; struct G<X> { X x; } bit f(in bit x) { return x; }
    X g<X>(in X x) { return x; }
    control c(inout bit a, inout bit b, inout bit c, inout bit d) { apply { ";

#[test]
fn expressions_group_as_the_grammar_says() {
    let cases = [
        // Bitwise operators bind tighter than comparisons.
        ("a & b == c", "(== (& a b) c)"),
        ("a | b ^ c & d << 1 + 2 * 3", "(| a (^ b (& c (<< d (+ 1 (* 2 3))))))"),
        ("a || b && c == d < 1 | 2", "(|| a (&& b (== c (< d (| 1 2)))))"),
        ("a - b - c", "(- (- a b) c)"),
        ("a ++ b + c |+| d |-| 1", "(|-| (|+| (+ (++ a b) c) d) 1)"),
        ("a >> b << c", "(<< (>> a b) c)"),
        ("a > b >> c", "(> a (>> b c))"),
        ("a ? b : c ? d : 1", "(? a b (? c d 1))"),
        ("(a ? b : c) ? d : 1", "(? (? a b c) d 1)"),
        ("a ? b ? c : d : 1", "(? a (? b c d) 1)"),
        ("a || b ? c : d || 1", "(? (|| a b) c (|| d 1))"),
        ("-a.x[3:0]", "(- ([:] (. a x) 3 0))"),
        ("!a && ~b == -c", "(&& (! a) (== (~ b) (- c)))"),
        ("a[1 +: 2][0]", "([] ([+:] a 1 2) 0)"),
        // Casts.
        ("(T) a + b", "(+ (cast T a) b)"),
        ("(T) -a", "(cast T (- a))"),
        ("(T)(a)", "(cast T a)"),
        ("(a)(b)", "(call a b)"),
        ("(a) - b", "(- a b)"),
        ("(bit<8>)(T) a.b", "(cast bit<8> (cast T (. a b)))"),
        ("(G<bit<8>>) {1}", "(cast G<bit<8>> (list 1))"),
        ("(T[2]) {1, 2}", "(cast T[2] (list 1 2))"),
        ("(tuple<T, bool>) {a, true}", "(cast tuple<T, bool> (list a true))"),
        ("(.T) a", "(cast .T a)"),
        // A type that was never declared.
        ("(Unknown) a", "(cast Unknown a)"),
        ("(Unknown)(a)", "(cast Unknown a)"),
        ("(unknown) - a", "(- unknown a)"),
        ("(unknown)[0]", "([] unknown 0)"),
        ("(unknown[0])(a)", "(call ([] unknown 0) a)"),
        // Calls with type arguments, and comparisons.
        ("g<bit<8>>(a)", "(call g <bit<8>> a)"),
        ("g<T>(a)", "(call g <T> a)"),
        ("g<_>(a)", "(call g <_> a)"),
        ("g<G<T>>(a)", "(call g <G<T>> a)"),
        ("a.m<T, bit<(1 + 2)>>(b)", "(call (. a m) <T> <bit<1 + 2>> b)"),
        ("a.m<Unknown>(b)", "(call (. a m) <Unknown> b)"),
        ("a < b", "(< a b)"),
        ("a < b > (c)", "(> (< a b) c)"),
        ("a < unknown && b > (c)", "(&& (< a unknown) (> b c))"),
        ("f(a < b, c > (d))", "(call f (< a b) (> c d))"),
        ("a < T.x", "(< a (. <T> x))"),
        ("a < (T) b", "(< a (cast T b))"),
        // Types as values.
        ("T.x", "(. <T> x)"),
        (".T.x", "(. <.T> x)"),
        ("error.NoError", "(. <error> NoError)"),
        ("T(1, x = 2)", "(call <T> 1 x=2)"),
        ("G<T>(1)", "(call <G<T>> 1)"),
        ("(T.x)", "(. <T> x)"),
        ("(G<T>(1).x)", "(. (call <G<T>> 1) x)"),
        ("(error.X == a)", "(== (. <error> X) a)"),
        // The rest.
        ("f(_, x = _, ...)", "(call f _ x=_ ...)"),
        ("{1, ...,}", "(list 1 ...)"),
        ("{}", "(list)"),
        ("{x = 1, y = {#},}", "{x = 1, y = {#}}"),
        ("{x = 1, ...}", "{x = 1, ...}"),
        ("{x = 1, ..., }", "{x = 1, ...}"),
        (".a.b", "(. .a b)"),
        ("this.m()", "(call (. this m))"),
        ("apply.key.list", "(. (. apply key) list)"),
        ("\"a\" ++ \"b\\\"\"", "(++ \"a\" \"b\\\"\")"),
        ("8w0xF + 4s0b1", "(+ 8w0xf 4s0b1)"),
    ];
    for (text, expected) in cases {
        let program = format!("{PRELUDE} x = {text}; }} }}");
        let parsed = parse(&program);
        let found: Vec<_> = parsed.diagnostics.iter().map(|d| d.message.clone()).collect();
        assert!(found.is_empty(), "{text}: {found:?}");
        let Some(DeclKind::Control(control)) = parsed.program.decls.last().map(|d| &d.kind) else {
            panic!("no control")
        };
        let Some(StmtKind::Assign { rhs, .. }) = control.apply.stmts.first().map(|s| &s.kind) else {
            panic!("{text}: no assignment")
        };
        assert_eq!(tree(rhs), expected, "{text}");
        assert_eq!(parsed.sources.text(rhs.span), text, "the place of the expression");
        // What is printed means the same.
        let printed = format!("{PRELUDE} x = {}; }} }}", pretty::expr(rhs));
        assert!(same_tree::same(&parsed.program, &parse(&printed).program), "{text} is printed as {printed}");
    }
}

/// How statements that begin alike are told apart.
#[test]
fn statements_and_declarations_are_told_apart() {
    let cases = [
        ("T x;", "variable"),
        ("T[2] x = {1, 2};", "variable"),
        ("G<T> x;", "variable"),
        ("bit<8> x[2];", "variable"),
        ("Unknown x;", "variable"),
        ("Unknown<bit<8>, T> x;", "variable"),
        ("Unknown[2] x;", "variable"),
        ("Unknown key = 1;", "variable"),
        (".T x;", "variable"),
        ("error x;", "variable"),
        ("list<T> x;", "variable"),
        ("T(1) x;", "instance"),
        ("G<T>(1) x;", "instance"),
        ("Unknown(1) x;", "instance"),
        ("Unknown<T>(1) x;", "instance"),
        ("T.apply();", "call"),
        ("G<T>.apply();", "call"),
        ("unknown(1);", "call"),
        ("unknown<T>(1);", "call"),
        ("a.m<Unknown>(b);", "call"),
        ("(a).m();", "call"),
        (".f(a);", "call"),
        ("apply(a);", "call"),
        ("unknown[2] = 1;", "assignment"),
        ("unknown[2:1] = 1;", "assignment"),
        ("list = 1;", "assignment"),
        ("key.state = 1;", "assignment"),
        ("a >>= 1;", "assignment"),
        ("a |+|= 1;", "assignment"),
        ("(a) = 1;", "assignment"),
        ("T.x = 1;", "assignment"),
        ("const T x = 1;", "constant"),
    ];
    for (text, expected) in cases {
        let program = format!("{PRELUDE} {text} }} }}");
        let parsed = parse(&program);
        let messages: Vec<_> = parsed.diagnostics.iter().map(|d| d.message.clone()).collect();
        assert!(messages.is_empty(), "{text}: {messages:?}");
        let Some(DeclKind::Control(control)) = parsed.program.decls.last().map(|d| &d.kind) else {
            panic!("no control")
        };
        let [stmt] = control.apply.stmts.as_slice() else { panic!("{text}: not one statement") };
        let found = match &stmt.kind {
            StmtKind::Decl(d) => match d.kind {
                DeclKind::Variable(_) => "variable",
                DeclKind::Instantiation(_) => "instance",
                DeclKind::Const(_) => "constant",
                _ => "other",
            },
            StmtKind::Call(_) => "call",
            StmtKind::Assign { .. } => "assignment",
            _ => "other",
        };
        assert_eq!(found, expected, "{text}");
        assert_eq!(parsed.sources.text(stmt.span), text, "the place of the statement");
        let printed = pretty::program(&parsed.program);
        assert!(
            same_tree::same(&parsed.program, &parse(&printed).program),
            "{text} is printed as\n{printed}"
        );
    }
}

#[test]
fn a_declaration_spans_its_annotations() {
    let parsed = parse("@name(\"x\") @hidden\nconst bit a = 1;\nheader h {}");
    let texts: Vec<_> = parsed.program.decls.iter().map(|d| parsed.sources.text(d.span)).collect();
    assert_eq!(texts, ["@name(\"x\") @hidden\nconst bit a = 1;", "header h {}"]);
}

#[test]
fn trees_that_differ_are_told_apart() {
    let base =
        "@a(1) const bit<8> x = f(1 + 2, y = {z = 1, ...}); action a(in bit<8> p) { if (p > 1) exit; }";
    let same = |text: &str| same_tree::same(&parse(base).program, &parse(text).program);
    assert!(same(&base.replace(' ', "\n ")));
    for (from, to) in [
        ("@a(1)", "@a(2)"),
        ("@a(1)", "@a[1]"),
        ("@a(1)", ""),
        ("bit<8> x", "int<8> x"),
        ("bit<8> x", "bit<9> x"),
        ("f(1", "g(1"),
        ("1 + 2", "1 - 2"),
        ("1 + 2", "0x1 + 2"),
        ("1 + 2", "1w1 + 2"),
        ("y = {", "{"),
        (", ...", ""),
        ("in bit", "inout bit"),
        ("exit", "return"),
        ("exit;", "exit; else ;"),
    ] {
        assert!(!same(&base.replace(from, to)), "{from} -> {to}");
    }
}
