// Flows that packets add: the first packet of a key adds an entry with its value, the others get that value.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Ethernet {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header Request {
    bit<32> key;
    bit<32> value;
}

struct Headers {
    Ethernet ethernet;
    Request request;
}

struct Metadata {}

struct Answer {
    bit<32> value;
}

parser StateParser(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(headers.ethernet);
        packet.extract(headers.request);
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control State(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    action answer(bit<32> value) {
        headers.request.value = value;
    }

    action learn() {
        add_entry("answer", (Answer){ value = headers.request.value }, 3);
    }

    table flows {
        key = {
            headers.request.key: exact;
        }
        actions = {
            answer;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 0x1000000;
    }

    apply {
        flows.apply();
        sm.egress_spec = sm.ingress_port;
    }
}

control StateEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    apply {}
}

control Compute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control StateDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.request);
    }
}

V1Switch(StateParser(), Verify(), State(), StateEgress(), Compute(), StateDeparser()) main;
