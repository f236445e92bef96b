// An IPv4 router: an access list, routes of the longest prefix, next hops that routes share, counters of ports and routes.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct metadata_t {
    bit<16> next_hop;
}

parser RouterParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
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

control RouterVerify(inout headers_t headers, inout metadata_t metadata) {
    apply {
        verify_checksum(
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

control RouterIngress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) received;
    direct_counter(CounterType.packets_and_bytes) route_hits;
    direct_counter(CounterType.packets) rule_hits;

    action permit() {
        rule_hits.count();
    }

    action deny() {
        rule_hits.count();
        mark_to_drop(standard);
        exit;
    }

    action no_route() {
        route_hits.count();
        mark_to_drop(standard);
        exit;
    }

    action to_next_hop(bit<16> next_hop) {
        route_hits.count();
        metadata.next_hop = next_hop;
    }

    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<9> port, mac_t source, mac_t destination) {
        standard.egress_spec = port;
        headers.ethernet.source = source;
        headers.ethernet.destination = destination;
        headers.ipv4.ttl = headers.ipv4.ttl - 1;
    }

    table access_list {
        key = {
            headers.ipv4.source: ternary @name("source");
            headers.ipv4.destination: ternary @name("destination");
            headers.ipv4.protocol: ternary @name("protocol");
            headers.ports.destination: ternary @name("port");
        }
        actions = {
            permit;
            deny;
        }
        default_action = permit();
        counters = rule_hits;
        size = 1024;
    }

    table routes {
        key = {
            headers.ipv4.destination: lpm @name("destination");
        }
        actions = {
            to_next_hop;
            no_route;
        }
        default_action = no_route();
        counters = route_hits;
        size = 131072;
    }

    table next_hops {
        key = {
            metadata.next_hop: exact @name("next_hop");
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 65536;
    }

    apply {
        received.count((bit<32>) standard.ingress_port);
        if (!headers.ipv4.isValid() || headers.ipv4.ttl <= 1 || standard.checksum_error == 1) {
            drop();
            exit;
        }
        access_list.apply();
        routes.apply();
        next_hops.apply();
    }
}

control RouterEgress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) sent;

    apply {
        sent.count((bit<32>) standard.egress_port);
    }
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
        packet.emit(headers.ports);
    }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterUpdate(), RouterDeparser()) main;
