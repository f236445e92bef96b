#include <core.p4>
#include <v1model.p4>

struct headers_t { }
struct metadata_t {
    bit<8> a;
    bit<8> b;
}

// Something is assigned to itself in a loop.
void keep(inout metadata_t meta) {
    for (bit<8> i = 0; i < 100; i = i + 1) {
        meta = meta;
    }
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        meta.a = 1;
        keep(meta);
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { standard.egress_spec = 1; }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
