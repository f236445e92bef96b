// Two tables that packets write, for comparisons with a model: hits restart the timers of one, calls those of the other. A third one
// only reports the end of its timeouts.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

#ifndef SIZE
#define SIZE 64
#endif

header Request {
    bit<8> table_number;
    bit<16> key;
    bit<32> value;
    bit<8> profile;
    // To a miss: 4: adds if false. To a hit: 1: restarts; 2: with the profile if it restarts.
    bit<8> command;
    // 1: hit; 2: added; 3: not added; 9: another default action.
    bit<8> found;
    bit<32> n;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct FlowData {
    bit<32> value;
    bit<32> n;
}

parser P(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(headers.request);
        transition accept;
    }
}

control V(inout Headers headers, inout Metadata meta) {
    apply {}
}

control I(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets) flow_packets;
    direct_counter(CounterType.packets) timed_packets;

    action flow(bit<32> value, @__ref bit<32> n) {
        headers.request.found = 1;
        headers.request.value = value;
        n = n + 1;
        headers.request.n = n;
    }

    action timed_flow(bit<32> value, @__ref bit<32> n) {
        headers.request.found = 1;
        headers.request.value = value;
        n = n + 1;
        headers.request.n = n;
        update_expire_info(
            headers.request.command & 1 != 0,
            headers.request.command & 2 != 0,
            headers.request.profile
        );
    }

    action learn() {
        bool added = add_entry_if(
            headers.request.command & 4 == 0,
            "flow",
            (FlowData){ value = headers.request.value, n = 0 },
            headers.request.profile
        );
        headers.request.found = added ? 8w2 : 8w3;
    }

    action learn_timed() {
        bool added = add_entry_if(
            headers.request.command & 4 == 0,
            "timed_flow",
            (FlowData){ value = headers.request.value, n = 0 },
            headers.request.profile
        );
        headers.request.found = added ? 8w2 : 8w3;
    }

    action skip() {
        headers.request.found = 9;
    }

    table flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            flow;
            @defaultonly learn;
            @defaultonly skip;
        }
        default_action = learn();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        counters = flow_packets;
        size = SIZE;
    }

    table timed_flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            timed_flow;
            @defaultonly learn_timed;
            @defaultonly skip;
        }
        default_action = learn_timed();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        counters = timed_packets;
        size = SIZE;
    }

    table told_flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            flow;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        support_timeout = true;
        size = SIZE;
    }

    apply {
        if (headers.request.table_number == 0) {
            flows.apply();
        } else if (headers.request.table_number == 1) {
            timed_flows.apply();
        } else {
            told_flows.apply();
        }
        sm.egress_spec = 1;
    }
}

control E(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    apply {}
}

control C(inout Headers headers, inout Metadata meta) {
    apply {}
}

control D(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.request);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
