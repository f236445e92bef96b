// Packets that wait for other cores: twice in ingress, for code without externs, and in egress.
#include <core.p4>
#include <v1model.p4>

extern void mix(in bit<32> key, inout bit<32> value);

header head_t {
    bit<8> way;
    bit<32> serial;
    bit<32> value;
    bit<32> sum;
}

header mark_t {
    bit<16> mark;
}

struct headers_t {
    head_t head;
    mark_t mark;
}

struct meta_t {
    bit<32> before;
    bit<32> between;
    bit<8> n_waits;
}

parser WorkParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.head);
        transition select(hdr.head.way & 0x80) {
            0x80: mark;
            default: accept;
        }
    }
    state mark {
        packet.extract(hdr.mark);
        transition accept;
    }
}

control WorkVerify(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control Square(inout bit<32> value) {
    bit<32> own;
    apply {
        own = value;
        value = own * own + 7;
    }
}

control WorkIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Square() square;
    bit<32> local;

    action forward(bit<9> port) {
        sm.egress_spec = port;
    }

    action wait_and_forward(bit<9> port, bit<32> key) {
        meta.before = key;
        @async {
            mix(key, hdr.head.value);
        }
        hdr.head.sum = hdr.head.value ^ meta.before;
        sm.egress_spec = port;
    }

    action drop() {
        mark_to_drop(sm);
    }

    table ways {
        key = {
            hdr.head.way: exact;
        }
        actions = {
            forward;
            wait_and_forward;
            drop;
        }
        const default_action = forward(1);
        const entries = {
            1: drop();
            2: wait_and_forward(2, 77);
            3: wait_and_forward(3, 78);
        }
    }

    apply {
        local = hdr.head.serial + 1;
        ways.apply();
        if (hdr.head.way & 4 == 4) {
            meta.before = hdr.head.value;
            @async(capacity = 100) {
                mix(local, hdr.head.value);
            }
            meta.between = hdr.head.value + meta.before;
            @async {
                mix(meta.between, hdr.head.value);
                square.apply(local);
            }
            hdr.head.sum = meta.between + local;
            meta.n_waits = meta.n_waits + 2;
        }
        if (hdr.head.way & 8 == 8) {
            for (bit<8> i in 0 .. 2) {
                @async {
                    mix((bit<32>)i, hdr.head.sum);
                }
                meta.n_waits = meta.n_waits + 1;
            }
        }
    }
}

control WorkEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.mark.isValid()) {
            hdr.mark.mark = hdr.mark.mark + (bit<16>)meta.n_waits;
            @async {
                mix(5, hdr.head.sum);
            }
        }
    }
}

control WorkCompute(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control WorkDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(WorkParser(), WorkVerify(), WorkIngress(), WorkEgress(), WorkCompute(), WorkDeparser()) main;
