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
