// Asynchronous blocks between a miss and the entry that it adds, and between two changes of an entry. A third one lets packets wait.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<8> value;
    bit<8> found;
    bit<8> n;
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
    action store(bit<8> value, @__ref bit<8> n) {
        headers.request.value = value;
        n = n + 1;
        @async {
            headers.request.found = headers.request.found + 16;
        }
        n = n + 1;
        headers.request.n = n;
    }
    action learn() {
        @async {
            headers.request.found = headers.request.found + 32;
        }
        bool added = add_entry("store", { headers.request.value, 8w0 }, 0);
        headers.request.found = headers.request.found + (added ? 8w1 : 8w2);
    }
    table flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            store;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        size = 16;
    }
    apply {
        @async {
            headers.request.found = headers.request.found + 64;
        }
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
