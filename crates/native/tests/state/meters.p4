// Flows with a direct meter and a direct counter.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> table_number;
    bit<16> key;
    bit<32> value;
    bit<8> profile;
    bit<8> command;
    // 1: hit; 2: added; 3: not added.
    bit<8> found;
    bit<32> colour;
}

struct Headers {
    Request request;
}

struct Metadata {}

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
    direct_meter<bit<32>>(MeterType.packets) flow_meter;

    action flow(bit<32> value) {
        headers.request.found = 1;
        headers.request.value = value;
        flow_meter.read(headers.request.colour);
    }

    action learn() {
        bool added = add_entry("flow", headers.request.value, headers.request.profile);
        headers.request.found = added ? 8w2 : 8w3;
    }

    table flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            flow;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        counters = flow_packets;
        meters = flow_meter;
        size = 16;
    }

    apply {
        flows.apply();
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
