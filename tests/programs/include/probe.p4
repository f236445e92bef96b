// What every test program needs: a header to look at, and the blocks that do nothing.
//
// A test defines `control TestIngress` and `control TestEgress`, or defines NO_EGRESS before it includes
// this file, and includes "switch.p4" at its end. Its packets begin with a Probe.

#include <core.p4>
#include <v1model.p4>

/// 14 bytes: kind, a, b, c, then what the program finds out.
header Probe {
    bit<8> kind;
    bit<32> a;
    bit<32> b;
    bit<16> c;
    bit<16> result;
    bit<8> flags;
}

#ifndef OWN_HEADERS
struct Headers {
    Probe probe;
}

struct Metadata {}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.probe);
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}
#endif
