// Every packet sends a digest of its first byte; those that begin with 0 fail an assertion after that.
#include <core.p4>
#include <v1model.p4>

header Byte {
    bit<8> value;
}

struct Headers {
    Byte first;
}

struct Metadata {}

struct Seen {
    bit<8> value;
}

parser P(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.first);
        transition accept;
    }
}

control V(inout Headers headers, inout Metadata meta) {
    apply {}
}

control I(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {
        digest<Seen>(1, { headers.first.value });
        assert(headers.first.value != 0);
        standard.egress_spec = 1;
    }
}

control E(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control C(inout Headers headers, inout Metadata meta) {
    apply {}
}

control D(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
