// Packets wait for tables, and leave in every way before, between and after their waits.
#include <core.p4>
#include <v1model.p4>

header Way {
    bit<8> way;
    bit<8> key;
}

header Label {
    bit<256> value;
}

struct Headers {
    Label label;
    Way way;
}

struct Metadata {
    bit<8> first;
    bit<8> second;
}

parser WayParser(packet_in packet, out Headers headers, inout Metadata meta,
                 inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.way);
        transition accept;
    }
}

control NoVerify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control WayIngress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    action note_first(bit<8> value) {
        meta.first = value;
    }
    action note_second(bit<8> value) {
        meta.second = value + meta.first;
    }
    action leave() {
        exit;
    }
    table second {
        key = {
            headers.way.key: exact;
            meta.first: exact;
        }
        actions = {
            note_second;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
    }
    table known {
        key = {
            headers.way.key: exact;
        }
        actions = {
            note_first;
            leave;
            NoAction;
        }
        default_action = note_first(9);
        size = 4096;
    }
    apply {
        standard.egress_spec = 1;
        if (headers.way.way == 1) {
            digest<bit<8>>(1, headers.way.key);
        }
        if (headers.way.way == 2) {
            clone(CloneType.I2E, 7);
        }
        known.apply();
        if (headers.way.way == 3) {
            standard.mcast_grp = 5;
        }
        if (headers.way.way != 4) {
            second.apply();
        }
        if (headers.way.way == 5) {
            mark_to_drop(standard);
        }
        if (headers.way.way == 6) {
            headers.label.setValid();
            headers.label.value = 7;
        }
        if (headers.way.way == 7) {
            digest<bit<8>>(1, meta.second);
            assert(headers.way.key != 2);
        }
    }
}

control WayEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    action stamp(bit<8> value) {
        headers.way.key = value + meta.second;
    }
    table last {
        key = {
            headers.way.key: exact;
        }
        actions = {
            stamp;
            NoAction;
        }
        default_action = stamp(0x80);
        size = 4096;
    }
    apply {
        if (headers.way.way == 8) {
            truncate(1);
        }
        last.apply();
        if (headers.way.way == 9) {
            mark_to_drop(standard);
        }
    }
}

control NoCompute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control WayDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(WayParser(), NoVerify(), WayIngress(), WayEgress(), NoCompute(), WayDeparser()) main;
