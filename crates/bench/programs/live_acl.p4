// An access list for `siding bench live`: a ternary table over the five-tuple, then a forwarding table.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct metadata_t {}

parser AclParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t metadata,
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
        transition select(
            headers.ipv4.header_words,
            headers.ipv4.fragment_offset,
            headers.ipv4.protocol
        ) {
            (5, 0, PROTOCOL_TCP): ports;
            (5, 0, PROTOCOL_UDP): ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(headers.ports);
        transition accept;
    }
}

control AclVerify(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control AclIngress(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    action permit() {}

    action drop() {
        mark_to_drop(standard);
    }

    action deny() {
        mark_to_drop(standard);
        exit;
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    table access_list {
        key = {
            headers.ipv4.source: ternary @name("source");
            headers.ipv4.destination: ternary @name("destination");
            headers.ipv4.protocol: ternary @name("protocol");
            headers.ports.source: ternary @name("source_port");
            headers.ports.destination: ternary @name("destination_port");
        }
        actions = {
            permit;
            deny;
        }
        const default_action = permit();
        size = 131072;
    }

    table stations {
        key = {
            headers.ethernet.destination: exact @name("destination");
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 1024;
    }

    apply {
        access_list.apply();
        stations.apply();
    }
}

control AclEgress(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    apply {}
}

control AclUpdate(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control AclDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.ports);
    }
}

V1Switch(AclParser(), AclVerify(), AclIngress(), AclEgress(), AclUpdate(), AclDeparser()) main;
