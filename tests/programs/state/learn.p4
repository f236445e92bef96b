// Tables that packets write, in a v1model program: each item of the checklist that a script can show.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> key;
    bit<8> value;
    bit<8> command;
    bit<8> profile;
    bit<8> found;
    bit<8> result;
    bit<32> id;
}

struct Headers {
    Request request;
}
struct Metadata {}

struct StoreData {
    bit<8> value;
    bit<32> id;
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
    bit<8> command = headers.request.command;

    action store(bit<8> value, bit<32> id) {
        headers.request.value = value;
        headers.request.id = id;
        // Command 1: restart; command 2: another profile.
        update_expire_info(command == 1 || command == 2, command == 2, headers.request.profile);
    }
    action learn_again() {
        // The entry is there by now.
        bool added = add_entry("store", { headers.request.value, 32w0 }, headers.request.profile);
        headers.request.result = headers.request.result + (added ? 8w100 : 8w10);
    }
    action learn() {
        bit<32> id = allocate_flow_id();
        bool added = add_entry(
            "store",
            (StoreData){ value = headers.request.value, id = id },
            headers.request.profile
        );
        headers.request.result = added ? 8w1 : 8w2;
        headers.request.id = id;
        if (command == 3) {
            learn_again();
        }
    }
    action learn_if() {
        bool added = add_entry_if(command != 4, "I.keep", headers.request.value, 0);
        headers.request.result = added ? 8w1 : 8w2;
    }
    action keep(bit<8> value) {
        headers.request.value = value;
    }

    table flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            @tableonly store;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 3;
    }
    table kept {
        key = {
            headers.request.key: exact;
        }
        actions = {
            keep;
            @defaultonly learn_if;
        }
        const default_action = learn_if();
        add_on_miss = true;
        size = 8;
    }

    apply {
        if (command < 16) {
            headers.request.found = flows.apply().hit ? 8w1 : 8w0;
            if (command == 5) {
                headers.request.found = 8w10 + (flows.apply().hit ? 8w1 : 8w0);
            }
        } else {
            command = command - 16;
            headers.request.found = kept.apply().hit ? 8w1 : 8w0;
        }
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
