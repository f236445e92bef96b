// U5: actions that only add to their entry. Each worker keeps a part of the sums, and readers add the parts up.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> table_number;
    bit<8> key;
    bit<16> n;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct PairData {
    bit<64> one;
    bit<9> port;
    bit<24> narrow;
    bit<64> other;
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
    // Two values that are equal in each entry, and one that no machine has.
    action pair(rmw bit<64> one, bit<9> port, @__ref bit<24> narrow, @__ref bit<64> other) {
        one = one + (bit<64>)headers.request.n;
        sm.egress_spec = port;
        if (headers.request.key[7:7] == 1) {
            narrow = narrow - 1;
        } else {
            narrow = 2 + narrow;
        }
        other = (bit<64>)headers.request.n + other;
    }

    // Without the annotation it would be atomic.
    @siding_sync("sharded")
    action count(@__ref bit<32> n) {
        sm.egress_spec = 1;
        n = n + 1;
    }

    // Widths that no machine has, an exit, and an argument of the list of actions.
    action narrow_and_wide(in bit<16> step, @__ref bit<7> low, bit<9> port, @__ref bit<100> high) {
        low = low + (bit<7>)step;
        sm.egress_spec = port;
        if (step == 0xffff) {
            exit;
        }
        high = high - (bit<100>)step - 1;
    }

    action learn() {
        add_entry("pair", (PairData){ one = 0, port = 2, narrow = 0xfffffe, other = 0 }, 0);
        sm.egress_spec = 3;
    }

    table known {
        key = {
            headers.request.key: exact;
        }
        actions = {
            pair;
            count;
            narrow_and_wide(headers.request.n);
        }
        default_action = count(100);
        entries = {
            0: pair(5, 2, 0xffffff, 5);
            1: count(0xfffffffe);
            2: narrow_and_wide(headers.request.n, 100, 4, 3);
        }
        size = 16;
    }

    table prefixes {
        key = {
            headers.request.key: lpm;
        }
        actions = {
            pair;
            count;
        }
        default_action = count(0);
        entries = {
            0x10 &&& 0xf0: pair(1, 2, 0, 1);
            0x18 &&& 0xf8: count(0);
        }
    }

    table masked {
        key = {
            headers.request.key: ternary;
        }
        actions = {
            pair;
            narrow_and_wide(headers.request.n);
            NoAction;
        }
        default_action = NoAction();
        entries = {
            0x01 &&& 0x0f: pair(1, 5, 0, 1);
            0x02 &&& 0x0f: narrow_and_wide(headers.request.n, 0, 6, 0);
        }
    }

    table learned {
        key = {
            headers.request.key: exact;
        }
        actions = {
            pair;
            @defaultonly learn;
        }
        default_action = learn();
        add_on_miss = true;
        size = 64;
    }

    table defaults {
        actions = {
            pair;
        }
        default_action = pair(0, 7, 0, 0);
    }

    apply {
        sm.egress_spec = 0;
        if (headers.request.table_number == 0) {
            known.apply();
        } else if (headers.request.table_number == 1) {
            prefixes.apply();
        } else if (headers.request.table_number == 2) {
            masked.apply();
        } else if (headers.request.table_number == 3) {
            learned.apply();
        } else {
            defaults.apply();
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
