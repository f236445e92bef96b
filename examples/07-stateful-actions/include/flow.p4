// What the examples of stateful actions share: headers of a flow, their parser and deparser, and its hash.

#ifndef EXAMPLES_STATEFUL_FLOW_P4
#define EXAMPLES_STATEFUL_FLOW_P4

#include "../../include/headers.p4"

const bit<16> ETHER_TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
    Ports ports;
}

struct Metadata {}

parser FlowParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.protocol) {
            PROTOCOL_TCP: ports;
            PROTOCOL_UDP: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(headers.ports);
        transition accept;
    }
}

control NoVerify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control NoCompute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control FlowDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.ports);
    }
}

// Where the state of a flow is kept.
#define FLOW_INDEX(index, n_flows)                                                                         \
    hash(index, HashAlgorithm.crc32, 32w0,                                                                 \
         { headers.ipv4.source, headers.ipv4.destination, headers.ipv4.protocol, headers.ports.source,      \
           headers.ports.destination },                                                                    \
         n_flows)

#endif
