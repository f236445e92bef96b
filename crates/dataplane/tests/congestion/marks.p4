// Numbered packets to port 1, but for those with the number 0xffffffff.

#include <core.p4>
#include <v1model.p4>

header packet_t {
    bit<32> number;
    bit<32> depth;
}

struct headers_t {
    packet_t packet;
}

struct metadata_t {}

parser Read(
    packet_in packet,
    out headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.packet);
        transition accept;
    }
}

control Verify(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control ToPort(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        if (headers.packet.number == 0xffffffff) {
            mark_to_drop(standard);
        }
    }
}

control Tell(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    apply {
        headers.packet.depth = 0;
    }
}

control Update(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control Write(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(Read(), Verify(), ToPort(), Tell(), Update(), Write()) main;
