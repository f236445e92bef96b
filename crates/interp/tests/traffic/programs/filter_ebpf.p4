// Accepts packets whose first byte is not zero, and counts.
#include <core.p4>
#include <ebpf_model.p4>

header two_t {
    bit<8> a;
    bit<8> b;
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

control F(inout headers_t h, out bool accept) {
    CounterArray(32w10, true) seen;

    apply {
        accept = h.two.a != 0;
        seen.increment((bit<32>)h.two.a);
        if (accept) {
            seen.add(2, 5);
        }
        seen.increment(10);
        h.two.b = 77;
    }
}

ebpfFilter(P(), F()) main;
