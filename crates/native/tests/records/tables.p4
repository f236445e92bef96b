// Tables whose records have each part, and keys of each kind and of several widths.
#include <core.p4>
#include <v1model.p4>

header Probe {
    bit<8> a;
    bit<12> b;
    bit<4> c;
    bit<16> d;
    bit<48> e;
    bit<128> f;
    bit<136> g;
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
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<4>>(MeterType.bytes) rates;
    action_selector(HashAlgorithm.crc16, 8, 8) next_hops;

    action none() {}

    action set(bit<12> b) {
        headers.probe.b = b;
    }

    action set_wide(bit<4> c, bit<136> g) {
        headers.probe.c = c;
        headers.probe.g = g;
    }

    action colour() {
        rates.read(headers.probe.c);
    }

    action shut() {
        headers.probe.a = 0;
    }

    table lean {
        key = { headers.probe.a: exact; headers.probe.b: exact; }
        actions = { none; set; set_wide; @defaultonly shut; }
        size = 30;
    }

    table counted {
        key = { headers.probe.a: exact; headers.probe.b: exact; }
        actions = { none; set; }
        counters = hits;
        support_timeout = true;
        size = 30;
    }

    table metered {
        key = { headers.probe.a: exact; headers.probe.b: exact; }
        actions = { none; colour; }
        meters = rates;
        size = 30;
    }

    table shared {
        key = { headers.probe.a: exact; headers.probe.b: exact; headers.probe.e: selector; }
        actions = { none; set; }
        implementation = next_hops;
        size = 30;
    }

    table prefixes {
        key = { headers.probe.a: exact; headers.probe.b: lpm; }
        actions = { none; set; }
        size = 30;
    }

    table wide_prefixes {
        key = { headers.probe.a: exact; headers.probe.g: lpm; }
        actions = { none; set_wide; }
        size = 30;
    }

    table ranked {
        key = {
            headers.probe.a: exact;
            headers.probe.b: ternary;
            headers.probe.d: range;
            headers.probe.f: optional;
        }
        actions = { none; set; }
        size = 30;
    }

    apply {
        lean.apply();
        counted.apply();
        metered.apply();
        shared.apply();
        prefixes.apply();
        wide_prefixes.apply();
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
