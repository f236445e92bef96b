// Functions: directions, early returns, values of all types; structs and tuples in structs; enums with values.
#define NO_EGRESS
#include "../include/probe.p4"

struct Pair {
    bit<16> left;
    bit<16> right;
}

struct Nested {
    Pair pair;
    tuple<bit<8>, Pair> mixed;
    bool ok;
}

enum bit<8> Colour {
    Red = 0x0a,
    Green = 0x0b,
    Blue = 0xf0
}

enum Size {
    Small,
    Large
}

bit<16> classify(in bit<32> x) {
    if (x == 0) {
        return 0;
    }
    if (x < 10) {
        if (x[0:0] == 1) {
            return 1;
        }
        return 2;
    }
    return 3;
}

void divide(in bit<16> x, out bit<16> half, inout bit<8> odd) {
    half = x >> 1;
    if (x[0:0] == 0) {
        return;
    }
    odd = odd + 1;
}

Pair turn(in Pair pair) {
    return { pair.right, pair.left };
}

Nested build(in bit<16> x, in bit<16> y) {
    Pair pair = { x, y };
    Nested nested = { pair, { 8w7, turn(pair) }, x == y };
    return nested;
}

Size measure(in bit<16> x) {
    return x > 0xff ? Size.Large : Size.Small;
}

T choose<T>(in bool first, in T x, in T y) {
    if (first) {
        return x;
    }
    return y;
}

// Changing a parameter of direction `in` is not possible; a copy of it is.
bit<16> sum_to(in bit<16> n) {
    bit<16> left = n;
    bit<16> sum = 0;
    for (bit<16> i = 1; i <= left; i = i + 1) {
        sum = sum + i;
        if (sum > 100) {
            return 0xffff;
        }
    }
    return sum;
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                headers.probe.result = classify(headers.probe.a);
            }
            2: {
                // `out` and `inout` are copied when the function returns, from left to right.
                divide(headers.probe.c, headers.probe.result, headers.probe.flags);
            }
            3: {
                Nested nested = build(headers.probe.a[31:16], headers.probe.a[15:0]);
                headers.probe.b = nested.pair.left ++ nested.mixed[1].left;
                headers.probe.result = nested.mixed[1].right;
                headers.probe.flags = nested.mixed[0] + (nested.ok ? 8w1 : 8w0);
            }
            4: {
                Nested x = build(1, 2);
                Nested y = build(headers.probe.a[31:16], headers.probe.a[15:0]);
                headers.probe.flags = x == y ? 8w1 : 8w0;
            }
            5: {
                headers.probe.flags = measure(headers.probe.c) == Size.Large ? 8w2 : 8w1;
                headers.probe.result = choose<bit<16>>(
                    headers.probe.a == 1,
                    headers.probe.c,
                    0xabcd
                );
            }
            6: {
                headers.probe.result = sum_to(headers.probe.c);
            }
            7: {
                // Any value of the underlying type fits in an enum.
                Colour colour = (Colour)headers.probe.flags;
                switch (colour) {
                    Colour.Red: {
                        headers.probe.result = 1;
                    }
                    Colour.Green:
                    Colour.Blue: {
                        headers.probe.result = 2;
                    }
                    default: {
                        headers.probe.result = 3;
                    }
                }
                headers.probe.c = 8w0 ++ (bit<8>)colour;
            }
            8: {
                // The argument is evaluated before the call, the place is fixed then, too.
                bit<16> half;
                divide(classify(headers.probe.a) + headers.probe.c, half, headers.probe.flags);
                headers.probe.result = half;
            }
        }
    }
}

#include "../include/switch.p4"
