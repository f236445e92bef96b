// LZ4 on the payload; what comes out goes on as any packet does: headers in front of it come and go.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"
#include <siding_externs.p4>

header Request {
    /// 1 compresses, 2 decompresses, 3 does both, 4 decompresses twice.
    bit<8> operation;
    bit<16> offset;
    bit<8> result;
}

header Extra {
    bit<64> bytes;
}

struct Headers {
    Extra front;
    Request request;
    Extra behind;
}

struct Metadata {}

parser ProbeParser(
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

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    action note(in bit<8> mark, in bool done) {
        if (done) {
            headers.request.result = headers.request.result | mark;
        }
    }

    apply {
        bit<16> offset = headers.request.offset;
        headers.request.result = 0;
        bit<8> operation = headers.request.operation & 0xf;
        if (operation == 1 || operation == 3) {
            note(1, lz4_compress(offset));
        }
        if (operation >= 2) {
            note(2, lz4_decompress(offset));
        }
        if (operation == 4) {
            note(4, lz4_decompress(offset));
        }
        if (headers.request.operation & 0x10 != 0) {
            headers.front.setValid();
            headers.front.bytes = 0xf0f1f2f3f4f5f6f7;
        }
        if (headers.request.operation & 0x20 != 0) {
            headers.behind.setValid();
            headers.behind.bytes = 0xb0b1b2b3b4b5b6b7;
        }
        if (headers.request.operation & 0x40 != 0) {
            headers.request.setInvalid();
        }
        standard.egress_spec = 1;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

#include "../include/switch.p4"
