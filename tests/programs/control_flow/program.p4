// Exit, return, what is copied out on the way, and `switch` on actions and values.
#define NO_EGRESS
#include "../include/probe.p4"

bit<16> double_it(in bit<16> x) {
    if (x > 0x7fff) {
        return 0xffff;
    }
    return x * 2;
}

void swap(inout bit<16> x, inout bit<16> y) {
    bit<16> z = x;
    x = y;
    y = z;
}

control Inner(inout bit<16> x, out bit<8> code, in bit<8> kind) {
    apply {
        code = 1;
        x = x + 1;
        if (kind == 4) {
            return;
        }
        if (kind == 5) {
            code = 5;
            exit;
        }
        x = x + 0x10;
        code = 2;
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    Inner() inner;

    action one() {
        headers.probe.result = 1;
    }

    action two(inout bit<16> x, bit<16> value) {
        x = value;
    }

    action leave() {
        headers.probe.flags = 0xee;
        exit;
    }

    table choose {
        key = {
            headers.probe.a: exact;
        }
        actions = {
            one;
            two(headers.probe.result);
            leave;
            NoAction;
        }
    }

    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                headers.probe.result = double_it(headers.probe.c);
            }
            2: {
                swap(headers.probe.c, headers.probe.result);
            }
            3:
            4:
            5: {
                inner.apply(headers.probe.result, headers.probe.flags, headers.probe.kind);
                headers.probe.b = 0xffffffff;
            }
            6: {
                switch (choose.apply().action_run) {
                    one: {
                        headers.probe.flags = 1;
                    }
                    two: {
                        headers.probe.flags = 2;
                    }
                    default: {
                        headers.probe.flags = 3;
                    }
                }
            }
            7: {
                bool hit = choose.apply().hit;
                headers.probe.b = hit ? 32w1 : 32w2;
            }
            8: {
                // An argument that is a slice changes only its bits.
                swap(headers.probe.a[15:0], headers.probe.a[31:16]);
            }
            9: {
                // The last of two copies out stays.
                swap(headers.probe.c, headers.probe.c);
            }
            default: {
                headers.probe.flags = 0x0f;
            }
        }
    }
}

#include "../include/switch.p4"
