// Calls the functions of tool.c.
#include <core.p4>
#include <v1model.p4>

extern bit<16> tool(in bit<8> way, in bit<16> amount);

header request_t {
    bit<8>  way;
    bit<16> amount;
    bit<16> result;
    bit<8>  more;
}

header extra_t {
    bit<32> bytes;
}

struct headers_t {
    request_t request;
    extra_t   extra;
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
    apply {
        hdr.request.result = tool(hdr.request.way, hdr.request.amount);
        if (hdr.request.more == 1) {
            hdr.extra.setValid();
            hdr.extra.bytes = 0xe0e1e2e3;
        }
        if (hdr.request.more == 2) {
            // Once more, on what the first call has left.
            hdr.request.amount = tool(0, 0);
        }
        std.egress_spec = 1;
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.request.more == 3) {
            hdr.request.result = tool(hdr.request.way, hdr.request.amount);
        }
    }
}

control NoCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.request);
        packet.emit(hdr.extra);
    }
}

V1Switch(MyParser(), NoVerify(), MyIngress(), MyEgress(), NoCompute(), MyDeparser()) main;
