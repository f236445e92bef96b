#include <core.p4>
#include <v1model.p4>

header first_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    first_t first;
}

struct meta_t {
    bit<8> mark;
}

parser Read(packet_in packet, out headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.first);
        transition accept;
    }
}

control Check(inout headers_t headers, inout meta_t meta) {
    apply {}
}

control Forward(inout headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets) by_kind;
    direct_counter(CounterType.packets_and_bytes) by_value;
    counter(600, CounterType.packets) cells;

    action send(bit<9> port) {
        by_kind.count();
        standard.egress_spec = port;
    }

    action mark(bit<8> value) {
        by_value.count();
        meta.mark = value;
    }

    action choose(bit<8> value) {
        meta.mark = value;
    }

    action add(bit<8> value) {
        meta.mark = meta.mark + value;
    }

    action start(bit<8> value) {
        choose(value);
    }

    action leave() {
        exit;
    }

    // Its entries are fixed; their counters are not.
    table fixed {
        key = {
            headers.first.kind: exact;
        }
        actions = {
            send;
            NoAction;
        }
        const entries = {
            1: send(1);
            2: send(2);
        }
        const default_action = NoAction();
        counters = by_kind;
    }

    table values {
        key = {
            headers.first.value: exact;
        }
        actions = {
            mark;
        }
        default_action = mark(9);
        counters = by_value;
        support_timeout = true;
    }

    // Controllers may delete what it begins with.
    table begun {
        key = {
            headers.first.kind: exact;
        }
        actions = {
            send;
            NoAction;
        }
        entries = {
            const 7: NoAction();
            8: send(1);
            9: send(2);
        }
        default_action = NoAction();
    }

    table chosen {
        key = {
            headers.first.kind: exact;
            headers.first.value: selector;
        }
        actions = {
            choose;
            add;
            @groupaction start;
            @groupaction leave;
            NoAction;
        }
        @name("selector")
        implementation = action_selector(HashAlgorithm.crc16, 16, 8);
    }

    apply {
        fixed.apply();
        values.apply();
        begun.apply();
        chosen.apply();
        cells.count((bit<32>)headers.first.kind);
        headers.first.value = meta.mark;
    }
}

control Leave(inout headers_t headers, inout meta_t meta, inout standard_metadata_t standard) {
    apply {}
}

control Sum(inout headers_t headers, inout meta_t meta) {
    apply {}
}

control Write(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.first);
    }
}

V1Switch(Read(), Check(), Forward(), Leave(), Sum(), Write()) main;
