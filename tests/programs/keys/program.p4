// Keys that are not just fields: expressions, slices, validity, Booleans, enums, errors; tables without keys.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Extra {
    bit<8> value;
}

struct Headers {
    Probe probe;
    Extra extra;
}

struct Metadata {}

enum bit<8> Level {
    Low = 1,
    High = 9
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.probe);
        transition select(headers.probe.flags) {
            1: extra;
            default: accept;
        }
    }

    state extra {
        packet.extract(headers.extra);
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    bool flag = headers.probe.b[0:0] == 1;
    int<8> signed = (int<8>)headers.probe.b[7:0];

    action answer(bit<16> value) {
        headers.probe.result = value;
    }

    // Parameters with directions come from the program, the others from the entry.
    action add_up(in bit<16> x, inout bit<16> y, bit<16> value) {
        y = x + value;
    }

    table expressions {
        key = {
            headers.probe.a + headers.probe.b: exact @name("sum");
            headers.probe.a[31:24]: ternary @name("first");
            headers.extra.isValid(): exact;
        }
        actions = {
            answer;
            NoAction;
        }
    }

    table booleans {
        key = {
            flag: exact;
            signed: exact;
            (Level)headers.probe.b[7:0]: exact @name("level");
        }
        actions = {
            answer;
            NoAction;
        }
    }

    table keyless {
        actions = {
            answer;
            add_up(headers.probe.c, headers.probe.result);
            NoAction;
        }
        default_action = NoAction();
    }

    table empty_key {
        key = {}
        actions = {
            answer;
        }
        const default_action = answer(0x1111);
    }

    table directions {
        key = {
            headers.probe.a: exact @name("a");
        }
        actions = {
            add_up(headers.probe.c, headers.probe.result);
            @tableonly answer;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
    }

    table whole_slices {
        key = {
            headers.probe.a[15:8]: lpm @name("middle");
        }
        actions = {
            answer;
        }
        default_action = answer(0xffff);
    }

    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                expressions.apply();
            }
            2: {
                booleans.apply();
            }
            3: {
                keyless.apply();
            }
            4: {
                empty_key.apply();
            }
            5: {
                directions.apply();
            }
            6: {
                whole_slices.apply();
            }
            7: {
                // What a hit means to tables without keys: there is none.
                headers.probe.result = keyless.apply().hit ? 16w1 : 16w2;
            }
        }
    }
}

#include "../include/switch.p4"
