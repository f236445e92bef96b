// Parsers that apply parsers: nested, with stacks, with parameters of their own, several instances.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Label {
    bit<7> value;
    bit<1> more;
}

header Block {
    bit<8> n_words;
    bit<8> next;
}

header Word {
    bit<16> value;
}

struct Headers {
    Probe probe;
    Label[3] outer;
    Block block;
    Word[4] words;
    Label[3] inner;
}

struct Metadata {
    bit<8> n_outer;
    bit<8> n_inner;
    bit<16> sum;
}

error {
    TooManyWords
}

parser LabelParser(packet_in packet, out Label[3] labels, out bit<8> n_labels)(bit<8> first) {
    state start {
        n_labels = first;
        transition next;
    }

    state next {
        packet.extract(labels.next);
        n_labels = n_labels + 1;
        transition select(labels.last.more) {
            1: next;
            default: accept;
        }
    }
}

parser WordParser(packet_in packet, in bit<8> n_words, inout Word[4] words, inout bit<16> sum) {
    bit<8> left = n_words;

    state start {
        transition select(left) {
            0: accept;
            default: word;
        }
    }

    state word {
        packet.extract(words.next);
        sum = sum + words.last.value;
        left = left - 1;
        transition start;
    }
}

parser BlockParser(packet_in packet, out Block block, inout Word[4] words, out bit<16> sum) {
    WordParser() word_parser;

    state start {
        sum = 0;
        packet.extract(block);
        verify(block.n_words <= 4, error.TooManyWords);
        word_parser.apply(packet, block.n_words, words, sum);
        transition accept;
    }
}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    LabelParser(0) outer_labels;
    LabelParser(0x10) inner_labels;
    BlockParser() block_parser;

    state start {
        packet.extract(headers.probe);
        transition select(headers.probe.kind) {
            1: outer;
            2: block;
            3: twice;
            default: accept;
        }
    }

    state outer {
        outer_labels.apply(packet, headers.outer, meta.n_outer);
        transition block;
    }

    state block {
        block_parser.apply(packet, headers.block, headers.words, meta.sum);
        transition select(headers.block.next) {
            1: inner;
            default: accept;
        }
    }

    state inner {
        inner_labels.apply(packet, headers.inner, meta.n_inner);
        transition accept;
    }

    // An `out` stack is empty again each time.
    state twice {
        outer_labels.apply(packet, headers.outer, meta.n_outer);
        outer_labels.apply(packet, headers.outer, meta.n_outer);
        transition accept;
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
        headers.probe.a[31:24] = meta.n_outer;
        headers.probe.a[23:16] = meta.n_inner;
        headers.probe.result = meta.sum;
        if (standard.parser_error == error.StackOutOfBounds) {
            headers.probe.flags = 0xe1;
        } else if (standard.parser_error == error.TooManyWords) {
            headers.probe.flags = 0xe2;
        } else if (standard.parser_error == error.PacketTooShort) {
            headers.probe.flags = 0xe3;
        }
    }
}

#include "../include/switch.p4"
