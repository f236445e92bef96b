// Every packet is encrypted, on another core if the user wants it so.
#include <core.p4>
#include <v1model.p4>
#include <siding_externs.p4>

header ethernet_t {
    bit<48> dstAddr;
    bit<48> srcAddr;
    bit<16> etherType;
}

struct headers {
    ethernet_t ethernet;
}

struct metadata {
    bool is_done;
}

parser GcmParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control GcmVerify(inout headers hdr, inout metadata meta) {
    apply { }
}

control GcmIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
        @async {
            meta.is_done = aes_gcm_encrypt(0, 128w0x000102030405060708090a0b0c0d0e0f, (bit<96>)hdr.ethernet.srcAddr);
        }
        if (!meta.is_done) {
            mark_to_drop(standard);
        }
    }
}

control GcmEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply { }
}

control GcmCompute(inout headers hdr, inout metadata meta) {
    apply { }
}

control GcmDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(GcmParser(), GcmVerify(), GcmIngress(), GcmEgress(), GcmCompute(), GcmDeparser()) main;
