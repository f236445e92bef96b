// Longest prefix wins, whatever the order in which entries come.
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

    table routes {
        key = {
            headers.probe.a: lpm;
        }
        actions = {
            answer;
            NoAction;
        }
        default_action = answer(0xffff);
        size = 16;
    }

    apply {
        standard.egress_spec = 1;
        routes.apply();
    }
}

#include "../include/switch.p4"
