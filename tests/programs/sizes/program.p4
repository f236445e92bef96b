// Packets of all lengths: too short for the header, odd, larger than any Ethernet frame.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Rest {
    bit<8> byte;
}

struct Headers {
    Probe probe;
    Rest[8] rest;
}

struct Metadata {}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        transition select(packet.length() < 14) {
            true: short;
            default: probe;
        }
    }

    state probe {
        packet.extract(headers.probe);
        transition accept;
    }

    state short {
        packet.extract(headers.rest.next);
        transition short;
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
    counter(1, CounterType.packets_and_bytes) all;

    apply {
        all.count(0);
        standard.egress_spec = 1;
        if (headers.probe.isValid()) {
            headers.probe.a = standard.packet_length;
        }
    }
}

#include "../include/switch.p4"
