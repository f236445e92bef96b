//! Blocks marked `@async`: what they become, and which are refused.

mod common;

use arch::ExternOp;
use common::{ACCEPT, elaborate, try_elaborate, v1model};
use ir::{Arg, Program, StmtKind, TerminatorKind};

const DECLARATIONS: &str = "
    extern void work(in bit<8> cost);
    extern void two(inout bit<8> a, out bit<8> b);
    control Nothing(packet_out packet, in bit<8> wrong) { apply { } }
    control Inner(inout bit<8> x) {
        action set() { x = 2; }
        table t { actions = { set; NoAction; } }
        apply { t.apply(); }
    }
";

fn program(ingress: &str) -> String {
    v1model(DECLARATIONS, ACCEPT, ingress)
}

/// The markers of a program, in order: what they are, their names and settings.
fn markers(program: &Program) -> Vec<(ExternOp, String, String)> {
    let stmts = program.graphs().flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts);
    stmts
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::Extern { op, name, args, .. } if *op != ExternOp::User => {
                let settings = match args.first() {
                    Some(Arg::Str(text)) => text.to_string(),
                    _ => String::new(),
                };
                Some((*op, name.to_string(), settings))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn blocks_stand_between_markers() {
    let text = program(
        "apply {
            @async(mode = \"wait\", capacity = 7, batch = 4, executor = \"crypto\") @name(\"one\") { work(1); }
            @async { meta.x = 1; work(meta.x); }
            @async[full=\"drop\"] { }
        }",
    );
    let found = markers(&elaborate(&text));
    let settings = "mode=wait capacity=7 batch=4 offload_worker=crypto";
    let expected = [
        (ExternOp::AsyncBegin, "I.one", settings),
        (ExternOp::AsyncEnd, "I.one", ""),
        (ExternOp::AsyncBegin, "I.async1", ""),
        (ExternOp::AsyncEnd, "I.async1", ""),
        (ExternOp::AsyncBegin, "I.async2", "full=drop"),
        (ExternOp::AsyncEnd, "I.async2", ""),
    ];
    assert_eq!(found, expected.map(|(op, name, settings)| (op, name.to_string(), settings.to_string())));
}

#[test]
fn representations_are_switched_around_the_block() {
    let text = program("apply { @async(deparser = \"D\", parser = \"P\") { work(1); } }");
    let found: Vec<ExternOp> = markers(&elaborate(&text)).into_iter().map(|(op, ..)| op).collect();
    let expected = [
        ExternOp::EmitBegin,
        ExternOp::Rebuild,
        ExternOp::Rewind,
        ExternOp::AsyncBegin,
        ExternOp::AsyncEnd,
        ExternOp::Rewind,
    ];
    assert_eq!(found, expected);
    let text = program("apply { @async(recirculate = true) { work(1); } }");
    let found: Vec<ExternOp> = markers(&elaborate(&text)).into_iter().map(|(op, ..)| op).collect();
    assert_eq!(
        found,
        [ExternOp::Rewind, ExternOp::AsyncBegin, ExternOp::AsyncEnd, ExternOp::ResubmitWithData]
    );
}

#[test]
fn tables_whose_actions_do_not_exit_do_not_leave() {
    let text = program(
        "action set() { meta.x = 1; }
        table t { actions = { set; NoAction; } }
        Inner() inner;
        apply { inner.apply(meta.x); @async { if (t.apply().hit) { inner.apply(meta.x); } } }",
    );
    let n_exits = |program: &Program| {
        let nodes = program.graphs().flat_map(|graph| graph.nodes.iter());
        nodes.filter(|(_, node)| node.terminator.kind == TerminatorKind::Exit).count()
    };
    assert_eq!(n_exits(&elaborate(&text)), 0);
    let text = program("action leave() { exit; } table t { actions = { leave; } } apply { t.apply(); }");
    assert_ne!(n_exits(&elaborate(&text)), 0);
}

/// Inside of the ingress control, and the fault.
const FAULTS: &[(&str, &str)] = &[
    ("apply { @async(speed = 1) { } }", "`@async` has no argument `speed`"),
    ("apply { @async(mode = \"later\") { } }", "no such `mode`"),
    ("apply { @async(mode = 1) { } }", "no such `mode`"),
    ("apply { @async(offload_worker = \"a b\") { } }", "no such `offload_worker`"),
    ("apply { @async(capacity = 0) { } }", "no capacity"),
    ("apply { @async(capacity = \"many\") { } }", "no capacity"),
    ("apply { @async(batch = 0) { } }", "no size of a batch"),
    ("apply { @async(batch = 33) { } }", "no size of a batch"),
    ("apply { @async(batch = \"all\") { } }", "no size of a batch"),
    ("apply { @async(recirculate = 2) { } }", "`recirculate` is neither true nor false"),
    ("apply { @async(parser = 2) { } }", "`parser` is not the name of one"),
    ("apply { @async(full = \"drop\", full = \"drop\") { } }", "`full` twice"),
    ("apply { @async(full) { } }", "the arguments of `@async` cannot be understood"),
    ("apply { @async(parser = \"Q\") { } }", "there is no parser `Q`"),
    ("apply { @async(deparser = \"Q\") { } }", "there is no deparser `Q`"),
    (
        "apply { @async(deparser = \"Nothing\") { } }",
        "the parameters of `Nothing` are not those of a deparser",
    ),
    ("apply { @async(deparser = \"I\") { } }", "the parameters of `I` are not those of a deparser"),
    ("apply { @async(parser = \"P\", recirculate = true) { } }", "both `recirculate` and `parser = \"P\"`"),
    ("apply { @async { @async { } } }", "an asynchronous block within another"),
    ("apply { @async { exit; } }", "`exit` leaves an asynchronous block"),
    ("apply { @async { return; } }", "`return` leaves an asynchronous block"),
    ("action leave() { exit; } apply { @async { leave(); } }", "`I.leave` leaves an asynchronous block"),
    (
        "action leave() { exit; } table t { actions = { leave; NoAction; } } apply { @async { t.apply(); } }",
        "`I.t` leaves an asynchronous block",
    ),
    ("apply { for (bit<8> i in 0 .. 3) { @async { break; } } }", "`break` leaves an asynchronous block"),
    (
        "apply { for (bit<8> i in 0 .. 3) { @async { continue; } } }",
        "`continue` leaves an asynchronous block",
    ),
    ("apply { @async { two(meta.x, meta.x); } }", "arguments that `two` writes are the same"),
];

#[test]
fn what_cannot_wait_is_refused() {
    for (ingress, expected) in FAULTS {
        match try_elaborate(&program(ingress)) {
            Ok(_) => panic!("{ingress} is accepted"),
            Err(faults) => assert_eq!(faults, [format!("P2320: {expected}")], "{ingress}"),
        }
    }
}

#[test]
fn loops_within_a_block_may_end() {
    elaborate(&program("apply { @async { for (bit<8> i in 0 .. 3) { if (i == 1) { break; } work(i); } } }"));
    elaborate(&program("apply { two(meta.x, meta.x); }"));
}

#[test]
fn parsers_do_not_wait() {
    let parser = "state start { @async { meta.x = 1; } transition accept; }";
    let faults = try_elaborate(&v1model(DECLARATIONS, parser, "apply { }")).unwrap_err();
    assert_eq!(faults, ["P2320: an asynchronous block in a parser or deparser"]);
}
