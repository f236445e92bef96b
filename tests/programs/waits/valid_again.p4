// A header is made valid once more, after its packet has waited: its fields are still those that were extracted.
#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8> kind;
}

header unused_t {
    bit<32> first;
    bit<16> second;
}

struct headers_t {
    kind_t kind;
    unused_t unused;
}

struct meta_t {
    bit<8> work;
}

parser AgainParser(
    packet_in packet,
    out headers_t hdr,
    inout meta_t meta,
    inout standard_metadata_t sm
) {
    state start {
        packet.extract(hdr.kind);
        packet.extract(hdr.unused);
        transition accept;
    }
}

control AgainVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control AgainIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action forward(bit<9> port) {
        sm.egress_spec = port;
    }

    table kinds {
        key = {
            hdr.kind.kind: exact;
        }
        actions = {
            forward;
            NoAction;
        }
        default_action = NoAction();
        size = 100000;
    }

    apply {
        kinds.apply();
    }
}

control AgainEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.unused.setValid();
    }
}

control AgainCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control AgainDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(
    AgainParser(),
    AgainVerify(),
    AgainIngress(),
    AgainEgress(),
    AgainCompute(),
    AgainDeparser()
) main;
