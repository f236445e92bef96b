// Classes of packets by a decision tree.
#include <core.p4>
#include <v1model.p4>
#include <siding_externs.p4>

header flow_t {
    bit<16> length;
    bit<48> gap;
    bit<8>  class;
}

struct features_t {
    bit<16> length;
    bit<48> gap;
}

struct headers_t {
    flow_t flow;
}

struct metadata_t {
}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.flow);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        features_t features = { hdr.flow.length, hdr.flow.gap };
        hdr.flow.class = tree_classify(features);
        std.egress_spec = 1;
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control NoCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.flow);
    }
}

V1Switch(MyParser(), NoVerify(), MyIngress(), MyEgress(), NoCompute(), MyDeparser()) main;
