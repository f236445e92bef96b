// A v1model program that declares the functions itself, with `add_entry` of two arguments and no result.

#include <core.p4>
#include <v1model.p4>

extern void add_entry<T>(string action_name, in T action_params);

header Request {
    bit<32> key;
    bit<32> value;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct ForwardData {
    bit<32> value;
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
    action forward(@__ref bit<32> value) {
        headers.request.value = value;
        value = value + 1;
    }
    action add() {
        add_entry("I.forward", (ForwardData){ value = headers.request.value });
    }
    table flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            forward;
            @defaultonly add;
        }
        default_action = add();
        add_on_miss = true;
        size = 2097152;
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
