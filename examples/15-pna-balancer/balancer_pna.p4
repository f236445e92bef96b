// A load balancer for PNA, on the network card of a host with several servers: packets from the network to a service go to
// one of its servers, always the same for one connection; answers from the host leave with the address of the service.

#include <core.p4>
#include <pna.p4>
#include "../include/headers.p4"

header Tcp {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4> words;
    bit<12> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header Udp {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
    Tcp tcp;
    Udp udp;
}

struct Metadata {
    bool has_ports;
    bit<16> source_port;
    bit<16> destination_port;
    bool is_translated;
    // Sums without the addresses, in the states of checksums.
    bit<16> header_sum;
    bit<16> transport_sum;
}

parser ReadPacket(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in pna_main_parser_input_metadata_t istd
) {
    InternetChecksum() header_sum;
    InternetChecksum() transport_sum;

    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        header_sum.subtract(
            { headers.ipv4.checksum, headers.ipv4.source, headers.ipv4.destination }
        );
        meta.header_sum = header_sum.get_state();
        transition select(headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (0, 6): tcp;
            (0, 17): udp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(headers.tcp);
        meta.has_ports = true;
        meta.source_port = headers.tcp.source;
        meta.destination_port = headers.tcp.destination;
        // The addresses count in TCP and UDP, too (RFC 9293, "pseudo-header").
        transport_sum.subtract(
            { headers.tcp.checksum, headers.ipv4.source, headers.ipv4.destination }
        );
        meta.transport_sum = transport_sum.get_state();
        transition accept;
    }

    state udp {
        packet.extract(headers.udp);
        meta.has_ports = true;
        meta.source_port = headers.udp.source;
        meta.destination_port = headers.udp.destination;
        transport_sum.subtract(
            { headers.udp.checksum, headers.ipv4.source, headers.ipv4.destination }
        );
        meta.transport_sum = transport_sum.get_state();
        transition accept;
    }
}

control NothingBefore(
    in Headers headers,
    inout Metadata meta,
    in pna_pre_input_metadata_t istd,
    inout pna_pre_output_metadata_t ostd
) {
    apply {}
}

control Balance(
    inout Headers headers,
    inout Metadata meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    ActionSelector(PNA_HashAlgorithm_t.TARGET_DEFAULT, 1024, 16) servers;
    Counter<bit<64>, bit<8>>(2, PNA_CounterType_t.PACKETS_AND_BYTES) per_direction;

    action to_server(Ipv4Address address, MacAddress station, PortId_t port) {
        headers.ipv4.destination = address;
        headers.ethernet.destination = station;
        meta.is_translated = true;
        send_to_port(port);
    }

    action drop() {
        drop_packet();
    }

    table services {
        key = {
            headers.ipv4.destination: exact;
            meta.destination_port: exact;
            headers.ipv4.source: selector;
            meta.source_port: selector;
            headers.ipv4.protocol: selector;
        }
        actions = {
            to_server;
            NoAction;
        }
        pna_implementation = servers;
        size = 256;
    }

    action from_service(Ipv4Address address) {
        headers.ipv4.source = address;
        meta.is_translated = true;
    }

    // Which service an answer belongs to.
    table answers {
        key = {
            headers.ipv4.source: exact;
            meta.source_port: exact;
        }
        actions = {
            from_service;
            NoAction;
        }
        default_action = NoAction();
        size = 1024;
    }

    action to_port(PortId_t port) {
        send_to_port(port);
    }

    // Everything else: addresses of the network for packets from the host, and of the host for packets from the network.
    table stations {
        key = {
            SelectByDirection(istd.direction, 1w0, 1w1): exact @name("is_from_host");
            headers.ethernet.destination: exact;
        }
        actions = {
            to_port;
            drop;
        }
        default_action = drop();
        size = 1024;
    }

    apply {
        per_direction.count(SelectByDirection(istd.direction, 8w0, 8w1));
        bool is_done = false;
        if (meta.has_ports) {
            if (istd.direction == PNA_Direction_t.NET_TO_HOST) {
                is_done = services.apply().hit;
            } else {
                answers.apply();
            }
        }
        if (!is_done) {
            stations.apply();
        }
    }
}

control WritePacket(
    packet_out packet,
    in Headers headers,
    in Metadata meta,
    in pna_main_output_metadata_t ostd
) {
    InternetChecksum() checksum;

    apply {
        Ipv4 ipv4 = headers.ipv4;
        Tcp tcp = headers.tcp;
        Udp udp = headers.udp;
        if (meta.is_translated) {
            // RFC 1624: the sum without the old addresses, and the new ones.
            checksum.set_state(meta.header_sum);
            checksum.add({ ipv4.source, ipv4.destination });
            ipv4.checksum = checksum.get();
            checksum.set_state(meta.transport_sum);
            checksum.add({ ipv4.source, ipv4.destination });
            if (tcp.isValid()) {
                tcp.checksum = checksum.get();
            }
            // UDP packets without a checksum have 0 there.
            if (udp.isValid() && udp.checksum != 0) {
                udp.checksum = checksum.get();
            }
        }
        packet.emit(headers.ethernet);
        packet.emit(ipv4);
        packet.emit(tcp);
        packet.emit(udp);
    }
}

PNA_NIC(ReadPacket(), NothingBefore(), Balance(), WritePacket()) main;
