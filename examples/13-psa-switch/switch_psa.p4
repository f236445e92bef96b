// A switch with VLANs for PSA. Ingress finds the VLAN and the ports, egress writes the frame for the port on which it
// leaves. They share nothing but what a packet carries.

#include <core.p4>
#include <psa.p4>
#include "../include/headers.p4"

const bit<16> ETHER_TYPE_VLAN = 0x8100;
const bit<16> ETHER_TYPE_MIRRORED = 0x88b5;

header Vlan {
    bit<3> priority;
    bit<1> drop_eligible;
    bit<12> id;
    bit<16> ether_type;
}

// In front of mirrored frames: which port they came from, and which rule asked for them.
header MirrorTag {
    MacAddress destination;
    MacAddress source;
    bit<16> ether_type;
    bit<32> ingress_port;
    bit<16> rule;
}

struct Frame {
    MirrorTag mirror;
    Ethernet ethernet;
    Vlan vlan;
}

struct Classified {
    bit<12> vlan;
    bit<16> mirror_rule;
    PortId_t ingress_port;
}

// What unicast and multicast packets carry to egress.
struct Forwarded {
    bit<12> vlan;
    PortId_t ingress_port;
}

// What mirrored packets carry to egress.
struct Mirrored {
    bit<16> rule;
    PortId_t ingress_port;
}

struct EgressMetadata {
    bool is_mirrored;
    bit<12> vlan;
    PortId_t ingress_port;
}

struct Nothing {}

parser Layers(packet_in packet, inout Frame frame) {
    state start {
        packet.extract(frame.ethernet);
        transition select(frame.ethernet.ether_type) {
            ETHER_TYPE_VLAN: vlan;
            default: accept;
        }
    }

    state vlan {
        packet.extract(frame.vlan);
        transition accept;
    }
}

parser IngressFrames(
    packet_in packet,
    out Frame frame,
    inout Classified meta,
    in psa_ingress_parser_input_metadata_t istd,
    in Nothing resubmitted,
    in Nothing recirculated
) {
    Layers() layers;

    state start {
        layers.apply(packet, frame);
        meta.ingress_port = istd.ingress_port;
        transition accept;
    }
}

control Classify(
    inout Frame frame,
    inout Classified meta,
    in psa_ingress_input_metadata_t istd,
    inout psa_ingress_output_metadata_t ostd
) {
    action set_vlan(bit<12> vlan) {
        meta.vlan = vlan;
    }

    action refuse() {
        ingress_drop(ostd);
    }

    // The VLAN of frames without a tag; frames with a tag keep theirs where the port is a trunk.
    table ports {
        key = {
            istd.ingress_port: exact;
            frame.vlan.isValid(): exact;
        }
        actions = {
            set_vlan;
            NoAction;
            refuse;
        }
        default_action = refuse();
        size = 1024;
    }

    action to_port(PortId_t port) {
        send_to_port(ostd, port);
    }

    table stations {
        key = {
            meta.vlan: exact;
            frame.ethernet.destination: exact;
        }
        actions = {
            to_port;
            NoAction;
        }
        default_action = NoAction();
        size = 16384;
    }

    action flood(MulticastGroup_t group) {
        multicast(ostd, group);
    }

    table floods {
        key = {
            meta.vlan: exact;
        }
        actions = {
            flood;
            refuse;
        }
        default_action = refuse();
        size = 4096;
    }

    action mirror(CloneSessionId_t session, bit<16> rule) {
        ostd.clone = true;
        ostd.clone_session_id = session;
        meta.mirror_rule = rule;
    }

    table mirrors {
        key = {
            istd.ingress_port: ternary;
            frame.ethernet.source: ternary;
            frame.ethernet.ether_type: ternary;
        }
        actions = {
            mirror;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    apply {
        mirrors.apply();
        if (frame.vlan.isValid()) {
            meta.vlan = frame.vlan.id;
        }
        switch (ports.apply().action_run) {
            refuse: {
                return;
            }
        }
        if (!stations.apply().hit) {
            floods.apply();
        }
    }
}

control IngressWriter(
    packet_out packet,
    out Mirrored to_mirror,
    out Nothing resubmitted,
    out Forwarded to_egress,
    inout Frame frame,
    in Classified meta,
    in psa_ingress_output_metadata_t istd
) {
    apply {
        if (psa_clone_i2e(istd)) {
            to_mirror = { meta.mirror_rule, meta.ingress_port };
        }
        if (psa_normal(istd)) {
            to_egress = { meta.vlan, meta.ingress_port };
        }
        packet.emit(frame.ethernet);
        packet.emit(frame.vlan);
    }
}

parser EgressFrames(
    packet_in packet,
    out Frame frame,
    inout EgressMetadata meta,
    in psa_egress_parser_input_metadata_t istd,
    in Forwarded forwarded,
    in Mirrored mirrored,
    in Nothing cloned
) {
    Layers() layers;

    state start {
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: mirror;
            default: forward;
        }
    }

    state mirror {
        meta.is_mirrored = true;
        frame.mirror.setValid();
        frame.mirror.destination = 0x0180c2000100;
        frame.mirror.source = 0x020000000000;
        frame.mirror.ether_type = ETHER_TYPE_MIRRORED;
        frame.mirror.ingress_port = (PortIdUint_t)mirrored.ingress_port;
        frame.mirror.rule = mirrored.rule;
        transition accept;
    }

    state forward {
        meta.vlan = forwarded.vlan;
        meta.ingress_port = forwarded.ingress_port;
        layers.apply(packet, frame);
        transition accept;
    }
}

control Retag(
    inout Frame frame,
    inout EgressMetadata meta,
    in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t ostd
) {
    Counter<bit<64>, bit<12>>(4096, PSA_CounterType_t.PACKETS_AND_BYTES) per_vlan;

    action with_tag() {
        if (!frame.vlan.isValid()) {
            frame.vlan.setValid();
            frame.vlan.ether_type = frame.ethernet.ether_type;
            frame.ethernet.ether_type = ETHER_TYPE_VLAN;
        }
        frame.vlan.id = meta.vlan;
        frame.vlan.priority = (bit<3>)(ClassOfServiceUint_t)istd.class_of_service;
    }

    action without_tag() {
        if (frame.vlan.isValid()) {
            frame.ethernet.ether_type = frame.vlan.ether_type;
            frame.vlan.setInvalid();
        }
    }

    action refuse() {
        egress_drop(ostd);
    }

    table members {
        key = {
            istd.egress_port: exact;
            meta.vlan: exact;
        }
        actions = {
            with_tag;
            without_tag;
            refuse;
        }
        default_action = refuse();
        size = 4096;
    }

    apply {
        if (!meta.is_mirrored) {
            // A flooded frame does not go back to where it came from.
            if (
                istd.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST
                && istd.egress_port == meta.ingress_port
            ) {
                refuse();
            } else {
                members.apply();
                per_vlan.count(meta.vlan);
            }
        }
    }
}

control EgressWriter(
    packet_out packet,
    out Nothing cloned,
    out Nothing recirculated,
    inout Frame frame,
    in EgressMetadata meta,
    in psa_egress_output_metadata_t istd,
    in psa_egress_deparser_input_metadata_t edstd
) {
    apply {
        packet.emit(frame.mirror);
        packet.emit(frame.ethernet);
        packet.emit(frame.vlan);
    }
}

IngressPipeline(IngressFrames(), Classify(), IngressWriter()) ingress;
EgressPipeline(EgressFrames(), Retag(), EgressWriter()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
