// Headers, parser and deparser that the programs of this folder share: TCP, UDP and ICMP in IPv4 in Ethernet.
//
// A packet is plain if the programs may look at its ports: it is no fragment and has no IPv4 options.

#ifndef EXAMPLES_STATE_SEGMENTS_P4
#define EXAMPLES_STATE_SEGMENTS_P4

#include "../../include/headers.p4"

const bit<16> ETHER_TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_ICMP = 1;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

// Bits of `Tcp.flags`.
const bit<8> TCP_FIN = 0x01;
const bit<8> TCP_SYN = 0x02;
const bit<8> TCP_RST = 0x04;
const bit<8> TCP_ACK = 0x10;

header Tcp {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4> words;
    bit<4> reserved;
    bit<8> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header Udp {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

// An echo request or its reply; other messages have other fields after the checksum.
header Icmp {
    bit<8> type;
    bit<8> code;
    bit<16> checksum;
    bit<16> identifier;
    bit<16> sequence;
}

struct Headers {
    Ethernet ethernet;
    Ipv4 ipv4;
    Tcp tcp;
    Udp udp;
    Icmp icmp;
}

struct Metadata {
    // The deparser side computes the checksum of TCP anew.
    bool is_new_segment;
    bit<16> source_port;
    bit<16> destination_port;
}

/// The Internet checksum after a word of what it covers has changed (RFC 1624, equation 3).
bit<16> adjusted(in bit<16> checksum, in bit<16> before, in bit<16> after) {
    bit<32> sum = (bit<32>)(~checksum) + (bit<32>)(~before) + (bit<32>)after;
    sum = (bit<32>)sum[15:0] + (bit<32>)sum[31:16];
    sum = (bit<32>)sum[15:0] + (bit<32>)sum[31:16];
    return ~sum[15:0];
}

/// The same for two words.
bit<16> adjusted_by_32(in bit<16> checksum, in bit<32> before, in bit<32> after) {
    return adjusted(adjusted(checksum, before[31:16], after[31:16]), before[15:0], after[15:0]);
}

parser ReadSegment(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        meta.is_new_segment = false;
        meta.source_port = 0;
        meta.destination_port = 0;
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(headers.ipv4);
        transition select(
            headers.ipv4.version,
            headers.ipv4.header_words,
            headers.ipv4.flags,
            headers.ipv4.fragment_offset,
            headers.ipv4.protocol
        ) {
            (4, 5, 0 &&& 1, 0, PROTOCOL_TCP): tcp;
            (4, 5, 0 &&& 1, 0, PROTOCOL_UDP): udp;
            (4, 5, 0 &&& 1, 0, PROTOCOL_ICMP): icmp;
            default: accept;
        }
    }

    state tcp {
        packet.extract(headers.tcp);
        meta.source_port = headers.tcp.source;
        meta.destination_port = headers.tcp.destination;
        transition accept;
    }

    state udp {
        packet.extract(headers.udp);
        meta.source_port = headers.udp.source;
        meta.destination_port = headers.udp.destination;
        transition accept;
    }

    state icmp {
        packet.extract(headers.icmp);
        transition accept;
    }
}

control NoVerify(inout Headers headers, inout Metadata meta) {
    apply {}
}

control NoEgress(inout Headers headers, inout Metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control NoCompute(inout Headers headers, inout Metadata meta) {
    apply {}
}

control WriteSegment(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.tcp);
        packet.emit(headers.udp);
        packet.emit(headers.icmp);
    }
}

#endif
