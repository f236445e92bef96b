// Actions that change the data of their entries, in tables of each kind.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<8> table_number;
    bit<8> add;
    bit<16> count;
    bit<48> last;
    bit<8> flags;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct CountData {
    bit<16> n;
    bit<48> last;
    bit<8> step;
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
    // The count and the key of the last packet are in the entry; the step is not changed.
    action count(@__ref bit<16> n, @__ref bit<48> last, bit<8> step) {
        headers.request.last = last;
        n = n + (bit<16>)step;
        headers.request.count = n;
        if (headers.request.add == 0xff) {
            return;
        }
        last = (bit<48>)headers.request.add;
        if (headers.request.add == 0xfe) {
            exit;
        }
        headers.request.flags = 1;
    }

    action learn() {
        add_entry("count", (CountData){ n = 100, last = 0, step = headers.request.add }, 0);
    }

    table learned {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        size = 16;
    }

    table known {
        key = {
            headers.request.key: exact;
        }
        actions = {
            count;
            NoAction;
        }
        default_action = count(5, 6, 1);
        size = 16;
    }

    table prefixes {
        key = {
            headers.request.key: lpm;
        }
        actions = {
            count;
            NoAction;
        }
        default_action = NoAction();
        entries = {
            8w0x10 &&& 8w0xf0: count(1000, 0, 1);
        }
    }

    table masked {
        key = {
            headers.request.key: ternary;
        }
        actions = {
            count;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        sm.egress_spec = 1;
        if (headers.request.table_number == 0) {
            learned.apply();
        } else if (headers.request.table_number == 1) {
            known.apply();
        } else if (headers.request.table_number == 2) {
            prefixes.apply();
        } else {
            masked.apply();
        }
        headers.request.flags = headers.request.flags + 2;
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
