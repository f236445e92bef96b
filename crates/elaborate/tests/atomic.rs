//! What is marked `@atomic`: markers for those who look at a program, nothing for those who run it.

mod common;

use arch::ExternOp;
use common::{ACCEPT, elaborate, elaborate_for, v1model};
use elaborate::Purpose;
use ir::liveness::Liveness;
use ir::{Program, StmtKind};

const BODY: &str = "
    register<bit<8>>(1) r;
    action leave(bit<8> x) { @atomic { r.write(0, x); if (x == 1) { exit; } if (x == 2) { return; } } }
    table t { key = { meta.x: exact; } actions = { leave; NoAction; } }
    apply @atomic {
        @name(\"inner\") @atomic { r.read(meta.x, 0); }
        for (bit<8> i in 1 .. 5) {
            if (meta.x == i) { break; }
        }
        t.apply();
    }";

/// The markers of each graph, in the order of its nodes.
fn markers(program: &Program) -> Vec<(ExternOp, String)> {
    let stmts = program.graphs().flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts);
    stmts
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::Extern { op: op @ (ExternOp::AtomicBegin | ExternOp::AtomicEnd), name, .. } => {
                Some((*op, name.to_string()))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn only_those_who_look_see_markers() {
    let text = v1model("", ACCEPT, BODY);
    assert_eq!(markers(&elaborate(&text)), []);
    let found = markers(&elaborate_for(&text, Purpose::Analysis).unwrap());
    // One block around `apply`, the one within it says nothing new; the action ends its own on each of three ways.
    let count = |op, name: &str| found.iter().filter(|m| **m == (op, name.to_string())).count();
    assert_eq!(count(ExternOp::AtomicBegin, "I.atomic1") + count(ExternOp::AtomicBegin, "I.atomic2"), 2);
    let ends = |name| count(ExternOp::AtomicEnd, name);
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(ends("I.atomic1").max(ends("I.atomic2")), 3);
    assert_eq!(ends("I.atomic1").min(ends("I.atomic2")), 1);
}

#[test]
fn jumps_out_of_a_block_end_it() {
    let body = |inside: &str| {
        let code = format!(
            "apply {{ for (bit<8> i in 1 .. 5) {{ @name(\"b\") @atomic {{ if (i == meta.x) {{ {inside} }} }} }} }}"
        );
        let program = elaborate_for(&v1model("", ACCEPT, &code), Purpose::Analysis).unwrap();
        markers(&program).iter().filter(|(op, _)| *op == ExternOp::AtomicEnd).count()
    };
    for leaving in ["break;", "continue;", "return;", "exit;"] {
        assert_eq!(body(leaving), 2, "{leaving}");
    }
    // This loop is within the block.
    assert_eq!(body("for (bit<8> j in 1 .. 2) { if (j == 1) { break; } }"), 1);
}

#[test]
fn programs_with_markers_are_programs() {
    let program = elaborate_for(&v1model("", ACCEPT, BODY), Purpose::Analysis).unwrap();
    let text = ir::text::print(&program);
    assert!(text.contains("extern atomic_begin I.atomic1"), "{text}");
    let read = ir::text::parse(&text).unwrap();
    assert_eq!(ir::text::print(&read), text);
    assert!(Liveness::new(&program).is_ok());
}
