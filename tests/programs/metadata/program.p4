// What the switch tells a program about a packet: lengths, ports, times, types of instances, priorities.
#define OWN_HEADERS
#include "../include/probe.p4"

struct Headers {
    Probe probe;
}

struct Metadata {
    bit<32> early;
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        meta.early = standard.packet_length;
        packet.extract(headers.probe);
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
        switch (headers.probe.kind) {
            1: {
                headers.probe.a = standard.packet_length;
                headers.probe.b = meta.early;
            }
            2: {
                headers.probe.a = 23w0 ++ standard.ingress_port;
                standard.egress_spec = standard.ingress_port + 1;
            }
            3: {
                headers.probe.a = (bit<32>)standard.ingress_global_timestamp;
            }
            4: {
                standard.priority = headers.probe.flags[2:0];
            }
            5: {
                // The drop port.
                standard.egress_spec = 511;
            }
            6: {
                mark_to_drop(standard);
                // Changed its mind.
                standard.egress_spec = 3;
            }
            7: {
                standard.egress_spec = 510;
            }
            8: {
                // Not the port of a drop: the packet goes where the multicast group says.
                mark_to_drop(standard);
                standard.mcast_grp = 5;
            }
            9: {
                exit;
            }
        }
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        headers.probe.c = 7w0 ++ standard.egress_port;
        switch (headers.probe.kind) {
            4: {
                headers.probe.result = 13w0 ++ standard.priority;
            }
            10: {
                mark_to_drop(standard);
            }
            11: {
                // In egress it is too late for another port.
                standard.egress_spec = 4;
            }
            12: {
                headers.probe.a = standard.packet_length;
                headers.probe.setInvalid();
            }
        }
    }
}

#include "../include/switch.p4"
