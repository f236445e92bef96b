// Address translation for `siding bench live`: a UDP flow gets another source address and port, and both checksums are right.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
}

struct metadata_t {}

parser NatParser(
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
            (5, 0, PROTOCOL_UDP): udp;
            default: accept;
        }
    }

    state udp {
        packet.extract(headers.udp);
        transition accept;
    }
}

control NatVerify(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control NatIngress(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    action drop() {
        mark_to_drop(standard);
    }

    action translate(bit<9> port, ipv4_address_t source, bit<16> source_port) {
        standard.egress_spec = port;
        // RFC 1624, equation 3: the complement of the old words and the new words are added.
        bit<32> sum = (bit<32>)~headers.udp.checksum;
        sum = sum + (bit<32>)~headers.ipv4.source[31:16] + (bit<32>)~headers.ipv4.source[15:0];
        sum = sum + (bit<32>)~headers.udp.source + (bit<32>)source[31:16] + (bit<32>)source[15:0];
        sum = sum + (bit<32>)source_port;
        sum = (bit<32>)sum[31:16] + (bit<32>)sum[15:0];
        sum = (bit<32>)sum[31:16] + (bit<32>)sum[15:0];
        // A checksum of 0 means that there is none.
        if (headers.udp.checksum != 0) {
            headers.udp.checksum = sum[15:0] == 0xffff ? 16w0xffff : ~sum[15:0];
        }
        headers.ipv4.source = source;
        headers.udp.source = source_port;
    }

    table flows {
        key = {
            headers.ipv4.source: exact @name("source");
            headers.udp.source: exact @name("source_port");
        }
        actions = {
            translate;
            drop;
        }
        const default_action = drop();
        size = 131072;
    }

    apply {
        if (headers.udp.isValid()) {
            flows.apply();
        } else {
            drop();
        }
    }
}

control NatEgress(
    inout headers_t headers,
    inout metadata_t metadata,
    inout standard_metadata_t standard
) {
    apply {}
}

control NatUpdate(inout headers_t headers, inout metadata_t metadata) {
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

control NatDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.udp);
    }
}

V1Switch(NatParser(), NatVerify(), NatIngress(), NatEgress(), NatUpdate(), NatDeparser()) main;
