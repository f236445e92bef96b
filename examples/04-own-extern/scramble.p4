// Calls externs that a library in C supplies: see scramble.c.
#include <core.p4>
#include <v1model.p4>

extern void scramble(in bit<32> key);
extern bit<32> count_class(in bit<8> class, out bit<32> total);

extern Sequence {
    Sequence();
    bit<16> next();
}

header request_t {
    bit<8>  class;
    bit<32> key;
    bit<32> of_class;
    bit<32> total;
    bit<16> first;
    bit<16> second;
}

struct headers_t {
    request_t request;
}

struct metadata_t {
}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.request);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Sequence() every;
    Sequence() odd;

    apply {
        hdr.request.of_class = count_class(hdr.request.class, hdr.request.total);
        scramble(hdr.request.key);
        hdr.request.first = every.next();
        if (hdr.request.class & 1 == 1) {
            hdr.request.second = odd.next();
        }
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
        packet.emit(hdr.request);
    }
}

V1Switch(MyParser(), NoVerify(), MyIngress(), MyEgress(), NoCompute(), MyDeparser()) main;
