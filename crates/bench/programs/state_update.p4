// Two tables with the same entries: hits of one read a parameter of their entry, hits of the other change it. The type of a packet
// chooses the table; the first packet of a key adds the entry.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Ethernet {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header Request {
    bit<32> key;
    bit<32> value;
}

struct Headers {
    Ethernet ethernet;
    Request request;
}

struct Metadata {}

struct Counted {
    bit<32> n_packets;
}

parser StateParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t sm
) {
    state start {
        packet.extract(headers.ethernet);
        packet.extract(headers.request);
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control State(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    action read(bit<32> n_packets) {
        headers.request.value = n_packets;
    }

    action count(@__ref bit<32> n_packets) {
        n_packets = n_packets + 1;
        headers.request.value = n_packets;
    }

    action add_read() {
        add_entry("read", (Counted){ n_packets = headers.request.value }, 3);
    }

    action add_count() {
        add_entry("count", (Counted){ n_packets = headers.request.value }, 3);
    }

    table reads {
        key = {
            headers.request.key: exact;
        }
        actions = {
            read;
            @defaultonly add_read;
        }
        const default_action = add_read();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 0x200000;
    }

    table counts {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count;
            @defaultonly add_count;
        }
        const default_action = add_count();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 0x200000;
    }

    apply {
        if (headers.ethernet.ether_type == 0x88b5) {
            reads.apply();
        } else {
            counts.apply();
        }
        sm.egress_spec = sm.ingress_port;
    }
}

control StateEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    apply {}
}

control Compute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control StateDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.request);
    }
}

V1Switch(StateParser(), Verify(), State(), StateEgress(), Compute(), StateDeparser()) main;
