// Tables with the same entries: hits of the first read a parameter of their entry, hits of the others count in it, and workers keep
// these changes apart in different ways. The type of a packet chooses the table; the first packet of a key adds the entry.
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

    @siding_sync("none")
    action count_none(@__ref bit<32> n_packets) {
        n_packets = n_packets + 1;
    }

    @siding_sync("atomic")
    action count_atomic(@__ref bit<32> n_packets) {
        n_packets = n_packets + 1;
    }

    @siding_sync("sequence")
    action count_sequence(@__ref bit<32> n_packets) {
        n_packets = n_packets + 1;
    }

    @siding_sync("sharded")
    action count_sharded(@__ref bit<32> n_packets) {
        n_packets = n_packets + 1;
    }

    action add_read() {
        add_entry("read", (Counted){ n_packets = 0 }, 3);
    }

    action add_count_none() {
        add_entry("count_none", (Counted){ n_packets = 0 }, 3);
    }

    action add_count_atomic() {
        add_entry("count_atomic", (Counted){ n_packets = 0 }, 3);
    }

    action add_count_sequence() {
        add_entry("count_sequence", (Counted){ n_packets = 0 }, 3);
    }

    action add_count_sharded() {
        add_entry("count_sharded", (Counted){ n_packets = 0 }, 3);
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

    table by_none {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count_none;
            @defaultonly add_count_none;
        }
        const default_action = add_count_none();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 0x200000;
    }

    table by_atomic {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count_atomic;
            @defaultonly add_count_atomic;
        }
        const default_action = add_count_atomic();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 0x200000;
    }

    table by_sequence {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count_sequence;
            @defaultonly add_count_sequence;
        }
        const default_action = add_count_sequence();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 0x200000;
    }

    table by_sharded {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count_sharded;
            @defaultonly add_count_sharded;
        }
        const default_action = add_count_sharded();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 0x200000;
    }

    apply {
        switch (headers.ethernet.ether_type) {
            0x88b5: {
                reads.apply();
            }
            0x88b6: {
                by_none.apply();
            }
            0x88b7: {
                by_atomic.apply();
            }
            0x88b8: {
                by_sequence.apply();
            }
            0x88b9: {
                by_sharded.apply();
            }
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
