// Clones, multicast, resubmission, recirculation, truncation, and combinations of them.
#define OWN_HEADERS
#include "../include/probe.p4"

struct Headers {
    Probe probe;
}

struct Metadata {
    @field_list(1)
    bit<16> kept;
    bit<16> lost;
    @field_list(1, 2)
    bit<8> round;
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.probe);
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

const bit<8> CLONE = 0x01;
const bit<8> MULTICAST = 0x02;
const bit<8> RESUBMIT = 0x04;
const bit<8> RECIRCULATE = 0x08;
const bit<8> TRUNCATE = 0x10;
const bit<8> DROP = 0x20;
const bit<8> CLONE_EGRESS = 0x40;

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        headers.probe.c[15:8] = meta.round;
        if (headers.probe.kind & RESUBMIT != 0 && meta.round == 0) {
            meta.kept = 0x1111;
            meta.lost = 0x2222;
            meta.round = 1;
            // What was written to the headers is lost: the packet starts again as it came.
            headers.probe.result = 0xbad;
            resubmit_preserving_field_list(1);
        } else {
            headers.probe.result = meta.kept + meta.lost;
        }
        if (headers.probe.kind & CLONE != 0) {
            meta.kept = 0x0c0c;
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        }
        if (headers.probe.kind & MULTICAST != 0) {
            standard.mcast_grp = 7;
        }
        if (headers.probe.kind & TRUNCATE != 0) {
            truncate(16);
        }
        if (headers.probe.kind & DROP != 0) {
            mark_to_drop(standard);
        }
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        // 0 normal, 1 ingress clone, 2 egress clone, 5 replica
        headers.probe.flags[7:4] = standard.instance_type[3:0];
        headers.probe.flags[3:0] = standard.egress_rid[3:0];
        if (standard.instance_type == 1) {
            headers.probe.result = meta.kept;
        }
        if (headers.probe.kind & RECIRCULATE != 0 && meta.round == 0) {
            meta.round = 3;
            headers.probe.b = headers.probe.b + 1;
            recirculate_preserving_field_list(2);
        }
        if (headers.probe.kind & CLONE_EGRESS != 0 && standard.instance_type == 0) {
            clone(CloneType.E2E, 5);
        }
    }
}

#include "../include/switch.p4"
