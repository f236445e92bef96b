// Widths, signs, saturation, shifts, slices.
#define NO_EGRESS
#include "../include/probe.p4"

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        bit<16> x = headers.probe.a[31:16];
        bit<16> y = headers.probe.a[15:0];
        int<16> sx = (int<16>)x;
        int<16> sy = (int<16>)y;
        bit<16> r = 0;
        switch (headers.probe.kind) {
            1: {
                r = x + y;
            }
            2: {
                r = x - y;
            }
            3: {
                r = x * y;
            }
            4: {
                r = x |+| y;
            }
            5: {
                r = x |-| y;
            }
            6: {
                r = (bit<16>)(sx |+| sy);
            }
            7: {
                r = (bit<16>)(sx |-| sy);
            }
            8: {
                r = x << y;
            }
            9: {
                r = x >> y;
            }
            10: {
                r = (bit<16>)(sx >> y);
            }
            11: {
                r = -x;
            }
            12: {
                r = ~x ^ y;
            }
            13: {
                r = (bit<16>)(bit<1>)(sx < sy);
            }
            14: {
                r = (bit<16>)(bit<1>)(x < y);
            }
            15: {
                r = x[7:0] ++ y[15:8];
            }
            16: {
                r[11:4] = x[7:0];
            }
            17: {
                r = (bit<16>)(int<16>)(int<8>)y[7:0];
            }
            18: {
                r = (x == y ? 16w0x1111 : 16w0x2222);
            }
            19: {
                r = x | y & 0x00ff;
            }
            20: {
                bit<200> wide = headers.probe.a ++ headers.probe.b ++ 136w0;
                wide = wide >> 100;
                wide = wide + (wide << 60);
                r = wide[83:68] ^ wide[199:184];
            }
            21: {
                r = x[3+:8] ++ 8w0;
            }
            22: {
                x |+|= y;
                r = x;
            }
            23: {
                r = 0xffff;
                r[y[3:0]+:4] = 0;
            }
            24: {
                // Of what has been widened only zeros are left.
                r = (bit<16>)((bit<64>)x >> 39);
                r = r | (bit<16>)((bit<100>)headers.probe.a >> 70);
                r = r | (bit<16>)((bit<64>)y)[47:40];
                r = r | (bit<16>)((bit<48>)headers.probe.a)[47:33] | 0x0100;
            }
        }
        headers.probe.result = r;
    }
}

#include "../include/switch.p4"
