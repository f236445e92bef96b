// Packets that end in all ways that there are, by their first byte.
#include <core.p4>
#include <v1model.p4>

extern void judge(in bit<8> what);

header Order {
    bit<8> way;
    bit<8> value;
}

header Label {
    bit<256> bits;
}

struct Headers {
    Label label;
    Order order;
}

struct Metadata {
    @field_list(1)
    bit<8> rounds;
}

parser TheParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.order);
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control TheIngress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    counter(16, CounterType.packets) ways;

    action set(bit<8> value) {
        headers.order.value = value;
    }

    table values {
        key = {
            headers.order.way: exact;
        }
        actions = {
            set;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    apply {
        standard.egress_spec = 1;
        ways.count((bit<32>) headers.order.way);
        values.apply();
        if (standard.parser_error != error.NoError) {
            mark_to_drop(standard);
        } else if (headers.order.way == 1) {
            mark_to_drop(standard);
        } else if (headers.order.way == 2) {
            headers.label.setValid();
            headers.label.bits = 7;
        } else if (headers.order.way == 3) {
            standard.egress_spec = 77;
        } else if (headers.order.way == 4) {
            standard.mcast_grp = 5;
        } else if (headers.order.way == 5) {
            judge(headers.order.value);
        } else if (headers.order.way == 6 && meta.rounds < 3) {
            meta.rounds = meta.rounds + 1;
            headers.order.value = meta.rounds;
            resubmit_preserving_field_list(1);
        } else if (headers.order.way == 7) {
            clone_preserving_field_list(CloneType.E2E, 9, 1);
        } else if (headers.order.way == 8) {
            assert(headers.order.value == 0);
        } else if (headers.order.way == 9) {
            truncate(4);
        } else if (headers.order.way == 10) {
            standard.egress_spec = 64;
        }
    }
}

control TheEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        if (headers.order.way == 11) {
            mark_to_drop(standard);
        }
        if (headers.order.way == 4) {
            headers.order.value = (bit<8>) standard.egress_rid;
        }
        if (headers.order.way == 12 && headers.order.value == 0) {
            recirculate_preserving_field_list(1);
            headers.order.value = 12;
        }
    }
}

control Compute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control TheDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Compute(), TheDeparser()) main;
