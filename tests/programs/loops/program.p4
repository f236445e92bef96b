// `for` with its condition tested first, `continue` that runs the update, `break`, nested loops, ranges.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        bit<16> sum = 0;
        if (headers.probe.kind == 1) {
            // 1 + 2 + ... + a
            for (bit<32> i = 1; i <= headers.probe.a; i = i + 1) {
                sum = sum + (bit<16>)i;
            }
        } else if (headers.probe.kind == 2) {
            // Odd numbers below a, until b would be passed.
            for (bit<32> i = 0; i < headers.probe.a; i = i + 1) {
                if (i[0:0] == 0) {
                    continue;
                }
                if (i > headers.probe.b) {
                    break;
                }
                sum = sum + (bit<16>)i;
            }
        } else if (headers.probe.kind == 3) {
            for (bit<16> i in 1 .. 4) {
                for (bit<16> j in 1 .. 3) {
                    if (i == j) {
                        break;
                    }
                    sum = sum * 3 + j;
                }
            }
        } else if (headers.probe.kind == 5) {
            // Bodies that do not run leave nothing behind.
            bit<32> low = headers.probe.a;
            sum = 5;
            for (bit<8> i = 2; i < 1; i = i + 1) {
                sum = 7;
            }
            for (bit<8> i in 8w2 .. 8w1) {
                sum = sum + 0x10;
            }
            for (bit<32> i = headers.probe.a; i < headers.probe.b; i = i + 1) {
                sum = 9;
                low = 0;
            }
            headers.probe.c = (bit<16>)low;
        } else {
            for (bit<16> i in 9 .. 3) {
                sum = 0xdead;
            }
            // Changing a bound inside the loop does not matter.
            bit<16> last = 5;
            for (bit<16> i in 3 .. last) {
                last = 100;
                sum = sum + i;
            }
        }
        headers.probe.result = sum;
    }
}

#include "../include/switch.p4"
