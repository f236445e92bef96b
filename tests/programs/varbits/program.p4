// Fields of varying width: copies, equality, what a deparser makes of them, two in a row.
#define NO_EGRESS
#define OWN_HEADERS
#include "../include/probe.p4"

header Options {
    bit<8> n_bytes;
    varbit<128> bytes;
}

struct Headers {
    Probe probe;
    Options x;
    Options y;
    Options copy;
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
        packet.extract(headers.x, (bit<32>)packet.lookahead<bit<8>>() << 3);
        packet.extract(headers.y, (bit<32>)packet.lookahead<bit<8>>() << 3);
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
        if (standard.parser_error == error.NoError) {
            switch (headers.probe.kind) {
                1: {
                    headers.copy = headers.x;
                }
                2: {
                    headers.probe.flags = headers.x == headers.y ? 8w1 : 8w0;
                    headers.probe.result = headers.x.bytes == headers.y.bytes ? 16w1 : 16w0;
                }
                3: {
                    // The width comes along.
                    headers.y.bytes = headers.x.bytes;
                    headers.y.n_bytes = headers.x.n_bytes;
                }
                4: {
                    Options swap = headers.x;
                    headers.x = headers.y;
                    headers.y = swap;
                }
                5: {
                    headers.copy.setValid();
                    headers.copy.n_bytes = 0;
                }
            }
        } else {
            headers.probe.flags = 0xee;
        }
    }
}

#include "../include/switch.p4"
