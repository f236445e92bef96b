// Value sets: sets of a select that the control plane fills.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

struct Headers {
    Probe probe;
}

struct Metadata {
    bit<16> found;
}

struct Flow {
    @match(ternary)
    bit<32> a;
    bit<16> c;
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    value_set<bit<8>>(4) kinds;
    value_set<Flow>(4) flows;

    state start {
        packet.extract(headers.probe);
        transition select(headers.probe.kind) {
            kinds: known;
            9: flow;
            default: accept;
        }
    }

    state known {
        meta.found = 1;
        transition accept;
    }

    state flow {
        transition select(headers.probe.a, headers.probe.c) {
            flows: flow_found;
            default: accept;
        }
    }

    state flow_found {
        meta.found = 2;
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        headers.probe.result = meta.found;
    }
}

#include "../include/switch.p4"
