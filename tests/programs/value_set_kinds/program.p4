// Value sets whose members are ranges, prefixes, masks, or anything.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

struct Headers {
    Probe probe;
}

struct Metadata {
    bit<16> found;
}

struct Zone {
    @match(lpm)
    bit<32> network;
    @match(range)
    bit<16> port;
    @match(optional)
    bit<8> flags;
}

struct Mask {
    @match(ternary)
    bit<32> a;
    @match(ternary)
    bit<16> c;
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    value_set<Zone>(8) zones;
    value_set<Mask>(8) masks;

    state start {
        packet.extract(headers.probe);
        transition select(headers.probe.kind) {
            1: zone;
            2: mask;
            default: accept;
        }
    }

    state zone {
        transition select(headers.probe.a, headers.probe.c, headers.probe.flags) {
            (0x0a0a0a0a, _, _): fixed;
            zones: in_a_zone;
            default: accept;
        }
    }

    state mask {
        transition select(headers.probe.a, headers.probe.c) {
            masks: masked;
            (0, 0): fixed;
            default: accept;
        }
    }

    state fixed {
        meta.found = 1;
        transition accept;
    }

    state in_a_zone {
        meta.found = 2;
        transition accept;
    }

    state masked {
        meta.found = 3;
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
