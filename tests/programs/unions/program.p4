// Header unions, in a stack too: one member is valid at most, whatever makes it so.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Short {
    bit<8> tag;
    bit<8> value;
}

header Long {
    bit<8> tag;
    bit<24> value;
}

header_union Option {
    Short small;
    Long large;
}

struct Headers {
    Probe probe;
    Option[3] options;
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
        transition option;
    }

    state option {
        transition select(packet.lookahead<bit<8>>()) {
            1: small;
            2: large;
            default: accept;
        }
    }

    state small {
        packet.extract(headers.options.next.small);
        transition option;
    }

    state large {
        packet.extract(headers.options.next.large);
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
        headers.probe.flags =
            5w0
            ++ (bit<1>)headers.options[2].isValid()
            ++ (bit<1>)headers.options[1].isValid()
            ++ (bit<1>)headers.options[0].isValid();
        switch (headers.probe.kind) {
            1: {
                headers.options[0].large.setValid();
                headers.options[0].large.tag = 2;
                headers.options[0].large.value = 0x010203;
            }
            2: {
                headers.options[0].small.setInvalid();
            }
            3: {
                headers.options[1] = headers.options[0];
            }
            4: {
                Short other = { 1, 0x77 };
                headers.options[0].small = other;
            }
            5: {
                headers.options.pop_front(1);
            }
            6: {
                if (headers.options[0] == headers.options[1]) {
                    headers.probe.result = 1;
                }
            }
        }
    }
}

#include "../include/switch.p4"
