//! What parsers of programs become.

mod common;

use arch::BlockRole;
use common::{elaborate, v1model};
use ir::{
    Bits, Expr, ExprKind, Graph, Keyset, MatchKind, NodeId, Pattern, ProcedureKind, Program, StmtKind,
    TerminatorKind,
};

fn parser(declarations: &str, states: &str) -> Program {
    elaborate(&v1model(declarations, states, "apply { }"))
}

fn graph(p: &Program) -> &Graph {
    &p.blocks[p.block(BlockRole::Parser).expect("there is a parser")].graph
}

/// The node where a state begins.
fn state(graph: &Graph, name: &str) -> NodeId {
    let found = graph.nodes.iter().find(|(_, n)| n.state.as_deref() == Some(name));
    found.map(|(id, _)| id).unwrap_or_else(|| panic!("no state {name}"))
}

/// The first node from here on that is no mere jump.
fn skip(graph: &Graph, mut id: NodeId) -> NodeId {
    while let TerminatorKind::Goto(next) = graph.node(id).terminator.kind
        && graph.node(id).stmts.is_empty()
        && graph.node(id).state.is_none()
    {
        id = next;
    }
    id
}

/// Where a target leads: a state's name, `accept`, `reject`, or `reject` with the error that is set on the way.
fn target(p: &Program, graph: &Graph, id: NodeId) -> String {
    let node = graph.node(skip(graph, id));
    if let Some(name) = &node.state {
        return name.to_string();
    }
    let end = match node.terminator.kind {
        TerminatorKind::Accept | TerminatorKind::Return => "accept",
        TerminatorKind::Reject | TerminatorKind::Exit => "reject",
        _ => "code",
    };
    match node.stmts.as_slice() {
        [] => end.to_string(),
        [stmt] => match &stmt.kind {
            StmtKind::Assign { place, value: Expr { kind: ExprKind::Const(error), .. } }
                if Some(place.var) == p.blocks[p.block(BlockRole::Parser).expect("parser")].error =>
            {
                format!("{end} {}", p.errors[error.low_u64() as usize])
            }
            _ => "code".to_string(),
        },
        _ => "code".to_string(),
    }
}

/// The select that a state ends in: keys, patterns with targets, and the target without a match.
fn select<'p>(
    p: &'p Program,
    graph: &'p Graph,
    name: &str,
) -> (&'p [Expr], Vec<(&'p Pattern, String)>, String) {
    let mut at = state(graph, name);
    loop {
        match &graph.node(at).terminator.kind {
            TerminatorKind::Goto(next) => at = *next,
            TerminatorKind::Extract { then, .. }
            | TerminatorKind::Lookahead { then, .. }
            | TerminatorKind::Advance { then, .. } => at = *then,
            TerminatorKind::Select { keys, cases, otherwise } => {
                let cases = cases.iter().map(|c| (&c.pattern, target(p, graph, c.target))).collect();
                return (keys, cases, target(p, graph, *otherwise));
            }
            other => panic!("no select: {other:?}"),
        }
    }
}

fn constant(e: &Expr) -> u64 {
    e.as_const().expect("a constant").low_u64()
}

#[test]
fn transitions_lead_to_states_and_ends() {
    let p = parser(
        "",
        "state start { transition middle; }
         state middle { packet.extract(hdr.h); transition last; }
         state last { packet.extract(hdr.g); }
         state never { transition accept; }",
    );
    let g = graph(&p);
    assert!(matches!(g.node(g.entry).terminator.kind, TerminatorKind::Goto(n) if n == state(g, "start")));
    assert_eq!(
        target(
            &p,
            g,
            match g.node(state(g, "start")).terminator.kind {
                TerminatorKind::Goto(next) => next,
                ref other => panic!("{other:?}"),
            }
        ),
        "middle"
    );
    let TerminatorKind::Extract { then, fail, .. } = g.node(state(g, "middle")).terminator.kind else {
        panic!("no extract")
    };
    assert_eq!((target(&p, g, then).as_str(), target(&p, g, fail).as_str()), ("last", "reject"));
    // A state without transition rejects; no error is set.
    let TerminatorKind::Extract { then, .. } = g.node(state(g, "last")).terminator.kind else {
        panic!("no extract")
    };
    assert_eq!(target(&p, g, then), "reject");
    assert!(g.nodes.iter().all(|(_, n)| n.state.as_deref() != Some("never")), "never is unreachable");
}

#[test]
fn select_takes_values_masks_ranges_and_anything() {
    let p = parser(
        "",
        "state start {
            packet.extract(hdr.h);
            transition select(hdr.h.b, hdr.h.a, hdr.h.flag) {
                (0x800, 1 .. 3, true): one;
                (0x1200 &&& 0xFF00, _, false): two;
                (7, hdr.h.a, default): accept;
                (8, meta.x + 1, _): reject;
                default: one;
            }
        }
        state one { transition accept; }
        state two { transition accept; }",
    );
    let g = graph(&p);
    let (keys, cases, otherwise) = select(&p, g, "start");
    assert_eq!(keys.len(), 3);
    let targets: Vec<&str> = cases.iter().map(|(_, t)| t.as_str()).collect();
    assert_eq!(targets, ["one", "two", "accept", "reject", "one"]);
    assert_eq!(otherwise, "reject NoMatch");
    let Pattern::Keys(sets) = cases[0].0 else { panic!("no keys") };
    assert!(matches!(&sets[0], Keyset::Value(v) if constant(v) == 0x800));
    assert!(matches!(&sets[1], Keyset::Range { lo, hi } if (constant(lo), constant(hi)) == (1, 3)));
    assert!(matches!(&sets[2], Keyset::Value(v) if v.as_const() == Some(&Bits::TRUE)));
    let Pattern::Keys(sets) = cases[1].0 else { panic!("no keys") };
    assert!(
        matches!(&sets[0], Keyset::Mask { value, mask } if (constant(value), constant(mask)) == (0x1200, 0xFF00))
    );
    assert_eq!(sets[1], Keyset::Any);
    let Pattern::Keys(sets) = cases[2].0 else { panic!("no keys") };
    assert!(matches!(&sets[1], Keyset::Value(Expr { kind: ExprKind::Read(_), .. })));
    let Pattern::Keys(sets) = cases[3].0 else { panic!("no keys") };
    assert!(matches!(&sets[1], Keyset::Value(Expr { kind: ExprKind::Binary(..), .. })));
    assert_eq!(cases[4].0, &Pattern::Keys(vec![Keyset::Any; 3]));
    for (pattern, _) in &cases {
        let Pattern::Keys(sets) = pattern else { panic!("no keys") };
        for (set, key) in sets.iter().zip(keys) {
            let exprs: Vec<&Expr> = match set {
                Keyset::Any | Keyset::ValueSet(_) => vec![],
                Keyset::Value(v) => vec![v],
                Keyset::Mask { value: a, mask: b } | Keyset::Range { lo: a, hi: b } => vec![a, b],
            };
            assert!(exprs.iter().all(|e| e.ty == key.ty), "{set:?}");
        }
    }
}

#[test]
fn tuples_and_enums_are_selected_on_by_element() {
    let p = parser(
        "enum bit<16> Type { v4 = 0x800, v6 = 0x86DD }
         const tuple<bit<16>, bit<8>> BOTH = { 5, 6 };",
        "state start {
            packet.extract(hdr.h);
            transition select({hdr.h.b, hdr.h.a}) {
                (Type.v4, 1): accept;
                {0x86DD, 2}: reject;
                BOTH: accept;
            }
        }",
    );
    let (keys, cases, _) = select(&p, graph(&p), "start");
    assert_eq!(keys.len(), 2);
    let values: Vec<Vec<u64>> = (cases.iter())
        .map(|(pattern, _)| match pattern {
            Pattern::Keys(sets) => sets.iter().map(|s| match s {
                Keyset::Value(v) => constant(v),
                other => panic!("{other:?}"),
            }),
            Pattern::ValueSet(_) => panic!("no value sets here"),
        })
        .map(Iterator::collect)
        .collect();
    assert_eq!(values, [[0x800, 1], [0x86DD, 2], [5, 6]]);
}

#[test]
fn value_sets_stand_for_one_key_or_for_all() {
    let p = parser(
        "struct pair_t { @match(ternary) bit<16> b; bit<8> a; }",
        "value_set<pair_t>(4) pairs;
         @name(\".codes\") value_set<bit<8>>(8) codes;
         state start {
            packet.extract(hdr.h);
            transition select(hdr.h.b, hdr.h.a) { pairs: second; }
         }
         state second {
            transition select(hdr.h.a) { codes: accept; }
         }",
    );
    let (_, cases, _) = select(&p, graph(&p), "start");
    let Pattern::ValueSet(pairs) = cases[0].0 else { panic!("{:?}", cases[0]) };
    let set = &p.value_sets[*pairs];
    assert_eq!((set.name.as_str(), set.size), ("P.pairs", 4));
    let fields: Vec<(&str, MatchKind)> = set.fields.iter().map(|f| (f.name.as_str(), f.match_kind)).collect();
    assert_eq!(fields, [("b", MatchKind::Ternary), ("a", MatchKind::Exact)]);
    let (_, cases, _) = select(&p, graph(&p), "second");
    let Pattern::ValueSet(codes) = cases[0].0 else { panic!("{:?}", cases[0]) };
    assert_eq!(p.value_sets[*codes].name, "codes");
}

#[test]
fn keysets_that_can_fail_run_after_the_cases_before_them() {
    let p = parser(
        "",
        "state start {
            packet.extract(hdr.stack.next);
            transition select(hdr.h.a) {
                1: accept;
                hdr.stack.last.a: accept;
                3: reject;
            }
        }",
    );
    let g = graph(&p);
    let (_, cases, otherwise) = select(&p, g, "start");
    assert_eq!((cases.len(), otherwise.as_str()), (1, "code"));
    let selects: Vec<usize> = (g.nodes.iter())
        .filter_map(|(_, n)| match &n.terminator.kind {
            TerminatorKind::Select { cases, .. } => Some(cases.len()),
            _ => None,
        })
        .collect();
    assert_eq!(selects, [1, 2]);
}

#[test]
fn sub_parsers_return_where_they_accept() {
    let p = parser(
        "parser Options(packet_in packet, out h_t one) {
            state start {
                packet.extract(one);
                transition select(one.a) { 0: accept; 1: reject; 2: again; }
            }
            state again { transition start; }
         }",
        "Options() options;
         state start { options.apply(packet, hdr.h); transition accept; }",
    );
    let sub = p.procedures.iter().map(|(_, f)| f).find(|f| f.kind == ProcedureKind::Parser);
    let sub = sub.expect("the sub-parser is a procedure");
    assert_eq!(sub.name, "P.options");
    let (_, cases, otherwise) = select(&p, &sub.graph, "options.start");
    let targets: Vec<&str> = cases.iter().map(|(_, t)| t.as_str()).collect();
    assert_eq!(targets, ["accept", "reject", "options.again"]);
    assert_eq!(otherwise, "reject NoMatch");
    let ends: Vec<&TerminatorKind> = sub.graph.nodes.iter().map(|(_, n)| &n.terminator.kind).collect();
    assert!(ends.contains(&&TerminatorKind::Return) && ends.contains(&&TerminatorKind::Exit));
    assert!(!ends.contains(&&TerminatorKind::Accept) && !ends.contains(&&TerminatorKind::Reject));
}

#[test]
fn the_pipeline_has_its_blocks_and_fields() {
    let text = v1model("const bit<8> SECOND = 2;", "state start { transition accept; }", "apply { }")
        .replace(
            "struct metadata { bit<8> x; bit<16> y; }",
            "enum bit<8> Lists { third = 3 }
             struct inner { @field_list(1) bit<8> deep; bit<8> not; }
             struct metadata { @field_list(1, SECOND, Lists.third) bit<8> x; @field_list(2) bit<16> y; inner z; }",
        );
    let p = elaborate(&text);
    let roles: Vec<BlockRole> = p.pipeline.iter().map(|(role, _)| *role).collect();
    assert_eq!(
        roles,
        [
            BlockRole::Parser,
            BlockRole::VerifyChecksum,
            BlockRole::Ingress,
            BlockRole::Egress,
            BlockRole::ComputeChecksum,
            BlockRole::Deparser,
        ]
    );
    let names: Vec<&str> = p.pipeline.iter().map(|(_, id)| p.blocks[*id].name.as_str()).collect();
    assert_eq!(names, ["P", "V", "I", "E", "C", "D"]);
    assert_eq!(p.shared.len(), 3);
    let deparser = &p.blocks[p.block(BlockRole::Deparser).expect("there is a deparser")];
    let params: Vec<(&str, bool)> =
        deparser.params.iter().map(|q| (q.name.as_str(), q.var.is_some())).collect();
    assert_eq!(params, [("packet", false), ("hdr", true)]);
    assert_eq!(deparser.params[1].var, p.shared_variable(arch::ParamRole::Headers));
    let egress_spec = p.field(arch::FieldRole::EgressSpec).expect("v1model has it");
    assert_eq!(p.place_type(egress_spec), Some(ir::Type::Bit(9)));
    let metadata = ir::Place::var(p.shared_variable(arch::ParamRole::Metadata).expect("it is there"));
    let lists: Vec<(u32, Vec<ir::Place>)> =
        p.field_lists.iter().map(|l| (l.index, l.places.clone())).collect();
    assert_eq!(
        lists,
        [
            (1, vec![metadata.field(0), metadata.field(2).field(0)]),
            (2, vec![metadata.field(0), metadata.field(1)]),
            (3, vec![metadata.field(0)]),
        ]
    );
}
