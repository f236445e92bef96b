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
const bit<8> TCP_URG = 0x20;

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
#ifdef READS_OPTIONS
    // The options of a TCP segment with SYN, from the left; none of other segments.
    bit<320> options;
#endif
}

/// Whether the flags of a TCP segment make sense together. PSH, ECE and CWR may always be set.
bool are_flags_valid(in bit<8> flags) {
    bit<8> known = flags & (TCP_SYN | TCP_FIN | TCP_RST | TCP_ACK);
    bool has_urgent_data = flags & TCP_URG != 0;
    if (known == TCP_SYN || known == TCP_ACK || known == TCP_FIN | TCP_ACK) {
        return true;
    }
    return !has_urgent_data
        && (known == TCP_SYN | TCP_ACK || known == TCP_RST || known == TCP_RST | TCP_ACK);
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
#ifdef READS_OPTIONS
        meta.options = 0;
#endif
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
#ifdef READS_OPTIONS
        transition select(headers.tcp.flags, headers.tcp.words) {
            (TCP_SYN &&& TCP_SYN, 6): options_4;
            (TCP_SYN &&& TCP_SYN, 7): options_8;
            (TCP_SYN &&& TCP_SYN, 8): options_12;
            (TCP_SYN &&& TCP_SYN, 9): options_16;
            (TCP_SYN &&& TCP_SYN, 10): options_20;
            (TCP_SYN &&& TCP_SYN, 11): options_24;
            (TCP_SYN &&& TCP_SYN, 12): options_28;
            (TCP_SYN &&& TCP_SYN, 13): options_32;
            (TCP_SYN &&& TCP_SYN, 14): options_36;
            (TCP_SYN &&& TCP_SYN, 15): options_40;
            default: accept;
        }
#else
        transition accept;
#endif
    }

#ifdef READS_OPTIONS
    state options_4 {
        meta.options = packet.lookahead<bit<32>>() ++ 288w0;
        transition accept;
    }

    state options_8 {
        meta.options = packet.lookahead<bit<64>>() ++ 256w0;
        transition accept;
    }

    state options_12 {
        meta.options = packet.lookahead<bit<96>>() ++ 224w0;
        transition accept;
    }

    state options_16 {
        meta.options = packet.lookahead<bit<128>>() ++ 192w0;
        transition accept;
    }

    state options_20 {
        meta.options = packet.lookahead<bit<160>>() ++ 160w0;
        transition accept;
    }

    state options_24 {
        meta.options = packet.lookahead<bit<192>>() ++ 128w0;
        transition accept;
    }

    state options_28 {
        meta.options = packet.lookahead<bit<224>>() ++ 96w0;
        transition accept;
    }

    state options_32 {
        meta.options = packet.lookahead<bit<256>>() ++ 64w0;
        transition accept;
    }

    state options_36 {
        meta.options = packet.lookahead<bit<288>>() ++ 32w0;
        transition accept;
    }

    state options_40 {
        meta.options = packet.lookahead<bit<320>>();
        transition accept;
    }

#endif
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
