// What becomes of a packet is its first byte.
#include <core.p4>
#include <ubpf_model.p4>

header one_t {
    bit<8> a;
}

struct headers_t {
    one_t kind;
    one_t port;
}

struct meta_t {}

parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata s) {
    state start {
        p.extract(h.kind);
        p.extract(h.port);
        transition accept;
    }
}

control F(inout headers_t h, inout meta_t m, inout standard_metadata s) {
    apply {
        if (h.kind.a == 1) {
            mark_to_drop();
        } else if (h.kind.a == 2) {
            mark_to_drop();
            mark_to_pass();
        } else if (h.kind.a == 3) {
            s.output_action = ubpf_action.REDIRECT;
            s.output_port = (bit<32>)h.port.a;
        } else if (h.kind.a == 4) {
            s.output_action = ubpf_action.DROP;
        } else if (h.kind.a == 5) {
            s.output_action = ubpf_action.ABORT;
        } else if (h.kind.a == 6) {
            truncate(3);
        }
    }
}

control D(packet_out p, in headers_t h) {
    apply {
        p.emit(h.port);
    }
}

ubpf(P(), F(), D()) main;
