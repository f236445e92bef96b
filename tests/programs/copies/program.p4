// Copies of copies: sessions with several ports, clones of clones, truncation, several rounds.
#define OWN_HEADERS
#include "../include/probe.p4"

struct Headers {
    Probe probe;
}

struct Metadata {
    @field_list(1)
    bit<8> round;
    @field_list(2)
    bit<8> copies;
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

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    register<bit<32>>(1) n_ingress;

    apply {
        standard.egress_spec = 1;
        bit<32> n;
        n_ingress.read(n, 0);
        n_ingress.write(0, n + 1);
        switch (headers.probe.kind) {
            1: {
                clone(CloneType.I2E, 5);
            }
            2: {
                clone(CloneType.I2E, 5);
                truncate(17);
            }
            3: {
                // The last session wins.
                clone(CloneType.I2E, 6);
                clone(CloneType.I2E, 5);
            }
            5: {
                if (meta.round < 3) {
                    meta.round = meta.round + 1;
                    resubmit_preserving_field_list(1);
                } else {
                    headers.probe.flags = meta.round;
                    headers.probe.b = standard.instance_type;
                }
            }
            6: {
                headers.probe.b = standard.instance_type;
            }
            7: {
                clone(CloneType.I2E, 5);
                mark_to_drop(standard);
            }
            8: {
                standard.mcast_grp = 7;
            }
        }
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    register<bit<32>>(1) n_egress;

    apply {
        bit<32> n;
        n_egress.read(n, 0);
        n_egress.write(0, n + 1);
        headers.probe.result = standard.instance_type[15:0];
        headers.probe.c = standard.egress_rid;
        switch (headers.probe.kind) {
            4: {
                // A clone asks for a clone again, twice.
                if (meta.copies < 2) {
                    meta.copies = meta.copies + 1;
                    clone_preserving_field_list(CloneType.E2E, 5, 2);
                }
                headers.probe.flags = meta.copies;
            }
            6: {
                // Round and round; the headers are those that were sent.
                if (headers.probe.flags < 3) {
                    headers.probe.flags = headers.probe.flags + 1;
                    recirculate_preserving_field_list(1);
                }
            }
            8: {
                // One replica is dropped, another is cloned.
                if (standard.egress_rid == 1) {
                    mark_to_drop(standard);
                } else if (standard.instance_type == 5) {
                    clone(CloneType.E2E, 5);
                }
            }
            9: {
                if (standard.instance_type == 0) {
                    clone(CloneType.E2E, 6);
                    mark_to_drop(standard);
                }
            }
            10: {
                if (standard.instance_type == 0) {
                    clone(CloneType.E2E, 5);
                    truncate(16);
                }
            }
        }
    }
}

#include "../include/switch.p4"
