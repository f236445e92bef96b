// Ports 1 and 2 are the ends of a wire: what arrives at one of them leaves at the other. The type of a frame may say otherwise.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

parser wire_parser(packet_in packet, out headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control no_checksum(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control wire(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    action cross() {
        standard.egress_spec = standard.ingress_port ^ 3;
    }
    action answer() {
        bit<48> source = headers.ethernet.source;
        headers.ethernet.source = headers.ethernet.destination;
        headers.ethernet.destination = source;
        standard.egress_spec = standard.ingress_port;
    }
    action drop() {
        mark_to_drop(standard);
    }
    table types {
        key = {
            headers.ethernet.type: exact;
        }
        actions = {
            cross;
            answer;
            drop;
        }
        default_action = cross();
    }
    apply {
        types.apply();
    }
}

control no_egress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control wire_deparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(wire_parser(), no_checksum(), wire(), no_egress(), no_checksum(), wire_deparser()) main;
