// The program of the tests by line: every kind of table, and every kind of object that controllers write.

#include <core.p4>
#include <v1model.p4>

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

header Probe {
    bit<8> kind;
    bit<8> a;
    bit<16> b;
    bit<32> c;
}

struct Headers {
    PacketIn packet_in;
    PacketOut packet_out;
    Probe probe;
}

struct Seen {
    bit<8> kind;
    bit<16> b;
}

struct Metadata {
    bit<12> narrow;
    bit<2> colour;
}

struct Both {
    @match(exact)
    bit<8> a;
    @match(ternary)
    bit<16> b;
}

parser ReadPacket(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    @name("kinds")
    value_set<bit<8>>(2) kinds;
    @name("pairs_of_parser")
    value_set<Both>(4) pairs_of_parser;

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
        transition select(headers.probe.kind) {
            kinds: known;
            default: other;
        }
    }

    state known {
        meta.narrow = 1;
        transition other;
    }

    state other {
        transition select(headers.probe.a, headers.probe.b) {
            pairs_of_parser: paired;
            default: accept;
        }
    }

    state paired {
        meta.narrow = meta.narrow + 2;
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Work(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    counter(8, CounterType.packets_and_bytes) cells;
    meter(8, MeterType.bytes) rates;
    register<bit<12>>(8) memory;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_counter(CounterType.packets) fixed_hits;
    direct_meter<bit<2>>(MeterType.bytes) limits;
    @max_group_size(4)
    action_selector(HashAlgorithm.crc16, 8, 8) choices;
    action_selector(HashAlgorithm.crc16, 3, 8) free_choices;
    action_profile(2) hops;

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    action stamp(bit<12> narrow, bit<16> b) {
        meta.narrow = narrow;
        headers.probe.b = b;
    }

    action note(bit<16> b) {
        headers.probe.b = b;
        standard.egress_spec = 9;
    }

    action replicate(bit<16> to) {
        standard.mcast_grp = to;
    }

    action mirror(bit<32> session) {
        clone(CloneType.I2E, session);
    }

    action learn() {
        digest<Seen>(1, { headers.probe.kind, headers.probe.b });
    }

    action to_controller(bit<7> reason) {
        standard.egress_spec = 510;
        headers.packet_in.setValid();
        headers.packet_in.ingress_port = standard.ingress_port;
        headers.packet_in.reason = reason;
    }

    action limited(bit<9> port) {
        limits.read(meta.colour);
        standard.egress_spec = port;
    }

    action unlimited(bit<9> port) {
        standard.egress_spec = port;
    }

    @name("pairs")
    table pairs {
        key = {
            headers.probe.a: exact @name("a");
            headers.probe.b: exact @name("b");
        }
        actions = {
            forward;
            stamp;
            replicate;
            mirror;
            learn;
            to_controller;
            @tableonly drop;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        counters = hits;
        size = 16;
        support_timeout = true;
    }

    table kinds_of_match {
        key = {
            headers.probe.a: exact @name("a");
            headers.probe.c: lpm @name("c");
            headers.probe.b: ternary @name("b");
            headers.probe.kind: range @name("kind");
            meta.narrow: optional @name("narrow");
        }
        actions = {
            forward;
            drop;
            NoAction;
        }
        default_action = NoAction();
        size = 8;
    }

    table prefixes {
        key = {
            headers.probe.c: lpm @name("c");
        }
        actions = {
            forward;
            NoAction;
        }
        default_action = NoAction();
        size = 4;
    }

    table limits_table {
        key = {
            headers.probe.a: exact @name("a");
        }
        actions = {
            limited;
            unlimited;
            NoAction;
        }
        default_action = NoAction();
        meters = limits;
        size = 8;
    }

    table keyless {
        actions = {
            forward;
            NoAction;
        }
        default_action = NoAction();
    }

    table fixed {
        key = {
            headers.probe.a: ternary @name("a");
        }
        actions = {
            forward;
            NoAction;
        }
        counters = fixed_hits;
        default_action = NoAction();
        const entries = {
            0x51: forward(1);
            0x50 &&& 0xf0: forward(2);
            0x40 &&& 0xc0: forward(3);
        }
    }

    table started {
        key = {
            headers.probe.a: exact @name("a");
        }
        actions = {
            forward;
            NoAction;
        }
        default_action = NoAction();
        entries = {
            const 0x61: forward(1);
            0x62: forward(2);
        }
        size = 8;
    }

    table const_default {
        key = {
            headers.probe.a: exact @name("a");
        }
        actions = {
            forward;
            drop;
            NoAction;
        }
        const default_action = NoAction();
        size = 8;
    }

    table balanced {
        key = {
            headers.probe.a: exact @name("a");
            headers.probe.b: selector;
        }
        actions = {
            forward;
            stamp;
            drop;
            @groupaction note;
            NoAction;
        }
        implementation = choices;
        size = 8;
    }

    table free_balanced {
        key = {
            headers.probe.a: exact @name("a");
            headers.probe.b: selector;
        }
        actions = {
            forward;
            NoAction;
        }
        implementation = free_choices;
        size = 8;
    }

    table by_hop {
        key = {
            headers.probe.a: exact @name("a");
        }
        actions = {
            forward;
            NoAction;
        }
        implementation = hops;
        size = 8;
    }

    @p4runtime_role("guard")
    table guards {
        key = {
            headers.probe.a: exact @name("a");
        }
        actions = {
            drop;
            NoAction;
        }
        default_action = NoAction();
        size = 8;
    }

    apply {
        if (headers.packet_out.isValid()) {
            standard.egress_spec = headers.packet_out.egress_port;
            headers.packet_out.setInvalid();
        } else {
            cells.count((bit<32>)standard.ingress_port & 7);
            rates.execute_meter((bit<32>)standard.ingress_port & 7, meta.colour);
            memory.write((bit<32>)standard.ingress_port & 7, meta.narrow);
            fixed.apply();
            started.apply();
            const_default.apply();
            prefixes.apply();
            keyless.apply();
            by_hop.apply();
            balanced.apply();
            free_balanced.apply();
            limits_table.apply();
            kinds_of_match.apply();
            pairs.apply();
            guards.apply();
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
        packet.emit(headers.probe);
    }
}

V1Switch(ReadPacket(), Verify(), Work(), Leave(), Compute(), WritePacket()) main;
