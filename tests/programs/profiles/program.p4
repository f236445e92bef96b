// Action profiles and selectors: members that entries share, groups that spread packets.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action_profile(16) next_hops;
    action_selector(HashAlgorithm.crc16, 16, 14) paths;

    action answer(bit<16> value) {
        headers.probe.result = value;
    }

    action none() {}

    table shared {
        key = {
            headers.probe.a: exact;
        }
        actions = {
            answer;
            none;
        }
        default_action = none();
        implementation = next_hops;
    }

    table spread {
        key = {
            headers.probe.a: exact;
            headers.probe.b: selector;
            headers.probe.c: selector;
        }
        actions = {
            answer;
            none;
        }
        default_action = none();
        implementation = paths;
    }

    apply {
        standard.egress_spec = 1;
        if (headers.probe.kind == 1) {
            shared.apply();
        } else if (spread.apply().hit) {
            headers.probe.flags = 1;
        }
    }
}

#include "../include/switch.p4"
