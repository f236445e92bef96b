// What becomes of a packet is its first byte; the second becomes the port of arrival.
#include <core.p4>
#include <xdp_model.p4>

header two_t {
    bit<8> kind;
    bit<8> port;
}

struct headers_t {
    two_t two;
}

parser P(packet_in p, out headers_t h) {
    state start {
        p.extract(h.two);
        transition accept;
    }
}

control S(inout headers_t h, in xdp_input i, out xdp_output o) {
    apply {
        o.output_port = (bit<32>)h.two.port;
        if (h.two.kind == 0) {
            o.output_action = xdp_action.XDP_ABORTED;
        } else if (h.two.kind == 1) {
            o.output_action = xdp_action.XDP_DROP;
        } else if (h.two.kind == 2) {
            o.output_action = xdp_action.XDP_PASS;
        } else if (h.two.kind == 3) {
            o.output_action = xdp_action.XDP_TX;
        } else {
            o.output_action = xdp_action.XDP_REDIRECT;
        }
        h.two.port = (bit<8>)i.input_port;
    }
}

control D(in headers_t h, packet_out p) {
    apply {
        p.emit(h.two);
    }
}

xdp(P(), S(), D()) main;
