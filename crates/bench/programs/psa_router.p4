// l3_router.p4 for PSA: the same tables and counters, ingress and egress each with a parser and a deparser.

#include <core.p4>
#include <psa.p4>
#include "headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

struct empty_t {}

struct metadata_t {
    bit<16> next_hop;
}

parser RouterParser(
    packet_in packet,
    out headers_t headers,
    inout metadata_t metadata,
    in psa_ingress_parser_input_metadata_t input,
    in empty_t resubmitted,
    in empty_t recirculated
) {
    InternetChecksum() sum;

    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        sum.clear();
        sum.add(headers.ipv4);
        verify(sum.get() == 0, error.ParserInvalidArgument);
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

control RouterIngress(
    inout headers_t headers,
    inout metadata_t metadata,
    in psa_ingress_input_metadata_t input,
    inout psa_ingress_output_metadata_t output
) {
    Counter<bit<64>, bit<9>>(512, PSA_CounterType_t.PACKETS_AND_BYTES) received;
    DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS_AND_BYTES) route_hits;
    DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS) rule_hits;

    action permit() {
        rule_hits.count();
    }

    action deny() {
        rule_hits.count();
        ingress_drop(output);
        exit;
    }

    action no_route() {
        route_hits.count();
        ingress_drop(output);
        exit;
    }

    action to_next_hop(bit<16> next_hop) {
        route_hits.count();
        metadata.next_hop = next_hop;
    }

    action drop() {
        ingress_drop(output);
    }

    action forward(PortId_t port, mac_t source, mac_t destination) {
        send_to_port(output, port);
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
        psa_direct_counter = rule_hits;
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
        psa_direct_counter = route_hits;
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
        received.count((bit<9>)(PortIdUint_t)input.ingress_port);
        if (
            !headers.ipv4.isValid() || headers.ipv4.ttl <= 1 || input.parser_error != error.NoError
        ) {
            drop();
            exit;
        }
        access_list.apply();
        routes.apply();
        next_hops.apply();
    }
}

control RouterUpdate(
    packet_out packet,
    out empty_t cloned,
    out empty_t resubmitted,
    out empty_t normal,
    inout headers_t headers,
    in metadata_t metadata,
    in psa_ingress_output_metadata_t output
) {
    InternetChecksum() sum;

    apply {
        sum.clear();
        sum.add(
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
            }
        );
        headers.ipv4.checksum = sum.get();
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.ports);
    }
}

parser SentParser(
    packet_in packet,
    out headers_t headers,
    inout empty_t metadata,
    in psa_egress_parser_input_metadata_t input,
    in empty_t normal,
    in empty_t from_ingress,
    in empty_t from_egress
) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control RouterEgress(
    inout headers_t headers,
    inout empty_t metadata,
    in psa_egress_input_metadata_t input,
    inout psa_egress_output_metadata_t output
) {
    Counter<bit<64>, bit<9>>(512, PSA_CounterType_t.PACKETS_AND_BYTES) sent;

    apply {
        sent.count((bit<9>)(PortIdUint_t)input.egress_port);
    }
}

control RouterDeparser(
    packet_out packet,
    out empty_t cloned,
    out empty_t recirculated,
    inout headers_t headers,
    in empty_t metadata,
    in psa_egress_output_metadata_t output,
    in psa_egress_deparser_input_metadata_t input
) {
    apply {
        packet.emit(headers.ethernet);
    }
}

IngressPipeline(RouterParser(), RouterIngress(), RouterUpdate()) ingress;
EgressPipeline(SentParser(), RouterEgress(), RouterDeparser()) egress;

PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
