// A full table whose oldest entry makes room.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<8> value;
    bit<8> found;
    bit<8> added;
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
    action store(bit<8> value) {
        headers.request.value = value;
    }
    action learn() {
        bool added = add_entry("store", headers.request.value, 0);
        headers.request.added = added ? 8w1 : 8w2;
    }

    @siding_full("oldest")
    table last {
        key = {
            headers.request.key: exact;
        }
        actions = {
            store;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        size = 1;
    }

    apply {
        headers.request.found = last.apply().hit ? 8w1 : 8w0;
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
