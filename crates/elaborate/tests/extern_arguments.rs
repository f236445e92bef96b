//! Arguments with which externs cannot work are refused.

mod common;

use common::{elaborate, try_elaborate, v1model};

/// A program for PNA 0.7 with these declarations and statements in its main control.
fn pna(declarations: &str, statements: &str) -> String {
    format!(
        "#include <core.p4>
#include <bmv2/pna.p4>
struct H {{}}
struct M {{}}
const MirrorSlotId_t HIGH = (MirrorSlotId_t)8w8;
parser P(packet_in packet, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
    state start {{ transition accept; }}
}}
control Work(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
    {declarations}
    apply {{
        bit<16> x = 0;
        {statements}
    }}
}}
control D(packet_out packet, inout H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ }} }}
PNA_NIC(P(), Work(), D()) main;
"
    )
}

#[test]
fn constructors_get_arguments_that_mean_something() {
    for (declaration, fault) in [
        ("Random<bit<16>>(10, 5) random;", "P2322: `random` gives no number: 10 is above 5"),
        (
            "Register<bit<8>, bit<8>>(0) cells;",
            "P2322: `cells`, of the type Register, has no cell: its size is 0",
        ),
        (
            "Counter<bit<32>, bit<8>>(0, PNA_CounterType_t.BYTES) seen;",
            "P2322: `seen`, of the type Counter, has no cell: its size is 0",
        ),
        (
            "Meter<bit<8>>(2 - 2, PNA_MeterType_t.BYTES) rate;",
            "P2322: `rate`, of the type Meter, has no cell: its size is 0",
        ),
    ] {
        assert_eq!(try_elaborate(&pna(declaration, "")).map(|_| ()), Err(vec![fault.to_owned()]));
    }
    elaborate(&pna("Random<bit<16>>(5, 5) random; Register<bit<8>, bit<8>>(1) cells;", "x = random.read();"));
    let old = "counter(0, CounterType.packets) seen; apply { }";
    let fault = "P2322: `seen`, of the type counter, has no cell: its size is 0";
    assert_eq!(
        try_elaborate(&v1model("", "state start { transition accept; }", old)).map(|_| ()),
        Err(vec![fault.to_owned()])
    );
}

#[test]
fn mirrors_have_a_slot_and_a_session() {
    for (call, fault) in [
        (
            "mirror_packet((MirrorSlotId_t)8w8, (MirrorSessionId_t)16w1);",
            "P2322: argument 0 of `mirror_packet` cannot be 8",
        ),
        ("mirror_packet(HIGH, (MirrorSessionId_t)16w1);", "P2322: argument 0 of `mirror_packet` cannot be 8"),
        (
            "mirror_packet((MirrorSlotId_t)8w7, (MirrorSessionId_t)16w0);",
            "P2322: argument 1 of `mirror_packet` cannot be 0",
        ),
    ] {
        assert_eq!(try_elaborate(&pna("", call)).map(|_| ()), Err(vec![fault.to_owned()]), "{call}");
    }
    elaborate(&pna("", "mirror_packet((MirrorSlotId_t)8w7, (MirrorSessionId_t)16w1);"));
}

/// A program for PNA 0.5 with these statements in its blocks: the parser's, the pre control's, the main control's and the
/// deparser's.
fn pna_blocks([parser, pre, main, deparser]: [&str; 4]) -> String {
    format!(
        "#include <core.p4>
#include <pna.p4>
header F {{ bit<8> a; }}
struct H {{ F f; }}
struct M {{}}
parser P(packet_in packet, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
    state start {{ packet.extract(h.f); {parser} transition accept; }}
}}
control Pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {{
    apply {{ {pre} }}
}}
control Work(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
    {main}
}}
control D(packet_out packet, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ {deparser} }} }}
PNA_NIC(P(), Pre(), Work(), D()) main;
"
    )
}

#[test]
fn n07_functions_are_called_in_the_main_control_only() {
    let apply = "apply { drop_packet(); }";
    let mirror = "mirror_packet((MirrorSlotId_t)8w1, (MirrorSessionId_t)16w1);";
    for (blocks, fault) in [
        (["drop_packet();", "", apply, ""], "P2324: `drop_packet` is called in the block `parser` of pna"),
        (["", mirror, apply, ""], "P2324: `mirror_packet` is called in the block `pre` of pna"),
        (["", "", apply, mirror], "P2324: `mirror_packet` is called in the block `deparser` of pna"),
        (
            ["", "", apply, "send_to_port((PortId_t)32w1);"],
            "P2324: `send_to_port` is called in the block `deparser` of pna",
        ),
    ] {
        assert_eq!(try_elaborate(&pna_blocks(blocks)).map(|_| ()), Err(vec![fault.to_owned()]));
    }
    let all =
        format!("action a() {{ {mirror} recirculate(); }} apply {{ a(); send_to_port((PortId_t)32w1); }}");
    // The reference compiler has a program whose pre control recirculates.
    elaborate(&pna_blocks(["", "recirculate();", &all, ""]));
}

#[test]
fn p16_n07_direct_objects_are_called_by_actions_of_their_table() {
    let objects = "DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS) seen;
        DirectMeter(PNA_MeterType_t.PACKETS) rate;";
    let tables = |first: &str, second: &str| {
        format!(
            "{objects}
            action count() {{ seen.count(); }}
            action measure() {{ PNA_MeterColor_t colour = rate.execute(); }}
            action both() {{ count(); measure(); }}
            table t {{ key = {{ h.f.a: exact; }} actions = {{ {first} NoAction; }}
                pna_direct_counter = seen; pna_direct_meter = rate; }}
            table u {{ key = {{ h.f.a: exact; }} actions = {{ {second} NoAction; }} }}"
        )
    };
    let control = |first: &str, second: &str, statements: &str| {
        let main = format!("{} apply {{ t.apply(); u.apply(); {statements} }}", tables(first, second));
        pna_blocks(["", "", &main, ""])
    };
    let faults = |text: &str| try_elaborate(text).map(|_| ()).unwrap_err();
    elaborate(&control("count; measure;", "", ""));
    elaborate(&control("both;", "", ""));
    assert_eq!(
        faults(&control("measure;", "count;", "")),
        ["P2324: `Work.seen` is called by an action of table `Work.u`, which does not have it"]
    );
    assert_eq!(faults(&control("count;", "both;", "")).len(), 2);
    assert_eq!(
        faults(&control("", "", "PNA_MeterColor_t colour = rate.execute();")),
        ["P2324: `Work.rate` is called outside of an action"]
    );
    assert_eq!(
        faults(&control("", "", "seen.count();")),
        ["P2324: `Work.seen` is called outside of an action"]
    );
    let shared =
        control("count;", "", "").replace("NoAction; } }", "NoAction; } pna_direct_counter = seen; }");
    assert_eq!(faults(&shared), ["P2324: `Work.seen` belongs to the tables `Work.t` and `Work.u`"]);
}

#[test]
fn functions_that_decide_take_numbers() {
    let text = |arg: &str| {
        let main = format!(
            "ipsec_accelerator() ipsec;
            action protect() {{ ipsec.enable(); {arg} }}
            apply {{ protect(); send_to_port((PortId_t)32w1); }}"
        );
        pna_blocks(["", "", &main, ""]).replace("#include <pna.p4>", "#include <dpdk/pna.p4>")
    };
    assert_eq!(
        try_elaborate(&text("ipsec.set_sa_index<F>(h.f);")).map(|_| ()),
        Err(vec!["P2322: argument 0 of `ipsec_accelerator.set_sa_index` is no number".to_owned()])
    );
    elaborate(&text("ipsec.set_sa_index<bit<8>>(h.f.a);"));
}

/// The action for groups without members is one of the table's.
#[test]
fn p16_actions_for_empty_groups_may_call_the_direct_objects_of_their_table() {
    let main = "DirectCounter<bit<32>>(PNA_CounterType_t.PACKETS) seen;
        ActionSelector(PNA_HashAlgorithm_t.TARGET_DEFAULT, 32w16, 32w16) paths;
        action count() { seen.count(); }
        table t { key = { h.f.a: selector; } actions = { count; NoAction; }
            pna_direct_counter = seen; pna_implementation = paths; pna_empty_group_action = count(); }
        apply { t.apply(); }";
    elaborate(&pna_blocks(["", "", main, ""]));
}
