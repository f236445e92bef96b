// Packets of a burst of which some go on at the host: clones, packets that come once more, and digests.
#include "../include/probe.p4"

const bit<8> CLONE = 0x01;
const bit<8> RECIRCULATE = 0x02;
const bit<8> TELL = 0x04;

struct Told {
    bit<32> a;
    bit<16> c;
}

const bit<32> IS_INGRESS_CLONE = 1;

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action drop() {
        mark_to_drop(standard);
    }
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    table routes {
        key = {
            headers.probe.a: exact;
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop;
        size = 1024;
    }

    apply {
        routes.apply();
        if (headers.probe.kind & CLONE != 0) {
            clone(CloneType.I2E, 5);
        }
        if (headers.probe.kind & TELL != 0) {
            digest<Told>(1, { headers.probe.a, headers.probe.c });
        }
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets) marked;

    action mark(bit<16> value) {
        marked.count();
        headers.probe.c = headers.probe.c + value;
    }

    table marks {
        key = {
            headers.probe.b: exact;
        }
        actions = {
            mark;
            NoAction;
        }
        default_action = NoAction;
        size = 1024;
        counters = marked;
    }

    apply {
        marks.apply();
        if (standard.instance_type == IS_INGRESS_CLONE) {
            headers.probe.flags = 0xc1;
        } else if (headers.probe.kind & RECIRCULATE != 0 && headers.probe.flags == 0) {
            headers.probe.flags = 1;
            recirculate_preserving_field_list(0);
        }
    }
}

#include "../include/switch.p4"
