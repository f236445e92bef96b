// Options of type, length and value: a parser that goes round, counts down, and skips what it does not know.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Option {
    bit<8> kind;
    bit<8> n_bytes;
    varbit<64> value;
}

header Fixed {
    bit<16> kind_and_length;
    bit<32> value;
}

struct Kind {
    bit<8> kind;
    bit<8> n_bytes;
}

struct Headers {
    Probe probe;
    Option[3] options;
    Fixed fixed;
}

struct Metadata {
    bit<16> n_skipped;
    bit<8> left;
}

@noWarn("multi-header-extract")
parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    Kind next;

    state start {
        packet.extract(headers.probe);
        meta.left = headers.probe.flags;
        transition option;
    }

    state option {
        transition select(meta.left) {
            0: accept;
            1: reject;
            default: peek;
        }
    }

    state peek {
        next = packet.lookahead<Kind>();
        verify(next.n_bytes <= meta.left - 2, error.HeaderTooShort);
        meta.left = meta.left - 2 - next.n_bytes;
        transition select(next.kind, next.n_bytes) {
            (1, 0 .. 8): keep;
            (2, 4): fixed;
            (0xff, 0): accept;
            default: skip;
        }
    }

    state keep {
        packet.extract(headers.options.next, (bit<32>)next.n_bytes << 3);
        transition option;
    }

    state fixed {
        packet.extract(headers.fixed);
        transition option;
    }

    state skip {
        packet.advance(16 + ((bit<32>)next.n_bytes << 3));
        meta.n_skipped = meta.n_skipped + 1;
        transition option;
    }
}

control ProbeDeparser(packet_out packet, in Headers headers) {
    apply {
        packet.emit(headers);
    }
}

control TestIngress(
    inout Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    apply {
        standard.egress_spec = 1;
        headers.probe.result = meta.n_skipped;
        headers.probe.c[15:8] = meta.left;
        if (standard.parser_error == error.HeaderTooShort) {
            headers.probe.c[7:0] = 0xe1;
        } else if (standard.parser_error == error.PacketTooShort) {
            headers.probe.c[7:0] = 0xe2;
        } else if (standard.parser_error == error.StackOutOfBounds) {
            headers.probe.c[7:0] = 0xe3;
        } else if (standard.parser_error != error.NoError) {
            headers.probe.c[7:0] = 0xe4;
        }
    }
}

#include "../include/switch.p4"
