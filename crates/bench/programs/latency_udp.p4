// A store of keys in front of servers: the first request for a key, in a UDP datagram, adds an entry with its value; later
// requests get the value. All packets go back.
#include <core.p4>
#include <v1model.p4>
#include <siding_state.p4>

const bit<16> STORE_PORT = 7000;

header Ethernet {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header Ipv4 {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header Udp {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length;
    bit<16> checksum;
}

header Request {
    bit<32> key;
    bit<32> value;
}

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
    Udp udp;
    Request request;
}

struct Metadata {}

struct Answer {
    bit<32> value;
}

parser LatencyParser(packet_in packet, out Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            0x800: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.ihl, headers.ipv4.protocol) {
            (5, 17): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(headers.udp);
        transition select(headers.udp.destination_port) {
            STORE_PORT: parse_request;
            default: accept;
        }
    }

    state parse_request {
        packet.extract(headers.request);
        transition accept;
    }
}

control Verify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control Latency(inout Headers headers, inout Metadata meta, inout standard_metadata_t sm) {
    action answer(bit<32> value) {
        headers.request.value = value;
    }

    action add() {
        add_entry("answer", (Answer){ value = headers.request.value }, 3);
    }

    table keys {
        key = {
            headers.request.key: exact;
        }
        actions = {
            answer;
            @defaultonly add;
        }
        const default_action = add();
        add_on_miss = true;
        idle_timeout_with_auto_delete = true;
        size = 0x200000;
    }

    apply {
        if (headers.request.isValid()) {
            keys.apply();
        }
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
        packet.emit(headers.ipv4);
        packet.emit(headers.udp);
        packet.emit(headers.request);
    }
}

V1Switch(LatencyParser(), Verify(), Latency(), LatencyEgress(), Compute(), LatencyDeparser()) main;
