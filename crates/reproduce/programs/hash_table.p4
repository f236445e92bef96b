// One hash table with a key of 25 bits and 8 bits of data: a published program for a switch chip has such a table.
#include <core.p4>
#include <v1model.p4>

header Tag {
    bit<25> prefix;
    bit<7> rest;
}

struct Headers {
    Tag tag;
}

struct Metadata {
    bit<8> next_hop;
}

parser P(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.tag);
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Lookup(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    action set_next_hop(bit<8> next_hop) {
        meta.next_hop = next_hop;
    }
    table prefixes {
        key = {
            headers.tag.prefix: exact;
        }
        actions = {
            set_next_hop;
        }
        size = 1048576;
    }
    apply {
        if (prefixes.apply().hit) {
            standard.egress_spec = (bit<9>)meta.next_hop;
        }
    }
}

control Leave(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control Compute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Deparse(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.tag);
    }
}

V1Switch(P(), Verify(), Lookup(), Leave(), Compute(), Deparse()) main;
