// A gateway of mobile networks (3GPP TS 29.281, GTP-U): takes tunnels off packets from base stations, and puts packets
// for phones into tunnels.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

const bit<16> PORT_GTPU = 2152;
const bit<8> GTPU_G_PDU = 255;

header gtpu_t {
    bit<3> version;
    bit<1> protocol_type;
    bit<1> reserved;
    bit<3> flags;
    bit<8> message_type;
    bit<16> bytes;
    bit<32> teid;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t outer;
    udp_t udp;
    gtpu_t gtpu;
    ipv4_t ipv4;
}

struct metadata_t {
    ipv4_address_t towards;
}

parser GatewayParser(packet_in packet, out headers_t headers, inout metadata_t metadata,
                     inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: which;
            default: accept;
        }
    }

    // Whether there is a tunnel: protocol and destination port lie 9 and 22 bytes ahead.
    state which {
        bit<192> ahead = packet.lookahead<bit<192>>();
        transition select(ahead[119:112], ahead[15:0]) {
            (PROTOCOL_UDP, PORT_GTPU): tunnel;
            default: ipv4;
        }
    }

    state tunnel {
        packet.extract(headers.outer);
        packet.extract(headers.udp);
        packet.extract(headers.gtpu);
        transition select(headers.outer.header_words, headers.gtpu.message_type) {
            (5, GTPU_G_PDU): ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control GatewayVerify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control GatewayIngress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    counter(65536, CounterType.packets_and_bytes) sessions;

    action drop() {
        mark_to_drop(standard);
    }

    action decapsulate(bit<32> session) {
        sessions.count(session);
        metadata.towards = headers.ipv4.destination;
        headers.outer.setInvalid();
        headers.udp.setInvalid();
        headers.gtpu.setInvalid();
    }

    action encapsulate(bit<32> session, bit<32> teid, ipv4_address_t gateway, ipv4_address_t station) {
        sessions.count(session);
        metadata.towards = station;
        headers.gtpu.setValid();
        headers.gtpu.version = 1;
        headers.gtpu.protocol_type = 1;
        headers.gtpu.reserved = 0;
        headers.gtpu.flags = 0;
        headers.gtpu.message_type = GTPU_G_PDU;
        headers.gtpu.bytes = headers.ipv4.total_bytes;
        headers.gtpu.teid = teid;
        headers.udp.setValid();
        headers.udp.source = PORT_GTPU;
        headers.udp.destination = PORT_GTPU;
        headers.udp.bytes = headers.ipv4.total_bytes + 16;
        headers.udp.checksum = 0;
        headers.outer.setValid();
        headers.outer.version = 4;
        headers.outer.header_words = 5;
        headers.outer.dscp = headers.ipv4.dscp;
        headers.outer.ecn = 0;
        headers.outer.total_bytes = headers.ipv4.total_bytes + 36;
        headers.outer.identification = 0;
        headers.outer.flags = 2;
        headers.outer.fragment_offset = 0;
        headers.outer.ttl = 64;
        headers.outer.protocol = PROTOCOL_UDP;
        headers.outer.checksum = 0;
        headers.outer.source = gateway;
        headers.outer.destination = station;
    }

    action forward(bit<9> port, mac_t source, mac_t destination) {
        standard.egress_spec = port;
        headers.ethernet.source = source;
        headers.ethernet.destination = destination;
    }

    // From base stations.
    table uplink {
        key = {
            headers.gtpu.teid: exact @name("teid");
            headers.outer.destination: exact @name("gateway");
        }
        actions = {
            decapsulate;
            drop;
        }
        default_action = drop();
        size = 65536;
    }

    // To phones.
    table downlink {
        key = {
            headers.ipv4.destination: exact @name("phone");
        }
        actions = {
            encapsulate;
            drop;
        }
        default_action = drop();
        size = 65536;
    }

    table routes {
        key = {
            metadata.towards: lpm @name("towards");
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 16384;
    }

    apply {
        if (!headers.ipv4.isValid()) {
            drop();
            exit;
        }
        if (headers.gtpu.isValid()) {
            if (!uplink.apply().hit) {
                exit;
            }
        } else {
            if (!downlink.apply().hit) {
                exit;
            }
        }
        routes.apply();
    }
}

control GatewayEgress(inout headers_t headers, inout metadata_t metadata,
                inout standard_metadata_t standard) {
    apply { }
}

control GatewayUpdate(inout headers_t headers, inout metadata_t metadata) {
    apply {
        update_checksum(
            headers.outer.isValid(),
            {
                headers.outer.version,
                headers.outer.header_words,
                headers.outer.dscp,
                headers.outer.ecn,
                headers.outer.total_bytes,
                headers.outer.identification,
                headers.outer.flags,
                headers.outer.fragment_offset,
                headers.outer.ttl,
                headers.outer.protocol,
                headers.outer.source,
                headers.outer.destination
            },
            headers.outer.checksum,
            HashAlgorithm.csum16
        );
    }
}

control GatewayDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.outer);
        packet.emit(headers.udp);
        packet.emit(headers.gtpu);
        packet.emit(headers.ipv4);
    }
}

V1Switch(GatewayParser(), GatewayVerify(), GatewayIngress(), GatewayEgress(), GatewayUpdate(), GatewayDeparser()) main;
