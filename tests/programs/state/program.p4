// Tables that packets write, item by item: a packet says which table it asks, and what the action of a miss or of a hit does.

#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Request {
    bit<8> table_number;
    bit<8> key;
    bit<8> value;
    // To a miss: 1: changes the key before it adds; 2: adds twice; 4: adds if false; 8: adds nothing.
    // To a hit: 16: restarts; 32: sets the profile; 64: both by `update_expire_info`; 128: neither, by the conditional functions.
    bit<8> command;
    bit<8> profile;
    // 1 for each of two lookups that hits.
    bit<4> first;
    bit<4> second;
    // 1 for an entry that was added, 2 for one that was not, 0 if none was asked for.
    bit<4> added;
    bit<4> again;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct StoreData {
    bit<8> value;
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
    direct_counter(CounterType.packets) seen;
    bit<8> command = headers.request.command;
    bit<8> key = headers.request.key;

    action store(bit<8> value) {
        headers.request.value = value;
    }

    // The timers of entries are in its hands.
    action store_timed(bit<8> value) {
        headers.request.value = value;
        if (command & 16 != 0) {
            restart_expire_timer();
        }
        if (command & 32 != 0) {
            set_entry_expire_time(headers.request.profile);
        }
        if (command & 64 != 0) {
            update_expire_info(true, true, headers.request.profile);
        }
        if (command & 128 != 0) {
            set_entry_expire_time_if(false, headers.request.profile);
            update_expire_info(false, true, headers.request.profile);
        }
    }

    // The default action of several tables, each of which gets the entries of its own misses.
    action learn() {
        bool added = false;
        bool again = false;
        if (command & 1 != 0) {
            key = key + 100;
            headers.request.key = key;
        }
        if (command & 4 != 0) {
            added = add_entry_if(
                false,
                "store",
                { headers.request.value },
                headers.request.profile
            );
        } else if (command & 8 == 0) {
            added = add_entry(
                "store",
                (StoreData){ value = headers.request.value },
                headers.request.profile
            );
        }
        headers.request.added = command & 8 != 0 ? 4w0 : added ? 4w1 : 4w2;
        if (command & 2 != 0) {
            again = add_entry("store", (StoreData){ value = 0xff }, headers.request.profile);
            headers.request.again = again ? 4w1 : 4w2;
        }
    }

    action learn_timed() {
        bool added = add_entry("I.store_timed", headers.request.value, headers.request.profile);
        headers.request.added = added ? 4w1 : 4w2;
    }

    action learn_with_default() {
        bool added = add_entry("store", headers.request.value);
        headers.request.added = added ? 4w1 : 4w2;
    }

    action skip() {
        headers.request.added = 9;
    }

    // 0: hits restart its timers.
    table aged {
        key = {
            key: exact @name("key");
        }
        actions = {
            store;
            @defaultonly learn;
            @defaultonly skip;
        }
        default_action = learn();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        counters = seen;
        size = 4;
    }

    // 1: calls restart its timers.
    table timed {
        key = {
            key: exact @name("key");
        }
        actions = {
            store_timed;
            @defaultonly learn_timed;
        }
        const default_action = learn_timed();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 32;
    }

    // 2: its entries stay.
    table lasting {
        key = {
            key: exact @name("key");
        }
        actions = {
            store;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        size = 4;
    }

    // 3: its entries are reported, and stay.
    table reported {
        key = {
            key: exact @name("key");
        }
        actions = {
            store;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        support_timeout = true;
        size = 4;
    }

    // 4: its entries end, and packets add none.
    table ending {
        key = {
            key: exact @name("key");
        }
        actions = {
            store;
            NoAction;
        }
        default_action = NoAction();
        idle_timeout_with_auto_delete = true;
        size = 4;
    }

    // 5: one entry, whose profile is the table's.
    table one {
        key = {
            key: exact @name("key");
        }
        actions = {
            store;
            @defaultonly learn_with_default;
        }
        const default_action = learn_with_default();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        default_idle_timeout_for_data_plane_added_entries = 1;
        size = 1;
    }

    // 6: has entries of the program.
    table begun {
        key = {
            key: exact @name("key");
        }
        actions = {
            store;
            @defaultonly learn;
        }
        const default_action = learn();
        entries = {
            1: store(0x11);
            2: store(0x22);
        }
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 3;
    }

    apply {
        sm.egress_spec = 1;
        if (headers.request.table_number == 0) {
            headers.request.first = aged.apply().hit ? 4w1 : 0;
        } else if (headers.request.table_number == 1) {
            headers.request.first = timed.apply().hit ? 4w1 : 0;
        } else if (headers.request.table_number == 2) {
            headers.request.first = lasting.apply().hit ? 4w1 : 0;
        } else if (headers.request.table_number == 3) {
            headers.request.first = reported.apply().hit ? 4w1 : 0;
        } else if (headers.request.table_number == 4) {
            headers.request.first = ending.apply().hit ? 4w1 : 0;
        } else if (headers.request.table_number == 5) {
            headers.request.first = one.apply().hit ? 4w1 : 0;
        } else if (headers.request.table_number == 6) {
            headers.request.first = begun.apply().hit ? 4w1 : 0;
        } else {
            // The same packet twice, with the key of the packet.
            headers.request.first = lasting.apply().hit ? 4w1 : 0;
            key = headers.request.key;
            headers.request.second = lasting.apply().hit ? 4w1 : 0;
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
