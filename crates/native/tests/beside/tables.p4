// Tables of all engines on one key: each says in a field of its own what it has found.
#include <core.p4>
#include <v1model.p4>

extern void pause(in bit<32> key);

header Probe {
    bit<32> key;
    bit<8> lean;
    bit<8> counted;
    bit<8> direct;
    bit<8> prefix;
    bit<8> ranked;
    bit<8> way;
}

struct Headers {
    Probe probe;
}

struct Metadata {}

parser TheParser(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.probe);
        transition accept;
    }
}

control TheIngress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets) hits;

    action set_lean(bit<8> value) {
        headers.probe.lean = value;
    }

    action set_counted(bit<8> value) {
        headers.probe.counted = value;
    }

    action set_direct(bit<8> value) {
        headers.probe.direct = value;
    }

    action set_prefix(bit<8> value) {
        headers.probe.prefix = value;
    }

    action set_ranked(bit<8> value) {
        headers.probe.ranked = value;
    }

    table lean {
        key = { headers.probe.key: exact; }
        actions = { set_lean; }
        size = 200000;
    }

    table counted {
        key = { headers.probe.key: exact; }
        actions = { set_counted; }
        counters = hits;
        size = 200000;
    }

    table direct {
        key = { headers.probe.key[11:0]: exact @name("key"); }
        actions = { set_direct; }
        size = 4096;
    }

    table prefix {
        key = { headers.probe.key: lpm; }
        actions = { set_prefix; }
        size = 200000;
    }

    table ranked {
        key = { headers.probe.key: ternary; }
        actions = { set_ranked; }
        size = 200000;
    }

    apply {
        standard.egress_spec = 1;
        lean.apply();
        if (headers.probe.way == 1) {
            pause(headers.probe.key);
        }
        counted.apply();
        direct.apply();
        prefix.apply();
        ranked.apply();
    }
}

control Nothing(inout Headers headers, inout Metadata meta) {
    apply {}
}

control TheEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control TheDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.probe);
    }
}

V1Switch(TheParser(), Nothing(), TheIngress(), TheEgress(), Nothing(), TheDeparser()) main;
