// Connection tracking for PNA: the first packet from the host adds an entry to the table of connections
// from within the data plane, and only packets of known connections come in.

#include <core.p4>
#include <pna.p4>
#include "../include/headers.p4"

const bit<16> ETHER_TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

const ExpireTimeProfileId_t PROFILE_NEW = (ExpireTimeProfileId_t)1;

/// The port to the network.
const PortId_t UPLINK = (PortId_t)0;

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
    Ports ports;
}

struct Metadata {}

struct ConnectionData {
    PortId_t port;
}

parser ConnectionParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in pna_main_parser_input_metadata_t istd
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
        transition select(headers.ipv4.protocol) {
            PROTOCOL_TCP: ports;
            PROTOCOL_UDP: ports;
            default: accept;
        }
    }

    state ports {
        packet.extract(headers.ports);
        transition accept;
    }
}

control Decrypt(
    in Headers headers,
    inout Metadata meta,
    in pna_pre_input_metadata_t istd,
    inout pna_pre_output_metadata_t ostd
) {
    apply {}
}

control Connections(
    inout Headers headers,
    inout Metadata meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    bool may_add = false;

    action drop() {
        drop_packet();
    }

    // `port` is that of the host which has opened the connection.
    action pass(PortId_t port) {
        restart_expire_timer();
        if (istd.direction == PNA_Direction_t.NET_TO_HOST) {
            send_to_port(port);
        } else {
            send_to_port(UPLINK);
        }
    }

    action miss() {
        if (may_add) {
            add_entry("pass", (ConnectionData){ port = istd.input_port }, PROFILE_NEW);
            send_to_port(UPLINK);
        } else {
            drop_packet();
        }
    }

    // Both directions of a connection meet the same entry.
    table connections {
        key = {
            SelectByDirection(
                istd.direction,
                headers.ipv4.source,
                headers.ipv4.destination
            ): exact @name("remote_address");
            SelectByDirection(
                istd.direction,
                headers.ipv4.destination,
                headers.ipv4.source
            ): exact @name("local_address");
            headers.ipv4.protocol: exact @name("protocol");
            SelectByDirection(
                istd.direction,
                headers.ports.source,
                headers.ports.destination
            ): exact @name("remote_port");
            SelectByDirection(
                istd.direction,
                headers.ports.destination,
                headers.ports.source
            ): exact @name("local_port");
        }
        actions = {
            @tableonly pass;
            @defaultonly miss;
        }
        const default_action = miss();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 1048576;
    }

    apply {
        if (headers.ports.isValid()) {
            may_add = istd.direction == PNA_Direction_t.HOST_TO_NET;
            connections.apply();
        } else {
            drop();
        }
    }
}

control ConnectionDeparser(
    packet_out packet,
    in Headers headers,
    in Metadata meta,
    in pna_main_output_metadata_t ostd
) {
    apply {
        packet.emit(headers);
    }
}

PNA_NIC(ConnectionParser(), Decrypt(), Connections(), ConnectionDeparser()) main;
