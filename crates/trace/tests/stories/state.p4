// Flows that packets add, and whose entries they change.
//> packet 1 05 01
//> packet 1 05 02
//> packet 1 05 00
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<8> step;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct CountData {
    bit<16> n;
    bit<8> last;
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
    action count(@__ref bit<16> n, @__ref bit<8> last) {
        n = n + (bit<16>)headers.request.step;
        last = headers.request.key;
        sm.egress_spec = 2;
    }

    action learn() {
        add_entry("count", (CountData){ n = 100, last = 0 }, 0);
        sm.egress_spec = 2;
    }

    table flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
    }

    apply {
        flows.apply();
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
