// Two tables that packets wait for, numbers in the order of the packets, and packets that do not come that far.
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    register<bit<16>>(256) numbers;

    action drop() {
        mark_to_drop(standard);
    }
    action label(bit<32> value) {
        headers.probe.b = value;
    }
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    table labels {
        key = {
            headers.probe.a: exact;
        }
        actions = {
            label;
            drop;
            NoAction;
        }
        default_action = NoAction;
        size = 1024;
    }
    table routes {
        key = {
            headers.probe.b: lpm;
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop;
        size = 1024;
    }

    apply {
        if (headers.probe.isValid()) {
            switch (labels.apply().action_run) {
                drop: {
                    headers.probe.flags = 1;
                }
                default: {
                    routes.apply();
                    bit<32> kind = (bit<32>)headers.probe.kind;
                    bit<16> number;
                    numbers.read(number, kind);
                    number = number + 1;
                    numbers.write(kind, number);
                    headers.probe.result = number;
                }
            }
        } else {
            standard.egress_spec = 9;
        }
    }
}

#define NO_EGRESS
#include "../include/switch.p4"
