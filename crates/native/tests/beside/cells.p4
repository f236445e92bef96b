// Packets say what they have found in a table, which colour its meter gave, and what two cells of a register hold.
#include <core.p4>
#include <v1model.p4>

header Probe {
    bit<32> key;
    bit<8> found;
    bit<8> colour;
    bit<32> first;
    bit<32> last;
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
    direct_meter<bit<8>>(MeterType.packets) limits;
    register<bit<32>>(1000) memory;

    action set(bit<8> value) {
        headers.probe.found = value;
        limits.read(headers.probe.colour);
    }

    table both {
        key = { headers.probe.key: exact; }
        actions = { set; }
        counters = hits;
        meters = limits;
        size = 100000;
    }

    apply {
        standard.egress_spec = 1;
        both.apply();
        memory.read(headers.probe.first, 0);
        memory.read(headers.probe.last, 999);
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
