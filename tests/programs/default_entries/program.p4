// Default entries of tables of each kind, with direct counters and meters.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    direct_counter(CounterType.packets_and_bytes) of_always;
    direct_counter(CounterType.bytes) of_prefixes;
    direct_counter(CounterType.packets) of_masks;
    direct_counter(CounterType.packets) of_fixed;
    direct_meter<bit<8>>(MeterType.packets) limits;
    bit<8> colour = 0xff;

    action mark() {
        headers.probe.result = headers.probe.result + 1;
    }

    action measure() {
        limits.read(colour);
    }

    table always {
        actions = {
            mark;
        }
        const default_action = mark();
        counters = of_always;
    }

    table metered {
        actions = {
            measure;
        }
        const default_action = measure();
        meters = limits;
    }

    table prefixes {
        key = {
            headers.probe.a: lpm @name("a");
        }
        actions = {
            mark;
            NoAction;
        }
        counters = of_prefixes;
    }

    table masks {
        key = {
            headers.probe.a: ternary @name("a");
        }
        actions = {
            mark;
            NoAction;
        }
        counters = of_masks;
        size = 8;
    }

    table fixed {
        key = {
            headers.probe.b[7:0]: exact @name("b");
        }
        actions = {
            mark;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            1: mark();
        }
        counters = of_fixed;
    }

    apply {
        standard.egress_spec = 1;
        always.apply();
        metered.apply();
        prefixes.apply();
        masks.apply();
        fixed.apply();
        headers.probe.flags = colour;
    }
}

#include "../include/switch.p4"
