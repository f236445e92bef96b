// Counters, registers and meters by index; hashes; checksums; random numbers; digests.
#define NO_EGRESS
#include "../include/probe.p4"

struct Seen {
    bit<32> a;
    bit<16> c;
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    counter(8, CounterType.packets_and_bytes) received;
    register<bit<32>>(4) cells;
    meter(4, MeterType.packets) limits;
    meter(4, MeterType.bytes) byte_limits;

    apply {
        standard.egress_spec = 1;
        bit<32> index = headers.probe.a;
        received.count(index);
        switch (headers.probe.kind) {
            1: {
                bit<32> old;
                cells.read(old, index);
                cells.write(index, old + headers.probe.b);
                headers.probe.result = old[15:0];
            }
            2: {
                bit<8> colour;
                limits.execute_meter(index, colour);
                headers.probe.flags = colour;
            }
            3: {
                hash(
                    headers.probe.result,
                    HashAlgorithm.crc16,
                    16w0,
                    { headers.probe.a, headers.probe.b },
                    32w0x10000
                );
            }
            4: {
                hash(
                    headers.probe.b,
                    HashAlgorithm.crc32,
                    32w0,
                    { headers.probe.a },
                    64w0x1_0000_0000
                );
            }
            5: {
                hash(
                    headers.probe.result,
                    HashAlgorithm.csum16,
                    16w0,
                    { headers.probe.a, headers.probe.b },
                    32w0x10000
                );
            }
            6: {
                hash(
                    headers.probe.result,
                    HashAlgorithm.identity,
                    16w100,
                    { headers.probe.c },
                    16w10
                );
            }
            7: {
                hash(
                    headers.probe.result,
                    HashAlgorithm.xor16,
                    16w0,
                    { headers.probe.a, headers.probe.b },
                    32w0x10000
                );
            }
            8: {
                bit<16> roll;
                random(roll, 16w7, 16w7);
                headers.probe.result = roll;
            }
            9: {
                digest<Seen>(1, { headers.probe.a, headers.probe.c });
            }
            10: {
                bit<8> colour;
                byte_limits.execute_meter(index, colour);
                headers.probe.flags = colour;
            }
        }
    }
}

#include "../include/switch.p4"
