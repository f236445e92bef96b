// What parsers can do, and what becomes of packets that they reject.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Variable {
    bit<8> n_bytes;
    varbit<64> bytes;
}

header Tail {
    bit<16> value;
}

struct Headers {
    Probe probe;
    Variable variable;
    Tail tail;
}

struct Tails {
    bit<8> first;
    Tail[2] all;
}

struct Metadata {}

error {
    Unwanted
}

parser TailParser(packet_in packet, out Tail tail) {
    state start {
        packet.extract(tail);
        transition select(tail.value) {
            0xdead: reject;
            default: accept;
        }
    }
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    TailParser() tail_parser;

    state start {
        packet.extract(headers.probe);
        transition select(headers.probe.kind, headers.probe.a) {
            (1, _): variable;
            (2, 0 .. 9): tail;
            (2, 0x80000000 &&& 0xf0000000): skip;
            (3, _): peek;
            (4, _): check;
            (5, _): nowhere;
            (6, _): tail;
            (7, _): too_far;
            (8, _): peek_at_stack;
            (default, 0xffffffff): reject;
            default: accept;
        }
    }

    state variable {
        packet.extract(headers.variable, (bit<32>)packet.lookahead<bit<8>>() * 8);
        transition tail;
    }

    state tail {
        tail_parser.apply(packet, headers.tail);
        transition accept;
    }

    state skip {
        packet.advance(16);
        transition tail;
    }

    state peek {
        headers.probe.result = packet.lookahead<bit<16>>();
        transition accept;
    }

    state peek_at_stack {
        Tails tails = packet.lookahead<Tails>();
        headers.probe.b = tails.all[1].isValid() ? (bit<32>)tails.first : 0;
        headers.probe.result = tails.all[0].value - tails.all[1].value;
        transition accept;
    }

    state check {
        verify(headers.probe.c == 0, error.Unwanted);
        transition tail;
    }

    state nowhere {
        transition select(headers.probe.c) {
            1: accept;
        }
    }

    state too_far {
        packet.advance((bit<32>)headers.probe.c);
        transition accept;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers.probe);
        packet.emit(headers.variable);
        packet.emit(headers.tail);
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        if (standard.parser_error == error.NoError) {
            headers.probe.flags = 0x01;
        } else if (standard.parser_error == error.PacketTooShort) {
            headers.probe.flags = 0x02;
        } else if (standard.parser_error == error.NoMatch) {
            headers.probe.flags = 0x03;
        } else if (standard.parser_error == error.Unwanted) {
            headers.probe.flags = 0x04;
        } else if (standard.parser_error == error.HeaderTooShort) {
            headers.probe.flags = 0x05;
        } else if (standard.parser_error == error.ParserInvalidArgument) {
            headers.probe.flags = 0x06;
        }
        headers.probe.flags[7:7] = (bit<1>)headers.tail.isValid();
        headers.probe.flags[6:6] = (bit<1>)headers.variable.isValid();
    }
}

#include "../include/switch.p4"
