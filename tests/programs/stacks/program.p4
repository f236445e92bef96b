// Header stacks outside the parser: push, pop, run-time indices, the index of the next element.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Label {
    bit<7> value;
    bit<1> more;
}

struct Headers {
    Probe probe;
    Label[4] labels;
}

struct Metadata {}

parser ProbeParser(
    packet_in packet,
    out Headers headers,
    inout Metadata meta,
    inout standard_metadata_t standard
) {
    state start {
        packet.extract(headers.probe);
        transition labels;
    }

    state labels {
        packet.extract(headers.labels.next);
        transition select(headers.labels.last.more) {
            1: labels;
            default: accept;
        }
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
        if (standard.parser_error == error.StackOutOfBounds) {
            headers.probe.flags = 0xee;
        }
        switch (headers.probe.kind) {
            1: {
                headers.labels.push_front(1);
                headers.labels[0].setValid();
                headers.labels[0].value = 0x7f;
                headers.labels[0].more = 1;
            }
            2: {
                headers.labels.pop_front(1);
            }
            3: {
                headers.labels.pop_front(5);
            }
            4: {
                headers.labels.push_front(5);
            }
            5: {
                // May lie beyond the stack: then nothing happens.
                headers.labels[headers.probe.a].value = 0x55;
            }
            6: {
                // Beyond the stack there is a zero to read.
                headers.probe.result = 9w0 ++ headers.labels[headers.probe.a].value;
            }
            7: {
                headers.labels[1] = headers.labels[headers.probe.a[1:0]];
            }
            8: {
                headers.labels.pop_front(2);
                headers.labels.push_front(1);
                headers.labels[0] = { 0x11, 1 };
            }
        }
    }
}

#include "../include/switch.p4"
