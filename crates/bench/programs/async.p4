// The layer-2 switch of the benchmarks, where some stations cost work: an extern that takes as many cycles as the entry
// says, on another core if the user wants it so.
#include <core.p4>
#include <v1model.p4>

extern void dummy(in bit<32> cycles);

header ethernet_t {
    bit<48> dstAddr;
    bit<48> srcAddr;
    bit<16> etherType;
}

struct headers {
    ethernet_t ethernet;
}

struct metadata {
    bit<1> learn;
    bit<1> do_extern;
    bit<32> cost;
}

parser AsyncParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control AsyncVerify(inout headers hdr, inout metadata meta) {
    apply { }
}

control AsyncIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action mac_learn() {
        meta.learn = 1;
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action work(bit<9> port, bit<32> cost) {
        standard.egress_spec = port;
        meta.do_extern = 1;
        meta.cost = cost;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table smac {
        key = {
            hdr.ethernet.srcAddr: exact;
        }
        actions = {
            mac_learn;
            NoAction;
        }
        const default_action = mac_learn();
        size = 131072;
    }

    table dmac {
        key = {
            hdr.ethernet.dstAddr: exact;
        }
        actions = {
            forward;
            work;
            drop;
        }
        const default_action = drop();
        size = 131072;
    }

    apply {
        smac.apply();
        dmac.apply();
        if (meta.do_extern == 1) {
            @async {
                dummy(meta.cost);
            }
        }
    }
}

control AsyncEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply { }
}

control AsyncCompute(inout headers hdr, inout metadata meta) {
    apply { }
}

control AsyncDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(AsyncParser(), AsyncVerify(), AsyncIngress(), AsyncEgress(), AsyncCompute(), AsyncDeparser()) main;
