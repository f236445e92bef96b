// A stateful firewall: connections begin inside. What goes out is remembered in two rows of bits (a Bloom filter); what
// comes in passes when both of its bits are set.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

const bit<32> N_BITS = 65536;

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct metadata_t {
    bit<1> is_outside;
    bit<32> first;
    bit<32> second;
}

parser FirewallParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                      inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.header_words, headers.ipv4.fragment_offset, headers.ipv4.protocol) {
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

control FirewallVerify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control FirewallIngress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    register<bit<1>>(N_BITS) first_row;
    register<bit<1>>(N_BITS) second_row;

    action drop() {
        mark_to_drop(standard);
    }

    action from_inside() {
        metadata.is_outside = 0;
    }

    action from_outside() {
        metadata.is_outside = 1;
    }

    action forward(bit<9> port, mac_t source, mac_t destination) {
        standard.egress_spec = port;
        headers.ethernet.source = source;
        headers.ethernet.destination = destination;
        headers.ipv4.ttl = headers.ipv4.ttl - 1;
    }

    // The same for both directions.
    action find(ipv4_address_t inside, ipv4_address_t outside, bit<16> inside_port, bit<16> outside_port) {
        hash(metadata.first, HashAlgorithm.crc16, (bit<32>) 0,
             { inside, outside, headers.ipv4.protocol, inside_port, outside_port }, N_BITS);
        hash(metadata.second, HashAlgorithm.crc32, (bit<32>) 0,
             { inside, outside, headers.ipv4.protocol, inside_port, outside_port }, N_BITS);
    }

    table sides {
        key = {
            standard.ingress_port: exact @name("port");
        }
        actions = {
            from_inside;
            from_outside;
        }
        default_action = from_outside();
        size = 512;
    }

    table routes {
        key = {
            headers.ipv4.destination: lpm @name("destination");
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 16384;
    }

    apply {
        if (!headers.ports.isValid() || headers.ipv4.ttl <= 1) {
            drop();
            exit;
        }
        sides.apply();
        if (metadata.is_outside == 0) {
            find(headers.ipv4.source, headers.ipv4.destination, headers.ports.source, headers.ports.destination);
            first_row.write(metadata.first, 1);
            second_row.write(metadata.second, 1);
        } else {
            find(headers.ipv4.destination, headers.ipv4.source, headers.ports.destination, headers.ports.source);
            bit<1> is_first;
            bit<1> is_second;
            first_row.read(is_first, metadata.first);
            second_row.read(is_second, metadata.second);
            if (is_first == 0 || is_second == 0) {
                drop();
                exit;
            }
        }
        routes.apply();
    }
}

control FirewallEgress(inout headers_t headers, inout metadata_t metadata,
                inout standard_metadata_t standard) {
    apply { }
}

control FirewallUpdate(inout headers_t headers, inout metadata_t metadata) {
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

control FirewallDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.ports);
    }
}

V1Switch(FirewallParser(), FirewallVerify(), FirewallIngress(), FirewallEgress(), FirewallUpdate(),
         FirewallDeparser()) main;
