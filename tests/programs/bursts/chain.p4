// More tables than packets of a large burst wait for: each key is what the table before has found.
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    register<bit<16>>(256) numbers;
    bit<32> at = headers.probe.a;

    action step(bit<32> next) {
        at = next;
    }
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    // Each packet gets a number of its kind where it comes through the third table.
    action count(bit<32> next) {
        at = next;
        bit<32> kind = (bit<32>)headers.probe.kind;
        bit<16> number;
        numbers.read(number, kind);
        number = number + 1;
        numbers.write(kind, number);
        headers.probe.result = number;
    }

#define STEP(table_name, action_name) \
    table table_name { \
        key = { \
            at: exact; \
        } \
        actions = { \
            action_name; \
            NoAction; \
        } \
        default_action = NoAction; \
        size = 1024; \
    }
    STEP(first, step)
    STEP(second, step)
    STEP(third, count)
    STEP(fourth, step)
    STEP(fifth, step)
    STEP(last, forward)

    apply {
        // Packets that a table does not know leave here, with its number.
        standard.egress_spec = 5;
        if (!first.apply().hit) {
            headers.probe.flags = 1;
        } else if (!second.apply().hit) {
            headers.probe.flags = 2;
        } else if (!third.apply().hit) {
            headers.probe.flags = 3;
        } else if (!fourth.apply().hit) {
            headers.probe.flags = 4;
        } else if (!fifth.apply().hit) {
            headers.probe.flags = 5;
        } else {
            last.apply();
            headers.probe.b = at;
        }
    }
}

#define NO_EGRESS
#include "../include/switch.p4"
