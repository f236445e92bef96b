// Calls one extern after the other, chosen by the first byte, and shows what it gives.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8>  op;
    bit<32> index;
    bit<64> value;
}

header ipv4_t {
    bit<64> first;
    bit<16> ttl_protocol;
    bit<16> checksum;
    bit<64> addresses;
}

struct headers_t {
    op_t   op;
    ipv4_t ipv4;
}

struct learn_t {
    bit<9>  port;
    bit<32> index;
}

struct meta_t {}

parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(h.op);
        transition select(h.op.op) {
            0x40 .. 0x4f: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        p.extract(h.ipv4);
        transition accept;
    }
}

control V(inout headers_t h, inout meta_t m) {
    apply {
        verify_checksum(h.op.op == 0x40, { h.ipv4.first, h.ipv4.ttl_protocol, h.ipv4.addresses },
                        h.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(h.op.op == 0x41, { h.ipv4.first }, h.ipv4.checksum,
                                     HashAlgorithm.csum16);
    }
}

control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<48>>(16) cells;
    counter(16, CounterType.packets_and_bytes) counts;
    meter(16, MeterType.packets) meters;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<8>>(MeterType.packets) colours;
    bit<8> colour;

    action metered() {
        colours.read(colour);
    }

    table t {
        key = { h.op.index : exact; }
        actions = { metered; NoAction; }
        const default_action = NoAction();
        counters = hits;
        meters = colours;
        const entries = {
            1 : metered();
            2 : metered();
        }
    }

    apply {
        s.egress_spec = 1;
        bit<48> cell = 0x111111111111;
        bit<64> v = h.op.value;
        colour = 9;
        if (h.op.op == 1) {
            cells.write(h.op.index, (bit<48>)v);
        } else if (h.op.op == 2) {
            cells.read(cell, h.op.index);
            v = (bit<64>)cell;
        } else if (h.op.op == 3) {
            counts.count(h.op.index);
        } else if (h.op.op == 4) {
            meters.execute_meter(h.op.index, colour);
            v = (bit<64>)colour;
        } else if (h.op.op == 5) {
            t.apply();
            v = (bit<64>)colour;
        } else if (h.op.op == 6) {
            digest<learn_t>(1, { s.ingress_port, h.op.index });
            digest<learn_t>(2, { s.ingress_port, h.op.index + 1 });
        } else if (h.op.op == 7) {
            random(v, (bit<64>)h.op.index, (bit<64>)h.op.index + 5);
        } else if (h.op.op == 8) {
            log_msg("index {} of {}", { h.op.index, h.op.op });
        } else if (h.op.op == 9) {
            assume(h.op.index == 0);
        } else if (h.op.op == 0x10) {
            hash(v, HashAlgorithm.crc32, 64w0, { h.op.index }, 64w0x100000000);
        } else if (h.op.op == 0x11) {
            hash(v, HashAlgorithm.crc16, 64w1000, { h.op.index, h.op.value }, 64w10);
        } else if (h.op.op == 0x12) {
            hash(v, HashAlgorithm.identity, 64w7, { h.op.index }, 64w0);
        } else if (h.op.op == 0x13) {
            hash(v, HashAlgorithm.xor16, 64w0, { h.op.index, h.op.value }, 64w0x10000);
        } else if (h.op.op == 0x14) {
            hash(v, HashAlgorithm.identity, 64w0, { h.op.index[8:0] }, 64w0x10000);
        } else if (h.op.op == 0x40 || h.op.op == 0x41) {
            v = (bit<64>)s.checksum_error;
        }
        h.op.value = v;
    }
}

control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply {} }

control C(inout headers_t h, inout meta_t m) {
    apply {
        update_checksum(h.op.op == 0x42, { h.ipv4.first, h.ipv4.ttl_protocol, h.ipv4.addresses },
                        h.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(h.op.op == 0x43, { h.ipv4.first }, h.ipv4.checksum,
                                     HashAlgorithm.csum16);
    }
}

control D(packet_out p, in headers_t h) {
    apply {
        p.emit(h.op);
        p.emit(h.ipv4);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
