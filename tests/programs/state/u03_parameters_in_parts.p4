// An action changes its entry through other actions, in parts, and in loops; its parameters are structs, signed and Boolean, too.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<8> command;
    bit<8> low;
    bit<8> high;
    int<16> signed_sum;
    bit<8> flag;
    bit<8> calls;
    bit<256> wide;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct Pair {
    bit<8> low;
    bit<8> high;
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
    action increase(inout bit<8> x, in bit<8> step) {
        x = x + step;
    }

    action give(out bit<8> x) {
        x = 0x40;
    }

    action work(
        @__ref Pair pair,
        @__ref int<16> sum,
        @__ref bool flag,
        bit<8> step,
        @__ref bit<256> wide
    ) {
        if (headers.request.command == 1) {
            give(pair.high);
        } else {
            increase(pair.low, step);
            increase(pair.low, step);
            pair.high[7:4] = pair.high[7:4] + 1;
            sum = sum - 100;
            flag = !flag;
            wide = wide + 1;
            wide[255:248] = headers.request.key;
        }
        headers.request.low = pair.low;
        headers.request.high = pair.high;
        headers.request.signed_sum = sum;
        headers.request.flag = flag ? 8w1 : 0;
        headers.request.wide = wide;
    }

    action learn() {
        add_entry("work", { { 8w1, 8w2 }, -1, true, 8w5, 256w7 }, 0);
    }

    table flows {
        key = {
            headers.request.key: exact @name("key");
        }
        actions = {
            work;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        size = 4;
    }

    apply {
        sm.egress_spec = 1;
        flows.apply();
        if (headers.request.command == 2) {
            // The same packet again: it sees what it has changed.
            flows.apply();
        }
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
