// An endpoint of segment routing over IPv6 (RFC 8986): End, which goes on to the next segment, and End.DX4, which takes
// the outer headers off and hands the IPv4 packet to a neighbour.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

header routing_t {
    bit<8> next_header;
    bit<8> extension_words;
    bit<8> routing_type;
    bit<8> segments_left;
    bit<8> last_entry;
    bit<8> flags;
    bit<16> tag;
}

header segment_t {
    ipv6_address_t address;
}

struct headers_t {
    ethernet_t ethernet;
    ipv6_t ipv6;
    routing_t routing;
    segment_t[4] segments;
    ipv4_t ipv4;
}

struct metadata_t {
    bit<8> n_left;
}

error {
    TooManySegments
}

parser EndpointParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                      inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(headers.ipv6);
        transition select(headers.ipv6.next_header) {
            PROTOCOL_IPV6_ROUTE: routing;
            PROTOCOL_IPV4: ipv4;
            default: accept;
        }
    }

    state routing {
        packet.extract(headers.routing);
        verify(headers.routing.last_entry < 4, error.TooManySegments);
        metadata.n_left = headers.routing.last_entry + 1;
        transition segment;
    }

    state segment {
        packet.extract(headers.segments.next);
        metadata.n_left = metadata.n_left - 1;
        transition select(metadata.n_left, headers.routing.next_header) {
            (0, PROTOCOL_IPV4): ipv4;
            (0, _): accept;
            default: segment;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control EndpointVerify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control EndpointIngress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }

    action end() {
        headers.routing.segments_left = headers.routing.segments_left - 1;
    }

    action end_dx4(bit<9> port, mac_t source, mac_t destination) {
        standard.egress_spec = port;
        headers.ethernet.source = source;
        headers.ethernet.destination = destination;
        headers.ethernet.ether_type = ETHER_TYPE_IPV4;
        headers.ipv6.setInvalid();
        headers.routing.setInvalid();
        headers.segments[0].setInvalid();
        headers.segments[1].setInvalid();
        headers.segments[2].setInvalid();
        headers.segments[3].setInvalid();
    }

    action forward(bit<9> port, mac_t source, mac_t destination) {
        standard.egress_spec = port;
        headers.ethernet.source = source;
        headers.ethernet.destination = destination;
        headers.ipv6.hop_limit = headers.ipv6.hop_limit - 1;
    }

    // Segments that are of this endpoint.
    table local_segments {
        key = {
            headers.ipv6.destination: exact @name("destination");
        }
        actions = {
            end;
            end_dx4;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table routes {
        key = {
            headers.ipv6.destination: lpm @name("destination");
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 65536;
    }

    apply {
        if (standard.parser_error != error.NoError || !headers.ipv6.isValid() || headers.ipv6.hop_limit <= 1) {
            drop();
            exit;
        }
        switch (local_segments.apply().action_run) {
            end: {
                // RFC 8986, section 4.1: it has been decremented, and must not have been zero.
                if (!headers.routing.isValid() || headers.routing.segments_left > headers.routing.last_entry) {
                    drop();
                    exit;
                }
                if (headers.routing.segments_left == 0) {
                    headers.ipv6.destination = headers.segments[0].address;
                } else if (headers.routing.segments_left == 1) {
                    headers.ipv6.destination = headers.segments[1].address;
                } else if (headers.routing.segments_left == 2) {
                    headers.ipv6.destination = headers.segments[2].address;
                } else {
                    headers.ipv6.destination = headers.segments[3].address;
                }
                routes.apply();
            }
            end_dx4: {
                if (!headers.ipv4.isValid()) {
                    drop();
                }
            }
            default: {
                routes.apply();
            }
        }
    }
}

control EndpointEgress(inout headers_t headers, inout metadata_t metadata,
                inout standard_metadata_t standard) {
    apply { }
}

control EndpointUpdate(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control EndpointDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv6);
        packet.emit(headers.routing);
        packet.emit(headers.segments);
        packet.emit(headers.ipv4);
    }
}

V1Switch(EndpointParser(), EndpointVerify(), EndpointIngress(), EndpointEgress(), EndpointUpdate(),
         EndpointDeparser()) main;
