// Stations that a controller learns: a packet of an unknown source address sends a digest. Those of a known address get it as
// their destination. All packets go back.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

header Ethernet {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct Headers {
    Ethernet ethernet;
}

struct Metadata {}

struct Forward {
    bit<48> destination;
}

struct Unknown {
    bit<48> source;
}

parser LatencyParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t sm
) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Latency(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    action forward(bit<48> destination) {
        headers.ethernet.destination = destination;
    }

    action learn() {
        digest<Unknown>(1, { headers.ethernet.source });
    }

    table stations {
        key = {
            headers.ethernet.source: exact;
        }
        actions = {
            forward;
            @defaultonly learn;
        }
        const default_action = learn();
        size = 0x200000;
    }

    apply {
        stations.apply();
        sm.egress_spec = sm.ingress_port;
    }
}

control LatencyEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    apply {}
}

control Compute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control LatencyDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(LatencyParser(), Verify(), Latency(), LatencyEgress(), Compute(), LatencyDeparser()) main;
