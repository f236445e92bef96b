// Ranges, optional keys, and all kinds in one table.
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

    table ranges {
        key = {
            headers.probe.c: range @name("port");
        }
        actions = {
            answer;
            NoAction;
        }
    }

    table optionals {
        key = {
            headers.probe.a: optional @name("a");
            headers.probe.b: optional @name("b");
        }
        actions = {
            answer;
            NoAction;
        }
    }

    table all {
        key = {
            headers.probe.kind: exact @name("kind");
            headers.probe.a: ternary @name("a");
            headers.probe.b: lpm @name("b");
            headers.probe.c: range @name("c");
            headers.probe.flags: optional @name("flags");
        }
        actions = {
            answer;
            NoAction;
        }
    }

    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                ranges.apply();
            }
            2: {
                optionals.apply();
            }
            default: {
                all.apply();
            }
        }
    }
}

#include "../include/switch.p4"
