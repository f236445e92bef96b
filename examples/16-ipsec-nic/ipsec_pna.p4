// A network card that encrypts what a host sends to other sites, and decrypts what comes back: an IPsec gateway in tunnel mode.
// The accelerator of the card does ESP; the program says which packets go there, with which security association.

#include <core.p4>
#include <dpdk/pna.p4>
#include "../include/headers.p4"

header Esp {
    bit<32> spi;
    bit<32> sequence;
}

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
    Esp esp;
}

struct Metadata {
    bit<32> next_hop;
}

// It works on packets that begin with their IP header, or behind an Ethernet header, which stays as it is.
ipsec_accelerator() ipsec;

parser ReadPacket(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in pna_main_parser_input_metadata_t istd
) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (0, 50): esp;
            default: accept;
        }
    }

    state esp {
        packet.extract(headers.esp);
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

control Gateway(
    inout Headers headers,
    inout Metadata meta,
    in pna_main_input_metadata_t istd,
    inout pna_main_output_metadata_t ostd
) {
    Counter<bit<64>, bit<1>>(2, PNA_CounterType_t.PACKETS_AND_BYTES) refused;

    action drop() {
        drop_packet();
    }

    action through(bit<32> association) {
        ipsec.set_sa_index(association);
        ipsec.set_ip_header_offset(16w14);
        ipsec.enable();
    }

    // Sites that are behind a tunnel.
    table sites {
        key = {
            headers.ipv4.destination: lpm;
        }
        actions = {
            through;
            NoAction;
        }
        default_action = NoAction();
        size = 1024;
    }

    // Tunnels that end here.
    table tunnels {
        key = {
            headers.ipv4.destination: exact;
            headers.esp.spi: exact;
        }
        actions = {
            through;
            drop;
        }
        default_action = drop();
        size = 1024;
    }

    action to_port(PortId_t port, MacAddress station) {
        headers.ethernet.destination = station;
        send_to_port(port);
    }

    table routes {
        key = {
            headers.ipv4.destination: lpm;
        }
        actions = {
            to_port;
            drop;
        }
        default_action = drop();
        size = 1024;
    }

    apply {
        ipsec_status status;
        if (!headers.ipv4.isValid()) {
            drop();
        } else if (ipsec.from_ipsec(status)) {
            if (status == ipsec_status.IPSEC_SUCCESS) {
                routes.apply();
            } else {
                refused.count(SelectByDirection(istd.direction, 1w0, 1w1));
                drop();
            }
        } else if (istd.direction == PNA_Direction_t.HOST_TO_NET) {
            if (!sites.apply().hit) {
                routes.apply();
            }
        } else if (headers.esp.isValid()) {
            tunnels.apply();
        } else {
            drop();
        }
    }
}

control WritePacket(
    packet_out packet,
    in Headers headers,
    in Metadata meta,
    in pna_main_output_metadata_t ostd
) {
    apply {
        packet.emit(headers);
    }
}

PNA_NIC(ReadPacket(), NothingBefore(), Gateway(), WritePacket()) main;
