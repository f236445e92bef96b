// A meter of an array and one of a table for each packet, which leaves with the colours that they gave it.

#include <core.p4>
#include <v1model.p4>

header first_t {
    bit<8> index;
    bit<8> value;
    bit<8> colour;
    bit<8> colour_of_entry;
}

struct headers_t {
    first_t first;
}

struct meta_t {}

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
    meter(4, MeterType.bytes) rates;
    direct_meter<bit<8>>(MeterType.packets) limits;
    direct_counter(CounterType.packets_and_bytes) hits;

    action limited() {
        limits.read(headers.first.colour_of_entry);
    }

    table flows {
        key = {
            headers.first.value: exact;
        }
        actions = {
            limited;
        }
        default_action = limited();
        meters = limits;
        counters = hits;
        size = 64;
    }

    apply {
        standard.egress_spec = 1;
        rates.execute_meter((bit<32>)headers.first.index, headers.first.colour);
        flows.apply();
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
