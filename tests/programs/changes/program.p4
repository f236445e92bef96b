// Entries come, change and go while packets pass.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    direct_counter(CounterType.packets_and_bytes) hits;

    action answer(bit<16> value) {
        hits.count();
        headers.probe.result = value;
    }

    action nothing() {
        hits.count();
    }

    table exact_table {
        key = {
            headers.probe.a: exact;
        }
        actions = {
            answer;
            nothing;
        }
        default_action = nothing();
        counters = hits;
        size = 4;
    }

    apply {
        standard.egress_spec = 1;
        exact_table.apply();
    }
}

#include "../include/switch.p4"
