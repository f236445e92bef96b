// A learning bridge's fast path with a VLAN tag, an IPv4 access list and a route.
//> packet 1 0000000000aa 0000000000bb 0800 450000140000000040060000 0a000001 0a010203 cafe
//> packet 2 0000000000aa 0000000000bb 8100 2005 0800 450000140000000001110000 0a000001 0a020304
//> packet 3 ffffffffffff 0000000000bb 0806 0001
//> packet 1 0000000000aa 0000000000bb 0800 4500
#include <core.p4>
#include <v1model.p4>

enum bit<16> EtherType {
    VLAN = 0x8100,
    IPV4 = 0x0800
}

header Ethernet {
    bit<48> dst;
    bit<48> src;
    EtherType type;
}

header Vlan {
    bit<3> pcp;
    bit<1> dei;
    bit<12> vid;
    EtherType type;
}

header Ipv4 {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> length;
    bit<32> rest;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct Headers {
    Ethernet ethernet;
    Vlan vlan;
    Ipv4 ipv4;
}

struct Metadata {
    bit<12> vid;
}

parser P(packet_in packet, out Headers hdr, inout Metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            EtherType.VLAN: vlan;
            EtherType.IPV4: ipv4;
            default: accept;
        }
    }
    state vlan {
        packet.extract(hdr.vlan);
        meta.vid = hdr.vlan.vid;
        transition select(hdr.vlan.type) {
            EtherType.IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control V(inout Headers hdr, inout Metadata meta) {
    apply {}
}

control I(inout Headers hdr, inout Metadata meta, inout standard_metadata_t sm) {
    action drop() {
        mark_to_drop(sm);
    }
    action forward(bit<9> port) {
        sm.egress_spec = port;
    }
    action route(bit<9> port, bit<48> mac) {
        sm.egress_spec = port;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table macs {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; drop; }
        default_action = drop();
        const entries = {
            0x0000000000aa: forward(4);
        }
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { route; NoAction; }
        default_action = NoAction();
        entries = {
            0x0a000000 &&& 0xff000000: route(7, 0x0000000000cc);
            0x0a020000 &&& 0xffff0000: route(8, 0x0000000000dd);
        }
    }
    apply {
        macs.apply();
        if (hdr.ipv4.isValid()) {
            routes.apply();
            if (hdr.ipv4.ttl == 0) {
                drop();
                exit;
            }
        }
        if (hdr.vlan.isValid()) {
            hdr.ethernet.type = hdr.vlan.type;
            hdr.vlan.setInvalid();
        }
    }
}

control E(inout Headers hdr, inout Metadata meta, inout standard_metadata_t sm) {
    apply {}
}

control C(inout Headers hdr, inout Metadata meta) {
    apply {}
}

control D(packet_out packet, in Headers hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
