// A table for each way in which entries are kept.
#include <core.p4>
#include <v1model.p4>

header Probe {
    bit<8> a;
    bit<12> b;
    bit<4> c;
}

struct Headers {
    Probe probe;
}

struct Metadata {}

parser TestParser(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.probe);
        transition accept;
    }
}

control TestIngress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets) hits;
    action_profile(8) next_hops;

    action none() {}

    action set(bit<12> b) {
        headers.probe.b = b;
    }

    table lean {
        key = { headers.probe.a: exact; headers.probe.b: exact; }
        actions = { none; set; }
        size = 30;
    }

    table counted {
        key = { headers.probe.a: exact; headers.probe.b: exact; }
        actions = { none; set; }
        counters = hits;
        size = 30;
    }

    table shared {
        key = { headers.probe.a: exact; headers.probe.b: exact; }
        actions = { none; set; }
        implementation = next_hops;
        size = 30;
    }

    table prefixes {
        key = { headers.probe.a: exact; headers.probe.b: lpm; }
        actions = { none; set; }
        size = 30;
    }

    table ranked {
        key = { headers.probe.a: exact; headers.probe.b: ternary; }
        actions = { none; set; }
        size = 30;
    }

    table large {
        key = { headers.probe.a: exact; headers.probe.b: exact; }
        actions = { none; set; }
        size = 9000;
    }

    apply {
        lean.apply();
        large.apply();
        counted.apply();
        shared.apply();
        prefixes.apply();
        ranked.apply();
    }
}

control Nothing(inout Headers headers, inout Metadata meta) {
    apply {}
}

control TestEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control TestDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.probe);
    }
}

V1Switch(TestParser(), Nothing(), TestIngress(), TestEgress(), Nothing(), TestDeparser()) main;
