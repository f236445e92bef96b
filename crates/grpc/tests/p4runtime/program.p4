// The program of the tests: something of everything that controllers write and read.

#include <core.p4>
#include <v1model.p4>

header Ethernet {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

@controller_header("packet_in")
header PacketIn {
    bit<9> ingress_port;
    bit<7> reason;
}

@controller_header("packet_out")
header PacketOut {
    bit<9> egress_port;
    bit<7> _pad;
}

struct Headers {
    PacketIn packet_in;
    PacketOut packet_out;
    Ethernet ethernet;
}

struct Seen {
    bit<48> source;
    bit<9> port;
}

struct Metadata {
    bit<16> flow;
}

parser ReadPacket(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            510: from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(headers.packet_out);
        transition ethernet;
    }

    state ethernet {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Work(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    counter(16, CounterType.packets_and_bytes) arrived;
    meter(16, MeterType.bytes) rates;
    register<bit<32>>(8) memory;
    direct_counter(CounterType.packets) hits;
    action_selector(HashAlgorithm.crc16, 64, 8) choices;

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    action to_controller(bit<7> reason) {
        standard.egress_spec = 510;
        headers.packet_in.setValid();
        headers.packet_in.ingress_port = standard.ingress_port;
        headers.packet_in.reason = reason;
    }

    action learn() {
        digest<Seen>(1, { headers.ethernet.source, standard.ingress_port });
    }

    table stations {
        key = {
            headers.ethernet.destination: exact @name("station");
        }
        actions = {
            forward;
            to_controller;
            drop;
        }
        default_action = drop();
        counters = hits;
        size = 64;
        support_timeout = true;
    }

    table sources {
        key = {
            headers.ethernet.source: exact @name("source");
        }
        actions = {
            NoAction;
            learn;
        }
        default_action = learn();
        size = 16;
    }

    table prefixes {
        key = {
            headers.ethernet.destination: lpm @name("prefix");
        }
        actions = {
            forward;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    @p4runtime_role("guard")
    table guards {
        key = {
            headers.ethernet.source: ternary @name("source");
            headers.ethernet.ether_type: range @name("type");
        }
        actions = {
            drop;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    table balanced {
        key = {
            headers.ethernet.ether_type: exact @name("type");
            headers.ethernet.source: selector;
        }
        actions = {
            forward;
            NoAction;
        }
        implementation = choices;
        size = 64;
    }

    apply {
        arrived.count((bit<32>)standard.ingress_port & 15);
        bit<2> colour;
        rates.execute_meter((bit<32>)standard.ingress_port & 15, colour);
        memory.write(0, (bit<32>)headers.ethernet.ether_type);
        if (headers.packet_out.isValid()) {
            standard.egress_spec = headers.packet_out.egress_port;
            headers.packet_out.setInvalid();
        } else {
            stations.apply();
            sources.apply();
            prefixes.apply();
            guards.apply();
            balanced.apply();
        }
    }
}

control Leave(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control Compute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control WritePacket(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.ethernet);
    }
}

V1Switch(ReadPacket(), Verify(), Work(), Leave(), Compute(), WritePacket()) main;
