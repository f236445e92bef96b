// Meters and counters that belong to the entries of a table.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    direct_meter<bit<8>>(MeterType.packets) limits;
    direct_counter(CounterType.packets_and_bytes) hits;
    bit<8> colour = 0xff;

    action measure(bit<16> value) {
        limits.read(colour);
        headers.probe.result = value;
    }

    action unmeasured() {
        headers.probe.result = 0xffff;
    }

    table flows {
        key = {
            headers.probe.a: exact @name("a");
        }
        actions = {
            measure;
            unmeasured;
        }
        default_action = unmeasured();
        meters = limits;
        counters = hits;
        support_timeout = true;
        size = 16;
    }

    apply {
        standard.egress_spec = 1;
        flows.apply();
        headers.probe.flags = colour;
    }
}

#include "../include/switch.p4"
