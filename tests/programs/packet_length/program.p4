// `packet_length` in egress counts the headers that have become valid and invalid since the packet arrived.
#define OWN_HEADERS
#include "../include/probe.p4"

/// 4 bytes.
header Word {
    bit<32> word;
}

struct Headers {
    Probe probe;
    Word x;
    Word y;
    Word[2] words;
}

struct Metadata {
    @field_list(1)
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
        transition select(headers.probe.c) {
            1: x;
            2: new;
            default: accept;
        }
    }

    state x {
        packet.extract(headers.x);
        transition accept;
    }

    state new {
        // Parsers can do it, too.
        headers.y.setValid();
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

control Both(inout Headers headers, inout standard_metadata_t standard) {
    apply {
        headers.x.setValid();
        headers.y.setValid();
        standard.egress_spec = 1;
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action set_x() {
        headers.x.setValid();
    }

    table setting {
        key = {
            headers.probe.kind: exact;
        }
        actions = {
            set_x;
            NoAction;
        }
        default_action = NoAction();
        const entries = {
            11: set_x();
        }
    }

    apply {
        standard.egress_spec = 1;
        setting.apply();
        switch (headers.probe.kind) {
            1: {
                headers.x.setValid();
                headers.x.setValid();
                // Ingress finds the length on arrival.
                headers.probe.a = standard.packet_length;
            }
            2: {
                headers.x.setInvalid();
                headers.x.setInvalid();
            }
            3: {
                headers.x = { 0x11223344 };
                headers.y = (Word){#};
            }
            4: {
                // Copies do not count.
                headers.y = headers.x;
            }
            5: {
                headers.x.setValid();
                clone(CloneType.I2E, 5);
            }
            6: {
                headers.x.setValid();
            }
            7: {
                headers.x.setValid();
            }
            8: {
                headers.x.setValid();
                if (meta.round == 0) {
                    meta.round = 1;
                    resubmit_preserving_field_list(1);
                }
            }
            9: {
                headers.x.setValid();
                standard.mcast_grp = 9;
            }
            10: {
                // Egress does not get what ingress writes.
                standard.packet_length = 7;
            }
            12: {
                Both.apply(headers, standard);
            }
            13: {
                headers.words[headers.probe.a].setValid();
            }
            14: {
                headers.words[headers.probe.a].setValid();
                headers.words[headers.probe.a].setInvalid();
            }
        }
    }
}

control Seen(inout Headers headers, in standard_metadata_t standard) {
    apply {
        headers.probe.b = standard.packet_length;
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        if (headers.probe.kind == 6 && standard.instance_type == 0) {
            // The clone comes back to egress with the header of egress.
            headers.y.setValid();
            clone(CloneType.E2E, 5);
        }
        if (headers.probe.kind == 7 && meta.round == 0) {
            meta.round = 1;
            headers.y.setValid();
            recirculate_preserving_field_list(1);
        }
        Seen.apply(headers, standard);
    }
}

#include "../include/switch.p4"
