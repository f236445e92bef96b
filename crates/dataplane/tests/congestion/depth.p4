// Numbered packets to port 1, which tell how many packets they have found in its queue.

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
    }
}

control Tell(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    apply {
        headers.packet.depth = (bit<32>)standard.enq_qdepth;
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
