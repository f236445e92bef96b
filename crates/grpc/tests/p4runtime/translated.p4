// Controllers have names for ports and networks, and other numbers for flows than the program.

#define V1MODEL_VERSION 20200408
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
type bit<9> port_id_t;

@p4runtime_translation("", string)
type bit<10> network_t;

@p4runtime_translation("test/flow", 32)
type bit<16> flow_t;

header Probe {
    bit<16> network;
    bit<16> flow;
}

@controller_header("packet_in")
header PacketIn {
    port_id_t ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header PacketOut {
    port_id_t egress_port;
    bit<7> _pad;
}

struct Headers {
    PacketIn packet_in;
    PacketOut packet_out;
    Probe probe;
}

struct Seen {
    port_id_t port;
    flow_t flow;
}

struct Metadata {
    network_t network;
}

parser ReadPacket(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            510: from_controller;
            default: probe;
        }
    }

    state from_controller {
        packet.extract(headers.packet_out);
        transition probe;
    }

    state probe {
        packet.extract(headers.probe);
        transition accept;
    }
}

control NoChecksum(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Work(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    action_selector(HashAlgorithm.crc16, 64, 8) choices;
    counter<flow_t>(8, CounterType.packets) arrived;

    action enter(network_t network) {
        meta.network = network;
    }

    action send(port_id_t port) {
        standard.egress_spec = (bit<9>)port;
    }

    action to_controller() {
        standard.egress_spec = 510;
        headers.packet_in.setValid();
        headers.packet_in.ingress_port = (port_id_t)standard.ingress_port;
        headers.packet_in.reason = 1;
        digest<Seen>(1, { (port_id_t)standard.ingress_port, (flow_t)headers.probe.flow });
    }

    table networks {
        key = {
            (network_t)(bit<10>)headers.probe.network: exact @name("network");
        }
        actions = {
            enter;
            NoAction;
        }
        default_action = NoAction();
        support_timeout = true;
        size = 64;
    }

    table routes {
        key = {
            (flow_t)headers.probe.flow: exact @name("flow");
        }
        actions = {
            send;
            to_controller;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    table balanced {
        key = {
            meta.network: exact @name("network");
            headers.probe.flow: selector;
        }
        actions = {
            send;
            NoAction;
        }
        implementation = choices;
        size = 64;
    }

    apply {
        arrived.count((flow_t)headers.probe.flow);
        if (headers.packet_out.isValid()) {
            standard.egress_spec = (bit<9>)headers.packet_out.egress_port;
            headers.packet_out.setInvalid();
        } else {
            networks.apply();
            routes.apply();
            balanced.apply();
        }
    }
}

control Leave(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control WritePacket(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.probe);
    }
}

V1Switch(ReadPacket(), NoChecksum(), Work(), Leave(), NoChecksum(), WritePacket()) main;
