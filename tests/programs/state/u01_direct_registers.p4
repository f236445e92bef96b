// U1: registers with a cell for each entry, in tables of each kind.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<8> table_number;
    bit<8> add;
    bit<16> count;
    bit<16> last;
    bit<8> flags;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct Seen {
    bit<16> last;
    bool is_odd;
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
    DirectRegister<bit<16>>(100) n_learned;
    DirectRegister<Seen>() seen_by;
    DirectRegister<bit<16>>() n_known;
    DirectRegister<bit<24>>(0xfffffe) n_masked;

    // Reads and writes the entry of the action that calls it.
    action note(in bit<8> add) {
        Seen seen = seen_by.read();
        headers.request.last = seen.last;
        seen_by.write({ (bit<16>)add, !seen.is_odd });
        if (seen.is_odd) {
            headers.request.flags = 0x80;
        }
    }

    action use(bit<8> step) {
        n_learned.write(n_learned.read() + (bit<16>)step);
        headers.request.count = n_learned.read();
        note(headers.request.add);
        if (headers.request.add == 0xfe) {
            exit;
        }
        headers.request.flags = headers.request.flags + 1;
    }

    action learn() {
        n_learned.write(n_learned.read() + 1);
        headers.request.count = n_learned.read();
        add_entry("use", headers.request.add, 0);
    }

    table learned {
        key = {
            headers.request.key: exact;
        }
        actions = {
            use;
            @defaultonly learn;
        }
        const default_action = learn();
        registers = { n_learned, seen_by };
        add_on_miss = true;
        size = 16;
    }

    // One operation.
    action add() {
        n_known.write(n_known.read() + 1);
        headers.request.count = n_known.read();
    }

    action show(bit<16> more) {
        headers.request.count = n_known.read() + more;
    }

    table known {
        key = {
            headers.request.key: exact;
        }
        actions = {
            add;
            show;
            NoAction;
        }
        default_action = add();
        registers = n_known;
        entries = {
            1: add();
            2: show(5);
        }
        size = 16;
    }

    action bump() {
        n_masked.write(n_masked.read() + 3);
        headers.request.count = n_masked.read()[15:0];
    }

    action bump_twice() {
        bump();
        bump();
    }

    action add_to(inout bit<16> result, bit<16> step, rmw bit<8> n) {
        n_masked.write(n_masked.read() + (bit<24>)step);
        n = n + 1;
        result = n_masked.read()[15:0] + (bit<16>)n;
    }

    table masked {
        key = {
            headers.request.key: ternary;
        }
        actions = {
            bump;
            bump_twice;
            add_to(headers.request.count);
            NoAction;
        }
        default_action = NoAction();
        registers = { n_masked };
        entries = {
            8w0x70 &&& 8w0xf0: bump();
        }
    }

    apply {
        sm.egress_spec = 1;
        if (headers.request.table_number == 0) {
            learned.apply();
        } else if (headers.request.table_number == 1) {
            known.apply();
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
