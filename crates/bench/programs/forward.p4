// The least that a switch can do: the packet goes where the last bits of its destination address say. No table.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t { }

parser ForwardParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                     inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control ForwardVerify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control ForwardIngress(inout headers_t headers, inout metadata_t metadata,
                       inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = (bit<9>) headers.ethernet.destination[2:0];
    }
}

control ForwardEgress(inout headers_t headers, inout metadata_t metadata,
                      inout standard_metadata_t standard_metadata) {
    apply { }
}

control ForwardCompute(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control ForwardDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(ForwardParser(), ForwardVerify(), ForwardIngress(), ForwardEgress(), ForwardCompute(),
         ForwardDeparser()) main;
