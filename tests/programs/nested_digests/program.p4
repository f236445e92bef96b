// Digests of nested structs, wide registers, two arrays of counters, messages, assertions.
#define NO_EGRESS
#include "../include/probe.p4"

struct Flow {
    bit<32> source;
    bit<32> destination;
}

struct Report {
    Flow flow;
    bit<16> port;
    bool urgent;
}

struct Short {
    bit<8> kind;
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    register<bit<200>>(2) wide;
    register<int<16>>(2) signed;
    register<bit<1>>(8) marks;
    counter(4, CounterType.bytes) bytes;
    counter(4, CounterType.packets) packets;

    apply {
        standard.egress_spec = 1;
        switch (headers.probe.kind) {
            1: {
                digest<Report>(
                    1,
                    {
                        { headers.probe.a, headers.probe.b },
                        headers.probe.c,
                        headers.probe.flags == 1
                    }
                );
            }
            2: {
                bit<200> old;
                wide.read(old, headers.probe.b);
                wide.write(headers.probe.b, old << 16 | (bit<200>)headers.probe.c);
                headers.probe.result = old[199:184];
            }
            3: {
                int<16> old;
                signed.read(old, 0);
                signed.write(0, old - (int<16>)headers.probe.c);
                headers.probe.result = (bit<16>)(old >> 1);
            }
            4: {
                bit<1> mark;
                marks.read(mark, headers.probe.a);
                marks.write(headers.probe.a, ~mark);
                headers.probe.flags = 7w0 ++ mark;
            }
            5: {
                log_msg("a is {}, b is {}", { headers.probe.a, headers.probe.b });
                log_msg("done");
                assert(headers.probe.c != 0);
                assume(headers.probe.c != 1);
                headers.probe.flags = 1;
            }
            6: {
                bytes.count(headers.probe.a);
                packets.count(headers.probe.a);
            }
            7: {
                // Two digests of one packet, of two types.
                digest<Short>(1, { headers.probe.kind });
                digest<Report>(1, { { 1, 2 }, 3, true });
            }
        }
    }
}

#include "../include/switch.p4"
