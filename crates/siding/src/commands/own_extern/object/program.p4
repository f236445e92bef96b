// Calls the extern `NAME`, which NAME.c defines.
#include <core.p4>
#include <v1model.p4>

extern NAME {
    NAME();
    bit<32> next(in bit<32> step);
}

header request_t {
    bit<32> value;
    bit<32> result;
}

struct headers_t {
    request_t request;
}

struct metadata_t {}

parser MyParser(
    packet_in packet,
    out headers_t hdr,
    inout metadata_t meta,
    inout standard_metadata_t std
) {
    state start {
        packet.extract(hdr.request);
        transition accept;
    }
}

control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    NAME() first;

    apply {
        hdr.request.result = first.next(hdr.request.value);
        std.egress_spec = 1;
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {}
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.request);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
