// Packets of kinds 0 and 1 are worked on by an extern, which hangs at those of kind 1.
#include <core.p4>
#include <v1model.p4>

extern void hang(in bit<8> how, inout bit<8> n);

header Request {
    bit<8> kind;
    bit<8> n;
    bit<16> serial;
}

struct Headers {
    Request request;
}

struct Metadata {}

parser HangParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.request);
        transition accept;
    }
}

control HangVerify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control HangIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    table kinds {
        key = {
            headers.request.kind: exact;
        }
        actions = {
            forward;
        }
        default_action = forward(2);
        size = 256;
    }

    apply {
        if (headers.request.kind <= 1) {
            @async(full = "backpressure") {
                hang(headers.request.kind, headers.request.n);
            }
        }
        kinds.apply();
    }
}

control HangEgress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {}
}

control HangCompute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control HangDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(
    HangParser(),
    HangVerify(),
    HangIngress(),
    HangEgress(),
    HangCompute(),
    HangDeparser()
) main;
