// A router for `siding bench live`: the longest prefix gives port and addresses, the time to live is lowered.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {}

parser RouterParser(
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
        transition accept;
    }
}

control RouterVerify(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control RouterIngress(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<9> port, mac_t source, mac_t destination) {
        standard.egress_spec = port;
        headers.ethernet.source = source;
        headers.ethernet.destination = destination;
        headers.ipv4.ttl = headers.ipv4.ttl - 1;
    }

    table routes {
        key = {
            headers.ipv4.destination: lpm @name("destination");
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 131072;
    }

    apply {
        if (headers.ipv4.isValid() && headers.ipv4.ttl > 1) {
            routes.apply();
        } else {
            drop();
        }
    }
}

control RouterEgress(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    apply {}
}

control RouterUpdate(inout headers_t headers, inout metadata_t metadata) {
    apply {
        update_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version,
                headers.ipv4.header_words,
                headers.ipv4.dscp,
                headers.ipv4.ecn,
                headers.ipv4.total_bytes,
                headers.ipv4.identification,
                headers.ipv4.flags,
                headers.ipv4.fragment_offset,
                headers.ipv4.ttl,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16
        );
    }
}

control RouterDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

V1Switch(
    RouterParser(),
    RouterVerify(),
    RouterIngress(),
    RouterEgress(),
    RouterUpdate(),
    RouterDeparser()
) main;
