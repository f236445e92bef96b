// Tables that packets write in PNA 0.7: 0 says that an entry was added; timeouts are members of an enumeration.

#include <core.p4>
#include <bmv2/pna.p4>

header Request {
    bit<8> table_number;
    bit<8> key;
    bit<8> value;
    // To a hit: 1: restarts; 2: sets the profile, too; 4: sets the profile if bit 0 of `profile` is set.
    bit<8> command;
    bit<8> profile;
    // 1 for a hit; the statuses of two calls, 9 if there was none.
    bit<8> hit;
    bit<4> first;
    bit<4> second;
}

struct Headers {
    Request request;
}

struct Metadata {}

struct KeepData {
    bit<8> value;
}

parser ReadRequest(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in pna_main_parser_input_metadata_t istd
) {
    state start {
        packet.extract(headers.request);
        transition accept;
    }
}

control Work(
    inout Headers headers,
    inout Metadata meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    action keep(bit<8> value) {
        headers.request.value = value;
        update_expire_info(
            headers.request.command & 3 != 0,
            headers.request.command & 2 != 0,
            (ExpireTimeProfileId_t)headers.request.profile
        );
        set_entry_expire_time_if(
            headers.request.command & 4 != 0 && headers.request.profile[0:0] == 1,
            (ExpireTimeProfileId_t)headers.request.profile
        );
    }

    action stay(bit<8> value) {
        headers.request.value = value;
    }

    action learn() {
        AddEntryErrorStatus_t status = add_entry(
            "keep",
            (KeepData){ value = headers.request.value },
            (ExpireTimeProfileId_t)headers.request.profile
        );
        headers.request.first = status == ADD_ENTRY_SUCCESS ? 4w0 : 4w1;
        status = add_entry_if(
            headers.request.command & 8 != 0,
            "Work.keep",
            (KeepData){ value = 0xff },
            (ExpireTimeProfileId_t)headers.request.profile
        );
        headers.request.second = 3w0 ++ status;
    }

    action learn_to_stay() {
        headers.request.first =
            3w0
            ++ add_entry(
                "stay",
                headers.request.value,
                (ExpireTimeProfileId_t)headers.request.profile
            );
    }

    // 0
    table ending {
        key = {
            headers.request.key: exact @name("key");
        }
        actions = {
            keep;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        size = 3;
    }

    // 1
    table told {
        key = {
            headers.request.key: exact @name("key");
        }
        actions = {
            stay;
            @defaultonly learn_to_stay;
        }
        const default_action = learn_to_stay();
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.NOTIFY_CONTROL;
        size = 3;
    }

    // 2
    table lasting {
        key = {
            headers.request.key: exact @name("key");
        }
        actions = {
            stay;
            @defaultonly learn_to_stay;
        }
        const default_action = learn_to_stay();
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.NO_TIMEOUT;
        size = 3;
    }

    apply {
        headers.request.first = 9;
        headers.request.second = 9;
        send_to_port((PortId_t)32w9);
        if (headers.request.table_number == 0) {
            headers.request.hit = ending.apply().hit ? 8w1 : 0;
        } else if (headers.request.table_number == 1) {
            headers.request.hit = told.apply().hit ? 8w1 : 0;
        } else {
            headers.request.hit = lasting.apply().hit ? 8w1 : 0;
        }
    }
}

control WriteRequest(
    packet_out packet,
    inout Headers headers,
    in Metadata meta,
    in pna_main_output_metadata_t ostd
) {
    apply {
        packet.emit(headers.request);
    }
}

PNA_NIC(ReadRequest(), Work(), WriteRequest()) main;
