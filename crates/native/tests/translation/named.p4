// Controllers have names for ports and networks, and numbers of other widths than the program.
#define V1MODEL_VERSION 20200408
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
type bit<9> port_id_t;

@p4runtime_translation("", string)
type bit<10> network_t;

@p4runtime_translation("test/wide", 32)
type bit<16> wide_t;

@p4runtime_translation("test/narrow", 8)
type bit<16> narrow_t;

header Probe {
    bit<16> wide;
    bit<16> narrow;
    bit<16> seen;
}

struct Headers {
    Probe probe;
}

struct Pair {
    port_id_t port;
    bit<8> plain;
}

struct Metadata {
    network_t network;
}

parser TestParser(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.probe);
        transition accept;
    }
}

control TestIngress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    register<Pair, bit<32>>(4) last;
    counter<wide_t>(8, CounterType.packets) per_wide;

    action enter(network_t network) {
        meta.network = network;
    }

    action send(port_id_t port) {
        standard.egress_spec = (bit<9>)port;
    }

    action replicate(bit<16> group) {
        standard.mcast_grp = group;
    }

    table networks {
        key = {
            (port_id_t)standard.ingress_port: optional @name("port");
            (wide_t)headers.probe.wide: ternary @name("wide");
        }
        actions = { enter; NoAction; }
    }

    table routes {
        key = {
            meta.network: exact @name("network");
            (wide_t)headers.probe.wide: lpm @name("wide");
        }
        actions = { send; replicate; NoAction; }
    }

    table ranges {
        key = {
            (narrow_t)headers.probe.narrow: range @name("narrow");
        }
        actions = { send; NoAction; }
    }

    apply {
        networks.apply();
        routes.apply();
        ranges.apply();
        headers.probe.seen = (bit<16>)(bit<10>)meta.network;
        last.write(0, { (port_id_t)standard.ingress_port, 7 });
        per_wide.count((wide_t)headers.probe.wide);
    }
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control NoChecksum(inout Headers headers, inout Metadata meta) {
    apply {}
}

control TestDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(TestParser(), NoChecksum(), TestIngress(), TestEgress(), NoChecksum(), TestDeparser()) main;
