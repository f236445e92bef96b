// Names that mean something in the code that a compiler generates: those of its own functions, types and variables,
// words of C, and names that another name could be put together to.
#include <core.p4>
#include <v1model.p4>

header Header {
    bit<8> char;
    bit<8> errno;
    bit<16> uint16_t;
    bit<32> NULL;
    bit<8> sd_valid;
    bit<8> w;
}

header Header__check {
    bit<8> _Bool;
    bit<8> p4x_state;
}

struct p4_state {
    Header memcpy;
    Header__check[2] Header__load;
}

struct context {
    bit<16> asked;
    bit<16> key;
    bit<8> kept;
}

parser enter(packet_in packet, out p4_state s, inout context c, inout standard_metadata_t p) {
    state start {
        packet.extract(s.memcpy);
        transition select(s.memcpy.char) {
            1: drop;
            default: reject_;
        }
    }
    state drop {
        packet.extract(s.Header__load.next);
        transition done;
    }
    state reject_ {
        transition done;
    }
    state done {
        transition accept;
    }
}

control process(inout p4_state s, inout context c) {
    apply {}
}

control burst(inout p4_state s, inout context c) {
    apply {}
}

control t(inout Header h, in bit<8> d) {
    action run() {
        h.w = h.w + d;
    }

    table key {
        key = {
            h.errno: exact @name("found");
        }
        actions = {
            run;
            NoAction;
        }
        default_action = run();
    }
    apply {
        key.apply();
    }
}

control stage_0(inout p4_state s, inout context c, inout standard_metadata_t p) {
    t() lookup;
    bit<16> end = 3;

    action start(bit<9> port, bit<16> data) {
        p.egress_spec = port;
        s.memcpy.uint16_t = data + end;
    }

    action after_0() {
        p.egress_spec = 2;
    }

    action locals(bit<8> d) {
        s.memcpy.errno = d;
        c.kept = d;
    }

    @name("lookup__key")
    action lookup__key(bit<8> l) {
        s.memcpy.errno = l;
    }

    table lookup__ {
        key = {
            s.memcpy.NULL: lpm;
        }
        actions = {
            start;
            after_0;
        }
        default_action = after_0();
        size = 65536;
    }

    table lookup__run {
        key = {
            s.memcpy.char: exact;
        }
        actions = {
            locals;
            lookup__key;
        }
        default_action = locals(7);
        size = 65536;
    }

    apply {
        bit<8> c_ = s.memcpy.w;
        bit<8> uint8_t = s.memcpy.errno;
        bit<8> found = uint8_t ^ c_;
        bit<16> memset = s.memcpy.uint16_t;
        bit<8> t1 = 1;
        if (lookup__.apply().hit) {
            found = found + t1;
        }
        switch (lookup__run.apply().action_run) {
            locals: {
                found = found + 0x10;
            }
            lookup__key: {
                found = found + 0x20;
            }
        }
        lookup.apply(s.memcpy, uint8_t);
        s.memcpy.sd_valid = found;
        s.memcpy.NULL = (bit<32>)memset;
        c.asked = memset;
    }
}

control stage_arrival(inout p4_state s, inout context c, inout standard_metadata_t p) {
    apply {
        if (s.Header__load[0].isValid()) {
            s.Header__load[0]._Bool = c.kept;
            s.Header__load[0].p4x_state = (bit<8>)c.asked;
        }
    }
}

control store_headers(packet_out packet, in p4_state s) {
    apply {
        packet.emit(s);
    }
}

V1Switch(enter(), process(), stage_0(), stage_arrival(), burst(), store_headers()) main;
