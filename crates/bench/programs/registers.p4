// A count of packets for each value of a field: the plainest action that reads, changes and writes state.
//
// `siding bench sim --cpu` runs it on workers that share the counts.
#include <core.p4>
#include <v1model.p4>

const bit<32> N_CELLS = 65536;

header ethernet_t {
    bit<48> dstAddr;
    bit<48> srcAddr;
    bit<16> etherType;
}

struct headers {
    ethernet_t ethernet;
}

struct metadata {
}

parser CountParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control CountVerify(inout headers hdr, inout metadata meta) {
    apply { }
}

control CountIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    register<bit<64>>(N_CELLS) counts;
    apply {
        bit<64> count;
        bit<32> cell = (bit<32>)hdr.ethernet.dstAddr[15:0];
        @atomic {
            counts.read(count, cell);
            counts.write(cell, count + 1);
        }
        standard.egress_spec = 1;
    }
}

control CountEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply { }
}

control CountCompute(inout headers hdr, inout metadata meta) {
    apply { }
}

control CountDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(CountParser(), CountVerify(), CountIngress(), CountEgress(), CountCompute(), CountDeparser()) main;
