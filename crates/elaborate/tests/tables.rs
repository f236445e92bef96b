//! What tables of programs become.

mod common;

use common::{ACCEPT, elaborate, try_elaborate, v1model};
use ir::{Bits, Match, MatchKind, ProcedureKind, Program, Table, TerminatorKind, Type};

const ACTIONS: &str = "
    action nop() { }
    action set(bit<8> v) { hdr.h.a = v; }
    action both(inout bit<8> target, bit<8> v, bool b) { if (b) { target = v; } }
";

fn table<'p>(p: &'p Program, name: &str) -> &'p Table {
    p.tables.iter().map(|(_, t)| t).find(|t| t.name == name).expect("the table is there")
}

fn ingress(tables: &str, apply: &str) -> Program {
    elaborate(&v1model("", ACCEPT, &format!("{ACTIONS}{tables}\n apply {{ {apply} }}")))
}

fn bits(width: u32, value: u128) -> Bits {
    Bits::new(width, value)
}

#[test]
fn keys_have_names_types_and_kinds() {
    let p = ingress(
        "table t {
            key = {
                hdr.h.a: exact;
                hdr.h.b[11:4]: lpm;
                hdr.h.isValid(): ternary;
                hdr.stack[1].c & 0xFF: range @name(\"masked\");
                hdr.h.s: optional;
                hdr.g.b & 0xF0: selector;
                sm.parser_error: exact;
            }
            actions = { nop; }
            implementation = action_selector(HashAlgorithm.crc16, 32w16, 32w8);
        }",
        "t.apply();",
    );
    let t = table(&p, "I.t");
    let keys: Vec<(&str, MatchKind, Type)> =
        t.keys.iter().map(|k| (k.name.as_str(), k.match_kind, k.ty.clone())).collect();
    assert_eq!(
        keys,
        [
            ("hdr.h.a", MatchKind::Exact, Type::Bit(8)),
            ("hdr.h.b[11:4]", MatchKind::Lpm, Type::Bit(8)),
            ("hdr.h.$valid$", MatchKind::Ternary, Type::Bool),
            ("masked", MatchKind::Range, Type::Bit(32)),
            ("hdr.h.s", MatchKind::Optional, Type::Int(8)),
            ("hdr.g.b & 0xf0", MatchKind::Selector, Type::Bit(16)),
            ("sm.parser_error", MatchKind::Exact, Type::Error),
        ]
    );
}

#[test]
fn lists_of_actions_keep_scopes_and_bind_arguments() {
    let p = ingress(
        "table t {
            key = { hdr.h.a: exact; }
            actions = { set; @tableonly nop; both(hdr.g.a); @defaultonly NoAction; }
            default_action = set(7);
        }
        table u {
            key = { hdr.h.a: exact; }
            actions = { set; @groupaction nop; }
            const default_action = set(9);
        }",
        "t.apply(); u.apply();",
    );
    let t = table(&p, "I.t");
    let actions: Vec<(&str, bool, bool)> =
        t.actions.iter().map(|a| (a.name.as_str(), a.is_table_only, a.is_default_only)).collect();
    assert_eq!(
        actions,
        [
            ("I.set", false, false),
            ("I.nop", true, false),
            ("I.both", false, false),
            ("NoAction", false, true),
        ]
    );
    assert_eq!((t.default_action.index, t.default_action.data.as_slice()), (0, &[bits(8, 7)][..]));
    assert!(!t.has_const_default_action && t.actions.iter().all(|a| !a.is_group_action));
    let u = table(&p, "I.u");
    assert!(u.has_const_default_action && u.actions[1].is_group_action);
    assert_eq!(u.actions[0].procedure, t.actions[0].procedure, "one action, one procedure");
    // The bound argument is inside: only action data remains.
    let thunk = &p.procedures[t.actions[2].procedure];
    assert_eq!((thunk.name.as_str(), thunk.kind), ("I.both", ProcedureKind::Action));
    let data: Vec<&str> = thunk.params.iter().map(|v| p.variables[*v].name.as_str()).collect();
    assert_eq!(data, ["v", "b"]);
    let calls = thunk.graph.nodes.iter().filter_map(|(_, n)| match n.terminator.kind {
        TerminatorKind::Call { procedure, .. } => Some(p.procedures[procedure].name.as_str()),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), ["I.both"]);
}

#[test]
fn without_default_action_it_is_no_action() {
    let p = ingress("table t { key = { hdr.h.a: exact; } actions = { set; } size = 77; }", "t.apply();");
    let t = table(&p, "I.t");
    assert_eq!(t.default_action.index, 1);
    assert_eq!(t.actions[1].name, "NoAction");
    assert!(t.actions[1].is_default_only);
    assert_eq!((t.size, t.has_const_entries, t.entries.len()), (Some(77), false, 0));
}

#[test]
fn constant_entries_of_every_match_kind() {
    let p = ingress(
        "table t {
            key = { hdr.h.a: exact; hdr.h.b: ternary; hdr.h.c: range; hdr.h.s: optional; hdr.h.flag: exact; }
            actions = { set; nop; }
            const entries = {
                (1, 0x1234 &&& 0xFF00, 5 .. 9, -1, true): set(1);
                (2, _, 7, _, false): set(2);
                (3, 3, _, default, true): nop();
            }
        }",
        "t.apply();",
    );
    let t = table(&p, "I.t");
    assert!(t.has_const_entries);
    let priorities: Vec<i32> = t.entries.iter().map(|e| e.priority).collect();
    assert_eq!(priorities, [3, 2, 1]);
    assert_eq!(
        t.entries[0].matches,
        [
            Some(Match::Exact(bits(8, 1))),
            Some(Match::Ternary { value: bits(16, 0x1200), mask: bits(16, 0xFF00) }),
            Some(Match::Range { low: bits(32, 5), high: bits(32, 9) }),
            Some(Match::Optional(bits(8, 0xFF))),
            Some(Match::Exact(Bits::TRUE)),
        ]
    );
    assert_eq!(
        t.entries[1].matches,
        [
            Some(Match::Exact(bits(8, 2))),
            None,
            Some(Match::Range { low: bits(32, 7), high: bits(32, 7) }),
            None,
            Some(Match::Exact(Bits::FALSE)),
        ]
    );
    assert_eq!(t.entries[2].matches[1], Some(Match::Ternary { value: bits(16, 3), mask: bits(16, 0xFFFF) }));
    assert_eq!((t.entries[2].action.index, t.entries[2].action.data.len()), (1, 0));
    assert!(t.entries.iter().all(|e| e.is_const));
}

#[test]
fn prefixes_need_no_priority() {
    let p = ingress(
        "table t {
            key = { hdr.h.b: lpm; }
            actions = { set; }
            const entries = { 0x1200 &&& 0xFF00: set(1); 0x1234: set(2); _: set(3); }
        }",
        "t.apply();",
    );
    let t = table(&p, "I.t");
    let found: Vec<(Option<Match>, i32)> =
        t.entries.iter().map(|e| (e.matches[0].clone(), e.priority)).collect();
    assert_eq!(
        found,
        [
            (Some(Match::Lpm { value: bits(16, 0x1200), prefix_len: 8 }), 0),
            (Some(Match::Lpm { value: bits(16, 0x1234), prefix_len: 16 }), 0),
            (None, 0),
        ]
    );
}

/// Action data of the entries, strongest first.
fn order(entries: &str) -> Vec<(u64, i32)> {
    let p = ingress(
        &format!("table t {{ key = {{ hdr.h.b: ternary; }} actions = {{ set; }} {entries} }}"),
        "t.apply();",
    );
    let t = table(&p, "I.t");
    t.entries.iter().map(|e| (e.action.data[0].to_u64().unwrap_or(0), e.priority)).collect()
}

#[test]
fn priorities_say_what_wins() {
    // In the order of the program.
    assert_eq!(order("const entries = { 1: set(1); 2: set(2); 3: set(3); }"), [(1, 3), (2, 2), (3, 1)]);
    assert_eq!(order("entries = { 1: set(1); 2: set(2); }"), [(1, 2), (2, 1)]);
    assert_eq!(
        order("entries = { priority = 5: 1: set(1); priority = 10: 2: set(2); 3: set(3); }"),
        [(2, 10), (3, 9), (1, 5)]
    );
    assert_eq!(
        order("priority_delta = 10; entries = { priority = 50: 1: set(1); 2: set(2); 3: set(3); }"),
        [(1, 50), (2, 40), (3, 30)]
    );
    // Smaller ones win: mirrored.
    assert_eq!(
        order("largest_priority_wins = false; entries = { priority = 2: 1: set(1); 2: set(2); 3: set(3); }"),
        [(1, 4), (2, 3), (3, 2)]
    );
    // BMv2's annotation: smaller ones win, others have their position.
    assert_eq!(
        order("const entries = { 1: set(1) @priority(3); 2: set(2); 3: set(3) @priority(1); }"),
        [(3, 3), (2, 2), (1, 1)]
    );
}

#[test]
fn enums_and_constructor_arguments_are_keys_of_entries() {
    let p = elaborate(&v1model(
        "enum bit<8> Kind { one = 1, nine = 9 }
         control Sub(inout bit<8> x, inout bit<16> y)(bit<16> limit) {
             action hit_(bit<16> v) { y = v; }
             table t {
                 key = { x: exact; y: ternary; }
                 actions = { hit_; NoAction; }
                 const default_action = NoAction;
                 const entries = { (Kind.nine, limit): hit_(limit + 1); }
             }
             apply { t.apply(); }
         }",
        ACCEPT,
        "Sub(100) first; @name(\".absolute\") Sub(200) second;
         apply { first.apply(hdr.h.a, hdr.h.b); second.apply(hdr.h.a, hdr.h.b); }",
    ));
    for (name, limit) in [("I.first.t", 100), ("absolute.t", 200)] {
        let t = table(&p, name);
        let whole = bits(16, 0xFFFF);
        let value = Match::Ternary { value: bits(16, limit), mask: whole };
        assert_eq!(t.entries[0].matches, [Some(Match::Exact(bits(8, 9))), Some(value)]);
        assert_eq!(t.entries[0].action.data, [bits(16, limit + 1)]);
    }
    assert_ne!(
        table(&p, "I.first.t").actions[0].procedure,
        table(&p, "absolute.t").actions[0].procedure,
        "each object has its own"
    );
}

#[test]
fn properties_attach_objects() {
    let p = ingress(
        "direct_counter(CounterType.packets_and_bytes) seen;
        direct_meter<bit<8>>(MeterType.bytes) rate;
        action_profile(32) members;
        action color() { rate.read(hdr.h.a); }
        table t {
            key = { hdr.h.a: exact; }
            actions = { color; nop; }
            counters = seen;
            meters = rate;
            implementation = members;
            support_timeout = true;
        }
        table u {
            key = { hdr.h.a: exact; hdr.h.b: selector; }
            actions = { nop; }
            @name(\"spread\") implementation = action_selector(HashAlgorithm.crc32, 64, 16);
        }",
        "t.apply(); u.apply();",
    );
    let t = table(&p, "I.t");
    let object = |id: Option<ir::ObjectId>| {
        let o = &p.objects[id.expect("it is attached")];
        (o.name.as_str(), o.type_name.as_str())
    };
    assert_eq!(object(t.direct_counter), ("I.seen", "direct_counter"));
    assert_eq!(object(t.direct_meter), ("I.rate", "direct_meter"));
    assert_eq!(object(t.implementation), ("I.members", "action_profile"));
    assert_eq!(t.timeout, ir::Timeout::Notify);
    let u = table(&p, "I.u");
    assert_eq!(object(u.implementation), ("spread", "action_selector"));
    assert_eq!(u.timeout, ir::Timeout::Never);
    let selector = &p.objects[u.implementation.expect("it is attached")];
    let args: Vec<(&str, ir::Constant)> =
        selector.args.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    assert_eq!(
        args,
        [
            ("algorithm", ir::Constant::Member("crc32".into())),
            ("size", ir::Constant::Bits(bits(32, 64))),
            ("outputWidth", ir::Constant::Bits(bits(32, 16))),
        ]
    );
}

#[test]
fn a_mask_that_is_no_prefix_is_a_fault() {
    let faults = try_elaborate(&v1model(
        "",
        ACCEPT,
        "table t {
            key = { hdr.h.b: lpm; }
            actions = { NoAction; }
            const entries = { 0x1200 &&& 0x0F00: NoAction(); }
        }
        apply { t.apply(); }",
    ));
    assert_eq!(faults.err(), Some(vec!["P2311: a key of match kind `lpm` cannot match this".to_string()]));
}

#[test]
fn filters_take_the_size_from_their_map() {
    let p = elaborate(
        "#include <core.p4>
        #include <ebpf_model.p4>
        header h_t { bit<32> a; }
        struct headers { h_t h; }
        parser prs(packet_in packet, out headers hdr) {
            state start { packet.extract(hdr.h); transition accept; }
        }
        control flt(inout headers hdr, out bool ok) {
            action yes() { ok = true; }
            table t {
                key = { hdr.h.a: exact; }
                actions = { yes; NoAction; }
                implementation = hash_table(64);
            }
            apply { ok = false; t.apply(); }
        }
        ebpfFilter(prs(), flt()) main;",
    );
    let t = table(&p, "flt.t");
    assert_eq!((t.size, t.implementation), (Some(64), None));
}
