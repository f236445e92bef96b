// The order of evaluation: arguments from left to right, short circuits, results that are copied out at the end.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

struct Headers {
    Probe probe;
}

struct Metadata {
    bit<16> rounds;
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    // Once for each packet.
    bit<16> n = 0x100;

    state start {
        packet.extract(headers.probe);
        transition round;
    }

    state round {
        // Each time.
        bit<16> fresh = 1;
        n = n + fresh;
        fresh = 100;
        transition select(n) {
            0 .. 0x104: round;
            default: done;
        }
    }

    state done {
        meta.rounds = n;
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

bit<16> next(inout bit<16> n) {
    n = n + 1;
    return n;
}

bool count(inout bit<16> n, in bool answer) {
    n = n + 1;
    return answer;
}

bit<32> pack(in bit<16> x, in bit<16> y) {
    return x ++ y;
}

bit<16> add_to(in bit<16> x, inout bit<16> y) {
    y = y + 1;
    return x + y;
}

@noWarn("shadow")
control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action answer(bit<16> value) {
        headers.probe.result = headers.probe.result + value;
    }

    table first {
        key = {
            headers.probe.a: exact @name("a");
        }
        actions = {
            answer;
            NoAction;
        }
        default_action = answer(1);
    }

    table second {
        key = {
            headers.probe.result: exact @name("result");
        }
        actions = {
            answer;
            NoAction;
        }
        default_action = answer(0x10);
    }

    apply {
        standard.egress_spec = 1;
        bit<16> n = 0;
        switch (headers.probe.kind) {
            1: {
                headers.probe.a = pack(next(n), next(n));
                headers.probe.b = next(n) ++ next(n);
                headers.probe.result = n;
            }
            2: {
                // Not evaluated when the left side says it all.
                bool x = headers.probe.a == 1 && count(n, true);
                bool y = headers.probe.a == 1 || count(n, true);
                bool z = headers.probe.a == 1 ? count(n, true) : false;
                headers.probe.result = n;
                headers.probe.flags = 5w0 ++ (bit<1>)x ++ (bit<1>)y ++ (bit<1>)z;
            }
            3: {
                // The first argument has been evaluated before the function changes the second.
                n = 5;
                headers.probe.result = add_to(n, n);
                headers.probe.c = n;
            }
            4: {
                headers.probe.result = meta.rounds;
            }
            5: {
                // The second table looks at what the first has done, and only when that missed.
                if (!first.apply().hit && !second.apply().hit) {
                    headers.probe.flags = 1;
                }
            }
            6: {
                // Shifts beyond the width leave nothing, or the sign.
                headers.probe.a = headers.probe.b << headers.probe.flags;
                headers.probe.c = headers.probe.c >> headers.probe.flags;
                int<16> signed = (int<16>)headers.probe.result;
                headers.probe.result = (bit<16>)(signed >> headers.probe.flags);
            }
            7: {
                // Names of inner blocks hide those of outer ones.
                bit<16> x = 1;
                {
                    bit<16> n = 7;
                    n = n + x;
                    headers.probe.result = n;
                }
                headers.probe.c = n;
            }
            8: {
                // Swapped at once: the right side is a value before anything is assigned.
                tuple<bit<32>, bit<32>> pair = { headers.probe.b, headers.probe.a };
                headers.probe.a = pair[0];
                headers.probe.b = pair[1];
                headers.probe.c = headers.probe.c[7:0] ++ headers.probe.c[15:8];
                headers.probe.result[11:4] = headers.probe.result[7:0];
            }
            default: {
                headers.probe.flags = 0xdd;
            }
        }
    }
}

#include "../include/switch.p4"
