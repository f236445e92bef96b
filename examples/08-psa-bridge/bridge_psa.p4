// A learning bridge for PSA: unknown sources are reported by a digest, unknown destinations are flooded
// within their VLAN, and a meter limits what each port may flood.

#include <core.p4>
#include <psa.p4>
#include "../include/headers.p4"

const bit<16> ETHER_TYPE_VLAN = 0x8100;

header Vlan {
    bit<3> priority;
    bit<1> drop_eligible;
    bit<12> id;
    bit<16> ether_type;
}

struct Headers {
    Ethernet ethernet;
    Vlan vlan;
}

struct Metadata {
    bit<12> vlan;
    bool is_known;
    PortId_t ingress_port;
}

struct Empty {}

struct Learned {
    bit<12> vlan;
    MacAddress source;
    PortId_t port;
}

parser Layers(packet_in packet, out Headers headers) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_VLAN: vlan;
            default: accept;
        }
    }

    state vlan {
        packet.extract(headers.vlan);
        transition accept;
    }
}

parser BridgeIngressParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in psa_ingress_parser_input_metadata_t istd,
    in Empty resubmitted,
    in Empty recirculated
) {
    Layers() layers;

    state start {
        layers.apply(packet, headers);
        meta.vlan = headers.vlan.isValid() ? headers.vlan.id : 1;
        meta.is_known = false;
        meta.ingress_port = istd.ingress_port;
        transition accept;
    }
}

control BridgeIngress(
    inout Headers headers,
    inout Metadata meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    Meter<bit<32>>(512, PSA_MeterType_t.PACKETS) flood_meter;
    Counter<bit<64>, bit<12>>(4096, PSA_CounterType_t.PACKETS_AND_BYTES) per_vlan;

    action known() {
        meta.is_known = true;
    }

    action to_port(PortId_t port) {
        send_to_port(ostd, port);
    }

    action flood(MulticastGroup_t group) {
        multicast(ostd, group);
    }

    action drop() {
        ingress_drop(ostd);
    }

    table sources {
        key = {
            meta.vlan: exact;
            headers.ethernet.source: exact;
            istd.ingress_port: exact;
        }
        actions = {
            known;
            NoAction;
        }
        default_action = NoAction();
        psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL;
        size = 16384;
    }

    table destinations {
        key = {
            meta.vlan: exact;
            headers.ethernet.destination: exact;
        }
        actions = {
            to_port;
            NoAction;
        }
        default_action = NoAction();
        size = 16384;
    }

    table floods {
        key = {
            meta.vlan: exact;
        }
        actions = {
            flood;
            drop;
        }
        default_action = drop();
        size = 4096;
    }

    apply {
        per_vlan.count(meta.vlan);
        sources.apply();
        if (!destinations.apply().hit) {
            bit<32> port = (bit<32>)(PortIdUint_t)istd.ingress_port;
            if (flood_meter.execute(port) == PSA_MeterColor_t.RED) {
                drop();
            } else {
                floods.apply();
            }
        }
    }
}

control BridgeIngressDeparser(
    packet_out packet,
    out Empty cloned,
    out Empty resubmitted,
    out Empty normal,
    inout Headers headers,
    in Metadata meta,
    in psa_ingress_output_metadata_t istd
) {
    Digest<Learned>() learned;

    apply {
        if (!meta.is_known) {
            learned.pack({ meta.vlan, headers.ethernet.source, meta.ingress_port });
        }
        packet.emit(headers);
    }
}

parser BridgeEgressParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    in psa_egress_parser_input_metadata_t istd,
    in Empty normal,
    in Empty cloned_in_ingress,
    in Empty cloned_in_egress
) {
    Layers() layers;

    state start {
        layers.apply(packet, headers);
        transition accept;
    }
}

control BridgeEgress(
    inout Headers headers,
    inout Metadata meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd
) {
    action strip() {
        headers.ethernet.ether_type = headers.vlan.ether_type;
        headers.vlan.setInvalid();
    }

    // Ports that take no tags.
    table access_ports {
        key = {
            istd.egress_port: exact;
        }
        actions = {
            strip;
            NoAction;
        }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        if (headers.vlan.isValid()) {
            access_ports.apply();
        }
    }
}

control BridgeEgressDeparser(
    packet_out packet,
    out Empty cloned,
    out Empty recirculated,
    inout Headers headers,
    in Metadata meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd
) {
    apply {
        packet.emit(headers);
    }
}

IngressPipeline(BridgeIngressParser(), BridgeIngress(), BridgeIngressDeparser()) ingress;
EgressPipeline(BridgeEgressParser(), BridgeEgress(), BridgeEgressDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
