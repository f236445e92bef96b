// An IPv4 router for v1model: an access list, longest-prefix routing over next hops that are shared by
// routes, counters per port and per route.
//
//     siding check examples/01-router/router.p4
//     siding p4info examples/01-router/router.p4

#include <core.p4>
#include <v1model.p4>
#include "../include/headers.p4"

const bit<16> ETHER_TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

const bit<32> N_PORTS = 64;

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
    Ports ports;
}

struct Metadata {
    bit<16> next_hop;
    bit<16> source_port;
    bit<16> destination_port;
}

error {
    BadIpv4Header
}

parser RouterParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        meta = { 0, 0, 0 };
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        // Options are not understood; such packets go to the controller.
        verify(headers.ipv4.version == 4 && headers.ipv4.header_words == 5, error.BadIpv4Header);
        transition select(headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (0, PROTOCOL_TCP): ports;
            (0, PROTOCOL_UDP): ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(headers.ports);
        meta.source_port = headers.ports.source;
        meta.destination_port = headers.ports.destination;
        transition accept;
    }
}

control VerifyIpv4(inout Headers headers, inout Metadata meta) {
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

control Router(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    counter(N_PORTS, CounterType.packets_and_bytes) received;
    direct_counter(CounterType.packets) route_hits;

    action drop() {
        mark_to_drop(standard);
    }

    action permit() {}

    action to_controller() {
        standard.egress_spec = 63;
    }

    action set_next_hop(bit<16> next_hop) {
        meta.next_hop = next_hop;
        route_hits.count();
    }

    action forward(bit<9> port, MacAddress source, MacAddress destination) {
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
            meta.destination_port: range @name("destination_port");
        }
        actions = {
            permit;
            drop;
        }
        default_action = permit();
        size = 1024;
    }

    table routes {
        key = {
            headers.ipv4.destination: lpm;
        }
        actions = {
            set_next_hop;
            drop;
        }
        default_action = drop();
        counters = route_hits;
        size = 65536;
    }

    table next_hops {
        key = {
            meta.next_hop: exact;
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 4096;
    }

    apply {
        received.count((bit<32>)standard.ingress_port);
        if (standard.parser_error != error.NoError || standard.checksum_error == 1) {
            drop();
        } else if (!headers.ipv4.isValid() || headers.ipv4.ttl <= 1) {
            to_controller();
        } else {
            switch (access_list.apply().action_run) {
                permit: {
                    if (routes.apply().hit) {
                        next_hops.apply();
                    }
                }
            }
        }
    }
}

control Sender(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    counter(N_PORTS, CounterType.packets_and_bytes) sent;

    apply {
        sent.count((bit<32>)standard.egress_port);
    }
}

control UpdateIpv4(inout Headers headers, inout Metadata meta) {
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

control RouterDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(RouterParser(), VerifyIpv4(), Router(), Sender(), UpdateIpv4(), RouterDeparser()) main;
