// Controls that apply controls: instances with their own objects, arguments of all directions, direct application.
#define NO_EGRESS
#include "../include/probe.p4"

control Adder(inout bit<16> x, in bit<16> y) {
    apply {
        x = x + y;
    }
}

// `step` is a parameter of the constructor: each instance has its own, and its own table and register.
control Stage(inout Probe probe, in bit<32> key_value)(bit<16> step) {
    register<bit<16>>(4) passed;

    action answer(bit<16> value) {
        probe.result = probe.result + value + step;
    }

    table choose {
        key = {
            key_value: exact @name("key");
        }
        actions = {
            answer;
            NoAction;
        }
    }

    apply {
        bit<16> n;
        passed.read(n, 0);
        passed.write(0, n + 1);
        choose.apply();
    }
}

control Outer(inout Probe probe) {
    Stage(0x100) stage;
    Adder() adder;

    apply {
        adder.apply(probe.result, 1);
        stage.apply(probe, probe.b);
        adder.apply(probe.result, (bit<16>)probe.flags);
    }
}

control Outputs(in bit<8> kind, out bit<16> first, out bit<16> second, inout bit<16> third) {
    apply {
        first = 1;
        second = third;
        if (kind == 5) {
            return;
        }
        third = 3;
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    Stage(0x1000) left;
    Stage(0x2000) right;
    Outer() outer;
    Adder() adder;
    Outputs() outputs;

    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                left.apply(headers.probe, headers.probe.a);
                right.apply(headers.probe, headers.probe.b);
            }
            2: {
                // Twice the same instance, with different arguments.
                left.apply(headers.probe, headers.probe.a);
                left.apply(headers.probe, headers.probe.b);
            }
            3: {
                outer.apply(headers.probe);
            }
            4: {
                adder.apply(headers.probe.result, headers.probe.c);
                adder.apply(headers.probe.c, headers.probe.result);
                adder.apply(headers.probe.a[15:0], headers.probe.a[31:16]);
            }
            5:
            6: {
                outputs.apply(
                    headers.probe.kind,
                    headers.probe.a[31:16],
                    headers.probe.a[15:0],
                    headers.probe.c
                );
            }
            7: {
                // By name, in another order; and without an instance.
                adder.apply(y = 16w5, x = headers.probe.result);
                Adder.apply(headers.probe.result, 0x10);
                Adder.apply(headers.probe.result, 0x20);
            }
        }
    }
}

#include "../include/switch.p4"
