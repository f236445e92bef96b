// One exact table with the five fields of a flow, for `siding bench control`.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dstAddr;
    bit<48> srcAddr;
    bit<16> etherType;
}

header ipv4_t {
    bit<8> version_ihl;
    bit<8> diffserv;
    bit<16> totalLen;
    bit<32> flags;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdrChecksum;
    bit<32> srcAddr;
    bit<32> dstAddr;
}

header ports_t {
    bit<16> srcPort;
    bit<16> dstPort;
}

struct headers {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct metadata {
}

parser FlowParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        packet.extract(hdr.ports);
        transition accept;
    }
}

control FlowVerify(inout headers hdr, inout metadata meta) {
    apply { }
}

control FlowIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    action drop() {
        mark_to_drop(standard);
    }
    table flows {
        key = {
            hdr.ipv4.srcAddr: exact;
            hdr.ipv4.dstAddr: exact;
            hdr.ipv4.protocol: exact;
            hdr.ports.srcPort: exact;
            hdr.ports.dstPort: exact;
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 1048576;
    }
    apply {
        flows.apply();
    }
}

control FlowEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply { }
}

control FlowCompute(inout headers hdr, inout metadata meta) {
    apply { }
}

control FlowDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(FlowParser(), FlowVerify(), FlowIngress(), FlowEgress(), FlowCompute(), FlowDeparser()) main;
