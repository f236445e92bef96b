// Forwards IPv4 by its destination; what the tests under mininet run.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header ipv4_t {
    bit<4> version;
    bit<4> header_words;
    bit<8> service;
    bit<16> total_bytes;
    bit<16> identification;
    bit<16> fragment;
    bit<8> hops_left;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {}

parser Parse(
    packet_in packet,
    out headers_t headers,
    inout metadata_t meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }
}

control Verify(inout headers_t headers, inout metadata_t meta) {
    apply {
        verify_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version,
                headers.ipv4.header_words,
                headers.ipv4.service,
                headers.ipv4.total_bytes,
                headers.ipv4.identification,
                headers.ipv4.fragment,
                headers.ipv4.hops_left,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16
        );
    }
}

control Tree(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets) routed;

    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
        headers.ipv4.hops_left = headers.ipv4.hops_left - 1;
    }

    table routes {
        key = {
            headers.ipv4.destination: lpm;
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        counters = routed;
        size = 1024;
    }

    apply {
        if (headers.ipv4.isValid()) {
            routes.apply();
        } else {
            drop();
        }
    }
}

control Leave(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control Compute(inout headers_t headers, inout metadata_t meta) {
    apply {
        update_checksum(
            headers.ipv4.isValid(),
            {
                headers.ipv4.version,
                headers.ipv4.header_words,
                headers.ipv4.service,
                headers.ipv4.total_bytes,
                headers.ipv4.identification,
                headers.ipv4.fragment,
                headers.ipv4.hops_left,
                headers.ipv4.protocol,
                headers.ipv4.source,
                headers.ipv4.destination
            },
            headers.ipv4.checksum,
            HashAlgorithm.csum16
        );
    }
}

control Deparse(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
    }
}

V1Switch(Parse(), Verify(), Tree(), Leave(), Compute(), Deparse()) main;
