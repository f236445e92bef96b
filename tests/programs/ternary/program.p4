// The larger priority wins; of equal ones the entry that came first.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action answer(bit<16> value) {
        headers.probe.result = value;
    }

    table rules {
        key = {
            headers.probe.a: ternary;
            headers.probe.c: ternary;
            headers.probe.kind: exact;
        }
        actions = {
            answer;
            NoAction;
        }
    }

    apply {
        standard.egress_spec = 1;
        if (!rules.apply().hit) {
            headers.probe.flags = 1;
        }
    }
}

#include "../include/switch.p4"
