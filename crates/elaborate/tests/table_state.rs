//! Tables that packets write: each way to write them wrongly is refused, each way to write them right is accepted. Numbers in names
//! are those of docs/reference/psa-pna.md.

mod common;

use common::{ACCEPT, check_errors, elaborate, faults_of, try_elaborate, v1model};
use ir::Program;

/// A v1model program with these declarations, a control with these actions and one table, and statements that apply it.
fn whole(declarations: &str, actions: &str, table: &str, statements: &str) -> String {
    let ingress = format!("{actions} table t {{ {table} }} apply {{ {statements} }}");
    v1model(&format!("#include <siding_state.p4>\n{declarations}"), ACCEPT, &ingress)
}

fn program(actions: &str, table: &str) -> String {
    whole("", actions, table, "t.apply();")
}

/// A table with this key, these actions in its list and these properties.
fn table(key: &str, actions: &str, properties: &str) -> String {
    format!("key = {{ {key} }} actions = {{ {actions} }} {properties}")
}

/// The action of new entries, and one that adds them by this call.
fn learn(call: &str) -> String {
    format!("action store(bit<8> x, bit<16> y) {{ hdr.h.a = x; }} action learn() {{ {call} }}")
}

const ADDS: &str = "add_entry(\"store\", { hdr.h.a, hdr.h.b }, 0);";
const EXACT: &str = "hdr.h.c: exact;";
const LISTED: &str = "store; @defaultonly learn;";
const ADD_ON_MISS: &str = "default_action = learn(); add_on_miss = true;";
const ENDS: &str = "idle_timeout_with_auto_delete = true;";

/// All that the only fault of a program says.
fn texts_of(text: &str) -> Vec<String> {
    let faults = faults_of(text);
    let [fault] = faults.as_slice() else { panic!("{faults:?}") };
    let label = fault.primary.text.to_string();
    let more = fault.notes.iter().chain(&fault.helps).map(ToString::to_string);
    [fault.message.to_string(), label].into_iter().chain(more).collect()
}

fn refused(text: &str, fault: &str) {
    let faults = match check_errors(text) {
        errors if errors.is_empty() => try_elaborate(text).err().unwrap_or_default(),
        errors => errors,
    };
    assert_eq!(faults, [fault], "{text}");
}

/// The program's first table.
fn first(program: &Program) -> &ir::Table {
    program.tables.iter().next().unwrap().1
}

/// A program with a call in the action that adds entries.
fn with_call(call: &str) -> String {
    let declarations = "struct Ordered { bit<8> x; bit<16> y; } struct Turned { bit<16> y; bit<8> x; } struct Wide { bit<32> x; bit<16> y; }
        struct Named { bit<8> x; bit<16> z; } const string NAME = \"store\";";
    whole(declarations, &learn(call), &table(EXACT, LISTED, ADD_ON_MISS), "t.apply();")
}

#[test]
fn n11_the_property_is_a_known_truth_value() {
    for value in ["1", "\"true\"", "8w1"] {
        let properties = format!("default_action = learn(); add_on_miss = {value};");
        let fault = "P2323: `add_on_miss` is not `true` or `false`";
        refused(&program(&learn(ADDS), &table(EXACT, LISTED, &properties)), fault);
    }
    let fault = "P2323: action `learn` adds entries, but table `t` has no `add_on_miss`";
    for properties in ["default_action = learn();", "default_action = learn(); add_on_miss = false;"] {
        refused(&program(&learn(ADDS), &table(EXACT, LISTED, properties)), fault);
    }
    let constant = table(EXACT, LISTED, "default_action = learn(); add_on_miss = YES;");
    let program = elaborate(&whole("const bool YES = true;", &learn(ADDS), &constant, "t.apply();"));
    assert!(first(&program).add_on_miss.is_some());
}

#[test]
fn n11_keys_are_exact() {
    for kind in ["lpm", "ternary", "range", "optional", "selector"] {
        let key = format!("hdr.h.a: exact; hdr.h.c: {kind};");
        let fault = format!("P2323: table `t` adds entries, and has a key of kind `{kind}`");
        refused(&program(&learn(ADDS), &table(&key, LISTED, ADD_ON_MISS)), &fault);
    }
    let fault = "P2323: table `t` adds entries, and has no key";
    refused(&program(&learn(ADDS), &table("", LISTED, ADD_ON_MISS)), fault);
    refused(&program(&learn(ADDS), &format!("actions = {{ {LISTED} }} {ADD_ON_MISS}")), fault);
}

#[test]
fn n11_the_default_action_adds_entries_and_has_no_data() {
    let with_data = "action store(bit<8> x, bit<16> y) { hdr.h.a = x; }
        action learn(bit<8> z) { add_entry(\"store\", { z, hdr.h.b }, 0); }";
    let properties = "default_action = learn(5); add_on_miss = true;";
    let fault = "P2323: action `learn` adds entries, and has parameters";
    refused(&program(with_data, &table(EXACT, LISTED, properties)), fault);
    let fault = "P2323: the default action of table `t` does not call `add_entry`";
    for properties in ["default_action = store(1, 2); add_on_miss = true;", "add_on_miss = true;"] {
        refused(
            &program(&learn(ADDS), &table(EXACT, "store; NoAction; @defaultonly learn;", properties)),
            fault,
        );
    }
    // Another action for misses, which a controller may choose; the list of entries leaves it out.
    elaborate(&program(
        &format!("{} action again() {{ {ADDS} }}", learn(ADDS)),
        &table(EXACT, "store; @defaultonly again; @defaultonly learn;", ADD_ON_MISS),
    ));
    refused(
        &program(
            &format!("{} action again() {{ {ADDS} }}", learn(ADDS)),
            &table(EXACT, "store; again; @defaultonly learn;", ADD_ON_MISS),
        ),
        "P2323: action `again` adds entries, and is not the default action",
    );
    // The default action needs no mark, and may add entries through other actions.
    let unmarked = elaborate(&program(&learn(ADDS), &table(EXACT, "store; learn;", ADD_ON_MISS)));
    assert!(first(&unmarked).actions[1].is_default_only && !first(&unmarked).actions[0].is_default_only);
    let through = format!("{} action outer() {{ learn(); }}", learn(ADDS));
    let properties = "default_action = outer(); add_on_miss = true;";
    elaborate(&program(&through, &table(EXACT, "store; @defaultonly outer;", properties)));
}

#[test]
fn n11_constant_entries_and_profiles_are_refused() {
    let of = |more: &str| program(&learn(ADDS), &table(EXACT, LISTED, &format!("{ADD_ON_MISS} {more}")));
    for (more, fault) in [
        (
            "const entries = { 1: store(1, 2); }",
            "P2323: table `t` adds entries, and its entries are constant",
        ),
        ("const entries = { }", "P2323: table `t` adds entries, and its entries are constant"),
        ("implementation = action_profile(4);", "P2323: table `t` adds entries, and has an action profile"),
        ("entries = { _: store(1, 2); }", "P2323: table `t` adds entries, and an entry leaves out a key"),
        (
            "size = 1; entries = { 1: store(1, 2); 2: store(1, 2); }",
            "P2323: table `t` has more entries than its size",
        ),
        ("size = 1073741825;", "P2323: table `t` is too large"),
        ("entries = { 1: learn(); }", "P1604: an action marked @defaultonly cannot be used in an entry"),
    ] {
        refused(&of(more), fault);
    }
    let program = elaborate(&of("entries = { 1: store(1, 2); }"));
    assert_eq!((first(&program).entries.len(), first(&program).size), (1, Some(65536)));
    assert_eq!(first(&elaborate(&of("size = 1073741824;"))).size, Some(1 << 30));
}

#[test]
fn n12_entries_are_added_by_actions_of_misses_only() {
    let good = table(EXACT, LISTED, ADD_ON_MISS);
    let outside = "P2323: `add_entry` is used outside of the actions of a table";
    refused(&whole("", &learn(ADDS), &good, &format!("t.apply(); {ADDS}")), outside);
    refused(&whole("", &learn(ADDS), &good, "t.apply(); learn();"), outside);
    // An action of entries.
    let hit = format!("{} action touch() {{ {ADDS} }}", learn(ADDS));
    refused(
        &program(&hit, &table(EXACT, "store; @tableonly touch; @defaultonly learn;", ADD_ON_MISS)),
        "P2323: action `touch` adds entries, and is not the default action",
    );
    // One that an action of entries calls.
    let through = format!("{} action touch() {{ learn(); }}", learn(ADDS));
    refused(
        &program(&through, &table(EXACT, "store; touch; @defaultonly learn;", ADD_ON_MISS)),
        "P2323: action `touch` adds entries, and is not the default action",
    );
    // Two tables with the same default action: each adds to its own.
    let two = format!(
        "{} table t {{ {good} }} table u {{ {good} }} apply {{ t.apply(); u.apply(); }}",
        learn(ADDS)
    );
    let program = elaborate(&v1model("#include <siding_state.p4>", ACCEPT, &two));
    let procedures: Vec<_> = program.tables.iter().map(|(_, t)| t.actions[1].procedure).collect();
    assert_ne!(procedures[0], procedures[1]);
}

#[test]
fn n12_the_name_is_that_of_an_action_of_the_table() {
    let call = |name: &str| with_call(&format!("add_entry({name}, {{ hdr.h.a, hdr.h.b }}, 0);"));
    for name in ["\"store\"", "\"I.store\"", "NAME"] {
        elaborate(&call(name));
    }
    refused(&call("\"nothing\""), "P2323: table `t` has no action `nothing`");
    refused(&call("\"\""), "P2323: table `t` has no action ``");
    refused(&call("\"J.store\""), "P2323: table `t` has no action `J.store`");
    refused(&call("\"NoAction\""), "P2323: table `t` has no action `NoAction`");
    refused(&call("hdr.h.a"), "P1205: the argument for `action_name` must be known at compile time");
    // By its `@name`, and by the whole of it.
    for name in ["store", "put", "I.put"] {
        let renamed = format!(
            "@name(\"put\") action store(bit<8> x) {{ hdr.h.a = x; }}
            action learn() {{ add_entry(\"{name}\", hdr.h.a, 0); }}"
        );
        elaborate(&program(&renamed, &table(EXACT, LISTED, ADD_ON_MISS)));
    }
    refused(
        &program(&learn(ADDS), &table(EXACT, "@defaultonly store; @defaultonly learn;", ADD_ON_MISS)),
        "P2323: action `store` is `@defaultonly`",
    );
    let itself = "P2323: action `learn` adds entries itself";
    let calls_itself = "action store() { } action learn() { add_entry(\"learn\", { }, 0); }";
    refused(&program(calls_itself, &table(EXACT, "store; learn;", ADD_ON_MISS)), itself);
    refused(
        &program(calls_itself, &table(EXACT, LISTED, ADD_ON_MISS)),
        "P2323: action `learn` is `@defaultonly`",
    );
}

#[test]
fn n12_the_action_has_no_directions_and_adds_nothing_itself() {
    let directed = "action store(in bit<8> x) { hdr.h.a = x; }
        action learn() { add_entry(\"store\", hdr.h.a, 0); }";
    refused(
        &program(directed, &table(EXACT, "store(hdr.h.a); @defaultonly learn;", ADD_ON_MISS)),
        "P2323: action `store` has parameters with a direction",
    );
    let adds = "action keep() { } action store() { add_entry(\"keep\", { }, 0); }
        action learn() { add_entry(\"store\", { }, 0); }";
    refused(
        &program(adds, &table(EXACT, "keep; store; @defaultonly learn;", ADD_ON_MISS)),
        "P2323: action `store` adds entries, and is not the default action",
    );
}

#[test]
fn n12_the_data_are_those_of_the_action() {
    let data = |data: &str| with_call(&format!("add_entry(\"store\", {data}, 0);"));
    for good in [
        "{ hdr.h.a, hdr.h.b }",
        "(Ordered){ x = hdr.h.a, y = hdr.h.b }",
        "(Ordered){ y = hdr.h.b, x = hdr.h.a }",
        "(Ordered){ hdr.h.a, hdr.h.b }",
        "{ 1, 2 }",
        "{ 8w1, 16w2 }",
    ] {
        elaborate(&data(good));
    }
    for (wrong, fault) in [
        ("{ hdr.h.a }", "P2323: action `store` takes 2 values, and gets 1"),
        ("{ hdr.h.a, hdr.h.b, hdr.h.b }", "P2323: action `store` takes 2 values, and gets 3"),
        ("hdr.h.a", "P2323: action `store` takes 2 values, and gets 1"),
        (
            "{ hdr.h.b, hdr.h.a }",
            "P2323: parameter `x` of action `store` takes a value of 8 bits where it gets one of 16 bits",
        ),
        (
            "{ 256, 2 }",
            "P2323: parameter `x` of action `store` takes a value of 8 bits where it gets one of 32 bits",
        ),
        (
            "{ hdr.h.s, hdr.h.b }",
            "P2323: parameter `x` of action `store` takes a value of 8 bits where it gets one of 8 bits with sign",
        ),
        // Fields of a struct have their types, also where a value is known.
        (
            "(Wide){ x = 1, y = 2 }",
            "P2323: parameter `x` of action `store` takes a value of 8 bits where it gets one of 32 bits",
        ),
        ("(Turned){ x = hdr.h.a, y = hdr.h.b }", "P2323: parameter `x` of action `store` is given as `y`"),
        ("(Named){ x = hdr.h.a, z = hdr.h.b }", "P2323: parameter `y` of action `store` is given as `z`"),
        ("hdr.h", "P2323: parameter `x` of action `store` is given as `a`"),
    ] {
        refused(&data(wrong), fault);
    }
    // Types, not only widths.
    let declared = "type bit<8> Id; enum Kind { One, Two } struct Pair { bit<8> a; bit<16> b; }";
    for (ty, good, wrong, fault) in [
        ("int<8>", "hdr.h.s", "hdr.h.a", "8 bits with sign where it gets one of 8 bits"),
        ("int<8>", "5", "200", "8 bits with sign where it gets one of 32 bits"),
        ("int<8>", "-1", "-129", "8 bits with sign where it gets one of 32 bits with sign"),
        ("bit<8>", "200", "-1", "8 bits where it gets one of 32 bits with sign"),
        ("bit<8>", "(Id)7", "hdr.h.s", "8 bits where it gets one of 8 bits with sign"),
        ("Id", "(Id)hdr.h.a", "hdr.h.b", "8 bits where it gets one of 16 bits"),
        ("bit<32>", "hdr.h.c", "Kind.One", "32 bits where it gets one of an enum"),
        ("Kind", "Kind.Two", "hdr.h.c", "an enum where it gets one of 32 bits"),
        ("bit<1>", "1", "hdr.h.flag", "1 bit where it gets one of type bool"),
        ("bool", "hdr.h.flag", "hdr.h.a[0:0]", "type bool where it gets one of 1 bit"),
        ("Pair", "{ hdr.h.a, hdr.h.b }", "{ hdr.h.b, hdr.h.a }", "8 bits where it gets one of 16 bits"),
    ] {
        let of = |data: &str| {
            let call = format!("add_entry(\"store\", {{ {data} }}, 0);");
            let actions = format!("action store({ty} x) {{ }} action learn() {{ {call} }}");
            whole(declared, &actions, &table(EXACT, LISTED, ADD_ON_MISS), "t.apply();")
        };
        elaborate(&of(good));
        refused(&of(wrong), &format!("P2323: parameter `x` of action `store` takes a value of {fault}"));
    }
    // One value for one parameter, and a struct as a parameter.
    let one = "action store(bit<8> x) { hdr.h.a = x; } action learn() { add_entry(\"store\", hdr.h.a, 0); }";
    elaborate(&program(one, &table(EXACT, LISTED, ADD_ON_MISS)));
    let none = "action store() { } action learn() { add_entry(\"store\", { }, 0); }";
    elaborate(&program(none, &table(EXACT, LISTED, ADD_ON_MISS)));
    for (profile, number) in [("256", "256"), ("-1", "-1"), ("1 << 20", "1048576")] {
        let call = format!("add_entry(\"store\", {{ hdr.h.a, hdr.h.b }}, {profile});");
        refused(&with_call(&call), &format!("P2323: there is no profile {number}"));
    }
    elaborate(&with_call("add_entry(\"store\", { hdr.h.a, hdr.h.b }, 255);"));
    // The profile has eight bits, and the condition is a truth value.
    elaborate(&with_call("add_entry(\"store\", { hdr.h.a, hdr.h.b }, hdr.h.a);"));
    refused(
        &with_call("add_entry(\"store\", { hdr.h.a, hdr.h.b }, hdr.h.b);"),
        "P1308: mismatched types in argument",
    );
    elaborate(&with_call("add_entry_if(hdr.h.a == 1, \"store\", { hdr.h.a, hdr.h.b }, 0);"));
    refused(
        &with_call("add_entry_if(hdr.h.a, \"store\", { hdr.h.a, hdr.h.b }, 0);"),
        "P1308: mismatched types in argument",
    );
    refused(
        &with_call("add_entry_if(true, \"nothing\", { hdr.h.a, hdr.h.b }, 0);"),
        "P2323: table `t` has no action `nothing`",
    );
}

#[test]
fn n15_timeouts_and_profiles() {
    use ir::Timeout::{Delete, Never, Notify};
    let of = |more: &str| {
        elaborate(&program(&learn(ADDS), &table(EXACT, LISTED, &format!("{ADD_ON_MISS} {more}"))))
    };
    for (more, timeout) in [
        ("", Never),
        ("idle_timeout_with_auto_delete = false;", Never),
        (ENDS, Delete),
        ("support_timeout = true;", Notify),
        ("support_timeout = true; idle_timeout_with_auto_delete = true;", Delete),
    ] {
        let program = of(more);
        assert_eq!((first(&program).timeout, first(&program).restarts_on_hit), (timeout, true), "{more}");
    }
    for (value, timeout) in [("NO_TIMEOUT", Never), ("NOTIFY_CONTROL", Notify), ("AUTO_DELETE", Delete)] {
        let program = elaborate(&pna(&format!("pna_idle_timeout = PNA_IdleTimeout_t.{value};"), ADDS));
        assert_eq!(first(&program).timeout, timeout);
    }
    refused(
        &program_with(&format!("{ADD_ON_MISS} idle_timeout_with_auto_delete = 1;")),
        "P2323: `idle_timeout_with_auto_delete` is not `true` or `false`",
    );
    // Either of the two properties does without the other.
    let ends = elaborate(&program("action store() { }", &table(EXACT, "store; NoAction;", ENDS)));
    assert_eq!((first(&ends).timeout, first(&ends).add_on_miss.is_some()), (Delete, false));
    let profile = of("default_idle_timeout_for_data_plane_added_entries = 5;");
    assert_eq!(first(&profile).add_on_miss.as_ref().map(|adds| adds.profile), Some(5));
    for value in ["256", "-1", "true"] {
        let more = format!("{ADD_ON_MISS} default_idle_timeout_for_data_plane_added_entries = {value};");
        refused(
            &program_with(&more),
            "P2323: `default_idle_timeout_for_data_plane_added_entries` is not a profile, which is 0 to 255",
        );
    }
}

fn program_with(properties: &str) -> String {
    program(&learn(ADDS), &table(EXACT, LISTED, properties))
}

/// A program for PNA 0.7 with a table that has this property, and this call in its default action.
fn pna(property: &str, call: &str) -> String {
    format!(
        "#include <core.p4>
#include <bmv2/pna.p4>
header h_t {{ bit<8> a; bit<16> b; bit<32> c; }}
struct H {{ h_t h; }}
struct M {{ }}
parser P(packet_in packet, out H hdr, inout M m, in pna_main_parser_input_metadata_t i) {{
    state start {{ packet.extract(hdr.h); transition accept; }}
}}
control Work(inout H hdr, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
    {} table t {{ {} {property} }}
    apply {{ t.apply(); }}
}}
control D(packet_out packet, inout H hdr, in M m, in pna_main_output_metadata_t o) {{ apply {{ }} }}
PNA_NIC(P(), Work(), D()) main;
",
        learn(call),
        table(EXACT, LISTED, ADD_ON_MISS)
    )
}

#[test]
fn n13_the_result_is_a_status_in_pna_and_a_truth_value_elsewhere() {
    elaborate(&with_call("bool added = add_entry(\"store\", { hdr.h.a, hdr.h.b }, 0); hdr.h.flag = added;"));
    let status = "AddEntryErrorStatus_t status = add_entry(\"store\", { hdr.h.a, hdr.h.b }, 0);
        hdr.h.a = status == ADD_ENTRY_SUCCESS ? 8w1 : 0;";
    elaborate(&pna("", status));
    refused(
        &pna("", "bool added = add_entry(\"store\", { hdr.h.a, hdr.h.b }, 0);"),
        "P1308: mismatched types in initializer",
    );
}

#[test]
fn n17_calls_decide_who_restarts_timers() {
    let of = |body: &str| {
        let actions = format!("action touch() {{ {body} }} {}", learn(ADDS));
        let listed = "touch; store; @defaultonly learn;";
        first(&elaborate(&program(&actions, &table(EXACT, listed, &format!("{ADD_ON_MISS} {ENDS}")))))
            .restarts_on_hit
    };
    assert!(of("hdr.h.a = 1;"));
    for call in [
        "restart_expire_timer();",
        "set_entry_expire_time(3);",
        "set_entry_expire_time_if(hdr.h.a == 1, 3);",
        "update_expire_info(hdr.h.a == 1, false, 3);",
        "if (hdr.h.a == 1) { restart_expire_timer(); }",
    ] {
        assert!(!of(call), "{call}");
    }
}

#[test]
fn n18_timers_are_set_by_actions_of_entries_that_have_one() {
    for (i, call) in [
        "restart_expire_timer();",
        "set_entry_expire_time(3);",
        "set_entry_expire_time_if(true, 3);",
        "update_expire_info(true, true, 3);",
    ]
    .into_iter()
    .enumerate()
    {
        let touch = format!("action touch() {{ {call} }}");
        let actions = format!("{touch} {}", learn(ADDS));
        let listed = "touch; store; @defaultonly learn;";
        let both = format!("{ADD_ON_MISS} {ENDS}");
        elaborate(&program(&actions, &table(EXACT, listed, &both)));
        // No packet adds entries, and a controller gives them a timeout.
        for ends in [ENDS, "support_timeout = true;"] {
            let properties = format!("default_action = NoAction(); {ends}");
            elaborate(&program(&touch, &table(EXACT, "touch; NoAction;", &properties)));
        }
        refused(
            &program(&actions, &table(EXACT, listed, ADD_ON_MISS)),
            "P2323: action `touch` sets timers, but entries of table `t` have none",
        );
        refused(
            &program(&actions, &table(EXACT, "@defaultonly touch; store; @defaultonly learn;", &both)),
            "P2323: action `touch` sets timers, and is for packets that miss",
        );
        refused(
            &program(&learn(&format!("{ADDS} {call}")), &table(EXACT, LISTED, &both)),
            "P2323: action `learn` sets timers, and is for packets that miss",
        );
        let outside = "P2323: a timer is used outside of the actions of a table";
        refused(&whole("", &actions, &table(EXACT, listed, &both), &format!("t.apply(); {call}")), outside);
        refused(&whole("", &actions, &table(EXACT, listed, &both), "t.apply(); touch();"), outside);
        if i == 0 {
            refused(
                &program(
                    &touch,
                    &table(
                        "hdr.h.c: lpm;",
                        "touch; NoAction;",
                        &format!("default_action = NoAction(); {ENDS}"),
                    ),
                ),
                "P2323: table `t` has timers that actions set, and has a key of kind `lpm`",
            );
        }
    }
}

/// A table of this match kind with an action that changes its entry.
fn updating(params: &str, body: &str, kind: &str, properties: &str) -> String {
    let actions = format!("action count({params}) {{ {body} }}");
    program(&actions, &table(&format!("hdr.h.c: {kind};"), "count; NoAction;", properties))
}

#[test]
fn u01_parameters_are_changed_if_they_are_marked() {
    let program = elaborate(&updating("@__ref bit<8> n", "n = n + 1;", "exact", ""));
    assert!(first(&program).updates_data);
    refused(
        &updating("bit<8> n", "n = n + 1;", "exact", ""),
        "P1314: `n` cannot be assigned to: a parameter without direction is read-only",
    );
    let program = elaborate(&updating("bit<8> n", "hdr.h.a = n;", "exact", ""));
    assert!(!first(&program).updates_data);
}

/// A table with registers that these declarations make, and an action that does this.
fn with_registers(registers: &str, body: &str, properties: &str) -> String {
    let actions = format!("{registers} action count() {{ {body} }}");
    program(
        &actions,
        &table(EXACT, "count; NoAction;", &format!("default_action = NoAction(); {properties}")),
    )
}

#[test]
fn u01_each_entry_has_a_cell_of_the_registers_of_its_table() {
    let initial = |program: &Program| {
        let values = first(program).registers.iter();
        values.map(|value| format!("{} = {:?}", value.name, value.initial)).collect::<Vec<_>>()
    };
    let (n, adds) = ("DirectRegister<bit<8>>() n;", "n.write(n.read() + 1);");
    let program = elaborate(&with_registers(n, adds, "registers = n;"));
    assert!(first(&program).updates_data);
    assert_eq!(initial(&program), ["n = 8w0x0"]);
    // Every action has it, and so has every entry, behind what the program gives.
    let actions = "DirectRegister<bit<8>>(7) n; action count(bit<16> x) { n.write(n.read() + 1); }
        action store() { }";
    let entries = "entries = { 1: count(5); 2: store(); } registers = { n };";
    let program =
        elaborate(&whole("", actions, &table(EXACT, "count; store; NoAction;", entries), "t.apply();"));
    let widths = |action: &ir::Action| action.data.iter().map(ir::Bits::width).collect::<Vec<_>>();
    let of_entries: Vec<_> = first(&program).entries.iter().map(|entry| widths(&entry.action)).collect();
    assert_eq!((of_entries, widths(&first(&program).default_action)), (vec![vec![16, 8], vec![8]], vec![8]));
    let packed = "struct Pair { bit<8> a; bool b; }";
    let registers = "DirectRegister<Pair>({ 5, true }) p; DirectRegister<int<16>>(-1) m;";
    let table = table(EXACT, "NoAction;", "registers = { p, m };");
    let program = elaborate(&whole(packed, registers, &table, "t.apply();"));
    assert_eq!(initial(&program), ["p.a = 8w0x5", "p.b = 1w0x1", "m = 16w0xffff"]);
}

#[test]
fn u01_registers_belong_to_one_table_and_are_used_by_its_actions() {
    let (n, adds) = ("DirectRegister<bit<8>>() n;", "n.write(n.read() + 1);");
    let missing = "P2323: register `n` does not belong to table `t`";
    for body in [adds, "hdr.h.a = n.read();"] {
        refused(&with_registers(n, body, ""), missing);
    }
    let other = "DirectRegister<bit<8>>() n; DirectRegister<bit<8>>() m;";
    refused(&with_registers(other, adds, "registers = m;"), missing);
    let outside = "P2323: register `n` is used outside of the actions of a table";
    let actions = format!("{n} action count() {{ {adds} }}");
    let good = table(EXACT, "count; NoAction;", "registers = n;");
    refused(&whole("", &actions, &good, &format!("t.apply(); {adds}")), outside);
    refused(&whole("", &actions, &good, "t.apply(); count();"), outside);
    // Another table, whose action uses the register as well.
    let two = |of_other: &str| {
        let other = table(EXACT, "count; NoAction;", of_other);
        let text =
            format!("{actions} table t {{ {good} }} table u {{ {other} }} apply {{ t.apply(); u.apply(); }}");
        v1model("#include <siding_state.p4>", ACCEPT, &text)
    };
    refused(&two(""), "P2323: register `n` does not belong to table `u`");
    let faults = try_elaborate(&two("registers = n;")).unwrap_err();
    assert_eq!(faults[0], "P2323: register `n` belongs to two tables");
    refused(&with_registers(n, adds, "registers = { n, n };"), "P2323: register `n` is named twice");
}

#[test]
fn u01_registers_have_fixed_widths_and_64_bytes_together() {
    for (ty, declared) in
        [("varbit<32>", ""), ("Wide", "header Wide { bit<8> a; }"), ("None", "struct None { }")]
    {
        let register = format!("DirectRegister<{ty}>() n;");
        let text = whole(declared, &register, &table(EXACT, "NoAction;", "registers = n;"), "t.apply();");
        refused(&text, "P2323: the values of register `n` have no fixed width");
    }
    for what in ["true", "5", "\"n\""] {
        let fault = "P2323: this is no register of entries";
        refused(&with_registers("", "", &format!("registers = {what};")), fault);
    }
    let counter = "direct_counter(CounterType.packets) n;";
    refused(&with_registers(counter, "", "registers = n;"), "P2323: this is no register of entries");
    let of = |width: u32| format!("DirectRegister<bit<{width}>>() n; DirectRegister<bit<256>>() m;");
    elaborate(&with_registers(&of(256), "m.write(n.read());", "registers = { n, m };"));
    let fault = "P2323: the registers of table `t` are too large";
    refused(&with_registers(&of(257), "m.write(0);", "registers = { n, m };"), fault);
    // Parameters that change count, too.
    let with = |width: u32| {
        let actions =
            format!("DirectRegister<bit<256>>() m; action count(rmw bit<{width}> n) {{ n = n + 1; }}");
        whole("", &actions, &table(EXACT, "count; NoAction;", "registers = m;"), "t.apply();")
    };
    elaborate(&with(256));
    refused(&with(257), "P2323: action `count` changes too much of its entry");
    let fault = "P2323: table `t` has constant entries, and registers of its entries";
    let registers = "DirectRegister<bit<8>>() n;";
    refused(&with_registers(registers, "", "registers = n; const entries = { 1: count(); }"), fault);
    refused(
        &with_registers(registers, "", "registers = n; implementation = action_profile(4);"),
        "P2323: table `t` has an action profile, and registers of its entries",
    );
}

#[test]
fn u01_the_choice_of_registers_follows_what_the_action_does() {
    use ir::Sync::{Atomic, None, Sequence};
    let sync = |marks: &str, body: &str| {
        let actions = format!(
            "DirectRegister<bit<32>>() n; DirectRegister<bit<32>>() m;
            action add() {{ n.write(n.read() + 1); }} action see() {{ hdr.h.c = n.read(); }}
            {marks} action count() {{ {body} }}"
        );
        let properties = "default_action = NoAction(); registers = { n, m };";
        first(&elaborate(&program(&actions, &table(EXACT, "count; NoAction;", properties)))).actions[0].sync
    };
    for (body, expected) in [
        ("n.write(n.read() + 1);", Atomic),
        ("n.write(hdr.h.c);", Atomic),
        ("n.write(n.read() ^ hdr.h.c); hdr.h.c = n.read();", Atomic),
        ("hdr.h.c = n.read();", None),
        ("see();", None),
        ("bit<32> x = n.read(); n.write(x + 1);", Sequence),
        ("if (n.read() < 5) { n.write(n.read() + 1); }", Sequence),
        ("n.write(1); m.write(1);", Sequence),
        ("n.write(n.read() + m.read());", Atomic),
        ("add();", Sequence),
    ] {
        assert_eq!(sync("", body), expected, "{body}");
    }
    let adds = "n.write(n.read() + 1);";
    assert_eq!(sync("@siding_sync(\"sequence\")", adds), Sequence);
    assert_eq!(sync("@siding_sync(\"none\")", adds), None);
    let marked = "DirectRegister<bit<8>>() n; @siding_sync(\"none\") action count() { }";
    refused(
        &program(marked, &table(EXACT, "count; NoAction;", "registers = n;")),
        "P2323: action `count` changes no data of its entry",
    );
}

#[test]
fn u01_pna_has_registers_of_entries() {
    let text = pna("registers = n;", "add_entry(\"store\", { hdr.h.a, hdr.h.b }, 0); n.write(n.read() + 1);");
    let text = text.replace("#include <bmv2/pna.p4>", "#include <bmv2/pna.p4>\n#include <siding_state.p4>");
    let program =
        elaborate(&text.replace("    action store", "    DirectRegister<bit<8>>(3) n; action store"));
    assert_eq!(first(&program).registers.len(), 1);
    // A program may declare the type itself.
    let declared = "extern DirectRegister<T> { DirectRegister(); T read(); void write(in T value); }";
    let own = table(EXACT, "count; NoAction;", "registers = n;");
    let ingress = format!(
        "DirectRegister<bit<8>>() n; action count() {{ n.write(1); }} table t {{ {own} }} apply {{ t.apply(); }}"
    );
    assert!(first(&elaborate(&v1model(declared, ACCEPT, &ingress))).updates_data);
}

#[test]
fn u03_parameters_of_actions_of_tables_only() {
    // Any match kind.
    for kind in ["exact", "lpm", "ternary", "range", "optional"] {
        elaborate(&updating("@__ref bit<8> n, bit<16> m", "n = n + (bit<8>)m;", kind, ""));
    }
    // Parts, and other actions that assign them.
    let inner = "action add(inout bit<8> x) { x = x + 1; } action give(out bit<8> x) { x = 7; }
        action count(@__ref bit<8> n, @__ref bit<8> m) { add(n); give(m); n[3:0] = 5; }";
    elaborate(&program(inner, &table(EXACT, "count; NoAction;", "")));
    let called = "P2323: action `count` changes its entry, and is called without one";
    let count = "action count(@__ref bit<8> n) { n = n + 1; }";
    refused(&whole("", count, &table(EXACT, "count; NoAction;", ""), "t.apply(); count(5);"), called);
    let through = format!("{count} action outer() {{ count(5); }}");
    refused(&program(&through, &table(EXACT, "outer; NoAction;", "")), called);
    refused(
        &updating("@__ref bit<8> n", "n = n + 1;", "exact", "implementation = action_profile(4);"),
        "P2323: table `t` has an action profile, and an action that changes its entry",
    );
    // 64 bytes together.
    elaborate(&updating("@__ref bit<256> n, @__ref bit<256> m", "n = n + m;", "exact", ""));
    let fault = "P2323: action `count` changes too much of its entry";
    refused(&updating("@__ref bit<512> n, @__ref bit<1> m", "n = n + 1; m = 1;", "exact", ""), fault);
    refused(&updating("@__ref bit<513> n", "n = n + 1;", "exact", ""), fault);
    // Others do not count.
    elaborate(&updating("@__ref bit<512> n, bit<512> m", "n = m;", "exact", ""));
}

#[test]
fn u04_first_values() {
    refused(
        &updating("@__ref bit<8> n", "n = n + 1;", "exact", "const entries = { 1: count(5); }"),
        "P2323: table `t` has constant entries, and an action that changes its entry",
    );
    refused(
        &updating("@__ref bit<8> n", "n = n + 1;", "exact", "entries = { 1: count(5); const 2: count(6); }"),
        "P2323: table `t` has constant entries, and an action that changes its entry",
    );
    elaborate(&updating("@__ref bit<8> n", "n = n + 1;", "exact", "entries = { 1: count(5); }"));
    // Entries of the program have room.
    let entries = "entries = { 1: count(5); 2: count(6); 3: count(7); } size = 2;";
    let found = elaborate(&updating("@__ref bit<8> n", "n = n + 1;", "exact", entries));
    assert_eq!(found.tables.iter().next().unwrap().1.size, Some(3));
    elaborate(&updating("@__ref bit<8> n", "n = n + 1;", "exact", "default_action = count(5);"));
    refused(
        &updating("@__ref bit<8> n", "n = n + 1;", "exact", "entries = { 1: count(); }"),
        "P1202: the call of `count` lacks the argument `n`",
    );
    refused(
        &updating("@__ref bit<8> n", "n = n + 1;", "exact", "default_action = count();"),
        "P1202: the call of `count` lacks the argument `n`",
    );
    let adds =
        "action count(@__ref bit<8> n) { n = n + 1; } action learn() { add_entry(\"count\", { }, 0); }";
    refused(
        &program(adds, &table(EXACT, "count; @defaultonly learn;", ADD_ON_MISS)),
        "P2323: action `count` takes 1 value, and gets 0",
    );
}

#[test]
fn n24_psa_and_programs_with_two_arguments() {
    // A program that declares the functions itself.
    let text = v1model(
        "extern bool add_entry<T>(string action_name, in T action_params);",
        ACCEPT,
        &format!(
            "{} table t {{ {} }} apply {{ t.apply(); }}",
            learn("add_entry(\"I.store\", { hdr.h.a, hdr.h.b });"),
            table(EXACT, LISTED, ADD_ON_MISS)
        ),
    );
    assert_eq!(first(&elaborate(&text)).add_on_miss.as_ref().map(|adds| adds.profile), Some(0));
}

/// The choice for the first action of a table of this action.
fn sync(marks: &str, parameter: &str, body: &str) -> ir::Sync {
    let declared = "struct Pair { bit<8> one; bit<24> other; } bit<32> hash(in bit<32> x) { return x * 3; }";
    let add = "action add(inout bit<32> x) { x = x + 1; }";
    let actions = format!("{add} {marks} action count({parameter}) {{ {body} }}");
    let table = table(EXACT, "count; NoAction;", "default_action = NoAction();");
    first(&elaborate(&whole(declared, &actions, &table, "t.apply();"))).actions[0].sync
}

#[test]
fn u05_the_choice_follows_what_the_action_does() {
    use ir::Sync::{Atomic, None, Sequence, Sharded};
    let (n32, two) = ("@__ref bit<32> n", "@__ref bit<32> n, @__ref bit<32> m");
    let cases = [
        (n32, "n = n + 1;", Atomic),
        (n32, "n = 1 + n;", Atomic),
        (n32, "n = n - (bit<32>)hdr.h.a;", Atomic),
        (n32, "n = n ^ 5;", Atomic),
        (n32, "n = 7;", Atomic),
        (n32, "if (hdr.h.a == 1) { n = n + 1; }", Atomic),
        (n32, "n = n + 1; hdr.h.b = (bit<16>)n;", Atomic),
        // In branches that exclude each other nobody reads it before.
        (n32, "if (hdr.h.a == 1) { hdr.h.b = (bit<16>)n; } else { n = n + 1; }", Atomic),
        (n32, "hdr.h.b = (bit<16>)n;", None),
        ("bit<32> n", "hdr.h.b = (bit<16>)n;", None),
        ("@__ref bit<32> n, bit<32> step", "n = n + step;", Atomic),
        (n32, "hdr.h.b = (bit<16>)n; n = n + 1;", Sequence),
        (n32, "if (n < 10) { n = n + 1; }", Sequence),
        (n32, "n = n |+| 1;", Sequence),
        (n32, "n = n * 3;", Sequence),
        (n32, "n = 1 - n;", Sequence),
        (n32, "n = n + n;", Sequence),
        (n32, "n[7:0] = 1;", Sequence),
        (n32, "for (bit<8> i in 8w0..3) { hdr.h.b = (bit<16>)n; n = n + 1; }", Sequence),
        ("@__ref int<32> n", "n = n + 1;", Sequence),
        // Only what changes counts.
        (two, "n = n + m;", Atomic),
        // Additions that no operation of a machine makes.
        (n32, "n = n + 1; n = n + 1;", Sharded),
        (n32, "n = n + (bit<32>)hdr.h.a - 3; n = (bit<32>)hdr.h.b + (2 + n);", Sharded),
        (n32, "if (hdr.h.a == 1) { n = n + 1; } else { n = n - 1; }", Sharded),
        (n32, "for (bit<8> i in 8w0..3) { n = n + (bit<32>)i; }", Sharded),
        (n32, "n = n + 1; if (hdr.h.a == 1) { exit; } n = n + 1;", Sharded),
        ("@__ref bit<24> n", "n = n + 1;", Sharded),
        ("@__ref bit<128> n", "n = n + 1;", Sharded),
        ("@__ref bit<24> n, bit<24> step", "n = n + step;", Sharded),
        (two, "n = n + 1; m = m + 1;", Sharded),
        ("@__ref Pair p", "p.one = p.one + 1; p.other = p.other - 2;", Sharded),
        // They are read elsewhere, or what is added depends on one of them.
        (two, "n = n + 1; m = m + 1; hdr.h.b = (bit<16>)n;", Sequence),
        (two, "n = n + 1; m = m + n;", Sequence),
        (two, "n = n + 1; n = n + m;", Sequence),
        (two, "n = n + 1; if (m == 0) { m = m + 1; }", Sequence),
        (two, "n = n + 1; m = m | 1;", Sequence),
        (two, "n = n + 1; m = m;", Sharded),
        (two, "n = n + 1; m = 0 - m;", Sequence),
        (n32, "n = n + 1; n = n + 1; hdr.h.b = (bit<16>)hash(n);", Sequence),
        (n32, "add(n); n = n + 1;", Sequence),
        ("@__ref Pair p", "p.one = p.one + (bit<8>)p.other;", Sequence),
        ("@__ref Pair p", "p.one = p.one + 1; p = { 1, 2 };", Sequence),
        ("@__ref bit<24> n", "n = n + 1; n[7:0] = 1;", Sequence),
        ("@__ref bit<24> n", "n = n + n;", Sequence),
        ("@__ref bit<24> n", "n = n + (n - 1);", Sequence),
        ("@__ref bit<24> n, @__ref bit<8> m", "n = n + (bit<24>)m;", Sequence),
        ("@__ref bit<24> n", "n = n |+| 1;", Sequence),
    ];
    for (parameter, body, expected) in cases {
        assert_eq!(sync("", parameter, body), expected, "{parameter}: {body}");
    }
}

#[test]
fn u05_a_program_asks_for_another_choice() {
    let (n, adds) = ("@__ref bit<32> n", "n = n + 1;");
    assert_eq!(sync("@siding_sync(\"sequence\")", n, adds), ir::Sync::Sequence);
    assert_eq!(sync("@siding_sync(\"atomic\")", n, adds), ir::Sync::Atomic);
    assert_eq!(sync("@siding_sync(\"none\")", n, adds), ir::Sync::None);
    let of = |marks: &str, parameter: &str, body: &str| {
        let actions = format!("{marks} action count({parameter}) {{ {body} }}");
        program(&actions, &table(EXACT, "count; NoAction;", "default_action = NoAction();"))
    };
    refused(
        &of("@siding_sync(\"atomic\")", n, "n = n * 3;"),
        "P2323: the changes of action `count` are not one operation",
    );
    for (parameter, body) in [(n, adds), (n, "n = n + 1; n = n - 1;"), ("@__ref bit<7> n", adds)] {
        assert_eq!(
            sync("@siding_sync(\"sharded\")", parameter, body),
            ir::Sync::Sharded,
            "{parameter}: {body}"
        );
        assert_eq!(
            sync("@siding_sync(\"sequence\")", parameter, body),
            ir::Sync::Sequence,
            "{parameter}: {body}"
        );
        assert_eq!(sync("@siding_sync(\"none\")", parameter, body), ir::Sync::None, "{parameter}: {body}");
    }
    let texts = texts_of(&of("@siding_sync(\"sharded\")", n, "n = n * 3;"));
    assert_eq!(
        texts,
        [
            "the changes of action `count` are not additions alone",
            "is not possible here",
            "values of type `bit` are assigned as in `n = n + x` or `n = n - x`, where `x` is no value that actions change, \
             and are not read otherwise; registers are not written",
            "remove the annotation, so that the compiler chooses, or write \"sequence\"",
        ]
    );
    for body in ["n = n + 1; hdr.h.b = (bit<16>)n;", "n = 7;", "n = n ^ 1;", "n = n + n;"] {
        refused(
            &of("@siding_sync(\"sharded\")", n, body),
            "P2323: the changes of action `count` are not additions alone",
        );
    }
    let actions = format!(
        "DirectRegister<bit<32>>() r; @siding_sync(\"sharded\") action count({n}) {{ {adds} r.write(1); }}"
    );
    refused(
        &program(&actions, &table(EXACT, "count; NoAction;", "default_action = NoAction(); registers = r;")),
        "P2323: the changes of action `count` are not additions alone",
    );
    // An action that only reads a register, and one whose table has it.
    for body in ["n = n + r.read(); n = n + 1;", "n = n + 1; n = n + 1;"] {
        let actions = format!("DirectRegister<bit<32>>() r; action count({n}) {{ {body} }}");
        let table = table(EXACT, "count; NoAction;", "default_action = NoAction(); registers = r;");
        let chosen = first(&elaborate(&program(&actions, &table))).actions[0].sync;
        assert_eq!(chosen == ir::Sync::Sharded, !body.contains("read"), "{body}");
    }
    let twice = "@siding_sync(\"none\") @siding_sync(\"sharded\")";
    refused(&of(twice, n, adds), "P2323: action `count` has `@siding_sync` more than once");
    let marked = table(EXACT, "count; NoAction;", "default_action = NoAction();");
    let marked = program(&format!("action count({n}) {{ {adds} }}"), &marked);
    refused(
        &marked.replace("table t", "@siding_sync(\"none\") table t"),
        "P2323: `@siding_sync` is for actions, and is in front of a table",
    );
    for word in ["\"lock\"", "", "1"] {
        let fault = "P2323: this is no way to keep changes apart";
        refused(&of(&format!("@siding_sync({word})"), n, adds), fault);
    }
}

#[test]
fn c05_a_full_table_refuses_or_evicts() {
    let of = |mark: &str, properties: &str| {
        let table = table(EXACT, LISTED, properties);
        v1model(
            "#include <siding_state.p4>\n",
            ACCEPT,
            &format!("{} {mark} table t {{ {table} }} apply {{ t.apply(); }}", learn(ADDS)),
        )
    };
    let when_full = |mark: &str| first(&elaborate(&of(mark, ADD_ON_MISS))).add_on_miss.unwrap().when_full;
    assert_eq!(when_full(""), ir::WhenFull::Refuse);
    assert_eq!(when_full("@siding_full(\"refuse\")"), ir::WhenFull::Refuse);
    assert_eq!(when_full("@siding_full(\"oldest\")"), ir::WhenFull::Oldest);
    for word in ["\"youngest\"", "", "3"] {
        let fault = "P2323: this is no way to treat a full table";
        refused(&of(&format!("@siding_full({word})"), ADD_ON_MISS), fault);
    }
    let known = program("", &table(EXACT, "NoAction;", "default_action = NoAction();"));
    let marked = known.replace("table t {", "@siding_full(\"oldest\") table t {");
    refused(&marked, "P2323: packets add no entries to table `t`");
}
