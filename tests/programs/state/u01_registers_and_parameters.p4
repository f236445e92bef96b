// U1, U3: an entry with a register and with a parameter that its action changes.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<16> n_packets;
    bit<16> n_seen;
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
    DirectRegister<bit<16>>(0x10) seen;

    action count(@__ref bit<16> n, bit<9> port) {
        n = n + 1;
        seen.write(seen.read() + 2);
        headers.request.n_packets = n;
        headers.request.n_seen = seen.read();
        sm.egress_spec = port;
    }

    // Its parameter stays as it is.
    action show(bit<9> port) {
        headers.request.n_seen = seen.read();
        sm.egress_spec = port;
    }

    action learn() {
        add_entry("count", { 16w100, 9w1 }, 0);
        sm.egress_spec = 3;
    }

    table flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count;
            show;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        registers = seen;
        size = 8;
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
