// A switch that learns stations, with an object of each kind that P4Runtime has. Packets to and from the controller have
// headers of their own.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

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
    bit<2> colour;
    bit<1> is_allowed;
}

parser ReadPacket(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    value_set<bit<16>>(4) allowed_types;

    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(headers.packet_out);
        transition ethernet;
    }

    state ethernet {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            allowed_types: allow;
            default: accept;
        }
    }

    state allow {
        meta.is_allowed = 1;
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Station(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    counter(16, CounterType.packets_and_bytes) arrived;
    meter(16, MeterType.bytes) rates;
    register<bit<32>>(8) memory;
    direct_counter(CounterType.packets) hits;
    direct_meter<bit<2>>(MeterType.packets) limits;
    action_selector(HashAlgorithm.crc16, 64, 8) choices;

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    action flood(bit<16> group) {
        standard.mcast_grp = group;
    }

    action to_controller(bit<7> reason) {
        standard.egress_spec = CPU_PORT;
        headers.packet_in.setValid();
        headers.packet_in.ingress_port = standard.ingress_port;
        headers.packet_in.reason = reason;
    }

    action forward_and_count(bit<9> port) {
        standard.egress_spec = port;
        hits.count();
    }

    action learn() {
        digest<Seen>(1, { headers.ethernet.source, standard.ingress_port });
    }

    action limit() {
        limits.read(meta.colour);
    }

    action mirror(bit<32> session) {
        clone(CloneType.I2E, session);
    }

    table stations {
        key = {
            headers.ethernet.destination: exact @name("station");
        }
        actions = {
            forward_and_count;
            flood;
            to_controller;
            drop;
        }
        default_action = drop();
        counters = hits;
        size = 1024;
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
        size = 1024;
    }

    table limited {
        key = {
            headers.ethernet.source: exact @name("source");
        }
        actions = {
            limit;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        meters = limits;
        size = 64;
    }

    table vendors {
        key = {
            headers.ethernet.destination: lpm @name("prefix");
        }
        actions = {
            forward;
            mirror;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    table guards {
        key = {
            headers.ethernet.source: ternary @name("source");
            headers.ethernet.ether_type: range @name("type");
            standard.ingress_port: optional @name("port");
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

    table reserved {
        key = {
            headers.ethernet.destination: exact @name("destination");
        }
        actions = {
            drop;
            NoAction;
        }
        default_action = NoAction();
        const entries = {
            0x0180c2000000: drop();
            0x0180c2000001: drop();
        }
    }

    apply {
        arrived.count((bit<32>)standard.ingress_port & 15);
        rates.execute_meter((bit<32>)standard.ingress_port & 15, meta.colour);
        memory.write(0, (bit<32>)headers.ethernet.ether_type);
        if (headers.packet_out.isValid()) {
            standard.egress_spec = headers.packet_out.egress_port;
            headers.packet_out.setInvalid();
        } else {
            stations.apply();
            sources.apply();
            limited.apply();
            vendors.apply();
            guards.apply();
            balanced.apply();
            reserved.apply();
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

V1Switch(ReadPacket(), Verify(), Station(), Leave(), Compute(), WritePacket()) main;
