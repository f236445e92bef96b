// Flows that workers add, change and let end while a controller writes the same table.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<32> key;
    bit<32> value;
    bit<8> found;
    bit<8> differs;
    bit<32> n;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct FlowData {
    bit<32> value;
    bit<64> n;
    bit<64> again;
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
    // Both numbers are the same, unless an action is seen half.
    action flow(bit<32> value, @__ref bit<64> n, @__ref bit<64> again) {
        headers.request.found = 1;
        headers.request.value = value;
        headers.request.differs = n == again ? 8w0 : 8w1;
        n = n + 1;
        again = again + 1;
        headers.request.n = (bit<32>)n;
    }

    action learn() {
        bool added = add_entry(
            "flow",
            (FlowData){ value = headers.request.value, n = 0, again = 0 },
            0
        );
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
        size = 256;
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
