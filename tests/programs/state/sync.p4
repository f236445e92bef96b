// U5: actions that change their entry, one for each way in which workers keep the changes apart.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> table_number;
    bit<8> key;
    bit<16> result;
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
    // Atomic: the count is read behind the addition only.
    action add(rmw bit<64> n) {
        n = n + 1;
        headers.request.result = (bit<16>)n;
    }

    action subtract(@__ref bit<32> n) {
        n = n - 1;
        if (headers.request.key == 0xff) {
            exit;
        }
        headers.request.result = (bit<16>)n;
    }

    action mark(@__ref bit<8> flags) {
        if (headers.request.key != 0xff) {
            flags = headers.request.key | flags;
        }
    }

    action keep_last(@__ref bit<16> last) {
        last = headers.request.result;
    }

    // In sequence: the value is read before.
    action saturate(@__ref bit<32> n) {
        if (n < 1000) {
            n = n + 1;
        }
    }

    // Sharded: it is only added to, and has no width of the machine.
    action add_narrow(@__ref bit<24> n) {
        n = n + 1;
    }

    @siding_sync("sequence")
    action add_in_sequence(@__ref bit<64> n) {
        n = n + 1;
    }

    @siding_sync("none")
    action add_alone(@__ref bit<64> n) {
        n = n + 1;
    }

    // None: it changes nothing.
    action read(@__ref bit<64> n) {
        headers.request.result = (bit<16>)n;
    }

    // A parameter of the list of actions, too.
    action add_of(inout bit<16> result, @__ref bit<16> n) {
        n = n + 2;
        result = n;
    }

    table one {
        key = {
            headers.request.key: exact;
        }
        actions = {
            add;
            subtract;
            mark;
            keep_last;
            saturate;
            add_narrow;
            add_in_sequence;
            add_alone;
            read;
            add_of(headers.request.result);
            NoAction;
        }
        default_action = NoAction();
        entries = {
            0: add(0);
            1: subtract(0);
            2: mark(0);
            3: keep_last(0);
            4: saturate(0);
            5: add_narrow(0);
            6: add_in_sequence(0);
            7: add_alone(0);
            8: read(5);
            9: add_of(headers.request.result, 0);
        }
        size = 16;
    }

    table masked {
        key = {
            headers.request.key: ternary;
        }
        actions = {
            add;
            saturate;
            NoAction;
        }
        default_action = NoAction();
        entries = {
            0x00 &&& 0xff: add(0);
            0x04 &&& 0xff: saturate(0);
        }
    }

    table defaults {
        actions = {
            add;
        }
        default_action = add(0);
    }

    apply {
        sm.egress_spec = 1;
        if (headers.request.table_number == 0) {
            one.apply();
        } else if (headers.request.table_number == 1) {
            masked.apply();
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
