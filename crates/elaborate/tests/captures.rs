//! Calls on objects whose abstract methods the program implements, as those see them who analyse the program.

mod common;

use arch::ExternOp;
use common::{elaborate, elaborate_for, v1model};
use elaborate::Purpose;
use ir::{Arg, Program, StmtKind};

const PARSER: &str = "state start { transition accept; }";

fn program() -> String {
    let declarations = "
        extern Cells { Cells(); bit<8> run(in bit<8> at); abstract void on(inout bit<8> cell); }
        bit<8> twice(in bit<8> x) { return x + x; }";
    let ingress = "
        bit<8> seen = 0;
        Cells() cells = {
            void on(inout bit<8> cell) {
                bit<8> own = twice(cell);
                cell = own + hdr.h.a + hdr.stack[own].a;
                seen = seen + 1;
            }
        };
        apply { meta.x = cells.run(4) + seen; }";
    v1model(declarations, PARSER, ingress)
}

/// The arguments of the call, as text.
fn args(program: &Program) -> Vec<String> {
    let stmts = program.graphs().flat_map(|graph| graph.nodes.iter()).flat_map(|(_, node)| &node.stmts);
    let mut calls = stmts.filter_map(|stmt| match &stmt.kind {
        StmtKind::Extern { op: ExternOp::User, args, .. } => Some(args),
        _ => None,
    });
    let args = calls.next().unwrap();
    assert!(calls.next().is_none());
    let name = |place: &ir::Place| {
        let steps: Vec<String> = place.path.iter().map(|step| format!("{step:?}")).collect();
        format!("{} {}", program.variables[place.var].name, steps.join(" "))
    };
    let text = |arg: &Arg| match arg {
        Arg::In(e) => {
            let mut read = String::from("constant");
            e.for_each_read(&mut |place| read = name(place));
            format!("in {}", read.trim())
        }
        Arg::Ref(place) => format!("inout {}", name(place).trim()),
        other => format!("{other:?}"),
    };
    args.iter().map(text).collect()
}

#[test]
fn variables_of_the_surroundings_are_arguments() {
    let analysed = elaborate_for(&program(), Purpose::Analysis).unwrap();
    let mut args = args(&analysed);
    assert_eq!(args.remove(0), "in constant");
    args.sort();
    // The element is chosen by a variable of the method, so all of the stack is read. Its own variables are nobody's business.
    assert_eq!(args, ["in hdr Field(0) Field(0)", "inout hdr Field(2)", "inout seen"]);
}

#[test]
fn those_who_run_the_program_see_the_arguments_of_the_call() {
    assert_eq!(args(&elaborate(&program())), ["in constant"]);
}
